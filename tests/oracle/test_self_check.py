"""The oracle against three other, structurally different readings of the same definitions.

Skip-till-any: every subsequence of the events, tested by a recursive matcher (Definition 2.2 of seed 002).
All strategies: an online machine that reads the stream once, by derivatives of the pattern (Definition 2.7).
Negation: the three cases of Definition 2.2, each by enumeration of P, N and Q.
"""

from __future__ import annotations

from itertools import combinations, groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.budget import budgeted
from tests.oracle.events.event import Event
from tests.oracle.events.matches import matches
from tests.oracle.events.pattern import Not, Or, Pattern, Repeat, Seq, Type, seq, symbols
from tests.oracle.events.query import Adjacent, Query
from tests.oracle.trends import trends

LEAVES = st.sampled_from([Type("A"), Type("B"), Type("C"), Type("A", "X")])
BOUNDS = st.sampled_from([(0, 1), (0, None), (1, None), (2, None), (2, 2), (1, 3), (0, 2)])
PATTERNS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Seq(tuple(parts))),
        st.lists(inner, min_size=2, max_size=2).map(lambda parts: Or(tuple(parts))),
        st.builds(lambda part, bounds: Repeat(part, *bounds), inner, BOUNDS),
    ),
    max_leaves=4,
)
WITHIN = st.sampled_from([None, 1, 3, 5])


@st.composite
def streams(draw, max_size: int = 7) -> list[Event]:
    """Events in time order, with ties and gaps."""
    steps = draw(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("AABCD"), st.integers(0, 2)), max_size=max_size))
    ts, events = 0, []
    for step, name, x in steps:
        ts += step
        events.append(Event(ts, sequence=len(events), type=name, values={"x": x}))
    return events


def labelings(pattern: Pattern, word: tuple[str, ...]) -> set[tuple[str, ...]]:
    """The symbols of every way in which the pattern matches exactly these types."""
    match pattern:
        case Type(name, symbol):
            return {(symbol,)} if word == (name,) else set()
        case Or(parts):
            return set().union(*(labelings(part, word) for part in parts))
        case Seq(()):
            return {()} if not word else set()
        case Seq((head, *rest)):
            splits = range(len(word) + 1)
            return {
                left + right
                for i in splits
                for left in labelings(head, word[:i])
                for right in labelings(Seq(tuple(rest)), word[i:])
            }
        case Repeat(part, minimum, maximum):
            if maximum == 0:
                return {()} if not word else set()
            fewer = Repeat(part, max(minimum - 1, 0), None if maximum is None else maximum - 1)
            nothing = {()} if not word and (minimum == 0 or labelings(part, ())) else set()
            return nothing | {
                left + right
                for i in range(1, len(word) + 1)
                for left in labelings(part, word[:i])
                for right in labelings(fewer, word[i:])
            }
    raise TypeError(pattern)


def subsequences(events: list[Event], within: int | None) -> list[tuple[int, ...]]:
    """All non-empty subsequences in strictly increasing time that fit into one window."""
    return [
        chosen
        for size in range(1, len(events) + 1)
        for chosen in combinations(range(len(events)), size)
        if all(events[i].ts < events[j].ts for i, j in pairwise(chosen))
        and (within is None or events[chosen[-1]].ts - events[chosen[0]].ts < within)
    ]


def bindings_by_subsequence(pattern: Pattern, events: list[Event], within: int | None) -> set:
    return {
        tuple(zip(names, chosen, strict=True))
        for chosen in subsequences(events, within)
        for names in labelings(pattern, tuple(events[i].type for i in chosen))
    }


def nullable(pattern: Pattern) -> bool:
    return bool(labelings(pattern, ()))


def derivatives(pattern: Pattern, name: str) -> set[tuple[str, Pattern]]:
    """What may be left of the pattern after an event of a type, with the symbol that takes the event."""
    match pattern:
        case Type(own, symbol):
            return {(symbol, Seq(()))} if own == name else set()
        case Or(parts):
            return set().union(*(derivatives(part, name) for part in parts))
        case Seq(()):
            return set()
        case Seq((head, *rest)):
            tail = Seq(tuple(rest))
            first = {(symbol, Seq((left, *rest))) for symbol, left in derivatives(head, name)}
            return first | (derivatives(tail, name) if nullable(head) else set())
        case Repeat(part, minimum, maximum):
            if maximum == 0:
                return set()
            fewer = Repeat(part, max(minimum - 1, 0), None if maximum is None else maximum - 1)
            return {(symbol, Seq((left, fewer))) for symbol, left in derivatives(part, name)}
    raise TypeError(pattern)


def bindings_online(pattern: Pattern, strategy: str, events: list[Event], within: int | None, rising: bool) -> set:
    """Read the stream once; what an instant extends is replaced, unless the strategy may skip any event."""
    partial: dict[tuple, set[Pattern]] = {}
    found = set()
    for ts, instant in groupby(range(len(events)), key=lambda i: events[i].ts):
        here = list(instant)
        kept: dict[tuple, set[Pattern]] = {}
        for binding, residuals in [((), {pattern}), *partial.items()]:
            if binding and within is not None and ts - events[binding[0][1]].ts >= within:
                continue
            grown: dict[tuple, set[Pattern]] = {}
            for i in here:
                for symbol, left in set().union(*(derivatives(rest, events[i].type) for rest in residuals)):
                    follows_an_a = rising and binding and binding[-1][0] == symbol == "A"
                    if follows_an_a and events[binding[-1][1]]["x"] > events[i]["x"]:
                        continue
                    grown.setdefault((*binding, (symbol, i)), set()).add(left)
            if binding and (strategy == "any" or (strategy == "next" and not grown)):
                kept.setdefault(binding, set()).update(residuals)
            for longer, lefts in grown.items():
                kept.setdefault(longer, set()).update(lefts)
        partial = kept
        found |= {binding for binding, residuals in partial.items() if any(map(nullable, residuals))}
    return found


def outermost_branches(pattern: Pattern) -> list[Pattern]:
    if isinstance(pattern, Or):
        return [branch for part in pattern.parts for branch in outermost_branches(part)]
    return [pattern]


@budgeted()
@given(PATTERNS, streams(), WITHIN)
def test_any_equals_all_subsequences(pattern, events, within):
    query = Query(pattern, within=within)
    expected = bindings_by_subsequence(pattern, events, within)
    found = [match.binding for match in matches(query, events)]
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert {trend.events for trend in trends(query, events)} == {tuple(i for _, i in b) for b in expected}


@budgeted()
@given(PATTERNS, st.sampled_from(["any", "next", "contiguous"]), streams(), WITHIN, st.booleans())
def test_every_strategy_equals_the_online_machine(pattern, strategy, events, within, rising):
    rising = rising and "A" in symbols(pattern)
    predicates = [Adjacent("A", "A", lambda e, e2: e["x"] <= e2["x"])] if rising else []
    query = Query(pattern, strategy, within=within, predicates=predicates)
    expected = set().union(
        *(bindings_online(branch, strategy, events, within, rising) for branch in outermost_branches(pattern))
    )
    assert {match.binding for match in matches(query, events)} == expected


NEEDS_AN_EVENT = PATTERNS.filter(lambda pattern: not nullable(pattern))


@budgeted()
@given(NEEDS_AN_EVENT, PATTERNS, NEEDS_AN_EVENT, streams(), WITHIN)
def test_negation_equals_definition_2_2(before, negated, after, events, within):
    def sequences(pattern: Pattern, window: int | None) -> set[tuple[int, ...]]:
        return {tuple(i for _, i in b) for b in bindings_by_subsequence(pattern, events, window)}

    def ts(i: int) -> int:
        return events[i].ts

    def found(pattern: Pattern) -> set[tuple[int, ...]]:
        return {trend.events for trend in trends(Query(pattern, within=within), events)}

    forbidden = sequences(negated, None)
    assert found(seq(before, Not(negated), after)) == {
        p + q
        for p in sequences(before, within)
        for q in sequences(after, within)
        if ts(p[-1]) < ts(q[0]) and (within is None or ts(q[-1]) - ts(p[0]) < within)
        if not any(ts(p[-1]) < ts(n[0]) and ts(n[-1]) < ts(q[0]) for n in forbidden)
    }
    assert found(seq(before, Not(negated))) == {
        p
        for p in sequences(before, within)
        if not any(ts(p[-1]) < ts(n[0]) and (within is None or ts(n[-1]) < ts(p[0]) + within) for n in forbidden)
    }
    assert found(seq(Not(negated), after)) == {
        q
        for q in sequences(after, within)
        if not any(ts(n[-1]) < ts(q[0]) and (within is None or ts(n[0]) > ts(q[-1]) - within) for n in forbidden)
    }
