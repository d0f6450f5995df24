"""The sliding windows of a query."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.logical import Match
from eventide.plan.places import error_at
from eventide.runtime.times import UNIT_US, TimeType
from eventide.runtime.windows import Slide


def check_windows(plan: Match) -> None:
    """The borders of windows are result times: they must be whole units of the time column."""
    window, slide = plan.query.window, slide_of(plan)
    if window is None or slide is None or window.slide is None or window.length.in_events:
        return
    complaint = broken_units(plan.time_type, plan.ts, (slide.length_us, slide.slide_us, slide.origin_us))
    if complaint is not None:
        raise error_at(plan.query, window.span, *complaint)


def broken_units(time_type: TimeType, name: str, lengths_us: Iterable[int]) -> tuple[str, str] | None:
    """What is wrong with windows whose borders the time column cannot say, and what to try; None where it can."""
    unit_us = time_unit_us(time_type)
    if not any(us % unit_us for us in lengths_us):
        return None
    unit = write_length(Length(unit_us)).removeprefix("1 ")
    message = f"these windows do not begin and end at a whole {unit}, which is all '{name}' can say"
    return message, f"use whole {unit}s, or a time column with a finer unit"


def time_unit_us(time_type: TimeType) -> int:
    """The least difference between two times that the time column can say."""
    if time_type.unit is not None:
        return UNIT_US[time_type.unit]
    if pa.types.is_date(time_type.arrow):
        return 86_400_000_000
    return UNIT_US.get(time_type.arrow.unit, 1)


def slide_of(plan: Match) -> Slide | None:
    """The windows of `WITHIN w SLIDE s`; without SLIDE those of aggregates follow one another."""
    window = plan.query.window
    if window is None or (window.slide is None and not plan.aggregates):
        return None
    origin, slide = plan.options.origin, window.slide or window.length
    return Slide(window.length.amount, slide.amount, origin if isinstance(origin, int) else 0)
