"""The limit of matches that holds when a query names none: it stops what doubles with every event, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import eventide as ev
from eventide.runtime import limit
from eventide.runtime.limit import Tally, TooManyMatchesError
from tests.families.events.test_conjunctions import letters

WITHOUT_JIT = os.environ.get("NUMBA_DISABLE_JIT") == "1"
MATCHES = 3_000  # in place of a million, which as plain Python take minutes


@pytest.fixture(autouse=True)
def default(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(limit, "MATCHES", MATCHES)
    monkeypatch.setattr(limit, "MATCHES_PER_EVENT", MATCHES // 100)
    for place in ("sequence", "walk"):
        monkeypatch.setattr(f"eventide.families.events.{place}.MATCHES_PER_BATCH", 64)
    monkeypatch.setattr("eventide.families.builder.walk.MATCHES_PER_CALL", 64)
    yield


def run(text: str, events: Any, **options: Any) -> Any:
    return ev.query(text, ts_unit="s", type="kind", **options).run(events)


@pytest.mark.parametrize("most", [MATCHES] if WITHOUT_JIT else [MATCHES, limit.MATCHES])
def test_an_exponential_repetition_stops_early_and_says_what_to_do(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "MATCHES", most)
    monkeypatch.setattr("eventide.families.events.walk.MATCHES_PER_BATCH", most // 50)
    with pytest.raises(ev.EventideError) as caught:
        run("PATTERN A+ RETURN A.ts", letters("A" * 40))
    assert caught.value.message == f"the input has more than {most:,} matches"
    for word in ("WITHIN", "COUNT(*)", "raise max_matches_per_partition"):
        assert word in str(caught.value.hint)


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A, B) WHERE A.n >= 0",
        "PATTERN SEQ(A, B, NOT C)",
        "PATTERN OR(A+, SEQ(A*, A*))",
        "PATTERN SEQ(AND(A+, B), D)",
        "PATTERN A+ WITHIN 1 hour SLIDE 30 minutes",
    ],
)
def test_every_way_of_enumerating_has_the_limit(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "MATCHES", 500)
    monkeypatch.setattr(limit, "MATCHES_PER_EVENT", 1)
    monkeypatch.setattr("eventide.families.events.sequence.MATCHES_PER_BATCH", 64)
    monkeypatch.setattr("eventide.families.events.walk.MATCHES_PER_BATCH", 64)
    monkeypatch.setattr("eventide.families.events.search._HELD", 1 << 10)
    monkeypatch.setattr("eventide.families.events.operator.ROWS_PER_PIECE", 1)
    is_sequence = text.startswith("PATTERN SEQ(A, B")
    word = "A" * 40 + "B" * 40 if is_sequence else "A" * (13 if WITHOUT_JIT else 30) + "BD"
    with pytest.raises(ev.InputError, match="more than 500 matches"):
        run(text, letters(word))


def test_a_side_of_and_is_not_enumerated_for_ever_though_no_pair_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "MATCHES", 500)
    monkeypatch.setattr(limit, "MATCHES_PER_EVENT", 1)
    text = "PATTERN AND(SEQ(A+, B), SEQ(A, C)) WHERE B.n > C.n + 99"
    with pytest.raises(ev.InputError, match="more than 500 matches of one side of AND"):
        run(text, letters("A" * 12 + "BC"))


def test_a_builder_pattern_has_the_limit() -> None:
    pattern = ev.Pattern.begin("a", "kind = 'A'").one_or_more().allow_combinations()
    with pytest.raises(ev.InputError, match=f"more than {MATCHES:,} matches"):
        ev.detect(letters("A" * 40), pattern, ts_unit="s")


def test_the_partition_with_too_many_is_named() -> None:
    events = [{"ts": i, "kind": "A", "user": "ann" if i % 20 == 0 else "bob"} for i in range(42)]
    with pytest.raises(ev.InputError, match="the partition bob has more than"):
        run("PATTERN A+ RETURN A.ts", events, partition_by="user")


def test_the_limit_can_be_raised_and_lifted_and_written_in_the_query() -> None:
    n = 12
    events = letters("A" * n)
    for options in ({"max_matches_per_partition": "unlimited"}, {"max_matches_per_partition": 2**n}):
        assert run("PATTERN A+ RETURN A.ts", events, **options).num_rows == 2**n - 1
    assert run("PATTERN A+ RETURN A.ts OPTIONS (max_matches_per_partition = unlimited)", events).num_rows == 2**n - 1


def test_matches_that_grow_with_the_events_are_not_limited() -> None:
    n = 2 * MATCHES
    events = {"ts": np.arange(n), "kind": np.full(n, "A")}
    import pyarrow as pa

    assert run("PATTERN A RETURN A.ts", pa.table(events)).num_rows == n


def test_a_partition_with_many_events_may_have_many_matches() -> None:
    tally = Tally(None, np.array([0, 5, 1_005]))
    tally.add(np.ones(1_000 * (MATCHES // 100), np.int64))
    with pytest.raises(TooManyMatchesError):
        tally.add(np.ones(1, np.int64))
    with pytest.raises(TooManyMatchesError):
        tally.add(np.zeros(MATCHES + 1, np.int64))


def test_rows_are_counted_by_their_partition() -> None:
    tally = Tally(2, np.array([0, 5, 9]))
    tally.add_rows(np.array([0, 4, 8, 5]))
    with pytest.raises(TooManyMatchesError) as caught:
        tally.add_rows(np.array([5]))
    assert (caught.value.partition, caught.value.limit) == (1, 2)


def test_slices_of_time_go_on_under_the_default_limit() -> None:
    import pyarrow as pa

    from eventide.families.registry import family_of

    schema = pa.schema([("ts", pa.int64()), ("kind", pa.string())])
    for most, is_cut in ((None, True), ("unlimited", True), (5, False)):
        query = ev.query("PATTERN SEQ(A, B) WITHIN 9 seconds", ts_unit="s", type="kind", max_matches_per_partition=most)
        spec = query.plan(schema).spec
        assert (not isinstance(family_of(spec).slicing(spec), str)) == is_cut
