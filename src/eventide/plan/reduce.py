"""Whether events are left out because no event of a needed step is near: see `plan.needed` for why that is right.

One read of the input finds the events of the step, and a second one leaves out what is far from them. That pays where
the step is rare and most events are wanted: what is left out is never exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import numpy as np

from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.physical import NeededStep, Physical
from eventide.runtime.block import MASK, TS
from eventide.runtime.costs import cost
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.quoting import quoted

_forced: ContextVar[bool | None] = ContextVar("reducing", default=None)


@contextmanager
def reducing(is_on: bool) -> Iterator[None]:
    """Inside, events are left out wherever that is right, or nowhere: for tests and benchmarks."""
    token = _forced.set(is_on)
    try:
        yield
    finally:
        _forced.reset(token)


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows of the input: how many, and the masks of those that are wanted."""

    n_rows: int
    masks: IntArray


@dataclass(frozen=True, slots=True)
class Reduction:
    """Only events near those of one step are kept."""

    step: NeededStep
    reach_us: int
    reason: str

    def describe(self) -> str:
        """For `explain`."""
        reach = write_length(Length(self.reach_us))
        return f"only events less than about {reach} from one of {self.step.name} are kept: {self.reason}"

    def told(self, n_events: int) -> str:
        """The same after the events of the step were counted."""
        return f"events near {n_events:,} of {self.step.name}"


def is_possible(physical: Physical) -> bool:
    """Whether a sample should be looked at."""
    return physical.needed is not None and _forced.get() is not False


def is_asked_for() -> bool:
    """Whether costs do not matter."""
    return _forced.get() is True


def reduce_by(physical: Physical, sample: Sample) -> Reduction | None:
    """The step near whose events others are kept; None where it would not pay."""
    if physical.needed is None or _forced.get() is False:
        return None
    n_wanted = sample.masks.size
    counts = [int(np.count_nonzero(sample.masks & step.bit)) for step in physical.needed.steps]
    rarest = int(np.argmin(counts))
    step, share = physical.needed.steps[rarest], counts[rarest] / max(1, n_wanted)
    if is_asked_for():
        return Reduction(step, physical.needed.reach_us, "asked for")
    if n_wanted < cost("least_wanted") * max(1, sample.n_rows) or share > cost("most_rare"):
        return None
    return Reduction(step, physical.needed.reach_us, f"{share:.1%} of a sample's wanted events are some of {step.name}")


def of_step(physical: Physical, step: NeededStep) -> Physical:
    """The plan whose blocks are the events of one step: their partition, their time and their mask."""
    names = [*physical.intake.layout.partition, TS, MASK]
    select = tuple(column for column in physical.select if column.name in names)
    texts = [column.duckdb or "" for column in select]
    return replace(
        physical,
        select=select,
        reads=tuple(name for name in physical.reads if any(quoted(name) in text for text in texts)),
        intake=replace(physical.intake, keep_all=False),
        wanted=step.wanted,
        takes_codes=False,
    )
