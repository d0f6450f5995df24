"""Matrices of records as columns of a block, as they travel between tasks and lie in a stream's state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from eventide.families.trends.compiled import Kernel
from eventide.families.trends.inputs import Inputs, rank_values
from eventide.families.trends.kernel_records import NONE

LAST = "last"  # the time of the last event; also what tells matrices from events
_WORDS = ("counts", "weights", "sums")


def finite_name(i: int) -> str:
    """The column that says whether all events of a sum of doubles are finite."""
    return f"finite{i}"


def write_matrices(records: Any, n: int, inputs: Inputs, distinct: list[pa.Array]) -> dict[str, pa.Array]:
    """The columns of n matrices: numbers as bytes, extremes as the values that they are ranks of."""
    columns: dict[str, pa.Array] = {}
    if not n:
        return columns
    for name, array in zip(_WORDS, records, strict=False):
        if array.size:
            width = array.nbytes // n
            buffer = pa.py_buffer(np.ascontiguousarray(array))
            columns[name] = pa.Array.from_buffers(pa.binary(width), n, [None, buffer])
    n_extremes = len(inputs.extremes)
    for i, (_, _, greatest) in enumerate(inputs.extremes):
        ranks = records[3][i::n_extremes]
        codes = len(distinct[i]) - 1 - ranks if greatest else ranks
        values = distinct[i].take(pa.array(codes, mask=ranks == NONE))
        columns[f"extreme{i}"] = pa.FixedSizeListArray.from_arrays(values, len(ranks) // n)
    return columns


def read_matrices(slices: pa.Table, inputs: Inputs, kernel: Kernel) -> tuple[Any, list[pa.Array]]:
    """The records of all matrices, and the values that their extremes are ranks of."""
    words = []
    for name, dtype in zip(_WORDS, (kernel.numbers.DTYPE, kernel.numbers.DTYPE, np.float64), strict=True):
        if name in slices.schema.names:
            column = _one(slices.column(name))
            width = column.type.byte_width
            data = np.frombuffer(column.buffers()[1], dtype=np.uint8)
            words.append(data[column.offset * width : (column.offset + len(column)) * width].view(dtype).reshape(-1, 2))
        else:
            words.append(np.zeros((0, 2), dtype))
    n = slices.num_rows
    n_cells = words[0].shape[0] // n if n else 0
    extremes = np.full((n * n_cells, len(inputs.extremes)), NONE, dtype=np.int64)
    distinct = []
    for i, (_, _, greatest) in enumerate(inputs.extremes):
        values, codes = rank_values(pa.chunked_array([_one(slices.column(f"extreme{i}")).flatten()]))
        if len(codes) != n * n_cells:
            raise ValueError("a matrix has a value for every cell")
        extremes[:, i] = np.where(codes < 0, NONE, len(values) - 1 - codes if greatest else codes)
        distinct.append(values)
    return (*words, extremes.reshape(-1)), distinct


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
