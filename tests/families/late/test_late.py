"""Late events: what the watermark had passed when it came, and nothing else."""

from __future__ import annotations

import pyarrow as pa

from eventide.families.late.operator import LateSpec
from eventide.families.registry import make_operator
from eventide.runtime.block import Layout

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


def test_an_event_that_an_operator_derives_is_late_when_more_than_its_lag_has_passed() -> None:
    spec = LateSpec("late", Layout(n_partition=0, n_values=0, n_returned=1), following=2, lag_us=4)
    operator = make_operator(spec)
    assert list(operator.process(None, 10)) == []
    times, masks = [6, 6, 7, 10, 10, 11], [1, 2, 2, 1, 2, 1]
    shown = [f"{mask} at {ts}" for ts, mask in zip(times, masks, strict=True)]
    (late,) = operator.process(pa.table({"ts": times, "mask": masks, "c0": shown}), 10)
    assert late.to_pydict() == {"c0": ["1 at 6", "2 at 6", "1 at 10"]}
    assert operator.late_events() == 3
