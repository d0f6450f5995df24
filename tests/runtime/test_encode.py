"""Arrow columns of every kind become the arrays that generated tests read."""

from __future__ import annotations

import datetime as dt
import itertools
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eventide.runtime.encode import Encoding, encode, literal_code

WORDS = ["b", None, "a", "", "é", "z", "aa", "日", "𝒳", "b", "B"]
STRING_TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]


def chunked(values: list[Any], dtype: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_dictionary(dtype):
        return pa.chunked_array(
            [
                pa.array(values[:4], pa.string()).dictionary_encode(),
                pa.array(values[4:], pa.string()).dictionary_encode(),
            ]
        )
    return pa.chunked_array([pa.array(values[:4], dtype), pa.array([], dtype), pa.array(values[4:], dtype)])


@pytest.mark.parametrize("dtype", STRING_TYPES, ids=str)
def test_codes_of_one_space_are_equal_where_strings_are(dtype: pa.DataType) -> None:
    table = pa.table({"l": chunked(WORDS, dtype), "r": chunked(WORDS[::-1], pa.string())})
    literals = ("a", "nowhere", "é")
    left, valid, right, _ = encode(table, [Encoding(c, "string", 0, literals=literals) for c in "lr"])
    assert valid.tolist() == [word is not None for word in WORDS]
    for (i, one), (j, two) in itertools.product(enumerate(WORDS), enumerate(WORDS[::-1])):
        if one is not None and two is not None:
            assert (left[i] == right[j]) == (one == two)
    for text in literals:
        code = literal_code(text, literals, ordered=False)
        assert [w for w, c in zip(WORDS, left, strict=True) if c == code and w is not None] == [
            w for w in WORDS if w == text
        ]


@pytest.mark.parametrize("dtype", STRING_TYPES, ids=str)
def test_ordered_codes_compare_as_the_bytes_do(dtype: pa.DataType) -> None:
    literals = tuple(sorted(["a", "m", "é", "~~"], key=str.encode))
    codes, valid = encode(pa.table({"s": chunked(WORDS, dtype)}), [Encoding("s", "string", 3, True, literals=literals)])
    known = [(w, int(c)) for w, c, v in zip(WORDS, codes, valid, strict=True) if v]
    known += [(text, literal_code(text, literals, ordered=True)) for text in literals]
    for (one, a), (two, b) in itertools.product(known, known):
        assert (a < b, a == b) == (one.encode() < two.encode(), one == two)


def test_spaces_do_not_depend_on_one_another() -> None:
    table = pa.table({"p": ["x", "y"], "q": ["y", "x"]})
    p, _, q, _ = encode(table, [Encoding("p", "string", 0), Encoding("q", "string", 1)])
    assert p.tolist() == q.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("kind", "dtype", "values", "expected"),
    [
        ("integer", pa.int8(), [1, None, -128], [1, 0, -128]),
        ("integer", pa.uint32(), [1, None, 2**32 - 1], [1, 0, 2**32 - 1]),
        ("double", pa.float32(), [0.5, None, -1.0], [0.5, 0.0, -1.0]),
        ("boolean", pa.bool_(), [True, None, False], [True, False, False]),
        (
            "decimal",
            pa.decimal128(18, 2),
            [Decimal("1.50"), None, Decimal("-9999999999999999.99")],
            [150, 0, -(10**18 - 1)],
        ),
        ("decimal", pa.decimal64(10, 2), [Decimal("1.50"), None, Decimal("-0.01")], [150, 0, -1]),
        ("date", pa.date32(), [dt.date(1970, 1, 2), None, dt.date(1969, 12, 31)], [1, 0, -1]),
        ("date", pa.date64(), [dt.date(1970, 1, 2), None, dt.date(1969, 12, 31)], [1, 0, -1]),
        (
            "timestamp",
            pa.timestamp("ms"),
            [dt.datetime(1970, 1, 1, 0, 0, 1), None, dt.datetime(1970, 1, 2)],
            [10**6, 0, 86_400 * 10**6],
        ),
        (
            "timestamp",
            pa.timestamp("ns", "UTC"),
            [dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC), None, None],
            [10**6, 0, 0],
        ),
        ("interval", pa.duration("us"), [dt.timedelta(seconds=1), None, dt.timedelta(-1)], [10**6, 0, -86_400 * 10**6]),
        ("interval", pa.int64(), [5, None, -5], [5, 0, -5]),
        (
            "interval",
            pa.month_day_nano_interval(),
            [(0, 1, 3_000), None, (1, 0, -2_000)],
            [86_400 * 10**6 + 3, 0, 30 * 86_400 * 10**6 - 2],
        ),
        ("integer", pa.dictionary(pa.int8(), pa.int64()), [7, None, 7], [7, 0, 7]),
    ],
)
def test_numbers_and_times(kind: str, dtype: pa.DataType, values: list[Any], expected: list[Any]) -> None:
    column = pa.chunked_array([pa.array([None, *values], dtype)[1:2], pa.array(values, dtype)[1:]])
    scale = dtype.scale if pa.types.is_decimal(dtype) else 0
    (array, valid) = encode(pa.table({"c": column}), [Encoding("c", kind, scale=scale)])
    assert (array.tolist(), valid.tolist()) == (expected, [v is not None for v in values])


@pytest.mark.parametrize("kind", ["integer", "double", "boolean", "decimal", "date", "timestamp", "interval", "string"])
@pytest.mark.parametrize("rows", [0, 3])
def test_columns_without_values(kind: str, rows: int) -> None:
    types = {
        "integer": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "decimal": pa.decimal128(5, 2),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "interval": pa.duration("us"),
        "string": pa.string(),
    }
    for dtype in (types[kind], pa.null()):
        table = pa.table({"c": pa.chunked_array([pa.array([None] * rows, dtype)] if rows else [], dtype)})
        for ordered in (False, True):
            array, valid = encode(table, [Encoding("c", kind, 0, ordered, 2 if kind == "decimal" else 0)])
            assert (len(array), valid.tolist()) == (rows, [False] * rows)


def test_arrays_always_have_the_same_layout() -> None:
    table = pa.table({"n": pa.array([1, 2], pa.int64()), "x": [1.0, 2.0], "s": ["a", "b"], "b": [True, False]})
    encodings = [
        Encoding("n", "integer"),
        Encoding("x", "double"),
        Encoding("s", "string", 0),
        Encoding("b", "boolean"),
    ]
    for array in encode(table, encodings):
        assert array.flags.c_contiguous and array.flags.writeable and array.flags.owndata
    dtypes = [array.dtype for array in encode(table, encodings)]
    assert dtypes == [np.int64, np.bool_, np.float64, np.bool_, np.int64, np.bool_, np.bool_, np.bool_]


def test_an_encoding_survives_pickling() -> None:
    encoding = Encoding("c", "string", 1, True, 0, ("a",))
    assert pickle.loads(pickle.dumps(encoding)) == encoding
