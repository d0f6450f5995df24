"""Slices of time, derived apart: the events that they leave tell the same situations, wherever the borders are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

import eventide as ev
from eventide.operators.block import MIN_US
from eventide.operators.factory import make_combiner, make_operator
from tests.micro_batches import Stream
from tests.situations.cases import situation_cases
from tests.situations.compare import SECOND_US, SituationCase
from tests.situations.test_same_matches import QUICK, SEVERAL, n_examples


@settings(max_examples=n_examples(100, 10), **QUICK)
@given(
    case=situation_cases(groups=SEVERAL),
    borders=st.lists(st.integers(0, 30), max_size=4),
    shared=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), max_size=2),
)
def test_slices_put_together_have_the_matches_of_the_oracle(
    case: SituationCase, borders: list[int], shared: list[tuple[int, int]]
) -> None:
    """Two tasks may have events of shared times: there nothing is left out."""
    physical = ev.query(case.text, **case.options).plan(case.table().schema)
    stream = Stream(physical)
    block = stream._block(case.table())
    if not block.num_rows:
        return
    first_us = pc.min(block.column("ts")).as_py()
    instants = sorted(first_us + border * SECOND_US for border in borders)
    common = [(first_us + start * SECOND_US, first_us + (start + length) * SECOND_US) for start, length in shared]
    combiner, operator = make_combiner(physical.spec), make_operator(physical.spec)
    assert combiner is not None
    for part in _cut(block, instants, common):
        for made in combiner.combine(part, common):
            assert not list(operator.process(made, MIN_US))
    rows = stream._read(operator.finish())
    if not rows:
        assert not case.expected, f"{case}nothing, and the oracle has {case.expected}"
        return
    case.check(pa.Table.from_pylist(rows), types=False)


def _cut(block: pa.Table, instants: list[int], common: list[tuple[int, int]]) -> list[pa.Table]:
    """Slices between instants; every other event of common times goes to a slice of its own."""
    ts = block.column("ts").to_pylist()
    numbers: list[Any] = []
    for row, us in enumerate(ts):
        is_common = any(first <= us <= last for first, last in common)
        numbers.append(-1 if is_common and row % 2 else sum(us >= instant for instant in instants))
    return [
        block.take(pa.array([row for row, number in enumerate(numbers) if number == each], pa.int64()))
        for each in sorted(set(numbers))
    ]


def test_what_is_left_is_little() -> None:
    events = pa.table(
        {"ts": range(1000), "a": [100 <= i < 300 for i in range(1000)], "b": [i >= 250 for i in range(1000)]}
    )
    text = "DEFINE A AS a FOR AT LEAST 9 seconds, B AS b PATTERN A overlaps B WITHIN 1 hour RETURN start(A) AS a"
    physical = ev.query(text, ts_unit="s").plan(events.schema)
    combiner = make_combiner(physical.spec)
    assert combiner is not None
    (left,) = combiner.combine(Stream(physical)._block(events))
    # The first, begin of A and when it has lasted, begin of B, end of A, the last.
    assert [us // SECOND_US for us in left.column("ts").to_pylist()] == [0, 100, 109, 250, 300, 999]
