"""What the rules of a set hold, from micro-batch to micro-batch."""

from __future__ import annotations

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from eventide.engines.spark.tally import Tally
from tests.metrics.reports import progress
from tests.rules.bucket import Stream, table

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
