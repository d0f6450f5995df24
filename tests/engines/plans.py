"""Hand-made plans for the engine tests: SEQ(A, B, C) over (user, ts, kind, amount), without predicates."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pyarrow as pa

from eventide.engines.intake import take_in
from eventide.families.events.sequence import Returned, SequenceSpec
from eventide.families.registry import make_operator
from eventide.plan.physical import Intake, Physical, SqlColumn
from eventide.runtime.block import MIN_US, Layout
from eventide.runtime.times import TimeType

SECOND_US = 1_000_000
MASK = "CASE kind WHEN 'A' THEN 1 WHEN 'B' THEN 2 WHEN 'C' THEN 4 ELSE 0 END"
COLUMNS = ["user", "ts", "kind", "amount"]


def make_plan(
    strategy: str = "any",
    *,
    window_us: int | None = 20 * SECOND_US,
    lateness_us: int = 0,
    time: TimeType | None = None,
    drop_bad_events: bool = False,
    query: str = "SEQ(A, B, C)",
) -> Physical:
    """A plan whose rows are (user, a, b, c, x, detected_at); `x` is C's amount, a nullable int32."""
    time = time or TimeType(pa.timestamp("us", "UTC"))
    layout = Layout(n_partition=1, n_values=0, n_returned=1)
    returned = (Returned(0, "ts"), Returned(1, "ts"), Returned(2, "ts"), Returned(2, "c0"))
    spec = SequenceSpec(query, layout, 3, strategy, window_us, time, returned)
    output = [("p0", pa.string()), *((r.name, pa.int32() if r.column == "c0" else time.arrow) for r in returned)]
    names = {"p0": "user", "s0_ts": "a", "s1_ts": "b", "s2_ts": "c", "s2_c0": "x", "detected_at": "detected_at"}
    return Physical(
        text=query,
        intake=Intake(
            layout,
            time,
            "ts",
            drop_bad_events,
            keep_all=strategy == "contiguous",
            names=(("p0", "user"), ("c0", "amount")),
        ),
        select=(
            SqlColumn("p0", "`user`", '"user"'),
            SqlColumn("ts", "`ts`", '"ts"'),
            SqlColumn("mask", f"CAST({MASK} AS BIGINT)", f"CAST({MASK} AS BIGINT)"),
            SqlColumn("c0", "`amount`", '"amount"'),
        ),
        reads=tuple(COLUMNS),
        spec=spec,
        project=tuple(SqlColumn(name, f"`{column}`", f'"{column}"') for column, name in names.items()),
        allowed_lateness_us=lateness_us,
        output_schema=pa.schema([*output, ("detected_at", time.arrow)]),
    )


def make_events(n: int, seed: int, *, n_users: int = 5, null_users: bool = False, step_us: int = SECOND_US) -> pa.Table:
    """Events about `step_us` apart, in order, some tied, with irrelevant kinds and NULL amounts among them."""
    draw = random.Random(seed)
    ts_us, rows = 1_700_000_000 * SECOND_US, []
    for i in range(n):
        ts_us += draw.choice((0, step_us, step_us, 2 * step_us + 500))
        user = None if null_users and draw.random() < 0.2 else f"user{draw.randrange(n_users)}"
        rows.append((user, ts_us, draw.choice("ABCCX"), None if draw.random() < 0.3 else i))
    user, ts, kind, amount = (list(column) for column in zip(*rows, strict=True))
    return pa.table(
        {
            "user": pa.array(user, pa.string()),
            "ts": pa.array(ts, pa.int64()).cast(pa.timestamp("us", "UTC")),
            "kind": pa.array(kind, pa.string()),
            "amount": pa.array(amount, pa.int32()),
        }
    )


def shuffle_within(events: pa.Table, lateness_us: int, seed: int) -> pa.Table:
    """The events in an order in which none is more than `lateness_us` behind the newest before it."""
    draw = random.Random(seed)
    ts = micros(events)
    order = sorted(range(len(ts)), key=lambda i: ts[i] + draw.randrange(max(lateness_us, 1)))
    return events.take(order)


def micros(events: pa.Table) -> list[int]:
    """The events' times in microseconds."""
    return events.column("ts").cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]


def final_watermark_us(events: pa.Table, lateness_us: int = 0) -> int:
    """Spark's watermark after all events: whole milliseconds."""
    return (max(micros(events)) // 1000 - -(-lateness_us // 1000)) * 1000


def raw_block(events: pa.Table) -> pa.Table:
    """What `physical.select` gives, made without a SQL engine."""
    bit = {"A": 1, "B": 2, "C": 4}
    mask = pa.array([bit.get(kind, 0) for kind in events.column("kind").to_pylist()], pa.int64())
    columns = [events.column("user"), events.column("ts"), mask, events.column("amount")]
    return pa.table(columns, names=["p0", "ts", "mask", "c0"])


def expected_rows(events: pa.Table, physical: Physical, up_to_us: int | None = None) -> list[tuple[object, ...]]:
    """The operator's own answer, in this process; with `up_to_us` what a watermark there has decided."""
    operator = make_operator(physical.spec)
    block, _ = take_in(raw_block(events), physical.intake)
    batches = list(operator.process(block, MIN_US if up_to_us is None else up_to_us))
    if up_to_us is None:
        batches += list(operator.finish())
    return sort_rows(row for batch in batches for row in _rows(batch))


def _rows(batch: pa.RecordBatch) -> Iterable[tuple[object, ...]]:
    return zip(*(_comparable(column) for column in batch.columns), strict=True)


def _comparable(column: pa.Array) -> list[object]:
    """Times as microseconds: Python's datetime of a zone is not that of a Spark row."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return column.to_pylist()  # type: ignore[no-any-return]


def table_rows(table: pa.Table) -> list[tuple[object, ...]]:
    """The rows of a result, comparable with `expected_rows`."""
    return sort_rows(row for batch in table.to_batches() for row in _rows(batch))


def sort_rows(rows: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return sorted(rows, key=lambda row: tuple((value is not None, str(value)) for value in row))
