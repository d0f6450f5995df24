"""Random builder patterns with random events, for the product and the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import eventide as ev
from tests.oracle.detection import pattern as oracle
from tests.oracle.detection.matches import detect as oracle_detect

Found = Counter[tuple[tuple[str, int], ...]]
CONDITIONS: dict[str, oracle.Condition] = {
    "kind = 'a'": lambda e, b: e["kind"] == "a",
    "kind = 'b'": lambda e, b: e["kind"] == "b",
    "kind = 'c'": lambda e, b: e["kind"] == "c",
    "kind <> 'b'": lambda e, b: e["kind"] != "b",
    "x > 1": lambda e, b: e["x"] is not None and e["x"] > 1,
    "x IS NULL OR kind = 'a'": lambda e, b: e["x"] is None or e["kind"] == "a",
    "true": lambda e, b: True,
}
SCHEMA = pa.schema({"seq": pa.int64(), "ts": pa.int64(), "kind": pa.string(), "x": pa.int32()})


@dataclass(frozen=True)
class Case:
    """A pattern in both forms, the events in order, and what to do after a match."""

    built: ev.Pattern
    steps: oracle.Pattern
    events: tuple[dict[str, Any], ...]
    skip: str | tuple[str, str] = "no_skip"

    def __repr__(self) -> str:
        events = " ".join(f"{e['kind']}{e['x']}@{e['ts']}" for e in self.events)
        return f"{self.built} skip={self.skip} {events}"

    def table(self) -> pa.Table:
        return pa.Table.from_pylist(list(reversed(self.events)), schema=SCHEMA)

    def expected(self) -> tuple[Found, Found]:
        skip, step = (self.skip, None) if isinstance(self.skip, str) else self.skip
        matches, timeouts = oracle_detect(self.steps, list(self.events), skip, step)
        return Counter(map(_sorted, matches)), Counter(map(_sorted, timeouts))


def found(rows: list[dict[str, Any]]) -> Found:
    """Matches as steps with the numbers of their events."""
    return Counter(
        _sorted((name, event["seq"]) for name, events in row.items() if isinstance(events, list) for event in events)
        for row in rows
    )


def _sorted(taken: Any) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(taken))


@dataclass
class _Both:
    """A pattern that grows in both forms."""

    built: Any = ev.Pattern
    steps: list[oracle.Step] = field(default_factory=list)

    def add(self, link: str, name: str, condition: str, modify: Callable[[Any], Any], **given: Any) -> None:
        self.built = modify(getattr(self.built, link)(name, condition))
        self.steps.append(oracle.Step(name, link, CONDITIONS[condition], **given))


@st.composite
def events(draw: st.DrawFn, most: int) -> tuple[dict[str, Any], ...]:
    gaps = draw(st.lists(st.sampled_from([0, 1, 1, 1, 2, 3]), min_size=0, max_size=most))
    made, ts = [], 0
    for i, gap in enumerate(gaps):
        ts += gap
        kind, x = draw(st.sampled_from("aabbc")), draw(st.sampled_from([0, 1, 2, 3, None]))
        made.append({"seq": i, "ts": ts, "kind": kind, "x": x})
    return tuple(made)


@st.composite
def patterns(draw: st.DrawFn) -> tuple[ev.Pattern, list[oracle.Step]]:
    both = _Both()
    n = draw(st.sampled_from([1, 2, 2, 3, 3, 4]))
    for i in range(n):
        before = both.steps[-1] if both.steps else None
        links = ["next", "followed_by", "followed_by", "followed_by_any"]
        # What ends a `not_followed_by` early is a rule of the automaton's states, not of the oracle's.
        ranged = before is not None and before.least != before.most and before.most is not None
        if before is not None and not before.optional and not before.forbids and not ranged:
            links += ["not_next", "not_followed_by"]
        link = "begin" if i == 0 else draw(st.sampled_from(links))
        condition = draw(st.sampled_from(list(CONDITIONS)))
        if link.startswith("not"):
            both.add(link, f"n{i}", condition, lambda pattern: pattern)
            continue
        given, modify = draw(modifiers(before, [step.link for step in both.steps]))
        both.add(link, f"s{i}", condition, modify, **given)
    return both.built, both.steps


@st.composite
def modifiers(draw: st.DrawFn, before: oracle.Step | None, links: list[str]) -> tuple[dict[str, Any], Any]:
    """Arguments of the oracle's step, and the same by the builder."""
    given: dict[str, Any] = {}
    calls: list[tuple[str, tuple[Any, ...]]] = []
    count = draw(st.sampled_from(["one", "one", "one_or_more", "times_or_more", "times", "range"]))
    if count == "range" and "not_followed_by" in links:
        count = "times"
    if count == "one_or_more":
        given, calls = {"most": None}, [("one_or_more", ())]
    elif count == "times_or_more":
        given, calls = {"least": 2, "most": None}, [("times_or_more", (2,))]
    elif count == "times":
        given, calls = {"least": 2, "most": 2}, [("times", (2,))]
    elif count == "range":
        least = draw(st.integers(0, 2))
        given, calls = {"least": max(least, 1), "most": 3, "optional": least == 0}, [("times", (least, 3))]
    after_optional = "not_followed_by" in links and before is not None and before.optional
    is_after_greedy = before is not None and before.greedy
    if is_after_greedy and given.get("optional"):
        given, calls = {"least": 1, "most": 3}, [("times", (1, 3))]
    if not (is_after_greedy or after_optional) and draw(st.integers(0, 3)) == 0:
        given["optional"] = True
        calls.append(("optional", ()))
    if count != "one":
        inner = draw(st.sampled_from(["followed_by", "next", "followed_by_any"]))
        given["inner"] = inner
        calls += [] if inner == "followed_by" else [("consecutive" if inner == "next" else "allow_combinations", ())]
        if inner != "followed_by_any" and draw(st.integers(0, 2)) == 0:
            given["greedy"] = True
            calls.append(("greedy", ()))
        if given["most"] is None and draw(st.integers(0, 3)) == 0:
            until = draw(st.sampled_from(["kind = 'c'", "x > 1"]))
            given["until"] = CONDITIONS[until]
            calls.append(("until", (until,)))

    def modify(pattern: Any) -> Any:
        for name, arguments in calls:
            pattern = getattr(pattern, name)(*arguments)
        return pattern

    return given, modify


@st.composite
def cases(draw: st.DrawFn, *, most: int = 7) -> Case:
    built, steps = draw(patterns())
    window = gap = None
    if steps[-1].link == "not_followed_by" or draw(st.integers(0, 2)) == 0:
        if draw(st.booleans()):
            window = draw(st.integers(1, 6))
            built = built.within(f"{window} seconds")
        else:
            gap = draw(st.integers(1, 3))
            built = built.within(f"{gap} seconds", between="events")
    taken = [step.name for step in steps if not step.forbids]
    to = (draw(st.sampled_from(["to_first", "to_last"])), draw(st.sampled_from(taken)))
    skip = draw(st.sampled_from(["no_skip", "no_skip", "next", "past_last", to]))
    return Case(built, oracle.Pattern(tuple(steps), window, gap), draw(events(most)), skip)
