"""What every match of an event pattern holds, and how near to it an event must lie to matter.

A step that every match has an event for is *needed*. With WITHIN, whatever decides about a match lies near that event:
the events of the match, those that a NOT looks for, and those between, which `next` and `contiguous` pass over. So an
event with no event of a needed step near it can be left out, and the matches stay the same:

- A match of all events keeps its events, and all that decided about it.
- A match of what is left has an event of the needed step, near which nothing was left out. So it is one of all events.

The second line is why the order of events, the strategy and the place of a NOT do not matter. It asks that all events
near the needed one are kept: where `contiguous` reads events that no step wants, these too. Windows that count events
reach however far, so they need nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from eventide.lang.durations import write_length
from eventide.lang.tree import And, Length, Not, Or, Pattern, Repeat, Seq, Step
from eventide.plan.logical import Match
from eventide.plan.physical import Comparison, Needed, NeededStep, Physical, Wanted
from eventide.runtime.block import MASK, MAX_US, MIN_US
from eventide.runtime.times import UNIT_US, TimeType

_DAY_US = 86_400_000_000


def needed_symbols(pattern: Pattern) -> frozenset[str]:
    """The symbols that every match binds an event to.

    >>> from eventide.lang import parse
    >>> sorted(needed_symbols(parse("PATTERN SEQ(A a, NOT B b, OR(C c, D d), E e*, F f+)").pattern))
    ['a', 'f']
    """
    match pattern:
        case Step():
            return frozenset([pattern.symbol])
        case Not():
            return frozenset()
        case Repeat():
            return needed_symbols(pattern.part) if pattern.minimum else frozenset()
        case Seq() | And():
            return frozenset().union(*map(needed_symbols, pattern.parts))
        case Or():
            return frozenset.intersection(*map(needed_symbols, pattern.parts))


def needed_of(plan: Match, steps: Sequence[Step], wanted: Sequence[Wanted], reach_us: int) -> Needed | None:
    """For a plan whose mask has a bit for each step, as `wanted` has a filter. None where no step is needed."""
    window = plan.query.window
    if window is None or window.length.in_events:
        return None
    symbols = needed_symbols(plan.pattern)
    found = tuple(NeededStep(step.symbol, 1 << k, wanted[k]) for k, step in enumerate(steps) if step.symbol in symbols)
    if not found:
        return None
    first_us, last_us = MIN_US, MAX_US
    for each in found:
        from_us, until_us = _range(each.wanted.steps[0], plan.ts, plan.time_type)
        first_us = max(first_us, from_us - reach_us + 1 if from_us != MIN_US else MIN_US)
        last_us = min(last_us, until_us + reach_us - 1 if until_us != MAX_US else MAX_US)
    return Needed(found, reach_us, first_us, last_us)


def range_lines(needed: Needed | None, time_type: TimeType) -> list[str]:
    """For `explain`: which events need not be read."""
    ends = [] if needed is None else [("before", needed.first_us), ("after", needed.last_us)]
    told = [f"{word} {_written(at_us, time_type)}" for word, at_us in ends if at_us not in (MIN_US, MAX_US)]
    return [f"time range  events {' and '.join(told)} are in no match, and need not be read"] if told else []


def near_text(physical: Physical) -> str:
    """For `explain`: which events Spark need not exchange, whatever a sample will tell."""
    (n_bits,) = [column.n_bits for column in physical.select if column.name == MASK] or [0]
    if physical.needed is None or n_bits < 2:
        return ""
    names, reach = (
        " or ".join(step.name for step in physical.needed.steps),
        write_length(Length(physical.needed.reach_us)),
    )
    return f"; where {names} is rare in many events, only those about {reach} from it are exchanged"


def _written(at_us: int, time_type: TimeType) -> str:
    return str(time_type.restore(np.array([at_us]))[0].as_py())


def _range(step: Sequence[Comparison], ts: str, time_type: TimeType) -> tuple[int, int]:
    """The first and the last instant that conditions on the time leave a step; both may be a little outside."""
    first_us, last_us = MIN_US, MAX_US
    for each in step:
        if each.column != ts:
            continue
        found = [_instant_us(value, each.dtype, time_type) for value in each.values]
        instants = [at_us for at_us in found if at_us is not None]
        if len(instants) < len(found):
            continue
        if each.op in ("gt", "ge", "eq", "in"):
            first_us = max(first_us, min(instants))
        if each.op in ("lt", "le", "eq", "in"):
            last_us = min(last_us, max(instants))
    return first_us, last_us


def _instant_us(value: object, dtype: pa.DataType, time_type: TimeType) -> int | None:
    """The instant of a literal that the time column is compared with; None where it is none, or far away."""
    if not isinstance(value, int):
        return None
    if time_type.unit is not None:
        at_us = value * UNIT_US[time_type.unit] if pa.types.is_integer(dtype) else None
    elif pa.types.is_timestamp(dtype):
        at_us = value
    else:
        at_us = value * _DAY_US if pa.types.is_date(dtype) else None
    return at_us if at_us is not None and MIN_US // 2 < at_us < MAX_US // 2 else None
