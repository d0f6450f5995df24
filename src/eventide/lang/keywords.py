"""The words of the language: which start a clause, which build patterns, what to say about misplaced ones."""

from __future__ import annotations

import difflib

from eventide.lang.tokens import Kind, Token

# In the order in which the printer writes them.
CLAUSES = (
    "FROM",
    "PARTITION BY",
    "PATTERN",
    "DEFINE",
    "WHERE",
    "SEMANTICS",
    "GROUP BY",
    "WITHIN",
    "SESSION",
    "EMIT ON",
    "EMIT EVERY",
    "MIN LENGTH",
    "RETURN",
    "HAVING",
    "OPTIONS",
)
PATTERN_WORDS = frozenset({"SEQ", "AND", "OR", "NOT", "ITER"})
# EVERY stands behind EMIT alone, so that columns may be called so.
_WORDS = frozenset(word for clause in CLAUSES for word in clause.split()) - {"EVERY"}
RESERVED = _WORDS | PATTERN_WORDS | {"AS", "SLIDE", "NEXT"}

_FOREIGN = {
    "SELECT": "what a query returns is written in RETURN; a SQL statement is run by ev.sql(...)",
    "ORDER": "there is no ORDER BY clause; sort the result",
    "LIMIT": "there is no LIMIT clause; limit the result",
    "JOIN": "a query reads one source; relate events in WHERE",
    "MATCH_RECOGNIZE": "MATCH_RECOGNIZE is SQL: run the statement with ev.sql(...), or write PATTERN SEQ(...) here",
    "EMIT": "write EMIT ON COMPLETE, in a query that relates situations by 'before', 'during', ...; or EMIT EVERY "
    "10 seconds, in a query of windows",
    "FOR": "FOR belongs to situation queries, which relate symbols by 'before', 'during', ...",
}


def misplaced_hint(token: Token) -> str | None:
    """What to try when a word stands where a clause could start, or None.

    >>> from eventide.lang.tokens import tokenize
    >>> misplaced_hint(tokenize("WITHN")[0])
    "did you mean 'WITHIN'?"
    """
    if token.kind is not Kind.WORD:
        return None
    if token.word in _FOREIGN:
        return _FOREIGN[token.word]
    if token.word in ("SLIDE", "BY", "LENGTH"):
        return {
            "SLIDE": "SLIDE follows the length of WITHIN: WITHIN 1 hour SLIDE 10 minutes",
            "BY": "write GROUP BY or PARTITION BY",
            "LENGTH": "write MIN LENGTH",
        }[token.word]
    heads = {clause.split()[0]: clause for clause in reversed(CLAUSES)}
    close = difflib.get_close_matches(token.word, [*heads, "SLIDE"], n=1, cutoff=0.75)
    return f"did you mean '{heads.get(close[0], close[0])}'?" if close else None
