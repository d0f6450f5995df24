"""Window lengths: `5 minutes`, `1.5 h`, `1 day 12 hours`, `INTERVAL '5' MINUTE`, `100 EVENTS`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NoReturn

from eventide.errors import did_you_mean
from eventide.lang.cursor import Cursor
from eventide.lang.keywords import misplaced_hint
from eventide.lang.tokens import Kind, Token, tokenize
from eventide.lang.tree import Length, Span, Window

_UNITS_US = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_SHORT = {
    "us": "microsecond",
    "usec": "microsecond",
    "µs": "microsecond",
    "μs": "microsecond",
    "ms": "millisecond",
    "msec": "millisecond",
    "s": "second",
    "sec": "second",
    "m": "minute",
    "min": "minute",
    "h": "hour",
    "hr": "hour",
    "d": "day",
    "w": "week",
}
_NAMES = {
    **_SHORT,
    **{f"{short}s": unit for short, unit in _SHORT.items() if len(short) > 1},
    **{unit: unit for unit in _UNITS_US},
    **{f"{unit}s": unit for unit in _UNITS_US},
}
_AMOUNT = re.compile(r"(\d{1,15}(\.\d{0,15})?|\.\d{1,15})", re.ASCII)
_LARGEST = 2**63 - 1
_FORMS = "lengths look like: 5 minutes, 1.5 hours, 100 EVENTS, INTERVAL '5' MINUTE"
_TIME = "the length of time"  # where no events are counted
IN_FUNCTION = "the table function"  # its lengths are times, too


def parse_length(text: str) -> Length:
    """The length that a text such as `5 minutes` or `100 events` stands for.

    >>> parse_length("1.5 minutes").amount
    90000000
    """
    cursor = Cursor(text, tokenize(text), "the length")
    length = read_length(cursor)
    cursor.finish("the length")
    return length


def parse_time(text: str) -> int:
    """The microseconds that a text such as `5 minutes` stands for; a number of events is none.

    >>> parse_time("5 ms")
    5000
    """
    cursor = Cursor(text, tokenize(text), _TIME)
    length = read_length(cursor)
    cursor.finish(_TIME)
    if length.in_events:
        cursor.fail("a length of time is needed, not a number of events", at=length.span, hint=_forms(cursor))
    return length.amount


def _forms(cursor: Cursor) -> str:
    return _FORMS.replace(" 100 EVENTS,", "") if cursor.clause in (_TIME, IN_FUNCTION) else _FORMS


def _instead_of_zero(cursor: Cursor) -> str:
    return _forms(cursor) if cursor.clause == IN_FUNCTION else "leave WITHIN out for no limit"


def write_length(length: Length) -> str:
    """The length in its largest whole unit.

    >>> write_length(Length(90_000_000))
    '90 seconds'
    """
    if length.in_events:
        return f"{length.amount} EVENTS"
    unit = [unit for unit, us in _UNITS_US.items() if length.amount % us == 0 and unit != "week"][-1]
    amount = length.amount // _UNITS_US[unit]
    return f"{amount} {unit}{'' if amount == 1 else 's'}"


def read_window(cursor: Cursor, *, gaps: bool = False) -> Window:
    """`length [SLIDE length]`, up to the end of the clause; with `gaps` events may lie between two windows."""
    start = cursor.next.start
    length = read_length(cursor)
    slide = None
    if cursor.accept_word("SLIDE"):
        slide = read_length(cursor)
        if slide.in_events != length.in_events:
            kinds = ("events", "time") if length.in_events else ("time", "events")
            hint = "give both as times, or both as EVENTS"
            cursor.fail(f"WITHIN counts {kinds[0]} and SLIDE counts {kinds[1]}", at=slide.span, hint=hint)
        if slide.amount > length.amount and not gaps:
            message = f"SLIDE {write_length(slide)} is longer than WITHIN {write_length(length)}"
            cursor.fail(message, at=slide.span, hint="events between two windows would be lost; slide by less")
    cursor.finish("the window length", hint=_FORMS)
    return Window(length, slide, Span(start, (slide or length).span.end))


def read_length(cursor: Cursor) -> Length:
    """One length; the cursor ends behind it."""
    start = cursor.next.start
    interval = cursor.accept_word("INTERVAL")
    if cursor.at("-"):
        cursor.fail("a length must be positive", hint="remove the '-'")
    if not cursor.ended and cursor.next.kind is Kind.STRING:
        token = cursor.take()
        pairs = _pairs_in_string(cursor, token)
        end = token.end
    else:
        pairs = []
        while not pairs or (not cursor.ended and cursor.next.kind is Kind.NUMBER):
            number = _take_number(cursor)
            unit = _take_unit(cursor, number)
            pairs.append((number.text, unit, Span(number.start, unit.end)))
            end = unit.end
    span = Span(start, end)
    if any(unit.word in ("EVENT", "EVENTS") for _, unit, _ in pairs):
        if len(pairs) > 1 or interval:
            cursor.fail("a length is a time or a number of events, not both", at=span, hint="write it as: 100 EVENTS")
        return Length(_count(cursor, pairs[0][0], span), True, span)
    total = sum((_microseconds(cursor, *pair) for pair in pairs), Fraction(0))
    if total == 0:
        cursor.fail("a length must be more than zero", at=span, hint=_instead_of_zero(cursor))
    if total.denominator != 1:
        cursor.fail("the length is not a whole number of microseconds", at=span, hint="round it")
    if total > _LARGEST:
        cursor.fail(
            "the length is too long",
            at=span,
            hint="the longest is about 292,000 years; leave WITHIN out for none",
        )
    return Length(int(total), False, span)


def _take_number(cursor: Cursor) -> Token:
    if cursor.ended or cursor.next.kind is not Kind.NUMBER:
        hint = _forms(cursor)
        if cursor.clause == "WITHIN" and not cursor.ended:
            hint += "; a column called 'within' needs backticks"
        cursor.fail(f"expected a length, found {cursor.next}", hint=hint)
    return cursor.take()


def _take_unit(cursor: Cursor, number: Token) -> Token:
    if cursor.ended or cursor.next.kind is not Kind.WORD or cursor.at_word("SLIDE"):
        message = f"the length {number.text} has no unit"
        also = "" if cursor.clause in (_TIME, IN_FUNCTION) else f", or {number.text} EVENTS"
        cursor.fail(message, at=number, hint=f"write for example: {number.text} seconds{also}")
    return cursor.take()


def _pairs_in_string(cursor: Cursor, token: Token) -> list[tuple[str, Token, Span]]:
    """`'5'` with its unit behind it, or `'1 day 2 hours'` with its units inside."""
    parts = re.findall(r"[\d.]+|[^\W\d]+|\S", token.value)
    if len(parts) == 1 and _AMOUNT.fullmatch(parts[0]):
        unit = _take_unit(cursor, Token(Kind.NUMBER, parts[0], token.start, token.end))
        return [(parts[0], unit, Span(token.start, unit.end))]
    if not parts or len(parts) % 2:
        cursor.fail(f"cannot read the length {token}", at=token, hint=_forms(cursor))
    return [
        (number, Token(Kind.WORD, unit, token.start, token.end), token.span)
        for number, unit in zip(parts[::2], parts[1::2], strict=True)
    ]


def _microseconds(cursor: Cursor, number: str, unit: Token, span: Span) -> Fraction:
    name = _NAMES.get(unit.text.lower())
    if name is None:
        _fail_unit(cursor, unit)
    if not _AMOUNT.fullmatch(number):
        cursor.fail(f"'{number}' is not an amount of time", at=span, hint=_forms(cursor))
    return Fraction(number if number[-1] != "." else number[:-1]) * _UNITS_US[name]


def _fail_unit(cursor: Cursor, unit: Token) -> NoReturn:
    if unit.text.lower() in ("month", "months", "year", "years", "quarter", "quarters"):
        cursor.fail(f"a {unit.text.lower().rstrip('s')} has no fixed length", at=unit, hint="give the length in days")
    known = [f"{name}s" for name in _UNITS_US] + ([] if cursor.clause in (_TIME, IN_FUNCTION) else ["EVENTS"])
    cursor.fail(f"unknown unit {unit}", at=unit, hint=misplaced_hint(unit) or did_you_mean(unit.text, known))


def _count(cursor: Cursor, number: str, span: Span) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", number):
        cursor.fail(f"'{number}' is not a whole number of events", at=span, hint="write it as: 100 EVENTS")
    if int(number) == 0:
        cursor.fail("a length must be more than zero", at=span, hint="leave WITHIN out for no limit")
    return int(number)
