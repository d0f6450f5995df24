"""Whoever waits for the compiler reads one line, once, after a second of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from numba.core.caching import NullCache

from eventide.compilation import notice
from eventide.compilation.cache import CodeCache
from eventide.compilation.notice import Notice, someone_looks


def compiling(cache: Any) -> Any:
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(_cache=cache)})


OURS, THEIRS = compiling(CodeCache(compiling)), compiling(NullCache())


@pytest.fixture
def compile_for(monkeypatch: pytest.MonkeyPatch) -> Callable[[Notice, float], None]:
    monkeypatch.setattr(notice, "_LONG_SECONDS", 0.1)
    monkeypatch.setattr(notice, "someone_looks", lambda: True)

    def compile_one(told: Notice, seconds: float) -> None:
        told.on_start(OURS)
        told.on_start(OURS)  # a function that the first one calls
        told.on_end(OURS)
        time.sleep(seconds)
        told.on_end(OURS)

    return compile_one


def test_the_line_comes_while_the_first_long_compilation_runs(
    compile_for: Callable[[Notice, float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    told = Notice()
    told.on_start(OURS)
    time.sleep(0.3)
    assert capsys.readouterr().err.count("Eventide compiles") == 1, "before its end"
    told.on_end(OURS)
    compile_for(told, 0.2)
    assert capsys.readouterr().err == "", "once"


def test_functions_of_the_users_program_say_nothing(
    compile_for: Callable[[Notice, float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    told = Notice()
    told.on_start(THEIRS)
    time.sleep(0.2)
    told.on_end(THEIRS)
    compile_for(told, 0.01)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("is_kept", [True, False])
def test_the_line_promises_only_what_is_so(
    compile_for: Callable[[Notice, float], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    is_kept: bool,
) -> None:
    monkeypatch.setattr(notice, "kept_code", lambda: is_kept or None)
    compile_for(Notice(), 0.3)
    assert ("later runs start at once" in capsys.readouterr().err) is is_kept


def test_many_short_compilations_add_up_and_few_say_nothing(
    compile_for: Callable[[Notice, float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    told = Notice()
    compile_for(told, 0.03)
    time.sleep(0.2)  # nothing is compiled meanwhile
    assert capsys.readouterr().err == ""
    for _ in range(4):
        compile_for(told, 0.06)
    assert capsys.readouterr().err.count("Eventide compiles") == 1


@pytest.mark.parametrize(("quiet", "is_terminal", "looks"), [("", True, True), ("0", True, True), ("1", True, False)])
def test_the_line_is_for_terminals_and_can_be_silenced(
    monkeypatch: pytest.MonkeyPatch, quiet: str, is_terminal: bool, looks: bool
) -> None:
    monkeypatch.setenv("EVENTIDE_QUIET", quiet)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    assert someone_looks() is looks


def test_a_notebook_is_looked_at_and_a_file_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENTIDE_QUIET", raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert not someone_looks()
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert someone_looks()


def test_numba_tells_when_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba
    from numba.core import event

    from eventide.compilation.njit import njit

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    told: list[str] = []
    with event.install_listener("numba:compile", event.RecordingListener()) as recorded:
        njit(nogil=True)(lambda x: x + 1)(1)
        told += [entry.status.name for _, entry in recorded.buffer]
    assert told == ["START", "END"]
    assert any(isinstance(listener, Notice) for listener in event._registered["numba:compile"])
