from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given

from eventide.lang.rows import parse_clause, write_clause
from eventide.lang.rows.tree import Concat, Label, Quantified, RowPattern, RowQuery
from eventide.lang.rows.write import write_pattern
from tests.budget import budgeted
from tests.lang.corpus import check_round_trip
from tests.lang.rows.corpus import VALID, canonical, read
from tests.lang.rows.strategies import patterns, queries


@pytest.mark.parametrize(("text", "expected"), VALID, ids=[text[:60] for text, _ in VALID])
def test_the_corpus_survives_the_round_trip(text: str, expected: str) -> None:
    parsed = read(text)
    assert canonical(parsed) == expected
    clauses = [parsed] if isinstance(parsed, RowQuery) else [found.clause for found in parsed.recognitions]
    for clause in clauses:
        check_round_trip(clause, write_clause, parse_clause)


@budgeted(suppress_health_check=[HealthCheck.too_slow])
@given(patterns)
def test_random_patterns_survive_the_round_trip(pattern: RowPattern) -> None:
    text = f"PATTERN ({write_pattern(pattern)})"
    assert parse_clause(text).pattern == pattern


@budgeted(suppress_health_check=[HealthCheck.too_slow])
@given(queries())
def test_random_clauses_survive_the_round_trip(query: RowQuery) -> None:
    check_round_trip(query, write_clause, parse_clause)


def test_a_repetition_of_a_repetition_stays_one() -> None:
    twice = Quantified(Quantified(Label("A"), 0, 1), 0, 1)
    assert write_pattern(twice) == "(A?)?"
    assert write_pattern(Quantified(Label("A"), 0, 1, reluctant=True)) == "A??"
    assert write_pattern(Concat((Concat((Label("A"), Label("B"))), Concat(())))) == "(A B) ()"


def test_equal_clauses_have_equal_text() -> None:
    one = parse_clause("order by ts asc pattern (a{1,} (b)) define B as x>1")
    other = parse_clause("ORDER BY ts AFTER MATCH SKIP PAST LAST ROW PATTERN ((A)+ B) DEFINE b AS x > 1")
    assert one == other
    assert write_clause(one) == write_clause(other)
