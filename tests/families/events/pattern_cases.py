"""Random event patterns with random events: as text for the product and as a tree for the oracle."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.families.events.cases import EPOCH_US, SECOND, AskedOfEvents, events
from tests.oracle.events import one_match
from tests.oracle.events.matches import matches
from tests.oracle.events.pattern import And, Not, Or, Pattern, Repeat, Seq, Type, nodes
from tests.oracle.events.query import Adjacent, Bound, KleeneAggregate, Local, Query, null_if_null

KINDS = "ABC"
_QUANTIFIERS = [("+", 1, None), ("*", 0, None), ("?", 0, 1), ("{2}", 2, 2), ("{1,2}", 1, 2), ("{2,}", 2, None)]


@dataclass(frozen=True)
class PatternCase(AskedOfEvents):
    """A query for any pattern of events."""

    returned: tuple[str, ...]  # symbols whose ids are returned
    features: tuple[str, ...] = field(default=(), compare=False)

    def expected(self) -> Counter[tuple[Any, ...]]:
        """Per match: the ids bound to each symbol, the window, and detected_at where no absence is waited for."""
        rows: Counter[tuple[Any, ...]] = Counter()
        for match in matches(self.oracle, self.stream()):
            ids = tuple(
                tuple(sorted(self.events[i]["id"] for i in match.event_indices(symbol))) for symbol in self.returned
            )
            last = max(self.events[i]["ts"] for i in match.event_indices())
            detected = None if self._waits else EPOCH_US + last * SECOND
            rows[(ids, match.window_start, match.window_end, detected)] += 1
        return rows

    def found(self, result: pa.Table) -> Counter[tuple[Any, ...]]:
        """The product's rows in the same form."""
        columns = [result.column(f"{symbol}_id").to_pylist() for symbol in self.returned]
        ids = [tuple(_as_ids(value) for value in row) for row in zip(*columns, strict=True)]
        times = [self._microseconds(result, name) for name in ("window_start", "window_end", "detected_at")]
        if self._waits:
            times[-1] = [None] * result.num_rows
        return Counter(zip(ids, *times, strict=True))

    def asking(self, returned: str) -> str:
        """The query with another RETURN."""
        kept = [line for line in self.text.splitlines() if not line.startswith("RETURN")]
        return "\n".join([*kept, f"RETURN {returned}"])

    @property
    def about_one_match(self) -> str:
        """RETURN with what can be said about the events of each symbol in a match."""
        ends = "FIRST({0}.x) AS {0}_first, LAST({0}.x) AS {0}_last, LAST({0}.ts) - FIRST({0}.ts) AS {0}_time"
        arrays = "size({0}.x) AS {0}_n, {0}.x[1] AS {0}_second, array_max({0}.x) AS {0}_most"
        items = [ends.format(name) for name in self.returned]
        items += [f"{arrays}, element_at({{0}}.x, -1) AS {{0}}_end".format(name) for name in self._repeated]
        return ", ".join(items)

    @property
    def _repeated(self) -> list[str]:
        return [name for name in self.returned if _most(self.oracle.pattern, name) > 1]

    def expected_about_one_match(self) -> Counter[tuple[Any, ...]]:
        """Per match and symbol what `about_one_match` asks for, by name."""
        stream = self.stream()
        rows: Counter[tuple[Any, ...]] = Counter()
        for match in matches(self.oracle, stream):
            row: dict[str, Any] = {}
            for name in self.returned:
                found = one_match.values(match, stream, name, "x")
                times = [stream[i].ts for i in one_match.in_order(match, stream, name)]
                row |= {f"{name}_first": one_match.first(found), f"{name}_last": one_match.last(found)}
                row[f"{name}_time"] = timedelta(microseconds=times[-1] - times[0]) if times else None
                if name in self._repeated:
                    row |= {f"{name}_n": len(found), f"{name}_second": one_match.item(found, 1)}
                    row |= {f"{name}_most": one_match.greatest(found), f"{name}_end": one_match.last(found)}
            rows[tuple(sorted(row.items()))] += 1
        return rows

    def expected_whole(self) -> Counter[tuple[Any, ...]]:
        """Per match what RETURN * gives: the partition, first and last time, and the ids of each symbol's events."""
        stream = self.stream()
        rows: Counter[tuple[Any, ...]] = Counter()
        for match in matches(self.oracle, stream):
            times = [stream[i].ts for i in match.event_indices()]
            ids = [tuple(one_match.values(match, stream, name, "id")) for name in self.returned]
            rows[(*match.partition, min(times), max(times), *ids)] += 1
        return rows

    def found_whole(self, result: pa.Table) -> Counter[tuple[Any, ...]]:
        """The product's rows in the same form."""
        times = [self._microseconds(result, name) for name in ("match_start", "match_end")]
        ids = [
            [tuple(event["id"] for event in events) for events in result.column(name).to_pylist()]
            for name in self.returned
        ]
        return Counter(zip(result.column("g").to_pylist(), *times, *ids, strict=True))

    @property
    def _waits(self) -> bool:
        return any(isinstance(node, Not) for node in nodes(self.oracle.pattern, negated=True))

    def _microseconds(self, result: pa.Table, name: str) -> list[int | None]:
        if name not in result.column_names:
            return [None] * result.num_rows
        return result.column(name).cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]


def _as_ids(value: Any) -> tuple[int, ...]:
    if value is None:
        return ()
    return tuple(sorted(value)) if isinstance(value, list) else (value,)


def _most(pattern: Pattern, symbol: str) -> float:
    """The most events that a match binds to a symbol."""
    match pattern:
        case Type():
            return float(pattern.symbol == symbol)
        case Not():
            return 0
        case Repeat(part, _, maximum):
            inner = _most(part, symbol)
            return 0 if inner == 0 else inner * (math.inf if maximum is None else maximum)
        case Or(parts):
            return max(_most(part, symbol) for part in parts)
        case Seq(parts) | And(parts):
            return sum(_most(part, symbol) for part in parts)


def can_be_empty(pattern: Pattern) -> bool:
    match pattern:
        case Type():
            return False
        case Not():
            return True
        case Repeat(part, minimum):
            return minimum == 0 or can_be_empty(part)
        case Or(parts):
            return any(map(can_be_empty, parts))
        case Seq(parts) | And(parts):
            return all(map(can_be_empty, parts))


def write(pattern: Pattern) -> str:
    """The pattern as the query language has it."""
    match pattern:
        case Type(kind, symbol):
            return f"{kind} {symbol}"
        case Not(part):
            return f"NOT {write(part)}"
        case Repeat(part, minimum, maximum):
            bounds = {(low, high): text for text, low, high in _QUANTIFIERS}[(minimum, maximum)]
            return f"({write(part)}){bounds}"
        case Seq() | And() | Or():
            return write_parts(pattern, write)


def write_parts(pattern: Seq | And | Or, write: Callable[[Pattern], str]) -> str:
    """A pattern of parts, each as `write` has it: SEQ(...), AND(...), OR(...)."""
    return f"{type(pattern).__name__.upper()}({', '.join(map(write, pattern.parts))})"


@dataclass
class _Budget:
    """How many steps a pattern may still get; each has a symbol of its own."""

    left: int
    used: int = 0

    def symbol(self) -> str:
        self.used += 1
        self.left -= 1
        return f"s{self.used}"


def _draw_pattern(draw: st.DrawFn, budget: _Budget, depth: int, kinds: list[str]) -> Pattern:
    choices = ["step", "step"]
    if depth > 0 and budget.left > 1:
        choices += kinds
    match draw(st.sampled_from(choices)):
        case "seq":
            return _draw_seq(draw, budget, depth, kinds)
        case "repeat":
            _, low, high = draw(st.sampled_from(_QUANTIFIERS))
            return Repeat(_draw_pattern(draw, budget, depth - 1, kinds), low, high)
        case "or":
            return Or(tuple(_draw_pattern(draw, budget, depth - 1, kinds) for _ in range(2)))
        case "and":
            return And(tuple(_draw_pattern(draw, budget, depth - 1, kinds) for _ in range(2)))
    return Type(draw(st.sampled_from(KINDS)), budget.symbol())


def _draw_seq(draw: st.DrawFn, budget: _Budget, depth: int, kinds: list[str]) -> Pattern:
    parts: list[Pattern] = []
    for _ in range(draw(st.sampled_from([2, 2, 3]))):
        if budget.left <= 0 and parts:
            break
        if "not" in kinds and draw(st.sampled_from([False, False, True])):
            part = _draw_pattern(draw, budget, depth - 1, kinds)
            parts.append(part if can_be_empty(part) else Not(part))
        else:
            parts.append(_draw_pattern(draw, budget, depth - 1, kinds))
    if all(isinstance(part, Not) for part in parts):
        parts.append(Type(draw(st.sampled_from(KINDS)), budget.symbol()))
    return Seq(tuple(parts))


_LOCAL: list[tuple[str, Callable[..., Any]]] = [
    ("{0}.x > 0", null_if_null(lambda x: x > 0)),
    ("{0}.x IS NOT NULL", lambda x: x is not None),
]
_BOUND: list[tuple[str, str, Callable[..., Any]]] = [
    ("{1}.x > {0}.x", "x", null_if_null(lambda a, b: b > a)),
    ("{1}.x >= {0}.x", "x", null_if_null(lambda a, b: b >= a)),
    ("{0}.x <=> {1}.x", "x", lambda a, b: a == b),
    ("{0}.name = {1}.name", "name", null_if_null(lambda a, b: a == b)),
]


def _known(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


_CLOSING: list[tuple[str, Callable[[list[Any]], Any]]] = [
    ("avg({0}.x) > 0.5", lambda xs: sum(_known(xs)) / len(_known(xs)) > 0.5 if _known(xs) else None),
    ("sum({0}.x) >= 2", lambda xs: sum(_known(xs)) >= 2 if _known(xs) else None),
    ("count({0}) < 3", lambda xs: len(xs) < 3),
    ("count({0}.x) >= 1", lambda xs: len(_known(xs)) >= 1),
    ("max({0}.x) - min({0}.x) <= 1", lambda xs: max(_known(xs)) - min(_known(xs)) <= 1 if _known(xs) else None),
]


def _repeated(pattern: Pattern, inside: bool = False) -> list[str]:
    """Symbols that a match may bind to other than one event."""
    match pattern:
        case Type(_, symbol):
            return [symbol] if inside else []
        case Not(part):
            return _repeated(part, inside)
        case Repeat(part):
            return _repeated(part, True)
        case Or(parts):
            return [symbol for part in parts for symbol in _repeated(part, True)]
        case Seq(parts) | And(parts):
            return [symbol for part in parts for symbol in _repeated(part, inside)]


ALL = ["seq", "seq", "repeat", "repeat", "or", "and", "not"]


@st.composite
def pattern_cases(
    draw: st.DrawFn,
    *,
    kinds: list[str] | None = None,
    max_per_group: int = 7,
    groups: list[Any] | None = None,
    bounded: bool = False,
) -> PatternCase:
    kinds = ALL if kinds is None else kinds
    budget = _Budget(draw(st.sampled_from([3, 4, 2, 5])))
    pattern = draw(st.sampled_from([_draw_seq, _draw_seq, _draw_pattern]))(draw, budget, 2, kinds)
    everything = [node for node in nodes(pattern, negated=True) if isinstance(node, Type)]
    returned = [node.symbol for node in nodes(pattern) if isinstance(node, Type)]
    names = [node.symbol for node in everything]
    strategy = draw(st.sampled_from(["any", "next", "contiguous"]))
    within = draw(st.sampled_from([9, 5, 3, 2] if bounded else [None, 9, 5, 3, 2, 1]))
    slide = draw(st.sampled_from([None, None, 1, 2, 3])) if within is not None else None
    slide = None if slide is None or within is None else min(slide, within)
    said = draw(st.sampled_from(["strict", "strict", "sequence", None]))
    ties = said or "sequence"  # naming a sequence says so
    min_length = draw(st.sampled_from([None, None, None, 2]))
    closes = not bounded and draw(st.booleans())
    where: list[str] = []
    predicates: list[Any] = []
    features = [strategy, *sorted({type(node).__name__ for node in nodes(pattern, negated=True)})]
    for _ in range(draw(st.sampled_from([0, 0, 1]))):
        name = draw(st.sampled_from(names))
        text, local = draw(st.sampled_from(_LOCAL))
        where.append(text.format(name))
        predicates.append(Local(name, lambda e, f=local: f(e["x"])))
    if len(names) > 1:
        for _ in range(draw(st.sampled_from([0, 1, 0, 2]))):
            text, column, bound = draw(st.sampled_from(_BOUND))
            left, right = draw(st.permutations(names))[:2]
            where.append(text.format(left, right))
            predicates.append(Bound((left, right), lambda a, b, f=bound, c=column: f(a[c], b[c])))
            features.append("bound")
    if draw(st.sampled_from([False, False, True])):
        text, column, bound = draw(st.sampled_from(_BOUND))
        left, right = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        where.append(text.replace("{1}", "NEXT({1})").format(left, right))
        predicates.append(Adjacent(left, right, lambda a, b, f=bound, c=column: f(a[c], b[c])))
        features.append("adjacent")
    repeated = _repeated(pattern)
    if repeated and draw(st.sampled_from([False, False, True])):
        name = draw(st.sampled_from(repeated))
        text, closing = draw(st.sampled_from(_CLOSING))
        where.append(text.format(name))
        predicates.append(KleeneAggregate((name,), lambda es, f=closing: f([e["x"] for e in es])))
        features.append("aggregate")
    lines = [f"PATTERN {write(pattern)}", "PARTITION BY g"]
    if where:
        lines.append("WHERE " + " AND ".join(where))
    lines.append(f"SEMANTICS {strategy}")
    if within is not None:
        lines.append(f"WITHIN {within} seconds" + (f" SLIDE {slide} seconds" if slide is not None else ""))
    if min_length is not None:
        lines.append(f"MIN LENGTH {min_length}")
    lines.append("RETURN " + ", ".join(f"{name}.id" for name in returned))
    oracle = Query(
        pattern,
        strategy,
        within=None if within is None else within * SECOND,
        slide=None if slide is None else slide * SECOND,
        predicates=predicates,
        min_length=min_length or 1,
        ties=ties,
        # On a stream an event far away decides everything.
        close_at_end=closes or bounded,
    )
    drawn = draw(events(max_per_group, [1, None] if groups is None else groups))
    options: dict[str, Any] = {"ts": "ts", "sequence": "id", "type": "kind"}
    if said is not None:
        options["ties"] = said
    if closes:
        options["close_at_end"] = True
    return PatternCase("\n".join(lines), options, oracle, drawn, tuple(returned), tuple(features))
