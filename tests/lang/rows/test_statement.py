from __future__ import annotations

import pytest

from eventide.errors import QueryError
from eventide.lang.rows import parse_clause, parse_statement
from eventide.lang.rows.tree import Recognition


def one(text: str) -> Recognition:
    (found,) = parse_statement(text).recognitions
    return found


@pytest.mark.parametrize(
    "relation",
    [
        "trades",
        "db.trades",
        "`my table`",
        "`a b`.`c d` AS t",
        "trades AS t",
        "trades t",
        "trades AS t(id, value)",
        "(SELECT * FROM a, b WHERE x > 1 ORDER BY y)",
        "(SELECT 1) AS s",
        "(VALUES (1, 2), (3, 4)) t(id, value)",
        "(VALUES (1, 2), (3, 4)) AS t(id, value)",
        "VALUES (1, 2), (3, 4) AS t(id, value)",
        "VALUES 1, -2, 'x'",
        "range(10)",
        "(a JOIN b ON a.x = b.x)",
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        "SELECT * FROM {}",
        "SELECT a, b FROM x, {} WHERE y > 1",
        "SELECT a FROM x JOIN {} ON x.y = m.y",
        "SELECT a FROM x JOIN z ON x.y = z.y, {}",
        "WITH c AS (SELECT * FROM {}) SELECT * FROM c",
        "SELECT * FROM x WHERE y IN (SELECT y FROM {} LIMIT 1)",
        "SELECT 1 UNION ALL SELECT * FROM {} UNION SELECT 2",
    ],
)
@pytest.mark.parametrize(
    ("behind", "alias", "columns"),
    [("", None, ()), (" AS m", "m", ()), (" m", "m", ()), (" AS `m n`(a, `b c`)", "m n", ("a", "b c"))],
)
def test_what_stands_around_the_clause(
    relation: str, around: str, behind: str, alias: str | None, columns: tuple[str, ...]
) -> None:
    whole = f"{relation} MATCH_RECOGNIZE (PATTERN (A B)){behind}"
    text = around.format(whole)
    found = one(text)
    assert (found.relation, found.alias, found.columns) == (relation, alias, columns)
    assert text[found.span.start : found.span.end] == whole
    assert text[found.clause.span.start : found.clause.span.end] == "PATTERN (A B)"
    assert found.clause == parse_clause("PATTERN (A B)")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "this is no (SQL",
        "SELECT 'MATCH_RECOGNIZE (PATTERN (A))'",
        'SELECT "MATCH_RECOGNIZE (PATTERN (A))"',
        "SELECT `MATCH_RECOGNIZE` (x) FROM t",
        "SELECT 1 -- FROM t MATCH_RECOGNIZE (PATTERN (A))",
        "SELECT 1 /* FROM t MATCH_RECOGNIZE (PATTERN (A)) */",
        "SELECT db.match_recognize(x), match_recognize FROM match_recognize",
    ],
)
def test_a_statement_may_hold_none(text: str) -> None:
    statement = parse_statement(text)
    assert statement.text == text
    assert statement.recognitions == ()


def test_an_inner_one_comes_before_the_one_around_it() -> None:
    inner = "trades MATCH_RECOGNIZE (PATTERN (A)) AS i"
    outer = f"(SELECT * FROM {inner}) AS s MATCH_RECOGNIZE (PATTERN (B)) AS o"
    text = f"SELECT * FROM {outer}, u MATCH_RECOGNIZE (PATTERN (C))"
    first, second, third = parse_statement(text).recognitions
    assert (first.alias, second.alias, third.relation) == ("i", "o", "u")
    assert second.relation == f"(SELECT * FROM {inner}) AS s"
    assert second.span.start < first.span.start < first.span.end < second.span.end < third.span.start


def test_one_may_follow_another() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) MATCH_RECOGNIZE (PATTERN (B)) AS m"
    first, second = parse_statement(text).recognitions
    assert (first.relation, first.alias) == ("t", None)
    assert (second.relation, second.alias) == ("t MATCH_RECOGNIZE (PATTERN (A))", "m")


@pytest.mark.parametrize("word", ["WHERE x", "GROUP BY x", "LEFT JOIN u", "UNION SELECT 1", "LIMIT 1", ", u", ") s"])
def test_what_follows_a_table_is_no_alias(word: str) -> None:
    opening = "(" if word.startswith(")") else ""
    assert one(f"SELECT * FROM {opening}t MATCH_RECOGNIZE (PATTERN (A)) {word}").alias is None


def test_places_count_from_the_start_of_the_statement() -> None:
    with pytest.raises(QueryError) as caught:
        parse_statement("SELECT *\nFROM t MATCH_RECOGNIZE (\n  PATTERN (A)\n  DEFINE A AS x >\n)")
    assert (caught.value.line, caught.value.column) == (4, 17)


def test_too_long_and_too_many_are_refused() -> None:
    with pytest.raises(QueryError, match="1,000,042 characters"):
        parse_statement("SELECT * FROM t MATCH_RECOGNIZE (PATTERN--" + "x" * 1_000_000)
    with pytest.raises(QueryError, match="the statement holds 300 MATCH_RECOGNIZE"):
        parse_statement("SELECT * FROM " + ", ".join(["t MATCH_RECOGNIZE (PATTERN (A))"] * 300))
