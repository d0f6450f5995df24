"""Long fuzzing: `python -m tests.fuzz [--minutes N] [--engine NAME]`.

Random queries on random events, each engine against the oracle, round after round until the time is over. Prints
per engine and per feature how many cases there were and how many of them had rows: a fuzzer whose cases are
empty tests nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, given, seed, settings

import eventide as ev
from tests.engines.cases import Case, cases
from tests.lang.test_fuzz_parse import (
    FUZZ,
    test_arbitrary_text,
    test_mutated_queries,
    test_random_expressions,
    test_token_soup,
)
from tests.rows.cases import Case as RowsCase
from tests.rows.cases import cases as rows_cases
from tests.rows.test_same_rows import check as check_rows
from tests.rows.test_same_rows import embedded as run_rows

Check = Callable[[Any], None]
MANY = [*range(12), None]


class Tally:
    """Cases and cases with rows, per engine and feature."""

    def __init__(self) -> None:
        self.cases: Counter[tuple[str, str]] = Counter()
        self.filled: Counter[tuple[str, str]] = Counter()

    def add(self, engine: str, case: Case | RowsCase, has_rows: bool) -> None:
        for feature in {"all", *case.features}:
            self.cases[engine, feature] += 1
            self.filled[engine, feature] += has_rows

    def report(self) -> None:
        print(f"{'engine':<16}{'feature':<18}{'cases':>8}{'with rows':>11}")
        for (engine, feature), n in sorted(self.cases.items()):
            print(f"{engine:<16}{feature:<18}{n:>8}{self.filled[engine, feature]:>11}")


def compare(engine: str, tally: Tally, run: Callable[[Case], Any]) -> Check:
    def check(case: Case) -> None:
        expected = case.expected()
        tally.add(engine, case, bool(expected))
        assert case.found(run(case)) == expected

    return check


def compare_rows(engine: str, tally: Tally, run: Callable[[RowsCase], Any]) -> Callable[[RowsCase], None]:
    def check(case: RowsCase) -> None:
        tally.add(engine, case, bool(case.expected()))
        check_rows(case, run)

    return check


def run_local(case: Case) -> Any:
    return ev.query(case.text, **case.options).run(case.table())


def run_spilled(case: Case) -> Any:
    return ev.query(case.text, **case.options).run(case.table(), memory_limit=64)


def spark_runs(tally: Tally) -> dict[str, tuple[Check, int]]:
    from eventide.engines.spark.session import session
    from tests.engines.test_same_rows import run_case_as_stream

    spark = session("eventide fuzz")
    spark.conf.set("spark.sql.shuffle.partitions", 4)

    def frame(case: Case) -> Any:
        return ev.query(case.text, **case.options).run(spark.createDataFrame(case.table())).toArrow()

    def path(case: Case) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "events.parquet"
            pq.write_table(case.table(), file, row_group_size=7)
            return ev.query(case.text, **case.options).run(file, engine="spark", spark=spark).toArrow()

    def rows(case: RowsCase) -> Any:
        return ev.sql(case.sql, t=spark.createDataFrame(case.table()), ts_unit="s").toArrow()

    def stream(case: Case) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return run_case_as_stream(case, Path(folder), spark)

    return {
        "spark frame": (compare("spark frame", tally, frame), 20),
        "spark path": (compare("spark path", tally, path), 20),
        "spark stream": (compare("spark stream", tally, stream), 8),
        "rows on spark": (compare_rows("rows on spark", tally, rows), 15),
    }


def fuzz_parser(number: int) -> int:
    """All tests of the parser's fuzzing, once more with other seeds; the number of examples."""
    tests = (test_arbitrary_text, test_token_soup, test_mutated_queries, test_random_expressions)
    for test in tests:
        seed(number)(test)()
    return len(tests) * FUZZ.max_examples


def fuzz_round(check: Check, n_examples: int, number: int, *, stream: bool, rows: bool, shrink: bool) -> None:
    phases = [Phase.explicit, Phase.generate, *([Phase.shrink] if shrink else [])]

    @seed(number)
    @settings(
        max_examples=n_examples, deadline=None, suppress_health_check=list(HealthCheck), database=None, phases=phases
    )
    @given(rows_cases() if rows else cases(groups=MANY, stream=stream))
    def body(case: Any) -> None:
        check(case)

    body()


def main() -> int:
    parser = argparse.ArgumentParser(description="Random queries against the oracle, on every engine.")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--engine", choices=["local", "spark", "all"], default="all")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    tally = Tally()
    rounds: dict[str, tuple[Check, int]] = {}
    if arguments.engine != "spark":
        rounds["local"] = compare("local", tally, run_local), 100
        rounds["rows"] = compare_rows("rows", tally, run_rows), 100
        rounds["local spilled"] = compare("local spilled", tally, run_spilled), 50
    if arguments.engine != "local":
        rounds |= spark_runs(tally)
    end = time.monotonic() + arguments.minutes * 60
    number, n_texts = arguments.seed, 0
    print(f"seed {number}; JIT {'off' if os.environ.get('NUMBA_DISABLE_JIT') == '1' else 'on'}", flush=True)
    while time.monotonic() < end:
        n_texts += fuzz_parser(number)
        for name, (check, n_examples) in rounds.items():
            if time.monotonic() < end:
                stream, rows, on_spark = name == "spark stream", name.startswith("rows"), "spark" in name
                fuzz_round(check, n_examples, number, stream=stream, rows=rows, shrink=not on_spark)
        number += 1
        print(f"  {sum(n for (_, feature), n in tally.cases.items() if feature == 'all')} cases", flush=True)
    tally.report()
    print(f"examples for the parser: {n_texts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
