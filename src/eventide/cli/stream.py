"""`eventide stream`: a query that keeps running from Kafka or a folder to Kafka, a folder or the terminal."""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

import eventide as ev
from eventide.cli.job import Ends, Job, Metrics, Pace, Signals, run_job
from eventide.cli.options import Inline, PartitionBy, QueryFile, Ts, TsUnit, TypeColumn, grouped
from eventide.cli.stopping import stop_by_exception
from eventide.cli.texts import Text, read_query, read_text
from eventide.engines.addresses import Folder, Terminal, Topic, checkpoint_of, sink_of, source_of
from eventide.errors import EventideError, InputError, QueryError, hide_credentials


@dataclass(frozen=True, kw_only=True)
class Planning:
    """Options of the query, or of every rule."""

    ts: Ts = None
    ts_unit: TsUnit = None
    type: TypeColumn = None
    partition_by: PartitionBy = None
    allowed_lateness: Annotated[
        str | None, typer.Option(help="How much later than others an event may come: '10 seconds'.")
    ] = None
    max_matches_per_partition: Annotated[
        str | None, typer.Option(help="The most matches in one partition and batch, of every rule too; or unlimited.")
    ] = None
    max_steps_per_partition: Annotated[
        str | None, typer.Option(help="The most steps of a search in one partition and batch; or unlimited.")
    ] = None
    memory_limit: Annotated[
        str | None, typer.Option(help="With --rules: what one rule may hold in one bucket: '512MB'.")
    ] = None
    planning_limit: Annotated[
        str | None, typer.Option(help="With --rules: how long one rule may take to plan and compile: '5 seconds'.")
    ] = None

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


@grouped
def stream(
    query_file: QueryFile = None,
    *,
    inline: Inline = None,
    source: Annotated[str, typer.Option("--from", help="kafka://host:9092/topic, or a folder of files.")],
    sink: Annotated[str, typer.Option("--to", help="kafka://host:9092/topic, a folder, or - for the terminal.")],
    ends: Ends,
    rules: Annotated[Path | None, typer.Option(help="A folder of queries, instead of QUERY_FILE.")] = None,
    table: Annotated[str, typer.Option(help="What a SQL statement calls the stream.")] = "events",
    planning: Planning,
    pace: Pace,
    every: Annotated[
        float, typer.Option(min=0.1, metavar="<float>", help="Seconds between lines when this is not a terminal.")
    ] = 10.0,
    metrics: Metrics,
    as_json: Annotated[bool, typer.Option("--json", help="With --to -: print the rows as JSON, one a line.")] = False,
    conf: Annotated[list[str] | None, typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark.")] = None,
    log: Annotated[Path | None, typer.Option(help="Append what Spark prints to this file.")] = None,
) -> None:
    """Run a query over a stream, and show what happens.

    Ctrl-C or SIGTERM stops at the end of the batch. The same command goes on where it was stopped.
    """
    target = sink_of(sink, ends.to_format)
    if as_json and not isinstance(target, Terminal):
        raise InputError("--json prints the rows, so it goes with --to -", hint="--to-format json writes JSON files")
    if ends.registry_header and ends.format != "avro":
        raise InputError("--registry-header is for Avro records", hint="leave it out, or --format avro")
    given = planning.given()
    if rules is None and not given.keys().isdisjoint(("memory_limit", "planning_limit")):
        raise InputError("--memory-limit and --planning-limit are for --rules", hint="leave them out")
    if rules is not None:
        make_rows, ts = _rules(rules, query_file is not None or inline is not None, given), planning.ts
        title = str(rules)
    else:
        text = read_query(query_file, inline)
        make_rows, ts = rows_of(text, given, table, with_ids=isinstance(target, Topic))
        title = text.name
    read_from, checkpoint = source_of(source, ends.format), checkpoint_of(ends.checkpoint, target)
    checked = {"checkpoint": checkpoint, "schema": _schema(ends.schema), "trigger": _trigger(pace.trigger, pace.once)}
    options = {**vars(ends), **vars(pace), **vars(metrics), **checked}
    job = Job(title, make_rows, ts, read_from, target, dict(map(_setting, conf or [])), log, **options)
    _check_bad(job)
    _check_log(log)
    run_with_view(job, as_json=as_json, every=every)


def run_with_view(job: Job, *, as_json: bool, every: float) -> None:
    """Run the job, and say at the end what it did."""
    from eventide.cli.live_view import View
    from eventide.cli.screen import Screen

    stop_by_exception()
    view = View(job.title, str(job.source), str(job.sink), time.time(), shows_rows=not isinstance(job.sink, Terminal))
    with tempfile.TemporaryDirectory(prefix="eventide-stream-") as folder, Signals() as signals:
        screen = Screen(view, as_json=as_json, every=every)
        try:
            run_job(job, view, screen, signals, checkpoint=job.checkpoint or f"{folder}/checkpoint")
        finally:
            screen.close()
    print(f"{view.status}: {view.summary(time.time())}", file=sys.stderr)
    if view.n_bad and job.bad is None:
        print("what is wrong with bad records: the same command with --bad FOLDER writes them there", file=sys.stderr)
    if job.checkpoint is not None and not job.once:
        place = hide_credentials(job.checkpoint)
        print(f"the same command continues from here; the stream's place is kept in {place}", file=sys.stderr)


def rows_of(text: Text, given: dict[str, Any], table: str, *, with_ids: bool) -> tuple[Any, str | None]:
    """From the events' DataFrame to that of the rows, and the time column; the text is parsed before Spark starts."""
    if text.is_sql:
        return _statement(text.text, given, table, with_ids=with_ids), None
    query = ev.query(text.text, **given)
    if not with_ids or query.options.match_id:
        return (lambda events, spark: query.run(events)), query.options.ts
    with_id = query.altered(options=replace(query.options, match_id=True))
    return (lambda events, spark: _run_with_ids(with_id, query, events)), query.options.ts


def _run_with_ids(with_id: ev.Query, without: ev.Query, events: Any) -> Any:
    """Rows with a match_id, by which readers of a topic drop repeats; without, where the query can have none."""
    try:
        return with_id.run(events)
    except EventideError:
        return without.run(events)


def _statement(text: str, given: dict[str, Any], table: str, *, with_ids: bool) -> Any:
    from eventide.lang.rows import parse_statement

    parse_statement(text)
    for name in given:
        if name not in ("ts_unit", "allowed_lateness", "max_steps_per_partition"):
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} is for queries, and the file holds SQL", hint="write it in MATCH_RECOGNIZE")
    return lambda events, spark: ev.sql(text, spark=spark, match_id=with_ids, **given, **{table: events})


def _rules(folder: Path, has_query: bool, given: dict[str, Any]) -> Any:
    if has_query:
        raise InputError("a query and --rules are both given", hint="leave out one of them")
    if not folder.is_dir():
        raise InputError(f"there is no folder '{folder}'", hint="--rules takes a folder with a query in each file")
    rules = ev.RuleSet(str(folder), **given)
    return lambda events, spark: rules.run(events)


def _schema(given: str | None) -> str | None:
    """Columns as DDL; a text without a blank names a file."""
    if given is None or " " in given.strip():
        return given
    return " ".join(read_text("schema file", Path(given)).split())


def _trigger(given: str | None, once: bool) -> str | None:
    if given is None:
        return None
    if once:
        raise InputError("--once reads what is there and stops, so --trigger has nothing to say", hint="leave out one")
    from eventide.lang.durations import parse_length

    try:
        length = parse_length(given)
    except QueryError as error:
        raise InputError(f"--trigger '{given}': {error.message}", hint="for example --trigger '2 seconds'") from None
    if length.in_events or length.amount < 1000:
        raise InputError(f"--trigger '{given}' is not a time of at least a millisecond", hint="--trigger '2 seconds'")
    return given


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name):
        # Not what was found: it may hold a password.
        raise InputError("--conf takes name=value, found no name or no '='", hint="--conf spark.driver.memory=8g")
    return name, value


def _check_bad(job: Job) -> None:
    if job.bad is None:
        return
    if isinstance(job.source, Folder) and job.source.format not in ("json", "csv", None):
        what = "a parquet file" if job.source.format == "parquet" else "a table"
        raise InputError(f"{what} is read whole or not at all: there are no bad records", hint="leave out --bad")
    if isinstance(job.sink, Folder) and job.sink.path.rstrip("/") == job.bad.rstrip("/"):
        raise InputError("--bad and --to are the same folder", hint="name another for --bad")


def _check_log(log: Path | None) -> None:
    if log is not None and (log.is_dir() or not log.absolute().parent.is_dir()):
        raise InputError(f"cannot write the log '{log}'", hint="name a file in a folder that exists")
