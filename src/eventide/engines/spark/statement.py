"""A SQL statement with MATCH_RECOGNIZE on Spark: `spark.sql` runs what is around, the operator what is inside."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from eventide.engines.spark.run import run_frame, run_path
from eventide.engines.statements import (
    Edit,
    called,
    inner_recognitions,
    named_tables,
    outer_recognitions,
    parse_sql,
    replace_spans,
    without_subqueries,
)
from eventide.errors import InputError
from eventide.lang.positions import span_of
from eventide.lang.rows.tree import Recognition, RowQuery, Statement
from eventide.lang.tree import Span
from eventide.plan.rows.lower import prepare_rows


def run_statement(
    statement: Statement, tables: Mapping[str, DataFrame], spark: SparkSession, ts_unit: str | None
) -> DataFrame:
    """The result of a statement; names that are not among `tables` are those of the catalog."""
    return _Statement(statement, tables, spark, ts_unit).run()


def recognize(frame: DataFrame, clause: RowQuery, ts_unit: str | None = None) -> DataFrame:
    """One MATCH_RECOGNIZE over a DataFrame."""
    return run_frame(frame, lambda schema: prepare_rows(clause, schema, engine="spark", ts_unit=ts_unit)).rows


def recognize_path(path: str, clause: RowQuery, spark: SparkSession, ts_unit: str | None = None) -> DataFrame:
    """One MATCH_RECOGNIZE over files, which the tasks read themselves where they can."""
    return run_path(path, lambda schema: prepare_rows(clause, schema, engine="spark", ts_unit=ts_unit), spark).rows


class _Statement:
    def __init__(
        self, statement: Statement, tables: Mapping[str, DataFrame], spark: SparkSession, ts_unit: str | None
    ) -> None:
        self.statement = statement
        self.tables = dict(tables)
        self.spark = spark
        self.ts_unit = ts_unit

    def run(self) -> DataFrame:
        outer = outer_recognitions(self.statement)
        return self._query(self._filled(0, len(self.statement.text), outer))

    def _filled(self, start: int, end: int, recognitions: list[Recognition]) -> str:
        edits: list[Edit] = []
        for recognition in recognitions:
            span = Span(recognition.span.start - start, recognition.span.end - start)
            edits.append((span, called(recognition, self._recognize(recognition))))
        return replace_spans(self.statement.text[start:end], edits)

    def _recognize(self, recognition: Recognition) -> str:
        start = recognition.span.start
        inner = inner_recognitions(self.statement, recognition)
        relation = self._filled(start, start + len(recognition.relation), inner)
        name = f"eventide_result_{len(self.tables)}"
        rows = self._query(f"SELECT * FROM {relation}")
        clause = without_subqueries(
            recognition.clause, lambda text: [tuple(row) for row in self._query(text).collect()]
        )
        self.tables[name] = recognize(rows, clause, self.ts_unit)
        return name

    def _query(self, text: str) -> DataFrame:
        """DataFrames go in by `{name}`: views would be gone, on Connect, before a lazy result is computed."""
        tree = parse_sql(text, self.statement.text)
        edits: list[Edit] = [(Span(i, i + 1), char * 2) for i, char in enumerate(text) if char in "{}"]
        used: dict[str, DataFrame] = {}
        for table, name in named_tables(tree, self.tables):
            placeholder = f"t{len(used)}"
            used[placeholder] = self.tables[name]
            alias = "" if table.alias else f" AS `{name}`"
            edits.append((span_of(table.this, Span(0, 0)), f"{{{placeholder}}}{alias}"))
        try:
            return self.spark.sql(replace_spans(text, edits), **used) if used else self.spark.sql(text)
        except Exception as error:
            if not type(error).__module__.startswith(("pyspark.", "py4j.")):
                raise
            raise InputError(f"the statement cannot run: {str(error).strip().splitlines()[0]}") from error
