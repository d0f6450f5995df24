"""What an engine may ask of an operator. The same operator object runs in every engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field
from typing import Any, ClassVar, Protocol, TypeAlias

import pyarrow as pa

from eventide.runtime.block import Layout

Results: TypeAlias = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State between two calls: a small head, and segments of events.

    A segment never changes once it has a number, so an engine writes only numbers it has not seen and removes
    those that are gone: bytes written follow the events that arrive, not the state. `place` is whose state it is, for
    messages: "bucket 3".
    """

    head: bytes
    segments: Mapping[int, bytes] = field(default_factory=dict)
    place: str = ""


class Spec(Protocol):
    """What a worker needs to run one query: small, frozen and picklable. Each family adds what its operator reads."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    family: ClassVar[str]  # the name of the family that knows what to do with it

    def __hash__(self) -> int: ...

    @property
    def query(self) -> str:
        """The canonical text: part of the snapshot and of match_id."""

    @property
    def layout(self) -> Layout:
        """The columns of the blocks."""

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What else saved state depends on: see `plan.facts`."""


class Operator(Protocol):
    """An incremental operator over blocks.

    An engine calls `process` for each block, in any order of events inside the block, with a watermark that
    never falls; then `finish` once if the input is bounded. Results are read to the end before the next call.
    """

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        """Take the block's events and return what is decided by events up to the watermark."""

    def finish(self) -> Results:
        """Return what the end of bounded input decides. Called once, last."""

    def snapshot(self) -> Snapshot:
        """The state between calls; restoring it in a new operator of the same spec continues exactly."""

    def restore(self, snapshot: Snapshot) -> None:
        """Take over a snapshot. Called at most once, before anything else."""

    def memory_bytes(self) -> int:
        """Bytes of events and arrays held between calls."""

    def late_events(self) -> int:
        """How many events came after the watermark had passed them, and were dropped."""

    def overflows(self) -> int | None:
        """How many aggregates left their range and are NULL; None where no aggregate can."""

    def open_runs(self) -> int:
        """How much has begun and is not decided: partial matches, open windows or open situations.

        Each operator says what it counts; an operator that keeps events in place of partial matches counts those that
        may still begin one.
        """

    def pending_us(self) -> int | None:
        """The earliest time at which a watermark would decide something more; None when nothing waits."""


class Combiner(Protocol):
    """Makes what an operator takes in place of events, and less of it, wherever the events are."""

    def combine(self, block: pa.Table, shared: Sequence[tuple[int, int]] = ()) -> list[pa.Table]:
        """Blocks that stand for a block's events, which must be all events of their times.

        `shared` are the times, first and last, of which it need not hold all events: there they stay events.
        """

    def frequent_share(self, block: pa.Table) -> float:
        """The share of a block's events that something smaller would stand for."""
