"""The options of a query: from `ev.query(...)` and from the OPTIONS clause, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from eventide.errors import EventideError, QueryError, did_you_mean
from eventide.lang.durations import parse_length
from eventide.lang.tree import EventQuery

_CHOICES = {
    "ts_unit": ("s", "ms", "us"),
    "ties": ("strict", "sequence"),
    "on_bad_event": ("error", "drop"),
    "counts": ("exact", "double", "log2"),
    "on_overflow": ("error", "null"),
}


@dataclass(frozen=True, slots=True)
class Options:
    """What a query may be told besides its text.

    >>> Options.of(ts="time", ts_unit="s").ts
    'time'
    >>> Options.of(ts_unit="hours")
    Traceback (most recent call last):
    ...
    eventide.errors.EventideError: ts_unit='hours' is not possible
    Hint: one of 's', 'ms', 'us'
    """

    ts: str | None = None
    ts_unit: str | None = None
    sequence: str | None = None
    type: str | None = None
    partition_by: tuple[str, ...] = ()
    ties: str = "strict"
    on_bad_event: str = "error"
    counts: str = "exact"
    on_overflow: str | None = None
    origin: str | int | None = None
    allowed_lateness: int = 0  # microseconds
    match_id: bool = False

    @classmethod
    def of(cls, **given: Any) -> Options:
        """Options from keyword arguments; None means not given."""
        names = [field.name for field in fields(cls)]
        values: dict[str, Any] = {}
        for name, value in given.items():
            if name not in names:
                hint = did_you_mean(name, names)
                raise EventideError(f"there is no option '{name}'" + (f"\nHint: {hint}" if hint else ""))
            if value is not None:
                values[name] = _check(name, value)
        return cls(**values)

    def with_clause(self, query: EventQuery) -> Options:
        """These options completed by the query's OPTIONS and PARTITION BY; saying a thing twice is an error."""
        default = Options()
        names = [field.name for field in fields(self)]
        changes: dict[str, Any] = {}
        for option in query.options:
            name, span = option.name.text.lower(), option.span
            if name not in names:
                raise QueryError(
                    f"there is no option '{option.name.text}'",
                    query.text,
                    option.name.span.start,
                    option.name.span.end,
                    hint=did_you_mean(name, names),
                )
            if name in changes or getattr(self, name) != getattr(default, name):
                raise QueryError(f"option '{name}' is given twice", query.text, span.start, span.end)
            try:
                changes[name] = _check(name, option.value)
            except EventideError as error:
                message, _, hint = str(error).partition("\nHint: ")
                raise QueryError(message, query.text, span.start, span.end, hint=hint or None) from None
        if query.partition_by:
            if self.partition_by:
                name = query.partition_by[0]
                raise QueryError(
                    "the partition columns are given twice, in the text and as partition_by",
                    query.text,
                    name.span.start,
                    name.span.end,
                )
            changes["partition_by"] = tuple(name.text for name in query.partition_by)
        return replace(self, **changes)


def _check(name: str, value: Any) -> Any:
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            choices = ", ".join(repr(choice) for choice in _CHOICES[name])
            raise EventideError(f"{name}={value!r} is not possible\nHint: one of {choices}")
        return value
    if name == "partition_by":
        return _names(value)
    if name == "allowed_lateness":
        return _microseconds(name, value)
    if name == "match_id":
        return _flag(name, value)
    if name == "origin":
        return _origin(value)
    if not isinstance(value, str) or not value:
        raise EventideError(f"{name} takes a column name, found {value!r}")
    return value


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, Iterable) and not isinstance(value, Mapping):
        names = tuple(value)
        if all(isinstance(name, str) for name in names):
            return names
    raise EventideError(f"partition_by takes column names, found {value!r}")


def _microseconds(name: str, value: Any) -> int:
    """A duration: text, a timedelta, or 0."""
    if isinstance(value, str):
        if value.strip().split(" ")[0] in ("0", "0.0"):
            return 0
        length = parse_length(value)
        if not length.in_events:
            return length.amount
    elif hasattr(value, "total_seconds"):
        return round(value.total_seconds() * 1_000_000)
    elif value == 0:
        return 0
    raise EventideError(f"{name}={value!r} is not a duration\nHint: for example '10 seconds'")


def _flag(name: str, value: Any) -> bool:
    words = {"true": True, "false": False}
    flag = words.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(flag, bool):
        raise EventideError(f"{name} is true or false, found {value!r}")
    return flag


def _origin(value: Any) -> str | int:
    if value == "first":
        return "first"
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return _microseconds("origin", value)
    raise EventideError(f"origin={value!r} is not possible\nHint: 'first', or microseconds after the epoch")
