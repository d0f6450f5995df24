"""Times of results: the type and unit of the time column."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.runtime.costs import costing

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
            "a time in 'at' (timestamp[ns]) is not a whole number of microseconds: 2001\n"
            "Hint: round the column to microseconds: "
            'pandas: df["at"].dt.round("us"), Polars: pl.col("at").dt.round("1us"), '
            'PyArrow: pc.round_temporal(table["at"], unit="microsecond"), DuckDB: CAST("at" AS TIMESTAMP)',
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
            "a time in 'at' (int64) is out of range: 4611686018427387904\nHint: as nanoseconds it is in the year 2116: "
            "divide them by 1000 before, without a remainder, with ts_unit='us'",
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


PANDAS = pd.DataFrame(
    {
        "ts": pd.to_datetime(
            ["1960-01-01 00:00:00.000001", "2026-01-01 00:00:00.123456", "2026-01-01 00:00:05.000000"]
        ),
        "kind": ["A", "A", "B"],
        "at": pd.to_datetime(["1900-01-01 00:00:00.000001", "2026-01-01 00:00:00.123456", None], utc=True),
    }
)
NANOSECONDS = ev.query("PATTERN SEQ(A a, B b) RETURN a.ts, a.at, b.at", type="kind")


@pytest.mark.spark
def test_nanoseconds_as_pandas_writes_them_give_the_same_rows_on_spark(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    PANDAS.to_parquet(path, index=False)
    assert str(pq.read_schema(path).field("ts").type) == "timestamp[ns]"

    def microseconds(table: pa.Table) -> list[tuple[int | None, ...]]:
        columns = [table[name].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist() for name in table.column_names]
        return sorted(zip(*columns, strict=True), key=str)

    own = microseconds(NANOSECONDS.run(path))
    assert len(own) == 2
    for few_rows in (10**9, 0):
        with costing(few_rows=few_rows):
            assert microseconds(NANOSECONDS.run(path, engine="spark", spark=spark).toArrow()) == own
            assert "Spark reads" not in NANOSECONDS.last_run.reason


@pytest.mark.spark
@pytest.mark.parametrize("column", ["ts", "at"])
def test_times_between_two_microseconds_are_an_error_on_spark(spark: Any, tmp_path: Path, column: str) -> None:
    finer = PANDAS.assign(**{column: PANDAS[column] + pd.Timedelta(1, "ns")})
    finer.to_parquet(tmp_path / "events.parquet", index=False)
    with pytest.raises(Exception, match=f"a time in '{column}' .* is not a whole number of microseconds"):
        NANOSECONDS.run(tmp_path / "events.parquet", engine="spark", spark=spark).collect()


@pytest.mark.spark
def test_where_spark_reads_nanoseconds_there_is_a_recipe(spark: Any, tmp_path: Path) -> None:
    PANDAS.to_parquet(tmp_path / "events.parquet", index=False)
    dropping = ev.query("PATTERN A a RETURN a.ts", type="kind", on_bad_event="drop")
    with pytest.raises(ev.InputError, match=r"NANOS.*\nHint: .*coerce_timestamps=\"us\".*nanosAsLong"):
        dropping.run(tmp_path / "events.parquet", engine="spark", spark=spark)


TEXTS = {"at": ["2026-01-01 10:00"], "type": ["A"]}
SLASHES = {"at": ["01/02/2026 10:00"], "type": ["A"]}
SECONDS = {"at": [1.5], "type": ["A"]}
# What makes events of columns, by what holds them then.
HOLDERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "df": pd.DataFrame,
    "polars": pl.DataFrame,
    "table": pa.table,
    "events": lambda columns: pa.table(columns).to_pylist(),
    "relation": lambda columns: duckdb.from_arrow(pa.table(columns)),
}


def recipes(events: Any) -> tuple[str, str | None]:
    """The line that makes times of a column, and the one for another form."""
    with pytest.raises(ev.EventideError, match="the time column 'at' is") as caught:
        ev.query("PATTERN A a RETURN a.at", ts="at").run(events)
    _, line = str(caught.value.hint).split("with ts_unit: ", 1)
    line, _, other = line.partition("; text like 31/01/2026 10:00 needs its format, day and month in your order: ")
    return line.removesuffix(", if the numbers are seconds"), other or None


def follow(line: str, holder: str, events: Any) -> Any:
    """The events after a recipe: a statement for the name that holds them, or an expression."""
    from pyarrow import compute as pc

    line, _, unit = line.partition(' with ts_unit="')  # else nothing says the unit
    names = {"pd": pd, "pl": pl, "pa": pa, "pc": pc, "duckdb": duckdb, "datetime": dt.datetime}
    name = "df" if holder == "polars" else holder
    names[name] = events
    exec(line, names)
    return ev.query("PATTERN A a RETURN a.at", ts="at", ts_unit=unit[:-1] or None).run(names[name])


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_column_that_is_no_time_is_told_with_the_line_that_makes_one(holder: str) -> None:
    make = HOLDERS[holder]
    line, other = recipes(make(TEXTS))
    assert follow(line, holder, make(TEXTS))["a_at"].to_pylist() == [dt.datetime(2026, 1, 1, 10)]
    line, other = recipes(make(SLASHES))
    assert other is not None
    assert follow(other, holder, make(SLASHES))["a_at"].to_pylist() == [dt.datetime(2026, 2, 1, 10)]
    # The first line does not guess the order of day and month; Polars itself takes the day first.
    if holder != "polars":
        with pytest.raises(Exception, match=r"01/02/2026|not match|strptime|parsing"):
            follow(line, holder, make(SLASHES))
    line, other = recipes(make(SECONDS))
    found = follow(line, holder, make(SECONDS))["a_at"].to_pylist()
    assert found in ([1_500_000], [dt.datetime(1970, 1, 1, 0, 0, 1, 500_000)]) and other is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.csv", "at,type\n01/02/2026 10:00,A\n"),
        ("e.jsonl", '{"at": "01/02/2026 10:00", "type": "A"}\n'),
    ],
)
def test_the_line_for_a_file_names_the_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    line, other = recipes(tmp_path / name)
    assert other is None and "day and month in your order" in line
    found = ev.query("PATTERN A a RETURN a.at", ts="at").run(eval(line[line.index("duckdb.sql") :]))
    assert found["a_at"].to_pylist() == [dt.datetime(2026, 2, 1, 10)]


def test_a_file_of_seconds_is_told_the_line_that_reads_it(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("at,type\n1.5,A\n")
    line, _ = recipes(tmp_path / "e.csv")
    found = ev.query("PATTERN A a RETURN a.at", ts="at").run(eval(line[line.index("duckdb.sql") :]))
    assert found["a_at"].to_pylist() == [dt.datetime(1970, 1, 1, 0, 0, 1, 500_000)]


def test_every_family_tells_the_line() -> None:
    frame, line = pd.DataFrame(TEXTS), 'df["at"] = pd.to_datetime(df["at"], format="ISO8601")'
    runs: list[Callable[[], Any]] = [
        lambda: ev.query("DEFINE A AS TRUE, B AS TRUE PATTERN A before B", ts="at").run(frame),
        lambda: ev.detect(frame, ev.Pattern.begin("a", "type = 'A'"), ts="at"),
        lambda: ev.intervals.threshold(frame, "type = 'A'", ts="at"),
        lambda: ev.allen(frame, frame, "equals", left_times="at", right_times="at"),
        lambda: ev.query("PATTERN SEQ(A, B)", ts="at").run(A=frame[["at"]], B=frame[["at"]]),
    ]
    for run in runs:
        with pytest.raises(ev.EventideError) as caught:
            run()
        assert line in str(caught.value.hint)
    with pytest.raises(ev.EventideError, match="ts_unit='ns' is not possible") as caught:
        ev.query("PATTERN A a", ts="at", ts_unit="ns")
    assert "divide nanoseconds by 1000" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("unit", "values", "words"),
    [
        ("s", [1_700_000_000_000, 1_700_000_001_000], "ts_unit='ms' in 2023"),
        ("ms", [1_700_000_000, 1_700_000_001], "begin in the year 1970, with ts_unit='s' in 2023"),
        ("us", [1_700_000_000_000], "ts_unit='ms' in 2023"),
        ("us", [1_700_000_000], "begin in the year 1970, with ts_unit='s' in 2023"),
        ("ms", [1_700_000_000_000_000], "ts_unit='us' in 2023"),
        (
            "us",
            [1_700_000_000_123_456_789, 1_700_000_001_123_456_789],
            "begin in the year 55840, as nanoseconds in 2023",
        ),
        ("s", [1_700_000_000], None),
        ("us", [0, 1000], None),
        ("s", [0, 1000], None),
        ("ms", [0, 1_700_000_000], None),
        ("s", [-5_000_000_000], None),
        ("s", [], None),
    ],
)
def test_an_unlikely_unit_is_warned_of(unit: str, values: list[int], words: str | None) -> None:
    events = pa.table({"at": pa.array(values, pa.int64()), "type": pa.array(["A"] * len(values), pa.string())})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ev.query("PATTERN A a", ts="at", ts_unit=unit).run(events)
    found = [str(each.message) for each in caught if "ts_unit" in str(each.message)]
    assert len(found) == (words is not None)
    assert all(words is not None and words in text for text in found)


NANOSECOND_COUNT = 1_700_000_000_123_456_789


@pytest.mark.parametrize(
    ("unit", "value", "words"),
    [
        ("s", NANOSECOND_COUNT, "as nanoseconds it is in the year 2023: divide them by 1000 before"),
        ("ms", NANOSECOND_COUNT, "as nanoseconds it is in the year 2023: divide them by 1000 before"),
        ("s", 1_700_000_000_000_000, "ts_unit='us' puts it in the year 2023"),
    ],
)
def test_a_time_out_of_range_is_told_with_the_unit_that_is_likely(unit: str, value: int, words: str) -> None:
    with pytest.raises(ev.InputError, match=r"a time in 'at' .* is out of range") as caught:
        ev.query("PATTERN A a", ts="at", ts_unit=unit).run(pa.table({"at": [value], "type": ["A"]}))
    assert words in str(caught.value.hint)


COUNTED = pa.table({"at": [NANOSECOND_COUNT, NANOSECOND_COUNT + 1], "type": ["A", "A"]})
SPANS = COUNTED.append_column("to", COUNTED["at"])
UNIT_RUNS: dict[str, Callable[[], Any]] = {
    "trend": lambda: ev.query("PATTERN A a+ RETURN COUNT(*)", ts="at", ts_unit="us").run(COUNTED),
    "situations": lambda: ev.query("DEFINE A AS type = 'A', B AS TRUE PATTERN A before B", ts="at", ts_unit="us").run(
        COUNTED
    ),
    "builder": lambda: ev.detect(COUNTED, ev.Pattern.begin("a", "type = 'A'"), ts="at", ts_unit="us"),
    "rows": lambda: ev.match_recognize(order_by="at", pattern="A", within="1 minute", ts_unit="us")(COUNTED),
    "intervals": lambda: ev.intervals.threshold(COUNTED, "type = 'A'", ts="at", ts_unit="us"),
    "allen": lambda: ev.allen(SPANS, SPANS, "equals", start="to", end="at", ts_unit="us"),
    "live": lambda: list(ev.query("PATTERN A a", ts="at", ts_unit="us").live([COUNTED, COUNTED])),
}


@pytest.mark.parametrize("family", UNIT_RUNS)
def test_every_family_warns_of_an_unlikely_unit(family: str) -> None:
    with pytest.warns(ev.EventideWarning, match="the times in 'at' begin in the year 55840, as nanoseconds in 2023"):
        UNIT_RUNS[family]()


@pytest.mark.spark
def test_footers_tell_an_unlikely_unit_before_spark_reads(spark: Any, tmp_path: Path) -> None:
    pq.write_table(COUNTED, tmp_path / "events.parquet")
    with pytest.warns(ev.EventideWarning, match="the times in 'at' begin in the year 55840, as nanoseconds in 2023"):
        ev.query("PATTERN A a", ts="at", ts_unit="us").run(tmp_path / "events.parquet", engine="spark", spark=spark)
