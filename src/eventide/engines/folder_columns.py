"""Columns in the names of folders, `day=2026-01-01/kind=A/part-0.parquet`: found and typed as Spark does.

Only folders below the path that was given count. A column that the files have, too, takes its values and its type
from the folders. Where Spark would leave out files in silence, this refuses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from eventide.errors import InputError

FILE = "__eventide_file"  # the whole name of the file to which a row of the table belongs
_NULL = "__HIVE_DEFAULT_PARTITION__"


def folder_columns(root: str, files: Mapping[str, str]) -> pa.Table | None:
    """A row for each file, given the name below the root and the whole name; None where no folder is `column=value`.

    >>> folder_columns("t", {"t/k=1/a.csv": "/t/k=1/a.csv", "t/k=x/a.csv": "/t/k=x/a.csv"}).to_pydict()
    {'__eventide_file': ['/t/k=1/a.csv', '/t/k=x/a.csv'], 'k': ['1', 'x']}
    """
    levels = {folder: _levels(os.path.relpath(folder, root)) for folder in dict.fromkeys(map(os.path.dirname, files))}
    if not any(columns for _, columns in levels.values()):
        return None
    _check_layout(root, levels)
    rows = [dict(levels[os.path.dirname(file)][1]) for file in files]
    made = {FILE: pa.array(list(files.values()))}
    for name in rows[0]:
        made[name] = typed([row[name] for row in rows])
    return pa.table(made)


Level = tuple[str, tuple[tuple[str, str | None], ...]]  # the folder above, and columns with their values


def _levels(below: str) -> Level:
    """The innermost run of folders that are columns; folders within the last of them do not matter."""
    parts = [] if below == os.curdir else below.split(os.sep)
    while parts and "=" not in parts[-1]:
        parts.pop()
    if not parts:
        return below, ()
    start = max((i + 1 for i, part in enumerate(parts) if "=" not in part), default=0)
    return os.sep.join(parts[:start]) or os.curdir, tuple(map(_column, parts[start:]))


def _column(part: str) -> tuple[str, str | None]:
    name, _, value = part.partition("=")
    if not name or not value:
        raise InputError(
            f"the folder '{part}' has no {'value' if name else 'name'} on one side of '='",
            hint="a folder called column=value gives a column: rename it, or name the files below it",
        )
    return _unescaped(name), None if value == _NULL else _unescaped(value)


def _unescaped(text: str) -> str:
    """Spark writes a character that a name may not have as its number, and all others as they are."""
    return re.sub("%([0-9A-Fa-f]{2})", lambda escaped: chr(int(escaped[1], 16)), text)


def _check_layout(root: str, levels: dict[str, Level]) -> None:
    """All files under the same columns, in the same order."""
    plain = next((folder for folder, (_, columns) in levels.items() if not columns), None)
    if plain is not None:
        raise InputError(
            f"'{root}' holds folders that are columns, and files beside them, in '{plain}'",
            hint="move the files into a folder for their values, or name what you want by itself",
        )
    (first, (above, columns)), *others = levels.items()
    names = [name for name, _ in columns]
    for folder, (other_above, other_columns) in others:
        if other_above != above or [name for name, _ in other_columns] != names:
            raise InputError(
                f"the folders of '{root}' do not have the same columns: '{first}' and '{folder}'",
                hint="name one of them by itself",
            )
    if len({name.lower() for name in names}) < len(names):
        raise InputError(f"the folders of '{first}' name a column twice", hint="rename one of them")


def typed(values: Sequence[str | None]) -> pa.Array:
    """The values of a column as Spark types them: the narrowest type that holds every one, else text.

    >>> [typed(values).type for values in (["1", "-2"], ["1", "2.5"], ["2026-01-01"], ["1", "2026-01-01"])]
    [DataType(int32), DataType(double), DataType(date32[day]), DataType(string)]
    """
    distinct = {value: _literal(value) for value in dict.fromkeys(values) if value is not None}
    kind = pa.null()
    for _, found in distinct.values():
        kind = _wider(kind, found)
    if kind == pa.string():
        return pa.array(values, kind)
    made = {value: _as(literal, kind) for value, (literal, _) in distinct.items()}
    return pa.array([None if value is None else made[value] for value in values], kind)


def _as(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_float64(kind):
        return float(value)
    if pa.types.is_decimal(kind):
        return Decimal(value)
    return datetime.combine(value, time()) if kind == _INSTANT and not isinstance(value, datetime) else value


_INSTANT = pa.timestamp("us", "UTC")
_WHOLE = re.compile(r"[+-]?\d+")
# Java takes a type's letter behind a number, which Spark refuses, and the words below; Python takes others.
_REAL = re.compile(r"[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)", re.ASCII)


def _literal(text: str) -> tuple[Any, pa.DataType]:
    """A value and the narrowest type for it."""
    if _WHOLE.fullmatch(text):
        whole = int(text)
        for kind, n_bits in ((pa.int32(), 31), (pa.int64(), 63)):
            if -(1 << n_bits) <= whole < 1 << n_bits:
                return whole, kind
    exact = _whole_decimal(text)
    if exact is not None:
        return exact
    if _REAL.fullmatch(text.strip()):
        return float(text.strip().replace("Infinity", "inf")), pa.float64()
    for pattern, parse, kind in _TIMES:
        if pattern.fullmatch(text):
            try:
                return parse(text), kind
            except ValueError:
                break
    return text, pa.string()


def _whole_decimal(text: str) -> tuple[Decimal, pa.DataType] | None:
    """A number without digits behind the point, such as 1e3, of 38 digits at most."""
    try:
        number = Decimal(text) if _REAL.fullmatch(text) else None
    except InvalidOperation:
        return None
    if number is None or not number.is_finite():
        return None
    exponent = int(number.as_tuple().exponent)
    n_digits = len(number.as_tuple().digits) + exponent
    return (Decimal(int(number)), pa.decimal128(n_digits, 0)) if exponent >= 0 and n_digits <= _MOST_DIGITS else None


_MOST_DIGITS = 38
_TIMES = (
    (re.compile(r"\d{4}-\d\d-\d\d", re.ASCII), date.fromisoformat, pa.date32()),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d)?", re.ASCII), datetime.fromisoformat, _INSTANT),
    (re.compile(r"\d\d:\d\d:\d\d(\.\d{1,6})?", re.ASCII), time.fromisoformat, pa.time64("us")),
)


def _wider(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type that holds both, by the rules of Spark for the names of folders."""
    if left == right or pa.types.is_null(left):
        return right
    kinds = {left, right}
    if kinds == {pa.int32(), pa.int64()}:
        return pa.int64()
    if kinds == {pa.int32(), pa.float64()}:
        return pa.float64()
    if kinds == {pa.date32(), _INSTANT}:
        return _INSTANT
    digits = [_digits(kind) for kind in kinds]
    if all(digits):
        return pa.decimal128(max(digits), 0)
    return pa.string()


def _digits(kind: pa.DataType) -> int:
    """The digits of a decimal that holds a whole number; 0 for other types."""
    return kind.precision if pa.types.is_decimal(kind) else {pa.int32(): 10, pa.int64(): 20}.get(kind, 0)
