"""An order of lists and structs, so that events with equal times have one, however they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.runtime.kernels.arrays import IntArray


def nested_ranks(column: pa.ChunkedArray) -> IntArray:
    """Numbers in an order of the values, NULL first: lists by their items, structs by their fields.

    >>> nested_ranks(pa.chunked_array([[[2], [1, 5], None, [1], [2]]])).tolist()
    [4, 3, 1, 2, 4]
    """
    return _ranks(pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type))


def _ranks(values: pa.Array) -> IntArray:
    dtype = values.type
    if pa.types.is_struct(dtype):
        return _dense([_present(values), *(_ranks(part) for part in values.flatten())])
    if pa.types.is_nested(dtype):
        return _dense([_present(values), *_places(values)])
    if pa.types.is_null(dtype):
        return np.zeros(len(values), dtype=np.int64)
    ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
    return np.where(_present(values), ranks, 0)


def _places(values: pa.Array) -> list[IntArray]:
    """The ranks of the first items, of the second, and so on; 0 where there is none. The items of a map are structs."""
    if pa.types.is_fixed_size_list(values.type):
        values = values.cast(pa.list_(values.type.value_type))
    offsets = values.offsets.to_numpy()
    lengths = np.where(_present(values), np.diff(offsets), 0)
    ranks = _ranks(values.values)
    found = []
    for place in range(int(lengths.max(initial=0))):
        has_item = lengths > place
        at = np.zeros(lengths.size, dtype=np.int64)
        at[has_item] = 1 + ranks[offsets[:-1][has_item] + place]
        found.append(at)
    return found


def _present(values: pa.Array) -> Any:
    return values.is_valid().to_numpy(zero_copy_only=False)


def _dense(keys: list[IntArray]) -> IntArray:
    """Numbers from 1 on in the order of several keys."""
    order = np.lexsort(keys[::-1])
    differs = np.zeros(order.size, dtype=np.bool_)
    for key in keys:
        differs[1:] |= key[order][1:] != key[order][:-1]
    ranks = np.empty(order.size, dtype=np.int64)
    ranks[order] = 1 + np.cumsum(differs)
    return ranks
