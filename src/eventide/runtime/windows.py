"""Matches to the sliding windows that hold them whole (semantics: WITHIN w SLIDE s)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.runtime.kernels.arrays import IntArray


@dataclass(frozen=True, slots=True)
class Slide:
    """Windows `[origin + k*slide, origin + k*slide + length)`."""

    length_us: int
    slide_us: int
    origin_us: int = 0

    @property
    def n_overlapping(self) -> int:
        """How many windows an instant lies in, at most."""
        return -(-self.length_us // self.slide_us)


@dataclass(frozen=True, slots=True)
class CountWindows:
    """Windows over positions `[k*slide, k*slide + length)` of a partition's events."""

    length: int
    slide: int


def spread_over_windows(first_us: IntArray, last_us: IntArray, slide: Slide) -> tuple[IntArray, IntArray]:
    """(match index, window start) of every pair of a match and a window that holds all of it.

    >>> spread_over_windows(np.array([12]), np.array([14]), Slide(length_us=10, slide_us=5))
    (array([0, 0]), array([ 5, 10]))
    """
    newest = (first_us - slide.origin_us) // slide.slide_us
    oldest = -((slide.length_us - 1 - (last_us - slide.origin_us)) // slide.slide_us)
    count = np.maximum(newest - oldest + 1, 0)
    match = np.repeat(np.arange(first_us.size, dtype=np.int64), count)
    within = np.arange(match.size, dtype=np.int64) - np.repeat(np.cumsum(count) - count, count)
    return match, slide.origin_us + (oldest[match] + within) * slide.slide_us


def count_windows(ts_us: IntArray, slide: Slide, from_us: int) -> int:
    """How many windows that begin at `from_us` or later hold one of the instants.

    >>> count_windows(np.array([12, 13, 41]), Slide(length_us=10, slide_us=5), from_us=10)
    3
    """
    since_us = np.unique(ts_us) - slide.origin_us
    first = -((slide.origin_us - from_us) // slide.slide_us)
    newest = since_us // slide.slide_us
    oldest = np.maximum((since_us - slide.length_us) // slide.slide_us + 1, first)
    # Both ascend: what an instant adds begins behind the newest window of the one before it.
    before = np.concatenate([np.full(1, first - 1), newest[:-1]])[: newest.size]
    return int(np.maximum(newest - np.maximum(oldest, before + 1) + 1, 0).sum())
