"""Random situation queries with random events: as text for the product and as a query for the oracle.

Three of four queries ask for what is true of some situations among the events, so that matches are no rarity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from hypothesis import strategies as st

from tests.drawn import mostly_drawn_rows
from tests.families.situations.compare import (
    BITS,
    CONDITIONS,
    FLAGS,
    OF_TWO,
    PICKS,
    SCHEMA,
    SECOND_US,
    STATISTICS,
    SYMBOLS,
    Column,
    SituationCase,
)
from tests.oracle.events.event import Event, partitions
from tests.oracle.situations import NAMES, Constraint, Definition, Situation, SituationQuery, derive, holds

GROUPS = (
    ("starts", "equals", "started-by"),
    ("overlaps", "finished-by", "contains"),
    ("overlapped-by", "finishes", "during"),
    ("before", "meets"),
    ("after", "met-by"),
)
_PARTITIONS = [(), (), (), ("g",), ("h",), ("g", "h"), ("h", "k", "g")]
_WITHIN = {None: [None] * 6 + [3, 5, 8, 12], True: [3, 8, 12, 20], False: [None]}


@dataclass(frozen=True)
class Condition:
    """A condition of DEFINE in both languages; NULL where the text gives NULL."""

    text: str
    columns: tuple[str, ...]
    holds: Callable[[Event], bool | None]


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _flag(i: int) -> list[Condition]:
    """Conditions on the flag of symbol i; the first is the flag alone."""
    p, q = FLAGS[i], FLAGS[(i + 1) % len(FLAGS)]
    return [
        Condition(p, (p,), lambda e: e[p]),
        Condition(f"NOT {p}", (p,), lambda e: _not(e[p])),
        Condition(f"{p} IS NULL", (p,), lambda e: e[p] is None),
        Condition(f"{p} OR x > 1", (p, "x"), lambda e: e[p] is True or (e["x"] is not None and e["x"] > 1)),
        Condition(f"{p} AND y < 2.0", (p, "y"), lambda e: e[p] is True and e["y"] is not None and e["y"] < 2.0),
        Condition(f"{p} = {q}", (p, q), lambda e: None if e[p] is None or e[q] is None else e[p] == e[q]),
        Condition("x >= 1", ("x",), lambda e: None if e["x"] is None else e["x"] >= 1),
    ]


@st.composite
def situation_cases(
    draw: st.DrawFn,
    *,
    max_events: int = 14,
    symbols: tuple[int, int] = (2, 6),
    groups: tuple[Any, ...] = (1, None),
    focus: str | None = None,
    emission: str | None = None,
    partitioned: bool | None = None,
    close_at_end: bool | None = None,
    windowed: bool | None = None,
    starts: tuple[int, ...] = (0, 1, 100, -5),
) -> SituationCase:
    """A query of any shape; `focus` is "durations", "gaps" or "prefix"; `groups` are the values of the column g.

    `partitioned` and `windowed`, True or False, fix whether the query has PARTITION BY and WITHIN.
    """
    n = draw(st.integers(*symbols)) if focus else draw(st.sampled_from([2, 2, 3, 3, 4, 5, 6, 3]))
    n = max(symbols[0], min(n, symbols[1]))
    partition_by = draw(st.sampled_from([p for p in _PARTITIONS if partitioned is None or bool(p) == partitioned]))
    conditions = [_draw_condition(draw, i) for i in range(n)]
    columns = _draw_columns(draw, SYMBOLS[:n], partition_by)
    read = {name for condition in conditions for name in condition.columns}
    read |= {name for column in columns for name in column.columns} | set(partition_by)
    drawn = draw(events(max_events, n, groups, starts, read, partition_by))
    options = _draw_options(draw, close_at_end)
    case = SituationCase(
        "",
        options,
        SituationQuery((), ()),
        columns,
        partition_by,
        drawn,
        integer_time=draw(st.sampled_from([True, True, False])),
        read=tuple(name for name in SCHEMA if name in read),
        possible=draw(st.booleans()),
    )
    if case.integer_time:
        options["ts_unit"] = "s"
    definitions = tuple(
        Definition(SYMBOLS[i], condition.holds, **_draw_duration(draw, focus), gap_us=_draw_gap(draw, focus))
        for i, condition in enumerate(conditions)
    )
    runs = _some_runs(draw, definitions, case) if draw(st.sampled_from([True, True, True, False])) else {}
    within = draw(st.sampled_from(_WITHIN[windowed]))
    query = SituationQuery(
        definitions,
        _draw_constraints(draw, SYMBOLS[:n], runs, focus),
        None if within is None else within * SECOND_US,
        emission or draw(st.sampled_from(["early", "early", "complete"])),
        options.get("close_at_end", False),
    )
    return replace(case, text=_write(draw, query, conditions, case), oracle=query)


def _draw_condition(draw: st.DrawFn, i: int) -> Condition:
    flag = _flag(i)
    return draw(st.sampled_from([*flag[:1] * 9, *flag]))


def _draw_options(draw: st.DrawFn, close_at_end: bool | None) -> dict[str, Any]:
    options: dict[str, Any] = {"ts": "ts"}
    if draw(st.booleans()):
        options["sequence"] = "id"
    closes = draw(st.sampled_from([False] * 5 + [True])) if close_at_end is None else close_at_end
    if closes:
        options["close_at_end"] = True
    return options


def _draw_duration(draw: st.DrawFn, focus: str | None) -> dict[str, int | None]:
    kinds = ["none"] * (1 if focus == "durations" else 14) + ["least", "most", "between"]
    shortest = draw(st.sampled_from([1, 2, 3, 5])) * SECOND_US
    match draw(st.sampled_from(kinds)):
        case "least":
            return {"min_us": shortest}
        case "most":
            return {"max_us": shortest + SECOND_US}
        case "between":
            return {"min_us": shortest, "max_us": shortest + draw(st.sampled_from([0, 1, 3])) * SECOND_US}
    return {}


def _draw_gap(draw: st.DrawFn, focus: str | None) -> int | None:
    gaps = [1, 2, 3] if focus == "gaps" else [2]
    drawn = draw(st.sampled_from([*gaps, None] if focus == "gaps" else [None] * 15 + gaps))
    return None if drawn is None else drawn * SECOND_US


def _some_runs(draw: st.DrawFn, definitions: tuple[Definition, ...], case: SituationCase) -> dict[str, Situation]:
    """One situation of each symbol, all of one partition, as far as there are any."""
    stream = case.stream()
    orders = list(partitions(stream).values())
    hints = draw(st.lists(st.integers(0, 3), min_size=7, max_size=7))
    if not orders:
        return {}
    by_partition = [
        {d.symbol: derive(d.condition, stream, order, gap_us=d.gap_us) for d in definitions} for order in orders
    ]
    full = [runs for runs in by_partition if all(runs.values())] or by_partition
    chosen = full[hints[6] % len(full)]
    found = {}
    for hint, (symbol, runs) in zip(hints, chosen.items(), strict=False):
        ended = [run for run in runs if run.te is not None]
        if runs:
            candidates = ended if ended and hint else runs
            found[symbol] = candidates[hint % len(candidates)]
    return found


def _draw_constraints(
    draw: st.DrawFn, symbols: str, runs: dict[str, Situation], focus: str | None
) -> tuple[Constraint, ...]:
    """Every symbol in one at least; a tree over all of them, pieces that are not connected, or more than a tree."""
    pairs: list[tuple[str, str]] = []
    apart = draw(st.sampled_from([False, False, False, True]))
    for i in range(1, len(symbols)):
        if apart and i % 2 == 0 and i + 1 < len(symbols):
            continue
        other = i - 1 if apart else draw(st.integers(0, i - 1))
        pairs.append((symbols[other], symbols[i]))
    free = [(a, b) for i, a in enumerate(symbols) for b in symbols[i + 1 :] if (a, b) not in pairs]
    if free:
        pairs += draw(st.lists(st.sampled_from(free), unique=True, max_size=2))
    made = []
    for left, right in draw(st.permutations(pairs)):
        if draw(st.booleans()):
            left, right = right, left
        made.append(Constraint(left, right, _draw_relations(draw, runs.get(left), runs.get(right), focus)))
    return tuple(made)


def _draw_relations(
    draw: st.DrawFn, left: Situation | None, right: Situation | None, focus: str | None
) -> frozenset[str]:
    extra = draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
    group = draw(st.sampled_from(GROUPS))
    kind = "group" if focus == "prefix" else draw(st.sampled_from(["any", "any", "group"]))
    if left is not None and right is not None:
        later = max(left.ts, right.ts, left.te or 0, right.te or 0) + 1
        ends = [later if run.te is None else run.te for run in (left, right)]
        (true,) = [name for name in NAMES if holds(name, left.ts, ends[0], right.ts, ends[1])]
        whole = [g for g in GROUPS if true in g]
        return frozenset([true, *(whole[0] if whole and kind == "group" else ()), *extra])
    if kind == "group":
        return frozenset([*group, *extra])
    return frozenset(extra or ["before"])


def _draw_columns(draw: st.DrawFn, symbols: str, partition_by: tuple[str, ...]) -> tuple[Column, ...]:
    made: list[Column] = []
    if draw(st.sampled_from([True, True, False])):
        made += [Column("start", symbol) for symbol in symbols]
        made += [Column("end", symbol) for symbol in symbols]
    for _ in range(draw(st.integers(0 if made else 1, 3))):
        symbol = draw(st.sampled_from(symbols))
        made.append(_draw_aggregate(draw, symbol))
    made += [Column(column=name) for name in partition_by if draw(st.booleans())]
    return tuple(draw(st.permutations(made)))


def _draw_aggregate(draw: st.DrawFn, symbol: str) -> Column:
    plain = ["first", "last", "count", "count", "sum", "avg", "min", "max", "stddev", "start", "end"]
    more = draw(st.sampled_from([False, False, True]))
    function = draw(st.sampled_from([*PICKS, *CONDITIONS, *BITS, *STATISTICS, *OF_TWO, "count_if"] if more else plain))
    if function in ("start", "end") or (function == "count" and draw(st.booleans())):
        return Column(function, symbol)
    if function in (*CONDITIONS, "count_if"):
        return Column(function, symbol, FLAGS[0])
    if function in BITS:
        return Column(function, symbol, draw(st.sampled_from(["x", "id"])))
    if function in OF_TWO:
        return Column(function, symbol, *draw(st.sampled_from([("x", "y"), ("y", "x"), ("x", "id"), ("y", "y")])))
    names = ["x", "y"] if function in (*STATISTICS, "sum") else ["x", "y", "id", "name"]
    if function in (*PICKS, "count") and function not in ("min", "max"):
        names += ["g", FLAGS[0]]
    column = draw(st.sampled_from(names))
    other = draw(st.sampled_from(["x", "y", "name"])) if function in ("max_by", "min_by") else None
    return Column(function, symbol, column, other)


def _write(draw: st.DrawFn, query: SituationQuery, conditions: list[Condition], case: SituationCase) -> str:
    lines = []
    if case.partition_by:
        lines.append(f"PARTITION BY {', '.join(case.partition_by)}")
    defined = [
        f"{definition.symbol} AS {condition.text}{_write_gap(definition)}{_write_duration(definition)}"
        for definition, condition in zip(query.definitions, conditions, strict=True)
    ]
    lines.append("DEFINE " + ",\n       ".join(defined))
    terms, last = "", ""
    for constraint in query.constraints:
        names = draw(st.permutations(sorted(constraint.relations)))
        # `A starts B before C` is A starts B AND B before C.
        joined = last == constraint.left and draw(st.booleans())
        terms += "" if not terms or joined else " AND "
        terms += f"{'' if joined else constraint.left} {'|'.join(names)} {constraint.right}"
        last = constraint.right
    lines.append(f"PATTERN {terms}")
    if query.within_us is not None:
        lines.append(f"WITHIN {query.within_us // SECOND_US} seconds")
    if query.emission == "complete":
        lines.append("EMIT ON COMPLETE")
    lines.append("RETURN " + ", ".join(f"{column.text} AS r{i}" for i, column in enumerate(case.columns)))
    if case.possible:
        if draw(st.booleans()):
            lines.append("OPTIONS (possible = true)")
        else:
            case.options["possible"] = True
    return "\n".join(lines)


def _write_gap(definition: Definition) -> str:
    return "" if definition.gap_us is None else f" MAX GAP {definition.gap_us // SECOND_US} seconds"


def _write_duration(definition: Definition) -> str:
    shortest, longest = (
        None if bound is None else f"{bound // SECOND_US} seconds" for bound in (definition.min_us, definition.max_us)
    )
    if shortest and longest:
        return f" FOR BETWEEN {shortest} AND {longest}"
    if shortest:
        return f" FOR AT LEAST {shortest}"
    return f" FOR AT MOST {longest}" if longest else ""


# --- events -----------------------------------------------------------------------------------------------------

_VALUES = {
    "x": [1, 0, 2, 3, None, -1],
    "y": [0.0, 1.5, 2.0, -2.25, None, 0.1],
    "name": ["a", "b", "ab", "é", "", None],
    "h": ["p", "p", "p", "q"],
    "k": [7, 7, 7, None],
}


def events(
    max_events: int,
    n_flags: int,
    groups: tuple[Any, ...],
    starts: tuple[int, ...],
    read: set[str],
    partition_by: tuple[str, ...],
) -> st.SearchStrategy[tuple[dict[str, Any], ...]]:
    """Events whose flags last for some of them; ties, gaps and NULLs; in order of time, backwards, or in two halves.

    Columns that the query does not read hold nothing.
    """
    change = ["keep", "flip", "keep", "keep", "flip", "keep", "flip", "keep", "keep", "flip", "keep", "null"]
    columns = {
        "ts": [1, 0, 1, 2, 0, 1, 4],  # after the one before
        **{FLAGS[j]: change for j in range(n_flags)},
        "g": [*groups[:1] * 3, *groups] if "g" in read else [None],
        **{name: values if name in read else [None] for name, values in _VALUES.items()},
    }
    sizes = st.one_of(*[st.just(max_events)] * 5, st.integers(0, max_events))
    lists = sizes.flatmap(lambda n: mostly_drawn_rows(columns, n))
    arrivals = st.sampled_from(["in order", "backwards", "halves"])

    def make(drawn: tuple[list[dict[str, Any]], int, str]) -> tuple[dict[str, Any], ...]:
        made, start, arrival = drawn
        times = accumulate((event["ts"] for event in made), initial=start)
        by_partition: dict[tuple[Any, ...], list[bool]] = {}
        timed = []
        for i, (event, ts) in enumerate(zip(made, times, strict=False)):
            key = tuple(event[name] for name in partition_by)
            on = by_partition.setdefault(key, [j % 2 == 0 for j in range(len(FLAGS))])
            flags: list[bool | None] = [False] * len(FLAGS)
            for j in range(n_flags):
                changed = event[FLAGS[j]]
                on[j] ^= changed == "flip"
                flags[j] = None if changed == "null" else on[j]
            timed.append({**event, "ts": ts, "id": i, "kind": "K", **dict(zip(FLAGS, flags, strict=True))})
        if arrival == "backwards":
            timed.reverse()
        elif arrival == "halves":
            timed = timed[1::2] + timed[::2]
        return tuple(timed)

    return st.tuples(lists, st.sampled_from(starts), arrivals).map(make)
