"""SEQ of event types: buffers events for one window, returns one row per match.

State is the events of the last window and nothing else: what is open follows from them, and re-deriving it in
the kernel costs less than reading it back from a state store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import InputError
from eventide.families.events import kernel_sequence as plain_kernel
from eventide.runtime.block import MAX_US, MIN_US, TS, Layout
from eventide.runtime.effort import MANY, Effort, Pace, TooManyStepsError, too_long
from eventide.runtime.encode import Encoding, encode_columns
from eventide.runtime.generated import load_specialized
from eventide.runtime.hashes import hash_rows
from eventide.runtime.holding import WatermarkOperator
from eventide.runtime.identity import match_ids
from eventide.runtime.kernels.arrays import HashArray, IntArray
from eventide.runtime.kernels.order import clear_unreachable, index_steps_backward, index_steps_forward
from eventide.runtime.limit import Tally, TooManyMatchesError, too_many
from eventide.runtime.ordered import Ordered, order_events
from eventide.runtime.protocol import Results
from eventide.runtime.shares import share_out
from eventide.runtime.threads import share_among_threads
from eventide.runtime.times import TimeType
from eventide.runtime.windows import Slide, spread_over_windows

MATCHES_PER_BATCH = 1 << 16
HINT = "WITHIN, a stricter WHERE or SEMANTICS next, count them with RETURN COUNT(*)"


@dataclass(frozen=True, slots=True)
class Returned:
    """One output column: the value of a block column (or `ts`) in the event bound by a step."""

    step: int
    column: str

    @property
    def name(self) -> str:
        return f"s{self.step}_{self.column}"


@dataclass(frozen=True, slots=True)
class SequenceSpec:
    """What a worker needs to run one SEQ query; small and picklable."""

    family: ClassVar[str] = "events"
    query: str  # canonical text: part of the snapshot and of match_id
    layout: Layout
    n_steps: int
    strategy: str  # "any", "next" or "contiguous"
    window_us: int | None
    time_type: TimeType
    returned: tuple[Returned, ...]
    slide: Slide | None = None
    tie_columns: tuple[str, ...] | None = None  # None: tied events never follow one another
    encodings: tuple[Encoding, ...] = ()
    holds_source: str | None = None
    identity: tuple[str, ...] | None = None  # block columns that tell events apart, when match_id is wanted
    max_matches: int | None = None  # in one partition
    max_steps: int | None = None
    facts: tuple[tuple[str, str], ...] = ()  # what else saved state depends on: see plan.facts

    @property
    def span_us(self) -> int:
        return MAX_US if self.window_us is None else self.window_us


class SequenceOperator(WatermarkOperator):
    """The operator of a `SequenceSpec`."""

    def __init__(self, spec: SequenceSpec, n_threads: int = 1) -> None:
        super().__init__(spec.query, spec.facts)
        self.spec = spec
        self._n_threads = n_threads
        self._kernel = _load_kernel(spec)

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        if block is not None:
            self._buffer.append(self._without_late(block))
        yield from self._advance(max(watermark_us, self._watermark_us))
        if self.spec.window_us is not None:
            # A later match's first event is newer than watermark - window.
            self._buffer.purge(older_than_us=self._watermark_us - self.spec.window_us + 1)

    def open_runs(self) -> int:
        """Events that fit the first step, and whose window is still open: partial matches are not kept."""
        first_us = MIN_US if self.spec.window_us is None else self._watermark_us - self.spec.window_us + 1
        return self._buffer.count_marked(1, first_us)

    def pending_us(self) -> int | None:
        return self._buffer.earliest_after(self._watermark_us)

    def _advance(self, watermark_us: int) -> Results:
        """Matches whose last event lies in (old watermark, new watermark]."""
        newer_than_us, self._watermark_us = self._watermark_us, watermark_us
        if watermark_us <= newer_than_us:
            return
        block = self._buffer.select(up_to_us=watermark_us)
        if block is None or pc.max(block.column(TS)).as_py() <= newer_than_us:
            return
        ordered = order_events(block, self.spec.layout.partition, self.spec.tie_columns, self._n_threads)
        hashes = None if self.spec.identity is None else hash_rows(block, self.spec.identity)
        slide = self.spec.slide
        n_at_once = MATCHES_PER_BATCH if slide is None else max(1, MATCHES_PER_BATCH // slide.n_overlapping)
        tally = Tally(self.spec.max_matches, ordered.offsets)
        try:
            for matches in self._match(block, ordered, newer_than_us):
                for start in range(0, len(matches), n_at_once):
                    yield self._rows(block, ordered, hashes, matches[start : start + n_at_once], tally)
        except TooManyMatchesError as error:
            row = int(ordered.order[ordered.offsets[error.partition]])
            raise too_many(block, self.spec.layout.partition, row, error.limit, "matches", HINT) from None
        except TooManyStepsError as error:
            row = int(ordered.order[ordered.offsets[error.partition]])
            raise too_long(block, self.spec.layout.partition, row, error.limit, HINT) from None

    def _match(self, block: pa.Table, ordered: Ordered, newer_than_us: int) -> Iterator[IntArray]:
        """Matches as arrays (n_matches, n_steps) of positions in `ordered`, a bounded number at a time."""
        spec, kernel = self.spec, self._kernel
        backward = spec.strategy == "any"
        nearest = np.empty((spec.n_steps, ordered.ts_us.size), dtype=np.int32)
        if backward:
            # Only events that a chain from a first step reaches: a walk backwards seldom ends without a match.
            mask = ordered.mask.copy()
            clear_unreachable(ordered.offsets, ordered.ts_us, ordered.follows, spec.n_steps, spec.span_us, mask)
            index_steps_backward(ordered.offsets, mask, nearest)
        else:
            index_steps_forward(ordered.offsets, ordered.mask, nearest)
        run = kernel.match_any if backward else kernel.match_next
        reach = ordered.precedes if backward else ordered.follows
        limits = np.array([spec.span_us, newer_than_us, spec.strategy == "contiguous"], dtype=np.int64)
        cols = encode_columns(block, spec.encodings, ordered.order, self._n_threads)

        def fill(walk: _Walk) -> IntArray:
            state, stop, out, pace = walk
            n = 0
            try:
                while n == 0 and state[plain_kernel.PARTITION] < stop:
                    if state[plain_kernel.STEPS_LEFT] <= 0:
                        state[plain_kernel.STEPS_LEFT] = pace.go_on(*state[_PLACE].tolist())
                    n = run(ordered.offsets, stop, ordered.ts_us, reach, nearest, limits, state, cols, out)
            except OverflowError as error:
                raise InputError(
                    f"a condition that relates events leaves the range of its type: {error}",
                    hint="cast one side to DOUBLE or to a wider DECIMAL",
                ) from error
            return out[:n]

        shares = share_out(ordered.offsets, self._n_threads)
        effort = Effort(spec.max_steps, ordered.offsets, may_double=spec.n_steps > MANY)
        walks: list[_Walk] = [
            (
                plain_kernel.new_state(spec.n_steps, start),
                stop,
                np.empty((MATCHES_PER_BATCH, spec.n_steps), np.int64),
                Pace(effort),
            )
            for start, stop in shares
        ]
        while walks:
            yield from (batch for batch in share_among_threads(fill, walks) if batch.size)
            walks = [walk for walk in walks if walk[0][plain_kernel.PARTITION] < walk[1]]

    def _rows(
        self, block: pa.Table, ordered: Ordered, hashes: HashArray | None, matches: IntArray, tally: Tally
    ) -> pa.RecordBatch:
        spec = self.spec
        first_us, last_us = ordered.ts_us[matches[:, 0]], ordered.ts_us[matches[:, -1]]
        window_start = None
        if spec.slide is not None:
            index, window_start = spread_over_windows(first_us, last_us, spec.slide)
            matches, last_us = matches[index], last_us[index]
        tally.add_rows(matches[:, 0])
        rows = ordered.order[matches]
        columns: dict[str, pa.Array] = {}
        first = pa.array(rows[:, 0])
        for name in spec.layout.partition:
            columns[name] = _take(block, name, first)
        for returned in spec.returned:
            if returned.column == TS:
                columns[returned.name] = spec.time_type.restore(ordered.ts_us[matches[:, returned.step]])
            else:
                columns[returned.name] = _take(block, returned.column, pa.array(rows[:, returned.step]))
        if window_start is not None and spec.slide is not None:
            columns["window_start"] = spec.time_type.restore(window_start)
            columns["window_end"] = spec.time_type.restore(window_start + spec.slide.length_us)
        if hashes is not None:
            columns["match_id"] = match_ids(hashes, rows, spec.query, window_start)
        columns["detected_at"] = spec.time_type.restore(last_us)
        return pa.RecordBatch.from_pydict(columns)


_PLACE = [plain_kernel.PARTITION, plain_kernel.STEPS_LEFT]
_Walk = tuple[IntArray, int, IntArray, Pace]  # state, where it ends, room for matches, and how many steps it takes


def _take(block: pa.Table, name: str, rows: pa.Array) -> pa.Array:
    taken = block.column(name).take(rows).combine_chunks()
    if isinstance(taken, pa.ChunkedArray):
        taken = taken.chunk(0) if taken.num_chunks else pa.array([], taken.type)
    return taken


def warm(spec: SequenceSpec) -> None:
    """Compile the spec's kernel into the cache, so that workers that share it only load it."""
    kernel = _load_kernel(spec)
    run = kernel.match_any if spec.strategy == "any" else kernel.match_next
    nothing, reach = np.empty(0, np.int64), np.empty(0, np.int32)
    nearest = np.empty((spec.n_steps, 0), np.int32)
    cols = np.empty((0, 0), np.int64), np.empty((0, 0), np.float64), np.empty((0, 0), np.bool_)
    state, out = plain_kernel.new_state(spec.n_steps, 0), np.empty((1, spec.n_steps), np.int64)
    run(np.zeros(1, np.int64), 0, nothing, reach, nearest, np.zeros(3, np.int64), state, cols, out)


def _load_kernel(spec: SequenceSpec) -> ModuleType | Any:
    if spec.holds_source is None:
        return plain_kernel
    return load_specialized(plain_kernel, {"holds": spec.holds_source})
