"""The steps of a search grow with the events and the matches, not with the pairs of events."""

from __future__ import annotations

from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import eventide as ev
from eventide.families.events.automaton import compile_pattern
from eventide.families.events.indexes import index_events
from eventide.families.events.kernel_ahead import GROUP, first_with, index_ahead
from eventide.lang import parse
from eventide.runtime.effort import Pace
from eventide.runtime.kernels.order import mark_ties
from eventide.runtime.ordered import Ordered
from tests.micro_batches import Stream

STEPS_PER_CALL = 4
SECOND = 1_000_000


def events(n: int, each: int = 1) -> pa.Table:
    """One event a second, or `each` of them, of eight kinds at random."""
    kinds = Random(5).choices("ABCDEFGH", k=n)
    times = pa.array([SECOND * (i // each) for i in range(n)], pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "kind": kinds, "n": np.arange(n), "sequence": np.arange(n)})


def query(text: str, **options: Any) -> ev.Query:
    return ev.query(f"PATTERN {text}", ts="ts", type="kind", **options)


class Calls:
    """How often a kernel is called that takes a few steps in each call."""

    def __init__(self) -> None:
        self.n = 0

    def __enter__(self) -> Calls:
        def go_on(pace: Pace, partition: int, left: int = 0) -> int:
            self.n += 1
            return STEPS_PER_CALL

        self._patch = patch.object(Pace, "go_on", go_on)
        self._patch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._patch.stop()


def effort(text: str, n: int, each: int = 1, **options: Any) -> float:
    """The steps of a query for every event and row."""
    asked = query(text, **options)
    with Calls() as calls:
        n_rows = asked.run(events(n, each)).num_rows
    return calls.n * STEPS_PER_CALL / (n + n_rows)


PATTERNS = [
    "OR(A a, B b) RETURN a.n, b.n",
    "OR(A a, SEQ(B b, NOT D d, C c)) RETURN a.n, c.n",
    "SEQ(A a, OR(B b, C c)) SEMANTICS next RETURN a.n, b.n, c.n",
    "SEQ(A a, OR(B b, C c)) WHERE a.n < 40 RETURN a.n, b.n, c.n",
    "SEQ(A a, B b?, C c) SEMANTICS next RETURN a.n, b.n, c.n",
    "SEQ(A a, B b?) SEMANTICS next RETURN a.n, b.n",
    "SEQ(A a, NOT B b, C c) RETURN a.n, c.n",
    "SEQ(A a, NOT B b, C c) SEMANTICS next RETURN a.n, c.n",
    "SEQ(A a, NOT B b, C c) SEMANTICS contiguous RETURN a.n, c.n",
    "SEQ(A a, NOT B b, C c) WHERE b.n % 3 > 0 RETURN a.n, c.n",
    "SEQ(A a, NOT B b, C c) WHERE b.n > a.n RETURN a.n, c.n",
    "SEQ(A a, NOT SEQ(B b, D d), C c) RETURN a.n, c.n",
    "SEQ(A a, NOT SEQ(B b, D d), C c) SEMANTICS next RETURN a.n, c.n",
    "SEQ(A a, NOT D d, C c, NOT B b, E e) RETURN a.n, e.n",
    "SEQ(A a, C c, NOT OR(B b, D d, F f, G g), E e) WHERE e.n % 16 < 1 RETURN a.n, e.n",
    "SEQ(A a, C c, NOT B b, E e) WHERE e.n < 40 RETURN a.n, e.n",
    "SEQ(A a, OR(SEQ(NOT B b, C c), D d)) SEMANTICS next WHERE d.n < 10 RETURN a.n, c.n, d.n",
    "SEQ(NOT B b, A a, C c) RETURN a.n, c.n",
    "SEQ(NOT SEQ(B b, D d), A a, C c) RETURN a.n, c.n",
    "SEQ(A a, C c, NOT B b) RETURN a.n, c.n",
    "SEQ(A a, NOT B b) WHERE b.n < 10 RETURN a.n",
    "A a{3} SEMANTICS next RETURN first(a.n)",
    "SEQ(A a+, B b) SEMANTICS next RETURN b.n",
    "SEQ(A a, B b, C c) SEMANTICS next RETURN a.n, c.n",
    "AND(A a, B b) WHERE a.n < 40 RETURN a.n, b.n",
]


@pytest.mark.parametrize("text", PATTERNS)
def test_twice_the_events_take_twice_the_steps(text: str) -> None:
    few, many = effort(text, 400), effort(text, 800)
    assert many <= 1.25 * max(few, 0.5), "steps for every event and row"


@pytest.mark.parametrize(("each", "ties"), [(2, "strict"), (3, "sequence")])
@pytest.mark.parametrize("strategy", ["any", "next", "contiguous"])
def test_tied_events_take_no_more_steps(each: int, ties: str, strategy: str) -> None:
    text = f"SEQ(A a, NOT B b, C c?, NOT B b2, D d) SEMANTICS {strategy} RETURN a.n, d.n"
    few, many = (effort(text, n, each, ties=ties, sequence="sequence") for n in (400, 800))
    assert many <= 1.25 * max(few, 0.5)


@pytest.mark.parametrize("text", ["OR(A a, B b)", "SEQ(A a, NOT B b, C c)", "SEQ(A a, B b?, C c) SEMANTICS next"])
def test_twice_the_micro_batches_take_twice_the_steps(text: str) -> None:
    found = []
    for n in (400, 800):
        table = events(n)
        stream = Stream(query(f"{text} WITHIN 60 seconds RETURN a.n").plan(table.schema))
        with Calls() as calls:
            stream.play(table, [SECOND * i for i in range(n)], range(20, n, 20), SECOND)
        found.append(calls.n)
    assert found[1] <= 2.5 * found[0]


def test_a_low_limit_of_steps_is_enough() -> None:
    asked = query("SEQ(A a, NOT B b, C c) RETURN a.n, c.n", max_steps_per_partition=200_000)
    n = 40_000
    assert asked.run(events(n)).num_rows > n // 10


def test_what_is_rare_is_found_from_any_row() -> None:
    random = Random(2)
    mask = np.array([random.choice([0, 0, 0, 0, 1, 4]) if 40 < i < 60 else 0 for i in range(5 * GROUP)])
    mask[[0, GROUP - 1, 3 * GROUP, 4 * GROUP + 1]] = [1, 2, 4, 2]
    ahead = np.empty((3, 6), dtype=np.int32)
    index_ahead(mask, ahead)
    for bits in range(8):
        wanted = np.flatnonzero(mask & bits)
        for lo in range(mask.size):
            for hi in (lo, lo + 1, 2 * GROUP, 3 * GROUP, 3 * GROUP + 1, mask.size):
                inside = wanted[(wanted >= lo) & (wanted < hi)]
                found = int(first_with(mask, ahead, bits, lo, hi))
                assert found == inside[0] if inside.size else found >= hi


def live(text: str, word: str, ties: int = 1, **options: Any) -> str:
    """The letters of a word, one event each, from which the index says that a match may come."""
    program = compile_pattern(parse(f"PATTERN {text}").pattern, "any")
    n, rows = len(word), np.arange(len(word), dtype=np.int64)
    follows, precedes = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    mark_ties(np.array([0, n]), rows // ties, True, follows, precedes)
    bits = {name: 1 << k for k, name in enumerate(program.symbols)}
    mask = np.array([bits.get(letter, 0) for letter in word])
    ordered = Ordered(rows, np.array([0, n]), rows // ties, mask, follows, precedes)
    kept = index_events(program, ordered, **options).mask
    return "".join(letter if kept[i] else "." for i, letter in enumerate(word))


def test_what_a_not_excludes_is_not_looked_at() -> None:
    assert live("SEQ(A, NOT B, C)", "ABCAACB") == ".BCAACB"
    assert live("SEQ(A, C, NOT B, D)", "ACBDACD") == "A.BDACD"
    # Events with the time of A or C lie in no gap between them.
    assert live("SEQ(A, NOT B, C)", "ABBC", ties=2) == "ABBC"
    assert live("SEQ(A, NOT B, C)", "AXBXCX", ties=2) == "..B.C."


def test_a_not_at_the_end_excludes_where_nothing_ends_its_gap() -> None:
    assert live("SEQ(A, C, NOT B)", "ACBAC") == "ACBAC"
    assert live("SEQ(A, C, NOT B)", "ACBAC", whole=True) == "A.BAC"
    assert live("SEQ(A, NOT B)", "AABA", whole=True, ties=2) == "..BA"
    assert live("SEQ(A, NOT B)", "ABAA", whole=True, ties=2) == "ABAA"


def test_a_not_that_names_the_next_event_is_asked_of_each() -> None:
    words = zip("ABCC", [0, 5, 1, 9], strict=True)
    table = [{"ts": i, "kind": kind, "x": x} for i, (kind, x) in enumerate(words)]
    asked = ev.query("PATTERN SEQ(A a, NOT B b, C c) WHERE b.x > c.x RETURN c.ts", ts="ts", ts_unit="s", type="kind")
    assert asked.run(table).column("c_ts").to_pylist() == [3]


def test_a_beginning_may_come_after_what_a_leading_not_excludes() -> None:
    table = [{"ts": i, "kind": kind} for i, kind in enumerate("BAD")]
    asked = ev.query("PATTERN SEQ(NOT B b, A a, C c) RETURN a.ts", ts="ts", ts_unit="s", type="kind")
    assert "found    a at 1" in str(asked.diagnose(table))


def test_an_event_that_leads_nowhere_is_the_next_one_all_the_same() -> None:
    asked = ev.query("PATTERN SEQ(A a, OR(B b, SEQ(C c, D d))) SEMANTICS next RETURN a.n", ts_unit="s", type="kind")
    assert asked.run([{"ts": i, "kind": kind, "n": i} for i, kind in enumerate("ACB")]).num_rows == 0
