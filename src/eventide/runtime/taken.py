"""Arrow arrays that operators make of a block's columns and of kernels' numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventide.runtime.kernels.arrays import IntArray


def take(block: pa.Table, name: str, rows: pa.Array) -> pa.Array:
    """A block column at some rows, as one plain array.

    >>> take(pa.table({"c0": ["a", "b", None]}), "c0", pa.array([2, 1])).to_pylist()
    [None, 'b']
    """
    taken = block.column(name).take(rows)
    joined = pa.concat_arrays(taken.chunks) if taken.num_chunks else pa.array([], taken.type)
    return joined.cast(joined.type.value_type) if pa.types.is_dictionary(joined.type) else joined


def decimals(unscaled: IntArray, missing: NDArray[np.bool_] | None, dtype: pa.DataType) -> pa.Array:
    """64-bit unscaled numbers as decimals.

    >>> decimals(np.array([150, -1]), None, pa.decimal128(5, 2)).to_pylist()
    [Decimal('1.50'), Decimal('-0.01')]
    """
    wide = np.empty((unscaled.size, 2), dtype=np.int64)
    wide[:, 0], wide[:, 1] = unscaled, unscaled >> 63
    values = pa.Array.from_buffers(dtype, unscaled.size, [None, pa.py_buffer(wide.tobytes())])
    return values if missing is None else pc.if_else(pa.array(missing), pa.scalar(None, dtype), values)
