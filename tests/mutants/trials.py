"""Runs the tests of each mutant in a fork.

One process imports the package and collects the tests, once, without JIT so that no kernel is compiled. In each fork
of it the code of the mutated functions is replaced; then those of the collected tests run that the mutant names, first
the one that killed it when `--note` was last given.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from tests.mutants.anchors import Edit, NotAppliedError
from tests.mutants.apply import Edits, Functions, apply, find_edits, functions_by_file
from tests.mutants.mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
# Nobody reads why a mutant fails, and what differs between long lists takes minutes to show.
QUIET = ("-q", "-s", "-p", "no:cacheprovider", "--hypothesis-profile=mutants", "--assert=plain")
FAILED, NOT_RUN = 1, 3
# Of each mutant, by its description, the test that killed it, without its file. What is out of date here costs time and
# nothing else.
KILLERS = Path(__file__).with_name("killers.json")


def run_all(mutants: list[Mutant], folder: Path) -> tuple[dict[Mutant, int], dict[str, str]]:
    """The exit code of each mutant's tests, and the test that killed each."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.environ["EVENTIDE_CACHE_DIR"] = str(folder / "cache")
    os.chdir(ROOT)
    import pandas  # noqa: F401  imported late by the package
    import pytest

    files = dict.fromkeys(test.partition("::")[0] for mutant in mutants for test in mutant.tests)
    output = folder / "collected"
    with os.fdopen(os.dup(1), "w") as shown, _output_to(output):
        trials = _Trials(mutants, folder, shown)
        code = pytest.main([*QUIET, *files], plugins=[trials])
    if code != 0:
        raise SystemExit(f"the tests cannot be collected:\n{output.read_text()[-4000:]}")
    return trials.codes, trials.killers


class _Trials:
    """Takes the place of pytest's loop over the tests that it collected."""

    def __init__(self, mutants: list[Mutant], folder: Path, shown: TextIO) -> None:
        self.codes: dict[Mutant, int] = {}
        self.killers: dict[str, str] = json.loads(KILLERS.read_text())
        self._mutants = mutants
        self._folder = folder
        self._shown = shown

    def pytest_runtestloop(self, session: Any) -> bool:
        edits = find_edits([mutant for mutant in self._mutants if mutant.where])
        functions = functions_by_file(edits)
        # What was imported is never looked at again by the collector, so that the forks share its memory.
        gc.freeze()
        for mutant, code in self._run(session, edits, functions):
            self.codes[mutant] = code
        gc.unfreeze()
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        """In a fork: a line of its own says which test failed."""
        if report.failed:
            print(f"\nFAILED {report.nodeid}", flush=True)

    def _run(self, session: Any, edits: Edits, functions: Functions) -> Iterator[tuple[Mutant, int]]:
        """Each mutant with the exit code of its tests, as they end; as many at once as there are cores."""
        running: dict[int, tuple[Mutant, Path, float]] = {}
        waiting = list(enumerate(self._mutants))[::-1]
        while waiting or running:
            while waiting and len(running) < (os.cpu_count() or 1):
                number, mutant = waiting.pop()
                output = self._folder / f"output-{number}"
                child = self._fork(mutant, output, session, edits, functions)
                running[child] = mutant, output, time.monotonic()
            child, status = os.wait()
            mutant, output, started = running.pop(child)
            code, said = os.waitstatus_to_exitcode(status), output.read_text()
            if code not in (0, FAILED) or (code and not mutant.where):
                print(f"the tests did not run for: {mutant.what}\n{said[-4000:]}", file=self._shown, flush=True)
            elif mutant.where:
                seconds, test = time.monotonic() - started, re.search(r"^FAILED (.*)", said, re.MULTILINE)
                how = f"killed by {test[1]}" if test else "SURVIVED"
                print(f"{mutant.what} ({seconds:.1f} s): {how}", file=self._shown, flush=True)
                if test:
                    self.killers[mutant.what] = _name(test[1])
            yield mutant, code

    def _fork(self, mutant: Mutant, output: Path, session: Any, edits: Edits, functions: Functions) -> int:
        sys.stdout.flush()
        child = os.fork()
        if child:
            return child
        code = NOT_RUN
        try:
            with _output_to(output):
                items = _items(mutant, session, self.killers.get(mutant.what, ""))
                code = _test(edits.get(mutant), items, functions)
        except NotAppliedError as problem:
            output.write_text(str(problem))
        except BaseException:
            output.write_text(traceback.format_exc())
        finally:
            os._exit(code)


def _test(edit: Edit | NotAppliedError | None, items: list[Any], functions: Functions) -> int:
    if isinstance(edit, NotAppliedError):
        raise edit
    if edit is not None:
        apply(edit, functions)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if item.session.testsfailed:
            return FAILED
    return 0


def _items(mutant: Mutant, session: Any, killer: str) -> list[Any]:
    """The tests that the mutant names: the killer, hand-written ones, which take milliseconds, then random ones."""
    found: dict[str, Any] = {}
    for test in mutant.tests:
        named = [
            item for item in session.items if item.nodeid == test or item.nodeid.startswith((f"{test}::", f"{test}["))
        ]
        if not named:
            raise NotAppliedError(f"there is no test {test}")
        found |= {item.nodeid: item for item in named}

    def rank(item: Any) -> tuple[bool, bool]:
        return _name(item.nodeid) != killer, getattr(getattr(item, "obj", None), "is_hypothesis_test", False)

    return sorted(found.values(), key=rank)


def _name(test: str) -> str:
    """A test without its file, which may move."""
    return test.partition("::")[2]


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
