"""A SQL statement in this process: DuckDB runs what is around its parts, operators run the parts."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from eventide.engines.complaints import complain, unknown_table
from eventide.engines.database import connect_confined
from eventide.engines.file_types import readable
from eventide.engines.file_versions import check_versions
from eventide.engines.filled import Filled
from eventide.engines.filling import Filling, Opened, Told
from eventide.engines.lengths import with_lengths
from eventide.engines.local import run as local
from eventide.engines.local.complaints import complaint_of, place_of
from eventide.engines.local.sources import Attached, Source, attach, source_schema
from eventide.engines.names import absolute, expand_path
from eventide.engines.statements import common_tables, parse_sql, told_in, visible_names, without_subqueries
from eventide.expressions.types import DURATION, column_type
from eventide.families.registry import family_named
from eventide.lang.rows.tree import Part, Recognition, Statement, WindowFunction
from eventide.lang.tree import WindowQuery
from eventide.plan.options import Options
from eventide.plan.physical import Planned
from eventide.plan.places import within_the_stack
from eventide.plan.statements.expand import DuckDB, expanded
from eventide.plan.statements.queries import name_of_result, write_statement
from eventide.plan.statements.tables import Table, Written
from eventide.plan.time_column import held_by


def run_statement(
    statement: Statement,
    tables: Mapping[str, Any],
    options: Options,
    seen: list[local.Run],
    memory_limit_bytes: int | None = None,
) -> pa.Table:
    """The result of a statement over tables by name; `seen` gets what each part saw."""
    made = _Statement(statement, tables, options, memory_limit_bytes=memory_limit_bytes)
    rows = made.run()
    seen += made.seen
    return rows


def explain_statement(statement: Statement, tables: Mapping[str, Any], options: Options) -> str:
    """What a statement does, as text; no row is matched."""
    return _Statement(statement, tables, options, is_dry=True).explained()


class _Statement(Filling):
    def __init__(
        self,
        statement: Statement,
        tables: Mapping[str, Any],
        options: Options,
        *,
        is_dry: bool = False,
        memory_limit_bytes: int | None = None,
    ) -> None:
        super().__init__(statement, options)
        self.seen: list[local.Run] = []
        self.memory_limit_bytes = memory_limit_bytes
        self.is_dry = is_dry  # only subqueries in clauses are run: everything else needs no more than types
        self.connection = connect_confined(_files(tables.values()))
        self.tables: dict[str, str] = {}  # name in the statement -> what stands in FROM
        self.attached: dict[str, Attached] = {}
        for i, (name, events) in enumerate(tables.items()):
            self.attached[name] = attach(self.connection, f"table_{i}", events)
            self.tables[name] = self.attached[name].sql
        self.schemas: dict[str, Table] = {}
        self.used: list[str] = []

    def run(self) -> pa.Table:
        return self._query(self.whole())

    def explained(self) -> str:
        text = self.explain("DuckDB")
        self._query(self.whole(), is_dry=True)
        return text

    def recognize(self, recognition: Recognition) -> str:
        """Run one MATCH_RECOGNIZE; the name under which DuckDB has its result."""
        name = self._next_name()
        source = self._source(recognition, f"{name}_rows")
        clause = without_subqueries(recognition.clause, lambda query: self._rows(self.after_with(query, recognition)))
        planned = family_named("rows").plan(clause, self.options, held_by(source.schema, "sql"))
        self.told.append(Told(recognition, name, ("local", planned), recognition.clause))
        return self._result(name, planned, source)

    def opened(self, function: WindowFunction) -> tuple[Source, pa.Schema]:
        source = self._source(function, self._next_name("rows"))
        return source, source.schema

    def expand(self, function: WindowFunction, opened: Opened) -> str:
        name, drop = self._next_name("expanded"), self.options.on_bad_event == "drop"
        sql = expanded(function, opened.rows.sql, opened.schema, opened.time_type, DuckDB(), drop=drop)
        self.tables[name] = f"({sql})"
        return name

    def aggregate(
        self, function: WindowFunction, query: WindowQuery, options: Options, opened: Opened
    ) -> Callable[[], str]:
        planned = family_named("windows").plan(query, options, held_by(opened.schema, "sql"))
        planned.ready()

        def run() -> str:
            name = self._next_name()
            self.told.append(Told(function, name, ("local", planned), query))
            return self._result(name, planned, opened.rows)

        return run

    def columns_of(self, query: Filled) -> list[str]:
        return [name for name, _ in self._written(query).columns]

    def name_of(self, query: Filled) -> str:
        tree = parse_sql(query, self.statement.text)
        assert isinstance(tree, exp.Select)
        return name_of_result(tree, self._known(), query.text)

    def _next_name(self, what: str = "result") -> str:
        """A name that no table has."""
        taken = {name.lower() for name in (*self.tables, *self.used)}
        name = next(name for n in count() if (name := f"{what}_{n}") not in taken)
        self.used.append(name)
        return name

    def _result(self, name: str, planned: Planned, source: Source) -> str:
        """Run an operator; its rows are a table under the name."""
        table, seen = local.run(planned.ready(), source, self.memory_limit_bytes)
        self.seen.append(seen)
        self.connection.register(name, readable(table))
        self.tables[name] = name
        return name

    def _source(self, part: Part, name: str) -> Source:
        """What a relation holds; a table that was passed is read as it is, only the columns that are needed."""
        relation = self.relation(part)
        hidden = {entry.name.lower() for entry in common_tables(self.statement.tokens, part.span.start)}
        passed = {known.lower(): known for known in self.attached if known.lower() not in hidden}.get(
            relation.text.strip().strip("`").lower()
        )
        if passed is not None:
            source = self.attached[passed].source(self.connection)
            none = f"(SELECT * FROM {source.sql} LIMIT 0)"
            return replace(source, sql=none, n_rows=0, files=()) if self.is_dry else source
        rows = self._query(self.after_with(Filled("SELECT * FROM ") + relation, part), is_dry=self.is_dry)
        return attach(self.connection, name, rows).source(self.connection)

    def _rows(self, query: Filled) -> list[tuple[Any, ...]]:
        table = self._query(query)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def _query(self, filled: Filled, *, is_dry: bool = False) -> pa.Table:
        """The rows of a query; none if it is only to be checked."""
        written = self._written(filled)
        sql = _in_numbers(written)
        sql = f"SELECT * FROM ({sql}) LIMIT 0" if is_dry else sql
        try:
            rows = with_lengths(_shown(self.connection.sql(sql).to_arrow_table(), written))
            check_versions(version for attached in self.attached.values() for version in attached.versions)
            return rows
        except duckdb.Error as error:
            complaint = complaint_of(error)
            place = place_of(complaint, sql, filled, self.connection)
            raise complain(complaint, filled, self.statement.text, place) from error

    def _written(self, filled: Filled) -> Written:
        tree = parse_sql(filled, self.statement.text)
        self._check_tables(tree, filled)
        with told_in(filled, self.statement.text), within_the_stack(filled.text):
            return write_statement(tree, self._known(), filled.text)

    def _known(self) -> dict[str, Table]:
        """The tables by name, with the types that DuckDB gives them."""
        known = {}
        for name, sql in self.tables.items():
            if name not in self.schemas:
                given = self.attached[name].given if name in self.attached else None
                names = tuple(self.connection.sql(f"SELECT * FROM {sql}").columns)
                self.schemas[name] = Table(sql, source_schema(self.connection, sql, given), names)
            known[name.lower()] = self.schemas[name]
        return known

    def _check_tables(self, tree: exp.Query, filled: Filled) -> None:
        """Refuse unknown tables: DuckDB would take them for files, or for variables of ours."""
        known = {name.lower() for name in self.tables}
        usage = "pass the tables by name: ev.sql(text, trades=table)"
        for table in tree.find_all(exp.Table):
            is_plain = not table.db and not table.catalog
            if isinstance(table.this, exp.Identifier) and not (
                is_plain and table.name.lower() in visible_names(table) | known
            ):
                raise unknown_table(table, filled, self.statement.text, self.attached, usage)


def _files(tables: Iterable[Any]) -> list[str]:
    """The files among the inputs, all that a statement may read; also as DuckDB takes a name with brackets in it."""
    paths = [os.fspath(table) for table in tables if isinstance(table, str | os.PathLike)]
    files = [absolute(file) for path in paths for file in expand_path(path)]
    return list(dict.fromkeys(name for file in files for name in (file, glob.escape(file))))


def _in_numbers(written: Written) -> str:
    """The statement with durations as microseconds: all that DuckDB has for them otherwise are intervals."""
    if not any(column_type(dtype) == DURATION for _, dtype in written.columns):
        return written.sql
    names = [f"c{i}" for i in range(len(written.columns))]
    items = (
        f"epoch_us({name})" if column_type(dtype) == DURATION else name
        for name, (_, dtype) in zip(names, written.columns, strict=True)
    )
    return f"SELECT {', '.join(items)} FROM ({written.sql}) AS q({', '.join(names)})"


def _shown(table: pa.Table, written: Written) -> pa.Table:
    """The rows under the names and in the types that they have on Spark."""
    for i, (_, dtype) in enumerate(written.columns):
        if column_type(dtype) == DURATION:
            table = table.set_column(i, table.field(i).name, table.column(i).cast(DURATION))
    return table.rename_columns([name for name, _ in written.columns])
