"""What Arrow reads of JSON records is what Python's and Spark's readers read of them, record by record."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventide.engines import json_records
from eventide.engines.json_records import TYPES, read_json
from tests.budget import budgeted

COLUMNS = {"s": "string", "b": "boolean", "i": "int", "l": "bigint", "y": "tinyint", "h": "smallint", "d": "double"}
SCHEMA = pa.schema([(name, TYPES[kind]) for name, kind in COLUMNS.items()])
TOKENS = [
    '"text"', '"é😀"', r'"\u00e9\n\"\\"', r'"\ud83d\ude00"', r'"\ud800"', r'"\udc00"', r'"a\u0000b"', '"}{"', '"NaN"',
    '""', "1", "-1", "0", "-0", "-0.0", "0.0", "1.0", "1.5", "127", "128", "255", "256", "32768", "65536",
    "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "123456789012345678901234567890",
    "1e2", "1E+2", "1e-400", "1e400", "-1e400", "0.1", "4.9e-324", "2.2250738585072011e-308", "1" * 400, "1" * 1001,
    "NaN", "Infinity", "-Infinity", "Inf", "+INF", "01", "1.", ".5", "+1", "0x10", "true", "false", "null", "nul",
    "{}", "[]", '{"s": "inner"}', "[1, [2]]", "[" * 400 + "]" * 400, "[" * 1001 + "]" * 1001, "'single'", "bare", "",
]  # fmt: skip
SCRAPS = [b"", b"{", b"}", b" ", b"\n", b"\r", b",", b'"', b"{}", b"\x00", b"\xff", b"\\", b"/**/", b"#"]
NAMES = ["s", "b", "i", "l", "y", "h", "d", "other", "S", r"\u0073", ""]


def record(draw: random.Random) -> bytes:
    """An object with a few fields, mostly as declared, or something like one."""
    fitting = {"s": '"text"', "b": "true", "i": "-7", "l": "70000000000", "y": "7", "h": "700", "d": "0.5"}
    names = draw.choices(NAMES, k=draw.randint(0, 4)) if draw.random() < 0.5 else list(fitting)
    strange = draw.choice([0, 0, 0, 0.3, 1])
    fields = [f'"{n}": {draw.choice(TOKENS) if draw.random() < strange else fitting.get(n, "1")}' for n in names]
    text = bytearray(("{" + ", ".join(fields) + "}").encode())
    while draw.random() < 0.2:
        place = draw.randint(0, len(text))
        text[place : place + draw.randint(0, 1)] = draw.choice(SCRAPS)
    return bytes(text)


def records(seed: int, n: int) -> list[bytes | None]:
    draw = random.Random(seed)
    return [None if draw.random() < 0.02 else record(draw) for _ in range(n)]


@pytest.fixture
def in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record is tried by itself if need be."""
    monkeypatch.setattr(json_records, "SMALLEST_PIECE", 1)


def read(values: list[bytes | None]) -> list[dict[str, Any] | None]:
    """The records that are read; None for the others."""
    table, is_read = read_json(pa.array(values, pa.binary()), SCHEMA)
    assert table.schema == SCHEMA and table.num_rows == len(values)
    rows = table.to_pylist()
    assert all(set(row.values()) == {None} for row, known in zip(rows, is_read, strict=True) if not known)
    return [row if known else None for row, known in zip(rows, is_read, strict=True)]


@pytest.mark.usefixtures("in_small_pieces")
@budgeted()
@given(seed=st.integers(0, 2**32), n=st.integers(0, 40))
def test_what_is_read_is_what_pythons_reader_reads(seed: int, n: int) -> None:
    values = records(seed, n)
    for value, row in zip(values, read(values), strict=True):
        if row is not None:
            assert value is not None
            found = json.loads(value)
            number = found.get("d")
            assert {name: found.get(name) for name in COLUMNS} | {"d": number and float(number)} == row


def test_records_that_fit_are_all_read() -> None:
    text = '{"s": "é\\"", "b": false, "i": -7, "l": 70000000000, "y": 7, "h": 700, "d": 5, "other": [1, {}]}'
    values = [text.encode(), b"{}", b'{"d": null}', ('{"other": "' + "x" * 2000 + '"}').encode()]
    rows = read(values * 1000)
    assert None not in rows
    assert rows[0] == {"s": 'é"', "b": False, "i": -7, "l": 70000000000, "y": 7, "h": 700, "d": 5.0}
    assert rows == rows[:4] * 1000


def test_a_record_that_does_not_fit_leaves_only_those_around_it() -> None:
    values: list[bytes | None] = [b'{"i": 1}'] * 10_000
    values[2000] = b'{"i": "one"}'
    rows = read(values)
    left = [place for place, row in enumerate(rows) if row is None]
    assert 2000 in left and left == list(range(left[0], left[-1] + 1)) and len(left) <= json_records.SMALLEST_PIECE
    # A record that is no line costs nobody else anything.
    values[2000] = b'{"i":\n1}'
    assert [place for place, row in enumerate(read(values)) if row is None] == [2000]


def test_numbers_that_the_readers_may_take_differently_are_left() -> None:
    values: list[bytes | None] = [f'{{"d": {text}}}'.encode() for text in ("0", "-0", "-0.0", "1" * 400, "null")]
    values += [b'{"d": NaN}', b'{"d": -Infinity}', b'{"other": Inf}', b'{"s": "NaN"}', b'{"s": "1"}']
    expected = [True, False, False, False, True, False, False, False, False, True]
    assert [row is not None for row in read(values)] == expected


@pytest.mark.parametrize(
    "value", [b'{"i": 1}{"i": 2}', b'{"i": 1} {}', b'{"other": "\xff"}', b'{"i": 1', b'[{"i": 1}]']
)
def test_what_is_not_one_object_in_utf_8_is_left(value: bytes) -> None:
    assert read([value]) == [None]


@pytest.mark.parametrize("others", [None, b"", b"x", b"{}"])
def test_what_spark_refuses_in_a_field_that_it_skips_is_left(others: bytes | None) -> None:
    deep = b'{"other": ' + b"[" * 1001 + b"]" * 1001 + b"}"
    number = b'{"other": ' + b"1" * 1001 + b"}"
    name = b'{"' + b"n" * 50_001 + b'": 1}'
    for value in (deep, number, name):
        assert read([value, *[others] * 1000])[0] is None
    assert read([b'{"other": ' + b"[" * 400 + b"]" * 400 + b', "s": "' + b"x" * 1000 + b'"}'])[0] is not None


def test_a_slice_of_values_is_read_by_itself() -> None:
    values = pa.array([b"x", b'{"i": 1}', None, b'{"i": 2}', b"{}"], pa.binary())
    table, is_read = read_json(values[1:4], SCHEMA)
    assert table.column("i").to_pylist() == [1, None, 2] and is_read.tolist() == [True, False, True]


@pytest.mark.spark
@pytest.mark.usefixtures("in_small_pieces")
def test_what_is_read_is_what_spark_reads(spark: Any) -> None:
    from eventide.engines.spark.payloads import make_payload

    values = records(20261116, 6000)
    payload = make_payload("json", ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items()), None, {}, False)
    raw = spark.createDataFrame(list(enumerate(values)), "place int, value binary")
    found = payload.parse(raw.select("place", *payload.inputs), ["place"], "reason").orderBy("place").collect()
    rows = read(values)
    for value, row, by_spark in zip(values, rows, found, strict=True):
        if row is not None:
            assert by_spark.reason is None, value
            assert [same(by_spark[name]) for name in COLUMNS] == [same(row[name]) for name in COLUMNS], value
    n_events = sum(each.reason is None for each in found)
    assert n_events / 2 < sum(row is not None for row in rows) <= n_events


@pytest.mark.spark
def test_without_words_the_same_records_are_events_with_the_same_values(spark: Any) -> None:
    from eventide.engines.spark.payloads import _READ, make_payload

    draw = random.Random(7)
    times = ['"2026-01-01T00:00:00Z"', '"2026-01-01 00:00:00.5"', '"yesterday"', "17", "null", '""']
    values: list[bytes | None] = [
        f'{{"s": "x", "d": 0.5, "ts": {draw.choice(times[:2])}}}'.encode() for _ in range(4000)
    ]
    values += [f'{{"s": {draw.choice(TOKENS)}, "ts": {draw.choice(times)}}}'.encode() for _ in range(1000)]
    # One without braces costs the records around it nothing, so these are between records that Arrow reads.
    values[500:500] = [None, b"", b"\xff", b"{} {", values[0].replace(b":", b":\n", 1)]
    payload = make_payload("json", "s string NOT NULL, ts timestamp, d double", None, {}, False)
    raw = spark.createDataFrame(list(enumerate(values)), "place int, value binary").select("place", *payload.inputs)
    both = [payload.parse(raw.coalesce(1), ["place"], "reason", in_words) for in_words in (True, False)]
    columns = ["place", "s", "ts", "d", "reason IS NULL AS is_event"]
    slow, fast = (
        [tuple(map(same, row)) for row in each.selectExpr(*columns).orderBy("place").collect()] for each in both
    )
    assert slow == fast
    assert payload._is_for_arrow() and slow[0][-1] and slow[504][-1]
    n_read = payload._read_with_arrow(raw.select("place", *raw.columns[1:]).coalesce(1)).selectExpr(f"count({_READ})")
    assert n_read.collect()[0][0] > 2000
    assert {row[-1] for row in fast} == {True, False}


def same(value: Any) -> Any:
    """A value with which -0 is not 0, and NaN is itself."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
    return value
