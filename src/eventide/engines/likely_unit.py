"""Integer times that count something else than `ts_unit` says: wrong by a thousand, no event is near another."""

from __future__ import annotations

_UNIT_NS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_YEAR_NS = 31_556_952 * 10**9
_EARLIEST_NS, _LATEST_NS = 10 * _YEAR_NS, 230 * _YEAR_NS  # 1980 and 2200
_DIVIDE = "divide them by 1000 before, without a remainder, with ts_unit='us'"


def likely_unit(first: int, last: int, unit: str) -> str | None:
    """Another unit that puts all times between 1980 and 2200, where this one puts all of them outside.

    Small numbers, which count from any beginning, are before 1980 in every unit.

    >>> likely_unit(1_700_000_000_000, 1_700_000_001_000, "s")
    'ms'
    >>> likely_unit(0, 1_000, "s") is None
    True
    """
    if last * _UNIT_NS[unit] >= _EARLIEST_NS and first * _UNIT_NS[unit] <= _LATEST_NS:
        return None
    for other, other_ns in _UNIT_NS.items():
        if first * other_ns >= _EARLIEST_NS and last * other_ns <= _LATEST_NS:
            return other
    return None


def doubt_of_unit(column: str, first: int, last: int, unit: str) -> str | None:
    """The question whether the unit is right, where another one is likely.

    >>> doubt_of_unit("at", 1_700_000_000_000, 1_700_000_001_000, "s")
    "with ts_unit='s' the times in 'at' begin in the year 55840, with ts_unit='ms' in 2023. Is the unit right?"
    """
    likely = likely_unit(first, last, unit)
    if likely is None:
        return None
    begin = f"with ts_unit='{unit}' the times in '{column}' begin in the year {_year(first, unit)}"
    if likely == "ns":
        return f"{begin}, as nanoseconds in {_year(first, likely)}. If they are nanoseconds, {_DIVIDE}"
    return f"{begin}, with ts_unit='{likely}' in {_year(first, likely)}. Is the unit right?"


def hint_of_unit(value: int, unit: str) -> str:
    """What to try with a time that is out of range.

    >>> hint_of_unit(1_700_000_000_000_000, "s")
    "ts_unit='us' puts it in the year 2023"
    """
    likely = likely_unit(value, value, unit)
    if likely is None:
        return "check ts_unit"
    if likely == "ns":
        return f"as nanoseconds it is in the year {_year(value, likely)}: {_DIVIDE}"
    return f"ts_unit='{likely}' puts it in the year {_year(value, likely)}"


def _year(value: int, unit: str) -> int:
    return 1970 + value * _UNIT_NS[unit] // _YEAR_NS
