"""Damaged state, query texts and cached code, case by case: no process may crash or hang, no row may be another one.

Cases run in a worker. One that ends the worker is reported with what runs it again, and a new worker goes on behind it.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.fuzz.worker import FAILED

SHARES: Mapping[str, float] = {"snapshots": 0.35, "buckets": 0.25, "texts": 0.39, "caches": 0.01}
HANGS_SECONDS = 180
CASES_PER_WORKER = 5000  # what one process holds stays bounded


@dataclass
class Result:
    """How the cases of one kind ended, and those that ended badly."""

    kind: str
    seed: int
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def fail(self, number: int, what: str) -> None:
        again = f"python -m tests.fuzz.worker {self.kind} {self.seed} {number} {number + 1}"
        self.failures.append(f"{again}\n{what}")


def fuzz(kind: str, seed: int, n_cases: int) -> Result:
    """Run the cases of a kind."""
    result, first = Result(kind, seed), 0
    while first < n_cases:
        first = _run_worker(result, first, min(first + CASES_PER_WORKER, n_cases))
    return result


def _run_worker(result: Result, first: int, stop: int) -> int:
    """Run a worker to its end; the number of the case to go on with."""
    settings = {"texts": {"NUMBA_DISABLE_JIT": "1"}, "caches": {"NUMBA_DISABLE_JIT": "0"}}.get(result.kind, {})
    worker = subprocess.Popen(
        worker_command(result, first, stop),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **settings},
    )
    begun = done = first - 1
    for number, *outcome in _lines(worker):
        begun = number
        if outcome:
            done = number
            _count(result, number, outcome[0])
    if done == stop - 1:
        worker.wait()
        return stop
    worker.kill()
    code = worker.wait()
    result.outcomes["crashed or hung"] += 1
    result.fail(begun, f"the process ended with {code}, or hung for {HANGS_SECONDS} seconds")
    return max(begun, first) + 1


def worker_command(result: Result, first: int, stop: int) -> list[str]:
    numbers = map(str, (result.seed, first, stop))
    return [sys.executable, "-W", "ignore", "-m", "tests.fuzz.worker", result.kind, *numbers]


def _count(result: Result, number: int, outcome: str) -> None:
    if outcome.startswith(FAILED):
        result.fail(number, outcome)
        outcome = FAILED
    result.outcomes[outcome] += 1


def _lines(worker: subprocess.Popen[bytes]) -> Iterator[list]:  # type: ignore[type-arg]
    """What the worker tells, until it ends or is silent for too long."""
    assert worker.stdout is not None
    held = b""
    with selectors.DefaultSelector() as selector:
        selector.register(worker.stdout, selectors.EVENT_READ)
        while selector.select(HANGS_SECONDS):
            data = os.read(worker.stdout.fileno(), 1 << 16)
            if not data:
                return
            *whole, held = (held + data).split(b"\n")
            yield from map(json.loads, whole)


def report(result: Result) -> None:
    total = sum(result.outcomes.values())
    print(f"{result.kind}: {total} cases, {len(result.failures)} bad")
    for outcome, n in result.outcomes.most_common():
        print(f"  {n:>8}  {outcome}")
    for failure in result.failures[:20]:
        print(f"  BAD: {failure}", flush=True)


def run_all(seed: int, n_cases: Mapping[str, int]) -> int:
    """So many cases of each kind; how many of them ended badly."""
    n_bad = 0
    for kind, n in n_cases.items():
        result = fuzz(kind, seed, n)
        report(result)
        n_bad += len(result.failures)
    return n_bad
