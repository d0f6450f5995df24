"""Event pattern cases of another engine's public test suite, read from where they are shared; never copied here."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

import eventide as ev

PATH = Path(__file__).resolve().parents[3] / "shared" / "conformance" / "event_patterns.json"
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


def cases() -> list[dict[str, Any]]:
    """All cases; none where the file is not there."""
    return json.loads(PATH.read_text())["cases"] if PATH.exists() else []


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
