"""Result rows as text and files: a table for people, JSON for programs, files written whole or not at all."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from rich.table import Table
from rich.text import Text

from eventide.runtime.whole_files import whole_file


def as_table(rows: pa.Table) -> Table:
    """The rows as a grid for a terminal."""
    grid = Table()
    for name in rows.column_names:
        grid.add_column(Text(name), overflow="fold")
    for row in zip(*map(_values, rows.itercolumns()), strict=True):
        grid.add_row(*(Text(show(value)) for value in row))
    return grid


def show(value: Any) -> str:
    """A value as a person writes it.

    >>> show({"at": datetime(2024, 1, 31, 12), "tags": ["a", None]})
    '{at: 2024-01-31 12:00:00, tags: [a, NULL]}'
    """
    if value is None:
        return "NULL"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {show(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(show, value)) + "]"
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(value)


def count(number: int, noun: str) -> str:
    """
    >>> count(1, "row"), count(2000, "batch")
    ('1 row', '2,000 batches')
    """
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def json_lines(rows: pa.Table) -> Iterator[str]:
    """One JSON object per row.

    >>> list(json_lines(pa.table({"at": pa.array([0], pa.timestamp("s")), "x": [float("nan")]})))
    ['{"at": "1970-01-01T00:00:00", "x": "NaN"}']
    """
    for batch in rows.to_batches():
        for row in zip(*map(_values, batch.itercolumns()), strict=True):
            named = zip(batch.schema.names, map(_json_value, row), strict=True)
            yield json.dumps(dict(named), ensure_ascii=False)


def _values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """The values as Python has them; a time that Python has no form for, such as one of the year 10000, as text.

    >>> _values(pa.array([253402300800, None], pa.timestamp("s")))
    ['10000-01-01T00:00:00', None]
    """
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        values = [_value(scalar) for scalar in column]
    return values


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        if isinstance(scalar, pa.ListScalar):
            return [_value(item) for item in scalar]
        if isinstance(scalar, pa.StructScalar):
            return {name: _value(scalar[name]) for name in scalar}
        text = scalar.cast(pa.string()).as_py()
        # Beyond some 100,000 years Arrow has no form for it, either: then it is the number that the file has.
        return scalar.value if text.startswith("<value") else text.replace(" ", "T", 1)


def _json_value(value: Any) -> Any:
    """What JSON has no form for becomes text, exact: decimals, times, bytes in base64, NaN and infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(name): _json_value(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(part) for part in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return value.total_seconds() if isinstance(value, timedelta) else str(value)


def write_rows(rows: pa.Table, output: Path) -> None:
    """The rows in the format that the name ends in, whole or not at all."""
    with whole_file(output) as partial:
        WRITERS[output.suffix.lower()](rows, partial)


def _write_csv(rows: pa.Table, path: Path) -> None:
    """Nested values and bytes stand in a CSV file as JSON does them."""
    for i, field in enumerate(rows.schema):
        kind = field.type
        if pa.types.is_nested(kind):
            texts = [None if v is None else json.dumps(_json_value(v)) for v in rows.column(i).to_pylist()]
            rows = rows.set_column(i, field.name, pa.array(texts, pa.string()))
        elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
            texts = [None if v is None else _json_value(v) for v in rows.column(i).to_pylist()]
            rows = rows.set_column(i, field.name, pa.array(texts, pa.string()))
    pa_csv.write_csv(rows, path)


def _write_json(rows: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in json_lines(rows))


WRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    ".parquet": pq.write_table,
    ".csv": _write_csv,
    ".jsonl": _write_json,
}
