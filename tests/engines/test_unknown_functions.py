"""A function that nobody has: the same message with its place in every family, in this process and on Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev

EVENTS = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "A"], "x": [1, 2, 3], "s": ["a", "b", "c"]})
RISING = "MATCH_RECOGNIZE (ORDER BY ts MEASURES {} AS v PATTERN (A+) DEFINE A AS {})"


def in_query(text: str) -> Callable[[Any], Any]:
    options = {} if " before " in text else {"type": "kind"}
    return lambda events: ev.query(text, ts_unit="s", **options).run(events)


def in_statement(text: str) -> Callable[[Any], Any]:
    return lambda events: ev.sql(text, t=events)


def in_builder(condition: str) -> Callable[[Any], Any]:
    pattern = ev.Pattern.begin("a", condition).followed_by("b", "x > 1")
    return lambda events: ev.detect(events, pattern, ts="ts", ts_unit="s").matches


def in_intervals(condition: str) -> Callable[[Any], Any]:
    return lambda events: ev.intervals.homogeneous(events, condition, ts="ts", ts_unit="s")


CALLS = {
    "a condition": in_query("PATTERN SEQ(A a, B b) WHERE uper(a.s) = 'A'"),
    "a condition between events": in_query("PATTERN SEQ(A a, B b) WHERE uper(a.s) = b.s"),
    "a definition": in_query("DEFINE Q AS uper(s) = 'A' PATTERN Q"),
    "a result": in_query("PATTERN A a RETURN uper(a.s) AS v"),
    "a result of an array": in_query("PATTERN A a+ RETURN uper(a.s) AS v"),
    "a situation": in_query("DEFINE P AS uper(s) = 'A', Q AS x > 1 PATTERN P before Q WITHIN 5 seconds"),
    "a builder's condition": in_builder("uper(s) = 'A'"),
    "an interval": in_intervals("uper(s) = 'A'"),
    "a measure": in_statement(f"SELECT * FROM t {RISING.format('uper(A.s)', 'true')}"),
    "a label's condition": in_statement(f"SELECT * FROM t {RISING.format('A.s', 'uper(s) = 1')}"),
    "around a clause": in_statement(f"SELECT uper(v) AS v FROM t {RISING.format('LAST(A.s)', 'true')}"),
    "a relation": in_statement(f"SELECT * FROM (SELECT uper(s) AS s, ts FROM t) {RISING.format('A.s', 'true')}"),
}


def message_of(run: Callable[[Any], Any], events: Any) -> ev.QueryError:
    with pytest.raises(ev.QueryError) as caught:
        run(events)
    return caught.value


@pytest.mark.parametrize("call", CALLS)
def test_an_unknown_function_is_named_in_this_process(call: str) -> None:
    error = message_of(CALLS[call], EVENTS)
    assert error.message.split(": ")[-1] == "unknown function 'uper'"
    assert error.text[error.start : error.end].startswith("uper(") and error.text[error.end - 1] == ")"
    assert str(error.hint).startswith("did you mean 'UPPER'? Spark SQL has no function 'uper'")


@pytest.mark.spark
def test_an_unknown_function_is_named_on_spark(spark: Any) -> None:
    frame = spark.createDataFrame(EVENTS)
    for call, run in CALLS.items():
        error = message_of(run, frame)
        assert error.message.split(": ")[-1] == "unknown function 'uper'", call
        assert error.text[error.start : error.end].startswith("uper("), call
        assert error.hint == (
            "did you mean 'upper'? A function of your own is registered first: spark.udf.register(\"uper\", ...)"
        )


@pytest.mark.spark
def test_a_function_that_the_session_has_registered_works(spark: Any, tmp_path: Any) -> None:
    spark.udf.register("shout", lambda text: text and text.upper() + "!", "string")
    try:
        frame = spark.createDataFrame(EVENTS)
        found = ev.query("PATTERN A a WHERE shout(a.s) = 'A!' RETURN Shout(a.s) AS v", ts_unit="s", type="kind").run(
            frame
        )
        assert [row.v for row in found.collect()] == ["A!"]
        assert [row.v for row in ev.sql("SELECT shout(s) AS v FROM t WHERE x = 3", t=frame).collect()] == ["C!"]
        frame.write.parquet(str(tmp_path / "events"))
        query = ev.query("PATTERN A a RETURN shout(a.s) AS v", ts_unit="s", type="kind")
        rows = query.run(str(tmp_path / "events"), engine="spark", spark=spark).collect()
        assert sorted(row.v for row in rows) == ["A!", "C!"]
    finally:
        # The session is that of all tests.
        spark.sql("DROP TEMPORARY FUNCTION shout")


@pytest.mark.parametrize("name", ["charindex('a', s)", "iff(x > 1, 1, 2)", "to_varchar2(x)"])
def test_a_statement_knows_no_function_of_another_dialect(name: str) -> None:
    error = message_of(lambda events: ev.sql(f"SELECT {name} AS v FROM t", t=events), EVENTS)
    assert error.message == f"unknown function '{name.split('(')[0]}'"
    assert error.text[error.start : error.end] == name
