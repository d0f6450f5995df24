"""What users call to read events from Kafka and to write results to it: `ev.kafka.read`, `to_records`, `write`.

Every record of a topic is in exactly one of `source.events` and `source.bad`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eventide.engines.addresses import check_servers
from eventide.errors import InputError, did_you_mean
from eventide.plan.arguments import check_flag, check_session, count_of, kind_of, shown

FORMATS = ("json", "avro", "raw")
RAW_SCHEMA = "key string, value string, ts timestamp"


@dataclass(frozen=True, slots=True)
class Source:
    """A topic as two streams: `events` has the declared columns, `bad` the records that do not fit them.

    `bad` has topic, partition, offset, timestamp, key, value and reason. Each stream is read by its own query; the
    query that reads `events` counts both, as `events` and `bad_records` in its progress.
    """

    events: Any
    bad: Any


def read(
    spark: Any,
    servers: str,
    topic: str | Sequence[str],
    *,
    schema: str | None = None,
    format: str = "json",
    ts: str | None = None,
    starting: str = "earliest",
    max_events_per_batch: int | None = None,
    metadata: bool = False,
    registry_header: bool | int = False,
    options: Mapping[str, object] | None = None,
) -> Source:
    """The events of a topic, or of several, as a stream.

        source = ev.kafka.read(spark, "localhost:9092", "orders",
                               schema="user string, ts timestamp, kind string, amount double")
        rows = q.run(source.events)

    - `schema` are the columns, as in SQL; NOT NULL makes one required. With `format="avro"` it is the Avro schema of
      the records, as JSON text. With `format="raw"` it has any of key and value, as string or binary, and one
      timestamp column, which is Kafka's; without it: key string, value string, ts timestamp.
    - `ts` is the time column; a record without a time is bad. The default is `ts`, or the only timestamp column.
    - `starting` is "earliest", "latest", or offsets as JSON text; only the first start of a query looks at it.
    - `max_events_per_batch` bounds a micro-batch. `metadata=True` adds topic, partition, offset, kafka_timestamp.
    - `registry_header=True` takes off the five bytes that a schema registry puts before an Avro record; a number is
      the id that these bytes must name.
    - `options` go to Spark's connector, such as "kafka.security.protocol"; options that begin with "json." or "avro."
      go to the parser, without that prefix.
    """
    if not isinstance(format, str) or format not in FORMATS:
        raise InputError(f"format={shown(format)} is not possible", hint=did_you_mean(str(format), FORMATS))
    if schema is None and format == "raw":
        schema = RAW_SCHEMA
    if not isinstance(schema, str) or not schema.strip():
        hint = 'schema="user string, ts timestamp, kind string"' if format != "avro" else "the Avro schema as JSON text"
        raise InputError(f"schema is text, found {schema!r}", hint=hint)
    if ts is not None and (not isinstance(ts, str) or not ts):
        raise InputError(f"ts is the name of the time column, found {ts!r}", hint='ts="ts"')
    is_named = isinstance(starting, str) and starting in ("earliest", "latest")
    if not is_named and not (isinstance(starting, str) and starting.lstrip().startswith("{")):
        hint = '"earliest", "latest", or offsets as JSON text: {"orders": {"0": 23}}'
        raise InputError(f"starting={shown(starting)} is not possible", hint=hint)
    if max_events_per_batch is not None:
        count_of("max_events_per_batch", max_events_per_batch)
    check_flag("metadata", metadata)
    if registry_header is not False and format != "avro":
        raise InputError("registry_header is for Avro records", hint='leave it out, or format="avro"')
    if not isinstance(registry_header, int) or registry_header < 0:
        raise InputError(f"registry_header is True, False or a schema's id, found {registry_header!r}")
    settings = {
        "kafka.bootstrap.servers": check_servers(servers),
        "subscribe": ",".join(_topics(topic)),
        "startingOffsets": starting,
    }
    if max_events_per_batch is not None:
        settings["maxOffsetsPerTrigger"] = str(max_events_per_batch)
    given = _options(options, settings)
    if any(name.lower() == "failondataloss" and value.lower() != "true" for name, value in given.items()):
        raise InputError(
            "failOnDataLoss must stay true: with false, records that Kafka deleted would be left out without a word",
            hint="leave it out; docs/kafka.md says what to do after a loss",
        )
    check_session(spark)
    from eventide.engines.spark.kafka import read_topic

    events, bad = read_topic(spark, {**settings, **given}, schema, format, ts, metadata, registry_header)
    return Source(events, bad)


def to_records(rows: Any) -> Any:
    """Rows as Kafka records: `key` is the row's match_id, or NULL without one, and `value` is the row as JSON.

    Times are written in UTC with six digits, and NULLs are written. So the same row always has the same text.
    """
    _check_frame(rows, "to_records")
    from eventide.engines.spark.kafka import to_records

    return to_records(rows)


def write(
    rows: Any,
    servers: str,
    topic: str,
    *,
    checkpoint: str | os.PathLike[str],
    trigger: str | None = None,
    once: bool = False,
    name: str | None = None,
    options: Mapping[str, object] | None = None,
) -> Any:
    """Write a streaming DataFrame to a topic, as `to_records` makes it, and return the running StreamingQuery.

    Kafka's sink writes at least once: after a crash the rows of one micro-batch may come again. They have the same
    key, so consumers drop repeats by the key. `trigger` is how often a micro-batch begins, such as "5 seconds";
    `once=True` reads what is there and stops.
    """
    _check_frame(rows, "write")
    if not rows.isStreaming:
        hint = 'ev.kafka.to_records(rows).write.format("kafka") writes them, or read the events as a stream'
        raise InputError("write takes a streaming DataFrame, and this one is not a stream", hint=hint)
    if not isinstance(checkpoint, str | os.PathLike) or not os.fspath(checkpoint):
        raise InputError(f"checkpoint is the path of a folder, found {checkpoint!r}")
    check_flag("once", once)
    if name is not None and (not isinstance(name, str) or not name):
        raise InputError(f"name is text, found {shown(name)}", hint='name="alerts"')
    if once and trigger is not None:
        raise InputError("once=True reads what is there and stops, so trigger has nothing to say")
    if trigger is not None and (not isinstance(trigger, str) or not trigger.strip()):
        raise InputError(f"trigger is text, found {trigger!r}", hint="write trigger='5 seconds', or leave it out")
    topics = _topics(topic)
    if len(topics) != 1:
        raise InputError(f"rows are written to one topic, found {', '.join(topics)}")
    settings = {"kafka.bootstrap.servers": check_servers(servers), "topic": topics[0]}
    settings["checkpointLocation"] = os.fspath(checkpoint)
    given = _options(options, settings)
    from eventide.engines.spark.kafka import write_records

    return write_records(rows, {**settings, **given}, trigger, once, name)


def _topics(topic: object) -> list[str]:
    given: list[Any] = list(topic) if isinstance(topic, list | tuple) else [topic]
    names = [name for each in given for name in (each.split(",") if isinstance(each, str) else [each])]
    names = [name.strip() if isinstance(name, str) else name for name in names]
    for name in names:
        legal = isinstance(name, str) and 0 < len(name) < 250 and name.isascii() and name not in (".", "..")
        if not legal or not all(letter.isalnum() or letter in "._-" for letter in name):
            hint = "letters, digits, '.', '_' and '-', such as \"orders\"; or a list of such names"
            raise InputError(f"{name!r} is not the name of a topic", hint=hint)
    if not names:
        raise InputError("there is no topic", hint='such as "orders"')
    return names


def _options(options: Mapping[str, object] | None, settings: Mapping[str, str]) -> dict[str, str]:
    """Options as text; none may say again what an argument says."""
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        # Not what was found: it may hold a password.
        found = type(options).__name__ if not isinstance(options, Mapping) else "a name that is not text"
        raise InputError(f"options are names with values, found {found}", hint='{"kafka.security.protocol": "SSL"}')
    arguments = {name.lower() for name in settings}
    for name in options:
        if name.lower() in arguments:
            raise InputError(f"the option '{name}' is set by an argument", hint="leave it out of options")
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}


def _check_frame(rows: Any, function: str) -> None:
    if not hasattr(type(rows), "isStreaming"):
        hint = "pass what a query returns for a Spark DataFrame: ev.query(...).run(source.events)"
        raise InputError(f"{function} takes a Spark DataFrame, found {kind_of(rows)}", hint=hint)
