"""The time axis: from microseconds to pixels, round instants for its ticks, and instants as text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.show.timeline.letters import width

SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US
_UNIT_US = {"s": SECOND_US, "ms": 1_000, "us": 1}
_UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds"}
_FRACTIONS = [factor * 10**power for power in range(6) for factor in (1, 2, 5)]
_CLOCK = [n * SECOND_US for n in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)]
STEPS_US = [*_FRACTIONS, *_CLOCK, DAY_US, 2 * DAY_US, 7 * DAY_US, 14 * DAY_US]
_MONTHS = [1, 3, 6, *(12 * factor * 10**power for power in range(4) for factor in (1, 2, 5))]
_EPOCH_MONTHS = 1970 * 12
_FONT_PX = 11
_GAP_PX = 18
_LEAST_PX = 60  # between numbers, however short


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on the axis; `below` is the date, where it is not that of the tick before."""

    ts_us: int
    label: str
    below: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """`start_us` stands at pixel `left`, `end_us` at pixel `right`."""

    start_us: int
    end_us: int
    left: float
    right: float
    unit: str | None = None

    def x(self, ts_us: int | float) -> float:
        """The pixel of an instant.

        >>> Axis(0, 10, 100.0, 200.0).x(5)
        150.0
        """
        share = (ts_us - self.start_us) / (self.end_us - self.start_us)
        return self.left + share * (self.right - self.left)

    @property
    def caption(self) -> str:
        """The unit of the labels, where they do not show it."""
        return _UNIT_NAMES[self.unit] if self.unit else ""

    def ticks(self) -> list[Tick]:
        """Round instants, as many as stand beside one another without touching.

        >>> [tick.label for tick in Axis(0, 10_000_000, 0.0, 300.0, unit="s").ticks()]
        ['0', '2', '4', '6', '8', '10']
        """
        if self.unit:
            return self._numbers(self.unit)
        per_px = (self.end_us - self.start_us) / (self.right - self.left)
        for step in STEPS_US:
            # Below a day the date stands under some ticks, and may stand under two in a row.
            text = clock_text(0, step) if step < DAY_US else "2024-01-31"
            widest = max(width(text, _FONT_PX), width("2024-01-31", _FONT_PX))
            if step / per_px >= widest + _GAP_PX:
                return self._clock(step)
        return self._months((width("2024-01", _FONT_PX) + _GAP_PX) * per_px)

    def _numbers(self, unit: str) -> list[Tick]:
        unit_us = _UNIT_US[unit]
        widest = max(width(number_text(ts, unit), _FONT_PX) for ts in (self.start_us, self.end_us))
        wanted = max(_LEAST_PX, widest + _GAP_PX) * (self.end_us - self.start_us) / (self.right - self.left) / unit_us
        power, step = 1, 1
        while step < wanted:
            step = next((power * factor for factor in (1, 2, 5) if power * factor >= wanted), 10 * power)
            power *= 10
        return [Tick(ts, number_text(ts, unit)) for ts in self._multiples(step * unit_us)]

    def _clock(self, step: int) -> list[Tick]:
        ticks, before = [], ""
        # Weeks begin on Mondays; the epoch was a Thursday.
        for ts in self._multiples(step, 4 * DAY_US if step >= 7 * DAY_US else 0):
            date = instant_text(ts)[:10]
            if step >= DAY_US:
                ticks.append(Tick(ts, date))
            else:
                ticks.append(Tick(ts, clock_text(ts, step), "" if date == before else date))
            before = date
        return ticks

    def _months(self, wanted_us: float) -> list[Tick]:
        step = next((n for n in _MONTHS if n * 28 * DAY_US >= wanted_us), _MONTHS[-1])
        edges = np.array([self.start_us, self.end_us]).astype("datetime64[us]").astype("datetime64[M]").astype(int)
        # Counted from the year 0, so that years are round numbers.
        first, last = int(edges[0]) + _EPOCH_MONTHS, int(edges[1]) + _EPOCH_MONTHS
        months = (np.arange(-(-first // step) * step, last + 1, step) - _EPOCH_MONTHS).astype("datetime64[M]")
        starts = months.astype("datetime64[us]").astype(np.int64)
        labels = np.datetime_as_string(months, unit="Y" if step >= 12 else "M")
        both = zip(starts.tolist(), labels.tolist(), strict=True)
        return [Tick(ts, label) for ts, label in both if self.start_us <= ts <= self.end_us]

    def _multiples(self, step: int, offset: int = 0) -> range:
        first = -((offset - self.start_us) // step) * step + offset
        return range(first, self.end_us + 1, step)


def instant_text(ts_us: int, unit: str | None = None) -> str:
    """An instant in full: a number of an integer column, or a date and a time of day.

    >>> instant_text(1_500_000), instant_text(1_000_000), instant_text(1_500_000, "ms")
    ('1970-01-01 00:00:01.500', '1970-01-01 00:00:01', '1,500 ms')
    """
    if unit:
        return f"{number_text(ts_us, unit)} {unit}"
    text = str(np.datetime_as_string(np.datetime64(ts_us, "us"), unit="us")).replace("T", " ")
    whole, _, fraction = text.partition(".")
    return whole if fraction == "000000" else f"{whole}.{fraction.removesuffix('000')}"


def number_text(ts_us: int, unit: str) -> str:
    return f"{ts_us // _UNIT_US[unit]:,}"


def clock_text(ts_us: int, step_us: int) -> str:
    """The time of day, as fine as the step needs it.

    >>> clock_text(90_000_000, 60_000_000), clock_text(90_500_000, 500_000)
    ('00:01', '00:01:30.500')
    """
    text = str(np.datetime_as_string(np.datetime64(ts_us, "us"), unit="us")).partition("T")[2]
    if step_us >= 60 * SECOND_US:
        return text[:5]
    return text[:8] if step_us >= SECOND_US else text[:12] if step_us >= 1_000 else text


def duration_text(length_us: int) -> str:
    """A length of time in its two largest units.

    >>> duration_text(90_000_000), duration_text(2_500_000), duration_text(7), duration_text(93_600_000_000)
    ('1 min 30 s', '2.5 s', '7 us', '1 d 2 h')
    """
    if length_us < 1_000:
        return f"{length_us} us"
    if length_us < SECOND_US:
        return f"{length_us / 1_000:.5g} ms"
    if length_us < 60 * SECOND_US:
        return f"{length_us / SECOND_US:.5g} s"
    seconds = length_us // SECOND_US
    sizes = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    parts = []
    for name, size in sizes:
        parts.append((seconds // size, name))
        seconds %= size
    first = next(i for i, (n, _) in enumerate(parts) if n)
    return " ".join(f"{n} {name}" for n, name in parts[first : first + 2] if n)
