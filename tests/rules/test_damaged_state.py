"""Damaged state of a rule stops the stream, and names the rule and the bucket: it is no fault of the rule."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eventide.errors import EventideError, StateError
from tests.rules.bucket import Stream, pairs, table

pytest.importorskip("pyspark")

AB = "PATTERN SEQ(A a, B b) WITHIN 8 ms RETURN a.amount, b.amount"
AC = "PATTERN SEQ(A a, C c) WITHIN 8 ms RETURN a.amount, c.amount"


def saved(n_batches: int = 2) -> Stream:
    stream = Stream(delay_ms=None, label=3)
    stream.step(None, ab=AB, ac=AC)
    for ms in range(n_batches):
        stream.step(table([(ms, "A")]))
    return stream


def goes_on(stream: Stream) -> list[tuple[str, list[object]]]:
    return pairs(stream.step(table([(3, "B"), (40, "X")])) + stream.step())


def alter_a_segment(stream: Stream) -> None:
    data = stream.segments["ab", 0][0]
    stream.segments["ab", 0] = (data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],)


def lose_a_segment(stream: Stream) -> None:
    del stream.segments["ab", 1]


def take_another_rules_segment(stream: Stream) -> None:
    stream.segments["ab", 0] = stream.segments["ac", 1]


def take_an_older_head(stream: Stream) -> None:
    stream.rules["ab",] = saved(1).rules["ab",]


def take_another_rules_place(stream: Stream) -> None:
    stream.rules["ab",] = stream.rules["ac",]


def lose_a_rule(stream: Stream) -> None:
    del stream.rules["ab",]


@pytest.mark.parametrize(
    "damage",
    [
        alter_a_segment,
        lose_a_segment,
        take_another_rules_segment,
        take_an_older_head,
        take_another_rules_place,
        lose_a_rule,
    ],
)
def test_damaged_state_names_the_rule_and_the_bucket(damage: Callable[[Stream], None]) -> None:
    assert goes_on(saved()) == [("ab", [0, 0]), ("ab", [0, 0])]
    stream = saved()
    damage(stream)
    with pytest.raises(StateError, match="the saved state of rule ab in bucket 3 is damaged"):
        goes_on(stream)


def test_the_head_of_a_bucket_is_its_own() -> None:
    stream = saved()
    stream.label = 4
    with pytest.raises(StateError, match="the saved state of bucket 4 is damaged: it is that of bucket 3"):
        goes_on(stream)
    stream = saved()
    text = stream.head.held[0]
    stream.head.held = (text.replace('"pending_us"', '"pending_xx"').replace("ab", "ba"),)
    with pytest.raises(StateError, match="the saved state of bucket 3 is damaged"):
        goes_on(stream)
    stream.head.held = ('{"version": 1, "rules": {}}',)
    with pytest.raises(EventideError, match="the saved state of bucket 3 has version 1"):
        goes_on(stream)
