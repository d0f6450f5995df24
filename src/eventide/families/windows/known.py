"""What an operator of windows remembers of groups beside its panes: a table, which is a segment of its own."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from eventide.families.windows.operator import WindowOperator
from eventide.families.windows.spec import WindowSpec


class KnowingOperator(WindowOperator):
    """Saves the table of known groups where it has changed."""

    def __init__(self, spec: WindowSpec, n_threads: int = 1) -> None:
        super().__init__(spec, n_threads)
        self._known: pa.Table | None = None
        self._known_number = -1

    def _know(self, known: pa.Table | None) -> None:
        self._known, self._known_number = known, self._buffer.take_number()

    def _segments(self) -> dict[int, bytes]:
        number, known = self._known_number, self._known
        return super()._segments() | ({} if known is None else {number: self._write_once(number, known)})

    def _take_segments(self, segments: dict[int, bytes], head: dict[str, Any]) -> None:
        if self._known_number in segments:
            self._known = self._read_written(self._known_number, segments.pop(self._known_number))
        super()._take_segments(segments, head)

    def _counters(self) -> dict[str, Any]:
        return {**super()._counters(), "known": self._known_number}

    def _take_counters(self, head: dict[str, Any]) -> None:
        super()._take_counters(head)
        self._known_number = head["known"]
