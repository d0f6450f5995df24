"""What a worker needs to relate intervals; and the block's columns that only intervals have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from eventide.runtime.block import Layout
from eventide.runtime.times import TimeType

RELATION = "relation"
COMPOSITE_START = "composite_start"
COMPOSITE_END = "detected_at"  # the result's event time on a stream
LAST_END = "composite_end"  # where the event time is another


@dataclass(frozen=True, slots=True)
class AllenSpec:
    """Pairs of a left and a right interval; small and picklable."""

    family: ClassVar[str] = "allen"
    query: str  # canonical text: part of the snapshot
    layout: Layout
    relations: int  # bits of `kernels.relations`
    names: tuple[str, ...]  # of all relations, by bit
    window_us: int | None
    time_type: TimeType
    left: tuple[str, ...]  # block columns of the left side, in the result as l0, l1, ...
    right: tuple[str, ...]
    following: int = 0  # bits of sides that an operator of the same query derives: none of them comes too late
    lag_us: int = 0  # how long after its end an interval of such a side may come
    facts: tuple[tuple[str, str], ...] = ()  # what else saved state depends on: see plan.facts
