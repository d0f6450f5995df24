"""The command line: `eventide run`, `sql`, `stream`, `check`, `explain`, `diagnose`, `timeline`, `generate`, `warm`.

Exit codes: 0 done; 2 the query or the input is wrong (one message); 130 stopped by Ctrl-C, 143 by SIGTERM; 1 anything
else.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from eventide.cli.queries import check, diagnose, progress, run, run_sql, say, sql_of, timeline
from eventide.cli.stopping import CODES, SAID, stop_by_exception
from eventide.cli.stream import stream
from eventide.errors import EventideError, EventideWarning, InputError, OutputError, StreamFailedError, is_of_spark

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # Rich's tables give flags a value and cut off addresses at 80 columns
    help="Complex event queries on files, embedded or on Spark.",
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        print(f"eventide {version('eventide')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _eventide(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(2)


app.command()(run)
app.command("sql", short_help="Run a SQL statement with MATCH_RECOGNIZE over files.")(run_sql)
app.command()(stream)
app.command(short_help="Parse and plan a query or a statement; nothing runs.")(check)
app.command("explain", help="The same as check.")(check)
app.command("sql-of", short_help="Print an event pattern as one SQL statement; nothing runs.")(sql_of)
app.command(short_help="Say why there is no match.")(diagnose)
app.command()(timeline)


@app.command()
def generate(
    name: Annotated[
        str, typer.Argument(help="activity, cars, checks, cluster, situations, stocks, traffic, transport or typed.")
    ],
    events: Annotated[int, typer.Option(help="How many events.")],
    output: Annotated[Path, typer.Option(help="The Parquet file to write.")],
    seed: Annotated[int, typer.Option(help="Equal seeds give equal events.")] = 0,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A generator parameter.")
    ] = None,
) -> None:
    """Write generated events to a Parquet file."""
    from eventide.generate import generate as generate_events

    parameters = dict(_parameter(text) for text in parameter or [])
    with progress(f"generating {events:,} events"):
        path = generate_events(name, events=events, output=output, seed=seed, **parameters)
    say(f"{events:,} events written to {path}")


@app.command(short_help="Compile ahead what queries of each kind share.")
def warm() -> None:
    """Compile ahead what queries of each kind share, and keep it: for container images and new machines."""
    from eventide.cli.warm import warm as compile_ahead

    stop_by_exception()
    compile_ahead()


def main() -> None:
    """What `eventide.__main__` runs: turns errors into messages and exit codes."""
    warnings.simplefilter("always", EventideWarning)
    warnings.showwarning = _show_warning
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except EventideError as error:
        _fail(_with_flags(error), 1 if isinstance(error, StreamFailedError | OutputError) else 2)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except SystemExit as stop:
        code = stop.code
    except BrokenPipeError:
        # Whoever read the rows has enough.
        _drop_standard_output()
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _drop_standard_output()
        _fail(os.strerror(error.errno), 1)
    except Exception as error:
        message = _message_of(error)
        if message is None:
            raise
        _fail(message)
    # Typer catches Ctrl-C itself, and returns the code.
    if code in CODES:
        say(SAID)
    sys.exit(code or 0)


_ARGUMENT = re.compile(r"\b(pass|give) (ts|ts_unit|type|partition_by|sequence) ?= ?")


def _with_flags(error: EventideError) -> str:
    """The message; where its hint names an argument of Python, it names the flag."""
    told = str(error)
    if error.hint is None:
        return told
    hint = _ARGUMENT.sub(lambda found: f"{found[1]} --{found[2].replace('_', '-')} ", error.hint)
    return told.removesuffix(error.hint) + hint


def _drop_standard_output() -> None:
    """Nothing more can be written, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_show_other = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """One of ours is a line, without the place in the program."""
    if issubclass(category, EventideWarning):
        say(f"Warning: {message}")
    else:
        _show_other(message, category, *place, **more)


def _fail(message: str, code: int = 2) -> NoReturn:
    if message:
        say(f"Error: {message}")
    sys.exit(code)


def _message_of(error: Exception) -> str | None:
    """What to say where Spark has failed, or the command's own words are wrong."""
    if hasattr(error, "format_message"):
        return str(error.format_message())
    if not is_of_spark(error):
        return None
    from eventide.engines.spark.errors import user_message

    return user_message(error)


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set takes name=value, found '{text}'")
    if name in ("name", "events", "output", "seed"):
        raise InputError(f"'{name}' is not a parameter of a generator", hint=f"write --{name} {value}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
