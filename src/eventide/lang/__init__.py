"""The query languages: text to syntax tree and back, errors with positions.

>>> print(write(parse("PATTERN SEQ(A, B) WITHIN 5 min")))
PATTERN SEQ(A, B)
WITHIN 5 minutes
"""

from eventide.lang.durations import parse_length
from eventide.lang.parse import parse, parse_events
from eventide.lang.positions import span_of
from eventide.lang.scalars import parse_scalar
from eventide.lang.tree import (
    And,
    AnyQuery,
    Constraint,
    Definition,
    EventQuery,
    JoinQuery,
    Length,
    Name,
    Not,
    Option,
    Or,
    Pattern,
    Repeat,
    ReturnItem,
    Scalar,
    Seq,
    Situation,
    SituationQuery,
    Span,
    Step,
    Strategy,
    Window,
)
from eventide.lang.write import write

__all__ = [
    "And",
    "AnyQuery",
    "Constraint",
    "Definition",
    "EventQuery",
    "JoinQuery",
    "Length",
    "Name",
    "Not",
    "Option",
    "Or",
    "Pattern",
    "Repeat",
    "ReturnItem",
    "Scalar",
    "Seq",
    "Situation",
    "SituationQuery",
    "Span",
    "Step",
    "Strategy",
    "Window",
    "parse",
    "parse_events",
    "parse_length",
    "parse_scalar",
    "span_of",
    "write",
]
