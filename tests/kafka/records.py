"""Records for the end-to-end test: orders as JSON and Avro with broken ones among them, and what each should become."""

from __future__ import annotations

import json
import random
import struct
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 1, 1, 10, tzinfo=UTC)
SCHEMA = "user string, ts timestamp, kind string NOT NULL, amount double"
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "user", "type": ["null", "string"]},
            {"name": "ts", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
            {"name": "kind", "type": ["null", "string"]},
            {"name": "amount", "type": ["null", "double"]},
        ],
    }
)
SCHEMA_ID = 7
NO_OBJECT = "the value is no JSON object"
# Broken values of a JSON topic and what is wrong with them.
BROKEN: dict[bytes | None, str] = {
    None: "the value is NULL",
    b"": NO_OBJECT,
    b"junk": NO_OBJECT,
    b'{"user": "u1", "ts": "2026-01-01T10:00:00Z", "kind": "Buy"': NO_OBJECT,
    b'[{"user": "u1"}]': NO_OBJECT,
    b"\xff\xff": "the value is not UTF-8 text",
    b'{"user": "u1", "ts": null, "kind": "Buy", "amount": 1}': "ts is NULL or missing",
    b'{"user": "u1", "ts": 1767261600000, "kind": "Buy"}': "ts is no timestamp: 1767261600000",
    b'{"user": "u1", "ts": "2026-01-01T10:00:00Z"}': "kind is NULL or missing",
    b'{"ts": "2026-01-01T10:00:00Z", "kind": "Buy", "amount": "one"}': "amount is no double: one",
    b'{"ts": "2026-01-01T10:00:00Z", "kind": "Buy"} {"kind": "Buy"}': "there is more behind the JSON object",
}
# A producer that was changed writes the amount as an object.
CHANGED: dict[bytes | None, str] = {
    b'{"ts": "2026-01-01T10:00:00Z", "kind": "Buy", "amount": {"eur": 3}}': 'amount is no double: {"eur":3}',
}


def orders(n: int, first: int = 0, seed: int = 6) -> list[dict[str, Any]]:
    """Events of a few users, some seconds apart, in order."""
    chance = random.Random(seed + first)
    events = []
    for idx in range(first, first + n):
        kind = chance.choice(["Login", "Buy", "View"])
        amount = round(chance.uniform(1, 99), 2) if kind == "Buy" else None
        ts = START + timedelta(seconds=7 * idx, microseconds=chance.randrange(1_000_000))
        events.append({"user": f"u{chance.randrange(5)}", "ts": ts, "kind": kind, "amount": amount})
    return events


def to_json(event: dict[str, Any], **more: object) -> bytes:
    return json.dumps({**event, "ts": event["ts"].isoformat(), **more}).encode()


def mixed(values: list[bytes], broken: dict[bytes | None, str], seed: int = 1) -> list[bytes | None]:
    """The values in their order, with the broken ones anywhere between them."""
    chance = random.Random(seed)
    records: list[bytes | None] = list(values)
    for value in broken:
        records.insert(chance.randrange(len(records)), value)
    return records


def to_avro(event: dict[str, Any]) -> bytes:
    """The record as Avro's specification says: the branch of a union, then its value."""
    micros = (event["ts"] - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    amount = b"\x00" if event["amount"] is None else b"\x02" + struct.pack("<d", event["amount"])
    return b"\x02" + _text(event["user"]) + b"\x02" + _long(micros) + b"\x02" + _text(event["kind"]) + amount


def _text(text: str) -> bytes:
    return _long(len(text.encode())) + text.encode()


def _long(number: int) -> bytes:
    left, groups = (number << 1) ^ (number >> 63), []
    while left > 0x7F:
        groups.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*groups, left])


def avro_records(events: list[dict[str, Any]]) -> tuple[list[bytes | None], dict[bytes | None, str]]:
    """Values with a registry's header, broken ones among them, and what is wrong with those."""
    header = b"\x00" + SCHEMA_ID.to_bytes(4, "big")
    whole = to_avro(events[0])
    wrong = "the value is not a record of the Avro schema"
    broken: dict[bytes | None, str] = {
        None: "the value is NULL",
        b"": "the value does not begin with a schema registry's header",
        b"\x00\x00": "the value does not begin with a schema registry's header",
        b"\x01" + header[1:] + whole: "the value does not begin with a schema registry's header",
        b"\x00\x00\x00\x00\x09" + whole: "the value names schema 9, not 7",
        header: wrong,
        header + whole[:-1]: wrong,
        # What a producer with one more field would write.
        header + whole + b"\x02": wrong,
        header + b"\x00\x00\x00\x00": "ts is NULL or missing",
    }
    return mixed([header + to_avro(event) for event in events], broken), broken
