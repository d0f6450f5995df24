"""Tries mutants: `python -m tests.mutants [--passed] [--every N] [WORDS]`.

This process imports the package and the tests, once, without JIT so that no kernel is compiled. Every trial is a fork
of it in which the code of the mutated functions is replaced; then the tests named for the mutant run. A mutant that
survives, or whose text is no longer there, fails the run. A test that fails anyway kills every mutant, so all tests run
once on the package as it is; `--passed` says that they just did. `--every 4` tries a quarter.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.mutants.allen import ALLEN
from tests.mutants.apply import NotAppliedError, apply
from tests.mutants.detection import DETECTION
from tests.mutants.diagnosis import DIAGNOSIS
from tests.mutants.events import EVENTS
from tests.mutants.generators import GENERATORS
from tests.mutants.intervals import INTERVALS
from tests.mutants.kafka import KAFKA
from tests.mutants.live_view import LIVE_VIEW
from tests.mutants.metrics import METRICS
from tests.mutants.mutant import Mutant
from tests.mutants.overlaps import OVERLAPS
from tests.mutants.patterns import PATTERNS
from tests.mutants.reading import READING
from tests.mutants.rows import ROWS
from tests.mutants.rules import RULES
from tests.mutants.situations import SITUATIONS
from tests.mutants.streams import STREAMS
from tests.mutants.timeline import TIMELINE
from tests.mutants.trend_absences import TREND_ABSENCES
from tests.mutants.trend_numbers import TREND_NUMBERS
from tests.mutants.trend_slices import TREND_SLICES
from tests.mutants.trends import TRENDS

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = (
    *EVENTS,
    *OVERLAPS,
    *PATTERNS,
    *ROWS,
    *DETECTION,
    *DIAGNOSIS,
    *STREAMS,
    *RULES,
    *GENERATORS,
    *READING,
    *TRENDS,
    *TREND_NUMBERS,
    *TREND_ABSENCES,
    *INTERVALS,
    *ALLEN,
    *TREND_SLICES,
    *TIMELINE,
    *SITUATIONS,
    *KAFKA,
    *LIVE_VIEW,
    *METRICS,
)
# Nobody reads why a mutant fails, and what differs between long lists takes minutes to show.
QUIET = ("-q", "-x", "-p", "no:cacheprovider", "--hypothesis-profile=mutants", "--assert=plain")


def main() -> int:
    """Apply the chosen mutants; the number of survivors is the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("words", nargs="*", help="only mutants with one of these in their description")
    parser.add_argument("--passed", action="store_true", help="the tests just passed without any mutant")
    parser.add_argument("--every", type=int, default=1, help="only every n-th mutant")
    given = parser.parse_args()
    chosen = [m for m in MUTANTS if not given.words or any(word in m.what for word in given.words)][:: given.every]
    tests = tuple(dict.fromkeys(test for m in chosen for test in m.tests))
    unchanged = Mutant("nothing", "", "", "", tests)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        _import_all(tests, Path(folder))
        codes = dict(_run_all(chosen if given.passed else [unchanged, *chosen], Path(folder)))
    gc.unfreeze()
    if codes.pop(unchanged, 0) != 0:
        print("the tests fail without any mutant: nothing is shown")
        return 1
    # 1 is a failed test; anything else means that the tests did not run.
    survivors = [mutant for mutant, code in codes.items() if code != 1]
    for mutant in survivors:
        print(f"SURVIVED: {mutant.what} ({mutant.file})")
    print(f"mutants: {len(chosen) - len(survivors)} killed, {len(survivors)} survived")
    return min(len(survivors), 100)


def _import_all(tests: tuple[str, ...], folder: Path) -> None:
    """Import the tests, and with them the package; nothing runs that would start a thread."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.environ["EVENTIDE_CACHE_DIR"] = str(folder / "cache")
    os.chdir(ROOT)
    import pandas  # noqa: F401  imported late by the package
    import pytest

    with _output_to(folder / "collected"):
        code = pytest.main([*QUIET, "--collect-only", *tests])
    if code != 0:
        raise SystemExit(f"the tests cannot be collected:\n{(folder / 'collected').read_text()[-4000:]}")
    # What was imported is never looked at again by the collector, so that the forks share its memory.
    gc.freeze()


def _run_all(mutants: list[Mutant], folder: Path) -> Iterator[tuple[Mutant, int]]:
    """Each mutant with the exit code of its tests, as they end; as many at once as there are cores."""
    running: dict[int, tuple[Mutant, Path, float]] = {}
    waiting = list(enumerate(mutants))[::-1]
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            number, mutant = waiting.pop()
            output = folder / f"output-{number}"
            running[_fork(mutant, output)] = mutant, output, time.monotonic()
        child, status = os.wait()
        mutant, output, started = running.pop(child)
        code = os.waitstatus_to_exitcode(status)
        if code not in (0, 1) or (code and not mutant.file):
            print(f"the tests did not run for: {mutant.what}\n{output.read_text()[-4000:]}")
        elif mutant.file:
            seconds = time.monotonic() - started
            print(f"{'killed' if code else 'SURVIVED'}: {mutant.what} ({seconds:.1f} s) {_failed(output)}", flush=True)
        yield mutant, code


def _failed(output: Path) -> str:
    """The test that failed."""
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", output.read_text(), re.MULTILINE)
    return found[1] if found else ""


def _fork(mutant: Mutant, output: Path) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 3
    try:
        with _output_to(output):
            code = _test(mutant)
    finally:
        os._exit(code)


def _test(mutant: Mutant) -> int:
    import pytest

    if mutant.file:
        try:
            gc.unfreeze()
            apply(mutant)
            gc.freeze()
        except NotAppliedError as problem:
            print(problem, flush=True)
            return 3
    return int(pytest.main([*QUIET, *mutant.tests], plugins=[_WrittenFirst()]))


class _WrittenFirst:
    """Hand-written tests take milliseconds, random ones seconds."""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


@contextmanager
def _output_to(path: Path) -> Iterator[None]:
    """Everything that is printed meanwhile goes to a file."""
    sys.stdout.flush()
    kept = os.dup(1), os.dup(2)
    with path.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, descriptor in enumerate(kept, start=1):
            os.dup2(descriptor, number)
            os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())
