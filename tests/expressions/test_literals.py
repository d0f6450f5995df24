"""Literals that have no digits, and numbers that are too great: one value, or one message, on every engine."""

from __future__ import annotations

from typing import Any

import pytest

import eventide as ev

EVENTS = [{"ts": 1, "kind": "A", "x": 5.0, "inf": 1.0}, {"ts": 2, "kind": "B", "x": 7.0, "inf": 1.0}]
ALONE = "PATTERN A a WHERE a.x < {} RETURN a.x"
BETWEEN = "PATTERN SEQ(A a, B b) WHERE a.x + b.x < {} RETURN a.x"
SPECIAL = {
    "CAST('Infinity' AS DOUBLE)": 1,
    "CAST('inf' AS DOUBLE)": 1,
    "CAST(' +INF ' AS DOUBLE)": 1,
    "-CAST('-Infinity' AS DOUBLE)": 1,
    "CAST('NaN' AS DOUBLE)": 1,  # greater than every number
    "CAST('-Infinity' AS DOUBLE)": 0,
    "-CAST('inf' AS DOUBLE)": 0,
}


def run(text: str, events: Any = EVENTS) -> Any:
    return ev.query(text, ts_unit="s", type="kind").run(events)


@pytest.mark.parametrize("literal", SPECIAL)
def test_infinity_and_nan_are_numbers_per_event_and_between_events(literal: str) -> None:
    for text in (ALONE, BETWEEN):
        assert run(text.format(literal)).num_rows == SPECIAL[literal]


@pytest.mark.parametrize(
    ("literal", "shown"),
    [("1e309D", "1e309"), ("1e400", "1e400"), ("-1e400", "-1e400"), ("1.5E+999", "1.5E+999"), ("(1e309)", "1e309")],
)
def test_a_number_that_is_too_great_is_refused_with_its_place(literal: str, shown: str) -> None:
    for text in (ALONE, BETWEEN):
        with pytest.raises(ev.QueryError) as caught:
            run(text.format(literal))
        assert caught.value.message == f"{shown} is too great for a double"
        assert caught.value.text[caught.value.start : caught.value.end].strip("D-()") == shown.strip("-")
    with pytest.raises(ev.QueryError, match="too great for a double"):
        ev.sql(f"SELECT {literal} AS v FROM t", t=EVENTS)


@pytest.mark.spark
def test_the_same_literals_on_spark(spark: Any) -> None:
    frame = spark.createDataFrame(EVENTS)
    for text in (ALONE, BETWEEN):
        joined = " AND ".join(f"a.x {'<' if found else '>'} {literal}" for literal, found in SPECIAL.items())
        assert run(text.format("CAST('inf' AS DOUBLE)").replace(" RETURN", f" AND {joined} RETURN"), frame).count() == 1
        with pytest.raises(ev.QueryError, match="1e309 is too great for a double"):
            run(text.format("1e309D"), frame)


@pytest.mark.parametrize("call", ["initcap(a.kind)", "chr(a.x)", "~a.x", "soundex(a.kind)", "date_format(a.ts, 'x')"])
def test_what_cannot_be_computed_is_named_whole(call: str) -> None:
    events = [{"ts": 1, "kind": "A", "x": 2}]
    with pytest.raises(ev.QueryError) as caught:
        ev.query(f"PATTERN A a RETURN lower({call}) AS v", ts_unit="s", type="kind").run(events)
    assert caught.value.message == f"the local engine cannot compute {call}"
