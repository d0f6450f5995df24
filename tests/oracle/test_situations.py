"""The reference of situations: hand-worked cases, Table 2 of seed 001, and a closed form under Hypothesis.

Streams are written as lanes: one row of `#` and `.` per column, one character per second, `?` for NULL.
"""

from __future__ import annotations

from itertools import product
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.budget import budgeted
from tests.oracle.events.event import Event
from tests.oracle.situations import (
    NAMES,
    Constraint,
    Definition,
    Match,
    Situation,
    SituationQuery,
    derive,
    holds,
    matches,
    possible,
)
from tests.oracle.situations_aggregates import aggregate

BEFORE_GROUP = {"before", "meets"}
SAME_START = {"starts", "equals", "started-by"}
LATER_START = {"overlaps", "finished-by", "contains"}
INVERSE = {**dict(zip(NAMES[:6], NAMES[7:], strict=True)), **dict(zip(NAMES[7:], NAMES[:6], strict=True))}
INVERSE["equals"] = "equals"


def lanes(**rows: str) -> list[Event]:
    """One event a second from 0 on, a boolean column per row."""
    value = {"#": True, ".": False, "?": None}
    return [
        Event(t, values={name: value[row[t]] for name, row in rows.items()})
        for t in range(len(next(iter(rows.values()))))
    ]


def definition(symbol: str, **durations: int | None) -> Definition:
    return Definition(symbol, lambda event: event[symbol], **durations)


def query(pattern: str, *definitions: Definition, **options: Any) -> SituationQuery:
    """`a overlaps|during b AND b before c`; symbols without a definition are columns of that name."""
    constraints = []
    for term in pattern.split(" AND "):
        left, relations, right = term.split()
        constraints.append(Constraint(left, right, frozenset(relations.split("|"))))
    given = {d.symbol for d in definitions}
    used = dict.fromkeys(symbol for c in constraints for symbol in (c.left, c.right))
    made = (*definitions, *(definition(symbol) for symbol in used if symbol not in given))
    return SituationQuery(made, tuple(constraints), **options)


def found(asked: SituationQuery, events: list[Event]) -> list[tuple[Any, ...]]:
    """Per match: the intervals as known, then detected_at."""
    return [(*((m.situations[s].ts, m.end(s)) for s in asked.symbols), m.detected_at) for m in matches(asked, events)]


# --- deriving ---------------------------------------------------------------------------------------------------


def intervals(row: str, **options: bool) -> list[tuple[int, int | None]]:
    events = lanes(a=row)
    runs = derive(lambda event: event["a"], events, range(len(events)), **options)
    return [(run.ts, run.te) for run in runs]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (".##.", [(1, 3)]),
        ("#?#.", [(0, 1), (2, 3)]),
        ("....", []),
        ("#", [(0, None)]),
        ("..##", [(2, None)]),
    ],
)
def test_a_situation_lasts_to_the_first_event_that_does_not_satisfy(row: str, expected: list[Any]) -> None:
    assert intervals(row) == expected


@pytest.mark.parametrize(("row", "expected"), [("..##", [(2, 3)]), ("...#", []), (".#..", [(1, 2)]), ("#", [])])
def test_closing_at_the_end_ends_an_open_run_at_the_last_event(row: str, expected: list[Any]) -> None:
    assert intervals(row, close_at_end=True) == expected


def tied(*rows: tuple[int, bool]) -> list[tuple[int, int | None]]:
    events = [Event(ts, sequence=i, values={"a": a}) for i, (ts, a) in enumerate(rows)]
    return [(run.ts, run.te) for run in derive(lambda event: event["a"], events, range(len(events)))]


def test_a_run_inside_one_instant_is_none() -> None:
    assert tied((1, False), (2, True), (2, False), (3, False)) == []
    assert tied((1, True), (2, False), (2, True), (3, False)) == [(1, 2), (2, 3)]
    assert tied((1, True), (2, False), (2, True), (2, False), (3, True)) == [(1, 2), (3, None)]


# --- relations --------------------------------------------------------------------------------------------------


@budgeted()
@given(st.lists(st.integers(0, 6), min_size=4, max_size=4))
def test_exactly_one_relation_holds_and_its_inverse_the_other_way_round(ends: list[int]) -> None:
    (a, b), (lengths_a, lengths_b) = ends[:2], ends[2:]
    x, y = a + 1 + lengths_a, b + 1 + lengths_b
    (name,) = [name for name in NAMES if holds(name, a, x, b, y)]
    assert holds(INVERSE[name], b, y, a, x)


# --- Table 2 of 001 ---------------------------------------------------------------------------------------------

TABLE = {
    "before": ("##....", "...##.", 3),
    "meets": ("##....", "..##..", 2),
    "starts": (".##...", ".####.", 3),
    "equals": (".###..", ".###..", 4),
    "started-by": (".####.", ".##...", 3),
    "overlaps": (".###..", "..###.", 4),
    "finished-by": (".####.", "...##.", 5),
    "contains": (".####.", "..#...", 3),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_single_relation_is_certain_at_its_third_endpoint(name: str) -> None:
    a, b, third = TABLE[name]
    (match,) = matches(query(f"a {name} b"), lanes(a=a, b=b))
    assert match.detected_at == third
    assert match.possible == (frozenset({name}),)
    (mirrored,) = matches(query(f"b {INVERSE[name]} a"), lanes(a=a, b=b))
    assert mirrored.detected_at == third


@pytest.mark.parametrize("group", [BEFORE_GROUP, SAME_START, LATER_START])
def test_a_whole_prefix_group_is_certain_at_the_second_endpoint(group: set[str]) -> None:
    for name in group & TABLE.keys():
        a, b, _ = TABLE[name]
        events = lanes(a=a, b=b)
        second = max(a.index("#"), b.index("#"))
        (match,) = matches(query(f"a {'|'.join(group)} b"), events)
        assert match.detected_at == second
        (mirrored,) = matches(query(f"b {'|'.join(INVERSE[n] for n in group)} a"), events)
        assert mirrored.detected_at == second
        assert set(match.possible[0]) == ({name} if group == BEFORE_GROUP else group)


def test_two_relations_of_a_prefix_group_wait_for_the_third_endpoint() -> None:
    assert [m.detected_at for m in matches(query("a overlaps|contains b"), lanes(a=".###..", b="..###."))] == [4]
    assert not matches(query("a overlaps|contains b"), lanes(a=".####.", b="...##."))


def test_ends_of_both_are_unknown_when_the_second_starts() -> None:
    asked = query("a overlaps|finished-by|contains b")
    assert found(asked, lanes(a=".####.", b="...##.")) == [((1, None), (3, None), 3)]


# --- durations --------------------------------------------------------------------------------------------------


def test_a_minimum_duration_defers_detection_to_the_event_that_reaches_it() -> None:
    """A during B and B.ts < A.ts < A.te < B's deferred start < B.te, the example of section 5.3."""
    events = lanes(a="..##......", b=".#######..")
    assert found(query("a during b"), events) == [((2, 4), (1, None), 4)]
    deferred = query("a during b", definition("a"), definition("b", min_us=5))
    assert found(deferred, events) == [((2, 4), (1, None), 6)]
    too_long = query("a during b", definition("a"), definition("b", min_us=8))
    assert found(too_long, events) == []


def test_a_minimum_is_reached_at_an_event_not_between_events() -> None:
    events = [Event(t, values={"a": 2 <= t < 4, "b": 1 <= t < 20}) for t in (0, 1, 2, 3, 4, 9, 20)]
    assert found(query("a during b", definition("b", min_us=5)), events) == [((1, None), (2, 4), 9)]


def test_a_minimum_that_the_end_itself_reaches_is_known_at_the_end() -> None:
    events = [Event(t, values={"a": 2 <= t < 4, "b": 1 <= t < 9}) for t in (0, 1, 2, 3, 4, 9)]
    assert found(query("a during b", definition("b", min_us=8)), events) == [((1, 9), (2, 4), 9)]


def test_a_maximum_duration_makes_a_situation_certain_only_at_its_end() -> None:
    events = lanes(a="..##......", b=".#######..")
    assert found(query("a during b", definition("b", max_us=7)), events) == [((1, 8), (2, 4), 8)]
    assert found(query("a during b", definition("b", max_us=6)), events) == []
    assert found(query("a during b", definition("b", min_us=2, max_us=7)), events) == [((1, 8), (2, 4), 8)]


# --- several constraints ----------------------------------------------------------------------------------------


def test_two_ongoing_situations_that_are_not_related_are_in_one_match() -> None:
    """Figure 4 of 001: A before B, C and D; C meets D."""
    events = lanes(a="#.......", b="..######", c=".##.....", d="...#####")
    asked = query("a before|meets b AND a before|meets c AND a before|meets d AND c contains|finished-by|meets d")
    assert found(asked, events) == [((0, 1), (2, None), (1, 3), (3, None), 3)]


def test_a_trigger_outside_the_last_constraint_detects_the_match() -> None:
    events = lanes(a="#.......", b="....####", c=".###....", d="..#.....")
    assert found(query("a before b AND c contains d"), events) == [((0, 1), (4, None), (1, 4), (2, 3), 4)]


def test_every_configuration_is_one_match() -> None:
    events = lanes(a="#.#.....", b="....#.#.")
    assert [row[-1] for row in found(query("a before b"), events)] == [4, 4, 6, 6]


def test_the_same_two_symbols_may_have_two_constraints() -> None:
    events = lanes(a="#.#.#.", b="..#...")
    assert found(query("a before|equals b AND a equals|after b"), events) == [((2, 3), (2, 3), 3)]


# --- WITHIN and emission ----------------------------------------------------------------------------------------


def test_within_is_measured_to_the_detection_and_includes_its_bound() -> None:
    events = lanes(a=".##.......", b="....#####.")
    assert found(query("a before b", within_us=3), events) == [((1, 3), (4, None), 4)]
    assert found(query("a before b", within_us=2), events) == []


def test_complete_emission_waits_for_all_ends_and_measures_to_the_last() -> None:
    events = lanes(a=".##.......", b="....#####.")
    complete = {"emission": "complete"}
    assert found(query("a before b", **complete), events) == [((1, 3), (4, 9), 9)]
    assert found(query("a before b", within_us=8, **complete), events) == [((1, 3), (4, 9), 9)]
    assert found(query("a before b", within_us=7, **complete), events) == []
    assert found(query("a before b", **complete), lanes(a=".##.", b="...#")) == []


def test_closing_at_the_end_completes_what_is_open() -> None:
    events = lanes(a="##......", b="....####")
    assert found(query("a before b", emission="complete", close_at_end=True), events) == [((0, 2), (4, 7), 7)]


def test_aggregates_cover_the_events_up_to_the_detection() -> None:
    events = lanes(a=".##.......", b="....#####.")
    (early,) = matches(query("a before b"), events)
    assert early.covered("a", events) == (1, 2) and early.covered("b", events) == (4,)
    (complete,) = matches(query("a before b", emission="complete"), events)
    assert complete.covered("b", events) == (4, 5, 6, 7, 8)
    assert aggregate("stddev", [2, None, 4]) == pytest.approx(2**0.5)
    assert aggregate("stddev", [2]) is None and aggregate("sum", [None]) is None


def test_partitions_are_apart_and_null_is_one_of_them() -> None:
    rows = {1: ("##..", "..##"), None: ("#...", "..##"), 2: ("....", "####")}
    events = [Event(e.ts, values=e.values, partition=(key,)) for key, (a, b) in rows.items() for e in lanes(a=a, b=b)]
    assert {(m.partition, m.detected_at) for m in matches(query("a before|meets b"), events)} == {
        ((1,), 2),
        ((None,), 2),
    }


# --- the closed form of section 5.3 -----------------------------------------------------------------------------


def detection(asked: SituationQuery, runs: dict[str, Situation], times: list[int]) -> float:
    """The instant of detection from the finished intervals: endpoints of relations, prefix groups, durations."""
    instants: list[float] = []
    ends = {symbol: inf if run.te is None else run.te for symbol, run in runs.items()}
    for c in asked.constraints:
        left, right = runs[c.left], runs[c.right]
        endpoints = sorted([left.ts, right.ts, ends[c.left], ends[c.right]])
        groups = [BEFORE_GROUP, SAME_START, LATER_START, {INVERSE[n] for n in BEFORE_GROUP}]
        groups.append({INVERSE[n] for n in LATER_START})
        # Open ends lie after everything; two of them are in no known order, but then the third endpoint is open.
        x, y = (min(end, times[-1] + 1) for end in (ends[c.left], ends[c.right]))
        (name,) = [n for n in NAMES if holds(n, left.ts, int(x), right.ts, int(y))]
        (group,) = [g for g in groups if name in g]
        # Before and meets are told apart at the start of the second: that is their third endpoint.
        if group <= c.relations and group & (SAME_START | LATER_START | {INVERSE[n] for n in LATER_START}):
            instants.append(max(left.ts, right.ts))
        else:
            instants.append(endpoints[2] if name in c.relations else inf)
    for d in asked.definitions:
        if d.symbol not in runs:
            continue
        run, end = runs[d.symbol], ends[d.symbol]
        if d.max_us is not None:
            instants.append(end if end - run.ts <= d.max_us else inf)
        if d.min_us is not None:
            reached = [t for t in times if t - run.ts >= d.min_us]
            instants.append(reached[0] if reached and end - run.ts >= d.min_us else inf)
    return max(instants)


relation_sets = st.one_of(
    st.sampled_from([SAME_START, LATER_START, BEFORE_GROUP, {INVERSE[n] for n in LATER_START}]),
    st.sets(st.sampled_from(NAMES), min_size=1, max_size=4),
    st.builds(lambda more: LATER_START | more, st.sets(st.sampled_from(NAMES), max_size=2)),
)


@budgeted()
@given(
    st.lists(st.tuples(st.integers(1, 3), *[st.booleans()] * 3), max_size=12),
    st.lists(st.tuples(st.sampled_from(["ab", "ba", "bc", "ac"]), relation_sets), min_size=1, max_size=3),
    st.dictionaries(
        st.sampled_from("abc"),
        st.sampled_from([{"min_us": 3}, {"max_us": 4}, {"min_us": 2, "max_us": 5}, {"min_us": 1}]),
    ),
    st.sampled_from([None, 3, 6]),
)
def test_detection_is_that_of_the_endpoints(
    rows: list[Any], terms: list[tuple[str, set[str]]], durations: dict[str, dict[str, int]], within: int | None
) -> None:
    events, now = [], 0
    for gap, *values in rows:
        now += gap
        events.append(Event(now, values=dict(zip("abc", values, strict=True))))
    definitions = tuple(definition(symbol, **durations.get(symbol, {})) for symbol in "abc")
    constraints = tuple(Constraint(left, right, frozenset(names)) for (left, right), names in terms)
    asked = SituationQuery(definitions, constraints, within)
    times = [event.ts for event in events]
    runs = [derive(d.condition, events, range(len(events))) for d in definitions if d.symbol in asked.symbols]
    expected = []
    for configuration in product(*runs):
        known = dict(zip(asked.symbols, configuration, strict=True))
        instant = detection(asked, known, times)
        first = min(run.ts for run in configuration)
        if instant < inf and (within is None or instant - first <= within):
            expected.append((configuration, instant))
    key = repr
    got = [(tuple(m.situations.values()), m.detected_at) for m in matches(asked, events)]
    assert sorted(got, key=key) == sorted(expected, key=key)


def test_what_is_possible_shrinks_with_every_instant() -> None:
    left, right = Situation(1, 5, ()), Situation(3, 8, ())
    assert [sorted(possible(left, right, t)) for t in (3, 5, 8)] == [
        ["contains", "finished-by", "overlaps"],
        ["overlaps"],
        ["overlaps"],
    ]


def test_a_match_tells_an_end_only_once_it_is_known() -> None:
    match = Match((), {"a": Situation(1, 5, ())}, 4, ())
    assert match.end("a") is None
