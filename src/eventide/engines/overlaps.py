"""Bounded events in slices of time that overlap by a window, on threads of this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Queue
from threading import Event

import numpy as np
import pyarrow as pa

from eventide.engines.computed import add_computed
from eventide.families.registry import make_operator
from eventide.families.time_slices import Part, make_parts, overlap_us, run_part
from eventide.runtime.block import TS, numpy_int64, within
from eventide.runtime.protocol import Results, Spec
from eventide.runtime.threads import until

FEW_EVENTS = 200_000  # below, one thread is done before others have begun
MOST_OVERLAP = 0.5  # of the events, that two slices have
_SAMPLE = 10_000
_WAITING = 16  # batches of rows of a slice that others are waited for


def time_bounds(times_us: np.ndarray, n_slices: int, back_us: int) -> tuple[int, ...]:
    """Instants that cut the events into slices of about the same size; fewer where slices would mostly overlap.

    >>> time_bounds(np.arange(100), 4, back_us=10)
    (25, 50, 75)
    >>> time_bounds(np.arange(100), 4, back_us=60)
    ()
    """
    sample = np.sort(times_us[:: max(1, times_us.size // _SAMPLE)])
    if not sample.size:
        return ()
    n_slices = most_slices(n_slices, int(sample[-1]) - int(sample[0]), back_us)
    at = np.linspace(0, sample.size, n_slices + 1)[1:-1].astype(np.int64)
    return tuple(np.unique(sample[at]).tolist())


def most_slices(n_slices: int, length_us: int, back_us: int) -> int:
    """So many slices of the time of all events that looking back, as all but the first do, does not take most of it.

    >>> most_slices(8, 100, back_us=10), most_slices(8, 100, back_us=60)
    (6, 1)
    """
    return min(n_slices, 1 + int(MOST_OVERLAP * length_us // max(1, back_us)))


def local_parts(spec: Spec, block: pa.Table, n_threads: int) -> list[Part]:
    """Slices of the events of one partition; one alone if threads would not help, or slices are not possible."""
    shared_us = overlap_us(spec)
    if shared_us is None or spec.layout.partition or n_threads < 2 or block.num_rows < FEW_EVENTS:
        return []
    bounds = time_bounds(numpy_int64(block.column(TS)), n_threads, shared_us)
    return make_parts(spec, bounds, partial(within, block))


def run_parts(spec: Spec, block: pa.Table, parts: Sequence[Part]) -> Results:
    """What all slices decide, one slice after the other; each has a thread."""
    queues: list[Queue[pa.RecordBatch | None]] = [Queue(_WAITING) for _ in parts]
    stopped = Event()

    def work(part: Part, queue: Queue[pa.RecordBatch | None]) -> None:
        try:
            with until(stopped):
                for rows in run_part(make_operator(spec, compute=add_computed), part.cut(block), part):
                    if stopped.is_set():
                        return
                    queue.put(rows)
        finally:
            queue.put(None)

    with ThreadPoolExecutor(len(parts)) as pool:
        futures = [pool.submit(work, part, queue) for part, queue in zip(parts, queues, strict=True)]
        try:
            for queue, future in zip(queues, futures, strict=True):
                yield from _read(queue, future)
        finally:
            stopped.set()
            for queue in queues:
                _empty(queue)


def _read(queue: Queue[pa.RecordBatch | None], future: Future[None]) -> Iterator[pa.RecordBatch]:
    while (rows := queue.get()) is not None:
        yield rows
    future.result()


def _empty(queue: Queue[pa.RecordBatch | None]) -> None:
    """Room for a thread that waits to put its last rows."""
    while not queue.empty():
        queue.get()
