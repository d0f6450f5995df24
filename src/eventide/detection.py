"""What users call for builder patterns: `ev.detect(...)`, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eventide.builder import Pattern, checked
from eventide.engines.local import run as local
from eventide.engines.local.sources import is_local, open_source, plain_frame
from eventide.errors import EventideError
from eventide.operators.detection.spec import LAST_STEP, TIMED_OUT
from eventide.plan.arguments import check_dict, names_of
from eventide.plan.detection.lower import DetectionOptions, check_stream, prepare_detection
from eventide.plan.options import Options
from eventide.plan.physical import Physical

_SKIPS = ("no_skip", "next", "past_last")
_SKIPS_TO = ("to_first", "to_last")


@dataclass(frozen=True, slots=True)
class Detection:
    """What a pattern found: matches, partial matches that ran out of time, and events that came too late.

    Late events exist on streams only; of bounded input the table is empty.
    """

    matches: Any
    timeouts: Any
    late: Any


def detect(
    events: Any,
    pattern: Pattern,
    *,
    partition_by: str | Sequence[str] = (),
    ts: str | None = None,
    sequence: str | None = None,
    ts_unit: str | None = None,
    skip: str | tuple[str, str] = "no_skip",
    select: Mapping[str, str] | None = None,
    close_at_end: bool = False,
    on_bad_event: str = "error",
    state_ttl: Any = None,
    allowed_lateness: Any = None,
    max_matches_per_partition: int | str | None = None,
    max_steps_per_partition: int | str | None = None,
) -> Detection:
    """The matches of a builder pattern: pyarrow Tables, or Spark DataFrames where the events are one.

    A match has match_id, the partition columns, match_start, match_end, and for each step an array of its events;
    with `select` measures instead of those. Time is at the latest event when the input ends: a `not_followed_by` at the
    end of the pattern is a match once its time is over by then; `close_at_end` counts all time as over.

    A streaming DataFrame gives streaming DataFrames; each that is started runs the pattern on its own. A stream needs
    `within`, or `state_ttl`, which bounds every match as `within` does; `allowed_lateness` is how much later than
    others an event may come. More matches in one partition than `max_matches_per_partition` are an error; by default a
    million, or 10,000 for each of its events where that is more, and "unlimited" lifts it. `max_steps_per_partition` is
    the same for the steps of the search.

    >>> import eventide as ev
    >>> unpaid = ev.Pattern.begin("order", "kind = 'order'").not_followed_by("pay", "kind = 'pay'").within("15 minutes")
    >>> events = [{"ts": 0, "user": "ann", "kind": "order"}, {"ts": 300, "user": "ann", "kind": "pay"},
    ...           {"ts": 480, "user": "bob", "kind": "order"}, {"ts": 1800, "user": "ann", "kind": "order"}]
    >>> found = ev.detect(events, unpaid, partition_by="user", ts_unit="s")
    >>> found.matches.drop_columns("match_id").to_pylist()
    [{'user': 'bob', 'match_start': 480, 'match_end': 480, 'order': [{'ts': 480, 'user': 'bob', 'kind': 'order'}]}]
    """
    if not isinstance(pattern, Pattern):
        raise EventideError(f"detect takes an ev.Pattern, found {type(pattern).__name__}")
    if select is not None:
        check_dict("select", select, 'select={"n": "count(a.*)"}')
    kind, step = _skip(skip)
    given = Options.of(
        state_ttl=state_ttl,
        allowed_lateness=allowed_lateness,
        max_matches_per_partition=max_matches_per_partition,
        max_steps_per_partition=max_steps_per_partition,
        close_at_end=close_at_end,
    )
    tree = checked(pattern, given.state_ttl).tree
    options = DetectionOptions(
        partition_by=tuple(names_of("partition_by", partition_by, 'partition_by=["user"]')),
        ts=ts,
        sequence=sequence,
        ts_unit=_one_of("ts_unit", ts_unit, (None, "s", "ms", "us")),
        skip=kind,
        skip_to=step,
        select=tuple((select or {}).items()),
        drop_bad_events=_one_of("on_bad_event", on_bad_event, ("error", "drop")) == "drop",
        state_ttl=given.state_ttl,
        allowed_lateness=given.allowed_lateness,
        max_matches=given.max_matches_per_partition,
        max_steps=given.max_steps_per_partition,
        close_at_end=given.close_at_end,
    )
    events = plain_frame(events)
    if not is_local(events):
        return _detect_on_spark(events, pattern, options)
    source = open_source(events)
    rows = local.run(prepare_detection(tree, source.schema, options, engine="local"), source)[0]
    timed_out = rows.column(TIMED_OUT)
    return Detection(
        rows.filter(pc.invert(timed_out)).drop_columns([LAST_STEP, TIMED_OUT]),
        rows.filter(timed_out).drop_columns([TIMED_OUT]),
        source.schema.empty_table(),
    )


def _detect_on_spark(frame: Any, pattern: Pattern, options: DetectionOptions) -> Detection:
    from eventide.engines.spark.run import run_frame, run_late

    def plan(schema: pa.Schema) -> Physical:
        physical = prepare_detection(pattern.tree, schema, options, engine="spark")
        if frame.isStreaming:
            check_stream(physical)
        return physical

    rows = run_frame(frame, plan).rows
    return Detection(
        rows.where(f"NOT {TIMED_OUT}").drop(LAST_STEP, TIMED_OUT),
        rows.where(TIMED_OUT).drop(TIMED_OUT),
        run_late(frame, plan) if frame.isStreaming else frame.limit(0),
    )


def _skip(skip: Any) -> tuple[str, str | None]:
    if isinstance(skip, str) and skip in _SKIPS:
        return skip, None
    if isinstance(skip, tuple | list) and len(skip) == 2 and skip[0] in _SKIPS_TO and isinstance(skip[1], str):
        return skip[0], skip[1]
    hint = "'no_skip', 'next', 'past_last', ('to_first', 'b') or ('to_last', 'b')"
    raise EventideError(f"skip={skip!r} is not possible", hint=hint)


def _one_of(option: str, value: str | None, choices: Sequence[str | None]) -> str | None:
    if value not in choices:
        known = ", ".join(repr(choice) for choice in choices if choice is not None)
        raise EventideError(f"{option}={value!r} is not possible", hint=f"one of {known}")
    return value
