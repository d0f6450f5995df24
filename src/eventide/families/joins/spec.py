"""What a worker needs to join two inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from eventide.runtime.block import MAX_US, Layout
from eventide.runtime.encode import Encoding
from eventide.runtime.times import TimeType

CAN_MATCH: Final = 4  # a bit of the mask: a left row that may have partners, where others come out, too
DETECTED_AT = "detected_at"
LONGEST_US: Final = 2**61  # a window that is longer is none: a time and a window together stay within int64
EVER_US: Final = 2**62 - 1  # how far a row looks without a window


@dataclass(frozen=True, slots=True)
class JoinSpec:
    """Left and right rows whose times differ by `low_us` to `high_us`, right minus left; small and picklable."""

    family: ClassVar[str] = "joins"
    query: str  # canonical text: part of the snapshot
    layout: Layout
    kind: str  # "inner", "left", "semi" or "anti"
    asof: str | None  # "backward", "forward" or "nearest"
    all_ties: bool
    low_us: int
    high_us: int
    wait_us: int  # how long after a left row it is certain that it has no partner
    time_type: TimeType
    left: tuple[str, ...]  # block columns of the left row, in the result as left_p0, left_c3, ...
    right: tuple[str, ...]
    tie_rule: int = 0  # of tied rows by their sequence: 1 the right one comes after, -1 before; 0: all of them
    tie_columns: tuple[str, ...] = ()  # the order of tied right rows, where one of them is taken
    encodings: tuple[Encoding, ...] = ()
    tests_source: str | None = None
    end_us: int = MAX_US
    following: int = 0  # bits of sides that an operator of the same query derives: none of them comes too late
    lag_us: int = 0  # how long after its time a row of such a side may come
    facts: tuple[tuple[str, str], ...] = ()  # what else saved state depends on: see plan.facts

    @property
    def is_bounded(self) -> bool:
        return max(-self.low_us, self.high_us, self.wait_us) < LONGEST_US

    @property
    def ends(self) -> bool:
        """Whether a left row waits for partners for some time only."""
        return self.wait_us < LONGEST_US

    @property
    def keeps_alone(self) -> bool:
        """Whether a left row without a partner comes out."""
        return self.kind in ("left", "anti")

    @property
    def waits(self) -> bool:
        """Whether time alone may decide about a left row."""
        return self.keeps_alone or self.asof == "nearest"

    @property
    def keep_us(self) -> int:
        """How long a row matters that the watermark has passed."""
        furthest = max(self.high_us, -self.low_us, 0)
        if self.kind == "inner" and self.asof is None:
            return furthest
        # Whether a left row is decided follows from all rows in its reach, as long as it is held itself.
        return max(furthest, self.wait_us) + max(-self.low_us, 0)
