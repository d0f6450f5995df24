"""The schema that the planning tests bind to."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us"),
        "type": pa.string(),
        "user": pa.string(),
        "price": pa.float64(),
        "qty": pa.int32(),
        "code": pa.int64(),
        "flag": pa.bool_(),
        "cost": pa.decimal128(10, 2),
        "day": pa.date32(),
        "seen_at": pa.timestamp("us", "UTC"),
        "tags": pa.list_(pa.string()),
        "payload": pa.struct({"city": pa.string(), "size": pa.int32()}),
        "Zone": pa.string(),
        "zone": pa.string(),
    }
)
