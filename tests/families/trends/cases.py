"""Random trend queries with random events: as text for the product and as a query for the oracle."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import accumulate
from typing import Any

from hypothesis import strategies as st

from tests.drawn import mostly_drawn_rows
from tests.families.trends.compare import SECOND_US, Column, TrendCase
from tests.families.trends.conditions import DEFINITIONS, LOCAL, Condition, adjacent, local
from tests.families.trends.patterns import (
    KINDS,
    adjacent_symbols,
    features,
    patterns,
    with_absent_neighbours,
    with_negation,
    with_neighbours,
    write,
)
from tests.oracle.events.pattern import Pattern, Type, nodes, symbols
from tests.oracle.events.query import Query
from tests.oracle.trends import Aggregate

_STRATEGIES = ["any", "any", "next", "contiguous"]
_WINDOWS = [(5, None), (5, 2), (4, 2), (9, 4), (3, 1), (3, 2), (2, 2), (9, None), (6, 4), (1, 1), (9, 1), (6, 1)]
_LONG_WINDOWS = [(20, None), (9, 4), (15, 6), (8, None)]
_COUNT_WINDOWS = [(5, 2), (4, None), (3, 1), (2, 2), (6, 4), (5, 3)]
_FOCUS = {
    None: patterns(),
    "single": st.builds(Type, st.sampled_from(KINDS), st.sampled_from(["a", "b"])),
    "conjunction": patterns(conjunction=True),
    "negation": with_negation(),
    "adjacent": with_neighbours(),
    "absent neighbours": with_absent_neighbours(),
}
# (PARTITION BY, equality, GROUP BY)
_SPLITS = [
    *[((), (), ())] * 6,
    (("g",), (), ()),
    ((), ("g",), ()),
    ((), (), ("g",)),
    (("h",), (), ("g",)),
    ((), ("h",), ("g",)),
    (("g",), ("h",), ()),
    (("g",), (), ("g",)),
    ((), (), ("g", "h")),
]


@st.composite
def trend_cases(
    draw: st.DrawFn,
    *,
    max_events: int = 11,
    groups: tuple[Any, ...] = (1, None),
    focus: str | None = None,
    windowed: bool | None = None,
    count_windows: bool = True,
    first_origin: bool = True,
    counts: str | None = None,
    starts: tuple[int, ...] = (0, 1, 100, -5),
) -> TrendCase:
    """A query of any shape, or of the one that `focus` names; `groups` are the values of the column g.

    `windowed` True or False fixes whether the query has WITHIN.
    """
    pattern = draw(_FOCUS[focus])
    strategy = draw(st.sampled_from(_STRATEGIES))
    absent = focus == "absent neighbours"
    partition_by, equal, group_by = draw(st.sampled_from(_SPLITS[:7] if absent else _SPLITS))
    options = _draw_options(draw, counts)
    window = _draw_window(draw, windowed, count_windows, _LONG_WINDOWS if absent else _WINDOWS)
    n_adjacent = [1, 1, 2] if focus == "adjacent" or absent else [0, 1, 0, 1, 2]
    conditions = _draw_conditions(draw, pattern, n_adjacent, absent)
    types = _draw_types(draw, pattern)
    columns = _draw_columns(draw, pattern, (*partition_by, *equal, *group_by), options.get("counts", "exact"))
    min_length = draw(st.sampled_from([None, None, None, None, None, 2, 2, 3]))
    # Positions and ties by sequence need an order of their own; naming it says that tied events follow one another.
    if "within_events" in window or options.get("ties") == "sequence" or draw(st.booleans()):
        options["sequence"] = "id"
    query = Query(
        pattern,
        strategy,
        predicates=[condition.predicate for condition in conditions],
        min_length=min_length or 1,
        ties=options.get("ties", "sequence" if "sequence" in options else "strict"),
        types={name: fn for name, (_, fn) in types.items()},
        **window,
    )
    origin = _draw_origin(draw, window, first_origin)
    if origin is not None:
        options["origin"] = origin
        query = replace(query, origin=origin)
    integer_time = draw(st.sampled_from([True, True, False]))
    if integer_time:
        options["ts_unit"] = "s"
    if set(types) != {node.type for node in nodes(pattern, negated=True) if isinstance(node, Type)}:
        options["type"] = "kind"
    lines = [f"PATTERN {write(pattern)}"]
    if types:
        lines.append("DEFINE " + ", ".join(f"{name} AS {text}" for name, (text, _) in types.items()))
    if partition_by:
        lines.append(f"PARTITION BY {', '.join(partition_by)}")
    where = [f"({c.text})" if " OR " in c.text else c.text for c in conditions]
    where += [f"[{', '.join(equal)}]"] if equal else []
    if where:
        lines.append("WHERE " + " AND ".join(where))
    lines.append(f"SEMANTICS {strategy}")
    if group_by:
        lines.append(f"GROUP BY {', '.join(group_by)}")
    lines += _write_window(query)
    if min_length is not None:
        lines.append(f"MIN LENGTH {min_length}")
    lines.append("RETURN " + ", ".join(f"{column.text} AS r{i}" for i, column in enumerate(columns)))
    drawn = draw(events(max_events, groups, _kinds(pattern, absent), starts))
    shape = features(pattern) | {strategy, query.ties, *(["adjacent"] if "NEXT(" in "".join(where) else [])}
    return TrendCase(
        "\n".join(lines),
        options,
        query,
        columns,
        (*partition_by, *equal),
        drawn,
        integer_time,
        group_by,
        tuple(sorted(shape)),
    )


def _draw_options(draw: st.DrawFn, counts: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {"ts": "ts"}
    ties = draw(st.sampled_from([None, "strict", "strict", "sequence"]))
    if ties is not None:
        options["ties"] = ties
    chosen = draw(st.sampled_from([None] * 6 + ["exact", "double", "log2"])) if counts is None else counts
    if chosen is not None:
        options["counts"] = chosen
    return options


def _draw_window(
    draw: st.DrawFn, windowed: bool | None, count_windows: bool, lengths: list[tuple[int, int | None]]
) -> dict[str, Any]:
    kinds = ["none", "time", "time", "time", *(["events"] if count_windows else [])]
    if windowed is not None:
        kinds = [kind for kind in kinds if (kind != "none") == windowed]
    match draw(st.sampled_from(kinds)):
        case "time":
            within, slide = draw(st.sampled_from(lengths))
            return {"within": within * SECOND_US, "slide": None if slide is None else slide * SECOND_US}
        case "events":
            within, slide = draw(st.sampled_from(_COUNT_WINDOWS))
            return {"within_events": within, "slide_events": slide}
    return {}


def _draw_origin(draw: st.DrawFn, window: dict[str, Any], first: bool) -> int | str | None:
    """Only windows of time have one."""
    if "within" not in window or draw(st.sampled_from([True, True, True, False])):
        return None
    return draw(st.sampled_from([SECOND_US, -2 * SECOND_US, 7 * SECOND_US, *(["first", "first"] if first else [])]))


def _write_window(query: Query) -> list[str]:
    if query.within_events is not None:
        slide = "" if query.slide_events is None else f" SLIDE {query.slide_events} EVENTS"
        return [f"WITHIN {query.within_events} EVENTS{slide}"]
    if query.within is not None:
        slide = "" if query.slide is None else f" SLIDE {query.slide // SECOND_US} seconds"
        return [f"WITHIN {query.within // SECOND_US} seconds{slide}"]
    return []


def _draw_conditions(draw: st.DrawFn, pattern: Pattern, n_adjacent: list[int], absent: bool) -> list[Condition]:
    """With `absent` the conditions on adjacent events are mostly inside NOT."""
    names = sorted(symbols(pattern, negated=True))
    pairs = adjacent_symbols(pattern)
    if absent:
        inside = [pair for pair in pairs if not symbols(pattern) & set(pair)]
        pairs = inside * 4 + pairs
    found = []
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 1, 2]))):
        found.append(local(draw(st.sampled_from(names)), draw(st.integers(0, len(LOCAL) - 1))))
    if pairs:
        for _ in range(draw(st.sampled_from(n_adjacent))):
            left, right = draw(st.sampled_from(pairs))
            for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
                found.append(draw(adjacent(left, right)))
    return found


def _draw_types(draw: st.DrawFn, pattern: Pattern) -> dict[str, tuple[str, Any]]:
    if draw(st.sampled_from([True, True, True, False])):
        return {}
    used = sorted({node.type for node in nodes(pattern, negated=True) if isinstance(node, Type)})
    defined = draw(st.lists(st.sampled_from(used), unique=True, min_size=1))
    return {name: draw(st.sampled_from(DEFINITIONS[name])) for name in sorted(defined)}


def _draw_columns(draw: st.DrawFn, pattern: Pattern, common: tuple[str, ...], counts: str) -> tuple[Column, ...]:
    names = sorted(symbols(pattern))
    made = [Column(Aggregate("COUNT"))] if draw(st.sampled_from([True, True, False])) else []
    functions = ["COUNT", "MIN", "MAX"] if counts == "log2" else ["COUNT", "SUM", "SUM", "MIN", "MAX", "AVG"]
    for _ in range(draw(st.sampled_from([0, 1, 2, 1, 3])) or (not made)):
        function, symbol = draw(st.sampled_from(functions)), draw(st.sampled_from(names))
        arguments = ["x", "x", "d", "y"] + ([None, None] if function == "COUNT" else [])
        column = draw(st.sampled_from(arguments))
        made.append(Column(Aggregate(function, symbol, column)))
    made += [Column(group=name) for name in dict.fromkeys(common) if draw(st.booleans())]
    return tuple(draw(st.permutations(made)))


_VALUES = {
    "x": [1, 0, 2, 3, None, -1],
    "y": [0.0, 1.5, 2.0, -2.25, None, 0.1],
    "d": [Decimal("1.25"), Decimal("-0.50"), Decimal("2.00"), None, Decimal("0.00")],
    "name": ["a", "b", "ab", "é", "", None],
}


def _kinds(pattern: Pattern, absent: bool = False) -> str:
    """What events are of: mostly what the pattern looks for, sometimes what it forbids or does not know.

    With `absent` what it forbids is as likely.
    """
    wanted = "".join(sorted({node.type for node in nodes(pattern) if isinstance(node, Type)}))
    known = "".join(sorted({node.type for node in nodes(pattern, negated=True) if isinstance(node, Type)}))
    return wanted + known * 3 + "Z" if absent else wanted * 3 + known + KINDS[-1] + "Z"


def events(
    max_events: int, groups: tuple[Any, ...], kinds: str, starts: tuple[int, ...]
) -> st.SearchStrategy[tuple[dict[str, Any], ...]]:
    """Events of all groups, ties and NULLs likely; they arrive in the order of time, backwards, or in two halves."""
    columns = {
        "ts": [1, 0, 1, 2, 0],  # after the one before
        "kind": kinds,
        "g": [*groups[:1] * 2, *groups],
        "h": ["p", "p", "p", "q"],
        **_VALUES,
    }
    arrivals = st.sampled_from(["in order", "backwards", "halves"])

    def number(drawn: tuple[list[dict[str, Any]], int, str]) -> tuple[dict[str, Any], ...]:
        made, start, arrival = drawn
        times = accumulate((event["ts"] for event in made), initial=start)
        timed = [{**event, "ts": ts} for event, ts in zip(made, times, strict=False)]
        if arrival == "backwards":
            timed.reverse()
        elif arrival == "halves":
            timed = timed[1::2] + timed[::2]
        return tuple({"id": i, **event} for i, event in enumerate(timed))

    return st.tuples(mostly_drawn_rows(columns, max_events), st.sampled_from(starts), arrivals).map(number)
