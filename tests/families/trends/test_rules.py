"""One small example for each rule on trends and their aggregates: what a failure of the random tests comes down to."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from tests.families.trends.test_same_values import stream, values


def count(pattern: str, events: str, more: str = "", **options: Any) -> list[Any]:
    """COUNT(*) of every window."""
    return [row[0] for row in values(f"PATTERN {pattern} {more} RETURN COUNT(*)", stream(events), **options)]


# What counts as one


def test_two_ways_to_bind_a_sequence_are_one_trend() -> None:
    assert count("(A+)+", "a1 a2 a3") == [7]
    assert count("SEQ(A X+, A Y+)", "a1 a2 a3") == [4]
    assert count("SEQ(A X?, A Y*)", "a1 a2 a3") == [7]


def test_repeated_types_with_other_symbols() -> None:
    assert count("SEQ(A X+, B, A Y+)", "a1 b2 a3 a4") == [3]
    text = "PATTERN SEQ(A X+, B, A Y+) RETURN COUNT(*), COUNT(X), COUNT(Y), SUM(Y.x)"
    assert values(text, stream("a1 b2 a3 a4", x=[1, 2, 4, 8])) == [(3, 3, 4, 24)]


def test_an_aggregate_of_an_ambiguous_symbol_is_an_error() -> None:
    with pytest.raises(ev.EventideError) as refused:
        values("PATTERN SEQ(A X+, A Y+) RETURN COUNT(X)", stream("a1 a2 a3"))
    assert "cannot run yet" not in str(refused.value)


def test_an_aggregate_of_one_of_several_symbols_is_fine_when_its_events_are_certain() -> None:
    assert values("PATTERN SEQ(A X, A Y+) RETURN COUNT(X), COUNT(Y)", stream("a1 a2 a3")) == [(4, 5)]


def test_an_outermost_or_is_a_union() -> None:
    assert count("OR(A+, SEQ(A, A))", "a1 a2") == [3]
    assert count("OR(SEQ(A, B), SEQ(A, C))", "a1 b2 c3", "SEMANTICS next") == [2]
    assert count("SEQ(A, OR(B, C))", "a1 b2 c3", "SEMANTICS next") == [1]


def test_an_empty_match_never_stands_alone() -> None:
    assert count("A*", "b1") == []
    assert count("A*", "a1 b2") == [1]
    assert count("SEQ(A?, B?)", "a1 b2") == [3]


def test_bounds_of_a_repetition() -> None:
    assert count("A{2}", "a1 a2 a3 a4") == [6]
    assert count("A{2,}", "a1 a2 a3 a4") == [11]
    assert count("A{1,2}", "a1 a2 a3 a4") == [10]
    assert count("SEQ(A, B){2}", "a1 b2 a3 b4") == [1]


def test_pairs_are_unordered_and_of_distinct_trends() -> None:
    assert count("AND(A+, B)", "a1 b2 a3") == [3]
    assert count("AND(A X, A Y)", "a1 a2 a3") == [3]
    assert count("AND(A+, A+)", "a1 a2") == [3]


def test_three_sides_take_three_different_trends() -> None:
    assert count("AND(A X, A Y, A Z)", "a1 a2 a3 a4") == [4]
    assert count("AND(A X, A Y, B)", "a1 a2 a3 b4 b5") == [6]
    # c1 is a trend of the first two, b2 of the last two: a set of three needs one more of them.
    assert count("AND(OR(A, C), OR(C X, B), B Y)", "c1 b2") == []
    assert count("AND(OR(A, C), OR(C X, B), B Y)", "c1 b2 b3") == [1]
    assert count("AND(OR(A, C), OR(C X, B), B Y)", "a1 c1 b2 b3") == [4]
    assert count("AND(A X+, A Y+, A Z+)", "a1 a2 a3") == [35]
    assert count("AND(A X+, A Y+, A Z+)", "a1 a2 a3", "MIN LENGTH 7") == [3]


def test_sets_of_trends_count_their_events() -> None:
    text = "PATTERN AND(A, A, A) RETURN COUNT(*), COUNT(A), SUM(A.x), MAX(A.x)"
    assert values(text, stream("a1 a2 a3 a4", x=[1, 2, 4, 8])) == [(4, 12, 45, 8)]


def test_a_pair_is_as_long_as_its_trends_together() -> None:
    assert count("AND(A+, B)", "a1 b2 a3", "MIN LENGTH 3") == [1]
    assert count("AND(A+, A+)", "a1 a2", "MIN LENGTH 3") == [2]


def test_a_pair_counts_the_events_of_both_trends() -> None:
    text = "PATTERN AND(A, B) RETURN COUNT(*), COUNT(A), SUM(B.x)"
    assert values(text, stream("b1 a2 b3", x=[10, 0, 1])) == [(2, 2, 11)]


def test_min_length_drops_shorter_trends_but_not_the_chain() -> None:
    assert count("A+", "a1 a2 a3", "MIN LENGTH 2") == [4]
    assert count("A+", "a1 a2 a3", "SEMANTICS next MIN LENGTH 3") == [1]


# Order and strategies


def test_tied_events_do_not_follow_one_another() -> None:
    assert count("A+", "a1 a1 a2") == [5]
    assert count("SEQ(A, B)", "a1 b1") == []
    text = "PATTERN {} {} RETURN COUNT(*), COUNT(A)"
    for where in ("", "WHERE A.x < NEXT(A).x", "WHERE A.x <> NEXT(A).x"):
        assert values(text.format("A+", where), stream("a1 a1 a2", x=[1, 2, 3])) == [(5, 7)]


def test_tied_events_follow_by_sequence() -> None:
    events = [{"ts": 1, "kind": "A", "n": n} for n in (2, 1, 3)]
    text = "PATTERN A+ RETURN COUNT(*)"
    assert values(text, events, ties="sequence", sequence="n") == values(text, events, sequence="n") == [(7,)]
    assert values(text, events, ties="strict", sequence="n") == [(3,)]


def test_tied_earliest_events_branch_under_next() -> None:
    assert count("SEQ(A, B)", "a1 b2 b2 b3", "SEMANTICS next") == [2]


def test_every_start_begins_a_chain_under_next() -> None:
    assert count("A+", "a1 a2 a3", "SEMANTICS next") == [6]


def test_next_looks_further_when_a_condition_fails() -> None:
    text = "PATTERN SEQ(A, B) WHERE A.x < NEXT(B).x SEMANTICS next RETURN COUNT(*), SUM(B.x)"
    assert values(text, stream("a1 b2 b3", x=[5, 1, 9])) == [(1, 9)]


def test_contiguity_is_broken_by_any_event_of_the_partition() -> None:
    assert count("SEQ(A, B)", "a1 c2 b3", "SEMANTICS contiguous") == []
    text = "PATTERN SEQ(A, B) WHERE B.x > 1 SEMANTICS contiguous RETURN COUNT(*)"
    assert values(text, stream("a1 b2 b3", x=[0, 1, 9])) == []


@pytest.mark.parametrize("condition", ["A.x < NEXT(A).x", "A.x < NEXT(A).x AND A.x <> NEXT(A).x"])
def test_rising_trends(condition: str) -> None:
    """One comparison is looked up, two are tried on every event held."""
    text = f"PATTERN A+ WHERE {condition} SEMANTICS {{}} RETURN COUNT(*), MAX(A.x)"
    events = stream("a1 a2 a3 a4", x=[1, 0, 2, 3])
    assert values(text.format("any"), events) == [(11, 3)]
    assert values(text.format("next"), events) == [(9, 3)]
    assert values(text.format("contiguous"), events) == [(7, 3)]


def test_a_missing_value_is_not_less() -> None:
    text = "PATTERN A+ WHERE A.x < NEXT(A).x RETURN COUNT(*)"
    assert values(text, stream("a1 a2 a3", x=[1, None, 2])) == [(4,)]


@pytest.mark.parametrize(
    ("condition", "n_trends"),
    [
        ("A.x < NEXT(A).x", 5),
        ("A.x <= NEXT(A).x", 7),
        ("A.x > NEXT(A).x", 3),
        ("A.x >= NEXT(A).x", 4),
        ("A.x = NEXT(A).x", 4),
        ("NEXT(A).x < A.x", 3),
        ("NEXT(A).x <= A.x", 4),
        ("NEXT(A).x > A.x", 5),
        ("NEXT(A).x >= A.x", 7),
        ("A.x <> NEXT(A).x", 5),
    ],
)
def test_each_comparison_of_neighbours(condition: str, n_trends: int) -> None:
    assert values(f"PATTERN A+ WHERE {condition} RETURN COUNT(*)", stream("a1 a2 a3", x=[1, 2, 2])) == [(n_trends,)]


def test_falling_trends() -> None:
    text = "PATTERN A+ WHERE A.x > NEXT(A).x RETURN COUNT(*), SUM(A.x)"
    assert values(text, stream("a1 a2 a3 a4", x=[3, 4, 2, 1])) == [(11, 46)]


def test_a_value_that_nothing_before_is_equal_to() -> None:
    text = "PATTERN SEQ(A, B) WHERE A.x = NEXT(B).y RETURN COUNT(*)"
    for y, found in ((2, []), (3, [(2,)]), (4, []), (5, [(1,)]), (9, [])):
        assert values(text, stream("a1 a2 a3 b4", x=[3, 5, 3, None], y=[None, None, None, y])) == found


def test_conditions_on_neighbours_begin_anew_in_each_window() -> None:
    for condition in ("A.x < NEXT(A).x", "A.x = NEXT(B).x", "A.x <> NEXT(A).x"):
        text = f"PATTERN SEQ(A+, B?) WHERE {condition} WITHIN 5 seconds RETURN COUNT(*)"
        assert values(text, stream("a1 a2 a6 a7", x=[1, 2, 3, 4])) == [(3, 0, 5), (3, 5, 10)]


# Negation


def test_negation_in_a_window_looks_to_its_edges() -> None:
    assert values("PATTERN SEQ(A+, NOT B) WITHIN 5 seconds RETURN COUNT(*)", stream("a1 a2 b3 a6 a7 b11")) == [
        (3, 5, 10)
    ]
    assert values("PATTERN SEQ(NOT B, A+) WITHIN 5 seconds RETURN COUNT(*)", stream("b1 a2 a6 b7 a8")) == [(2, 5, 10)]


def test_only_the_last_event_decides_a_trailing_negation() -> None:
    assert count("SEQ(A+, NOT B)", "a1 b2 a3") == [2]
    assert count("SEQ(A+, NOT B)", "a1 b2 a3", "SEMANTICS next") == [2]
    assert count("SEQ(A, NOT B)", "a1 b2", "SEMANTICS contiguous") == []


def test_what_is_tied_to_an_event_is_neither_before_nor_after_it() -> None:
    for strategy in ("SEMANTICS any", "SEMANTICS next"):
        assert count("SEQ(A, NOT B, C)", "a1 b2 c3", strategy) == []
        assert count("SEQ(A, NOT B, C)", "a1 b1 c2", strategy) == [1]
        assert count("SEQ(A, NOT B, C)", "a1 b2 c2", strategy) == [1]
        assert count("SEQ(A, NOT B)", "a1 b1", strategy) == [1]
        assert count("SEQ(NOT B, A)", "b1 a1", strategy) == [1]
        assert count("SEQ(NOT B, A)", "b1 a2", strategy) == []


def test_a_negation_that_is_undone_later() -> None:
    for strategy in ("SEMANTICS any", "SEMANTICS next"):
        assert count("SEQ(A, NOT SEQ(C, NOT E), B)", "a1 c2 b3", strategy) == []
        assert count("SEQ(A, NOT SEQ(C, NOT E), B)", "a1 c2 b3 e4", strategy) == [1]
        assert count("SEQ(A, NOT SEQ(C, NOT E), B)", "a1 c2 e2 b3", strategy) == []
        assert count("SEQ(A, NOT SEQ(C, NOT E))", "a1 c2", strategy) == []
        assert count("SEQ(A, NOT SEQ(C, NOT E))", "a1 c2 e3", strategy) == [1]


def test_a_negation_that_needs_an_absence_before_it() -> None:
    for events, found in (("a1 c2 b3", []), ("e0 a1 c2 b3", [1]), ("a1 e2 c3 b4", [1]), ("a1 c2 e3 b4", [])):
        assert count("SEQ(A, NOT SEQ(NOT E, C), B)", events) == found


def test_a_negation_at_the_end_of_a_round_stands_between_the_rounds() -> None:
    assert count("(SEQ(A, NOT C))+", "a1 c2 a3") == [1]


RISE = "WHERE n.x < NEXT(m).x"


def absent(pattern: str, events: str, x: list[int], more: str = "", **options: Any) -> list[Any]:
    """COUNT(*) of every window; n and m are what must not rise."""
    text = f"PATTERN {pattern} {RISE} {more} RETURN COUNT(*)"
    return [row[0] for row in values(text, stream(events, x=x), **options)]


@pytest.mark.parametrize("strategy", ["any", "next"])
def test_a_condition_inside_a_negation_decides_what_is_absent(strategy: str) -> None:
    pattern, more = "SEQ(A, NOT SEQ(B n, C m), D)", f"SEMANTICS {strategy}"
    assert absent(pattern, "a1 b2 c3 d4", [0, 5, 1, 0], more) == [1]
    assert absent(pattern, "a1 b2 c3 d4", [0, 1, 5, 0], more) == []
    # Only a match that lies between the two counts.
    assert absent(pattern, "b0 a1 c3 d4", [1, 0, 5, 0], more) == [1]
    assert absent(pattern, "a1 b2 d3 c4", [0, 1, 0, 5], more) == [1]
    assert absent(pattern, "a1 b1 c2 d3", [0, 1, 5, 0], more) == [1]
    assert absent(pattern, "a1 b2 c3 d3", [0, 1, 5, 0], more) == [1]
    # The later of two beginnings, and the one that holds although it is further back.
    assert absent(pattern, "b0 a1 b2 c3 d4", [0, 0, 1, 5, 0], more) == []
    assert absent(pattern, "a1 b2 b3 c4 d5", [0, 1, 9, 5, 0], more) == []


def test_a_step_further_back_is_open_where_a_later_one_is_not() -> None:
    """From a1 a rise lies before d6, from a3 and a4 it does not."""
    assert absent("SEQ(A, NOT SEQ(B n, C m), D)", "a1 b2 a3 a4 c5 d6", [0, 1, 0, 0, 5, 0]) == [2]


def test_a_condition_inside_a_repetition_that_is_absent() -> None:
    text = "PATTERN SEQ(A, NOT SEQ(B n+, C), D) WHERE n.x < NEXT(n).x AND n.x > NEXT(C).x RETURN COUNT(*)"
    assert values(text, stream("a1 b2 b3 c4 d5", x=[0, 1, 2, 9, 0])) == [(1,)]
    assert values(text, stream("a1 b2 b3 c4 d5", x=[0, 1, 9, 5, 0])) == []
    text = "PATTERN SEQ(A, NOT B n{2,}, D) WHERE n.x < NEXT(n).x RETURN COUNT(*)"
    assert values(text, stream("a1 b2 b3 b4 d5", x=[0, 3, 2, 1, 0])) == [(1,)]
    assert values(text, stream("a1 b2 b3 b4 d5", x=[0, 3, 1, 2, 0])) == []


def test_a_condition_inside_a_negation_at_the_edges_of_a_window() -> None:
    last, first = "SEQ(A+, NOT SEQ(B n, C m))", "SEQ(NOT SEQ(B n, C m), A+)"
    for strategy in ("any", "next"):
        more = f"SEMANTICS {strategy}"
        assert absent(last, "a1 b2 c3 a4", [0, 1, 5, 0], more) == [2]
        assert absent(last, "a1 b2 c3", [0, 1, 5], more) == []
        assert absent(last, "a1 b2 c3", [0, 5, 1], more) == [1]
        assert absent(first, "a1 b2 c3 a4", [0, 1, 5, 0], more) == [2]
        assert absent(first, "b2 c3 a4", [1, 5, 0], more) == []
        assert absent(first, "b2 c3 a3", [1, 5, 0], more) == [1]
    windowed = f"PATTERN {{}} {RISE} WITHIN 4 seconds SLIDE 2 seconds RETURN COUNT(*)"
    # The rise from b2 to c5 lies in the window from 2 to 6 alone.
    assert values(windowed.format(last), stream("a1 b2 a3 c5", x=[0, 1, 0, 5])) == [(1, -2, 2), (1, 2, 6), (3, 0, 4)]
    assert values(windowed.format(last), stream("a2 b3 c5", x=[0, 1, 5])) == [(1, 0, 4)]
    assert values(windowed.format(first), stream("b1 c3 a3 a4", x=[1, 5, 0, 0])) == [(1, 0, 4), (1, 4, 8), (3, 2, 6)]


def test_windows_see_what_is_absent_between_two_events_as_a_whole_does() -> None:
    text = f"PATTERN SEQ(A, NOT SEQ(B n, C m), D) {RISE} WITHIN 10 seconds SLIDE 2 seconds RETURN COUNT(*)"
    rows = values(text, stream("a1 b2 c3 a4 d5", x=[0, 1, 5, 0, 0]))
    assert {row[0] for row in rows} == {1} and len(rows) == 5


def test_negations_inside_a_negation_with_conditions() -> None:
    pattern = "SEQ(A, NOT SEQ(B n, NOT E, C m), D)"
    assert absent(pattern, "a1 b2 e3 c4 d5", [0, 1, 0, 5, 0]) == [1]
    assert absent(pattern, "a1 b2 e3 b4 c5 d6", [0, 1, 0, 2, 5, 0]) == []
    pattern = "SEQ(A, NOT SEQ(B n, C m, NOT E), D)"
    assert absent(pattern, "a1 b2 c3 d4 e5", [0, 1, 5, 0, 0]) == [1]
    assert absent(pattern, "a1 b2 c3 e3 d4", [0, 1, 5, 0, 0]) == []
    pattern = "SEQ(A, NOT SEQ(NOT E, B n, C m), D)"
    assert absent(pattern, "e0 a1 b2 c3 d4", [0, 0, 1, 5, 0]) == [1]
    assert absent(pattern, "a1 b2 e2 c3 d4", [0, 1, 0, 5, 0]) == []
    pattern = "SEQ(A, NOT SEQ(F, NOT SEQ(B n, C m), G), D)"
    assert absent(pattern, "a1 f2 b3 c4 g5 d6", [0, 0, 5, 1, 0, 0]) == []
    assert absent(pattern, "a1 f2 b3 c4 g5 d6", [0, 0, 1, 5, 0, 0]) == [1]


def test_a_negation_with_conditions_beside_conditions_on_the_trend() -> None:
    text = "PATTERN SEQ(A a+, NOT SEQ(B n, C m), D) WHERE a.x < NEXT(a).x AND n.x < NEXT(m).x RETURN COUNT(*), SUM(a.x)"
    assert values(text, stream("a1 a2 b3 c4 a5 d6", x=[1, 2, 1, 5, 3, 0])) == [(4, 18)]
    assert values(text, stream("a1 a2 b3 c4 a5 d6", x=[1, 2, 5, 1, 3, 0])) == [(7, 24)]
    text = "PATTERN SEQ(A a, NOT SEQ(B n, C m), D d) WHERE a.x < NEXT(d).x AND n.x < NEXT(m).x RETURN COUNT(*)"
    assert values(text, stream("a1 b1 c2 a3 d4", x=[1, 1, 5, 9, 3])) == [(1,)]
    assert values(text, stream("a1 b2 c3 a3 d4", x=[1, 1, 5, 2, 3])) == [(1,)]


# Windows and groups


def test_aggregates_without_slide_use_tumbling_windows() -> None:
    assert values("PATTERN A+ WITHIN 5 seconds RETURN COUNT(*)", stream("a1 a4 a6")) == [(1, 5, 10), (3, 0, 5)]


def test_a_slide_that_does_not_divide_the_window() -> None:
    assert values("PATTERN A+ WITHIN 5 seconds SLIDE 3 seconds RETURN COUNT(*)", stream("a5 a6")) == [
        (1, 6, 11),
        (3, 3, 8),
    ]


def test_origin_moves_tumbling_windows_too() -> None:
    text = "PATTERN A+ WITHIN 5 seconds RETURN COUNT(*)"
    assert values(text, stream("a6 a9"), origin="2 seconds") == [(1, 2, 7), (1, 7, 12)]
    assert values(text, stream("a6 a9"), origin="first") == [(3, 6, 11)]


def test_count_windows_count_all_events_of_the_partition() -> None:
    text = "PATTERN SEQ(A, B) WITHIN 3 EVENTS SLIDE 2 EVENTS RETURN COUNT(*)"
    assert values(text, stream("a1 c2 b3 b4 c5")) == [(1, 0, 3)]
    assert values("PATTERN A WITHIN 3 EVENTS SLIDE 2 EVENTS RETURN COUNT(*)", stream("a1 a2 a3 a4 a5")) == [
        (1, 4, 7),
        (3, 0, 3),
        (3, 2, 5),
    ]


def test_partitions_of_a_group_add_up() -> None:
    events = [{"ts": ts, "kind": "A", "g": 1, "p": ts % 2} for ts in range(4)]
    assert values("PATTERN A+ PARTITION BY p GROUP BY g RETURN g, COUNT(*)", events) == [(1, 6)]
    assert values("PATTERN A+ WHERE [p] RETURN COUNT(*), SUM(A.ts), MAX(A.ts), AVG(A.ts)", events) == [(6, 12, 3, 1.5)]
    assert values("PATTERN A+ PARTITION BY p RETURN p, COUNT(*)", events) == [(0, 3), (1, 3)]
    text = "PATTERN A+ PARTITION BY p GROUP BY g WITHIN 2 seconds RETURN g, COUNT(*)"
    assert values(text, events) == [(1, 2, 0, 2), (1, 2, 2, 4)]


def test_null_is_a_group_of_its_own() -> None:
    events = stream("a1 a2 a3 a4", g=["x", None, "x", None])
    assert values("PATTERN A+ GROUP BY g SEMANTICS contiguous RETURN g, COUNT(*)", events) == [("x", 3), (None, 3)]


def test_a_group_column_need_not_be_returned() -> None:
    events = stream("a1 a2 a3", g=["x", None, "x"])
    assert values("PATTERN A+ GROUP BY g RETURN COUNT(*)", events) == [(1,), (3,)]


@pytest.mark.parametrize("strategy", ["any", "next", "contiguous"])
@pytest.mark.parametrize("more", ["", "WHERE A.x < NEXT(A).x", "PARTITION BY g", "WITHIN 5 EVENTS"])
def test_without_a_window_of_time_results_are_detected_at_the_last_event_that_a_symbol_takes(
    strategy: str, more: str
) -> None:
    """Also one in a NOT; c5 and d9 are none, and a2 and b4 are not in the same trend."""
    text = f"PATTERN SEQ(A+, NOT B) {more} SEMANTICS {strategy} RETURN COUNT(*)"
    events = stream("a1 a2 c3 a3 b3 c5 d9", x=[1, 2, 3, 3, 4, 5, 6], g=[1] * 7)
    (row,) = ev.query(text, ts_unit="s", type="kind").run(events).to_pylist()
    assert row["detected_at"] == 3


def test_no_events_give_no_rows() -> None:
    schema = pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("x", pa.int32())])
    query = ev.query("PATTERN A+ WITHIN 5 seconds RETURN COUNT(*), SUM(A.x), MIN(A.x)", ts_unit="s", type="kind")
    result = query.run(schema.empty_table())
    assert result.num_rows == 0
    assert result.column_names[:5] == ["count", "sum_A_x", "min_A_x", "window_start", "window_end"]
    assert result.schema.field("min_A_x").type == pa.int32()


# Aggregates


def test_missing_values_are_ignored() -> None:
    text = "PATTERN A+ RETURN COUNT(A), COUNT(A.x), SUM(A.x), MIN(A.x), MAX(A.x), AVG(A.x)"
    assert values(text, stream("a1 a2 a3", x=[1, None, 2])) == [(12, 8, 12, 1, 2, 1.5)]


def test_nothing_but_missing_values_is_missing() -> None:
    table = pa.table({"ts": [1], "kind": ["A"], "x": pa.array([None], pa.int32())})
    query = ev.query("PATTERN A RETURN COUNT(A.x), SUM(A.x), MIN(A.x), AVG(A.x)", ts_unit="s", type="kind")
    (row,) = query.run(table).to_pylist()
    assert list(row.values())[:4] == [0, None, None, None]


def test_a_symbol_that_no_trend_binds() -> None:
    text = "PATTERN SEQ(A, B?) RETURN COUNT(*), COUNT(B), SUM(B.x), MIN(B.x), AVG(B.x)"
    assert values(text, stream("a1", x=[1])) == [(1, 0, None, None, None)]


def test_the_types_of_the_result() -> None:
    table = pa.table(
        {
            "ts": pa.array([1, 2], pa.int64()),
            "kind": ["A", "A"],
            "i": pa.array([1, 2], pa.int16()),
            "d": pa.array([Decimal("0.10"), Decimal("0.20")], pa.decimal128(12, 2)),
            "y": pa.array([0.5, 1.5], pa.float64()),
        }
    )
    text = "PATTERN A+ RETURN COUNT(*), SUM(A.i), MIN(A.i), SUM(A.d), MAX(A.d), SUM(A.y), AVG(A.i), AVG(A.d), MIN(A.y)"
    exact = [pa.decimal128(38, 0)] * 2 + [pa.int16(), pa.decimal128(38, 2), pa.decimal128(12, 2)] + [pa.float64()] * 4
    wide = [pa.float64()] * 2 + [pa.int16(), pa.float64(), pa.decimal128(12, 2)] + [pa.float64()] * 4
    for counts, types in (("exact", exact), ("double", wide)):
        result = ev.query(text, ts_unit="s", type="kind", counts=counts).run(table)
        assert [field.type for field in result.schema][:9] == types
        (row,) = result.to_pylist()
        assert [float(value) for value in list(row.values())[:9]] == pytest.approx(
            [3, 6, 1, 0.6, 0.2, 4, 1.5, 0.15, 0.5]
        )


def test_the_least_and_greatest_of_strings_and_times() -> None:
    table = pa.table(
        {
            "ts": pa.array([1_000_000, 2_000_000], pa.timestamp("us")),
            "kind": ["A", "A"],
            "name": ["b", "a"],
            "at": pa.array([5, 4], pa.timestamp("us")),
        }
    )
    text = "PATTERN A+ RETURN MIN(A.name), MAX(A.name), COUNT(A.name), MIN(A.at), MAX(A.ts)"
    result = ev.query(text, ts="ts", type="kind").run(table)
    assert [str(field.type) for field in result.schema][:5] == [
        "string",
        "string",
        "decimal128(38, 0)",
        "timestamp[us]",
        "timestamp[us]",
    ]
    (row,) = result.to_pylist()
    found = list(row.values())
    assert found[:3] == ["a", "b", 4]
    assert (found[3].microsecond, found[4].second) == (4, 2)


def test_an_argument_may_be_an_expression() -> None:
    assert values("PATTERN A+ RETURN SUM(A.x * 2 + 1), MAX(-A.x)", stream("a1 a2", x=[1, 5])) == [(28, -1)]


def test_aggregates_may_stand_in_an_expression() -> None:
    text = "PATTERN A+ RETURN COUNT(*) * 2 AS twice, SUM(A.x) / COUNT(A) AS mean"
    ((twice, mean),) = values(text, stream("a1 a2", x=[1, 5]))
    assert (twice, float(mean)) == (6, 3.0)


def test_not_a_number_is_the_greatest() -> None:
    events = stream("a1 a2", y=[1.5, float("nan")])
    ((least, greatest, total),) = values("PATTERN A+ RETURN MIN(A.y), MAX(A.y), SUM(A.y)", events)
    assert (least, greatest != greatest, total != total) == (1.5, True, True)
