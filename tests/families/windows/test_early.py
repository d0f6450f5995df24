"""EMIT EVERY: windows are returned while they are open, beside the final rows."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as ev
from eventide.errors import QueryError
from tests.budget import QUICK, budgeted
from tests.micro_batches import SECOND_US, Stream
from tests.oracle import windows as oracle

SHAPES = {
    "WITHIN 7 seconds SLIDE 3 seconds": lambda events: oracle.hopping(events, 7, 3),
    "WITHIN 12 seconds": lambda events: oracle.hopping(events, 12, 12),
    "WITHIN UP TO 12 seconds STEP 4 seconds": lambda events: oracle.cumulating(events, 12, 4),
    "SESSION 4 seconds": lambda events: oracle.sessions(events, 4),
}
_EVENTS = st.lists(
    st.fixed_dictionaries({"ts": st.integers(0, 40), "g": st.sampled_from(["a", "b", None]), "x": st.integers(0, 9)}),
    min_size=1,
    max_size=20,
)


def stream_of(text: str, table: pa.Table) -> Stream:
    query = ev.query(text, ts_unit="s")
    return Stream(query._plan(query.options, table.schema, on_stream=True))


def row_of(group: tuple[Any, ...], window: oracle.Window, at: int, is_final: bool) -> tuple[Any, ...]:
    start, end, events = window
    return (*group, len(events), sum(event["x"] for event in events), start, end, at, is_final)


@budgeted(**QUICK)
@given(
    events=_EVENTS,
    shape=st.sampled_from(sorted(SHAPES)),
    every=st.sampled_from([1, 2, 5, 30]),
    grouped=st.booleans(),
    least=st.sampled_from([0, 2]),
    borders=st.lists(st.integers(0, 20), max_size=5),
    delay=st.sampled_from([0, 2, 15, None]),
)
def test_early_rows_are_those_of_the_oracle(
    events: list[oracle.Event],
    shape: str,
    every: int,
    grouped: bool,
    least: int,
    borders: list[int],
    delay: int | None,
) -> None:
    """Events in any order, late ones among them, a restart after each block, and blocks before there is a watermark."""
    by = ["g"] if grouped else []
    keys = "GROUP BY g" if grouped else ""
    returned = ", ".join([*by, "count(*) AS n", "sum(x) AS s"])
    text = f"FROM e {keys} {shape} EMIT EVERY {every} seconds RETURN {returned} HAVING n >= {least}"
    table = pa.Table.from_pylist(events, pa.schema({"ts": pa.int64(), "g": pa.string(), "x": pa.int64()}))
    stream, steps, n = stream_of(text, table), [], len(events)
    for start, stop in pairwise([0, *sorted(min(border, n) for border in borders), n]):
        newest = max((event["ts"] for event in events[:stop]), default=None)
        now = None if newest is None or delay is None else newest - delay
        steps.append((events[start:stop], now))
        if now is None:
            stream.step(table.slice(start, stop - start), stream.watermark_us)
        else:
            stream.step(table.slice(start, stop - start), now * SECOND_US - 1)
    stream.finish()
    wanted = [row_of(group, window, at, False) for at, group, window in oracle.early(steps, by, SHAPES[shape], every)]
    in_time: list[oracle.Event] = []
    now_before: int | None = None
    for came, now in steps:
        in_time += [event for event in came if now_before is None or event["ts"] >= now_before]
        now_before = now if now is not None else now_before
    for group, mine in oracle.groups(in_time, by).items():
        wanted += [row_of(group, window, window[1], True) for window in SHAPES[shape](mine)]
    wanted = [row for row in wanted if row[len(by)] >= least]
    assert sorted(map(str, (tuple(row.values()) for row in stream.rows))) == sorted(map(str, wanted))


def test_a_window_without_new_events_is_not_returned_again() -> None:
    table = pa.table({"ts": [1, 2, 11, 35], "x": [1, 1, 1, 1]})
    query = ev.query("FROM e WITHIN 60 seconds EMIT EVERY 10 seconds RETURN count(*) AS n", ts_unit="s")
    # The third event shows that time has come to 10, the fourth that it has come to 30.
    assert [(row["n"], row["detected_at"], row["is_final"]) for row in live_rows(query, table)] == [
        (3, 10, False),
        (4, 30, False),
        (4, 60, True),
    ]


def test_a_window_is_not_returned_again_because_another_has_new_events() -> None:
    table = pa.table({"ts": [1, 2, 11, 22], "g": list("abab"), "x": [1, 1, 1, 1]})
    stream = stream_of("FROM e GROUP BY g WITHIN 60 seconds EMIT EVERY 10 seconds RETURN g, count(*) AS n", table)
    stream.step(table.slice(0, 2), 2 * SECOND_US)
    stream.step(table.slice(2, 1), 10 * SECOND_US)
    stream.step(table.slice(3), 20 * SECOND_US)
    assert [(row["g"], row["n"], row["detected_at"]) for row in stream.rows] == [
        ("a", 2, 10),
        ("b", 1, 10),
        ("b", 2, 20),
    ]


def test_the_example_of_the_page_on_streams() -> None:
    text = "FROM trades GROUP BY symbol WITHIN 1 minute EMIT EVERY 10 seconds RETURN symbol, count(*) AS n"
    table = pa.table({"ts": [5, 12, 13, 75], "symbol": list("xxxy")})
    assert [tuple(row.values()) for row in live_rows(ev.query(text, ts_unit="s"), table)] == [
        ("x", 2, 0, 60, 10, False),
        ("x", 3, 0, 60, 60, True),
        ("y", 1, 60, 120, 70, False),
        ("y", 1, 60, 120, 120, True),
    ]


def live_rows(query: ev.Query, table: pa.Table) -> list[dict[str, Any]]:
    """The rows of live input in blocks of one event."""

    def one_by_one() -> Any:
        for i in range(table.num_rows):
            yield table.slice(i, 1)
            while live._counters.blocks <= i:
                time.sleep(0.001)

    live = query.live(one_by_one())
    return [row for rows in live for row in rows.to_pylist()]


def test_bounded_input_has_final_rows_alone() -> None:
    table = pa.table({"ts": [1, 2, 11, 35], "x": [1, 1, 1, 1]})
    query = ev.query("FROM e WITHIN 20 seconds EMIT EVERY 5 seconds RETURN count(*) AS n", ts_unit="s")
    assert query.run(table).to_pylist() == [
        {"n": 3, "window_start": 0, "window_end": 20, "detected_at": 20, "is_final": True},
        {"n": 1, "window_start": 20, "window_end": 40, "detected_at": 40, "is_final": True},
    ]


def test_a_stream_is_woken_when_time_comes_to_the_next_multiple() -> None:
    table = pa.table({"ts": [1, 3, 27], "x": [1, 1, 1]})
    stream = stream_of("FROM e WITHIN 60 seconds EMIT EVERY 10 seconds RETURN count(*) AS n", table)
    stream.step(table.slice(0, 2), 2 * SECOND_US)
    assert stream.pending_us() == 10 * SECOND_US - 1
    assert not stream.step(table.slice(0, 0), 10 * SECOND_US - 2)
    assert len(stream.step(table.slice(0, 0), 10 * SECOND_US - 1)) == 1
    assert stream.pending_us() == 60 * SECOND_US - 1
    stream.step(table.slice(2), 12 * SECOND_US)
    assert stream.pending_us() == 20 * SECOND_US - 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FROM e EMIT EVERY 5 seconds RETURN count(*)", "this query has no windows"),
        ("FROM e WITHIN 5 EVENTS EMIT EVERY 5 seconds RETURN count(*)", "open until an event fills them"),
        ("FROM e WITHIN 5 seconds EMIT EVERY 5 EVENTS RETURN count(*)", "this is a number of events"),
        ("PATTERN SEQ(A, B) WITHIN 5 seconds EMIT EVERY 1 second", "EMIT EVERY belongs to a query of windows"),
        ("PATTERN A before B WITHIN 5 seconds EMIT EVERY 1 second", "EMIT EVERY belongs to a query of windows"),
        ("PATTERN A before B WITHIN 5 seconds SESSION 1 second", "SESSION belongs to a query of windows"),
    ],
)
def test_emit_every_is_for_windows_of_time_and_sessions(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        ev.query(text)


def test_an_interval_that_times_cannot_say_is_refused() -> None:
    query = ev.query("FROM e WITHIN 5 seconds EMIT EVERY 1500 milliseconds RETURN count(*)", ts_unit="s")
    with pytest.raises(QueryError, match="at a whole second"):
        query.run(pa.table({"ts": [1]}))


def test_a_column_may_be_called_every() -> None:
    assert ev.query("FROM e WITHIN 5 seconds RETURN sum(every) AS n", ts_unit="s").run(
        pa.table({"ts": [1], "every": [3]})
    ).column("n").to_pylist() == [3]
