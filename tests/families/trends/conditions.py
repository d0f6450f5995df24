"""The conditions of random trend queries: each as text and as the same function in Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tests.oracle.events.event import Event
from tests.oracle.events.query import Adjacent, Local, Truth, null_if_null

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
# Ranges are what an index answers; equality and inequality are rarer.
_DRAWN = ["<", "<", "<=", ">", ">=", "=", "<>"]
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


@dataclass(frozen=True)
class Condition:
    """One conjunct of WHERE."""

    text: str
    predicate: Any


LOCAL: list[tuple[str, Callable[[Event], Truth]]] = [
    ("{0}.x > 0", lambda e: null_if_null(lambda x: x > 0)(e["x"])),
    ("{0}.x IS NOT NULL", lambda e: e["x"] is not None),
    ("{0}.y < 2", lambda e: null_if_null(lambda y: y < 2)(e["y"])),
    ("{0}.d <> 1.25", lambda e: null_if_null(lambda d: d != Decimal("1.25"))(e["d"])),
    ("NOT ({0}.x = 1 AND {0}.y > 1)", lambda e: _not(_and(_equals(e["x"], 1), _greater(e["y"], 1)))),
]
# Types that overlap: an event may be of several.
DEFINITIONS: dict[str, list[tuple[str, Callable[[Event], Truth]]]] = {
    "A": [
        ("kind = 'A' OR x > 1", lambda e: _or(e["kind"] == "A", _greater(e["x"], 1))),
        ("x IS NULL OR x < 2", lambda e: e["x"] is None or e["x"] < 2),
    ],
    "B": [("x >= 1", lambda e: null_if_null(lambda x: x >= 1)(e["x"])), ("kind <> 'A'", lambda e: e["kind"] != "A")],
    "C": [("kind IN ('C', 'B')", lambda e: e["kind"] in "CB"), ("y > 0", lambda e: _greater(e["y"], 0))],
}


def _equals(a: Any, b: Any) -> Truth:
    return null_if_null(operator.eq)(a, b)


def _greater(a: Any, b: Any) -> Truth:
    return null_if_null(operator.gt)(a, b)


def _not(a: Truth) -> Truth:
    return None if a is None else not a


def _and(a: Truth, b: Truth) -> Truth:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _or(a: Truth, b: Truth) -> Truth:
    return _not(_and(_not(a), _not(b)))


@st.composite
def adjacent(draw: st.DrawFn, left: str, right: str) -> Condition:
    """A condition between an event of `left` and the one of `right` that directly follows it."""
    compared = draw(st.sampled_from(["column", "column", "column", "scaled", "shifted", "summed", "other"]))
    if compared == "other":
        text, fn = draw(st.sampled_from(_OTHER))
        return Condition(text.format(left, right), Adjacent(left, right, fn))
    column = draw(st.sampled_from(["x", "x", "y", "d"]))
    sign = draw(st.sampled_from(_DRAWN))
    before, after = f"{left}.{column}", f"NEXT({right}).{column}"
    match compared:
        case "scaled":
            before, value = f"{before} * 2", lambda a, b: (a * 2, b)
        case "shifted":
            before, value = f"{before} + 1", lambda a, b: (a + 1, b)
        case "summed":
            before, after, value = f"{before} + {after}", "1", lambda a, b: (a + b, 1)
        case _:
            value = lambda a, b: (a, b)  # noqa: E731
    compare = _COMPARISONS[sign]
    text = f"{before} {sign} {after}"
    if draw(st.sampled_from([False, False, True])):
        text = f"{after} {_TURNED[sign]} {before}"
    return Condition(
        text,
        Adjacent(left, right, lambda e, f: null_if_null(lambda a, b: compare(*value(a, b)))(e[column], f[column])),
    )


_OTHER: list[tuple[str, Callable[[Event, Event], Truth]]] = [
    ("{0}.x <=> NEXT({1}).x", lambda e, f: e["x"] == f["x"]),
    ("{0}.kind = NEXT({1}).kind", lambda e, f: e["kind"] == f["kind"]),
    ("{0}.name < NEXT({1}).name", lambda e, f: null_if_null(operator.lt)(e["name"], f["name"])),
    ("{0}.x < NEXT({1}).y", lambda e, f: null_if_null(operator.lt)(e["x"], f["y"])),
    ("{0}.x IS NULL OR {0}.x < NEXT({1}).x", lambda e, f: True if e["x"] is None else _greater(f["x"], e["x"])),
    (
        "NEXT({1}).x BETWEEN {0}.x AND {0}.x + 1",
        lambda e, f: null_if_null(lambda a, b: a <= b <= a + 1)(e["x"], f["x"]),
    ),
    (
        "{0}.x < NEXT({1}).x AND {0}.y >= NEXT({1}).y",
        lambda e, f: _and(_greater(f["x"], e["x"]), null_if_null(operator.ge)(e["y"], f["y"])),
    ),
]


def local(symbol: str, number: int) -> Condition:
    """A condition on every event of a symbol."""
    text, fn = LOCAL[number]
    return Condition(text.format(symbol), Local(symbol, fn))
