"""What operators share: the events they hold between calls, and what of it is saved."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import EventideError, InputError
from eventide.operators.block import MAX_US, MIN_US, TS
from eventide.operators.buffer import EventBuffer
from eventide.operators.changes import changes
from eventide.operators.protocol import Results, Snapshot

SNAPSHOT_VERSION = 1
Facts = tuple[tuple[str, str], ...]


class HoldingOperator:
    """Holds events; a snapshot is a head with the query and the buffer's segments."""

    def __init__(self, query: str, facts: Facts = ()) -> None:
        self._query = query
        self._facts = dict(facts)
        self._buffer = EventBuffer()

    def snapshot(self) -> Snapshot:
        head = {"version": SNAPSHOT_VERSION, "query": self._query, "facts": self._facts, **self._counters()}
        return Snapshot(json.dumps(head | {"next_segment": self._buffer.next_number}).encode(), self._buffer.segments())

    def restore(self, snapshot: Snapshot) -> None:
        head = json.loads(snapshot.head)
        if head.get("version") != SNAPSHOT_VERSION:
            raise EventideError(
                f"the saved state has version {head.get('version')}, this release reads version {SNAPSHOT_VERSION}",
                hint="run the release of Eventide that wrote it, or start with a new checkpoint",
            )
        # The first snapshots knew no facts.
        changed = changes(head["query"], self._query, head.get("facts", self._facts), self._facts)
        if changed:
            raise InputError(
                "\n  ".join(["the saved state belongs to another query:", *changed]),
                hint="go back to the query that the checkpoint belongs to, or start this one with a new checkpoint",
            )
        self._take_counters(head)
        self._buffer.restore(snapshot.segments, head["next_segment"])

    def memory_bytes(self) -> int:
        return self._buffer.memory_bytes()

    def overflows(self) -> int | None:
        return None

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
