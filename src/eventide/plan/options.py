"""The options of a query: from `ev.query(...)` and from the OPTIONS clause, checked once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from eventide.errors import EventideError, QueryError, did_you_mean
from eventide.lang.durations import parse_length
from eventide.lang.tree import AnyQuery
from eventide.plan.arguments import one_of
from eventide.plan.places import clause_span, error_at
from eventide.runtime.block import MAX_US
from eventide.runtime.limit import UNLIMITED

_CHOICES = {
    "ts_unit": ("s", "ms", "us"),
    "ties": ("strict", "sequence"),
    "on_bad_event": ("error", "drop"),
    "counts": ("exact", "double", "log2"),
    "on_overflow": ("error", "null"),
    "plan": ("auto", "kernels", "joins"),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Options:
    """What a query may be told besides its text.

    >>> Options.of(ts="time", ts_unit="s").ts
    'time'
    >>> Options.of(sequence="n").ties, Options.of(sequence="n", ties="strict").ties
    ('sequence', 'strict')
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
    ties: str = "strict"  # unless told otherwise, a sequence orders ties: see `_made`
    on_bad_event: str = "error"
    counts: str = "exact"
    on_overflow: str | None = None
    origin: str | int | None = None
    allowed_lateness: int = 0  # microseconds
    state_ttl: int | None = None  # microseconds
    match_id: bool = False
    max_matches_per_partition: int | None = None
    max_steps_per_partition: int | None = None
    close_at_end: bool = False  # the end of bounded input closes what is open
    possible: bool = False  # situation matches carry the relations still possible
    plan: str = "auto"  # what runs an event pattern: see docs/plans.md

    # Arguments of `ev.detect`, which no text of a query can give.
    skip: str = "no_skip"
    skip_to: str | None = None
    select: tuple[tuple[str, str], ...] = ()
    shown: tuple[str, ...] = ()  # columns of events that a match without `select` shows; none: all

    @classmethod
    def of(cls, **given: Any) -> Options:
        """Options from keyword arguments; None means not given."""
        return _made(_keywords(given))

    @classmethod
    def for_query(cls, query: AnyQuery, **given: Any) -> Options:
        """Options from keyword arguments and from the query's OPTIONS and PARTITION BY; none may be given twice.

        >>> from eventide.lang import parse
        >>> Options.for_query(parse("PATTERN A PARTITION BY user OPTIONS (ts = 'time')"), ts_unit="s").partition_by
        ('user',)
        """
        values = _keywords(given)
        for option in query.options:
            name = option.name.text.lower()
            if name not in NAMES:
                hint = did_you_mean(name, NAMES)
                raise error_at(query, option.name.span, f"there is no option '{option.name.text}'", hint)
            if name in values:
                hint = "leave it out here or in the call" if name in given else "remove one"
                raise error_at(query, option.span, f"option '{name}' is given twice", hint)
            try:
                values[name] = _check(name, option.value)
            except EventideError as error:
                raise error_at(query, option.span, error.message, error.hint) from None
        if query.partition_by:
            if "partition_by" in values:
                message = "the partition columns are given twice: PARTITION BY and partition_by"
                raise error_at(query, clause_span(query, "PARTITION BY"), message, "leave out one of them")
            values["partition_by"] = tuple(name.text for name in query.partition_by)
        return _made(values)


_OF_DETECT = ("skip", "skip_to", "select", "shown")
NAMES = [field.name for field in fields(Options) if field.name not in _OF_DETECT]


def _made(values: Mapping[str, Any]) -> Options:
    """The options; naming a sequence column says that tied events follow one another, in its order."""
    ties = "strict" if values.get("sequence") is None else "sequence"
    return Options(**{"ties": ties, **values})


def _keywords(given: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in NAMES:
            raise EventideError(f"there is no option '{name}'", hint=did_you_mean(name, NAMES))
        if value is not None:
            values[name] = _check(name, value)
    return values


def _check(name: str, value: Any) -> Any:
    if name in _CHOICES:
        fine = "; divide nanoseconds by 1000 before" if name == "ts_unit" and str(value) == "ns" else ""
        return one_of(name, value, _CHOICES[name], fine)
    if name == "partition_by":
        return _columns(value)
    if name == "allowed_lateness":
        return _microseconds(name, value)
    if name == "state_ttl":
        return _microseconds(name, value) or _fail_ttl(value)
    if name in ("match_id", "close_at_end", "possible"):
        return _flag(name, value)
    if name == "origin":
        return _origin(value)
    if name in ("max_matches_per_partition", "max_steps_per_partition"):
        return _count(name, value)
    if not isinstance(value, str) or not value:
        raise EventideError(f"{name} takes a column name, found {value!r}")
    return value


def _count(name: str, value: Any) -> int:
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if text.lower() == "unlimited":
        return UNLIMITED
    if not _INTEGER.fullmatch(text) or int(text) < 1:
        hint = "for example 1000000, or 'unlimited'"
        raise EventideError(f"{name} takes a number from 1 on, found {value!r}", hint=hint)
    return int(text)


def _columns(value: Any) -> tuple[str, ...]:
    """Names in a list, or separated by commas; one name may hold a comma when it stands in a list."""
    names: tuple[Any, ...] = ()
    if isinstance(value, str):
        names = tuple(part.strip() for part in value.split(","))
    elif isinstance(value, Iterable) and not isinstance(value, Mapping):
        names = tuple(value)
        if not names:
            return ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise EventideError(f"partition_by takes column names, found {value!r}", hint="for example 'user, region'")
    return names


def _microseconds(name: str, value: Any) -> int:
    """A duration: text, a timedelta, or 0."""
    amount: int | None = None
    if isinstance(value, str):
        amount = 0 if value.strip().split(" ")[0] == "0" else _parse_microseconds(value)
    elif isinstance(value, timedelta):
        amount = value // timedelta(microseconds=1)
    elif type(value) in (int, float) and value == 0:
        amount = 0
    if amount is None or amount < 0:
        raise EventideError(f"{name}={value!r} is not a duration", hint="for example '10 seconds'")
    return amount


def _fail_ttl(value: Any) -> NoReturn:
    raise EventideError(f"state_ttl={value!r} would keep nothing", hint="for example '1 day'")


def _parse_microseconds(text: str) -> int | None:
    try:
        length = parse_length(text)
    except QueryError:
        return None
    return None if length.in_events else length.amount


def _flag(name: str, value: Any) -> bool:
    words = {"true": True, "false": False}
    flag = words.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(flag, bool):
        raise EventideError(f"{name} is true or false, found {value!r}")
    return flag


def _origin(value: Any) -> str | int:
    """Microseconds after the epoch, however they are given; "first" is known when the events are."""
    if isinstance(value, str) and value == "first":
        return "first"
    if isinstance(value, datetime):
        aware: datetime = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(microseconds=1)
    amount = value if isinstance(value, int) and not isinstance(value, bool) else None
    if isinstance(value, str):
        amount = int(value) if _INTEGER.fullmatch(value) else _parse_microseconds(value)
    if amount is not None and not -MAX_US < amount < MAX_US:
        raise EventideError(f"origin={value!r} is out of range", hint="it counts microseconds after the epoch")
    if amount is None:
        hint = "'first', a datetime, or a time after the epoch such as '6 hours'"
        raise EventideError(f"origin={value!r} is not possible", hint=hint)
    return amount
