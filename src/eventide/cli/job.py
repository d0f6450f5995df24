"""A stream that is kept running: started, watched, restarted when a broker was away, stopped at a batch's end."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eventide.api.metrics import ADDRESS
from eventide.engines.addresses import Folder, Terminal, Topic, check_brokers
from eventide.errors import BrokerAwayError, EventideError, InputError, StreamFailedError, is_of_spark

if TYPE_CHECKING:
    from eventide.cli.live_view import View
    from eventide.cli.screen import Screen

_TICK_SECONDS = 0.25
_LAST_ROWS = 5
_STOP_SECONDS = 120.0
_RECENT = "spark.sql.streaming.numRecentProgressUpdates"  # all of them are read at every tick


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Options of what a stream reads and writes."""

    checkpoint: Annotated[
        str | None,
        typer.Option(help="Where the stream keeps its place and state. Default: TO.checkpoint beside a folder."),
    ] = None
    schema: Annotated[
        str | None, typer.Option(help='The events\' columns: "user string, ts timestamp", or a file with that.')
    ] = None
    format: Annotated[
        str | None, typer.Option(help="Of Kafka's records: json, avro or raw. Of files: parquet, json or csv.")
    ] = None
    registry_header: Annotated[
        bool, typer.Option("--registry-header", help="Five bytes of a schema registry come before each Avro record.")
    ] = False
    to_format: Annotated[str | None, typer.Option(help="Of the files that are written: parquet, json or csv.")] = None
    bad: Annotated[str | None, typer.Option(help="A folder for the records that are not events.")] = None


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Options of when a stream runs, and how much at once."""

    trigger: Annotated[str | None, typer.Option(help="How often a batch begins: '2 seconds'.")] = None
    once: Annotated[bool, typer.Option("--once", help="Process what is there, and stop.")] = False
    starting: Annotated[str, typer.Option(help="Where a new stream begins in Kafka: earliest or latest.")] = "earliest"
    batch_events: Annotated[
        int | None, typer.Option(min=1, metavar="<int>", help="The most records of Kafka in one batch.")
    ] = 1_000_000
    batch_files: Annotated[int | None, typer.Option(min=1, metavar="<int>", help="The most files in one batch.")] = None
    retries: Annotated[
        int, typer.Option(min=0, metavar="<int>", help="How often in a row to try again when a broker is away.")
    ] = 10


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Options of what a stream tells Prometheus."""

    metrics_port: Annotated[
        int | None, typer.Option(min=1, max=65535, metavar="<int>", help="Serve metrics for Prometheus.")
    ] = None
    metrics_address: Annotated[
        str, typer.Option(help="Who may ask for metrics: 127.0.0.1 is this machine, 0.0.0.0 everybody.")
    ] = ADDRESS


@dataclass(frozen=True)
class Job(Ends, Pace, Metrics):
    """What to run, checked as far as can be without Spark."""

    title: str
    make_rows: Callable[[Any, Any], Any]  # events and session in, rows out
    ts: str | None  # the time column, where it is named
    source: Topic | Folder
    sink: Topic | Folder | Terminal
    settings: dict[str, str] = field(default_factory=dict)
    log: Path | None = None

    @property
    def needs_kafka(self) -> bool:
        return isinstance(self.source, Topic) or isinstance(self.sink, Topic)

    @property
    def needs_avro(self) -> bool:
        return isinstance(self.source, Topic) and self.format == "avro"


class Signals:
    """Counts Ctrl-C and SIGTERM instead of raising, so that a batch can end."""

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[int, Any] = {}

    def take(self) -> None:
        """Become the handler; a Spark session makes itself one when it starts."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                before = signal.signal(number, self._handle)
                self._before.setdefault(number, before)

    def __enter__(self) -> Signals:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.count += 1


def run_job(job: Job, view: View, screen: Screen, signals: Signals, *, checkpoint: str) -> None:
    """Run until the input ends (`once`), a signal comes, or something fails for good."""
    from eventide.engines.spark.errors import is_passing, pause_seconds, reason_of
    from eventide.engines.spark.session import Log, is_alive, quiet_session

    log = Log(job.log)
    view.status = "starting Spark" + (" with the Kafka connector" if job.needs_kafka else "")
    screen.show()
    settings = {_RECENT: "20", **job.settings}
    spark = quiet_session("eventide stream", log, settings, kafka=job.needs_kafka, avro=job.needs_avro)
    signals.take()
    # The view counts late events; a warning would be printed over it.
    logging.getLogger("eventide.streams").addHandler(logging.NullHandler())
    try:
        if job.metrics_port is not None:
            import eventide as ev

            ev.metrics.serve(spark, port=job.metrics_port, address=job.metrics_address)
        n_failed = 0
        while True:
            n_before = view.n_batches
            queries: list[Any] = []
            try:
                for servers in {end.servers for end in (job.source, job.sink) if isinstance(end, Topic)}:
                    check_brokers(servers)
                view.status, view.problem = "running", ""
                _start(job, spark, screen, checkpoint, queries)
                _watch(queries, view, screen, signals)
                return
            except Exception as error:
                view.status = "failed"
                if not is_alive(spark):
                    hint = "was there too little memory? --conf spark.driver.memory=8g, and --log FILE to see"
                    raise StreamFailedError("Spark's Java process has ended", hint=hint) from error
                if queries:
                    screen.take_in(queries[0])
                for query in queries:
                    _stop(query)
                n_failed = 1 if view.n_batches > n_before else n_failed + 1
                if signals.count or not is_passing(error) or n_failed > job.retries:
                    raise failure_of(error, n_failed - 1, job) from error
                seconds = pause_seconds(n_failed)
                view.status = f"waiting {seconds} s to try again ({n_failed} of {job.retries})"
                view.problem = reason_of(error)
                if not _wait(seconds, screen, signals):
                    view.status, view.problem = "stopped", ""
                    return
    finally:
        if is_alive(spark):
            spark.stop()


def failure_of(error: Exception, n_retries: int, job: Job) -> Exception:
    """What the user reads about a failure; one of this program's own stays as it is."""
    from eventide.engines.spark.errors import is_missing_topic, reason_of, user_message

    tried = f" (tried {n_retries} times again)" if n_retries else ""
    if isinstance(error, BrokerAwayError):
        return BrokerAwayError(f"{error.message}{tried}", hint=error.hint)
    if isinstance(error, EventideError | BrokenPipeError):
        return error
    if not is_of_spark(error):
        return error
    ours = user_message(error)
    if ours is not None:
        message, _, hint = ours.partition("\nHint: ")
        return InputError(message, hint=hint or None)
    if is_missing_topic(error):
        topics = [str(end) for end in (job.source, job.sink) if isinstance(end, Topic)]
        which = "there is no topic" if len(topics) == 1 else "one of these topics does not exist:"
        return InputError(f"{which} {' and '.join(topics)}", hint="make it first, or check its name")
    if type(error).__name__ in ("AnalysisException", "ParseException", "IllegalArgumentException"):
        return InputError(f"Spark refuses this: {reason_of(error)}")
    return StreamFailedError(f"the stream failed{tried}: {reason_of(error)}", hint="--log FILE keeps Spark's own log")


def _start(job: Job, spark: Any, screen: Screen, checkpoint: str, queries: list[Any]) -> None:
    """Add the running queries: that of the rows, and that of the bad records where they are wanted."""
    import eventide as ev
    from eventide.cli.live_view import ROWS_METRIC
    from eventide.engines.spark.counters import observed

    source = _open(job, spark)
    n_last = _LAST_ROWS if screen.is_live and not isinstance(job.sink, Terminal) else 0
    rows = job.make_rows(source.events, spark)
    queries.append(_write(job, observed(rows, ROWS_METRIC, n_last), screen, checkpoint))
    if job.bad is not None:
        place = {"to": job.bad, "checkpoint": f"{checkpoint.rstrip('/')}.bad", "format": "json"}
        queries.append(ev.write_stream(source.bad, trigger=job.trigger, once=job.once, **place))


def _open(job: Job, spark: Any) -> Any:
    if isinstance(job.source, Folder):
        from eventide.engines.spark.folders import open_folder

        return open_folder(spark, job.source, job.schema, job.batch_files)
    import eventide as ev

    return ev.kafka.read(
        spark,
        job.source.servers,
        job.source.topic,
        schema=job.schema,
        format=job.format or "json",
        ts=job.ts,
        starting=job.starting,
        max_events_per_batch=job.batch_events,
        registry_header=job.registry_header,
    )


def _write(job: Job, rows: Any, screen: Screen, checkpoint: str) -> Any:
    import eventide as ev

    how: dict[str, Any] = {"checkpoint": checkpoint, "trigger": job.trigger, "once": job.once}
    if isinstance(job.sink, Folder):
        return ev.write_stream(rows, to=job.sink.path, format=job.sink.format or "parquet", **how)
    if isinstance(job.sink, Topic):
        return ev.kafka.write(rows, job.sink.servers, job.sink.topic, **how)
    from eventide.engines.spark.checkpoints import start

    return start(rows, lambda each: each.writeStream.foreachBatch(screen.rows), checkpoint, job.trigger, job.once)


def _watch(queries: list[Any], view: View, screen: Screen, signals: Signals) -> None:
    """Until the queries end by themselves or a signal stops them; the error of one that fails is raised."""
    running = list(queries)
    while running and not signals.count:
        running = [query for query in running if not query.awaitTermination(_TICK_SECONDS / len(running))]
        screen.take_in(queries[0])
        view.activity = queries[0].status["message"]
        screen.show()
        if screen.reader_is_gone:
            for query in queries:
                _stop(query)
            raise BrokenPipeError
    if running:
        view.status = "stopping at the end of the batch (Ctrl-C again: now)"
        _stop_at_border(running, view, screen, signals)
    screen.take_in(queries[0])
    view.status = "stopped" if running else "done"
    screen.show()


def _stop_at_border(queries: list[Any], view: View, screen: Screen, signals: Signals) -> None:
    """Stopping amid a batch loses nothing, but the batch would be done again at the next start."""
    n_signals, n_batches, deadline = signals.count, view.n_batches, time.monotonic() + _STOP_SECONDS
    while signals.count == n_signals and time.monotonic() < deadline and queries[0].isActive:
        status = queries[0].status
        if not (status["isTriggerActive"] and status["isDataAvailable"]):
            break
        screen.take_in(queries[0])
        if view.n_batches > n_batches:
            break
        screen.show()
        time.sleep(0.05)
    for query in queries:
        _stop(query)


def _stop(query: Any) -> None:
    try:
        query.stop()
    except Exception as error:  # it has failed meanwhile, or the JVM is gone; either is told elsewhere
        if not is_of_spark(error):
            raise


def _wait(seconds: float, screen: Screen, signals: Signals) -> bool:
    """Wait; False when a signal came."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if signals.count:
            return False
        screen.show()
        time.sleep(min(_TICK_SECONDS, max(deadline - time.monotonic(), 0.01)))
    return not signals.count
