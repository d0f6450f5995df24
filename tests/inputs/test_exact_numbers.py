"""Numbers of CSV and JSON files: each comes back as it was written, or is refused by its name; none is rounded."""

from __future__ import annotations

import csv
import itertools
import json
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as ev
from eventide.engines.local.sources import open_source
from tests.budget import budgeted

TOO_LONG = (1 << 53) + 1  # the first whole number that no double holds


def read(path: Path) -> pa.Table:
    source = open_source(path)
    return source.connection.sql(f"SELECT * FROM {source.sql}").to_arrow_table()


def write(folder: Path, ending: str, *files: list[str]) -> Path:
    """A folder of files, with the numbers of each in a column `x`."""
    folder.mkdir(exist_ok=True)
    for i, numbers in enumerate(files):
        lines = [
            f"{n},{number}" if ending == "csv" else f'{{"n": {n}, "x": {number}}}' for n, number in enumerate(numbers)
        ]
        text = "\n".join([*(["n,x"] if ending == "csv" else []), *lines]) + "\n"
        (folder / f"{i}.{ending}").write_text(text)
    return folder


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("beside", ["0.5", "1e3", "1e300"])
def test_a_whole_number_that_no_double_holds_is_refused_beside_a_fraction(
    tmp_path: Path, ending: str, beside: str
) -> None:
    for i, numbers in enumerate(itertools.permutations(["7", beside, str(TOO_LONG)])):
        for j, files in enumerate(([list(numbers)], [[number] for number in numbers])):
            folder = write(tmp_path / f"{i}-{j}", ending, *files)
            place = folder / f"{0 if j == 0 else numbers.index(str(TOO_LONG))}.{ending}"
            with pytest.raises(ev.InputError) as caught:
                read(folder)
            assert (
                caught.value.message == f"column 'x' is double, and no double holds the number {TOO_LONG} in '{place}'"
            )
            assert "Parquet with the column as DECIMAL" in str(caught.value.hint)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "number",
    [
        str(-TOO_LONG),
        "9223372036854775807",
        "9223372036854775809",
        "12345678901234567890123",
        "1" * 39,
        "1" * 400,
        "1e400",
    ],
)
def test_numbers_of_any_length_are_refused_where_a_double_would_be_another(
    tmp_path: Path, ending: str, number: str
) -> None:
    with pytest.raises(ev.InputError, match=rf"no double holds the number {number[:60]}"):
        read(write(tmp_path / "files", ending, ["0.5", number]))


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_numbers_that_a_double_holds_and_fractions_of_many_digits_are_doubles(tmp_path: Path, ending: str) -> None:
    numbers = ["0.1", "3.141592653589793238", "1e300", "-1e-5", str(1 << 53), str(-(1 << 60)), str(1 << 200), "0"]
    numbers += ["123456789012345678.5", "1" + "0" * 22, "9007199254740993.0"]
    found = read(write(tmp_path / "files", ending, numbers)).column("x").to_pylist()
    assert found == [float(number) for number in numbers]
    assert all(isinstance(value, float) for value in found)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_whole_numbers_alone_are_exact_whatever_their_length(tmp_path: Path, ending: str) -> None:
    for length, expected in ((19, Decimal), (38, Decimal), (39, str), (400, str)):
        numbers = ["7", "9" * length]
        found = read(write(tmp_path / "files", ending, numbers)).column("x").to_pylist()
        assert [type(value) for value in found] == [expected] * 2
        assert [str(value) for value in found] == numbers


INSIDE = {
    "x.y": '{"x": {"y": %s}}',
    "x[]": '{"x": [1, %s]}',
    "x[].y[]": '{"x": [{"y": [%s, null]}, null]}',
    "x.a b.c'd": '{"x": {"a b": {"c\'d": %s}, "since": "2026-01-01"}}',
}


@pytest.mark.parametrize("place", INSIDE)
def test_numbers_inside_objects_and_arrays_are_refused_alike(tmp_path: Path, place: str) -> None:
    for numbers in (("0.5", str(TOO_LONG)), (str(TOO_LONG), "1e3"), ("12345678901234567890123",)):
        path = tmp_path / "deep.jsonl"
        path.write_text("".join(INSIDE[place] % number + "\n" for number in numbers))
        with pytest.raises(ev.InputError) as caught:
            read(path)
        assert caught.value.message.startswith(f"column '{place}' is double, and no double holds the number")
    path.write_text("".join(INSIDE[place] % number + "\n" for number in ("0.1", str(1 << 53))))
    values = [str(value) for value in read(path).column("x").to_pylist()]
    assert "0.1" in values[0] and str(float(1 << 53)) in values[1]


def test_numbers_under_many_names_are_refused_alike(tmp_path: Path) -> None:
    path = tmp_path / "map.jsonl"
    path.write_text("".join(f'{{"x": {{"k{i}": {TOO_LONG if i == 900 else 0.5}}}}}\n' for i in range(1000)))
    with pytest.raises(ev.InputError, match=rf"column 'x\[\]' is double, and no double holds the number {TOO_LONG}"):
        read(path)


def test_a_number_behind_many_rows_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "files", "csv", ["0.5"] * 25_000 + [str(TOO_LONG)])
    with pytest.raises(ev.InputError, match=f"no double holds the number {TOO_LONG}"):
        ev.query("PATTERN A a DEFINE A AS x > 1 RETURN a.x", ts="n", ts_unit="s").run(folder)


@pytest.mark.spark
def test_spark_refuses_the_same_numbers(spark: Any, tmp_path: Path) -> None:
    from eventide.engines.spark.run import read_frame

    for ending in ("csv", "jsonl"):
        folder = write(tmp_path / ending, ending, ["0.5"], [str(TOO_LONG)])
        with pytest.raises(ev.InputError, match=rf"column 'x' is double, and no double .* in '{folder}/1\.{ending}'"):
            read_frame(str(folder), spark)
        folder = write(tmp_path / ending, ending, ["7"], ["9" * 39])
        assert set(read_frame(str(folder), spark).toArrow().column("x").to_pylist()) == {"7", "9" * 39}
    (tmp_path / "deep.jsonl").write_text(f'{{"x": [0.5, {TOO_LONG}]}}\n')
    with pytest.raises(ev.InputError, match=r"column 'x\[\]' is double"):
        read_frame(str(tmp_path / "deep.jsonl"), spark)


NUMBERS = st.one_of(
    st.none(),
    st.integers(-10, 10),
    st.integers((1 << 53) - 3, (1 << 53) + 3),
    st.integers(-(10**45), 10**45),
    st.floats(allow_nan=False, allow_infinity=False),
)


@budgeted()
@given(rows=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5), in_json=st.booleans())
def test_what_is_written_comes_back_or_is_refused(rows: list[tuple[Any, Any]], in_json: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("rows.jsonl" if in_json else "rows.csv")
        with path.open("w", newline="") as out:
            if in_json:
                out.writelines(json.dumps({"n": n, "x": x, "y": {"y": y}}) + "\n" for n, (x, y) in enumerate(rows))
            else:
                csv.writer(out).writerows([("n", "x", "y"), *((n, x, y) for n, (x, y) in enumerate(rows))])
        try:
            found = read(path).to_pylist()
        except ev.InputError as error:
            assert "no double holds the number" in str(error)
            assert any(isinstance(v, int) and abs(v) > 1 << 53 for row in rows for v in row)
            return
    for row, written in zip(sorted(found, key=lambda row: row["n"]), rows, strict=True):
        values = row["x"], row["y"]["y"] if in_json else row["y"]
        for value, number in zip(values, written, strict=True):
            # A text of many digits is that number, too.
            assert (int(value) if isinstance(value, str) else value) == number
