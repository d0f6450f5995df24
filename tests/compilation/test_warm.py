"""`eventide warm` runs every kind of query, so that what they share is compiled and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventide import warm
from eventide.operators import factory
from tests.conftest import Command


def test_every_kind_of_operator_is_among_those_that_are_warmed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = set()
    for name in vars(factory):
        if name.endswith("Operator") and name not in ("Operator", "LateOperator"):
            operator = getattr(factory, name)
            original = operator.__init__

            def note(self, *given, _original=original, _name=name, **named):  # type: ignore[no-untyped-def]
                made.add(_name)
                _original(self, *given, **named)

            monkeypatch.setattr(operator, "__init__", note)
    for run in warm.kinds().values():
        run()
    wanted = {name for name in vars(factory) if name.endswith("Operator")} - {"Operator", "LateOperator"}
    assert made == wanted


def test_the_command_says_what_it_compiled_and_where_it_is_kept(
    eventide: Command, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    ran = []
    monkeypatch.setattr(warm, "kinds", lambda: {"event patterns": lambda: ran.append(1)})
    code, out, err = eventide("warm")
    assert (code, out, ran) == (0, "", [1])
    assert err.splitlines() == ["event patterns: 0.0 s", f"compiled code is kept in {place / 'code'}"]


def test_the_command_fails_where_nothing_can_be_kept(
    eventide: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVENTIDE_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    code, _, err = eventide("warm")
    assert code == 2
    assert "Error: there is no folder in which compiled code can be kept\nHint: set EVENTIDE_CACHE_DIR" in err
