"""Rows of a block in the order of MATCH_RECOGNIZE: partition by partition, each by its ORDER BY."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.runtime.by_code import order_by_code
from eventide.runtime.kernels.arrays import IntArray
from eventide.runtime.kernels.order import has_ties, is_rising, is_sorted, meets_equal
from eventide.runtime.measured import RowOrder
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.shares import share_out


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """`order[i]` is the block row at position i; `offsets` are the partitions' borders."""

    order: IntArray
    offsets: IntArray


def order_rows(
    block: pa.Table,
    partition: Sequence[str],
    keys: Sequence[RowOrder],
    tie_columns: Sequence[str],
    n_threads: int = 1,
) -> OrderedRows:
    """Sort a block. Without keys the rows keep their order; `tie_columns` are asked only where keys are equal.

    Columns without an order, such as lists, are asked last, and by their text: equal rows are interchangeable.

    >>> table = pa.table({"p0": [1, 2, 1], "c0": [5, 6, 4]})
    >>> ordered = order_rows(table, ["p0"], [RowOrder("c0", False, True)], [])
    >>> ordered.order.tolist(), ordered.offsets.tolist()
    ([2, 0, 1], [0, 2, 3])
    """
    codes, n_codes = encode_partitions(block, partition)
    values = _integers(block.column(keys[0].column)) if len(keys) == 1 and not keys[0].descending else None
    rises = values is not None and is_rising(values)
    by_keys = None if rises else _by_keys(block, keys, values)
    order = OrderedRows(*order_by_code(codes, n_codes, by_keys, n_threads))
    if rises or (by_keys is None and values is not None and _are_apart(values, codes, n_codes)):
        return order
    ordered, others = _by_order(block, tie_columns)
    asked = list(keys)
    for names in (ordered, others):
        if keys and names and _has_ties(block, asked, order, n_threads):
            asked += [RowOrder(name, False, True) for name in names]
            order = OrderedRows(*order_by_code(codes, n_codes, _sorted(block, asked), n_threads))
    return order


def _by_order(block: pa.Table, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The columns that can be sorted, and the others."""
    others = [name for name in names if _is_unordered(block.schema.field(name).type)]
    return [name for name in names if name not in others], others


def _is_unordered(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_nested(dtype) or pa.types.is_interval(dtype))


def _by_keys(block: pa.Table, keys: Sequence[RowOrder], values: IntArray | None) -> IntArray | None:
    """The rows in the order of the keys; None: they are already. `values` are those of a key that sorts as they do."""
    if not keys:
        return None
    if values is not None:
        return None if is_sorted(values) else np.argsort(values, kind="stable")
    return _sorted(block, keys)


def _are_apart(values: IntArray, codes: IntArray, n_codes: int) -> bool:
    """Whether rows of one partition, sorted as they are, all have different values; False may mean unknown."""
    return not meets_equal(codes, values, np.full(n_codes, np.iinfo(np.int64).min))


def _integers(column: pa.ChunkedArray) -> IntArray | None:
    """A column that sorts as integers do, without NULLs; None otherwise."""
    if column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_timestamp(column.type)):
        return None
    if pa.types.is_uint64(column.type):
        return None
    return column.cast(pa.int64()).to_numpy().astype(np.int64, copy=False)  # type: ignore[no-any-return]


def _sorted(block: pa.Table, keys: Sequence[RowOrder]) -> IntArray:
    """Arrow sorts stably, with one place for all NULLs; so a key with NULLs gets one before it that tells them."""
    columns: list[pa.ChunkedArray] = []
    directions: list[str] = []
    for key in keys:
        column = block.column(key.column)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        elif _is_unordered(column.type):
            texts = pa.array([repr(value) for value in column.to_pylist()], pa.large_string())
            column = pa.chunked_array([pc.rank(texts, tiebreaker="min")])
        if column.null_count:
            columns.append(column.is_valid().cast(pa.int8()))
            directions.append("ascending" if key.nulls_first else "descending")
        direction = "descending" if key.descending else "ascending"
        if pa.types.is_floating(column.type):
            # NaN is the greatest value; Arrow has it last in either direction.
            columns.append(pc.fill_null(pc.is_nan(column), False).cast(pa.int8()))
            directions.append(direction)
        columns.append(column)
        directions.append(direction)
    names = [f"k{i}" for i in range(len(columns))]
    table = pa.table(columns, names=names)
    indices = pc.sort_indices(table, sort_keys=list(zip(names, directions, strict=True)))
    return indices.to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def _has_ties(block: pa.Table, keys: Sequence[RowOrder], ordered: OrderedRows, n_threads: int) -> bool:
    """Whether two neighbours of one partition have equal keys."""
    order, offsets = ordered.order, ordered.offsets
    columns = [_codes(block.column(key.column)) for key in keys]
    if len(columns) == 1:
        with ThreadPoolExecutor(max_workers=n_threads) as pool:
            shares = [offsets[start : stop + 1] for start, stop in share_out(offsets, n_threads)]
            return any(pool.map(lambda share: has_ties(share, columns[0], order), shares))
    equal = np.ones(max(order.size - 1, 0), dtype=np.bool_)
    borders = offsets[1:-1]
    equal[borders[(borders > 0) & (borders < order.size)] - 1] = False
    for values in columns:
        sorted_values = values[order]
        equal &= sorted_values[1:] == sorted_values[:-1]
    return bool(equal.any())


def _codes(column: pa.ChunkedArray) -> IntArray:
    """Numbers that are equal where the values are; NULLs are equal."""
    values = _integers(column)
    if values is not None:
        return values
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        # So that the two zeros are equal.
        column = pc.add(column, pa.scalar(0.0, column.type))
    # Joined first: Arrow does not unify dictionaries that hold a NULL.
    joined = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    encoded = pc.dictionary_encode(joined, null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]
