"""Whatever holds the events: the same rows, the user's types, the user's names."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Callable
from decimal import Decimal
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
        (pa.table({"ts": pa.array([1], pa.float16())}), "the events cannot be read: "),
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
        ({"events": EVENTS, "engine": "spark"}, "engine='spark' takes DataFrames or a path, not Table"),
    ]:
        with pytest.raises(ev.InputError) as caught:
            QUERY.run(**arguments)
        assert caught.value.message == message
    with pytest.raises(ev.EventideError, match="a query is text, found PosixPath"):
        ev.query(Path("query.txt"))  # type: ignore[arg-type]


# --- one input per event type ------------------------------------------------------------------------------

ORDERS = pa.table({"ts": [1, 5, 9], "user": ["a", "b", "a"], "item": ["x", "y", "z"]})
PAYMENTS = pa.table({"ts": [3, 6], "user": ["a", "a"], "amount": [10, 20], "item": pa.array([None, None], pa.string())})
BY_TYPE = ev.query("PATTERN SEQ(Order O, Payment P) WHERE [user] RETURN user, O.item, P.amount, P.item", ts_unit="s")
BY_TYPE_ROWS = [
    {"user": "a", "O_item": "x", "P_amount": amount, "P_item": None, "detected_at": ts}
    for amount, ts in [(10, 3), (20, 6)]
]


def by_time(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_pylist()
    return sorted(found, key=lambda row: row["detected_at"])


def test_one_input_per_event_type(tmp_path: Path) -> None:
    assert by_time(BY_TYPE.run(Order=ORDERS, Payment=PAYMENTS)) == BY_TYPE_ROWS
    assert BY_TYPE.metrics()["events"] == 5
    pq.write_table(PAYMENTS, tmp_path / "payments.parquet")
    with pa.ipc.new_file(tmp_path / "orders.arrow", ORDERS.schema) as writer:
        writer.write_table(ORDERS)
    mixed = BY_TYPE.run(Order=tmp_path / "orders.arrow", Payment=str(tmp_path / "payments.parquet"))
    assert by_time(mixed) == BY_TYPE_ROWS
    two_files = BY_TYPE.run(Order=tmp_path / "orders.arrow", Payment=PAYMENTS.to_pylist())
    assert by_time(two_files) == BY_TYPE_ROWS
    assert "O: event_type = 'Order'" in BY_TYPE.explain(Order=ORDERS, Payment=PAYMENTS)


@pytest.mark.parametrize(
    ("query", "inputs", "message"),
    [
        (BY_TYPE, {"Order": ORDERS}, "there is no input for the event type Payment\nHint: pass Payment=..."),
        (
            BY_TYPE,
            {"Ordr": ORDERS, "Payment": PAYMENTS},
            "the input Ordr is no event type of PATTERN\nHint: did you mean 'Order'?",
        ),
        (
            ev.query("PATTERN SEQ(Order O, Payment P)", type="kind"),
            {"Order": ORDERS, "Payment": PAYMENTS},
            "one input per event type leaves nothing for type= to say\nHint: leave out type=",
        ),
        (
            BY_TYPE,
            {"Order": ORDERS.append_column("Event_Type", pa.nulls(3)), "Payment": PAYMENTS},
            "input Order: column 'Event_Type' is a name that Eventide adds\nHint: rename it",
        ),
        (
            BY_TYPE,
            {"Order": ORDERS.append_column("ITEM", pa.nulls(3)), "Payment": PAYMENTS},
            "input Order: column 'ITEM' stands there twice\nHint: rename it",
        ),
        (
            BY_TYPE,
            {"Order": ORDERS, "Payment": PAYMENTS.set_column(1, "User", pa.array([1, 2]))},
            "column 'User' is string in input Order and bigint in input Payment\nHint: cast one of them",
        ),
    ],
)
def test_inputs_per_event_type_that_do_not_fit(query: ev.Query, inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(ev.InputError) as caught:
        query.run(**inputs)
    assert str(caught.value) == message


@pytest.mark.spark
def test_one_spark_input_per_event_type(spark: Any) -> None:
    orders, payments = spark.createDataFrame(ORDERS), spark.createDataFrame(PAYMENTS)
    assert by_time(BY_TYPE.run(Order=orders, Payment=payments).toArrow()) == BY_TYPE_ROWS
    with pytest.raises(ev.InputError, match="input Order: column 'Event_Type' is a name that Eventide adds"):
        BY_TYPE.run(Order=orders.selectExpr("*", "1 AS Event_Type"), Payment=payments)
    with pytest.raises(ev.InputError, match="column 'User' is string in input Order and int in input Payment"):
        BY_TYPE.run(Order=orders, Payment=payments.selectExpr("ts", "amount", "item", "1 AS User"))
    with pytest.raises(ev.InputError, match="engine='spark' takes DataFrames or a path, not Table"):
        BY_TYPE.run(Order=orders, Payment=PAYMENTS)
    with pytest.raises(ev.InputError, match="engine='local' does not read Spark DataFrames"):
        BY_TYPE.run(Order=orders, Payment=payments, engine="local")


def test_numbers_widen_and_nulls_have_any_type() -> None:
    orders = ORDERS.append_column("amount", pa.array([1.5, 2.5, 3.5])).append_column("note", pa.nulls(3))
    payments = PAYMENTS.append_column("note", pa.array(["p", "q"])).set_column(0, "ts", pa.array([3, 6], pa.int32()))
    found = BY_TYPE.run(Order=orders, Payment=payments)
    assert by_time(found) == BY_TYPE_ROWS
    assert found.schema.field("P_amount").type == pa.float64()


@pytest.mark.spark
def test_numbers_widen_the_same_on_spark(spark: Any) -> None:
    orders = spark.createDataFrame(ORDERS).selectExpr("*", "1.5D AS amount", "NULL AS note")
    payments = spark.createDataFrame(PAYMENTS).selectExpr(
        "CAST(ts AS INT) AS ts", "user", "amount", "item", "'p' AS note"
    )
    found = BY_TYPE.run(Order=orders, Payment=payments).toArrow()
    assert by_time(found) == BY_TYPE_ROWS
    assert found.schema.field("P_amount").type == pa.float64()


# --- time columns ------------------------------------------------------------------------------------------

DAYS = [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(5)]
TIMES = [
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ms", "Europe/Paris"),
    pa.timestamp("ns", "America/New_York"),
    pa.date32(),
    pa.date64(),
]
SLIDING = "PATTERN SEQ(A, B) WITHIN 2 days SLIDE 1 day RETURN A.at"
COLUMNS = ["A_at", "window_start", "window_end", "detected_at"]


def timed(kind: pa.DataType, values: list[Any] | None = None) -> pa.Table:
    times = pa.array(DAYS[:4], pa.date32()).cast(kind) if values is None else pa.array(values, kind)
    return pa.table({"at": times, "type": ["A", "B", "A", "B"]})


@pytest.mark.parametrize("kind", TIMES, ids=str)
@pytest.mark.parametrize("from_file", [False, True], ids=["table", "file"])
def test_result_times_have_the_type_of_the_time_column(tmp_path: Path, kind: pa.DataType, from_file: bool) -> None:
    events: Any = timed(kind)
    if from_file:
        pq.write_table(events, tmp_path / "events.parquet")
        events = tmp_path / "events.parquet"
        kind = pq.read_schema(events).field("at").type  # Parquet has no seconds and no date64
    found = ev.query(SLIDING, ts="at").run(events)
    assert found.schema == pa.schema({name: kind for name in COLUMNS})
    days = [[at.as_py() for at in column.cast(pa.timestamp("us")).cast(pa.date32())] for column in found.columns]
    assert sorted(zip(*days, strict=True)) == [(DAYS[i], DAYS[i], DAYS[i + 2], DAYS[i + 1]) for i in (0, 2)]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint16(), pa.uint64()], ids=str)
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_integer_times_keep_type_and_unit(kind: pa.DataType, unit: str) -> None:
    query = f"PATTERN SEQ(A, B) WITHIN 4 {unit} SLIDE 2 {unit} RETURN A.at"
    found = ev.query(query, ts="at", ts_unit=unit).run(timed(kind, [2, 5, 10, 20]))
    assert found.schema == pa.schema({name: kind for name in COLUMNS})
    assert found.to_pylist() == [{"A_at": 2, "window_start": 2, "window_end": 6, "detected_at": 5}]


@pytest.mark.parametrize(
    ("kind", "values", "options", "message"),
    [
        (
            pa.timestamp("ns"),
            [1_000, 2_001, 3_000, 4_000],
            {},
            "a time in 'at' (timestamp[ns]) is no whole number of microseconds: 2001\n"
            "Hint: round the column to microseconds",
        ),
        (
            pa.timestamp("s"),
            [1, 2, 10**14, 4],
            {},
            "a time in 'at' (timestamp[s]) is out of range: 100000000000000\nHint: correct or drop such events",
        ),
        (
            pa.int64(),
            [1, 2, 3, 2**62],
            {"ts_unit": "us"},
            "a time in 'at' (int64) is out of range: 4611686018427387904\nHint: check ts_unit",
        ),
        (
            pa.int64(),
            [1, -(2**63), 3, 4],
            {"ts_unit": "us"},
            "a time in 'at' (int64) is out of range: -9223372036854775808\nHint: check ts_unit",
        ),
        (
            pa.int64(),
            [1, 2, 3, 10**13],
            {"ts_unit": "s"},
            "a time in 'at' (int64) is out of range: 10000000000000\nHint: check ts_unit",
        ),
        (
            pa.uint64(),
            [1, 2, 3, 2**64 - 1],
            {"ts_unit": "us"},
            "a time in 'at' (uint64) is out of range: 18446744073709551615\nHint: check ts_unit",
        ),
    ],
)
def test_a_time_that_does_not_fit_is_named(
    kind: pa.DataType, values: list[int], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ev.InputError) as caught:
        ev.query("PATTERN SEQ(A, B)", ts="at", **options).run(timed(kind, values))
    assert str(caught.value) == message


def test_windows_may_begin_at_the_first_event() -> None:
    query = "PATTERN SEQ(A, B) WITHIN 4 s SLIDE 4 s RETURN A.at"
    found = ev.query(query, ts="at", ts_unit="s", origin="first").run(timed(pa.int32(), [3, 5, 10, 20]))
    assert found.to_pylist() == [{"A_at": 3, "window_start": 3, "window_end": 7, "detected_at": 5}]
    reader = timed(pa.int32(), [3, 5, 10, 20]).to_reader(max_chunksize=1)
    assert ev.query(query, ts="at", ts_unit="s", origin="first").run(reader) == found
    empty = timed(pa.int32(), [3, 5, 10, 20]).slice(0, 0)
    assert ev.query(query, ts="at", ts_unit="s", origin="first").run(empty).num_rows == 0


# --- names and types of columns ----------------------------------------------------------------------------

NAMES = ["p0", "ts", "mask", "events", "seq", "c0", "v0", "s0_c0", "r0", "match_id", "window_start", "data", "bucket"]
NAMES += ["with space", 'quo"te', "apo'strophe", "back`tick", "UPPER", "größe", "表", "select", "a.b", "$", "%(x)s"]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def named_events(names: list[str]) -> pa.Table:
    columns = {name: pa.array([10 * i + k for k in range(4)], pa.int64()) for i, name in enumerate(names)}
    return pa.table({"at": pa.array([1, 2, 3, 4], pa.int64()), "type": ["A", "B", "A", "B"], **columns})


def named_query(names: list[str]) -> ev.Query:
    """Every name in a test on one event, in one that relates events, as a value and in an expression."""
    where = " AND ".join(f"A.{quoted(n)} >= 0 AND A.{quoted(n)} + 1 = NEXT(B).{quoted(n)}" for n in names)
    returned = ", ".join(f"A.{quoted(n)}, B.{quoted(n)} + 1 AS {quoted('x ' + n)}" for n in names)
    return ev.query(f"PATTERN SEQ(A, B) WHERE {where} RETURN {returned}", ts="at", ts_unit="s")


def expected_names(names: list[str], k: int) -> dict[str, int]:
    pairs = (
        [(f"A_{n}", 10 * i + k) for i, n in enumerate(names)],
        [(f"x {n}", 10 * i + k + 2) for i, n in enumerate(names)],
    )
    return dict(pair for both in zip(*pairs, strict=True) for pair in both) | {"detected_at": k + 2}


def test_any_name_of_a_column() -> None:
    found = named_query(NAMES).run(named_events(NAMES)).to_pylist()
    assert sorted(found, key=lambda row: row["detected_at"]) == [expected_names(NAMES, k) for k in (0, 2)]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_time_partition_sequence_or_type_column(name: str) -> None:
    events = pa.table({name: [1, 2], "x": ["A", "B"]})
    defined = "PATTERN SEQ(A, B) DEFINE A AS x = 'A', B AS x = 'B'"
    assert ev.query(defined, ts=name, ts_unit="s").run(events).num_rows == 1
    events = pa.table({"at": [1, 2], name: ["k", "k"], "x": ["A", "B"]})
    assert ev.query(f"{defined} RETURN {quoted(name)} AS k", ts="at", ts_unit="s", partition_by=[name]).run(
        events
    ).to_pylist() == [{"k": "k", "detected_at": 2}]
    events = pa.table({"at": [1, 1], name: [2, 1], "x": ["A", "B"]})
    options = {"ts": "at", "ts_unit": "s", "ties": "sequence"}
    assert ev.query(defined, sequence=name, **options).run(events).num_rows == 0
    events = pa.table({"at": [1, 2], name: ["A", "B"]})
    assert ev.query("PATTERN SEQ(A, B) RETURN B.at", ts="at", ts_unit="s", type=name).run(events).num_rows == 1


@pytest.mark.spark
def test_any_name_of_a_column_on_spark(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(named_events(NAMES))
    found = named_query(NAMES).run(frame).toArrow().to_pylist()
    assert sorted(found, key=lambda row: row["detected_at"]) == [expected_names(NAMES, k) for k in (0, 2)]
    pq.write_table(named_events(NAMES), tmp_path / "events.parquet")
    found = named_query(NAMES).run(tmp_path / "events.parquet", engine="spark", spark=spark).toArrow().to_pylist()
    assert sorted(found, key=lambda row: row["detected_at"]) == [expected_names(NAMES, k) for k in (0, 2)]


VALUES: dict[str, pa.Array] = {
    "bool": pa.array([True, None, False, True]),
    "int8": pa.array([-128, 127, None, 0], pa.int8()),
    "int16": pa.array([-(2**15), 2**15 - 1, None, 0], pa.int16()),
    "int32": pa.array([-(2**31), 2**31 - 1, None, 0], pa.int32()),
    "int64": pa.array([-(2**63), 2**63 - 1, None, 0], pa.int64()),
    "float32": pa.array([1.5, None, -0.0, float("inf")], pa.float32()),
    "float64": pa.array([1.1, None, -0.0, float("-inf")], pa.float64()),
    "decimal": pa.array([Decimal("1.50"), None, Decimal("-99999999.99"), Decimal(0)], pa.decimal128(10, 2)),
    "decimal38": pa.array([Decimal(10**37), None, Decimal(-1), Decimal(0)], pa.decimal128(38, 0)),
    "string": pa.array(["a", None, "", "größe"]),
    "binary": pa.array([b"a", None, b"", b"\xff\x00"]),
    "date": pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31), dt.date(1970, 1, 1)]),
    "timestamp": pa.array([START, None, START, dt.datetime(1900, 1, 1)], pa.timestamp("us")),
    "timestamp_utc": pa.array([START, None, START, dt.datetime(1900, 1, 1)], pa.timestamp("us", "UTC")),
    "list": pa.array([["a", None], None, [], ["b"]], pa.list_(pa.string())),
    "struct": pa.array([{"a": 1, "b": [1.5]}, None, {"a": None, "b": None}, {"a": 2, "b": []}]),
    "list_of_struct": pa.array([[{"a": 1}], None, [], [{"a": None}]]),
}
OTHER_VALUES: dict[str, pa.Array] = {
    "uint8": pa.array([0, 255, None, 1], pa.uint8()),
    "uint64": pa.array([0, 2**64 - 1, None, 1], pa.uint64()),
    "large_string": pa.array(["a", None, "", "b"], pa.large_string()),
    "string_view": pa.array(["a", None, "", "b"], pa.string_view()),
    "dictionary": pa.array(["a", None, "b", "a"]).dictionary_encode(),
    "large_binary": pa.array([b"a", None, b"", b"b"], pa.large_binary()),
    "fixed_binary": pa.array([b"ab", None, b"cd", b"ef"], pa.binary(2)),
    "seconds": pa.array([START, None, START, START], pa.timestamp("s")),
    "nanoseconds": pa.array([1, None, 2, 3], pa.timestamp("ns")),
    "zoned": pa.array([START, None, START, START], pa.timestamp("ms", "Asia/Tokyo")),
    "date64": pa.array([DAYS[0], None, DAYS[1], DAYS[2]], pa.date64()),
    "time": pa.array([dt.time(1, 2, 3), None, dt.time(0), dt.time(23)], pa.time64("us")),
    "null": pa.nulls(4),
    "map": pa.array([[("a", 1)], None, [], [("b", None)]], pa.map_(pa.string(), pa.int32())),
}


def valued(values: dict[str, pa.Array]) -> pa.Table:
    return pa.table({"at": pa.array([1, 2, 3, 4], pa.int64()), "type": ["A", "B", "A", "B"], **values})


def value_query(names: list[str], **options: Any) -> ev.Query:
    returned = ", ".join(f"{symbol}.{name} AS {symbol}_{name}" for name in names for symbol in "AB")
    return ev.query(f"PATTERN SEQ(A, B) RETURN {returned}", ts="at", ts_unit="s", **options)


def check_values(found: pa.Table, values: dict[str, pa.Array]) -> None:
    bound = list(zip(found.column("A_at").to_pylist(), found.column("B_at").to_pylist(), strict=True))
    assert sorted(bound) == [(1, 2), (1, 4), (3, 4)]
    for name, column in values.items():
        given = column.to_pylist()
        assert found.column(f"A_{name}").to_pylist() == [given[a - 1] for a, _ in bound], name
        assert found.column(f"B_{name}").to_pylist() == [given[b - 1] for _, b in bound], name


def test_values_of_every_type_come_back_as_they_are() -> None:
    values = {**VALUES, **OTHER_VALUES}
    found = value_query(["at", *values]).run(valued(values))
    check_values(found, values)
    assert {name: found.schema.field(f"A_{name}").type for name in values} == {n: v.type for n, v in values.items()}


@pytest.mark.spark
def test_values_of_every_type_come_back_from_spark(spark: Any, tmp_path: Path) -> None:
    pq.write_table(valued(VALUES), tmp_path / "events.parquet")
    query = value_query(["at", *VALUES])
    frame = spark.read.parquet(str(tmp_path / "events.parquet"))
    for found in (query.run(frame), query.run(tmp_path / "events.parquet", engine="spark", spark=spark)):
        types = {field.name: field.dataType for field in found.schema.fields}
        assert all(types[f"B_{name}"] == frame.schema[name].dataType for name in VALUES)
        check_values(found.toArrow(), VALUES)


# --- match_id ----------------------------------------------------------------------------------------------

SLID = "PATTERN SEQ(A, B) WITHIN 4 s SLIDE 2 s RETURN user, A.at, B.at AS b_at, B.score OPTIONS (match_id = true)"
BY_USER: dict[str, Any] = {"ts": "at", "ts_unit": "s", "partition_by": "user"}
PEOPLE = pa.table(
    {
        "at": pa.array([2, 2, 3, 3, 4, 4, 2], pa.int64()),
        "user": ["ann", "bob", "ann", "bob", "ann", "bob", None],
        "type": ["A", "A", "B", "B", "B", "B", "A"],
        "score": pa.array([0.5, None, -0.0, 0.0, float("nan"), 1.0, 2.0]),
    }
)


def ids(table: pa.Table) -> dict[tuple[str, ...], str]:
    names = [name for name in table.column_names if name != "match_id"]
    keys = zip(*(map(str, table.column(name).to_pylist()) for name in names), strict=True)
    found = dict(zip(keys, table.column("match_id").to_pylist(), strict=True))
    assert len(found) == table.num_rows
    return found


def test_match_ids_are_stable_and_tell_matches_apart() -> None:
    query = ev.query(SLID, **BY_USER)
    found = ids(query.run(PEOPLE))
    # Two users; the first B lies in two windows with A, the second in one.
    assert len(found) == 2 * (2 + 1)
    assert len(set(found.values())) == len(found)
    assert all(len(name) == 32 and set(name) <= set("0123456789abcdef") for name in found.values())
    assert ids(query.run(PEOPLE.take([6, 5, 4, 3, 2, 1, 0]))) == found
    assert ids(query.run(PEOPLE, memory_limit=1)) == found
    one = ev.query("PATTERN SEQ(A, B)", match_id=True, **BY_USER).run(PEOPLE)
    other = ev.query("PATTERN SEQ(A, B) WHERE A.type = 'A'", match_id=True, **BY_USER).run(PEOPLE)
    assert one.num_rows == other.num_rows == 4
    assert not set(ids(one).values()) & set(ids(other).values())


def test_events_that_differ_in_what_the_query_reads_have_other_ids() -> None:
    query = ev.query("PATTERN SEQ(A, B) RETURN B.x OPTIONS (match_id = true)", ts="at", ts_unit="s")
    events = pa.table({"at": [1, 2, 2], "type": ["A", "B", "B"], "x": [7, 8, 9], "y": [1, 1, 2]})
    assert len(set(query.run(events).column("match_id").to_pylist())) == 2
    # Equal rows are interchangeable, and so are their matches.
    equal = events.set_column(2, "x", pa.array([7, 8, 8]))
    assert len(set(query.run(equal).column("match_id").to_pylist())) == 1
    apart = ev.query("PATTERN SEQ(A, B) OPTIONS (match_id = true)", ts="at", ts_unit="s", sequence="y")
    assert len(set(apart.run(equal).column("match_id").to_pylist())) == 2


@pytest.mark.spark
def test_match_ids_are_the_same_on_spark(spark: Any, tmp_path: Path) -> None:
    query, plain = ev.query(SLID, **BY_USER), ev.query(SLID.replace("SLIDE 2 s ", ""), **BY_USER)
    local = ids(query.run(PEOPLE))
    pq.write_table(PEOPLE, tmp_path / "events.parquet")
    assert ids(query.run(spark.createDataFrame(PEOPLE)).toArrow()) == local
    assert ids(query.run(tmp_path / "events.parquet", engine="spark", spark=spark).toArrow()) == local
    assert ids(plain.run(spark.read.parquet(str(tmp_path)).repartition(3)).toArrow()) == ids(plain.run(PEOPLE))
