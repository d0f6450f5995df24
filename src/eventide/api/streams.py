"""What users call to write a stream of rows into files, exactly once, and to read what it has counted."""

from __future__ import annotations

import os
from typing import Any

from eventide.engines.local.sources import is_local, plain_frame
from eventide.errors import EventideError, InputError, QueryError, did_you_mean
from eventide.lang.durations import parse_length, write_length
from eventide.lang.tree import Length
from eventide.plan.arguments import check_flag, check_session, shown, wrong_argument

FORMATS = ("parquet", "json", "orc", "csv")


def write_stream(
    rows: Any,
    *,
    to: str | os.PathLike[str],
    checkpoint: str | os.PathLike[str],
    trigger: str | None = None,
    once: bool = False,
    format: str = "parquet",
    name: str | None = None,
) -> Any:
    """Write a streaming DataFrame to files in a folder, each row once, and return the running StreamingQuery.

    A restart with the same `to` and `checkpoint` continues where the last run stopped, also after a kill. Both folders
    are checked before the start. It is an error if one of them was deleted and the other one kept, because Spark would
    leave out the rows of some batches without a word. A checkpoint of another query is an error, too. `trigger` is how
    often a micro-batch begins, such as "5 seconds"; without it, one follows the other. `once=True` reads what is there
    and stops. Formats are parquet, json, orc and csv. For other sinks take `rows.writeStream`.

        query = ev.write_stream(q.run(stream), to="alerts", checkpoint="alerts-checkpoint", trigger="5 seconds")
    """
    _check_rows(rows)
    folder, state = _folder("to", to, '"alerts"'), _folder("checkpoint", checkpoint, '"alerts-checkpoint"')
    if not isinstance(format, str) or format not in FORMATS:
        known = did_you_mean(str(format), FORMATS)
        message = f"format={shown(format)} is not possible"
        raise EventideError(message, hint=f"{known}; for any other sink rows.writeStream")
    if name is not None and (not isinstance(name, str) or not name):
        raise EventideError(f"name is text, found {name!r}", hint='name="alerts"')
    check_flag("once", once)
    if once and trigger is not None:
        hint = "leave out one of them"
        raise EventideError("once=True reads what is there and stops, so trigger has nothing to say", hint=hint)
    every = None if trigger is None else _every(trigger)
    from eventide.engines.spark.checkpoints import check_places, start

    check_places(rows.sparkSession, folder, state)

    def writer_of(rows: Any) -> Any:
        return rows.writeStream.format(format).outputMode("append").option("path", folder)

    return start(rows, writer_of, state, every, once, name)


def stream_metrics(checkpoint: str | os.PathLike[str], spark: Any) -> dict[str, int]:
    """What a stream has counted since its first start, read from its checkpoint.

    The counts are `late_events`, `held_segments` and `buckets`. Aggregates over trends also have `overflows`: the NULLs
    that replace numbers past their range.
    """
    if not isinstance(checkpoint, str | os.PathLike):
        raise wrong_argument("checkpoint", "the path of a folder", checkpoint, 'checkpoint="alerts-checkpoint"')
    check_session(spark)
    from eventide.engines.spark.checkpoints import read_counters

    return read_counters(os.fspath(checkpoint), spark)


def refuse_bounded(*inputs: Any) -> None:
    """Bounded input has no late events: all of it is there before anything is decided."""
    for given in map(plain_frame, inputs):
        if is_local(given) or not given.isStreaming:
            message = "only a stream has late events: of bounded input everything is there before it is decided"
            raise InputError(message, hint="pass a streaming DataFrame, from spark.readStream")


def _check_rows(rows: Any) -> None:
    if is_local(rows) or not hasattr(type(rows), "isStreaming"):
        hint = "pass what a query returns for a streaming DataFrame: ev.query(...).run(stream)"
        raise InputError(f"write_stream takes a streaming DataFrame, found {type(rows).__name__}", hint=hint)
    if not rows.isStreaming:
        hint = "rows.write.parquet(folder) writes them, or read the events with spark.readStream"
        raise InputError("write_stream takes a streaming DataFrame, and this one is not a stream", hint=hint)


def _folder(argument: str, given: object, usage: str) -> str:
    path = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(path, str) or not path.strip():
        raise EventideError(f"{argument} is the path of a folder, found {given!r}", hint=f"write {argument}={usage}")
    return path


def _every(trigger: object) -> str:
    """The time between micro-batches as Spark reads it."""
    hint = "write trigger='5 seconds', or leave it out"
    if not isinstance(trigger, str):
        raise EventideError(f"trigger is text, found {trigger!r}", hint=hint)
    try:
        length = parse_length(trigger)
    except QueryError as error:
        raise EventideError(f"trigger={trigger!r}: {error.message}", hint=hint) from None
    if length.in_events or length.amount < 1000:
        raise EventideError(f"trigger={trigger!r} is not a time of at least a millisecond", hint=hint)
    return write_length(Length(length.amount))
