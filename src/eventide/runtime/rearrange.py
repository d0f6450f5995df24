"""Columns into another order, on several threads: after reading, the largest part of preparing a block."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eventide.runtime.block import numpy_int64
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import gather, gather_decoded
from eventide.runtime.threads import share_among_threads

Values = TypeVar("Values", bound=NDArray[Any])

_WORTH_A_THREAD = 1 << 16


def rearrange(values: Values, order: IntArray, n_threads: int = 1) -> Values:
    """The values in the given order.

    >>> rearrange(np.array([10, 20, 30]), np.array([2, 0, 1])).tolist()
    [30, 10, 20]
    """
    out = np.empty(order.size, dtype=values.dtype)
    _share(lambda part: gather(values, order[part], out[part]), order.size, n_threads)
    return out  # type: ignore[return-value]


def rearrange_integers(column: pa.ChunkedArray, order: IntArray, out: IntArray, n_threads: int = 1) -> None:
    """A column of integers without NULLs, which may lie there as codes, in the given order.

    >>> out = np.empty(3, np.int64)
    >>> rearrange_integers(pa.chunked_array([pa.array([7, 8, 7]).dictionary_encode()]), np.array([1, 0, 2]), out)
    >>> out.tolist()
    [8, 7, 7]
    """
    if not pa.types.is_dictionary(column.type) or not len(column):
        values = numpy_int64(column)
        _share(lambda part: gather(values, order[part], out[part]), order.size, n_threads)
        return
    chunks = column.unify_dictionaries().chunks
    known = np.asarray(chunks[0].dictionary.to_numpy())
    # As narrow as they can be, so that they stay near: they are read in any order.
    width = np.min_scalar_type(known.size)
    codes = np.concatenate([chunk.indices.to_numpy().astype(width, copy=False) for chunk in chunks])
    _share(lambda part: gather_decoded(codes, known, order[part], out[part]), order.size, n_threads)


def _share(gather_part: Callable[[slice], None], size: int, n_threads: int) -> None:
    n_parts = max(1, min(n_threads, size // _WORTH_A_THREAD))
    borders = [size * i // n_parts for i in range(n_parts + 1)]
    share_among_threads(gather_part, [slice(start, stop) for start, stop in pairwise(borders)])
