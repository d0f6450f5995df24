"""Whatever the text, the parsers return a tree or raise `QueryError` at a place in the text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eventide.lang.rows import parse_clause, parse_statement, write_clause
from tests.budget import budgeted
from tests.lang.rows.corpus import INVALID, VALID
from tests.lang.strategies import mutated
from tests.lang.test_fuzz_parse import EXPRESSIONS, OPERANDS, parsed

WORDS = """
    ( ) [ ] {- -} { } , . ; + - * / ? ?? *? +? : < > = ! | ^ $ ' " ` -- /* */ -> @ # ()
    A B C.x "b" "b".x NEXT( PREV( FIRST( LAST( CLASSIFIER( MATCH_NUMBER() RUNNING FINAL PERMUTE( AND OR AS BETWEEN
    CASE WHEN THEN END IN LIKE SELECT FROM WHERE JOIN VALUES COUNT(*) count() SUM( 5 minutes 100 EVENTS 1.5 1e9 {2,3}
    'text' `name` größe TO SKIP MATCH ROW ROWS PER ONE ALL ASC DESC NULLS EMPTY UNMATCHED WITH OVER FILTER IGNORE
    PARTITION BY ORDER MEASURES AFTER PATTERN( WITHIN SUBSET DEFINE INITIAL SEEK MATCH_RECOGNIZE( (SELECT exists
    TABLE TABLE( DESCRIPTOR( TUMBLE( HOP( CUMULATE( SESSION( SIZE => INTERVAL '5' MINUTE '-5' ts)
"""
PIECES = [*WORDS.split(), "PARTITION BY", "ORDER BY", "AFTER MATCH SKIP", "ALL ROWS PER MATCH", "\n", "\t", "\x00"]
WINDOWS = [
    "SELECT a FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '1' MINUTE)) GROUP BY window_start",
    "SELECT * FROM a, SESSION(TABLE t PARTITION BY (k), DESCRIPTOR(ts), 5 minutes) AS s(b, c) JOIN TUMBLE(t, ts, 1 h)",
    "SELECT 1 FROM CUMULATE(SIZE => 1 day, STEP => 1 hour, DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), OFFSET => -1 h)",
]
TEXTS = [*(text for text, _ in VALID + INVALID), *WINDOWS]
CALLS = "RUNNING LAST({}) | FINAL sum({}) | PREV({}, 2) | FIRST({}) | CLASSIFIER({}) | count({}) | (SELECT {})"


def _grow(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    calls = st.sampled_from(CALLS.split(" | "))
    return st.one_of(st.builds(str.format, calls, parts), st.builds("{} {}".format, parts, parts))


ROW_EXPRESSIONS = st.recursive(
    st.one_of(EXPRESSIONS, st.sampled_from(['"b".x', "a.x", "A.*", "running", *OPERANDS.split()])), _grow, max_leaves=4
)


def check(text: str) -> None:
    query = parsed(parse_clause, text)
    assert query is None or parse_clause(write_clause(query)) == query


def check_statement(text: str) -> None:
    statement = parsed(parse_statement, text)
    for found in () if statement is None else statement.recognitions:
        assert text[found.span.start :].startswith(found.relation)
        assert parse_clause(write_clause(found.clause)) == found.clause
    for function in () if statement is None else statement.functions:
        assert text[function.relation_span.start : function.relation_span.end] == function.relation
        assert function.span.start <= function.relation_span.start < function.relation_span.end < function.span.end


@budgeted()
@given(st.text(max_size=60))
def test_arbitrary_text(text: str) -> None:
    check(text)
    check(f"PATTERN (A) DEFINE A AS {text}")
    check(f"PATTERN ({text})")
    check_statement(f"{text} MATCH_RECOGNIZE (PATTERN (A))")
    check_statement(f"SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) {text}")


@budgeted()
@given(st.lists(st.sampled_from(PIECES), max_size=14), st.sampled_from([" ", ""]))
def test_token_soup(pieces: list[str], joint: str) -> None:
    soup = joint.join(pieces)
    check(soup)
    check(f"PATTERN ({soup})")
    check(f"MEASURES {soup} AS x PATTERN (A)")
    check_statement(f"SELECT {soup} MATCH_RECOGNIZE ({soup}) {soup}")
    check_statement(f"SELECT * FROM HOP({soup}) {soup}")


@budgeted()
@given(mutated(TEXTS, PIECES))
def test_mutated_texts(text: str) -> None:
    check(text)
    check_statement(text)


@budgeted()
@given(ROW_EXPRESSIONS)
def test_random_expressions(text: str) -> None:
    check(f'PATTERN (A "b") DEFINE A AS {text}')
    check(f'MEASURES {text} AS x PATTERN (A "b")')
