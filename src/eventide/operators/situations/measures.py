"""Aggregates of situations: what is kept of a run between blocks, and the values that are returned."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import InputError
from eventide.kernels import situation_measures as kernel
from eventide.kernels.arrays import IntArray
from eventide.operators.aggregate_types import average_type, sum_type
from eventide.operators.rearrange import rearrange
from eventide.operators.situations.runs import Input, Runs
from eventide.operators.situations.spec import Measure, SituationSpec
from eventide.operators.taken import decimals

MOMENTS = ("STDDEV_SAMP", "STDDEV_POP", "VAR_SAMP", "VAR_POP")


@dataclass(frozen=True, slots=True)
class Requests:
    """Runs and the events behind the last ones that count, sorted by both."""

    run: IntArray
    to: IntArray


def output_type(measure: Measure) -> pa.DataType:
    """The type of what is returned."""
    if measure.function == "COUNT":
        return pa.int64()
    dtype = measure.dtype
    assert dtype is not None
    if measure.function in MOMENTS:
        return pa.float64()
    if measure.function == "SUM":
        return sum_type(dtype)
    if measure.function == "AVG":
        return average_type(dtype)
    return dtype


def state_fields(spec: SituationSpec) -> list[pa.Field]:
    """The columns that what is known has for the aggregates."""
    fields: list[pa.Field] = []
    for i, measure in enumerate(spec.measures):
        fields += [pa.field(f"m{i}_{j}", dtype) for j, dtype in enumerate(_parts(measure))]
    return fields


def _is_exact(measure: Measure) -> bool:
    """Whether a sum is one of whole numbers."""
    dtype = measure.dtype
    assert dtype is not None
    return pa.types.is_decimal(dtype) or (pa.types.is_integer(dtype) and measure.function == "SUM")


def _parts(measure: Measure) -> list[pa.DataType]:
    if measure.function == "COUNT":
        return [pa.int64()]
    if measure.function in MOMENTS:
        return [pa.float64()] * 3
    if measure.function in ("SUM", "AVG"):
        return [pa.int64(), pa.int64()] if _is_exact(measure) else [pa.int64(), pa.float64(), pa.float64()]
    assert measure.dtype is not None
    return [measure.dtype]


class Measures:
    """The aggregates over one block."""

    def __init__(self, spec: SituationSpec, block: pa.Table, known: pa.Table, given: Input, n_threads: int = 1) -> None:
        self._spec = spec
        names = dict.fromkeys(measure.column for measure in spec.measures if measure.column is not None)
        self._n_events = block.num_rows
        self._columns = {name: _column_of(block, name, given, n_threads) for name in names}
        self._known = known.take(pa.array(given.known_order)) if spec.measures else known

    def fold(self, i: int, runs: Runs, requests: Requests) -> list[pa.Array]:
        """The parts of measure i for each request."""
        measure = self._spec.measures[i]
        places = (requests.run, requests.to, runs.lo, runs.origin)
        n, n_events = requests.run.size, self._n_events
        if measure.function == "COUNT" or measure.function in ("SUM", "AVG"):
            count = np.empty(n, dtype=np.int64)
            valid = np.ones(n_events, np.bool_) if measure.column is None else _valid(self._column(measure))
            kernel.count_values(*places, valid, self._carried(f"m{i}_0", np.int64), count)
            if measure.function == "COUNT":
                return [pa.array(count)]
            return [pa.array(count), *self._add(i, measure, places, valid, n)]
        if measure.function in MOMENTS:
            moments = np.empty((n, 3))
            column = self._column(measure)
            carried = np.stack([self._carried(f"m{i}_{j}", np.float64) for j in range(3)], axis=1)
            kernel.add_moments(*places, _doubles(column), _valid(column), carried, moments)
            return [pa.array(moments[:, j]) for j in range(3)]
        return [self._pick(i, measure, runs, requests)]

    def _add(self, i: int, measure: Measure, places: tuple[Any, ...], valid: Any, n: int) -> list[pa.Array]:
        column = self._column(measure)
        if _is_exact(measure):
            total = np.empty(n, dtype=np.int64)
            if not kernel.add_integers(*places, _unscaled(column), valid, self._carried(f"m{i}_1", np.int64), total):
                raise InputError("a sum of RETURN leaves the range of 64 bits", hint="cast its argument to DOUBLE")
            return [pa.array(total)]
        totals = np.empty((n, 2))
        carried = np.stack([self._carried(f"m{i}_{j}", np.float64) for j in (1, 2)], axis=1)
        with np.errstate(all="ignore"):
            kernel.add_doubles(*places, _doubles(column), valid, carried, totals)
        return [pa.array(totals[:, j]) for j in range(2)]

    def _pick(self, i: int, measure: Measure, runs: Runs, requests: Requests) -> pa.Array:
        """FIRST, LAST, MIN, MAX: a value that some event has, or a carried one."""
        carried = self._known.column(f"m{i}_0")
        n_carried = len(carried)
        column = pa.chunked_array([*carried.chunks, *self._column(measure).chunks], type=carried.type)
        lo, origin = runs.lo[requests.run], runs.origin[requests.run]
        if measure.function == "FIRST":
            at = np.where(origin >= 0, origin, lo + n_carried)
        elif measure.function == "LAST":
            at = np.where(requests.to > lo, requests.to - 1 + n_carried, origin)
        else:
            at = np.empty(requests.run.size, dtype=np.int64)
            values = _comparable(column)
            places = (requests.run, requests.to, runs.lo, runs.origin)
            kernel.find_extremes(*places, values, _valid(column), n_carried, measure.function == "MAX", at)
        return _one(column.take(pa.array(at, mask=at < 0)))

    def _carried(self, name: str, dtype: Any) -> Any:
        return pc.fill_null(self._known.column(name), 0).to_numpy().astype(dtype, copy=False)

    def _column(self, measure: Measure) -> pa.ChunkedArray:
        assert measure.column is not None and measure.dtype is not None
        column = self._columns[measure.column]
        return column if column.type == measure.dtype else column.cast(measure.dtype)


def _column_of(block: pa.Table, name: str, given: Input, n_threads: int) -> pa.ChunkedArray:
    """A column in the order of the events."""
    column = block.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    is_plain = pa.types.is_integer(column.type) or pa.types.is_float64(column.type) or pa.types.is_float32(column.type)
    if is_plain and not column.null_count:
        return pa.chunked_array([pa.array(rearrange(column.to_numpy(), given.order, n_threads))])
    return column.take(pa.array(given.order))


def finish(measure: Measure, parts: list[pa.Array]) -> pa.Array:
    """The value of an aggregate from its parts."""
    if measure.function == "COUNT":
        return parts[0]
    if measure.function in MOMENTS:
        return _spread(measure.function, *(part.to_numpy() for part in parts))
    if measure.function not in ("SUM", "AVG"):
        return parts[0]
    none = pc.equal(parts[0], 0)
    dtype = output_type(measure)
    if not _is_exact(measure):
        total = parts[1].to_numpy() + np.nan_to_num(parts[2].to_numpy(), nan=0.0, posinf=0.0, neginf=0.0)
        if measure.function == "AVG":
            total = total / np.maximum(parts[0].to_numpy(), 1)
        made = pa.array(total)
    elif pa.types.is_integer(dtype):
        made = parts[1]
    else:
        made = _decimals(measure, parts, dtype)
    return pc.if_else(none, pa.scalar(None, dtype), made.cast(dtype))


def _spread(function: str, n: Any, mean: Any, squares: Any) -> pa.Array:
    divisor = n if function.endswith("_POP") else n - 1
    with np.errstate(all="ignore"):
        variance = squares / divisor
        values = np.sqrt(variance) if function.startswith("STDDEV") else variance
    return pa.array(values, mask=divisor <= 0)


def _decimals(measure: Measure, parts: list[pa.Array], dtype: pa.DataType) -> pa.Array:
    """Sums of unscaled numbers, and averages rounded half up, as decimals."""
    assert measure.dtype is not None
    if measure.function == "SUM":
        return decimals(parts[1].to_numpy(), None, dtype)
    unit = Decimal(1).scaleb(-dtype.scale)
    made: list[Decimal] = []
    with localcontext() as context:
        context.prec = 60
        for n, total in zip(parts[0].to_pylist(), parts[1].to_pylist(), strict=True):
            value = Decimal(total).scaleb(-measure.dtype.scale)
            made.append((value / max(n, 1)).quantize(unit, ROUND_HALF_UP))
    return pa.array(made, dtype)


def _valid(column: pa.ChunkedArray) -> Any:
    return column.is_valid().to_numpy() if column.null_count else np.ones(len(column), np.bool_)


def _doubles(column: pa.ChunkedArray) -> Any:
    values = column.cast(pa.float64())
    return (pc.fill_null(values, 0.0) if values.null_count else values).to_numpy()


def _unscaled(column: pa.ChunkedArray) -> Any:
    """Whole numbers, or decimals without their point."""
    if pa.types.is_integer(column.type):
        values = column.cast(pa.int64())
        return (pc.fill_null(values, 0) if values.null_count else values).to_numpy()
    whole = pa.decimal128(column.type.precision, 0)
    parts = [pa.Array.from_buffers(whole, len(c), c.buffers(), offset=c.offset) for c in column.chunks]
    return pc.fill_null(pa.chunked_array(parts, whole).cast(pa.int64()), 0).to_numpy()


def _comparable(column: pa.ChunkedArray) -> Any:
    """Numbers in the order of the values."""
    if pa.types.is_floating(column.type):
        return _doubles(column)
    if pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type):
        return _unscaled(column)
    if pa.types.is_boolean(column.type):
        return pc.fill_null(column.cast(pa.int8()), 0).to_numpy().astype(np.int64)
    return pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
