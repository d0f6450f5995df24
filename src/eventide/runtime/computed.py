"""Columns that an engine computes from an operator's rows, by DuckDB: operators name them and get them computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Computed:
    """One more column: its name, DuckDB's text over the columns that are there, its type."""

    name: str
    duckdb: str
    dtype: pa.DataType
    clause: str = "MATCH_RECOGNIZE"  # for messages


Compute: TypeAlias = Callable[[pa.RecordBatch, Sequence[Computed]], pa.RecordBatch]


def cannot_compute(rows: pa.RecordBatch, computed: Sequence[Computed]) -> pa.RecordBatch:
    """What an operator has that no engine made."""
    raise NotImplementedError("this operator was made without an engine that computes columns")
