"""What windows hold, by examples that were worked out by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from tests.micro_batches import Stream

EVENTS = [{"ts": ts, "v": v} for v, ts in ((3, 1), (1, 2), (4, 4), (2, 8))]
TABLE = pa.Table.from_pylist(EVENTS)


def rows(clauses: str, events: list[dict[str, Any]] = EVENTS, **options: Any) -> list[tuple[Any, ...]]:
    """What a query returns, without the time at which windows are complete."""
    table = ev.query(clauses, ts_unit="s", **options).run(events)
    return sorted((tuple(row.values())[:-1] for row in table.to_pylist()), key=repr)


def bounds(clauses: str, events: list[dict[str, Any]] = EVENTS, **options: Any) -> list[tuple[Any, ...]]:
    """Start, end and sum of each window."""
    return sorted((start, end, total) for total, start, end in rows(f"{clauses} RETURN sum(v)", events, **options))


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        (
            "WITHIN 2 seconds SLIDE 1 second",
            [(0, 2, 3), (1, 3, 4), (2, 4, 1), (3, 5, 4), (4, 6, 4), (7, 9, 2), (8, 10, 2)],
        ),
        ("WITHIN 2 seconds", [(0, 2, 3), (2, 4, 1), (4, 6, 4), (8, 10, 2)]),
        ("WITHIN 1 second SLIDE 3 seconds", []),
        ("WITHIN 2 seconds SLIDE 3 seconds", [(0, 2, 3), (3, 5, 4)]),
        ("WITHIN UP TO 4 seconds STEP 2 seconds", [(0, 2, 3), (0, 4, 4), (4, 6, 4), (4, 8, 4), (8, 10, 2), (8, 12, 2)]),
        ("SESSION 2 seconds", [(1, 4, 4), (4, 6, 4), (8, 10, 2)]),
        ("SESSION 3 seconds", [(1, 7, 8), (8, 11, 2)]),
        ("WITHIN 2 EVENTS", [(0, 2, 4), (2, 4, 6)]),
        ("WITHIN 2 EVENTS SLIDE 1 EVENTS", [(0, 2, 4), (1, 3, 5), (2, 4, 6), (3, 5, 2)]),
        ("WITHIN 3 EVENTS SLIDE 2 EVENTS", [(0, 3, 8), (2, 5, 6)]),
    ],
)
def test_a_window_holds_its_start_and_not_its_end(clauses: str, expected: list[tuple[int, int, int]]) -> None:
    assert bounds(clauses) == sorted(expected)


def test_windows_begin_where_origin_says() -> None:
    first = [(-2, 3, 4), (1, 6, 8), (4, 9, 6), (7, 12, 2)]
    assert bounds("WITHIN 5 seconds SLIDE 3 seconds", origin="first") == first
    assert bounds("WITHIN 5 seconds SLIDE 3 seconds", origin="1 second") == first


def test_null_is_a_group_and_where_comes_before_windows() -> None:
    events = [{"ts": i, "k": k, "v": i} for i, k in enumerate(["a", None, None, "b", "a"])]
    found = rows("WHERE v < 4 GROUP BY k WITHIN 2 EVENTS RETURN k, count(*)", events)
    assert {row[:2] for row in found} == {("a", 1), (None, 2), ("b", 1)}


def test_a_window_is_complete_at_its_end_and_one_of_events_with_its_last_event() -> None:
    def complete(clauses: str) -> list[int]:
        table = ev.query(f"{clauses} RETURN count(*)", ts_unit="s").run(EVENTS)
        return sorted(table.column("detected_at").to_pylist())

    assert complete("WITHIN 2 seconds") == [2, 4, 6, 10]
    assert complete("SESSION 3 seconds") == [7, 11]
    assert complete("WITHIN 3 EVENTS") == [4, 8]
    assert complete("") == [8]


def test_return_names_the_ends_of_a_window_where_it_wants_them() -> None:
    table = ev.query("WITHIN 4 seconds RETURN window_end, window_start AS since, count(*) AS n", ts_unit="s").run(
        EVENTS
    )
    assert table.column_names == ["window_end", "since", "n", "window_start", "detected_at"]
    assert table.to_pylist()[0] == {"window_end": 4, "since": 0, "n": 2, "window_start": 0, "detected_at": 4}


def test_having_reads_names_of_return_aggregates_and_groups() -> None:
    clauses = "WITHIN 2 seconds SLIDE 1 second RETURN sum(v) AS total HAVING"
    assert [row[0] for row in rows(f"{clauses} total > 2 AND count(*) = 1")] == [3, 4, 4]
    assert rows(f"{clauses} window_start = 1 OR total IS NULL") == [(4, 1, 3)]


def test_a_filter_returns_events_as_they_are() -> None:
    assert ev.query("FROM e WHERE v > 2 RETURN *", ts_unit="s").run(EVENTS).sort_by("ts").to_pylist() == [
        {"ts": 1, "v": 3, "detected_at": 1},
        {"ts": 4, "v": 4, "detected_at": 4},
    ]
    table = ev.query("FROM e WHERE e.v > 2 RETURN v * 10 AS tens, v", ts_unit="s").run(EVENTS)
    assert sorted(table.column("tens").to_pylist()) == [30, 40]
    assert table.column_names == ["tens", "v", "detected_at"]


def test_nothing_comes_of_no_events() -> None:
    nothing = ev.query("WITHIN 2 seconds RETURN count(*) AS n", ts_unit="s")
    assert nothing.run(pa.table({"ts": pa.array([], pa.int64())})).num_rows == 0


def test_a_sum_beyond_bigint_is_an_error() -> None:
    events = [{"ts": i, "v": 2**62} for i in range(3)]
    with pytest.raises(ev.EventideError, match=r"BIGINT|range"):
        ev.query("WITHIN 1 minute RETURN sum(v)", ts_unit="s").run(events)


def test_a_window_waits_for_its_last_instant() -> None:
    stream = Stream(ev.query("WITHIN 2 seconds RETURN count(*) AS n", ts_unit="s").plan(TABLE.schema))
    assert stream.step(TABLE.slice(0, 1), 1_999_998) == []
    assert [row["n"] for row in stream.step(TABLE.slice(1, 0), 1_999_999)] == [1]
    assert [row["n"] for row in stream.step(TABLE.slice(1), 8_000_000)] == [1, 1]
    assert [row["window_start"] for row in stream.finish()] == [8]


def test_sums_of_partial_aggregates_are_held_and_no_event() -> None:
    stream = Stream(ev.query("WITHIN 1 minute RETURN sum(v)", ts_unit="s").plan(TABLE.schema))
    stream.step(TABLE, 0)
    assert stream.operator().open_runs() == 1


def test_positions_go_on_where_they_were() -> None:
    stream = Stream(ev.query("WITHIN 2 EVENTS RETURN sum(v) AS total", ts_unit="s").plan(TABLE.schema))
    found = stream.step(TABLE.slice(0, 3), 4_000_000) + stream.step(TABLE.slice(3), 8_000_000)
    assert [(row["window_start"], row["total"]) for row in found] == [(0, 4), (2, 6)]


def test_a_late_part_of_a_session_does_not_end_it() -> None:
    events = pa.Table.from_pylist([{"ts": ts} for ts in (1, 5, 9, 3, 12)])
    stream = Stream(ev.query("SESSION 5 seconds RETURN count(*) AS n", ts_unit="s").plan(events.schema))
    for start, length in ((0, 3), (3, 1), (4, 1)):
        assert stream.step(events.slice(start, length), 0) == []
    assert [(row["n"], row["window_start"], row["window_end"]) for row in stream.finish()] == [(5, 1, 17)]


def test_the_greatest_value_leaves_with_its_window() -> None:
    events = [{"ts": ts, "v": v} for ts, v in enumerate((1, 9, 2, 3, 1))]
    for clauses in ("WITHIN 2 seconds", "WITHIN 2 EVENTS"):
        assert [row[0] for row in rows(f"{clauses} RETURN max(v)", events)] == [1, 3, 9]
    assert [row[0] for row in rows("WITHIN 2 EVENTS SLIDE 1 EVENT RETURN max(v)", events)] == [1, 3, 3, 9, 9]
