"""Event values as NumPy arrays for generated tests: integers, doubles, and codes for strings.

Goes in: an Arrow table and one `Encoding` per value. Comes out: the flat tuple (values_0, valid_0, values_1, ...),
every array contiguous and writable, so that the types Numba sees never change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventide.runtime.rearrange import rearrange

# A literal of an ordered code space has a code known before any data: its rank, above so many codes for data.
_LITERAL_SHIFT = 40


@dataclass(frozen=True, slots=True)
class Encoding:
    """How one column becomes an array.

    `kind` is "integer", "double", "boolean", "decimal", "date", "timestamp", "interval" or "string". Strings that are
    compared with one another have the same `space`; `ordered` codes compare as the strings do, byte by byte;
    `literals` are the strings of the query that the space must hold, ascending by bytes. `scale` is a decimal's.
    """

    column: str
    kind: str
    space: int = -1
    ordered: bool = False
    scale: int = 0
    literals: tuple[str, ...] = ()


def literal_code(text: str, literals: Sequence[str], ordered: bool) -> int:
    """The code of a string literal, which does not depend on the data.

    >>> literal_code("b", ("a", "b"), ordered=False), literal_code("b", ("a", "b"), ordered=True) == 2 << 40
    (1, True)
    """
    rank = bisect_left(literals, text.encode(), key=str.encode)
    return (rank + 1) << _LITERAL_SHIFT if ordered else rank


def encode_columns(
    table: pa.Table, encodings: Sequence[Encoding], order: NDArray[np.int64] | None = None, n_threads: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
    """All encodings as three arrays of one row each: integers and codes, doubles, and what is valid.

    Three arrays whatever the query: with two per value, compile time grows with the square of their number (24
    values took 53 s). `order` rearranges the table's rows. `place` says where a value stands.

    >>> table = pa.table({"v0": [1.5, None], "v1": [7, 8]})
    >>> encode_columns(table, [Encoding("v0", "double"), Encoding("v1", "integer")])[0].tolist()
    [[7, 8]]
    """
    flat = encode(table, encodings)
    n_rows = table.num_rows if order is None else order.size
    n_doubles = sum(encoding.kind == "double" for encoding in encodings)
    integers = np.empty((len(encodings) - n_doubles, n_rows), dtype=np.int64)
    doubles = np.empty((n_doubles, n_rows), dtype=np.float64)
    valid = np.empty((len(encodings), n_rows), dtype=np.bool_)
    for i in range(len(encodings)):
        array, row = place(encodings, i)
        values, known = flat[2 * i], flat[2 * i + 1]
        (integers, doubles)[array][row] = values if order is None else rearrange(values, order, n_threads)
        valid[i] = known if order is None or known.all() else rearrange(known, order, n_threads)
    return integers, doubles, valid


def place(encodings: Sequence[Encoding], i: int) -> tuple[int, int]:
    """The array (0 integers, 1 doubles) and the row of encoding i in what `encode_columns` gives."""
    is_double = encodings[i].kind == "double"
    return int(is_double), sum((encoding.kind == "double") == is_double for encoding in encodings[:i])


def encode(table: pa.Table, encodings: Sequence[Encoding]) -> tuple[NDArray[Any], ...]:
    """The arrays of all encodings; NULL is a 0 that is not valid.

    >>> table = pa.table({"v0": ["x", None, "y"], "v1": ["y", "x", "x"]})
    >>> codes = encode(table, [Encoding("v0", "string", space=0), Encoding("v1", "string", space=0)])
    >>> codes[0][0] == codes[2][1], codes[0][2] == codes[2][0], codes[1].tolist()
    (np.True_, np.True_, [True, False, True])
    """
    spaces: dict[int, list[int]] = {}
    for i, encoding in enumerate(encodings):
        if encoding.kind == "string":
            spaces.setdefault(encoding.space, []).append(i)
    strings: dict[int, NDArray[Any]] = {}
    for members in spaces.values():
        codes = _encode_strings([table.column(encodings[i].column) for i in members], encodings[members[0]])
        strings.update(zip(members, codes, strict=True))
    flat: list[NDArray[Any]] = []
    for i, encoding in enumerate(encodings):
        column = table.column(encoding.column)
        values = strings[i] if i in strings else _numbers(column, encoding)
        valid = _own(column.is_valid(), np.bool_) if column.null_count else np.ones(len(column), np.bool_)
        flat += [values, valid]
    return tuple(flat)


_ARROW_TYPES = {
    "integer": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "interval": pa.duration("us"),
}


def _numbers(column: pa.ChunkedArray, encoding: Encoding) -> NDArray[Any]:
    dtype = {"double": np.float64, "boolean": np.bool_}.get(encoding.kind, np.int64)
    if encoding.kind == "decimal":
        return _unscaled(column, encoding.scale)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_interval(column.type):
        return interval_us(column)
    if encoding.kind in ("timestamp", "interval", "date") and not pa.types.is_integer(column.type):
        target = _ARROW_TYPES[encoding.kind]
        if encoding.kind == "timestamp" and pa.types.is_timestamp(column.type):
            target = pa.timestamp("us", tz=column.type.tz)
        column = column.cast(target, safe=False)
        column = column.cast(pa.int32() if encoding.kind == "date" else pa.int64()).cast(pa.int64())
    elif encoding.kind in ("integer", "double", "boolean"):
        column = column.cast(_ARROW_TYPES[encoding.kind])
    if column.null_count:
        column = column.fill_null(pa.scalar(False) if encoding.kind == "boolean" else pa.scalar(0, column.type))
    return _own(column, dtype)


_DAY_US = 86_400_000_000
_MONTH_DAY_NANO = np.dtype([("months", np.int32), ("days", np.int32), ("nanoseconds", np.int64)])


def interval_us(column: pa.ChunkedArray) -> NDArray[Any]:
    """DuckDB's INTERVAL as microseconds, a month as 30 days, which is how DuckDB compares them; NULL is 0."""
    plain = _one_array(column)
    if len(plain) == 0:
        return np.empty(0, dtype=np.int64)
    parts = np.frombuffer(plain.buffers()[1], dtype=_MONTH_DAY_NANO)[plain.offset : plain.offset + len(plain)]
    days = parts["months"].astype(np.int64) * 30 + parts["days"]
    lengths: NDArray[np.int64] = days * _DAY_US + parts["nanoseconds"] // 1000
    lengths[~np.asarray(plain.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)] = 0
    return lengths


def _unscaled(column: pa.ChunkedArray, scale: int) -> NDArray[Any]:
    """Decimals of up to 18 digits as integers: their low 64 bits."""
    plain = _one_array(column.cast(pa.decimal128(38, scale)))
    if len(plain) == 0:
        return np.empty(0, dtype=np.int64)
    words = np.frombuffer(plain.buffers()[1], dtype=np.int64).reshape(-1, 2)
    low = words[plain.offset : plain.offset + len(plain), 0].copy()
    if plain.null_count:
        low[~np.asarray(plain.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)] = 0
    return low


def _encode_strings(columns: list[pa.ChunkedArray], space: Encoding) -> list[NDArray[Any]]:
    """Codes for the columns of one code space."""
    encoded = [_dictionary(column) for column in columns]
    together = pa.concat_arrays([dictionary for dictionary, _ in encoded]).dictionary_encode()
    distinct = together.dictionary
    codes = _codes(distinct, space)
    by_entry = codes[together.indices.to_numpy(zero_copy_only=False)] if len(together) else codes
    result, start = [], 0
    for dictionary, indices in encoded:
        mine = by_entry[start : start + len(dictionary)]
        result.append(np.ascontiguousarray(mine[indices]) if len(mine) else np.zeros(indices.size, np.int64))
        start += len(dictionary)
    return result


def _codes(distinct: pa.Array, space: Encoding) -> NDArray[np.int64]:
    n, n_literals = len(distinct), len(space.literals)
    literals = pa.array(space.literals, distinct.type)
    place = pc.index_in(distinct, literals).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    if not space.ordered:
        return np.where(place >= 0, place, np.arange(n_literals, n_literals + n, dtype=np.int64))
    as_bytes = distinct.cast(pa.large_binary())
    rank = np.empty(n, dtype=np.int64)
    rank[pc.sort_indices(as_bytes).to_numpy()] = np.arange(n, dtype=np.int64)
    n_below = np.zeros(n, dtype=np.int64)
    for text in space.literals:
        n_below += pc.greater_equal(as_bytes, pa.scalar(text.encode(), pa.large_binary())).to_numpy(
            zero_copy_only=False
        )
    base = n_below << _LITERAL_SHIFT
    return np.where(place >= 0, base, base + 1 + rank)


def _dictionary(column: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int64]]:
    """The distinct strings of a column and each row's place among them, 0 for NULL."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()
    array = _one_array(column.unify_dictionaries())
    # A NULL may also stand in the dictionary itself, where its code is never read.
    dictionary = array.dictionary.cast(pa.large_string()).fill_null("")
    return dictionary, _own(array.indices.fill_null(0), np.int64)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _own(column: Any, dtype: Any) -> NDArray[Any]:
    values = column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)
    return np.array(values, dtype=dtype, order="C", copy=True)
