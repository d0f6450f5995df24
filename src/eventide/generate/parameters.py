"""The parameters of generators: what each may be, and the one that all of them have."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import partial
from typing import Any

from eventide.errors import InputError

START = datetime(2026, 1, 1)


def whole(default: int, minimum: int, maximum: int = 2**62) -> Any:
    """A parameter that is a whole number within bounds."""
    return field(default=default, metadata={"check": partial(check_whole, minimum=minimum, maximum=maximum)})


def share(default: float) -> Any:
    """A parameter that is a number from 0 to 1."""
    return field(default=default, metadata={"check": check_share})


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


def check_start(name: str, value: object) -> None:
    """Raise InputError unless `value` is a datetime without a time zone."""
    if not isinstance(value, datetime) or value.tzinfo is not None:
        raise InputError(f"'{name}' must be a datetime without a time zone, found {value!r}")


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The parameters that every generator has; each that has a check is checked."""

    start: datetime = field(default=START, metadata={"check": check_start})

    def __post_init__(self) -> None:
        for each in fields(self):
            if "check" in each.metadata:
                each.metadata["check"](each.name, getattr(self, each.name))

    @property
    def start_us(self) -> int:
        """When the events begin, in microseconds since the epoch.

        >>> Checked(start=datetime(1970, 1, 1, 0, 0, 1)).start_us
        1000000
        """
        since = self.start.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
