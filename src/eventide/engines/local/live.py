"""Input that is still coming, in this process: blocks from an iterator or a queue, results as they are decided.

Events are hashed to buckets, each with an operator of its own, and workers take buckets; so the number of workers can
change between two blocks, and a bucket moves without its state being copied.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eventide.engines.computed import add_computed
from eventide.engines.intake import microseconds, take_in
from eventide.engines.lengths import with_lengths
from eventide.engines.local.plausible_times import Times, warn_of_unit
from eventide.engines.local.run import project_rows
from eventide.engines.local.sources import Source, open_source
from eventide.engines.local.tuning import Decision, Tuner, assign, is_off_balance
from eventide.engines.raw_columns import raw_columns
from eventide.errors import InputError
from eventide.families.registry import family_of, make_operator
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.physical import Physical
from eventide.runtime.block import MIN_US, TS, cut
from eventide.runtime.protocol import Operator
from eventide.runtime.threads import share_among_threads

N_BUCKETS = 64
_MOST_WAITING = 64  # blocks of the source that are read ahead
_END = object()
_log = logging.getLogger("eventide.live")

Plan = Callable[[pa.Schema], Physical]


@dataclass(slots=True)
class Counters:
    """What a live run has counted."""

    events: int = 0
    dropped_events: int = 0
    blocks: int = 0
    matches: int = 0
    decisions: list[Decision] = field(default_factory=list)


class Live:
    """The results of a live source: iterate over it for tables of rows; `metrics()` at any time, from any thread."""

    def __init__(
        self,
        plan: Plan,
        source: Iterable[Any] | queue.Queue[Any],
        tuner: Tuner,
        clock: Callable[[], float] = time.monotonic,
        shown: Callable[[pa.Table], Any] = lambda rows: rows,
    ) -> None:
        self._plan = plan
        self._shown = shown
        self._tuner = tuner
        self._clock = clock
        self._counters = Counters()
        self._has_warned = False
        self._waiting: queue.Queue[Any] = source if isinstance(source, queue.Queue) else queue.Queue(_MOST_WAITING)
        self._stopped = threading.Event()
        self._reader = None
        if not isinstance(source, queue.Queue):
            self._reader = threading.Thread(target=self._read, args=(source,), name="eventide-live", daemon=True)
        self._operators: list[Operator] = []
        self._loads: list[int] = []
        self._workers: list[int] = []
        self._told_us: int | None = None  # the last watermark, for operators that must be told of each

    def __repr__(self) -> str:
        events, matches = self._counters.events, self._counters.matches
        return f"<Live: {events:,} events, {matches:,} matches so far; iterate over it for the rows>"

    def metrics(self) -> dict[str, Any]:
        """Counters, the size of blocks and the number of workers now, late events, bytes held, and all decisions."""
        counters = self._counters
        return {
            "events": counters.events,
            "dropped_events": counters.dropped_events,
            "late_events": sum(operator.late_events() for operator in self._operators),
            "blocks": counters.blocks,
            "matches": counters.matches,
            "block_events": self._tuner.block_events,
            "workers": self._tuner.workers,
            "state_bytes": sum(operator.memory_bytes() for operator in self._operators),
            "decisions": list(counters.decisions),
        }

    def __iter__(self) -> Iterator[Any]:
        """Tables of rows in order of their detection; ends with the source, or with None in the queue."""
        if self._reader is not None:
            self._reader.start()
        try:
            yield from map(self._shown, self._run())
        finally:
            self._stopped.set()

    def _read(self, source: Iterable[Any]) -> None:
        """Take blocks ahead of the workers, in a thread."""
        try:
            for block in source:
                if not self._put(block):
                    return
        except BaseException as error:
            self._put(error)
        else:
            self._put(_END)

    def _put(self, block: Any) -> bool:
        while not self._stopped.is_set():
            try:
                self._waiting.put(block, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def _run(self) -> Iterator[pa.Table]:
        tuner = self._tuner
        first = self._take(None)
        if first is None:
            return
        source = open_source(first)
        physical = self._plan(source.schema)
        if physical.align_to_first:
            hint = "give a time: origin='6 hours'"
            raise InputError("origin='first' needs all events: the first of live input may come late", hint=hint)
        if physical.closes_at_end:
            message = "close_at_end is for bounded input: what the end closes would have been decided before"
            raise InputError(message, hint="leave it out, or run over all events: q.run(events)")
        has_keys = bool(physical.intake.layout.distribution)
        n_buckets = N_BUCKETS if has_keys else 1
        self._operators = [make_operator(physical.spec, 1, add_computed) for _ in range(n_buckets)]
        self._loads, self._workers = [0] * n_buckets, [0] * n_buckets
        tuner.start(self._clock())
        watermark_us, latest_us = None, MIN_US
        times: Times | None = Times()
        pending: list[pa.Table] = [first]
        n_pending, ended = first.num_rows, False
        while not ended or pending:
            wait = 1 / tuner.blocks_per_second
            began = self._clock()
            while not ended and n_pending < tuner.block_events:
                left = began + wait - self._clock()
                if left <= 0 and pending:
                    break
                more = self._take(max(left, 0.001) if pending else None, same_as=first.schema)
                if more is None:
                    ended = True
                elif more.num_rows:
                    pending.append(more)
                    n_pending += more.num_rows
            if not pending:
                break
            whole = pa.concat_tables(pending)
            batch = whole.slice(0, tuner.block_events)
            rest = whole.slice(tuner.block_events)
            pending, n_pending = ([rest], rest.num_rows) if rest.num_rows else ([], 0)
            raw = raw_columns(batch, physical, ("UTC", None))
            block, n_bad = take_in(raw, physical.intake)
            if physical.needs_end:
                # Of all events, also of those that no step wants.
                latest = pc.max(microseconds(raw.column(TS), physical.intake))
                latest_us = max(latest_us, latest.as_py()) if latest.is_valid else latest_us
            self._counters.events += batch.num_rows
            self._counters.dropped_events += n_bad
            if block.num_rows:
                if times is not None:
                    # The first events tell the unit: a warning at the end would come too late.
                    times.see(block)
                    warn_of_unit(physical.intake, times)
                    times = None
                newest_us = pc.max(block.column(TS)).as_py() - 1 - physical.allowed_lateness_us
                watermark_us = newest_us if watermark_us is None else max(watermark_us, newest_us)
                rows = self._work_off(block, watermark_us, physical, source)
                self._warn_of_late(physical)
                if rows is not None:
                    yield rows
            if tuner.is_due(self._clock()):
                self._counters.decisions.append(tuner.decide(self._clock(), self._rebalance(), n_pending))
        ends = (
            operator.process(None, latest_us) if physical.needs_end else operator.finish()
            for operator in self._operators
        )
        rows = self._join([batch for found in ends for batch in found], physical, source)
        if rows is not None:
            yield rows

    def _warn_of_late(self, physical: Physical) -> None:
        """Once, when late events are first left out: they would vanish without a word."""
        n_late = 0 if self._has_warned else sum(operator.late_events() for operator in self._operators)
        if n_late:
            self._has_warned = True
            lateness = write_length(Length(physical.allowed_lateness_us)) if physical.allowed_lateness_us else "0"
            _log.warning(
                "%d events came after newer ones had been decided and were left out; allowed_lateness is %s. Later "
                "ones are only counted, as late_events in metrics(); a longer allowed_lateness waits for them.",
                n_late,
                lateness,
            )

    def _take(self, seconds: float | None, same_as: pa.Schema | None = None) -> pa.Table | None:
        """The next block, None at the end; an empty one when nothing came in time."""
        try:
            block = self._waiting.get(timeout=seconds)
        except queue.Empty:
            assert same_as is not None
            return same_as.empty_table()
        if block is _END or block is None:
            return None
        if isinstance(block, BaseException):
            raise block
        source = open_source(block)
        table = with_lengths(source.connection.sql(f"SELECT * FROM {source.sql}").to_arrow_table())
        if same_as is not None and table.schema != same_as:
            try:
                table = table.select(same_as.names).cast(same_as)
            except (KeyError, pa.ArrowException) as error:
                raise InputError(
                    f"a block has other columns than the first one: {table.schema.names}",
                    hint=f"every block needs {', '.join(same_as.names)}, with the same types",
                ) from error
        self._tuner.saw_input(table.num_rows)
        return table

    def _work_off(self, block: pa.Table, watermark_us: int, physical: Physical, source: Source) -> pa.Table | None:
        """One block by all workers; what it decides, in order of time."""
        tuner, operators = self._tuner, self._operators
        n_workers = tuner.workers
        if len(operators) == 1:
            family_of(physical.spec).set_threads(operators[0], n_workers)
        parts = dict(cut(block, physical.intake.layout, len(operators)))
        told_us = self._told_us
        if family_of(physical.spec).follows_time(physical.spec):
            self._told_us = watermark_us
        for bucket, part in parts.items():
            self._loads[bucket] += part.num_rows

        def work(worker: int) -> tuple[list[pa.RecordBatch], float]:
            began = self._clock()
            found: list[pa.RecordBatch] = []
            for bucket, operator in enumerate(operators):
                if self._workers[bucket] % n_workers != worker:
                    continue
                pending_us = operator.pending_us() if bucket not in parts else None
                if bucket in parts and told_us is not None:
                    found += operator.process(None, told_us)
                if bucket in parts or (pending_us is not None and pending_us <= watermark_us):
                    found += operator.process(parts.get(bucket), watermark_us)
            return found, self._clock() - began

        made = share_among_threads(work, range(n_workers) if len(operators) > 1 else range(1))
        self._counters.blocks += 1
        tuner.saw_block(block.num_rows, sum(seconds for _, seconds in made))
        return self._join([batch for batches, _ in made for batch in batches], physical, source)

    def _join(self, found: list[pa.RecordBatch], physical: Physical, source: Source) -> pa.Table | None:
        if not found:
            return None
        rows = pa.Table.from_batches(
            [project_rows(source, physical, add_computed(batch, physical.computed)) for batch in found]
        )
        self._counters.matches += rows.num_rows
        if "detected_at" in rows.column_names:
            rows = rows.take(pc.sort_indices(rows.column("detected_at")))
        return rows

    def _rebalance(self) -> int:
        """Move buckets between workers where their loads differ; how many."""
        n_workers = self._tuner.workers
        current = [worker % n_workers for worker in self._workers]
        moved = 0
        if n_workers > 1 and is_off_balance(self._loads, current, n_workers):
            wanted = assign(self._loads, n_workers)
            moved = sum(a != b for a, b in zip(current, wanted, strict=True))
            self._workers = wanted
        self._loads = [0] * len(self._loads)
        return moved


def default_workers() -> int:
    """As many as there are cores."""
    return os.cpu_count() or 1
