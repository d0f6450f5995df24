"""What need not be read: filters that the SQL engines hand on to files, and row groups that statistics rule out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import and_, or_

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from eventide.errors import InputError
from eventide.plan.physical import Comparison, Physical, Piece
from eventide.runtime.block import MAX_US, MIN_US, TS
from eventide.runtime.times import UNIT_US, TimeType

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stored_filters(physical: Physical, dialect: str) -> list[str]:
    """Conditions over the user's columns that every event meets that matters, and every event without a time.

    `dialect` is "spark" or "duckdb".
    """
    time = next(column for column in physical.select if column.name == TS)
    name = time.spark if dialect == "spark" else str(time.duckdb)
    texts = [] if physical.wanted is None else [getattr(physical.wanted, dialect) or ""]
    if physical.needed is not None:
        bounds = (physical.needed.first_us, physical.needed.last_us)
        texts.append(range_text(name, *bounds, physical.intake.time_type, dialect))
    return [f"{text} OR {name} IS NULL" for text in texts if text]


def range_text(name: str, first_us: int, last_us: int, time_type: TimeType, dialect: str) -> str:
    """That a time is in a range, both ends included; an end that its type cannot hold is left out.

    >>> range_text("ts", 1_500_000, MAX_US, TimeType(pa.int64(), "s"), "spark")
    '(ts >= 1)'
    """
    ends = ((">=", first_us), ("<=", last_us))
    texts = [f"{name} {op} {text}" for op, at_us in ends if (text := _literal(at_us, time_type, dialect)) is not None]
    return f"({' AND '.join(texts)})" if texts else ""


def _literal(at_us: int, time_type: TimeType, dialect: str) -> str | None:
    """An instant, rounded down: no event lies between it and the next of its type."""
    if at_us in (MIN_US, MAX_US):
        return None
    if time_type.unit is not None:
        return str(at_us // UNIT_US[time_type.unit])
    try:
        at = _EPOCH + timedelta(microseconds=at_us)
    except OverflowError:
        return None
    if pa.types.is_date(time_type.arrow):
        return f"DATE '{at.date().isoformat()}'"
    if time_type.arrow.tz is None:
        written = at.replace(tzinfo=None).isoformat(" ", "microseconds")
        return f"TIMESTAMP_NTZ '{written}'" if dialect == "spark" else f"TIMESTAMP '{written}'"
    return f"timestamp_micros({at_us}L)" if dialect == "spark" else f"make_timestamptz({at_us})"


def row_groups(path: str, physical: Physical) -> list[int] | None:
    """The row groups of a file that may hold an event that matters, as their statistics tell; None: all of them."""
    condition = _condition(physical)
    if condition is None:
        return None
    # Its import takes longer than that of the rest.
    import pyarrow.dataset as ds

    file = ds.ParquetFileFormat().make_fragment(path, filesystem=fs.LocalFileSystem())
    try:
        return [group.id for kept in file.split_by_row_group(filter=condition) for group in kept.row_groups]
    except (pa.ArrowException, OSError):
        # A type that Arrow does not compare so: the events are read, and compared there.
        return None


def pieces_of(path: str, physical: Physical) -> list[Piece]:
    """The same as runs of row groups."""
    n_groups = pq.read_metadata(path).num_row_groups
    kept = row_groups(path, physical)
    pieces: list[Piece] = []
    for group in range(n_groups) if kept is None else kept:
        if pieces and pieces[-1][2] == group:
            pieces[-1] = (path, pieces[-1][1], group + 1)
        else:
            pieces.append((path, group, group + 1))
    return pieces


def _condition(physical: Physical) -> pc.Expression | None:
    time = physical.intake.ts_column
    wanted, needed = physical.wanted, physical.needed
    found = []
    if wanted is not None and all(wanted.steps):
        found.append(reduce(or_, (reduce(and_, map(_compared, step)) for step in wanted.steps)))
    if needed is not None:
        found += _in_range(time, needed.first_us, needed.last_us, physical)
    return reduce(and_, found) | pc.field(time).is_null() if found else None


def _in_range(name: str, first_us: int, last_us: int, physical: Physical) -> Sequence[pc.Expression]:
    """The range in the type of the time column."""
    ends = [at_us for at_us in (first_us, last_us) if at_us not in (MIN_US, MAX_US)]
    try:
        made = {at_us: physical.intake.time_type.restore(pa.array([at_us]).to_numpy())[0] for at_us in ends}
    except InputError:
        return ()
    found = [pc.field(name) >= made[first_us]] if first_us in made else []
    return found + ([pc.field(name) <= made[last_us]] if last_us in made else [])


def _compared(each: Comparison) -> pc.Expression:
    column, (value, *_) = pc.field(each.column), [pa.scalar(value, each.dtype) for value in each.values]
    match each.op:
        case "eq":
            return column == value
        case "lt":
            return column < value
        case "le":
            return column <= value
        case "gt":
            return column > value
        case "ge":
            return column >= value
    return column.isin(pa.array(each.values, each.dtype))
