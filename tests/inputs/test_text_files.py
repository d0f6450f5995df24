"""CSV and JSON files: the types come from all values of all files, by one rule, on every engine."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.engines.local.sources import open_source

QUERY = ev.query("PATTERN A a RETURN a.ts, a.x", ts="ts", ts_unit="s", type="kind")

# A text, what it is in a CSV file, and whether it is that as a JSON string, too; otherwise it is text.
SPELLINGS: list[tuple[str, Any, bool]] = [
    ("1", 1, False),
    ("007", 7, False),
    ("+5", 5, False),
    (" 5 ", 5, False),
    ("9223372036854775807", 9223372036854775807, False),
    ("9223372036854775808", Decimal(9223372036854775808), False),
    ("12345678901234567890123", Decimal(12345678901234567890123), False),
    ("1" * 39, "1" * 39, False),
    ("1.5", 1.5, False),
    ("-2.", -2.0, False),
    (".5", 0.5, False),
    ("1e3", 1000.0, False),
    ("-Infinity", float("-inf"), False),
    ("inf", "inf", False),
    ("true", True, False),
    ("FALSE", False, False),
    ("t", "t", False),
    ("1_000", "1_000", False),
    ("0x10", "0x10", False),
    ("5d", "5d", False),
    ("NULL", "NULL", False),
    ("2024-01-02", dt.date(2024, 1, 2), True),
    ("2024-1-2", dt.date(2024, 1, 2), True),
    ("01/02/2024", "01/02/2024", True),
    ("2024-02-30", "2024-02-30", True),
    ("2024-01", "2024-01", True),
    ("12:30:00", "12:30:00", True),
    ("2024-01-02 03:04", dt.datetime(2024, 1, 2, 3, 4), True),
    ("2024-01-02T03:04:05", dt.datetime(2024, 1, 2, 3, 4, 5), True),
    ("2026-01-01T00:00:00.074615", dt.datetime(2026, 1, 1, 0, 0, 0, 74615), True),
    ("2024-01-02 03:04:05.5", dt.datetime(2024, 1, 2, 3, 4, 5, 500000), True),
    ("2024-01-02T03:04:05.1234560", dt.datetime(2024, 1, 2, 3, 4, 5, 123456), True),
    ("2024-01-02T03:04:05.123456789", "2024-01-02T03:04:05.123456789", True),
    ("2024-01-02T03:04:05Z", dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC), True),
    ("2024-01-02 03:04:05 UTC", dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC), True),
    ("2024-01-02T03:04:05.5+02:00", dt.datetime(2024, 1, 2, 1, 4, 5, 500000, tzinfo=dt.UTC), True),
    ("2024-01-02T03:04:05-02", dt.datetime(2024, 1, 2, 5, 4, 5, tzinfo=dt.UTC), True),
    ("2024-01-02T24:00:00", "2024-01-02T24:00:00", True),
    ("9999-12-31T23:59:59.999999", dt.datetime(9999, 12, 31, 23, 59, 59, 999999), True),
]
NAMES = [f"c{i}" for i in range(len(SPELLINGS))]
TEXTS = [text for text, _, _ in SPELLINGS]
EXPECTED = {
    "csv": [value for _, value, _ in SPELLINGS],
    "jsonl": [value if as_string else text for text, value, as_string in SPELLINGS],
}


def spelled(folder: Path, ending: str) -> Path:
    """A file with a column for each spelling, behind a row without a value."""
    path = folder / f"spelled.{ending}"
    if ending == "csv":
        lines = [",".join(["id", *NAMES]), "0" + "," * len(NAMES), ",".join(["1", *(f'"{text}"' for text in TEXTS)])]
        path.write_text("\n".join(lines) + "\n")
    else:
        path.write_text('{"id": 0}\n' + json.dumps({"id": 1, **dict(zip(NAMES, TEXTS, strict=True))}) + "\n")
    return path


def read(path: Path) -> pa.Table:
    source = open_source(path)
    return source.connection.sql(f"SELECT * FROM {source.sql} ORDER BY ALL").to_arrow_table()


def shown(value: Any) -> str:
    """The value with its type; on Spark a time has a zone, here only where the text had one."""
    return repr(value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_every_spelling_has_its_type(tmp_path: Path, ending: str) -> None:
    row = read(spelled(tmp_path, ending)).to_pylist()[1]
    assert [row[name] for name in NAMES] == EXPECTED[ending]
    assert [type(row[name]) for name in NAMES] == [type(value) for value in EXPECTED[ending]]


@pytest.mark.spark
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_spark_reads_every_spelling_alike(spark: Any, tmp_path: Path, ending: str) -> None:
    from eventide.engines.spark.run import read_frame

    frame = read_frame(str(spelled(tmp_path, ending)), spark).orderBy("id")
    row = frame.toArrow().to_pylist()[1]
    assert [shown(row[name]) for name in NAMES] == [shown(value) for value in EXPECTED[ending]]


def last_value(path: Path) -> Any:
    """What a query finds in the row behind 25,000 others."""
    return {row["a_ts"]: row["a_x"] for row in QUERY.run(path).to_pylist()}[25_000]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "csv.gz"])
def test_a_fraction_behind_many_whole_numbers_is_not_rounded(tmp_path: Path, ending: str) -> None:
    rows = [(i, "A", i % 7) for i in range(25_000)] + [(25_000, "A", 2.5)]
    if ending == "jsonl":
        text = "".join(json.dumps(dict(zip(("ts", "kind", "x"), row, strict=True))) + "\n" for row in rows)
    else:
        text = "ts,kind,x\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    path = tmp_path / f"late.{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    assert last_value(path) == 2.5


def test_text_behind_many_numbers_makes_a_column_of_text(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("ts,x\n" + "".join(f"{i},{i}\n" for i in range(25_000)) + "25000,n/a\n")
    assert read(path).schema == pa.schema({"ts": pa.int64(), "x": pa.string()})


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_all_files_of_a_folder_decide(tmp_path: Path, ending: str) -> None:
    rows = [[{"ts": 1, "x": 1}], [{"ts": 2, "x": 2.5, "late": "2024-01-02"}], [{"ts": 3, "late": "2024-01-02 03:04"}]]
    for i, mine in enumerate(rows):
        path = tmp_path / f"{i}.{ending}"
        if ending == "csv":
            path.write_text(",".join(mine[0]) + "\n" + ",".join(map(str, mine[0].values())) + "\n")
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in mine))
    (tmp_path / f"3.{ending}").write_text("")
    assert read(tmp_path).to_pylist() == [
        {"ts": 1, "x": 1.0, "late": None},
        {"ts": 2, "x": 2.5, "late": dt.datetime(2024, 1, 2)},
        {"ts": 3, "x": None, "late": dt.datetime(2024, 1, 2, 3, 4)},
    ]


def test_values_of_json_keep_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "values.jsonl"
    path.write_text(
        '{"big": 12345678901234567890123, "mixed": 1, "none": null, "deep": {"at": "2024-01-02", "n": [1]}, "y": 1}\n'
        '{"big": 7, "mixed": "a", "y": true}\n{"mixed": {"b": 2}, "y": 2}\n'
    )
    table = read(path)
    assert table.schema.field("none").type == pa.null()
    found = {name: table.column(name).to_pylist() for name in table.column_names}
    assert sorted(found["big"], key=str) == [Decimal(12345678901234567890123), Decimal(7), None]
    assert sorted(found["mixed"]) == ["1", "a", '{"b":2}']
    assert sorted(found["y"]) == ["1", "2", "true"]
    assert {"at": "2024-01-02", "n": [1]} in found["deep"]


def test_names_of_json_that_differ_only_in_case_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "case.jsonl"
    path.write_text('{"ts": 1, "a": 1, "A": 2}\n')
    with pytest.raises(ev.InputError, match="two columns called 'a' differ only in case"):
        QUERY.run(path)
    path.write_text('{"ts": 1, "a": 1, "a_1": 2}\n')
    assert read(path).to_pylist() == [{"ts": 1, "a": 1, "a_1": 2}]


@pytest.mark.parametrize("text", ["[]", "\n\n"])
def test_json_without_an_object_has_no_columns(tmp_path: Path, text: str) -> None:
    (tmp_path / "none.json").write_text(text)
    with pytest.raises(ev.InputError, match=r"is empty: without a record it has no columns"):
        QUERY.run(tmp_path / "none.json")


@pytest.mark.spark
def test_spark_reads_an_array_of_objects_packed_or_not(spark: Any, tmp_path: Path) -> None:
    from eventide.engines.spark.run import read_frame

    for ending in ("json", "json.gz", "json.zst"):
        with pa.output_stream(tmp_path / f"rows.{ending}", compression="detect") as out:
            out.write(b'\n[{"ts": 1},\n {"ts": 2}]\n')
        frame = read_frame(str(tmp_path / f"rows.{ending}"), spark)
        assert frame.toArrow().to_pylist() == [{"ts": 1}, {"ts": 2}]


def test_the_dialect_of_a_csv_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts;kind;x\n1;A;5\n")
    (tmp_path / "b.csv").write_text('ts,kind,x\n2,A,6\n3,"A","7"\n')
    found = QUERY.run(tmp_path).to_pylist()
    assert sorted((row["a_ts"], row["a_x"]) for row in found) == [(1, 5), (2, 6), (3, 7)]


def test_a_quote_behind_many_plain_rows_is_one(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("ts,kind,x\n" + "".join(f"{i},A,b\n" for i in range(25_000)) + '25000,A,"c, ""d"""\n')
    assert last_value(path) == 'c, "d"'


def test_json_lines_that_eventide_wrote_are_read_by_eventide(tmp_path: Path) -> None:
    from eventide.show.report import write_rows

    times = pa.array([0, 74_615, 5_000_000], pa.timestamp("us"))
    matches = ev.query("PATTERN A a RETURN a.x", type="kind").run(
        pa.table({"ts": times, "kind": ["A"] * 3, "x": [1, 2, 3]})
    )
    write_rows(matches, tmp_path / "m.jsonl")
    chained = ev.query(
        "PATTERN SEQ(M m, M n) DEFINE M AS TRUE SEMANTICS next WITHIN 1 second RETURN m.a_x", ts="detected_at"
    )
    assert [row["m_a_x"] for row in chained.run(tmp_path / "m.jsonl").to_pylist()] == [1]


@pytest.mark.parametrize("name", ["empty.csv", "empty.parquet"])
def test_a_file_without_rows_has_no_matches(tmp_path: Path, name: str) -> None:
    if name.endswith("csv"):
        (tmp_path / name).write_text("ts,kind,x\n")
    else:
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"ts": pa.nulls(0), "kind": pa.nulls(0), "x": pa.nulls(0)}), tmp_path / name)
    assert QUERY.run(tmp_path / name).num_rows == 0
    by_date = ev.query("PATTERN SEQ(A a, B b) WHERE b.x > 2 * a.x RETURN a.x", type="kind", partition_by="x")
    assert by_date.run(tmp_path / name).num_rows == 0


def test_a_statement_reads_files_in_the_same_types(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("ts,x\n1,2\n2,2.5\n")
    assert ev.sql("SELECT ts, x * 2 AS y FROM t ORDER BY ts", t=tmp_path / "t.csv").to_pylist() == [
        {"ts": 1, "y": 4.0},
        {"ts": 2, "y": 5.0},
    ]
