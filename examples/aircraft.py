"""Situations of aircraft: cruise, descents during which speed falls, approaches and landings, found while they go on.

Run with `python examples/aircraft.py [STATES] [PAGE]`; STATES is a table of aircraft states, PAGE an HTML file to write
the timeline of one arrival to. docs/situations.md explains it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import eventide as ev

RECORDED = Path(__file__).resolve().parents[2] / "shared" / "data" / "adsb_quickstart_2021.parquet"
SHOWN = "VLG8030"

# A leg is a stretch of reports without a gap of ten minutes. Medians of the last 15 seconds leave out single wrong
# values, such as an altitude of 72,500 feet, and look at nothing that comes later.
PREPARE = """
WITH gaps AS (
    SELECT *, coalesce("timestamp" - lag("timestamp") OVER w > INTERVAL 10 MINUTE, false) AS is_first
    FROM states
    WHERE onground OR altitude IS NOT NULL
    WINDOW w AS (PARTITION BY icao24 ORDER BY "timestamp")
), legs AS (
    SELECT *, CAST(sum(is_first::INT) OVER w AS INT) AS leg
    FROM gaps
    WINDOW w AS (PARTITION BY icao24 ORDER BY "timestamp")
), smooth AS (
    SELECT icao24, leg, callsign, "timestamp", onground, median(altitude) OVER w AS altitude,
           median(groundspeed) OVER w AS speed, median(vertical_rate) OVER w AS rate
    FROM legs
    WINDOW w AS (
        PARTITION BY icao24, leg ORDER BY "timestamp" RANGE BETWEEN INTERVAL 14 SECOND PRECEDING AND CURRENT ROW)
)
SELECT *, speed - first_value(speed) OVER w AS change  -- in 30 seconds
FROM smooth
WINDOW w AS (PARTITION BY icao24, leg ORDER BY "timestamp" RANGE BETWEEN INTERVAL 30 SECOND PRECEDING AND CURRENT ROW)
ORDER BY "timestamp"
"""

CRUISE = "Cruise AS altitude BETWEEN 9000 AND 45000 AND abs(rate) <= 300 AND NOT onground FOR AT LEAST 2 minutes"
DESCENT = "Descent AS rate < -300 AND NOT onground FOR AT LEAST 1 minute"
SLOWING = "Slowing AS change <= -15 AND NOT onground FOR AT LEAST 20 seconds"
APPROACH = "Approach AS altitude <= 4000 AND speed <= 180 AND rate < -300 AND NOT onground FOR AT LEAST 30 seconds"
GROUND = "Ground AS onground FOR AT LEAST 10 seconds"

# Speed falls while the aircraft descends from its cruise. Which of the two ends first does not matter, so a match is
# certain as soon as the speed has fallen for 20 seconds.
SLOWING_DESCENTS = f"""
PARTITION BY icao24, leg
DEFINE {CRUISE}, {DESCENT}, {SLOWING}
PATTERN Cruise meets Descent AND Descent overlaps|finished-by|contains Slowing
WITHIN 1 hour
RETURN icao24, leg, first(Descent.callsign) AS callsign, start(Descent) AS began,
       avg(Cruise.altitude) AS level, first(Slowing.speed) AS speed, start(Slowing) AS slowing
"""

# Low, slow and descending, with the descent that leads there.
APPROACHES = f"""
PARTITION BY icao24, leg
DEFINE {DESCENT}, {APPROACH}
PATTERN Descent starts|equals|started-by|overlaps|finished-by|contains Approach
WITHIN 1 hour
RETURN icao24, leg, first(Approach.callsign) AS callsign, start(Descent) AS began, start(Approach) AS low,
       first(Approach.altitude) AS altitude, first(Approach.speed) AS speed
"""

# From the cruise to the approach.
ARRIVALS = f"""
PARTITION BY icao24, leg
DEFINE {CRUISE}, {DESCENT}, {SLOWING}, {APPROACH}
PATTERN Cruise meets Descent AND Descent overlaps|finished-by|contains Slowing AND Cruise before Approach
WITHIN 1 hour
RETURN icao24, leg, first(Approach.callsign) AS callsign, avg(Cruise.altitude) AS level, end(Cruise) AS descends,
       start(Slowing) AS slowing, start(Approach) AS low
"""

LANDINGS = f"""
PARTITION BY icao24, leg
DEFINE {APPROACH}, {GROUND}
PATTERN Approach before|meets|overlaps Ground
WITHIN 10 minutes
RETURN icao24, leg, start(Approach) AS low, start(Ground) AS lands
"""

# For a list of all situations; what is related plays no part in it.
ALL = f"""
PARTITION BY icao24, leg
DEFINE {CRUISE}, {DESCENT}, {SLOWING}, {APPROACH}, {GROUND}
PATTERN Cruise before Descent before Slowing before Approach before Ground
"""


def ask(text: str, **options: Any) -> ev.Query:
    return ev.query(text, ts="timestamp", **options)


def reports(path: Path = RECORDED) -> pa.Table:
    """The states with their legs, smoothed; made ones where there is no file."""
    states = pq.read_table(path) if path.exists() else made()
    with duckdb.connect() as connection:
        connection.register("states", states)
        return connection.sql(PREPARE).to_arrow_table()


def situations(events: pa.Table) -> pa.Table:
    """All situations of the five kinds; what goes on at the end of the reports counts as over then."""
    return ask(ALL, close_at_end=True).situations(events)


def leads(text: str, events: pa.Table) -> list[float]:
    """For each match, by how many seconds it is known before all of its situations are over."""
    bare = text.partition("RETURN")[0]
    early = ask(bare).run(events)
    complete = ask(bare + "EMIT ON COMPLETE", close_at_end=True).run(events)
    keys = ["icao24", "leg", *(name for name in early.column_names if name.endswith("_start"))]
    both = early.join(complete, keys, join_type="inner", right_suffix="_complete")
    waited = pc.subtract(both.column("detected_at_complete"), both.column("detected_at"))
    return sorted(each.total_seconds() for each in waited.to_pylist())


def notices(events: pa.Table) -> list[float]:
    """For each approach that ends on the ground, how many seconds before that it is known."""
    keys = ["icao24", "leg", "low"]
    landings = ask(LANDINGS).run(events).group_by(keys).aggregate([("lands", "min")])
    both = ask(APPROACHES).run(events).join(landings, keys, join_type="inner")
    left = pc.subtract(both.column("lands_min"), both.column("detected_at"))
    return sorted(each.total_seconds() for each in left.to_pylist())


def speed_falls(events: pa.Table) -> pa.Table:
    """Intervals in which no report is faster than the one before, and 30 knots are lost in all."""
    found = ev.intervals.homogeneous(
        events.filter(pc.invert(events.column("onground"))),
        "speed <= prev(speed)",
        occurrences=(2, None),
        value={"from_speed": "first(speed)", "to_speed": "last(speed)"},
        partition_by=["icao24", "leg"],
        ts="timestamp",
        close_at_end=True,
    )
    return found.filter(pc.greater_equal(pc.subtract(found["from_speed"], found["to_speed"]), 30))


def falls_and_descents(events: pa.Table) -> pa.Table:
    """Pairs of an interval in which speed falls and a descent that it has time in common with."""
    found = situations(events)
    descents = found.filter(pc.equal(found.column("symbol"), "Descent"))
    return ev.allen(
        speed_falls(events),
        descents,
        "overlaps | starts | during | finishes | equals | overlapped-by | started-by | contains | finished-by",
        partition_by=["icao24", "leg"],
        right_times=("start", "end"),
    )


def leg_of(callsign: str, events: pa.Table) -> dict[str, Any]:
    """The partition of a flight."""
    rows = events.filter(pc.equal(events.column("callsign"), callsign)).slice(0, 1).to_pylist()
    if not rows:
        raise SystemExit(f"no report has the callsign {callsign}")
    return {name: rows[0][name] for name in ("icao24", "leg")}


def page(events: pa.Table, callsign: str, path: Path) -> Any:
    """The timeline of one flight's arrival."""
    return ev.timeline(
        query=ask(ARRIVALS),
        events=events,
        partition=leg_of(callsign, events),
        values=["altitude", "speed"],
        title=f"{callsign}: from the cruise to the approach",
        path=path,
    )


def made() -> pa.Table:
    """States of an arrival and of an aircraft that flies over, for where the recorded ones are not at hand."""
    arrival = [  # second, feet, knots
        (0, 15_000, 310),
        (120, 11_000, 300),
        (420, 11_000, 280),
        (600, 6_500, 270),
        (660, 5_000, 210),
        (900, 1_200, 150),
        (960, 100, 140),
        (970, -75, 130),
        (1_100, -75, 20),
    ]
    rows = [*_flight("made01", SHOWN, arrival), *_flight("made02", "OVER1", [(0, 35_000, 440), (900, 35_000, 440)])]
    rows[200]["altitude"] = 72_500.0
    rows[700]["altitude"] = None
    return pa.Table.from_pylist(rows)


def _flight(icao24: str, callsign: str, profile: Sequence[tuple[int, int, int]]) -> Iterator[dict[str, Any]]:
    """A report a second, with values on the lines between the points of a profile."""
    for (begin, feet, knots), (end, next_feet, next_knots) in pairwise(profile):
        for second in range(begin, end):
            share = (second - begin) / (end - begin)
            yield {
                "icao24": icao24,
                "callsign": callsign,
                "timestamp": datetime(2021, 10, 7, 12) + timedelta(seconds=second),
                "onground": feet < 0,
                "altitude": feet + share * (next_feet - feet),
                "groundspeed": knots + share * (next_knots - knots),
                "vertical_rate": 60.0 * (next_feet - feet) / (end - begin),
            }


def main(arguments: Sequence[str]) -> None:
    events = reports(Path(arguments[0]) if arguments else RECORDED)
    found = situations(events)
    n_legs = found.group_by(["icao24", "leg"]).aggregate([]).num_rows
    print(f"{events.num_rows:,} reports; situations of {n_legs} legs:")
    for symbol in ("Cruise", "Descent", "Slowing", "Approach", "Ground"):
        mine = found.filter(pc.equal(found.column("symbol"), symbol))
        lasted = [row["end"] - row["start"] for row in mine.to_pylist()]
        print(f"  {symbol:<9}{len(lasted):>5}, half of them longer than {_seconds(lasted):.0f} s")

    for name, text in (("slowing descents", SLOWING_DESCENTS), ("approaches", APPROACHES), ("arrivals", ARRIVALS)):
        rows = ask(text).run(events)
        early = leads(text, events)
        flights = len(set(rows.column("callsign").to_pylist()))
        print(f"\n{rows.num_rows} {name} of {flights} flights; known {median(early):.0f} s (median),", end=" ")
        print(f"{early[0]:.0f} s to {early[-1]:.0f} s before all is over. The first of them:")
        for row in rows.slice(0, 3).to_pylist():
            print("  " + "  ".join(_show(value) for key, value in row.items() if key not in ("icao24", "leg")))

    notice = notices(events)
    print(f"\n{len(notice)} approaches end on the ground; they are known {median(notice):.0f} s (median) before that")

    falls, pairs = speed_falls(events), falls_and_descents(events)
    print(f"\n{falls.num_rows} times the speed falls by 30 knots and more. What that is to a descent:")
    for relation, n in Counter(pairs.column("relation").to_pylist()).most_common():
        print(f"  {relation:<14}{n:>4}")

    if len(arguments) > 1:
        print(f"\n{page(events, SHOWN, Path(arguments[1]))!r} written to {arguments[1]}")


def _seconds(lengths: Sequence[timedelta]) -> float:
    return median(length.total_seconds() for length in lengths) if lengths else 0.0


def _show(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%H:%M:%S}"
    return f"{value:.0f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
