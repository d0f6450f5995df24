"""Records to events or to bad ones with a reason, without a broker: each record is one or the other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from eventide.errors import InputError

pytestmark = pytest.mark.spark

SCHEMA = "user string, ts timestamp, kind string NOT NULL, amount double, n int, tags array<int>, at timestamp_ntz"
GOOD = '{"user": "ann", "ts": "2026-01-01T10:00:00.5Z", "kind": "Buy", "amount": 1.5, "n": 3}'
# A record's value, and its reason; None where it is an event.
RECORDS: list[tuple[bytes | None, str | None]] = [
    (GOOD.encode(), None),
    (f"  {GOOD}\n".encode(), None),
    (GOOD.replace('"n": 3', '"n": 3, "new": {"deep": [1, 2]}').encode(), None),
    (b'{"ts": "2026-01-01 10:00:00", "kind": "Buy"}', None),
    ('{"ts": "2026-01-01T10:00:00Z", "kind": "{é}", "user": "} {"}'.encode(), None),
    (None, "the value is NULL"),
    (b"", "the value is no JSON object"),
    (b" \n", "the value is no JSON object"),
    (b"not json", "the value is no JSON object"),
    (GOOD[:-1].encode(), "the value is no JSON object"),
    (b"[" + GOOD.encode() + b"]", "the value is no JSON object"),
    (b"17", "the value is no JSON object"),
    (b"null", "the value is no JSON object"),
    (b'"text"', "the value is no JSON object"),
    (GOOD.encode() + GOOD.encode(), "there is more behind the JSON object"),
    (GOOD.encode() + b", {}", "there is more behind the JSON object"),
    (GOOD.encode() + b" x", "there is more behind the JSON object"),
    (GOOD.encode() + b"}", "there is more behind the JSON object"),
    (GOOD.replace("ann", "\udcff").encode(errors="surrogateescape"), "the value is not UTF-8 text"),
    (b"\xff\xfe\x00", "the value is not UTF-8 text"),
    (GOOD.replace("1.5", '"much"').encode(), "amount is no double: much"),
    (GOOD.replace('"n": 3', '"n": 3.5').encode(), "n is no int: 3.5"),
    (GOOD.replace('"n": 3', '"n": 3000000000').encode(), "n is no int: 3000000000"),
    (GOOD.replace("1.5", "{}").replace('"n": 3', '"n": "x"').encode(), "amount is no double: {}; n is no int: x"),
    (GOOD.replace('"n": 3', '"tags": [1, "x"]').encode(), 'tags is no array<int>: [1,"x"]'),
    (GOOD.replace("01-01T", "13-01T").encode(), "ts is no timestamp: 2026-13-01T10:00:00.5Z"),
    (GOOD.replace('"2026-01-01T10:00:00.5Z"', "1767261600").encode(), "ts is no timestamp: 1767261600"),
    (GOOD.replace('"2026-01-01T10:00:00.5Z"', "1767261600000000").encode(), "ts is no timestamp: 1767261600000000"),
    (GOOD.replace('"n": 3', '"at": "noon"').encode(), "at is no timestamp_ntz: noon"),
    (GOOD.replace('"2026-01-01T10:00:00.5Z"', "null").encode(), "ts is NULL or missing"),
    (b'{"user": "ann", "kind": "Buy"}', "ts is NULL or missing"),
    (b"{}", "ts is NULL or missing"),
    (b'{"ts": "2026-01-01T10:00:00Z"}', "kind is NULL or missing"),
]


def parse(spark: Any, format: str, schema: str, records: list[tuple[bytes | None, bytes | None]], **given: Any) -> Any:
    """The records, by their place, parsed."""
    from eventide.engines.spark.payloads import make_payload

    payload = make_payload(format, schema, given.get("ts"), given.get("options", {}), given.get("header", False))
    at = datetime(2026, 1, 2, tzinfo=UTC)
    rows = [(place, key, value, at) for place, (key, value) in enumerate(records)]
    raw = spark.createDataFrame(rows, "place int, key binary, value binary, timestamp timestamp")
    kept = raw.select("place", *payload.inputs)
    in_words = payload.parse(kept, ["place"], "reason")
    marked = payload.parse(kept, ["place"], "is_bad", in_words=False).selectExpr(
        "place", "is_bad IS NOT NULL AS is_bad"
    )
    return in_words.join(marked, "place").orderBy("place").collect()


def test_a_json_record_is_an_event_or_bad_with_a_reason(spark: Any) -> None:
    rows = parse(spark, "json", SCHEMA, [(None, value) for value, _ in RECORDS])
    assert [row.place for row in rows] == list(range(len(RECORDS)))
    found = [(RECORDS[row.place][0], row.reason) for row in rows]
    assert [(value, reason and reason[:60]) for value, reason in found] == RECORDS
    assert [row.is_bad for row in rows] == [reason is not None for _, reason in RECORDS]
    events = {row.place: row for row in rows if row.reason is None}
    assert (events[0].user, events[0].kind, events[0].amount, events[0].n) == ("ann", "Buy", 1.5, 3)
    assert events[0].ts.astimezone(UTC) == datetime(2026, 1, 1, 10, 0, 0, 500000, UTC)
    assert events[2].n == 3
    assert events[3].user is None and events[3].amount is None
    assert (events[4].kind, events[4].user) == ("{é}", "} {")


def test_raw_records_are_bytes_or_text_with_kafkas_time(spark: Any) -> None:
    records = [(b"k", b"v"), (None, b"v"), (b"k", b"\xff"), (b"k", None), (b"\xff", b"v")]
    rows = parse(spark, "raw", "value string, time timestamp, key binary NOT NULL", records)
    reasons = [None, "key is NULL or missing", "the value is not UTF-8 text", None, None]
    assert [row.reason for row in rows] == reasons
    assert [row.is_bad for row in rows] == [reason is not None for reason in reasons]
    assert [row.value for row in rows if row.reason is None] == ["v", None, "v"]
    assert bytes(rows[4].key) == b"\xff"
    assert all(row.time.astimezone(UTC) == datetime(2026, 1, 2, tzinfo=UTC) for row in rows)


@pytest.mark.parametrize(
    ("format", "schema", "ts", "message"),
    [
        ("json", "user strin", None, "the schema cannot be read: "),
        ("json", "user string, ts", None, "the schema cannot be read: "),
        ("json", "user string, User string", None, "the schema has two columns 'User'"),
        ("json", "user string, time timestamp", "tim", "the schema has no time column 'tim'"),
        ("json", "__eventide_x string", None, "the column name '__eventide_x' is taken"),
        ("raw", "key int", None, "a raw record has no column 'key integer'"),
        ("raw", "user string", None, "a raw record has no column 'user string'"),
        ("raw", "a timestamp, b timestamp", None, "a raw record has one timestamp"),
        ("avro", "user string", None, "the Avro schema is no JSON: "),
        ("avro", '{"type": "string"}', None, "the Avro schema is not a record with fields"),
        ("avro", '{"type": "record", "fields": [{"name": "a"}]}', None, "a field of the Avro schema has no name"),
    ],
)
def test_a_wrong_schema_says_what_is_wrong(spark: Any, format: str, schema: str, ts: str | None, message: str) -> None:
    from eventide.engines.spark.kafka import explained
    from eventide.engines.spark.payloads import make_payload

    with pytest.raises(InputError) as caught:
        explained({}, lambda: make_payload(format, schema, ts, {}, False))
    assert caught.value.message.startswith(message)
    assert "\tat " not in str(caught.value)


def test_without_the_connector_the_message_says_what_to_set(spark: Any) -> None:
    import pyspark

    import eventide as ev

    with pytest.raises(InputError) as caught:
        ev.kafka.read(spark, "localhost:9092", "orders", schema="user string, ts timestamp")
    assert caught.value.message == "Spark's Kafka connector is not on the class path of this session"
    package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    assert caught.value.hint is not None and f'"spark.jars.packages", "{package}"' in caught.value.hint


def test_rows_become_records_with_the_match_id_as_the_key_and_stable_text(spark: Any) -> None:
    import eventide as ev

    rows = spark.sql(
        "SELECT 'abc' AS match_id, timestamp'2026-01-01 10:00:00Z' AS detected_at, "
        "timestamp_ntz'2026-01-01 10:00:00.5' AS at, CAST(NULL AS INT) AS n, "
        "array(timestamp'2026-01-01 00:00:00Z') AS s"
    )
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        (record,) = ev.kafka.to_records(rows).collect()
        (other,) = ev.kafka.to_records(rows.drop("match_id")).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert record.key == "abc"
    assert record.value == (
        '{"match_id":"abc","detected_at":"2026-01-01T10:00:00.000000Z","at":"2026-01-01T10:00:00.500000",'
        '"n":null,"s":["2026-01-01T00:00:00.000000Z"]}'
    )
    assert other.key is None


def test_writing_what_is_not_a_stream_is_refused(spark: Any) -> None:
    import eventide as ev

    with pytest.raises(InputError, match="not a stream"):
        ev.kafka.write(spark.range(1), "localhost:9092", "orders", checkpoint="c")
