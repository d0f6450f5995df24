"""What a worker needs to run one MATCH_RECOGNIZE: small, frozen and picklable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from eventide.families.rows.program import START, Program
from eventide.runtime.block import MAX_US, Layout
from eventide.runtime.computed import Computed
from eventide.runtime.encode import Encoding
from eventide.runtime.measured import Folded, Listed, Picked, RowOrder
from eventide.runtime.times import TimeType


@dataclass(frozen=True, slots=True)
class Interpreted:
    """A condition of a label that no compiled code can hold: a measure of the match so far, `holds`."""

    label: int
    picked: tuple[Picked, ...]
    folded: tuple[Folded, ...]
    listed: tuple[Listed, ...]
    computed: tuple[Computed, ...]
    holds: Computed


@dataclass(frozen=True, slots=True)
class RowsSpec:
    """One MATCH_RECOGNIZE over blocks of a layout."""

    family: ClassVar[str] = "rows"
    query: str
    layout: Layout
    program: Program
    order: tuple[RowOrder, ...]
    tie_columns: tuple[str, ...]  # tell rows with equal keys apart
    mask_columns: tuple[str, ...]
    bits: tuple[int, ...]  # per label: its bit in the masks, -1: any row
    nears: tuple[int, ...]  # per label: its number among the conditions on neighbouring rows, -1: none
    tested: tuple[bool, ...]  # per label: whether `holds` decides, too
    depends_on_path: tuple[bool, ...]  # per label: whether its condition looks at the labels of other rows
    depends_on_start: bool  # whether a condition looks at where the match began
    time_type: TimeType
    window_us: int | None
    rows: str  # "one", "all", "all omit empty" or "all with unmatched"
    skip: str  # "past last", "next", "first" or "last"
    skip_members: tuple[int, ...]
    skip_label: str
    returned: tuple[str, ...]  # block columns of the row itself, for ALL ROWS PER MATCH
    picked: tuple[Picked, ...]
    folded: tuple[Folded, ...]
    listed: tuple[Listed, ...]
    encodings: tuple[Encoding, ...] = ()
    tests_source: str | None = None  # a module with `holds` and `fold`
    near_source: str | None = None
    n_folds: tuple[int, int, int] = (0, 0, 0)  # rows of integers, of doubles, of counts
    back: int = 0  # how many rows before a match PREV may reach
    ahead: int = 0  # how many rows behind a match NEXT may reach
    shows_number: bool = False  # whether MATCH_NUMBER() stands anywhere
    ttl_us: int | None = None  # a gap of this length ends a partition, and no match is longer
    interpreted: tuple[Interpreted, ...] = ()
    hashed: tuple[str, ...] | None = None  # block columns that tell rows apart, when match_id is wanted
    max_steps: int | None = None  # of the search in one partition
    facts: tuple[tuple[str, str], ...] = ()  # what else saved state depends on: see plan.facts

    @property
    def span_us(self) -> int:
        """All rows of a match are less than this apart."""
        return min(MAX_US if span is None else span for span in (self.window_us, self.ttl_us))

    @property
    def is_timed(self) -> bool:
        return self.window_us is not None or self.ttl_us is not None

    @property
    def n_kept(self) -> int:
        """How many rows before the next attempt matter: for PREV, and to tell that the partition has begun."""
        asks_begin = any(op == START for op, _, _ in self.program.instructions)
        return max(self.back, int(self.shows_number or asks_begin))
