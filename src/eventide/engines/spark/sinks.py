"""A folder of rows and the checkpoint of the stream that writes them: whether they belong together.

A batch is planned in `offsets` of the checkpoint, then logged in `_spark_metadata` of the folder with its files, then
done in `commits`. So the last done batch is in the folder's log, and the folder's last batch was planned.
"""

from __future__ import annotations

import os
import re

from pyspark.sql import SparkSession

from eventide.engines.spark.places import list_names
from eventide.engines.spark.sources import local_path
from eventide.errors import InputError

_LOG = "_spark_metadata"
_BATCH = re.compile(r"(\d+)(?:\.compact)?")


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
