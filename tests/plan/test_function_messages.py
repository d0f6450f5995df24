"""Functions that cannot stand where they do: named as they are written, underlined whole, with a way out."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

import eventide as ev
from tests.failing import error_of
from tests.lang.corpus import check_message, each_message, read_pairs

EVENTS = [
    {"ts": 1, "kind": "A", "x": 1, "i": 3, "s": "a", "d": dt.datetime(2026, 1, 1)},
    {"ts": 2, "kind": "B", "x": 2, "i": 3, "s": "ß", "d": dt.datetime(2026, 1, 2)},
]
MESSAGES = read_pairs("../plan/functions_invalid.txt")


@each_message(MESSAGES)
def test_what_cannot_stand_there_is_named_as_it_is_written(text: str, message: str) -> None:
    check_message(lambda: ev.query(text, ts_unit="s", type="kind").run(EVENTS), message)


@pytest.mark.spark
def test_functions_of_arrays_in_conditions_have_the_same_message_on_spark(spark: Any) -> None:
    frame = spark.createDataFrame(EVENTS)
    for text, message in MESSAGES[:9]:
        check_message(lambda text=text: ev.query(text, ts_unit="s", type="kind").run(frame), message)
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
