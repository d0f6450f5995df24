"""What users call to relate intervals and to make instants of them: `ev.allen(...)` and `ev.to_instants(...)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from eventide.api.pairs import Pairs, window_us
from eventide.engines.local.instants import instants_of_table
from eventide.engines.local.sources import is_local, plain_frame
from eventide.errors import EventideError
from eventide.families.allen.lower import INTERVAL_END, INTERVAL_START, Relating
from eventide.families.allen.relations import parse_relations
from eventide.plan.arguments import (
    LEFT_OUT,
    LeftOut,
    names_of,
    one_of,
    wrong_argument,
)
from eventide.plan.instants import Clock
from eventide.plan.options import Options

_INSTANTS = ("earliest", "latest", "now")

Times = str | Sequence[str] | None


def allen(
    left: Any = LEFT_OUT,
    right: Any = LEFT_OUT,
    relations: Any = LEFT_OUT,
    *,
    within: str | timedelta | None = None,
    partition_by: str | Sequence[str] = (),
    start: str = INTERVAL_START,
    end: str = INTERVAL_END,
    left_times: Times = None,
    right_times: Times = None,
    ts_unit: str | None = None,
    on_bad_event: str = "error",
    allowed_lateness: Any = None,
    engine: str | None = None,
    spark: Any = None,
    memory_limit: int | str | None = None,
) -> Any:
    """Pairs of a left and a right interval for which one of the relations holds, read from left to right.

    Both sides have the time columns `start` and `end`, or those of `left_times` and `right_times`: two names for
    intervals, one name for points. `within` is the most that a pair may span, from the earlier start to the later end.
    A pair is a row. It has the partition columns, all other columns of both sides as `left_...` and `right_...`, the
    `relation` that holds, and `interval_start` and `interval_end` around both. The result is a pyarrow Table, or a
    Spark DataFrame for Spark DataFrames.

    Without tables, `ev.allen("overlaps", ...)` returns the `Query`. Its `run(left=..., right=...)` returns the rows,
    and `explain` says what would run. For two streams, `late` returns the intervals that come too late to be related,
    each with its `side`.

    >>> import eventide as ev
    >>> hot = [{"room": 1, "from": 10, "to": 50}, {"room": 2, "from": 10, "to": 20}]
    >>> smoke = [{"room": 1, "from": 40, "to": 90, "level": 3}, {"room": 2, "from": 40, "to": 60, "level": 5}]
    >>> ev.allen(hot, smoke, "overlaps | during", partition_by="room", start="from", end="to", ts_unit="s").to_pylist()
    [{'room': 1, 'left_from': 10, 'left_to': 50, 'right_from': 40, 'right_to': 90, 'right_level': 3, \
'relation': 'overlaps', 'interval_start': 10, 'interval_end': 90}]
    """
    if isinstance(relations, LeftOut):
        if not isinstance(right, LeftOut):
            raise wrong_argument("relations", "text", relations, 'ev.allen(left, right, "overlaps | during")')
        left, relations = LEFT_OUT, left
    options = Options.of(ts_unit=ts_unit, on_bad_event=on_bad_event, allowed_lateness=allowed_lateness)
    both = (_name("start", start), _name("end", end))
    sides = _times("left_times", left_times, both), _times("right_times", right_times, both)
    tree = Relating(
        relations=parse_relations(relations, *(first == last for first, last in sides)),
        window_us=None if within is None else window_us("within", within, 'within="10 minutes"'),
        partition_by=tuple(names_of("partition_by", partition_by, 'partition_by=["user"]')),
        left_times=sides[0],
        right_times=sides[1],
    )
    query = Pairs("allen", tree.text(), tree, options)
    if isinstance(left, LeftOut):
        return query
    return query.run(left=left, right=right, engine=engine, spark=spark, memory_limit=memory_limit)


def _name(argument: str, given: object) -> str:
    if not isinstance(given, str) or not given:
        raise wrong_argument(argument, "the name of a column", given, f'{argument}="from"')
    return given


def _times(argument: str, given: Times, both: tuple[str, str]) -> tuple[str, str]:
    """The columns of start and end; of points both are one."""
    if given is None:
        return both
    if isinstance(given, str) and given:
        return given, given
    names = list(given) if isinstance(given, list | tuple) else []
    if len(names) != 2 or not all(isinstance(name, str) and name for name in names):
        usage = f'{argument}=("from", "to"), or {argument}="ts" of points'
        raise wrong_argument(argument, "two names of columns, or one", given, usage)
    if names[0] == names[1]:
        raise EventideError(f"{argument} names '{names[0]}' twice", hint=f"write {argument}='{names[0]}' for points")
    return names[0], names[1]


def to_instants(
    intervals: Any,
    *,
    at: str = "latest",
    clock: Clock | Callable[[], Clock] | None = None,
    start: str = INTERVAL_START,
    end: str = INTERVAL_END,
    ts: str = "ts",
    ts_unit: str | None = None,
) -> Any:
    """The rows with one time in place of two: their start (earliest), their end (latest), or the clock's time (now).

    The clock is a datetime, an integer in the unit of integer times, or a function that returns one of them. The
    default is the computer's clock, and on Spark `current_timestamp()`. The result is a pyarrow Table, or a Spark
    DataFrame for a Spark DataFrame.

    >>> import eventide as ev
    >>> ev.to_instants([{"interval_start": 10, "interval_end": 50, "count": 3}], at="earliest").to_pylist()
    [{'ts': 10, 'count': 3}]
    """
    one_of("at", at, _INSTANTS)
    if clock is not None and at != "now":
        raise EventideError(f"a clock says nothing about at={at!r}", hint='leave it out, or write at="now"')
    unit = Options.of(ts_unit=ts_unit).ts_unit
    names = _name("start", start), _name("end", end), _name("ts", ts)
    if is_local(intervals):
        return instants_of_table(intervals, names, at, clock, unit)
    from eventide.engines.spark.instants import instants_of_frame

    return instants_of_frame(plain_frame(intervals), names, at, clock, unit)
