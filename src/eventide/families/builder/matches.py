"""Matches to rows: what every match carries, and the events of its steps or the measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eventide.families.builder.spec import LAST_STEP, MATCH_END, MATCH_ID, MATCH_START, TIMED_OUT, DetectionSpec
from eventide.runtime.block import TS, numpy_int64
from eventide.runtime.hashes import hash_rows
from eventide.runtime.identity import match_ids
from eventide.runtime.kernels.arrays import IndexArray, IntArray
from eventide.runtime.kernels.bindings import hash_bindings
from eventide.runtime.measures import Found as FoundRows
from eventide.runtime.measures import Measures
from eventide.runtime.row_order import OrderedRows
from eventide.runtime.taken import take


@dataclass(frozen=True, slots=True)
class Found:
    """Matches as arrays: the events of match m, positions in the order and steps, end at ends[m]."""

    partition: IntArray
    is_timeout: IntArray
    ends: IntArray
    positions: IntArray
    steps: IndexArray

    @property
    def counts(self) -> IntArray:
        return np.diff(self.ends, prepend=0)


class Rows:
    """Rows of the result for matches in one ordered block."""

    def __init__(self, spec: DetectionSpec, block: pa.Table, ordered: OrderedRows) -> None:
        self._spec = spec
        self._block = block
        self._ordered = ordered

    def batch(self, found: Found) -> pa.RecordBatch:
        """The operator's rows."""
        spec, counts = self._spec, found.counts
        rows = self._ordered.order[found.positions]
        first, last = rows[found.ends - counts], rows[found.ends - 1]
        columns = {name: take(self._block, name, pa.array(first)) for name in spec.layout.partition}
        columns[MATCH_ID] = self._ids(found, rows)
        columns[MATCH_START], columns[MATCH_END] = self._times(first), self._times(last)
        columns[TIMED_OUT] = pa.array(found.is_timeout != 0)
        names = pa.array(spec.program.steps, pa.string())
        columns[LAST_STEP] = names.take(pa.array(found.steps[found.ends - 1]))
        if spec.shown:
            match = np.repeat(np.arange(found.ends.size), counts)
            for step in range(len(spec.program.steps)):
                columns[f"s{step}"] = self._events(found, match, rows, step)
        else:
            columns |= self._measures(found, rows)
        return pa.RecordBatch.from_pydict(columns)

    def _ids(self, found: Found, rows: IntArray) -> pa.Array:
        own = np.empty((2, found.ends.size), dtype=np.uint64)
        # Of many events few are in matches.
        used, rows = np.unique(rows, return_inverse=True)
        hashes = hash_rows(self._block.select(self._spec.identity).take(pa.array(used)), self._spec.identity)
        hash_bindings(hashes, rows, found.steps.astype(np.int64), found.ends, own)
        both = np.arange(own.size, dtype=np.int64).reshape(own.shape).T.copy()
        return match_ids(own.reshape(-1), both, self._spec.query, None)

    def _times(self, rows: IntArray) -> pa.Array:
        if self._spec.time_type is None:
            return take(self._block, self._spec.end_column, pa.array(rows))
        return self._spec.time_type.restore(numpy_int64(self._block.column(TS))[rows])

    def _events(self, found: Found, match: IntArray, rows: IntArray, step: int) -> pa.Array:
        """The events of a step, as a list of structs for each match."""
        mine = found.steps == step
        offsets = np.zeros(found.ends.size + 1, dtype=np.int32)
        np.cumsum(np.bincount(match[mine], minlength=found.ends.size), out=offsets[1:])
        index = pa.array(rows[mine])
        events = [take(self._block, column, index) for column, _ in self._spec.shown]
        structs = pa.StructArray.from_arrays(events, names=[name for _, name in self._spec.shown])
        return pa.ListArray.from_arrays(pa.array(offsets), structs)

    def _measures(self, found: Found, rows: IntArray) -> dict[str, pa.Array]:
        """Measures know matches of neighbouring rows: the events of all matches, one after the other, are such rows."""
        begin, counts = found.ends - found.counts, found.counts
        number = np.ones(counts.size, dtype=np.int64)
        nothing = np.zeros(found.steps.size, dtype=np.bool_)
        matches = FoundRows(begin, number, begin, counts, begin, found.ends, found.steps, nothing)
        spread = OrderedRows(rows, np.concatenate([np.zeros(1, np.int64), found.ends]))
        measures = Measures(self._spec, self._block, spread)
        made = measures.at(matches, np.arange(counts.size), counts - 1, begin)
        return dict(zip(made.schema.names, made.columns, strict=True))
