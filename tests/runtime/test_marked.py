"""Events with marks: what is gone is not seen again, whether it was written before or not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from eventide.runtime.marked import GONE, MarkedBuffer


def test_an_event_that_is_gone_from_a_written_segment_does_not_come_back() -> None:
    buffer = MarkedBuffer()
    buffer.append(pa.table({"ts": [10, 20, 30]}))
    written = buffer.segments()
    held = buffer.take(30)
    assert held is not None
    buffer.mark(held, np.array([GONE, 1, 2], dtype=np.uint8), np.array([0, 7, 8]))
    # Most of the segment is left, so it stays as it was written.
    assert buffer.segments() == written
    restored = MarkedBuffer()
    restored.restore(written, buffer.next_number)
    restored.read_marks(buffer.written_marks())
    for one in (buffer, restored):
        left = one.take(30)
        assert left is not None
        assert left.block.column("ts").to_pylist() == [20, 30]
        assert (left.marks.tolist(), left.numbers.tolist()) == ([1, 2], [7, 8])
        assert one.earliest_after(5) == 20
