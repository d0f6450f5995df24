"""From the records of scopes to result columns: exact decimals, doubles, logarithms; what left its range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import InputError
from eventide.families.trends.inputs import WORD, Inputs, Weight, sums_doubles, weights_of
from eventide.families.trends.kernel_exact_numbers import BEYOND
from eventide.families.trends.kernel_records import NONE
from eventide.families.trends.kernel_scaled_numbers import LARGE
from eventide.families.trends.spec import Measure

LIMIT = 10**38
_SIGNS = ("plus", "minus")


@dataclass(frozen=True, slots=True)
class Totals:
    """The records of all results, one class each: numbers as Python integers, or doubles, None: past the range."""

    counts: list[Any]
    weights: dict[Weight, list[Any]]
    sums: dict[tuple[int, str], list[Any]]
    extremes: dict[tuple[int, str, bool], list[int]]
    n_bits: Mapping[str, int] | None = None  # as of `Inputs`


def output_type(measure: Measure, counts: str) -> pa.DataType:
    """The Arrow type of a measure's column."""
    if measure.function in ("MIN", "MAX"):
        assert measure.dtype is not None
        return measure.dtype
    if measure.function == "AVG" or counts != "exact" or _is_double(measure):
        return pa.float64()
    if measure.function == "SUM" and measure.dtype is not None and pa.types.is_decimal(measure.dtype):
        return pa.decimal128(38, measure.dtype.scale)
    return pa.decimal128(38, 0)


def _is_double(measure: Measure) -> bool:
    return measure.function == "SUM" and measure.dtype is not None and pa.types.is_floating(measure.dtype)


def numbers(words: Any, counts: str) -> list[Any]:
    """Numbers of the kernels as Python has them: integers, doubles, or pairs `(m, e)`; None past the range."""
    if counts == "exact":
        low, high = words[:, 0].tolist(), words[:, 1].tolist()
        beyond = int(BEYOND)
        return [None if h >= beyond else h * WORD + x for x, h in zip(low, high, strict=True)]
    if counts == "double":
        return [x if np.isfinite(x) else None for x in words[:, 0].tolist()]
    return list(zip(words[:, 0].tolist(), words[:, 1].tolist(), strict=True))


def totals_of(records: Any, inputs: Inputs, counts: str) -> Totals:
    """The kernel's records of one class each."""
    words, weights, sums, extremes = records
    n_weights, n_sums, n_extremes = len(inputs.weights), len(inputs.sums), len(inputs.extremes)
    return Totals(
        numbers(words, counts),
        {weight: numbers(weights[i::n_weights], counts) for i, weight in enumerate(inputs.weights)},
        {each: (sums[i::n_sums, 0] + sums[i::n_sums, 1]).tolist() for i, each in enumerate(inputs.sums)},
        {each: extremes[i::n_extremes].tolist() for i, each in enumerate(inputs.extremes)},
        inputs.n_bits,
    )


def loses_sums(records: Any, inputs: Inputs, counts: str) -> bool:
    """Whether positive or negative values add up to more than the kernel holds."""
    if counts != "exact":
        return False
    high, n = records[1][:, 1], len(inputs.weights)
    return any((high[i::n] >= BEYOND).any() for i, weight in enumerate(inputs.weights) if weight.part in _SIGNS)


def column_of(
    measure: Measure, totals: Totals, ranked: dict[tuple[int, str, bool], pa.Array], counts: str, finite: bool
) -> tuple[pa.Array, list[int]]:
    """A measure's column, NULL where it is past its range; and those rows. `finite`: so are all its inputs."""
    kind = output_type(measure, counts)
    if measure.function in ("MIN", "MAX"):
        assert measure.symbols is not None and measure.column is not None
        key = (measure.symbols, measure.column, measure.function == "MAX")
        values = ranked[key]
        last = len(values) - 1
        ranks = [None if r == NONE else last - r if key[2] else r for r in totals.extremes[key]]
        return values.take(pa.array(ranks, pa.int64())).cast(kind), []
    found, beyond = _numbers(measure, totals, counts, finite)
    if pa.types.is_decimal(kind):
        return _decimals(found, kind), beyond
    return pa.array(found, kind), beyond


def is_plain_count(measure: Measure, counts: str) -> bool:
    """Whether the kernel's words are the result."""
    return measure.function == "COUNT" and counts == "exact"


def count_column(measure: Measure, records: Any, inputs: Inputs) -> tuple[pa.Array, list[int]]:
    """The same as `column_of` for exact counts of single records, from the words themselves."""
    words = records[0]
    if measure.symbols is not None:
        (weight,) = weights_of(measure, "exact")
        words = records[1][inputs.weights.index(weight) :: len(inputs.weights)]
    low, high = np.uint64(LIMIT % WORD), np.uint64(LIMIT // WORD)
    beyond = (words[:, 1] > high) | ((words[:, 1] == high) & (words[:, 0] >= low))
    kind = pa.decimal128(38, 0)
    made = pa.Array.from_buffers(kind, len(words), [None, pa.py_buffer(np.ascontiguousarray(words))])
    if beyond.any():
        made = pc.if_else(pa.array(beyond), pa.scalar(None, kind), made)
    return made, np.flatnonzero(beyond).tolist()


def _numbers(measure: Measure, totals: Totals, counts: str, finite: bool) -> tuple[list[Any], list[int]]:
    if measure.symbols is None:
        made = [_count(n, counts) for n in totals.counts]
        return made, [i for i, n in enumerate(made) if n is None]
    first, *parts = weights_of(measure, counts, totals.n_bits)
    valid = totals.weights[first]
    if measure.function == "COUNT":
        made = [_count(n, counts) for n in valid]
        return made, [i for i, n in enumerate(made) if n is None]
    if sums_doubles(measure, counts):
        assert measure.column is not None
        sums = totals.sums[(measure.symbols, measure.column)]
        return _of_doubles(measure, valid, sums, finite)
    scale = measure.dtype.scale if measure.dtype is not None and pa.types.is_decimal(measure.dtype) else 0
    made, beyond = [], []
    for i, n in enumerate(valid):
        if n in (0, 0.0) or (isinstance(n, tuple) and n[0] == 0.0):
            made.append(None)
            continue
        total = _difference([(part, totals.weights[part][i]) for part in parts], counts)
        value = None
        if total is not None and (n is not None or measure.function == "SUM"):
            value = _quotient(total, n, scale, counts) if measure.function == "AVG" else total
            if counts == "exact" and measure.function == "SUM" and abs(total) >= LIMIT:
                value = None
        if value is None:
            beyond.append(i)
        made.append(value)
    return made, beyond


def _count(number: Any, counts: str) -> Any:
    if counts == "log2":
        m, e = number
        return float(np.log2(m) + e * np.log2(LARGE)) if m else -np.inf
    if counts == "exact" and number is not None and number >= LIMIT:
        return None
    return number


def _difference(parts: list[tuple[Weight, Any]], counts: str) -> Any:
    """What the positive values amount to, less the negative ones."""
    if any(number is None for _, number in parts):
        return None
    if counts == "log2":
        ((_, (m, e)), (_, (n, f))) = parts
        top = max(e, f)
        return m * LARGE ** max(e - top, -2.0) - n * LARGE ** max(f - top, -2.0), top
    return sum((number if part.part == "plus" else -number) * (1 << part.shift) for part, number in parts)


def _quotient(total: Any, n: Any, scale: int, counts: str) -> float | None:
    if counts == "log2":
        (m, e), (k, f) = total, n
        return float(m / k * LARGE ** (e - f))
    if counts == "exact":
        # The quotient of two integers is the nearest double.
        return total / (n * 10**scale)  # type: ignore[no-any-return]
    made = total / n
    return made if np.isfinite(made) else None


def _of_doubles(measure: Measure, valid: list[Any], sums: list[float], finite: bool) -> tuple[list[Any], list[int]]:
    made: list[Any] = []
    beyond = []
    for i, (n, total) in enumerate(zip(valid, sums, strict=True)):
        if n == 0:
            made.append(None)
        elif n is None or (finite and not np.isfinite(total)):
            beyond.append(i)
            made.append(None)
        else:
            made.append(total / n if measure.function == "AVG" else total)
    return made, beyond


def _decimals(found: list[int | None], kind: pa.DataType) -> pa.Array:
    """Unscaled integers as decimals, by their words: Python's decimals would round to their context."""
    words = np.zeros((len(found), 2), dtype=np.uint64)
    for i, value in enumerate(found):
        if value is not None:
            words[i] = value % WORD, value // WORD % WORD
    valid = pa.array([value is not None for value in found], pa.bool_())
    made = pa.Array.from_buffers(kind, len(found), [None, pa.py_buffer(words)])
    return pc.if_else(valid, made, pa.scalar(None, kind)) if found else pa.array([], kind)


def overflow_error(measure: Measure, group: str, window: str) -> InputError:
    """The error about one result."""
    what = f"{measure.function}({'*' if measure.symbols is None else '...'})"
    where = " and ".join(part for part in (group, window) if part) or "the input"
    other = "" if measure.function == "SUM" else 'counts="log2" for the logarithm, '
    return InputError(
        f"{what} over the trends of {where} has more than 38 digits, or is past the range of DOUBLE",
        hint=f'give {other}on_overflow="null" for NULL, or a shorter WITHIN',
    )
