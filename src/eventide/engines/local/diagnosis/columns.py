"""Columns that every diagnosis has, and hints from the columns of the events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from eventide.engines.local.diagnosis.result import Failure
from eventide.errors import did_you_mean
from eventide.plan.checks import compared_text

_MAX_LITERALS = 1_000


def failure_columns(failures: list[Failure | None], time: pa.DataType) -> dict[str, pa.Array]:
    """The columns of a diagnosis that say what failed; NULL where there is a match or no closer look was taken."""
    columns = {
        name: pa.array([(getattr(f, name) or None) if f is not None else None for f in failures], pa.string())
        for name in ("symbol", "reason", "predicate", "values")
    }
    columns["event"] = pa.array([None if f is None else f.event for f in failures], time)
    columns["hint"] = pa.array([None if f is None else f.hint for f in failures], pa.string())
    return columns


def taken_lists(rows: Sequence[Sequence[int]], values: pa.Array) -> pa.ListArray:
    """For each list of rows their values.

    >>> taken_lists([(2, 0), ()], pa.array(["a", "b", "c"])).to_pylist()
    [['c', 'a'], []]
    """
    offsets = np.cumsum([0, *map(len, rows)])
    flat = pa.array([row for each in rows for row in each], pa.int64())
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values.take(flat))


def literal_hint(column: str, literal: str, values: pa.ChunkedArray) -> str | None:
    """What may have been meant where a column is compared with a text that it never has.

    >>> literal_hint("kind", "Buy", pa.chunked_array([["buy", "sell", None]]))
    "the events have kind = 'buy'"
    """
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return None
    known = [value for value in pc.unique(values).slice(0, _MAX_LITERALS).to_pylist() if value is not None]
    if literal in known:
        return None
    same = [value for value in known if value.strip().casefold() == literal.strip().casefold()]
    if same:
        return f"the events have {column} = '{same[0]}'"
    close = did_you_mean(literal, known)
    return close and close.replace("known:", f"the events have {column}:")


def table_hint(condition: exp.Expression, table: pa.Table) -> str | None:
    """The hint about a condition that compares a column of a table with a text."""
    compared = compared_text(condition)
    known = {name.lower(): name for name in table.column_names}
    if compared is None or compared[0].lower() not in known:
        return None
    return literal_hint(*compared, table.column(known[compared[0].lower()]))
