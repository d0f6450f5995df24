"""Which events lie near some others: in their partition, and in their stretch of time or one beside it.

Time is cut into stretches of one length. Two events that lie less than that length apart are in one stretch, or in two
that are neighbours. A table has a place for each pair of a partition and a stretch, found by a hash. Two pairs may
share a place, and then events are kept that could have been left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.runtime.kernels.arrays import BoolArray, HashArray, IntArray

_PLACES_PER_PAIR = 16
_MOST_PLACES = 1 << 23
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9], dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Near:
    """What lies near the events of one step."""

    width_us: int  # how long a stretch is
    places: BoolArray
    times_us: IntArray  # of the events, in order

    @classmethod
    def to(cls, hashes: HashArray, times_us: IntArray, width_us: int) -> Near:
        """Near to events: the hashes of their partitions, and their times.

        >>> near = Near.to(np.zeros(1, np.uint64), np.array([100]), width_us=10)
        >>> near.holds(np.zeros(3, np.uint64), np.array([91, 109, 150])).tolist()
        [True, True, False]
        """
        stretches = times_us // width_us
        around = np.concatenate([stretches - 1, stretches, stretches + 1])
        size = 1 << max(10, int(around.size * _PLACES_PER_PAIR - 1).bit_length())
        places = np.zeros(min(size, _MOST_PLACES), dtype=np.bool_)
        places[_places(np.tile(hashes, 3), around, places.size)] = True
        return cls(width_us, places, np.sort(times_us))

    def holds(self, hashes: HashArray, times_us: IntArray) -> BoolArray:
        """Whether events may lie near: all that do, and some others."""
        found: BoolArray = self.places[_places(hashes, times_us // self.width_us, self.places.size)]
        return found

    def reaches(self, first_us: int, last_us: int) -> bool:
        """Whether an event between two instants, both included, may lie near."""
        start = np.searchsorted(self.times_us, first_us - self.width_us, side="right")
        return bool(start < self.times_us.size and self.times_us[start] < last_us + self.width_us)

    def ranges_us(self, most: int) -> list[tuple[int, int]]:
        """All times near, whatever the partition, as a few ranges: their first and last instants.

        Several are not worth the comparisons where they leave out less than half of the time between them.

        >>> Near.to(np.zeros(3, np.uint64), np.array([100, 105, 900]), width_us=10).ranges_us(2)
        [(91, 114), (891, 909)]
        """
        if not self.times_us.size:
            return []
        gaps = np.diff(self.times_us)
        widest = np.sort(np.argsort(gaps)[max(0, gaps.size - most + 1) :])
        cuts = widest[gaps[widest] >= 2 * self.width_us]
        firsts = self.times_us[np.concatenate([[0], cuts + 1])] - self.width_us + 1
        lasts = self.times_us[np.concatenate([cuts, [self.times_us.size - 1]])] + self.width_us - 1
        if 2 * (lasts - firsts).sum() > lasts[-1] - firsts[0]:
            return [(int(firsts[0]), int(lasts[-1]))]
        return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _places(hashes: HashArray, stretches: IntArray, size: int) -> IntArray:
    """The place of each pair; `size` is a power of two."""
    mixed = hashes ^ (stretches.view(np.uint64) * _MULTIPLIERS[0])
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MULTIPLIERS[1]
    found: IntArray = ((mixed >> np.uint64(27)) & np.uint64(size - 1)).astype(np.int64)
    return found
