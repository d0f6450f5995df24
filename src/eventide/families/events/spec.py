"""What a worker needs to run one event pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from eventide.families.events.program import PatternProgram
from eventide.runtime.block import MAX_US, Layout
from eventide.runtime.encode import Encoding
from eventide.runtime.times import TimeType
from eventide.runtime.windows import Slide


@dataclass(frozen=True, slots=True)
class Returned:
    """One output column: a block column (or `ts`) of the events bound to a symbol.

    `is_array`: a list of all its events, else the value of one, NULL when the match binds none. `end` says which of
    several: "first" or "last". Whole events are structs of `fields`, block columns with the user's names.
    """

    symbol: int
    column: str
    is_array: bool
    end: str = ""
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return f"s{self.symbol}_{self.column}" + (f"_{self.end}" if self.end else "")


@dataclass(frozen=True, slots=True)
class First:
    """Of each partition only the first match is asked for, or of partial matches, that and what continues it.

    The rows of such a spec say which events are bound to which symbols: see `bound_rows`. The search of a partition
    stops after `max_steps`.
    """

    row: str  # the block column with the numbers of the events
    max_steps: int
    partial: bool


@dataclass(frozen=True, slots=True)
class PatternSpec:
    """One pattern query; small and picklable."""

    family: ClassVar[str] = "events"
    query: str  # canonical text: part of the snapshot and of match_id
    layout: Layout
    program: PatternProgram
    window_us: int | None
    time_type: TimeType
    unit_us: int  # the least difference between two times of the time column
    returned: tuple[Returned, ...]
    slide: Slide | None = None
    tie_columns: tuple[str, ...] | None = None  # None: tied events never follow one another
    encodings: tuple[Encoding, ...] = ()
    tests_source: str | None = None
    identity: tuple[str, ...] | None = None  # block columns that tell events apart, when match_id is wanted
    min_length: int = 1
    max_matches: int | None = None  # in one partition
    max_steps: int | None = None
    end_us: int = MAX_US  # how far time has come when the input ends
    facts: tuple[tuple[str, str], ...] = ()  # what else saved state depends on: see plan.facts
    first: First | None = None

    @property
    def reach_us(self) -> int:
        """How far the events of a match may lie apart; with SLIDE its window decides."""
        return MAX_US if self.window_us is None or self.slide is not None else self.window_us

    @property
    def delay_us(self) -> int:
        """How long after an event a match that begins with it may stay undecided; 0 when its last event decides."""
        if not self.program.waits:
            return 0
        return MAX_US if self.window_us is None else (1 + self.program.n_windows) * self.window_us - 1

    @property
    def kept_us(self) -> int:
        """How long an event matters: NOT inside NOT looks one window further in each direction."""
        return MAX_US if self.window_us is None else (1 + 2 * self.program.n_nested) * self.window_us
