"""What users call to derive intervals from point events: `ev.intervals.homogeneous(...)` and its kin (D2IA, section 3).

Every function takes the events first: a Spark DataFrame gives a Spark DataFrame, anything else a pyarrow Table. A row
is an interval: partition columns, `interval_start`, `interval_end`, `count`, and the values that were asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa

from eventide.engines.local import run as local
from eventide.engines.local.sources import is_local, open_source, plain_frame
from eventide.errors import EventideError, InputError, did_you_mean
from eventide.lang.durations import parse_time
from eventide.plan.arguments import (
    check_dict,
    check_ties,
    engine_of,
    names_of,
    not_for_spark,
    session_for_path,
    wrong_argument,
)
from eventide.plan.intervals.explanation import LOCAL, SPARK, STREAM, explain_intervals
from eventide.plan.intervals.lower import Deriving, Runs, Spans, about, prepare_intervals
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.streams import refuse_bounded

__all__ = ["aggregate", "boundary", "delta", "heterogeneous", "homogeneous", "threshold"]


def homogeneous(
    events: Any,
    condition: str,
    *,
    occurrences: tuple[int, int | None] = (1, None),
    within: str | timedelta | None = None,
    value: str | Mapping[str, str] | None = None,
    type: str | None = None,
    **options: Any,
) -> Any:
    """Maximal runs of successive events under a condition: `[time of the first event, time of the last]`.

    The condition is a conjunction: absolute (`temp >= 35`), relative to the run (`temp >= 1.1 * prev(temp)`,
    `abs(temp - first(temp)) >= 5`), or about an aggregate of the run with the event in it (`avg(temp) >= 67`). Of runs
    with fewer events than `occurrences` says nothing is returned; one that has reached the most closes, and the next
    event begins another. Successive events are less than `within` apart. With `type`, a column, all events of a run
    have one type, and the result has it. `value` is an expression over the run, or several by name.

    A run that is open when the input ends is not returned, unless `close_at_end=True`: another event might continue it.

    Options: `partition_by`, `ts`, `ts_unit`, `sequence`, `on_bad_event`, `allowed_lateness`; `engine="spark"` with
    `spark=` lets Spark tasks read the files of a path themselves. With `detected_at=True` rows say when they were
    decided, which a stream's always do; with `explain=True` a text says what would run, and where; with `late=True` the
    result is the events of a stream that come too late to be part of an interval, with all their columns.

    >>> import eventide as ev
    >>> temps = [{"ts": i, "temp": temp} for i, temp in enumerate([20, 36, 38, 30, 40])]
    >>> ev.intervals.homogeneous(temps, "temp >= 35", value="avg(temp)", ts_unit="s", close_at_end=True).to_pylist()
    [{'interval_start': 1, 'interval_end': 2, 'count': 2, 'value': 37.0}, \
{'interval_start': 4, 'interval_end': 4, 'count': 1, 'value': 40.0}]
    """
    minimum, maximum = _occurrences(occurrences)
    runs = Runs(_text("condition", condition, '"temp >= 35"'), minimum, maximum, _gap(within))
    return _run(events, Deriving(runs, _values(value)), one_type=type, **options)


def threshold(events: Any, condition: str, **options: Any) -> Any:
    """As long as each event meets an absolute condition; the options are those of `homogeneous`.

    >>> import eventide as ev
    >>> cars = [{"ts": i, "speed": speed} for i, speed in enumerate([40, 55, 60, 45])]
    >>> ev.intervals.threshold(cars, "speed >= 50", value="max(speed)", ts_unit="s").to_pylist()
    [{'interval_start': 1, 'interval_end': 2, 'count': 2, 'value': 60}]
    """
    return _frame("threshold", events, condition, options)


def aggregate(events: Any, condition: str, **options: Any) -> Any:
    """As long as a condition on aggregates of the interval holds; the options are those of `homogeneous`.

    >>> import eventide as ev
    >>> cars = [{"ts": i, "speed": speed} for i, speed in enumerate([40, 70, 68, 60, 90, 20])]
    >>> ev.intervals.aggregate(cars, "avg(speed) >= 67", value="avg(speed)", ts_unit="s").to_pylist()
    [{'interval_start': 1, 'interval_end': 2, 'count': 2, 'value': 69.0}, \
{'interval_start': 4, 'interval_end': 4, 'count': 1, 'value': 90.0}]
    """
    return _frame("aggregate", events, condition, options)


def delta(events: Any, expression: str, least: float, **options: Any) -> Any:
    """As long as the value lies at least so far from that of the interval's first event, up or down.

    The first event is the one that the others are compared with: it needs a value, nothing else. The options are those
    of `homogeneous`.

    >>> import eventide as ev
    >>> cars = [{"ts": i, "speed": speed} for i, speed in enumerate([50, 56, 60, 52, 51])]
    >>> ev.intervals.delta(cars, "speed", 5, occurrences=(2, None), ts_unit="s").to_pylist()
    [{'interval_start': 0, 'interval_end': 2, 'count': 3}]
    """
    number = _number("delta", least)
    return _frame("delta", events, expression, options, "{0} IS NOT NULL AND abs({0} - first({0})) >= " + number)


def boundary(events: Any, expression: str, width: float, **options: Any) -> Any:
    """As long as the value stays between the same two multiples of `width`; the options are those of `homogeneous`.

    >>> import eventide as ev
    >>> cars = [{"ts": i, "speed": speed} for i, speed in enumerate([41, 49, 50, 58, 61, 75])]
    >>> ev.intervals.boundary(cars, "speed", 10, value="floor(first(speed) / 10) * 10", ts_unit="s").to_pylist()
    [{'interval_start': 0, 'interval_end': 1, 'count': 2, 'value': 40}, \
{'interval_start': 2, 'interval_end': 3, 'count': 2, 'value': 50}, \
{'interval_start': 4, 'interval_end': 4, 'count': 1, 'value': 60}]
    """
    number = _number("boundary", width)
    bucket = f"floor({{0}} / {number})"
    return _frame("boundary", events, expression, options, f"{{0}} IS NOT NULL AND {bucket} = first({bucket})")


def heterogeneous(
    events: Any,
    *,
    start: str,
    end: str,
    exclude: str | Sequence[str] = (),
    value: str | Mapping[str, str] | None = None,
    **options: Any,
) -> Any:
    """From the earliest open start to the next end, both included; an excluded event discards the open start.

    `start`, `end` and each condition of `exclude` are about one event. `count` and the aggregates of `value` go over
    all events of the partition from start to end. The options are those of `homogeneous`.

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
    return _run(events, Deriving(spans, _values(value)), **options)


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
    return _run(events, deriving, one_type=given.get("type"), **rest)


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


# --- running ------------------------------------------------------------------------------------------------

_OPTIONS = ("partition_by", "ts", "ts_unit", "sequence", "on_bad_event", "allowed_lateness", "close_at_end")
_HOW = ("engine", "spark", "detected_at", "explain", "late", "ties")
_OF_RUNS = ("occurrences", "within", "type")
DROPPED = b"eventide.dropped_events"


def _no_option(name: str, deriving: Deriving) -> EventideError:
    is_run = isinstance(deriving.form, Runs)
    known = [*(_OF_RUNS if is_run else ()), "value", *_OPTIONS, *_HOW]
    if name in _OF_RUNS:
        return EventideError(f"{name} is for runs of events", hint="heterogeneous takes start, end and exclude")
    return EventideError(f"there is no option '{name}'", hint=did_you_mean(name, known))


def _run(
    events: Any,
    deriving: Deriving,
    *,
    one_type: str | None = None,
    engine: str | None = None,
    spark: Any = None,
    detected_at: bool | None = None,
    explain: bool = False,
    late: bool = False,
    ties: str | None = None,
    **given: Any,
) -> Any:
    unknown = [name for name in given if name not in _OPTIONS]
    if unknown:
        raise _no_option(unknown[0], deriving)
    check_ties(ties)
    options = Options.of(type=one_type, **given)
    if options.close_at_end and isinstance(deriving.form, Spans):
        message = "close_at_end closes runs of events: a start whose end has not come has no interval to return"
        raise EventideError(message, hint="leave it out")
    engine = engine_of(engine)
    for name, flag in (("detected_at", detected_at), ("explain", explain), ("late", late)):
        if not isinstance(flag, bool | None):
            raise wrong_argument(name, "True or False", flag, f"{name}=True")
    events = plain_frame(events)
    is_stream = not is_local(events) and bool(getattr(events, "isStreaming", False))
    detects = is_stream if detected_at is None else detected_at

    def plan(schema: pa.Schema, engine: str = "spark") -> Physical:
        return prepare_intervals(deriving, schema, options, engine=engine, detects=detects)

    if late:
        from eventide.engines.spark.run import run_late

        refuse_bounded(events)
        return run_late(events, plan)
    if is_local(events) and engine != "spark":
        source = open_source(events)
        physical = plan(source.schema, "local")
        if explain:
            return explain_intervals(physical, LOCAL)
        table, seen = local.run(physical, source)
        if options.on_bad_event != "drop":
            return table
        return table.replace_schema_metadata({**(table.schema.metadata or {}), DROPPED: str(seen.dropped_events)})
    if engine == "local":
        hint = "leave out engine, or pass df.toArrow()"
        raise InputError("engine='local' does not read Spark DataFrames", hint=hint)
    from eventide.engines.spark.run import read_frame, run_frame, run_path
    from eventide.engines.spark.types import input_schema

    if not is_local(events):
        if explain:
            return explain_intervals(plan(input_schema(events)), STREAM if is_stream else SPARK)
        return run_frame(events, plan).rows
    if not isinstance(events, str | os.PathLike):
        raise not_for_spark(events)
    session_for_path(spark)
    if explain:
        return explain_intervals(plan(input_schema(read_frame(os.fspath(events), spark))), SPARK)
    return run_path(os.fspath(events), plan, spark).rows
