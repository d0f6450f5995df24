"""AND in pieces: small pieces, many pairs, sides without a match; and what counts against the limit of matches."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given

import eventide as ev
from eventide.families.events.offers import with_offers
from eventide.families.events.operator import PatternOperator
from eventide.families.events.spec import PatternSpec
from eventide.runtime.block import MIN_US
from eventide.runtime.ordered import order_events
from tests.budget import QUICK, budgeted
from tests.families.events.pattern_cases import ALL, PatternCase, pattern_cases
from tests.families.events.test_pattern_rows import check, run

WITHOUT_JIT = os.environ.get("NUMBA_DISABLE_JIT") == "1"
SEARCH, OFFERS = "eventide.families.events.search", "eventide.families.events.offers"


def query(text: str, **options: Any) -> ev.api.Query:
    return ev.query(text, ts_unit="s", type="kind", **options)


def letters(text: str) -> list[dict[str, Any]]:
    return [{"ts": i, "kind": kind, "n": i} for i, kind in enumerate(text)]


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{SEARCH}.ROWS_PER_PIECE", 2)
    monkeypatch.setattr(f"{SEARCH}._HELD", 2)
    monkeypatch.setattr(f"{SEARCH}.MATCHES_PER_BATCH", 3)
    monkeypatch.setattr(f"{OFFERS}.PAIRS_AT_ONCE", 1)
    monkeypatch.setattr(f"{OFFERS}._FIRST_ROOM", 1)


@budgeted(**QUICK)
@given(case=pattern_cases(kinds=[*ALL, "and"], max_per_group=6))
def test_small_pieces_return_the_oracles_rows(small_pieces: None, case: PatternCase) -> None:
    assume("AND" in case.text or "OR" in case.text)
    check(case, run(case))


@pytest.mark.parametrize(
    ("pattern", "events", "n_matches"),
    [
        ("AND(A, B)", "AABB", 4),
        ("AND(A, B, C)", "CABC", 2),
        ("AND(A, AND(B, C))", "CABC", 2),
        ("AND(A x, A y)", "AA", 4),
        ("AND(A, A)", "AA", 3),
        ("AND(A, OR(B, B))", "AB", 1),
        ("SEQ(AND(A, B), C)", "ABCC", 2),
        ("SEQ(AND(A, B), NOT AND(C, D), E)", "ABCEDE", 1),
        ("SEQ(AND(A, B){2}, C)", "ABBAC", 1),
        ("AND(A, B) WITHIN 2 seconds", "ABAB", 3),
        ("OR(AND(A, B), AND(B, A))", "AB", 1),
        ("SEQ(A, AND(B, C)) WITHIN 4 seconds", "AAAABC", 2),
        ("SEQ(NOT AND(A, B), C, D) WITHIN 4 seconds", "ABCDXXXCD", 1),
        ("AND(A, SEQ(B, C)) WITHIN 3 seconds", "ABXC", 0),
    ],
)
def test_matches_of_conjunctions(small_pieces: None, pattern: str, events: str, n_matches: int) -> None:
    assert query(f"PATTERN {pattern}").run(letters(events)).num_rows == n_matches


def test_an_event_that_two_sides_bind_alike_counts_once() -> None:
    text = "PATTERN AND(SEQ(A+, B), SEQ(A+, C)) WHERE count(A) + B.n + C.n = 6"
    assert query(text).run(letters("AABC")).num_rows == 2


def test_pairs_of_a_long_partition_are_looked_for_in_their_window_only() -> None:
    """All pairs would be 400 million."""
    n = 40_000 if not WITHOUT_JIT else 400
    events = pa.table({"ts": range(n), "kind": ["AB"[i % 2] for i in range(n)]})
    assert query("PATTERN AND(A, B) WITHIN 2 seconds").run(events).num_rows == n - 1


def test_a_side_that_never_matches_keeps_the_other_from_being_looked_at() -> None:
    """`A+` alone has 2^60 matches."""
    assert query("PATTERN AND(A+, B)").run(letters("A" * 60)).num_rows == 0


# --- the limit of matches -------------------------------------------------------------------------------------------


def test_the_limit_counts_pairs_and_not_the_ways_of_a_side() -> None:
    events = [{"ts": 100 * i, "kind": "A"} for i in range(10)] + [{"ts": 1, "kind": "B"}]
    limited = query("PATTERN AND(A, B) WITHIN 5 seconds", max_matches_per_partition=5)
    assert limited.run(events).num_rows == 1
    pairs = query("PATTERN AND(A, B)", max_matches_per_partition=9)
    with pytest.raises(ev.InputError, match="the input has more than 9 matches"):
        pairs.run(events)
    assert query("PATTERN AND(A, B)", max_matches_per_partition=10).run(events).num_rows == 10


def test_the_limit_counts_a_binding_that_two_branches_find_once(small_pieces: None) -> None:
    text = "PATTERN OR(SEQ(A, B), SEQ(A, B?, C?))"
    assert query(text, max_matches_per_partition=6).run(letters("AABB")).num_rows == 6
    with pytest.raises(ev.InputError, match="more than 5 matches"):
        query(text, max_matches_per_partition=5).run(letters("AABB"))


def test_the_limit_stops_an_enumeration_of_equal_bindings() -> None:
    n = 10 if WITHOUT_JIT else 40
    with pytest.raises(ev.InputError, match="more than 5 matches"):
        query("PATTERN OR(A+, SEQ(A*, A*))", max_matches_per_partition=5).run(letters("A" * n))


def test_the_limit_stops_a_side_that_has_far_too_many_matches() -> None:
    with pytest.raises(ev.InputError, match="more than 1 matches of one side of AND"):
        query("PATTERN AND(SEQ(A+, B), SEQ(A, C)) WHERE B.n > C.n + 99", max_matches_per_partition=1).run(
            letters("A" * 12 + "BC")
        )


def test_the_limit_is_one_of_a_partition() -> None:
    events = [event | {"user": event["n"] % 2} for event in letters("AABB")]
    assert query("PATTERN SEQ(A, B)", partition_by="user", max_matches_per_partition=1).run(events).num_rows == 2
    with pytest.raises(ev.InputError, match="the partition 0 has more than 1 matches"):
        query("PATTERN SEQ(A, B)", partition_by="user", max_matches_per_partition=1).run([*events, *events])


def test_the_limit_counts_every_window_of_a_match() -> None:
    text = "PATTERN SEQ(A, B) WITHIN 4 seconds SLIDE 2 seconds"
    assert query(text, max_matches_per_partition=2).run(letters("  AB")).num_rows == 2
    with pytest.raises(ev.InputError, match="more than 1 matches"):
        query(text, max_matches_per_partition=1).run(letters("  AB"))


def test_the_limit_counts_over_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eventide.families.events.walk.MATCHES_PER_BATCH", 1)
    with pytest.raises(ev.InputError, match="more than 2 matches"):
        query("PATTERN A+", max_matches_per_partition=2).run(letters("AA"))


def test_equal_ways_of_a_side_are_joined_once() -> None:
    """The two branches of one side bind the same; the pairs that they make are one offer with one member."""
    text = "PATTERN SEQ(AND(A, OR(SEQ(B, C), SEQ(B, C))), D)"
    spec = query(text).plan(pa.Table.from_pylist(letters("A")).schema).spec
    assert isinstance(spec, PatternSpec)
    block = pa.table({"ts": [1, 2, 3], "mask": [1, 2, 4]})
    ordered = order_events(block, (), None)
    setting = with_offers(PatternOperator(spec)._setting(block, ordered, MIN_US))
    assert [setting.offers[k].tolist() for k in (0, 1, 5)] == [[0], [2], [0, 1]]


def test_a_binding_counts_from_when_it_is_decided_first() -> None:
    """`A` alone decides it in one way, the end of the window in the other."""
    spec = (
        query("PATTERN OR(SEQ(A, B?), SEQ(A, NOT C)) WITHIN 5 seconds")
        .plan(pa.Table.from_pylist(letters("A")).schema)
        .spec
    )
    assert isinstance(spec, PatternSpec)
    operator = PatternOperator(spec)
    block = pa.table({"ts": [0], "mask": [1]})
    assert sum(batch.num_rows for batch in operator.process(block, 1_000_000)) == 1
    assert sum(batch.num_rows for batch in operator.process(None, 9_000_000)) == 0


def test_the_limit_does_not_count_old_matches_again_on_a_stream() -> None:
    schema = pa.Table.from_pylist(letters("A")).schema
    spec = query("PATTERN OR(SEQ(A, B), SEQ(A, B?)) WITHIN 9 seconds", max_matches_per_partition=2).plan(schema).spec
    assert isinstance(spec, PatternSpec)
    operator = PatternOperator(spec)
    first, second = (pa.table({"ts": ts, "mask": mask}) for ts, mask in (([0, 1], [1, 2]), ([2], [2])))
    assert sum(batch.num_rows for batch in operator.process(first, 1)) == 2
    assert sum(batch.num_rows for batch in operator.process(second, 2)) == 1


def test_the_limit_changes_no_id() -> None:
    ids = [
        query("PATTERN SEQ(A, B)", match_id=True, max_matches_per_partition=limit).run(letters("AB"))
        for limit in (None, 5)
    ]
    assert ids[0].column("match_id") == ids[1].column("match_id")
