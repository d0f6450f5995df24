"""The rules as a streaming source: the offset is the whole set, so the checkpoint's log of offsets replays changes.

A micro-batch that sees a change gets one row for each bucket: `(bucket, data, changes)`, with the changes as JSON.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from eventide.engines.rule_files import make_differ, make_marker, make_reader
from eventide.engines.spark.ship import is_connect

ROW_SCHEMA = "bucket int, data binary, changes string"
_FORMAT = "eventide_rules"


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


Tell = Callable[[list[dict[str, Any]]], None]


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
