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

_CALLED = """
    ANY ANY_VALUE APPROX_COUNT_DISTINCT APPROX_PERCENTILE APPROX_TOP_K APPROX_TOP_K_ACCUMULATE APPROX_TOP_K_COMBINE
    ARRAY_AGG AVG BITMAP_AND_AGG BITMAP_CONSTRUCT_AGG BITMAP_OR_AGG BIT_AND BIT_OR BIT_XOR BOOL_AND BOOL_OR COLLECT_LIST
    COLLECT_SET COLLECT_UNION CORR COUNT_IF COUNT_MIN_SKETCH COVAR_POP COVAR_SAMP EVERY FIRST_VALUE GROUPING GROUPING_ID
    HISTOGRAM_NUMERIC HLL_SKETCH_AGG HLL_UNION_AGG KLL_MERGE_AGG_BIGINT KLL_MERGE_AGG_DOUBLE KLL_MERGE_AGG_FLOAT
    KLL_SKETCH_AGG_BIGINT KLL_SKETCH_AGG_DOUBLE KLL_SKETCH_AGG_FLOAT KURTOSIS LAST_VALUE LISTAGG MAX MAX_BY MEAN MEASURE
    MEDIAN MIN MIN_BY MODE PERCENTILE PERCENTILE_APPROX PERCENTILE_CONT PERCENTILE_DISC REGR_AVGX REGR_AVGY REGR_COUNT
    REGR_INTERCEPT REGR_R2 REGR_SLOPE REGR_SXX REGR_SXY REGR_SYY SCHEMA_OF_VARIANT_AGG SKEWNESS SOME STD STDDEV
    STDDEV_POP STDDEV_SAMP STRING_AGG SUM THETA_INTERSECTION_AGG THETA_SKETCH_AGG THETA_UNION_AGG TRY_AVG TRY_SUM
    TUPLE_INTERSECTION_AGG_DOUBLE TUPLE_INTERSECTION_AGG_INTEGER TUPLE_SKETCH_AGG_DOUBLE TUPLE_SKETCH_AGG_INTEGER
    TUPLE_UNION_AGG_DOUBLE TUPLE_UNION_AGG_INTEGER VARIANCE VAR_POP VAR_SAMP
"""
# Spark SQL's aggregates besides COUNT, and FIRST and LAST, which navigate.
AGGREGATES = frozenset(_CALLED.split())

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
