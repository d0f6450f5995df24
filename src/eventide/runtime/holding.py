"""What operators share: the events they hold between calls, and what of it is saved."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eventide.runtime.block import MAX_US, MIN_US, TS, from_bytes, to_bytes
from eventide.runtime.buffer import EventBuffer
from eventide.runtime.changes import check_same
from eventide.runtime.protocol import Results, Snapshot
from eventide.runtime.sealed import Digests, damaged, make_snapshot, open_snapshot

Facts = tuple[tuple[str, str], ...]


class HoldingOperator:
    """Holds events; a snapshot is a head with the query and the buffer's segments."""

    def __init__(self, query: str, facts: Facts = ()) -> None:
        self._query = query
        self._facts = dict(facts)
        self._buffer = EventBuffer()
        self._digests: Digests = {}  # of the segments that a snapshot has
        self._written: dict[int, bytes] = {}  # tables that are segments of their own

    def snapshot(self) -> Snapshot:
        segments = self._segments()
        self._written = {number: data for number, data in self._written.items() if number in segments}
        head = {"query": self._query, "facts": self._facts, **self._counters()}
        head["next_segment"] = self._buffer.next_number
        made, self._digests = make_snapshot(head, segments, self._digests)
        return made

    def restore(self, snapshot: Snapshot) -> None:
        head, self._digests = open_snapshot(snapshot)
        check_same("the saved state", head["query"], self._query, head["facts"], self._facts)
        try:
            self._take_counters(head)
            self._take_segments(dict(snapshot.segments), head)
        except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
            # The bytes are those that were written, so this release reads them otherwise than that one wrote them.
            raise damaged(snapshot.place, f"it cannot be read: {type(error).__name__}: {error}") from error

    def memory_bytes(self) -> int:
        return self._buffer.memory_bytes()

    def overflows(self) -> int | None:
        return None

    def _segments(self) -> dict[int, bytes]:
        """All segments by number."""
        return self._buffer.segments()

    def _take_segments(self, segments: dict[int, bytes], head: dict[str, Any]) -> None:
        """Take over what `_segments` gave, after the counters."""
        self._buffer.restore(segments, head["next_segment"])

    def _write_once(self, number: int, table: pa.Table) -> bytes:
        """A table that is a segment of its own: what a number was first written as, it stays."""
        if number not in self._written:
            self._written[number] = to_bytes(table)
        return self._written[number]

    def _read_written(self, number: int, data: bytes) -> pa.Table:
        """What `_write_once` gave."""
        self._written[number] = data
        return from_bytes(data)

    def _counters(self) -> dict[str, Any]:
        """What the head says besides the query."""
        return {}

    def _take_counters(self, head: dict[str, Any]) -> None:
        """Take over what `_counters` gave."""


class WatermarkOperator(HoldingOperator):
    """Decides up to the watermark, and drops and counts what comes after it."""

    def __init__(self, query: str, facts: Facts = (), end_us: int = MAX_US) -> None:
        super().__init__(query, facts)
        self._watermark_us = MIN_US
        self.end_us = end_us  # how far time has come when the input ends
        self._n_late = 0

    def finish(self) -> Results:
        """What time decides that has come to the end of the input: by default, all time is over."""
        yield from self._advance(self.end_us)
        self._buffer.clear()

    def late_events(self) -> int:
        return self._n_late

    def look_back(self, block: pa.Table, watermark_us: int) -> None:
        """Begin at a watermark with the events before it, as if what they decide had been returned."""
        self._buffer.append(block)
        self._watermark_us = watermark_us

    def _advance(self, watermark_us: int) -> Results:
        """What a watermark decides that is later than all before it."""
        raise NotImplementedError

    def _counters(self) -> dict[str, Any]:
        return {"watermark_us": self._watermark_us, "late": self._n_late}

    def _take_counters(self, head: dict[str, Any]) -> None:
        self._watermark_us = head["watermark_us"]
        self._n_late = head["late"]

    def _without_late(self, block: pa.Table) -> pa.Table:
        if self._watermark_us == MIN_US or (block.num_rows and pc.min(block.column(TS)).as_py() > self._watermark_us):
            return block
        in_time = block.filter(pc.greater(block.column(TS), self._watermark_us))
        self._n_late += block.num_rows - in_time.num_rows
        return in_time
