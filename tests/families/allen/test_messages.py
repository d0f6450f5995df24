"""What is wrong, where, and what to try."""

from __future__ import annotations

import pickle
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.errors import EventideError, InputError, QueryError

GOOD = pa.table({"room": ["a"], "from": [1], "to": [5]})


def relate(relations: Any = "before", left: Any = GOOD, right: Any = GOOD, **options: Any) -> Any:
    given: dict[str, Any] = {"start": "from", "end": "to", "ts_unit": "s"} | options
    return ev.allen(left, right, relations, **given)


def test_an_unknown_relation_is_underlined() -> None:
    with pytest.raises(QueryError) as caught:
        relate("before | overlap")
    assert str(caught.value).splitlines() == [
        "there is no relation 'overlap' (line 1, column 10)",
        "  before | overlap",
        "           ^^^^^^^",
        "Hint: did you mean 'overlaps'?",
    ]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("relations", "message"),
    [
        ("before |", "a relation is missing"),
        ("", "a relation is missing"),
        ("before, meets", r"there is no relation 'before, meets'.*\n.*\n.*\nHint: write before | meets"),
        ("during meets", r"Hint: write during | meets"),
        (5, 'relations must be text or a list of names, found int\nHint: write relations="overlaps | during"'),
        ([5], "relations must be text or a list of names"),
    ],
)
def test_what_is_no_list_of_relations_is_refused(relations: Any, message: str) -> None:
    with pytest.raises(EventideError, match=message):
        relate(relations)


def test_names_may_be_written_otherwise() -> None:
    right = pa.table({"from": [5], "to": [9]})
    for relations in ("Meets|MET-BY", "met_by | meets", ["met by", "meets"]):
        assert relate(relations, right=right).column("relation").to_pylist() == ["meets"]


def test_what_points_cannot_be_is_refused() -> None:
    message = r"'meets' never holds between a point on the left and an interval"
    with pytest.raises(
        QueryError, match=rf"{message}(?s:.*)Hint: possible are before, starts, during, equals, after, met-by"
    ):
        relate("before | meets", left_times="from")
    with pytest.raises(QueryError, match=r"'starts' never holds between an interval and a point on the right"):
        relate("starts", right_times="from")
    with pytest.raises(QueryError, match=r"'during' never holds between two points(?s:.*)before, equals, after"):
        relate("during", left_times="from", right_times="to")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"within": "5 minits"}, "unknown unit 'minits'"),
        ({"within": "5 events"}, "within: a length of time is needed, not a number of events"),
        ({"within": 5}, "within must be text or a timedelta, found int"),
        ({"start": "form"}, "the times of left: there is no column 'form'\nHint: did you mean 'from'?"),
        ({"right_times": ("from", "too")}, "the times of right: there is no column 'too'\nHint: did you mean 'to'?"),
        ({"left_times": ("from",)}, "left_times must be two names of columns, or one, found tuple"),
        ({"left_times": ("from", "from")}, "left_times names 'from' twice\nHint: write left_times='from' for points"),
        ({"start": 3}, "start must be the name of a column, found int"),
        ({"partition_by": "rom"}, "partition_by: there is no column 'rom' in left\nHint: did you mean 'room'?"),
        ({"partition_by": "from"}, "'from' of left is a time, so partition_by cannot take it"),
        ({"ts_unit": None}, "the time column 'to' holds integers, and nothing says their unit"),
        ({"start": "room", "end": "room"}, "the time column 'room' is string"),
        ({"on_bad_event": "ignore"}, "on_bad_event='ignore' is not possible"),
        ({"engine": "flink"}, "there is no engine 'flink'"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(EventideError) as caught:
        relate(**options)
    assert message in str(caught.value)


def test_times_and_partitions_of_the_sides_must_have_one_type() -> None:
    times = pa.table({"room": ["a"], "from": [datetime(2024, 1, 1)], "to": [datetime(2024, 1, 2)]})
    with pytest.raises(
        InputError, match=r"time columns .*: 'from' of left is bigint, 'from' of right is timestamp_ntz"
    ):
        relate(right=times)
    rooms = GOOD.set_column(0, "room", [[1]])
    with pytest.raises(InputError, match=r"partition columns .*: 'room' of left is string, 'room' of right is bigint"):
        relate(right=rooms, partition_by="room")


def test_two_columns_of_one_name_are_refused() -> None:
    left = GOOD.append_column("relation", [["x"]])
    with pytest.raises(InputError, match="the result would have two columns 'relation'"):
        relate(left=left, right=left, partition_by="relation")


BAD = {
    "reversed": ([9], [3], "an interval of left ends before it starts in the row with from = 9, to = 3, room = 'a'"),
    "no start": ([None], [3], "an interval of left has no start: 'from' is NULL in the row with to = 3, room = 'a'"),
    "no end": ([9], [None], "an interval of left has no end: 'to' is NULL in the row with from = 9, room = 'a'"),
    "nothing": (
        [None],
        [None],
        "an interval of left has no start: 'from' is NULL in the row with to = NULL, room = 'a'",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_interval_is_named_or_dropped_and_counted(kind: str) -> None:
    start, end, message = BAD[kind]
    bad = pa.table({"room": ["a"], "from": pa.array(start, pa.int64()), "to": pa.array(end, pa.int64())})
    with pytest.raises(InputError) as caught:
        relate(left=pa.concat_tables([GOOD, bad]))
    assert caught.value.message == message
    assert caught.value.hint == 'correct it, or pass on_bad_event="drop" to drop and count such rows'
    kept = relate("equals", left=pa.concat_tables([GOOD, bad, bad]), on_bad_event="drop")
    assert kept.num_rows == 1
    assert kept.schema.metadata[b"eventide.dropped_events"] == b"2"


def test_a_bad_point_is_named() -> None:
    points = pa.table({"ts": pa.array([1, None], pa.int64()), "id": ["x", "y"]})
    with pytest.raises(InputError, match="an event of right has no time: 'ts' is NULL in the row with id = 'y'"):
        relate("contains", right=points, right_times="ts")


def test_an_interval_of_one_instant_is_no_bad_one() -> None:
    one = pa.table({"from": [3], "to": [3]})
    assert relate("equals", left=one, right=one).num_rows == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": "first"}, "at='first' is not possible\nHint: one of 'earliest', 'latest', 'now'"),
        ({"at": "latest", "clock": 5}, "a clock says nothing about at='latest'"),
        ({"at": "now", "clock": "noon"}, "the clock gives str"),
        ({"at": "now"}, "holds integers, and nothing says their unit"),
        ({"ts": "room"}, "there is a column 'room' already"),
        ({"end": "too"}, "end: there is no column 'too'\nHint: did you mean 'to'?"),
    ],
)
def test_wrong_arguments_of_instants_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(EventideError) as caught:
        ev.to_instants(GOOD, **({"start": "from", "end": "to"} | options))
    assert message in str(caught.value)
