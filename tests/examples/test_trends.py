"""The aggregates of examples/trends.py are those of plain loops over the events, which share no code with Eventide."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pytest

import eventide as ev
from eventide.generate.activity import PASSIVE
from tests.docs.script import load_script

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "trends.py"
WITHOUT_JIT = bool(numba.config.DISABLE_JIT)
PERSONS = 2 if WITHOUT_JIT else 14


trends = load_script(SCRIPT)

EPOCH = datetime(1970, 1, 1)


def rows_by(table: pa.Table, *names: str) -> dict[Any, list[dict[str, Any]]]:
    groups = defaultdict(list)
    for row in table.to_pylist():
        groups[tuple(row[name] for name in names)].append(row)
    return groups


def windows(
    events: list[dict[str, Any]], length: timedelta, slide: timedelta
) -> Iterator[tuple[datetime, list[dict[str, Any]]]]:
    """Every window `[k * slide, k * slide + length)` that holds an event, with its events."""
    times = [event["ts"] for event in events]
    start = EPOCH + ((times[0] - length - EPOCH) // slide + 1) * slide
    while start <= times[-1]:
        inside = events[bisect_left(times, start) : bisect_left(times, start + length)]
        if inside:
            yield start, inside
        start += slide


def cut(values: list[Any], goes_on: Any) -> list[list[Any]]:
    """Longest runs: cut wherever two neighbours do not go on."""
    found: list[list[Any]] = []
    for value in values:
        if not found or not goes_on(found[-1][-1], value):
            found.append([])
        found[-1].append(value)
    return found


def of_length(runs: list[list[Any]], least: int) -> tuple[int, list[Any]]:
    """The contiguous parts of at least so many values: how many there are, and the values in them."""
    long = [run for run in runs if len(run) >= least]
    return sum((len(run) - least + 1) * (len(run) - least + 2) // 2 for run in long), [v for run in long for v in run]


# --- heart rates -------------------------------------------------------------------------------------------------


def rising_passive(reports: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Longest runs of passive reports with rising rates; an active report belongs to none and ends one."""
    runs = cut(reports, lambda a, b: a["effort"] == b["effort"] == "passive" and a["rate"] < b["rate"])
    return [run for run in runs if run[0]["effort"] == "passive"]


def phases(reports: pa.Table, least: int) -> list[tuple[Any, ...]]:
    found = []
    for (person,), events in rows_by(reports, "person").items():
        for start, inside in windows(events, timedelta(minutes=10), timedelta(seconds=30)):
            n, taken = of_length(rising_passive(inside), least)
            if n:
                rates = [event["rate"] for event in taken]
                found.append((person, start, min(rates), max(rates)))
    return sorted(found)


def named(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in table.to_pylist()]


def test_phases_of_rising_heart_rates_are_those_of_plain_loops() -> None:
    reports = trends.activity(surges=1, persons=PERSONS).slice(0, 900 * PERSONS)
    for least, query in ((1, trends.heart_rates), (30, trends.long_phases)):
        expected = phases(reports, least)
        assert len(expected) > 20
        assert named(query(reports), "person", "window_start", "lowest", "highest") == expected


@pytest.mark.parametrize(("share", "each"), [(0, 0), (1, len(PASSIVE))])
def test_every_person_has_the_surges_that_were_generated(share: float, each: int) -> None:
    """With share 1 each of a person's passive activities has one surge, with share 0 none."""
    found = trends.surges(trends.activity(surges=share, persons=PERSONS))
    assert found.column("surges").to_pylist() == [each] * (PERSONS if each else 0)


def test_surges_are_the_long_phases_of_plain_loops() -> None:
    reports = trends.activity(persons=PERSONS)
    expected = []
    for (person,), events in rows_by(reports, "person").items():
        # The first and the last run of a person have no report on one side.
        inner = [run for run in rising_passive(events) if run[0] is not events[0] and run[-1] is not events[-1]]
        runs = [[event["rate"] for event in run] for run in inner if len(run) >= 30]
        if runs:
            expected.append((person, len(runs), min(map(min, runs)), max(map(max, runs))))
    assert sum(n for _, n, _, _ in expected) == (3 if WITHOUT_JIT else 23)
    assert named(trends.surges(reports), "person", "surges", "lowest", "highest") == sorted(expected)


# --- prices ------------------------------------------------------------------------------------------------------


def rises(prices: list[float], factor: float) -> tuple[int, int, float]:
    """Trends with each price above the one before by a factor; their events; the sum of these events' prices."""
    price = np.array(prices)
    n, events, total = (np.zeros(len(prices), dtype) for dtype in (object, object, float))
    for i, p in enumerate(prices):
        before = np.flatnonzero(price[:i] * factor < p)
        n[i] = 1 + sum(n[before])
        events[i] = n[i] + sum(events[before])
        total[i] = float(n[i]) * p + total[before].sum()
    return sum(n), sum(events), float(total.sum())


@pytest.mark.parametrize("factor", ["1.01", "1.005"])
def test_price_rises_are_those_of_plain_loops(factor: str) -> None:
    ticks = trends.ticks(2_000 if WITHOUT_JIT else 10_000)
    expected: dict[tuple[str, datetime], list[Any]] = defaultdict(lambda: [0, 0, 0.0])
    for (sector, _), events in rows_by(ticks, "sector", "symbol").items():
        for start, inside in windows(events, timedelta(minutes=10), timedelta(minutes=1)):
            found = rises([event["price"] for event in inside], float(factor))
            expected[sector, start] = [a + b for a, b in zip(expected[sector, start], found, strict=True)]
    table = trends.price_rises(ticks, factor)
    assert max(table.column("trends").to_pylist()) > 500
    found = named(table, "sector", "window_start", "trends", "price")
    assert [row[:3] for row in found] == [(*key, n) for key, (n, _, _) in sorted(expected.items())]
    averages = [total / n_events for _, (_, n_events, total) in sorted(expected.items())]
    assert [row[3] for row in found] == pytest.approx(averages, rel=1e-12)


# --- glucose -----------------------------------------------------------------------------------------------------


def by_direction(readings: list[dict[str, Any]], direction: str) -> list[list[dict[str, Any]]]:
    """Longest runs; readings of one time come in the order of their values."""
    sign = 1 if direction == "rises" else -1
    ordered = sorted(readings, key=lambda r: (r["datetime"], r["glucose"]))

    def goes_on(a: dict[str, Any], b: dict[str, Any]) -> bool:
        return bool(sign * (b["glucose"] - a["glucose"]) > 0 and b["datetime"] - a["datetime"] < timedelta(minutes=7))

    return cut(ordered, goes_on)


def monthly(readings: pa.Table, direction: str) -> list[tuple[Any, ...]]:
    found = []
    for (month,), events in rows_by(readings, "month").items():
        # The first and the last run of a month have no reading on one side.
        runs = [run for run in by_direction(events, direction)[1:-1] if len(run) >= 3]
        values = [reading["glucose"] for run in runs for reading in run]
        if runs:
            found.append((month, len(runs), len(values), min(values), max(values)))
    return sorted(found)


def check_glucose(readings: pa.Table) -> None:
    for direction in trends.SIGNS:
        table = trends.runs(readings, direction)
        assert named(table, "month", "runs", "readings", "lowest", "highest") == monthly(readings, direction)
        runs = by_direction(readings.to_pylist(), direction)
        length, row = trends.longest(readings, direction)
        assert length == max(map(len, runs))
        longest = [run for run in runs if len(run) == length]
        assert row["trends"] == len(longest)
        assert (row["began"], row["ended"]) == (longest[0][0]["datetime"], longest[-1][-1]["datetime"])
        values = [reading["glucose"] for run in longest for reading in run]
        assert (row["min_g_glucose"], row["max_g_glucose"]) == (min(values), max(values))


def test_rises_and_falls_of_made_readings_are_those_of_plain_loops() -> None:
    readings = trends.glucose(Path("nowhere"))
    assert [[r["glucose"] for r in run] for run in by_direction(readings.to_pylist(), "rises") if len(run) > 2] == [
        [90, 95, 99, 104, 110],
        [92, 93, 97],
        [97, 98, 99],
    ]
    check_glucose(readings)


@pytest.mark.slow
@pytest.mark.skipif(not trends.RECORDED.exists(), reason="the recorded readings are not here")
def test_rises_and_falls_of_recorded_readings_are_those_of_plain_loops() -> None:
    readings = trends.glucose()
    check_glucose(readings.slice(15_000, 1_500) if WITHOUT_JIT else readings)


def test_the_script_prints_what_it_finds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(trends, "activity", lambda surges=0.2: ev.sample("activity", 1_500, persons=1, surges=surges))
    monkeypatch.setattr(trends, "ticks", lambda: ev.sample("stocks", 1_000, symbols=2))
    trends.main(["nowhere"])
    printed = capsys.readouterr().out
    assert "surges with share 0.0: 0\n" in printed
    assert "2010-03 2 falls of" in printed
    assert "longest of the rises: 5 readings, 2010-03-31 22:30:00 to 2010-03-31 22:50:00" in printed
