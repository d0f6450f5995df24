"""CSV files as they come: the first line names the columns, and no line or field is lost, on both engines."""

from __future__ import annotations

import csv
import gzip
import json
import tempfile
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as ev
from eventide.engines.local.sources import open_source
from tests.budget import budgeted

HEADER = b"ts,kind,x\n"
LATE = HEADER + b"".join(b"%d,A,b\n" % i for i in range(25_000))
ROWS = [{"ts": 1, "kind": "A", "x": 5}, {"ts": 2, "kind": "A", "x": 6}]
NAME = "events.csv"

# What stands in a file, and what is read from it.
READ: dict[str, tuple[bytes, list[dict[str, Any]]]] = {
    "a byte order mark": (b"\xef\xbb\xbfts,kind,x\n1,A,5\n2,A,6\n", ROWS),
    "a byte order mark before a quote": (b'\xef\xbb\xbf"ts","kind","x"\n1,A,5\n2,A,6\n', ROWS),
    "line ends of Windows": (b"ts,kind,x\r\n1,A,5\r\n2,A,6\r\n", ROWS),
    "line ends of old Macs": (b"ts,kind,x\r1,A,5\r2,A,6\r", ROWS),
    "no line end": (HEADER + b"1,A,5\n2,A,6", ROWS),
    "blank lines": (b"\n\n" + HEADER + b"\n1,A,5\n\n2,A,6\n\n", ROWS),
    "blank lines of one column": (b"ts\n1\n\n  \n2\n", [{"ts": 1}, {"ts": 2}]),
    "semicolons": (b"ts;kind;x\n1;A;5\n2;A;6\n", ROWS),
    "semicolons and commas": (b"ts;kind;x\n1;A;5,5\n", [{"ts": 1, "kind": "A", "x": "5,5"}]),
    "commas in a name": (b"ts;kind, as we call it, or so\n1;A\n", [{"ts": 1, "kind, as we call it, or so": "A"}]),
    "bars": (b"ts|kind|x\n1|A|5\n2|A|6\n", ROWS),
    "tabs": (b"ts\tkind\tx\n1\tA\t5\n2\tA\t6\n", ROWS),
    "a header of numbers": (b"1,2\n3,4\n", [{"1": 3, "2": 4}]),
    "a header like its values": (b"a,b\nc,d\n", [{"a": "c", "b": "d"}]),
    "blanks around names": (b" ts , kind,x\n1,A,5\n2,A,6\n", ROWS),
    "names twice": (b"ts,x,X,x_1,\n1,2,3,4,5\n", [{"ts": 1, "x": 2, "X_2": 3, "x_1": 4, "column4": 5}]),
    "a delimiter behind the last value": (HEADER + b"1,A,5,\n2,A,6,,\n", ROWS),
    "a quoted empty text": (HEADER + b'1,A,""\n2,A,b\n', [{**ROWS[0], "x": None}, {**ROWS[1], "x": "b"}]),
    "a quote in a word": (HEADER + b'1,A,5" pipe\n', [{**ROWS[0], "x": '5" pipe'}]),
    "quotes twice": (HEADER + b'1,A,"a, ""b"""\n', [{**ROWS[0], "x": 'a, "b"'}]),
    "quotes behind backslashes": (HEADER + b'1,A,"a, \\"b\\""\n', [{**ROWS[0], "x": 'a, "b"'}]),
    "single quotes": (HEADER + b"1,'A','a, b'\n2,'A','6'\n", [{**ROWS[0], "x": "a, b"}, {**ROWS[1], "x": "6"}]),
    "line breaks inside": (
        HEADER + b'1,A,"a\nb"\n2,A,"c\r\nd"\n',
        [{**ROWS[0], "x": "a\nb"}, {**ROWS[1], "x": "c\r\nd"}],
    ),
    "a line break in a name": (b'ts,"kind\n2",x\n1,A,5\n', [{"ts": 1, "kind\n2": "A", "x": 5}]),
    "a long text": (b"ts;x\n1;" + b"b" * 200_000 + b"\n", [{"ts": 1, "x": "b" * 200_000}]),
    "a zero byte": (HEADER + b"1,A,a\0b\n", [{**ROWS[0], "x": "a\0b"}]),
    "nothing but a header": (b"ts,kind,x", []),
}

# What stands in a file, and what the error says.
REFUSED: dict[str, tuple[bytes, str]] = {
    "a short line": (HEADER + b"1,A\n2,A,6\n", f"line 2 of '{{}}{NAME}' has 2 fields, and the header has 3"),
    "a short last line": (HEADER + b"1,A,5\n2\n", f"line 3 of '{{}}{NAME}' has 1 field, and the header has 3"),
    "a short line behind many": (LATE + b"1,A\n", f"line 25002 of '{{}}{NAME}' has 2 fields, and the header has 3"),
    "a long line": (
        HEADER + b"1,A,5,9\n2,A,6\n",
        f"line 2 of '{{}}{NAME}' has more fields than the header, which has 3",
    ),
    "long lines": (b"ts\n1,A\n2,A\n", f"line 2 of '{{}}{NAME}' has more fields than the header, which has 1"),
    "a long line behind many": (LATE + b"1,A,2,3\n", f"line 25002 of '{{}}{NAME}' has more fields than the header"),
    "a value far behind the last": (HEADER + b"1,A,5,,,7\n", f"line 2 of '{{}}{NAME}' has more fields than the header"),
    "a line of blanks": (HEADER + b"   \n1,A,5\n", f"line 2 of '{{}}{NAME}' has 1 field, and the header has 3"),
    "a quote that does not end": (
        HEADER + b'1,A,5\n2,A,"6\n3,A,7\n',
        f"line 3 of '{{}}{NAME}' has a quote that does not",
    ),
    "a quote behind many lines": (LATE + b'1,A,"6\n', f"line 25002 of '{{}}{NAME}' has a quote that does not end"),
    "text behind a quote": (
        HEADER + b'1,A,"a"b\n',
        f"line 2 of '{{}}{NAME}' has a quote that does not end, or text behind",
    ),
    "another letter between values": (
        b"ts^kind^x\n1^A^5\n",
        f"'{{}}{NAME}' has one column, called 'ts^kind^x': is '^' a",
    ),
    "several line ends": (b"ts,kind,x\r\n1,A,5\n", f"the lines of '{{}}{NAME}' end in different ways"),
    "Latin-1": (HEADER + b"1,A,caf\xe9\n", f"line 2 of '{{}}{NAME}' is not UTF-8 text"),
    "Latin-1 behind many lines": (LATE + b"1,A,caf\xe9\n", f"line 25002 of '{{}}{NAME}' is not UTF-8 text"),
    "Latin-1 in a name": (b"ts,kind,caf\xe9\n1,A,5\n", f"the first line of '{{}}{NAME}' is not UTF-8 text"),
    "UTF-16": ("ts,kind,x\n1,A,5\n".encode("utf-16"), f"the first line of '{{}}{NAME}' is not UTF-8 text"),
    "UTF-16 without a mark": ("ts,x\n1,5\n".encode("utf-16-be"), f"the first line of '{{}}{NAME}' is not UTF-8 text"),
    "a line of 3 MB": (HEADER + b"1,A," + b"b" * 3_000_000 + b"\n", f"line 2 of '{{}}{NAME}' is too long: over 2 MB"),
    "nothing": (b"", f"'{{}}{NAME}' is empty: it has no columns"),
    "nothing but line ends": (b"\n\r\n\n", f"'{{}}{NAME}' is empty: it has no columns"),
}


def read(path: Path) -> pa.Table:
    source = open_source(path)
    return source.connection.sql(f"SELECT * FROM {source.sql} ORDER BY 1").to_arrow_table()


def write(folder: Path, data: bytes) -> Path:
    path = folder / NAME
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_as_it_is_written(tmp_path: Path, name: str) -> None:
    data, rows = READ[name]
    assert read(write(tmp_path, data)).to_pylist() == rows


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_refused_by_the_line_that_does_not_fit(tmp_path: Path, name: str) -> None:
    data, message = REFUSED[name]
    with pytest.raises(ev.InputError) as caught:
        read(write(tmp_path, data))
    assert str(caught.value).startswith(message.format(f"{tmp_path}/"))
    assert caught.value.hint


@pytest.mark.spark
def test_spark_reads_the_same_rows_and_refuses_the_same_files(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as sf

    from eventide.engines.spark.run import read_frame

    frames = []
    for name, (data, _) in READ.items():
        (tmp_path / name).mkdir()
        frame = read_frame(str(write(tmp_path / name, data)), spark)
        row = sf.to_json(sf.struct("*"), {"ignoreNullFields": "false"})
        frames.append(frame.select(sf.lit(name).alias("name"), row.alias("row")))
    found: dict[str, list[Any]] = {name: [] for name in READ}
    for name, row in sorted(reduce(DataFrame.union, frames).collect()):
        found[name].append(json.loads(row))
    assert found == {name: rows for name, (_, rows) in READ.items()}
    for data, message in REFUSED.values():
        with pytest.raises(ev.InputError) as caught:
            read_frame(str(write(tmp_path, data)), spark)
        assert str(caught.value).startswith(message.format(f"{tmp_path}/"))


@pytest.mark.spark
def test_spark_refuses_a_quote_behind_blanks_which_it_would_take_for_text(spark: Any, tmp_path: Path) -> None:
    from eventide.engines.spark.run import read_frame

    for value in (b' "a,b"', b' "a"', b' "5"'):
        path = write(tmp_path, HEADER + b"1,A," + value + b"\n")
        assert str(read(path).to_pylist()[0]["x"]) == value.decode().strip(' "')
        with pytest.raises(Exception, match=f'{NAME}: a value begins with blanks and "'):
            read_frame(str(path), spark).toArrow()
    path = write(tmp_path, HEADER + b"1,A, a \n")
    assert read_frame(str(path), spark).toArrow().to_pylist() == read(path).to_pylist()


def test_the_error_is_about_the_file_and_not_about_the_time(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + b"1,A,5\n2,A\n")
    with pytest.raises(ev.InputError, match=r"line 3 of '.*events.csv' has 2 fields"):
        ev.query("PATTERN A a RETURN a.x", type="kind").run(path)


def test_a_line_of_a_folder_is_named_with_its_file_as_the_user_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("days").mkdir()
    Path("days/1.csv").write_bytes(HEADER + b"1,A,5\n")
    Path("days/2.csv.gz").write_bytes(gzip.compress(HEADER + b"2,A,6\n3\n"))
    with pytest.raises(ev.InputError, match=r"^line 3 of 'days/2\.csv\.gz' has 1 field, and the header has 3"):
        read(Path("days"))


def test_names_of_different_files_that_differ_only_in_case_are_one_column(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("ts,x\n1,5\n")
    (tmp_path / "2.csv").write_text("X,TS\n6,2\n")
    assert read(tmp_path).to_pylist() == [{"ts": 1, "x": 5}, {"ts": 2, "x": 6}]


# The last letter keeps a text from being a number or a time.
TEXTS = st.text(alphabet="a \"',;|\t\n\r\\é", max_size=6).map(lambda text: f"{text}t")


@budgeted()
@given(rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4), delimiter=st.sampled_from(",;|\t"))
def test_text_comes_back_as_it_was_written_or_is_refused(rows: list[tuple[str, str]], delimiter: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        with path.open("w", newline="") as out:
            csv.writer(out, delimiter=delimiter).writerows(
                [("n", "x", "y"), *((n, *row) for n, row in enumerate(rows))]
            )
        try:
            found = read(path).to_pylist()
        except ev.InputError as error:
            # Apostrophes may look like quotes.
            assert "line" in str(error) and "'" in "".join(map("".join, rows))
            return
    assert found == [{"n": n, "x": x, "y": y} for n, (x, y) in enumerate(rows)]


def test_packed_files_are_read_by_their_endings(tmp_path: Path) -> None:
    data = HEADER + b"1,A,5\n2,A,6\n"
    for ending, codec in (("gz", "gzip"), ("zst", "zstd")):
        path = tmp_path / f"events.csv.{ending}"
        with pa.CompressedOutputStream(path, codec) as out:
            out.write(data)
        assert read(path).to_pylist() == ROWS
    path = tmp_path / "plain.csv.gz"
    path.write_bytes(data)
    with pytest.raises(ev.InputError, match=r"cannot read '.*plain\.csv\.gz'"):
        read(path)
    path.write_bytes(gzip.compress(LATE)[:-40])
    with pytest.raises(ev.InputError, match=r"cannot read '.*plain\.csv\.gz'"):
        read(path)
