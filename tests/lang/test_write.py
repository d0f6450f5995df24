from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given
from sqlglot import exp

from eventide.lang import EventQuery, Scalar, Step, parse, write
from tests.budget import budgeted
from tests.lang.corpus import VALID, check_round_trip
from tests.lang.strategies import queries


@pytest.mark.parametrize(("query", "canonical"), VALID, ids=[query[:60] for query, _ in VALID])
def test_the_corpus_survives_the_round_trip(query: str, canonical: str) -> None:
    parsed = parse(query)
    assert write(parsed) == canonical
    check_round_trip(parsed, write, parse)


@budgeted(suppress_health_check=[HealthCheck.too_slow])
@given(queries())
def test_random_queries_survive_the_round_trip(query: EventQuery) -> None:
    check_round_trip(query, write, parse)


def test_equal_queries_have_equal_text() -> None:
    assert write(parse("within 60 s pattern (A)")) == write(parse("PATTERN A WITHIN 1 minute"))


def test_a_column_that_sqlglot_would_leave_bare_stays_readable() -> None:
    query = parse("PATTERN A RETURN mod(within, 2)")
    assert write(query) == "PATTERN A\nRETURN mod(within, 2)"
    assert parse(write(query)) == query


def test_text_kept_as_written_loses_its_comments_and_line_breaks() -> None:
    query = parse("PATTERN A RETURN int( -- cast\n  A.x)")
    assert write(query) == "PATTERN A\nRETURN int( A.x)"


def test_a_built_or_among_conjuncts_gets_parentheses() -> None:
    either = Scalar(exp.Or(this=exp.column("a"), expression=exp.column("b")), "")
    other = Scalar(exp.column("c"), "")
    query = EventQuery(text="", pattern=Step("A", "A"), where=(either, other))
    assert write(query) == "PATTERN A\nWHERE (a OR b) AND c"


def test_a_long_condition_is_written_as_it_stands() -> None:
    text = " OR  ".join(f"A.x={i} -- {i}\n" for i in range(500))
    written = write(parse(f"PATTERN A WHERE {text}"))
    assert "A.x=0 OR A.x=1 OR" in written and "--" not in written
    assert write(parse(written)) == written
