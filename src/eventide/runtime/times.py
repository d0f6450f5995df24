"""Microseconds to the type and unit of the input's time column."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from eventide.errors import InputError
from eventide.runtime.kernels.arrays import IntArray

UNIT_US = {"s": 1_000_000, "ms": 1_000, "us": 1}
_DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class TimeType:
    """The Arrow type of the time column; `unit` is set when it is an integer."""

    arrow: pa.DataType
    unit: str | None = None

    def restore(self, ts_us: IntArray) -> pa.Array:
        """The times as the user's type.

        >>> import numpy as np
        >>> TimeType(pa.int32(), "s").restore(np.array([5_000_000])).to_pylist()
        [5]
        """
        try:
            return self._restore(ts_us)
        except pa.ArrowInvalid as error:
            raise InputError(
                f"a window begins or ends outside the times that {self.arrow} can hold",
                hint="use a wider type for the time column, or another origin",
            ) from error

    def restore_up(self, ts_us: IntArray) -> pa.Array:
        """The first times of the user's type that are not before these.

        >>> import numpy as np
        >>> TimeType(pa.int32(), "s").restore_up(np.array([5_000_000, 5_000_001])).to_pylist()
        [5, 6]
        """
        step_us = UNIT_US[self.unit] if self.unit is not None else _DAY_US if pa.types.is_date(self.arrow) else 1
        return self.restore(ts_us if step_us == 1 else -(-ts_us // step_us) * step_us)

    def _restore(self, ts_us: IntArray) -> pa.Array:
        if self.unit is not None:
            return pa.array(ts_us // UNIT_US[self.unit]).cast(self.arrow)
        if pa.types.is_date(self.arrow):
            days = pa.array((ts_us // _DAY_US).astype("int32")).cast(pa.date32())
            return days.cast(self.arrow)
        return pa.array(ts_us).cast(pa.timestamp("us", self.arrow.tz)).cast(self.arrow)
