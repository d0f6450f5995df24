"""Random event patterns on random events return the oracle's rows, on every engine."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings

import eventide as ev
from tests.engines.pattern_cases import ALL, PatternCase, pattern_cases

WITHOUT_JIT = os.environ.get("NUMBA_DISABLE_JIT") == "1"
QUICK = {"deadline": None, "suppress_health_check": list(HealthCheck)}
# Not what every query needs: an AND makes the oracle slow.
PLAIN = [kind for kind in ALL if kind != "and"]


def run(case: PatternCase, **inputs: Any) -> pa.Table:
    """The product's rows; what cannot be asked is not a case."""
    try:
        return ev.query(case.text, **case.options).run(case.table(), **inputs)
    except ev.QueryError as error:
        assume("is never directly followed by" not in error.message)
        assume("leaves none" not in error.message)
        assume("where an aggregate of it has no meaning" not in error.message)
        raise


def check(case: PatternCase, result: pa.Table) -> None:
    assert case.found(result) == case.expected()


@settings(max_examples=400 if WITHOUT_JIT else 6, **QUICK)
@given(pattern_cases(kinds=PLAIN))
def test_a_pattern_returns_the_oracles_rows(case: PatternCase) -> None:
    check(case, run(case))


@settings(max_examples=200 if WITHOUT_JIT else 3, **QUICK)
@given(pattern_cases(kinds=[*ALL, "and"], max_per_group=6))
def test_a_pattern_with_and_returns_the_oracles_rows(case: PatternCase) -> None:
    check(case, run(case))


def test_patterns_return_the_oracles_rows_without_jit() -> None:
    """The same bodies on many more cases: the kernels as plain Python, so that no query is compiled."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        __file__,
        "-k",
        "oracles_rows and not jit",
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
