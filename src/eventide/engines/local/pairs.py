"""Two tables in this process, as one input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from eventide.engines.database import connect
from eventide.engines.local.sources import Source, attach
from eventide.plan.physical import Pair, Physical, SqlColumn

Plan = Callable[[pa.Schema, pa.Schema], Pair]


def open_pair(left: Any, right: Any, plan: Plan) -> tuple[Source, Physical]:
    """Both tables as the plan's input, and the plan."""
    connection = connect()
    sides = {
        "left": attach(connection, "left_intervals", left).source(connection),
        "right": attach(connection, "right_intervals", right).source(connection),
    }
    made = plan(sides["left"].schema, sides["right"].schema)
    selected = [_select(made.left, sides["left"]), _select(made.right, sides["right"])]
    counts = [side.n_rows for side in sides.values()]
    source = Source(
        connection,
        f"({' UNION ALL '.join(selected)})",
        pa.schema([(name, sides[side].schema.field(column).type) for name, (side, column) in made.origins.items()]),
        sum(n or 0 for n in counts) if None not in counts else None,
        pa.schema([(name, _given(sides[side], column)) for name, (side, column) in made.origins.items()]),
        once=any(side.once for side in sides.values()),
        versions=sides["left"].versions + sides["right"].versions,
    )
    return source, made.physical


def _select(columns: tuple[SqlColumn, ...], source: Source) -> str:
    return f"SELECT {', '.join(f'{column.duckdb} AS {column.name}' for column in columns)} FROM {source.sql}"


def _given(source: Source, column: str) -> pa.DataType:
    """The type in which the user has a column, where that says the same in another form."""
    return source.given_type(column) or source.schema.field(column).type
