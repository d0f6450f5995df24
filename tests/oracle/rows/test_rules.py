"""One small test per rule of MATCH_RECOGNIZE: order and partitions, DEFINE, skip, rows per match, WITHIN.

A table is mostly a word such as "abb": one row for each letter, `id` from 1, `x` the letter; a label's condition is
mostly `x` being its letter.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.oracle.rows.clause import run
from tests.oracle.rows.matches import Query, SkipError, SortKey, matches, recognize
from tests.oracle.rows.pattern import Concat, Label, Quantified
from tests.oracle.rows.scope import ClauseError

SHOWN = "MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS label"


def letters(word: str) -> list[tuple[int, str]]:
    return list(enumerate(word, start=1))


def defined(pattern: str) -> str:
    return "DEFINE " + ", ".join(f"{label} AS x = '{label.lower()}'" for label in "ABC" if label in pattern)


def spans(pattern: str, word: str, skip: str = "PAST LAST ROW", rest: str = "") -> list[str]:
    """The rows of every match, `""` for an empty one."""
    clause = f"ORDER BY id MEASURES array_agg(id) AS ids AFTER MATCH SKIP {skip} PATTERN ({pattern})"
    found = run(f"{clause} {rest} {defined(pattern)}", ["id", "x"], letters(word))[1]
    return ["".join(map(str, ids)) for (ids,) in found]


def shown(rows: str, pattern: str, word: str, skip: str = "PAST LAST ROW") -> list[tuple]:
    """The output rows of a rows-per-match clause: id, match number, label."""
    clause = f"ORDER BY id {SHOWN} {rows} AFTER MATCH SKIP {skip} PATTERN ({pattern}) {defined(pattern)}"
    return [row[:3] for row in run(clause, ["id", "x"], letters(word))[1]]


# Partitions and order


def test_an_empty_table_has_no_rows():
    assert run("MEASURES count(*) AS n PATTERN (A*)", ["x"], []) == (["n"], [])


def test_every_partition_has_matches_and_numbers_of_its_own():
    rows = [("p", 1), ("q", 1), ("p", 2), ("q", 2), ("q", 3)]
    clause = "PARTITION BY k ORDER BY id MEASURES MATCH_NUMBER() AS n, LAST(id) AS id PATTERN (A)"
    assert run(clause, ["k", "id"], rows) == (
        ["k", "n", "id"],
        [("p", 1, 1), ("p", 2, 2), ("q", 1, 1), ("q", 2, 2), ("q", 3, 3)],
    )


def test_null_is_a_partition_of_its_own():
    rows = [(None, 1), ("p", 2), (None, 3)]
    clause = "PARTITION BY k ORDER BY id MEASURES count(*) AS n PATTERN (A+)"
    assert run(clause, ["k", "id"], rows)[1] == [(None, 2), ("p", 1)]


def test_nan_is_one_partition():
    rows = [(float("nan"), 1), (float("nan"), 2)]
    assert len(run("PARTITION BY k MEASURES count(*) AS n PATTERN (A+)", ["k", "id"], rows)[1]) == 1


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("x", [None, 1, 2]),
        ("x ASC", [None, 1, 2]),
        ("x DESC", [2, 1, None]),
        ("x NULLS LAST", [1, 2, None]),
        ("x DESC NULLS FIRST", [None, 2, 1]),
    ],
)
def test_order_by_puts_nulls_where_spark_does_unless_it_is_said(order, expected):
    clause = f"ORDER BY {order} MEASURES CLASSIFIER() AS label ALL ROWS PER MATCH PATTERN (A+)"
    assert [row[0] for row in run(clause, ["x"], [(2,), (None,), (1,)])[1]] == expected


@pytest.mark.parametrize("order", ["t", "t DESC"])
def test_ties_are_ordered_by_the_columns_that_are_read_in_schema_order(order):
    rows = [(1, 7, "b"), (1, 9, None), (1, 8, "a"), (1, 8, None)]
    clause = f"ORDER BY {order} MEASURES array_agg(id) AS ids PATTERN (A+)"
    assert run(clause, ["t", "id", "s"], rows)[1] == [([7, 8, 8, 9],)]
    clause = f"ORDER BY {order} MEASURES array_agg(s) AS s PATTERN (A A+)"
    assert run(clause, ["t", "id", "s"], rows)[1] == [(["a", "b"],)]
    clause = f"ORDER BY {order} MEASURES FIRST(id) AS id PATTERN (A A+) DEFINE A AS s IS NULL OR s = 'a'"
    assert run(clause, ["t", "s", "id"], [(t, s, i) for t, i, s in rows])[1] == [(8,)]


def test_ties_of_all_rows_are_ordered_by_all_columns():
    rows = [(1, 9), (1, 8)]
    clause = "ORDER BY t MEASURES count(*) AS n ALL ROWS PER MATCH PATTERN (A+)"
    assert run(clause, ["t", "id"], rows)[1] == [(1, 1, 8), (1, 2, 9)]


def test_order_by_several_columns():
    clause = "ORDER BY t DESC, id MEASURES array_agg(id) AS ids PATTERN (A+)"
    assert run(clause, ["t", "id"], [(1, 7), (2, 9), (2, 8)])[1] == [([8, 9, 7],)]


def test_without_order_by_rows_keep_their_order():
    assert run("MEASURES array_agg(x) AS xs PATTERN (A+)", ["x"], [(3,), (1,), (2,)])[1] == [([3, 1, 2],)]


def test_no_match_crosses_partitions():
    clause = "PARTITION BY k ORDER BY id MEASURES PREV(id) AS before, NEXT(id) AS after PATTERN (A)"
    assert run(clause, ["k", "id"], [("p", 1), ("q", 2)])[1] == [("p", None, None), ("q", None, None)]


# Columns of the result


def test_columns_of_one_row_are_partition_and_measures():
    clause = "PARTITION BY k ORDER BY t MEASURES 1 AS one PATTERN (A)"
    assert run(clause, ["x", "t", "k"], [(7, 8, 9)]) == (["k", "one"], [(9, 1)])


def test_columns_of_all_rows_are_partition_order_measures_and_the_rest():
    clause = "PARTITION BY k ORDER BY t MEASURES 1 AS one ALL ROWS PER MATCH PATTERN (A)"
    assert run(clause, ["x", "t", "y", "k"], [(6, 7, 8, 9)]) == (["k", "t", "one", "x", "y"], [(9, 7, 1, 6, 8)])


def test_a_measure_may_have_the_name_of_a_column():
    clause = "ORDER BY t MEASURES -t AS t ALL ROWS PER MATCH PATTERN (A)"
    assert run(clause, ["t"], [(5,)]) == (["t", "t"], [(5, -5)])


def test_one_row_per_match_is_the_default():
    assert run("MEASURES count(*) AS n PATTERN (A+)", ["x"], [(1,), (2,)]) == (["n"], [(2,)])


# DEFINE


def test_a_label_without_a_condition_takes_any_row():
    assert spans("A Z C", "abc") == ["123"]


def test_a_condition_that_is_null_is_not_met():
    rows = [(1,), (None,), (3,)]
    assert run("MEASURES count(*) AS n PATTERN (A+) DEFINE A AS x > 0", ["x"], rows)[1] == [(1,), (1,)]
    assert run("MEASURES count(*) AS n PATTERN (A+) DEFINE A AS NOT x > 0", ["x"], rows)[1] == []
    assert run("MEASURES count(*) AS n PATTERN (A) DEFINE A AS NULL", ["x"], rows)[1] == []


def test_a_condition_sees_the_rows_labelled_so_far_and_itself():
    clause = "ORDER BY id MEASURES array_agg(CLASSIFIER()) AS labels PATTERN ((A | B)+) DEFINE A AS count(A.*) <= 2"
    assert run(clause, ["id", "x"], letters("zzzz"))[1] == [(["A", "A", "B", "B"],)]


def test_a_condition_goes_back_to_earlier_labels():
    clause = "ORDER BY id MEASURES LAST(id) AS id PATTERN (A B*? C) DEFINE C AS C.x = A.x"
    assert run(clause, ["id", "x"], letters("abca"))[1] == [(4,)]


def test_next_in_a_condition_sees_the_row_behind_but_not_its_label():
    assert run("MEASURES FIRST(x) AS x PATTERN (A) DEFINE A AS NEXT(x) = 3", ["x"], [(1,), (2,), (3,)])[1] == [(2,)]
    assert run("MEASURES 1 AS one PATTERN (A+) DEFINE A AS NEXT(CLASSIFIER()) = 'A'", ["x"], [(1,), (2,)])[1] == []


def test_match_number_in_a_condition_is_that_of_the_match_being_tried():
    clause = "MEASURES count(*) AS n PATTERN (A+) DEFINE A AS count(*) <= MATCH_NUMBER()"
    assert run(clause, ["x"], [(1,)] * 6)[1] == [(1,), (2,), (3,)]


def test_a_failed_label_falls_back_to_the_next_preference():
    assert spans("A+ Z", "aab") == ["123"]
    assert spans("A+ A", "aaa") == ["123"]
    assert spans("A+? B", "aab") == ["123"]


def test_conditions_and_measures_may_be_functions():
    query = Query(
        Concat((Label("A"), Quantified(Label("B"), 1, None))),
        {"B": lambda scope: scope.value("x", scope.last()) < scope.value("x", scope.prev())},
        {"low": lambda scope: min(scope.values("x", "B")), "top": lambda scope: scope.value("x", scope.first("A"))},
        order_by=[SortKey("id")],
    )
    assert recognize(query, ["id", "x"], [(1, 9), (2, 5), (3, 4), (4, 6)])[1] == [(4, 9)]


# AFTER MATCH SKIP


def test_skip_past_last_row():
    assert spans("A A", "aaaaa") == ["12", "34"]


def test_skip_to_next_row():
    assert spans("A A", "aaa", "TO NEXT ROW") == ["12", "23"]


def test_skip_to_first_of_a_label():
    assert spans("A B+", "abab", "TO FIRST B") == ["12", "34"]
    assert spans("Z B+", "abbb", "TO FIRST B") == ["1234", "234", "34"]


def test_skip_to_last_of_a_label_is_the_default_of_skip_to():
    assert spans("Z B+", "abbb", "TO LAST B") == ["1234"]
    assert spans("Z B{2}", "abbbb", "TO B") == ["123", "345"]
    assert spans("Z B{2}", "abbbb", "TO LAST b") == ["123", "345"]


def test_skip_to_a_subset():
    assert spans("Z B C", "abcbc", "TO LAST U", "SUBSET U = (B, C)") == ["123", "345"]
    assert spans("Z B+ C", "abbc", "TO FIRST U", "SUBSET U = (B, C)") == ["1234", "234"]


def test_skip_to_a_label_without_rows_is_an_error():
    with pytest.raises(SkipError, match="no row of the match is labelled C"):
        spans("A B C?", "ab", "TO FIRST C")
    with pytest.raises(SkipError, match="no row of the match is labelled U"):
        spans("A B C?", "ab", "TO LAST U", "SUBSET U = (C)")


def test_skip_to_the_first_row_of_the_match_is_an_error():
    with pytest.raises(SkipError, match="A is the first row"):
        spans("A B", "ab", "TO A")
    with pytest.raises(SkipError, match="B is the first row"):
        spans("A? B+", "bb", "TO FIRST B")


def test_a_skip_that_would_fail_is_no_error_without_a_match():
    assert spans("A B", "aaa", "TO A") == []


@pytest.mark.parametrize("skip", ["PAST LAST ROW", "TO NEXT ROW", "TO FIRST A", "TO LAST A"])
def test_after_an_empty_match_the_next_attempt_is_at_the_next_row(skip):
    assert spans("A??", "aa", skip) == ["", ""]


# Rows per match


def test_one_row_of_an_empty_match_has_its_number_and_nulls():
    clause = f"ORDER BY id {SHOWN}, LAST(id) AS id, count(*) AS rows, sum(id) AS total PATTERN (A*) DEFINE A AS x = 'a'"
    assert run(clause, ["id", "x"], letters("ba"))[1] == [(1, None, None, 0, None), (2, "A", 2, 1, 2)]


@pytest.mark.parametrize("rows", ["ALL ROWS PER MATCH", "ALL ROWS PER MATCH SHOW EMPTY MATCHES"])
def test_all_rows_shows_an_empty_match_as_its_first_row(rows):
    assert shown(rows, "A*", "baa") == [(1, 1, None), (2, 2, "A"), (3, 2, "A")]


def test_omitted_empty_matches_keep_their_numbers():
    assert shown("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "A*", "baab") == [(2, 2, "A"), (3, 2, "A")]


def test_all_rows_leaves_out_rows_without_a_match():
    assert shown("ALL ROWS PER MATCH", "A", "bab") == [(2, 1, "A")]


def test_with_unmatched_rows_all_measures_of_an_unmatched_row_are_null():
    rows = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"
    assert shown(rows, "A", "bab") == [(1, None, None), (2, 1, "A"), (3, None, None)]
    clause = f"MEASURES count(*) AS n, 'm' AS c {rows} PATTERN (A) DEFINE A AS false"
    assert run(clause, ["x"], [(1,)])[1] == [(None, None, 1)]


def test_with_unmatched_rows_also_shows_empty_matches():
    assert shown("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "A B | ()", "aab") == [
        (1, 1, None),
        (2, 2, "A"),
        (3, 2, "B"),
    ]


def test_a_row_inside_a_match_is_not_unmatched_though_none_begins_there():
    assert shown("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "A B", "abb", "TO NEXT ROW") == [
        (1, 1, "A"),
        (2, 1, "B"),
        (3, None, None),
    ]


def test_all_rows_of_overlapping_matches_come_once_for_each_match():
    assert shown("ALL ROWS PER MATCH", "A A", "aaa", "TO NEXT ROW") == [
        (1, 1, "A"),
        (2, 1, "A"),
        (2, 2, "A"),
        (3, 2, "A"),
    ]


# Exclusion


def test_excluded_rows_are_left_out_but_counted():
    clause = "ORDER BY id MEASURES count(*) AS n ALL ROWS PER MATCH PATTERN (A {- B+ -} C) DEFINE B AS x = 'b'"
    assert [row[:2] for row in run(clause, ["id", "x"], letters("abbc"))[1]] == [(1, 1), (4, 4)]


def test_exclusion_means_nothing_for_one_row():
    assert spans("A {- B+ -} C", "abbc") == ["1234"]


def test_a_match_of_excluded_rows_only_has_no_rows_and_a_number():
    assert shown("ALL ROWS PER MATCH", "{- A -} | B", "ab") == [(2, 2, "B")]


def test_exclusion_does_not_go_with_unmatched_rows():
    with pytest.raises(ClauseError, match="UNMATCHED"):
        shown("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "A {- B -}", "ab")


# WITHIN


def test_within_is_half_open():
    clause = "ORDER BY t MEASURES array_agg(t) AS ts PATTERN (A+) WITHIN 5 seconds"
    rows = [(1,), (5,), (6,), (7,)]
    assert run(clause, ["t"], rows, unit_us=10**6)[1] == [([1, 5],), ([6, 7],)]


def test_within_is_a_condition_and_not_a_later_filter():
    clause = "ORDER BY t MEASURES array_agg(t) AS ts PATTERN (A+ B?) WITHIN 3 microseconds"
    assert run(clause, ["t"], [(1,), (2,), (9,)])[1] == [([1, 2],), ([9],)]


def test_within_over_timestamps():
    start = datetime(2024, 1, 1)
    rows = [(start + timedelta(minutes=minute),) for minute in (0, 4, 5, 9)]
    clause = "ORDER BY t MEASURES count(*) AS n PATTERN (A+) WITHIN INTERVAL '5' MINUTE"
    assert run(clause, ["t"], rows)[1] == [(2,), (2,)]


def test_within_does_not_take_a_row_without_a_time():
    clause = "ORDER BY t MEASURES array_agg(t) AS ts PATTERN (A+) WITHIN 5 microseconds"
    assert run(clause, ["t"], [(None,), (1,), (2,)])[1] == [([1, 2],)]


def test_within_needs_an_order():
    with pytest.raises(ClauseError, match="ORDER BY"):
        run("PATTERN (A) WITHIN 5 seconds", ["t"], [(1,)])


# Matches


def test_matches_have_numbers_starts_and_labels():
    query = Query(Concat((Label("A"), Label("B"))), {"A": "x = 1"})
    found = matches(query, [{"x": x} for x in (0, 1, 2, 1, 2)])
    assert [(match.number, match.start, match.labels) for match in found] == [(1, 1, ("A", "B")), (2, 3, ("A", "B"))]
