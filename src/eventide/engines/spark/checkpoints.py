"""Whose checkpoint it is: checked before a stream starts, so that a changed query is refused when no event comes, too.

Each bucket checks its own state as well, in the first micro-batch that has events. For a stream that is started by
`writeStream` alone that is all, for nothing of ours runs there before.

An operator's observed metric has a name that no other has, and the plan of a stream names it, whatever was done to the
rows since; so the name leads from a DataFrame, or from a progress report, to the query behind it.

A folder of rows and the checkpoint must belong together, too. A batch is planned in `offsets` of the checkpoint, then
logged in `_spark_metadata` of the folder with its files, then done in `commits`. So the last done batch is in the
folder's log, and the folder's last batch was planned.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from eventide.engines.spark.counters import OBSERVED
from eventide.engines.spark.following import plan_text
from eventide.engines.spark.places import list_names, read_file, write_file
from eventide.engines.spark.sources import local_path
from eventide.errors import InputError, is_of_spark
from eventide.runtime.changes import check_same
from eventide.runtime.sealed import open_sealed, seal

_FILE = "eventide-query"
_LOG = "_spark_metadata"
_BATCH = re.compile(r"(\d+)(?:\.compact)?")
_NAME = re.compile(rf"{OBSERVED}_[0-9a-f]{{12}}")
_MOST = 10_000  # operators that are remembered
_MADE: dict[str, Made] = {}


def check_checkpoint(rows: DataFrame, checkpoint: str) -> None:
    """Refuse the checkpoint of another query before the stream starts, also when no event has come since.

    The first start writes down beside the checkpoint whose it is. A checkpoint that another program began without
    this check is left to the check of each bucket, and so is a stream that another program put together.
    """
    known = operators_of(rows)
    if not known:
        return
    spark, file = rows.sparkSession, f"{checkpoint.rstrip('/')}/{_FILE}"
    if not list_names(spark, f"{checkpoint.rstrip('/')}/offsets"):
        # Nothing has run yet; an earlier try may have failed, with another query.
        write_file(spark, file, seal({"operators": [_plain(made) for made in known]}))
        return
    data = read_file(spark, file)
    if data is None:
        return
    saved = open_sealed(data, f"the checkpoint '{checkpoint}'")["operators"]
    if len(saved) != len(known):
        raise InputError(
            f"the checkpoint '{checkpoint}' belongs to another stream: one of {len(saved)} queries, not {len(known)}",
            hint="go back to the stream that it belongs to, or start with a new checkpoint",
        )
    for before, now in zip(saved, known, strict=True):
        check_same(f"the checkpoint '{checkpoint}'", before["query"], now.query, before["facts"], dict(now.facts))
        check_buckets(before["n_buckets"], now.n_buckets)


def check_buckets(before: int, now: int) -> None:
    """Refuse state that was spread over another number of buckets."""
    if before != now:
        raise InputError(
            f"the checkpoint was made with {before} buckets, the query now runs with {now}",
            hint=f"set spark.sql.shuffle.partitions to {before}, or start with a new checkpoint",
        )


def _plain(made: Made) -> dict[str, Any]:
    return {"query": made.query, "facts": dict(made.facts), "n_buckets": made.n_buckets}


@dataclass(frozen=True, slots=True)
class Made:
    """One operator of a stream: the query with what it depends on, and how long late events are waited for."""

    query: str
    facts: tuple[tuple[str, str], ...]
    n_buckets: int
    lateness: str | None  # in words; None where late events are not dropped


def remember(name: str, made: Made) -> None:
    """Keep what the operator with this metric is."""
    _MADE[name] = made
    while len(_MADE) > _MOST:
        del _MADE[next(iter(_MADE))]


def made_of(name: str) -> Made | None:
    """The operator with this metric, if this program made it."""
    return _MADE.get(name)


def operators_of(rows: DataFrame) -> list[Made]:
    """The operators behind the rows of a stream; none where another program made one of them."""
    made = [made_of(name) for name in dict.fromkeys(_NAME.findall(plan_text(rows)))]
    known = [each for each in made if each is not None]
    return known if len(known) == len(made) else []


def read_counters(checkpoint: str, spark: SparkSession) -> dict[str, int]:
    """Counters summed over the buckets, as of the last committed micro-batch."""
    try:
        heads = spark.read.format("statestore").option("stateVarName", "head").load(checkpoint)
        rows = heads.select("value.engine", "value.operator").collect()
    except Exception as error:
        if not is_of_spark(error):
            raise
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"'{checkpoint}' is not the checkpoint of an Eventide stream: {reason}") from error
    engines, operators = [open_sealed(row[0].encode()) for row in rows], [open_sealed(bytes(row[1])) for row in rows]
    counters = {
        "late_events": sum(operator["late"] for operator in operators),
        "held_segments": sum(len(engine["segments"]) for engine in engines),
        "buckets": len(rows),
    }
    if any("overflows" in operator for operator in operators):
        counters["overflows"] = sum(operator.get("overflows", 0) for operator in operators)
    return counters


def check_places(spark: SparkSession, folder: str, checkpoint: str) -> None:
    """Refuse a folder and a checkpoint with which Spark would lose rows."""
    _check_apart(folder, checkpoint)
    written = _last_batch(spark, f"{folder.rstrip('/')}/{_LOG}")
    planned, done = (_last_batch(spark, f"{checkpoint.rstrip('/')}/{name}") for name in ("offsets", "commits"))
    if written is not None and (planned is None or planned < written):
        state = "there is no checkpoint" if planned is None else f"the checkpoint knows only batches up to {planned}"
        raise InputError(
            f"'{folder}' has the rows of batches up to {written}, but in '{checkpoint}' {state}: Spark would "
            f"leave out the rows of every batch up to {written}",
            hint="bring back the checkpoint that belongs to these rows, or write to a new folder with a new checkpoint",
        )
    if done is not None and (written is None or written < done):
        state = "no rows of a stream" if written is None else f"only the rows of batches up to {written}"
        raise InputError(
            f"the checkpoint '{checkpoint}' has finished batches up to {done}, but '{folder}' has {state}: "
            "those in between would be missing for ever",
            hint="bring back the folder with its _spark_metadata, or start with a new checkpoint",
        )


def start(
    rows: DataFrame,
    writer_of: Callable[[DataFrame], DataStreamWriter],
    checkpoint: str,
    trigger: str | None,
    once: bool,
    name: str | None = None,
) -> StreamingQuery:
    """Start the query that writes the rows, unless the checkpoint is that of another one."""
    check_checkpoint(rows, checkpoint)
    writer = writer_of(rows).option("checkpointLocation", checkpoint)
    if name is not None:
        writer = writer.queryName(name)
    if once:
        writer = writer.trigger(availableNow=True)
    elif trigger is not None:
        writer = writer.trigger(processingTime=trigger)
    return writer.start()


def _check_apart(folder: str, checkpoint: str) -> None:
    places = [_absolute(path) for path in (folder, checkpoint)]
    if places[0] == places[1]:
        hint = f"for example checkpoint={folder.rstrip('/') + '-checkpoint'!r}"
        raise InputError(f"'{folder}' cannot hold both the rows and the checkpoint", hint=hint)
    if places[0].startswith(places[1] + "/"):
        raise InputError(
            f"the folder of the rows, '{folder}', is inside the checkpoint: "
            "whoever deletes the checkpoint deletes the rows",
            hint="put them side by side",
        )
    inside = places[1].removeprefix(places[0] + "/")
    if inside != places[1] and inside[0] not in "._":
        raise InputError(
            f"the checkpoint '{checkpoint}' is among the rows of '{folder}': readers would take its files for rows",
            hint="put them side by side",
        )


def _absolute(path: str) -> str:
    local = local_path(path)
    return path.rstrip("/") if local is None else os.path.realpath(local)


def _last_batch(spark: SparkSession, folder: str) -> int | None:
    """The highest batch number that names a file of the folder; None when there is none."""
    found = [_BATCH.fullmatch(name) for name in list_names(spark, folder)]
    return max((int(match[1]) for match in found if match), default=None)
