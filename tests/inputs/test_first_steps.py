"""What somebody new hands over and types, and what is said to it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import eventide as ev

EVENTS = [{"ts": 1, "user": "ann", "kind": "A"}, {"ts": 2, "user": "ann", "kind": "B"}]
FRAME = pd.DataFrame(EVENTS)
PAIR = ev.query("PATTERN SEQ(A a, B b) WHERE [user]", ts_unit="s", type="kind")


def told(run: Callable[[], Any]) -> ev.EventideError:
    with pytest.raises(ev.EventideError) as caught:
        run()
    return caught.value


@pytest.mark.parametrize(
    ("events", "message", "hint"),
    [
        (FRAME["ts"], "cannot read events from Series", "DataFrame"),
        (pl.DataFrame(EVENTS)["ts"], "cannot read events from Series", "DataFrame"),
        (FRAME.to_dict("list"), "cannot read events from dict", "pa.table(events)"),
        ((event for event in EVENTS), "cannot read events from generator", "list(events)"),
        (list(FRAME.itertuples()), "event 0 of the list is Pandas, not a dict", "event._asdict()"),
        (pd.DataFrame(), "the events have no columns", None),
        (pa.table({}), "the events have no columns", None),
        (
            [{"ts": dt.datetime(2026, 1, 1)}, {"ts": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}],
            "column 'ts' mixes times with and without a time zone",
            "value.replace(tzinfo=timezone.utc)",
        ),
    ],
    ids=["series", "polars series", "dict of lists", "generator", "tuples", "no columns", "empty table", "zones"],
)
def test_what_holds_no_events_is_told_with_what_to_pass(events: Any, message: str, hint: str | None) -> None:
    error = told(lambda: PAIR.run(events))
    assert error.message == message
    assert hint is None or hint in str(error.hint)


INDEXED = FRAME.assign(ts=pd.to_datetime(FRAME["ts"], unit="s")).set_index("ts")
BY_INDEX: dict[str, Callable[[pd.DataFrame, str | None], Any]] = {
    "query": lambda frame, ts: ev.query("PATTERN SEQ(A a, B b)", type="kind", ts=ts).run(frame),
    "builder": lambda frame, ts: ev.detect(frame, ev.Pattern.begin("a", "kind = 'A'"), ts=ts),
    "intervals": lambda frame, ts: ev.intervals.threshold(frame, "kind = 'A'", ts=ts),
    "situations": lambda frame, ts: ev.query("DEFINE A AS kind = 'A', B AS kind = 'B' PATTERN A meets B", ts=ts).run(
        frame
    ),
}


@pytest.mark.parametrize("family", BY_INDEX)
@pytest.mark.parametrize("ts", [None, "ts"])
def test_times_in_an_index_of_pandas_are_found_missing_with_the_line_that_helps(family: str, ts: str | None) -> None:
    error = told(lambda: BY_INDEX[family](INDEXED, ts))
    assert "the index 'ts' of the DataFrame is left out: df.reset_index() makes a column of it" in str(error.hint)
    BY_INDEX[family](INDEXED.reset_index(), ts)
    unnamed = told(lambda: BY_INDEX[family](INDEXED.rename_axis(None), None))
    assert "the index of the DataFrame is left out: df.reset_index(names='ts')" in str(unnamed.hint)


def test_a_partition_column_in_an_index_is_told_too() -> None:
    error = told(lambda: PAIR.run(FRAME.set_index("user")))
    assert "the index 'user' of the DataFrame is left out" in str(error.hint)
    error = told(lambda: ev.match_recognize(partition_by="user", pattern="A")(FRAME.set_index("user")))
    assert "the index 'user' of the DataFrame is left out" in str(error.hint)


def test_a_file_that_is_not_there_is_told_with_one_that_is(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("ts,user,kind\n1,ann,A\n")
    assert told(lambda: PAIR.run(tmp_path / "event.csv")).hint == "did you mean 'events.csv'?"
    assert told(lambda: PAIR.run(tmp_path / "none" / "x.csv")).hint == f"there is no folder '{tmp_path / 'none'}'"
    assert told(lambda: PAIR.run(tmp_path / "x.parquet")).hint is None


def test_a_json_file_without_records_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "events.json").write_text("[]")
    error = told(lambda: PAIR.run(tmp_path / "events.json"))
    assert "without a record it has no columns" in str(error)
    assert "line with the columns' names" not in str(error)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("PATTERN SEQ(A+ a, B b)", "a symbol comes before the quantifier: A a+"),
        ("PATTERN SEQ(A{2,3} a, B b)", "a symbol comes before the quantifier: A a{2,3}"),
        ("PATTERN SEQ(A a, B b) RETURN a.*", "RETURN * has the partition columns and all events"),
    ],
)
def test_a_slip_in_a_query_is_told_with_what_was_meant(text: str, hint: str) -> None:
    assert hint in str(told(lambda: ev.query(text, ts_unit="s", type="kind").run(EVENTS)).hint)


def test_a_path_in_place_of_a_query_is_told_how_to_read_it() -> None:
    error = told(lambda: ev.query(Path("q.evq")))  # type: ignore[arg-type]
    assert error.hint == "ev.query(path.read_text())"


def test_what_a_notebook_shows_is_short_and_says_what_it_is(tmp_path: Path) -> None:
    assert repr(PAIR) == "<Query PATTERN SEQ(A a, B b) WHERE [user]>"
    assert repr(ev.match_recognize(order_by="ts", pattern="A B+")).startswith("<Query ORDER BY ts")
    found = ev.detect(EVENTS, ev.Pattern.begin("a", "kind = 'A'"), ts_unit="s")
    assert repr(found) == "<Detection: 1 match, 0 timeouts, 0 late events; in .matches, .timeouts and .late>"
    assert repr(ev.RuleSet(tmp_path, ts_unit="s")) == f"<RuleSet of '{tmp_path}', ts_unit='s'>"
    live = PAIR.live([EVENTS])
    assert repr(live) == "<Live: 0 events, 0 matches so far; iterate over it for the rows>"
    assert len(repr(ev.query("PATTERN A a WHERE " + " AND ".join(["a.ts > 1"] * 1_000), ts_unit="s"))) < 250
