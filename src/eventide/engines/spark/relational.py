"""A pattern as joins on Spark: one statement over the DataFrame, which no Python worker takes part in."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout

from pyspark.sql import DataFrame

from eventide.engines.spark.batch import project, rows_schema
from eventide.engines.spark.run import Run
from eventide.engines.spark.time_zone import in_utc
from eventide.plan.physical import Physical
from eventide.plan.relational.map_pattern import Mapped
from eventide.runtime.quoting import backticked

TABLE = "eventide_events"
_PYTHON = re.compile(r"\w*(?:EvalPython|MapInArrow|MapInPandas|PythonUDF|InPandas|InArrow)\w*")


def run(frame: DataFrame, mapped: Mapped, physical: Physical, reason: str) -> Run:
    """The rows of a batch DataFrame of events; the statement is one for what an operator would return."""
    found = _rows(frame, mapped)
    # As an operator returns them: in these types, and NULL is possible everywhere. The optimizer leaves nothing of it.
    kinds = [(backticked(field.name), field.dataType.simpleString()) for field in rows_schema(physical)]
    found = found.selectExpr(*(f"IF(TRUE, CAST({name} AS {kind}), NULL) AS {name}" for name, kind in kinds))
    return Run(project(found, physical), f"joins: {reason}")


def _rows(frame: DataFrame, mapped: Mapped) -> DataFrame:
    """The statement over a DataFrame; Spark fills in its name, with Connect, too."""
    spark = frame.sparkSession
    # What is in braces is a name for Spark.
    statement = mapped.statement.replace("{", "{{").replace("}", "}}")
    text = f"WITH {TABLE} AS (SELECT * FROM {{events}}) SELECT * FROM ({statement})"
    with in_utc(spark, [text]):
        return spark.sql(text, events=frame)


def plan_lines(rows: DataFrame) -> list[str]:
    """Spark's own plan, as it prints it, and whether a Python worker takes part in it."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        rows.explain()
    lines = [line for line in printed.getvalue().splitlines() if line.strip()]
    found = python_nodes(printed.getvalue())
    said = f"Python workers in this plan: {', '.join(found)}" if found else "no Python worker in this plan"
    return [*lines, said]


def python_nodes(plan: str) -> list[str]:
    """The nodes of a plan that a Python worker runs.

    >>> python_nodes("+- MapInArrow <lambda>(bucket#1)"), python_nodes("+- SortMergeJoin [key#1]")
    (['MapInArrow'], [])
    """
    return sorted(set(_PYTHON.findall(plan)))
