"""The pattern operator in pieces: random blocks, watermarks, restarts and small arrays change no row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import eventide as ev
from eventide.engines.intake import take_in
from eventide.families.events.automaton import compile_pattern
from eventide.families.events.kernel_completions import ANYWHERE, AT_NEW, NOWHERE, index_completions
from eventide.families.events.operator import PatternOperator
from eventide.families.events.spec import PatternSpec
from eventide.lang import parse
from eventide.plan.physical import Physical
from eventide.runtime.block import MIN_US
from tests.budget import QUICK, budgeted
from tests.families.events.cases import EPOCH_US, SECOND
from tests.families.events.pattern_cases import ALL, PatternCase, pattern_cases

PLAIN = [kind for kind in ALL if kind != "and"]


def plan_of(case: PatternCase) -> Physical:
    try:
        physical = ev.query(case.text, **case.options).plan(case.table().schema)
    except ev.QueryError:
        assume(False)
    assume(isinstance(physical.spec, PatternSpec))
    return physical


def block_of(case: PatternCase, physical: Physical) -> pa.Table:
    events = case.table()
    items = ", ".join(f"{column.duckdb} AS {column.name}" for column in physical.select)
    with duckdb.connect() as connection:
        connection.register("events", events)
        raw = connection.sql(f"SELECT {items} FROM events").to_arrow_table()
    return take_in(raw, physical.intake)[0]


def rows(results: Any) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for batch in results:
        columns = [[str(value) for value in column.to_pylist()] for column in batch.columns]
        found.update(zip(*columns, strict=True))
    return found


def at_once(physical: Physical, block: pa.Table) -> Counter[tuple[Any, ...]]:
    operator = PatternOperator(physical.spec)  # type: ignore[arg-type]
    assert not rows(operator.process(block, MIN_US))
    return rows(operator.finish())


def check_in_pieces(case: PatternCase, data: Any) -> None:
    """Events come in any batches that keep within the watermark; between batches the state moves house."""
    physical = plan_of(case)
    block = block_of(case, physical)
    expected = at_once(physical, block)
    operator = PatternOperator(physical.spec)  # type: ignore[arg-type]
    found: Counter[tuple[Any, ...]] = Counter()
    left = block.sort_by("ts")
    while left.num_rows:
        size = data.draw(st.integers(1, left.num_rows))
        batch, left = left.slice(0, size), left.slice(size)
        batch = batch.take(pa.array(data.draw(st.permutations(range(size)))))
        earliest_left = left.column("ts")[0].as_py() // SECOND if left.num_rows else EPOCH_US // SECOND + 40
        watermark = data.draw(st.integers(EPOCH_US // SECOND - 1, earliest_left - 1)) * SECOND
        found += rows(operator.process(batch, watermark))
        pending_us, later_us = operator.pending_us(), earliest_left * SECOND - 1
        if data.draw(st.booleans()):
            more = rows(operator.process(None, later_us))
            assert not more or (pending_us is not None and pending_us <= later_us), "nothing was pending"
            found += more
        snapshot = operator.snapshot()
        operator = PatternOperator(physical.spec)  # type: ignore[arg-type]
        operator.restore(snapshot)
    found += rows(operator.finish())
    assert operator.late_events() == 0
    assert found == expected


@budgeted(**QUICK)
@given(pattern_cases(kinds=PLAIN, bounded=True), st.data())
def test_batches_with_restarts_give_the_same_matches(case: PatternCase, data: Any) -> None:
    check_in_pieces(case, data)


@budgeted(**QUICK)
@given(pattern_cases(kinds=PLAIN), st.data())
def test_batches_without_a_window_give_the_same_matches(case: PatternCase, data: Any) -> None:
    check_in_pieces(case, data)


@budgeted(**QUICK)
@given(pattern_cases(bounded=True, max_per_group=6), st.data())
def test_batches_give_the_same_matches_with_and(case: PatternCase, data: Any) -> None:
    check_in_pieces(case, data)


@budgeted(**QUICK)
@given(pattern_cases(), st.integers(1, 3))
def test_small_arrays_pause_and_resume(case: PatternCase, capacity: int) -> None:
    """Results leave in bounded memory, and stacks grow from one place each."""
    physical = plan_of(case)
    block = block_of(case, physical)
    expected = at_once(physical, block)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eventide.families.events.walk.MATCHES_PER_BATCH", capacity)
        patch.setattr("eventide.families.events.walk._FIRST_STACK", 1)
        assert at_once(physical, block) == expected


# --- words: one event a second --------------------------------------------------------------------------------


def stream(word: str) -> list[dict[str, Any]]:
    return [{"ts": i, "kind": letter, "n": i} for i, letter in enumerate(word)]


def query(text: str, **options: Any) -> ev.Query:
    return ev.query(text, ts="ts", ts_unit="s", type="kind", **options)


def operator_of(text: str) -> tuple[PatternOperator, Physical]:
    physical = query(text).plan(pa.schema({"ts": pa.int64(), "kind": pa.string(), "n": pa.int64()}))
    return PatternOperator(physical.spec), physical  # type: ignore[arg-type]


def pieces(word: str, physical: Physical) -> pa.Table:
    items = ", ".join(f"{column.duckdb} AS {column.name}" for column in physical.select)
    events = pa.Table.from_pylist(stream(word))
    with duckdb.connect() as connection:
        connection.register("events", events)
        return take_in(connection.sql(f"SELECT {items} FROM events").to_arrow_table(), physical.intake)[0]


def test_a_trailing_not_is_decided_at_the_end_of_its_window() -> None:
    operator, physical = operator_of("PATTERN SEQ(A, NOT B) WITHIN 5 seconds RETURN A.n")
    block = pieces("AZ", physical)
    assert not rows(operator.process(block, 3 * SECOND))
    assert operator.pending_us() == 5 * SECOND - 1
    assert not rows(operator.process(None, 4 * SECOND))
    assert rows(operator.process(None, 5 * SECOND - 1)) == {("0", "5"): 1}
    assert not rows(operator.finish())


def test_an_event_behind_the_match_can_undo_it_until_then() -> None:
    operator, physical = operator_of("PATTERN SEQ(A, NOT B) WITHIN 5 seconds RETURN A.n")
    block = pieces("AZZZBZ", physical)
    assert not rows(operator.process(block.slice(0, 1), 3 * SECOND))
    assert not rows(operator.process(block.slice(1), 20 * SECOND))
    assert not rows(operator.finish())


def test_a_trailing_not_with_sliding_windows_is_detected_at_the_end_of_each() -> None:
    text = "PATTERN SEQ(A, NOT B) WITHIN 4 seconds SLIDE 2 seconds RETURN A.n"
    found = query(text).run(stream("ZZAZB")).to_pylist()
    assert found == [{"A_n": 2, "window_start": 0, "window_end": 4, "detected_at": 4}]


def test_a_match_is_returned_once_when_more_events_come() -> None:
    operator, physical = operator_of("PATTERN SEQ(A, B+) WITHIN 5 seconds RETURN B.n")
    block = pieces("ABB", physical)
    assert rows(operator.process(block.slice(0, 2), 1 * SECOND)) == {("[1]", "1"): 1}
    assert rows(operator.process(block.slice(2), 2 * SECOND)) == {("[2]", "2"): 1, ("[1, 2]", "2"): 1}


def test_events_stay_as_long_as_their_window() -> None:
    operator, physical = operator_of("PATTERN SEQ(A, B+) WITHIN 5 seconds RETURN B.n")
    block = pieces("AZZZB", physical)
    assert not rows(operator.process(block.filter(pc.equal(block.column("ts"), 0)), 3 * SECOND))
    assert rows(operator.process(block.filter(pc.greater(block.column("ts"), 0)), 4 * SECOND)) == {("[4]", "4"): 1}


def test_a_walk_that_pauses_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eventide.families.events.walk.MATCHES_PER_BATCH", 2)
    monkeypatch.setattr("eventide.families.events.walk._FIRST_STACK", 1)
    assert query("PATTERN A+ RETURN A.n").run(stream("AAAA")).num_rows == 15


def test_more_matches_than_one_batch_holds_all_arrive() -> None:
    table = query("PATTERN A+ RETURN A.n").run(stream("A" * 15))
    assert table.num_rows == 2**15 - 1
    assert len({tuple(row) for row in table.column("A_n").to_pylist()}) == 2**15 - 1


@pytest.mark.parametrize("strategy", ["next", "contiguous"])
def test_a_chain_may_be_as_long_as_the_partition(strategy: str) -> None:
    table = query(f"PATTERN SEQ(A a+, B b) SEMANTICS {strategy} MIN LENGTH 3000 RETURN a.n, b.n").run(
        stream("A" * 3000 + "B")
    )
    assert [len(row) for row in table.column("a_n").to_pylist()] == [3000, 2999]


def test_what_cannot_end_is_not_walked() -> None:
    """Without the index of completions this would take 2^200 steps."""
    assert query("PATTERN SEQ(A+, B) RETURN B.n").run(stream("A" * 200)).num_rows == 0


def test_an_absent_symbol_is_null_and_an_absent_repeated_one_is_empty() -> None:
    found = query("PATTERN SEQ(A a, B b?, C c*, D d) SEMANTICS contiguous RETURN a.n, b.n, c.n, d.ts").run(stream("AD"))
    assert found.to_pylist() == [{"a_n": 0, "b_n": None, "c_n": [], "d_ts": 1, "detected_at": 1}]
    assert found.schema.field("c_n").type == pa.list_(pa.int64())


@pytest.mark.parametrize("strategy", ["any", "next", "contiguous"])
def test_two_branches_that_find_one_binding_return_it_once(strategy: str) -> None:
    table = query(f"PATTERN OR(SEQ(A, B), SEQ(A, B?)) SEMANTICS {strategy}").run(stream("AB"))
    assert sorted(table.column("detected_at").to_pylist()) == [0, 1]


def test_a_partition_with_more_matches_than_the_limit_is_an_error() -> None:
    operator, physical = operator_of("PATTERN A+ RETURN A.n")
    limited = PatternOperator(replace(operator.spec, max_matches=100))
    list(limited.process(pieces("A" * 30, physical), MIN_US))
    with pytest.raises(ev.InputError, match="the input has more than 100 matches"):
        list(limited.finish())
    just_enough = PatternOperator(replace(operator.spec, max_matches=7))
    list(just_enough.process(pieces("AAA", physical), MIN_US))
    assert rows(just_enough.finish()).total() == 7


def test_ids_of_matches_are_stable_and_their_own() -> None:
    text = "PATTERN SEQ(A a+, B b) RETURN a.n, b.n OPTIONS (match_id = 'true')"
    events = stream("AAABB")
    first = query(text).run(events).to_pylist()
    again = query(text).run(events[::-1]).to_pylist()
    by_id = {row["match_id"]: row for row in first}
    assert len(by_id) == len(first) == 14
    assert by_id == {row["match_id"]: row for row in again}


def test_ids_tell_the_symbols_of_one_event_apart() -> None:
    text = "PATTERN SEQ(A a?, A b?) RETURN a.n, b.n OPTIONS (match_id = 'true')"
    found = query(text).run(stream("A")).to_pylist()
    assert sorted((row["a_n"] is None, row["b_n"] is None) for row in found) == [(False, True), (True, False)]
    assert len({row["match_id"] for row in found}) == 2


def completions(
    pattern: str, mask: list[int], precedes: Sequence[int], may_end: list[int], n_old: int = 0
) -> list[list[int]]:
    """By position and row the earliest end."""
    program = compile_pattern(parse(f"PATTERN {pattern}").pattern, "any").tables
    n_moves = program.edge_to.size + program.end_lo[-1]
    index_completions(
        np.array([0, len(mask)]),
        np.array(precedes, dtype=np.int32),
        np.array(mask),
        program,
        np.zeros(n_moves, dtype=np.int64),
        np.array(may_end, dtype=np.int8),
        np.arange(len(mask)) >= n_old,
        0,
        out := np.empty((len(may_end), len(mask)), dtype=np.int32),
        np.empty(len(mask), dtype=np.int64),
    )
    return out.tolist()  # type: ignore[no-any-return]


def test_tied_events_do_not_complete_one_another() -> None:
    for precedes, found in [([0, 0], [[-1, -1], [-1, 1]]), ([0, 1], [[1, -1], [-1, 1]])]:
        assert completions("SEQ(A, B)", [1, 2], precedes, [NOWHERE, ANYWHERE]) == found


@pytest.mark.parametrize(
    ("may_end", "found"),
    [(ANYWHERE, [[1, -1, 3, -1], [-1, 1, -1, 3]]), (AT_NEW, [[3, -1, 3, -1], [-1, -1, -1, 3]])],
)
def test_what_only_old_events_complete_is_no_completion(may_end: int, found: list[list[int]]) -> None:
    assert completions("SEQ(A, B)", [1, 2, 1, 2], range(4), [NOWHERE, may_end], n_old=2) == found


def test_a_stream_does_not_walk_again_to_matches_that_old_events_end() -> None:
    """40 events of A and one of B have 2^40 matches: no walk that begins with them ends before the test does."""
    operator, physical = operator_of("PATTERN SEQ(A+, B) WITHIN 1 hour RETURN B.n")
    events = pieces("A" * 40 + "BC" + "AB", physical)
    operator._buffer.append(events.slice(0, 41))
    operator._watermark_us = 41 * SECOND - 1
    assert not rows(operator.process(events.slice(41, 1), 41 * SECOND))
    operator._buffer.purge(older_than_us=41 * SECOND)
    assert len(rows(operator.process(events.slice(42), 50 * SECOND))) == 1


def test_an_old_sequence_that_not_excludes_still_excludes() -> None:
    operator, physical = operator_of("PATTERN SEQ(A, NOT SEQ(C, D), B) WITHIN 1 hour RETURN A.n")
    events = pieces("ACDAB", physical)
    assert not rows(operator.process(events.slice(0, 3), 3 * SECOND - 1))
    assert rows(operator.process(events.slice(3), 9 * SECOND)).total() == 1


# --- rules: a letter is the kind, then the time, a mark that tells tied events apart, and a value -------------------


def timed(text: str) -> list[dict[str, Any]]:
    found = re.findall(r"(([a-z])(\d+)[x-z]?)(?:=(\d+))?", text)
    return [{"ts": int(ts), "kind": kind.upper(), "id": id_, "v": int(v or 0)} for id_, kind, ts, v in found]


RULES = [
    ("SEQ(A, B+) WITHIN 3 seconds", "a1 b3 b4", ["a1b3"]),
    ("SEQ(A, B*, C)", "a1 c2", ["a1c2"]),
    ("A{1,2}", "a1 a2 a3", ["a1", "a1a2", "a1a3", "a2", "a2a3", "a3"]),
    ("A+ MIN LENGTH 2", "a1 a2", ["a1a2"]),
    ("SEQ(A+, OR(B, C)) WITHIN 3 seconds", "a1 b2 c9", ["a1b2"]),
    ("SEQ(A, B+) WITHIN 2 seconds SLIDE 2 seconds", "a2 b3", ["a2b3"]),
    ("AND(A, B+) WITHIN 3 seconds", "a1 b4", []),
    ("AND(A, B+) WITHIN 3 seconds", "a1 b3", ["a1b3"]),
    ("AND(SEQ(A, NOT D), B+) WITHIN 5 seconds", "a1 b3 d6", ["a1b3"]),
    ("AND(SEQ(A, NOT D), B+) WITHIN 5 seconds", "a1 d2 b3", []),
    # NOT: what it sees of the events around it
    ("SEQ(A, NOT D, B+)", "a1 d2 b3", []),
    ("SEQ(A, NOT D, B+)", "a1 d1 b2 d2", ["a1b2"]),
    ("SEQ(A, NOT A d, B+)", "a1 b2", ["a1b2"]),
    ("SEQ(NOT D, A, B+) WITHIN 3 seconds", "d1 a2 b4", ["a2b4"]),
    ("SEQ(NOT D, A, B+) WITHIN 3 seconds", "d1 a2 b3", []),
    ("SEQ(A, B+, NOT D) WITHIN 3 seconds", "a1 b2 d2 d4", ["a1b2"]),
    ("SEQ(A, B+, NOT D) WITHIN 3 seconds", "a1 b2 d3", []),
    ("SEQ(A, NOT D, B+, C) WHERE D.v = C.v", "a1 d2=1 b3 c4=2", ["a1b3c4"]),
    ("SEQ(A, NOT D, B+, C) WHERE D.v = C.v", "a1 d2=2 b3 c4=2", []),
    ("SEQ(A, NOT SEQ(D, E, F), B+) WHERE E.v = F.v", "a1 d2 e3=1 e4=2 f5=2 b6", []),
    # strategies
    ("SEQ(A, B, C+) SEMANTICS next", "a1 b2 b3 c4", ["a1b2c4"]),
    ("SEQ(A, B+) SEMANTICS next", "a1 a2 b3", ["a1b3", "a2b3"]),
    ("SEQ(A, B+) SEMANTICS next", "a1 b2x b2y b3", ["a1b2x", "a1b2xb3", "a1b2y", "a1b2yb3"]),
    ("SEQ(A, B+) SEMANTICS contiguous", "a1 x2 b3", []),
    ("SEQ(A, B+) SEMANTICS contiguous", "a1 b2 x3 b4", ["a1b2"]),
    # conjuncts
    ("SEQ(A+, B, C+) WHERE count(A) < 2", "a1 a2 b3 c4", ["a1b3c4", "a2b3c4"]),
    ("SEQ(AND(A, B), C+) WHERE A.v < NEXT(C).v", "a1=5 b1=0 c2=3", []),
    ("SEQ(AND(A, B), C+) WHERE B.v < NEXT(C).v", "a1=5 b1=0 c2=3", ["a1b1c2"]),
]


@pytest.mark.parametrize(("text", "events", "found"), RULES)
def test_rules(text: str, events: str, found: list[str]) -> None:
    pattern = re.split(" WHERE | WITHIN | SEMANTICS | MIN ", text)[0]
    returned = sorted(set(re.findall(r"\b[A-C]\b", pattern)))
    rows = query(f"PATTERN {text} RETURN {', '.join(f'{symbol}.id' for symbol in returned)}").run(timed(events))
    columns = [rows.column(f"{symbol}_id").to_pylist() for symbol in returned]
    assert sorted("".join(map(_joined, row)) for row in zip(*columns, strict=True)) == found


def _joined(value: str | list[str] | None) -> str:
    return value if isinstance(value, str) else "".join(value or [])


def test_the_limit_of_matches_holds_for_plain_sequences_too() -> None:
    events = [{"ts": i, "kind": "A" if i < 20 else "B"} for i in range(40)]
    query = ev.query("PATTERN SEQ(A, B)", ts_unit="s", type="kind", max_matches_per_partition=5)
    with pytest.raises(ev.InputError, match="has more than 5 matches"):
        query.run(events)
    enough = ev.query("PATTERN SEQ(A, B)", ts_unit="s", type="kind", max_matches_per_partition=400)
    assert enough.run(events).num_rows == 400
