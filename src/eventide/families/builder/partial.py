"""Partial matches between two calls: what they are, and which events they hold.

The events that a partition's partial matches hold are marked KEPT and carry the number of what was saved for it, plus
one. Saved rows are counted from the first of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eventide.families.builder.kernel_places import IS_OPEN, NEXT_ROW, SAVED, STOP_ROW
from eventide.families.builder.spec import DetectionSpec
from eventide.families.builder.walk import Saved, no_room
from eventide.runtime.block import MAX_US
from eventide.runtime.kernels.arrays import IndexArray, IntArray
from eventide.runtime.marked import GONE, Held, Marks, read_array, write_array
from eventide.runtime.row_order import OrderedRows

KEPT = 1


@dataclass(frozen=True, slots=True)
class PartialMatches:
    """For each number the ends of its parts in the arrays behind; and when the first of all runs out of time."""

    arrays: Saved
    next_us: int

    @staticmethod
    def none() -> PartialMatches:
        return PartialMatches(no_room(1, 0), MAX_US)

    @property
    def size(self) -> int:
        return int(self.arrays[1].shape[1])

    def written(self) -> dict[str, Any]:
        """As text and numbers."""
        ends, *arrays = self.arrays
        texts = [write_array(np.ascontiguousarray(array)) for array in arrays]
        return {"next_us": self.next_us, "ends": write_array(ends), "arrays": texts}

    @staticmethod
    def read(written: dict[str, Any]) -> PartialMatches:
        """What `written` gave."""
        ends = read_array(written["ends"], np.int64).reshape(-1, 3)
        shapes = zip(written["arrays"], (3, 2, 3), strict=True)
        runs, complete, bindings = (read_array(text, np.int32).reshape(rows, -1) for text, rows in shapes)
        sizes = [array.shape[1] for array in (runs, complete, bindings)]
        if ends[-1].tolist() != sizes:
            raise ValueError(f"partial matches end at {ends[-1].tolist()} in arrays of {sizes}")
        return PartialMatches((ends, runs, complete, bindings), written["next_us"])


def make_progress(held: Held, ordered: OrderedRows, is_open: bool) -> IntArray:
    """For each partition where its search goes on, as `kernel.advance_matches` reads it."""
    low = ordered.offsets[:-1]
    progress = np.zeros((low.size, 4), dtype=np.int64)
    progress[:, NEXT_ROW], progress[:, SAVED], progress[:, IS_OPEN] = low, -1, is_open
    progress[:, STOP_ROW] = ordered.offsets[1:]
    if held.marks is not None:
        # Equal events may have changed places: their number tells, not which ones are marked.
        progress[:, NEXT_ROW] += np.add.reduceat((held.marks[ordered.order] == KEPT).astype(np.int64), low)
    if held.numbers is not None:
        progress[:, SAVED] = np.maximum.reduceat(held.numbers[ordered.order], low) - 1
    return progress


def keep(
    spec: DetectionSpec, ordered: OrderedRows, ts_us: IntArray, kept: Sequence[Saved]
) -> tuple[PartialMatches, Marks, IntArray]:
    """What the walks kept, as it is saved, and the new marks and numbers of the held events."""
    counts = np.concatenate([part[0] for part in kept])
    runs, complete, bindings = (np.concatenate([part[k] for part in kept], axis=1) for k in (1, 2, 3))
    needed = np.zeros(ordered.order.size, dtype=np.bool_)
    for rows in (runs[2], complete[1], bindings[0]):
        needed[rows] = True
    next_us = _next_us(spec, ts_us, counts, runs, bindings)
    # Rows become places among those that are needed, counted in their partition.
    place = np.cumsum(needed) - 1
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(needed)])[ordered.offsets[:-1]]
    ranks = []
    for rows, k in ((runs[2], 0), (complete[1], 1), (bindings[0], 2)):
        ranks.append((place[rows] - np.repeat(before, counts[:, k])).astype(np.int32))
    runs[2], complete[1], bindings[0] = ranks
    has_some = counts[:, 2] > 0
    number = np.cumsum(has_some)
    ends = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(counts[has_some], axis=0)])
    marks = np.where(needed, KEPT, GONE).astype(np.uint8)
    numbers = np.where(needed, np.repeat(number, np.diff(ordered.offsets)), 0)
    new_marks, new_numbers = np.empty_like(marks), np.empty_like(numbers)
    new_marks[ordered.order], new_numbers[ordered.order] = marks, numbers
    return PartialMatches((ends, runs, complete, bindings), next_us), new_marks, new_numbers


def _next_us(spec: DetectionSpec, ts_us: IntArray, counts: IntArray, runs: IndexArray, bindings: IndexArray) -> int:
    """The watermark at which the first partial match has run out of time."""
    if not spec.is_timed or not runs.shape[1]:
        return MAX_US
    window_us, gap_us = spec.spans_us
    first_binding = np.repeat(np.cumsum(counts[:, 2]) - counts[:, 2], counts[:, 0])
    last_us = ts_us[bindings[0][first_binding + runs[1]]]
    return int(min((ts_us[runs[2]]).min() + window_us - 1, last_us.min() + gap_us - 1, MAX_US))
