"""Windows that share events, slices of one window, and windows that micro-batches close."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import eventide as ev
from eventide.families.registry import make_operator
from eventide.families.trends.panes import count_by_panes
from eventide.runtime.block import MAX_US
from eventide.runtime.protocol import Operator
from tests.engines.streams import collect, read_batches, write_batch
from tests.families.trends.recurrences import loop, rounds, windows
from tests.families.trends.test_numbers import long_stream, table_of
from tests.micro_batches import SECOND_US, Stream

KINDS = {0: "A", 1: "B", 2: "A", 3: "C", 4: "B", 5: "A", 6: "B", 7: "B", 9: "A", 10: "B", 13: "A", 14: "A", 15: "B"}
EVENTS = [{"ts": ts, "kind": kind, "x": 2 * ts - 9} for ts, kind in {**KINDS, 30: "A", 31: "B"}.items()]


def by_window(text: str, events: Any) -> dict[tuple[int, int], tuple[Any, ...]]:
    result = ev.query(text, ts="ts", ts_unit="s", type="kind").run(events)
    rows = [tuple(row.values()) for row in result.drop_columns(["detected_at"]).to_pylist()]
    found = {row[-2:]: row[:-2] for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize(("within", "slide"), [(4, 1), (6, 2), (5, 3), (12, 1), (7, 2), (3, 3)])
def test_windows_that_share_events(within: int, slide: int) -> None:
    """Pairs of an A and a later B: what a window holds is written down, its neighbours play no part."""
    expected = {}
    for start, end, inside in windows(EVENTS, within, slide):
        pairs = [(a, b) for a in inside for b in inside if (a["kind"], b["kind"]) == ("A", "B") and a["ts"] < b["ts"]]
        if pairs:
            first, last = [a["x"] for a, _ in pairs], [b["x"] for _, b in pairs]
            expected[(start, end)] = (len(pairs), sum(first), sum(last), min(first), max(last), float(sum(last)))
    pattern = f"PATTERN SEQ(A, B) WITHIN {within} s SLIDE {slide} s"
    aggregates = "COUNT(*), SUM(A.x), SUM(B.x), MIN(A.x), MAX(B.x), SUM(CAST(B.x AS DOUBLE))"
    assert by_window(f"{pattern} RETURN {aggregates}", EVENTS) == expected
    assert by_window(f"{pattern} RETURN COUNT(*)", EVENTS) == {key: row[:1] for key, row in expected.items()}


RISES = [
    {"ts": i - i % 5 // 4, "kind": "AAZA"[i % 4], "x": None if i % 11 == 7 else (i * i * 7 + 3 * i) % 17}
    for i in range(70)
]
SIGNS: dict[str, Callable[[Any, Any], bool]] = {"<": operator.lt, ">=": operator.ge, "=": operator.eq}


def in_lanes(least: int, most: int) -> Any:
    """At least and at most so many windows are walked at once."""
    return patch.multiple("eventide.families.trends.batches", LEAST_LANES=least, MOST_LANES=most)


@pytest.mark.parametrize("lanes", [(2, 3), (16, 64)])
@pytest.mark.parametrize("sign", list(SIGNS))
@pytest.mark.parametrize("strategy", ["any", "next", "contiguous"])
def test_windows_that_share_events_with_conditions_on_neighbours(
    strategy: str, sign: str, lanes: tuple[int, int]
) -> None:
    """Windows are walked at once, each in a lane: a trend counts in those that hold all of it."""
    expected = {}
    for start, end, inside in windows(RISES, 20, 2):
        totals = loop(inside, SIGNS[sign], strategy)
        if totals.trends:
            expected[(start, end)] = (totals.trends, totals.events, totals.total)
    text = f"PATTERN A+ WHERE A.x {sign} NEXT(A).x SEMANTICS {strategy} WITHIN 20 s SLIDE 2 s"
    with in_lanes(*lanes):
        assert by_window(f"{text} RETURN COUNT(*), COUNT(A), SUM(A.x)", RISES) == expected
        assert by_window(f"{text} RETURN COUNT(*)", RISES) == {key: row[:1] for key, row in expected.items()}


@pytest.mark.parametrize("strategy", ["any", "next"])
def test_extremes_of_windows_that_share_events(strategy: str) -> None:
    """A lane without a trend has no extreme, whatever the windows beside it hold."""
    events = [{"ts": ts, "kind": kind, "x": x} for ts, kind, x in [(0, "A", 1), (1, "B", 8), (2, "A", 2), (3, "B", 6)]]
    text = f"PATTERN SEQ(A, B) WHERE A.x < NEXT(B).x SEMANTICS {strategy} WITHIN {{}} s SLIDE 1 s"
    text += " RETURN COUNT(*), MIN(A.x), MAX(B.x)"
    first, second = (1, 1, 8), (1, 2, 6)
    assert by_window(text.format(3), events) == {(-1, 2): first, (0, 3): first, (1, 4): second, (2, 5): second}
    both = (3, 1, 8) if strategy == "any" else (2, 1, 8)
    expected = {(-2, 2): first, (-1, 3): first, (0, 4): both, (1, 5): second, (2, 6): second}
    assert by_window(text.format(4), events) == expected


@pytest.mark.parametrize("strategy", ["any", "next"])
def test_a_value_is_equal_to_none_of_another_window(strategy: str) -> None:
    rows = [(0, "A", 3, None), (5, "A", 2, None), (6, "B", None, 3)]
    events = [dict(zip(("ts", "kind", "x", "y"), row, strict=True)) for row in rows]
    text = f"PATTERN SEQ(A, B) WHERE A.x = NEXT(B).y SEMANTICS {strategy} WITHIN 5 s RETURN COUNT(*)"
    assert by_window(text, events) == {}
    assert by_window(text.replace("5 s", "7 s"), events) == {(0, 7): (1,)}


def test_windows_that_hold_the_same_events_give_the_same_row() -> None:
    events = [{"ts": ts, "kind": "A", "x": ts} for ts in (10, 12, 40)]
    found = by_window("PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 10 s SLIDE 1 s RETURN COUNT(*), SUM(A.x)", events)
    assert len(found) == 12 + 10
    assert [found[(start, start + 10)] for start in range(3, 11)] == [(3, 44)] * 8
    assert {found[(start, start + 10)] for start in range(31, 41)} == {(1, 40)}


class Threaded(Stream):
    """A plan whose operator has three threads."""

    def operator(self) -> Operator:
        return make_operator(self.physical.spec, n_threads=3)


@pytest.mark.parametrize("n", [5, 50, 120])
@pytest.mark.parametrize("pattern", ["A+", "SEQ(A, A)", "A{2,3}"])
def test_slices_of_a_pattern_that_goes_on_as_it_starts(pattern: str, n: int) -> None:
    events = pa.table({"ts": pa.array(range(n), pa.int64()), "kind": ["A"] * n})
    stream = Threaded(
        ev.query(f"PATTERN {pattern} RETURN COUNT(*)", ts="ts", ts_unit="s", type="kind").plan(events.schema)
    )
    operator, block = stream.operator(), stream._block(events)
    with patch("eventide.families.trends.panes.LEAST_SLICE", 1):
        assert list(operator.process(block, 0)) == []
        (row,) = stream._read(operator.finish())
    pairs, triples = n * (n - 1) // 2, n * (n - 1) * (n - 2) // 6
    assert row["count"] == {"A+": 2**n - 1, "SEQ(A, A)": pairs, "A{2,3}": pairs + triples}[pattern]


@pytest.mark.parametrize("functions", ["COUNT(*)", "COUNT(*), COUNT(A), SUM(A.x)"])
def test_slices_of_one_window_give_the_values_of_the_whole(functions: str) -> None:
    events = [event for event in long_stream(60, 4, "AB") if event["g"] != "u"]
    wanted = rounds(events)
    physical = ev.query(f"PATTERN (SEQ(A+, B))+ RETURN {functions}", ts="ts", ts_unit="s", type="kind").plan(
        table_of(events).schema
    )
    stream = Threaded(physical)
    operator, block = stream.operator(), stream._block(table_of(events))
    with patch("eventide.families.trends.panes.LEAST_SLICE", 1):
        assert list(operator.process(block, 0)) == []
        (row,) = stream._read(operator.finish())
    assert list(row.values())[:-1] == [wanted.trends, wanted.events, wanted.total][: len(row) - 1]


def test_slices_of_one_window_do_not_cut_through_events_of_one_time() -> None:
    """Five times with seven events each: a trend takes at most one of each time."""
    events = pa.table({"ts": pa.array([i // 7 for i in range(35)], pa.int64()), "kind": ["A"] * 35})
    stream = Threaded(ev.query("PATTERN A+ RETURN COUNT(*)", ts="ts", ts_unit="s", type="kind").plan(events.schema))
    operator, block = stream.operator(), stream._block(events)
    with patch("eventide.families.trends.panes.LEAST_SLICE", 1):
        assert list(operator.process(block, 0)) == []
        (row,) = stream._read(operator.finish())
    assert row["count"] == 8**5 - 1


def n_held(stream: Stream) -> int:
    block = stream.operator()._buffer.select(up_to_us=MAX_US)  # type: ignore[attr-defined]
    return 0 if block is None else int(block.num_rows)


def test_a_window_is_returned_once_when_the_watermark_passes_its_last_instant() -> None:
    schema = pa.schema([("ts", pa.int64()), ("kind", pa.string())])
    text = "PATTERN A+ WITHIN 4 seconds SLIDE 2 seconds RETURN COUNT(*)"
    stream = Stream(ev.query(text, ts="ts", ts_unit="s", type="kind").plan(schema))

    def step(times: list[int], watermark_us: int) -> list[tuple[int, int]]:
        table = pa.table({"ts": pa.array(times, pa.int64()), "kind": pa.array(["A"] * len(times), pa.string())})
        return [(row["window_start"], int(row["count"])) for row in stream.step(table, watermark_us)]

    # A micro-batch is forgotten as a whole.
    assert step([0, 1], 0) == []
    assert step([3], 2 * SECOND_US - 2) == []
    assert stream.pending_us() == 2 * SECOND_US - 1
    assert step([], 2 * SECOND_US - 1) == [(-2, 3)]
    assert step([], 2 * SECOND_US) == []
    assert (stream.pending_us(), n_held(stream)) == (4 * SECOND_US - 1, 3)
    assert step([5], 4 * SECOND_US - 1) == [(0, 7)]
    assert (stream.pending_us(), n_held(stream)) == (6 * SECOND_US - 1, 2)
    assert step([], 6 * SECOND_US - 1) == [(2, 3)]
    assert n_held(stream) == 1
    assert [(row["window_start"], row["count"]) for row in stream.finish()] == [(4, 1)]


def test_nothing_is_counted_before_a_window_ends_and_only_what_ended_windows_hold() -> None:
    schema = pa.schema([("ts", pa.int64()), ("kind", pa.string())])
    text = "PATTERN A+ WITHIN 10 seconds RETURN COUNT(*)"
    stream = Stream(ev.query(text, ts="ts", ts_unit="s", type="kind").plan(schema))
    counted: list[int] = []

    def watched(block: pa.Table, *others: Any) -> Any:
        counted.append(block.num_rows)
        return count_by_panes(block, *others)

    with patch("eventide.families.trends.operator.count_by_panes", watched):
        for second in range(25):
            table = pa.table({"ts": pa.array([second], pa.int64()), "kind": ["A"]})
            stream.step(table, second * 1_000_000)
    assert counted == [10, 10]
    assert [int(row["count"]) for row in stream.rows] == [2**10 - 1, 2**10 - 1]


def test_windows_over_positions_leave_when_they_are_full_and_their_events_with_them() -> None:
    """In micro-batches: a window of three positions, every two; what no later window holds is forgotten."""
    text = "PATTERN A a+ GROUP BY g WITHIN 3 EVENTS SLIDE 2 EVENTS RETURN g, COUNT(*) AS n"
    query = ev.query(text, ts_unit="s", type="kind")
    events = [{"ts": ts, "g": ts % 2, "kind": "A" if ts < 8 else "B"} for ts in range(12)]
    stream = Stream(query.plan(pa.Table.from_pylist(events).schema))
    shown = []
    for event in events:
        found = stream.step(pa.Table.from_pylist([event]), event["ts"] * 1_000_000)
        shown.append([(row["g"], row["window_start"], row["n"]) for row in found])
    # The third event of a group fills its first window, the fifth its second; that one holds two A's of three.
    assert shown[4:] == [[(0, 0, 7)], [(1, 0, 7)], [], [], [(0, 2, 3)], [(1, 2, 3)], [], []]
    assert stream.operator()._buffer.count(MAX_US) == 4  # type: ignore[attr-defined]
    assert [(row["g"], row["window_start"]) for row in stream.finish()] == []


@pytest.mark.spark
def test_a_stream_returns_windows_over_positions_when_they_are_full(spark: Any, tmp_path: Path) -> None:
    rows = [{"ts": 100 + ts, "g": ts % 2, "kind": "A" if ts < 8 else "B"} for ts in range(12)]
    # A far event of a group of its own lets the watermark pass all others.
    batches = [rows[:5], rows[5:6], rows[6:], [{"ts": 1000, "g": 2, "kind": "A"}]]
    for i, batch in enumerate(batches):
        write_batch(pa.Table.from_pylist(batch), tmp_path / "in", i)
    stream = read_batches(spark, tmp_path / "in")
    text = "PATTERN A a+ GROUP BY g WITHIN 3 EVENTS SLIDE 2 EVENTS RETURN g, COUNT(*) AS n"
    found = collect(ev.query(text, ts_unit="s", type="kind").run(stream), tmp_path, spark).to_pylist()
    shown = sorted((row["g"], row["window_start"], int(row["n"])) for row in found)
    assert shown == [(0, 0, 7), (0, 2, 3), (1, 0, 7), (1, 2, 3)]


@pytest.mark.spark
def test_a_stream_refuses_windows_over_positions_that_partitions_of_a_group_fill(spark: Any) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "value AS g", "'A' AS kind")
    text = "PATTERN A a+ WHERE [g] WITHIN 3 EVENTS RETURN COUNT(*) AS n"
    with pytest.raises(ev.UnsupportedError, match="cannot add up windows that count events"):
        ev.query(text, type="kind").run(stream)
