"""Events that no step wants, or that lie outside the time of all matches, need not be read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.engines.file_input import FileInput
from eventide.engines.spark.exchange import select_events
from eventide.engines.stored_filters import pieces_of, row_groups, stored_filters
from eventide.plan.physical import Physical

NTZ = "TIMESTAMP_NTZ '1970-01-01 00:01:30'"
BOTH = f"PATTERN SEQ(A a, C c) WHERE a.ts >= {NTZ} AND c.ts >= {NTZ} WITHIN 5 seconds RETURN a.ts AS a_ts, c.ts AS c_ts"
LAST = f"PATTERN SEQ(A a, C c) WHERE c.ts >= {NTZ} WITHIN 5 seconds RETURN a.ts AS a_ts, c.ts AS c_ts"
FIRST = "PATTERN SEQ(A a, C c) WHERE a.ts <= TIMESTAMP_NTZ '1970-01-01 00:00:10' WITHIN 5 seconds RETURN a.ts, c.ts"
CONTIGUOUS = LAST.replace("WITHIN", "SEMANTICS contiguous WITHIN")
VALUES = "PATTERN SEQ(A a, C c) WHERE a.n > 95 AND c.n >= 97 WITHIN 5 seconds RETURN a.n AS a_n, c.n AS c_n"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One event a second for 100 seconds, ten in a row group; `n` counts them."""
    path: Path = tmp_path_factory.mktemp("events") / "events.parquet"
    pq.write_table(events(), path, row_group_size=10)
    return str(path)


def events() -> pa.Table:
    seconds = list(range(100))
    return pa.table(
        {
            "ts": pa.array([1_000_000 * second for second in seconds]).cast(pa.timestamp("us")),
            "kind": pa.array(["AC"[second % 2] for second in seconds]),
            "n": pa.array(seconds),
            "x": pa.array([float(second) for second in seconds]),
        }
    )


def planned(text: str, path: str, **options: Any) -> Physical:
    return ev.query(text, type="kind", **options).plan(pq.read_schema(path), "spark")


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        (BOTH, [9]),
        # An A up to five seconds before a C, and that not included.
        (LAST, [8, 9]),
        (CONTIGUOUS, [8, 9]),
        (FIRST, [0, 1]),
        (VALUES, [9]),
        ("PATTERN SEQ(A a, C c) WHERE a.n IN (15, 71) AND c.n < 20 RETURN a.n", [0, 1, 7]),
        ("PATTERN SEQ(A a, C c) WHERE a.n + 1 > 95 AND c.n > 95 RETURN a.n", list(range(10))),
        ("PATTERN SEQ(A a, Z z) WHERE a.n > 500 RETURN a.n", []),
    ],
)
def test_row_groups_that_statistics_rule_out_are_not_read(path: str, text: str, groups: list[int]) -> None:
    physical = planned(text, path)
    kept = row_groups(path, physical)
    assert (list(range(10)) if kept is None else kept) == groups
    assert [group.piece[1] for group in FileInput([path], physical).groups] == groups
    assert [i for _, start, stop in pieces_of(path, physical) for i in range(start, stop)] == groups


@pytest.mark.parametrize("text", [BOTH, LAST, CONTIGUOUS, FIRST, VALUES])
def test_files_give_the_rows_of_a_table_in_memory(path: str, text: str) -> None:
    query = ev.query(text, type="kind")
    assert query.run(path).equals(query.run(events()))
    assert query.run(path).num_rows


def test_a_row_group_with_an_event_that_has_no_time_is_read(tmp_path: Path) -> None:
    table = events()
    times = table.column("ts").to_pylist()
    times[33] = None
    path = str(tmp_path / "a.parquet")
    pq.write_table(table.set_column(0, "ts", pa.array(times, pa.timestamp("us"))), path, row_group_size=10)
    for text in (BOTH, VALUES):
        assert row_groups(path, planned(text, path)) == [3, 9]
    with pytest.raises(ev.InputError, match="an event has no time"):
        ev.query(BOTH, type="kind").run(path)
    dropping = ev.query(BOTH, type="kind", on_bad_event="drop")
    assert dropping.run(path).num_rows and dropping.metrics()["dropped_events"] == 1


def test_what_is_not_a_number_is_not_lost_by_statistics(tmp_path: Path) -> None:
    table = pa.table(
        {
            "ts": pa.array([1, 2, 3, 4]).cast(pa.timestamp("us")),
            "kind": ["A", "A", "B", "B"],
            "x": [1.0, float("nan"), 2.0, float("nan")],
        }
    )
    path = str(tmp_path / "a.parquet")
    pq.write_table(table, path)
    for condition in ("> 5", ">= 5", "<> 1", "= DOUBLE('NaN')", "> -1 AND NOT {0}.x < 5"):
        where = " AND ".join(f"{name}.x {condition.format(name)}" for name in "ab")
        query = ev.query(f"PATTERN SEQ(A a, B b) WHERE {where} RETURN a.x AS a_x", type="kind")
        assert query.run(table).num_rows, condition
        assert str(query.run(path)) == str(query.run(table)), condition


@pytest.mark.spark
def test_spark_pushes_the_conditions_of_the_steps_into_files(spark: Any, path: str, tmp_path: Path) -> None:
    frame = spark.read.parquet(path)

    def pushed(text: str, **options: Any) -> str:
        plan = select_events(frame, planned(text, path, **options))._jdf.queryExecution().executedPlan()
        return re.sub(
            r"T00:0(\d):(\d\d)", r"T\1:\2", str(plan.toString()).split("PushedFilters: [")[1].split("], ReadSc")[0]
        )

    spark.conf.set("spark.sql.maxMetadataStringLength", "1000")
    try:
        kinds = "Or(And(EqualTo(kind,A),GreaterThan(n,95)),And(EqualTo(kind,C),GreaterThanOrEqual(n,97)))"
        assert pushed(VALUES) == f"Or({kinds},IsNull(ts))"
        # What files cannot use does not keep them from using the rest.
        assert pushed(VALUES.replace("c.n >= 97", "c.n * 2 >= 97")) == (
            "Or(Or(And(EqualTo(kind,A),GreaterThan(n,95)),EqualTo(kind,C)),IsNull(ts))"
        )
        # Every event between the two counts, and no event before the time of all matches.
        assert pushed(CONTIGUOUS) == "Or(GreaterThanOrEqual(ts,1970-01-01T1:25.000001),IsNull(ts))"
        assert "GreaterThan(x" not in pushed(VALUES.replace(".n", ".x"))
    finally:
        spark.conf.unset("spark.sql.maxMetadataStringLength")


@pytest.mark.spark
def test_spark_returns_the_rows_of_a_table_in_memory(spark: Any, path: str, tmp_path: Path) -> None:
    for text in (BOTH, LAST, CONTIGUOUS, FIRST, VALUES):
        query = ev.query(text, type="kind")
        expected = sorted(map(repr, query.run(events()).to_pylist()))
        for given, more in ((path, {"engine": "spark", "spark": spark}), (spark.read.parquet(path), {})):
            assert sorted(map(repr, query.run(given, **more).toArrow().to_pylist())) == expected
    nan = pa.table({"ts": pa.array([1, 2]).cast(pa.timestamp("us")), "kind": ["A", "A"], "x": [1.0, float("nan")]})
    pq.write_table(nan, tmp_path / "nan.parquet")
    one = ev.query("PATTERN SEQ(A a) WHERE a.x > 5 RETURN a.ts", type="kind")
    assert one.run(spark.read.parquet(str(tmp_path / "nan.parquet"))).count() == 1


def test_the_filter_of_a_plan_holds_for_events_without_a_time(path: str) -> None:
    for text in stored_filters(planned(LAST, path), "spark"):
        assert text.endswith("OR `ts` IS NULL")
