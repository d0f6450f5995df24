"""Functions that cannot stand where they do: named as they are written, underlined whole, with a way out."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

import eventide as ev

EVENTS = [
    {"ts": 1, "kind": "A", "x": 1, "i": 3, "s": "a", "d": dt.datetime(2026, 1, 1)},
    {"ts": 2, "kind": "B", "x": 2, "i": 3, "s": "ß", "d": dt.datetime(2026, 1, 2)},
]
SEQ = "PATTERN SEQ(A a+, B b)"
EACH = "in WHERE a.x is the value of each event of 'a', not an array"
LOOK = "COUNT, SUM, MIN, MAX and AVG of a.x look at all of them; in RETURN a.x is an array"
FROM_RESULT = "return what it is made of, and compute it from the result; on Spark the query works as it is"
BEFORE = "compute it before, as a column, such as df['y'] = ... in pandas; on Spark the query works as it is"
STAR = "RETURN * has the partition columns and all events of every symbol; or name the columns: RETURN a.x"
# The query, the message, the underlined text, the hint.
MESSAGES = [
    (f"{SEQ} WHERE size(a.x) > 1", EACH, "size(a.x)", "write COUNT(a.x); in RETURN a.x is an array"),
    (f"{SEQ} WHERE b.x > 1 AND cardinality((a.x)) > 1", EACH, "cardinality((a.x))", "write COUNT(a.x); in RETURN"),
    (f"{SEQ} WHERE array_max(a.x) > b.x", EACH, "array_max(a.x)", "write MAX(a.x); in RETURN a.x is an array"),
    (f"{SEQ} WHERE a.x[0] > 1", EACH, "a.x[0]", LOOK),
    (f"{SEQ} WHERE element_at(a.x, 1) > 1", EACH, "element_at(a.x, 1)", LOOK),
    (f"{SEQ} WHERE size(slice(a.x, 1, 2)) > 1", EACH, "slice(a.x, 1, 2)", LOOK),
    (f"{SEQ} WHERE array_contains(a.x, 1)", EACH, "array_contains(a.x, 1)", LOOK),
    (f"{SEQ} WHERE size(b.x) > 1", "size needs an array, but this is bigint", "b.x", ""),
    ("DEFINE Q AS array_size(x) > 1 PATTERN Q", "array_size needs an array, but this is bigint", "x", ""),
    (f"{SEQ} WHERE FIRST(a.x) > 1", "FIRST(a.x) is no aggregate over the events of a symbol", "FIRST(a.x)", "COUNT"),
    (f"{SEQ} WHERE max_by(a.x, a.i) > 1", "max_by(a.x, a.i) is no aggregate over", "max_by(a.x, a.i)", "COUNT(symbol)"),
    (f"{SEQ} WHERE string_agg(a.s) > 'a'", "string_agg(a.s) is no aggregate over", "string_agg(a.s)", "COUNT(symbol)"),
    (f"{SEQ} RETURN slice(a.x, 1, 2) AS v", "the local engine cannot compute", "slice(a.x, 1, 2)", FROM_RESULT),
    (f"{SEQ} RETURN reverse(a.x) AS v", "the local engine cannot compute", "reverse(a.x)", FROM_RESULT),
    (f"{SEQ} RETURN sort_array(a.x, false) AS v", "the local engine", "sort_array(a.x, false)", FROM_RESULT),
    ("PATTERN A a WHERE shiftleft(a.i,2) > 1", "the local engine cannot compute", "shiftleft(a.i,2)", BEFORE),
    ("PATTERN A a WHERE EXTRACT(DOW FROM a.d) > 1", "the local engine", "EXTRACT(DOW FROM a.d)", BEFORE),
    (
        "PATTERN A a WHERE hash(CASE WHEN a.x > 1 THEN 2 END) > 1",
        "",
        "hash(CASE WHEN a.x > 1 THEN 2 END)",
        BEFORE,
    ),
    ("PATTERN A a+ RETURN max_by(a.x, a.i)", "max_by is not an aggregate over trends", "max_by(a.x, a.i)", "COUNT,"),
    ("PATTERN A a+ RETURN string_agg(a.s)", "string_agg is not an aggregate over trends", "string_agg(a.s)", "COUNT,"),
    (
        "PATTERN A a+ RETURN FIRST(DISTINCT a.x)",
        "FIRST takes the value of one event",
        "FIRST(DISTINCT a.x)",
        "leave out",
    ),
    ("PATTERN A a RETURN (- null) div least(a.x, 1) AS v", "", "(- null) div least(a.x, 1)", FROM_RESULT),
    (
        "PATTERN A a WHERE a.x < 1e39F",
        "1e39 is too great for a float",
        "1e39F",
        "the greatest is 3.4028235E38; a double",
    ),
    (
        "PATTERN A a WHERE a.x > -1e39f",
        "-1e39 is too great for a float",
        "-1e39f",
        "the greatest is 3.4028235E38; a double",
    ),
    ("PATTERN A a RETURN a.*", "in RETURN '*' stands alone or in COUNT(*)", "a.*", STAR),
    ("PATTERN A a PARTITION BY i RETURN i, *", "in RETURN '*' stands alone or in COUNT(*)", "*", STAR),
    ("PATTERN A a WHERE sum(a.*) > 1", "'*' stands only in COUNT(*)", "*", "name the columns"),
]


def error_of(run: Any) -> ev.QueryError:
    with pytest.raises(ev.QueryError) as caught:
        run()
    return caught.value


@pytest.mark.parametrize(("text", "message", "underlined", "hint"), MESSAGES, ids=[text for text, *_ in MESSAGES])
def test_what_cannot_stand_there_is_named_as_it_is_written(text: str, message: str, underlined: str, hint: str) -> None:
    error = error_of(lambda: ev.query(text, ts_unit="s", type="kind").run(EVENTS))
    assert error.message.startswith(message)
    assert text[error.start : error.end] == underlined
    assert str(error.hint or "").startswith(hint)


@pytest.mark.spark
def test_functions_of_arrays_in_conditions_have_the_same_message_on_spark(spark: Any) -> None:
    frame = spark.createDataFrame(EVENTS)
    for text, message, underlined, _ in MESSAGES[:9]:
        error = error_of(lambda text=text: ev.query(text, ts_unit="s", type="kind").run(frame))
        assert (error.message, text[error.start : error.end]) == (message, underlined)
    made = ev.Pattern.begin("a", "size(x) > 1")
    for events in (frame, EVENTS):
        error = error_of(lambda events=events: ev.detect(events, made, ts="ts", ts_unit="s").matches)
        assert error.message == "step 'a': size needs an array, but this is bigint"


@pytest.mark.parametrize("condition", ["a.s LIKE NULL", "a.s NOT LIKE NULL", "a.s ILIKE NULL", "a.s RLIKE NULL"])
def test_nothing_is_like_null(condition: str) -> None:
    def rows(where: str) -> int:
        return ev.query(f"PATTERN A a WHERE {where}", ts_unit="s", type="kind").run(EVENTS).num_rows

    assert (rows(condition), rows(f"({condition}) IS NULL")) == (0, 1)


@pytest.mark.parametrize(
    "run",
    [
        lambda: ev.query("PATTERN B b RETURN upper(b.s) AS v", ts_unit="s", type="kind").run(EVENTS),
        lambda: ev.query("PATTERN B b WHERE upper(b.s) = 'x'", ts_unit="s", type="kind").run(EVENTS),
        lambda: ev.sql("SELECT upper(s) AS v FROM t", t=EVENTS),
    ],
)
def test_what_duckdb_says_has_no_name_of_its_error_classes(run: Any) -> None:
    with pytest.raises(ev.InputError) as caught:
        run()
    assert "UPPER of this text differs between the engines" in str(caught.value)
    assert "Error:" not in str(caught.value)
