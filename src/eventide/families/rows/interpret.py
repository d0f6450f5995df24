"""Conditions that no compiled code can hold: the matcher runs as plain Python and asks the engine for each row.

Right, and slow: about a millisecond for each row that is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np
import pyarrow as pa

from eventide.families.rows import kernel_places as places
from eventide.families.rows.spec import Interpreted, RowsSpec
from eventide.runtime.computed import Compute
from eventide.runtime.kernels.arrays import IndexArray, IntArray
from eventide.runtime.measures import Found, Measures
from eventide.runtime.row_order import OrderedRows


def as_python(kernel: Callable[..., int]) -> Callable[..., int]:
    """A kernel as plain Python, with the functions of its module that the kernel calls."""
    function = getattr(kernel, "py_func", kernel)
    names = dict(function.__globals__)
    for name, value in function.__globals__.items():
        inner = getattr(value, "py_func", None)
        if inner is not None and inner.__module__ == function.__module__:
            names[name] = FunctionType(inner.__code__, names)
    made: Callable[..., int] = names[function.__name__]
    return made


def interpreted_test(
    compiled: Callable[..., bool], spec: RowsSpec, block: pa.Table, ordered: OrderedRows, compute: Compute
) -> Callable[..., bool]:
    """The matcher's test with the interpreted conditions tested, too."""
    conditions: dict[int, list[_Condition]] = {}
    for item in spec.interpreted:
        conditions.setdefault(item.label, []).append(_Condition(item, spec, block, ordered, compute))

    def holds(label: int, row: int, span: IntArray, labels: IndexArray, *rest: Any) -> bool:
        if not compiled(label, row, span, labels, *rest):
            return False
        return all(condition.holds(row, span, labels) for condition in conditions.get(int(label), ()))

    return holds


class _Condition:
    """One condition, as a measure of the match so far."""

    def __init__(
        self, item: Interpreted, spec: RowsSpec, block: pa.Table, ordered: OrderedRows, compute: Compute
    ) -> None:
        shown = replace(spec, picked=item.picked, folded=item.folded, listed=item.listed, returned=(), rows="all")
        self._item = item
        self._measures = Measures(shown, block, ordered)
        self._compute = compute

    def holds(self, row: int, span: IntArray, labels: IndexArray) -> bool:
        start = int(span[places.FIRST_ROW])
        depth = int(row) - start
        found = Found(
            first=np.array([start]),
            number=span[places.MATCH_NUMBER : places.MATCH_NUMBER + 1].copy(),
            begin=np.zeros(1, np.int64),
            length=np.array([depth + 1]),
            low=span[places.LOW : places.LOW + 1].copy(),
            high=span[places.HIGH : places.HIGH + 1].copy(),
            labels=labels[: depth + 1].copy(),
            excluded=np.zeros(depth + 1, np.bool_),
        )
        rows = self._measures.at(found, np.zeros(1, np.int64), np.array([depth]), np.array([int(row)]))
        made = self._compute(self._compute(rows, self._item.computed), [self._item.holds])
        return made.column("holds")[0].as_py() is True
