"""The aggregates that a condition of an event pattern compares, computed over the events of a partial match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from eventide.engines.database import connect
from eventide.expressions.navigation.aggregates import AGGREGATES, Use
from eventide.expressions.split import EventValue
from eventide.expressions.typed import Typed
from eventide.families.events.closing import Aggregate


def aggregate_leaves(typed: Typed) -> Iterator[Typed]:
    """The places of a condition at which aggregates stand."""
    if typed.op == "aggregate":
        yield typed
    for part in typed.args:
        yield from aggregate_leaves(part)


def compute_aggregate(aggregate: Aggregate, value: EventValue | None, events: pa.Table) -> Any:
    """The aggregate of a value over events, which have the user's columns; without one the events are counted."""
    if value is None or value.dtype is None:
        return events.num_rows
    text = AGGREGATES[aggregate.function.upper()].write(Use((value.dtype,)))
    connection = connect()
    try:
        connection.register("events", events)
        made = connection.sql(text.replace("{rows}", f"(SELECT {value.duckdb} AS x FROM events)"))
        return made.to_arrow_table().column(0)[0].as_py()
    finally:
        connection.close()
