"""Whatever the text, `parse` returns a query or raises `QueryError` at a place in the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from eventide.errors import QueryError
from eventide.lang import parse, write
from eventide.lang.keywords import CLAUSES
from tests.budget import budgeted
from tests.lang.corpus import INVALID, VALID
from tests.lang.strategies import mutated

Tree = TypeVar("Tree")
WORDS = """
    ( ) [ ] { } , . ; + - * / ? : < > = ! | ' " ` -- /* */ ->
    A B C.x NEXT(C).y NEXT SEQ( AND( OR( NOT ITER( AND OR AS SLIDE BETWEEN CASE WHEN THEN END IN LIKE
    SELECT COUNT(*) SUM( struct( interval 5 minutes 100 EVENTS 1.5 1e9 'text' `name` größe COMPLETE TRENDS
    before during|met-by overlaps FOR AT LEAST MOST start(A) end(A)
    any next skip-till-any-match IS NULL DISTINCT array< cast( as int over filter if date exists lateral
"""
PIECES = [*CLAUSES, *WORDS.split(), "\n", "\t", "\x00"]
TEXTS = [query for query, _ in VALID + INVALID]


OPERANDS = "A.x `q` NEXT(C).z 1 2.5 'str' null true A.* * date int end r'a' 10L current_date limit"
OPERATORS = "+ - * / % = <> < >= <=> || & AND OR LIKE RLIKE DIV IS :: . IN BETWEEN NOT"
FUNCTIONS = "sum count coalesce substring trim cast date_add round if struct map size int mod next foo now"


def _grow(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{} {} {}".format, parts, st.sampled_from(OPERATORS.split()), parts),
        st.builds("{}({})".format, st.sampled_from(FUNCTIONS.split()), st.lists(parts, max_size=3).map(", ".join)),
        st.builds("({})".format, parts),
        st.builds("{}[{}]".format, parts, parts),
        st.builds("CASE WHEN {} THEN {} END".format, parts, parts),
        st.builds("CAST({} AS {})".format, parts, st.sampled_from(["int", "array<int>", "struct<a:int>", "x"])),
    )


EXPRESSIONS = st.recursive(st.sampled_from(OPERANDS.split()), _grow, max_leaves=8)


def parsed(parse: Callable[[str], Tree], text: str) -> Tree | None:
    """What a parser makes of a text; None where it refuses the text, at a place of it."""
    try:
        return parse(text)
    except QueryError as error:
        assert error.message
        assert "<class" not in str(error) and "sqlglot" not in error.message
        assert 0 <= error.start <= error.end <= len(text)
        assert error.line >= 1 and error.column >= 1
    return None


def check(text: str) -> None:
    query = parsed(parse, text)
    assert query is None or parse(write(query)) == query


@budgeted()
@given(st.text(max_size=60))
def test_arbitrary_text(text: str) -> None:
    check(text)
    check(f"PATTERN A WHERE {text}")
    check(f"PATTERN {text}")


@budgeted()
@given(st.lists(st.sampled_from(PIECES), max_size=14), st.sampled_from([" ", ""]))
def test_token_soup(pieces: list[str], joint: str) -> None:
    check(joint.join(pieces))
    check("PATTERN A RETURN " + joint.join(pieces))


@budgeted()
@given(mutated(TEXTS, PIECES))
def test_mutated_queries(text: str) -> None:
    check(text)


@budgeted()
@given(EXPRESSIONS)
def test_random_expressions(text: str) -> None:
    check(f"PATTERN A WHERE {text}")
    check(f"PATTERN A RETURN {text} AS x")
