"""Events that are wrong: one clear error that says which, or dropped and counted; nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import eventide as ev
from tests.failing import error_of

TEXT = "PATTERN SEQ(A, B) WHERE A.amount < B.amount RETURN user, A.name, B.amount"
OPTIONS: dict[str, Any] = {"ts": "when", "partition_by": "user"}
EVENTS = pa.table(
    {
        "when": pa.array([1, None, 3, None, 5], pa.timestamp("us")),
        "type": ["A", "B", "B", "Z", "B"],
        "user": ["ann", "ann", "ann", "ann", None],
        "name": ["x", "it's", None, "z", None],
        "amount": [1, 2, 3, 4, 5],
    }
)
MESSAGE = "an event has no time: 'when' is NULL in the event with user = 'ann', amount = 2, name = \"it's\""
HINT = 'fill in the time, or pass on_bad_event="drop" to drop and count such events'
ROWS = [{"user": "ann", "A_name": "x", "B_amount": 3}]


def rows(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.drop_columns(["detected_at"]).to_pylist()
    return found


# --- no time -----------------------------------------------------------------------------------------------


def test_an_event_without_a_time_is_named_as_the_user_knows_it(tmp_path: Path) -> None:
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    pa_csv.write_csv(EVENTS, tmp_path / "events.csv")
    for events in (
        EVENTS,
        EVENTS.to_pandas(),
        EVENTS.to_pylist(),
        tmp_path / "events.parquet",
        tmp_path / "events.csv",
    ):
        with pytest.raises(ev.InputError) as caught:
            ev.query(TEXT, **OPTIONS).run(events)
        assert caught.value.message == MESSAGE
        assert caught.value.hint == HINT


def test_events_without_a_time_are_dropped_and_counted(tmp_path: Path) -> None:
    query = ev.query(TEXT, on_bad_event="drop", **OPTIONS)
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    for events in (EVENTS, EVENTS.to_pandas(), tmp_path / "events.parquet"):
        assert rows(query.run(events)) == ROWS
        # Also the one that no step wants.
        assert query.metrics() == {
            "events": 5,
            "relevant_events": 3,
            "dropped_events": 2,
            "matches": 1,
            "spilled_bytes": 0,
        }


def test_only_the_option_drops() -> None:
    """Contiguous keeps every event, and a query that returns nothing of the event still names what it reads."""
    for text, message in [
        ("PATTERN SEQ(A, B) SEMANTICS contiguous", "in the event with user = 'ann'"),
        ("PATTERN SEQ(A, B) WHERE A.amount > 1", "in the event with user = 'ann'"),
    ]:
        with pytest.raises(ev.InputError, match=message):
            ev.query(text, **OPTIONS).run(EVENTS)


def test_an_event_of_which_only_the_time_is_read_is_told_by_its_row(tmp_path: Path) -> None:
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    query = ev.query("PATTERN SEQ(A, B) RETURN A.when", ts="when")
    for events in (EVENTS, tmp_path / "events.parquet"):
        for memory_limit in (None, 1):
            with pytest.raises(ev.InputError) as caught:
                query.run(events, memory_limit=memory_limit)
            message = "an event has no time: 'when' is NULL in row 2 of the input, and in 1 more"
            assert (caught.value.message, caught.value.hint) == (message, HINT)
    # What a reader has given is gone.
    with pytest.raises(ev.InputError, match="is NULL in 2 events, of which the query reads no other column"):
        query.run(EVENTS.to_reader())


def test_a_long_value_is_cut_in_the_message() -> None:
    events = EVENTS.set_column(3, "name", pa.array(["x" * 500] * 5))
    with pytest.raises(ev.InputError) as caught:
        ev.query(TEXT, **OPTIONS).run(events)
    assert len(caught.value.message) < 250
    assert caught.value.message.endswith("x...")


@pytest.mark.spark
def test_spark_reports_and_drops_the_same(spark: Any, tmp_path: Path) -> None:
    from eventide.engines.spark.errors import user_message

    pq.write_table(EVENTS, tmp_path / "events.parquet")
    path = tmp_path / "events.parquet"
    frame = spark.read.parquet(str(path))
    strict, lenient = ev.query(TEXT, **OPTIONS), ev.query(TEXT, on_bad_event="drop", **OPTIONS)
    for result in (strict.run(frame), strict.run(path, engine="spark", spark=spark)):
        with pytest.raises(Exception) as caught:
            result.write.parquet(str(tmp_path / "out"))
        assert user_message(caught.value) == f"{MESSAGE}\nHint: {HINT}"
        assert not list((tmp_path / "out").glob("*.parquet"))
    found = lenient.run(frame)
    assert lenient.metrics() == {}
    assert rows(found.toArrow()) == ROWS
    assert lenient.metrics() == {"events": 5, "dropped_events": 2}
    assert rows(lenient.run(path, engine="spark", spark=spark).toArrow()) == ROWS
    assert lenient.metrics() == {"events": 5, "dropped_events": 2}


# --- wrong files and columns -------------------------------------------------------------------------------


def _broken(path: Path) -> Path:
    """A Parquet file cut short after its first row group."""
    pq.write_table(EVENTS, path)
    path.write_bytes(path.read_bytes()[:-20])
    return path


def _damaged(path: Path) -> Path:
    """A Parquet file whose footer is whole and whose data is not."""
    pq.write_table(pa.table({name: EVENTS.column(name) for name in EVENTS.column_names}), path, compression="zstd")
    data = bytearray(path.read_bytes())
    data[4:200] = b"\xff" * 196
    path.write_bytes(bytes(data))
    return path


@pytest.mark.parametrize("make", [_broken, _damaged])
def test_a_file_that_cannot_be_read(tmp_path: Path, make: Any) -> None:
    path = make(tmp_path / "events.parquet")
    with pytest.raises(ev.InputError, match=r"cannot (be )?read") as caught:
        ev.query(TEXT, **OPTIONS).run(path)
    assert "\n" not in caught.value.message


def test_files_that_do_not_fit_together(tmp_path: Path) -> None:
    pq.write_table(EVENTS.set_column(4, "amount", pa.array(["1"] * 5)), tmp_path / "2.parquet")
    pq.write_table(EVENTS, tmp_path / "1.parquet")
    with pytest.raises(
        ev.InputError, match=r"column 'amount' is bigint in '.*1\.parquet' and string in '.*2\.parquet'"
    ):
        ev.query(TEXT, **OPTIONS).run(tmp_path)


def test_a_csv_value_of_another_type(tmp_path: Path) -> None:
    lines = ["when,type,user,name,amount", *(f"2024-01-01 00:00:0{i % 10},A,u,n,{i}" for i in range(30_000))]
    (tmp_path / "events.csv").write_text("\n".join([*lines, "yesterday,A,u,n,1"]))
    with pytest.raises(ev.EventideError) as caught:
        ev.query(TEXT, **OPTIONS).run(tmp_path / "events.csv")
    assert caught.value.message == "the time column 'when' is string"
    assert "not every value is written like 2026-01-31 10:30:00" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        ("when", "ts: unknown column 'when'"),
        ("user", "unknown column 'user'"),
        ("amount", "unknown column 'amount'"),
        ("type", "nothing says which events are of type 'A'"),
    ],
)
def test_a_missing_column(drop: str, message: str) -> None:
    error = error_of(lambda: ev.query(TEXT, **OPTIONS).run(EVENTS.drop_columns([drop])))
    assert error.message == message


def test_a_column_of_the_wrong_type() -> None:
    events = EVENTS.set_column(0, "when", pa.array(["2024-01-01"] * 5))
    with pytest.raises(ev.EventideError, match="the time column 'when' is string"):
        ev.query(TEXT, **OPTIONS).run(events)
    events = EVENTS.set_column(4, "amount", pa.array([[1]] * 5))
    with pytest.raises(ev.QueryError, match="events cannot be related by a value of type list"):
        ev.query(TEXT, **OPTIONS).run(events)


@pytest.mark.spark
def test_spark_says_which_file_or_column_is_wrong(spark: Any, tmp_path: Path) -> None:
    query = ev.query(TEXT, **OPTIONS)
    with pytest.raises(ev.InputError, match=r"there is no file '.*none\.parquet'"):
        query.run(tmp_path / "none.parquet", engine="spark", spark=spark)
    with pytest.raises(ev.InputError, match=r"cannot read '.*broken\.parquet'"):
        query.run(_broken(tmp_path / "broken.parquet"), engine="spark", spark=spark)
    pq.write_table(EVENTS.drop_columns(["amount"]), tmp_path / "lacking.parquet")
    with pytest.raises(ev.QueryError, match="unknown column 'amount'"):
        query.run(tmp_path / "lacking.parquet", engine="spark", spark=spark)
    with pytest.raises(ev.EventideError, match="the time column 'when' is string"):
        query.run(spark.sql("SELECT 'x' AS when, 'A' AS type, 'u' AS user, 'n' AS name, 1 AS amount"))


# --- nothing at all ----------------------------------------------------------------------------------------

EMPTY = EVENTS.slice(0, 0)
RESULT = {"user": pa.string(), "A_name": pa.string(), "B_amount": pa.int64(), "detected_at": pa.timestamp("us")}


def test_an_empty_input_gives_no_rows_and_the_same_columns(tmp_path: Path) -> None:
    pq.write_table(EMPTY, tmp_path / "events.parquet")
    with pa.ipc.new_file(tmp_path / "events.arrow", EMPTY.schema) as writer:
        writer.write_table(EMPTY)
    for strategy in ("any", "contiguous"):
        query = ev.query(f"{TEXT} SEMANTICS {strategy}", **OPTIONS)
        for events in (EMPTY, EMPTY.to_reader(), tmp_path / "events.parquet", tmp_path / "events.arrow"):
            found = query.run(events)
            assert found.num_rows == 0
            assert found.schema == pa.schema(RESULT)
        # Without a value, pandas cannot say that a column holds text.
        assert query.run(EMPTY.to_pandas()).num_rows == 0


def test_a_file_without_rows_or_columns(tmp_path: Path) -> None:
    (tmp_path / "header.csv").write_text("when,type,user,name,amount\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "empty.parquet").write_text("")
    assert ev.query(TEXT, **OPTIONS).run(tmp_path / "header.csv").num_rows == 0
    for name, message in [
        ("empty.csv", f"'{tmp_path}/empty.csv' is empty: it has no columns"),
        ("empty.jsonl", f"'{tmp_path}/empty.jsonl' is empty: without a record it has no columns"),
        ("empty.parquet", f"cannot read '{tmp_path}/empty.parquet'"),
    ]:
        with pytest.raises(ev.EventideError) as caught:
            ev.query(TEXT, **OPTIONS).run(tmp_path / name)
        assert caught.value.message.startswith(message)


@pytest.mark.spark
def test_an_empty_input_on_spark(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ev.InputError, match=r"empty\.csv' is empty: it has no columns"):
        ev.query(TEXT, **OPTIONS).run(tmp_path / "empty.csv", engine="spark", spark=spark)
    pq.write_table(EMPTY, tmp_path / "events.parquet")
    query = ev.query(TEXT, **OPTIONS)
    frame = spark.read.parquet(str(tmp_path / "events.parquet"))
    for found in (query.run(frame), query.run(tmp_path / "events.parquet", engine="spark", spark=spark)):
        assert found.toArrow().num_rows == 0
        assert found.columns == list(RESULT)
