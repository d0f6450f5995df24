"""What the end of bounded input leaves open: a plan that asks for the latest time of the input is given it here.

Time has come as far then as on a stream whose watermark has reached the latest event of all partitions. Without such a
time, as with `close_at_end`, all time is over.
"""

from __future__ import annotations

from dataclasses import replace

from eventide.families.registry import family_of
from eventide.plan.physical import Physical


def at_the_end(closes: bool) -> str:
    """What `explain` says of what is open when the input ends."""
    return "all time is over: close_at_end" if closes else "what is still open when the input ends is not returned"


def with_end(physical: Physical, end_us: int) -> Physical:
    """The same plan, with time that has come so far when the input ends."""
    return replace(physical, spec=family_of(physical.spec).with_end(physical.spec, end_us), needs_end=False)


def with_origin(physical: Physical, origin_us: int) -> Physical:
    """The same plan with its windows aligned to another instant."""
    return replace(physical, spec=family_of(physical.spec).with_origin(physical.spec, origin_us))
