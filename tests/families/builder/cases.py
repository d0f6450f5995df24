"""Random builder patterns with random events, for the product and the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import eventide as ev
from tests.oracle.builder import pattern as oracle
from tests.oracle.builder.matches import detect as oracle_detect

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
SCHEMA = pa.schema({"seq": pa.int64(), "ts": pa.int64(), "key": pa.int32(), "kind": pa.string(), "x": pa.int32()})
LINKS = ["next", "followed_by", "followed_by", "followed_by_any", "not_next", "not_followed_by"]
UNTIL = ["kind = 'c'", "x > 1"]


@dataclass(frozen=True, repr=False)
class Case:
    """A pattern in both forms, the events in order, and what to do after a match."""

    built: ev.Pattern
    steps: oracle.Pattern
    events: tuple[dict[str, Any], ...]
    skip: str | tuple[str, str] = "no_skip"
    closes: bool = False  # the end of the events is the end of time
    features: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        events = " ".join(f"{e['kind']}{'' if e['x'] is None else e['x']}@{e['ts']}/{e['key']}" for e in self.events)
        return f"{self.built} skip={self.skip} {events}"

    def table(self) -> pa.Table:
        return pa.Table.from_pylist(list(reversed(self.events)), schema=SCHEMA)

    def detect(self, events: Any) -> ev.Detection:
        options: dict[str, Any] = {"partition_by": "key", "sequence": "seq", "ts": "ts", "ts_unit": "s"}
        if self.closes:
            options["close_at_end"] = True
        return ev.detect(events, self.built, skip=self.skip, **options)

    def expected(self) -> tuple[Found, Found]:
        """Matches and timeouts, by the numbers of their events."""
        skip, step = (self.skip, None) if isinstance(self.skip, str) else self.skip
        end_time = 10**9 if self.closes else max((event["ts"] for event in self.events), default=0)
        totals: tuple[Found, Found] = (Counter(), Counter())
        for key in sorted({event["key"] for event in self.events}):
            mine = [event for event in self.events if event["key"] == key]
            for total, some in zip(totals, oracle_detect(self.steps, mine, skip, step, end_time), strict=True):
                total.update(_sorted((name, mine[i]["seq"]) for name, i in taken) for taken in some)
        return totals


def found(rows: list[dict[str, Any]]) -> Found:
    """Matches as steps with the numbers of their events."""
    return Counter(
        _sorted((name, event["seq"]) for name, events in row.items() if isinstance(events, list) for event in events)
        for row in rows
    )


def _sorted(taken: Any) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(taken))


@st.composite
def events(draw: st.DrawFn, most: int) -> tuple[dict[str, Any], ...]:
    gaps = draw(st.lists(st.sampled_from([0, 1, 1, 1, 2, 3]), min_size=draw(st.sampled_from([0, 3, 5])), max_size=most))
    keys = draw(st.sampled_from([[0], [0], [0, 0, 1]]))
    made, ts = [], 0
    for i, gap in enumerate(gaps):
        ts += gap
        kind, x = draw(st.sampled_from("aabbc")), draw(st.sampled_from([0, 1, 2, 3, None]))
        made.append({"seq": i, "ts": ts, "key": draw(st.sampled_from(keys)), "kind": kind, "x": x})
    return tuple(made)


@dataclass
class _Both:
    """A pattern that grows in both forms. What the builder refuses is left out."""

    built: Any = ev.Pattern
    steps: list[oracle.Step] = field(default_factory=list)

    def add(self, method: str, arguments: tuple[Any, ...], step: oracle.Step) -> bool:
        try:
            self.built = getattr(self.built, method)(*arguments)
        except ev.EventideError:
            return False
        self.steps.append(step)
        return True

    def modify(self, method: str, *arguments: Any, **changes: Any) -> None:
        try:
            self.built = getattr(self.built, method)(*arguments)
        except ev.EventideError:
            return
        self.steps[-1] = replace(self.steps[-1], **changes)


def _last(events: list[dict[str, Any]]) -> Any:
    return events[-1]["x"] if events else None


def _about(name: str) -> dict[str, oracle.Condition]:
    """Conditions on the events taken for a step so far."""

    def greater(e: oracle.Event, b: oracle.Bound) -> bool:
        return e["x"] is not None and _last(b[name]) is not None and e["x"] > _last(b[name])

    return {
        f"x > {name}.x": greater,
        f"kind = 'a' AND count({name}.*) < 2": lambda e, b: e["kind"] == "a" and len(b[name]) < 2,
        f"coalesce(sum({name}.x), 0) < 3": lambda e, b: sum(s["x"] or 0 for s in b[name]) < 3,
    }


@dataclass
class _Names:
    """The steps so far, and how many more there may be."""

    left: int
    taking: list[str] = field(default_factory=list)

    def new(self) -> str:
        self.left -= 1
        return f"s{len(self.taking)}"


def _about_own(name: str) -> dict[str, oracle.Condition]:
    """Conditions of a step that name itself: the event that is tested is the last of its events."""

    def rises(e: oracle.Event, b: oracle.Bound) -> bool:
        before = _last(b[name][:-1])
        return before is None or (e["x"] is not None and e["x"] > before)

    def as_first(e: oracle.Event, b: oracle.Bound) -> bool:
        first = b[name][0]["x"]
        return e["x"] is not None and first is not None and e["x"] >= first

    def as_second(e: oracle.Event, b: oracle.Bound) -> bool:
        second = b[name][1]["x"] if len(b[name]) > 1 else None
        return second is None or e["x"] == second

    def is_least(e: oracle.Event, b: oracle.Bound) -> bool:
        return e["x"] is not None and e["x"] == min(s["x"] for s in b[name] if s["x"] is not None)

    return {
        f"{name}.kind = 'a'": CONDITIONS["kind = 'a'"],
        f"{name}.x > 1 AND last({name}.kind) <> 'b'": lambda e, b: bool(e["x"] and e["x"] > 1) and e["kind"] != "b",
        f"last({name}.x, 1) IS NULL OR {name}.x > last({name}.x, 1)": rises,
        f"x >= first({name}.x)": as_first,
        f"first({name}.x, 1) IS NULL OR x = first({name}.x, 1)": as_second,
        f"coalesce(sum({name}.x), 0) < 4": lambda e, b: sum(s["x"] or 0 for s in b[name]) < 4,
        f"count({name}.*) + count({name}.x) <= 3": lambda e, b: (
            len(b[name]) + sum(s["x"] is not None for s in b[name]) <= 3
        ),
        f"{name}.x = min({name}.x)": is_least,
    }


def _condition(draw: st.DrawFn, names: _Names, own: str) -> tuple[str, oracle.Condition]:
    known = dict(CONDITIONS)
    if names.taking and draw(st.integers(0, 5)) == 0:
        known = _about(draw(st.sampled_from(names.taking)))
    elif draw(st.integers(0, 4)) == 0:
        known = _about_own(own)
    text = draw(st.sampled_from(list(known)))
    return text, known[text]


def _draw_steps(draw: st.DrawFn, names: _Names, depth: int) -> _Both:
    both = _Both()
    for i in range(draw(st.sampled_from([1, 2, 2, 3, 3, 4] if depth == 2 else [1, 2, 2, 3]))):
        if both.steps and names.left <= 0:
            break
        link = "begin" if not both.steps else draw(st.sampled_from(LINKS))
        if link.startswith("not"):
            absent = f"n{depth}{names.left}{i}"
            text, holds = _condition(draw, names, absent)
            both.add(link, (absent, text), oracle.Step(absent, link, holds))
            names.left -= 1
            continue
        is_added = False
        if depth and names.left > 1 and draw(st.integers(0, 3)) == 0:
            known = list(names.taking)
            inner = _draw_steps(draw, names, depth - 1)
            # Groups inside groups that may be empty have more ways through them than the oracle can walk.
            if depth == 2 or not oracle.has_empty((oracle.Step("", link, group=tuple(inner.steps)),)):
                is_added = both.add(link, (inner.built,), oracle.Step("", link, group=tuple(inner.steps)))
            names.taking = names.taking if is_added else known
        if not is_added:
            name = names.new()
            text, holds = _condition(draw, names, name)
            both.add(link, (name, text), oracle.Step(name, link, holds))
            names.taking.append(name)
        _draw_modifiers(draw, both)
    return both


def _draw_modifiers(draw: st.DrawFn, both: _Both) -> None:
    match draw(st.sampled_from(["one", "one", "one_or_more", "times_or_more", "times", "range"])):
        case "one_or_more":
            both.modify("one_or_more", most=None)
        case "times_or_more":
            both.modify("times_or_more", 2, least=2, most=None)
        case "times":
            both.modify("times", 2, least=2, most=2)
        case "range":
            least = draw(st.integers(0, 2))
            both.modify("times", least, 3, least=max(least, 1), most=3, optional=least == 0)
    if draw(st.integers(0, 3)) == 0:
        both.modify("optional", optional=True)
    match draw(st.sampled_from(["followed_by", "next", "followed_by_any"])):
        case "next":
            both.modify("consecutive", inner="next")
        case "followed_by_any":
            both.modify("allow_combinations", inner="followed_by_any")
    if draw(st.integers(0, 2)) == 0:
        both.modify("greedy", greedy=True)
    if draw(st.integers(0, 3)) == 0:
        own = both.steps[-1].name
        known = CONDITIONS | (_about_own(own) if own else {})
        until = draw(st.sampled_from([*UNTIL, *([f"coalesce(sum({own}.x), 0) < 4"] if own else [])]))
        both.modify("until", until, until=known[until])


def _features(steps: tuple[oracle.Step, ...], depth: int = 0) -> Iterator[str]:
    for step in steps:
        yield step.link
        if step.group:
            yield "group" if depth == 0 else "nested group"
            yield from _features(step.group, depth + 1)
        if step.most is None:
            yield "loop"
        elif step.most > 1:
            yield "times"
        yield from [name for name in ("optional", "greedy", "until") if getattr(step, name)]


@st.composite
def cases(draw: st.DrawFn, *, most: int = 7) -> Case:
    names = _Names(draw(st.sampled_from([2, 3, 4, 5])))
    both = _draw_steps(draw, names, 2)
    built, steps = both.built, tuple(both.steps)
    window = gap = None
    if steps[-1].link == "not_followed_by" or draw(st.integers(0, 2)) == 0:
        bounds = draw(st.sampled_from(["match", "events", "both"]))
        if bounds != "events":
            window = draw(st.integers(1, 6))
            built = built.within(f"{window} seconds")
        if bounds != "match":
            gap = draw(st.integers(1, 3))
            built = built.within(f"{gap} seconds", between="events")
    to = (draw(st.sampled_from(["to_first", "to_last"])), draw(st.sampled_from(list(oracle.names(steps)))))
    skip = draw(st.sampled_from(["no_skip", "no_skip", "next", "past_last", to]))
    features = [*_features(steps), skip if isinstance(skip, str) else skip[0]]
    features += ["within"] if window is not None else []
    features += ["within events"] if gap is not None else []
    closes = draw(st.integers(0, 3)) == 0
    return Case(built, oracle.Pattern(steps, window, gap), draw(events(most)), skip, closes, tuple(features))
