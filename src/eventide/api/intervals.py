"""What users call to derive intervals from point events: `ev.intervals.homogeneous(...)` and its kin (D2IA, section 3).

Every function takes the events first: a Spark DataFrame gives a Spark DataFrame, anything else a pyarrow Table. Without
events it returns the `Query`. A row is an interval: partition columns, `interval_start`, `interval_end`, `count`, and
the values that were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa

from eventide.api.query import Query
from eventide.engines.local.sources import Source
from eventide.errors import EventideError, did_you_mean
from eventide.families.intervals.lower import Deriving, Runs, Spans, about
from eventide.lang.durations import parse_time
from eventide.plan.arguments import (
    LEFT_OUT,
    LeftOut,
    check_dict,
    check_flag,
    check_ties,
    events_first,
    names_of,
    wrong_argument,
)
from eventide.plan.options import Options

__all__ = ["aggregate", "boundary", "delta", "heterogeneous", "homogeneous", "threshold"]


def homogeneous(
    events: Any = LEFT_OUT,
    condition: Any = LEFT_OUT,
    *,
    occurrences: tuple[int, int | None] = (1, None),
    within: str | timedelta | None = None,
    value: str | Mapping[str, str] | None = None,
    type: str | None = None,
    **options: Any,
) -> Any:
    """Maximal runs of successive events under a condition: `[time of the first event, time of the last]`.

    The condition is a conjunction: absolute (`temp >= 35`), relative to the run (`temp >= 1.1 * prev(temp)`,
    `abs(temp - first(temp)) >= 5`), or about an aggregate of the run with the event in it (`avg(temp) >= 67`).
    `occurrences` is the least and the greatest number of events: shorter runs are dropped, and a run that has reached
    the greatest number closes. Successive events are less than `within` apart. With `type`, a column, all events of a
    run have one type, and the result has that column. `value` is an expression over the run, or several by name.

    A run that is open when the input ends is not returned, because another event might continue it;
    `close_at_end=True` returns it.

    Options are `partition_by`, `ts`, `ts_unit`, `sequence`, `on_bad_event` and `allowed_lateness`. With
    `engine="spark"` and `spark=`, Spark's tasks read the files of a path themselves. With `detected_at=True` a row says
    when it was decided; rows of a stream always do. Without events, `homogeneous("temp >= 35", ...)` returns the
    `Query`: its `run` returns the rows, `explain` says what would run, and `late` returns the late events of a stream.

    >>> import eventide as ev
    >>> temps = [{"ts": i, "temp": temp} for i, temp in enumerate([20, 36, 38, 30, 40])]
    >>> ev.intervals.homogeneous(temps, "temp >= 35", value="avg(temp)", ts_unit="s", close_at_end=True).to_pylist()
    [{'interval_start': 1, 'interval_end': 2, 'count': 2, 'value': 37.0}, \
{'interval_start': 4, 'interval_end': 4, 'count': 1, 'value': 40.0}]
    """
    events, condition = events_first(events, condition)
    minimum, maximum = _occurrences(occurrences)
    runs = Runs(_text("condition", condition, '"temp >= 35"'), minimum, maximum, _gap(within))
    return _asked(events, Deriving(runs, _values(value)), one_type=type, **options)


def threshold(events: Any = LEFT_OUT, condition: Any = LEFT_OUT, **options: Any) -> Any:
    """Intervals that last as long as each event meets an absolute condition. Options are those of `homogeneous`.

    >>> import eventide as ev
    >>> cars = [{"ts": i, "speed": speed} for i, speed in enumerate([40, 55, 60, 45])]
    >>> ev.intervals.threshold(cars, "speed >= 50", value="max(speed)", ts_unit="s").to_pylist()
    [{'interval_start': 1, 'interval_end': 2, 'count': 2, 'value': 60}]
    """
    events, condition = events_first(events, condition)
    return _frame("threshold", events, condition, options)


def aggregate(events: Any = LEFT_OUT, condition: Any = LEFT_OUT, **options: Any) -> Any:
    """Intervals that last as long as a condition on their aggregates holds. Options are those of `homogeneous`.

    >>> import eventide as ev
    >>> cars = [{"ts": i, "speed": speed} for i, speed in enumerate([40, 70, 68, 60, 90, 20])]
    >>> ev.intervals.aggregate(cars, "avg(speed) >= 67", value="avg(speed)", ts_unit="s").to_pylist()
    [{'interval_start': 1, 'interval_end': 2, 'count': 2, 'value': 69.0}, \
{'interval_start': 4, 'interval_end': 4, 'count': 1, 'value': 90.0}]
    """
    events, condition = events_first(events, condition)
    return _frame("aggregate", events, condition, options)


def delta(events: Any = LEFT_OUT, expression: Any = LEFT_OUT, least: Any = LEFT_OUT, **options: Any) -> Any:
    """Intervals that last as long as the value is at least `least` above or below that of their first event.

    The first event needs a value and nothing else: the others are compared with it. Options are those of
    `homogeneous`.

    >>> import eventide as ev
    >>> cars = [{"ts": i, "speed": speed} for i, speed in enumerate([50, 56, 60, 52, 51])]
    >>> ev.intervals.delta(cars, "speed", 5, occurrences=(2, None), ts_unit="s").to_pylist()
    [{'interval_start': 0, 'interval_end': 2, 'count': 3}]
    """
    events, expression, least = events_first(events, expression, least)
    number = _number("delta", least)
    return _frame("delta", events, expression, options, "{0} IS NOT NULL AND abs({0} - first({0})) >= " + number)


def boundary(events: Any = LEFT_OUT, expression: Any = LEFT_OUT, width: Any = LEFT_OUT, **options: Any) -> Any:
    """Intervals that last as long as the value stays between the same two multiples of `width`.

    Options are those of `homogeneous`.

    >>> import eventide as ev
    >>> cars = [{"ts": i, "speed": speed} for i, speed in enumerate([41, 49, 50, 58, 61, 75])]
    >>> ev.intervals.boundary(cars, "speed", 10, value="floor(first(speed) / 10) * 10", ts_unit="s").to_pylist()
    [{'interval_start': 0, 'interval_end': 1, 'count': 2, 'value': 40}, \
{'interval_start': 2, 'interval_end': 3, 'count': 2, 'value': 50}, \
{'interval_start': 4, 'interval_end': 4, 'count': 1, 'value': 60}]
    """
    events, expression, width = events_first(events, expression, width)
    number = _number("boundary", width)
    bucket = f"floor({{0}} / {number})"
    return _frame("boundary", events, expression, options, f"{{0}} IS NOT NULL AND {bucket} = first({bucket})")


def heterogeneous(
    events: Any = LEFT_OUT,
    *,
    start: str,
    end: str,
    exclude: str | Sequence[str] = (),
    value: str | Mapping[str, str] | None = None,
    **options: Any,
) -> Any:
    """Intervals from the earliest open start to the next end, both included.

    An excluded event discards the open start. `start`, `end` and each condition of `exclude` are about one event.
    `count` and the aggregates of `value` cover all events of the partition from start to end. Options are those of
    `homogeneous`.

    >>> import eventide as ev
    >>> kinds = ["hot", "hot", "smoke", "hot", "cooling", "smoke"]
    >>> ev.intervals.heterogeneous([{"ts": i, "kind": kind} for i, kind in enumerate(kinds)], start="kind = 'hot'",
    ...                            end="kind = 'smoke'", exclude=["kind = 'cooling'"], ts_unit="s").to_pylist()
    [{'interval_start': 0, 'interval_end': 2, 'count': 3}]
    """
    given = names_of("exclude", exclude, "exclude=[\"kind = 'cooling'\"]")
    spans = Spans(
        _text("start", start, "\"kind = 'hot'\""),
        _text("end", end, "\"kind = 'smoke'\""),
        tuple(_text("exclude", text, "[\"kind = 'cooling'\"]") for text in given),
    )
    return _asked(events, Deriving(spans, _values(value)), **options)


# --- arguments ----------------------------------------------------------------------------------------------


def _frame(name: str, events: Any, text: str, options: Mapping[str, Any], form: str | None = None) -> Any:
    """A ready-made condition; what the user wrote is checked alone first, so that messages show that."""
    usage = '"speed >= 50"' if form is None else '"speed"'
    text = _text("condition" if form is None else "expression", text, usage)
    known = {"occurrences", "within", "value", "type"}
    given = {key: options[key] for key in options if key in known}
    rest = {key: options[key] for key in options if key not in known}
    minimum, maximum = _occurrences(given.get("occurrences", (1, None)))
    condition = text if form is None else form.format(f"({text})")
    runs = Runs(condition, minimum, maximum, _gap(given.get("within")))
    deriving = Deriving(runs, _values(given.get("value")), frame=(name, text))
    return _asked(events, deriving, one_type=given.get("type"), **rest)


def _text(argument: str, given: object, usage: str) -> str:
    if not isinstance(given, str):
        raise wrong_argument(argument, "text", given, f"{argument}={usage}")
    if not given.strip():
        raise EventideError(f"{argument} is empty", hint=f"write {argument}={usage}")
    return given


def _number(frame: str, given: object) -> str:
    """A positive number as SQL; of a double all digits."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < float("inf"):
        raise EventideError(f"{frame} takes a positive number, found {given!r}", hint=f'write {frame}(events, "x", 5)')
    return str(given) if isinstance(given, int) else f"{given!r}D"


def _occurrences(given: object) -> tuple[int, int | None]:
    hint = "write occurrences=(2, 5), or (2, None) without an upper bound"
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise EventideError(f"occurrences takes a pair of counts, found {given!r}", hint=hint)
    least, most = given
    if not _is_count(least) or not (most is None or _is_count(most)):
        raise EventideError(f"occurrences={tuple(given)!r}: counts are whole numbers from 1 up", hint=hint)
    if most is not None and most < least:
        message = f"occurrences={tuple(given)!r}: no run has at least {least} and at most {most} events"
        raise EventideError(message, hint=hint)
    return least, most


def _is_count(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given >= 1


def _gap(within: object) -> int | None:
    if within is None:
        return None
    amount = 0
    if isinstance(within, timedelta):
        amount = within // timedelta(microseconds=1)
    elif isinstance(within, str):
        with about("within"):
            amount = parse_time(within)
    if amount <= 0:
        raise EventideError(f"within={within!r} is not a length of time", hint="for example within='5 seconds'")
    return amount


def _values(value: object) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (("value", value),)
    check_dict("value", value, 'value="avg(temp)", or value={"average": "avg(temp)"}')
    assert isinstance(value, Mapping)
    return tuple(value.items())


# --- the query ----------------------------------------------------------------------------------------------

_OPTIONS = ("partition_by", "ts", "ts_unit", "sequence", "on_bad_event", "allowed_lateness", "close_at_end")
_HOW = ("engine", "spark", "detected_at", "memory_limit", "ties")
_OF_RUNS = ("occurrences", "within", "type")
_METHODS = ("explain", "late")


class Derivation(Query):
    """A derivation of intervals; a table of them says how many events had no time."""

    def _shown(self, table: pa.Table, source: Source) -> pa.Table:
        return self._noting_dropped(table) if self.options.on_bad_event == "drop" else table


def _no_option(name: str, deriving: Deriving) -> EventideError:
    is_run = isinstance(deriving.form, Runs)
    known = [*(_OF_RUNS if is_run else ()), "value", *_OPTIONS, *_HOW]
    if name in _OF_RUNS:
        return EventideError(f"{name} is for runs of events", hint="heterogeneous takes start, end and exclude")
    if name in _METHODS:
        hint = f"leave out the events for a query that has it: query.{name}(events)"
        return EventideError(f"{name} is a method of the query", hint=hint)
    if name == "match_id":
        return EventideError("an interval has no match_id: its partition, start and end tell it", hint="leave it out")
    return EventideError(f"there is no option '{name}'", hint=did_you_mean(name, known))


def _asked(
    events: Any,
    deriving: Deriving,
    *,
    one_type: str | None = None,
    engine: str | None = None,
    spark: Any = None,
    memory_limit: int | str | None = None,
    detected_at: bool | None = None,
    ties: str | None = None,
    **given: Any,
) -> Any:
    """The query, or its rows where there are events."""
    unknown = [name for name in given if name not in _OPTIONS]
    if unknown:
        raise _no_option(unknown[0], deriving)
    check_ties(ties)
    options = Options.of(type=one_type, **given)
    if options.close_at_end and isinstance(deriving.form, Spans):
        message = "close_at_end closes runs of events: a start whose end has not come has no interval to return"
        raise EventideError(message, hint="leave it out")
    if detected_at is not None:
        check_flag("detected_at", detected_at)
    deriving = replace(deriving, detects=detected_at)
    query = Derivation("intervals", deriving.text(), deriving, options)
    if isinstance(events, LeftOut):
        return query
    return query.run(events, engine=engine, spark=spark, memory_limit=memory_limit)
