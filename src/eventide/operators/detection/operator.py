"""A builder pattern over bounded input: holds the events of its partitions, returns the rows of the result."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa

from eventide.errors import InputError
from eventide.operators.block import TS
from eventide.operators.detection.matches import Rows
from eventide.operators.detection.spec import DetectionSpec
from eventide.operators.detection.walk import Search, Walk, load_kernel
from eventide.operators.holding import EndOperator
from eventide.operators.protocol import Results
from eventide.operators.rows.order import OrderedRows, order_rows
from eventide.operators.shares import share_out


class DetectionOperator(EndOperator):
    """The operator of a `DetectionSpec`. Nothing is decided before the end of the input."""

    def __init__(self, spec: DetectionSpec, n_threads: int = 1) -> None:
        super().__init__(spec.query)
        self.spec = spec
        self._n_threads = n_threads
        self._kernel = load_kernel(spec)

    def _run(self, block: pa.Table) -> Results:
        """Rows, a bounded number at a time; each thread has a share of the partitions."""
        spec = self.spec
        ordered = order_rows(block, spec.layout.partition, spec.order, spec.tie_columns, self._n_threads)
        search = Search.of(spec, block, ordered, self._n_threads)
        rows = Rows(spec, block, ordered)
        walks = [Walk(search, ordered.offsets, *share) for share in share_out(ordered.offsets, self._n_threads)]
        with ThreadPoolExecutor(max_workers=len(walks) or 1) as pool:
            while walks:
                list(pool.map(self._step, walks))
                for walk in walks:
                    for found in walk.found():
                        yield rows.batch(found)
                walks = [walk for walk in walks if not walk.is_done]

    def _step(self, walk: Walk) -> None:
        try:
            walk.step(self._kernel)
        except OverflowError as error:
            raise InputError(
                f"a condition leaves the range of its type: {error}",
                hint="cast one side to DOUBLE or to a wider DECIMAL",
            ) from error


def warm(spec: DetectionSpec) -> None:
    """Compile the spec's kernel into the cache, so that workers that share it only load it."""
    empty = pa.table({name: pa.array([], pa.int64()) for name in (TS, *spec.mask_columns)})
    nothing = OrderedRows(np.empty(0, np.int64), np.zeros(1, np.int64))
    search = replace(
        Search.of(replace(spec, encodings=()), empty, nothing, 1),
        cols=(np.empty((0, 0), np.int64), np.empty((0, 0)), np.empty((0, 0), np.bool_)),
    )
    Walk(search, nothing.offsets, 0, 0).step(load_kernel(spec))
