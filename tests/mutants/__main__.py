"""Tries mutants: `python -m tests.mutants [--passed] [--every N] [WORDS]`.

Each mutant is applied to a copy of the package, and the tests named for it run against the copy, without JIT so
that no kernel is compiled. A mutant that survives, or whose text is no longer there, fails the run. Every trial is a
fork of this process, which has imported the libraries and nothing of the package. A test that fails anyway kills every
mutant, so all tests run once on the package as it is; `--passed` says that they just did. `--every 4` tries a quarter.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.mutants.detection import DETECTION
from tests.mutants.events import EVENTS
from tests.mutants.mutant import Mutant
from tests.mutants.patterns import PATTERNS
from tests.mutants.rows import ROWS
from tests.mutants.streams import STREAMS

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = (*EVENTS, *PATTERNS, *ROWS, *DETECTION, *STREAMS)
LIBRARIES = (
    "duckdb",
    "hypothesis",
    "numba",
    "numpy",
    "pandas",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pytest",
    "sqlglot",
)


def main() -> int:
    """Apply the chosen mutants; the number of survivors is the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("words", nargs="*", help="only mutants with one of these in their description")
    parser.add_argument("--passed", action="store_true", help="the tests just passed without any mutant")
    parser.add_argument("--every", type=int, default=1, help="only every n-th mutant")
    given = parser.parse_args()
    chosen = [m for m in MUTANTS if not given.words or any(word in m.what for word in given.words)][:: given.every]
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    for name in LIBRARIES:
        __import__(name)
    unchanged = Mutant("nothing", "", "", "", tuple(dict.fromkeys(test for m in MUTANTS for test in m.tests)))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        codes = dict(_run_all(chosen if given.passed else [unchanged, *chosen], Path(folder)))
    if codes.pop(unchanged, 0) != 0:
        print("the tests fail without any mutant: nothing is shown")
        return 1
    # 1 is a failed test; anything else means that the tests did not run.
    survivors = [mutant for mutant, code in codes.items() if code != 1]
    for mutant in survivors:
        print(f"SURVIVED: {mutant.what} ({mutant.file})")
    print(f"mutants: {len(chosen) - len(survivors)} killed, {len(survivors)} survived")
    return min(len(survivors), 100)


def _run_all(mutants: list[Mutant], folder: Path) -> Iterator[tuple[Mutant, int]]:
    """Each mutant with the exit code of its tests, as they end; as many at once as there are cores."""
    running: dict[int, tuple[Mutant, Path, float]] = {}
    waiting = list(enumerate(mutants))[::-1]
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            number, mutant = waiting.pop()
            own = folder / str(number)
            if not _apply(mutant, own):
                yield mutant, -1
                continue
            running[_fork(mutant, own)] = mutant, own, time.monotonic()
        if running:
            child, status = os.wait()
            mutant, own, started = running.pop(child)
            code = os.waitstatus_to_exitcode(status)
            if code not in (0, 1) or (code and not mutant.file):
                print(f"the tests did not run for: {mutant.what}\n{(own / 'output').read_text()[-4000:]}")
            elif mutant.file:
                seconds = time.monotonic() - started
                print(f"{'killed' if code else 'SURVIVED'}: {mutant.what} ({seconds:.1f} s)", flush=True)
            shutil.rmtree(own)
            yield mutant, code


def _apply(mutant: Mutant, folder: Path) -> bool:
    """A copy of the package with the mutant in it; whether its text stands there once."""
    copy = folder / "src" / "eventide"
    # With what Python compiled, but without what Numba did.
    shutil.copytree(ROOT / "src" / "eventide", copy, ignore=shutil.ignore_patterns("*.nbi", "*.nbc"))
    if not mutant.file:
        return True
    path = copy / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        print(f"the text of this mutant stands {text.count(mutant.old)} times in {mutant.file}: {mutant.what}")
        return False
    path.write_text(text.replace(mutant.old, mutant.new))
    return True


def _fork(mutant: Mutant, folder: Path) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 3
    try:
        with _output_to(folder / "output"):
            code = _test(mutant, folder)
    finally:
        os._exit(code)


def _test(mutant: Mutant, folder: Path) -> int:
    import pytest

    os.environ["EVENTIDE_CACHE_DIR"] = str(folder / "cache")
    os.environ["PYTHONPATH"] = f"{folder / 'src'}{os.pathsep}{ROOT}"
    sys.path.insert(0, str(folder / "src"))
    os.chdir(ROOT)
    options = ["-q", "-x", "-p", "no:cacheprovider", "--hypothesis-profile=mutants"]
    return int(pytest.main([*options, *mutant.tests]))


@contextmanager
def _output_to(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        yield


if __name__ == "__main__":
    sys.exit(main())
