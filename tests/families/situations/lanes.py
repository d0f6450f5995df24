"""Events for hand-worked cases, written as lanes, and what a query finds in them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import eventide as ev

_VALUE = {"#": True, ".": False, "?": None}


def lanes(*, keys: dict[str, Any] | None = None, start: int = 0, **rows: str) -> list[dict[str, Any]]:
    """One event a second, a boolean column per row of `#`, `.` and `?` (NULL); a space is a second without an event.

    >>> lanes(a="#.", b=".?")
    [{'ts': 0, 'a': True, 'b': False}, {'ts': 1, 'a': False, 'b': None}]
    """
    length = len(next(iter(rows.values())))
    assert all(len(row) == length for row in rows.values()), "lanes of one length"
    return [
        {"ts": start + t, **(keys or {}), **{name: _VALUE[row[t]] for name, row in rows.items()}}
        for t in range(length)
        if all(row[t] != " " for row in rows.values())
    ]


def table(events: list[dict[str, Any]]) -> pa.Table:
    """Booleans stay booleans where a column has only NULLs."""
    names = events[0].keys() if events else ("ts", "a", "b")
    columns = {}
    for name in names:
        values = [event[name] for event in events]
        known = {type(value) for value in values} - {type(None)}
        kind = pa.int64() if name == "ts" else pa.bool_() if known <= {bool} else None
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def run(text: str, events: list[dict[str, Any]], **options: Any) -> pa.Table:
    """The result; symbols A, B, C, ... that DEFINE leaves out are the columns a, b, c, ..."""
    if "DEFINE" not in text:
        symbols = [name.upper() for name in events[0] if len(name) == 1 and f"{name.upper()} " in f"{text} "]
        text = f"DEFINE {', '.join(f'{symbol} AS {symbol.lower()}' for symbol in symbols)} {text}"
    return ev.query(text, ts="ts", ts_unit=options.pop("ts_unit", "s"), **options).run(table(events))


def rows(text: str, events: list[dict[str, Any]], **options: Any) -> list[tuple[Any, ...]]:
    """The rows in the order of their values, NULLs first."""
    found = [tuple(row.values()) for row in run(text, events, **options).to_pylist()]
    return sorted(found, key=lambda row: [(value is not None, str(type(value)), value) for value in row])


def intervals(pattern: str, events: list[dict[str, Any]], symbols: str = "AB", **options: Any) -> list[tuple[Any, ...]]:
    """Per match the start and the end of each symbol, then detected_at."""
    returned = ", ".join(f"start({s}) AS {s}_start, end({s}) AS {s}_end" for s in symbols)
    text = pattern if pattern.startswith(("DEFINE", "PARTITION")) else f"PATTERN {pattern}"
    return rows(f"{text} RETURN {returned}", events, **options)
