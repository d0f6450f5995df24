"""Aggregates over trends: holds the events of open windows or what they amount to, returns a row per group and window.

A window is counted when the watermark has passed its end. What is saved between micro-batches holds matrices in place
of events that the watermark has passed (`slices.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import InputError
from eventide.families.trends.compiled import load_kernel, load_latest_starts, load_relate
from eventide.families.trends.conjunctions import ambiguous, combine, merge
from eventide.families.trends.inputs import Inputs, bitwise_inputs, make_inputs
from eventide.families.trends.outputs import column_of, count_column, is_plain_count, loses_sums, overflow_error
from eventide.families.trends.panes import count_by_panes
from eventide.families.trends.records import Counted
from eventide.families.trends.slices import all_finite, is_sliced, make_slicer, make_states
from eventide.families.trends.spec import Measure, TrendSpec
from eventide.families.trends.walks import count_by_walks
from eventide.runtime.block import MAX_US, MIN_US, TS, numpy_int64
from eventide.runtime.buffer import EventBuffer
from eventide.runtime.holding import WatermarkOperator
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.positions import Positions
from eventide.runtime.protocol import Results, Snapshot
from eventide.runtime.windows import count_windows

LEAST_FOLD = 1000  # events or matrices: below, it is not worth the work


class TrendOperator(WatermarkOperator):
    """The operator of a `TrendSpec`."""

    def __init__(self, spec: TrendSpec, n_threads: int = 1) -> None:
        super().__init__(spec.query, spec.facts)
        self.spec = spec
        self._n_threads = n_threads
        self._kernel = load_kernel(spec.counts)
        self._inputs = make_inputs(spec.measures, spec.counts)
        self._states = make_states(spec)
        self._slicer = make_slicer(spec)
        self._slices = EventBuffer()
        self._n_left = 0  # events that were too few for matrices when it was last tried
        self._n_overflows = 0
        self._n_compact = 0  # matrices when they were last multiplied
        self._places: pa.Table | None = None  # of windows over positions: partitions that have forgotten events
        self._places_number = -1

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        """Take events, or matrices that stand for them: of events that the watermark has not passed."""
        if block is not None:
            (self._slices if is_sliced(block) else self._buffer).append(self._without_late(block))
        yield from self._advance(max(watermark_us, self._watermark_us))
        if self.spec.slide is not None:
            for held in (self._buffer, self._slices):
                held.purge(older_than_us=self._first_open_us(self._watermark_us))

    def finish(self) -> Results:
        yield from super().finish()
        self._slices.clear()

    def snapshot(self) -> Snapshot:
        self._fold()
        return super().snapshot()

    def _segments(self) -> dict[int, bytes]:
        # The numbers below 0 are those of matrices.
        slices = {-1 - number: data for number, data in self._slices.segments().items()}
        number, places = self._places_number, self._places
        own = {} if places is None else {number: self._write_once(number, places)}
        return {**super()._segments(), **slices, **own}

    def _take_segments(self, segments: dict[int, bytes], head: dict[str, Any]) -> None:
        slices = {-1 - number: segments.pop(number) for number in list(segments) if number < 0}
        self._slices.restore(slices, head["next_slice"])
        if self._places_number in segments:
            self._places = self._read_written(self._places_number, segments.pop(self._places_number))
        super()._take_segments(segments, head)

    def memory_bytes(self) -> int:
        return super().memory_bytes() + self._slices.memory_bytes()

    def overflows(self) -> int:
        return self._n_overflows

    def _counters(self) -> dict[str, Any]:
        slices = {
            "overflows": self._n_overflows,
            "next_slice": self._slices.next_number,
            "left": self._n_left,
            "compact": self._n_compact,
            "places": self._places_number,
        }
        return super()._counters() | slices

    def _take_counters(self, head: dict[str, Any]) -> None:
        super()._take_counters(head)
        self._n_overflows = head["overflows"]
        self._n_left, self._n_compact = head["left"], head["compact"]
        self._places_number = head["places"]

    def _fold(self) -> None:
        """Matrices in place of events that the watermark has passed, when there are enough of them."""
        if self._slicer is None or self.spec.slide is None or self._watermark_us <= MIN_US:
            return
        if self._buffer.count(self._watermark_us) < max(LEAST_FOLD, 2 * self._n_left):
            return
        events = self._buffer.take_out(self._watermark_us)
        if events is None:
            return
        first_open_us = self._first_open_us(self._watermark_us)
        made = self._slicer.combine(events.filter(pc.greater_equal(events.column(TS), first_open_us)))
        self._n_left = 0
        for block in made:
            if is_sliced(block):
                self._slices.append(block)
            else:
                self._n_left = block.num_rows
                self._buffer.append(block)
        if self._slices.count(MAX_US) >= max(LEAST_FOLD, 2 * self._n_compact):
            slices = self._slices.take_out(MAX_US)
            assert slices is not None
            compact = self._slicer.compact(slices.filter(pc.greater_equal(slices.column(TS), first_open_us)))
            self._slices.append(compact)
            self._n_compact = compact.num_rows

    def open_runs(self) -> int:
        """Open windows that hold an event, each once for all partitions; of positions, the partitions that hold one.

        Without windows it is 1 once there is an event.
        """
        slide = self.spec.slide
        if self.spec.fills_positions:
            names, block = self.spec.layout.partition, self._buffer.select_all()
            return 0 if block is None else encode_partitions(block, names)[1] if names else 1
        held = [block for block in (self._buffer.select_all(), self._slices.select_all()) if block is not None]
        if slide is None or not held:
            return len(held)
        ts_us = np.concatenate([numpy_int64(block.column(TS)) for block in held])
        first_open_us = self._first_open_us(self._watermark_us)
        ts_us = ts_us[ts_us >= first_open_us]
        return count_windows(ts_us, slide, max(first_open_us, int(ts_us.min(initial=0)) - slide.length_us))

    def pending_us(self) -> int | None:
        """The end of the earliest open window that holds an event; of windows over positions the next event."""
        slide = self.spec.slide
        if self.spec.fills_positions:
            return self._buffer.earliest_after(self._watermark_us)
        if slide is None:
            return None
        first_open_us = self._first_open_us(self._watermark_us)
        found = [held.earliest_after(first_open_us - 1) for held in (self._buffer, self._slices)]
        earliest_us = min((us for us in found if us is not None), default=None)
        if earliest_us is None:
            return None
        oldest = (earliest_us - slide.origin_us - slide.length_us) // slide.slide_us + 1
        start_us = max(slide.origin_us + oldest * slide.slide_us, first_open_us)
        return max(start_us + slide.length_us - 1, self._watermark_us + 1)

    def _first_open_us(self, watermark_us: int) -> int:
        """The start of the earliest window that a watermark does not close."""
        slide = self.spec.slide
        if slide is None or watermark_us <= MIN_US:
            return MIN_US
        behind = watermark_us + 1 - slide.length_us - slide.origin_us
        return slide.origin_us + (behind // slide.slide_us + 1) * slide.slide_us

    def _advance(self, watermark_us: int) -> Results:
        """The windows whose last instant lies in (old watermark, new watermark]."""
        newer_than_us, self._watermark_us = self._watermark_us, watermark_us
        slide = self.spec.slide
        if self.spec.fills_positions and watermark_us > newer_than_us:
            yield from self._fill_positions()
            return
        if watermark_us <= newer_than_us or (slide is None and watermark_us < MAX_US):
            return
        up_to_us = watermark_us
        if slide is not None:
            first_open_us = self._first_open_us(watermark_us)
            if first_open_us <= self._first_open_us(newer_than_us):
                return
            # The last instant of the last window that has closed: no event behind it plays a part yet.
            up_to_us = min(watermark_us, first_open_us - slide.slide_us + slide.length_us - 1)
        block, slices = self._buffer.select(up_to_us), self._slices.select(up_to_us)
        if slices is not None and self._slicer is not None:
            table, counted = self._slicer.compose([slices], block, self._n_threads)
            inputs, finite = self._inputs, all_finite(table, self._inputs)
        elif block is not None:
            counted, inputs, finite = self._count_exactly(block)
            table = block
        else:
            return
        if slide is not None:
            counted = counted.select((counted.end - 1 > newer_than_us) & (counted.end - 1 <= watermark_us))
        if counted.rows.size:
            yield from self._results(table, counted, inputs, finite)

    def _fill_positions(self) -> Results:
        """The windows over positions that are full; at the end of the input, those that are not, too."""
        block = self._buffer.take_out(self._watermark_us)
        if block is None:
            return
        windows = self.spec.count_windows
        assert windows is not None
        positions = Positions.of(block, self._places, self.spec.layout.partition)
        counted, inputs, finite = self._count_exactly(block)
        is_end = self._watermark_us == MAX_US
        if not is_end:
            counted = counted.select(positions.full(counted.rows, counted.start, windows))
        behind = positions.behind(counted.rows)
        counted = replace(counted, start=counted.start + behind, end=counted.end + behind)
        if counted.rows.size:
            yield from self._results(block, counted, inputs, finite)
        if not is_end:
            kept, self._places = positions.forget(self._places, windows, self.spec.tie_columns)
            self._places_number = self._buffer.take_number()
            self._buffer.append(kept)

    def _count_exactly(self, block: pa.Table) -> tuple[Counted, Inputs, dict[str, bool]]:
        """The records of all windows, and whether what is added up is finite; sums that cancel out are exact."""
        counted, inputs = self._count(block, self._inputs), self._inputs
        if loses_sums(counted.records, inputs, self.spec.counts):
            bitwise = bitwise_inputs(self.spec.measures, block)
            if bitwise is not None:
                counted, inputs = self._count(block, bitwise), bitwise
        return counted, inputs, {name: _is_finite(block.column(name)) for _, name in self._inputs.sums}

    def _count(self, block: pa.Table, inputs: Inputs) -> Counted:
        arguments = (block, self.spec, self._states, inputs, self._kernel, self._n_threads)
        return count_by_panes(*arguments) or count_by_walks(*arguments)

    def _results(self, block: pa.Table, counted: Counted, inputs: Inputs, finite: Mapping[str, bool]) -> Results:
        """One row per group and window that has a trend; partitions of one group are added up."""
        spec = self.spec
        names = spec.layout.partition[: spec.n_group]
        if len(spec.sides) == 1:
            counted = counted.select(counted.records[0].any(axis=1))
        n = counted.rows.size
        if not n:
            return
        if spec.counted and len(spec.sides) == 1 and counted.ambiguous.any():
            raise ambiguous()
        at, last_us = np.arange(n), counted.last_us
        adds_up = len(spec.sides) > 1 or spec.n_group < len(spec.layout.partition)
        totals = None
        if adds_up or not all(is_plain_count(measure, spec.counts) for measure in spec.measures):
            totals = combine(counted.records, counted.ambiguous, inputs, spec)
        if adds_up:
            assert totals is not None
            totals, members = merge(totals, _same_group(block, names, counted), spec.counts)
            at = np.array([each[0] for each in members], dtype=np.int64)
            last_us = np.array([counted.last_us[each].max() for each in members], dtype=np.int64)
        if not at.size:
            return
        columns: dict[str, pa.Array] = {}
        rows = pa.array(counted.rows[at])
        for name in names:
            taken = block.column(name).take(rows).combine_chunks()
            columns[name] = taken if not isinstance(taken, pa.ChunkedArray) else pa.concat_arrays(taken.chunks)
        ranked = dict(zip(inputs.extremes, counted.distinct, strict=True))
        for i, measure in enumerate(spec.measures):
            if totals is None:
                made, beyond = count_column(measure, counted.records, inputs)
            else:
                made, beyond = column_of(measure, totals, ranked, spec.counts, finite.get(measure.column or "", True))
            if beyond and spec.on_overflow != "null":
                raise self._overflow(measure, block, counted, int(at[beyond[0]]))
            self._n_overflows += len(beyond)
            columns[f"a{i}"] = made
        start, end = counted.start[at], counted.end[at]
        if spec.slide is not None:
            columns["window_start"] = spec.time_type.restore(start)
            columns["window_end"] = spec.time_type.restore(end)
        elif spec.count_windows is not None:
            columns["window_start"] = pa.array(start)
            columns["window_end"] = pa.array(end)
        columns["detected_at"] = spec.time_type.restore(end if spec.slide is not None else last_us)
        yield pa.RecordBatch.from_pydict(columns)

    def _overflow(self, measure: Measure, block: pa.Table, counted: Counted, at: int) -> InputError:
        spec = self.spec
        row = int(counted.rows[at])
        names = zip(spec.user_groups, spec.layout.partition[: spec.n_group], strict=True)
        group = ", ".join(f"{user} {block.column(name)[row].as_py()}" for user, name in names)
        window = ""
        start, end = counted.start[at : at + 1], counted.end[at : at + 1]
        if spec.slide is not None:
            first, last = (spec.time_type.restore(times)[0].as_py() for times in (start, end))
            window = f"the window from {first} to {last}"
        elif spec.count_windows is not None:
            window = f"the window of positions {start[0]} to {end[0]}"
        return overflow_error(measure, group, window)


def _is_finite(column: pa.ChunkedArray) -> bool:
    """Whether a column of doubles holds no infinity."""
    return pc.all(pc.is_finite(column)).as_py() is not False


def _same_group(block: pa.Table, names: Sequence[str], counted: Counted) -> IntArray:
    """A number for each window of each partition, equal for those of one group."""
    rows = pa.array(counted.rows)
    table = pa.table({name: block.column(name).take(rows) for name in names})
    codes, n_codes = encode_partitions(table, names) if names else (np.zeros(len(rows), np.int64), 1)
    _, window = np.unique(counted.start, return_inverse=True)
    return window * n_codes + codes


def warm(spec: TrendSpec) -> None:
    """Compile the spec's kernels into the cache, so that workers that share it only load them."""
    load_kernel(spec.counts)
    load_relate(spec.tests_source)
    if spec.absences:
        load_latest_starts()
