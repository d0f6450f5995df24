"""What aggregates over trends cannot be asked: each an error with its place in the text and what to try."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import eventide as ev

SCHEMA = pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("x", pa.int32()), ("name", pa.string())])


def refusal(text: str, **options: Any) -> ev.QueryError:
    with pytest.raises(ev.QueryError) as refused:
        ev.query(text, ts_unit="s", type="kind", **options).run(SCHEMA.empty_table())
    return refused.value


@pytest.mark.parametrize(
    ("text", "underlined"),
    [
        # Conditions between events that are not adjacent.
        ("PATTERN SEQ(A+, B) WHERE A.x < B.x RETURN COUNT(*)", "A.x < B.x"),
        ("PATTERN SEQ(A, C, B) WHERE A.x < B.x RETURN COUNT(*)", "A.x < B.x"),
        ("PATTERN SEQ(A, B, C) WHERE C.x > A.x + B.x RETURN SUM(C.x)", "C.x > A.x + B.x"),
        ("PATTERN (SEQ(A+, B))+ WHERE A.x > 0 AND A.x = B.x RETURN MIN(A.x)", "A.x = B.x"),
        ("PATTERN SEQ(A, NOT C, B) WHERE C.x > A.x RETURN COUNT(*)", "C.x > A.x"),
        ("PATTERN AND(A, B) WHERE A.x < B.x RETURN COUNT(*)", "A.x < B.x"),
        # Aggregates of one trend as a condition.
        ("PATTERN SEQ(A+, B) WHERE COUNT(A) > 2 RETURN COUNT(*)", "COUNT(A) > 2"),
        ("PATTERN SEQ(A+, B) WHERE AVG(A.x) > 1 RETURN COUNT(A)", "AVG(A.x) > 1"),
        ("PATTERN A+ WHERE MAX(A.x) - MIN(A.x) < 3 RETURN COUNT(*)", "MAX(A.x) - MIN(A.x) < 3"),
        # AND anywhere but outermost.
        ("PATTERN SEQ(A, AND(B, C)) RETURN COUNT(*)", "AND(B, C)"),
        ("PATTERN OR(AND(A, B), C) RETURN COUNT(*)", "AND(A, B)"),
        ("PATTERN (AND(A, B))+ RETURN COUNT(*)", "AND(A, B)"),
        ("PATTERN AND(A, SEQ(B, AND(A X, C))) RETURN COUNT(*)", "AND(A X, C)"),
        # Columns of one match beside aggregates over all.
        ("PATTERN A+ RETURN COUNT(*) + last(A.x)", "A.x"),
        ("PATTERN A+ RETURN COUNT(*) FILTER (WHERE first(x) > 1)", "x"),
        ("PATTERN SEQ(A, B) RETURN A.x, COUNT(*)", "A.x"),
        ("PATTERN SEQ(A, NOT C, B) RETURN COUNT(C)", "COUNT(C)"),
        ("PATTERN A+ RETURN SUM(A.name)", "SUM(A.name)"),
    ],
)
def test_what_has_no_meaning_is_refused_with_place_and_hint(text: str, underlined: str) -> None:
    error = refusal(text)
    assert "cannot run yet" not in error.message
    assert underlined in text[error.start : error.end] or text[error.start : error.end] in underlined
    assert error.start < error.end
    assert error.hint is not None or "absent" in error.message


@pytest.mark.parametrize("function", ["SUM(A.x)", "SUM(A.x) + 1 AS more"])
def test_sums_have_no_logarithm(function: str) -> None:
    text = f"PATTERN A+ RETURN COUNT(*), {function}"
    error = refusal(text, counts="log2")
    assert "cannot run yet" not in error.message
    assert text[error.start : error.end] in function
    assert error.hint is not None


def test_least_and_greatest_are_as_they_are_beside_logarithms() -> None:
    events = [{"ts": ts, "kind": "A", "x": ts} for ts in range(3)]
    query = ev.query("PATTERN A+ RETURN COUNT(*), MIN(A.x), MAX(A.x)", ts_unit="s", type="kind", counts="log2")
    (row,) = query.run(events).to_pylist()
    assert (row["min_A_x"], row["max_A_x"]) == (0, 2)
    assert row["count"] == pytest.approx(2.807354922, rel=1e-9)


@pytest.mark.spark
def test_a_stream_without_within_is_refused(spark: Any, tmp_path: Any) -> None:
    import pyarrow.parquet as pq

    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"ts": pa.array([1], pa.timestamp("us", "UTC")), "kind": ["A"]}), tmp_path / "in" / "a")
    schema = "ts timestamp, kind string"
    frame = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    with pytest.raises(ev.EventideError, match="WITHIN"):
        ev.query("PATTERN A+ RETURN COUNT(*)", type="kind").run(frame)


@pytest.mark.parametrize("function", ["MAX(foo(A.x))", "SUM(foo(A.x))", "AVG(foo(A.x))"])
def test_an_aggregate_of_a_function_that_only_spark_knows_needs_a_type(function: str) -> None:
    text = f"PATTERN A+ RETURN {function}"
    with pytest.raises(ev.QueryError, match="of which type") as refused:
        ev.query(text, ts_unit="s", type="kind").plan(SCHEMA, "spark")
    assert text[refused.value.start : refused.value.end] == function
    ev.query(f"PATTERN A+ RETURN {function.replace('(A.x)', '(A.x)::double')}", ts_unit="s", type="kind").plan(
        SCHEMA, "spark"
    )
