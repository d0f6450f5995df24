"""What a timeline shows, as plain arrays: no query, no table, no engine. Times are microseconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eventide.errors import InputError

Times = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lane:
    """The intervals of one name; where `is_open`, the end is not known yet and `end_us` says nothing."""

    name: str
    start_us: Times
    end_us: Times
    is_open: NDArray[np.bool_]
    notes: tuple[str, ...] = ()  # per interval, for the hover text; empty for none
    detail: str = ""  # for the hover text of the name


@dataclass(frozen=True, slots=True)
class Line:
    """A number that changes over time; NaN breaks the line."""

    name: str
    ts_us: Times
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Match:
    """One match; `end_us` is None where it was not known, `detected_us` where nothing says it."""

    start_us: int
    end_us: int | None
    detected_us: int | None
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """All of one picture; `events_us` and `matches` are None where they are no part of it.

    `unit` is that of an integer time column; then times are shown as its numbers. `zone` stands beside the time axis.
    """

    title: str
    lanes: tuple[Lane, ...] = ()
    lines: tuple[Line, ...] = ()
    events_us: Times | None = None
    matches: tuple[Match, ...] | None = None
    subtitle: str = ""
    unit: str | None = None
    zone: str = ""
    span_us: tuple[int, int] = field(default=(0, 0), init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "span_us", self._span())

    def _span(self) -> tuple[int, int]:
        ends = [edge for times in self._times() if times.size for edge in (int(times.min()), int(times.max()))]
        if not ends:
            raise InputError("there is nothing to show: no events, no intervals, no matches")
        return min(ends), max(ends)

    def _times(self) -> Iterator[Times]:
        for lane in self.lanes:
            yield lane.start_us
            yield lane.end_us[~lane.is_open]
        yield from (line.ts_us for line in self.lines)
        if self.events_us is not None:
            yield self.events_us
        for match in self.matches or ():
            known = (match.start_us, match.end_us, match.detected_us)
            yield np.array([ts for ts in known if ts is not None], dtype=np.int64)
