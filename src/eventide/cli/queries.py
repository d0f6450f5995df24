"""`eventide run`, `sql`, `check`, `explain`, `diagnose`, `timeline`: what is done with one query over files.

What a command needs is loaded when it runs, so that `--help` comes at once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import eventide as ev
from eventide.cli.stopping import stop_by_exception
from eventide.cli.texts import Inline, QueryFile, Text, read_query
from eventide.errors import InputError
from eventide.plan.arguments import engine_of
from eventide.runtime.whole_files import check_place

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN_ROWS = 20
_WIDE = 10_000  # characters
_EVENTS = "events"  # what a statement calls the input where no table is named

InputPath = Annotated[
    str, typer.Option("--input", help="Events: a file, folder or pattern (parquet, csv, json, arrow).")
]
Tables = Annotated[
    list[str] | None, typer.Option("--table", metavar="NAME=PATH", help="A table of a SQL statement and its files.")
]
Ts = Annotated[str | None, typer.Option("--ts", help="The time column.")]
TsUnit = Annotated[str | None, typer.Option("--ts-unit", help="Unit of an integer time column: s, ms or us.")]
TypeColumn = Annotated[str | None, typer.Option("--type", help="The column that holds the event type.")]
PartitionBy = Annotated[str | None, typer.Option("--partition-by", help="The partition columns, with commas between.")]
Sequence = Annotated[str | None, typer.Option("--sequence", help="The column that orders events of one time.")]
CloseAtEnd = Annotated[
    bool, typer.Option("--close-at-end", help="Return what is open when the events end, as if all time were over.")
]
MaxMatches = Annotated[
    str | None,
    typer.Option("--max-matches-per-partition", help="The most matches of one partition, or unlimited."),
]
MaxSteps = Annotated[
    str | None,
    typer.Option("--max-steps-per-partition", help="The most steps of the search in one partition, or unlimited."),
]
Engine = Annotated[str, typer.Option(help="local (also called embedded) or spark.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the rows as JSON, one a line.")]
Output = Annotated[Path | None, typer.Option("--output", help="Write the rows here (.parquet, .csv or .jsonl).")]
Explain = Annotated[bool, typer.Option("--explain", help="Print the plan before running.")]
Checked = Annotated[str | None, typer.Option("--input", help="Check against these events' columns.")]


def run(
    query_file: QueryFile = None,
    *,
    input_path: InputPath,
    inline: Inline = None,
    ts: Ts = None,
    ts_unit: TsUnit = None,
    type_column: TypeColumn = None,
    partition_by: PartitionBy = None,
    sequence: Sequence = None,
    close_at_end: CloseAtEnd = False,
    max_matches: MaxMatches = None,
    max_steps: MaxSteps = None,
    engine: Engine = "local",
    output: Output = None,
    explain: Explain = False,
    as_json: AsJson = False,
) -> None:
    """Run a query over files and print or write its rows."""
    engine = _check_run(engine, output)
    given = read_query(query_file, inline)
    if given.is_sql:
        hint = f"eventide sql {_shown(query_file)} --table {_EVENTS}={input_path}"
        raise InputError(f"{given.name} is SQL, and run takes a query", hint=hint)
    options = _options(ts, ts_unit, type_column, partition_by, sequence, close_at_end)
    limits = {"max_matches_per_partition": max_matches, "max_steps_per_partition": max_steps}
    options |= {name: int(most) if most.isdecimal() else most for name, most in limits.items() if most is not None}
    query = ev.query(given.text, **options)
    if explain:
        # Beside machine-readable rows, the plan goes where the messages go.
        print(query.explain(input_path, engine=engine), file=sys.stderr if as_json else sys.stdout)
    started = time.perf_counter()
    with progress(f"running on the {engine} engine"):
        table = _collect(query, input_path, engine)
    _give_out(table, output, as_json, time.perf_counter() - started)


def run_sql(
    statement_file: QueryFile = None,
    *,
    table: Tables = None,
    inline: Inline = None,
    ts_unit: TsUnit = None,
    max_steps: MaxSteps = None,
    engine: Engine = "local",
    output: Output = None,
    explain: Explain = False,
    as_json: AsJson = False,
) -> None:
    """Run a SQL statement with MATCH_RECOGNIZE over files and print or write its rows."""
    engine = _check_run(engine, output)
    paths = _named_paths(table)
    given = read_query(statement_file, inline)
    options: dict[str, Any] = {"ts_unit": ts_unit, "max_steps_per_partition": max_steps}
    if explain:
        plan = ev.sql(given.text, **options).explain(**paths)
        print(plan, file=sys.stderr if as_json else sys.stdout)
    started = time.perf_counter()
    with progress(f"running on the {engine} engine"):
        rows = _collect_sql(given.text, paths, options, engine)
    _give_out(rows, output, as_json, time.perf_counter() - started)


def check(
    query_file: QueryFile = None,
    *,
    inline: Inline = None,
    input_path: Checked = None,
    table: Tables = None,
    ts: Ts = None,
    ts_unit: TsUnit = None,
    type_column: TypeColumn = None,
    partition_by: PartitionBy = None,
    sequence: Sequence = None,
    close_at_end: CloseAtEnd = False,
    engine: Engine = "local",
) -> None:
    """Parse and plan a query or a SQL statement, and print the plan; nothing runs.

    Without events only the text is checked.
    """
    engine = _check_run(engine, None)
    given = read_query(query_file, inline)
    options = _options(ts, ts_unit, type_column, partition_by, sequence, close_at_end)
    if not given.is_sql:
        if table:
            raise InputError("--table is for SQL statements", hint="--input names the events of a query")
        from eventide.plan.explain import NO_COLUMNS

        plan = ev.query(given.text, **options).explain(input_path, engine=engine)
        print(plan.replace(NO_COLUMNS, "needs the events' columns: name the events with --input"))
        return
    print(ev.sql(given.text, ts_unit=ts_unit).explain(**_tables(given, input_path, table, options)))


def diagnose(
    query_file: QueryFile = None,
    *,
    input_path: InputPath,
    inline: Inline = None,
    ts: Ts = None,
    ts_unit: TsUnit = None,
    type_column: TypeColumn = None,
    partition_by: PartitionBy = None,
    sequence: Sequence = None,
    close_at_end: CloseAtEnd = False,
    partitions: Annotated[int, typer.Option(min=1, metavar="<int>", help="How many partitions to tell about.")] = 5,
) -> None:
    """Say why there is no match: per partition how far its events lead, and what failed.

    A SQL statement must have one MATCH_RECOGNIZE over the table that --input stands for.
    """
    given = read_query(query_file, inline)
    options = _options(ts, ts_unit, type_column, partition_by, sequence, close_at_end)
    with progress("looking for the longest partial matches"):
        if given.is_sql:
            _tables(given, input_path, None, options)
            found = ev.sql(given.text, ts_unit=ts_unit).diagnose(input_path)
        else:
            found = ev.query(given.text, **options).diagnose(input_path)
    print(found.text(partitions, names=False))
    n_partitions = found.details.num_rows
    if n_partitions > partitions:
        print(f"\n--partitions {n_partitions} tells about all of them")


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
    ts: Ts = None,
    ts_unit: TsUnit = None,
    type_column: TypeColumn = None,
    partition_by: PartitionBy = None,
    sequence: Sequence = None,
    close_at_end: CloseAtEnd = False,
) -> None:
    """Draw the situations and matches of one partition as a page."""
    given = read_query(query_file, inline)
    if given.is_sql:
        raise InputError(f"{given.name} is SQL, and a timeline shows a query", hint="PATTERN ... in a query file")
    query = ev.query(given.text, **_options(ts, ts_unit, type_column, partition_by, sequence, close_at_end))
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


def _options(
    ts: str | None,
    ts_unit: str | None,
    type_column: str | None,
    partition_by: str | None,
    sequence: str | None,
    close_at_end: bool,
) -> dict[str, Any]:
    """The options that were given; a query may say so itself, so only what is asked for here is passed on."""
    columns = None if partition_by is None else [name.strip() for name in partition_by.split(",")]
    named = {"ts": ts, "ts_unit": ts_unit, "type": type_column, "partition_by": columns, "sequence": sequence}
    given: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    return {**given, "close_at_end": True} if close_at_end else given


def _check_run(engine: str, output: Path | None) -> str:
    """The engine that is meant."""
    meant = engine_of(engine) or "local"
    if output is not None:
        from eventide.show.report import WRITERS

        check_place(output, tuple(WRITERS))
    return meant


def _shown(path: Path | None) -> str:
    return "-c ..." if path is None else str(path)


def _tables(given: Text, input_path: str | None, tables: list[str] | None, options: dict[str, Any]) -> dict[str, Any]:
    """The tables of a statement; --input is the table `events`, as in `eventide stream`."""
    for name in options:
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


def _collect(query: ev.Query, path: str, engine: str) -> pa.Table:
    if engine == "local":
        return query.run(path)
    from eventide.engines.spark.session import session

    spark = session("eventide run")
    try:
        return query.run(path, engine="spark", spark=spark).toArrow()
    finally:
        spark.stop()


def _collect_sql(text: str, paths: dict[str, Any], options: dict[str, Any], engine: str) -> pa.Table:
    if engine == "local":
        return ev.sql(text, **options, **paths)
    from eventide.engines.spark.session import session

    spark = session("eventide sql")
    try:
        return ev.sql(text, spark=spark, **options, **paths).toArrow()
    finally:
        spark.stop()


def _give_out(table: pa.Table, output: Path | None, as_json: bool, seconds: float) -> None:
    """Write the rows, or print them."""
    from eventide.show.report import json_lines, write_rows

    if output is not None:
        write_rows(table, output)
        say(f"{_count(table)} written to {output} in {seconds:.1f} s")
    elif as_json:
        for line in json_lines(table):
            print(line)
    else:
        _print_table(table, seconds)


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
