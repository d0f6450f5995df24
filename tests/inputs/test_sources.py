"""Whatever holds the events: the same rows."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import eventide as ev

START = dt.datetime(2024, 1, 1)
EVENTS = pa.table(
    {
        "ts": pa.array([START + dt.timedelta(seconds=s) for s in (1, 2, 4, 5, 30)], pa.timestamp("us")),
        "user": ["ann", "bob", "ann", "bob", "ann"],
        "kind": ["Login", "Login", "Buy", "Buy", "Buy"],
        "amount": pa.array([None, None, 30, 5, 7], pa.int64()),
    }
)
QUERY = ev.query(
    "PATTERN SEQ(Login L, Buy B) WHERE B.amount > 1 WITHIN 10 seconds RETURN user, B.amount, B.ts",
    type="kind",
    partition_by="user",
)
ROWS = [
    {
        "user": "ann",
        "B_amount": 30,
        "B_ts": START + dt.timedelta(seconds=4),
        "detected_at": START + dt.timedelta(seconds=4),
    },
    {
        "user": "bob",
        "B_amount": 5,
        "B_ts": START + dt.timedelta(seconds=5),
        "detected_at": START + dt.timedelta(seconds=5),
    },
]


def rows(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_pylist()
    return sorted(found, key=lambda row: str(row["user"]))


def _dicts() -> list[dict[str, Any]]:
    """Without the keys whose value is NULL."""
    return [{name: value for name, value in row.items() if value is not None} for row in EVENTS.to_pylist()]


IN_MEMORY: dict[str, Callable[[], Any]] = {
    "arrow table": lambda: EVENTS,
    "chunked arrow table": lambda: pa.concat_tables([EVENTS.slice(0, 2), EVENTS.slice(2)]),
    "record batch": lambda: EVENTS.to_batches()[0],
    "record batch reader": lambda: EVENTS.to_reader(max_chunksize=2),
    "pandas": lambda: EVENTS.to_pandas(),
    "pandas with an index": lambda: EVENTS.to_pandas().set_index(pd.Index([9, 8, 7, 6, 5])),
    "polars": lambda: pl.from_arrow(EVENTS),
    "polars lazy": lambda: pl.DataFrame(pl.from_arrow(EVENTS)).lazy(),
    "duckdb": lambda: duckdb.from_arrow(EVENTS),
    "list of dicts": _dicts,
    "tuple of dicts": lambda: tuple(EVENTS.to_pylist()),
}


@pytest.mark.parametrize("make", IN_MEMORY.values(), ids=IN_MEMORY)
def test_events_in_memory(make: Callable[[], Any]) -> None:
    assert rows(QUERY.run(make())) == ROWS


def _write_json(path: Path) -> None:
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in EVENTS.to_pylist()))


def _write_arrow(path: Path) -> None:
    with pa.ipc.new_file(path, EVENTS.schema) as writer:
        writer.write_table(EVENTS)


def _write_gzip(path: Path) -> None:
    plain = path.with_suffix("")
    pa_csv.write_csv(EVENTS, plain)
    path.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()


WRITERS: dict[str, Callable[[Path], None]] = {
    "events.parquet": lambda path: pq.write_table(EVENTS, path, row_group_size=2),
    "events.csv": lambda path: pa_csv.write_csv(EVENTS, path),
    "events.csv.gz": _write_gzip,
    "events.jsonl": _write_json,
    "events.json": _write_json,
    "events.arrow": _write_arrow,
    "it's [odd] 100%.parquet": lambda path: pq.write_table(EVENTS, path),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("as_text", [True, False], ids=["str", "path"])
def test_files(tmp_path: Path, name: str, as_text: bool) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    assert rows(QUERY.run(str(path) if as_text else path)) == ROWS


def test_folders_and_patterns(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    pq.write_table(EVENTS.slice(0, 2), tmp_path / "1.parquet")
    pq.write_table(EVENTS.slice(2), tmp_path / "deep" / "2.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden.parquet").write_text("")
    assert rows(QUERY.run(tmp_path)) == ROWS
    assert rows(QUERY.run(f"{tmp_path}/**/*.parquet")) == ROWS
    assert QUERY.metrics() == {
        "events": 5,
        "relevant_events": 5,
        "dropped_events": 0,
        "matches": 2,
        "spilled_bytes": 0,
    }
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ev.InputError, match=r"holds files of several formats: \.csv, \.parquet"):
        QUERY.run(tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("name", ["events.csv", "events.jsonl", "events.csv.gz"])
def test_the_format_of_a_folder_is_that_of_its_files_on_spark(spark: Any, tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    (tmp_path / "_log").mkdir()
    (tmp_path / "_log" / "0.parquet").write_text("")
    found = QUERY.run(tmp_path, engine="spark", spark=spark)
    assert [(row["user"], row["B_amount"]) for row in rows(found.toArrow())] == [("ann", 30), ("bob", 5)]


@pytest.mark.spark
def test_what_spark_does_not_read_is_told(spark: Any, tmp_path: Path) -> None:
    _write_arrow(tmp_path / "events.arrow")
    with pytest.raises(ev.InputError, match=r"Spark does not read '\.arrow' files"):
        QUERY.run(tmp_path, engine="spark", spark=spark)
    pa_csv.write_csv(EVENTS, tmp_path / "events.csv")
    with pytest.raises(ev.InputError, match=r"holds files of several formats: \.arrow, \.csv"):
        QUERY.run(tmp_path, engine="spark", spark=spark)


@pytest.mark.parametrize("limit", ["64", "1 GB or so", 0, -5, 1.5, True, ""])
def test_a_memory_limit_is_a_size(limit: Any) -> None:
    with pytest.raises(ev.EventideError) as caught:
        QUERY.run(EVENTS, memory_limit=limit)
    assert caught.value.message == f"memory_limit={limit!r} is not a size"
    assert rows(QUERY.run(EVENTS, memory_limit="1 KiB")) == ROWS


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (5, "cannot read events from int"),
        ({"ts": 1}, "cannot read events from dict"),
        ([1, 2], "event 0 of the list is int, not a dict"),
        ([{"ts": 1}, None], "event 1 of the list is NoneType, not a dict"),
        ([{"ts": 1}, {"ts": "x"}], "column 'ts' mixes types"),
        ([{1: 2}], "the key 1 of event 0 is int, not text"),
        ([], "an empty list of events has no columns"),
        (pa.table({"ts": pa.array([1], pa.decimal256(50, 0))}), "column 'ts' is decimal(50,0): no engine reads more"),
    ],
    ids=str,
)
def test_what_holds_no_events(events: Any, message: str) -> None:
    with pytest.raises(ev.InputError) as caught:
        QUERY.run(events)
    assert str(caught.value).startswith(message)


def test_columns_that_differ_only_in_case_are_told_when_they_are_used(tmp_path: Path) -> None:
    table = EVENTS.append_column("Amount", pa.array([9] * 5))
    pq.write_table(table, tmp_path / "events.parquet")
    doubled = pa.Table.from_arrays([*EVENTS.columns, EVENTS.column("amount")], [*EVENTS.column_names, "amount"])
    for events in (table, tmp_path / "events.parquet", doubled):
        with pytest.raises(ev.QueryError, match=r"column 'amount' is ambiguous: the events have amount and [aA]mount"):
            QUERY.run(events)
        other = ev.query("PATTERN SEQ(Login L, Buy B)", type="kind", partition_by="user").run(events)
        assert other.num_rows == 3


def test_arguments_of_run() -> None:
    for arguments, message in [
        ({}, "run takes one input, or one per event type"),
        ({"events": EVENTS, "Login": EVENTS}, "run takes one input, or one per event type"),
        ({"events": EVENTS, "engine": "flink"}, "there is no engine 'flink'"),
        ({"events": "x.parquet", "engine": "spark"}, "engine='spark' with a path needs a session"),
        ({"events": EVENTS, "engine": "spark"}, "engine='spark' takes Spark DataFrames or a path, found pyarrow.Table"),
    ]:
        with pytest.raises(ev.InputError) as caught:
            QUERY.run(**arguments)
        assert caught.value.message == message
    with pytest.raises(ev.EventideError, match="a query is text, found PosixPath"):
        ev.query(Path("query.txt"))  # type: ignore[arg-type]


def test_times_of_dicts_are_not_cut_off() -> None:
    at = pd.Timestamp("2026-01-01 00:00:00.000000100")
    with pytest.raises(ev.InputError, match="a time in 'ts' is not a whole number of microseconds"):
        ev.query("PATTERN A a", type="kind").run([{"ts": at, "kind": "A"}])
    rounded = [{"ts": at.round("us"), "kind": "A"}]
    assert ev.query("PATTERN A a", type="kind").run(rounded).num_rows == 1


def test_an_option_of_the_query_is_no_input() -> None:
    with pytest.raises(ev.InputError, match="close_at_end is an option of the query"):
        QUERY.run(EVENTS, close_at_end=True)
