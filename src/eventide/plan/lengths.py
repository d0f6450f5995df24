"""How many events a match of a pattern has, and how many it binds to one symbol."""

from __future__ import annotations

from eventide.lang.tree import And, Not, Or, Pattern, Repeat, Seq, Step


def most_events(pattern: Pattern, symbol: str | None = None) -> int | None:
    """The largest number of events in a match, of one symbol or of all; None when it is unbounded.

    >>> from eventide.lang import parse
    >>> pattern = parse("PATTERN SEQ(A, B{2,3}, OR(C, D)?, NOT E)").pattern
    >>> most_events(pattern), most_events(pattern, "B"), most_events(pattern, "D"), most_events(pattern, "E")
    (5, 3, 1, 0)
    """
    match pattern:
        case Step():
            return int(symbol in (None, pattern.symbol))
        case Not():
            return 0
        case Seq() | And():
            counts = [most_events(part, symbol) for part in pattern.parts]
            return None if None in counts else sum(count for count in counts if count is not None)
        case Or():
            counts = [most_events(part, symbol) for part in pattern.parts]
            return None if None in counts else max(count for count in counts if count is not None)
        case Repeat():
            inner = most_events(pattern.part, symbol)
            if inner == 0:
                return 0
            return None if inner is None or pattern.maximum is None else inner * pattern.maximum
