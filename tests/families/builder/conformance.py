"""Event pattern cases of another engine's public test suite, read from where they are shared; never copied here."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import eventide as ev
from tests.conformance import shared_cases
from tests.oracle.builder import pattern as oracle
from tests.oracle.builder.matches import detect as oracle_detect

_METHODS = {
    "begin": "begin",
    "next": "next",
    "followedBy": "followed_by",
    "followedByAny": "followed_by_any",
    "notNext": "not_next",
    "notFollowedBy": "not_followed_by",
}
_SKIPS = {"NO_SKIP": "no_skip", "SKIP_TO_NEXT": "next", "SKIP_PAST_LAST_EVENT": "past_last"}
_SKIPS |= {"SKIP_TO_FIRST": "to_first", "SKIP_TO_LAST": "to_last"}
_INNER = {"relaxed": "followed_by", "strict": "next", "any": "followed_by_any"}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "contains": operator.contains,
}


def cases() -> list[dict[str, Any]]:
    """All cases; none where the file is not there."""
    return shared_cases("event_patterns")


def to_pattern(case: dict[str, Any]) -> ev.Pattern:
    """The case's pattern by the builder."""
    pattern = _chain(case["pattern"]["steps"])
    if case["pattern"]["within_ms"]:
        between = "events" if case["pattern"]["within_type"] == "PREVIOUS_AND_CURRENT" else "match"
        pattern = pattern.within(f"{case['pattern']['within_ms']} ms", between=between)
    return pattern


def arguments(case: dict[str, Any]) -> dict[str, Any]:
    """What `ev.detect` is told besides. Events come in the order of `seq`, time is read where it is measured."""
    skip = case["pattern"]["skip"]
    name = _SKIPS[skip["strategy"]]
    given: dict[str, Any] = {"sequence": "seq", "skip": (name, skip["variable"]) if "variable" in skip else name}
    return given | ({"ts": "ts", "ts_unit": "ms"} if case["pattern"]["within_ms"] else {})


def to_table(case: dict[str, Any]) -> pa.Table:
    types = {"seq": pa.int64(), "ts": pa.int64(), "id": pa.int64(), "name": pa.string(), "price": pa.float64()}
    schema = pa.schema({**types, "volume": pa.float64()})
    return pa.Table.from_pylist(case["events"], schema=schema)


def found(rows: list[dict[str, Any]], pattern: ev.Pattern) -> Counter[tuple[int, ...]]:
    """The multiset of sets of events."""
    taken = ("match_id", "match_start", "match_end")
    sets = [[e["seq"] for name, events in row.items() if name not in taken for e in events] for row in rows]
    return Counter(tuple(sorted(events)) for events in sets)


def expected(case: dict[str, Any]) -> Counter[tuple[int, ...]]:
    return Counter(tuple(sorted(match)) for match in case["expected_matches"])


def _chain(steps: list[dict[str, Any]]) -> ev.Pattern:
    pattern: Any = ev.Pattern
    for step in steps:
        method = getattr(pattern, _METHODS[step["contiguity"]])
        if "group" in step:
            pattern = method(_chain(step["group"]))
        else:
            pattern = method(step["name"], _condition(step["where"]) if step.get("where") else None)
        pattern = _modified(pattern, step)
    assert isinstance(pattern, ev.Pattern)
    return pattern


def _modified(pattern: ev.Pattern, step: dict[str, Any]) -> ev.Pattern:
    if "quantifier" in step:
        least, most = step["quantifier"]["min"], step["quantifier"]["max"]
        if most is None:
            pattern = pattern.one_or_more() if least == 1 else pattern.times_or_more(least)
        else:
            pattern = pattern.times(least, most)
        inner = step.get("inner_contiguity", "relaxed")
        if inner != "relaxed":
            pattern = pattern.consecutive() if inner == "strict" else pattern.allow_combinations()
    if step.get("optional"):
        pattern = pattern.optional()
    if step.get("greedy"):
        pattern = pattern.greedy()
    return pattern.until(_condition(step["until"])) if step.get("until") else pattern


def _condition(where: dict[str, Any]) -> str:
    for word in ("and", "or"):
        if word in where:
            return f" {word} ".join(f"({_condition(part)})" for part in where[word])
    if "not" in where:
        return f"not ({_condition(where['not'])})"
    if "subtype" in where:
        return "volume is not null"
    left, right = _operand(where["left"]), _operand(where["right"])
    if where["op"] == "contains":
        return f"contains({left}, {right})"
    return f"{left} {'=' if where['op'] == '==' else where['op']} {right}"


def _operand(operand: Any) -> str:
    if isinstance(operand, dict):
        return str(operand["attr"]) if "attr" in operand else f"'{operand['str']}'"
    return f"{operand}D" if isinstance(operand, float) else str(operand)


# --- for the oracle -------------------------------------------------------------------------------------------


def found_by_oracle(case: dict[str, Any]) -> Counter[tuple[int, ...]]:
    """The multiset of sets of events; where the case gives no times, none are needed."""
    within, is_gap = case["pattern"]["within_ms"], case["pattern"]["within_type"] == "PREVIOUS_AND_CURRENT"
    steps = _oracle_steps(case["pattern"]["steps"])
    pattern = oracle.Pattern(steps, None if is_gap else within, within if is_gap else None)
    events = [{**event, "ts": event["ts"] or 0} for event in case["events"]]
    skip = case["pattern"]["skip"]
    matches, _ = oracle_detect(pattern, events, _SKIPS[skip["strategy"]], skip.get("variable"))
    return Counter(tuple(sorted(events[i]["seq"] for _, i in taken)) for taken in matches)


def _oracle_steps(steps: list[dict[str, Any]]) -> tuple[oracle.Step, ...]:
    return tuple(map(_oracle_step, steps))


def _oracle_step(step: dict[str, Any]) -> oracle.Step:
    count = step.get("quantifier", {"min": 1, "max": 1})
    return oracle.Step(
        step.get("name", ""),
        _METHODS[step["contiguity"]],
        _holds(step["where"]) if step.get("where") else oracle.anything,
        least=max(count["min"], 1),
        most=count["max"],
        inner=_INNER[step.get("inner_contiguity", "relaxed")],
        optional=bool(step.get("optional")) or count["min"] == 0,
        greedy=bool(step.get("greedy")),
        until=_holds(step["until"]) if step.get("until") else None,
        group=_oracle_steps(step.get("group", [])),
    )


def _holds(where: dict[str, Any]) -> oracle.Condition:
    if "and" in where:
        return lambda event, bound: all(_holds(part)(event, bound) for part in where["and"])
    if "or" in where:
        return lambda event, bound: any(_holds(part)(event, bound) for part in where["or"])
    if "not" in where:
        return lambda event, bound: not _holds(where["not"])(event, bound)
    if "subtype" in where:
        return lambda event, bound: event.get("volume") is not None
    compare = _COMPARE[where["op"]]
    return lambda event, bound: compare(_value(where["left"], event), _value(where["right"], event))


def _value(operand: Any, event: oracle.Event) -> Any:
    if isinstance(operand, dict):
        return event[operand["attr"]] if "attr" in operand else operand["str"]
    return operand
