"""Statistics of one column and of two from the moments that are kept of them, NULL where Spark has NULL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

SPREAD = ("STDDEV_SAMP", "STDDEV_POP", "VAR_SAMP", "VAR_POP")
SHAPE = ("SKEWNESS", "KURTOSIS")
PAIRED = (
    "CORR",
    "COVAR_POP",
    "COVAR_SAMP",
    "REGR_SXX",
    "REGR_SYY",
    "REGR_SXY",
    "REGR_SLOPE",
    "REGR_INTERCEPT",
    "REGR_R2",
)
# How many moments each is made of.
N_PARTS = {**dict.fromkeys(SPREAD, 3), **dict.fromkeys(SHAPE, 5), **dict.fromkeys(PAIRED, 6)}


def statistic(function: str, parts: Sequence[Any]) -> pa.Array:
    """The values of a statistic; a divisor of zero makes NULL, as in Spark."""
    with np.errstate(all="ignore"):
        if function in SPREAD:
            values, divisor = _spread(function, *parts)
        elif function in SHAPE:
            values, divisor = _shape(function, *parts)
        else:
            values, divisor = _paired(function, *parts)
    return pa.array(values, mask=(parts[0] == 0) | (divisor == 0))


def _spread(function: str, n: Any, mean: Any, squares: Any) -> tuple[Any, Any]:
    """Values, and what they were divided by."""
    divisor = n if function.endswith("_POP") else n - 1
    variance = squares / divisor
    return np.sqrt(variance) if function.startswith("STDDEV") else variance, divisor


def _shape(function: str, n: Any, mean: Any, second: Any, third: Any, fourth: Any) -> tuple[Any, Any]:
    if function == "SKEWNESS":
        divisor = np.sqrt(second * second * second)
        return np.sqrt(n) * third / divisor, divisor
    divisor = second * second
    return n * fourth / divisor - 3.0, divisor


def _paired(function: str, n: Any, mean_y: Any, mean_x: Any, yy: Any, xx: Any, xy: Any) -> tuple[Any, Any]:
    """The regression is that of y on x."""
    match function:
        case "CORR":
            # NULL for one pair, and where one side is all the same: also where the other has NaN.
            divisor = np.where((n == 1) | (xx == 0) | (yy == 0), 0.0, np.sqrt(xx * yy))
            return xy / divisor, divisor
        case "COVAR_SAMP":
            return xy / (n - 1), n - 1
        case "COVAR_POP":
            return xy / n, n
        case "REGR_SLOPE":
            return xy / xx, xx
        case "REGR_INTERCEPT":
            return mean_y - xy / xx * mean_x, xx
        case "REGR_R2":
            # A line through values that are all the same explains them.
            return np.where(yy == 0, 1.0, xy * xy / (xx * yy)), xx
    return {"REGR_SXX": xx, "REGR_SYY": yy, "REGR_SXY": xy}[function], n
