"""JSON records that Arrow's reader takes as Spark's would; the others are left to Spark.

Arrow's reader is several times as fast, but works on lines and has other rules at the edges: a number in a text
column, NaN, -0, two objects in a record. So a record counts as read only where both must agree. One that is left
costs time, never a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

# Types, as SQL writes them, whose values are the same in both.
TYPES = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
}
# A piece with a record that Arrow refuses is halved down to so many records, which are left together: a call of
# Arrow's reader takes as long as some hundred records.
SMALLEST_PIECE = 1000
# Spark's reader refuses numbers and nestings of more than 1,000 characters and levels, and names of 50,000
# characters, also in fields that it skips.
_LONG, _TOO_LONG, _DEEP = 1000, 50_000, 500
_NUMBER, _SAMPLED_BYTE, _SAMPLED_NUMBER = rb"[0-9eE.+-]{500}", 100, rb"[0-9eE.+-]{5}"


def read_json(values: pa.Array, schema: pa.Schema) -> tuple[pa.Table, np.ndarray]:
    """The schema's columns of binary `values`, and which records were read; the others are NULL in all columns.

    >>> table, is_read = read_json(pa.array([b'{"n": 1}', b"one", None]), pa.schema([("n", pa.int32())]))
    >>> table.column("n").to_pylist(), is_read.tolist()
    ([1, None, None], [True, False, False])
    """
    values = values.cast(pa.binary())
    tried = np.flatnonzero(_stands_as_a_line(values))
    lines = values if len(tried) == len(values) else values.take(pa.array(tried))
    pieces = list(_read_pieces(lines, 0, schema))
    table = pa.concat_tables([schema.empty_table(), *(piece for _, piece in pieces)])
    found = tried[_concatenate([np.arange(start, start + piece.num_rows) for start, piece in pieces])]
    same = _is_same_in_both(table)
    if not same.all():
        table, found = table.filter(pa.array(same)), found[same]
    if len(found) == len(values):
        return table, np.ones(len(values), bool)
    row_of = np.full(len(values), -1)
    row_of[found] = np.arange(len(found))
    is_read = row_of >= 0
    return table.take(pa.array(row_of, mask=~is_read)), is_read


def _stands_as_a_line(values: pa.Array) -> np.ndarray:
    """Records that are one line between braces, without what the readers judge otherwise in any field.

    Between braces: no record is empty, and none goes on in the next, so as many objects as records are one each.
    """
    if len(values) == 0:
        return np.zeros(0, bool)
    offsets = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, values.offset * 4)
    data = np.frombuffer(values.buffers()[2] or b" ", np.uint8)
    lengths = np.diff(offsets)
    is_empty = lengths == 0
    first, last = data[np.where(is_empty, 0, offsets[:-1])], data[np.where(is_empty, 0, offsets[1:] - 1)]
    stands: np.ndarray = ~is_empty & (first == ord("{")) & (last == ord("}")) & _numpy(values.is_valid())
    text = data[offsets[0] : offsets[-1]].tobytes()
    for word in (b"\n", b"NaN", b"Inf"):
        if word in text:
            stands &= ~_numpy(pc.match_substring(values, word))
    if lengths.max() > _LONG:
        stands &= lengths < _TOO_LONG
        # Looked for record by record only where the whole text may have it.
        if text.count(b"[") + text.count(b"{") >= _DEEP + np.count_nonzero(stands) - 1:
            n_open = pc.add(pc.count_substring(values, b"["), pc.count_substring(values, b"{"))
            stands &= _numpy(pc.less(n_open, _DEEP))
        if re.search(_SAMPLED_NUMBER, text[::_SAMPLED_BYTE]):
            stands &= ~_numpy(pc.match_substring_regex(values, _NUMBER))
    return stands


def _read_pieces(values: pa.Array, start: int, schema: pa.Schema) -> Iterator[tuple[int, pa.Table]]:
    """Tables of runs of records and where the runs start; a run that cannot be read is tried in halves."""
    if len(values) == 0:
        return
    table = _read_lines(values, schema)
    if table is not None:
        yield start, table
    elif len(values) > SMALLEST_PIECE:
        half = len(values) // 2
        yield from _read_pieces(values[:half], start, schema)
        yield from _read_pieces(values[half:], start + half, schema)


def _read_lines(values: pa.Array, schema: pa.Schema) -> pa.Table | None:
    """One row for each record, or nothing."""
    lines = pc.binary_join_element_wise(values, b"\n", b"")
    reading = pj.ReadOptions(use_threads=False, block_size=1 << 20)
    parsing = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        # The reader does not look whether text is UTF-8.
        lines.cast(pa.string())
        table = pj.read_json(pa.BufferReader(lines.buffers()[2]), reading, parsing)
    except pa.ArrowInvalid:
        return None
    return table if table.num_rows == len(values) else None


def _is_same_in_both(table: pa.Table) -> np.ndarray:
    """Rows without numbers too large for a double, and without -0, which Spark reads as 0 if it has no point."""
    same = np.ones(table.num_rows, bool)
    for column in table.columns:
        if pa.types.is_floating(column.type):
            numbers = column.to_numpy()
            same &= ~(np.isinf(numbers) | ((numbers == 0) & np.signbit(numbers)))
    return same


def _numpy(flags: pa.Array) -> np.ndarray:
    """Flags; NULL is false."""
    found: np.ndarray = flags.fill_null(False).to_numpy(zero_copy_only=False)
    return found


def _concatenate(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int64), *parts])
