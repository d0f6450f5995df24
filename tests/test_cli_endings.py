"""How a command ends when it is stopped, or when a disk is full: the exit code, one line, nothing half written."""

from __future__ import annotations

import ast
import errno
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from eventide.cli.stopping import stop_at_once, stop_by_exception
from eventide.errors import InputError, OutputError
from eventide.runtime.whole_files import check_place, whole_file
from eventide.show.report import WRITERS

Command = Callable[..., tuple[int, str, str]]
QUERY = "PATTERN A DEFINE A AS true RETURN A.n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `events.csv`."""
    (tmp_path / "events.csv").write_text("ts,n\n2024-01-01 00:00:00,1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Waits in the middle of the work, where a file is half written, and says so.
_WAITING = """
import sys, time
from pathlib import Path
import eventide.show.report as report, eventide.cli.app as cli
def slowly(rows, path):
    Path(path).write_text("half")
    print("writing", flush=True)
    time.sleep(60)
report.WRITERS[".csv"] = slowly
cli.main()
"""


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143)],
)
def test_a_command_that_is_stopped_says_so_and_leaves_what_was_there(
    folder: Path, number: signal.Signals, code: int
) -> None:
    (folder / "out.csv").write_text("old")
    words = ["run", "-c", QUERY, "--input", "events.csv", "--output", "out.csv"]
    with subprocess.Popen(
        [sys.executable, "-c", _WAITING, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None and command.stdout.readline() == "writing\n"
        assert len(list(folder.iterdir())) == 3
        command.send_signal(number)
        _, err = command.communicate(timeout=50)
    assert command.returncode == code
    assert err == "running on the local engine ...\nstopped; nothing was written\n"
    assert sorted(path.name for path in folder.iterdir()) == ["events.csv", "out.csv"]
    assert (folder / "out.csv").read_text() == "old"


# The command itself, which says when it begins to load, or stops itself where a module is looked for. Loading has no
# end, so that a signal comes before it.
_LOADING = """
import os, sys, time
module, number = sys.argv[1:3]
sys.argv[1:3] = []
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "eventide.cli.app":
            print("loading", flush=True)
        if name == module:
            os.kill(os.getpid(), int(number))
        if name == "eventide.families.registry":
            time.sleep(60)
sys.meta_path.insert(0, Watch())
from eventide.__main__ import main
main()
"""


def stop_while_loading(number: signal.Signals, module: str, seconds: float | None) -> tuple[int, str, str]:
    """Exit code, standard output and error of a command that gets a signal, from itself or so long after its start."""
    words = ["run", "-c", QUERY, "--input", "events.csv", "--output", "out.csv"]
    with subprocess.Popen(
        [sys.executable, "-c", _LOADING, module, str(int(number)), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        assert command.stdout is not None and command.stdout.readline() == "loading\n"
        if seconds is not None:
            time.sleep(seconds)
            command.send_signal(number)
        out, err = command.communicate(timeout=50)
    return command.returncode, out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("steps", range(5))
def test_a_command_that_is_stopped_while_it_loads_says_so(folder: Path, number: signal.Signals, steps: int) -> None:
    # Every tenth of a second for each signal, every twentieth for both.
    seconds = 0.1 * steps + 0.05 * (number == signal.SIGTERM)
    assert stop_while_loading(number, "", seconds) == (128 + number, "", "stopped; nothing was written\n")
    assert [path.name for path in folder.iterdir()] == ["events.csv"]


@pytest.mark.parametrize("module", ["typer", "numpy._core._multiarray_umath", "numpy.lib", "_duckdb", "numba.core"])
def test_a_command_that_is_stopped_amid_a_library_says_so(folder: Path, module: str) -> None:
    assert stop_while_loading(signal.SIGINT, module, None) == (130, "", "stopped; nothing was written\n")


@pytest.fixture
def handlers() -> Iterator[None]:
    """Gives signals back what handled them before."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_process_at_once_until_the_work_begins(
    handlers: None, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    did: list[object] = []
    monkeypatch.setattr("os.write", lambda place, text: did.append((place, text)))
    monkeypatch.setattr("os._exit", did.append)
    stop_at_once()
    signal.raise_signal(number)
    assert did == [(2, b"stopped; nothing was written\n"), 128 + number]


def test_a_signal_is_an_exception_when_the_work_has_begun(handlers: None) -> None:
    stop_at_once()
    stop_by_exception()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(SystemExit, match=r"^143$"):
        signal.raise_signal(signal.SIGTERM)


def test_the_installed_command_is_the_one_that_can_be_stopped_from_its_start() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    module, _, name = project["project"]["scripts"]["eventide"].partition(":")
    assert (module, name) == ("eventide.__main__", "main")
    source = ast.parse((Path(__file__).parent.parent / "src/eventide/__main__.py").read_text())
    main = next(node for node in source.body if isinstance(node, ast.FunctionDef))
    assert ast.unparse(main.body[1]) == "stop_at_once()"


def test_ctrl_c_while_matching_is_130(folder: Path) -> None:
    code = "import time, eventide.api.query as a, eventide.cli.app as c\n"
    code += "def run(*_, **__):\n    print('at work', flush=True)\n    time.sleep(60)\na.Query.run = run\nc.main()"
    words = ["run", "-c", QUERY, "--input", "events.csv", "--json"]
    with subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None and command.stdout.readline() == "at work\n"
        command.send_signal(signal.SIGINT)
        _, err = command.communicate(timeout=50)
    assert (command.returncode, err) == (130, "running on the local engine ...\nstopped; nothing was written\n")


# Says when a search begins, which without a limit would not end for years.
_SEARCHING = """
import eventide.runtime.effort as effort, eventide.cli.app as cli
go_on = effort.Pace.go_on
def say(self, *place):
    steps = go_on(self, *place)
    if self._begun_saying is None:
        print("searching", flush=True)
    type(self)._begun_saying = True
    return steps
effort.Pace._begun_saying, effort.Pace.go_on = None, say
cli.main()
"""
ENDLESS = {
    "run": ["run", "-c", "PATTERN A+ DEFINE A AS true WHERE SUM(A.n) < 0", "--input", "events.csv", "--json"],
    "sql": [
        *("sql", "--table", "t=events.csv", "--json", "-c"),
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN ((A|C)+ B) "
        "DEFINE A AS n > 0, C AS SUM(C.n) > 0, B AS n < 0)",
    ],
}


@pytest.mark.parametrize("words", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_search_without_an_end_is_stopped_at_once(
    folder: Path, words: list[str], number: signal.Signals, code: int
) -> None:
    lines = [f"2024-01-01 00:00:{i:02},1" for i in range(60)]
    (folder / "events.csv").write_text("\n".join(["ts,n", *lines]))
    with subprocess.Popen(
        [sys.executable, "-c", _SEARCHING, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None and command.stdout.readline() == "searching\n"
        time.sleep(0.5)
        command.send_signal(number)
        # A second is enough where nothing else runs on the machine.
        out, _ = command.communicate(timeout=30)
    assert (command.returncode, out) == (code, "")


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.jsonl"])
def test_a_full_disk_is_one_message_and_the_old_file_stays(
    folder: Path, eventide: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (folder / name).write_text("old")

    def full(rows: object, path: Path) -> None:
        path.write_text("half")
        raise OSError(errno.ENOSPC, "Error writing bytes to file")

    monkeypatch.setitem(WRITERS, Path(name).suffix, full)
    code, out, err = eventide("run", "-c", QUERY, "--input", "events.csv", "--output", name)
    assert (code, out) == (1, "")
    assert err.endswith(f"Error: cannot write '{name}': No space left on device\nHint: what was there before is kept\n")
    assert (folder / name).read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == sorted(["events.csv", name])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no device that is always full")
def test_a_full_disk_behind_standard_output_is_one_message(folder: Path) -> None:
    words = ["run", "-c", QUERY, "--input", "events.csv", "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "eventide", *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "running on the local engine ...\nError: No space left on device\n"


def test_a_full_disk_for_spilled_events_is_one_message(
    folder: Path, eventide: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from eventide.engines.local import run

    class Full(run._Spill):
        def write(self, block: pa.Table) -> None:
            raise OSError(errno.ENOSPC, "Error writing bytes to file")

    monkeypatch.setattr(run, "_Spill", Full)
    monkeypatch.setattr(run, "default_memory_limit", lambda: 1)
    code, out, err = eventide("run", "-c", QUERY, "--input", "events.csv", "--partition-by", "n", "--json")
    assert (code, out) == (1, "")
    assert "Error: events that do not fit into memory cannot be kept on disk: No space left on device\nHint: " in err


# --- files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["/proc/x.csv", "x" * 300 + ".csv"])
def test_a_place_that_takes_no_file_is_refused_before_the_work(folder: Path, eventide: Command, name: str) -> None:
    code, out, err = eventide("run", "-c", QUERY, "--input", "events.csv", "--output", name)
    assert (code, out) == (2, "")
    assert err.startswith(f"Error: cannot write '{name}': ")
    assert [path.name for path in folder.iterdir()] == ["events.csv"]


def test_what_a_killed_process_left_is_removed_and_what_a_running_one_writes_is_not(folder: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for pid in (dead.pid, os.getppid()):
        (folder / f".out.csv.{pid}.part").write_text("half")
    (folder / ".other.csv.1.part").write_text("half")
    with whole_file(folder / "out.csv") as partial:
        partial.write_text("whole")
    left = {path.name for path in folder.iterdir()}
    assert left == {"events.csv", "out.csv", ".other.csv.1.part", f".out.csv.{os.getppid()}.part"}


def test_an_error_of_the_system_names_the_file(folder: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot write '.*out.csv': No space left"), whole_file(folder / "out.csv"):
        raise OSError("Error writing. Detail: [errno 28] No space left on device")
    with pytest.raises(InputError, match="cannot write"):
        check_place(folder / "out.txt", (".csv",))
    assert not (folder / "out.csv").exists()
