"""The command line: `eventide run`, `sql`, `stream`, `check`, `generate`.

Exit codes: 0 done; 2 the query or the input is wrong (one message); 1 anything else.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import pyarrow as pa
import typer
from rich.console import Console

from eventide import api, recognition
from eventide.cli_stream import stream
from eventide.errors import EventideError, InputError, StreamFailedError
from eventide.generate import generate as generate_events
from eventide.plan.arguments import engine_of
from eventide.report import as_table, check_output, json_lines, write_rows

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Complex event queries on files, embedded or on Spark.",
)
_err = Console(stderr=True, highlight=False)
_SHOWN_ROWS = 20
_WIDE = 10_000  # characters

QueryFile = Annotated[Path, typer.Argument(help="A file with one query.")]
InputPath = Annotated[
    str, typer.Option("--input", help="Events: a file, folder or pattern (parquet, csv, json, arrow).")
]
Ts = Annotated[str | None, typer.Option("--ts", help="The time column.")]
TsUnit = Annotated[str | None, typer.Option("--ts-unit", help="Unit of an integer time column: s, ms or us.")]
TypeColumn = Annotated[str | None, typer.Option("--type", help="The column that holds the event type.")]
Engine = Annotated[str, typer.Option(help="local (also called embedded) or spark.")]
CloseAtEnd = Annotated[
    bool, typer.Option("--close-at-end", help="Return what is open when the events end, as if all time were over.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the rows as JSON, one a line.")]
Output = Annotated[Path | None, typer.Option("--output", help="Write the rows here (.parquet, .csv or .jsonl).")]


@app.command()
def run(
    query_file: QueryFile,
    input_path: InputPath,
    ts: Ts = None,
    ts_unit: TsUnit = None,
    type_column: TypeColumn = None,
    engine: Engine = "local",
    output: Output = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the plan before running.")] = False,
    close_at_end: CloseAtEnd = False,
    as_json: AsJson = False,
) -> None:
    """Run a query over files and print or write its rows."""
    engine = _check_run(engine, output)
    # A query may say so itself: only what is asked for here is passed on.
    closing = {"close_at_end": True} if close_at_end else {}
    query = api.query(_read_query(query_file), ts=ts, ts_unit=ts_unit, type=type_column, **closing)
    if explain:
        # Beside machine-readable rows, the plan goes where the messages go.
        print(query.explain(input_path, engine=engine), file=sys.stderr if as_json else sys.stdout)
    started = time.perf_counter()
    with _progress(f"running on the {engine} engine"):
        table = _collect(query, input_path, engine)
    _give_out(table, output, as_json, time.perf_counter() - started)


@app.command("sql")
def run_sql(
    statement_file: Annotated[Path, typer.Argument(help="A file with one SQL statement.")],
    table: Annotated[
        list[str] | None, typer.Option("--table", help="A table of the statement and its files, as name=path.")
    ] = None,
    ts_unit: TsUnit = None,
    engine: Engine = "local",
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Run a SQL statement with MATCH_RECOGNIZE over files and print or write its rows."""
    engine = _check_run(engine, output)
    paths = dict(_named_path(text) for text in table or [])
    text = _read_query(statement_file)
    started = time.perf_counter()
    with _progress(f"running on the {engine} engine"):
        rows = _collect_sql(text, paths, ts_unit, engine)
    _give_out(rows, output, as_json, time.perf_counter() - started)


app.command()(stream)


def _check_run(engine: str, output: Path | None) -> str:
    """The engine that is meant."""
    meant = engine_of(engine) or "local"
    if output is not None:
        check_output(output)
    return meant


def _give_out(table: pa.Table, output: Path | None, as_json: bool, seconds: float) -> None:
    """Write the rows, or print them."""
    if output is not None:
        write_rows(table, output)
        _say(f"{table.num_rows:,} rows written to {output} in {seconds:.1f} s")
    elif as_json:
        for line in json_lines(table):
            print(line)
    else:
        _print_table(table, seconds)


@app.command()
def check(
    query_file: QueryFile,
    input_path: Annotated[str | None, typer.Option("--input", help="Check against these events' columns.")] = None,
    ts: Ts = None,
    ts_unit: TsUnit = None,
    type_column: TypeColumn = None,
) -> None:
    """Parse and plan a query; nothing runs."""
    query = api.query(_read_query(query_file), ts=ts, ts_unit=ts_unit, type=type_column)
    print(query.explain(input_path))


@app.command()
def generate(
    name: Annotated[
        str, typer.Argument(help="activity, cars, checks, cluster, situations, stocks, transport or typed.")
    ],
    events: Annotated[int, typer.Option(help="How many events.")],
    output: Annotated[Path, typer.Option(help="The Parquet file to write.")],
    seed: Annotated[int, typer.Option(help="Equal seeds give equal events.")] = 0,
    parameter: Annotated[list[str] | None, typer.Option("--set", help="A generator parameter, as name=value.")] = None,
) -> None:
    """Write generated events to a Parquet file."""
    parameters = dict(_parameter(text) for text in parameter or [])
    with _progress(f"generating {events:,} events"):
        path = generate_events(name, events=events, output=output, seed=seed, **parameters)
    _say(f"{events:,} events written to {path}")


def main() -> None:
    """The entry point: turns errors into messages and exit codes."""
    try:
        app(standalone_mode=False)
    except EventideError as error:
        _fail(str(error), 1 if isinstance(error, StreamFailedError) else 2)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        _say("stopped")
        sys.exit(1)
    except BrokenPipeError:
        # Whoever read the rows has enough; nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        message = _message_from_spark(error)
        if message is not None:
            _fail(message)
        if hasattr(error, "format_message"):  # a mistake in the command's own words
            _fail(error.format_message())
        raise


def _fail(message: str, code: int = 2) -> NoReturn:
    _say(f"Error: {message}")
    sys.exit(code)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _message_from_spark(error: Exception) -> str | None:
    if not type(error).__module__.startswith(("pyspark", "py4j")):
        return None
    from eventide.engines.spark.errors import user_message

    return user_message(error)


def _read_query(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read the query file '{path}': {reason}") from error


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set takes name=value, found '{text}'")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _collect(query: api.Query, path: str, engine: str) -> pa.Table:
    if engine == "local":
        return query.run(path)
    from eventide.engines.spark.session import session

    spark = session("eventide run")
    try:
        return query.run(path, engine="spark", spark=spark).toArrow()
    finally:
        spark.stop()


def _named_path(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not (equals and name and path):
        raise InputError(f"--table takes name=path, found '{text}'", hint="for example --table trades=trades.parquet")
    return name, path


def _collect_sql(text: str, paths: dict[str, Any], ts_unit: str | None, engine: str) -> pa.Table:
    if engine == "local":
        return recognition.sql(text, ts_unit=ts_unit, **paths)
    from eventide.engines.spark.run import read_frame
    from eventide.engines.spark.session import session

    spark = session("eventide sql")
    try:
        frames = {name: read_frame(path, spark) for name, path in paths.items()}
        return recognition.sql(text, spark=spark, ts_unit=ts_unit, **frames).toArrow()
    finally:
        spark.stop()


@contextmanager
def _progress(what: str) -> Iterator[None]:
    """A spinner on a terminal, plain lines elsewhere."""
    if _err.is_terminal:
        with _err.status(what):
            yield
        return
    _say(f"{what} ...")
    yield


def _print_table(rows: pa.Table, seconds: float) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDE  # nothing says how wide a file or a pipe is
    console.print(as_table(rows.slice(0, _SHOWN_ROWS)))
    more = f", the first {_SHOWN_ROWS} shown" if rows.num_rows > _SHOWN_ROWS else ""
    print(f"{rows.num_rows:,} rows{more} ({seconds:.1f} s)")


if __name__ == "__main__":
    main()
