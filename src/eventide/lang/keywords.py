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
    "EMIT EMPTY",
    "MIN LENGTH",
    "RETURN",
    "HAVING",
    "OPTIONS",
)
PATTERN_WORDS = frozenset({"SEQ", "AND", "OR", "NOT", "ITER"})
# These stand behind EMIT alone, so that columns may be called so.
_WORDS = frozenset(word for clause in CLAUSES for word in clause.split()) - {"EVERY", "EMPTY"}
RESERVED = _WORDS | PATTERN_WORDS | {"AS", "SLIDE", "NEXT"}

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
# Spark SQL's aggregates besides COUNT, FIRST and LAST.
AGGREGATES = frozenset(_CALLED.split())

_FOREIGN = {
    "SELECT": "what a query returns is written in RETURN; a SQL statement is run by ev.sql(...)",
    "ORDER": "there is no ORDER BY clause; sort the result",
    "LIMIT": "there is no LIMIT clause; limit the result",
    "JOIN": "a query reads one source; relate events in WHERE",
    "MATCH_RECOGNIZE": "MATCH_RECOGNIZE is SQL: run the statement with ev.sql(...), or write PATTERN SEQ(...) here",
    "EMIT": "write EMIT ON COMPLETE, in a query that relates situations by 'before', 'during', ...; or EMIT EMPTY or "
    "EMIT EVERY 10 seconds, in a query of windows",
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
