"""Damaged state of buckets, of a query and of rules, as a state store would return it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa

from tests.engines import test_processor as query
from tests.engines.plans import make_plan, table_rows
from tests.fuzz.mutations import damage
from tests.rules import bucket as rules

FIRST = [(0, "A"), (1_000_000, "B"), (2_000_000, "A"), (2_500_000, "B")]
SECOND = [(3_000_000, "A"), (4_000_000, "C"), (60_000_000, "A")]
RULES = {
    "ab": "PATTERN SEQ(A a, C c) WITHIN 30 seconds",
    "not": "PATTERN SEQ(A a, NOT B b, C c) WITHIN 30 seconds RETURN a.ts AS a",
    "many": "PATTERN SEQ(A a+, C c) SEMANTICS any WITHIN 30 seconds RETURN user, COUNT(*) AS n",
}


def check(random: Random) -> str:
    """One bucket whose state was damaged goes on with a micro-batch."""
    saved, later, goes_on, expected = _made(random.random() < 0.5)
    stream = copy.deepcopy(saved)
    kind = _damage(stream, later, random)
    if kind is None:
        return "nothing changed"
    assert goes_on(stream) == expected, f"other rows after {kind}"
    return "the same rows"


@cache
def _made(is_query: bool) -> tuple[Any, Any, Callable[[Any], Any], Any]:
    """A stream, the same one a micro-batch later, how it goes on, and with which rows."""
    saved, later = (_query_stream(n) if is_query else _rule_stream(n) for n in (3, 4))
    goes_on = _query_goes_on if is_query else _rules_go_on
    return saved, later, goes_on, goes_on(copy.deepcopy(saved))


def _query_stream(n_batches: int) -> Any:
    stream = query.Stream(make_plan(window_us=30_000_000), None, 0)
    for row in FIRST[:n_batches]:
        stream.step(query.table([row]))
    return stream


def _query_goes_on(stream: Any) -> Any:
    found = stream.step(query.table(SECOND)) + stream.step(None)
    return table_rows(pa.concat_tables([stream.plan.output_schema.empty_table(), *found]))


def _rule_stream(n_batches: int) -> Any:
    stream = rules.Stream(delay_ms=None)
    # What tells failures to the driver is a function, which cannot be copied.
    stream.tell = None
    stream.step(**RULES)
    for us, kind in FIRST[:n_batches]:
        stream.step(rules.table([(us // 1000, kind)]))
    return stream


def _rules_go_on(stream: Any) -> Any:
    return rules.pairs(stream.step(rules.table([(us // 1000, kind) for us, kind in SECOND])) + stream.step())


def _damage(stream: Any, later: Any, random: Random) -> str | None:
    """What was done to the state; None where it says the same as before."""
    before = _state(stream)
    kind = random.choice(["damage", "damage", "damage", "swap", "remove", "later"])
    held, key, column = random.choice(list(_places(stream)))
    row = list(_get(held, key))
    if kind == "damage":
        value = row[column]
        changed = damage(value.encode() if isinstance(value, str) else value, random)
        row[column] = changed.decode("utf-8", "replace") if isinstance(value, str) else changed
        _set(held, key, row)
    elif kind == "remove" and key is not None:
        del held[key]
    elif kind == "swap":
        other, other_key, _ = random.choice([place for place in _places(stream) if place[0] is held])
        two = _get(other, other_key)
        _set(other, other_key, row)
        _set(held, key, two)
    elif kind == "later":
        newer, newer_key, _ = random.choice([place for place in _places(later) if type(place[0]) is type(held)])
        if len(_get(newer, newer_key)) == len(row):
            _set(held, key, _get(newer, newer_key))
    return None if _state(stream) == before else kind


def _get(held: Any, key: Any) -> Any:
    return held.held if key is None else held[key]


def _set(held: Any, key: Any, row: Any) -> None:
    if key is None:
        held.held = tuple(row)
    else:
        held[key] = tuple(row)


def _places(stream: Any) -> Iterator[tuple[Any, Any, int]]:
    """Where state lies: the object, the key in it, the column."""
    for column in range(len(stream.head.held)):
        yield stream.head, None, column
    for held in (getattr(stream, "rules", {}), stream.segments):
        for key in held:
            for column in range(len(held[key])):
                yield held, key, column


def _state(stream: Any) -> Any:
    return stream.head.held, dict(getattr(stream, "rules", {})), dict(stream.segments)
