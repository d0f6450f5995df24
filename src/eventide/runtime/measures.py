"""Matches to rows: what MEASURES read, by segmented kernels, and the rows of ALL ROWS PER MATCH."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventide.errors import InputError
from eventide.runtime.hashes import hash_rows
from eventide.runtime.identity import match_ids
from eventide.runtime.kernels import measures as kernel
from eventide.runtime.kernels.arrays import HashArray, IndexArray, IntArray
from eventide.runtime.kernels.bindings import hash_bindings
from eventide.runtime.measured import Folded, Listed, Measured, Picked, Position
from eventide.runtime.row_order import OrderedRows
from eventide.runtime.taken import decimals, take

_FUNCTIONS = {"COUNT": kernel.COUNT, "SUM": kernel.SUM, "MIN": kernel.MIN, "MAX": kernel.MAX}
NUMBER, MATCH_ID = "match_number", "match_id"


@dataclass(frozen=True, slots=True)
class Found:
    """Matches as arrays; match m has rows first[m] .. first[m] + length[m] and their labels from begin[m] on."""

    first: IntArray
    number: IntArray
    begin: IntArray
    length: IntArray
    low: IntArray
    high: IntArray
    labels: IndexArray
    excluded: NDArray[np.bool_]

    @staticmethod
    def of(out: IntArray, offsets: IntArray, labels: IndexArray, excluded: NDArray[np.bool_]) -> Found:
        """From what the matcher wrote: (partition, first row, number, end in the labels)."""
        ends = out[:, 3].copy()
        begin = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
        low, high = offsets[out[:, 0]], offsets[out[:, 0] + 1]
        return Found(out[:, 1].copy(), out[:, 2].copy(), begin, ends - begin, low, high, labels, excluded)

    @property
    def arrays(self) -> tuple[IntArray | IndexArray, ...]:
        """As the kernels take matches."""
        return self.first, self.begin, self.length, self.labels, self.low, self.high

    def mark(self, matched: NDArray[np.bool_]) -> None:
        """Mark the rows that belong to a match; an empty match claims the row where it was found."""
        matched[self.first] = True
        rows, _, _ = self.spread()
        matched[rows] = True

    def spread(self) -> tuple[IntArray, IntArray, IntArray]:
        """For each matched row of each match: the row, the match, the depth."""
        match = np.repeat(np.arange(self.first.size), self.length)
        depth = np.arange(match.size, dtype=np.int64) - np.repeat(self.begin, self.length)
        return self.first[match] + depth, match, depth


class Measures:
    """Rows of the result for the matches in one ordered block."""

    def __init__(self, spec: Measured, block: pa.Table, ordered: OrderedRows) -> None:
        self._spec = spec
        self._block = block
        self._order = ordered.order
        self._folds = {item.name: self._foldable(item) for item in spec.folded}

    def rows(self, found: Found, n_at_once: int) -> Iterator[pa.RecordBatch]:
        """The rows of all matches."""
        if self._spec.rows == "one":
            match = np.arange(found.first.size)
            yield from self._cut(found, match, found.length - 1, found.first, n_at_once)
            return
        rows, match, depth = found.spread()
        shown = ~found.excluded
        rows, match, depth = rows[shown], match[shown], depth[shown]
        empty = np.flatnonzero(found.length == 0)
        if empty.size and self._spec.rows != "all omit empty":
            # Points must ascend by match.
            rows = np.concatenate([rows, found.first[empty]])
            match = np.concatenate([match, empty])
            depth = np.concatenate([depth, np.full(empty.size, -1, np.int64)])
            by_match = np.argsort(match, kind="stable")
            rows, match, depth = rows[by_match], match[by_match], depth[by_match]
        yield from self._cut(found, match, depth, rows, n_at_once)

    def unmatched(self, rows: IntArray, n_at_once: int) -> Iterator[pa.RecordBatch]:
        """Rows of no match: measures are NULL."""
        for start in range(0, rows.size, n_at_once):
            some = rows[start : start + n_at_once]
            columns = self._own(some)
            schema = self._spec_schema()
            if self._spec.hashed is not None:
                schema[MATCH_ID] = pa.string()
            for name, dtype in schema.items():
                columns[name] = pa.nulls(some.size, dtype)
            yield pa.RecordBatch.from_pydict(columns)

    def _cut(
        self, found: Found, match: IntArray, depth: IntArray, rows: IntArray, n_at_once: int
    ) -> Iterator[pa.RecordBatch]:
        """Some points at a time, so that they and the items of their lists are at most `n_at_once`, if one alone is."""
        ids = self._ids(found) if self._spec.hashed is not None else None
        size = np.ones(match.size, dtype=np.int64)
        for listed in self._spec.listed:
            size += found.length[match] if listed.final else depth + 1
        ends, start = np.cumsum(size), 0
        while start < match.size:
            most = n_at_once + (ends[start - 1] if start else 0)
            stop = max(start + 1, int(np.searchsorted(ends, most, side="right")))
            made = self.at(found, match[start:stop], depth[start:stop], rows[start:stop])
            if ids is not None:
                made = made.append_column(MATCH_ID, ids.take(pa.array(match[start:stop])))
            yield made
            start = stop

    def at(self, found: Found, match: IntArray, depth: IntArray, rows: IntArray) -> pa.RecordBatch:
        """The measures at some points: depths in matches, and the rows there."""
        columns = self._own(rows)
        columns[NUMBER] = pa.array(found.number[match])
        for picked in self._spec.picked:
            columns[picked.name] = self._pick(picked, found, match, depth)
        for folded in self._spec.folded:
            columns[folded.name] = self._fold(folded, found, match, depth)
        for listed in self._spec.listed:
            columns[listed.name] = self._list(listed, found, match, depth)
        return pa.RecordBatch.from_pydict(columns)

    def _ids(self, found: Found) -> pa.Array:
        """For each match its id: of its rows with their labels; of an empty one the row where it was found."""
        is_empty = found.length == 0
        ends = np.cumsum(np.maximum(found.length, 1))
        rows, labels = np.empty(ends[-1], np.int64), np.full(ends[-1], len(self._spec.program.labels), np.int64)
        rows[ends[is_empty] - 1] = found.first[is_empty]
        bound = np.ones(ends[-1], np.bool_)
        bound[ends[is_empty] - 1] = False
        rows[bound], labels[bound] = found.spread()[0], found.labels
        own = np.empty((2, ends.size), dtype=np.uint64)
        hash_bindings(self._hashes, self._order[rows], labels, ends, own)
        both = np.arange(own.size, dtype=np.int64).reshape(own.shape).T.copy()
        return match_ids(own.reshape(-1), both, self._spec.query, None)

    @cached_property
    def _hashes(self) -> HashArray:
        return hash_rows(self._block, self._spec.hashed or ())

    def _own(self, rows: IntArray) -> dict[str, pa.Array]:
        """Columns of the row itself; of a match's first row, its partition."""
        block_rows = pa.array(self._order[rows])
        names = [*self._spec.layout.partition, *self._spec.returned]
        return {name: take(self._block, name, block_rows) for name in names}

    def _spec_schema(self) -> dict[str, pa.DataType]:
        types: dict[str, pa.DataType] = {NUMBER: pa.int64()}
        for picked in self._spec.picked:
            types[picked.name] = pa.int32() if picked.column is None else self._type(picked.column)
        types |= {folded.name: folded.dtype for folded in self._spec.folded}
        for listed in self._spec.listed:
            types[listed.name] = pa.list_(pa.int32() if listed.column is None else self._type(listed.column))
        return types

    def _type(self, column: str) -> pa.DataType:
        dtype = self._block.schema.field(column).type
        return dtype.value_type if pa.types.is_dictionary(dtype) else dtype

    # --- navigation -----------------------------------------------------------------------------------------

    def _pick(self, picked: Picked, found: Found, match: IntArray, depth: IntArray) -> pa.Array:
        rows = self._positions(picked.position, found, match, depth)
        if picked.column is not None:
            index = pa.array(self._order[np.maximum(rows, 0)] if self._order.size else rows, mask=rows < 0)
            return take(self._block, picked.column, index)
        # A row that PREV or NEXT reached outside the match has no label.
        at = rows - found.first[match]
        known = (rows >= 0) & (at >= 0) & (at < found.length[match])
        labels = (
            found.labels[np.where(known, found.begin[match] + at, 0)]
            if found.labels.size
            else np.zeros(at.size, np.int32)
        )
        return pa.array(labels.astype(np.int32), mask=~known)

    def _positions(self, position: Position, found: Found, match: IntArray, depth: IntArray) -> IntArray:
        rows = np.empty(match.size, dtype=np.int64)
        kernel.pick_rows(
            (match, depth),
            found.arrays,
            self._members(position.members),
            position.from_first,
            position.offset,
            position.shift,
            position.final,
            rows,
        )
        return rows

    def _members(self, members: tuple[int, ...] | None) -> NDArray[np.bool_]:
        n_labels = len(self._spec.program.labels)
        chosen = np.zeros(max(n_labels, 1), dtype=np.bool_)
        chosen[slice(None) if members is None else list(members)] = True
        return chosen

    # --- aggregates -----------------------------------------------------------------------------------------

    def _foldable(
        self, folded: Folded
    ) -> tuple[NDArray[np.int64] | NDArray[np.float64], NDArray[np.bool_], pa.Array | None]:
        """Values in row order, what is valid, and what codes stand for, where the values are codes."""
        n = self._order.size
        if folded.column is None:
            return np.zeros(n, np.int64), np.ones(n, np.bool_), None
        column = self._block.column(folded.column)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        valid = column.is_valid().to_numpy(zero_copy_only=False)[self._order]
        if folded.function == "COUNT":
            return np.zeros(n, np.int64), valid, None
        if pa.types.is_floating(column.type):
            return column.fill_null(0.0).cast(pa.float64()).to_numpy(zero_copy_only=False)[self._order], valid, None
        if pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type):
            values = column.fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False)
            return values[self._order], valid, None
        if folded.function == "SUM":
            unscaled = [0 if v is None else int(v.scaleb(column.type.scale)) for v in column.to_pylist()]
            return np.array(unscaled, dtype=np.int64)[self._order], valid, None
        known = pc.unique(column.drop_null())
        known = known.take(pc.sort_indices(known))
        codes = pc.fill_null(pc.index_in(column, known), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        return codes[self._order], valid, known

    def _fold(self, folded: Folded, found: Found, match: IntArray, depth: IntArray) -> pa.Array:
        values, valid, known = self._folds[folded.name]
        out = np.zeros(match.size, dtype=values.dtype)
        count = np.empty(match.size, dtype=np.int64)
        fits = kernel.fold_rows(
            (match, depth),
            found.arrays,
            self._members(folded.members),
            _FUNCTIONS[folded.function],
            values,
            valid,
            values.dtype == np.int64,
            folded.final,
            out,
            count,
        )
        if not fits:
            raise InputError("a sum of MEASURES leaves the range of BIGINT", hint="cast its argument to DOUBLE")
        if folded.function == "COUNT":
            return pa.array(count)
        none = count == 0
        if known is not None:
            return known.take(pa.array(out, mask=none))
        if pa.types.is_decimal(folded.dtype):
            return decimals(out.astype(np.int64), none, folded.dtype)
        return pa.array(out, mask=none).cast(folded.dtype)

    def _list(self, listed: Listed, found: Found, match: IntArray, depth: IntArray) -> pa.Array:
        """All rows up to each point, as lists; as long as the result is."""
        until = found.length[match] if listed.final else depth + 1
        point = np.repeat(np.arange(match.size), until)
        at = np.arange(point.size, dtype=np.int64) - np.repeat(np.cumsum(until) - until, until)
        labels = found.labels[found.begin[match][point] + at]
        chosen = self._members(listed.members)[labels] if labels.size else np.zeros(0, np.bool_)
        point, at, labels = point[chosen], at[chosen], labels[chosen]
        offsets = np.zeros(match.size + 1, dtype=np.int32)
        np.cumsum(np.bincount(point, minlength=match.size), out=offsets[1:])
        if listed.column is None:
            values = pa.array(labels.astype(np.int32))
        else:
            values = take(self._block, listed.column, pa.array(self._order[found.first[match][point] + at]))
        return pa.ListArray.from_arrays(pa.array(offsets), values)
