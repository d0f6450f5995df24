"""A builder pattern on a stream: the rows of one batch, each as soon as it is certain."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import eventide as ev
from eventide.api.detect import _skip
from eventide.errors import UnsupportedError
from eventide.families.registry import family_named
from eventide.plan.ending import with_end
from eventide.plan.options import Options
from tests.budget import QUICK, budgeted
from tests.families.builder.cases import SCHEMA, Case, cases, found
from tests.micro_batches import SECOND_US, Stream


def open_stream(pattern: ev.Pattern, end_us: int = 2**62, skip: Any = "no_skip", **options: Any) -> Stream:
    kind, step = _skip(skip)
    given = Options(partition_by=("key",), ts="ts", ts_unit="s", sequence="seq", skip=kind, skip_to=step, **options)
    physical = family_named("builder").prepare(pattern.tree, given, SCHEMA, on_stream=True)
    return Stream(with_end(physical, end_us))


@budgeted(**QUICK)
@given(
    case=cases(),
    borders=st.lists(st.integers(0, 9), max_size=4),
    delay=st.sampled_from([0, 2]),
    disorder=st.randoms(use_true_random=False),
)
def test_micro_batches_find_the_matches_of_one_batch(case: Case, borders: list[int], delay: int, disorder: Any) -> None:
    assume(case.built.tree.is_bounded)
    batch = case.detect(case.table())
    order = sorted(case.events, key=lambda e: e["ts"] + disorder.random() * max(delay - 1, 0))
    latest = max((e["ts"] for e in case.events), default=0)
    stream = open_stream(case.built, 2**62 if case.closes else latest * SECOND_US, case.skip)
    # A batch may end between two events of one time: then time has not passed them yet.
    times_us = [e["ts"] * SECOND_US for e in order]
    table = pa.Table.from_pylist(order, schema=SCHEMA)
    stream.play(table, times_us, borders, delay * SECOND_US + 1)
    timeouts = [row for row in stream.rows if row["timed_out"]]
    matches = [row for row in stream.rows if not row["timed_out"]]
    assert found(matches) == found(batch.matches.to_pylist())
    assert found(timeouts) == found(batch.timeouts.to_pylist())


def event(ts: int, kind: str, key: int = 0, x: int = 0) -> dict[str, Any]:
    return {"seq": ts, "ts": ts, "key": key, "kind": kind, "x": x}


def step(stream: Stream, events: list[dict[str, Any]], seconds: int) -> list[tuple[bool, int, int]]:
    rows = stream.step(pa.Table.from_pylist(events, schema=SCHEMA), seconds * SECOND_US)
    return [(row["timed_out"], row["match_start"], row["match_end"]) for row in rows]


A_B = ev.Pattern.begin("a", "kind = 'a'").followed_by("b", "kind = 'b'").within("10 seconds")


def test_a_match_leaves_with_its_last_event_and_a_partial_one_when_its_time_is_over() -> None:
    stream = open_stream(A_B)
    assert step(stream, [event(1, "a"), event(2, "a", key=1)], 2) == []
    assert step(stream, [event(3, "b")], 3) == [(False, 1, 3)]
    assert stream.pending_us() == 12 * SECOND_US - 1
    assert step(stream, [], 11) == []
    assert step(stream, [], 12) == [(True, 2, 2)]
    assert stream.n_held() == 0 and stream.pending_us() is None


RISE = ev.Pattern.begin("a", "kind = 'a'").followed_by("b", "kind = 'b' AND x > a.x").within("10 seconds")


def waiting() -> Stream:
    """A match that is complete, and waits for a partial one that began before it."""
    stream = open_stream(RISE, skip="past_last")
    assert step(stream, [event(1, "a", x=5), event(2, "a", x=1), event(3, "b", x=3)], 3) == []
    return stream


def test_a_complete_match_waits_for_those_that_began_earlier() -> None:
    assert step(waiting(), [event(4, "b", x=9)], 4) == [(False, 1, 4)]


def test_a_complete_match_leaves_when_those_that_began_earlier_are_over() -> None:
    stream = waiting()
    assert stream.pending_us() == 11 * SECOND_US - 1
    assert sorted(step(stream, [], 11)) == [(False, 2, 3), (True, 1, 1)]
    assert stream.n_held() == 0


def test_the_first_partial_match_to_run_out_of_time_wakes_the_bucket() -> None:
    stream = open_stream(A_B)
    step(stream, [event(1, "a"), event(4, "a", key=1)], 4)
    assert stream.pending_us() == 11 * SECOND_US - 1


def test_absence_is_certain_when_its_time_is_over() -> None:
    unpaid = ev.Pattern.begin("order", "kind = 'a'").not_followed_by("pay", "kind = 'b'").within("10 seconds")
    stream = open_stream(unpaid)
    assert step(stream, [event(1, "a"), event(1, "a", key=1), event(5, "b", key=1)], 5) == []
    assert step(stream, [], 11) == [(False, 1, 1)]


def test_only_events_that_a_partial_match_holds_are_kept() -> None:
    stream = open_stream(A_B)
    step(stream, [event(i, "c") for i in range(100)], 99)
    assert stream.n_held() == 0
    step(stream, [event(100, "a"), *(event(100 + i, "c") for i in range(1, 5))], 104)
    assert stream.n_held() == 1


def test_a_ttl_bounds_what_nothing_else_does() -> None:
    pattern = ev.Pattern.begin("a", "kind = 'a'").followed_by("b", "kind = 'b'")
    with pytest.raises(UnsupportedError, match=r"(?s)a partial match may wait for ever.*within.*state_ttl"):
        open_stream(pattern)
    stream = open_stream(pattern, state_ttl=10 * SECOND_US)
    assert step(stream, [event(1, "a"), event(11, "b"), event(12, "a"), event(13, "b")], 13) == [
        (True, 1, 1),
        (False, 12, 13),
    ]


def test_conditions_on_earlier_events_go_on_after_a_restart() -> None:
    rising = (
        ev.Pattern.begin("a", "kind = 'a'")
        .followed_by("b", "x > a.x AND sum(b.x) < 8")
        .times_or_more(2)
        .consecutive()
        .followed_by("c", "kind = 'c' AND x = count(b.*)")
        .within("100 seconds")
    )
    stream = open_stream(rising)
    steps = [event(1, "a", x=1), event(2, "b", x=2), event(3, "b", x=2), event(4, "b", x=3), event(5, "c", x=3)]
    assert [step(stream, [e], e["ts"]) for e in steps] == [[], [], [], [], [(False, 1, 5)]]
