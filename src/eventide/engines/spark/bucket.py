"""The operators of one bucket inside `transformWithStateInPandas`: state in, events through each of them, state out.

A query has one operator in a bucket, a rule set one for each rule. State of an operator: a small head, rewritten when
it changes, and segments, each written once and removed once. So bytes written follow the events that arrive, and what
one operator does is not written to another's state.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

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
Name = str | None  # of a rule; a query has none
Finish = Callable[[Operator, Results], Results]


def make_processor(work: Any, kind: type[Bucket] | None = None, *more: Any) -> StatefulProcessor:
    """What `transformWithStateInPandas` runs: buckets of a kind, that of a query by default.

    A bucket gets the work, Spark's state, and `more`. It returns rows `with_counters`: after its rows comes one for
    each operator, which says what the call did.

    Spark also unpickles it in a worker beside the driver, or beside the Connect server, which gets no artifacts
    and so may not have this package. Hence a class that travels by value and imports the package only when it
    handles events. Spark would send more than 1 MB as a broadcast, which that worker cannot read.
    """
    kind = kind or Bucket
    settings = pickle.dumps((kind, work))
    head, maps = kind.HEAD, kind.MAPS

    class Processor(StatefulProcessor):  # type: ignore[misc]
        """Spark calls `init` once a task, then a handler for each bucket that has rows or an expired timer."""

        def init(self, handle: Any) -> None:
            self._state = handle, handle.getValueState(*head), *(handle.getMapState(*each) for each in maps), *more

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803
            from eventide.engines.spark.bucket import open_bucket

            yield from open_bucket(settings, key[0], *self._state).take(rows, timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:  # noqa: N802, N803
            from eventide.engines.spark.bucket import open_bucket

            yield from open_bucket(settings, key[0], *self._state).wake(timerValues, expiredTimerInfo)

    return Processor()


def open_bucket(settings: bytes, label: int, *state: Any) -> Bucket:
    """The bucket that Spark has set the state to."""
    settle()
    kind, work = pickle.loads(settings)
    bucket: Bucket = kind(work, int(label), *state)
    return bucket


@dataclass(frozen=True, slots=True)
class Work:
    """What the buckets of a query run; `schema` is that of its rows, with the computed columns.

    `delay_ms` is how far the watermark stays behind the newest event, if that alone decides it: then a bucket
    knows from its own events how far the next micro-batch's watermark will be at least, and need not wait for it.
    `follows`: another operator of the query makes the events.
    """

    spec: Spec
    n_buckets: int
    schema: pa.Schema
    delay_ms: int | None = None
    computed: tuple[Computed, ...] = ()
    follows: bool = False


@dataclass(slots=True)
class Entry:
    """What is known of an operator before it is restored; the fields in this order are part of every checkpoint."""

    segments: list[int] = field(default_factory=list)
    pending_us: int | None = None
    # It cannot run, or has failed: nothing of it is kept but its text. A text: others do not know yet.
    off: bool | str = False
    digest: str = ""  # of what is kept beside it: a rule's text and its operator's head


@dataclass(slots=True)
class Run:
    """One operator in one call: what it does, and its state when it is done."""

    name: Name
    did: Counters
    pending_us: int | None = None
    snapshot: Snapshot | None = None
    _kernel_ns: int = 0
    _started_ns: int = field(default_factory=time.perf_counter_ns)

    def timed(self, results: Results) -> Results:
        """The operator's results; the time that it takes for them is counted, that of who takes them is not."""
        while True:
            started_ns = time.perf_counter_ns()
            rows = next(results, None)
            self._kernel_ns += time.perf_counter_ns() - started_ns
            if rows is None:
                return
            self.did.matches += rows.num_rows
            yield rows

    def counted(self) -> Counters:
        """What it did up to now."""
        self.did.kernel_us = self._kernel_ns // 1000
        self.did.task_us = (time.perf_counter_ns() - self._started_ns) // 1000
        return self.did


class Bucket:
    """One call for one bucket. `handle`, `head` and `segments` are Spark's, set to this bucket by Spark.

    The bucket of a query has one operator. The head of that operator is kept beside the head of the bucket.
    """

    # Part of every checkpoint: names and types of the state variables.
    HEAD: ClassVar = ("head", "engine string, operator binary")
    MAPS: ClassVar[tuple[tuple[str, str, str], ...]] = (("segments", "number bigint", "data binary"),)

    def __init__(self, work: Any, label: int, handle: Any, head: Any, segments: Any) -> None:
        self._work = work
        self._label = label
        self._handle, self._head, self._segments = handle, head, segments
        self._entries: dict[Name, Entry] = {None: Entry()}
        self._operator = b""
        self._timer_ms: int | None = None
        self._counters: list[Counters] = []

    def take(self, rows: Frames, timer_values: Any) -> Frames:
        """What comes to the bucket in this micro-batch; an empty block only wakes it."""
        tables: list[pa.Table] = []
        changes: list[str] = []
        for frame in rows:
            tables += [from_bytes(data) for data in frame["data"] if data]
            changes += [text for text in frame.get("changes", ()) if text]
        yield from self._step(tables, changes, timer_values, expired_ms=None)

    def wake(self, timer_values: Any, expired: Any) -> Frames:
        """After the micro-batch's rows, when the watermark has reached what an operator waits for."""
        yield from self._step([], [], timer_values, expired_ms=expired.getExpiryTimeInMs())

    def _step(self, tables: list[pa.Table], changes: list[str], timer_values: Any, expired_ms: int | None) -> Frames:
        watermark_us = watermark_us_of(timer_values.getCurrentWatermarkInMs())
        self._load()
        yield from self._change(changes)
        events = concatenate(tables) if tables else None
        next_us = max(watermark_us, self._next_watermark_us(events))
        for name in sorted(self._entries, key=str):
            run = Run(name, Counters(self._label, rule=name))
            yield from self._results(run, events, watermark_us, next_us)
            if run.snapshot is not None:
                self._keep(run, run.snapshot)
        self._save(self._set_timer(expired_ms))
        if self._counters:
            yield to_frame(counter_rows(self._counters, self._work.schema, watermark_us))

    def _results(self, run: Run, events: pa.Table | None, watermark_us: int, next_us: int) -> Frames:
        """What one operator finds, as it comes: nothing but its state is held, however much that is."""
        spec, block, finish = self._plan(run.name, events)
        run.did.events = 0 if block is None else block.num_rows
        if block is None and not self._is_due(run.name, next_us):
            return
        operator = make_operator(spec, compute=add_computed)
        head = self._head_of(run.name)
        if head:
            operator.restore(Snapshot(head, self._held(run.name), self._place(run.name)))
        late_before = operator.late_events()
        results = run.timed(self._process(operator, block, watermark_us, next_us))
        for rows in finish(operator, results):
            yield self._frame(rows)
        run.did.late_events, run.did.open_runs = operator.late_events() - late_before, operator.open_runs()
        run.pending_us, run.snapshot = operator.pending_us(), operator.snapshot()

    def _process(self, operator: Operator, block: pa.Table | None, watermark_us: int, next_us: int) -> Results:
        # The watermark first, the events after it: what counts as late then depends on the watermark alone,
        # not on when this bucket was last called. Behind another operator the other way round: it returns in a
        # micro-batch what that one's watermark decides.
        if block is None or not self._work.follows:
            yield from operator.process(None, watermark_us)
        if block is not None or next_us > watermark_us:
            yield from operator.process(block, next_us)

    def _next_watermark_us(self, events: pa.Table | None) -> int:
        """What the next micro-batch's watermark will at least be: Spark rounds the newest time down to milliseconds."""
        delay_ms: int | None = self._work.delay_ms
        if delay_ms is None or events is None or not events.num_rows:
            return MIN_US
        newest_us: int = pc.max(self._times_us(events)).as_py()
        return (newest_us // 1000 - delay_ms) * 1000

    def _frame(self, rows: pa.RecordBatch) -> pd.DataFrame:
        return to_frame(result_rows(conform(rows, self._work.schema)))

    def _held(self, name: Name) -> dict[int, bytes]:
        # One by one: an iterator over the map would fetch those of all operators in one message of unbounded size.
        held = {number: self._segments.getValue(self._key(name, number)) for number in self._entries[name].segments}
        return {number: bytes(row[0]) for number, row in held.items() if row is not None}

    def _keep(self, run: Run, snapshot: Snapshot) -> None:
        """Write what has changed of an operator."""
        name, entry = run.name, self._entries[run.name]
        before = set(entry.segments)
        for number in before - snapshot.segments.keys():
            self._segments.removeKey(self._key(name, number))
        for number in snapshot.segments.keys() - before:
            self._segments.updateValue(self._key(name, number), (snapshot.segments[number],))
        entry.segments, entry.pending_us = sorted(snapshot.segments), run.pending_us
        self._put_head(name, snapshot.head)
        run.did.state_bytes = len(snapshot.head) + sum(map(len, snapshot.segments.values()))
        self._counters.append(run.counted())

    def _set_timer(self, expired_ms: int | None) -> int | None:
        """When the bucket is to be woken; Spark is told where that has changed."""
        pending = [entry.pending_us for entry in self._entries.values() if entry.pending_us is not None]
        next_ms = -(-min(pending) // 1000) if pending else None
        if next_ms != self._timer_ms:
            # Spark deletes a timer that has expired after its handler, by itself.
            if self._timer_ms is not None and self._timer_ms != expired_ms:
                self._handle.deleteTimer(self._timer_ms)
            if next_ms is not None:
                self._handle.registerTimer(next_ms)
        return next_ms

    # --- what a rule set has otherwise ----------------------------------------------------------------------

    def _change(self, changes: list[str]) -> Frames:
        """Take in what has changed among the operators, as JSON; the rows say what is wrong with some of them."""
        yield from ()

    def _load(self) -> None:
        """Find the bucket's operators and its timer."""
        saved = self._head.get()
        if saved is None:
            return
        engine, self._operator = open_sealed(saved[0].encode(), self._place(None)), bytes(saved[1])
        check_buckets(engine["n_buckets"], self._work.n_buckets)
        if engine["bucket"] != self._label or engine["operator"] != digest(self._operator):
            raise damaged(self._place(None), "its head is that of another bucket or micro-batch")
        self._entries = {None: Entry(engine["segments"])}
        self._timer_ms = engine["timer_ms"]

    def _save(self, next_ms: int | None) -> None:
        """Write the head."""
        engine = {
            "bucket": self._label,
            "n_buckets": self._work.n_buckets,
            "segments": self._entries[None].segments,
            "timer_ms": next_ms,
            "operator": digest(self._operator),
        }
        text = seal(engine).decode()
        self._head.update((text, self._operator))
        self._counters[0].state_bytes += len(text)

    def _plan(self, name: Name, events: pa.Table | None) -> tuple[Spec, pa.Table | None, Finish]:
        """What an operator is made from, its block of the events, and how its rows become those of the stream."""
        computed = self._work.computed
        return self._work.spec, events, lambda _, results: (add_computed(rows, computed) for rows in results)

    def _is_due(self, name: Name, next_us: int) -> bool:
        """Whether an operator is called without events: here always, so that state of another query is found."""
        return True

    def _times_us(self, events: pa.Table) -> pa.ChunkedArray:
        return events.column(TS)

    def _place(self, name: Name) -> str:
        """Whose state it is, for messages."""
        return f"bucket {self._label}"

    def _key(self, name: Name, number: int) -> tuple[Any, ...]:
        """The key of a segment."""
        return (number,)

    def _head_of(self, name: Name) -> bytes:
        """The head of an operator's state; empty where there is none."""
        return self._operator

    def _put_head(self, name: Name, head: bytes) -> None:
        self._operator = head


def to_frame(rows: pa.RecordBatch) -> pd.DataFrame:
    """Columns stay Arrow arrays inside pandas: an integer column with NULLs stays an integer column."""
    frame = rows.to_pandas(types_mapper=pd.ArrowDtype)
    for column in rows.schema:
        if pa.types.is_nested(column.type) and rows.column(column.name).null_count:
            # Spark reads nested values one by one, and takes only None for NULL.
            frame[column.name] = pd.Series(rows.column(column.name).to_pylist(), dtype=object)
    return frame


def watermark_us_of(watermark_ms: int) -> int:
    """Spark's watermark; it starts at 0, before anything is known."""
    return watermark_ms * 1000 if watermark_ms > 0 else MIN_US
