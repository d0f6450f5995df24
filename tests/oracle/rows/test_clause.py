"""The clause as text: spellings that are read, and texts that are refused."""

from __future__ import annotations

import pytest

from tests.oracle.rows.clause import read_clause, read_pattern
from tests.oracle.rows.matches import SortKey, check_query
from tests.oracle.rows.pattern import Anchor, Choice, Concat, Excluded, Label, Permute, Quantified
from tests.oracle.rows.scope import ClauseError

A, B = Label("A"), Label("B")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", A),
        ('"a"', Label("a")),
        ("`a b`", Label("a b")),
        ("A B", Concat((A, B))),
        ("((A))", A),
        ("A | B A", Choice((A, Concat((B, A))))),
        ("()", Concat(())),
        ("^ A $", Concat((Anchor(False), A, Anchor(True)))),
        ("permute(A, B)", Permute((A, B))),
        ("permute", Label("PERMUTE")),
        ("{-A-}B", Concat((Excluded(A), B))),
        ("A*", Quantified(A, 0, None)),
        ("A??", Quantified(A, 0, 1, True)),
        ("A+?", Quantified(A, 1, None, True)),
        ("A{2}", Quantified(A, 2, 2)),
        ("A{2,3}?", Quantified(A, 2, 3, True)),
        ("A{,3}", Quantified(A, 0, 3)),
        ("A{,}", Quantified(A, 0, None)),
        ("(A B)+", Quantified(Concat((A, B)), 1, None)),
        ("{- A -}?", Quantified(Excluded(A), 0, 1)),
    ],
)
def test_patterns(text, expected):
    assert read_pattern(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "A |", "| A", "(A", "A)", "A**", "A+*", "A{}", "A{3,2}", "A{0}", "A{,0}", "{- A", "PERMUTE(A,)", "1", "A , B"],
)
def test_a_wrong_pattern_is_refused(text):
    with pytest.raises(ClauseError):
        read_pattern(text)


def test_all_clauses():
    query = read_clause("""
        PARTITION BY k, "my key" ORDER BY t, x DESC NULLS LAST -- a comment
        MEASURES MATCH_NUMBER() AS match, CAST(A.x AS varchar) || ', AS' AS "Text", max(a.x) AS top
        ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO FIRST u
        PATTERN (a b+?) WITHIN INTERVAL '2' HOUR /* another */
        SUBSET u = (a, b), v = (b)
        DEFINE a AS x IN (1, 2), b AS CASE WHEN x > 1 THEN true END
    """)
    assert query.partition_by == ["k", "my key"]
    assert query.order_by == [SortKey("t"), SortKey("x", True, False)]
    assert query.measures == {"match": "MATCH_NUMBER()", "Text": "CAST(A.x AS varchar) || ', AS'", "top": "max(a.x)"}
    assert (query.rows, query.skip, query.skip_label) == ("all with unmatched", "to first", "U")
    assert query.pattern == Concat((A, Quantified(B, 1, None, True)))
    assert query.within == 2 * 3600 * 10**6
    assert query.subset == {"U": ("A", "B"), "V": ("B",)}
    assert query.define == {"A": "x IN (1, 2)", "B": "CASE WHEN x > 1 THEN true END"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "DEFINE A AS true",
        "PATTERN A",
        "ORDER BY t PARTITION BY x PATTERN (A)",
        "MEASURES t PATTERN (A)",
        "PATTERN (A) DEFINE A true",
        "PATTERN (A) DEFINE A AS",
        "PATTERN (A) DEFINE A AS true, A AS false",
        "AFTER MATCH SKIP PATTERN (A)",
        "PATTERN (A) WITHIN 5 bananas",
        "PATTERN (A) WITHIN minutes",
    ],
)
def test_a_wrong_clause_is_refused(text):
    with pytest.raises(ClauseError):
        read_clause(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PARTITION BY z PATTERN (A)", "no column z"),
        ("ORDER BY z PATTERN (A)", "no column z"),
        ("PATTERN (A) DEFINE B AS true", "B does not stand in PATTERN"),
        ('PATTERN ("a") DEFINE A AS true', "A does not stand in PATTERN"),
        ("PATTERN (A) SUBSET U = (A, B)", "B does not stand in PATTERN"),
        ("PATTERN (A B) SUBSET A = (B)", "SUBSET A is a label"),
        ("AFTER MATCH SKIP TO C PATTERN (A)", "neither a label"),
    ],
)
def test_a_name_that_is_not_there_is_refused(text, message):
    with pytest.raises(ClauseError, match=message):
        check_query(read_clause(text), ["t", "x"])
