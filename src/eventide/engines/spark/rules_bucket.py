"""All rules of one bucket inside `transformWithStateInPandas`: changes first, then the events through each rule.

State of a bucket: a head that lists the rules, for each rule its text and its operator's head, and the segments of
all operators, each under the name of its rule: what one rule does is not written to another's state.
"""

from __future__ import annotations

import json
import logging
import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.streaming import StatefulProcessor

from eventide.engines.computed import add_computed
from eventide.engines.intake import microseconds
from eventide.engines.row_limit import limited
from eventide.engines.rule_files import Written
from eventide.engines.rule_rows import found_rows, found_schema, problem_of, problem_row
from eventide.engines.rules import Rule, Shared, plan_rule
from eventide.engines.rules_run import rule_block
from eventide.engines.spark.counters import Counters, counter_rows, result_rows
from eventide.engines.spark.processor import to_frame, watermark_us_of
from eventide.engines.spark.rules_failures import Tell
from eventide.engines.spark.types import arrow_schema, conform, spark_schema
from eventide.engines.spark.workers import settle
from eventide.errors import EventideError, InputError, StateError
from eventide.families.registry import make_operator
from eventide.lang.deadline import PlanningTimeError
from eventide.runtime.block import MIN_US, concatenate, from_bytes
from eventide.runtime.protocol import Operator, Snapshot
from eventide.runtime.sealed import damaged, digest, open_sealed, seal

Frames = Iterator[pd.DataFrame]

# Part of every checkpoint: names and types of the state variables.
HEAD, HEAD_SCHEMA = "head", "engine string"
RULES, RULE_KEY, RULE_SCHEMA = "rules", "rule string", "written string, operator binary"
SEGMENTS, SEGMENT_KEY, SEGMENT_SCHEMA = "segments", "rule string, number bigint", "data binary"
FIRST = 0  # the bucket that says what is wrong with a rule's text: every bucket finds the same

_log = logging.getLogger("eventide.rules")


def make_processor(shared: Shared, n_buckets: int, delay_ms: int | None, tell: Tell | None = None) -> StatefulProcessor:
    """What `transformWithStateInPandas` runs for a rule set; it travels by value as `processor.make_processor` says.

    `tell` takes rules that failed to the driver, which switches them off in all buckets.
    """
    settings = pickle.dumps((shared, n_buckets, delay_ms))
    head, rules = (HEAD, HEAD_SCHEMA), (RULES, RULE_KEY, RULE_SCHEMA)
    segments = (SEGMENTS, SEGMENT_KEY, SEGMENT_SCHEMA)

    class Processor(StatefulProcessor):  # type: ignore[misc]
        """Spark calls `init` once a task, then a handler for each bucket that has rows or an expired timer."""

        def init(self, handle: Any) -> None:
            values = handle.getValueState(*head), handle.getMapState(*rules), handle.getMapState(*segments)
            self._state = handle, *values, tell

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803
            from eventide.engines.spark.rules_bucket import RuleBucket

            yield from RuleBucket(settings, key[0], *self._state).take(rows, timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:  # noqa: N802, N803
            from eventide.engines.spark.rules_bucket import RuleBucket

            yield from RuleBucket(settings, key[0], *self._state).wake(timerValues, expiredTimerInfo)

    return Processor()


@dataclass(slots=True)
class Entry:
    """What the head says of a rule."""

    segments: list[int] = field(default_factory=list)
    pending_us: int | None = None
    # It cannot run, or has failed: nothing of it is kept but its text. A text: others do not know yet.
    off: bool | str = False

    digest: str = ""  # of what is kept beside it, the rule's text and its operator's head

    def plain(self) -> list[Any]:
        return [self.segments, self.pending_us, self.off, self.digest]


class RuleBucket:
    """One call for one bucket. The state objects are Spark's, set to this bucket by Spark."""

    def __init__(
        self, settings: bytes, label: int, handle: Any, head: Any, rules: Any, segments: Any, tell: Tell | None
    ) -> None:
        settle()
        self._shared: Shared
        self._delay_ms: int | None
        self._shared, self._n_buckets, self._delay_ms = pickle.loads(settings)
        self._label = int(label)
        self._tell = tell
        self._handle, self._head, self._rules, self._segments = handle, head, rules, segments
        self._schema = found_schema(self._shared)
        self._out_schema = arrow_schema(spark_schema(self._schema))
        self._entries: dict[str, Entry] = {}
        self._timer_ms: int | None = None
        self._found: list[pa.RecordBatch] = []
        self._counters: list[Counters] = []

    def take(self, rows: Frames, timer_values: Any) -> Frames:
        """The events of the bucket in this micro-batch, and what has changed among the rules before it."""
        tables: list[pa.Table] = []
        changes: dict[str, Written | None] = {}
        for frame in rows:
            tables += [from_bytes(data) for data in frame["data"] if data]
            for text in frame["changes"]:
                changes |= json.loads(text) if text else {}
        yield from self._step(tables, changes, timer_values, expired_ms=None)

    def wake(self, timer_values: Any, expired: Any) -> Frames:
        """After the micro-batch's rows, when the watermark has reached what a rule waits for."""
        yield from self._step([], {}, timer_values, expired_ms=expired.getExpiryTimeInMs())

    def _step(
        self, tables: list[pa.Table], changes: dict[str, Written | None], timer_values: Any, expired_ms: int | None
    ) -> Frames:
        self._load()
        for name in sorted(changes):
            self._change(name, changes[name])
        self._tell_again()
        yield from self._frames()
        watermark_us = watermark_us_of(timer_values.getCurrentWatermarkInMs())
        events = concatenate(tables) if tables else None
        for name in sorted(self._entries):
            yield from self._run(name, events, watermark_us)
        self._save(expired_ms)
        if self._counters:
            yield to_frame(counter_rows(self._counters, self._out_schema, watermark_us))

    # --- the rules and their state --------------------------------------------------------------------------

    def _load(self) -> None:
        saved = self._head.get()
        if saved is None:
            return
        engine = open_sealed(saved[0].encode(), f"bucket {self._label}")
        now = self._settings()
        for name, value in engine["set"].items():
            if value != now[name]:
                raise InputError(
                    f"the checkpoint was made with {name}={value!r}, the rule set now has {now[name]!r}",
                    hint="set it as it was, or start with a new checkpoint",
                )
        if engine["bucket"] != self._label:
            raise damaged(f"bucket {self._label}", f"it is that of bucket {engine['bucket']}")
        self._entries = {name: Entry(*plain) for name, plain in engine["rules"].items()}
        self._timer_ms = engine["timer_ms"]
        if engine["events"] != self._events():
            self._check_all()

    def _check_all(self) -> None:
        """The events have other columns than before: rules that cannot run over them are switched off now."""
        for name, entry in self._entries.items():
            text = self._kept(name)[0]
            try:
                plan_rule(json.loads(text), self._shared)
            except EventideError as error:
                if not entry.off:
                    self._refuse(name, text, error)

    def _tell_again(self) -> None:
        """A crash may have come before the driver could log what failed here."""
        for name, entry in self._entries.items():
            if isinstance(entry.off, str):
                self._send(name, self._kept(name)[0], entry.off)

    def _events(self) -> str:
        return str(self._shared.schema)

    def _settings(self) -> dict[str, Any]:
        """What cannot change under a checkpoint."""
        shared = self._shared
        given = dict(shared.given)
        return {
            "n_buckets": self._n_buckets,
            "partition_by": list(shared.partition_by),
            "ts": shared.ts,
            **{name: given.get(name) for name in ("ts_unit", "sequence", "type")},
        }

    def _save(self, expired_ms: int | None) -> None:
        pending = [entry.pending_us for entry in self._entries.values() if entry.pending_us is not None]
        next_ms = -(-min(pending) // 1000) if pending else None
        if next_ms != self._timer_ms:
            # Spark deletes a timer that has expired after its handler, by itself.
            if self._timer_ms is not None and self._timer_ms != expired_ms:
                self._handle.deleteTimer(self._timer_ms)
            if next_ms is not None:
                self._handle.registerTimer(next_ms)
        engine = {
            "bucket": self._label,
            "set": self._settings(),
            "events": self._events(),
            "timer_ms": next_ms,
            "rules": {name: entry.plain() for name, entry in self._entries.items()},
        }
        self._head.update((seal(engine).decode(),))

    def _change(self, name: str, written: Written | None) -> None:
        """Add, replace or remove a rule; one that says the same in other words goes on with its state."""
        before = self._entries.get(name)
        if written is None:
            if before is not None:
                self._forget(name)
                del self._entries[name]
                self._rules.removeKey((name,))
            return
        text = json.dumps(written)
        if written.get("failed") is not None:
            self._switch_off(name, text, written["failed"], says=self._label == FIRST)
            return
        try:
            rule = plan_rule(written, self._shared)
        except EventideError as error:
            self._refuse(name, text, error)
            return
        if before is not None and not before.off:
            saved = self._kept(name)
            if rule.same_as(plan_rule(json.loads(saved[0]), self._shared)):
                self._put(name, text, saved[1])
                return
        self._forget(name)
        self._entries[name] = Entry()
        self._put(name, text, b"")

    def _refuse(self, name: str, text: str, error: EventideError) -> None:
        """The rule cannot be planned."""
        is_slow = isinstance(error, PlanningTimeError)
        self._switch_off(name, text, problem_of(error), says=self._label == FIRST and not is_slow)
        if is_slow:
            # How long it takes may differ from bucket to bucket: as after a failure, all of them hear of it.
            self._entries[name].off = problem_of(error)

    def _switch_off(self, name: str, text: str, problem: str, *, says: bool) -> None:
        self._forget(name)
        self._entries[name] = Entry(off=True)
        self._put(name, text, b"")
        if says:
            _log.warning("rule %s is switched off: %s", name, problem)
            self._found.append(problem_row(name, problem, self._schema))
            self._counters.append(Counters(self._label, 0, 0, 0, 0, 0, 0, 0, problems=1, rule=name))

    def _fail(self, name: str, text: str, problem: str) -> None:
        """The rule has failed here: all buckets hear of it before the next micro-batch, where that is possible."""
        self._switch_off(name, text, problem, says=False)
        self._entries[name].off = problem
        self._send(name, text, problem)

    def _send(self, name: str, text: str, problem: str) -> None:
        if self._tell is None:
            self._switch_off(name, text, problem, says=True)
            return
        written = json.loads(text)
        known = {"query": written["query"], "options": written.get("options")}
        self._tell([{"bucket": self._label, "rule": name, "problem": problem} | known])

    def _forget(self, name: str) -> None:
        """Remove what a rule holds."""
        entry = self._entries.get(name)
        for number in entry.segments if entry is not None else ():
            self._segments.removeKey((name, number))
        if entry is not None:
            # For the metrics: what it held is gone.
            self._counters.append(Counters(self._label, 0, 0, 0, 0, 0, 0, 0, rule=name))

    # --- one rule -------------------------------------------------------------------------------------------

    def _run(self, name: str, events: pa.Table | None, watermark_us: int) -> Frames:
        """What one rule finds, as it comes: nothing but its state is held, however much that is."""
        entry = self._entries[name]
        next_us = max(watermark_us, self._next_watermark_us(events))
        is_due = entry.pending_us is not None and entry.pending_us <= next_us
        if entry.off or (events is None and not is_due):
            return
        text, head = self._kept(name)
        run = _Run(name, self._label)
        try:
            rule = plan_rule(json.loads(text), self._shared)
            block = None if events is None else run.take_in(events, rule)
            if block is None and not is_due:
                return
            operator = make_operator(rule.physical.spec, compute=add_computed)
            if head:
                operator.restore(Snapshot(head, self._held(name, entry), self._place(name)))
            late_before = operator.late_events()
            for rows in limited(run.matches(operator, block, watermark_us, next_us), rule.physical):
                self._shared.limits.check_memory(operator, rows)
                self._found.append(found_rows(name, rule, rows, self._schema))
                yield from self._frames()
            self._shared.limits.check_memory(operator)
            snapshot = operator.snapshot()
            pending_us = operator.pending_us()
        except StateError:
            raise
        except Exception as error:
            # The other rules go on, and so does this one in other buckets until the micro-batch ends.
            self._fail(name, text, problem_of(error))
            self._counters.append(run.counters_of_failure())
            yield from self._frames()
            return
        self._keep(name, text, head, entry, snapshot)
        entry.pending_us = pending_us
        self._counters.append(run.counters(operator, operator.late_events() - late_before, snapshot))

    def _place(self, name: str) -> str:
        return f"rule {name} in bucket {self._label}"

    def _kept(self, name: str) -> tuple[str, bytes]:
        """The rule's text and its operator's head, as `_put` wrote them."""
        row = self._rules.getValue((name,))
        if row is None:
            raise damaged(self._place(name), "it is missing")
        text, head = row[0], bytes(row[1])
        if _digest(text, head) != self._entries[name].digest:
            raise damaged(self._place(name), "its text and its head are not those that were written")
        return text, head

    def _put(self, name: str, text: str, head: bytes) -> None:
        self._entries[name].digest = _digest(text, head)
        self._rules.updateValue((name,), (text, head))

    def _held(self, name: str, entry: Entry) -> dict[int, bytes]:
        # One by one: an iterator over the map would fetch those of all rules.
        held = {number: self._segments.getValue((name, number)) for number in entry.segments}
        return {number: bytes(row[0]) for number, row in held.items() if row is not None}

    def _keep(self, name: str, text: str, head: bytes, entry: Entry, snapshot: Snapshot) -> None:
        numbers = set(entry.segments)
        for number in numbers - snapshot.segments.keys():
            self._segments.removeKey((name, number))
        for number in snapshot.segments.keys() - numbers:
            self._segments.updateValue((name, number), (snapshot.segments[number],))
        entry.segments = sorted(snapshot.segments)
        if snapshot.head != head:
            self._put(name, text, snapshot.head)

    def _next_watermark_us(self, events: pa.Table | None) -> int:
        """What the next micro-batch's watermark will at least be: Spark rounds the newest time down to milliseconds."""
        if self._delay_ms is None or events is None or not events.num_rows:
            return MIN_US
        newest = pc.max(microseconds(events.column(self._shared.ts), self._shared.base.intake)).as_py()
        return int((newest // 1000 - self._delay_ms) * 1000)

    def _frames(self) -> Frames:
        for rows in self._found:
            yield to_frame(result_rows(conform(rows, self._out_schema)))
        self._found = []


class _Run:
    """One rule in one call, with its clocks."""

    def __init__(self, name: str, label: int) -> None:
        self._name, self._label = name, label
        self._started_ns = time.perf_counter_ns()
        self._kernel_ns = 0
        self._n_events = self._n_matches = 0

    def take_in(self, events: pa.Table, rule: Rule) -> pa.Table | None:
        """The rule's block of the bucket's events; None where it wants none of them."""
        block = rule_block(events, rule)
        self._n_events = block.num_rows
        return block if block.num_rows else None

    def matches(
        self, operator: Operator, block: pa.Table | None, watermark_us: int, next_us: int
    ) -> Iterator[pa.RecordBatch]:
        # The watermark first, the events after it: what counts as late then depends on the watermark alone.
        for part, until_us in ((None, watermark_us), (block, next_us)):
            results = operator.process(part, until_us)
            while True:
                started_ns = time.perf_counter_ns()
                rows = next(results, None)
                self._kernel_ns += time.perf_counter_ns() - started_ns
                if rows is None:
                    break
                self._n_matches += rows.num_rows
                yield rows

    def counters_of_failure(self) -> Counters:
        us = (time.perf_counter_ns() - self._started_ns) // 1000
        kernel_us = self._kernel_ns // 1000
        return Counters(self._label, self._n_events, 0, self._n_matches, 0, 0, kernel_us, us, rule=self._name)

    def counters(self, operator: Operator, n_late: int, snapshot: Snapshot) -> Counters:
        return Counters(
            bucket=self._label,
            events=self._n_events,
            late_events=n_late,
            matches=self._n_matches,
            open_runs=operator.open_runs(),
            state_bytes=len(snapshot.head) + sum(map(len, snapshot.segments.values())),
            kernel_us=self._kernel_ns // 1000,
            total_us=(time.perf_counter_ns() - self._started_ns) // 1000,
            rule=self._name,
        )


def _digest(text: str, head: bytes) -> str:
    return digest(text.encode() + b"\0" + head)
