"""Late events: what the watermark had passed when it came, and nothing else."""

from __future__ import annotations

import pyarrow as pa

from eventide.operators.block import Layout
from eventide.operators.factory import make_operator
from eventide.operators.late import LateSpec

SPEC = LateSpec("late", Layout(n_partition=0, n_values=0, n_returned=1))


def block(*times: int) -> pa.Table:
    return pa.table({"ts": list(times), "mask": [0] * len(times), "c0": [f"e{ts}" for ts in times]})


def test_events_up_to_the_watermark_are_late_across_a_restart() -> None:
    operator = make_operator(SPEC)
    assert list(operator.process(block(5, 1), 5)) == []
    restored = make_operator(SPEC)
    restored.restore(operator.snapshot())
    (late,) = restored.process(block(4, 5, 6), 6)
    assert late.to_pydict() == {"c0": ["e4", "e5"]}
    assert restored.late_events() == 2 and restored.pending_us() is None and list(restored.finish()) == []
