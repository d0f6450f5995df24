"""Less in place of events, wherever some of them are: what operators take besides events, and when it is worth it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from eventide.runtime.costs import cost


@dataclass(frozen=True, slots=True)
class Combining:
    """Blocks that stand for any events: the operator takes them in place of the events, or beside other events.

    A `Combiner` of a slice needs all events of some times; here any events will do, so nothing has to be sliced.
    """

    what: str  # they hold, for `explain`
    combine: Callable[[pa.Table], pa.Table]


class Smaller:
    """For a task: blocks in place of its events, as long as that makes them smaller. The first block decides."""

    def __init__(self, combining: Combining | None) -> None:
        self._combine = None if combining is None else combining.combine
        self._is_tried = False

    def __call__(self, block: pa.Table) -> pa.Table:
        """What is sent on of a block."""
        if self._combine is None or not block.num_rows:
            return block
        made = self._combine(block)
        if not self._is_tried and made.nbytes > cost("most_combined") * block.nbytes:
            self._combine = None
            return block
        self._is_tried = True
        return made
