"""Random queries on random events, each engine against the oracle, round after round until the time is over.

Prints per engine and per feature how many cases there were and how many of them had rows: a fuzzer whose cases are
empty tests nothing.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, given, reject, seed, settings
from hypothesis.strategies import SearchStrategy

import eventide as ev
from eventide.runtime.costs import costing
from tests.budget import n_examples
from tests.families.builder.cases import Case as BuilderCase
from tests.families.builder.cases import cases as builder_cases
from tests.families.builder.test_same_matches import check as check_builder
from tests.families.events.cases import Case, cases
from tests.families.events.pattern_cases import PatternCase, pattern_cases
from tests.families.events.test_pattern_rows import run as run_pattern
from tests.families.rows.cases import Case as RowsCase
from tests.families.rows.cases import cases as rows_cases
from tests.families.rows.test_same_rows import check as check_rows
from tests.families.rows.test_same_rows import embedded as run_rows
from tests.lang.test_fuzz_parse import (
    test_arbitrary_text,
    test_mutated_queries,
    test_random_expressions,
    test_token_soup,
)

Check = Callable[[Any], None]
MANY = [*range(12), None]


class Tally:
    """Cases and cases with rows, per engine and feature."""

    def __init__(self) -> None:
        self.cases: Counter[tuple[str, str]] = Counter()
        self.filled: Counter[tuple[str, str]] = Counter()

    def add(self, engine: str, case: Case | PatternCase | RowsCase | BuilderCase, has_rows: bool) -> None:
        for feature in {"all", *case.features}:
            self.cases[engine, feature] += 1
            self.filled[engine, feature] += has_rows

    def report(self) -> None:
        print(f"{'engine':<20}{'feature':<18}{'cases':>8}{'with rows':>11}")
        for (engine, feature), n in sorted(self.cases.items()):
            print(f"{engine:<20}{feature:<18}{n:>8}{self.filled[engine, feature]:>11}")


@dataclass(frozen=True)
class Round:
    """So many cases of a kind, each checked."""

    check: Check
    n_examples: int
    cases: SearchStrategy[Any]
    shrink: bool = True

    def run(self, number: int) -> None:
        phases = [Phase.explicit, Phase.generate, *([Phase.shrink] if self.shrink else [])]

        @seed(number)
        @settings(
            max_examples=self.n_examples,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            phases=phases,
        )
        @given(self.cases)
        def body(case: Any) -> None:
            self.check(case)

        body()


def compare(engine: str, tally: Tally, run: Callable[[Any], Any]) -> Check:
    """For queries: the case knows what is expected, and how to read a result."""

    def check(case: Case | PatternCase) -> None:
        expected, result = case.expected(), run(case)
        tally.add(engine, case, bool(expected))
        assert case.found(result) == expected

    return check


def compare_rows(engine: str, tally: Tally, run: Callable[[RowsCase], Any]) -> Callable[[RowsCase], None]:
    def check(case: RowsCase) -> None:
        tally.add(engine, case, bool(case.expected()))
        check_rows(case, run)

    return check


def compare_builder(engine: str, tally: Tally, run: Callable[[BuilderCase], ev.Detection]) -> Check:
    def check(case: BuilderCase) -> None:
        matches, _ = check_builder(case, run)
        tally.add(engine, case, bool(matches))

    return check


def run_builder(case: BuilderCase) -> ev.Detection:
    return case.detect(case.table())


def run_local(case: Case) -> Any:
    return ev.query(case.text, **case.options).run(case.table())


def run_spilled(case: Case) -> Any:
    return ev.query(case.text, **case.options).run(case.table(), memory_limit=64)


def spark_rounds(tally: Tally) -> dict[str, Round]:
    from eventide.engines.spark.session import session
    from tests.families.events.test_same_rows import run_case_as_stream

    spark = session("eventide fuzz")
    spark.conf.set("spark.sql.shuffle.partitions", 4)

    def frame(case: Case) -> Any:
        return ev.query(case.text, **case.options).run(spark.createDataFrame(case.table())).toArrow()

    def path(case: Case) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "events.parquet"
            pq.write_table(case.table(), file, row_group_size=7)
            # Half of the cases by one task, half through an exchange.
            with costing(few_rows=len(case.text) % 2 * 1_000_000):
                return ev.query(case.text, **case.options).run(file, engine="spark", spark=spark).toArrow()

    def rows(case: RowsCase) -> Any:
        return ev.sql(case.sql, t=spark.createDataFrame(case.table()), ts_unit="s").toArrow()

    def pattern(case: PatternCase) -> Any:
        try:
            rows = ev.query(case.text, **case.options).run(spark.createDataFrame(case.table()))
        except ev.QueryError:
            reject()
        return rows.toArrow()

    def builder(case: BuilderCase) -> ev.Detection:
        found = case.detect(spark.createDataFrame(case.table()))
        return ev.Detection(found.matches.toArrow(), found.timeouts.toArrow(), found.late.toArrow())

    def stream(case: Case) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return run_case_as_stream(case, Path(folder), spark)

    many, few = cases(groups=MANY), pattern_cases(max_per_group=6, groups=[*range(6), None])
    return {
        "spark frame": Round(compare("spark frame", tally, frame), 20, many, shrink=False),
        "spark path": Round(compare("spark path", tally, path), 20, many, shrink=False),
        "spark stream": Round(compare("spark stream", tally, stream), 8, cases(groups=MANY, stream=True), shrink=False),
        "rows on spark": Round(compare_rows("rows on spark", tally, rows), 15, rows_cases(), shrink=False),
        "patterns on spark": Round(compare("patterns on spark", tally, pattern), 10, few, shrink=False),
        "builder on spark": Round(
            compare_builder("builder on spark", tally, builder), 10, builder_cases(), shrink=False
        ),
    }


def local_rounds(tally: Tally) -> dict[str, Round]:
    many = cases(groups=MANY)
    return {
        "local": Round(compare("local", tally, run_local), 100, many),
        "rows": Round(compare_rows("rows", tally, run_rows), 100, rows_cases()),
        "patterns": Round(compare("patterns", tally, run_pattern), 50, pattern_cases()),
        "builder": Round(compare_builder("builder", tally, run_builder), 100, builder_cases()),
        "local spilled": Round(compare("local spilled", tally, run_spilled), 50, many),
    }


def fuzz_parser(number: int) -> int:
    """All tests of the parser's fuzzing, once more with other seeds; the number of examples."""
    tests = (test_arbitrary_text, test_token_soup, test_mutated_queries, test_random_expressions)
    for test in tests:
        seed(number)(test)()
    return sum(map(n_examples, tests))


def run_rounds(number: int, minutes: float, engine: str) -> None:
    """Round after round until the time is over."""
    tally = Tally()
    rounds: dict[str, Round] = {}
    if engine != "spark":
        rounds |= local_rounds(tally)
    if engine != "local":
        rounds |= spark_rounds(tally)
    end = time.monotonic() + minutes * 60
    n_texts = 0
    while time.monotonic() < end:
        n_texts += fuzz_parser(number)
        for part in rounds.values():
            if time.monotonic() < end:
                part.run(number)
        number += 1
        print(f"  {sum(n for (_, feature), n in tally.cases.items() if feature == 'all')} cases", flush=True)
    tally.report()
    print(f"examples for the parser: {n_texts}")
