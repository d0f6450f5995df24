"""Matches of builder patterns by following every way through the events, one partial match at a time.

A partial match knows the events taken so far and where it stands: right after an event, or past ignored ones, waiting
for one more iteration or for a later step. Every way out of a step is open only right after an event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.oracle.detection.pattern import Bound, Event, Pattern, Step


@dataclass(frozen=True)
class Place:
    """`kind` "after": iteration `count` of step `at` was just taken; "again": an event was ignored since, one more
    iteration must come; "for": step `at` must begin; "pending": only time must pass."""

    kind: str
    at: int
    count: int = 0
    nots: tuple[int, ...] = ()
    guard: int | None = None


@dataclass(frozen=True)
class Run:
    place: Place
    taken: tuple[tuple[int, int], ...]  # (step, event)

    @property
    def start(self) -> int:
        return self.taken[0][1]


@dataclass
class Choices:
    """What a partial match may do with an event."""

    # Taking it for (step, iteration), or ignoring it; in the order in which matches of one start are given out.
    ways: list[tuple[int, int] | Place] = field(default_factory=list)
    is_complete: bool = False  # without taking the event
    is_stopped: bool = False


class Matcher:
    def __init__(self, pattern: Pattern, events: list[Event]) -> None:
        self.pattern = pattern
        self.steps = pattern.steps
        self.events = events

    def bound(self, run: Run | None) -> Bound:
        bound: dict[str, list[Event]] = {step.name: [] for step in self.steps}
        for at, event in run.taken if run else ():
            bound[self.steps[at].name].append(self.events[event])
        return bound

    # --- one event ------------------------------------------------------------------------------------------

    def choices(self, place: Place | None, event: Event, bound: Bound) -> Choices:
        """`place` None: the match would begin with the event."""
        made = Choices()
        if place is None:
            self.begin(0, (), None, event, bound, made, may_wait=False)
        elif place.kind == "pending":
            self.wait_out(place.at, event, bound, made)
        elif place.kind == "for":
            self.wait_for(place, event, bound, made)
        else:
            self.iterate(place, event, bound, made)
            if place.kind == "after" and place.count >= self.steps[place.at].least:
                self.leave(place.at, event, bound, made)
        return made

    def iterate(self, place: Place, event: Event, bound: Bound, made: Choices) -> None:
        step = self.steps[place.at]
        if step.most is not None and place.count >= step.most:
            return
        after = self.steps[place.at + 1] if place.at + 1 < len(self.steps) else None
        if after is not None and after.link == "not_followed_by" and after.holds(event, bound):
            made.is_stopped = True
        if step.until is not None and step.until(event, bound):
            return
        if step.holds(event, bound):
            made.ways.append((place.at, place.count + 1))
        if self.may_ignore(step, step.inner, event, bound):
            made.ways.append(Place("again", place.at, place.count))

    def leave(self, at: int, event: Event, bound: Bound, made: Choices) -> None:
        """Past a step that is done, or left out: what comes next looks at the event."""
        step = self.steps[at]
        guard = at if step.comes_first else None
        if step.until is not None and step.until(event, bound):
            guard = None
        self.begin(at + 1, (), guard, event, bound, made)

    def begin(
        self,
        at: int,
        nots: tuple[int, ...],
        guard: int | None,
        event: Event,
        bound: Bound,
        made: Choices,
        *,
        may_wait: bool = True,
    ) -> None:
        if at == len(self.steps):
            return
        step = self.steps[at]
        if step.link == "not_followed_by":
            if at + 1 == len(self.steps):
                self.wait_out(at, event, bound, made)
            else:
                self.begin(at + 1, (*nots, at), guard, event, bound, made)
            return
        if guard is not None and self.steps[guard].holds(event, bound):
            return
        if step.link == "not_next":
            if step.holds(event, bound):
                made.is_stopped = True
            elif at + 1 == len(self.steps):
                made.is_complete = True
            else:
                self.begin(at + 1, nots, None, event, bound, made)
            return
        # Past an ignored event nothing but the step itself is looked at.
        place = Place("for", at, 0, nots, None if step.optional else guard)
        self.wait_for(place, event, bound, made, may_wait=may_wait)
        if step.optional:
            first = at if step.comes_first and not self.ends_early(step, event, bound) else None
            self.begin(at + 1, nots, first, event, bound, made, may_wait=may_wait)

    def ends_early(self, step: Step, event: Event, bound: Bound) -> bool:
        return step.until is not None and step.until(event, bound)

    def wait_for(self, place: Place, event: Event, bound: Bound, made: Choices, *, may_wait: bool = True) -> None:
        step = self.steps[place.at]
        if place.guard is not None and self.steps[place.guard].holds(event, bound):
            return
        if any(self.steps[n].holds(event, bound) for n in place.nots):
            made.is_stopped = True
        if step.holds(event, bound) and not self.ends_early(step, event, bound):
            made.ways.append((place.at, 1))
        if may_wait and self.may_ignore(step, step.link, event, bound):
            made.ways.append(place)

    def wait_out(self, at: int, event: Event, bound: Bound, made: Choices) -> None:
        if self.steps[at].holds(event, bound):
            made.is_stopped = True
        else:
            made.ways.append(Place("pending", at))

    def may_ignore(self, step: Step, link: str, event: Event, bound: Bound) -> bool:
        if link == "followed_by":
            return not step.holds(event, bound)
        return link == "followed_by_any"

    def can_end(self, at: int, count: int, event: Event, bound: Bound) -> bool:
        """Whether a match is complete with an iteration, although it may go on."""
        if count < self.steps[at].least or self.steps[-1].forbids:
            return False
        guard = at if self.steps[at].comes_first else None
        for later in range(at + 1, len(self.steps)):
            step = self.steps[later]
            if step.link == "not_followed_by":
                continue
            if guard is not None and self.steps[guard].holds(event, bound):
                return False
            guard = None
            if step.link == "not_next":
                if step.holds(event, bound):
                    return False
            elif not step.optional:
                return False
            elif step.comes_first and not self.ends_early(step, event, bound):
                guard = later
        return True

    # --- all events -----------------------------------------------------------------------------------------

    def advance(self, run: Run | None, i: int) -> tuple[list[Run], list[Run]]:
        """The partial and the complete matches that come of one with event i."""
        event, bound = self.events[i], self.bound(run)
        made = self.choices(None if run is None else run.place, event, bound)
        before = () if run is None else run.taken
        going, complete = [], []
        for way in made.ways:
            if isinstance(way, Place):
                going.append(Run(way, before))
                continue
            at, count = way
            new = Run(Place("after", at, count), (*before, (at, i)))
            if at + 1 < len(self.steps) or count != self.steps[at].most:
                going.append(new)
            if self.can_end(at, count, event, bound):
                complete.append(new)
        complete += [run] if run is not None and made.is_complete else []
        return ([] if made.is_stopped else going), complete

    def is_over(self, run: Run, now: int) -> bool:
        window, gap = self.pattern.window, self.pattern.gap
        if window is not None and now - self.events[run.start]["ts"] >= window:
            return True
        return gap is not None and now - self.events[run.taken[-1][1]]["ts"] >= gap

    def only_waits(self, run: Run) -> bool:
        """Whether the match is complete when its time is over."""
        place = run.place
        if place.kind != "after":
            return place.kind == "pending"
        later = self.steps[place.at + 1 :]
        done = place.count >= self.steps[place.at].least and all(step.forbids for step in later)
        return done and self.steps[-1].link == "not_followed_by"


def detect(
    pattern: Pattern, events: list[Event], skip: str = "no_skip", step: str | None = None
) -> tuple[list[tuple[tuple[str, int], ...]], list[tuple[tuple[str, int], ...]]]:
    """Matches and timeouts, each as (step, number of the event) in order."""
    matcher = Matcher(pattern, events)
    runs: list[Run] = []
    waiting: list[Run] = []
    matches: list[Run] = []
    timeouts: list[Run] = []
    for i in range(len(events) + 1):
        is_end = i == len(events)
        if events:
            now = max(event["ts"] for event in events) if is_end else events[i]["ts"]
            over = [run for run in runs if matcher.is_over(run, now)]
            runs = [run for run in runs if not matcher.is_over(run, now)]
            waiting += [run for run in over if matcher.only_waits(run)]
            timeouts += [run for run in over if not matcher.only_waits(run)]
            runs, waiting = _settle(matcher, runs, waiting, matches, skip, step, is_end)
        if is_end:
            break
        going: list[Run] = []
        for run in [*runs, None]:
            new, complete = matcher.advance(run, i)
            going += new
            waiting += complete
        runs, waiting = _settle(matcher, going, waiting, matches, skip, step, False)
    names = [step.name for step in pattern.steps]
    shown = [[tuple((names[at], event) for at, event in run.taken) for run in some] for some in (matches, timeouts)]
    return shown[0], shown[1]


def _settle(
    matcher: Matcher,
    runs: list[Run],
    waiting: list[Run],
    matches: list[Run],
    skip: str,
    step: str | None,
    is_end: bool,
) -> tuple[list[Run], list[Run]]:
    """Give out complete matches; with a skip strategy the earliest first, and none before an earlier partial one."""
    if skip == "no_skip":
        matches += waiting
        return runs, []
    while waiting:
        best = min(waiting, key=lambda run: run.start)
        if not is_end and any(run.start < best.start for run in runs):
            break
        waiting.remove(best)
        matches.append(best)
        row = _skip_row(matcher, best, skip, step)
        runs = [run for run in runs if run.start >= row]
        waiting = [run for run in waiting if run.start >= row]
    return runs, waiting


def _skip_row(matcher: Matcher, run: Run, skip: str, step: str | None) -> int:
    if skip == "next":
        return run.start + 1
    if skip == "past_last":
        return run.taken[-1][1] + 1
    mine = list(_events_of(matcher, run, step))
    if not mine:
        return -1
    return mine[0] if skip == "to_first" else mine[-1]


def _events_of(matcher: Matcher, run: Run, step: str | None) -> Iterator[int]:
    for at, event in run.taken:
        if matcher.steps[at].name.lower() == (step or "").lower():
            yield event
