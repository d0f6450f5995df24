"""A SQL statement with MATCH_RECOGNIZE in this process: DuckDB runs what is around, the operator what is inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from eventide.engines.complaints import complain, unknown_table
from eventide.engines.database import connect
from eventide.engines.file_types import readable
from eventide.engines.file_versions import check_versions
from eventide.engines.filled import Filled
from eventide.engines.lengths import with_lengths
from eventide.engines.local import run as local
from eventide.engines.local.complaints import complaint_of, place_of
from eventide.engines.local.sources import Attached, Source, attach
from eventide.engines.statements import (
    Filling,
    common_tables,
    named_tables,
    parse_sql,
    visible_names,
    without_subqueries,
)
from eventide.lang.rows.tree import Recognition, Statement
from eventide.plan.options import Options
from eventide.plan.rows.lower import prepare_rows


def run_statement(statement: Statement, tables: Mapping[str, Any], options: Options) -> pa.Table:
    """The result of a statement over tables by name."""
    return _Statement(statement, tables, options).run()


def explain_statement(statement: Statement, tables: Mapping[str, Any], options: Options) -> str:
    """What a statement does, as text; no row is matched."""
    return _Statement(statement, tables, options, is_dry=True).explained()


class _Statement(Filling):
    def __init__(
        self, statement: Statement, tables: Mapping[str, Any], options: Options, *, is_dry: bool = False
    ) -> None:
        super().__init__(statement)
        self.options = options
        self.is_dry = is_dry  # only subqueries in clauses are run: everything else needs no more than types
        self.connection = connect()
        self.tables: dict[str, str] = {}  # name in the statement -> what stands in FROM
        self.attached: dict[str, Attached] = {}
        for i, (name, events) in enumerate(tables.items()):
            self.attached[name] = attach(self.connection, f"table_{i}", events)
            self.tables[name] = self.attached[name].sql
        self.n_results = 0

    def run(self) -> pa.Table:
        return self._query(self.whole())

    def explained(self) -> str:
        text = self.explain("DuckDB")
        self._query(self.whole(), is_dry=True)
        return text

    def recognize(self, recognition: Recognition) -> str:
        """Run one MATCH_RECOGNIZE; the name under which DuckDB has its result."""
        name = f"result_{self.n_results}"
        self.n_results += 1
        source = self._source(recognition, f"{name}_rows")
        clause = without_subqueries(recognition.clause, lambda query: self._rows(self.after_with(query, recognition)))
        physical = prepare_rows(clause, source.schema, engine="local", options=self.options)
        self.planned.append((recognition, physical))
        table, _ = local.run(physical, source)
        self.connection.register(name, readable(table))
        self.tables[name] = name
        return name

    def _source(self, recognition: Recognition, name: str) -> Source:
        """What a relation holds; a table that was passed is read as it is, only the columns that are needed."""
        relation = self.relation(recognition)
        hidden = {entry.name.lower() for entry in common_tables(self.statement.text, recognition.span.start)}
        passed = {known.lower(): known for known in self.attached if known.lower() not in hidden}.get(
            relation.text.strip().strip("`").lower()
        )
        if passed is not None:
            source = self.attached[passed].source(self.connection)
            none = f"(SELECT * FROM {source.sql} LIMIT 0)"
            return replace(source, sql=none, n_rows=0, files=()) if self.is_dry else source
        rows = self._query(self.after_with(Filled("SELECT * FROM ") + relation, recognition), is_dry=self.is_dry)
        return attach(self.connection, name, rows).source(self.connection)

    def _rows(self, query: Filled) -> list[tuple[Any, ...]]:
        table = self._query(query)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def _query(self, filled: Filled, *, is_dry: bool = False) -> pa.Table:
        """The rows of a query; none if it is only to be checked."""
        tree = parse_sql(filled, self.statement.text)
        self._check_tables(tree, filled)
        named = named_tables(tree, self.tables)
        for table, name in named:
            table.set("this", _relation(self.tables[name]))
            if not table.alias:
                table.set("alias", _alias(name))
        sql = (tree.limit(0) if is_dry else tree).sql("duckdb")
        try:
            relation = self.connection.sql(sql)
            rows = with_lengths(_plain(relation.to_arrow_table(), [str(kind) for kind in relation.types]))
            check_versions(
                version for _, name in named if name in self.attached for version in self.attached[name].versions
            )
            return rows
        except duckdb.Error as error:
            complaint = complaint_of(error, {column for _, name in named for column in self._columns(name)})
            place = place_of(complaint, sql, filled, self.connection)
            raise complain(complaint, filled, self.statement.text, place) from error

    def _columns(self, name: str) -> list[str]:
        columns: list[str] = self.connection.sql(f"SELECT * FROM {self.tables[name]}").columns
        return columns

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


def _relation(sql: str) -> exp.Expression:
    """A registered table's name, or a call that reads files."""
    table = sqlglot.parse_one(f"SELECT * FROM {sql}", read="duckdb").find(exp.Table)
    assert table is not None
    relation: exp.Expression = table.this
    return relation


def _alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def _plain(table: pa.Table, kinds: list[str]) -> pa.Table:
    """Sums of integers, which are 128 bits wide in DuckDB, as Spark has them: BIGINT."""
    for i, (field, kind) in enumerate(zip(table.schema, kinds, strict=True)):
        if kind == "HUGEINT":
            try:
                table = table.set_column(i, field.name, table.column(i).cast(pa.int64()))
            except pa.ArrowInvalid:
                continue
    return table
