"""Aggregates over trends: heart rates that surge, prices that rise by a factor, a person's glucose up and down.

Run with `python examples/trends.py [PATH]`; PATH holds readings of glucose. docs/trends.md explains it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

import eventide as ev

RECORDED = Path(__file__).resolve().parents[2] / "shared" / "data" / "cgm_glucose_2010.csv.gz"

# Phases of a contiguously rising heart rate although the person is passive.
HEART = """
RETURN person, MIN(M.rate) AS lowest, MAX(M.rate) AS highest
PATTERN Measurement M+
SEMANTICS contiguous
DEFINE Measurement AS TRUE
WHERE [person] AND M.rate < NEXT(M).rate AND M.effort = 'passive'
GROUP BY person
WITHIN 10 minutes SLIDE 30 seconds
"""
LONG_PHASES = HEART + "MIN LENGTH 30"

# A longest phase: the report before it is not lower, the one after it is not higher. 30 reports and these two.
SURGES = """
RETURN person, COUNT(*) AS surges, MIN(m.rate) AS lowest, MAX(m.rate) AS highest
PATTERN SEQ(Report before, Passive m+, Report after)
SEMANTICS contiguous
DEFINE Report AS TRUE, Passive AS effort = 'passive'
WHERE before.rate >= NEXT(m).rate AND m.rate < NEXT(m).rate AND m.rate >= NEXT(after).rate
GROUP BY person
MIN LENGTH 32
"""

STOCKS = """
RETURN sector, COUNT(*) AS trends, AVG(S.price) AS price
PATTERN Stock S+
SEMANTICS any
DEFINE Stock AS TRUE
WHERE [sector, symbol] AND S.price * {factor} < NEXT(S).price
GROUP BY sector
WITHIN 10 minutes SLIDE 1 minute
"""

# A step is a change in one direction within seven minutes: a reading comes every five, and some are missing.
STEP = (
    "({left}.glucose {sign} NEXT({right}).glucose AND NEXT({right}).datetime < {left}.datetime + INTERVAL '7' MINUTE)"
)
RUNS = """
RETURN month, COUNT(*) AS runs, COUNT(g) AS readings, MIN(g.glucose) AS lowest, MAX(g.glucose) AS highest
PATTERN SEQ(Reading before, Reading g+, Reading after)
SEMANTICS contiguous
DEFINE Reading AS TRUE
WHERE {step} AND NOT {step_before} AND NOT {step_after}
GROUP BY month
MIN LENGTH 5
"""
PARTS = """
RETURN COUNT(*) AS trends, MIN(g.datetime) AS began, MAX(g.datetime) AS ended, MIN(g.glucose), MAX(g.glucose)
PATTERN Reading g+
SEMANTICS contiguous
DEFINE Reading AS TRUE
WHERE {step}
MIN LENGTH {length}
"""
SIGNS = {"rises": "<", "falls": ">"}


def activity(surges: float = 0.2, persons: int = 14) -> pa.Table:
    """A report a second of each of 14 persons for 75 minutes."""
    return ev.sample("activity", persons * 75 * 60, surges=surges, persons=persons)


def ticks(events: int = 225_000) -> pa.Table:
    """225,000 transactions of 10 companies in 12 hours."""
    return ev.sample("stocks", events, symbols=10, mean_gap_us=192_000)


def by_window(table: pa.Table) -> pa.Table:
    first = table.column_names[0]
    return table.sort_by([(first, "ascending"), ("window_start", "ascending")])


def heart_rates(reports: Any) -> pa.Table:
    """Least and greatest rate in phases of rising rates, of each person and window."""
    return by_window(ev.query(HEART).run(reports))


def long_phases(reports: Any) -> pa.Table:
    """The same of phases of at least 30 reports: no row for a window without one."""
    return by_window(ev.query(LONG_PHASES).run(reports))


def surges(reports: Any) -> pa.Table:
    """How often each person's heart rate surged."""
    return ev.query(SURGES).run(reports).sort_by("person")


def price_rises(events: Any, factor: str = "1.01") -> pa.Table:
    """Trends in which each price is higher than the one before by a factor, of each sector and window."""
    return by_window(ev.query(STOCKS.format(factor=factor)).run(events))


def runs(readings: Any, direction: str) -> pa.Table:
    """Rises or falls of at least three readings, of each month."""
    sign = SIGNS[direction]
    text = RUNS.format(
        step=STEP.format(left="g", right="g", sign=sign),
        step_before=STEP.format(left="before", right="g", sign=sign),
        step_after=STEP.format(left="g", right="after", sign=sign),
    )
    return ev.query(text, ts="datetime", ties="sequence").run(readings).sort_by("month")


def longest(readings: Any, direction: str) -> tuple[int, dict[str, Any]]:
    """The number of readings of the longest rise or fall, and the aggregates of those that are as long.

    No trend has more readings than the greatest MIN LENGTH that leaves a row.
    """
    step = STEP.format(left="g", right="g", sign=SIGNS[direction])

    def rows(length: int) -> list[dict[str, Any]]:
        query = ev.query(PARTS.format(step=step, length=length), ts="datetime", ties="sequence")
        return query.run(readings).to_pylist()

    length, too_long = 1, 2
    while rows(too_long):
        length, too_long = too_long, 2 * too_long
    while too_long - length > 1:
        middle = (length + too_long) // 2
        length, too_long = (middle, too_long) if rows(middle) else (length, middle)
    (found,) = rows(length)
    return length, found


def glucose(path: Path = RECORDED) -> pa.Table:
    """The readings with the month of each, as in "2010-03"; made ones where there is no file."""
    table = pyarrow.csv.read_csv(path).select(["datetime", "glucose"]) if path.exists() else made()
    return table.append_column("month", pc.strftime(table.column("datetime"), "%Y-%m"))


def made() -> pa.Table:
    """Two hours of readings with a missing one, a repeated time, and a level."""
    values = [90, 95, 99, 104, 110, 110, 108, 103, 103, 101, 99, 96, 92, 93, 97, 97, 98, 99, 100, 99, 99, 97]
    minutes = [5 * i + 5 * (i > 17) for i in range(len(values))]
    minutes[9] = minutes[8]
    times = [datetime(2010, 3, 31, 22, 30) + timedelta(minutes=m) for m in minutes]
    return pa.table({"datetime": pa.array(times, pa.timestamp("s")), "glucose": values})


def main(arguments: Sequence[str]) -> None:
    reports = activity()
    print(f"{reports.num_rows:,} reports of heart rates")
    print(f"  phases of rising rates: {heart_rates(reports).num_rows:,} rows, one a person and window")
    print(f"  of 30 s and more: {long_phases(reports).num_rows:,} rows")
    for share in (0.0, 0.2, 1.0):
        found = surges(activity(surges=share))
        print(f"  surges with share {share}: {sum(found.column('surges').to_pylist())}", flush=True)

    rises = price_rises(ticks())
    most = max(rises.to_pylist(), key=lambda row: row["trends"])
    print(f"\n225,000 prices: {rises.num_rows:,} rows, one a sector and window; most trends in one:")
    print(f"  {most['sector']} {most['window_start']} to {most['window_end']}: {most['trends']:,}", flush=True)

    readings = glucose(Path(arguments[0]) if arguments else RECORDED)
    print(f"\n{readings.num_rows:,} readings of glucose")
    for direction in SIGNS:
        for row in runs(readings, direction).to_pylist():
            print(f"  {row['month']} {row['runs']} {direction} of {row['readings']} readings")
        n, row = longest(readings, direction)
        print(f"  longest of the {direction}: {n} readings, {row['began']} to {row['ended']}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
