"""Partial aggregates: of events by slot, of partial ones by slot, of spans of them; and what they come to.

A partial aggregate is a row with a few columns for each measure, `m0_0, m0_1, ...`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import InputError
from eventide.families.windows import kernel_reduce as reduce
from eventide.families.windows import kernel_slide as slide
from eventide.families.windows.nested import nested_ranks
from eventide.families.windows.spec import Measure
from eventide.runtime.aggregate_types import average_type, sum_type
from eventide.runtime.block import SEQUENCE, TS, numpy_int64
from eventide.runtime.encode import interval_us
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.moments import N_PARTS, PAIRED, SHAPE, statistic

BITS = ("BIT_AND", "BIT_OR", "BIT_XOR")
PICKS = ("FIRST", "LAST", "FIRST_PRESENT", "LAST_PRESENT")
BY = ("MAX_BY", "MIN_BY")
EXTREMES = ("MIN", "MAX")
_ALL = np.empty(0, dtype=np.bool_)  # every row has a value


def output_type(measure: Measure) -> pa.DataType:
    """The type of what is returned."""
    if measure.function == "COUNT":
        return pa.decimal128(38, 0) if measure.is_wide else pa.int64()
    dtype = measure.dtype
    assert dtype is not None
    if measure.function in N_PARTS or (measure.is_wide and measure.function == "AVG"):
        return pa.float64()
    if measure.is_wide and measure.function == "SUM" and _is_exact(measure):
        return pa.decimal128(38, dtype.scale if pa.types.is_decimal(dtype) else 0)
    return {"SUM": sum_type, "AVG": average_type}.get(measure.function, lambda kept: kept)(dtype)


def _is_exact(measure: Measure) -> bool:
    """Whether a sum is one of whole numbers."""
    assert measure.dtype is not None
    return bool(pa.types.is_decimal(measure.dtype) or pa.types.is_integer(measure.dtype))


def _n_parts(measure: Measure, has_sequence: bool) -> int:
    if measure.function in N_PARTS:
        return N_PARTS[measure.function]
    if measure.is_list:
        return len(measure.columns()) + 1 + has_sequence
    if measure.function in PICKS:
        return 2 + has_sequence
    if measure.function in BY:
        return 3 + has_sequence
    return {"COUNT": 1, "SUM": 3, "AVG": 3, "MIN": 1, "MAX": 1}.get(measure.function, 2)


class Rows:
    """Events, or partial aggregates, that are folded."""

    def __init__(self, table: pa.Table, is_partial: bool) -> None:
        self.table = table
        self.is_partial = is_partial
        self.has_sequence = SEQUENCE in table.column_names

    def parts(self, i: int, measure: Measure) -> list[pa.ChunkedArray]:
        """The columns of measure i: what was kept of it, or what it reads."""
        if self.is_partial:
            return [self.table.column(f"m{i}_{j}") for j in range(_n_parts(measure, self._kept_sequence(i, measure)))]
        columns = [_plain(self.table.column(name), dtype) for name, dtype in measure.columns()]
        if measure.is_list or measure.function in (*PICKS, *BY):
            columns += [self.table.column(TS), *([self.table.column(SEQUENCE)] if self.has_sequence else [])]
        return columns

    def _kept_sequence(self, i: int, measure: Measure) -> bool:
        return f"m{i}_{_n_parts(measure, False)}" in self.table.column_names

    def by_slot(self, i: int, measure: Measure, slot: IntArray, n_slots: int) -> list[pa.Array]:
        """The parts of measure i for every slot."""
        parts = self.parts(i, measure)
        if measure.function == "COUNT":
            return [self._count(parts, slot, n_slots)]
        if measure.function in N_PARTS:
            out = np.zeros((n_slots, N_PARTS[measure.function]))
            reduce.add_rows(slot, self._moments(parts, measure), _kind(measure), out)
            return _columns(out)
        if measure.function in ("SUM", "AVG"):
            return self._sum(parts, measure, slot, n_slots)
        if measure.function in BITS:
            bits, count = np.zeros(n_slots, dtype=np.int64), np.zeros(n_slots, dtype=np.int64)
            valid = _whole(parts[0]) > 0 if self.is_partial else _valid(parts[0])
            reduce.combine_bits(slot, _whole(parts[-1]), valid, BITS.index(measure.function), bits, count)
            return [pa.array(count), pa.array(bits)]
        if measure.is_list:
            return self._list(parts, measure, slot, n_slots)
        return self._pick(parts, measure, slot, n_slots)

    def _list(self, parts: list[pa.ChunkedArray], measure: Measure, slot: IntArray, n_slots: int) -> list[pa.Array]:
        if self.is_partial:
            lists = [_joined(part) for part in parts]
            slot = np.repeat(slot, lists[0].value_lengths().to_numpy())
            parts = [pa.chunked_array([part.flatten()]) for part in lists]
        return lists_of(parts, len(measure.columns()), slot, n_slots)

    def _count(self, parts: list[pa.ChunkedArray], slot: IntArray, n_slots: int) -> pa.Array:
        count = np.zeros(n_slots, dtype=np.int64)
        if self.is_partial:
            reduce.add_whole(slot, _whole(parts[0]), count)
        else:
            reduce.count_rows(slot, _valid(parts[0]) if parts else _ALL, count)
        return pa.array(count)

    def _sum(self, parts: list[pa.ChunkedArray], measure: Measure, slot: IntArray, n_slots: int) -> list[pa.Array]:
        count = self._count(parts[:1], slot, n_slots)
        if not _is_exact(measure):
            out = np.zeros((n_slots, 2))
            if self.is_partial:
                reduce.add_rows(slot, _matrix(parts[1:]), reduce.TOTALS, out)
            else:
                reduce.add_doubles(slot, _doubles(parts[0]), _valid(parts[0]), out)
            return [count, *_columns(out)]
        low, high = np.zeros(n_slots, dtype=np.int64), np.zeros(n_slots, dtype=np.int64)
        if self.is_partial:
            reduce.add_whole(slot, _whole(parts[1]), low)
            reduce.add_whole(slot, _whole(parts[2]), high)
        else:
            reduce.add_halves(slot, _whole(parts[0]), _valid(parts[0]), low, high)
        return [count, pa.array(low), pa.array(high)]

    def _moments(self, parts: list[pa.ChunkedArray], measure: Measure) -> Any:
        if self.is_partial:
            return _matrix(parts)
        rows = np.zeros((len(parts[0]), N_PARTS[measure.function]))
        rows[:, 0] = 1.0
        for j, column in enumerate(parts):
            rows[:, 1 + j] = _doubles(column)
            if column.null_count:
                rows[~column.is_valid().to_numpy(), 0] = 0.0
            # As in Spark: the distance of an infinite value from any mean is no number.
            of_value = [1 + j, 3 + j, 5] if measure.function in PAIRED else list(range(1, rows.shape[1]))
            bad = ~np.isfinite(rows[:, 1 + j])
            for part in of_value:
                rows[bad, part] = np.nan
        return rows

    def _pick(self, parts: list[pa.ChunkedArray], measure: Measure, slot: IntArray, n_slots: int) -> list[pa.Array]:
        greatest = is_greatest(measure)
        if measure.function in EXTREMES and _is_plain(parts[0].type):
            values = _numbers(parts[0])
            out, is_there = np.zeros(n_slots, dtype=values.dtype), np.zeros(n_slots, dtype=np.bool_)
            reduce.keep_extremes(slot, values, _valid(parts[0]), greatest, out, is_there)
            return [_extremes(out, is_there, parts[0].type)]
        keys, valid = order_keys(parts, measure)
        rows = np.full(n_slots, -1, dtype=np.int64)
        reduce.pick_rows(slot, np.stack(keys), valid, greatest, rows)
        return [_taken(part, rows) for part in parts]

    def by_span(self, i: int, measure: Measure, spans: IntArray) -> list[pa.Array]:
        """The parts of measure i for every span of rows."""
        parts, n = self.parts(i, measure), spans.shape[0]
        if measure.function == "COUNT":
            return [self._count_spans(parts, spans)]
        if measure.function in N_PARTS:
            out = np.zeros((n, N_PARTS[measure.function]))
            slide.slide_rows(self._moments(parts, measure), spans, _kind(measure), out)
            return _columns(out)
        if measure.function in ("SUM", "AVG"):
            return [self._count_spans(parts, spans), *self._sum_spans(parts, measure, spans)]
        if measure.function in BITS:
            bits = np.zeros(n, dtype=np.int64)
            count = self._counts(parts)
            slide.slide_bits(_whole(parts[-1]), count, spans, BITS.index(measure.function), bits)
            return [_slide_whole(count, spans), pa.array(bits)]
        if measure.is_list:
            return self._list_spans(parts, measure, spans)
        return self._pick_spans(parts, measure, spans)

    def _counts(self, parts: list[pa.ChunkedArray]) -> IntArray:
        """For how many events with a value each row stands."""
        if self.is_partial:
            return _whole(parts[0])
        return parts[0].is_valid().to_numpy().astype(np.int64) if parts else np.ones(self.table.num_rows, np.int64)

    def _count_spans(self, parts: list[pa.ChunkedArray], spans: IntArray) -> pa.Array:
        if not self.is_partial and not (parts and parts[0].null_count):
            return pa.array(spans[:, 2] - spans[:, 1])
        return _slide_whole(self._counts(parts), spans)

    def _sum_spans(self, parts: list[pa.ChunkedArray], measure: Measure, spans: IntArray) -> list[pa.Array]:
        if _is_exact(measure):
            if self.is_partial:
                return [_slide_whole(_whole(part), spans) for part in parts[1:]]
            values = _whole(parts[0])
            return [_slide_whole(values & 0xFFFFFFFF, spans), _slide_whole(values >> 32, spans)]
        if self.is_partial:
            rows = _matrix(parts[1:])
        else:
            rows = np.zeros((self.table.num_rows, 2))
            rows[:, 0] = _doubles(parts[0])
        out = np.zeros((spans.shape[0], 2))
        slide.slide_rows(rows, spans, reduce.TOTALS, out)
        return _columns(out)

    def _list_spans(self, parts: list[pa.ChunkedArray], measure: Measure, spans: IntArray) -> list[pa.Array]:
        lengths = spans[:, 2] - spans[:, 1]
        rows = np.repeat(spans[:, 1] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        window = np.repeat(np.arange(lengths.size), lengths)
        taken = [_joined(part).take(pa.array(rows)) for part in parts]
        if self.is_partial:
            window = np.repeat(window, taken[0].value_lengths().to_numpy())
            taken = [part.flatten() for part in taken]
        chunked = [pa.chunked_array([part]) for part in taken]
        return lists_of(chunked, len(measure.columns()), window, lengths.size)

    def _pick_spans(self, parts: list[pa.ChunkedArray], measure: Measure, spans: IntArray) -> list[pa.Array]:
        n, greatest = spans.shape[0], is_greatest(measure)
        if measure.function in EXTREMES and _is_plain(parts[0].type):
            values = _numbers(parts[0])
            made, is_there = np.zeros(n, dtype=values.dtype), np.zeros(n, dtype=np.bool_)
            slide.slide_extremes(values, _valid(parts[0]), spans, greatest, made, is_there)
            return [_extremes(made, is_there, parts[0].type)]
        keys, valid = order_keys(parts, measure)
        rank = np.empty(self.table.num_rows, dtype=np.int64)
        rank[np.lexsort(keys[::-1])] = np.arange(rank.size)
        if valid.size:
            rank[~valid] = -1
        rows = np.empty(n, dtype=np.int64)
        slide.slide_picks(rank, spans, greatest, rows)
        return [_taken(part, rows) for part in parts]


def lists_of(parts: Sequence[pa.ChunkedArray], n_values: int, slot: IntArray, n_slots: int) -> list[pa.Array]:
    """Lists by slot, in order of what stands behind the values, then of the values, NULLs first."""
    values = [_nulls_first(part) for part in reversed(parts[:n_values])]
    keys = [*values, *(_key(part) for part in reversed(parts[n_values:])), slot]
    order = pa.array(np.lexsort(keys))
    offsets = pa.array(np.concatenate([[0], np.cumsum(np.bincount(slot, minlength=n_slots))]).astype(np.int32))
    return [pa.ListArray.from_arrays(offsets, _joined(part.take(order))) for part in parts]


def is_greatest(measure: Measure) -> bool:
    """Whether the last or the greatest row is picked."""
    return measure.function.startswith(("MAX", "LAST"))


def order_keys(parts: Sequence[pa.ChunkedArray], measure: Measure) -> tuple[list[IntArray], Any]:
    """By what rows are compared, first things first, and which of them count.

    FIRST and LAST go by time, the sequence, and the value where both are equal; of rows that are equal by what MAX_BY
    and MIN_BY go by, the later one counts.
    """
    value, *others = parts
    if measure.function in EXTREMES:
        return [_key(value)], _valid(value)
    if measure.function in PICKS:
        keys = [_key(other) for other in others]
        valid = _valid(value) if measure.function.endswith("PRESENT") else _valid(others[0])
    else:
        by, *when = others
        later = [_key(other) for other in when]
        keys = [_key(by), *(later if is_greatest(measure) else [~key for key in later])]
        valid = _valid(by)
    key = _nulls_first(value)
    return [*keys, key if measure.function != "MIN_BY" else ~key], valid


def _nulls_first(column: pa.ChunkedArray) -> IntArray:
    key = _key(column)
    return np.where(column.is_valid().to_numpy(), key, np.iinfo(np.int64).min) if column.null_count else key


def _key(column: pa.ChunkedArray) -> IntArray:
    """Whole numbers in the order of the values; NULLs have any."""
    dtype = column.type
    if pa.types.is_integer(dtype) and not pa.types.is_uint64(dtype):
        return _whole(column)
    if pa.types.is_interval(dtype):
        return interval_us(column)
    if pa.types.is_null(dtype):
        return np.zeros(len(column), dtype=np.int64)
    if pa.types.is_timestamp(dtype) or pa.types.is_duration(dtype) or pa.types.is_date64(dtype):
        return _whole(column.cast(pa.int64()))
    if pa.types.is_nested(dtype):
        return nested_ranks(column)
    ranks = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
    return ranks.to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def _kind(measure: Measure) -> int:
    if measure.function in PAIRED:
        return reduce.PAIRS
    return reduce.SHAPES if measure.function in SHAPE else reduce.SPREADS


def _plain(column: pa.ChunkedArray, dtype: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == dtype else column.cast(dtype)


def _valid(column: pa.ChunkedArray) -> Any:
    return column.is_valid().to_numpy() if column.null_count else _ALL


def _is_plain(dtype: pa.DataType) -> bool:
    is_whole = pa.types.is_integer(dtype) and not pa.types.is_uint64(dtype)
    return bool(is_whole or pa.types.is_float32(dtype) or pa.types.is_float64(dtype))


def _numbers(column: pa.ChunkedArray) -> Any:
    return _whole(column) if pa.types.is_integer(column.type) else _doubles(column)


def _doubles(column: pa.ChunkedArray) -> Any:
    values = column.cast(pa.float64())
    return (pc.fill_null(values, 0.0) if values.null_count else values).to_numpy()


def _whole(column: pa.ChunkedArray) -> IntArray:
    """Whole numbers, or decimals without their point; 0 where there is none."""
    if pa.types.is_decimal(column.type):
        whole = pa.decimal128(column.type.precision, 0)
        chunks = [pa.Array.from_buffers(whole, len(c), c.buffers(), offset=c.offset) for c in column.chunks]
        column = pa.chunked_array(chunks, whole)
    if column.null_count:
        column = pc.fill_null(column, 0)
    return numpy_int64(column.cast(pa.int64()))


def _matrix(parts: Sequence[pa.ChunkedArray]) -> Any:
    return np.stack([part.to_numpy() for part in parts], axis=1)


def _columns(out: Any) -> list[pa.Array]:
    return [pa.array(out[:, j]) for j in range(out.shape[1])]


def _slide_whole(values: IntArray, spans: IntArray) -> pa.Array:
    out = np.empty(spans.shape[0], dtype=np.int64)
    slide.slide_whole(values, spans, out)
    return pa.array(out)


def _taken(part: pa.ChunkedArray, rows: IntArray) -> pa.Array:
    return _joined(part.take(pa.array(rows, mask=rows < 0)))


def _joined(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _extremes(values: Any, is_there: Any, dtype: pa.DataType) -> pa.Array:
    return pa.array(values, mask=None if is_there.all() else ~is_there).cast(dtype)


def finish(measure: Measure, parts: Sequence[pa.Array]) -> pa.Array:
    """What a measure comes to."""
    if measure.function in N_PARTS:
        return statistic(measure.function, [part.to_numpy() for part in parts])
    if measure.function not in ("SUM", "AVG", *BITS):
        return parts[0].cast(output_type(measure)) if measure.is_wide else parts[0]
    none = pc.equal(parts[0], 0)
    dtype = output_type(measure)
    if measure.function in BITS:
        made = parts[1]
    elif _is_exact(measure):
        made = _whole_sums(measure, parts, dtype)
    else:
        total = parts[1].to_numpy() + np.nan_to_num(parts[2].to_numpy(), nan=0.0, posinf=0.0, neginf=0.0)
        made = pa.array(total / np.maximum(parts[0].to_numpy(), 1) if measure.function == "AVG" else total)
    return pc.if_else(none, pa.scalar(None, dtype), made.cast(dtype))


def _whole_sums(measure: Measure, parts: Sequence[pa.Array], dtype: pa.DataType) -> pa.Array:
    count, low, high = (part.to_numpy() for part in parts)
    high, low = high + (low >> 32), low & 0xFFFFFFFF
    if pa.types.is_decimal(dtype):
        return _decimals(measure, count, low, high, dtype)
    if measure.is_wide:
        return pa.array(_nearest(measure, count, low, high))
    if measure.function == "AVG":
        return pa.array((high * 4294967296.0 + low) / np.maximum(count, 1))
    if np.any((high < -(1 << 31)) | (high >= 1 << 31)):
        raise InputError("a sum of RETURN leaves the range of 64 bits", hint="cast its argument to DOUBLE")
    return pa.array((high << 32) | low)


def _nearest(measure: Measure, count: Any, low: Any, high: Any) -> Any:
    """Averages as the nearest doubles: of whole numbers that doubles hold, their quotient is that."""
    assert measure.dtype is not None
    unit = 10**measure.dtype.scale if pa.types.is_decimal(measure.dtype) else 1
    made = (high * 4294967296.0 + low) / (np.maximum(count, 1) * float(unit))
    large = (high < -(1 << 20)) | (high >= 1 << 20) | (count * float(unit) >= 2.0**53)
    for i in np.flatnonzero(large).tolist():
        made[i] = ((int(high[i]) << 32) + int(low[i])) / (int(count[i]) * unit)
    return made


def _decimals(measure: Measure, count: Any, low: Any, high: Any, dtype: pa.DataType) -> pa.Array:
    """Sums of unscaled numbers, and averages rounded half up, as decimals."""
    if measure.function == "SUM":
        words = np.empty((count.size, 2), dtype=np.int64)
        words[:, 0], words[:, 1] = (high << 32) | low, high >> 32
        return pa.Array.from_buffers(dtype, count.size, [None, pa.py_buffer(words.tobytes())])
    assert measure.dtype is not None
    unit = Decimal(1).scaleb(-dtype.scale)
    made: list[Decimal] = []
    with localcontext() as context:
        context.prec = 60
        for n, lower, upper in zip(count.tolist(), low.tolist(), high.tolist(), strict=True):
            value = Decimal((upper << 32) + lower).scaleb(-measure.dtype.scale)
            made.append((value / max(n, 1)).quantize(unit, ROUND_HALF_UP))
    return pa.array(made, dtype)
