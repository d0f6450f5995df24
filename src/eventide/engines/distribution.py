"""How bounded input is shared out over tasks: by key, or by time if what slices make can be put together again.

The choice follows from the footers of the files and from a sample of the events.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eventide.engines.intake import microseconds, take_in
from eventide.engines.overlaps import most_slices
from eventide.engines.parquet import Piece, group_times, to_microseconds
from eventide.engines.raw_columns import Place, raw_columns
from eventide.errors import InputError
from eventide.families.registry import family_of
from eventide.families.time_slices import Part, make_parts, overlap_us
from eventide.plan.physical import Physical
from eventide.runtime.block import TS, concatenate, within
from eventide.runtime.partitions import encode_partitions

# An exchange takes half a second, however little it moves; one core works on so many events in less time.
FEW_ROWS = 2_000_000
ROWS_PER_SLICE = 2_000_000  # the most that one task should hold at once
SAMPLE_ROWS = 100_000
# Row groups of different tasks may overlap in time. No single task can combine the events of such a time, so they are
# sent on as events. Row groups are taken as they are if at most this share of the events is sent on.
MOST_SHARED = 0.1
# Slices that overlap are read by several tasks. This many times the events is the most that tasks read in all; beyond,
# the events are exchanged instead.
MOST_READ = 1.5
KEYS, GROUPS, RANGES, OVERLAPS = "keys", "row groups", "ranges", "overlaps"

Range = tuple[int, int]  # the first and the last instant, both included


@dataclass(frozen=True, slots=True)
class Choice:
    """How the events are shared out, and why.

    By "keys", or by time in one of three ways. "row groups": tasks read row groups as they are in the files. "ranges":
    events are exchanged by time. "overlaps": slices see events of their neighbours, too; with `shares`, tasks read them
    from the files, without, they are exchanged.
    """

    way: str
    reason: str
    shares: tuple[tuple[Piece, ...], ...] = ()
    shared: tuple[tuple[Range, ...], ...] = ()  # for each share, the times in which other shares have events, too
    bounds: tuple[int, ...] = ()  # the first instant of each range, the first range left out
    stretches: tuple[int, ...] = ()  # the first instant of each stretch that a task matches, the first left out
    then: str = ""  # what is done with the results of the slices, if they are not multiplied
    parts: tuple[Part, ...] = ()  # the slices that overlap

    def describe(self, keys: str) -> str:
        """For `explain`; `keys` are the columns by whose values events may be worked on apart."""
        if self.way == OVERLAPS:
            return f"slices of time in parallel tasks, each with a window of its neighbours' events: {self.reason}"
        if self.way != KEYS:
            then = self.then or "multiplied"
            return f"slices of time in parallel tasks, then {then}: {self.reason}"
        if not keys:
            return f"one task, because all events belong together and {self.reason}"
        return f"hash of {keys} to buckets, blocks of events exchanged once, one operator per bucket: {self.reason}"


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group and its times."""

    piece: Piece
    n_rows: int
    first_us: int
    last_us: int


def choose_for_files(files: Sequence[str], physical: Physical, n_buckets: int) -> Choice:
    """The distribution of a query over Parquet files."""
    family = family_of(physical.spec)
    why_not, shared_us = family.needs_events(physical.spec), overlap_us(physical.spec)
    if why_not is not None and shared_us is None:
        return Choice(KEYS, why_not)
    groups = _row_groups(files, physical)
    if groups is None:
        return Choice(KEYS, "the files' footers do not tell the times of all row groups")
    if shared_us is not None:
        return _choose_overlaps(groups, physical, n_buckets, shared_us)
    n_rows = sum(group.n_rows for group in groups)
    n_slices = max(n_buckets, -(-n_rows // ROWS_PER_SLICE))
    in_order = sorted(groups, key=lambda group: (group.first_us, group.last_us))
    shares = share_out([group.piece for group in in_order], [group.n_rows for group in in_order], n_slices)
    ranges = _ranges(in_order, shares)
    shared = tuple(tuple(_shared(ranges, k)) for k in range(len(ranges)))
    lies_in_order = len(shares) > 1 and _shared_share(in_order, shares, shared) <= MOST_SHARED
    why, keys = "all events belong together", physical.intake.layout.distribution
    frequent = 0.0
    if keys or family.has_stretches:
        sample, combiner = _sample(groups, physical), family.combiner(physical.spec)
        assert combiner is not None
        frequent = combiner.frequent_share(sample)
    is_hot = True
    if keys:
        why = hot(top_share(sample, physical.intake.layout.distribution), n_buckets) or ""
        is_hot = bool(why)
        if not why and lies_in_order and frequent >= 0.5:
            why = f"{frequent:.0%} of a sample's events lie where many have one key and pane"
        if not why:
            order = "in order of time" if lies_in_order else "not in order of time"
            return Choice(KEYS, f"no key is hot, the files are {order}, and few events have one key and pane")
    n_left = int((1.0 - frequent) * n_rows)
    cuts, then = _stretches(groups, physical, n_left if is_hot else 0, n_slices)
    if lies_in_order:
        reason = f"{why}; the row groups are in order of time, so that no event is exchanged"
        return Choice(GROUPS, reason, tuple(tuple(share) for share in shares), shared, stretches=cuts, then=then)
    lie = "the row groups overlap in time" if len(groups) > 1 else "there is one row group"
    reason = f"{why}; {lie}, so events are exchanged by time"
    return Choice(RANGES, reason, bounds=_bounds(groups, n_slices), stretches=cuts, then=then)


def _stretches(
    groups: Sequence[RowGroup], physical: Physical, n_left: int, n_slices: int
) -> tuple[tuple[int, ...], str]:
    """Where time is cut for matching, if the slices leave `n_left` events; and what `explain` says of it."""
    family = family_of(physical.spec)
    if not family.has_stretches:
        return (), ""
    length_us = max(group.last_us for group in groups) - min(group.first_us for group in groups)
    n_stretches = family.count_stretches(physical.spec, n_left, n_slices, length_us)
    cuts = _bounds(groups, n_stretches) if n_stretches > 1 else ()
    return cuts, matched_in_words(cuts, physical.intake.layout.distribution)


def matched_in_words(stretches: Sequence[int], keys: Sequence[str]) -> str:
    """What `explain` says of how the events that slices leave are matched."""
    if stretches:
        return f"matched in {len(stretches) + 1} stretches of time, a task each"
    return "matched by key in parallel tasks" if keys else "put together and matched by one task"


def _choose_overlaps(groups: Sequence[RowGroup], physical: Physical, n_buckets: int, shared_us: int) -> Choice:
    """Slices that overlap by a window, if keys share the events out badly; otherwise keys."""
    why, keys = "all events belong together", physical.intake.layout.distribution
    if keys:
        why = hot(top_share(_sample(groups, physical), keys), n_buckets) or ""
        if not why:
            return Choice(KEYS, "no key is hot")
    n_rows = sum(group.n_rows for group in groups)
    length_us = max(group.last_us for group in groups) - min(group.first_us for group in groups)
    bounds = _bounds(groups, most_slices(max(n_buckets, -(-n_rows // ROWS_PER_SLICE)), length_us, shared_us))
    if not bounds:
        return Choice(KEYS, f"{why}, and a window is long beside the time of all events")
    place = ("UTC", os.cpu_count())
    parts = make_parts(physical.spec, bounds, lambda first, stop: _read_between(groups, physical, place, first, stop))
    if len(parts) < 2:
        return Choice(KEYS, f"{why}, and where matching continues depends on all matches before")
    shares = []
    for part in parts:
        mine = [group for group in groups if group.last_us >= part.from_us and group.first_us < part.until_us]
        shares.append(tuple(group.piece for group in mine))
    n_read = sum(group.n_rows * sum(group.piece in share for share in shares) for group in groups)
    if n_read <= MOST_READ * n_rows:
        reason = f"{why}; the row groups are in order of time, so that no event is exchanged"
        return Choice(OVERLAPS, reason, tuple(shares), parts=tuple(parts))
    lie = "the row groups overlap in time" if len(groups) > 1 else "there is one row group"
    return Choice(OVERLAPS, f"{why}; {lie}, so events are exchanged by time", parts=tuple(parts))


def describe_files(files: Sequence[str], physical: Physical) -> str | None:
    """For `explain`: how Parquet files would be shared out over the tasks of this machine's cores.

    None where Spark reads them.
    """
    reads_itself = any(column.duckdb is None for column in physical.select)
    if not files or reads_itself or physical.align_to_first or physical.intake.drop_bad_events:
        return None
    if sum(pq.read_metadata(file).num_rows for file in files) <= FEW_ROWS:
        return "one task reads the files, because there are few events"
    keys = ", ".join(name for block, name in physical.intake.names if block in physical.intake.layout.distribution)
    return choose_for_files(files, physical, 2 * (os.cpu_count() or 1)).describe(keys)


def hot(top: float, n_buckets: int) -> str | None:
    """What `explain` says of a key with the share `top` of a sample, if it keeps a core busy when others are done."""
    # There are two buckets a core.
    return f"one key has {top:.0%} of a sample's events" if top > min(2 / n_buckets, 0.5) else None


def top_share(table: pa.Table, columns: Sequence[str]) -> float:
    """The share of the most frequent key."""
    codes, n_codes = encode_partitions(table, columns)
    return float(np.bincount(codes, minlength=1).max() / codes.size) if n_codes else 0.0


def share_out(pieces: Sequence[Piece], n_rows: Sequence[int], n_shares: int) -> list[list[Piece]]:
    """Runs of row groups with about the same number of rows each; neighbours in a file are one piece."""
    total = sum(n_rows)
    shares: list[list[Piece]] = []
    open_share = -1
    for (path, group, _), rows, seen in zip(pieces, n_rows, accumulate(n_rows), strict=True):
        # A group belongs to the share in which its middle row lies.
        share = min(n_shares - 1, (2 * seen - rows) * n_shares // max(2 * total, 1))
        if share != open_share:
            shares.append([])
            open_share = share
        last = shares[-1][-1] if shares[-1] else None
        if last is not None and last[0] == path and last[2] == group:
            shares[-1][-1] = (path, last[1], group + 1)
        else:
            shares[-1].append((path, group, group + 1))
    return shares


def _row_groups(files: Sequence[str], physical: Physical) -> list[RowGroup] | None:
    """The row groups that hold a row."""
    times = group_times(files, physical.intake.ts_column)
    if times is None:
        return None
    kind = pq.read_schema(files[0]).field(physical.intake.ts_column).type
    try:
        ends = [
            microseconds(pa.chunked_array([pa.array([each[i] for each in times], kind)]), physical.intake).to_pylist()
            for i in (0, 1)
        ]
    except (InputError, pa.ArrowException):
        return None  # the tasks say which event it is
    pieces = []
    for path in files:
        footer = pq.read_metadata(path)
        numbered = ((i, footer.row_group(i).num_rows) for i in range(footer.num_row_groups))
        pieces += [((path, i, i + 1), n_rows) for i, n_rows in numbered if n_rows]
    return [RowGroup(piece, n, lo, hi) for (piece, n), lo, hi in zip(pieces, *ends, strict=True)] or None


def _ranges(groups: Sequence[RowGroup], shares: Sequence[Sequence[Piece]]) -> list[Range]:
    times = {(group.piece[0], group.piece[1]): group for group in groups}
    found = []
    for share in shares:
        mine = [times[(path, i)] for path, start, stop in share for i in range(start, stop)]
        found.append((min(group.first_us for group in mine), max(group.last_us for group in mine)))
    return found


def _shared(ranges: Sequence[Range], k: int) -> list[Range]:
    """The parts of a range that others overlap."""
    lo, hi = ranges[k]
    others = (each for j, each in enumerate(ranges) if j != k)
    met = ((max(lo, first), min(hi, last)) for first, last in others)
    return sorted({(first, last) for first, last in met if first <= last})


def _shared_share(
    groups: Sequence[RowGroup], shares: Sequence[Sequence[Piece]], shared: Sequence[Sequence[Range]]
) -> float:
    """An estimate of the share of events that lie in shared times: those of a row group count as spread evenly."""
    times = {(group.piece[0], group.piece[1]): group for group in groups}
    met = 0.0
    for share, ranges in zip(shares, shared, strict=True):
        for group in (times[(path, i)] for path, start, stop in share for i in range(start, stop)):
            length = group.last_us - group.first_us
            covered = sum(max(0, min(hi, group.last_us) - max(lo, group.first_us)) for lo, hi in ranges)
            within = any(lo <= group.first_us and group.last_us <= hi for lo, hi in ranges)
            met += group.n_rows * (float(within) if not length else min(1.0, covered / length))
    return met / max(sum(group.n_rows for group in groups), 1)


def _bounds(groups: Sequence[RowGroup], n_slices: int) -> tuple[int, ...]:
    """Instants that cut time into slices with about the same number of events."""
    n_points = 64
    points = np.concatenate([np.linspace(group.first_us, group.last_us, n_points) for group in groups])
    weights = np.repeat([group.n_rows / n_points for group in groups], n_points)
    order = np.argsort(points, kind="stable")
    seen = np.cumsum(weights[order])
    wanted = np.linspace(0, seen[-1], n_slices + 1)[1:-1]
    return tuple(sorted({int(us) for us in points[order][np.searchsorted(seen, wanted)]}))


def _sample(groups: Sequence[RowGroup], physical: Physical) -> pa.Table:
    """Events of the row group in the middle."""
    path, group, _ = groups[len(groups) // 2].piece
    with pq.ParquetFile(path) as file:
        batches = file.iter_batches(SAMPLE_ROWS, row_groups=[group], columns=list(physical.reads))
        table = to_microseconds(pa.Table.from_batches([next(batches)]))
    return _take_in(table, physical, ("UTC", 1))


def _read_between(
    groups: Sequence[RowGroup], physical: Physical, place: Place, from_us: int, until_us: int
) -> pa.Table:
    """The events from an instant up to another."""
    tables = []
    for piece in (group.piece for group in groups if group.last_us >= from_us and group.first_us < until_us):
        with pq.ParquetFile(piece[0]) as file:
            read = to_microseconds(file.read_row_group(piece[1], columns=list(physical.reads)))
        tables.append(within(_take_in(read, physical, place), from_us, until_us))
    return concatenate(tables) if tables else pa.table({TS: pa.array([], pa.int64())})


def _take_in(table: pa.Table, physical: Physical, place: Place) -> pa.Table:
    raw = raw_columns(table, physical, place)
    return take_in(raw.filter(pc.is_valid(raw.column(TS))), physical.intake)[0]
