"""Partition values to codes from 0 on: equal values, NULLs among themselves, get one code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.runtime.kernels.arrays import IntArray


def encode_partitions(block: pa.Table, columns: Sequence[str]) -> tuple[IntArray, int]:
    """One code per row and how many codes there may be; without columns, everything is one partition.

    >>> codes, n = encode_partitions(pa.table({"p0": ["a", None, "a"], "p1": [1, 1, 2]}), ["p0", "p1"])
    >>> codes.tolist(), n
    ([0, 2, 1], 3)
    """
    if block.num_rows == 0:
        return np.empty(0, dtype=np.int64), 0
    if not columns:
        return np.zeros(block.num_rows, dtype=np.int64), 1
    codes, n_codes = _encode(block.column(columns[0]))
    for name in columns[1:]:
        more, n_more = _encode(block.column(name))
        # Densify after each column, so that the product of the counts never outgrows int64.
        codes, n_codes = _encode(pa.chunked_array([pa.array(codes.astype(np.int64) * n_more + more)]))
    return codes, n_codes


def _encode(column: pa.ChunkedArray) -> tuple[IntArray, int]:
    if pa.types.is_dictionary(column.type):
        if not any(chunk.dictionary.null_count for chunk in column.chunks):
            return _encode_coded(column)
        column = column.cast(column.type.value_type)
    near = _near_integers(column)
    if near is not None:
        return near
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=np.int64), 1
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float32()) if pa.types.is_float16(column.type) else column
        column = pc.add(column, 0.0)  # -0.0 joins 0.0
    encoded = pc.dictionary_encode(column).unify_dictionaries()
    n_values = len(encoded.chunk(0).dictionary)
    indices = pa.chunked_array([chunk.indices for chunk in encoded.chunks])
    if not indices.null_count:
        return indices.to_numpy().astype(np.int64, copy=False), n_values
    # NULL is a partition of its own, as in GROUP BY.
    return pc.fill_null(indices, n_values).to_numpy().astype(np.int64, copy=False), n_values + 1


def _encode_coded(column: pa.ChunkedArray) -> tuple[IntArray, int]:
    """The codes that a column has, where equal values may have several."""
    chunks = column.unify_dictionaries().chunks
    dictionary = chunks[0].dictionary
    entries = pa.concat_arrays([dictionary, pa.nulls(1, dictionary.type)])
    codes, n_codes = _encode(pa.chunked_array([entries]))
    indices = pa.chunked_array([chunk.indices for chunk in chunks])
    if not indices.null_count and np.array_equal(codes, np.arange(codes.size)):
        return indices.to_numpy().astype(np.int64, copy=False), n_codes
    if indices.null_count:
        indices = pc.fill_null(indices.cast(pa.int64()), len(dictionary))
    return codes[indices.to_numpy()], n_codes


def _near_integers(column: pa.ChunkedArray) -> tuple[IntArray, int] | None:
    """Integers that lie close together are codes already, some of them unused; None for anything else."""
    if not pa.types.is_integer(column.type) or column.null_count or not len(column):
        return None
    ends = pc.min_max(column)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if high - low >= len(column):
        return None
    values = column.to_numpy()
    if low == 0 and values.dtype == np.int32:
        return values, high + 1
    return values.astype(np.int64, copy=False) - low, high - low + 1
