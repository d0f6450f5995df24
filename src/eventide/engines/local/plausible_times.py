"""Whether integer times are likely to count what `ts_unit` says: wrong by a thousand, no event is near another."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import warn
from eventide.operators.block import TS
from eventide.operators.times import UNIT_US
from eventide.plan.physical import Intake

_YEAR_US = 31_556_952_000_000
_EARLIEST_US, _LATEST_US = 10 * _YEAR_US, 230 * _YEAR_US  # 1980 and 2200


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

    def likely_unit(self, unit: str) -> str | None:
        """Another unit that puts all times between 1980 and 2200, where this one puts all of them outside.

        Small numbers, which count from any beginning, are before 1980 in every unit.

        >>> Times(1_700_000_000_000_000_000, 1_700_000_001_000_000_000).likely_unit("s")
        'ms'
        >>> Times(0, 1_000_000_000).likely_unit("s") is None
        True
        """
        if self.first_us is None or self.last_us is None:
            return None
        if self.last_us >= _EARLIEST_US and self.first_us <= _LATEST_US:
            return None
        for other, other_us in UNIT_US.items():
            first, last = (us // UNIT_US[unit] * other_us for us in (self.first_us, self.last_us))
            if first >= _EARLIEST_US and last <= _LATEST_US:
                return other
        return None


def warn_of_unit(intake: Intake, times: Times) -> None:
    """Warn where another unit is likely."""
    unit = intake.time_type.unit
    likely = None if unit is None or not intake.ts_column else times.likely_unit(unit)
    if likely is None or unit is None or times.first_us is None:
        return
    found, meant = (_year(times.first_us // UNIT_US[unit] * UNIT_US[each]) for each in (unit, likely))
    warn(
        f"with ts_unit='{unit}' the times in '{intake.ts_column}' begin in the year {found}, "
        f"with ts_unit='{likely}' in {meant}. Is the unit right?"
    )


def _year(us: int) -> int:
    return 1970 + us // _YEAR_US
