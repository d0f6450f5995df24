"""What DuckDB says about a statement, in our words."""

from __future__ import annotations

import re
from collections.abc import Collection

import duckdb

from eventide.engines.complaints import Complaint, name_spans
from eventide.engines.filled import Filled
from eventide.engines.local.sources import reason
from eventide.errors import did_you_mean
from eventide.lang.tree import Span

_MEANT = "?"  # the hint is the name that was meant, of those that DuckDB has in mind
# What it says, what we say instead, and what to try.
_SAID = (
    (r'Referenced column "(?P<name>[^"]+)"', "unknown column '{name}'", _MEANT),
    (r'"(?P<table>[^"]+)" does not have a column named "(?P<name>[^"]+)"', "'{table}' has no column '{name}'", _MEANT),
    (r'Column "(?P<name>[^"]+)" in \w+ list not found', "unknown column '{name}'", _MEANT),
    (r'Referenced table "(?P<name>[^"]+)" not found', "unknown table '{name}'", _MEANT),
    (
        r'Ambiguous reference to column name "(?P<name>[^"]+)" \(use: (?P<names>.*)\)',
        "column '{name}' is ambiguous",
        "write {names}",
    ),
    (
        r'column "(?P<name>[^"]+)" must appear in the GROUP BY',
        "'{name}' is neither in GROUP BY nor inside an aggregate",
        "add it to GROUP BY, or write any_value({name})",
    ),
    (
        r"Function with name \"?(?P<name>\w+)\"? does not exist",
        "there is no function '{name}' in this process",
        "functions that only Spark SQL has run on Spark: ev.sql(text, spark=spark)",
    ),
    (
        r"argument types '(?P<name>\w+)\((?P<types>.*?)\)'",
        "there is no {name} of {types}",
        "cast the argument: CAST(x AS DOUBLE)",
    ),
    (
        r"argument types '(?P<sign>\W+)\((?P<types>.*?)\)'",
        "'{sign}' does not go with {types}",
        "cast one side: CAST(x AS DOUBLE)",
    ),
    (
        r"(?P<clause>WHERE|GROUP BY) clause cannot contain aggregates",
        "an aggregate cannot stand in {clause}",
        "filter groups with HAVING",
    ),
    (
        r'table "(?P<name>\w+)" has (?P<n>\d+) columns available but (?P<m>\d+)',
        "{m} names are given to {n} columns",
        "name as many columns as there are",
    ),
    (
        r"Could not convert string '(?P<text>.*?)' to (?P<type>\w+)",
        "the text '{text}' is no {type}",
        "try_cast makes it NULL",
    ),
    (
        r"Set operations can only apply",
        "the queries of UNION, EXCEPT or INTERSECT have different numbers of columns",
        "select as many in each",
    ),
    (
        r"More than one row returned by a subquery",
        "a subquery that stands for a value gives more than one row",
        "add LIMIT 1",
    ),
)


def complaint_of(error: duckdb.Error, known: Collection[str] = ()) -> Complaint:
    """The complaint in our words, or in DuckDB's where we have none; `known` are columns that might be meant.

    >>> said = 'Binder Error: Referenced column "prise" not found in FROM clause!\\nCandidate bindings: "price"'
    >>> complaint_of(duckdb.BinderException(said)).hint
    "did you mean 'price'?"
    """
    said = str(error)
    for pattern, message, hint in _SAID:
        found = re.search(pattern, said)
        if found is None:
            continue
        named = {key: _shown(key, text) for key, text in found.groupdict().items()}
        meant = said[found.end() :].split("\nLINE")[0]
        candidates = [name.split(".")[-1] for name in re.findall(r'"([^"]+)"', meant)]
        candidates += sorted(known) if "column" in message else []
        shown = did_you_mean(named["name"], candidates) if hint == _MEANT else hint.format(**named)
        return Complaint(message.format(**named), named.get("name"), shown)
    return Complaint(f"the statement cannot run: {reason(error)}")


def _shown(key: str, text: str) -> str:
    if key in ("types", "type"):
        for name, shown in (("varchar", "string"), ("integer_literal", "int"), ("integer", "int"), (", ", " and ")):
            text = text.lower().replace(name, shown)
        return text
    return text.replace("'", "") if key == "names" else text


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
