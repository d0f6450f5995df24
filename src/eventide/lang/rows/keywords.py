"""The words of MATCH_RECOGNIZE: its clauses in the standard's order, and what to say about misplaced words."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from eventide.lang.tokens import Kind, Token

CLAUSES = (
    "PARTITION BY",
    "ORDER BY",
    "MEASURES",
    "ROWS PER MATCH",
    "AFTER MATCH SKIP",
    "PATTERN",
    "WITHIN",
    "SUBSET",
    "DEFINE",
)
ORDER = "PARTITION BY, ORDER BY, MEASURES, ONE ROW PER MATCH, AFTER MATCH SKIP, PATTERN, WITHIN, SUBSET, DEFINE"
_WORDS = """
    PARTITION ORDER BY MEASURES ONE ALL AFTER INITIAL SEEK PATTERN WITHIN SUBSET DEFINE AS ASC DESC NULLS PERMUTE
"""
RESERVED = frozenset(_WORDS.split())

_HEADS = {
    "PARTITION": "PARTITION BY",
    "ORDER": "ORDER BY",
    "MEASURES": "MEASURES",
    "MEASURE": "MEASURES",
    "ONE": "ONE ROW PER MATCH",
    "ALL": "ALL ROWS PER MATCH",
    "AFTER": "AFTER MATCH SKIP",
    "PATTERN": "PATTERN",
    "WITHIN": "WITHIN",
    "SUBSET": "SUBSET",
    "DEFINE": "DEFINE",
}
_FOREIGN = {
    "SELECT": "write a subquery in parentheses; what the clause returns is written in MEASURES",
    "WITH": "write a subquery in parentheses",
    "FROM": "the table comes before MATCH_RECOGNIZE",
    "WHERE": "conditions on rows belong in DEFINE; filter the table before, or the result after MATCH_RECOGNIZE (...)",
    "GROUP": "rows are grouped by PARTITION BY; group the result after MATCH_RECOGNIZE (...)",
    "HAVING": "filter the result with WHERE after MATCH_RECOGNIZE (...)",
    "LIMIT": "limit the result after MATCH_RECOGNIZE (...)",
    "RETURN": "what the clause returns is written in MEASURES",
    "SLIDE": "WITHIN limits a match, and has no SLIDE",
    "SKIP": "write AFTER MATCH SKIP",
    "BY": "write PARTITION BY or ORDER BY",
}


_STATEMENT = """
    SELECT FROM WHERE GROUP ORDER HAVING LIMIT JOIN LEFT RIGHT INNER CROSS UNION WITH DISTINCT BETWEEN MATCH_RECOGNIZE
"""


def meant_keyword(tokens: Sequence[Token], idx: int) -> str | None:
    """A hint about a keyword of the statement that is misspelt at a token or a little before it.

    >>> from eventide.lang.tokens import tokenize
    >>> meant_keyword(tokenize("SELECT * FORM trades"), 3)
    'did you mean FROM instead of FORM?'
    """
    for token in reversed(tokens[max(idx - 3, 0) : idx + 1]):
        close = difflib.get_close_matches(token.word, _STATEMENT.split(), n=1, cutoff=0.7) if token.word else []
        if close and close[0] != token.word:
            return f"did you mean {close[0]} instead of {token.text}?"
    before = tokens[idx - 1].word if idx else ""
    return f"write {before} BY" if before in ("ORDER", "GROUP") else None


def misplaced_hint(token: Token) -> str | None:
    """What to try when a word stands where a clause could start, or None.

    >>> from eventide.lang.tokens import tokenize
    >>> misplaced_hint(tokenize("PATERN")[0])
    "did you mean 'PATTERN'?"
    """
    if token.kind is not Kind.WORD:
        return None
    if token.word in _FOREIGN:
        return _FOREIGN[token.word]
    close = difflib.get_close_matches(token.word, _HEADS, n=1, cutoff=0.75)
    if not close:
        return None
    keyword = _HEADS[close[0]]
    return f"write {keyword}" if keyword.startswith(f"{token.word} ") else f"did you mean '{keyword}'?"
