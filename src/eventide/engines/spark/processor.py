"""The operator of one bucket inside `transformWithStateInPandas`: state in, events through, state out.

State of a bucket: a small head, rewritten at each call, and the operator's segments, each written once and
removed once. So bytes written follow the events that arrive.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.streaming import StatefulProcessor

from eventide.engines.computed import add_computed
from eventide.engines.spark.checkpoints import check_buckets
from eventide.engines.spark.counters import Counters, counter_rows, result_rows
from eventide.engines.spark.types import conform
from eventide.engines.spark.workers import settle
from eventide.families.registry import make_operator
from eventide.runtime.block import MIN_US, TS, concatenate, from_bytes
from eventide.runtime.computed import Computed
from eventide.runtime.protocol import Operator, Results, Snapshot, Spec
from eventide.runtime.sealed import damaged, digest, open_sealed, seal

Frames = Iterator[pd.DataFrame]

# Part of every checkpoint: names and types of the state variables.
_HEAD, _HEAD_SCHEMA = "head", "engine string, operator binary"
_SEGMENTS, _NUMBER_SCHEMA, _SEGMENT_SCHEMA = "segments", "number bigint", "data binary"


def make_processor(
    spec: Spec,
    n_buckets: int,
    schema: pa.Schema,
    delay_ms: int | None = None,
    computed: Sequence[Computed] = (),
    follows: bool = False,
) -> StatefulProcessor:
    """What `transformWithStateInPandas` runs for the query; `schema` is that of its rows, with the computed columns.

    It returns them `with_counters`: behind a bucket's rows stands one with what the call did.

    `delay_ms` is how far the watermark stays behind the newest event, if that alone decides it: then a bucket
    knows from its own events how far the next micro-batch's watermark will be at least, and need not wait for it.
    `follows`: another operator of the query makes the events.

    Spark also unpickles it in a worker beside the driver, or beside the Connect server, which gets no artifacts
    and so may not have this package. Hence a class that travels by value and imports the package only when it
    handles events. Spark would send more than 1 MB as a broadcast, which that worker cannot read.
    """
    settings = pickle.dumps((spec, n_buckets, schema, delay_ms, tuple(computed), follows))
    head, segments = (_HEAD, _HEAD_SCHEMA), (_SEGMENTS, _NUMBER_SCHEMA, _SEGMENT_SCHEMA)

    class Processor(StatefulProcessor):  # type: ignore[misc]
        """Spark calls `init` once a task, then a handler for each bucket that has rows or an expired timer."""

        def init(self, handle: Any) -> None:
            self._state = handle, handle.getValueState(*head), handle.getMapState(*segments)

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803
            from eventide.engines.spark.processor import Bucket

            yield from Bucket(settings, key[0], *self._state).take(rows, timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:  # noqa: N802, N803
            from eventide.engines.spark.processor import Bucket

            yield from Bucket(settings, key[0], *self._state).wake(timerValues, expiredTimerInfo)

    return Processor()


class Bucket:
    """One call for one bucket. `handle`, `head` and `segments` are Spark's, set to this bucket by Spark."""

    def __init__(self, settings: bytes, label: int, handle: Any, head: Any, segments: Any) -> None:
        settle()
        self._started_ns = time.perf_counter_ns()
        self._kernel_ns = 0
        self._n_matches = 0
        self._label = label
        self._delay_ms: int | None
        self._follows: bool
        (
            self._spec,
            self._n_buckets,
            self._schema,
            self._delay_ms,
            self._computed,
            self._follows,
        ) = pickle.loads(settings)
        self._handle = handle
        self._head = head
        self._segments = segments

    def take(self, rows: Frames, timer_values: Any) -> Frames:
        """The blocks of the bucket in this micro-batch; an empty one only wakes it."""
        blocks = [from_bytes(data) for frame in rows for data in frame["data"] if data]
        yield from self._step(blocks, timer_values, expired_ms=None)

    def wake(self, timer_values: Any, expired: Any) -> Frames:
        """After the micro-batch's rows, when the watermark has reached the bucket's waiting events."""
        yield from self._step([], timer_values, expired_ms=expired.getExpiryTimeInMs())

    def _step(self, blocks: list[pa.Table], timer_values: Any, expired_ms: int | None) -> Frames:
        operator, numbers, timer_ms = self._load()
        late_before = operator.late_events()
        watermark_us = watermark_us_of(timer_values.getCurrentWatermarkInMs())
        # The watermark first, the events after it: what counts as late then depends on the watermark alone,
        # not on when this bucket was last called. Behind another operator the other way round: it returns in a
        # micro-batch what that one's watermark decides.
        if not (self._follows and blocks):
            yield from self._frames(operator.process(None, watermark_us))
        n_events = 0
        if blocks:
            block = concatenate(blocks)
            n_events = block.num_rows
            yield from self._frames(operator.process(block, max(watermark_us, self._next_watermark_us(block))))
        state_bytes = self._save(operator, numbers, timer_ms, expired_ms)
        counters = Counters(
            bucket=int(self._label),
            events=n_events,
            late_events=operator.late_events() - late_before,
            matches=self._n_matches,
            open_runs=operator.open_runs(),
            state_bytes=state_bytes,
            kernel_us=self._kernel_ns // 1000,
            total_us=(time.perf_counter_ns() - self._started_ns) // 1000,
        )
        yield to_frame(counter_rows([counters], self._schema, watermark_us))

    def _next_watermark_us(self, block: pa.Table) -> int:
        """What the next micro-batch's watermark will at least be: Spark rounds the newest time down to milliseconds."""
        if self._delay_ms is None:
            return MIN_US
        newest_us: int = pc.max(block.column(TS)).as_py()
        return (newest_us // 1000 - self._delay_ms) * 1000

    def _load(self) -> tuple[Operator, set[int], int | None]:
        """The bucket's operator, the segments its state holds, and its timer."""
        operator = make_operator(self._spec, compute=add_computed)
        saved = self._head.get()
        if saved is None:
            return operator, set(), None
        place = f"bucket {self._label}"
        engine, head = open_sealed(saved[0].encode(), place), bytes(saved[1])
        check_buckets(engine["n_buckets"], self._n_buckets)
        if engine["bucket"] != int(self._label) or engine["operator"] != digest(head):
            raise damaged(place, "its head is that of another bucket or micro-batch")
        # One by one: an iterator over the map would fetch them in one message of unbounded size.
        held = {number: self._segments.getValue((number,)) for number in engine["segments"]}
        segments = {number: bytes(row[0]) for number, row in held.items() if row is not None}
        operator.restore(Snapshot(head, segments, place))
        return operator, set(segments), engine["timer_ms"]

    def _save(self, operator: Operator, numbers: set[int], timer_ms: int | None, expired_ms: int | None) -> int:
        """Write what has changed; the bytes of all of the bucket's state."""
        snapshot = operator.snapshot()
        for number in numbers - snapshot.segments.keys():
            self._segments.removeKey((number,))
        for number in snapshot.segments.keys() - numbers:
            self._segments.updateValue((number,), (snapshot.segments[number],))
        pending_us = operator.pending_us()
        next_ms = None if pending_us is None else -(-pending_us // 1000)
        if next_ms != timer_ms:
            # Spark deletes a timer that has expired after its handler, by itself.
            if timer_ms is not None and timer_ms != expired_ms:
                self._handle.deleteTimer(timer_ms)
            if next_ms is not None:
                self._handle.registerTimer(next_ms)
        engine = {"bucket": int(self._label), "n_buckets": self._n_buckets, "segments": sorted(snapshot.segments)}
        engine_text = seal(engine | {"timer_ms": next_ms, "operator": digest(snapshot.head)}).decode()
        self._head.update((engine_text, snapshot.head))
        return len(engine_text) + len(snapshot.head) + sum(map(len, snapshot.segments.values()))

    def _frames(self, results: Results) -> Frames:
        for rows in self._timed(results):
            self._n_matches += rows.num_rows
            yield to_frame(result_rows(conform(add_computed(rows, self._computed), self._schema)))

    def _timed(self, results: Results) -> Results:
        """The operator's results; the time that it takes for them is counted, that of who takes them is not."""
        while True:
            started_ns = time.perf_counter_ns()
            rows = next(results, None)
            self._kernel_ns += time.perf_counter_ns() - started_ns
            if rows is None:
                return
            yield rows


def to_frame(rows: pa.RecordBatch) -> pd.DataFrame:
    """Columns stay Arrow arrays inside pandas: an integer column with NULLs stays an integer column."""
    frame = rows.to_pandas(types_mapper=pd.ArrowDtype)
    for field in rows.schema:
        if pa.types.is_nested(field.type) and rows.column(field.name).null_count:
            # Spark reads nested values one by one, and takes only None for NULL.
            frame[field.name] = pd.Series(rows.column(field.name).to_pylist(), dtype=object)
    return frame


def watermark_us_of(watermark_ms: int) -> int:
    """Spark's watermark; it starts at 0, before anything is known."""
    return watermark_ms * 1000 if watermark_ms > 0 else MIN_US
