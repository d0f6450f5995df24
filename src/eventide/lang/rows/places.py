"""Tables in FROM, by tokens and brackets: which commas stand between them, and the alias behind one."""

from __future__ import annotations

from collections.abc import Sequence

from eventide.lang.rows.names import RowCursor, is_name
from eventide.lang.tokens import Token

# What may follow a table, and is therefore no alias without AS.
_AFTER_TABLE = """
    WHERE GROUP ORDER HAVING LIMIT OFFSET FETCH UNION EXCEPT MINUS INTERSECT JOIN INNER LEFT RIGHT FULL OUTER CROSS
    NATURAL ANTI SEMI ASOF ON USING LATERAL WINDOW TABLESAMPLE PIVOT UNPIVOT CLUSTER DISTRIBUTE SORT QUALIFY SELECT
    SET WHEN MATCH_RECOGNIZE VALUES FOR
"""
_NO_ALIAS = frozenset(_AFTER_TABLE.split())


def keyword_at(tokens: Sequence[Token], idx: int) -> str:
    """The keyword that a token is; empty behind a dot."""
    return "" if idx and tokens[idx - 1].is_punctuation(".") else tokens[idx].word


def separates_tables(tokens: Sequence[Token], partner: dict[int, int], comma: int) -> bool:
    """Whether a comma stands between two tables."""
    at = comma - 1
    while at >= 0:
        word = keyword_at(tokens, at)
        if word == "FROM" or tokens[at].text == "(":
            return True
        if word in ("SELECT", "WHERE", "BY", "HAVING", "SET"):
            return False
        at = min(at, partner.get(at, at)) - 1
    return False


def read_alias(
    text: str, tokens: Sequence[Token], partner: dict[int, int], close: int
) -> tuple[str | None, tuple[str, ...], int]:
    """Alias, columns and the index of the last token of what stands behind the clause."""
    after = close + 1
    given = tokens[after].word == "AS"
    if given:
        after += 1
    elif not is_name(tokens[after]) or tokens[after].word in _NO_ALIAS:
        return None, (), close
    end = partner.get(after + 1, after) if tokens[after + 1 : after + 2] and tokens[after + 1].text == "(" else after
    cursor = RowCursor(text, tokens[after : end + 2], "the alias")
    alias = cursor.column("a name after AS", usage="write MATCH_RECOGNIZE (...) AS m").text
    columns: list[str] = []
    if end > after:
        cursor.take()
        while not columns or cursor.accept(","):
            columns.append(cursor.column("a column name", usage="write AS m(a, b), or AS m alone").text)
        if not cursor.at(")"):
            cursor.fail(f"expected ',' or ')' after the column name, found {cursor.next}", hint="write AS m(a, b)")
    return alias, tuple(columns), end
