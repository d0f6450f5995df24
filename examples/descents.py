"""Descents of at least 3,000 feet without a level-off, per aircraft: one question in SQL, as queries, with the builder.

Run with `python examples/descents.py [PATH]`; PATH is a table of aircraft states. docs/descents.md explains it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import eventide as ev

FEET = 3_000
RECORDED = Path(__file__).resolve().parents[2] / "shared" / "data" / "adsb_quickstart_2021.parquet"
COLUMNS = ("icao24", "began", "ended", "top", "bottom", "feet")
ORDER = [("icao24", "ascending"), ("began", "ascending")]

STATEMENT = """
SELECT icao24, began, ended, top, bottom, top - bottom AS feet
FROM reports MATCH_RECOGNIZE (
    PARTITION BY icao24
    ORDER BY timestamp
    MEASURES FIRST(timestamp) AS began, LAST(timestamp) AS ended,
             FIRST(altitude) AS top, LAST(altitude) AS bottom
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (TOP DOWN+)
    DEFINE DOWN AS altitude < PREV(altitude)
)
WHERE top - bottom >= 3000
"""

QUERY = """
PATTERN SEQ({begin}, Report r+, {end})
PARTITION BY icao24
DEFINE Report AS TRUE
WHERE r.altitude > NEXT(r).altitude
  AND MAX(r.altitude) - MIN(r.altitude) >= 3000
  AND {not_higher_before}
  AND {not_lower_after}
SEMANTICS contiguous
WITHIN 1 day
RETURN icao24, r.timestamp AS times, r.altitude AS altitudes
"""

# A longest run has a report before it that is not higher, or none at all; and likewise after it.
BEGINS = {
    "Report before": "COALESCE(before.altitude <= NEXT(r).altitude, TRUE)",
    "NOT Report earlier": "TRUE",
}
ENDS = {
    "Report after": "COALESCE(r.altitude <= NEXT(after).altitude, TRUE)",
    "NOT Report later": "TRUE",
}

DESCENT = (
    ev.Pattern.begin("first")
    .next("down", "altitude < COALESCE(last(down.altitude, 1), first.altitude)")
    .one_or_more()
    .consecutive()
)
NOT_LOWER = "COALESCE(altitude >= down.altitude, TRUE)"
OVER = DESCENT.next("after", NOT_LOWER)
LAST = DESCENT.greedy().not_followed_by("after", NOT_LOWER).within("1 day")
MEASURES = {
    "began": "first.timestamp",
    "ended": "LAST(down.timestamp)",
    "top": "first.altitude",
    "bottom": "LAST(down.altitude)",
    "feet": "first.altitude - LAST(down.altitude)",
}


def with_sql(reports: Any) -> pa.Table:
    """One statement."""
    return ev.sql(STATEMENT, reports=reports).select(COLUMNS).sort_by(ORDER)


def with_queries(reports: Any) -> pa.Table:
    """A query for each of the four ways in which a run can begin and end."""
    found: list[dict[str, Any]] = []
    for begin, not_higher_before in BEGINS.items():
        for end, not_lower_after in ENDS.items():
            text = QUERY.format(
                begin=begin, end=end, not_higher_before=not_higher_before, not_lower_after=not_lower_after
            )
            rows = ev.query(text, ts="timestamp", ties="sequence", close_at_end=True).run(reports)
            found += [_of_run(row["icao24"], row["times"], row["altitudes"]) for row in rows.to_pylist()]
    return _table(found)


def with_builder(reports: Any) -> pa.Table:
    """Two patterns: runs that a report ends, and runs that end with the aircraft's last report."""
    options: dict[str, Any] = {"partition_by": "icao24", "ts": "timestamp", "select": MEASURES}
    over = ev.detect(reports, OVER, skip=("to_last", "after"), **options).matches
    last = ev.detect(reports, LAST, skip="past_last", close_at_end=True, **options).matches
    rows = [row for table in (over, last) for row in table.select(COLUMNS).to_pylist()]
    return _table([row for row in rows if row["feet"] >= FEET])


def _of_run(icao24: str, times: Sequence[Any], altitudes: Sequence[float]) -> dict[str, Any]:
    values = (icao24, times[0], times[-1], altitudes[0], altitudes[-1], altitudes[0] - altitudes[-1])
    return dict(zip(COLUMNS, values, strict=True))


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    types = (pa.string(), pa.timestamp("us"), pa.timestamp("us"), pa.float64(), pa.float64(), pa.float64())
    schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
    return pa.Table.from_pylist(rows, schema).sort_by(ORDER)


def made() -> pa.Table:
    """Reports of two aircraft, for where the recorded ones are not at hand."""
    altitudes = {
        "high": [9000, 8000, 6500, 5500, 5500, 5000, 2500, 1000, None, 900],
        "low": [2000, 2500, 2400, 2000, None, 6000, 4000, 2900],
    }
    rows = [(name, i, feet) for name, values in altitudes.items() for i, feet in enumerate(values)]
    return pa.table(
        {
            "icao24": [name for name, _, _ in rows],
            "timestamp": pa.array([i * 1_000_000 for _, i, _ in rows], pa.timestamp("us")),
            "altitude": pa.array([feet for _, _, feet in rows], pa.float64()),
        }
    )


WAYS = {"SQL": with_sql, "queries": with_queries, "builder": with_builder}


def main(arguments: Sequence[str]) -> None:
    path = Path(arguments[0]) if arguments else RECORDED
    reports: Any = path if arguments or path.exists() else made()
    found = {}
    for name, way in WAYS.items():
        found[name] = way(reports)
        aircraft = len(set(found[name].column("icao24").to_pylist()))
        print(f"{name + ':':<9}{found[name].num_rows} descents of {aircraft} aircraft", flush=True)
    first = found["SQL"]
    assert all(table.equals(first.cast(table.schema)) for table in found.values()), "the three disagree"
    print("The three agree. The first of them:\n")
    for row in first.slice(0, 8).to_pylist():
        print(f"  {row['icao24']}  {row['began']} to {row['ended']}  {row['top']:6.0f} to {row['bottom']:6.0f} feet")


if __name__ == "__main__":
    main(sys.argv[1:])
