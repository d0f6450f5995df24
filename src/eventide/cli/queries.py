"""`eventide run`, `sql`, `check`, `explain`, `diagnose`, `timeline`: what is done with one query over files.

What a command needs is loaded when it runs, so that `--help` comes at once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import eventide as ev
from eventide.cli.options import (
    Engine,
    Inline,
    InputPath,
    MaxSteps,
    Plan,
    QueryFile,
    Reading,
    Rows,
    Tables,
    TsUnit,
    grouped,
)
from eventide.cli.stopping import stop_by_exception
from eventide.cli.texts import Text, read_query
from eventide.errors import InputError
from eventide.plan.arguments import engine_of
from eventide.runtime.whole_files import check_place

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN_ROWS = 20
_WIDE = 10_000  # characters
_EVENTS = "events"  # what a statement calls the input where no table is named


@grouped
def run(
    query_file: QueryFile = None,
    *,
    input_path: InputPath,
    inline: Inline = None,
    reading: Reading,
    max_matches: Annotated[
        str | None,
        typer.Option("--max-matches-per-partition", help="The most matches of one partition, or unlimited."),
    ] = None,
    max_steps: MaxSteps = None,
    plan: Plan = None,
    engine: Engine = "local",
    rows: Rows,
) -> None:
    """Run a query over files and print or write its rows."""
    engine = _check_run(engine, rows.output)
    given = read_query(query_file, inline)
    if given.is_sql:
        hint = f"eventide sql {'-c ...' if query_file is None else query_file} --table {_EVENTS}={input_path}"
        raise InputError(f"{given.name} is SQL, and run takes a query", hint=hint)
    limits = {"max_matches_per_partition": max_matches, "max_steps_per_partition": max_steps}
    most = {name: int(most) if most.isdecimal() else most for name, most in limits.items() if most is not None}
    query = ev.query(given.text, **reading.given(), **most)
    if rows.explain:
        _print_plan(query.explain(input_path, engine=engine, plan=plan), rows)
    _give_out(rows, "run", engine, lambda spark: query.run(input_path, engine=engine, spark=spark, plan=plan))


@grouped
def run_sql(
    statement_file: QueryFile = None,
    *,
    table: Tables = None,
    inline: Inline = None,
    ts_unit: TsUnit = None,
    max_steps: MaxSteps = None,
    engine: Engine = "local",
    rows: Rows,
) -> None:
    """Run a SQL statement with MATCH_RECOGNIZE over files and print or write its rows."""
    engine = _check_run(engine, rows.output)
    paths = _named_paths(table)
    text = read_query(statement_file, inline).text
    options: dict[str, Any] = {"ts_unit": ts_unit, "max_steps_per_partition": max_steps}
    if rows.explain:
        _print_plan(ev.sql(text, **options).explain(**paths), rows)
    _give_out(rows, "sql", engine, lambda spark: ev.sql(text, spark=spark, **options, **paths))


@grouped
def check(
    query_file: QueryFile = None,
    *,
    inline: Inline = None,
    input_path: Annotated[str | None, typer.Option("--input", help="Check against these events' columns.")] = None,
    table: Tables = None,
    reading: Reading,
    plan: Plan = None,
    engine: Engine = "local",
) -> None:
    """Parse and plan a query or a SQL statement, and print the plan; nothing runs.

    Without events only the text is checked.
    """
    engine = _check_run(engine, None)
    given = read_query(query_file, inline)
    if not given.is_sql:
        if table:
            raise InputError("--table is for SQL statements", hint="--input names the events of a query")
        from eventide.plan.explain import NO_COLUMNS

        text = ev.query(given.text, **reading.given()).explain(input_path, engine=engine, plan=plan)
        print(text.replace(NO_COLUMNS, "needs the events' columns: name the events with --input"))
        return
    print(ev.sql(given.text, ts_unit=reading.ts_unit).explain(**_tables(given, input_path, table, reading)))


@grouped
def sql_of(
    query_file: QueryFile = None,
    *,
    input_path: InputPath,
    inline: Inline = None,
    reading: Reading,
    dialect: Annotated[str, typer.Option("--dialect", help="spark or duckdb.")] = "spark",
    table: Annotated[str, typer.Option("--table", help="What the statement calls the events.")] = _EVENTS,
) -> None:
    """Print an event pattern as one SQL statement of joins, unions and window functions; nothing runs."""
    given = read_query(query_file, inline)
    if given.is_sql:
        raise InputError(f"{given.name} is SQL already", hint="PATTERN ... in a query file")
    print(ev.query(given.text, **reading.given()).to_sql(dialect, input_path, table=table))


@grouped
def diagnose(
    query_file: QueryFile = None,
    *,
    input_path: InputPath,
    inline: Inline = None,
    reading: Reading,
    partitions: Annotated[int, typer.Option(min=1, metavar="<int>", help="How many partitions to tell about.")] = 5,
) -> None:
    """Say why there is no match: per partition how far its events lead, and what failed.

    A SQL statement must have one MATCH_RECOGNIZE over the table that --input stands for.
    """
    given = read_query(query_file, inline)
    with progress("looking for the longest partial matches"):
        if given.is_sql:
            _tables(given, input_path, None, reading)
            found = ev.sql(given.text, ts_unit=reading.ts_unit).diagnose(input_path)
        else:
            found = ev.query(given.text, **reading.given()).diagnose(input_path)
    print(found.text(partitions, names=False))
    n_partitions = found.details.num_rows
    if n_partitions > partitions:
        print(f"\n--partitions {n_partitions} tells about all of them")


@grouped
def timeline(
    query_file: QueryFile = None,
    *,
    input_path: InputPath,
    output: Annotated[Path, typer.Option("--output", help="The page to write (.html), or the picture (.svg).")],
    inline: Inline = None,
    partition: Annotated[
        list[str] | None, typer.Option("--partition", metavar="COLUMN=VALUE", help="The partition to draw.")
    ] = None,
    values: Annotated[
        list[str] | None, typer.Option("--values", metavar="COLUMN", help="A column of the events to draw as a line.")
    ] = None,
    reading: Reading,
) -> None:
    """Draw the situations and matches of one partition as a page."""
    given = read_query(query_file, inline)
    if given.is_sql:
        raise InputError(f"{given.name} is SQL, and a timeline shows a query", hint="PATTERN ... in a query file")
    query = ev.query(given.text, **reading.given())
    chosen = dict(_named(text, "--partition takes column=value", "--partition car_id=7") for text in partition or [])
    with progress("drawing"):
        ev.timeline(query=query, events=input_path, partition=chosen or None, values=values or [], path=output)
    say(f"drawn in {output}")


def say(message: str) -> None:
    """A line for the person, beside the rows."""
    print(message, file=sys.stderr, flush=True)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """A spinner on a terminal, plain lines elsewhere. Here the work begins."""
    from rich.console import Console

    stop_by_exception()
    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        with console.status(what):
            yield
        return
    say(f"{what} ...")
    yield


def _check_run(engine: str, output: Path | None) -> str:
    """The engine that is meant."""
    meant = engine_of(engine) or "local"
    if output is not None:
        from eventide.show.report import WRITERS

        check_place(output, tuple(WRITERS))
    return meant


def _tables(given: Text, input_path: str | None, tables: list[str] | None, reading: Reading) -> dict[str, Any]:
    """The tables of a statement; --input is the table `events`, as in `eventide stream`."""
    for name in reading.given():
        if name != "ts_unit":
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} is for queries, and {given.name} is SQL", hint="write it in MATCH_RECOGNIZE")
    return {**({} if input_path is None else {_EVENTS: input_path}), **_named_paths(tables)}


def _named_paths(tables: list[str] | None) -> dict[str, Any]:
    return dict(_named(text, "--table takes name=path", "--table trades=trades.parquet") for text in tables or [])


def _named(text: str, usage: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name and value):
        raise InputError(f"{usage}, found '{text}'", hint=f"for example {example}")
    return name, value


def _print_plan(plan: str, rows: Rows) -> None:
    """Beside machine-readable rows, the plan goes where the messages go."""
    print(plan, file=sys.stderr if rows.as_json else sys.stdout)


def _give_out(rows: Rows, command: str, engine: str, compute: Callable[[Any], Any]) -> None:
    """Compute the rows, with a session where Spark does, and write or print them."""
    started = time.perf_counter()
    with progress(f"running on the {engine} engine"):
        table = compute(None) if engine == "local" else _on_spark(command, compute)
    seconds = time.perf_counter() - started
    from eventide.show.report import json_lines, write_rows

    if rows.output is not None:
        write_rows(table, rows.output)
        say(f"{_count(table)} written to {rows.output} in {seconds:.1f} s")
    elif rows.as_json:
        for line in json_lines(table):
            print(line)
    else:
        _print_table(table, seconds)


def _on_spark(command: str, compute: Callable[[Any], Any]) -> pa.Table:
    from eventide.engines.spark.session import session

    spark = session(f"eventide {command}")
    try:
        return compute(spark).toArrow()
    finally:
        spark.stop()


def _print_table(rows: pa.Table, seconds: float) -> None:
    from rich.console import Console

    from eventide.show.report import as_table

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDE  # nothing says how wide a file or a pipe is
    console.print(as_table(rows.slice(0, _SHOWN_ROWS)))
    more = f", the first {_SHOWN_ROWS} shown" if rows.num_rows > _SHOWN_ROWS else ""
    print(f"{_count(rows)}{more} ({seconds:.1f} s)")


def _count(rows: pa.Table) -> str:
    return f"{rows.num_rows:,} row{'' if rows.num_rows == 1 else 's'}"
