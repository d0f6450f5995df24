"""The bucket of a rule set: changes of rules first, then the events through each rule.

State of a bucket: a head that lists the rules, for each rule its text and its operator's head, and the segments of
all operators, each under the name of its rule.
"""

from __future__ import annotations

import json
import logging
from dataclasses import astuple, dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from eventide.engines.intake import microseconds
from eventide.engines.rule_files import Written
from eventide.engines.rule_rows import found_schema, problem_of, problem_row
from eventide.engines.rules import Shared, plan_rule
from eventide.engines.rules_run import finish_rows, rule_block
from eventide.engines.spark.bucket import Bucket, Entry, Finish, Frames, Name, Run
from eventide.engines.spark.counters import Counters
from eventide.engines.spark.rules_source import Tell
from eventide.engines.spark.types import arrow_schema, spark_schema
from eventide.errors import EventideError, InputError, StateError
from eventide.lang.deadline import PlanningTimeError
from eventide.runtime.protocol import Spec
from eventide.runtime.sealed import damaged, digest, open_sealed, seal

FIRST = 0  # the bucket that says what is wrong with a rule's text: every bucket finds the same

_log = logging.getLogger("eventide.rules")


@dataclass(frozen=True)
class RuleWork:
    """What the buckets of a rule set run; `delay_ms` as in the `Work` of a query."""

    shared: Shared
    n_buckets: int
    delay_ms: int | None
    follows = False

    @cached_property
    def schema(self) -> pa.Schema:
        return arrow_schema(spark_schema(found_schema(self.shared)))


class RuleBucket(Bucket):
    """Its operators are those of the rules.

    `tell` takes rules that failed to the driver, which switches them off in all buckets.
    """

    HEAD = "head", "engine string"
    MAPS = (
        ("rules", "rule string", "written string, operator binary"),
        ("segments", "rule string, number bigint", "data binary"),
    )

    def __init__(
        self, work: RuleWork, label: int, handle: Any, head: Any, rules: Any, segments: Any, tell: Tell | None
    ) -> None:
        super().__init__(work, label, handle, head, segments)
        self._shared = work.shared
        self._rules, self._tell = rules, tell
        self._entries = {}
        self._text = ""  # of the rule that runs
        self._problems: list[pa.RecordBatch] = []

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
        if engine["events"] != str(self._shared.schema):
            self._check_all()

    def _settings(self) -> dict[str, Any]:
        """What cannot change under a checkpoint."""
        shared = self._shared
        given = dict(shared.given)
        return {
            "n_buckets": self._work.n_buckets,
            "partition_by": list(shared.partition_by),
            "ts": shared.ts,
            **{name: given.get(name) for name in ("ts_unit", "sequence", "type")},
        }

    def _check_all(self) -> None:
        """The events have other columns than before: rules that cannot run over them are switched off now."""
        for name, entry in self._entries.items():
            text = self._kept(name)[0]
            try:
                plan_rule(json.loads(text), self._shared)
            except EventideError as error:
                if not entry.off:
                    self._refuse(name, text, error)

    def _save(self, next_ms: int | None) -> None:
        engine = {
            "bucket": self._label,
            "set": self._settings(),
            "events": str(self._shared.schema),
            "timer_ms": next_ms,
            "rules": {name: astuple(entry) for name, entry in self._entries.items()},
        }
        self._head.update((seal(engine).decode(),))

    def _kept(self, name: Name) -> tuple[str, bytes]:
        """The rule's text and its operator's head, as `_put` wrote them."""
        row = self._rules.getValue((name,))
        if row is None:
            raise damaged(self._place(name), "it is missing")
        text, head = row[0], bytes(row[1])
        if _digest(text, head) != self._entries[name].digest:
            raise damaged(self._place(name), "its text and its head are not those that were written")
        return text, head

    def _put(self, name: Name, text: str, head: bytes) -> None:
        self._entries[name].digest = _digest(text, head)
        self._rules.updateValue((name,), (text, head))

    def _put_head(self, name: Name, head: bytes) -> None:
        if head != self._operator:
            self._put(name, self._text, head)

    def _key(self, name: Name, number: int) -> tuple[Any, ...]:
        return name, number

    def _place(self, name: Name) -> str:
        return f"rule {name} in bucket {self._label}"

    # --- changes --------------------------------------------------------------------------------------------

    def _change(self, changes: list[str]) -> Frames:
        written: dict[str, Written | None] = {}
        for text in changes:
            written |= json.loads(text)
        for name in sorted(written):
            self._replace(name, written[name])
        # A crash may have come before the driver could log what failed here.
        for known, entry in self._entries.items():
            if isinstance(entry.off, str):
                self._send(known, self._kept(known)[0], entry.off)
        yield from self._told()

    def _replace(self, name: str, written: Written | None) -> None:
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

    def _refuse(self, name: Name, text: str, error: EventideError) -> None:
        """The rule cannot be planned."""
        is_slow = isinstance(error, PlanningTimeError)
        self._switch_off(name, text, problem_of(error), says=self._label == FIRST and not is_slow)
        if is_slow:
            # How long it takes may differ from bucket to bucket: as after a failure, all of them hear of it.
            self._entries[name].off = problem_of(error)

    def _switch_off(self, name: Name, text: str, problem: str, *, says: bool) -> None:
        self._forget(name)
        self._entries[name] = Entry(off=True)
        self._put(name, text, b"")
        if says:
            _log.warning("rule %s is switched off: %s", name, problem)
            self._problems.append(problem_row(str(name), problem, found_schema(self._shared)))
            self._counters.append(Counters(self._label, problems=1, rule=name))

    def _send(self, name: Name, text: str, problem: str) -> None:
        """Let all buckets hear of what failed here before the next micro-batch, where that is possible."""
        if self._tell is None:
            self._switch_off(name, text, problem, says=True)
            return
        written = json.loads(text)
        known = {"query": written["query"], "options": written.get("options")}
        self._tell([{"bucket": self._label, "rule": name, "problem": problem} | known])

    def _forget(self, name: Name) -> None:
        """Remove what a rule holds."""
        entry = self._entries.get(name)
        for number in entry.segments if entry is not None else ():
            self._segments.removeKey(self._key(name, number))
        if entry is not None:
            # For the metrics: what it held is gone.
            self._counters.append(Counters(self._label, rule=name))

    def _told(self) -> Frames:
        yield from map(self._frame, self._problems)
        self._problems = []

    # --- one rule -------------------------------------------------------------------------------------------

    def _results(self, run: Run, events: pa.Table | None, watermark_us: int, next_us: int) -> Frames:
        name = run.name
        if self._entries[name].off or (events is None and not self._is_due(name, next_us)):
            return
        try:
            yield from super()._results(run, events, watermark_us, next_us)
        except StateError:
            raise
        except Exception as error:
            # The other rules go on, and so does this one in other buckets until the micro-batch ends.
            problem = problem_of(error)
            self._switch_off(name, self._text, problem, says=False)
            self._entries[name].off = problem
            self._send(name, self._text, problem)
            self._counters.append(run.counted())
            yield from self._told()

    def _is_due(self, name: Name, next_us: int) -> bool:
        pending_us = self._entries[name].pending_us
        return pending_us is not None and pending_us <= next_us

    def _plan(self, name: Name, events: pa.Table | None) -> tuple[Spec, pa.Table | None, Finish]:
        self._text, self._operator = self._kept(name)
        rule = plan_rule(json.loads(self._text), self._shared)
        block = None if events is None else rule_block(events, rule)
        wanted = block if block is not None and block.num_rows else None
        return rule.physical.spec, wanted, partial(finish_rows, str(name), rule, self._shared)

    def _times_us(self, events: pa.Table) -> pa.ChunkedArray:
        return microseconds(events.column(self._shared.ts), self._shared.base.intake)


def _digest(text: str, head: bytes) -> str:
    return digest(text.encode() + b"\0" + head)
