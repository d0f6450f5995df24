"""Slices of time for operators whose matches are made of the events themselves: which, where, and what they decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa

from eventide.families.registry import family_of
from eventide.runtime.borders import Beginnings, Border, Reach, RunsBeginnings, between, find_border
from eventide.runtime.look_back import Slice, run_slice, slices
from eventide.runtime.protocol import Operator, Results, Spec

Part: TypeAlias = Slice | Beginnings
Read: TypeAlias = Callable[[int, int], pa.Table]

AROUND = 3  # windows before a bound, and behind it, that are looked at for a border


def overlap_us(spec: Spec) -> int | None:
    """How much time slices have in common, or need at a border; None where there are none."""
    family = family_of(spec)
    reach = family.reach(spec)
    return family.look_back_us(spec) if reach is None else 2 * AROUND * reach.window_us


def make_parts(spec: Spec, bounds: Sequence[int], read: Read) -> list[Part]:
    """All time, cut at the bounds or close behind them; `read` returns the events from an instant up to another.

    Fewer slices where a bound has no border behind it.
    """
    family = family_of(spec)
    reach, back_us = family.reach(spec), family.look_back_us(spec)
    if reach is not None:
        found = (_border(spec, reach, bound, read) for bound in bounds)
        return list(between(list(dict.fromkeys(border for border in found if border is not None))))
    assert back_us is not None
    return list(slices(bounds, back_us))


def around(spec: Spec, bound_us: int) -> tuple[int, int] | None:
    """From when up to when `make_parts` reads the events for a bound; None: it reads none."""
    reach = family_of(spec).reach(spec)
    return None if reach is None else _around(reach, bound_us)


def run_part(operator: Operator, block: pa.Table, part: Part) -> Results:
    """What a slice decides; `block` holds the events that its cut leaves."""
    if isinstance(part, Slice):
        yield from run_slice(operator, block, part)
    elif block.num_rows:
        assert isinstance(operator, RunsBeginnings)
        yield from operator.run_beginnings(block, part)


def _around(reach: Reach, bound_us: int) -> tuple[int, int]:
    return bound_us - AROUND * reach.window_us, bound_us + AROUND * reach.window_us


def _border(spec: Spec, reach: Reach, bound_us: int, read: Read) -> Border | None:
    from_us, until_us = _around(reach, bound_us)
    block = read(from_us, until_us)
    if not block.num_rows:
        return None
    found = family_of(spec).next_rows(spec, block, until_us)
    return None if found is None else find_border(found, bound_us, reach)
