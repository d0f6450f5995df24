"""What users call: `ev.timeline(...)`, from a result, its query and its events to a page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from eventide.errors import EventideError, InputError
from eventide.show.report import count
from eventide.show.timeline.axis import duration_text, instant_text
from eventide.show.timeline.intervals import END, START, lanes_of, matches_of
from eventide.show.timeline.model import Chart, Lane, Line, Match
from eventide.show.timeline.page import Timeline
from eventide.show.timeline.situations import Situations
from eventide.show.timeline.tables import (
    Clock,
    find_column,
    has_columns,
    known,
    numbers,
    rows_of,
    some_partitions,
    write_partition,
)

# Integers below it, the year 1980, count from something else than the epoch: they are shown as they are.
_CALENDAR_US = 315_532_800_000_000


def timeline(
    result: Any = None,
    *,
    query: Any = None,
    events: Any = None,
    partition: Mapping[str, Any] | None = None,
    values: str | Sequence[str] = (),
    lane: str | None = None,
    ts: str | None = None,
    ts_unit: str | None = None,
    title: str | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Timeline:
    """A picture of one partition: situations, events, and matches with the instants of their detection.

    With its query and its events, a result is shown with the situations that led to it. A table with `interval_start`
    and `interval_end` needs neither: it is one lane, or one for each value of the column `lane`. `values` are columns
    of the events to draw as lines. `path` writes the page, which needs nothing else; a notebook shows what is returned.

    >>> import eventide as ev
    >>> rides = [{"car": 7, "interval_start": 0, "interval_end": 40},
    ...          {"car": 8, "interval_start": 30, "interval_end": 90}]
    >>> ev.timeline(rides, lane="car", ts_unit="s", title="rides")
    <Timeline 'rides': 2 lanes>
    """
    if partition is not None and not isinstance(partition, Mapping):
        raise EventideError(f"partition takes a dict, found {partition!r}", hint='for example {"car_id": 7}')
    if result is None and (query is None or events is None):
        raise EventideError("there is nothing to show", hint="pass a result, or query= and events=")
    names = [values] if isinstance(values, str) else values
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        hint = 'for example values=["speed"]'
        raise EventideError(f"values takes names of columns, found {type(values).__name__}", hint=hint)
    for argument, text in (("lane", lane), ("ts", ts), ("ts_unit", ts_unit), ("title", title)):
        if not isinstance(text, str | None):
            raise EventideError(f"{argument} is text, found {type(text).__name__}")
    given = _Given(result, query, events, dict(partition or {}), Clock(ts, ts_unit))
    page = Timeline.of(given.chart(list(names), lane, title))
    if path is not None:
        page.save(path)
    return page


@dataclass(slots=True)
class _Given:
    result: Any
    query: Any
    events: Any
    partition: dict[str, Any]
    clock: Clock

    def chart(self, values: list[str], lane: str | None, title: str | None) -> Chart:
        situations = None if self.query is None else Situations.of(self.query)
        is_table = self.query is None and has_columns(self.result, [START, END])
        self._check(situations, is_table, values, lane)
        rows = self._events()
        lanes: tuple[Lane, ...] = ()
        matches: tuple[Match, ...] | None = None
        if situations is not None and rows is not None:
            lanes = situations.lanes(rows, self.clock)
            matches = situations.matches(rows, lanes, self._own_result(), self.clock)
        elif is_table:
            lanes = lanes_of(rows_of(self.result, self.partition, "the intervals"), lane, self.clock)
        else:
            found = self._own_result()
            matches = matches_of(self.query.run(rows) if found is None else found, self.clock)
        name = title or (situations.title if situations else "intervals" if is_table else "matches")
        lines: tuple[Line, ...] = ()
        events_us = None
        if rows is not None:
            times = self.clock.read(rows, self.clock.column(rows.schema))
            events_us = known(times)
            lines = tuple(_line(rows, times, value) for value in values)
        return self._finished(Chart(name, lanes, lines, events_us, matches), rows)

    def _check(self, situations: Situations | None, is_table: bool, values: list[str], lane: str | None) -> None:
        if self.query is not None:
            self._check_partition()
            options = self.query.options
            self.clock = Clock(self.clock.ts or options.ts, self.clock.unit or options.ts_unit)
        if situations is not None and self.events is None:
            raise EventideError("the situations of a query are found in its events", hint="pass events=")
        if values and self.events is None:
            raise EventideError("values are columns of the events", hint="pass events=")
        if lane is not None and not is_table:
            raise EventideError("lane is for tables of intervals", hint=f"their columns are {START} and {END}")

    def _check_partition(self) -> None:
        """Every partition column has a value, where the query has some."""
        names = self.query.options.partition_by
        given = {name.lower() for name in self.partition}
        missing = [name for name in names if name.lower() not in given]
        if not missing:
            return
        hint = 'pass partition={"' + names[0] + '": ...}'
        if self.events is not None:
            hint = f"pass partition=, for example one of {some_partitions(self.events, names)}"
        raise InputError(f"a timeline shows one partition: which {', '.join(missing)}?", hint=hint)

    def _events(self) -> pa.Table | None:
        if self.events is None:
            return None
        rows = rows_of(self.events, self.partition, "the events")
        if self.partition and not rows.num_rows:
            hint = f"there are {some_partitions(self.events, list(self.partition))}"
            raise InputError(f"there is no event with {write_partition(self.partition)}", hint=hint)
        return rows

    def _own_result(self) -> pa.Table | None:
        """The rows of the partition, where the result has its columns; else all of them."""
        if self.result is None:
            return None
        own = self.partition if has_columns(self.result, list(self.partition)) else {}
        return rows_of(self.result, own, "the result")

    def _finished(self, chart: Chart, rows: pa.Table | None) -> Chart:
        """The chart with what stands under its title, and how its times are written."""
        is_calendar = self.clock.unit is None or chart.span_us[0] >= _CALENDAR_US
        unit = None if is_calendar else self.clock.unit
        is_instant = self.clock.unit is not None or _has_zone(rows, self.clock)
        start, end = chart.span_us
        parts = [write_partition(self.partition)] if self.partition else []
        n_intervals = sum(lane.start_us.size for lane in chart.lanes)
        if chart.lanes:
            parts.append(count(n_intervals, "interval" if chart.matches is None else "situation"))
        if chart.matches is not None:
            parts.append(count(len(chart.matches), "match"))
        if chart.events_us is not None:
            parts.append(count(chart.events_us.size, "event"))
        parts.append(f"{instant_text(start, unit)} to {instant_text(end, unit)} ({duration_text(end - start)})")
        zone = "UTC" if is_calendar and is_instant else ""
        return replace(chart, subtitle="  \u00b7  ".join(parts), unit=unit, zone=zone)


def _has_zone(rows: pa.Table | None, clock: Clock) -> bool:
    if rows is None:
        return False
    kind = rows.schema.field(clock.column(rows.schema)).type
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


def _line(rows: pa.Table, times: pa.ChunkedArray, name: str) -> Line:
    column = find_column(rows.column_names, name, "the events")
    has_time = times.is_valid()
    return Line(column, known(times), numbers(rows.column(column).filter(has_time), column))
