"""What every event adds to the aggregates: weights, sums and ranks, as arrays in event order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventide.families.trends.kernel_records import NONE
from eventide.families.trends.spec import Measure
from eventide.runtime.kernels.arrays import IntArray

WORD_BITS = 64
WORD = 1 << WORD_BITS
MAX_BITS = 1 << 27  # that may be looked at one by one: a gigabyte of counters


@dataclass(frozen=True, slots=True)
class Weight:
    """A counter of the symbols' events, each as often as it says: 1, or a part of the column's value.

    Parts: "one", "valid" (not NULL), "plus" and "minus" (the value's size, by its sign; of its bits `width` from bit
    `shift` on).
    """

    symbols: int
    part: str
    column: str | None = None
    shift: int = 0
    width: int = WORD_BITS


@dataclass(frozen=True, slots=True)
class Inputs:
    """Where each measure finds its numbers, by their place among the weights, sums and extremes."""

    weights: tuple[Weight, ...]
    sums: tuple[tuple[int, str], ...]  # symbols, column
    extremes: tuple[tuple[int, str, bool], ...]  # symbols, column, whether it is the greatest
    n_bits: Mapping[str, int] | None = None  # of the columns that are added up bit by bit


def make_inputs(measures: tuple[Measure, ...], counts: str, n_bits: Mapping[str, int] | None = None) -> Inputs:
    """What the kernel must propagate for the measures; with `n_bits` sums bit by bit."""
    weights: dict[Weight, None] = {}
    sums: dict[tuple[int, str], None] = {}
    extremes: dict[tuple[int, str, bool], None] = {}
    for measure in measures:
        weights.update(dict.fromkeys(weights_of(measure, counts, n_bits)))
        if measure.symbols is None or measure.column is None:
            continue
        if sums_doubles(measure, counts):
            sums[(measure.symbols, measure.column)] = None
        if measure.function in ("MIN", "MAX"):
            extremes[(measure.symbols, measure.column, measure.function == "MAX")] = None
    return Inputs(tuple(weights), tuple(sums), tuple(extremes), n_bits)


def bitwise_inputs(measures: tuple[Measure, ...], block: pa.Table) -> Inputs | None:
    """As `make_inputs` for exact numbers, bit by bit: no bit adds up to more than the number of addends.

    None where they would take too much room.
    """
    summed = {m.column for m in measures if m.column is not None and m.function in ("SUM", "AVG")}
    n_bits = {}
    for name in summed:
        if not pa.types.is_floating(block.column(name).type):
            low, high, _ = sizes(block.column(name).drop_null())
            top = int(high.max(initial=0))
            n_bits[name] = WORD_BITS + top.bit_length() if top else int(low.max(initial=0)).bit_length()
    made = make_inputs(measures, "exact", n_bits)
    return made if len(made.weights) * block.num_rows <= MAX_BITS else None


def weights_of(measure: Measure, counts: str, n_bits: Mapping[str, int] | None = None) -> list[Weight]:
    """The weighted counters of a measure."""
    if measure.symbols is None or measure.function in ("MIN", "MAX"):
        return []
    if measure.column is None:
        return [Weight(measure.symbols, "one")]
    made = [Weight(measure.symbols, "valid", measure.column)]
    if measure.function != "COUNT" and not sums_doubles(measure, counts):
        shifts = range(0, 2 * WORD_BITS if is_wide(measure) and counts == "exact" else WORD_BITS, WORD_BITS)
        width = WORD_BITS
        if n_bits is not None:
            shifts, width = range(n_bits[measure.column]), 1
        made += [
            Weight(measure.symbols, part, measure.column, shift, width)
            for shift in shifts
            for part in ("plus", "minus")
        ]
    return made


def sums_doubles(measure: Measure, counts: str) -> bool:
    """Whether the measure adds up doubles, with their rounding errors; scaled numbers have weights for both signs."""
    is_double = measure.dtype is not None and pa.types.is_floating(measure.dtype)
    return measure.function in ("SUM", "AVG") and is_double and counts != "log2"


def is_wide(measure: Measure) -> bool:
    """Whether the column's unscaled values may need two words."""
    return measure.dtype is not None and pa.types.is_decimal(measure.dtype) and measure.dtype.precision > 18


def event_values(block: pa.Table, order: IntArray | None, inputs: Inputs, weight_type: Any) -> tuple[Any, ...]:
    """The arrays that `kernel_records.add_event` takes, and the sorted values that the ranks stand for."""
    n = block.num_rows if order is None else order.size
    rows = slice(None) if order is None else order
    weights = np.zeros((len(inputs.weights), n), dtype=weight_type)
    for i, weight in enumerate(inputs.weights):
        weights[i] = _weights(block, weight, weight_type)[rows]
    sums = np.zeros((len(inputs.sums), n), dtype=np.float64)
    for i, (_, column) in enumerate(inputs.sums):
        sums[i] = pc.fill_null(block.column(column).cast(pa.float64()), 0.0).to_numpy()[rows]
    ranks = np.full((len(inputs.extremes), n), NONE, dtype=np.int64)
    distinct = []
    for i, (_, column, greatest) in enumerate(inputs.extremes):
        values, codes = rank_values(block.column(column))
        ranks[i] = np.where(codes < 0, NONE, len(values) - 1 - codes if greatest else codes)[rows]
        distinct.append(values)
    symbols = [
        np.array([symbols for symbols in each], dtype=np.int64)
        for each in (
            [weight.symbols for weight in inputs.weights],
            [s for s, _ in inputs.sums],
            [s for s, _, _ in inputs.extremes],
        )
    ]
    return (weights, sums, ranks, *symbols), distinct


def _weights(block: pa.Table, weight: Weight, weight_type: Any) -> NDArray[Any]:
    if weight.column is None:
        return np.ones(block.num_rows, dtype=weight_type)
    column = block.column(weight.column)
    valid = np.asarray(column.is_valid().to_numpy())
    if weight.part == "valid":
        return valid.astype(weight_type)
    if weight_type is not np.uint64:
        values = np.asarray(pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy())
        sized: NDArray[Any] = np.maximum(values if weight.part == "plus" else -values, 0.0)
        return sized
    low, high, negative = sizes(column)
    wanted = valid & (negative == (weight.part == "minus"))
    word = (high if weight.shift >= WORD_BITS else low) >> np.uint64(weight.shift % WORD_BITS)
    if weight.width < WORD_BITS:
        word = word & np.uint64((1 << weight.width) - 1)
    return np.where(wanted, word, np.uint64(0))


def sizes(column: pa.ChunkedArray) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.bool_]]:
    """The absolute values of integers or unscaled decimals as low and high word, and which are negative."""
    kind = column.type
    scale = kind.scale if pa.types.is_decimal(kind) else 0
    array = column.cast(pa.decimal128(38, scale)).combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if not len(array):
        nothing = np.empty(0, np.uint64)
        return nothing, nothing, np.empty(0, np.bool_)
    words = np.frombuffer(array.buffers()[1], dtype=np.uint64).reshape(-1, 2)[array.offset : array.offset + len(array)]
    low, high = words[:, 0].copy(), words[:, 1].copy()
    negative = high >> np.uint64(63) != 0
    low[negative] = ~low[negative] + np.uint64(1)
    high[negative] = ~high[negative] + (low[negative] == 0)
    return low, high, negative


def rank_values(column: pa.ChunkedArray) -> tuple[pa.Array, IntArray]:
    """The distinct values in order, and the place of each row's among them; NULL is -1."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    distinct = column.drop_null().unique()
    if pa.types.is_string(distinct.type) or pa.types.is_large_string(distinct.type):
        ordered = distinct.take(pc.sort_indices(distinct.cast(pa.large_binary())))
    else:
        ordered = distinct.take(pc.sort_indices(distinct))
    codes = pc.fill_null(pc.index_in(column, value_set=ordered), -1)
    return ordered, codes.to_numpy().astype(np.int64)
