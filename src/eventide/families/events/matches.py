"""Matches to rows: one column per returned symbol and block column, and what every match carries."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from eventide.families.events.kernel_places import NEVER
from eventide.families.events.spec import PatternSpec
from eventide.families.events.walk import Found
from eventide.runtime.block import TS, numpy_int64
from eventide.runtime.identity import match_ids
from eventide.runtime.kernels.arrays import HashArray, IntArray
from eventide.runtime.kernels.bindings import hash_bindings
from eventide.runtime.ordered import Ordered


def make_rows(
    spec: PatternSpec, block: pa.Table, ordered: Ordered, hashes: HashArray | None, scopes: IntArray, found: Found
) -> pa.RecordBatch:
    """The operator's rows for some matches."""
    counts = np.diff(found.ends, prepend=0)
    first = found.rows[found.ends - counts]
    match = np.repeat(np.arange(found.ends.size), counts)
    columns: dict[str, pa.Array] = {}
    for name in spec.layout.partition:
        columns[name] = _take(block, name, ordered.order[first])
    for returned in spec.returned:
        mine = found.symbols == returned.symbol
        rows = found.rows[mine]
        if returned.fields:
            parts = [_values(spec, block, ordered, column, rows) for column, _ in returned.fields]
            values = pa.StructArray.from_arrays(parts, names=[name for _, name in returned.fields])
        else:
            values = _values(spec, block, ordered, returned.column, rows)
        n_events = np.bincount(match[mine], minlength=found.ends.size)
        offsets = np.concatenate([[0], np.cumsum(n_events)])
        if returned.is_array:
            columns[returned.name] = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
        else:
            index = pa.array(offsets[1:] - 1 if returned.end == "last" else offsets[:-1], mask=n_events == 0)
            columns[returned.name] = values.take(index)
    ends_us = scopes[found.scope, 4]
    if spec.slide is not None:
        columns["window_start"] = spec.time_type.restore(ends_us - spec.slide.length_us)
        columns["window_end"] = spec.time_type.restore(ends_us)
    if hashes is not None:
        own = np.empty((2, found.ends.size), dtype=np.uint64)
        hash_bindings(hashes, ordered.order[found.rows], found.symbols, found.ends, own)
        both = np.arange(own.size, dtype=np.int64).reshape(own.shape).T.copy()
        begins_us = None if spec.slide is None else ends_us - spec.slide.length_us
        columns["match_id"] = match_ids(own.reshape(-1), both, spec.query, begins_us)
    columns["detected_at"] = spec.time_type.restore(_detected_us(spec, ordered, found))
    return pa.RecordBatch.from_pydict(columns)


BOUND = pa.schema(
    [
        ("symbols", pa.list_(pa.int64())),  # by number; one below 0 alone tells that the search was stopped
        ("rows", pa.list_(pa.int64())),
        ("positions", pa.list_(pa.int64())),  # of the program, at which the match may stand
        ("first_size", pa.int64()),  # how many events the first match has that this one continues
    ]
)


def bound_rows(numbers: pa.ChunkedArray, ordered: Ordered, found: Found) -> pa.RecordBatch:
    """Which events, by their numbers, are bound to which symbols in some matches: rows of `BOUND`."""
    columns = [
        _lists(found.ends, found.symbols),
        _lists(found.ends, numpy_int64(numbers)[ordered.order[found.rows]]),
        _lists(found.gap_ends, found.gaps[0]),
        pa.array(found.waited),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=BOUND)


def _lists(ends: IntArray, values: IntArray) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], ends]), pa.int32()), pa.array(values))


def _detected_us(spec: PatternSpec, ordered: Ordered, found: Found) -> IntArray:
    """The last event's time; the end of the window where its absence had to be waited for, in whole units."""
    last_us = np.maximum.reduceat(ordered.ts_us[found.rows], np.concatenate([[0], found.ends[:-1]]))
    waited = (found.waited != 0) | np.full(last_us.size, spec.program.n_windows > 0)
    waited &= found.decided_us < NEVER
    # The end of a window is exclusive: the instant before it decides.
    end_us = -(-(found.decided_us + 1) // spec.unit_us) * spec.unit_us
    return np.where(waited, end_us, last_us)


def _values(spec: PatternSpec, block: pa.Table, ordered: Ordered, column: str, rows: IntArray) -> pa.Array:
    """A column of the events in some rows, in the user's type."""
    if column == TS:
        return spec.time_type.restore(ordered.ts_us[rows])
    return _take(block, column, ordered.order[rows])


def _take(block: pa.Table, name: str, rows: IntArray) -> pa.Array:
    taken = block.column(name).take(pa.array(rows)).combine_chunks()
    if isinstance(taken, pa.ChunkedArray):
        taken = taken.chunk(0) if taken.num_chunks else pa.array([], taken.type)
    return taken
