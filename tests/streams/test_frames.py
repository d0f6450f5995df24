"""What the operator's rows look like to Spark, which takes pandas DataFrames."""

from __future__ import annotations

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")


def test_nothing_in_a_nested_column_is_none() -> None:
    """Spark reads nested values one by one, and takes only None for NULL, which pandas' own NA is not."""
    from eventide.engines.spark.bucket import to_frame

    rows = pa.record_batch(
        {
            "list": pa.array([[1, None], None], pa.list_(pa.int64())),
            "struct": pa.array([{"x": 1}, None], pa.struct([("x", pa.int64())])),
            "number": pa.array([1, None], pa.int64()),
        }
    )
    frame = to_frame(rows)
    assert list(frame["list"]) == [[1, None], None]
    assert list(frame["struct"]) == [{"x": 1}, None]
    # A number stays Arrow's: as pandas' own it would become a float.
    assert str(frame["number"].dtype) == "int64[pyarrow]"
