"""Random changes of rules between random micro-batches, against a search over the batches that each rule saw."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.budget import budgeted
from tests.oracle.events.event import Event
from tests.oracle.events.matches import matches
from tests.oracle.events.pattern import Type, seq
from tests.oracle.events.query import Query
from tests.rules.bucket import MS_US, SCHEMA, START_US, Stream

pytest.importorskip("pyspark")

TEXT = "PATTERN SEQ({0} a, {1} b) SEMANTICS {2} WITHIN {3} ms RETURN a.amount AS x, b.amount AS y"
Meaning = tuple[str, str, str, int]
NAMES = ("one", "two", "three")


def any_rule(draw: random.Random) -> tuple[Meaning, str] | str:
    """A rule as meaning and wording; other words leave the state alone. Or a text that is no query."""
    if draw.random() < 0.1:
        return "PATTRN"
    meaning = draw.choice("AB"), draw.choice("AB"), draw.choice(("any", "next", "contiguous")), draw.choice((3, 9))
    return meaning, draw.choice(("", " -- in other words"))


def any_change(draw: random.Random, before: Any) -> Any:
    """What becomes of a rule: it ends, says the same in other words, or becomes another."""
    chance = draw.random()
    if before is not None and chance < 0.3:
        return None
    if isinstance(before, tuple) and chance < 0.6:
        return before[0], before[1] + " -- again"
    return any_rule(draw)


class Expected:
    """What one rule may find from when it starts until it ends."""

    def __init__(self, meaning: Meaning) -> None:
        first, last, strategy, within_ms = meaning
        self.query = Query(seq(Type(first, "a"), Type(last, "b")), strategy=strategy, within=within_ms * MS_US)  # type: ignore[arg-type]
        self.meaning = meaning
        self.events: list[Event] = []
        self.watermark_us = 0

    def take(self, events: list[Event], watermark_us: int, decided_us: int) -> None:
        self.events += [event for event in events if event.ts > watermark_us]
        self.watermark_us = decided_us

    def rows(self) -> Counter[tuple[int, int]]:
        found: Counter[tuple[int, int]] = Counter()
        for match in matches(self.query, self.events):
            first, last = (self.events[i] for i in match.event_indices())
            if last.ts <= self.watermark_us:
                found[first["amount"], last["amount"]] += 1
        return found


@budgeted()
@given(seed=st.integers(0, 2**32), n_batches=st.integers(1, 6), lateness_ms=st.sampled_from([0, 2]))
def test_each_rule_finds_what_the_batches_that_it_saw_hold(seed: int, n_batches: int, lateness_ms: int) -> None:
    draw = random.Random(seed)
    stream = Stream(delay_ms=lateness_ms, allowed_lateness=f"{lateness_ms} ms")
    running: dict[str, Expected] = {}
    expected: Counter[Any] = Counter()
    n_problems = 0
    found: list[dict[str, Any]] = []
    written: dict[str, Any] = {}
    ms, number = 0, 0
    for batch in range(n_batches + 1):
        rows = []
        for _ in range(draw.choice((0, 4, 9)) if batch < n_batches else 1):
            ms += draw.choice((0, 1, 1, 4))
            rows.append((START_US + ms * MS_US, draw.choice("AABBX"), draw.choice("uv"), number))
            number += 1
        changed = [name for name in NAMES if draw.random() < (0.7 if batch == 0 else 0.25)]
        changes = {name: any_change(draw, written.get(name)) for name in changed}
        rows.sort(key=lambda row: row[0] + draw.randrange(4000))
        events = [Event(us, type=kind, values={"amount": n}, partition=(user,)) for us, kind, user, n in rows]
        for name, rule in changes.items():
            if written.get(name) == rule:
                continue  # the source sends changes only
            if name in running and not (isinstance(rule, tuple) and rule[0] == running[name].meaning):
                expected += tagged(name, running.pop(name))
            if isinstance(rule, tuple) and name not in running:
                running[name] = Expected(rule[0])
            n_problems += rule == "PATTRN"
        watermark_us = 0 if stream.newest_ms is None else (stream.newest_ms - lateness_ms) * MS_US
        newest = [us // MS_US for us, *_ in rows] + ([stream.newest_ms] if stream.newest_ms is not None else [])
        decided_us = (max(newest, default=0) - lateness_ms) * MS_US
        for rule in running.values():
            rule.take(events, watermark_us, decided_us)
        sent = {name: text(rule) for name, rule in changes.items() if written.get(name) != rule}
        written = {name: rule for name, rule in (written | changes).items() if rule is not None}
        found += stream.step(block(rows) if rows else None, **sent)
    for name, rule in running.items():
        expected += tagged(name, rule)
    assert Counter(row["rule"] for row in found if row["problem"]).total() == n_problems
    got = [(row["rule"], json.loads(row["row"])) for row in found if row["problem"] is None]
    assert Counter((name, row["x"], row["y"]) for name, row in got) == expected
    assert {key[0] for key in stream.rules} == written.keys()
    assert {key[0] for key in stream.segments} <= running.keys()


def text(rule: tuple[Meaning, str] | str | None) -> str | None:
    return TEXT.format(*rule[0]) + str(rule[1]) if isinstance(rule, tuple) else rule


def tagged(name: str, rule: Expected) -> Counter[Any]:
    return Counter({(name, *row): n for row, n in rule.rows().items()})


def block(rows: list[tuple[int, str, str, int]]) -> pa.Table:
    us, kind, user, number = (list(column) for column in zip(*rows, strict=True))
    times = pa.array(us, pa.int64()).cast(SCHEMA.field("ts").type)
    return pa.table({"user": user, "ts": times, "kind": kind, "amount": pa.array(number, pa.int32())}, schema=SCHEMA)
