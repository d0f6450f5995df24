"""Parquet files as input to choose a physical form for: what their footers tell, and a sample of the events."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eventide.engines.intake import take_in
from eventide.engines.parquet import group_times_us, to_microseconds
from eventide.engines.raw_columns import Place, raw_columns
from eventide.engines.stored_filters import row_groups
from eventide.plan.choose import ONE_TASK, Choice, Input, Ranges, Shares, choose
from eventide.plan.physical import Physical, Piece
from eventide.plan.reduce import Reduction, Sample, is_asked_for, is_possible, reduce_by
from eventide.runtime.block import MASK, TS, concatenate, numpy_int64, within
from eventide.runtime.costs import cost
from eventide.runtime.near import Near
from eventide.runtime.slicing import Part, Region, Times

_SAMPLE_ROWS = 100_000
_POINTS = 64  # instants of a row group, whose events count as spread evenly


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group and its times."""

    piece: Piece
    n_rows: int
    first_us: int = 0
    last_us: int = 0


class FileInput(Input):
    """Row groups of Parquet files."""

    sampling_costs_a_job = False
    few_form = ONE_TASK
    no_times = "the files' footers do not tell the times of all row groups"

    def __init__(self, files: Sequence[str], physical: Physical) -> None:
        self._files, self._physical = files, physical
        footers = [(path, pq.read_metadata(path)) for path in files]
        counts = (
            (path, i, footer.row_group(i).num_rows) for path, footer in footers for i in range(footer.num_row_groups)
        )
        self._all = [RowGroup((path, i, i + 1), n_rows) for path, i, n_rows in counts]
        self._kept = {path: row_groups(path, physical) for path in files}
        self.groups = list(filter(self._is_kept, self._all))
        self.n_rows = sum(group.n_rows for group in self.groups)

    def why_few(self) -> str | None:
        return "there are few events" if self.n_rows <= cost("few_rows") else None

    def pieces(self, n_shares: int) -> list[list[Piece]]:
        """Runs of row groups with about the same number of rows each."""
        return [_joined(share) for share in share_out(self.groups, n_shares)]

    @cached_property
    def _timed(self) -> list[RowGroup]:
        """The row groups that hold a row, with their times; none where a footer does not tell one."""
        times = group_times_us(self._files, self._physical.intake) or []
        held = [group for group in self._all if group.n_rows] if times else []
        timed = (RowGroup(group.piece, group.n_rows, *ends) for group, ends in zip(held, times, strict=True))
        return list(filter(self._is_kept, timed))

    def _is_kept(self, group: RowGroup) -> bool:
        """Whether statistics leave it a chance to hold an event that matters."""
        path, number, _ = group.piece
        kept = self._kept[path]
        return kept is None or number in kept

    def times(self) -> Times | None:
        groups = self._timed
        if not groups:
            return None
        points = np.concatenate([np.linspace(group.first_us, group.last_us, _POINTS) for group in groups])
        weights = np.repeat([group.n_rows / _POINTS for group in groups], _POINTS)
        order = np.argsort(points, kind="stable")
        weights = weights[order]
        return Times(points[order].astype(np.int64), np.cumsum(weights) - weights, self.n_rows)

    def sample(self) -> pa.Table:
        return self._sample[1]

    def masks(self) -> Sample | None:
        """Those of the sample; None where the times of some events are not known."""
        if not self._timed:
            return None
        n_rows, block = self._sample
        return Sample(n_rows, numpy_int64(block.column(MASK)))

    @cached_property
    def _sample(self) -> tuple[int, pa.Table]:
        """Rows of the row group in the middle: how many, and the events among them."""
        path, group, _ = self._timed[len(self._timed) // 2].piece
        with pq.ParquetFile(path) as file:
            batches = file.iter_batches(_SAMPLE_ROWS, row_groups=[group], columns=list(self._physical.reads))
            table = pa.Table.from_batches([next(batches)])
        return table.num_rows, self._take_in(table, ("UTC", 1))

    def reduction(self) -> Reduction | None:
        """Whether only events near those of a rare step are kept."""
        if not is_possible(self._physical) or (self.why_few() is not None and not is_asked_for()):
            return None
        sample = self.masks()
        return None if sample is None else reduce_by(self._physical, sample)

    def keep_near(self, near: Near) -> None:
        """Leave out the row groups that have no event near."""
        reached = {group.piece for group in self._timed if near.reaches(group.first_us, group.last_us)}
        self.groups = [group for group in self.groups if group.piece in reached]
        self._timed = [group for group in self._timed if group.piece in reached]
        self.n_rows = sum(group.n_rows for group in self.groups)

    def read(self, regions: Sequence[Region]) -> Iterator[pa.Table]:
        for region in regions:
            tables = []
            for group in self._between(*region):
                with pq.ParquetFile(group.piece[0]) as file:
                    read = file.read_row_group(group.piece[1], columns=list(self._physical.reads))
                tables.append(within(self._take_in(read, ("UTC", os.cpu_count())), *region))
            yield concatenate(tables) if tables else pa.table({TS: pa.array([], pa.int64())})

    def _take_in(self, table: pa.Table, place: Place) -> pa.Table:
        raw = raw_columns(to_microseconds(table), self._physical, place)
        return take_in(raw.filter(pc.is_valid(raw.column(TS))), self._physical.intake)[0]

    def count_slices(self, n_buckets: int) -> int:
        return max(n_buckets, int(-(-self.n_rows // cost("rows_per_slice"))))

    def in_order(self, n_slices: int) -> tuple[Shares, tuple[Ranges, ...]] | None:
        shares = share_out(sorted(self._timed, key=lambda group: (group.first_us, group.last_us)), n_slices)
        ends = [(min(group.first_us for group in share), max(group.last_us for group in share)) for share in shares]
        shared = tuple(_shared(ends, k) for k in range(len(ends)))
        n_shared = sum(
            _n_within(group, ranges) for share, ranges in zip(shares, shared, strict=True) for group in share
        )
        if len(shares) < 2 or n_shared > cost("most_shared") * self.n_rows:
            return None
        return tuple(tuple(_joined(share)) for share in shares), shared

    def shares_of(self, parts: Sequence[Part]) -> Shares:
        shares = [self._between(part.from_us, part.until_us) for part in parts]
        n_read = sum(group.n_rows for share in shares for group in share)
        if n_read > cost("most_read") * self.n_rows:
            return ()
        return tuple(tuple(group.piece for group in share) for share in shares)

    def _between(self, from_us: int, until_us: int) -> list[RowGroup]:
        return [group for group in self._timed if group.last_us >= from_us and group.first_us < until_us]

    def not_hot(self, is_in_order: bool) -> str:
        order = "in order of time" if is_in_order else "not in order of time"
        return f"no key is hot, the files are {order}, and few events have one key and pane"

    @property
    def lie(self) -> str:  # type: ignore[override]
        lie = "the row groups overlap in time" if len(self._timed) > 1 else "there is one row group"
        return f"{lie}, so "


def why_not_direct(physical: Physical) -> str | None:
    """Why tasks do not read the files themselves, as far as the query tells."""
    for column in physical.select:
        if column.duckdb is None:
            return f"only Spark evaluates {column.spark}"
    if physical.align_to_first:
        return "windows are aligned to the first event"
    return "dropped events are counted by Spark" if physical.intake.drop_bad_events else None


def choose_for_files(files: Sequence[str], physical: Physical, n_buckets: int) -> Choice:
    """The distribution of a query over Parquet files."""
    return choose(physical, FileInput(files, physical), n_buckets)


def describe_files(files: Sequence[str], physical: Physical) -> str | None:
    """For `explain`: how Parquet files would be shared out over the tasks of this machine's cores.

    None where Spark reads them.
    """
    if not files or why_not_direct(physical) is not None:
        return None
    keys = ", ".join(name for block, name in physical.intake.names if block in physical.intake.layout.distribution)
    given = FileInput(files, physical)
    text = choose(physical, given, 2 * (os.cpu_count() or 1)).describe(keys)
    reduction = given.reduction()
    return text if reduction is None else f"{text}; {reduction.describe()}"


def share_out(groups: Sequence[RowGroup], n_shares: int) -> list[list[RowGroup]]:
    """Runs of row groups with about the same number of rows each."""
    total = sum(group.n_rows for group in groups)
    shares: dict[int, list[RowGroup]] = {}
    for group, seen in zip(groups, accumulate(group.n_rows for group in groups), strict=True):
        # A group belongs to the share in which its middle row lies.
        number = min(n_shares - 1, (2 * seen - group.n_rows) * n_shares // max(2 * total, 1))
        shares.setdefault(number, []).append(group)
    return list(shares.values())


def _joined(groups: Sequence[RowGroup]) -> list[Piece]:
    """The pieces, where neighbours in a file are one."""
    pieces: list[Piece] = []
    for path, start, stop in (group.piece for group in groups):
        if pieces and (pieces[-1][0], pieces[-1][2]) == (path, start):
            pieces[-1] = (path, pieces[-1][1], stop)
        else:
            pieces.append((path, start, stop))
    return pieces


def _shared(ends: Ranges | list[tuple[int, int]], k: int) -> Ranges:
    """The times of a share that others have events of, too."""
    lo, hi = ends[k]
    met = ((max(lo, first), min(hi, last)) for j, (first, last) in enumerate(ends) if j != k)
    return tuple(sorted({(first, last) for first, last in met if first <= last}))


def _n_within(group: RowGroup, ranges: Ranges) -> float:
    """About how many events of a row group lie in some times: its events count as spread evenly."""
    length = group.last_us - group.first_us
    if not length:
        return float(group.n_rows * any(lo <= group.first_us <= hi for lo, hi in ranges))
    covered = sum(max(0, min(hi, group.last_us) - max(lo, group.first_us)) for lo, hi in ranges)
    return group.n_rows * min(1.0, covered / length)
