"""The matcher with letters: a pattern over `ABBC` gives the labels of each match."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

import eventide as ev


def matches(pattern: str, letters: str, **clause: str) -> list[str]:
    """The labels of each match; a row satisfies the label of its letter, and X is any row."""
    rows = [{"id": i, "letter": letter} for i, letter in enumerate(letters)]
    define = {label: f"letter = '{label}'" for label in "ABCD" if label in pattern}
    measures = {"number": "MATCH_NUMBER()", "label": "CLASSIFIER()"}
    run = ev.match_recognize(
        order_by="id", pattern=pattern, define=define, measures=measures, rows="all", ts_unit="s", **clause
    )
    found: dict[int, str] = {}
    for row in run(rows).to_pylist():
        found[row["number"]] = found.get(row["number"], "") + (row["label"] or "")
    return [found[number] for number in sorted(found)]


@pytest.mark.parametrize(
    ("pattern", "letters", "expected"),
    [
        ("A B+ C", "ABBC", ["ABBC"]),
        ("A X*", "ABA", ["AXX"]),
        ("A X*?", "ABA", ["A", "A"]),
        ("A X* B", "AABAB", ["AXXXB"]),
        ("A X*? B", "AABAB", ["AXB", "AB"]),
        ("X? A", "AA", ["XA"]),
        ("X?? A", "AA", ["A", "A"]),
        ("X{2}", "AAAAA", ["XX", "XX"]),
        ("X{2,3}", "AAAAA", ["XXX", "XX"]),
        ("X{2,3}?", "AAAAA", ["XX", "XX"]),
        ("X{,2} B", "AAAB", ["XXB"]),
        ("A | X", "AB", ["A", "X"]),
        ("X | A", "AB", ["X", "X"]),
        ("(A | A B) C?", "ABC", ["A"]),
        ("(A B | A) C?", "ABC", ["ABC"]),
        ("PERMUTE(A, B, C)", "BCA", ["BCA"]),
        ("PERMUTE(A, B?)", "BA", ["BA"]),
        ("PERMUTE(X, Y)", "AA", ["XY"]),
        ("^ X", "AAA", ["X"]),
        ("X $", "AAA", ["X"]),
        ("^ X X $", "AAA", []),
        ("A (^ B | X)", "AB", ["AX"]),
        ("(A?)* B", "AAB", ["AAB"]),
        ("(A?){2,} B", "AAB", ["AAB"]),
        ("((A | B?)+ C)+", "ABCACC", ["ABCACC"]),
        ("(() | A)* B", "AAB", ["AAB"]),
        ("(() | A)*", "AA", ["", ""]),
        # An empty iteration behind one that matched a row is preferred to X.
        ("(A | () | X)+ Y", "ABB", ["AY", "Y"]),
        ("(A | () | X)* Y", "ABB", ["AY", "Y"]),
        ("((A?)+? | B)+ C", "AABC", ["AABC"]),
        ("A*", "AAB", ["AA", ""]),
        ("B* A", "CCBBACAC", ["BBA", "A"]),
        ("(B | X) A", "CA", ["XA"]),
        ("B? A | C", "DDBADC", ["BA", "C"]),
        ("^ A", "BA", []),
        ("B? X", "CB", ["X", "X"]),
        ("B?", "CBC", ["", "B", ""]),
        ("((A+)+)+ B", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", []),
        ("(A | A)* C", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB", []),
    ],
)
def test_the_preferred_match_is_taken(pattern: str, letters: str, expected: list[str]) -> None:
    assert matches(pattern, letters) == expected


@pytest.mark.parametrize(
    ("skip", "expected"),
    [
        ("SKIP PAST LAST ROW", ["XBBC"]),
        ("SKIP TO NEXT ROW", ["XBBC", "XBC"]),
        ("SKIP TO FIRST B", ["XBBC", "XBC"]),
        ("SKIP TO LAST B", ["XBBC"]),
        ("SKIP TO B", ["XBBC"]),
        ("SKIP TO LAST C", ["XBBC"]),
    ],
)
def test_the_search_goes_on_where_after_match_says(skip: str, expected: list[str]) -> None:
    assert matches("X B+ C", "ABBC", after_match=skip) == expected


def test_a_match_must_have_a_row_to_skip_to_that_is_not_its_first() -> None:
    with pytest.raises(ev.InputError, match="first row of the match"):
        matches("A B", "AB", after_match="SKIP TO LAST A")
    with pytest.raises(ev.InputError, match="a match has no row B"):
        matches("A B?", "AC", after_match="SKIP TO FIRST B")


def test_a_row_that_is_part_of_a_match_may_be_tried_again_after_a_failure() -> None:
    # From row 0 the loop fails at every row; what led to the match at row 1 did not fail.
    assert matches("A+ B X", "AABA", after_match="SKIP TO NEXT ROW") == ["AABX", "ABX"]
    assert matches("(A | B)+ B", "AABB", after_match="SKIP TO NEXT ROW") == ["AABB", "ABB", "BB"]


def test_the_last_row_lies_before_the_end_of_the_window() -> None:
    assert matches("X+", "AAAAA", within="3 seconds") == ["XXX", "XX"]
    assert matches("X+", "AAAAA", within="1 second") == ["X"] * 5


def test_numbers_start_again_in_each_partition() -> None:
    rows = [{"p": p, "id": i} for p in range(100) for i in range(2)]
    run = ev.match_recognize(partition_by="p", order_by="id", pattern="X", measures={"n": "MATCH_NUMBER()"})
    assert sorted((row["p"], row["n"]) for row in run(rows).to_pylist()) == [(p, n) for p in range(100) for n in (1, 2)]


# --- conditions on other rows -----------------------------------------------------------------------------


def prices(values: str, clause: str, partition: str = "") -> list[tuple[object, ...]]:
    """The result over rows of an id and a price; `-` is NULL, and a letter of `partition` is the row's."""
    table = pa.table(
        {
            "p": pa.array(partition or "a" * len(values.split())),
            "id": pa.array(range(len(values.split())), pa.int64()),
            "x": pa.array([None if value == "-" else int(value) for value in values.split()], pa.int32()),
        }
    )
    result = ev.sql(f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY p {clause})", t=table)
    return [tuple(row.values())[1:] for row in result.to_pylist()]


@pytest.mark.parametrize(
    ("condition", "pattern", "values", "ids"),
    [
        # The way by Y is tried after the way by X failed at the same row.
        ("Z AS PREV(CLASSIFIER()) = 'Y'", "(X | Y) Z", "1 1", [1]),
        ("Z AS x < PREV(x)", "Z", "3 2 4 1", [1, 3]),
        ("Z AS x < NEXT(x)", "Z", "3 2 4 1", [1]),
        ("Z AS x < PREV(x, 2)", "Z", "3 2 4 1", [3]),
        ("Z AS x = LAST(X.x, 1)", "X+ Z", "7 8 7", [2]),
        ("Z AS x = FIRST(X.x, 1)", "X+ Z", "7 8 9 8", [3]),
        ("Z AS x = FIRST(X.x)", "X+ Z", "7 8 7", [2]),
        # X takes both rows, then gives one back: its last row is the first again.
        ("Z AS x > X.x", "X X* Z", "1 5 3", [1]),
        # Labels of a failed attempt at the first row do not reach the next.
        ("Y AS x = 9, Z AS x = 2 AND X.x IS NULL", "(Z | X Y)", "1 2", [1]),
        # What failed from the first row on may hold from the second.
        ("Z AS x > FIRST(x)", "X+ Z", "9 1 5", [2]),
        ("X AS sum(X.x) <= 5, Z AS x > 0", "X+ Z", "2 3 4", [2]),
        ("Z AS count(X.x) = 2", "X+ Z", "2 - 3 4", [3]),
        ("Z AS max(X.x) = 3 AND min(X.x) = 2", "X Y X Z", "2 9 3 4", [3]),
        ("X AS x = FIRST(x), Z AS x > FIRST(x)", "X X Z", "1 2 2 3", [3]),
        ("Z AS MATCH_NUMBER() = 1", "Z", "1 1 1", [0]),
    ],
)
def test_a_condition_sees_the_rows_before(condition: str, pattern: str, values: str, ids: list[int]) -> None:
    clause = f"ORDER BY id MEASURES LAST(id) AS id PATTERN ({pattern}) DEFINE {condition}"
    assert [row[0] for row in prices(values, clause)] == ids


def test_neighbours_are_those_of_the_partition() -> None:
    measured = "ORDER BY id MEASURES PREV(x) AS before, x AS x, NEXT(x) AS after PATTERN (X)"
    assert prices("1 2 3 4", measured, "aabb") == [(None, 1, 2), (1, 2, None), (None, 3, 4), (3, 4, None)]
    defined = "ORDER BY id MEASURES id AS id PATTERN (X) DEFINE X AS {} IS NULL"
    assert prices("1 2 3 4", defined.format("PREV(x)"), "aabb") == [(0,), (2,)]
    assert prices("1 2 3 4", defined.format("NEXT(x)"), "aabb") == [(1,), (3,)]


# --- what is returned -------------------------------------------------------------------------------------


def test_running_measures_see_the_rows_so_far_and_final_ones_the_whole_match() -> None:
    clause = """ORDER BY id
        MEASURES LAST(id) AS a, FINAL LAST(id) AS b, LAST(x, 1) AS c, FIRST(Y.x, 1) AS d, sum(Y.x) AS e,
            FINAL count(x) AS f, FINAL max(x) AS g
        ALL ROWS PER MATCH PATTERN (X Y+)"""
    assert [row[1:-1] for row in prices("5 6 - 2", clause)] == [
        (0, 3, None, None, None, 3, 6),
        (1, 3, 5, None, 6, 3, 6),
        (2, 3, 6, None, 6, 3, 6),
        (3, 3, None, None, 8, 3, 6),
    ]


@pytest.mark.parametrize(
    ("rows", "pattern", "expected"),
    [
        ("ALL ROWS PER MATCH", "A*", [(0, 1, 0), (1, 2, 1), (2, 2, 2), (3, 3, 0)]),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "A*", [(1, 2, 1), (2, 2, 2)]),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "A*", [(0, 1, 0), (1, 2, 1), (2, 2, 2), (3, 3, 0)]),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "A+", [(0, None, None), (1, 1, 1), (2, 1, 2), (3, None, None)]),
        ("ALL ROWS PER MATCH", "{- X -} A", [(1, 1, 2)]),
    ],
)
def test_which_rows_are_shown(rows: str, pattern: str, expected: list[tuple[object, ...]]) -> None:
    clause = f"ORDER BY id MEASURES MATCH_NUMBER() AS m, count(*) AS n {rows} PATTERN ({pattern}) DEFINE A AS x = 1"
    assert sorted(row[:3] for row in prices("0 1 1 0", clause)) == expected


def test_a_constant_measure_of_an_unmatched_row_is_null() -> None:
    clause = "ORDER BY id MEASURES 7 AS c ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A) DEFINE A AS x = 1"
    assert sorted(row[:2] for row in prices("0 1", clause)) == [(0, None), (1, 7)]


@pytest.mark.parametrize(
    ("order", "ids"),
    [
        ("x", [1, 2, 0]),
        ("x NULLS LAST", [2, 0, 1]),
        ("x DESC", [0, 2, 1]),
        ("x DESC NULLS FIRST", [1, 0, 2]),
    ],
)
def test_nulls_are_ordered_as_in_spark(order: str, ids: list[int]) -> None:
    assert prices("3 - 2", f"ORDER BY {order} MEASURES array_agg(id) AS ids PATTERN (X+)") == [(ids,)]


def test_nested_quantifiers_stay_polynomial_beside_an_aggregate_of_all_rows() -> None:
    rows = [{"id": i, "x": 1} for i in range(200)]
    clause = "ORDER BY id MEASURES count(*) AS n PATTERN (((A+)+)+ B) DEFINE A AS sum(x) >= 0, B AS x < 0"
    assert ev.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", t=rows).num_rows == 0


def test_a_permutation_of_many_parts_is_refused_before_it_is_written_out() -> None:
    labels = ", ".join(f"L{i}" for i in range(30))
    with pytest.raises(ev.QueryError, match="PERMUTE of 30 parts has more orders"):
        ev.match_recognize(order_by="id", pattern=f"PERMUTE({labels})", measures={"n": "count(*)"})([{"id": 1}])


@pytest.mark.parametrize(
    "pattern", ["((A+)+)+ B", "((A*)*)* B", "((A?)+)+ B", "((A* | A)+ A*)* B", "(((A | ())*)+)* B", "((A{2,})+)+ B"]
)
def test_nested_quantifiers_stay_polynomial_also_where_an_iteration_may_be_empty(pattern: str) -> None:
    assert matches(pattern, "A" * 60) == []
    assert matches(pattern, "A" * 6 + "B") == ["A" * 6 + "B"]


@pytest.mark.parametrize("inner", ["A", "A?", "A*"])
def test_plus_in_plus_takes_no_more_room_with_each_level(inner: str) -> None:
    pattern = "(" * 60 + inner + ")+" * 60
    assert matches(f"{pattern} B", "AAABAA") == ["AAAB"]


def test_permutations_are_preferred_in_the_order_of_their_parts() -> None:
    assert matches("PERMUTE(X, Y, Z)", "AAA") == ["XYZ"]
    assert matches("PERMUTE(X, B, Y)", "AAB") == ["XYB"]
    assert matches("PERMUTE(X, B, Y)", "BAA") == ["BXY"]
    assert matches("PERMUTE(A, B, C, D, X, Y, Z, V, W, U)", "UDCBAUUUUU") == ["XDCBAYZVWU"]


def test_a_match_without_rows_has_no_classifier() -> None:
    clause = "ORDER BY id MEASURES CLASSIFIER() AS c, MATCH_NUMBER() AS n PATTERN (())"
    found = ev.sql(f"SELECT c, n FROM t MATCH_RECOGNIZE ({clause})", t=[{"id": 1}])
    assert found.to_pylist() == [{"c": None, "n": 1}]


def test_wide_decimals_stay_decimals() -> None:
    rows = pa.table({"id": [1], "d": pa.array([Decimal(7)], pa.decimal128(38, 0)), "x": [1]})
    clause = "ORDER BY id MEASURES LAST(d) AS d, sum(x) AS s PATTERN (A)"
    found = ev.sql(f"SELECT d, s, sum(s) OVER () AS t FROM t MATCH_RECOGNIZE ({clause})", t=rows)
    assert found.schema.types == [pa.decimal128(38, 0), pa.int64(), pa.int64()]
