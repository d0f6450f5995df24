"""What every generator shares: checks of its parameters, random streams by purpose, columns of strings.

A random stream per column, drawn in event order: how the events are cut into blocks changes none of them.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.errors import InputError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BLOCK_EVENTS = 1 << 17
START = datetime(2026, 1, 1)


def check_whole(name: str, value: object, *, minimum: int, maximum: int = 2**62) -> None:
    """Raise InputError unless `value` is a whole number from `minimum` to `maximum`.

    >>> check_whole("cars", 0, minimum=1)
    Traceback (most recent call last):
    ...
    eventide.errors.InputError: 'cars' must be a whole number of at least 1, found 0
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < minimum:
        raise InputError(f"'{name}' must be a whole number of at least {minimum}, found {value!r}")
    if int(value) > maximum:
        raise InputError(f"'{name}' must be at most {maximum}, found {value!r}")


def check_share(name: str, value: object) -> None:
    """Raise InputError unless `value` is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= float(value) <= 1:
        raise InputError(f"'{name}' must be a number from 0 to 1, found {value!r}")


def check_start(value: object) -> None:
    """Raise InputError unless `value` is a datetime without a time zone."""
    if not isinstance(value, datetime) or value.tzinfo is not None:
        raise InputError(f"'start' must be a datetime without a time zone, found {value!r}")


def start_us(start: datetime) -> int:
    """Microseconds since the epoch of a datetime without a time zone.

    >>> start_us(datetime(1970, 1, 1, 0, 0, 1))
    1000000
    """
    since = start.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def second_us(first: int, n: int, rate: int) -> Ints:
    """Microseconds from the first event to the events `first`, `first + 1`, ...: `rate` of them in every second.

    >>> second_us(first=1, n=4, rate=2).tolist()
    [0, 1000000, 1000000, 2000000]
    """
    return np.arange(first, first + n, dtype=np.int64) // rate * 1_000_000


def streams(seed: int, n_streams: int) -> list[np.random.Generator]:
    """Independent random streams, one per column or purpose, all decided by `seed`."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(n_streams)]


def timestamps(ts_us: Ints) -> pa.Array:
    """A timestamp column without a zone from microseconds since the epoch."""
    return pa.array(ts_us).view(pa.timestamp("us"))


def strings(codes: npt.NDArray[np.integer], names: Sequence[str]) -> pa.Array:
    """A string column from codes into `names`."""
    return pa.array(names, pa.string()).take(pa.array(codes))
