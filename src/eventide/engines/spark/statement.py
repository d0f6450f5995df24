"""A SQL statement on Spark: `spark.sql` runs what is around its parts, operators run the parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from eventide.engines.complaints import complain, unknown_table
from eventide.engines.filled import Filled
from eventide.engines.filling import Filling, Opened, Told
from eventide.engines.spark.complaints import complaint_of, place_of
from eventide.engines.spark.run import run_frame
from eventide.engines.spark.time_zone import in_utc
from eventide.engines.spark.types import arrow_schema
from eventide.engines.statements import (
    Edit,
    common_names,
    named_tables,
    parse_sql,
    replace_spans,
    told_in,
    without_subqueries,
)
from eventide.errors import EventideError, UnsupportedError, is_of_spark
from eventide.families.registry import family_named
from eventide.lang.doors import check_text
from eventide.lang.positions import span_of
from eventide.lang.rows.tree import Part, Recognition, Statement, WindowFunction
from eventide.lang.tree import Span, WindowQuery
from eventide.plan.options import Options
from eventide.plan.physical import Physical, Planned
from eventide.plan.statements.expand import Spark, expanded
from eventide.plan.statements.spark_text import check_paths, null_by_zero


def _braced(name: str) -> str:
    return name.replace("{", "{{").replace("}", "}}")


def run_statement(
    statement: Statement, tables: Mapping[str, DataFrame], spark: SparkSession, options: Options
) -> DataFrame:
    """The result of a statement; names that are not among `tables` are those of the catalog."""
    return _Statement(statement, tables, spark, options).run()


def explain_statement(
    statement: Statement, tables: Mapping[str, DataFrame], spark: SparkSession, options: Options
) -> str:
    """What a statement does, as text; only subqueries in clauses are run."""
    made = _Statement(statement, tables, spark, options)
    text = made.explain("Spark")
    made.run()
    return text


class _Statement(Filling):
    def __init__(
        self, statement: Statement, tables: Mapping[str, DataFrame], spark: SparkSession, options: Options
    ) -> None:
        super().__init__(statement, options)
        self.given = list(tables)
        self.tables = dict(tables)
        self.spark = spark

    def run(self) -> DataFrame:
        return self._query(self.whole())

    def recognize(self, recognition: Recognition) -> str:
        """Plan one MATCH_RECOGNIZE; the name of its result among the tables."""
        rows = self._relation(recognition)
        clause = without_subqueries(recognition.clause, lambda query: self._rows(self.after_with(query, recognition)))
        return self._result(recognition, "rows", clause, self.options, rows)

    def opened(self, function: WindowFunction) -> tuple[DataFrame, pa.Schema]:
        rows = self._relation(function)
        return rows, arrow_schema(rows.schema)

    def expand(self, function: WindowFunction, opened: Opened) -> str:
        if opened.rows.isStreaming and function.windowing.kind == "session":
            message = "Spark has no sessions of a stream as rows"
            raise UnsupportedError(message, hint="GROUP BY the columns of PARTITION BY, window_start and window_end")
        drop = self.options.on_bad_event == "drop"
        # Braces of names are not places of tables.
        columns = pa.schema([field.with_name(_braced(field.name)) for field in opened.schema])
        at, *keys = (replace(name, text=_braced(name.text)) for name in (function.column, *function.partition_by))
        braced = replace(function, column=at, partition_by=tuple(keys))
        text = expanded(braced, "{rows}", columns, opened.time_type, Spark(), drop=drop)
        with in_utc(self.spark, []):
            return self._named(self.spark.sql(text, rows=opened.rows))

    def aggregate(
        self, function: WindowFunction, query: WindowQuery, options: Options, opened: Opened
    ) -> Callable[[], str]:
        name = self._result(function, "windows", query, options, opened.rows)
        return lambda: name

    def columns_of(self, query: Filled) -> list[str]:
        return list(self._query(query).columns)

    def _relation(self, part: Part) -> DataFrame:
        return self._query(self.after_with(Filled("SELECT * FROM ") + self.relation(part), part))

    def _named(self, rows: DataFrame) -> str:
        name = f"eventide_result_{len(self.tables)}"
        self.tables[name] = rows
        return name

    def _result(self, part: Part, family: str, clause: Any, options: Options, rows: DataFrame) -> str:
        """Plan an operator over the rows; the name of its result."""
        made: list[Planned] = []

        def plan(schema: pa.Schema) -> Physical:
            made.append(family_named(family).plan(clause, options, schema, engine="spark", on_stream=rows.isStreaming))
            return made[-1].ready()

        name = self._named(run_frame(rows, plan).rows)
        query = part.clause if isinstance(part, Recognition) else clause
        self.told.append(Told(part, name, ("spark stream" if rows.isStreaming else "spark", made[-1]), query))
        return name

    def _rows(self, query: Filled) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._query(query).collect()]

    def _query(self, filled: Filled) -> DataFrame:
        """DataFrames go in by `{name}`: views would be gone, on Connect, before a lazy result is computed."""
        text, tree = filled.text, parse_sql(filled, self.statement.text)
        with told_in(filled, self.statement.text):
            check_text(text)
            check_paths(tree, text)
        edits: list[Edit] = [(Span(i, i + 1), char * 2) for i, char in enumerate(text) if char in "{}"]
        divisions = null_by_zero(tree, text)
        edits += divisions
        used: dict[str, DataFrame] = {}
        for table, name in named_tables(tree, self.tables):
            placeholder = f"t{len(used)}"
            used[placeholder] = self.tables[name]
            alias = "" if table.alias else f" AS `{name}`"
            edits.append((span_of(table.this, Span(0, 0)), f"{{{placeholder}}}{alias}"))
        try:
            with in_utc(self.spark, [text]):
                # Without tables Spark does not take braces for places of some.
                done = replace_spans(text, edits if used else divisions)
                rows = self.spark.sql(done, **used)
                if not divisions:
                    return rows
                # Columns without a name are called after the text: after the one that the user wrote.
                plain = replace_spans(text, [edit for edit in edits if edit not in divisions] if used else [])
                return rows.toDF(*self.spark.sql(plain, **used).columns)
        except Exception as error:
            if not is_of_spark(error):
                raise
            raise self._error(error, tree, filled, edits if used else divisions) from error

    def _error(self, error: Exception, tree: exp.Query, filled: Filled, edits: list[Edit]) -> EventideError:
        complaint, place = complaint_of(error), place_of(error, filled, edits)
        if complaint.message.startswith("unknown table"):
            known = {*self.given, *common_names(tree)}
            usage = "pass it by name, ev.sql(text, trades=df), or make it a view: df.createOrReplaceTempView('trades')"
            name = complaint.message.split("'")[1].split(".")[-1].lower()
            for table in tree.find_all(exp.Table):
                if table.name.lower() == name and name not in {known_name.lower() for known_name in known}:
                    return unknown_table(table, filled, self.statement.text, self.given, usage)
        return complain(complaint, filled, self.statement.text, place)
