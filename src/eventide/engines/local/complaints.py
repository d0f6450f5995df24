"""What DuckDB says about a statement, in our words."""

from __future__ import annotations

import re

import duckdb

from eventide.engines.complaints import Complaint, name_spans
from eventide.engines.filled import Filled
from eventide.engines.local.sources import reason
from eventide.lang.tree import Span

# What it says, what we say instead, and what to try; names and types are checked before DuckDB sees a statement.
_SAID = (
    (
        r'column "(?P<name>[^"]+)" must appear in the GROUP BY',
        "'{name}' is neither in GROUP BY nor inside an aggregate",
        "add it to GROUP BY, or write any_value({name})",
    ),
    (
        r"(?P<clause>WHERE|GROUP BY) clause cannot contain aggregates",
        "an aggregate is not allowed in {clause}",
        "filter groups with HAVING",
    ),
    (
        r"cannot cast to (?P<type>\w+): (?P<text>.*)",
        "the text '{text}' is no {type}",
        "leave such rows out before: a subquery with WHERE",
    ),
    (
        r"an event has no time: '(?P<column>.*)' is NULL",
        "an event has no time: '{column}' is NULL",
        'fill in the time, or pass on_bad_event="drop" to drop such events',
    ),
    (
        r"More than one row returned by a subquery",
        "a subquery that is used as a value gives more than one row",
        "add LIMIT 1",
    ),
)


def complaint_of(error: duckdb.Error) -> Complaint:
    """The complaint in our words, or in DuckDB's where we have none.

    >>> complaint_of(duckdb.InvalidInputException("Invalid Input Error: cannot cast to INTEGER: x1")).message
    "the text 'x1' is no INT"
    """
    said = str(error)
    for pattern, message, hint in _SAID:
        found = re.search(pattern, said)
        if found is not None:
            named = found.groupdict()
            if "type" in named:
                named["type"] = {"VARCHAR": "STRING", "INTEGER": "INT", "TIMESTAMPTZ": "TIMESTAMP"}.get(
                    named["type"], named["type"]
                )
            return Complaint(message.format(**named), named.get("name"), hint.format(**named))
    return Complaint(f"the statement cannot run: {reason(error)}")


def place_of(complaint: Complaint, sql: str, filled: Filled, connection: duckdb.DuckDBPyConnection) -> Span | None:
    """Where in the filled text the name stands that DuckDB complains of; it read `sql`."""
    if complaint.name is None:
        return None
    here, there = name_spans(filled.text, complaint.name), name_spans(sql, complaint.name)
    at = None
    try:
        # Only `execute` tells where.
        connection.execute(f"EXPLAIN {sql}")
    except duckdb.Error as error:
        at = _pointed_at(sql, str(error))
    # The two texts have the same names in the same order, but for those of tables.
    nth = sum(span.end <= at for span in there) if at is not None and len(here) == len(there) else 0
    return here[min(nth, len(here) - 1)] if here else None


def _pointed_at(sql: str, said: str) -> int | None:
    """The offset of what the caret points at.

    >>> _pointed_at("SELECT a, foo FROM t", "not found\\n\\nLINE 1: SELECT a, foo FROM t\\n                  ^")
    10
    """
    found = re.search(r"^(LINE \d+: )(.*)\n( *)\^", said, re.MULTILINE)
    if found is None:
        return None
    head, shown, blank = found.groups()
    cut = 3 if shown.startswith("...") else 0
    at = sql.find(shown[cut:].removesuffix("..."))
    return None if at < 0 else at + len(blank) - len(head) - cut
