"""What relates intervals, rule by rule: the thirteen relations, points, windows, partitions, columns, inputs."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.lang.relations import RELATIONS
from eventide.runtime import paired
from tests.families.allen.cases import Case
from tests.families.allen.micro_batches import SECOND_US, Stream, block_of, plan_of

ANY = list(RELATIONS)
# One left interval for each relation to the right one, [10, 20].
LEFTS = {
    "before": (1, 9),
    "meets": (1, 10),
    "overlaps": (5, 15),
    "starts": (10, 15),
    "during": (12, 15),
    "finishes": (15, 20),
    "equals": (10, 20),
    "after": (21, 25),
    "met-by": (20, 25),
    "overlapped-by": (15, 25),
    "started-by": (10, 25),
    "contains": (5, 25),
    "finished-by": (5, 20),
}
POINTS = {"before": 9, "starts": 10, "during": 15, "met-by": 20, "after": 21}
INVERSES = {"before": "after", "starts": "started-by", "during": "contains", "met-by": "meets", "after": "before"}


def table(*times: tuple[int, int], **columns: list[Any]) -> pa.Table:
    made = {"interval_start": [start for start, _ in times], "interval_end": [end for _, end in times]}
    types = {name: pa.array(values, pa.int64()) for name, values in made.items()}
    return pa.table({**types, **columns})


def relate(left: Any, right: Any, relations: Any = ANY, **options: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ev.allen(left, right, relations, ts_unit="s", **options).to_pylist()
    return rows


def held(left: tuple[int, int], right: tuple[int, int], **options: Any) -> list[str]:
    return [row["relation"] for row in relate(table(left), table(right), **options)]


@pytest.mark.parametrize("name", RELATIONS)
def test_each_relation_holds_between_its_ends_and_no_other_does(name: str) -> None:
    assert held(LEFTS[name], (10, 20)) == [name]
    assert held(LEFTS[name], (10, 20), relations=name) == [name]
    assert held(LEFTS[name], (10, 20), relations=[other for other in RELATIONS if other != name]) == []


@pytest.mark.parametrize("name", POINTS)
def test_a_point_has_one_of_five_relations_to_an_interval(name: str) -> None:
    points = pa.table({"ts": pa.array([POINTS[name]], pa.int64())})
    possible = list(POINTS)
    (row,) = relate(points, table((10, 20)), possible, left_times="ts")
    assert row["relation"] == name
    (row,) = relate(table((10, 20)), points, [INVERSES[one] for one in possible], right_times="ts")
    assert row["relation"] == INVERSES[name]
    # An interval whose start is its end is one.
    assert held((POINTS[name], POINTS[name]), (10, 20)) == [name]
    assert held((10, 20), (POINTS[name], POINTS[name])) == [INVERSES[name]]


def test_points_are_before_equal_to_or_after_one_another() -> None:
    left, right = pa.table({"at": [1, 2, 3]}), pa.table({"ts": [2]})
    rows = relate(left, right, "before | equals | after", left_times="at", right_times="ts")
    assert [(row["left_at"], row["relation"]) for row in rows] == [(1, "before"), (2, "equals"), (3, "after")]


def test_the_composite_interval_spans_both() -> None:
    (row,) = relate(table((5, 25)), table((10, 20)))
    assert (row["interval_start"], row["interval_end"]) == (5, 25)
    (row,) = relate(table((1, 2)), table((10, 20)))
    assert (row["interval_start"], row["interval_end"]) == (1, 20)
    (row,) = relate(table((10, 20)), table((1, 2)))
    assert (row["interval_start"], row["interval_end"]) == (1, 20)


def test_the_longest_interval_still_contains_what_is_at_its_end() -> None:
    assert held((5, 5), (1, 6)) == ["during"]


@pytest.mark.parametrize("name", RELATIONS)
def test_the_edge_of_the_window_belongs_to_it(name: str) -> None:
    start, end = LEFTS[name]
    span = max(end, 20) - min(start, 10)
    assert held((start, end), (10, 20), within=f"{span} seconds") == [name]
    assert held((start, end), (10, 20), within=f"{span - 1} seconds") == []
    assert held((start, end), (10, 20), within=timedelta(seconds=span)) == [name]


def test_only_intervals_of_one_partition_are_related_and_null_is_one() -> None:
    left = table((1, 5), (1, 5), (1, 5), room=["a", "b", None])
    right = table((3, 9), (3, 9), (3, 9), room=["a", None, "c"])
    rows = relate(left, right, "overlaps", partition_by="room")
    assert sorted(str(row["room"]) for row in rows) == ["None", "a"]


def test_several_partition_columns_must_all_be_equal() -> None:
    left = table((1, 5), (1, 5), a=[1, 1], b=["x", "y"])
    right = table((3, 9), a=[1], b=["y"])
    (row,) = relate(left, right, "overlaps", partition_by=["b", "a"])
    assert list(row)[:2] == ["b", "a"]


def test_a_partition_column_of_nothing_but_nulls_meets_any_type() -> None:
    left, right = table((1, 5), room=[None]), table((3, 9), (3, 9), room=["a", None])
    assert [row["room"] for row in relate(left, right, "overlaps", partition_by="room")] == [None]


def test_all_columns_but_the_partitions_have_the_name_of_their_side() -> None:
    left = pa.table({"car": ["x"], "a": [1], "from": [1], "to": [5]})
    right = pa.table({"to": [9], "car": ["x"], "a": [2.5], "from": [3]})
    result = ev.allen(left, right, "overlaps", partition_by="car", start="from", end="to", ts_unit="s")
    assert result.to_pylist() == [
        {
            "car": "x",
            "left_a": 1,
            "left_from": 1,
            "left_to": 5,
            "right_to": 9,
            "right_a": 2.5,
            "right_from": 3,
            "relation": "overlaps",
            "interval_start": 1,
            "interval_end": 9,
        }
    ]


def test_intervals_of_one_table_may_overlap_and_repeat() -> None:
    left = table((1, 9), (1, 9), (2, 5), name=["a", "b", "c"])
    right = table((3, 4), (3, 4), (0, 20))
    rows = relate(left, right, "contains | during")
    assert sorted((row["left_name"], row["relation"]) for row in rows) == [
        (name, kind) for name in "abc" for kind in ("contains", "contains", "during")
    ]


def test_empty_tables_give_no_pairs_but_the_columns() -> None:
    names = ["left_interval_start", "left_interval_end", "right_interval_start", "right_interval_end"]
    for left, right in ((table(), table((1, 2))), (table((1, 2)), table()), (table(), table())):
        result = ev.allen(left, right, ANY, ts_unit="s")
        assert result.num_rows == 0
        assert result.schema.names == [*names, "relation", "interval_start", "interval_end"]


def test_result_times_have_the_type_of_the_input() -> None:
    at = [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 3, 2, 5)]
    for dtype in (pa.timestamp("ms", "UTC"), pa.timestamp("us"), pa.timestamp("ns"), pa.date32()):
        days = [day.date() if pa.types.is_date(dtype) else day.replace(tzinfo=None) for day in at]
        sides = [
            pa.table({"interval_start": pa.array([days[i]], dtype), "interval_end": pa.array([days[i + 1]], dtype)})
            for i in (0, 2)
        ]
        result = ev.allen(*sides, "overlaps", within="4 days")
        assert result.num_rows == 1
        assert {field.type for field in result.schema if field.name != "relation"} == {dtype}


def test_the_same_times_in_two_forms_go_together() -> None:
    left = pa.table({"interval_start": [datetime(2024, 1, 1)], "interval_end": [datetime(2024, 1, 3)]})
    right = left.cast(pa.schema([(name, pa.timestamp("ns")) for name in left.schema.names]))
    assert ev.allen(left, right, "equals").num_rows == 1
    assert ev.allen(right, left, "equals").num_rows == 1


def test_derived_intervals_are_related_as_they_come() -> None:
    readings = [(20, 0), (36, 0), (37, 5), (38, 6), (30, 7)]
    events = [{"ts": i, "room": 1, "temp": temp, "smoke": smoke} for i, (temp, smoke) in enumerate(readings)]
    options = {"ts_unit": "s", "partition_by": "room"}
    hot = ev.intervals.homogeneous(events, "temp >= 35", **options)
    smoke = ev.intervals.homogeneous(events, "smoke > 0", close_at_end=True, **options)
    (row,) = ev.allen(hot, smoke, "overlaps | during", **options).to_pylist()
    assert row == {
        "room": 1,
        "left_interval_start": 1,
        "left_interval_end": 3,
        "left_count": 3,
        "right_interval_start": 2,
        "right_interval_end": 4,
        "right_count": 3,
        "relation": "overlaps",
        "interval_start": 1,
        "interval_end": 4,
    }


def test_every_kind_of_local_input_is_read(tmp_path: Path) -> None:
    right = table((3, 9))
    rows = [{"interval_start": 1, "interval_end": 5}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "left.parquet")
    (tmp_path / "left.csv").write_text("interval_start,interval_end\n1,5\n")
    inputs: list[Any] = [rows, pa.Table.from_pylist(rows), tmp_path / "left.parquet", str(tmp_path / "left.csv")]
    inputs += [pa.Table.from_pylist(rows).to_pandas(), pa.Table.from_pylist(rows).to_reader()]
    for left in inputs:
        assert [row["relation"] for row in relate(left, right, "overlaps")] == ["overlaps"]


def test_a_table_may_be_related_to_itself() -> None:
    one = table((1, 5), (3, 9))
    assert [row["relation"] for row in relate(one, one, "overlaps")] == ["overlaps"]


def test_many_pairs_come_in_batches_on_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "PAIRS_PER_BATCH", 7)
    left, right = table(*((i, i + 1) for i in range(20))), table(*((i + 40, i + 41) for i in range(9)))
    rows = relate(left, right, "before")
    assert len({(row["left_interval_start"], row["right_interval_start"]) for row in rows}) == len(rows) == 180


# --- what a stream holds, and when it answers ---------------------------------------------------------------


def stream_case(left: list[tuple[int, int]], right: list[tuple[int, int]], within: int = 10) -> tuple[Stream, pa.Table]:
    case = Case(
        tuple({"key": "a", "from": s, "to": e, "n": i} for i, (s, e) in enumerate(left)),
        tuple({"key": "a", "since": s, "until": e, "word": str(i)} for i, (s, e) in enumerate(right)),
        tuple(RELATIONS),
        within,
        True,
    )
    plan = plan_of(case)
    return Stream(plan), block_of(case, plan)


def n_held(stream: Stream) -> int:
    held = stream.operator()._buffer.select_all()  # type: ignore[attr-defined]
    return 0 if held is None else int(held.num_rows)


def test_a_pair_leaves_when_the_watermark_reaches_its_later_end() -> None:
    stream, block = stream_case([(1, 5)], [(3, 8)])
    assert stream.step(block, 7 * SECOND_US) == []
    assert stream.operator().pending_us() == 8 * SECOND_US
    (row,) = stream.step(block.slice(0, 0), 8 * SECOND_US)
    assert row["relation"] == "overlaps"
    assert stream.step(block.slice(0, 0), 9 * SECOND_US) == []


def test_what_no_later_interval_can_be_near_is_forgotten() -> None:
    stream, block = stream_case([(1, 5)], [(3, 8)])
    stream.step(block.slice(0, 1), 0)
    stream.step(block.slice(1), 0)
    held = []
    for second in (14, 15, 17, 18):
        stream.step(block.slice(0, 0), second * SECOND_US)
        held.append(n_held(stream))
    assert held == [2, 1, 1, 0]


def test_an_interval_longer_than_the_window_is_not_held() -> None:
    stream, block = stream_case([(1, 12)], [(3, 8)])
    stream.step(block, 0)
    assert n_held(stream) == 1


def test_an_interval_that_ends_at_the_watermark_is_late() -> None:
    stream, block = stream_case([(1, 5)], [(3, 8)])
    assert stream.step(block.slice(1), 5 * SECOND_US) == []
    assert stream.step(block.slice(0, 1), 9 * SECOND_US) == []
    assert stream.operator().late_events() == 1


# --- instants ------------------------------------------------------------------------------------------------


def test_an_instant_stands_where_the_start_did() -> None:
    intervals = pa.table({"a": [1], "interval_start": [3], "interval_end": [9], "count": [2]})
    assert ev.to_instants(intervals, at="earliest").to_pylist() == [{"a": 1, "ts": 3, "count": 2}]
    assert ev.to_instants(intervals).to_pylist() == [{"a": 1, "ts": 9, "count": 2}]
    named = ev.to_instants(intervals, at="latest", start="a", end="count", ts="at")
    assert named.to_pylist() == [{"at": 2, "interval_start": 3, "interval_end": 9}]


def test_now_is_what_the_clock_says_in_the_type_of_the_times() -> None:
    fixed = datetime(2030, 5, 6, 7, tzinfo=UTC)
    for dtype, told in (
        (pa.timestamp("us", "UTC"), fixed),
        (pa.timestamp("ms"), fixed.replace(tzinfo=None)),
        (pa.date32(), date(2030, 5, 6)),
    ):
        intervals = pa.table({"interval_start": pa.nulls(2, dtype), "interval_end": pa.nulls(2, dtype)})
        for clock in (fixed, lambda: fixed, fixed.replace(tzinfo=None)):
            made = ev.to_instants(intervals, at="now", clock=clock)
            assert made.column("ts").to_pylist() == [told, told]
            assert made.schema.field("ts").type == dtype
    numbers = pa.table({"interval_start": [1], "interval_end": [2]})
    assert ev.to_instants(numbers, at="now", clock=77).to_pylist() == [{"ts": 77}]
    assert ev.to_instants(numbers, at="now", clock=fixed, ts_unit="s").to_pylist() == [{"ts": int(fixed.timestamp())}]


def test_without_a_clock_now_is_the_computers() -> None:
    intervals = pa.table({"interval_start": pa.nulls(1, pa.timestamp("us", "UTC"))})
    before = datetime.now(UTC)
    (row,) = ev.to_instants(intervals, at="now", end="interval_start").to_pylist()
    assert before <= row["ts"] <= datetime.now(UTC)


def test_instants_of_no_intervals_have_the_columns() -> None:
    intervals = pa.table({"interval_start": pa.array([], pa.int64()), "interval_end": pa.array([], pa.int64())})
    assert ev.to_instants(intervals, at="now", clock=3).schema == pa.schema({"ts": pa.int64()})
