"""What an operator remembers of partitions beside its events: a table, which is a segment of its own."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from eventide.runtime.holding import WatermarkOperator


class KnowingOperator(WatermarkOperator):
    """Saves the table of what is known where the table has changed."""

    _known: pa.Table | None = None
    _known_number = -1

    def _know(self, known: pa.Table | None) -> None:
        self._known, self._known_number = known, self._buffer.take_number()

    def memory_bytes(self) -> int:
        return super().memory_bytes() + (self._known.nbytes if self._known is not None else 0)

    def _segments(self) -> dict[int, bytes]:
        held = super()._segments()
        if self._known is None or not self._known.num_rows:
            return held
        return {**held, self._known_number: self._write_once(self._known_number, self._known)}

    def _take_segments(self, segments: dict[int, bytes], head: dict[str, Any]) -> None:
        if self._known_number in segments:
            self._known = self._read_written(self._known_number, segments.pop(self._known_number))
        super()._take_segments(segments, head)

    def _counters(self) -> dict[str, Any]:
        return {**super()._counters(), "known": self._known_number}

    def _take_counters(self, head: dict[str, Any]) -> None:
        super()._take_counters(head)
        self._known_number = head["known"]
