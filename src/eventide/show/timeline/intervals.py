"""Tables of intervals, with a start and an end, as lanes; tables of matches as matches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import InputError
from eventide.show.report import show
from eventide.show.timeline.model import Lane, Match
from eventide.show.timeline.tables import Clock, find_column

START, END = "interval_start", "interval_end"
MATCH_START, MATCH_END, DETECTED_AT = "match_start", "match_end", "detected_at"
_MAX_LANES = 200
_MAX_NOTES = 5_000  # intervals up to which each has its columns in its hover text
_MAX_SHOWN = 300  # letters of a value


def lanes_of(table: pa.Table, by: str | None, clock: Clock) -> tuple[Lane, ...]:
    """One lane, or one for each value of a column, in the order of the values."""
    names = {name: find_column(table.column_names, name, "the intervals") for name in (START, END)}
    table = table.filter(pc.is_valid(table.column(names[START])))
    if by is None:
        return (lane_of("intervals", table, names[START], names[END], clock),)
    by = find_column(table.column_names, by, "the intervals")
    found = table.column(by).unique()
    if len(found) > _MAX_LANES:
        hint = "choose a column with fewer values, or a part of the table"
        raise InputError(f"'{by}' has {len(found):,} values: too many lanes", hint=hint)
    lanes = []
    for value in found.take(_order(found)):
        column = table.column(by)
        rows = table.filter(pc.equal(column, value) if value.is_valid else pc.is_null(column))
        lanes.append(lane_of(show(value.as_py()), rows.drop_columns([by]), names[START], names[END], clock))
    return tuple(lanes)


def _order(values: pa.Array) -> pa.Array:
    try:
        return pc.sort_indices(values)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return pa.array(range(len(values)))


def lane_of(name: str, table: pa.Table, start: str, end: str, clock: Clock) -> Lane:
    """The intervals of a table, whose start is never NULL; where the end is, it is not known yet."""
    starts, ends = clock.read(table, start), clock.read(table, end)
    is_open = pc.is_null(ends).to_numpy()
    others = table.drop_columns([start, end])
    notes = tuple("\n".join(f"{key}: {value}" for key, value in row) for row in texts_of(others))
    return Lane(
        name, _times(starts), _times(pc.fill_null(ends, 0)), is_open, notes if 0 < len(notes) <= _MAX_NOTES else ()
    )


def _times(column: pa.ChunkedArray) -> Any:
    return column.to_numpy().astype(np.int64, copy=False)


def texts_of(table: pa.Table) -> list[tuple[tuple[str, str], ...]]:
    """The rows as names and values to read."""
    if not table.num_columns:
        return []
    columns = [[_brief(show(value)) for value in column.to_pylist()] for column in table.itercolumns()]
    return [tuple(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _brief(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"


def matches_of(table: pa.Table, clock: Clock) -> tuple[Match, ...]:
    """Rows with a start and an end of a match, an instant of detection, or both."""
    names = table.column_names
    start, end, detected = (name if name in names else None for name in (MATCH_START, MATCH_END, DETECTED_AT))
    if start is None and detected is None:
        hint = f"it has {', '.join(names[:12])}"
        expected = f"{START} and {END}, {MATCH_START} and {MATCH_END}, or {DETECTED_AT}"
        raise InputError(f"the result has no times to show: neither {expected}", hint=hint)

    def times(name: str | None) -> list[int | None]:
        return [None] * table.num_rows if name is None else clock.read(table, name).to_pylist()

    times_ = zip(
        times(start or detected), times(end or (detected if start is None else None)), times(detected), strict=True
    )
    others = table.drop_columns([name for name in (start, end, detected) if name is not None])
    values = texts_of(others) or [()] * table.num_rows
    return tuple(
        Match(first, last, at, row) for (first, last, at), row in zip(times_, values, strict=True) if first is not None
    )
