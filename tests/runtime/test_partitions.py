"""Partition values to dense codes."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from eventide.runtime.partitions import encode_partitions


def groups(**columns: pa.Array | pa.ChunkedArray) -> list[int]:
    """The code of each row, renumbered by first appearance."""
    codes, n_codes = encode_partitions(pa.table(columns), list(columns))
    assert all(0 <= code < n_codes for code in codes)
    order = list(dict.fromkeys(codes.tolist()))
    return [order.index(code) for code in codes.tolist()]


def test_all_columns_count() -> None:
    assert groups(p0=pa.array([1, 1, 2, 2]), p1=pa.array(["a", "b", "a", "b"])) == [0, 1, 2, 3]


def test_null_is_a_partition_of_its_own() -> None:
    assert groups(p0=pa.array([1, None, 1, None])) == [0, 1, 0, 1]


def test_nulls_in_one_chunk_only() -> None:
    assert groups(p0=pa.chunked_array([["a", "b"], [None, "a"]])) == [0, 1, 2, 0]


def test_zeros_and_nans_are_one_partition_each() -> None:
    assert groups(p0=pa.array([0.0, -0.0, math.nan, math.nan])) == [0, 0, 1, 1]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_dictionaries_that_differ_by_chunk(kind: pa.DataType) -> None:
    chunks = [pa.array(["x", "y"]).cast(kind), pa.array(["y", "x", None]).cast(kind)]
    assert groups(p0=pa.chunked_array(chunks)) == [0, 1, 1, 0, 2]


def test_many_columns_do_not_overflow() -> None:
    columns = {f"p{i}": pa.array(range(1000)) for i in range(12)}
    assert groups(**columns) == list(range(1000))


def test_without_columns_everything_is_one_partition() -> None:
    codes, n_codes = encode_partitions(pa.table({"ts": [1, 2]}), [])
    assert (codes.tolist(), n_codes) == ([0, 0], 1)


def coded(indices: list[int | None], values: list[str | None]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(values))


def test_a_dictionary_may_hold_a_value_twice_or_not_use_it() -> None:
    assert groups(p0=coded([0, 1, 2, None, 0], ["x", "y", "x", "unused"])) == [0, 1, 0, 2, 0]


def test_a_dictionary_may_hold_null() -> None:
    chunks = [coded([0, 1, None], ["x", None]), coded([0, 1], [None, "x"])]
    assert groups(p0=pa.chunked_array(chunks)) == [0, 1, 1, 1, 0]


def test_codes_of_a_dictionary_go_together_with_other_columns() -> None:
    p1 = pa.array([0, 1, 0, 1], pa.int32())
    assert groups(p0=coded([0, 0, 1, 1], ["x", "y"]), p1=p1) == [0, 1, 2, 3]
    assert groups(p1=p1, p0=coded([0, 0, 1, 1], ["x", "y"])) == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.int64()])
def test_integers_that_are_codes_already(kind: pa.DataType) -> None:
    assert groups(p0=pa.array([0, 2, 1, 2], kind)) == [0, 1, 2, 1]
    assert groups(p0=pa.array([100, 102, 101, 102], kind)) == [0, 1, 2, 1]


def test_two_columns_of_narrow_integers_do_not_overflow() -> None:
    n = 70_000
    p0, p1 = pa.array(range(n), pa.int32()), pa.array(range(n), pa.int32())
    codes, n_codes = encode_partitions(pa.table({"p0": p0, "p1": p1}), ["p0", "p1"])
    assert n_codes >= n
    assert np.unique(codes).size == n
