"""MATCH_RECOGNIZE and builder patterns on Spark streams: the rows of the embedded engine, across a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.errors import QueryError, UnsupportedError
from tests.engines.plans import SECOND_US, make_events, shuffle_within, table_rows
from tests.engines.streams import SCHEMA, collect, read_batches, write_files

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

RISES = """
    SELECT user, first_ts, n, top, n * 2 AS twice FROM events MATCH_RECOGNIZE (
        PARTITION BY user ORDER BY ts, amount
        MEASURES MATCH_NUMBER() AS m, A.ts AS first_ts, count(B.*) AS n, max(B.amount) AS top,
                 stddev_pop(B.amount) AS spread
        PATTERN (A B+ C) WITHIN INTERVAL '30' SECOND
        DEFINE A AS kind = 'A', B AS kind <> 'C', C AS PREV(kind) <> 'A'
    ) WHERE m > 1"""


@pytest.fixture(scope="module")
def events() -> pa.Table:
    """Mixed users, and one event long after all others, so that every row is decided."""
    made = shuffle_within(make_events(400, seed=11, n_users=4), 5 * SECOND_US, seed=12)
    last = pa.array([1_900_000_000 * SECOND_US], pa.int64()).cast(pa.timestamp("us", "UTC"))
    end = pa.table({"user": ["end"], "ts": last, "kind": ["X"], "amount": pa.array([0], pa.int32())})
    return pa.concat_tables([made, end])


def source(spark: Any, base: Path) -> Any:
    return read_batches(spark, base / "in", SCHEMA)


def test_a_statement_over_a_stream_returns_the_rows_of_a_batch(spark: Any, tmp_path: Path, events: pa.Table) -> None:
    n = events.num_rows
    write_files(tmp_path / "in", events.slice(0, n // 2), 2)
    collect(ev.sql(RISES, events=source(spark, tmp_path), allowed_lateness="5 seconds"), tmp_path, spark)
    write_files(tmp_path / "in", events.slice(n // 2), 1, first=2)
    rows = collect(ev.sql(RISES, events=source(spark, tmp_path), allowed_lateness="5 seconds"), tmp_path, spark)
    expected = ev.sql(RISES, events=events)
    assert table_rows(rows) == table_rows(expected)
    assert rows.num_rows > 5


def test_a_builder_pattern_over_a_stream_finds_what_it_finds_in_a_batch(
    spark: Any, tmp_path: Path, events: pa.Table
) -> None:
    pattern = (
        ev.Pattern.begin("a", "kind = 'A'")
        .followed_by("b", "kind = 'B' AND coalesce(amount, 0) > coalesce(a.amount, 0)")
        .one_or_more()
        .followed_by("c", "kind = 'C'")
        .within("20 seconds")
    )
    options: dict[str, Any] = {"partition_by": "user", "ts": "ts", "skip": "past_last"}
    options["select"] = {"n": "count(b.*)", "last": "c.amount", "spread": "stddev_pop(b.amount)"}
    write_files(tmp_path / "in", events, 3)
    found = ev.detect(source(spark, tmp_path), pattern, allowed_lateness="5 seconds", **options)
    expected = ev.detect(events, pattern, **options)
    assert table_rows(collect(found.matches, tmp_path, spark, "matches")) == table_rows(expected.matches)
    assert table_rows(collect(found.timeouts, tmp_path, spark, "timeouts")) == table_rows(expected.timeouts)
    assert expected.matches.num_rows > 5 and expected.timeouts.num_rows > 5


def test_late_events_are_given_out(spark: Any, tmp_path: Path, events: pa.Table) -> None:
    late = events.slice(3, 2)
    write_files(tmp_path / "in", events, 1)
    write_files(tmp_path / "in", late, 1, first=1)
    pattern = ev.Pattern.begin("a", "kind = 'A'").followed_by("b", "kind = 'B'").within("20 seconds")
    found = ev.detect(source(spark, tmp_path), pattern, partition_by="user", ts="ts")
    rows = collect(found.late, tmp_path, spark)
    assert table_rows(rows) == table_rows(late.cast(rows.schema))


def test_what_no_stream_can_answer_is_refused_before_it_starts(spark: Any, tmp_path: Path, events: pa.Table) -> None:
    write_files(tmp_path / "in", events, 1)
    stream = source(spark, tmp_path)
    with pytest.raises(QueryError, match="without WITHIN a match may become longer for ever"):
        ev.sql(
            "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS t PATTERN (A+) DEFINE A AS 1 = 1)", t=stream
        )
    endless = ev.Pattern.begin("a", "kind = 'A'").followed_by("b", "kind = 'B'")
    with pytest.raises(UnsupportedError, match="a partial match may wait for ever"):
        ev.detect(stream, endless, ts="ts")
