"""A SQL statement whose parts are run one by one, and replaced by the names of their results.

A part is a MATCH_RECOGNIZE or a table function of windows. Where a function stands directly under a GROUP BY of its
windows, the window operator aggregates, and less is left of the SELECT. Elsewhere each event is a row for each of its
windows, by plain SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from textwrap import indent, shorten
from typing import Any

import pyarrow as pa
from sqlglot import exp

from eventide.engines.filled import Filled
from eventide.engines.statements import common_tables, parse_sql
from eventide.errors import QueryError
from eventide.families.registry import family_named
from eventide.lang.rows.tree import Part, Recognition, Statement, WindowFunction
from eventide.lang.scalars import parse_scalar
from eventide.lang.tree import Name, ReturnItem, Span, WindowQuery
from eventide.plan.explain import explained, in_sections
from eventide.plan.options import Options
from eventide.plan.physical import Planned
from eventide.plan.statements.expand import check_function, check_number
from eventide.plan.statements.grouped import Grouped, Pieces, UnfitError, find_grouped
from eventide.plan.statements.names import unknown_name
from eventide.runtime.times import TimeType


@dataclass(frozen=True, slots=True)
class Told:
    """What `explain` says of a part: its result's name, and the plan; or why a function's rows are expanded."""

    part: Part
    name: str
    plan: tuple[str, Planned] | None = None  # with the engine
    query: Any = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """What a function reads: `rows` as the engine has them."""

    rows: Any
    schema: pa.Schema
    time_type: TimeType


class Filling:
    """A statement; engines say how its parts are run."""

    def __init__(self, statement: Statement, options: Options) -> None:
        self.statement = statement
        self.options = options
        self.told: list[Told] = []
        self._done: set[Span] = set()
        self._edits: dict[Span, Pieces] = {}
        self._relations = {part.span: part.relation_span for part in statement.parts}

    # --- what engines do --------------------------------------------------------------------------------------

    def recognize(self, recognition: Recognition) -> str:
        """Run one MATCH_RECOGNIZE; the name that stands for its result."""
        raise NotImplementedError

    def opened(self, function: WindowFunction) -> tuple[Any, pa.Schema]:
        """The rows that a function reads, and their types."""
        raise NotImplementedError

    def expand(self, function: WindowFunction, opened: Opened) -> str:
        """Make a table of the rows with their windows; the name that stands for it."""
        raise NotImplementedError

    def aggregate(
        self, function: WindowFunction, query: WindowQuery, options: Options, opened: Opened
    ) -> Callable[[], str]:
        """What runs the window operator, for the name of its result. QueryError where it cannot say the query."""
        raise NotImplementedError

    def columns_of(self, query: Filled) -> list[str]:
        """The names of a query's columns; it is not run."""
        raise NotImplementedError

    def name_of(self, query: Filled) -> str:
        """The name of the only column of a query, which the SQL engine need not be able to run."""
        return self.columns_of(query)[0]

    # --- the statement ----------------------------------------------------------------------------------------

    def explain(self, sql_engine: str) -> str:
        """What is left of the statement, then what each part does, the inner ones first."""
        rest = self.whole().text.strip()
        headings, parts = [], []
        for told in self.told:
            line = self.statement.text.count("\n", 0, told.part.span.start) + 1
            relation = shorten(" ".join(told.part.relation.split()), 60, placeholder=" ...")
            what = "MATCH_RECOGNIZE" if isinstance(told.part, Recognition) else told.part.name
            heading = f"{what} over {relation} (line {line})"
            headings.append(f"{told.name:<11} {heading}")
            if told.plan is None:
                headings[-1] += f": {sql_engine} expands the rows, one for each window of an event"
                headings.append(f"{'':<11} {told.reason}")
                continue
            engine, planned = told.plan
            text = family_named("rows" if isinstance(told.part, Recognition) else "windows").write(told.query)
            parts.append(f"{told.name}: {heading}\n{indent(explained(text, planned, engine), '  ')}")
        whole = {
            "Query": self.statement.text.strip().splitlines(),
            "Logical plan": [*headings, *(line for line in rest.splitlines() if line.strip())],
            "Operator": [f"{sql_engine} runs the statement" + (" over these results" if headings else "")],
        }
        return "\n".join([in_sections(whole), *parts])

    def whole(self) -> Filled:
        """The statement without its parts."""
        return self.filled(Span(0, len(self.statement.text)))

    def relation(self, part: Part) -> Filled:
        """The input of a part, without parts of its own."""
        return self.filled(part.relation_span)

    def after_with(self, query: Filled, part: Part) -> Filled:
        """A query with the WITH entries in front that a part sees."""
        common = common_tables(self.statement.tokens, part.span.start)
        if not common:
            return query
        filled = Filled("WITH RECURSIVE " if any(entry.recursive for entry in common) else "WITH ")
        for i, entry in enumerate(common):
            filled += Filled(", " if i else "") + self.filled(entry.span)
        return filled + Filled(" ") + query

    def filled(self, span: Span) -> Filled:
        """A part of the statement, in which names stand for the results of its parts."""
        inside = [part.span for part in self.statement.parts if _covers(span, part.span)]
        outermost = _outermost(inside)
        for part in self.statement.parts:
            if part.span in outermost and part.span not in self._done:
                self._done.add(part.span)
                self._run(part)
        filled, at = Filled(""), span.start
        for place in _outermost(place for place in self._edits if _covers(span, place)):
            filled += Filled.of(self.statement.text, Span(at, place.start))
            shown = self._relations.get(place, place)
            for piece in self._edits[place]:
                filled += self.filled(piece) if isinstance(piece, Span) else Filled.instead(piece, shown)
            at = place.end
        return filled + Filled.of(self.statement.text, Span(at, span.end))

    def _run(self, part: Part) -> None:
        if isinstance(part, Recognition):
            self._edits[part.span] = (called(part, self.recognize(part)),)
            return
        rows, schema = self.opened(part)
        opened = Opened(rows, schema, check_function(part, schema, self.options.ts_unit, self.statement.text))
        try:
            found, run = self._grouped(part, opened)
        except (UnfitError, QueryError) as error:
            check_number(part, self.statement.text)
            name = self.expand(part, opened)
            self._edits[part.span] = (called(part, name),)
            reason = str(error) if isinstance(error, UnfitError) else error.message
            self.told.append(Told(part, name, reason=f"not the window operator: {reason}"))
            return
        names = self._names(part, found, opened)
        self._edits |= {**found.edits, **names, part.span: (called(part, run()),)}

    def _grouped(self, function: WindowFunction, opened: Opened) -> tuple[Grouped, Callable[[], str]]:
        """The SELECT that the window operator answers, and what runs it for the name of its result."""
        select, level = self._around(function)
        found = find_grouped(select, level.text, level.place, self.statement, function, opened.schema.names)
        query = found.query
        if found.needs_time:
            earlier = "1" if not pa.types.is_timestamp(opened.time_type.arrow) else "INTERVAL '1' MICROSECOND"
            item = ReturnItem(parse_scalar(f"window_end - {earlier}"), Name("window_time"))
            query = replace(query, returns=(*query.returns, item))
        options = replace(
            self.options,
            ts=next(name for name in opened.schema.names if name.lower() == function.column.text.lower()),
            origin=function.offset or None,
            match_id=False,
            state_ttl=None,
            max_steps_per_partition=None,
        )
        return found, self.aggregate(function, query, options, opened)

    def _names(self, function: WindowFunction, found: Grouped, opened: Opened) -> dict[Span, Pieces]:
        """Results without a name are called after the text that the user wrote: the expanded rows tell how."""
        if not found.unnamed:
            return {}
        # Whatever the windows are, the columns are the same; sessions of a stream have no rows.
        plain = replace(function, windowing=replace(function.windowing, kind="time", slide=None))
        table = called(function, self.expand(plain, opened))
        self._edits[function.span] = (table,)
        try:
            whole = self.columns_of(self.after_with(self.filled(found.select), function))
            columns = [whole[at] for at in found.unnamed]
        except QueryError:
            # Another result may be what the SQL engine cannot compute.
            columns = [self._name_of(item, table) for item in found.unnamed.values()]
        finally:
            del self._edits[function.span]
        ends = [Span(item.end, item.end) for item in found.unnamed.values()]
        return {end: (" AS `" + name.replace("`", "``") + "`",) for end, name in zip(ends, columns, strict=True)}

    def _name_of(self, item: Span, table: str) -> str:
        try:
            return self.name_of(Filled("SELECT ") + self.filled(item) + Filled(f" FROM {table}"))
        except QueryError as error:
            raise unknown_name(self.statement.text, item) from error

    def _around(self, function: WindowFunction) -> tuple[exp.Expr | None, Filled]:
        """The SELECT in whose FROM a function stands, and the text that it was read from."""
        named = _Named(self.statement, self.options)
        outer = [part for part in self.statement.parts if _covers(part.relation_span, function.span)]
        level = min(outer, key=lambda part: part.span.end - part.span.start, default=None)
        filled = named.whole() if level is None else Filled("SELECT * FROM ") + named.relation(level)
        tree = parse_sql(filled, self.statement.text)
        for table in tree.find_all(exp.Table):
            if table.name == named.names.get(function.span) and isinstance(table.parent, exp.From):
                return table.parent.parent, filled
        return None, filled


def _covers(around: Span, span: Span) -> bool:
    return around.start <= span.start and span.end <= around.end


def _outermost(spans: Iterable[Span]) -> list[Span]:
    """Those that lie in no other one, in the order of the text."""
    given = sorted(set(spans), key=lambda span: (span.start, -span.end))
    found: list[Span] = []
    for span in given:
        is_inside = bool(found) and _covers(found[-1], span) and span.start < found[-1].end
        if not is_inside:
            found.append(span)
    return found


def called(part: Part, name: str) -> str:
    """A table in the place of a part, with the alias and the columns that it had."""
    alias = f" AS `{part.alias}`" if part.alias else ""
    columns = ", ".join(f"`{column}`" for column in part.columns)
    return f"{name}{alias}{f'({columns})' if columns else ''}"


class _Named(Filling):
    """A statement in which a name stands for each part."""

    def __init__(self, statement: Statement, options: Options) -> None:
        super().__init__(statement, options)
        self.names: dict[Span, str] = {}

    def _run(self, part: Part) -> None:
        self.names[part.span] = name = f"result_{len(self.names)}"
        self._edits[part.span] = (called(part, name),)


def check_syntax(statement: Statement) -> None:
    """Refuse what cannot be a query, whatever its tables are."""
    parse_sql(_Named(statement, Options()).whole(), statement.text)
