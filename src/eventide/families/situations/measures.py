"""Aggregates of situations: what is kept of a run between blocks, and the values that are returned."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import InputError
from eventide.families.situations import kernel_measures as kernel
from eventide.families.situations.runs import Input, Runs
from eventide.families.situations.spec import Measure, SituationSpec
from eventide.runtime.aggregate_types import average_type, sum_type
from eventide.runtime.encode import interval_us
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.moments import N_PARTS, PAIRED, SHAPE, statistic
from eventide.runtime.rearrange import rearrange
from eventide.runtime.taken import decimals

BITS = {"BIT_AND": kernel.and_bits, "BIT_OR": kernel.or_bits, "BIT_XOR": kernel.xor_bits}
PRESENT = ("FIRST_PRESENT", "LAST_PRESENT")  # the first and the last value that is not NULL
BY = ("MAX_BY", "MIN_BY")


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
    if measure.function in N_PARTS:
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
    parts = [pa.from_numpy_dtype(start.dtype) for _, start in _folds(measure) for _ in range(start.size)]
    return parts or [dtype for _, dtype in measure.columns()]


def _folds(measure: Measure) -> list[tuple[Any, Any]]:
    """The kernels that keep the parts of an aggregate, each with the parts of no events; none: it picks an event."""
    function, count = measure.function, (kernel.count_values, np.zeros(1, np.int64))
    if function == "COUNT":
        return [count]
    if function in N_PARTS:
        add = kernel.add_pairs if function in PAIRED else kernel.add_shapes if function in SHAPE else kernel.add_moments
        return [(add, np.zeros(N_PARTS[function]))]
    if function in BITS:
        return [count, (BITS[function], np.full(1, -1 if function == "BIT_AND" else 0))]
    if function not in ("SUM", "AVG"):
        return []
    exact = (kernel.add_integers, np.zeros(1, np.int64))
    return [count, exact if _is_exact(measure) else (kernel.add_doubles, np.zeros(2))]


class Measures:
    """The aggregates over one block."""

    def __init__(self, spec: SituationSpec, block: pa.Table, known: pa.Table, given: Input, n_threads: int = 1) -> None:
        self._spec = spec
        names = dict.fromkeys(name for measure in spec.measures for name, _ in measure.columns())
        self._n_events = block.num_rows
        self._columns = {name: _column_of(block, name, given, n_threads) for name in names}
        self._known = known.take(pa.array(given.known_order)) if spec.measures else known

    def fold(self, i: int, runs: Runs, requests: Requests) -> list[pa.Array]:
        """The parts of measure i for each request."""
        measure = self._spec.measures[i]
        folds = _folds(measure)
        if not folds:
            return self._pick(i, measure, runs, requests)
        columns = [self._typed(name, dtype) for name, dtype in measure.columns()]
        valid = np.ones(self._n_events, np.bool_)
        for column in columns:
            valid &= _valid(column)
        parts: list[pa.Array] = []
        for add, start in folds:
            values = [valid]
            if add is not kernel.count_values:
                values = [_doubles(column) if start.dtype == np.float64 else _unscaled(column) for column in columns]
            known = [self._carried(f"m{i}_{len(parts) + j}", start.dtype) for j in range(start.size)]
            out = np.empty((requests.run.size, start.size), start.dtype)
            places = (requests.run, requests.to, runs.lo, runs.origin)
            try:
                with np.errstate(all="ignore"):
                    add(*places, values[0], values[-1], valid, start, np.stack(known, axis=1), out)
            except OverflowError:
                hint = "cast its argument to DOUBLE"
                raise InputError("a sum of RETURN leaves the range of 64 bits", hint=hint) from None
            parts += [pa.array(out[:, j]) for j in range(start.size)]
        return parts

    def _pick(self, i: int, measure: Measure, runs: Runs, requests: Requests) -> list[pa.Array]:
        """The value that some event has, or a carried one; with it what it was picked by."""
        columns = [
            self._behind_carried(f"m{i}_{j}", self._typed(name, dtype))
            for j, (name, dtype) in enumerate(measure.columns())
        ]
        n_carried = self._known.num_rows
        lo, origin = runs.lo[requests.run], runs.origin[requests.run]
        places = (requests.run, requests.to, runs.lo, runs.origin)
        at = np.empty(requests.run.size, dtype=np.int64)
        if measure.function == "FIRST":
            at = np.where(origin >= 0, origin, lo + n_carried)
        elif measure.function == "LAST":
            at = np.where(requests.to > lo, requests.to - 1 + n_carried, origin)
        elif measure.function in PRESENT:
            kernel.find_present(*places, _valid(columns[0]), n_carried, measure.function == "LAST_PRESENT", at)
        else:
            values = _comparable(columns[-1])
            by = (measure.function.startswith("MAX"), measure.function in BY)
            kernel.find_extremes(*places, values, _valid(columns[-1]), n_carried, by, at)
        return [_one(column.take(pa.array(at, mask=at < 0))) for column in columns]

    def _behind_carried(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        carried = self._known.column(name)
        return pa.chunked_array([*carried.chunks, *column.chunks], type=carried.type)

    def _carried(self, name: str, dtype: Any) -> Any:
        return pc.fill_null(self._known.column(name), 0).to_numpy().astype(dtype, copy=False)

    def _typed(self, name: str, dtype: pa.DataType) -> pa.ChunkedArray:
        column = self._columns[name]
        return column if column.type == dtype else column.cast(dtype)


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
    if measure.function in N_PARTS:
        return statistic(measure.function, [part.to_numpy() for part in parts])
    if measure.function not in ("SUM", "AVG", *BITS):
        return parts[0]
    none = pc.equal(parts[0], 0)
    dtype = output_type(measure)
    if measure.function in BITS:
        made = parts[1]
    elif not _is_exact(measure):
        total = parts[1].to_numpy() + np.nan_to_num(parts[2].to_numpy(), nan=0.0, posinf=0.0, neginf=0.0)
        if measure.function == "AVG":
            total = total / np.maximum(parts[0].to_numpy(), 1)
        made = pa.array(total)
    elif pa.types.is_integer(dtype):
        made = parts[1]
    else:
        made = _decimals(measure, parts, dtype)
    return pc.if_else(none, pa.scalar(None, dtype), made.cast(dtype))


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
    if pa.types.is_interval(column.type):
        return interval_us(column)
    if pa.types.is_duration(column.type):
        return pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=np.int64)
    return pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
