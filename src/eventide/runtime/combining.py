"""Less in place of events, wherever some of them are: what operators take besides events, and when it is worth it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Combining:
    """Blocks that stand for any events: the operator takes them in place of the events, or beside other events.

    A `Combiner` of a slice needs all events of some times; here any events will do, so nothing has to be sliced.
    """

    what: str  # they hold, for `explain`
    combine: Callable[[pa.Table], pa.Table]


class Smaller:
    """For a task: blocks in place of its events, if that makes them smaller. The first block decides.

    `most` is the cost "most_combined".
    """

    def __init__(self, combining: Combining | None, most: float) -> None:
        self._combine, self._most = None if combining is None else combining.combine, most
        self._is_tried = False

    def __call__(self, block: pa.Table) -> pa.Table:
        """What is sent on of a block."""
        if self._combine is None or not block.num_rows:
            return block
        made = self._combine(block)
        if not self._is_tried and made.nbytes > self._most * block.nbytes:
            self._combine = None
            return block
        self._is_tried = True
        return made
