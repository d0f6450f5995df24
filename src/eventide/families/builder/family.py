"""What the engines may ask of builder patterns."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from eventide.families.base import Family
from eventide.families.registry import register
from eventide.operators.borders import NextRows, Reach
from eventide.operators.computed import Compute, cannot_compute
from eventide.operators.detection.attempts import next_rows, reach_of
from eventide.operators.detection.operator import DetectionOperator, warm
from eventide.operators.detection.spec import DetectionSpec
from eventide.operators.protocol import Operator


class Builder(Family):
    """An attempt begins at every event; a skip strategy says which attempts count."""

    name = "builder"

    def operator(self, spec: DetectionSpec, n_threads: int = 1, compute: Compute = cannot_compute) -> Operator:
        return DetectionOperator(spec, n_threads)

    def warm(self, spec: DetectionSpec) -> None:
        warm(spec)

    def with_end(self, spec: DetectionSpec, end_us: int) -> DetectionSpec:
        return replace(spec, end_us=end_us)

    def reach(self, spec: DetectionSpec) -> Reach | None:
        return reach_of(spec)

    def next_rows(self, spec: DetectionSpec, block: pa.Table, until_us: int) -> NextRows:
        return next_rows(spec, block, until_us)


register(Builder())
