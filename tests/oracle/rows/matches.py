"""A MATCH_RECOGNIZE query over a table: partitions, order, matches one after the other, output rows.

Implements SQL:2016 row pattern recognition and semantics.md, "MATCH_RECOGNIZE". A match at a row is the first
candidate in preferment order whose conditions hold; conditions see only rows labelled so far and the partition's
rows, so each is tested when its row is appended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tests.oracle.rows.expressions import Expression, as_expression, columns_read
from tests.oracle.rows.pattern import Pattern, Steps, enumerate_in_order, has_exclusion, labels
from tests.oracle.rows.scope import ClauseError, Scope
from tests.oracle.rows.values import order_key

Row = Mapping[str, Any]

ROWS = ("one", "all", "all omit empty", "all with unmatched")
SKIPS = ("past last row", "to next row", "to first", "to last")


class SkipError(ValueError):
    """AFTER MATCH SKIP has no row to go to, or would find the same match again."""


@dataclass(frozen=True)
class SortKey:
    """An ORDER BY column; unless it is said, NULLs are first ascending and last descending, as in Spark."""

    column: str
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True)
class Query:
    """The clauses; a condition or measure is SQL text or a function of a Scope.

    `within` is a number, or a length of time in microseconds for `datetime` columns.
    """

    pattern: Pattern
    define: Mapping[str, str | Expression] = field(default_factory=dict)
    measures: Mapping[str, str | Expression] = field(default_factory=dict)
    partition_by: Sequence[str] = ()
    order_by: Sequence[SortKey] = ()
    rows: str = "one"
    skip: str = "past last row"
    skip_label: str | None = None
    subset: Mapping[str, Sequence[str]] = field(default_factory=dict)
    within: int | None = None


@dataclass(frozen=True)
class Match:
    """A match of a partition: its number, its first row, its steps; an empty match has none."""

    number: int
    start: int
    steps: Steps

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(step.label for step in self.steps)


def recognize(query: Query, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[tuple]]:
    """The names of the output columns, and the output rows.

    >>> from tests.oracle.rows.pattern import Label, Quantified
    >>> query = Query(Quantified(Label("B"), 1, None), {"B": "x < PREV(x)"}, {"low": "LAST(x)", "n": "count(*)"})
    >>> recognize(query, ["x"], [(9,), (8,), (7,), (8,)])
    (['low', 'n'], [(7, 2)])
    """
    check_query(query, columns)
    names = [column.lower() for column in columns]
    given = [dict(zip(names, row, strict=True)) for row in rows]
    before, behind = _table_columns(query, columns)
    measures = {name: as_expression(measure) for name, measure in query.measures.items()}
    found = []
    for partition in partitions(query, given):
        for row, scope in _output(query, partition):
            measured = [None if scope is None else measure(scope) for measure in measures.values()]
            found.append(
                (*(row[column.lower()] for column in before), *measured, *(row[column.lower()] for column in behind))
            )
    return [*before, *measures, *behind], found


def check_query(query: Query, columns: Sequence[str]) -> None:
    """Refuse what the standard refuses and would otherwise be answered in silence."""
    known = {column.lower() for column in columns}
    own = labels(query.pattern)
    for column in [*query.partition_by, *(key.column for key in query.order_by)]:
        if column.lower() not in known:
            raise ClauseError(f"there is no column {column}")
    for label in [*query.define, *(member for members in query.subset.values() for member in members)]:
        if label not in own:
            raise ClauseError(f"{label} does not stand in PATTERN")
    for name in query.subset:
        if name in own:
            raise ClauseError(f"SUBSET {name} is a label of PATTERN")
    if query.rows not in ROWS or query.skip not in SKIPS:
        raise ClauseError(f"no such rows per match or skip: {query.rows!r}, {query.skip!r}")
    if query.skip_label is not None and query.skip_label not in own | set(query.subset):
        raise ClauseError(f"SKIP {query.skip_label}: neither a label of PATTERN nor a SUBSET")
    if query.rows == "all with unmatched" and has_exclusion(query.pattern):
        raise ClauseError("{- -} does not go with WITH UNMATCHED ROWS")
    if query.within is not None and not query.order_by:
        raise ClauseError("WITHIN measures the first ORDER BY column, and there is none")


def _table_columns(query: Query, columns: Sequence[str]) -> tuple[list[str], list[str]]:
    """The input's columns before the measures and behind them: for ONE ROW only those of PARTITION BY."""
    spelled = {column.lower(): column for column in columns}
    partition_by = [spelled[column.lower()] for column in query.partition_by]
    if query.rows == "one":
        return partition_by, []
    order_by = [spelled[key.column.lower()] for key in query.order_by]
    before = list(dict.fromkeys([*partition_by, *order_by]))
    return before, [column for column in columns if column not in before]


def partitions(query: Query, rows: Sequence[Row]) -> list[list[Row]]:
    """The rows by PARTITION BY, NULL being a value like any other, each in ORDER BY's order.

    Ties are ordered by the columns that the query reads, in schema order, NULLs first. Without ORDER BY the rows stay
    as they came.
    """
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        key = tuple(order_key(row[column.lower()]) for column in query.partition_by)
        groups.setdefault(key, []).append(row)
    keys = list(query.order_by)
    if keys and rows:
        keys += [SortKey(column) for column in rows[0] if column in _columns_read(query, rows[0])]
    for group in groups.values():
        for key in reversed(keys):
            _sort(group, key)
    return list(groups.values())


def _columns_read(query: Query, row: Row) -> set[str]:
    """The columns that decide or make the result; what a Python function reads is not known, so it reads all."""
    texts = [*query.define.values(), *query.measures.values()]
    if query.rows != "one" or not all(isinstance(text, str) for text in texts):
        return set(row)
    return {key.column.lower() for key in query.order_by}.union(*map(columns_read, texts))


def _sort(rows: list[Row], key: SortKey) -> None:
    column = key.column.lower()
    nulls_first = not key.descending if key.nulls_first is None else key.nulls_first
    nulls = [row for row in rows if row[column] is None]
    others = [row for row in rows if row[column] is not None]
    others.sort(key=lambda row: order_key(row[column]), reverse=key.descending)
    rows[:] = nulls + others if nulls_first else others + nulls


def matches(query: Query, partition: Sequence[Row]) -> list[Match]:
    """The matches of one partition, attempted row by row; empty ones have a number too."""
    define = {label: as_expression(condition, in_define=True) for label, condition in query.define.items()}
    found: list[Match] = []
    start = 0
    while start < len(partition):
        match = match_at(query, define, partition, start, number=len(found) + 1)
        if match is None:
            start += 1
        else:
            found.append(match)
            start = _next_start(query, match)
    return found


def match_at(
    query: Query, define: Mapping[str, Expression], partition: Sequence[Row], start: int, number: int
) -> Match | None:
    """The preferred match that begins at a row, if any."""

    def accepts(steps: Steps) -> bool:
        return is_accepted(query, define, partition, Match(number, start, steps))

    for steps in enumerate_in_order(query.pattern, len(partition), start, accepts):
        return Match(number, start, steps)
    return None


def is_accepted(query: Query, define: Mapping[str, Expression], partition: Sequence[Row], match: Match) -> bool:
    """Whether the last row of what may become a match satisfies its condition."""
    scope = _scope(query, partition, match, current=match.start + len(match.steps) - 1)
    condition = define.get(match.steps[-1].label)
    return _fits_within(query, scope) and (condition is None or condition(scope) is True)


def _scope(query: Query, partition: Sequence[Row], match: Match, current: int | None) -> Scope:
    variables = {label: frozenset([label]) for label in labels(query.pattern)}
    variables |= {name: frozenset(members) for name, members in query.subset.items()}
    return Scope(partition, match.start, match.labels, current, match.number, variables)


def _fits_within(query: Query, scope: Scope) -> bool:
    """`ts - FIRST(ts) < w`, a conjunct of every condition; NULL is not met."""
    if query.within is None:
        return True
    key = query.order_by[0]
    first, last = (scope.value(key.column.lower(), place) for place in (scope.first(), scope.current))
    if first is None or last is None:
        return False
    passed = first - last if key.descending else last - first
    return passed < (timedelta(microseconds=query.within) if isinstance(passed, timedelta) else query.within)


def _next_start(query: Query, match: Match) -> int:
    """AFTER MATCH SKIP; after an empty match always the next row."""
    if not match.steps or query.skip == "to next row":
        return match.start + 1
    if query.skip == "past last row":
        return match.start + len(match.steps)
    members = query.subset.get(query.skip_label, [query.skip_label])
    places = [match.start + i for i, label in enumerate(match.labels) if label in members]
    if not places:
        raise SkipError(f"AFTER MATCH SKIP: no row of the match is labelled {query.skip_label}")
    target = places[0] if query.skip == "to first" else places[-1]
    if target == match.start:
        raise SkipError(f"AFTER MATCH SKIP: {query.skip_label} is the first row of the match")
    return target


def _output(query: Query, partition: Sequence[Row]) -> Iterator[tuple[Row, Scope | None]]:
    """The row behind every output row, with the scope of its measures; None for an unmatched row."""
    found = matches(query, partition)
    shown = {match.start: match for match in found}  # no two matches begin at the same row
    covered = {match.start + i for match in found for i in range(max(len(match.steps), 1))}
    for place, row in enumerate(partition):
        match = shown.get(place)
        if match is None:
            if query.rows == "all with unmatched" and place not in covered:
                yield row, None
        elif not match.steps:
            if query.rows != "all omit empty":
                yield row, _scope(query, partition, match, current=None)
        elif query.rows == "one":
            yield row, _scope(query, partition, match, current=place + len(match.steps) - 1)
        else:
            for i, step in enumerate(match.steps):
                if not step.excluded:
                    yield partition[place + i], _scope(query, partition, match, current=place + i)
