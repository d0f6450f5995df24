"""What Spark says about a statement, in our words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from eventide.engines.complaints import Complaint
from eventide.engines.filled import Filled
from eventide.errors import did_you_mean
from eventide.expressions.known_functions import not_registered
from eventide.lang.tree import Span

_REGISTERED = "!"  # the hint is about functions
_MEANT = "?"  # the hint is the name that was meant, of those that Spark proposes
# The beginning of an error condition, what we say, and what to try.
_SAID = (
    ("UNRESOLVED_COLUMN", "unknown column '{objectName}'", _MEANT),
    ("TABLE_OR_VIEW_NOT_FOUND", "unknown table '{relationName}'", None),
    ("UNRESOLVED_ROUTINE", "unknown function '{routineName}'", _REGISTERED),
    ("AMBIGUOUS_REFERENCE", "column '{name}' is ambiguous", "write one of {referenceNames}"),
    (
        "MISSING_GROUP_BY",
        "a column is beside an aggregate, and there is no GROUP BY",
        "add GROUP BY, or write any_value(x)",
    ),
    (
        "MISSING_AGGREGATION",
        "{expression} is neither in GROUP BY nor inside an aggregate",
        "add it to GROUP BY, or write {expressionAnyValue}",
    ),
    ("ASSIGNMENT_ARITY_MISMATCH", "{numTarget} names are given to {numExpr} columns", "name as many as there are"),
    (
        "NUM_COLUMNS_MISMATCH",
        "the queries of {operator} have different numbers of columns: {firstNumColumns} and {invalidNumColumns}",
        "select as many in each",
    ),
    ("PARSE_SYNTAX_ERROR", "unexpected {error} in the statement", "is it a Spark SQL query?"),
)
# What PySpark calls a DataFrame in the text: a name of this length.
_N_VIEW = 41


def complaint_of(error: Any) -> Complaint:
    """The complaint in our words, or in Spark's where we have none."""
    condition = (error.getCondition() if hasattr(error, "getCondition") else None) or ""
    given = (error.getMessageParameters() if condition else None) or {}
    named = defaultdict(str, {key: text.replace("`", "").strip('"[]') for key, text in given.items()})
    for begin, message, hint in _SAID:
        if not condition.startswith(begin):
            continue
        if hint == _MEANT:
            proposed = [name.split(".")[-1] for name in named["proposal"].split(", ") if name]
            hint = did_you_mean(named["objectName"].split(".")[-1], proposed)
        if hint == _REGISTERED:
            return Complaint(message.format_map(named), hint=not_registered(named["routineName"]))
        return Complaint(message.format_map(named), hint=hint and hint.format_map(named))
    said = re.sub(r"\s*SQLSTATE: .*|^\s*\[[A-Z_.]+\] ", "", str(error).strip().splitlines()[0])
    return Complaint(f"the statement cannot run: {said}")


def place_of(error: Any, filled: Filled, edits: Sequence[tuple[Span, str]]) -> Span | None:
    """Where in the filled text the fragment stands that Spark complains of; it read the text with the edits made."""
    contexts = error.getQueryContext() if hasattr(error, "getQueryContext") else []
    for context in contexts:
        found = re.search(r"\(line (\d+), position (\d+)\)", context.summary() or "")
        fragment = context.fragment()
        if found is None or not fragment:
            continue
        start = sum(len(line) + 1 for line in filled.text.split("\n")[: int(found[1]) - 1])
        end = filled.text.find("\n", start)
        line = filled.text[start : end if end >= 0 else len(filled.text)]
        wanted = int(found[2]) - 1
        places = [start + at.start() for at in re.finditer(re.escape(fragment.split("\n")[0]), line)]
        if places:
            best = min(places, key=lambda at: abs(_moved(at, start, edits) - wanted))
            return Span(best, best + len(fragment.split("\n")[0]))
    return None


def _moved(at: int, line_start: int, edits: Sequence[tuple[Span, str]]) -> int:
    """The column in Spark's text of an offset in ours.

    >>> _moved(20, 10, [(Span(12, 13), "{t0}")])
    50
    """
    column = at - line_start
    for span, new in edits:
        if line_start <= span.start and span.end <= at and new not in ("{{", "}}"):
            column += len(re.sub(r"\{t\d+\}", "v" * _N_VIEW, new)) - (span.end - span.start)
    return column
