"""A block in event order: partition by partition, by time within each, with tie borders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.runtime.block import MASK, TS, numpy_int64
from eventide.runtime.by_code import order_by_code
from eventide.runtime.kernels.arrays import IndexArray, IntArray
from eventide.runtime.kernels.order import is_sorted, mark_ties
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.rearrange import rearrange


@dataclass(frozen=True, slots=True)
class Ordered:
    """Arrays over a block's rows in event order; `order[i]` is the block row that stands at position i."""

    order: IntArray
    offsets: IntArray
    ts_us: IntArray
    mask: IntArray
    follows: IndexArray
    precedes: IndexArray

    @property
    def n_partitions(self) -> int:
        return self.offsets.size - 1


def order_events(
    block: pa.Table, partition: Sequence[str], tie_columns: Sequence[str] | None, n_threads: int = 1
) -> Ordered:
    """Sort a block. With `tie_columns`, tied events follow one another in their order (NULLs first)."""
    codes, n_codes = encode_partitions(block, partition)
    ts_us = numpy_int64(block.column(TS))
    by_time = None if is_sorted(ts_us) else np.argsort(ts_us, kind="stable")
    if tie_columns is not None:
        by_time = _with_ties_sorted(block, ts_us, by_time, tie_columns)
    order, offsets = order_by_code(codes, n_codes, by_time, n_threads)
    ts_us = rearrange(ts_us, order, n_threads)
    follows = np.empty(ts_us.size, dtype=np.int32)
    precedes = np.empty(ts_us.size, dtype=np.int32)
    mark_ties(offsets, ts_us, tie_columns is None, follows, precedes)
    return Ordered(
        order, offsets, ts_us, rearrange(numpy_int64(block.column(MASK)), order, n_threads), follows, precedes
    )


def _with_ties_sorted(
    block: pa.Table, ts_us: IntArray, by_time: IntArray | None, tie_columns: Sequence[str]
) -> IntArray | None:
    """The order by time, then by other columns: only rows with a neighbour of the same time are compared by these."""
    times = ts_us if by_time is None else ts_us[by_time]
    is_tied = times[1:] == times[:-1]
    places = np.flatnonzero(np.append(is_tied, False) | np.insert(is_tied, 0, False))
    if not places.size:
        return by_time
    made = np.arange(times.size) if by_time is None else by_time
    rows = made[places]
    keys = [(name, "ascending", "at_start") for name in (TS, *tie_columns)]
    tied = block.select([TS, *tie_columns]).take(pa.array(rows))
    plain = [column.cast(_value_type(column.type)) for column in tied.columns]
    tied = pa.table(dict(zip(tied.column_names, plain, strict=True)))
    made[places] = rows[pc.sort_indices(tied, sort_keys=keys).to_numpy()]
    return made


def _value_type(dtype: pa.DataType) -> pa.DataType:
    return dtype.value_type if pa.types.is_dictionary(dtype) else dtype
