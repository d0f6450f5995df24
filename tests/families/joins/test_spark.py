"""Batch DataFrames, paths and streams give the results of the oracle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.errors import InputError, UnsupportedError
from eventide.plan.choose import SLICES, forced
from tests.engines.streams import collect, read_batches, write_batch, write_files
from tests.families.joins.cases import LEFT, RIGHT, Case, found

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


def rows(n: int, seed: int, label: str) -> tuple[dict[str, Any], ...]:
    random = Random(seed)
    made = []
    for i in range(n):
        own = {"key": random.choice(["a", "b", "c", None]), "at": random.randrange(200)}
        own |= {"x": random.choice([None, 0, 1, 2]), "seq": random.choice([None, 1, 2])}
        made.append(own | {label: i if label == "n" else f"w{i}"})
    return tuple(made)


def case_of(seed: int, **asked: Any) -> Case:
    return Case(rows(120, seed, "n"), rows(150, seed + 1, "word"), **{"within": (7, 7), **asked})


CASES = [
    case_of(1, condition="a.x <= b.x"),
    case_of(2, kind="left", within=(None, 7), closes=False),
    case_of(3, kind="inner", asof="backward", where="coalesce(b.x, 1) >= a.x"),
    case_of(4, kind="anti", is_keyed=False, within=(1, 1), closes=False),
]


def with_times(table: pa.Table) -> pa.Table:
    """Seconds as timestamps."""
    at = pc.add(pc.multiply(table.column("at"), 1_000_000), int(EPOCH.timestamp()) * 1_000_000)
    return table.set_column(table.schema.get_field_index("at"), "at", at.cast(pa.timestamp("us", "UTC")))


def in_seconds(table: pa.Table) -> list[dict[str, Any]]:
    def plain(value: Any) -> Any:
        if not isinstance(value, datetime):
            return value
        return (value.replace(tzinfo=value.tzinfo or UTC) - EPOCH) // timedelta(seconds=1)

    return [{name: plain(value) for name, value in row.items()} for row in table.to_pylist()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind} {case.asof}")
def test_batch_frames_give_the_oracles_results(spark: Any, case: Case) -> None:
    left, right = (spark.createDataFrame(with_times(table)) for table in case.tables())
    assert found(in_seconds(case.query().run(l=left, r=right).toArrow())) == case.expected()


def test_slices_of_time_and_files_give_the_oracles_results(spark: Any, tmp_path: Path) -> None:
    case = case_of(5, kind="left", is_keyed=False, within=(3, 2))
    for name, table in zip(("l", "r"), case.tables(), strict=True):
        pq.write_table(with_times(table), tmp_path / f"{name}.parquet")
    query = case.query()
    with forced(SLICES):
        given = {name: str(tmp_path / f"{name}.parquet") for name in ("l", "r")}
        result = query.run(**given, engine="spark", spark=spark)
    assert "by time" in query.last_run.reason
    assert found(in_seconds(result.toArrow())) == case.expected()


def streams(spark: Any, base: Path, case: Case) -> dict[str, Any]:
    """Each table as a stream in the order of its times, a file a micro-batch."""
    for name, table, n_files in zip(("l", "r"), case.tables(), (3, 2), strict=True):
        table = with_times(table)
        write_files(base / name, table.take(pc.sort_indices(table, [("at", "ascending")])), n_files)
    return {name: read_batches(spark, base / name) for name in ("l", "r")}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind} {case.asof}")
def test_streams_give_the_oracles_results_that_are_decided(spark: Any, tmp_path: Path, case: Case) -> None:
    result = case.query(close_at_end=None, allowed_lateness="1 second").run(**streams(spark, tmp_path, case))
    assert result.isStreaming
    assert "spark.watermarkDelayMs" in result.schema["detected_at"].metadata
    last = min(max(row["at"] for row in side) for side in (case.left, case.right)) - 1
    expected = Case(**{**vars_of(case), "closes": True}).expected()
    wanted = {row: n for row, n in expected.items() if dict(row)["detected_at"] <= last}
    assert found(in_seconds(collect(result, tmp_path, spark))) == wanted


def vars_of(case: Case) -> dict[str, Any]:
    return {name: getattr(case, name) for name in case.__dataclass_fields__}


def test_late_rows_of_both_sides_are_a_stream_that_names_the_side(spark: Any, tmp_path: Path) -> None:
    given = {
        "l": (LEFT, [{"key": "a", "at": 100, "n": 1}, {"key": "b", "at": 9, "n": 2}]),
        "r": (RIGHT, [{"key": "a", "at": 101, "word": "x"}, {"key": None, "at": 7, "word": "y"}]),
    }
    frames = {}
    for name, (schema, some) in given.items():
        for i, row in enumerate(some):
            write_batch(with_times(pa.Table.from_pylist([row], schema)), tmp_path / name, i)
        frames[name] = read_batches(spark, tmp_path / name)
    late = case_of(6).query(close_at_end=None).late(**frames)
    assert late.isStreaming
    told = [
        (row["side"], row["a_n"], row["a_at"], row["b_word"], row["b_at"])
        for row in in_seconds(collect(late, tmp_path, spark))
    ]
    assert sorted(told, key=str) == [("a", 2, 9, None, None), ("b", None, None, "y", 7)]


def test_a_stream_needs_a_window_and_two_streams(spark: Any, tmp_path: Path) -> None:
    case = case_of(7, within=None)
    given = streams(spark, tmp_path, case)
    with pytest.raises(UnsupportedError, match=r"(?s)without WITHIN.*Hint: add WITHIN"):
        case.query(close_at_end=None).run(**given)
    bounded = case_of(7).query(close_at_end=None)
    with pytest.raises(InputError, match="only left is a stream"):
        bounded.run(l=given["l"], r=spark.createDataFrame(with_times(case.tables()[1])))
    with pytest.raises(UnsupportedError, match="close_at_end is for bounded input"):
        case_of(7).query().run(**given)


def test_a_join_behind_a_query_of_the_same_stream(spark: Any, tmp_path: Path) -> None:
    """The matches of a pattern come with their `detected_at`, which is the time that they are joined by."""
    case = case_of(8)
    given = streams(spark, tmp_path, case)
    pattern = ev.query("PATTERN SEQ(L a, L b) WITHIN 3 seconds DEFINE L AS n >= 0 RETURN a.key, b.n", ts="at")
    found_in = {"key": [row["key"] for row in case.left], "n": [row["n"] for row in case.left]}
    assert len(found_in["key"]) == 120
    joined = ev.join(
        pattern.run(given["l"].dropna(subset=["key"])),
        given["r"],
        on={"a_key": "key"},
        within="4 seconds",
        ts=("detected_at", "at"),
        select={"n": "left.b_n", "word": "right.word"},
    )
    table = collect(joined, tmp_path, spark)
    left, right = (with_times(side) for side in case.tables())
    batch = ev.join(
        pattern.run(left.filter(pc.is_valid(left["key"]))),
        right,
        on={"a_key": "key"},
        within="4 seconds",
        ts=("detected_at", "at"),
        select={"n": "left.b_n", "word": "right.word"},
    )
    last = min(max(row["at"] for row in side) for side in (case.left, case.right)) - 1
    decided = [row for row in in_seconds(batch) if row["detected_at"] <= last]
    assert len(decided) > 20
    assert found([row for row in in_seconds(table) if row["detected_at"] <= last]) == found(decided)
