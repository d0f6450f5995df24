"""Stable hashes of rows over typed Arrow columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.runtime.kernels.arrays import HashArray
from eventide.runtime.kernels.hashing import hash_integers, hash_strings


def hash_rows(table: pa.Table, columns: Sequence[str]) -> HashArray:
    """One 64-bit hash per row over the named columns: equal values hash equally whatever their width.

    >>> narrow = pa.table({"x": pa.array([1, None], pa.int8())})
    >>> wide = pa.table({"x": pa.array([1, None], pa.int64())})
    >>> bool((hash_rows(narrow, ["x"]) == hash_rows(wide, ["x"])).all())
    True
    """
    hashes = np.zeros(table.num_rows, dtype=np.uint64)
    for name in columns:
        _fold(table.column(name), hashes)
    return hashes


def _fold(column: pa.ChunkedArray, hashes: HashArray) -> None:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], kind)
    _fold_array(array, hashes)


def _fold_array(array: pa.Array, hashes: HashArray) -> None:
    valid = np.asarray(array.is_valid().to_numpy(zero_copy_only=False))
    integers = _as_integers(array)
    if integers is not None:
        hash_integers(integers, valid, hashes)
        return
    if not _is_binary(array.type):
        array = array.cast(pa.large_string())
    text = array.cast(pa.large_binary())
    _, offsets, data = text.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    content = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    hash_strings(starts, content, valid, hashes)


def _as_integers(array: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """The values as int64 where the type has such a form; NULLs become 0."""
    kind = array.type
    if pa.types.is_floating(kind):
        # -0.0 and 0.0 are one partition, and so are all NaNs.
        wide = np.asarray(pc.fill_null(array.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)) + 0.0
        return np.where(np.isnan(wide), np.nan, wide).view(np.int64)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        array = array.cast(pa.int64(), safe=False)
    elif pa.types.is_date32(kind) or pa.types.is_time32(kind):
        array = array.cast(pa.int32()).cast(pa.int64())
    elif pa.types.is_timestamp(kind):
        array = array.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
    elif pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        array = array.cast(pa.int64())
    else:
        return None
    return np.asarray(pc.fill_null(array, 0).to_numpy(zero_copy_only=False))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))
