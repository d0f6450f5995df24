"""What the rules of a set hold, from micro-batch to micro-batch."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from eventide.engines.spark.tally import Tally
from tests.metrics.reports import progress
from tests.rules.bucket import Stream, table

FAILING = "PATTERN SEQ(A a, B b) WHERE CAST(a.kind AS INT) < 1 WITHIN 1 hour RETURN a.amount"
AB = "PATTERN SEQ(A a, B b) WITHIN 1 hour RETURN a.amount, b.amount"


def test_a_rule_that_is_removed_holds_nothing_any_more() -> None:
    stream, tally = Stream(), Tally("0a1b")
    events: list[pa.Table | None] = [table([(0, "A"), (1, "A"), (9, "X")]), None]
    changes: list[dict[str, str | None]] = [{"ab": AB, "other": AB}, {"ab": None}]
    held = []
    for batch_id in range(2):
        stream.step(events[batch_id], **changes[batch_id])
        tally.add(progress(batch_id, *stream.counters))
        held.append((tally.held("ab")[0], tally.held("other")[0]))
    assert held == [(2, 2), (0, 2)]
    assert tally.held("ab")[1] == 0 < tally.held("other")[1]


def test_a_problem_of_a_rule_is_counted_when_it_is_said() -> None:
    stream, tally = Stream(), Tally("0a1b")
    told = {"query": FAILING, "options": None, "failed": "not a number"}
    changes: list[dict[str, Any]] = [{"ab": AB, "broken": "PATTRN", "failing": FAILING}, {"failing": told}, {}]
    for batch_id, changed in enumerate(changes):
        found = stream.step(table([(batch_id, "A")]), **changed)
        tally.add(progress(batch_id, *stream.counters))
        assert tally.batches[-1]["problems"] == sum(row["problem"] is not None for row in found)
    rules = tally.numbers()["rules"]
    assert {name: rule["problems"] for name, rule in rules.items()} == {"ab": 0, "broken": 1, "failing": 1}
    assert tally.numbers()["problems"] == 2
    assert rules["failing"]["open_runs"] == 0 < rules["ab"]["open_runs"]
