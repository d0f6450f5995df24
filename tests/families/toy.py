"""A family of its own, to show what one needs: events behind which their partition was silent for some time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

import eventide as ev
from eventide.families.base import Family
from eventide.families.registry import register
from eventide.plan.facts import read_columns, with_facts
from eventide.plan.logical import OneInput, Scan
from eventide.plan.options import Options
from eventide.plan.physical import Intake, Physical, SqlColumn, column_as
from eventide.plan.time_column import time_type_of
from eventide.runtime.block import MASK, MAX_US, TS, Layout, numpy_int64
from eventide.runtime.computed import Compute, cannot_compute
from eventide.runtime.holding import WatermarkOperator
from eventide.runtime.partitions import encode_partitions
from eventide.runtime.protocol import Operator, Results
from eventide.runtime.times import TimeType


@dataclass(frozen=True, slots=True)
class SilenceSpec:
    family: ClassVar[str] = "toy"
    query: str
    layout: Layout
    longest_us: int
    time_type: TimeType
    facts: tuple[tuple[str, str], ...] = ()


class SilenceOperator(WatermarkOperator):
    """Decides an event when the watermark is so much later."""

    def __init__(self, spec: SilenceSpec) -> None:
        super().__init__(spec.query, spec.facts)
        self.spec = spec

    def process(self, block: pa.Table | None, watermark_us: int) -> Results:
        if block is not None:
            self._buffer.append(self._without_late(block))
        yield from self._advance(watermark_us)
        self._buffer.purge(older_than_us=self._watermark_us - self.spec.longest_us + 1)

    def _advance(self, watermark_us: int) -> Results:
        before_us, self._watermark_us = self._watermark_us, max(watermark_us, self._watermark_us)
        block = self._buffer.select(up_to_us=self._watermark_us)
        if block is None:
            return
        codes, _ = encode_partitions(block, self.spec.layout.partition)
        ts = numpy_int64(block.column(TS))
        order = np.lexsort((ts, codes))
        codes, ts = codes[order], ts[order]
        next_us = np.append(np.where(codes[1:] == codes[:-1], ts[1:], MAX_US), MAX_US)
        is_new = (ts > before_us - self.spec.longest_us) & (ts <= self._watermark_us - self.spec.longest_us)
        found = order[is_new & (next_us - ts > self.spec.longest_us)]
        if found.size:
            rows = block.take(pa.array(found))
            columns = [rows.column(name) for name in self.spec.layout.partition]
            times = self.spec.time_type.restore(numpy_int64(rows.column(TS)))
            names = [*self.spec.layout.partition, "since"]
            yield from pa.table(dict(zip(names, [*columns, times], strict=True))).combine_chunks().to_batches()

    def open_runs(self) -> int:
        return self._buffer.count_marked(0, self._watermark_us - self.spec.longest_us + 1)

    def pending_us(self) -> int | None:
        first = self._buffer.earliest_after(self._watermark_us - self.spec.longest_us)
        return None if first is None else first + self.spec.longest_us


@dataclass(frozen=True, slots=True)
class Silence(OneInput):
    longest_us: int


class Silences(Family):
    name = "toy"
    what = "a question for silence"

    def bind(self, tree: int, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Silence:
        ts = options.ts or "ts"
        kind = time_type_of(ts, schema, options.ts_unit)
        return Silence(Scan(options, schema, ts, kind, None, options.partition_by, is_stream=on_stream), tree)

    def lower(self, node: Silence, engine: str) -> Physical:
        scan = node.input
        options, ts, kind, partition = scan.options, scan.ts, scan.time_type, scan.partition
        layout = Layout(len(partition), 0, 0)
        names = tuple((f"p{i}", name) for i, name in enumerate(partition))
        made = Physical(
            text="",
            intake=Intake(layout, kind, ts, options.on_bad_event == "drop", True, names),
            select=(
                *(column_as(block, name) for block, name in names),
                column_as(TS, ts),
                SqlColumn(MASK, "0L", "CAST(0 AS BIGINT)", addends=()),
            ),
            spec=SilenceSpec(self.write(node.longest_us), layout, node.longest_us, kind),
            project=(
                *(column_as(name, block, origin=name) for block, name in names),
                column_as("since", "since", origin=ts),
            ),
            reads=(*partition, ts),
            output_schema=pa.schema([*((b, scan.schema.field(n).type) for b, n in names), ("since", kind.arrow)]),
            allowed_lateness_us=options.allowed_lateness,
        )
        return with_facts(made, read_columns(made, scan.schema), {})

    def write(self, tree: int) -> str:
        return f"SILENT FOR {tree} MICROSECONDS"

    def operator(self, spec: SilenceSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return SilenceOperator(spec)


register(Silences())


def silences(longest_us: int, **options: Any) -> ev.Query:
    """What a user would call."""
    return ev.Query("toy", "", longest_us, Options.of(**options))
