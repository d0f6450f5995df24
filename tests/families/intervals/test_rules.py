"""One test for each rule of derived intervals, in this process."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from tests.failing import error_of

Events = list[dict[str, Any]]


def temps(*values: float | None, key: Any = None) -> Events:
    """One value a second from 0 on."""
    return [{"ts": ts, "temp": temp, "key": key} for ts, temp in enumerate(values)]


def derive(events: Any, condition: str, **options: Any) -> list[tuple[Any, ...]]:
    """Whatever the end of the input leaves open is closed, unless a test says otherwise."""
    found = ev.intervals.homogeneous(events, condition, **{"ts_unit": "s", "close_at_end": True, **options})
    return [tuple(row.values()) for row in found.to_pylist()]


# --- runs -----------------------------------------------------------------------------------------------------


def test_an_interval_reaches_from_the_first_event_of_a_run_to_its_last() -> None:
    assert derive(temps(20, 36, 38, 30, 40), "temp >= 35") == [(1, 2, 2), (4, 4, 1)]


def test_runs_with_too_few_events_are_dropped() -> None:
    assert derive(temps(36, 30, 36, 37), "temp >= 35", occurrences=(2, None)) == [(2, 3, 2)]


def test_a_run_that_reaches_the_most_closes_and_the_next_event_begins_another() -> None:
    assert derive(temps(36, 36, 36, 36, 36), "temp >= 35", occurrences=(1, 2)) == [(0, 1, 2), (2, 3, 2), (4, 4, 1)]
    assert derive(temps(36, 36), "temp >= 35", occurrences=(1, 1)) == [(0, 0, 1), (1, 1, 1)]


def test_successive_events_are_less_than_the_gap_apart() -> None:
    events = [{"ts": ts, "temp": 36} for ts in (0, 4, 9, 13)]
    assert derive(events, "temp >= 35", within="5 seconds") == [(0, 4, 2), (9, 13, 2)]
    assert derive(events, "temp >= 35", within=timedelta(seconds=5, microseconds=1)) == [(0, 13, 4)]


def test_the_gap_is_not_the_length_of_the_interval() -> None:
    assert derive(temps(*[36] * 10), "temp >= 35", within="2 seconds") == [(0, 9, 10)]


def test_an_event_that_breaks_a_run_may_begin_the_next() -> None:
    assert derive(temps(1, 2, 3, 1, 2), "temp >= prev(temp)") == [(0, 2, 3), (3, 4, 2)]


def test_what_relates_an_event_to_the_run_does_not_apply_to_its_first_event() -> None:
    assert derive(temps(1, 7, 8, 2), "abs(temp - first(temp)) >= 5") == [(0, 2, 3), (3, 3, 1)]
    assert derive(temps(1, 1), "temp > prev(temp)") == [(0, 0, 1), (1, 1, 1)]
    assert derive(temps(3, 5, 5), "abs(temp - min(temp)) >= 2") == [(0, 2, 3)]


def test_what_is_about_aggregates_alone_applies_to_the_first_event_too() -> None:
    assert derive(temps(60, 70, 65, 66), "avg(temp) >= 67") == [(1, 3, 3)]


def test_aggregates_include_the_event_that_is_looked_at() -> None:
    assert derive(temps(1, 2, 3, 4), "sum(temp) <= 6") == [(0, 2, 3), (3, 3, 1)]
    assert derive(temps(1, 1, 1), "count(*) <= 2") == [(0, 1, 2), (2, 2, 1)]


def test_prev_is_the_event_before_in_the_run_and_not_one_before_the_run() -> None:
    # 9 is too hot for any run: it is not what 3 is compared with.
    assert derive(temps(9, 3, 4), "temp < 5 AND temp >= prev(temp)") == [(1, 2, 2)]


def test_all_conjuncts_must_hold() -> None:
    condition = "temp >= 30 AND temp >= 1.1 * prev(temp) AND max(temp) < 60"
    assert derive(temps(29, 30, 34, 35, 40, 50, 70), condition) == [(1, 2, 2), (3, 5, 3)]


def test_a_condition_that_is_unknown_is_not_met() -> None:
    assert derive(temps(36, None, 37), "temp >= 35") == [(0, 0, 1), (2, 2, 1)]
    assert derive(temps(1, None, 2), "temp >= prev(temp)") == [(0, 0, 1), (1, 1, 1), (2, 2, 1)]
    assert derive(temps(None, 70), "avg(temp) >= 67") == [(1, 1, 1)]


def test_intervals_are_derived_in_each_partition_and_null_is_one() -> None:
    events = [{"ts": i, "temp": 36 if i != 3 else 1, "key": key} for i, key in enumerate(["a", None, "a", "a", None])]
    found = derive(events, "temp >= 35", partition_by="key")
    assert sorted(found, key=str) == [("a", 0, 2, 2), (None, 1, 4, 2)]


def test_an_event_of_another_type_ends_a_run() -> None:
    kinds = ["a", "a", "b", "a", None, None]
    events = [{"ts": i, "temp": 36, "kind": kind} for i, kind in enumerate(kinds)]
    found = derive(events, "temp >= 35", type="kind")
    assert found == [("a", 0, 1, 2), ("b", 2, 2, 1), ("a", 3, 3, 1), (None, 4, 5, 2)]
    assert derive(events, "temp >= 35 AND kind = 'a'") == [(0, 1, 2), (3, 3, 1)]


def test_tied_events_follow_one_another_by_the_sequence() -> None:
    events = [{"ts": 1, "temp": 40, "n": 1}, {"ts": 1, "temp": 30, "n": 2}, {"ts": 2, "temp": 50, "n": 3}]
    assert derive(events, "temp >= 35", sequence="n") == [(1, 1, 1), (2, 2, 1)]
    backwards = [{**event, "n": -event["n"]} for event in events]
    assert derive(backwards, "temp >= 35", sequence="n") == [(1, 2, 2)]


def test_without_a_sequence_ties_are_ordered_by_the_columns_that_are_read() -> None:
    events = [{"ts": 1, "temp": 40}, {"ts": 1, "temp": 30}, {"ts": 2, "temp": 50}]
    assert derive(events, "temp >= 35") == derive(events[::-1], "temp >= 35") == [(1, 2, 2)]


def test_a_run_that_is_open_at_the_end_of_bounded_input_is_returned_on_request() -> None:
    assert derive(temps(36, 30, 36), "temp >= 35", close_at_end=False) == [(0, 0, 1)]
    assert derive(temps(36, 30, 36), "temp >= 35", close_at_end=True) == [(0, 0, 1), (2, 2, 1)]


def test_a_gap_ends_a_run_once_the_latest_event_of_all_partitions_is_as_late() -> None:
    events = [{"ts": 0, "temp": 36, "key": "a"}, {"ts": 4, "temp": 0, "key": "b"}]
    options: dict[str, Any] = {"partition_by": "key", "close_at_end": False}
    assert derive(events, "temp >= 35", within="4 seconds", **options) == [("a", 0, 0, 1)]
    assert derive(events, "temp >= 35", within="5 seconds", **options) == []


def test_the_instant_before_the_end_of_a_gap_is_its_last() -> None:
    events = [{"ts": 0, "temp": 36, "key": "a"}, {"ts": 3, "temp": 0, "key": "b"}]
    options: dict[str, Any] = {"partition_by": "key", "close_at_end": False, "ts_unit": "us"}
    assert derive(events, "temp >= 35", within=timedelta(microseconds=4), **options) == [("a", 0, 0, 1)]
    assert derive(events, "temp >= 35", within=timedelta(microseconds=5), **options) == []


def test_a_start_without_an_end_has_nothing_that_the_end_of_the_input_could_close() -> None:
    with pytest.raises(ev.EventideError, match="close_at_end closes runs of events"):
        ev.intervals.heterogeneous(temps(1), start="temp > 0", end="temp < 0", ts_unit="s", close_at_end=True)


def test_no_event_gives_no_interval_and_the_columns_are_there() -> None:
    empty = pa.table(
        {"ts": pa.array([], pa.timestamp("us")), "x": pa.array([], pa.int32()), "k": pa.array([], pa.int8())}
    )
    found = ev.intervals.homogeneous(empty, "x > 1", value={"most": "max(x)", "mean": "avg(x)"}, partition_by="k")
    names = ["k", "interval_start", "interval_end", "count", "most", "mean"]
    types = [pa.int8(), pa.timestamp("us"), pa.timestamp("us"), pa.int64(), pa.int32(), pa.float64()]
    assert found.schema == pa.schema(list(zip(names, types, strict=True)))


# --- values ---------------------------------------------------------------------------------------------------


def test_a_value_is_an_expression_over_the_events_of_the_interval() -> None:
    events = [{"ts": i, "x": x, "name": name} for i, (x, name) in enumerate(zip([1, 5, None, 2], "bcad", strict=True))]
    value = {
        "n": "count(x)",
        "low": "min(name)",
        "high": "max(name)",
        "mean": "avg(x) * 3",
        "ends": "concat(first(name), last(name))",
        "last": "x",
        "constant": "7",
    }
    found = ev.intervals.homogeneous(events, "name <> 'z'", value=value, ts_unit="s", close_at_end=True).to_pylist()
    assert found == [
        {"interval_start": 0, "interval_end": 3, "count": 4, "n": 3, "low": "a", "high": "d", "mean": 8.0}
        | {"ends": "bd", "last": 2, "constant": 7}
    ]


def test_values_have_the_types_of_spark() -> None:
    day = date(2024, 5, 1)
    table = pa.table(
        {
            "ts": pa.array([1, 2], pa.int32()),
            "small": pa.array([1, 2], pa.int16()),
            "price": pa.array([Decimal("1.25"), Decimal("2.50")], pa.decimal128(8, 2)),
            "day": pa.array([day, None], pa.date32()),
            "ok": [True, False],
        }
    )
    value = {
        "small": "max(small)",
        "total": "sum(price)",
        "mean": "avg(price)",
        "least": "min(price)",
        "day": "max(day)",
        "all": "bool_and(ok)",
        "any": "bool_or(ok)",
    }
    found = ev.intervals.homogeneous(table, "small > 0", value=value, ts_unit="s", close_at_end=True)
    assert found.schema.field("small").type == pa.int16()
    assert found.schema.field("interval_start").type == pa.int32()
    assert found.schema.field("total").type == pa.decimal128(18, 2)
    (row,) = found.select(list(value)).to_pylist()
    assert row == {
        "small": 2,
        "total": Decimal("3.75"),
        "mean": Decimal("1.875000"),
        "least": Decimal("1.25"),
        "day": day,
        "all": False,
        "any": True,
    }


def test_nan_is_the_greatest_value() -> None:
    nan = float("nan")
    events = temps(nan, 1.0, nan, 0.5)
    ((*_, low, n),) = derive(events, "true", value={"low": "min(temp)", "n": "count(temp)"})
    assert low == 0.5 and n == 4
    ((*_, greatest),) = derive(events, "true", value="max(temp)")
    assert greatest != greatest


def test_a_sum_that_leaves_the_range_of_its_type_is_an_error() -> None:
    events = temps(2**62, 2**62)
    with pytest.raises(ev.InputError, match=r"leaves the range(.|\n)*DOUBLE"):
        derive(events, "temp > 0", value="sum(temp)")


def test_a_filter_leaves_events_out_of_an_aggregate() -> None:
    value = {
        "n": "count(*) FILTER (WHERE temp > 2)",
        "total": "sum(temp) FILTER (WHERE temp < 3)",
        "variance": "var_pop(temp) FILTER (WHERE temp < 9)",
        "all": "bool_and(temp < 3) FILTER (WHERE temp < 3)",
    }
    assert derive(temps(1, 3, 9), "temp > 0", value=value) == [(0, 2, 3, 2, 1, 1.0, True)]


def test_a_deviation_is_exact_where_squares_are_large() -> None:
    ((_, _, _, deviation),) = derive(temps(1e9 + 1, 1e9 + 2, 1e9 + 3), "temp > 0", value="stddev(temp)")
    assert deviation == pytest.approx(1.0, abs=1e-9)


# --- frames ---------------------------------------------------------------------------------------------------


def frame(name: str, *arguments: Any, **options: Any) -> list[tuple[Any, ...]]:
    found = getattr(ev.intervals, name)(*arguments, **{"ts_unit": "s", "close_at_end": True, **options})
    return [tuple(row.values()) for row in found.to_pylist()]


def test_a_threshold_frame_holds_as_long_as_each_event_does() -> None:
    assert frame("threshold", temps(49, 50, 51, 20), "temp >= 50") == [(1, 2, 2)]


def test_a_delta_frame_holds_as_long_as_the_value_is_far_from_the_first() -> None:
    assert frame("delta", temps(50, 44, 45, 56, 54, 60), "temp", 5, occurrences=(2, None)) == [(0, 3, 4), (4, 5, 2)]
    assert frame("delta", temps(1, 1.25, 1.1), "temp", 0.25, occurrences=(2, None)) == [(0, 1, 2)]


def test_a_boundary_frame_holds_as_long_as_the_value_stays_between_two_multiples() -> None:
    assert frame("boundary", temps(-1, 0, 9.5, 10, 19, 7), "temp", 10) == [(0, 0, 1), (1, 2, 2), (3, 4, 2), (5, 5, 1)]
    assert frame("boundary", temps(0.4, 0.6, 0.7), "temp", 0.5) == [(0, 0, 1), (1, 2, 2)]


def test_an_event_without_a_value_is_in_no_delta_or_boundary_frame() -> None:
    assert frame("delta", temps(None, 1, 9), "temp", 5) == [(1, 2, 2)]
    assert frame("boundary", temps(1, None, 2), "temp", 5) == [(0, 0, 1), (2, 2, 1)]


def test_an_aggregate_frame_holds_as_long_as_the_aggregate_does() -> None:
    assert frame("aggregate", temps(70, 65, 60, 90), "avg(temp) >= 67", value="count(*)") == [
        (0, 1, 2, 2),
        (3, 3, 1, 1),
    ]


# --- spans ----------------------------------------------------------------------------------------------------


def spans(kinds: str, **options: Any) -> list[tuple[Any, ...]]:
    events = [{"ts": i, "kind": kind, "x": i} for i, kind in enumerate(kinds)]
    given = {"start": "kind = 'h'", "end": "kind = 's'", "exclude": ["kind = 'c'"], "ts_unit": "s", **options}
    return [tuple(row.values()) for row in ev.intervals.heterogeneous(events, **given).to_pylist()]


def test_a_span_reaches_from_the_earliest_open_start_to_the_next_end() -> None:
    assert spans("xhhxsshs") == [(1, 4, 4), (6, 7, 2)]


def test_an_excluded_event_discards_the_open_start() -> None:
    assert spans("hcshs") == [(3, 4, 2)]
    assert spans("hxs", exclude=["kind = 'c'", "kind = 'x'"]) == []
    assert spans("hcs", exclude=()) == [(0, 2, 3)]


def test_an_excluded_event_neither_starts_nor_ends_a_span() -> None:
    assert spans("hs", exclude="kind = 'h'") == []
    assert spans("hss", exclude="x = 1") == []


def test_an_event_that_ends_a_span_does_not_start_the_next() -> None:
    assert spans("hhhh", end="kind = 'h'") == [(0, 1, 2), (2, 3, 2)]


def test_a_start_without_an_end_is_no_interval() -> None:
    assert spans("hxx") == []


def test_values_of_a_span_go_over_all_its_events() -> None:
    value = {"total": "sum(x)", "kinds": "concat(first(kind), last(kind))"}
    assert spans("xhxxs", value=value) == [(1, 4, 4, 10, "hs")]


# --- inputs and results ---------------------------------------------------------------------------------------


def test_every_kind_of_input_gives_the_same_intervals(tmp_path: Any) -> None:
    table = pa.Table.from_pylist(temps(20, 36, 38, 30))
    path = tmp_path / "temps.parquet"
    pq.write_table(table, path)
    inputs: list[Any] = [table, table.to_pandas(), pl.from_arrow(table), str(path), path, table.to_pylist()]
    assert isinstance(inputs[1], pd.DataFrame)
    for given in inputs:
        found = ev.intervals.homogeneous(given, "temp >= 35", value="sum(temp)", ts_unit="s")
        assert isinstance(found, pa.Table)
        assert found.to_pylist() == [{"interval_start": 1, "interval_end": 2, "count": 2, "value": 74}]


def test_times_come_back_as_they_came() -> None:
    at = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
    for dtype in (pa.timestamp("ns", "Europe/Berlin"), pa.timestamp("ms", "UTC"), pa.date32()):
        times = pa.array([at, at + timedelta(days=1)], pa.timestamp("us", "UTC")).cast(dtype)
        table = pa.table({"day": times, "x": [1, 2]})
        found = ev.intervals.homogeneous(table, "x > 0", ts="day", within="2 days", close_at_end=True)
        assert found.column("interval_start").to_pylist() == [times[0].as_py()]
        assert found.column("interval_end").to_pylist() == [times[1].as_py()]
        assert found.schema.field("interval_end").type == dtype


def test_an_event_without_a_time_is_an_error_or_dropped() -> None:
    events = pa.table({"ts": pa.array([1, None, 2]), "temp": [36, 1, 37]})
    with pytest.raises(ev.InputError, match="an event has no time"):
        derive(events, "temp >= 35")
    assert derive(events, "temp >= 35", on_bad_event="drop") == [(1, 2, 2)]


def test_rows_in_any_order_give_the_same_intervals() -> None:
    events = temps(20, 36, 38, 30, 40)
    assert derive(events[::-1], "temp >= 35") == derive(events, "temp >= 35")


# --- messages -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            "tmp >= 35",
            "condition: unknown column 'tmp' (line 1, column 1)\n  tmp >= 35\n  ^^^\nHint: did you mean 'temp'?",
        ),
        ("temp", "condition: a condition must be a boolean, but this is double"),
        ("1 < foo(temp)", "(line 1, column 5)\n  1 < foo(temp)\n      ^^^^^^^^^\n"),
        ("median(temp) > 1", "condition: median cannot be kept event by event"),
        ("count(DISTINCT temp) > 1", "count(DISTINCT ...) cannot be kept event by event"),
        ("temp > next(temp)", "NEXT is not allowed here (line 1, column 8)"),
        ("prev(temp, 2) > 1", "this event of the interval is not kept"),
        ("first(temp, 1) > 1", "this event of the interval is not kept"),
        ("a.temp > 1", "unknown column 'a'"),
        ("temp > (SELECT 1)", "a subquery is not allowed here"),
        ("upper(prev(key)) = key", "events cannot be related by upper(prev(key))"),
        (" ", "condition is empty"),
    ],
)
def test_a_wrong_condition_is_shown_with_its_place(condition: str, message: str) -> None:
    assert message in str(error_of(lambda: derive(temps(1.5, key="a"), condition)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"occurrences": (0, 1)}, "counts are whole numbers from 1 up"),
        ({"occurrences": (3, 2)}, "no run has at least 3 and at most 2 events"),
        ({"occurrences": 3}, "occurrences takes a pair of counts, found 3"),
        ({"occurrences": (True, None)}, "counts are whole numbers from 1 up"),
        ({"within": "5 parsecs"}, "within: unknown unit 'parsecs' (line 1, column 3)\n  5 parsecs\n    ^^^^^^^"),
        ({"within": "5 events"}, "within: a length of time is needed, not a number of events"),
        ({"within": timedelta(0)}, "is not a length of time"),
        ({"partition_by": "kye"}, "partition_by: there is no column 'kye'\nHint: did you mean 'key'?"),
        ({"ts": "time"}, "ts: there is no column 'time'"),
        ({"sequence": "n"}, "sequence: there is no column 'n'"),
        ({"type": "kind"}, "type: there is no column 'kind'"),
        ({"ts_unit": None}, "holds integers, and nothing says their unit"),
        ({"state": 1}, "there is no option 'state'"),
        ({"engine": "other"}, "there is no engine 'other'"),
        ({"engine": "spark"}, "engine='spark' takes Spark DataFrames or a path"),
        ({"value": "avg(tmp)"}, "value 'value': unknown column 'tmp' (line 1, column 5)"),
        ({"value": {"m": "prev(temp)"}}, "value 'm': PREV is not allowed in a value"),
        ({"value": "max(temp) FILTER (WHERE median(temp) > 1)"}, "median cannot be kept event by event"),
        ({"value": {"count": "sum(temp)"}}, "two columns of the result are called 'count'"),
        ({"value": 5}, "value must be a dict from names to expressions, found int"),
        ({"value": "NULL"}, "this value is always NULL"),
    ],
)
def test_a_wrong_argument_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ev.EventideError) as error:
        derive(temps(1.5, key="a"), "temp > 1", **options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("threshold", ("temp > prev(temp)",), "a threshold is about one event"),
        ("aggregate", ("temp > 1",), "there is no aggregate in the condition"),
        ("delta", ("tmp", 5), "expression: unknown column 'tmp' (line 1, column 1)\n  tmp\n"),
        ("delta", ("key", 5), "delta takes a number, but this is string"),
        ("delta", ("temp", -5), "delta takes a positive number, found -5"),
        ("boundary", ("avg(temp)", 5), "prev, first and aggregates are not allowed here"),
        ("boundary", ("temp", float("inf")), "boundary takes a positive number"),
    ],
)
def test_a_frame_says_what_it_takes(name: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ev.EventideError) as error:
        frame(name, temps(1.5, key="a"), *arguments)
    assert message in str(error.value)


def test_start_and_end_are_decided_by_one_event() -> None:
    with pytest.raises(ev.QueryError, match="end: this must be decided by one event"):
        spans("hs", end="x > prev(x)")
    with pytest.raises(ev.QueryError, match="exclude: unknown column 'y'"):
        spans("hs", exclude=["y > 1"])
    with pytest.raises(ev.EventideError, match="at most 60 conditions"):
        spans("hs", exclude=["x > 1"] * 61)
