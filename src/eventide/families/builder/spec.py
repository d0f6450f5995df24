"""What a worker needs to run one builder pattern: small, frozen and picklable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from eventide.families.builder.program import Program
from eventide.runtime.block import MAX_US, Layout
from eventide.runtime.encode import Encoding
from eventide.runtime.measured import Folded, Listed, Picked, RowOrder
from eventide.runtime.times import TimeType

MATCH_ID, MATCH_START, MATCH_END, TIMED_OUT, LAST_STEP = (
    "match_id",
    "match_start",
    "match_end",
    "timed_out",
    "last_step",
)


@dataclass(frozen=True, slots=True)
class DetectionSpec:
    """One pattern over blocks of a layout; the result has the events of each step, or measures."""

    family: ClassVar[str] = "builder"
    hashed: ClassVar[tuple[str, ...] | None] = None  # ids are made of the events of each step, not of rows
    query: str
    layout: Layout
    program: Program
    order: tuple[RowOrder, ...]
    tie_columns: tuple[str, ...]  # tell rows with equal keys apart
    mask_columns: tuple[str, ...]
    tests: tuple[tuple[int, bool], ...]  # per condition: its bit in the masks, -1: none; whether `holds` decides, too
    time_type: TimeType | None  # None: events have an order, and no time
    end_column: str  # the block column that match_start and match_end show, where there is no time
    window_us: int | None
    gap_us: int | None
    end_us: int  # how far time has come when the input ends
    skip: str  # "no_skip", "next", "past_last", "to_first" or "to_last"; "only_first" of each partition
    skip_step: int
    identity: tuple[str, ...]  # block columns that tell events apart
    shown: tuple[
        tuple[str, str], ...
    ]  # the events of a step: block column and the user's name for it; () with measures
    picked: tuple[Picked, ...] = ()
    folded: tuple[Folded, ...] = ()
    listed: tuple[Listed, ...] = ()
    encodings: tuple[Encoding, ...] = ()
    holds_source: str | None = None
    carry_source: str | None = None
    n_carried: tuple[int, int, int, int] = (0, 0, 0, 0)  # rows of last events, of integers, of doubles, of counts
    max_matches: int | None = None  # in one partition
    max_steps: int | None = None
    rows: str = "one"
    returned: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()  # what else saved state depends on: see plan.facts

    @property
    def is_timed(self) -> bool:
        return self.window_us is not None or self.gap_us is not None

    @property
    def spans_us(self) -> tuple[int, int]:
        """The window and the gap; what is not bounded never ends."""
        return MAX_US if self.window_us is None else self.window_us, MAX_US if self.gap_us is None else self.gap_us
