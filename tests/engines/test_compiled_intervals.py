"""Derived intervals as compiled code: all aggregates and kinds of condition; families/intervals runs plain."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from tests.families.intervals.cases import SCHEMA, SECOND_US, VALUES, Case, found
from tests.micro_batches import Stream

EVENTS = tuple(
    {
        "seq": i,
        "ts": i - i % 3,
        "key": i % 2,
        "kind": [None, "a", "b", "a", "c"][i * 7 % 5],
        "x": [None, 0, 4, 2, 3, 3][i * 5 % 6],
        "y": [0.5, 1.0, None, 3.5, 2.0, 2.5, 0.0][i * 3 % 7],
    }
    for i in range(60)
)
RUNS = Case(
    EVENTS,
    ("(x IS NULL OR x <> 3)", "kind >= first(kind)", "coalesce(prev(x), 0) <> coalesce(x, 0)", "avg(y) >= 1.5"),
    tuple(VALUES),
    True,
    maximum=4,
    gap=5,
)
SPANS = Case(EVENTS, ("x >= 2", "kind = 'b'", "x = 1"), tuple(VALUES), False)


# What the second case reads is compiled in other types.
@pytest.mark.parametrize("case", [RUNS, replace(RUNS, conditions=("sum(x) <= 6",)), SPANS])
def test_compiled_code_derives_the_oracles_intervals(case: Case) -> None:
    assert case.expected()
    assert found(case.derive(case.table()).to_pylist()) == case.expected()
    stream = Stream(case.physical())
    times_us = [event["ts"] * SECOND_US for event in case.events]
    stream.play(pa.Table.from_pylist(list(case.events), schema=SCHEMA), times_us, [10, 25, 40], SECOND_US)
    assert found(stream.rows) == case.expected()
