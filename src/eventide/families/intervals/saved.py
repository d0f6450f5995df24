"""Open intervals in the segments of snapshots: one that no event has touched stays in the segment that has it.

What has changed goes to a new segment, with what is left of others that are no larger or mostly outdated: so segments
stay few, and bytes written follow what changes. The head of a snapshot says which intervals of a segment still hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from eventide.families.intervals.opened import Opened
from eventide.families.intervals.spec import IntervalSpec
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.marked import read_array, write_array

SEGMENT, PLACE = 0, 1


class SavedOpened:
    """The segments by number, as written to or read from a snapshot."""

    def __init__(self, spec: IntervalSpec) -> None:
        self._spec = spec
        self._segments: dict[int, bytes] = {}
        self._sizes: dict[int, int] = {}

    def save(self, opened: Opened, take_number: Callable[[], int]) -> Opened:
        """Write what no segment has as it is; the same intervals with their new homes."""
        homes = opened.homes
        held = dict(zip(*(part.tolist() for part in np.unique(homes[:, SEGMENT], return_counts=True)), strict=True))
        n_new = held.pop(-1, 0)
        for number in self._segments.keys() - held.keys():
            del self._segments[number], self._sizes[number]
        moved = []
        for number, n_held in sorted(held.items(), key=lambda each: each[1]):
            if 2 * n_held < self._sizes[number] or n_held <= n_new:
                moved.append(number)
                n_new += n_held
        if not n_new:
            return opened
        rows = np.flatnonzero(np.isin(homes[:, SEGMENT], [-1, *moved]))
        number, homes = take_number(), homes.copy()
        homes[rows, SEGMENT], homes[rows, PLACE] = number, np.arange(rows.size)
        for each in moved:
            del self._segments[each], self._sizes[each]
        self._segments[number] = opened.select(rows, self._spec).written()
        self._sizes[number] = rows.size
        return replace(opened, homes=homes)

    def segments(self) -> dict[int, bytes]:
        return dict(self._segments)

    def heads(self, opened: Opened) -> dict[str, str]:
        """By segment, which of its intervals are still open as they stand there."""
        made = {}
        for number, size in self._sizes.items():
            holds = np.zeros(size, dtype=np.bool_)
            holds[opened.homes[opened.homes[:, SEGMENT] == number, PLACE]] = True
            made[str(number)] = write_array(np.packbits(holds))
        return made

    def restore(self, heads: dict[str, str], segments: dict[int, bytes]) -> Opened:
        """What is open, from what `heads` and `segments` gave; takes its segments out of the others."""
        parts = []
        for number, text in ((int(key), text) for key, text in heads.items()):
            data = segments.pop(number)
            part = Opened.read(data, self._spec)
            places: IntArray = np.flatnonzero(np.unpackbits(read_array(text, np.uint8), count=part.size))
            homes = np.stack([np.full(part.size, number), np.arange(part.size)], axis=1)
            parts.append(replace(part, homes=homes).select(places, self._spec))
            self._segments[number], self._sizes[number] = data, part.size
        return Opened.join(parts, self._spec)
