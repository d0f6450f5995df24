"""Results of DuckDB as the types that a query promised: its intervals are lengths of time."""

from __future__ import annotations

import pyarrow as pa

from eventide.expressions.types import DURATION
from eventide.runtime.encode import interval_us


def as_type(array: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """The array cast; an interval becomes a duration, a month in it 30 days, also inside lists.

    >>> months = pa.chunked_array([pa.array([(0, 1, 5000), None], pa.month_day_nano_interval())])
    >>> as_type(months, pa.duration("us")).cast(pa.int64()).to_pylist()
    [86400000005, None]
    """
    if array.type == wanted:
        return array
    if pa.types.is_null(wanted):
        return pa.chunked_array([pa.nulls(len(array))])
    if pa.types.is_interval(array.type) and not pa.types.is_interval(wanted):
        lengths = pa.array(interval_us(array), pa.int64(), mask=array.is_null().to_numpy())
        return pa.chunked_array([lengths.cast(pa.duration("us")).cast(wanted)])
    # Arrow casts a list of NULLs to one that is too short.
    if pa.types.is_list(array.type) and _is_odd(array.type.value_type):
        return pa.chunked_array([_list(chunk, wanted) for chunk in array.chunks], wanted)
    return array.cast(wanted)


def with_lengths(table: pa.Table) -> pa.Table:
    """A table that DuckDB gave, with lengths of time in place of its intervals."""
    for i, field in enumerate(table.schema):
        wanted = _in_lengths(field.type)
        if wanted != field.type:
            table = table.set_column(i, field.name, as_type(table.column(i), wanted))
    return table


def _in_lengths(dtype: pa.DataType) -> pa.DataType:
    if pa.types.is_list(dtype):
        return pa.list_(dtype.field(0).with_type(_in_lengths(dtype.value_type)))
    return DURATION if pa.types.is_interval(dtype) else dtype


def _list(array: pa.ListArray, wanted: pa.ListType) -> pa.ListArray:
    items = as_type(pa.chunked_array([array.values]), wanted.value_type).combine_chunks()
    if isinstance(items, pa.ChunkedArray):
        items = items.chunk(0)
    # The offsets of a slice cannot have a mask.
    offsets = pa.array(array.offsets.to_numpy())
    return pa.ListArray.from_arrays(offsets, items, wanted, mask=array.is_null())


def _is_odd(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_interval(dtype) or pa.types.is_null(dtype))
