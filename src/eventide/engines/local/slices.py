"""Bounded events in parts of time, on threads of this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Queue
from threading import Event

import pyarrow as pa

from eventide.engines.computed import add_computed
from eventide.families.registry import make_operator
from eventide.runtime.protocol import Results, Spec
from eventide.runtime.slicing import Part
from eventide.runtime.threads import until

_WAITING = 16  # batches of rows of a slice that others are waited for


def run_parts(spec: Spec, block: pa.Table, parts: Sequence[Part]) -> Results:
    """What all slices decide, one slice after the other; each has a thread."""
    queues: list[Queue[pa.RecordBatch | None]] = [Queue(_WAITING) for _ in parts]
    stopped = Event()

    def work(part: Part, queue: Queue[pa.RecordBatch | None]) -> None:
        try:
            with until(stopped):
                for rows in part.run(make_operator(spec, compute=add_computed), part.cut(block)):
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
