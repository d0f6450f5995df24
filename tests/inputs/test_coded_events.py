"""Strings that a file holds as codes: event patterns, trends and the builder give the rows of a table in memory."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev

QUERIES = [
    "PATTERN SEQ(A a, B b) PARTITION BY g SEMANTICS contiguous RETURN g, a.s, b.ts",
    "PATTERN SEQ(A a+, B b) PARTITION BY g SEMANTICS contiguous RETURN g, a.s, b.s, b.ts",
    "PATTERN SEQ(A a, B b) WHERE a.s = b.s SEMANTICS contiguous WITHIN 9 seconds SLIDE 3 seconds RETURN a.s, b.ts",
    "PATTERN SEQ(A a, B b) WHERE a.s < b.s SEMANTICS next WITHIN 10 seconds RETURN a.s, b.ts, a.kind",
    "PATTERN A+ WHERE A.s = NEXT(A).s GROUP BY g WITHIN 30 seconds RETURN g, COUNT(*), MIN(A.s), MAX(A.g)",
    "PATTERN SEQ(A+, B) GROUP BY g WITHIN 30 seconds RETURN g, COUNT(*), MIN(A.s), MAX(B.s)",
]


@pytest.fixture
def table() -> pa.Table:
    draw, n = random.Random(3), 3000
    return pa.table(
        {
            "ts": range(n),
            "kind": [draw.choice("ABC") for _ in range(n)],
            "g": [draw.choice(["u", "v", None]) for _ in range(n)],
            "s": [draw.choice(["x", "y"]) for _ in range(n)],
        }
    )


def same(found: pa.Table, expected: pa.Table) -> None:
    assert found.schema == expected.schema
    assert found.num_rows > 0
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_gives_the_rows_of_a_table(tmp_path: Path, table: pa.Table, text: str) -> None:
    pq.write_table(table, tmp_path / "events.parquet")
    query = ev.query(text, ts="ts", ts_unit="s", type="kind")
    same(query.run(tmp_path / "events.parquet"), query.run(table))


def test_the_builder_gives_the_rows_of_a_table(tmp_path: Path, table: pa.Table) -> None:
    pq.write_table(table, tmp_path / "events.parquet")
    pattern = ev.Pattern.begin("a", "kind = 'A'").followed_by("b", "kind = 'B'").within("5 seconds")
    options = {"partition_by": ["g"], "ts": "ts", "ts_unit": "s"}
    found = ev.detect(tmp_path / "events.parquet", pattern, **options).matches
    same(found, ev.detect(table, pattern, **options).matches)
