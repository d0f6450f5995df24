"""Left and right rows to pairs: holds the rows in reach of later ones, returns one row per result.

State is those rows and nothing else: what was returned before follows from their times and the watermark.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventide.errors import InputError
from eventide.families.joins import kernel as plain_kernel
from eventide.families.joins.kernel_latest import find_latest
from eventide.families.joins.spec import CAN_MATCH, DETECTED_AT, JoinSpec
from eventide.runtime import paired
from eventide.runtime.block import MASK, MIN_US, SEQUENCE, TS, numpy_int64
from eventide.runtime.by_code import order_by_code
from eventide.runtime.encode import encode_columns
from eventide.runtime.generated import load_specialized
from eventide.runtime.interval_columns import LEFT, RIGHT
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import is_sorted
from eventide.runtime.paired import PairedOperator
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.protocol import Results
from eventide.runtime.taken import take
from eventide.runtime.threads import share_among_threads
from eventide.runtime.times import TimeType

_KINDS = {"inner": plain_kernel.INNER, "left": plain_kernel.LEFT, "semi": plain_kernel.SEMI, "anti": plain_kernel.ANTI}
_DIRECTIONS = {
    None: plain_kernel.EVERY,
    "backward": plain_kernel.BACKWARD,
    "forward": plain_kernel.FORWARD,
    "nearest": plain_kernel.NEAREST,
}
_NOTHING = np.empty(0, dtype=np.int64)


class JoinOperator(PairedOperator):
    """The operator of a `JoinSpec`."""

    def __init__(self, spec: JoinSpec, n_threads: int = 1) -> None:
        super().__init__(spec.query, spec.facts, spec.following, spec.lag_us)
        self.spec = spec
        self.end_us = spec.end_us
        self._n_threads = n_threads
        self._kernel = _load_kernel(spec)

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        if block is not None:
            self._buffer.append(self._in_time(block, watermark_us))
        yield from self._advance_behind(watermark_us)
        if self.spec.is_bounded and self._watermark_us > MIN_US:
            self._buffer.purge(older_than_us=self._watermark_us - self.spec.keep_us + 1)

    def open_runs(self) -> int:
        """Left rows that a later right one may join, or about which nothing is certain yet."""
        return self._buffer.count_marked(LEFT, self._watermark_us - self.spec.wait_us + 1)

    def pending_us(self) -> int | None:
        waiting = [self._buffer.earliest_after(self._watermark_us)]
        if self.spec.waits:
            left_us = self._earliest_left_after(self._watermark_us - self.spec.wait_us)
            if left_us is not None:
                # The nearest row may be certain at any time in between.
                is_nearest = self.spec.asof == "nearest"
                waiting.append(self._watermark_us + 1 if is_nearest else left_us + self.spec.wait_us)
        known = [us for us in waiting if us is not None]
        return min(known) + self.spec.lag_us if known else None

    def _earliest_left_after(self, us: int) -> int | None:
        block = self._buffer.select_all()
        if block is None:
            return None
        times = numpy_int64(block.column(TS))
        times = times[(times > us) & (numpy_int64(block.column(MASK)) & LEFT != 0)]
        return int(times.min()) if times.size else None

    def _advance(self, watermark_us: int) -> Results:
        """What is decided at a time in (old watermark, new watermark]."""
        older_than_us, self._watermark_us = self._watermark_us, watermark_us
        block = self._buffer.select(up_to_us=watermark_us) if watermark_us > older_than_us else None
        if block is None:
            return
        block = block.combine_chunks()
        codes, n_codes = encode_partitions(block, self.spec.layout.partition)
        mask, times_us = numpy_int64(block.column(MASK)), numpy_int64(block.column(TS))
        rows = np.flatnonzero(mask & LEFT)
        if not rows.size:
            return
        if self.spec.asof == "backward" and self.spec.tests_source is None and not self.spec.all_ties:
            yield from self._latest(block, codes, n_codes, older_than_us)
            return
        lefts = self._lefts(rows, codes.astype(np.int64, copy=False), times_us, mask, n_codes)
        rights = self._rights(block, codes.astype(np.int64, copy=False), times_us, mask, n_codes)
        limits = _limits(self.spec, older_than_us, watermark_us)
        cols = encode_columns(block, self.spec.encodings)
        yield from self._joined(block, lefts, rights, limits, cols)

    def _latest(self, block: pa.Table, codes: IntArray, n_codes: int, older_than_us: int) -> Results:
        """The results of a join as of a time, where nothing but keys and times decides: decided with the left row."""
        mask, times_us = numpy_int64(block.column(MASK)), numpy_int64(block.column(TS))
        rows = _by_time(np.flatnonzero((mask & LEFT != 0) & (times_us > older_than_us)), times_us)
        own = mask[rows] & (CAN_MATCH if self.spec.keeps_alone else LEFT) != 0
        lefts = codes[rows], times_us[rows], rows, own
        rights, is_tied = _by_time(np.flatnonzero(mask & RIGHT), times_us), True
        places = np.empty(rows.size, dtype=np.int64)
        for in_order in (False, True):
            if not is_tied:
                break
            if in_order:
                rights = _by_time(self._in_tie_order(block, rights), times_us)
            latest = np.full(n_codes, -1, dtype=np.int64)
            known = codes[rights], times_us[rights]
            is_tied = find_latest(lefts, known, self.spec.low_us, latest, places) and bool(self.spec.tie_columns)
        wanted = {"inner": places >= 0, "semi": places >= 0, "anti": places < 0}.get(self.spec.kind)
        found = np.arange(rows.size) if wanted is None else np.flatnonzero(wanted)
        sides = _Side.of(block, rows, lefts[1]), _Side.of(block, rights, known[1])
        size = paired.PAIRS_PER_BATCH
        parts = [found[start : start + size] for start in range(0, found.size, size)]
        for i in range(0, len(parts), self._n_threads):
            some = parts[i : i + self._n_threads]
            yield from share_among_threads(lambda part: self._rows(sides, part, places[part]), some)

    def _in_tie_order(self, block: pa.Table, rows: IntArray) -> IntArray:
        keys = [(name, "ascending", "at_start") for name in self.spec.tie_columns]
        return rows[pc.sort_indices(block.take(pa.array(rows)), sort_keys=keys).to_numpy()]  # type: ignore[no-any-return]

    def _lefts(
        self, rows: IntArray, codes: IntArray, times_us: IntArray, mask: IntArray, n_codes: int
    ) -> tuple[IntArray, IntArray, IntArray, NDArray[np.bool_]]:
        """Left rows by partition and time: codes, times, rows of the block, and whether they may have partners."""
        rows = _by_partition(rows, codes, times_us, n_codes, self._n_threads)[0]
        return codes[rows], times_us[rows], rows, mask[rows] & (CAN_MATCH if self.spec.keeps_alone else LEFT) != 0

    def _rights(
        self, block: pa.Table, codes: IntArray, times_us: IntArray, mask: IntArray, n_codes: int
    ) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Right rows alike: where each partition begins, times, rows of the block; and the ranks of all rows."""
        rows = np.flatnonzero(mask & RIGHT)
        ordered, offsets = _by_partition(rows, codes, times_us, n_codes, self._n_threads)
        times = times_us[ordered]
        if self.spec.asof is not None and not self.spec.all_ties and self.spec.tie_columns:
            is_tied = (np.diff(times) == 0) & (np.diff(codes[ordered]) == 0)
            if is_tied.any():
                rows = self._in_tie_order(block, rows)
                ordered, _ = _by_partition(rows, codes, times_us, n_codes, self._n_threads)
        return offsets, times, ordered, _ranks(block) if self.spec.tie_rule else _NOTHING

    def _joined(self, block: pa.Table, lefts: Any, rights: Any, limits: IntArray, cols: Any) -> Results:
        """The results in batches: each thread works off a share of the left rows, as much as its room holds at once."""
        sides = _Side.of(block, lefts[2], lefts[1]), _Side.of(block, rights[2], rights[1])

        def fill(walk: _Walk) -> pa.RecordBatch:
            n = self._kernel.join_rows(lefts, rights, limits, cols, walk.state, walk.lefts, walk.partners)
            if not n and walk.state[plain_kernel.NEXT] < walk.state[plain_kernel.STOP]:
                walk.make_room(int(walk.state[plain_kernel.NEEDED]))
            return self._rows(sides, walk.lefts[:n], walk.partners[:n])

        borders = np.linspace(0, lefts[0].size, self._n_threads + 1).astype(np.int64).tolist()
        walks = [_Walk(first, stop) for first, stop in pairwise(borders) if first < stop]
        while walks:
            try:
                made = share_among_threads(fill, walks)
            except OverflowError as error:
                raise InputError(
                    f"a condition that relates rows leaves the range of its type: {error}",
                    hint="cast one side to DOUBLE or to a wider DECIMAL",
                ) from error
            yield from (batch for batch in made if batch.num_rows)
            walks = [walk for walk in walks if walk.state[plain_kernel.NEXT] < walk.state[plain_kernel.STOP]]

    def _rows(self, sides: tuple[_Side, _Side], lefts: IntArray, partners: IntArray) -> pa.RecordBatch:
        """The results of places on both sides; -1 is no partner."""
        spec, (left, right) = self.spec, sides
        columns = left.take(spec.left, lefts, None, spec.time_type)
        made = {f"left_{name}": values for name, values in columns.items()}
        has_partner = partners >= 0
        missing = None if has_partner.all() else ~has_partner
        columns = right.take(spec.right, partners, missing, spec.time_type)
        made |= {f"right_{name}": values for name, values in columns.items()}
        partner_us = right.times_us[partners] if right.times_us.size else np.zeros(partners.size, np.int64)
        made[DETECTED_AT] = self._detected(left.times_us[lefts], partner_us, has_partner)
        return pa.RecordBatch.from_pydict(made)

    def _detected(self, times_us: IntArray, partner_us: IntArray, has_partner: NDArray[np.bool_]) -> pa.Array:
        """When each result is decided; NULL for what only the end of the input decides."""
        if self.spec.asof == "nearest":
            at_us = times_us + np.abs(partner_us - times_us)
        else:
            at_us = np.maximum(times_us, partner_us)
        if has_partner.all():
            return self.spec.time_type.restore(at_us)
        if self.spec.ends:
            at_us = np.where(has_partner, at_us, times_us + self.spec.wait_us)
            return self.spec.time_type.restore_up(at_us)
        return _without(self.spec.time_type.restore(np.where(has_partner, at_us, times_us)), ~has_partner)


@dataclass(frozen=True, slots=True)
class _Side:
    """The rows of one side in the order of the kernel, and the part of the block that holds them."""

    block: pa.Table
    rows: IntArray
    times_us: IntArray

    @classmethod
    def of(cls, block: pa.Table, rows: IntArray, times_us: IntArray) -> _Side:
        """Where a side lies together, without the rows of the other: those have NULLs, which take time."""
        if rows.size:
            first, last = int(rows.min()), int(rows.max())
            if last - first + 1 == rows.size:
                return cls(block.slice(first, rows.size), rows - first, times_us)
        return cls(block, rows, times_us)

    def take(
        self, names: tuple[str, ...], places: IntArray, missing: NDArray[np.bool_] | None, time_type: TimeType
    ) -> dict[str, pa.Array]:
        """Columns at some places, NULL where one is missing."""
        if missing is not None and not self.rows.size:
            return {name: pa.nulls(places.size, _value_type(self.block, name, time_type)) for name in names}
        columns = {}
        rows = pa.array(self.rows[places], mask=missing) if set(names) - {TS} else None
        for name in names:
            if name == TS:
                times = time_type.restore(self.times_us[places])
                columns[name] = times if missing is None else _without(times, missing)
            else:
                columns[name] = take(self.block, name, rows)
        return columns


def _value_type(block: pa.Table, name: str, time_type: TimeType) -> pa.DataType:
    if name == TS:
        return time_type.arrow
    dtype = block.schema.field(name).type
    return dtype.value_type if pa.types.is_dictionary(dtype) else dtype


class _Walk:
    """A share of the left rows, and room for its results."""

    def __init__(self, first: int, stop: int) -> None:
        self.state = plain_kernel.new_state(first, stop)
        self.make_room(paired.PAIRS_PER_BATCH)

    def make_room(self, size: int) -> None:
        self.lefts, self.partners = np.empty(size, np.int64), np.empty(size, np.int64)


def _by_time(rows: IntArray, times_us: IntArray) -> IntArray:
    """Rows in the order of time, tied ones as they come."""
    own = times_us[rows]
    return rows if is_sorted(own) else rows[np.argsort(own, kind="stable")]


def _by_partition(
    rows: IntArray, codes: IntArray, times_us: IntArray, n_codes: int, n_threads: int
) -> tuple[IntArray, IntArray]:
    """Rows by partition and time, tied ones as they come; and where each partition begins."""
    rows = _by_time(rows, times_us)
    order, offsets = order_by_code(codes[rows], n_codes, None, n_threads)
    return rows[order], offsets


def _ranks(block: pa.Table) -> IntArray:
    """The place of each row in the order of the sequence, NULLs first; equal values have one."""
    column = block.column(SEQUENCE)
    ranks = pc.rank(column, tiebreaker="dense").to_numpy().astype(np.int64)
    return np.where(column.is_valid().to_numpy(), ranks, 0)


def _without(values: pa.Array, missing: NDArray[np.bool_]) -> pa.Array:
    return pc.if_else(pa.array(missing), pa.scalar(None, values.type), values)


def _limits(spec: JoinSpec, older_than_us: int, up_to_us: int) -> IntArray:
    limits = np.zeros(plain_kernel.N_LIMITS, dtype=np.int64)
    limits[plain_kernel.LOW], limits[plain_kernel.HIGH] = spec.low_us, spec.high_us
    # What never comes to an end is decided with the end of the input, which is all that its operator ever sees.
    limits[plain_kernel.WAIT] = spec.wait_us if spec.ends else 0
    limits[plain_kernel.OLDER_THAN], limits[plain_kernel.UP_TO] = older_than_us, up_to_us
    limits[plain_kernel.KIND], limits[plain_kernel.DIRECTION] = _KINDS[spec.kind], _DIRECTIONS[spec.asof]
    limits[plain_kernel.ALL_TIES], limits[plain_kernel.TIE_RULE] = spec.all_ties, spec.tie_rule
    return limits


def _load_kernel(spec: JoinSpec) -> ModuleType | Any:
    if spec.tests_source is None:
        return plain_kernel
    return load_specialized(plain_kernel, {"tests": spec.tests_source})


def warm(spec: JoinSpec) -> None:
    """Compile the spec's kernel into the cache, so that workers that share it only load it."""
    kernel = _load_kernel(spec)
    one = np.zeros(1, dtype=np.int64)
    lefts, rights = (one, one, one, np.ones(1, dtype=np.bool_)), (np.array([0, 0]), _NOTHING, _NOTHING, _NOTHING)
    cols = np.empty((0, 0), np.int64), np.empty((0, 0), np.float64), np.empty((0, 0), np.bool_)
    find_latest(lefts, (one, one), 0, one.copy(), one.copy())
    kernel.join_rows(lefts, rights, _limits(spec, 0, 1), cols, plain_kernel.new_state(0, 1), one, one.copy())
