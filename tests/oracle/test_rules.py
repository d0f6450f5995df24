"""One small test per rule of semantics.md that the oracle implements; the worked examples are in
test_worked_examples.py. Events are written as in the seeds: `a1` is an event of type A at time 1.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.oracle.events.event import Event, stream
from tests.oracle.events.matches import matches
from tests.oracle.events.pattern import And, Not, Repeat, Type, and_, iter_, optional, or_, plus, seq, star
from tests.oracle.events.query import Adjacent, Bound, KleeneAggregate, Local, Query, null_if_null
from tests.oracle.trends import Aggregate, AmbiguousBinding, aggregate, complete_trends, trends

A, B, C, D, E = (Type(name) for name in "ABCDE")
COUNT = [Aggregate("COUNT")]


def rows(query: Query, text: str, **columns) -> list[str]:
    """The matches, each as the words of the stream it binds."""
    words = text.split()
    return [" ".join(words[i] for i in m.event_indices()) for m in matches(query, stream(text, **columns))]


def count(query: Query, text: str) -> list:
    return [row.values[0] for row in aggregate(query, stream(text), returns=COUNT)]


# Events, time, order


def test_empty_input_has_no_result():
    query = Query(plus(A), within=5, slide=2, origin="first")
    assert matches(query, []) == []
    assert aggregate(query, [], returns=COUNT) == []


def test_a_single_event_matches():
    assert rows(Query(plus(A)), "a1") == ["a1"]


def test_tied_events_do_not_follow_one_another():
    assert rows(Query(seq(A, B)), "a1 b1") == []


def test_ties_by_sequence_let_tied_events_follow_in_sequence_order():
    events = [Event(1, 0, "A"), Event(1, 1, "B"), Event(1, 2, "A")]
    assert [m.binding for m in matches(Query(seq(A, B), ties="sequence"), events)] == [(("A", 0), ("B", 1))]


def test_contiguity_by_sequence_sees_tied_events_in_between():
    events = [Event(1, 0, "A"), Event(1, 1, "C"), Event(1, 2, "B")]
    assert matches(Query(seq(A, B), "contiguous", ties="sequence"), events) == []


def test_arrival_order_does_not_matter():
    forward, backward = stream("a1 b2 b3 a3"), stream("a1 b2 b3 a3")[::-1]
    assert len(matches(Query(seq(A, B)), forward)) == len(matches(Query(seq(A, B)), backward)) == 2


def test_events_without_sequence_are_ordered_by_columns_nulls_first():
    events = [Event(1, type="A", values={"x": 3}), Event(1, type="A", values={"x": None})]
    [match] = matches(Query(iter_(A, 2), ties="sequence"), events)
    assert match.event_indices() == [1, 0]


def test_null_predicate_is_not_matched():
    positive = Local("A", lambda e: null_if_null(lambda x: x > 0)(e["x"]))
    negative = Local("A", lambda e: null_if_null(lambda x: not x > 0)(e["x"]))
    assert rows(Query(A, predicates=[positive]), "a1 a2", x=[None, 1]) == ["a2"]
    assert rows(Query(A, predicates=[negative]), "a1 a2", x=[None, 1]) == []


def test_null_partition_is_a_partition_of_its_own():
    events = [Event(1, type="A", partition=(None,)), Event(2, type="B", partition=(None,))]
    events += [Event(3, type="B", partition=(1,)), Event(4, type="B", partition=(0,))]
    [match] = matches(Query(seq(A, B)), events)
    assert (match.partition, match.event_indices()) == ((None,), [0, 1])


def test_types_defined_by_predicate_may_overlap_and_null_is_not_matched():
    types = {
        "Big": lambda e: null_if_null(lambda x: x > 5)(e["x"]),
        "Odd": lambda e: e["x"] and e["x"] % 2 == 1,
    }
    query = Query(seq(Type("Big"), Type("Odd")), types=types)
    assert rows(query, "a1 a2 a3", x=[7, 9, None]) == ["a1 a2"]


# WITHIN and windows


def test_window_is_half_open():
    assert rows(Query(seq(A, B), within=3), "a1 b3 b4") == ["a1 b3"]


def test_slide_gives_a_match_once_per_window():
    found = matches(Query(seq(A, B), within=4, slide=2), stream("a2 b3"))
    assert [(m.window_start, m.window_end) for m in found] == [(0, 4), (2, 6)]


def test_slide_need_not_divide_the_window():
    found = matches(Query(A, within=5, slide=3), stream("a6"))
    assert [(m.window_start, m.window_end) for m in found] == [(3, 8), (6, 11)]
    found = matches(Query(A, within=5, slide=3), stream("a5"))
    assert [(m.window_start, m.window_end) for m in found] == [(3, 8)]


def test_windows_reach_before_the_epoch():
    [match] = matches(Query(A, within=5, slide=5), [Event(-1, type="A")])
    assert (match.window_start, match.window_end) == (-5, 0)


@pytest.mark.parametrize(("origin", "start"), [(0, 5), (2, 7), ("first", 6)])
def test_origin_moves_the_windows(origin, start):
    found = matches(Query(B, within=5, slide=5, origin=origin), stream("a6 b9"))
    assert [m.window_start for m in found] == [start]


def test_window_without_a_result_gives_no_row():
    assert aggregate(Query(seq(A, B), within=5, slide=5), stream("a1 b7"), returns=COUNT) == []


def test_aggregates_without_slide_use_tumbling_windows():
    query = Query(plus(A), within=5)
    found = aggregate(query, stream("a1 a4 a6"), returns=COUNT)
    assert [(row.window_start, row.window_end, row.values) for row in found] == [(0, 5, (3,)), (5, 10, (1,))]
    assert len(matches(query, stream("a1 a4 a6"))) == 5


def test_count_windows_count_all_events_of_the_partition():
    query = Query(seq(A, B), within_events=3, slide_events=2)
    found = matches(query, stream("a1 c2 b3 b4 c5"))
    assert [(m.event_indices(), m.window_start, m.window_end) for m in found] == [([0, 2], 0, 3)]


def test_incomplete_count_window_is_evaluated_at_the_end_of_the_input():
    query = Query(A, within_events=3, slide_events=2)
    assert [m.window_start for m in matches(query, stream("a1 a2 a3 a4 a5"))] == [0, 0, 0, 2, 2, 2, 4]


def test_count_window_without_slide_bounds_the_distance():
    assert rows(Query(seq(A, B), within_events=3), "a1 c2 b3 b4") == ["a1 b3"]


def test_next_is_evaluated_per_window():
    found = matches(Query(plus(A), "next", within=4, slide=4), stream("a2 a3 a4"))
    assert [m.event_indices() for m in found] == [[0], [0, 1], [1], [2]]


@pytest.mark.parametrize("bad", [{"slide": 2}, {"within": 2, "slide": 3}, {"within": 2, "within_events": 2}])
def test_windows_without_meaning_are_refused(bad):
    with pytest.raises(ValueError, match=r"SLIDE|window"):
        matches(Query(A, **bad), [])


# Patterns


def test_repetition_bounds():
    assert rows(Query(Repeat(A, 2, 3), "next"), "a1 a2 a3 a4") == [
        "a1 a2",
        "a1 a2 a3",
        "a2 a3",
        "a2 a3 a4",
        "a3 a4",
    ]


def test_repetition_of_a_group():
    assert rows(Query(iter_(seq(A, B), 2)), "a1 b2 b3 a4 b5") == ["a1 b2 a4 b5", "a1 b3 a4 b5"]


def test_optional_part_may_be_missing():
    assert rows(Query(seq(A, optional(B), C)), "a1 b2 c3") == ["a1 b2 c3", "a1 c3"]


def test_an_empty_match_never_stands_alone():
    assert rows(Query(star(A)), "b1") == []
    assert rows(Query(and_(star(A), B)), "b1") == []


def test_the_same_type_may_stand_more_than_once():
    assert rows(Query(seq(A, Type("A", "A2"))), "a1 a2 a3") == ["a1 a2", "a1 a3", "a2 a3"]


def test_two_bindings_are_two_matches_but_one_trend():
    query = Query(seq(star(Type("A", "X")), plus(Type("A", "Y"))))
    assert len(matches(query, stream("a1 a2"))) == 4
    assert [t.events for t in trends(query, stream("a1 a2"))] == [(0,), (0, 1), (1,)]


def test_two_paths_to_the_same_binding_are_one_match():
    assert rows(Query(plus(plus(A))), "a1 a2") == ["a1", "a1 a2", "a2"]


def test_outermost_or_is_the_union_of_its_branches():
    assert rows(Query(or_(A, seq(A, B), A)), "a1 b2") == ["a1", "a1 b2"]
    assert count(Query(or_(plus(A), seq(A, Type("A", "A2")))), "a1 a2") == [3]


def test_outermost_or_follows_the_strategy_in_each_branch():
    assert rows(Query(or_(seq(A, B), seq(A, C)), "next"), "a1 b2 c3") == ["a1 b2", "a1 c3"]


def test_nested_or_is_one_template():
    assert rows(Query(seq(A, or_(B, C)), "next"), "a1 b2 c3") == ["a1 b2"]


def test_min_length_drops_shorter_matches_but_not_the_chain():
    assert rows(Query(plus(A), "next", min_length=2), "a1 a2 a3") == ["a1 a2", "a1 a2 a3", "a2 a3"]


@pytest.mark.parametrize("bad", [Not(A), seq(Not(A)), plus(Not(A)), Repeat(A, 3, 2)])
def test_patterns_without_meaning_are_refused(bad):
    with pytest.raises(ValueError, match=r"NOT|SEQ|repetition"):
        matches(Query(bad), [])


# Conjuncts


def test_conjunct_is_tested_as_soon_as_it_is_bound_so_next_looks_further():
    rising = Bound(("A", "B"), lambda a, b: b["x"] > a["x"])
    assert rows(Query(seq(A, B), "next", predicates=[rising]), "a1 b2 b3", x=[5, 4, 6]) == ["a1 b3"]


def test_conjunct_on_a_later_symbol_does_not_change_an_earlier_step():
    equal = Bound(("B", "C"), lambda b, c: b["x"] == c["x"])
    assert rows(Query(seq(A, B, C), "next", predicates=[equal]), "a1 b2 b3 c4", x=[0, 1, 2, 2]) == []


def test_conjunct_holds_for_each_event_of_a_kleene_symbol():
    below = Bound(("A", "B"), lambda a, b: a["x"] < b["x"])
    found = rows(Query(seq(plus(A), B), predicates=[below]), "a1 a2 b3", x=[1, 9, 5])
    assert found == ["a1 b3"]


def test_next_predicate_concerns_only_directly_adjacent_events():
    rising = Adjacent("A", "B", lambda a, b: a["x"] < b["x"])
    found = rows(Query(seq(plus(A), B), predicates=[rising]), "a1 a2 b3", x=[9, 1, 5])
    assert found == ["a1 a2 b3", "a2 b3"]


def test_conjunct_on_a_symbol_that_is_not_bound_is_not_tested():
    never = Bound(("A", "B"), lambda a, b: False)
    assert rows(Query(seq(A, optional(B), C), predicates=[never]), "a1 b2 c3") == ["a1 c3"]


def test_aggregate_conjunct_is_tested_when_the_symbol_closes():
    enough = KleeneAggregate("A", lambda events: sum(e["x"] for e in events) > 4)
    query = Query(seq(plus(A), B), predicates=[enough])
    assert rows(query, "a1 a2 b3", x=[2, 3, 0]) == ["a1 a2 b3"]


def test_aggregate_conjunct_on_the_last_symbol_is_tested_at_each_end():
    enough = KleeneAggregate("A", lambda events: sum(e["x"] for e in events) > 4)
    assert rows(Query(plus(A), "next", predicates=[enough]), "a1 a2 a3", x=[2, 3, 1]) == ["a1 a2", "a1 a2 a3"]


def test_under_next_a_failed_aggregate_leaves_the_chain_to_a_later_event():
    enough = KleeneAggregate("A", lambda events: sum(e["x"] for e in events) > 4)
    query = Query(seq(plus(A), B), "next", predicates=[enough])
    assert rows(query, "a1 b2 a3 b4", x=[2, 0, 3, 0]) == ["a1 a3 b4"]


def test_aggregates_over_trends_refuse_conjuncts_between_any_events():
    query = Query(seq(A, B), predicates=[Bound(("A", "B"), lambda a, b: True)])
    with pytest.raises(ValueError, match="adjacent"):
        aggregate(query, [], returns=COUNT)


# Strategies


def test_every_start_event_begins_a_chain_under_next():
    assert rows(Query(seq(A, B), "next"), "a1 a2 b3") == ["a1 b3", "a2 b3"]


def test_tied_earliest_events_branch():
    assert rows(Query(seq(A, plus(B)), "next"), "a1 b2 b2 b3") == ["a1 b2", "a1 b2 b3", "a1 b2", "a1 b2 b3"]
    assert rows(Query(seq(A, plus(B)), "contiguous"), "a1 b2 c2 b3") == ["a1 b2", "a1 b2 b3"]


def test_contiguity_is_broken_by_an_event_that_fails_a_predicate():
    big = Local("B", lambda e: e["x"] > 5)
    query = Query(seq(A, B), "contiguous", predicates=[big])
    assert rows(query, "a1 b2 b3", x=[0, 1, 9]) == []
    assert rows(query, "a1 b2", x=[0, 9]) == ["a1 b2"]


def test_contiguity_is_broken_by_an_event_of_another_type_but_not_of_another_partition():
    assert rows(Query(seq(A, B), "contiguous"), "a1 z2 b3") == []
    events = [Event(1, type="A", partition=(1,)), Event(2, type="Z"), Event(3, type="B", partition=(1,))]
    assert len(matches(Query(seq(A, B), "contiguous"), events)) == 1


def test_next_applies_to_bindings_in_rows_and_to_sequences_in_trends():
    query = Query(seq(star(Type("A", "X")), Type("A", "Y"), B), "next")
    assert rows(query, "a1 a2 b3") == ["a1 a2 b3", "a1 b3", "a2 b3"]
    assert [t.events for t in trends(query, stream("a1 a2 b3"))] == [(0, 1, 2), (1, 2)]


# Negation


def test_negation_ties_do_not_count_as_between():
    query = Query(seq(A, Not(C), B))
    assert rows(query, "a1 c1 b2") == ["a1 b2"]
    assert rows(query, "a1 c2 b2") == ["a1 b2"]
    assert rows(query, "a1 c2 b3") == []


def test_negated_sequence_must_lie_wholly_between():
    query = Query(seq(A, Not(seq(C, D)), B))
    assert rows(query, "c1 a2 d3 b4") == ["a2 b4"]
    assert rows(query, "a1 c2 d3 b4") == []


def test_negation_under_next_looks_for_the_earliest_event_that_is_not_cut_off():
    assert rows(Query(seq(A, Not(C), or_(B, D)), "next"), "a1 c2 b3") == []
    assert rows(Query(seq(A, optional(seq(Not(C), B)), D), "next"), "a1 c2 b3 d4") == ["a1 d4"]


def test_negated_pattern_is_matched_skip_till_any_under_every_strategy():
    assert rows(Query(seq(A, Not(seq(C, D))), "contiguous"), "a1 c2 z3 d4") == []
    dead_end = seq(C, or_(seq(E, E), D))
    assert rows(Query(seq(A, Not(dead_end), B), "next"), "a1 c2 e3 d4 b5") == []


def test_trailing_negation_looks_to_the_end_of_the_window_exclusive():
    query = Query(seq(A, B, Not(C)), within=5)
    assert rows(query, "a1 b2 c5") == []
    assert rows(query, "a1 b2 c6") == ["a1 b2"]


def test_leading_negation_looks_from_the_start_of_the_window_exclusive():
    query = Query(seq(Not(C), A, B), within=5)
    assert rows(query, "c3 a5 b7") == []
    assert rows(query, "c2 a5 b7") == ["a5 b7"]


def test_leading_and_trailing_negation_per_window_with_slide():
    found = matches(Query(seq(Not(C), A, Not(D)), within=4, slide=2), stream("c1 a2 d5"))
    assert [m.window_start for m in found] == []
    found = matches(Query(seq(Not(C), A), within=4, slide=2), stream("c1 a2"))
    assert [m.window_start for m in found] == [2]
    found = matches(Query(seq(A, Not(D)), within=4, slide=2), stream("a2 d5"))
    assert [m.window_start for m in found] == [0]


def test_trailing_negation_in_a_count_window():
    query = Query(seq(A, Not(C)), within_events=3)
    assert rows(query, "a1 b2 c3") == []
    assert rows(query, "a1 b2 b3 c4") == ["a1"]


def test_only_the_last_event_decides_a_trailing_negation():
    assert rows(Query(seq(plus(A), Not(E))), "a1 e2 a3") == ["a1 a3", "a3"]


def test_negation_at_the_end_of_a_repeated_group_stands_between_its_rounds():
    assert rows(Query(plus(seq(A, Not(C)))), "a1 c2 a3 a4") == ["a3", "a3 a4", "a4"]


def test_negation_beside_a_skipped_part_stands_between_its_neighbours():
    assert rows(Query(seq(A, Not(C), optional(D), B)), "a1 c2 b3") == []


def test_predicates_apply_inside_a_negation():
    big = Local("C", lambda e: e["x"] > 5)
    same = Bound(("A", "C"), lambda a, c: a["x"] == c["x"])
    assert rows(Query(seq(A, Not(C), B), predicates=[big]), "a1 c2 b3", x=[0, 1, 0]) == ["a1 b3"]
    assert rows(Query(seq(A, Not(C), B), predicates=[same]), "a1 c2 b3", x=[0, 1, 0]) == ["a1 b3"]
    assert rows(Query(seq(A, Not(C), B), predicates=[same]), "a1 c2 b3", x=[1, 1, 0]) == []


def test_negation_compared_with_a_later_symbol_waits_for_it():
    same = Bound(("C", "D"), lambda c, d: c["x"] == d["x"])
    query = Query(seq(A, Not(C), B, D), predicates=[same])
    assert rows(query, "a1 c2 b3 d4 d5", x=[0, 7, 0, 7, 8]) == ["a1 b3 d5"]


# AND


def test_and_pairs_matches_in_any_order_in_time():
    assert rows(Query(and_(A, B)), "b1 a2 b3") == ["b1 a2", "a2 b3"]


def test_and_sides_may_share_events():
    query = Query(and_(A, Type("A", "A2")))
    assert [m.binding for m in matches(query, stream("a1"))] == [(("A", 0), ("A2", 0))]


def test_and_sides_follow_the_strategy_separately():
    query = Query(and_(seq(A, B), seq(C, D)), "contiguous")
    assert rows(query, "a1 b2 c3 d4") == ["a1 b2 c3 d4"]
    assert rows(query, "a1 c2 b3 d4") == []
    assert rows(Query(and_(seq(A, B), seq(C, D)), "next"), "a1 c2 b3 b4 d5") == ["a1 c2 b3 d5"]


def test_and_pair_fits_into_one_window():
    assert rows(Query(and_(A, B), within=3), "a1 b3 b4") == ["a1 b3"]


def test_and_inside_seq_spans_from_its_first_to_its_last_event():
    query = Query(seq(A, and_(B, C), D))
    assert rows(query, "a1 c2 b3 d4") == ["a1 c2 b3 d4"]
    assert rows(query, "a1 c2 d3 b4") == []
    assert rows(query, "c1 a2 b3 d4") == []
    assert rows(Query(seq(A, and_(B, C), D), "contiguous"), "a1 c2 b3 d4") == ["a1 c2 b3 d4"]


def test_negation_around_an_and_looks_at_its_span():
    query = Query(seq(and_(B, C), Not(E), D))
    assert rows(query, "b1 e2 c3 d4") == ["b1 c3 d4"]
    assert rows(query, "b1 c2 e3 d4") == []


def test_conjunct_between_the_sides_of_an_and():
    same = Bound(("A", "B"), lambda a, b: a["x"] == b["x"])
    assert rows(Query(and_(A, B), predicates=[same]), "a1 b2 b3", x=[1, 2, 1]) == ["a1 b3"]


def test_aggregates_count_unordered_pairs_of_distinct_trends():
    """Both sides have the trends (a1), (a2), (a1,a2): three unordered pairs, by the formula of chapter 12."""
    assert count(Query(And((plus(A), plus(Type("A", "A2"))))), "a1 a2") == [3]
    [row] = aggregate(
        Query(and_(plus(A), B)), stream("a1 a2 b3 b4"), returns=[Aggregate("COUNT"), Aggregate("COUNT", "A")]
    )
    assert row.values == (6, 8)


def test_aggregates_refuse_a_nested_and():
    with pytest.raises(ValueError, match="outermost"):
        aggregate(Query(seq(A, and_(B, C))), [], returns=COUNT)


# Trend aggregates


def test_aggregates_are_exact_and_ignore_nulls():
    events = stream("a1 a2 a3", x=[1, None, 2])
    names = ("COUNT", "SUM", "MIN", "MAX", "AVG")
    returns = [Aggregate("COUNT", "A"), *(Aggregate(name, "A", "x") for name in names)]
    [row] = aggregate(Query(plus(A)), events, returns=returns)
    assert row.values == (12, 8, 12, 1, 2, Fraction(3, 2))


def test_aggregates_of_nothing_but_nulls_are_null():
    returns = [Aggregate("COUNT", "A", "x"), Aggregate("SUM", "A", "x"), Aggregate("AVG", "A", "x")]
    [row] = aggregate(Query(A), stream("a1", x=[None]), returns=returns)
    assert row.values == (0, None, None)


def test_group_by_partitions_and_labels_the_rows():
    events = stream("a1 a2 a3 a4", g=["x", None, "x", None])
    found = aggregate(Query(plus(A), "contiguous"), events, ["g"], COUNT)
    assert {row.group: row.values for row in found} == {("x",): (3,), (None,): (3,)}


def test_partitions_that_are_not_grouped_by_add_up():
    events = [Event(ts, type="A", values={"g": 1}, partition=(ts % 2,)) for ts in range(4)]
    [row] = aggregate(Query(plus(A)), events, ["g"], COUNT)
    assert row.values == (6,)


def test_aggregate_on_an_ambiguous_symbol_is_an_error():
    query = Query(seq(plus(Type("A", "X")), plus(Type("A", "Y"))))
    with pytest.raises(AmbiguousBinding):
        aggregate(query, stream("a1 a2 a3"), returns=[Aggregate("COUNT", "X")])
    [row] = aggregate(query, stream("a1 a2 a3"), returns=[Aggregate("COUNT", "A")])
    assert row.values == (9,)


def test_aggregate_on_one_of_several_symbols_is_fine_when_the_binding_is_not_ambiguous():
    query = Query(seq(Type("A", "X"), plus(Type("A", "Y"))))
    returns = [Aggregate("COUNT", "X"), Aggregate("COUNT", "Y")]
    [row] = aggregate(query, stream("a1 a2 a3"), returns=returns)
    assert row.values == (4, 5)


def test_a_trend_is_complete_when_no_other_trend_has_all_its_events():
    assert [t.events for t in complete_trends(Query(plus(A)), stream("a1 a2 a3"))] == [(0, 1, 2)]
    with_slide = complete_trends(Query(plus(A), within=2, slide=1), stream("a1 a2"))
    assert [(t.window_start, t.events) for t in with_slide] == [(0, (0,)), (1, (0, 1)), (2, (1,))]
