"""The time axis: ticks at round instants, with room for their labels."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventide.show.timeline.axis import Axis, duration_text, instant_text
from tests.budget import budgeted

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000_000


def us(*parts: int) -> int:
    return (datetime(*parts, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)  # type: ignore[misc]


def labels(start: int, end: int, unit: str | None = None) -> list[str]:
    return [tick.label for tick in Axis(start, end, 200.0, 1180.0, unit).ticks()]


@pytest.mark.parametrize(
    ("start", "end", "first", "last", "n"),
    [
        (us(2024, 1, 31, 11, 20), us(2024, 1, 31, 11, 29, 59), "11:20", "11:29", 10),
        (us(2024, 1, 31, 23, 59, 50), us(2024, 2, 1, 0, 0, 10), "23:59:50", "00:00:10", 11),
        (us(2024, 2, 1), us(2024, 2, 1) + 900, "00:00:00.000000", "00:00:00.000800", 5),
        (us(2024, 2, 1), us(2024, 2, 1) + 900_000, "00:00:00.000", "00:00:00.900", 10),
        (us(2024, 2, 27), us(2024, 3, 2), "00:00", "00:00", 9),
        (us(2024, 2, 1), us(2024, 2, 14), "2024-02-01", "2024-02-13", 7),
        (us(2024, 2, 1), us(2024, 4, 14), "2024-02-05", "2024-04-08", 10),
        (us(2023, 12, 20), us(2024, 6, 2), "2023-12-25", "2024-05-27", 12),
        (us(2023, 12, 20), us(2024, 12, 2), "2024-01", "2024-12", 12),
        (us(1999, 12, 20), us(2024, 12, 2), "2000", "2024", 13),
        (us(1795, 12, 20), us(2024, 12, 2), "1800", "2020", 12),
    ],
)
def test_ticks_are_round_times_dates_weeks_months_or_years(start: int, end: int, first: str, last: str, n: int) -> None:
    found = labels(start, end)
    assert (found[0], found[-1], len(found)) == (first, last, n)


def test_the_date_stands_under_the_first_tick_and_where_it_changes() -> None:
    ticks = Axis(us(2024, 1, 31, 20), us(2024, 2, 1, 4), 0.0, 1000.0).ticks()
    assert [tick.below for tick in ticks if tick.below] == ["2024-01-31", "2024-02-01"]
    assert next(tick.label for tick in ticks if tick.below == "2024-02-01") == "00:00"


def test_integers_are_shown_as_they_are() -> None:
    assert labels(0, 59_000_000, "s") == [str(n) for n in range(0, 60, 5)]
    assert labels(-3_000_000, 1_000_000, "ms")[0] == "-3,000"
    assert labels(0, 3, "us") == ["0", "1", "2", "3"]


@budgeted()
@given(st.integers(-(10**16), 10**16), st.integers(1, 10**16), st.sampled_from([None, "s", "ms", "us"]))
def test_any_stretch_of_time_has_few_ticks_in_order_and_inside(start: int, length: int, unit: str | None) -> None:
    axis = Axis(start, start + length, 200.0, 1180.0, unit)
    ticks = axis.ticks()
    times = [tick.ts_us for tick in ticks]
    assert times == sorted(set(times)) and len(times) <= 40
    assert all(start <= ts <= start + length for ts in times)
    places = [axis.x(ts) for ts in times]
    assert all(200 <= x <= 1180 for x in places)


def test_instants_and_lengths_are_written_for_people() -> None:
    assert instant_text(us(2024, 1, 31, 12, 0, 1)) == "2024-01-31 12:00:01"
    assert instant_text(us(2024, 1, 31) + 1) == "2024-01-31 00:00:00.000001"
    assert instant_text(-1_500_000) == "1969-12-31 23:59:58.500"
    written = [duration_text(n) for n in (0, 1_500, 59_900_000, 60_000_000, 3_661_000_000, DAY + 1_000_000)]
    assert written == ["0 us", "1.5 ms", "59.9 s", "1 min", "1 h 1 min", "1 d"]
