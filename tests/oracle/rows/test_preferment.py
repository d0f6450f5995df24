"""The candidates of a pattern in the standard's order, as words: one letter for each label."""

from __future__ import annotations

import pytest

from tests.oracle.rows.clause import read_pattern
from tests.oracle.rows.pattern import enumerate_in_order


def words(pattern: str, n_rows: int, start: int = 0) -> list[str]:
    """The candidates in order; excluded rows in lower case."""
    return [
        "".join(step.label.lower() if step.excluded else step.label for step in steps)
        for steps in enumerate_in_order(read_pattern(pattern), n_rows, start)
    ]


def once(found: list[str]) -> list[str]:
    return list(dict.fromkeys(found))


@pytest.mark.parametrize(
    ("pattern", "n_rows", "expected"),
    [
        ("A", 2, ["A"]),
        ("A", 0, []),
        ("A B", 3, ["AB"]),
        ("A B", 1, []),
        ("()", 2, [""]),
        ("A*", 2, ["AA", "A", ""]),
        ("A*?", 2, ["", "A", "AA"]),
        ("A+", 2, ["AA", "A"]),
        ("A+?", 2, ["A", "AA"]),
        ("A?", 2, ["A", ""]),
        ("A??", 2, ["", "A"]),
        ("A{2}", 3, ["AA"]),
        ("A{2}?", 3, ["AA"]),
        ("A{1,2}", 3, ["AA", "A"]),
        ("A{1,2}?", 3, ["A", "AA"]),
        ("A{2,}", 3, ["AAA", "AA"]),
        ("A{2,}?", 3, ["AA", "AAA"]),
        ("A{,2}", 3, ["AA", "A", ""]),
        ("A{,2}?", 3, ["", "A", "AA"]),
        ("A{,}", 1, ["A", ""]),
        ("A{3}", 2, []),
    ],
)
def test_greedy_prefers_more_and_reluctant_fewer(pattern, n_rows, expected):
    assert words(pattern, n_rows) == expected


@pytest.mark.parametrize(
    ("pattern", "n_rows", "expected"),
    [
        ("A | B", 1, ["A", "B"]),
        ("() | A", 1, ["", "A"]),
        ("A | A B", 2, ["A", "AB"]),
        ("A B | A", 2, ["AB", "A"]),
        ("(A | B) (C | D)", 2, ["AC", "AD", "BC", "BD"]),
        ("A | B C | D", 2, ["A", "BC", "D"]),
    ],
)
def test_alternation_prefers_the_left(pattern, n_rows, expected):
    assert words(pattern, n_rows) == expected


def test_what_comes_first_decides_before_what_follows():
    assert words("A? B?", 2) == ["AB", "A", "B", ""]
    assert words("A?? B?", 2) == ["B", "", "AB", "A"]
    assert words("A+ B*?", 3) == ["AAA", "AA", "AAB", "A", "AB", "ABB"]


def test_a_choice_in_a_loop_is_made_in_every_iteration():
    assert words("(A | B)*", 2) == ["AA", "AB", "A", "BA", "BB", "B", ""]
    assert words("(A | B)*?", 2) == ["", "A", "AA", "AB", "B", "BA", "BB"]
    assert words("(A | B){2}", 2) == ["AA", "AB", "BA", "BB"]


def test_nested_quantifiers():
    assert words("(A B?)+", 3) == ["ABA", "AB", "AAB", "AAA", "AA", "A"]
    assert words("(A B??)+?", 3) == ["A", "AA", "AAA", "AAB", "AB", "ABA"]
    assert once(words("(A{2})+ A?", 5)) == ["AAAAA", "AAAA", "AAA", "AA"]
    assert once(words("(A+?)+", 3)) == ["AAA", "AA", "A"]


def test_permute_is_the_alternation_of_all_orders_in_lexicographic_order():
    assert words("PERMUTE(A, B, C)", 3) == ["ABC", "ACB", "BAC", "BCA", "CAB", "CBA"]
    assert words("PERMUTE(A, B?)", 2) == ["AB", "A", "BA", "A"]
    assert words("PERMUTE(A)", 1) == ["A"]
    assert words("PERMUTE(A | B, C)", 2) == ["AC", "BC", "CA", "CB"]
    assert words("PERMUTE(A B, C)", 3) == ["ABC", "CAB"]


def test_an_iteration_without_rows_ends_the_loop():
    assert once(words("()*", 1)) == [""]
    assert once(words("()+", 1)) == [""]
    assert once(words("(A?)*", 2)) == ["AA", "A", ""]
    assert once(words("(A??)*", 2)) == ["", "A", "AA"]
    assert once(words("(() | A)*", 2)) == ["", "A", "AA"]
    assert once(words("(A | ())*", 2)) == ["AA", "A", ""]
    assert once(words("((A*)*)*", 2)) == ["AA", "A", ""]


def test_an_iteration_without_rows_counts_up_to_the_minimum():
    assert once(words("(A?){2}", 3)) == ["AA", "A", ""]
    assert once(words("(A?){2,}", 3)) == ["AAA", "AA", "A", ""]
    assert once(words("(() | A){2}", 3)) == ["", "A", "AA"]
    assert once(words("(() | A){1,}", 2)) == ["", "A", "AA"]


def test_anchors_stand_at_the_ends_of_the_partition():
    assert words("^ A", 2, start=0) == ["A"]
    assert words("^ A", 2, start=1) == []
    assert words("A $", 2, start=0) == []
    assert words("A $", 2, start=1) == ["A"]
    assert words("A ^", 2) == []
    assert words("$ A", 2, start=1) == []
    assert words("^ $", 0) == [""]
    assert words("^ A* $", 2) == ["AA"]


def test_a_quantified_anchor_may_be_left_out():
    assert once(words("^* A", 2, start=1)) == ["A"]
    assert words("^+ A", 2, start=1) == []
    assert once(words("$? A", 2)) == ["A"]


def test_rows_in_braces_with_dashes_are_excluded():
    assert words("A {- B+ -} C", 4) == ["AbbC", "AbC"]
    assert words("{- A {- B -} -} C", 3) == ["abC"]
    assert words("(A | {- A -})", 1) == ["A", "a"]


def test_a_row_that_is_not_accepted_cuts_all_candidates_that_go_on_from_it():
    def is_no_second_b(steps):
        return [step.label for step in steps].count("B") < 2

    found = enumerate_in_order(read_pattern("(A | B){3}"), 3, accepts=is_no_second_b)
    assert ["".join(step.label for step in steps) for steps in found] == ["AAA", "AAB", "ABA", "BAA"]


def test_nested_loops_that_cannot_match_are_given_up_quickly():
    assert words("((A+)+)+ B", 12)[-1] == "AB"

    def is_a(steps):
        return steps[-1].label == "A"

    assert list(enumerate_in_order(read_pattern("((A+)+)+ B"), 40, accepts=is_a)) == []
