"""Every worked example of semantics.md, Figure 2.4 and Figure 2.3 of seed 002, and the trace of seed 000.

The rules of semantics.md, one by one, are in test_rules.py.
"""

from __future__ import annotations

import pytest

from tests.oracle.events.event import Event, stream
from tests.oracle.events.matches import matches
from tests.oracle.events.pattern import Not, Type, iter_, plus, seq, star
from tests.oracle.events.query import Adjacent, Query
from tests.oracle.trends import Aggregate, aggregate, complete_trends, trends

A, B, C, D, E = (Type(name) for name in "ABCDE")
A_PLUS_B_PLUS = plus(seq(plus(A), B))
NEGATION_STREAM = "a1 b2 c2 a3 e3 a4 c5 d6 b7 a8 b9"


def named(text: str, sequence: tuple[int, ...]) -> str:
    words = text.split()
    return ",".join(words[i] for i in sequence)


def trends_of(query: Query, text: str) -> list[str]:
    return [named(text, trend.events) for trend in trends(query, stream(text))]


@pytest.mark.parametrize(("strategy", "count"), [("any", 43), ("next", 8), ("contiguous", 2)])
def test_nested_kleene_under_each_strategy(strategy, count):
    text = "a1 b2 a3 a4 c5 b6 a7 b8"
    query = Query(A_PLUS_B_PLUS, strategy)
    assert len(trends(query, stream(text))) == count
    assert len(matches(query, stream(text))) == count


def test_the_next_and_contiguous_trends_of_the_nested_kleene_pattern():
    text = "a1 b2 a3 a4 c5 b6 a7 b8"
    assert set(trends_of(Query(A_PLUS_B_PLUS, "contiguous"), text)) == {"a1,b2", "a7,b8"}
    assert set(trends_of(Query(A_PLUS_B_PLUS, "next"), text)) == {
        "a1,b2",
        "a1,b2,a3,a4,b6",
        "a1,b2,a3,a4,b6,a7,b8",
        "a3,a4,b6",
        "a3,a4,b6,a7,b8",
        "a4,b6",
        "a4,b6,a7,b8",
        "a7,b8",
    }


FIGURE_2_4 = {
    "a1,b2": (1, 1, 5, 5),
    "a1,b7": (1, 1, 5, 5),
    "a3,b7": (1, 1, 6, 6),
    "a4,b7": (1, 1, 4, 4),
    "a1,a3,b7": (1, 2, 5, 11),
    "a1,a4,b7": (1, 2, 4, 9),
    "a3,a4,b7": (1, 2, 4, 10),
    "a1,b2,a3,b7": (1, 2, 5, 11),
    "a1,b2,a4,b7": (1, 2, 4, 9),
    "a1,a3,a4,b7": (1, 3, 4, 15),
    "a1,b2,a3,a4,b7": (1, 3, 4, 15),
}


def test_aggregates_of_figure_2_4():
    events = stream("a1 b2 a3 a4 b7", attr=[5, None, 6, 4, None])
    returns = [
        Aggregate("COUNT"),
        Aggregate("COUNT", "A"),
        Aggregate("MIN", "A", "attr"),
        Aggregate("MAX", "A", "attr"),
        Aggregate("SUM", "A", "attr"),
        Aggregate("AVG", "A", "attr"),
    ]
    [row] = aggregate(Query(A_PLUS_B_PLUS), events, returns=returns)
    assert row.values == (11, 20, 4, 6, 100, 5)


def test_trends_of_figure_2_4():
    assert set(trends_of(Query(A_PLUS_B_PLUS), "a1 b2 a3 a4 b7")) == set(FIGURE_2_4)


@pytest.mark.parametrize(("trend", "expected"), FIGURE_2_4.items())
def test_aggregates_of_each_match_in_figure_2_4(trend, expected):
    """A row of the table is the longest trend over its own events: MIN LENGTH leaves only that one."""
    attr = {"a1": 5, "a3": 6, "a4": 4}
    text = trend.replace(",", " ")
    events = stream(text, attr=[attr.get(word) for word in text.split()])
    returns = [
        Aggregate("COUNT"),
        Aggregate("COUNT", "A"),
        Aggregate("MIN", "A", "attr"),
        Aggregate("SUM", "A", "attr"),
    ]
    [row] = aggregate(Query(A_PLUS_B_PLUS, min_length=len(events)), events, returns=returns)
    assert row.values == expected


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("contiguous", {"a3,c4"}),
        ("next", {"a3,c4", "a1,b2,c4"}),
        (
            "any",
            {
                "a1,c4",
                "a1,c6",
                "a3,c4",
                "a3,c6",
                "a1,b2,c4",
                "a1,b2,c6",
                "a1,b5,c6",
                "a3,b5,c6",
                "a1,b2,b5,c6",
            },
        ),
    ],
)
def test_trace_of_seed_000(strategy, expected):
    text = "a1 b2 a3 c4 b5 c6"
    query = Query(seq(A, star(B), C), strategy)
    found = [named(text, tuple(match.event_indices())) for match in matches(query, stream(text))]
    assert sorted(found) == sorted(expected)


def test_nested_negation():
    pattern = plus(seq(plus(A), Not(seq(C, Not(E), D)), B))
    found = trends_of(Query(pattern), NEGATION_STREAM)
    ends = [trend.split(",")[-1] for trend in found]
    assert (len(found), ends.count("b2"), ends.count("b7"), ends.count("b9")) == (13, 1, 0, 12)


@pytest.mark.parametrize(("pattern", "count"), [(seq(plus(A), Not(E)), 14), (seq(Not(E), plus(A)), 12)])
def test_trailing_and_leading_negation(pattern, count):
    assert len(trends_of(Query(pattern), NEGATION_STREAM)) == count


def test_sequence_of_four():
    query = Query(seq(A, B, C, D))
    assert len(matches(query, stream("a1 b2 a3 c3 b4 b5 d5 c7 d8"))) == 7


def test_complete_trends_of_the_check_example():
    checks = [("A", "B"), ("B", "C"), ("B", "D"), ("D", "E")]
    events = [
        Event(ts, type="C", values={"source": source, "dest": dest})
        for ts, (source, dest) in enumerate(checks, start=1)
    ]
    chained = Adjacent("C", "C", lambda e, e2: e["dest"] == e2["source"])
    found = complete_trends(Query(plus(C), predicates=[chained]), events)
    assert [trend.events for trend in found] == [(0, 1), (0, 2, 3)]


def test_complete_trends_of_four_groups_of_three():
    events = [Event(ts, type="C", values={"group": ts // 3}) for ts in range(12)]
    chained = Adjacent("C", "C", lambda e, e2: e["group"] + 1 == e2["group"])
    assert len(complete_trends(Query(plus(C), predicates=[chained]), events)) == 81


def test_three_of_four_is_iteration():
    assert len(matches(Query(iter_(A, 3)), stream("a1 a2 a3 a4"))) == 4
