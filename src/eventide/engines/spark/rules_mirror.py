"""A table of rules, mirrored to a file that the source of rules reads; a thread of the driver looks for changes."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import tempfile
import threading
import weakref

from pyspark.sql import SparkSession

from eventide.engines.rule_files import Rules
from eventide.engines.spark.ship import is_connect
from eventide.errors import InputError, UnsupportedError

_LOOK_SECONDS = 0.5  # between two looks whether a query reads
_log = logging.getLogger("eventide.rules")


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
