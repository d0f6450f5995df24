"""Products of matrices: what the slices and panes of a window do to the records of the states, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from eventide.families.trends.compiled import Kernel
from eventide.families.trends.kernel_two_stacks import WINDOW, plan_windows
from eventide.families.trends.records import new_records
from eventide.families.trends.tables import Tables
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.threads import share_among_threads

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Product:
    """Multiplies matrices of a pattern's states; `shape` as in `kernel_records`."""

    kernel: Kernel
    tables: Tables
    shape: IntArray

    def windows(
        self, key: IntArray, oldest: IntArray, newest: IntArray, matrices: Any, n_threads: int
    ) -> tuple[IntArray, IntArray, Any]:
        """Of every window of every partition: a matrix of its partition, the window, and its records by side.

        The matrices are in order of partition and time; a pane may be several matrices, one behind the other.
        """
        borders = _borders(key)
        n, n_sides = self.tables.n_states, self.tables.verdicts[0].shape[0]
        n_kept = _most_panes(oldest, newest, borders)
        shape = self.shape

        def compose(first: int, stop: int) -> tuple[IntArray, IntArray, Any]:
            mine = borders[first : stop + 1]
            plan = np.empty((plan_windows(oldest, newest, mine, np.empty((0, 3), np.int64)), 3), dtype=np.int64)
            plan_windows(oldest, newest, mine, plan)
            begun = plan[plan[:, 0] >= WINDOW]
            out = new_records(self.kernel, len(begun) * n_sides, shape)
            with np.errstate(all="ignore"):
                if shape[1:].any():
                    memory = new_records(self.kernel, (n_kept + 4) * n * n, shape)
                    verdicts = self.tables.verdicts
                    self.kernel.panes.compose_windows(plan, matrices, verdicts, memory, shape, n, n_kept, out)
                else:
                    cells = new_records(self.kernel, (n_kept + 2) * n * n, shape)[0]
                    counted = self.tables.verdicts[0]
                    self.kernel.counts.compose_counts(plan, matrices[0], counted, cells, n, n_kept, out[0])
            return begun[:, 1], begun[:, 2], out

        n_partitions = borders.size - 1
        cuts = np.unique(np.linspace(0, n_partitions, n_threads + 1).astype(np.int64)).tolist()
        parts = in_threads(compose, list(pairwise(cuts)))
        return (
            np.concatenate([part[0] for part in parts]),
            np.concatenate([part[1] for part in parts]),
            tuple(np.concatenate([part[2][i] for part in parts]) for i in range(4)),
        )

    def runs(self, borders: IntArray, matrices: Any) -> Any:
        """The product of every run of matrices: run i is `borders[i]` to `borders[i + 1]`."""
        n, shape = self.tables.n_states, self.shape
        out = new_records(self.kernel, (borders.size - 1) * n * n, shape)
        memory = new_records(self.kernel, 2 * n * n + 2 * n, shape)
        with np.errstate(all="ignore"):
            self.kernel.panes.multiply_runs(borders, matrices, memory, shape, n, out)
        return out


def rearrange(records: Any, n: int, order: IntArray) -> Any:
    """The records of n matrices in another order."""
    return tuple(
        np.ascontiguousarray(a.reshape(n, -1, *a.shape[1:])[order].reshape(-1, *a.shape[1:])) if a.size else a
        for a in records
    )


def _borders(key: IntArray) -> IntArray:
    """Where the partitions begin, and where the last one ends."""
    return np.flatnonzero(np.concatenate([[True], np.diff(key) != 0, [True]]))


def _most_panes(oldest: IntArray, newest: IntArray, borders: IntArray) -> int:
    """How many panes of a partition one window holds, at most."""
    partition = np.repeat(np.arange(borders.size - 1), np.diff(borders))
    # Windows are monotone in a partition: from a pane on, those whose oldest window is not newer than its newest.
    base = int(oldest.min(initial=0))
    span = int(newest.max(initial=0)) - base + 2
    place = partition * span + oldest - base
    behind = np.searchsorted(place, partition * span + newest - base, side="right")
    return int((behind - np.arange(oldest.size)).max(initial=1))


def in_threads(work: Callable[[int, int], T], ranges: list[tuple[int, int]]) -> list[T]:
    """`work` on every range, each in a thread."""
    return share_among_threads(lambda share: work(*share), ranges)
