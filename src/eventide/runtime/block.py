"""Blocks: events as columns, many partitions mixed, in any order; and their layout and bytes.

A block is a `pa.Table` whose columns have short fixed names, given by its `Layout`:
`p0..` partition values, `ts` microseconds, `seq` the tie-breaker, `mask` one bit per pattern step,
`v0..` values that relate events, `c0..` columns that are returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.runtime.by_code import order_by_code
from eventide.runtime.hashes import hash_rows
from eventide.runtime.kernels.hashing import assign_buckets

TS = "ts"
SEQUENCE = "seq"
MASK = "mask"

MIN_US = -(2**62)
MAX_US = 2**62


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns a block has."""

    n_partition: int
    n_values: int
    n_returned: int
    has_sequence: bool = False
    n_distributed: int | None = None  # how many of the partition columns keep results together; None: all

    @property
    def distribution(self) -> list[str]:
        """The columns by whose values events may be worked on apart."""
        return self.partition[: self.n_distributed]

    @property
    def partition(self) -> list[str]:
        return [f"p{i}" for i in range(self.n_partition)]

    @property
    def values(self) -> list[str]:
        return [f"v{i}" for i in range(self.n_values)]

    @property
    def returned(self) -> list[str]:
        return [f"c{i}" for i in range(self.n_returned)]

    @property
    def columns(self) -> list[str]:
        """All column names, in block order.

        >>> Layout(n_partition=1, n_values=0, n_returned=2).columns
        ['p0', 'ts', 'mask', 'c0', 'c1']
        """
        sequence = [SEQUENCE] if self.has_sequence else []
        return [*self.partition, TS, *sequence, MASK, *self.values, *self.returned]


def to_bytes(block: pa.Table) -> bytes:
    """Arrow IPC stream of a block, buffers as they are: Spark and the state store compress on their own."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, block.schema) as writer:
        writer.write_table(block.combine_chunks())
    return bytes(sink.getvalue())


def from_bytes(data: bytes | memoryview) -> pa.Table:
    """The block written by `to_bytes`, without copying its buffers."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all()


def numpy_int64(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A column without NULLs as int64, without copying where it is one chunk of int64 already."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.to_numpy().astype(np.int64, copy=False)  # type: ignore[no-any-return]


def cut(block: pa.Table, layout: Layout, n_buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """The block's rows per bucket of their partition, in their order; empty buckets are left out."""
    yield from cut_by(block, layout.distribution, n_buckets)


def cut_by(block: pa.Table, names: Sequence[str], n_buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """The same by the values of columns."""
    if block.num_rows == 0:
        return
    if n_buckets == 1:
        yield 0, block
        return
    buckets = np.empty(block.num_rows, dtype=np.int64)
    assign_buckets(hash_rows(block, names), n_buckets, buckets)
    order, offsets = order_by_code(buckets, n_buckets)
    # One gather for the whole block, then zero-copy slices of it.
    rearranged = block.take(pa.array(order)).combine_chunks()
    for bucket in range(n_buckets):
        size = int(offsets[bucket + 1] - offsets[bucket])
        if size:
            yield bucket, rearranged.slice(int(offsets[bucket]), size)


def within(block: pa.Table, from_us: int, until_us: int) -> pa.Table:
    """The events from an instant up to another.

    >>> within(pa.table({"ts": [1, 2, 3]}), 2, 3).column("ts").to_pylist()
    [2]
    """
    ts = block.column(TS)
    return block.filter(pc.and_(pc.greater_equal(ts, from_us), pc.less(ts, until_us)))


def concatenate(blocks: Sequence[pa.Table]) -> pa.Table:
    """The blocks as one; dictionaries of different blocks are unified."""
    return blocks[0] if len(blocks) == 1 else pa.concat_tables(blocks, promote_options="default")
