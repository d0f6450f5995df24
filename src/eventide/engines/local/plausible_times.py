"""The times that a run saw, and the warning where they are unlikely to count what `ts_unit` says."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from eventide.engines.likely_unit import doubt_of_unit
from eventide.errors import warn
from eventide.plan.physical import Intake
from eventide.runtime.block import TS
from eventide.runtime.times import UNIT_US


@dataclass(slots=True)
class Times:
    """The first and the last time of a run, in microseconds."""

    first_us: int | None = None
    last_us: int | None = None

    def see(self, block: pa.Table) -> None:
        """Take in the times of a block."""
        ends = pc.min_max(block.column(TS))
        if ends["min"].is_valid:
            first, last = ends["min"].as_py(), ends["max"].as_py()
            self.first_us = first if self.first_us is None else min(first, self.first_us)
            self.last_us = last if self.last_us is None else max(last, self.last_us)


def warn_of_unit(intake: Intake, times: Times) -> None:
    """Warn where another unit is likely."""
    unit = intake.time_type.unit
    if unit is None or not intake.ts_column or times.first_us is None or times.last_us is None:
        return
    first, last = times.first_us // UNIT_US[unit], times.last_us // UNIT_US[unit]
    doubt = doubt_of_unit(intake.time_name, first, last, unit)
    if doubt is not None:
        warn(doubt)
