"""The rules as a streaming source: the offset is the whole set, so the checkpoint's log of offsets replays changes.

A micro-batch that sees a change gets one row for each bucket: `(bucket, data, changes)`, with the changes as JSON.

There is a way back from tasks, so that a rule that fails in one bucket is switched off in all of them. A task adds what
failed to an accumulator. Spark brings it to the driver before the micro-batch ends, which writes it to a file that the
source reads before the next one begins: so it becomes part of the offset, and is replayed with it.

A table of rules is mirrored to a file that the source reads; a thread of the driver looks for changes.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from eventide.engines.rule_files import Rules, make_differ, make_marker, make_reader
from eventide.engines.spark.ship import is_connect
from eventide.errors import InputError, UnsupportedError

ROW_SCHEMA = "bucket int, data binary, changes string"
Tell = Callable[[list[dict[str, Any]]], None]
_FORMAT = "eventide_rules"
_LOOK_SECONDS = 0.5  # between two looks whether a query reads
_log = logging.getLogger("eventide.rules")


def rule_changes(spark: SparkSession, path: str, labels: Sequence[int], failures: str = "") -> DataFrame:
    """A streaming DataFrame of the changes at a path, for every bucket; `failures` is a file of rules that failed."""
    spark.dataSource.register(make_source())
    reader = spark.readStream.format(_FORMAT).option("path", path).option("failures", failures)
    return reader.option("labels", json.dumps(list(labels))).load()


def make_source() -> type[DataSource]:
    """The source's class, which travels by value: see `make_processor`."""
    read_rules, changes_between, mark_failed = make_reader(), make_differ(), make_marker()
    schema, name = ROW_SCHEMA, _FORMAT

    class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
        """Spark keeps one object for a run of the query."""

        def __init__(self, path: str, labels: str, failures: str) -> None:
            import os

            self.path = path
            self.labels = labels
            self.failures = failures
            # What failed in an earlier run of this process is told again by the buckets that still know it.
            self.place = os.path.getsize(failures) if failures else 0
            self.ends = False
            self.target: dict[str, Any] | None = None
            self.sign: str | None = None

        def initialOffset(self) -> dict[str, Any]:  # noqa: N802
            return {"rules": {}}

        def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
            self.say_reading()
            # Names are in order: Spark compares offsets as texts.
            found = self.target or read_rules(self.path, start["rules"])
            self.target = found if self.ends else None
            return {"rules": mark_failed(found, start["rules"], self.new_failures())}

        def new_failures(self) -> list[dict[str, Any]]:
            """What has failed since the last look: each is told once, so that a rule may be written as it was."""
            import json

            if not self.failures:
                return []
            with open(self.failures, encoding="utf-8") as file:
                file.seek(self.place)
                lines = file.readlines()
                self.place = file.tell()
            return [json.loads(line) for line in lines]

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
            self.ends = True

        def say_reading(self) -> None:
            """A file beside that of a table, named by this process, for who keeps it up to date."""
            import os

            folder = f"{self.path}.readers"
            if os.path.isdir(folder):
                self.sign = os.path.join(folder, str(os.getpid()))
                open(self.sign, "w").close()

        def stop(self) -> None:
            import os

            if self.sign is not None and os.path.exists(self.sign):
                os.remove(self.sign)

        def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
            import json

            changes = changes_between(start["rules"], end["rules"])
            return [InputPartition((self.labels, json.dumps(changes)))] if changes else []

        def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
            import json

            labels, changes = partition.value
            for label in json.loads(labels):
                yield label, None, changes

    class Source(DataSource):  # type: ignore[misc]
        """Options: `path`, and `labels`, the buckets as a JSON list."""

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return schema

        def streamReader(self, schema: Any) -> Reader:  # noqa: N802
            return Reader(self.options["path"], self.options["labels"], self.options.get("failures", ""))

    return Source


def failures_of(spark: SparkSession) -> tuple[str, Tell | None]:
    """A file of failures, and what tasks call with theirs; no file on Spark Connect, which has no accumulators."""
    if is_connect(spark):
        return "", None
    folder = tempfile.mkdtemp(prefix="eventide-failures-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "failures")
    open(path, "w").close()
    tell: Tell = spark.sparkContext.accumulator([], make_param(path)).add
    return path, tell


def make_param(path: str) -> AccumulatorParam[Any]:
    """How failures add up: tasks gather theirs, the driver appends them to the file. It travels by value."""
    driver = os.getpid()

    class Failures(AccumulatorParam[Any]):  # type: ignore[misc]
        def zero(self, value: Any) -> Any:
            return []

        def addInPlace(self, value1: Any, value2: Any) -> Any:  # noqa: N802
            import json
            import os

            if os.getpid() != driver:
                return value1 + value2
            with open(path, "a", encoding="utf-8") as file:
                file.writelines(json.dumps(failure) + "\n" for failure in value2)
            return []

    return Failures()


def read_table(spark: SparkSession, table: str) -> Rules:
    """The rules of a table with the columns name, query and, where rules have some, options (JSON text)."""
    frame = spark.table(table)
    missing = [name for name in ("name", "query") if name not in frame.columns]
    if missing:
        hint = "a table of rules has the columns name, query and options"
        raise InputError(f"the table '{table}' has no column '{missing[0]}'", hint=hint)
    options = ["options"] if "options" in frame.columns else []
    rules: Rules = {}
    for row in frame.select("name", "query", *options).collect():
        if row["name"] is None or row["query"] is None:
            continue
        written = {"query": row["query"], "options": row["options"] if options else None}
        if row["name"] in rules:
            written = {"query": "", "options": None, "unreadable": f"the table has '{row['name']}' twice"}
        rules[row["name"]] = written
    return dict(sorted(rules.items()))


class Mirror:
    """A file that follows a table while a query reads it, until `stop`, or until nobody holds the mirror."""

    def __init__(self, spark: SparkSession, table: str, poll_seconds: float) -> None:
        if is_connect(spark):
            hint = "let a job write the rules to a folder that the server sees, and pass that"
            raise UnsupportedError("a table of rules needs a session in this process, not Spark Connect", hint=hint)
        folder = tempfile.mkdtemp(prefix="eventide-rules-")
        self.path = os.path.join(folder, "rules.json")
        os.mkdir(f"{self.path}.readers")
        self._stopped = threading.Event()
        self._table = _Table(spark, table, self.path)
        self._table.copy()
        arguments = (self._table, poll_seconds, self._stopped)
        threading.Thread(target=_follow, args=arguments, name="eventide-rules", daemon=True).start()
        weakref.finalize(self, _clean_up, self._stopped, folder)

    def refresh(self) -> None:
        """Take over the table as it is now."""
        self._table.copy()

    def stop(self) -> None:
        """End the thread; the file stays as it is."""
        self._stopped.set()


class _Table:
    """A table and the file with its rules."""

    def __init__(self, spark: SparkSession, table: str, path: str) -> None:
        self._spark, self._name, self.path = spark, table, path
        self._failed = False

    def copy(self) -> None:
        """Replace the file at once, so that no reader sees half of a change."""
        temporary = f"{self.path}.{threading.get_ident()}"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(read_table(self._spark, self._name), file)
        os.replace(temporary, self.path)

    def try_to_copy(self) -> None:
        """The same; a table that cannot be read leaves the rules as they were, and is logged once."""
        try:
            self.copy()
            self._failed = False
        except Exception as error:
            if not self._failed:
                _log.warning("the table of rules '%s' cannot be read: %s", self._name, str(error).splitlines()[0])
            self._failed = True


def is_read(path: str) -> bool:
    """Whether a query reads the file: its reader has signed with its process, and that one lives."""
    for name in os.listdir(f"{path}.readers"):
        try:
            os.kill(int(name), 0)
            return True
        except ProcessLookupError:
            # Spark may end a reader before it can take its sign away.
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(f"{path}.readers", name))
    return False


def _follow(table: _Table, poll_seconds: float, stopped: threading.Event) -> None:
    seconds = poll_seconds
    while not stopped.wait(min(_LOOK_SECONDS, poll_seconds)):
        try:
            has_reader = is_read(table.path)
        except OSError:
            return  # cleaned up
        seconds += min(_LOOK_SECONDS, poll_seconds)
        # A query that starts waits for no poll.
        if has_reader and seconds >= poll_seconds:
            table.try_to_copy()
            seconds = 0.0
        elif not has_reader:
            seconds = poll_seconds


def _clean_up(stopped: threading.Event, folder: str) -> None:
    stopped.set()
    shutil.rmtree(folder, ignore_errors=True)
