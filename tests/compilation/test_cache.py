"""Compiled code is loaded only when it is what this user wrote; else the function is compiled as without a cache."""

from __future__ import annotations

import errno
import hmac
import os
import pickle
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from eventide.compilation import private_folder, signed_files
from eventide.runtime.generated import load_module
from tests.compilation.conftest import Compile, files_of

SOURCE = "from eventide.compilation.njit import njit\n\n\n@njit(cache=True)\ndef twice(x):\n    return 2 * x\n"
PROCESS = """
import sys
from eventide.runtime.generated import load_module
module = load_module(sys.argv[1])
assert module.twice(21) == 42
print(sum(module.twice.stats.cache_hits.values()), sum(module.twice.stats.cache_misses.values()))
"""


class Malicious:
    """A pickle of it makes a folder when it is loaded."""

    def __init__(self, trace: Path) -> None:
        self._trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._trace),)


def run(place: Path, prepare: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "EVENTIDE_CACHE_DIR": str(place)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    return subprocess.run(
        [sys.executable, "-c", PROCESS, SOURCE], env=environment, capture_output=True, text=True, preexec_fn=prepare
    )


def test_what_one_process_compiles_the_next_one_loads(compile_twice: Compile) -> None:
    assert [compile_twice(), compile_twice()] == ["compiled", "loaded"]


def test_four_processes_with_a_cold_cache_agree(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(run, [tmp_path / "cache"] * 4))
    assert {one.stdout.strip() for one in done} <= {"0 1", "1 0"}, done
    assert [path.suffix for path in files_of(tmp_path)] == ["", ".nbc"]
    assert run(tmp_path / "cache").stdout == "1 0\n"


@pytest.mark.parametrize("which", [0, 1], ids=["key", "code"])
@pytest.mark.parametrize("damage", ["empty", "cut", "longer", "random", "one bit", "a folder", "a pipe", "gone"])
def test_a_damaged_file_is_compiled_again_and_repaired(
    compile_twice: Compile, place: Path, which: int, damage: str
) -> None:
    compile_twice()
    path = files_of(place)[which]
    held = path.read_bytes()
    if damage in ("a folder", "a pipe", "gone"):
        path.unlink()
        {"a folder": os.mkdir, "a pipe": os.mkfifo, "gone": len}[damage](str(path))
    else:
        middle = len(held) // 2
        flipped = held[:middle] + bytes([held[middle] ^ 1]) + held[middle + 1 :]
        changed = {
            "empty": b"",
            "cut": held[: len(held) // 2],
            "longer": held + b"\0",
            "random": random.Random(1).randbytes(len(held)),
            "one bit": flipped,
        }
        path.write_bytes(changed[damage])
    # Nothing is put in place of a folder. Where it stands for the key, the user's own cache is taken.
    is_lost = damage == "a folder" and path.suffix == ".nbc"
    assert [compile_twice(), compile_twice()] == ["compiled", "compiled" if is_lost else "loaded"]


@pytest.mark.parametrize("name", ["code", "index"])
def test_a_planted_pickle_does_not_run(compile_twice: Compile, place: Path, tmp_path: Path, name: str) -> None:
    compile_twice()
    (code,) = place.rglob("*.nbc")
    trace = tmp_path / "trace"
    evil = pickle.dumps(Malicious(trace))
    head = code.read_bytes()[: len(signed_files._MARK) + 32]
    path = code if name == "code" else code.with_suffix(".nbi")
    for content in (evil, signed_files._MARK + evil, head + evil, signed_files._MARK + bytes(32) + evil):
        path.write_bytes(content)
        compile_twice()
        assert not trace.exists()


def test_code_that_was_signed_under_another_name_does_not_run(compile_twice: Compile, place: Path) -> None:
    compile_twice()
    (code,) = place.rglob("*.nbc")
    files = signed_files.SignedFiles(place / "code", code.parent.name)
    content = files.read(code.name)
    assert content is not None
    files.write("other.nbc", content)
    code.write_bytes((code.parent / "other.nbc").read_bytes())
    assert compile_twice() == "compiled"


@pytest.mark.parametrize("owner", ["open to all", "another user"])
def test_a_key_that_others_may_know_signs_nothing(
    compile_twice: Compile, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str
) -> None:
    compile_twice()
    (code,) = place.rglob("*.nbc")
    key, trace = b"k" * 32, tmp_path / "trace"
    path = place / "code" / "key"
    path.write_bytes(key)
    if owner == "open to all":
        path.chmod(0o644)
    else:
        planted = path.stat().st_ino
        os.link(path, tmp_path / "planted")  # so that no other file gets its number
        monkeypatch.setattr(signed_files, "is_ours", lambda found: found.st_ino != planted)
    evil = pickle.dumps({1: Malicious(trace)})
    signed = f"{code.parent.name}/{code.name}\n".encode() + evil
    code.write_bytes(signed_files._MARK + hmac.digest(key, signed, "sha256") + evil)
    assert [compile_twice(), compile_twice()] == ["compiled", "loaded"]
    assert not trace.exists() and path.read_bytes() != key and path.stat().st_mode & 0o777 == 0o600


def test_a_planted_source_file_does_not_run(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "x = 'ours'\n"
    name = load_module(source).__name__
    for folder in (place, place / "generated", place / "code", tmp_path):
        folder.mkdir(exist_ok=True, mode=0o700)
        (folder / f"{name}.py").write_text("x = 'theirs'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, name)
    from eventide.runtime import generated

    assert generated._load.__wrapped__(source).x == "ours"


@pytest.mark.parametrize("trouble", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_where_nothing_can_be_written_code_is_compiled_in_memory_and_one_warning_says_so(
    compile_twice: Compile, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, trouble: int
) -> None:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise OSError(trouble, os.strerror(trouble))

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    assert compile_twice() == "compiled"
    said = [record.message for record in caplog.records if "every new process compiles again" in record.message]
    assert len(said) == 1


def test_a_folder_that_became_read_only_still_gives_what_is_there(
    compile_twice: Compile, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from eventide.compilation.njit import njit

    compile_twice()

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), f"file {time.monotonic()}")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    assert compile_twice() == "loaded"
    assert caplog.messages == []
    assert [njit(cache=True)(function)(3) for function in (lambda x: x + 1, lambda x: x + 2)] == [4, 5]
    (said,) = caplog.messages
    assert said.endswith("so the next process compiles again: Read-only file system")


def test_a_write_that_fails_at_its_end_leaves_nothing_behind(
    compile_twice: Compile, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", refuse)
    assert compile_twice() == "compiled"
    assert files_of(place) == []


def test_a_disk_that_is_full_costs_the_cache_and_nothing_else(tmp_path: Path) -> None:
    # The system refuses every file that is longer than this, as a full disk does: the key fits, the code does not.
    done = run(tmp_path / "cache", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    assert done.stdout == "0 1\n", done.stderr
    assert "compiled code could not be written" in done.stderr
    assert [path.name for path in files_of(tmp_path)] == ["key"]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(
    compile_twice: Compile, place: Path, caplog: pytest.LogCaptureFixture, mode: int
) -> None:
    place.mkdir()
    place.chmod(mode)
    assert [compile_twice(), compile_twice()] == ["compiled", "loaded"]
    assert not list(place.iterdir()), "the user's own cache is taken instead"
    assert f"compiled code is not kept in '{place}': others may write to it" in caplog.messages


def test_a_folder_inside_that_is_open_to_others_is_not_used(compile_twice: Compile, place: Path) -> None:
    (place / "code").mkdir(parents=True)
    (place / "code").chmod(0o755)
    assert compile_twice() == "compiled"
    assert not list((place / "code").iterdir())


def test_a_link_in_place_of_the_folder_inside_is_not_followed(compile_twice: Compile, place: Path) -> None:
    place.mkdir(mode=0o700)
    (place / "elsewhere").mkdir(mode=0o700)
    (place / "code").symlink_to(place / "elsewhere")
    assert compile_twice() == "compiled"
    assert not list((place / "elsewhere").iterdir())


def test_a_folder_of_another_user_is_not_used(
    compile_twice: Compile, place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place.mkdir(mode=0o700)
    theirs = place.stat().st_ino
    monkeypatch.setattr(private_folder, "is_ours", lambda found: found.st_ino != theirs)
    assert compile_twice() == "compiled"
    assert not list(place.iterdir())
    assert caplog.messages == [f"compiled code is not kept in '{place}': it belongs to another user"]


def test_a_warning_comes_once_in_a_process(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    from eventide.compilation.cache import kept_code

    place.mkdir()
    place.chmod(0o777)
    assert kept_code() is kept_code() is not None
    assert len(caplog.records) == 1


def test_no_shared_temporary_folder_is_a_place_to_look(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    from eventide.compilation.cache import kept_code

    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("EVENTIDE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert kept_code() is None
    monkeypatch.delenv("EVENTIDE_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert private_folder.places() == (), "without a home there is no place"
    assert sum("EVENTIDE_CACHE_DIR" in message for message in caplog.messages) == 1


def test_what_dead_processes_left_is_removed(compile_twice: Compile, place: Path) -> None:
    compile_twice()
    (code,) = place.rglob("*.nbc")
    old, new, unused = code.parent / ".old.tmp", code.parent / ".new.tmp", place / "code" / "cpython-300-1"
    unused.mkdir()
    (unused / "some.nbc").touch()
    old.touch()
    new.touch()
    for path, days in ((old, 1), (unused, 100)):
        os.utime(path, (0, time.time() - days * 86400))
    code.unlink()
    compile_twice()
    assert (old.exists(), new.exists(), unused.exists()) == (False, True, False)
