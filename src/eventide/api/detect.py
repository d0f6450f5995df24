"""What users call for builder patterns: `ev.detect(...)`, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eventide.api.pattern import Pattern, checked
from eventide.api.query import Inputs, Query
from eventide.engines.local.sources import Source
from eventide.errors import EventideError
from eventide.families.builder.spec import LAST_STEP, TIMED_OUT
from eventide.plan.arguments import LEFT_OUT, LeftOut, check_dict, check_ties, events_first, names_of
from eventide.plan.options import Options

_SKIPS = ("no_skip", "next", "past_last")
_SKIPS_TO = ("to_first", "to_last")


@dataclass(frozen=True, slots=True, repr=False)
class Detection:
    """What a pattern found: `matches`, `timeouts` (partial matches that ran out of time), and `late` events.

    Only streams have late events; for bounded input the table is empty.
    """

    matches: Any
    timeouts: Any
    late: Any

    def __repr__(self) -> str:
        where = ".matches, .timeouts and .late"
        if not isinstance(self.matches, pa.Table):
            return f"<Detection: Spark DataFrames in {where}>"
        named = zip((self.matches, self.timeouts, self.late), ("match", "timeout", "late event"), strict=True)
        counts = [f"{table.num_rows:,} {_plural(word, table.num_rows)}" for table, word in named]
        return f"<Detection: {', '.join(counts)}; in {where}>"


class Detecting(Query):
    """A builder pattern; its result has three parts."""

    def _shown(self, table: pa.Table, source: Source) -> Detection:
        return _apart(table, source.schema.empty_table())

    def _shown_live(self, table: pa.Table) -> Detection:
        return _apart(table, pa.table({}))

    def _shown_on_spark(self, rows: Any, events: Any, inputs: Inputs) -> Detection:
        frame, _ = self._frame(events, inputs, rows.sparkSession)
        late = self._late_on_spark(events, inputs) if frame.isStreaming else frame.limit(0)
        return Detection(
            rows.where(f"NOT {TIMED_OUT}").drop(LAST_STEP, TIMED_OUT), rows.where(TIMED_OUT).drop(TIMED_OUT), late
        )


def detect(
    events: Any = LEFT_OUT,
    pattern: Pattern | LeftOut = LEFT_OUT,
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
    ties: str | None = None,
    engine: str | None = None,
    spark: Any = None,
    memory_limit: int | str | None = None,
) -> Any:
    """The matches of a builder pattern: pyarrow Tables, or Spark DataFrames if the events are a Spark DataFrame.

    Without events, `ev.detect(pattern, ...)` returns the `Query`. Its `run(events)` returns the same matches.

    A match has match_id, the partition columns, match_start, match_end, and for each step an array of its events. With
    `select` it has measures instead of these arrays. When the input ends, time is at the latest event. A
    `not_followed_by` at the end of the pattern is a match if its time is over by then; `close_at_end` counts all time
    as over.

    A streaming DataFrame gives streaming DataFrames; each of them runs the pattern on its own when it is started. A
    stream needs `within` or `state_ttl`, which both bound every match. `allowed_lateness` is how much later than
    others an event may come. More matches in one partition than `max_matches_per_partition` are an error. The default
    is a million, or 10,000 for each event of the partition if that is more; "unlimited" lifts the limit.
    `max_steps_per_partition` is the same for the steps of the search. Events of one time follow one another, in the
    order of `sequence`; `ties` has no other meaning here.

    >>> import eventide as ev
    >>> unpaid = ev.Pattern.begin("order", "kind = 'order'").not_followed_by("pay", "kind = 'pay'").within("15 minutes")
    >>> events = [{"ts": 0, "user": "ann", "kind": "order"}, {"ts": 300, "user": "ann", "kind": "pay"},
    ...           {"ts": 480, "user": "bob", "kind": "order"}, {"ts": 1800, "user": "ann", "kind": "order"}]
    >>> found = ev.detect(events, unpaid, partition_by="user", ts_unit="s")
    >>> found.matches.drop_columns("match_id").to_pylist()
    [{'user': 'bob', 'match_start': 480, 'match_end': 480, 'order': [{'ts': 480, 'user': 'bob', 'kind': 'order'}]}]
    """
    events, pattern = events_first(events, pattern)
    if not isinstance(pattern, Pattern):
        raise EventideError(f"detect takes an ev.Pattern, found {type(pattern).__name__}")
    if select is not None:
        check_dict("select", select, 'select={"n": "count(a.*)"}')
    kind, step = _skip(skip)
    check_ties(ties)
    options = Options.of(
        partition_by=names_of("partition_by", partition_by, 'partition_by=["user"]'),
        ts=ts,
        ts_unit=ts_unit,
        sequence=sequence,
        on_bad_event=on_bad_event,
        state_ttl=state_ttl,
        allowed_lateness=allowed_lateness,
        max_matches_per_partition=max_matches_per_partition,
        max_steps_per_partition=max_steps_per_partition,
        close_at_end=close_at_end,
    )
    tree = checked(pattern, options.state_ttl).tree
    options = replace(options, skip=kind, skip_to=step, select=tuple((select or {}).items()))
    query = Detecting("builder", str(pattern), tree, options)
    if isinstance(events, LeftOut):
        return query
    return query.run(events, engine=engine, spark=spark, memory_limit=memory_limit)


def _apart(rows: pa.Table, late: Any) -> Detection:
    timed_out = rows.column(TIMED_OUT)
    return Detection(
        rows.filter(pc.invert(timed_out)).drop_columns([LAST_STEP, TIMED_OUT]),
        rows.filter(timed_out).drop_columns([TIMED_OUT]),
        late,
    )


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}es" if word.endswith("ch") else f"{word}s"


def _skip(skip: Any) -> tuple[str, str | None]:
    if isinstance(skip, str) and skip in _SKIPS:
        return skip, None
    if isinstance(skip, tuple | list) and len(skip) == 2 and skip[0] in _SKIPS_TO and isinstance(skip[1], str):
        return skip[0], skip[1]
    hint = "'no_skip', 'next', 'past_last', ('to_first', 'b') or ('to_last', 'b')"
    raise EventideError(f"skip={skip!r} is not possible", hint=hint)
