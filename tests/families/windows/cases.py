"""Random queries of windows in both languages: what the oracle expects, and whether the product returns it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import eventide as ev
from tests.families.compared import ComparedCase, Row
from tests.oracle import windows as oracle

SCHEMA = {
    "id": pa.int64(),
    "g": pa.string(),
    "h": pa.int32(),
    "x": pa.int32(),
    "y": pa.float64(),
    "d": pa.decimal128(6, 2),
    "name": pa.string(),
    "flag": pa.bool_(),
}
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Value:
    """One RETURN item: an aggregate as the oracle calls it, over one column or two."""

    function: str
    column: str | None = None
    other: str | None = None

    @property
    def text(self) -> str:
        if self.column is None:
            return "count(*)"
        name, ending = self.function.removesuffix(" ignore nulls"), ""
        if name != self.function:
            ending = " IGNORE NULLS"
        arguments = self.column if self.other is None else f"{self.column}, {self.other}"
        return f"{name}({arguments}){ending}"

    def of(self, window: oracle.Window, ordered: bool) -> Any:
        return oracle.value(self.function, window, self.column, self.other, ordered=ordered)


@dataclass(frozen=True)
class Shape:
    """Windows in both languages; lengths in seconds, or events."""

    text: str
    windows: Callable[[Sequence[oracle.Event]], list[oracle.Window]]
    kind: str
    origin: int = 0


@dataclass(frozen=True, repr=False)
class WindowCase(ComparedCase):
    """A query of windows with its events; `oracle` is the shape of its windows, `columns` are its values."""

    where: tuple[str, Callable[[dict[str, Any]], bool]] | None = None
    least: int = 0  # HAVING count(*) >= least
    is_ordered: bool = False  # an id orders tied events

    def shown(self, event: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in event.items() if value is not None}

    def table(self) -> pa.Table:
        rows = list(self.events)
        if not self.integer_time:
            rows = [{**row, "ts": _EPOCH + timedelta(seconds=row["ts"])} for row in rows]
        times = pa.int64() if self.integer_time else pa.timestamp("us")
        return pa.Table.from_pylist(rows, pa.schema({"ts": times, **SCHEMA}))

    @property
    def query(self) -> ev.Query:
        return ev.query(self.text, **self.options)

    def _time(self, seconds: int) -> Any:
        return seconds if self.integer_time else _EPOCH + timedelta(seconds=seconds)

    @property
    def expected(self) -> list[Row]:
        shape: Shape = self.oracle
        held = [event for event in self.events if self.where is None or self.where[1](event)]
        rows: list[Row] = []
        for key, events in oracle.groups(held, self.partition_by).items():
            for window in shape.windows(events):
                start, end, inside = window
                if len(inside) < self.least:
                    continue
                bounds: tuple[Any, ...] = ()
                complete = max(event["ts"] for event in inside)
                if shape.kind == "count":
                    bounds = (start, end)
                elif shape.kind != "all":
                    bounds, complete = (self._time(start), self._time(end)), end
                ordered = self.is_ordered or shape.kind == "count"
                if ordered and shape.kind != "count":
                    window = (start, end, sorted(inside, key=lambda e: (e["ts"], e["id"])))
                values = tuple(value.of(window, ordered) for value in self.columns)
                rows.append((*key, *values, *bounds, self._time(complete)))
        return rows

    def check(self, result: pa.Table, *, types: bool = True) -> None:
        names = [*self.partition_by, *(f"a{i}" for i in range(len(self.columns)))]
        if self.oracle.kind != "all":
            names += ["window_start", "window_end"]
        names.append("detected_at")
        assert result.column_names == names, f"{self}{result.column_names}"
        found = [tuple(row.values()) for row in result.to_pylist()]
        self.compare(self.expected, found, is_same)


def is_same(wanted: Any, found: Any) -> bool:
    """Whether a value is what the oracle says; doubles are rounded."""
    if wanted is None or found is None or isinstance(wanted, str | bool | datetime):
        return bool(wanted == found)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(wanted) == len(found) and all(map(is_same, wanted, found))
    if isinstance(found, str | bool | datetime):
        return False
    difference = abs(Fraction(wanted) - Fraction(found))
    return difference <= Fraction(1, 10**6) * max(1, abs(Fraction(wanted)))


# --- strategies -----------------------------------------------------------------------------------------------

_OF_NUMBERS = ("sum", "avg", "min", "max", "stddev", "var_pop", "skewness", "kurtosis")
_OF_ANY = ("count", "min", "max", "first", "last", "first ignore nulls", "last ignore nulls")
VALUES = (
    Value("count"),
    *(Value(function, column) for function in _OF_NUMBERS for column in ("x", "y", "d")),
    *(Value(function, column) for function in _OF_ANY for column in ("x", "y", "name")),
    *(Value(function, "x") for function in ("bit_and", "bit_or", "bit_xor")),
    *(Value(function, "flag") for function in ("bool_and", "bool_or", "count_if")),
    *(Value(function, "name", "x") for function in ("max_by", "min_by")),
    *(Value(function, "y", "x") for function in ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_count")),
)
_ROWS = st.fixed_dictionaries(
    {
        "ts": st.integers(-12, 40),
        "g": st.sampled_from(["a", "b", None]),
        "h": st.sampled_from([1, 2, None]),
        "x": st.none() | st.integers(-3, 5),
        "y": st.none() | st.sampled_from([-1.25, 0.0, 0.5, 7.75]),
        "d": st.none() | st.sampled_from(["-1.50", "0.25", "12.00"]),
        "name": st.none() | st.sampled_from(["u", "v", "w"]),
        "flag": st.none() | st.booleans(),
    }
)
_WHERE = (
    ("x > 0", lambda event: event["x"] is not None and event["x"] > 0),
    ("name = 'u' OR y IS NULL", lambda event: event["name"] == "u" or event["y"] is None),
)


@st.composite
def shapes(draw: Any, kinds: Sequence[str]) -> Shape:
    """Windows of one of the kinds."""
    kind = draw(st.sampled_from(list(kinds)))
    size, slide = draw(st.integers(1, 15)), draw(st.none() | st.integers(1, 17))
    origin = draw(st.sampled_from([0, 0, 3, -5]))
    match kind:
        case "all":
            return Shape("", lambda events: [(0, 0, list(events))], kind)
        case "session":
            return Shape(f"SESSION {size} seconds", lambda events: oracle.sessions(events, size), kind)
        case "growing":
            longest = size * draw(st.integers(1, 4))
            text = f"WITHIN UP TO {longest} seconds STEP {size} seconds"
            return Shape(text, lambda events: oracle.cumulating(events, longest, size, origin), kind, origin)
        case "count":
            size = min(size, 6)
            text = f"WITHIN {size} EVENTS" + (f" SLIDE {slide} EVENTS" if slide else "")
            return Shape(text, lambda events: oracle.counting(events, size, slide or size, ("id",)), kind)
    text = f"WITHIN {size} seconds" + (f" SLIDE {slide} seconds" if slide else "")
    return Shape(text, lambda events: oracle.hopping(events, size, slide or size, origin), kind, origin)


@st.composite
def window_cases(
    draw: Any, kinds: Sequence[str] = ("time", "time", "growing", "session", "count", "all"), max_events: int = 24
) -> WindowCase:
    """A query of windows over random events, in any order."""
    shape = draw(shapes(kinds))
    ids = draw(st.permutations(range(max_events)))
    # Left to itself, Hypothesis draws few events.
    rows = draw(st.lists(_ROWS, min_size=draw(st.sampled_from([0, 0, max_events // 2])), max_size=max_events))
    decimals = [None if row["d"] is None else Decimal(row["d"]) for row in rows]
    events = tuple({**row, "id": ids[i], "d": decimals[i]} for i, row in enumerate(rows))
    values = tuple(draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=4)))
    groups = draw(st.sampled_from([(), ("g",), ("g", "h")]))
    where = draw(st.none() | st.sampled_from(_WHERE))
    least = draw(st.sampled_from([0, 0, 2]))
    is_ordered = shape.kind == "count" or draw(st.booleans())
    integer_time = draw(st.booleans())
    options: dict[str, Any] = {"ts_unit": "s"} if integer_time else {}
    if is_ordered:
        options["sequence"] = "id"
    if shape.origin:
        options["origin"] = f"{shape.origin} seconds" if shape.origin > 0 else shape.origin * 1_000_000
    returned = [*groups, *(f"{value.text} AS a{i}" for i, value in enumerate(values))]
    lines = [f"WHERE {where[0]}" if where else "", f"GROUP BY {', '.join(groups)}" if groups else "", shape.text]
    lines += [f"RETURN {', '.join(returned)}", f"HAVING count(*) >= {least}" if least else ""]
    return WindowCase(
        text="\n".join(filter(None, lines)),
        options=options,
        oracle=shape,
        columns=values,
        partition_by=groups,
        events=events,
        integer_time=integer_time,
        where=where,
        least=least,
        is_ordered=is_ordered,
    )
