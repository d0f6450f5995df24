"""Slices of time for operators whose matches are made of the events themselves: which, where, and what they decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pyarrow as pa

from eventide.operators.borders import Beginnings, Border, Reach, between, find_border
from eventide.operators.look_back import Slice, look_back_us, run_slice, slices
from eventide.operators.protocol import Operator, Results

if TYPE_CHECKING:
    from eventide.operators.detection.operator import DetectionOperator
    from eventide.operators.rows.operator import RowsOperator

Part: TypeAlias = Slice | Beginnings
Read: TypeAlias = Callable[[int, int], pa.Table]

AROUND = 3  # windows before a bound, and behind it, that are looked at for a border


def overlap_us(spec: object) -> int | None:
    """How much time slices have in common, or need at a border; None where there are none."""
    reach = _reach(spec)
    return look_back_us(spec) if reach is None else 2 * AROUND * reach.window_us


def make_parts(spec: object, bounds: Sequence[int], read: Read) -> list[Part]:
    """All time, cut at the bounds or close behind them; `read` returns the events from an instant up to another.

    Fewer slices where a bound has no border behind it.
    """
    reach, back_us = _reach(spec), look_back_us(spec)
    if reach is not None:
        found = (_border(spec, reach, bound, read) for bound in bounds)
        return list(between(list(dict.fromkeys(border for border in found if border is not None))))
    assert back_us is not None
    return list(slices(bounds, back_us))


def around(spec: object, bound_us: int) -> tuple[int, int] | None:
    """From when up to when `make_parts` reads the events for a bound; None: it reads none."""
    reach = _reach(spec)
    return None if reach is None else _around(reach, bound_us)


def run_part(operator: Operator, block: pa.Table, part: Part) -> Results:
    """What a slice decides; `block` holds the events that its cut leaves."""
    if isinstance(part, Slice):
        yield from run_slice(operator, block, part)
    elif block.num_rows:
        yield from cast("RowsOperator | DetectionOperator", operator).run_beginnings(block, part)


def _attempts(spec: object) -> Any:
    """What knows how far attempts at a match reach; None for other specs. It loads by name, as in `factory`."""
    folder = {"RowsSpec": "rows", "DetectionSpec": "detection"}.get(type(spec).__name__)
    return None if folder is None else import_module(f"eventide.operators.{folder}.attempts")


def _reach(spec: object) -> Reach | None:
    attempts = _attempts(spec)
    reach: Reach | None = None if attempts is None else attempts.reach_of(spec)
    return reach


def _around(reach: Reach, bound_us: int) -> tuple[int, int]:
    return bound_us - AROUND * reach.window_us, bound_us + AROUND * reach.window_us


def _border(spec: object, reach: Reach, bound_us: int, read: Read) -> Border | None:
    from_us, until_us = _around(reach, bound_us)
    block = read(from_us, until_us)
    if not block.num_rows:
        return None
    found = _attempts(spec).next_rows(spec, block, until_us)
    return None if found is None else find_border(found, bound_us, reach)
