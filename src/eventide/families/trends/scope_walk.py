"""Scopes walked one by one: what every walk reads, and how scopes are shared out over threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from eventide.families.trends.batches import Batches
from eventide.families.trends.compiled import Kernel
from eventide.families.trends.inputs import Inputs
from eventide.families.trends.letters import Letters
from eventide.families.trends.records import new_records
from eventide.families.trends.tables import Tables
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.threads import share_among_threads


@dataclass(frozen=True, slots=True)
class ScopeWalk:
    """Scopes as ranges of rows, and by row its letter, what it adds to the aggregates, what its tests read."""

    scopes: IntArray
    letters: Letters
    tables: Tables
    inputs: Inputs
    values: Any
    cols: Any

    def sizes(self, n_classes: int) -> IntArray:
        """The classes, weights, sums and extremes of a record."""
        inputs = self.inputs
        return np.array([n_classes, len(inputs.weights), len(inputs.sums), len(inputs.extremes)])

    def share_out(
        self, kernel: Kernel, n_threads: int, batches: Batches, run: Callable[[int, int, Any], None]
    ) -> tuple[Any, Any]:
        """The records of all scopes, by role, and whether each is ambiguous; `run` fills in those of some batches."""
        n_sets, sizes = self.tables.verdicts[0].shape[0], self.sizes(1)
        n_scopes = len(batches.scopes)
        widths = (1, *sizes[1:].tolist())
        out = new_records(kernel, n_scopes * n_sets, sizes)
        ambiguous = np.zeros(n_scopes * n_sets, dtype=np.bool_)

        def fill(share: tuple[int, int]) -> None:
            first, stop = (int(batches.borders[each]) * n_sets for each in share)
            part = tuple(array[first * width : stop * width] for array, width in zip(out, widths, strict=True))
            with np.errstate(all="ignore"):
                run(*share, (part, ambiguous[first:stop]))

        share_among_threads(fill, _shares(batches.rows, n_threads))
        if n_scopes < len(self.scopes):
            at = (batches.of_scope[:, None] * n_sets + np.arange(n_sets)).ravel()
            out = tuple(_take(array, at, width) for array, width in zip(out, widths, strict=True))
            ambiguous = ambiguous[at]
        return out, ambiguous


def _take(array: Any, at: IntArray, width: int) -> Any:
    """Some records, each of so many rows."""
    if not width:
        return array
    behind = array.shape[1:]
    return array.reshape(-1, width, *behind)[at].reshape(-1, *behind)


def _shares(rows: IntArray, n_shares: int) -> list[tuple[int, int]]:
    """Ranges of batches with about the same number of events each."""
    total = np.cumsum(rows[:, 1] - rows[:, 0])
    wanted = np.linspace(0, total[-1], n_shares + 1)[1:-1]
    borders = sorted({0, len(rows), *np.searchsorted(total, wanted).tolist()})
    return [(a, b) for a, b in pairwise(borders) if a < b]
