"""A column that has no value, of the type NULL, is a column like any other: all of its values are NULL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev

EVENTS = pa.table({"ts": range(6), "kind": ["A", "B"] * 3, "x": [1, 2, 3, 4, 5, 6], "v": pa.nulls(6), "w": pa.nulls(6)})
OPTIONS = {"ts": "ts", "ts_unit": "s"}
MEASURES = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY v ORDER BY ts
    MEASURES count(*) AS n, max(w) AS m, last(A.w) AS l, count(w) AS c
    PATTERN (A B) DEFINE A AS kind = 'A', B AS kind = 'B' AND PREV(w) IS NULL)"""
RELATIONS = "overlaps|contains|during|finishes|starts|equals|before"


def query(text: str, **options: Any) -> Callable[[Any], Any]:
    return ev.query(text, **OPTIONS, **options).run


# How often the rows come, and what stands in them besides numbers.
USES: dict[str, tuple[Callable[[Any], Any], int, dict[str, Any]]] = {
    "partition": (
        query("PATTERN SEQ(A a, B b) SEMANTICS next RETURN v", type="kind", partition_by="v"),
        3,
        {"v": None},
    ),
    "equality": (query("PATTERN SEQ(A a, B b) WHERE [v] SEMANTICS next RETURN a.w", type="kind"), 3, {"a_w": None}),
    "repeated": (
        # More values in lists than there are rows.
        query("PATTERN SEQ(A a+, B b) WITHIN 9 seconds RETURN a.v, b.w", type="kind"),
        11,
        {"b_w": None},
    ),
    "conditions": (
        query(
            "PATTERN A a WHERE a.v LIKE 'x%' OR upper(a.v) = 'X' OR a.v + 1 > 2 OR a.v = a.w RETURN a.v", type="kind"
        ),
        0,
        {},
    ),
    "event type": (query("PATTERN SEQ(A a, B b) RETURN a.x", type="v"), 0, {}),
    "trends": (
        query("PATTERN A a+ GROUP BY v WITHIN 9 seconds RETURN v, MAX(a.w), COUNT(a.w)", type="kind"),
        1,
        {"v": None, "max_a_w": None, "count_a_w": 0},
    ),
    "situations": (
        query(f"PARTITION BY v DEFINE R AS x > 0, S AS x > 2 PATTERN R {RELATIONS} S RETURN max(S.w) AS m, v"),
        0,
        {},
    ),
    "builder": (
        lambda given: (
            ev.detect(
                given,
                ev.Pattern.begin("a", "kind = 'A'").next("b", "kind = 'B' AND w IS NULL"),
                partition_by="v",
                select={"m": "max(b.w)"},
                **OPTIONS,
            ).matches
        ),
        3,
        {"v": None, "m": None},
    ),
    "intervals": (
        lambda given: ev.intervals.threshold(
            given, "x > 2", value="max(w)", partition_by="v", close_at_end=True, **OPTIONS
        ),
        1,
        {"v": None, "value": None},
    ),
    "rows": (lambda given: ev.sql(MEASURES, t=given), 3, {"v": None, "m": None, "l": None, "c": 0}),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("held", ["table", "file", "several files"])
def test_it_can_be_used_for_anything(tmp_path: Path, use: str, held: str) -> None:
    given: Any = EVENTS
    if held != "table":
        # Each group of rows has a dictionary of its own, without an entry.
        pq.write_table(EVENTS, tmp_path / "0.parquet", row_group_size=2)
        given = tmp_path
    if held == "several files":
        pq.write_table(EVENTS.slice(0, 0).cast(EVENTS.schema.set(2, pa.field("x", pa.int32()))), tmp_path / "1.parquet")
    run, n_rows, expected = USES[use]
    found = run(given).to_pylist()
    assert len(found) == n_rows
    assert all(row.items() >= expected.items() for row in found)


@pytest.mark.parametrize("use", USES)
def test_events_without_a_value_give_no_rows(use: str) -> None:
    nothing = pa.table({name: pa.nulls(0) for name in EVENTS.column_names})
    assert USES[use][0](nothing).num_rows == 0


def test_a_time_without_a_value_is_missed() -> None:
    with pytest.raises(ev.InputError, match="an event has no time: 'ts' is NULL"):
        USES["equality"][0](EVENTS.set_column(0, "ts", pa.nulls(6)))


def test_an_empty_selection_of_pandas_gives_no_rows() -> None:
    frame = pd.DataFrame({"ts": pd.to_datetime(["2026-01-01"]), "kind": ["A"], "x": [1]})
    found = ev.query("PATTERN SEQ(A a, B b) RETURN a.x", type="kind").run(frame[frame.x > 5])
    assert found.num_rows == 0


def test_columns_of_pandas_that_have_one_name_are_told_when_they_are_used() -> None:
    frame = pd.DataFrame([[1, "A", 5, 6]], columns=["ts", "kind", "x", "x"])
    assert query("PATTERN A a RETURN a.ts", type="kind")(frame).num_rows == 1
    with pytest.raises(ev.QueryError, match="column 'x' is ambiguous"):
        query("PATTERN A a RETURN a.x", type="kind")(frame)


@pytest.mark.spark
@pytest.mark.parametrize("use", ["partition", "repeated", "trends", "event type"])
def test_a_path_on_spark_gives_the_same_rows(spark: Any, tmp_path: Path, use: str) -> None:
    pq.write_table(EVENTS, tmp_path / "0.parquet", row_group_size=2)
    run, n_rows, expected = USES[use]
    found = run.__self__.run(tmp_path, engine="spark", spark=spark).toArrow().to_pylist()  # type: ignore[attr-defined]
    assert len(found) == n_rows
    assert all(row.items() >= expected.items() for row in found)
