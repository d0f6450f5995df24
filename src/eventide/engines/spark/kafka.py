"""Kafka's topics as streaming DataFrames, rows as records: settings of the connector, its errors in plain words.

topic -> key, value, place -> payloads: columns and a reason -> events where there is no reason, bad where there is one
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pyspark
from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from eventide.engines.spark.checkpoints import start
from eventide.engines.spark.counters import SOURCE, unique
from eventide.engines.spark.payloads import Payload, make_payload
from eventide.engines.spark.ship import ensure_shipped
from eventide.errors import InputError
from eventide.runtime.quoting import backticked

REASON = "__eventide_reason"
MATCH_ID = "match_id"
METADATA = {"topic": "topic", "partition": "partition", "offset": "offset", "kafka_timestamp": "timestamp"}
_SCALA = "2.13"
_SECRET = re.compile(
    r"password|passphrase|secret|jaas|token|credential|keystore\.key|user\.info|api\.?key|access\.?key", re.IGNORECASE
)
# In a login: what stands in quotes, which may hold anything; else all the rest, as nobody knows where the value ends.
_INSIDE = re.compile(
    r"""(?:password|passphrase|secret|token)\w*\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|(.*))""",
    re.IGNORECASE | re.DOTALL,
)
_N_PART = 3  # letters; what is shorter is in many words
_T = TypeVar("_T")

# A broker may be away for some minutes: Spark's own limits, and those of Kafka's clients, are one to two.
_AWAY_MS = "300000"
_READING = {
    "failOnDataLoss": "true",
    "fetchOffset.numRetries": "10",
    "fetchOffset.retryIntervalMs": "3000",
    "kafkaConsumer.pollTimeoutMs": _AWAY_MS,
    # What a producer has taken back is not an event.
    "kafka.isolation.level": "read_committed",
    # Records are fetched by the megabyte anyway; handing them out by 500 took a quarter off the speed of reading.
    "kafka.max.poll.records": "10000",
}
_WRITING = {
    "kafka.max.block.ms": _AWAY_MS,
    "kafka.delivery.timeout.ms": _AWAY_MS,
    "kafka.acks": "all",
}
# The same row has the same text in every session.
_TEXT = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "dateFormat": "yyyy-MM-dd",
    "ignoreNullFields": "false",
}


def read_topic(
    spark: SparkSession,
    settings: Mapping[str, str],
    schema: str,
    format: str,
    ts: str | None,
    metadata: bool,
    registry_header: bool | int,
) -> tuple[DataFrame, DataFrame]:
    """The topic's events and its bad records, two streams over the same records."""
    prefixes = ("json.", "avro.")
    parsing = {name.split(".", 1)[1]: value for name, value in settings.items() if name.startswith(f"{format}.")}
    reading = {**_READING, **{name: value for name, value in settings.items() if not name.startswith(prefixes)}}
    ensure_shipped(spark)
    payload = explained(settings, lambda: make_payload(format, schema, ts, parsing, registry_header))
    taken = [name for name in payload.columns if metadata and name in METADATA]
    if taken:
        hint = "leave out metadata=True, or name the column otherwise"
        raise InputError(f"metadata=True adds a column '{taken[0]}', which the schema has too", hint=hint)
    raw = explained(settings, lambda: _load(spark, reading))
    return explained(settings, lambda: (_events(raw, payload, metadata), _bad(raw, payload)))


def _load(spark: SparkSession, reading: Mapping[str, str]) -> DataFrame:
    raw = spark.readStream.format("kafka").options(**reading).load()
    # A remote session looks for the source only now.
    raw.schema  # noqa: B018
    return raw


def _events(raw: DataFrame, payload: Payload, metadata: bool) -> DataFrame:
    """An observed metric is a border for the optimizer: a filter below it would parse each record a second time."""
    places = {f"__eventide_{name}": column for name, column in METADATA.items()} if metadata else {}
    kept = raw.select(*(sf.col(column).alias(name) for name, column in places.items()), *payload.inputs)
    names = [*payload.columns, *places]
    parsed = payload.parse(kept, list(places), REASON, in_words=False).observe(
        unique(SOURCE),
        (sf.count(sf.lit(1)) - sf.count(REASON)).alias("events"),
        sf.count(REASON).alias("bad_records"),
    )
    good = parsed.filter(sf.col(REASON).isNull()).select(*(backticked(name) for name in names))
    return good.withColumnsRenamed({f"__eventide_{name}": name for name in METADATA}) if metadata else good


def _bad(raw: DataFrame, payload: Payload) -> DataFrame:
    places = ("topic", "partition", "offset", "timestamp", "key", "value")
    kept = raw.select(*(sf.col(name).alias(f"__eventide_{name}") for name in places), *payload.inputs)
    parsed = payload.parse(kept, [f"__eventide_{name}" for name in places], REASON)
    # Only as the border that `_events` has: the counts are those of the other stream.
    parsed = parsed.observe(unique("eventide_bad"), sf.count_if(sf.col(REASON).isNotNull()).alias("bad_records"))
    wrong = parsed.filter(sf.col(REASON).isNotNull())
    return wrong.select(*(sf.col(f"__eventide_{name}").alias(name) for name in places), sf.col(REASON).alias("reason"))


def to_records(rows: DataFrame) -> DataFrame:
    """`key` and `value` as text."""
    value = sf.to_json(sf.struct(*(backticked(name) for name in rows.columns)), _TEXT)
    key = sf.col(MATCH_ID) if MATCH_ID in rows.columns else sf.lit(None)
    return rows.select(key.cast("string").alias("key"), value.alias("value"))


def write_records(
    rows: DataFrame, settings: Mapping[str, str], trigger: str | None, once: bool, name: str | None
) -> StreamingQuery:
    """Start the query that writes the rows."""

    def writer_of(rows: DataFrame) -> DataStreamWriter:
        return to_records(rows).writeStream.format("kafka").outputMode("append").options(**_WRITING, **settings)

    return explained(settings, lambda: start(rows, writer_of, settings["checkpointLocation"], trigger, once, name))


def explained(settings: Mapping[str, str], call: Callable[[], _T]) -> _T:
    """What the call returns; where Spark refuses, the reason in plain words, without passwords of the settings."""
    try:
        return call()
    except PySparkException as error:
        raise _in_plain_words(error, settings) from None


def without_secrets(text: str, settings: Mapping[str, str]) -> str:
    """A text that gives away no password of the settings.

    >>> login = 'PlainLoginModule required username="ann" password="xyzzy";'
    >>> without_secrets("no key in 'xyzzy'", {"kafka.sasl.jaas.config": login})
    "no key in '***'"
    """
    values = [value for name, value in settings.items() if _SECRET.search(name)]
    inside = ["".join(found) for value in values for found in _INSIDE.findall(value)]
    secrets = {written for value in (*values, *inside) for written in (value, json.dumps(value)[1:-1])}
    # Kafka's reader of logins may take a password apart, and complain of a part.
    secrets |= {part for value in inside for part in re.split(r"\W+", value) if len(part) >= _N_PART}
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _in_plain_words(error: Any, settings: Mapping[str, str]) -> Any:
    said, text = str(error), without_secrets(str(error), settings)
    condition = error.getCondition() or ""
    if "find data source: kafka" in said.lower() or condition == "DATA_SOURCE_NOT_FOUND":
        return _missing("Kafka connector", "spark-sql-kafka-0-10")
    if "AVRO_NOT_LOADED" in condition or "AVRO_NOT_LOADED" in said:
        return _missing("Avro support", "spark-avro")
    if isinstance(error, ParseException):
        hint = 'columns as in SQL: "user string, ts timestamp NOT NULL, amount double"'
        return InputError(f"the schema cannot be read: {_first_line(text)}", hint=hint)
    if isinstance(error, AnalysisException | IllegalArgumentException):
        return InputError(f"Spark refuses this: {_first_line(text)}")
    return error


def _missing(what: str, module: str) -> InputError:
    packages = coordinates() if module == "spark-avro" else coordinates(avro=False)
    return InputError(
        f"Spark's {what} is not on the class path of this session",
        hint=f'set it before the session starts: SparkSession.builder.config("spark.jars.packages", "{packages}")',
    )


def coordinates(avro: bool = True) -> str:
    """What `spark.jars.packages` is to be for the Spark that is installed."""
    modules = ["spark-sql-kafka-0-10", "spark-avro"] if avro else ["spark-sql-kafka-0-10"]
    return ",".join(f"org.apache.spark:{module}_{_SCALA}:{pyspark.__version__}" for module in modules)


def _first_line(text: str) -> str:
    return next(line.strip() for line in text.splitlines() if line.strip())
