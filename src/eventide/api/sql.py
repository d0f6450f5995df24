"""What users call for SQL statements with MATCH_RECOGNIZE and windows: `ev.sql(...)`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from eventide.api.query import Inputs, Query
from eventide.engines.diagnose.result import Diagnosis, refuse_spark
from eventide.engines.filling import check_syntax
from eventide.engines.local.run import Run, size_bytes
from eventide.engines.local.sources import is_local, open_source
from eventide.engines.local.statement import explain_statement, run_statement
from eventide.errors import EventideError, InputError, UnsupportedError
from eventide.lang.rows import parse_statement
from eventide.lang.rows.tree import Statement
from eventide.plan.arguments import check_session, count_of
from eventide.plan.explain import outlined
from eventide.plan.options import NAMES, Options

_NO_TABLES = "needs the tables' columns: pass them to explain by name, or with --table name=path"
_OPTIONS = ("ts_unit", "state_ttl", "allowed_lateness", "match_id", "on_bad_event", "max_steps_per_partition")


def sql(
    text: str,
    *,
    spark: Any = None,
    ts_unit: str | None = None,
    state_ttl: Any = None,
    allowed_lateness: Any = None,
    match_id: bool = False,
    on_bad_event: str = "error",
    max_steps_per_partition: int | str | None = None,
    memory_limit: int | str | None = None,
    **tables: Any,
) -> Any:
    """The result of a SQL statement with MATCH_RECOGNIZE in it, or with TUMBLE, HOP, CUMULATE or SESSION.

    Tables are given by name. Spark DataFrames give a Spark DataFrame; all other tables give a pyarrow Table. With
    `spark`, Spark reads the paths, and looks up names that are not given in its catalog. `ts_unit` is the unit of an
    integer column that is a time: of ORDER BY, or of a DESCRIPTOR. `state_ttl`, `allowed_lateness`, `match_id`,
    `on_bad_event` and `max_steps_per_partition` are as in `match_recognize`. Without tables and without `spark` the
    result is the `Query`; its `run(ticks=ticks)` returns the rows.

    >>> import eventide as ev
    >>> ticks = [{"ts": i, "price": price} for i, price in enumerate([10, 8, 6, 7, 9, 5])]
    >>> ev.sql('''
    ...     SELECT bottom, up FROM ticks MATCH_RECOGNIZE (
    ...         ORDER BY ts
    ...         MEASURES LAST(DOWN.price) AS bottom, count(UP.*) AS up
    ...         PATTERN (DOWN+ UP+)
    ...         DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
    ...     )''', ticks=ticks).to_pylist()
    [{'bottom': 6, 'up': 2}]
    >>> ev.sql('''
    ...     SELECT window_start, max(price) AS highest FROM TUMBLE(TABLE ticks, DESCRIPTOR(ts), INTERVAL '4' SECOND)
    ...     GROUP BY window_start, window_end ORDER BY window_start''', ticks=ticks, ts_unit="s").to_pylist()
    [{'window_start': 0, 'highest': 10}, {'window_start': 4, 'highest': 9}]
    """
    options = Options.of(
        ts_unit=ts_unit,
        state_ttl=state_ttl,
        allowed_lateness=allowed_lateness,
        match_id=match_id,
        on_bad_event=on_bad_event,
        max_steps_per_partition=max_steps_per_partition,
    )
    query = StatementQuery("statement", text, _statement(text, tables), options)
    if not tables and spark is None:
        return query
    return query.run(spark=spark, memory_limit=memory_limit, **tables)


def explain_sql(text: str, *, spark: Any = None, **given: Any) -> str:
    """What a statement does, without running it. The arguments are those of `sql`.

    The text explains the statement, then each MATCH_RECOGNIZE as `match_recognize(...).explain` does, and each query of
    the window operator; the inner ones first. Only subqueries inside MEASURES and DEFINE are run, because their values
    are part of the program.

    >>> import eventide as ev
    >>> text = ev.explain_sql("SELECT n FROM t MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (A+))", t=[{"x": 1}])
    >>> print(text[: text.index("  Logical plan")])
    Query
      SELECT n FROM t MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (A+))
    Logical plan
      result_0    MATCH_RECOGNIZE over t (line 1)
      SELECT n FROM result_0
    Operator
      DuckDB runs the statement over these results
    result_0: MATCH_RECOGNIZE over t (line 1)
      Query
        MEASURES COUNT(*) AS n
        ONE ROW PER MATCH
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A+)
    <BLANKLINE>
    """
    options = {name: given.pop(name) for name in _OPTIONS if name in given}
    query = StatementQuery("statement", text, _statement(text, given), Options.of(**options))
    return query.explained(given, spark)


@dataclass(slots=True)
class StatementRun:
    """What the clauses of a statement saw, one after the other."""

    rows: Any = None
    clauses: list[Run] = field(default_factory=list)

    def metrics(self) -> dict[str, int]:
        """The counters of all clauses together."""
        total: dict[str, int] = {}
        for clause in self.clauses:
            for name, value in clause.metrics().items():
                total[name] = total.get(name, 0) + value
        return total


class StatementQuery(Query):
    """A statement; its inputs are tables by name."""

    def run(
        self,
        events: Any = None,
        *,
        engine: str | None = None,
        spark: Any = None,
        memory_limit: int | str | None = None,
        **inputs: Any,
    ) -> Any:
        limit_bytes = None if memory_limit is None else size_bytes(memory_limit)
        _, tables, on_spark = self._where("run", None, _tables(events, inputs), engine)
        self.last_run = StatementRun()
        if not (_is_on_spark(tables, spark) or on_spark):
            return run_statement(self.tree, tables, self.options, self.last_run.clauses, limit_bytes)
        from eventide.engines.spark.statement import run_statement as run_on_spark

        return run_on_spark(self.tree, *_on_spark(tables, spark), self.options)

    def batches(
        self,
        events: Any = None,
        *,
        engine: str | None = None,
        spark: Any = None,
        memory_limit: int | str | None = None,
        **inputs: Any,
    ) -> Iterator[pa.RecordBatch]:
        """The rows as record batches. In this process the result is held: the SQL engine may have to sort it."""
        rows = self.run(events, engine=engine, spark=spark, memory_limit=memory_limit, **inputs)
        return iter(rows.to_batches()) if isinstance(rows, pa.Table) else self._spark_batches(rows)

    def explain(self, events: Any = None, *, engine: str | None = None, spark: Any = None, **inputs: Any) -> str:
        tables = _tables(events, inputs)
        if not tables and spark is None:
            check_syntax(self.tree)
            return outlined(self._family, self.tree, self.options, _NO_TABLES)
        self._where("explain", None, tables, engine)
        return self.explained(tables, spark)

    def explained(self, inputs: Inputs, spark: Any) -> str:
        """What `explain` says of these tables, also of none."""
        _, tables, on_spark = self._where("explain", None, inputs, None)
        if not (_is_on_spark(tables, spark) or on_spark):
            return explain_statement(self.tree, tables, self.options)
        from eventide.engines.spark.statement import explain_statement as explain_on_spark

        return explain_on_spark(self.tree, *_on_spark(tables, spark), self.options)

    def diagnose(self, events: Any = None, *, partitions: int = 1000, **inputs: Any) -> Diagnosis:
        """Why the one MATCH_RECOGNIZE of the statement has no match: its table by name, or its rows alone."""
        from eventide.engines.diagnose.investigation import diagnose

        found = self.tree.recognitions
        if len(found) != 1 or not found[0].relation.strip().replace("_", "a").replace("`", "").isalnum():
            message = f"diagnose is for one MATCH_RECOGNIZE over a table; the statement has {len(found)}"
            if len(found) == 1:
                message = f"diagnose is for a MATCH_RECOGNIZE over a table, not over '{found[0].relation}'"
            raise UnsupportedError(message, hint="diagnose the clause alone, over the rows that it reads")
        name = found[0].relation.strip().strip("`")
        given = {key.lower(): rows for key, rows in inputs.items()}
        rows = given.get(name.lower()) if events is None else events
        if rows is None:
            raise InputError(f"diagnose needs the rows of '{name}'", hint=f"q.diagnose({name}=rows)")
        refuse_spark(rows)
        clause, n_examined = found[0].clause, count_of("partitions", partitions)
        return diagnose("rows", clause, self.options, open_source(rows), n_examined)

    def _check_inputs(self, method: str, events: Any, inputs: Inputs) -> None:
        """Which tables there are, the statement says."""


def _tables(events: Any, inputs: Inputs) -> dict[str, Any]:
    """The tables by name; one may be called events."""
    return dict(inputs) if events is None else {"events": events, **inputs}


def _statement(text: str, tables: Mapping[str, Any]) -> Statement:
    if not isinstance(text, str):
        raise EventideError(f"a statement is text, found {type(text).__name__}")
    for name, table in tables.items():
        if name == "close_at_end" and isinstance(table, bool):
            message = "MATCH_RECOGNIZE has no close_at_end: a match is made of rows, so the end leaves nothing open"
            raise EventideError(message, hint="leave it out")
        is_meant = name in NAMES and re.search(rf"\b{name}\b", text, re.IGNORECASE) is None
        if isinstance(table, bool | int | float) or is_meant:
            hint = f"{', '.join(_OPTIONS)} are options; all other names are tables"
            raise EventideError(f"ev.sql has no option '{name}'", hint=hint)
    return parse_statement(text)


def _is_on_spark(tables: Mapping[str, Any], spark: Any) -> bool:
    """Whether the statement runs on Spark; then all tables must be there."""
    if spark is None and all(is_local(table) for table in tables.values()):
        return False
    if spark is not None:
        check_session(spark, "a table cannot be called 'spark': pass it under another name")
    for name, table in tables.items():
        if is_local(table) and not isinstance(table, str | os.PathLike):
            raise InputError(f"'{name}' is no Spark DataFrame", hint=f"pass spark.createDataFrame({name})")
    return True


def _on_spark(tables: Mapping[str, Any], spark: Any) -> tuple[dict[str, Any], Any]:
    """The tables as DataFrames, those of a path read by Spark, and the session."""
    from eventide.engines.spark.run import read_frame

    if spark is None:
        spark = next(table for table in tables.values() if not is_local(table)).sparkSession
    frames = {name: read_frame(os.fspath(table), spark) if is_local(table) else table for name, table in tables.items()}
    return frames, spark
