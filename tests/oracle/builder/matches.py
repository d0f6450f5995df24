"""Matches of builder patterns by following every way from every event on, each start on its own.

Time moves before an event is looked at. An event that a NOT forbids ends the partial match, whatever else that could do
with it; what the event completes is a match all the same. Right after an event all ways are open, behind an event that
is passed over each goes on alone. Skip strategies choose among the matches at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.oracle.builder.pattern import Bound, Event, Pattern, names
from tests.oracle.builder.ways import End, Path, Way, first_ways, ways_after

Taken = tuple[tuple[str, int], ...]  # (step, number of the event)
Moment = tuple[int, int]  # number of the event; 0: time moves up to it, 1: it is looked at


@dataclass(frozen=True, order=True)
class Complete:
    """A match; of two with one start, the earlier one comes first, then the one with the preferred choices."""

    start: int
    at: Moment
    choices: tuple[tuple[int, int], ...]  # per event: which way, and whether the event was passed over
    taken: Taken


@dataclass
class Matcher:
    """Everything that the pattern finds, without skipping."""

    pattern: Pattern
    events: list[Event]
    end_time: int
    matches: list[Complete] = field(default_factory=list)
    timeouts: list[tuple[Moment, int, Taken]] = field(default_factory=list)  # with their start
    alive_until: dict[int, Moment] = field(default_factory=dict)  # by start

    def run(self) -> None:
        for start, event in enumerate(self.events):
            ways, bound = first_ways(self.pattern.steps), self._bound(())
            is_stopped = any(way.is_stopped(event, bound) for way in ways if not way.is_barred(event, bound))
            for rank, way in enumerate(ways):
                if way.takes(event, bound) and not way.is_barred(event, bound) and not _not_next(way, event, bound):
                    self._take(way.path or (), (), start, ((rank, 0),), is_stopped)

    def _bound(self, taken: Taken) -> Bound:
        bound: dict[str, list[Event]] = {name: [] for name in names(self.pattern.steps)}
        for name, event in taken:
            bound[name].append(self.events[event])
        return bound

    def _take(self, path: Path, before: Taken, i: int, choices: tuple[tuple[int, int], ...], is_stopped: bool) -> None:
        """The event i is taken at a path; a partial match that is stopped does not go on."""
        taken = (*before, (path[-1].step.name, i))
        ways = ways_after(path)
        if any(way.end is End.NOW for way in ways):
            self._complete((i, 1), choices, taken)
        open_ways = [way for way in ways if way.end is not End.NOW]
        if open_ways and not is_stopped:
            self._go_on(open_ways, taken, i + 1, choices)

    def _complete(self, at: Moment, choices: tuple[tuple[int, int], ...], taken: Taken) -> None:
        self.matches.append(Complete(taken[0][1], at, choices, taken))

    def _go_on(self, ways: list[Way], taken: Taken, i: int, choices: tuple[tuple[int, int], ...]) -> None:
        """A partial match meets event i with the ways that are open to it."""
        start = taken[0][1]
        now = self.events[i]["ts"] if i < len(self.events) else self.end_time
        if self._is_over(taken, now):
            self._stays_until(start, (i, 0))
            if any(way.end is End.TIME for way in ways):
                self._complete((i, 0), choices, taken)
            else:
                self.timeouts.append(((i, 0), start, taken))
            return
        self._stays_until(start, (i, 1))
        if i == len(self.events):
            return
        event, bound = self.events[i], self._bound(taken)
        open_ways = [(rank, way) for rank, way in enumerate(ways) if not way.is_barred(event, bound)]
        is_stopped = any(way.is_stopped(event, bound) for _, way in open_ways)
        for rank, way in open_ways:
            if _not_next(way, event, bound):
                continue
            if way.end is End.NEXT_EVENT:
                self._complete((i, 1), (*choices, (rank, 0)), taken)
            if way.takes(event, bound):
                self._take(way.path or (), taken, i, (*choices, (rank, 0)), is_stopped)
            if not is_stopped and way.passes(event, bound):
                self._go_on([way.past(event, bound)], taken, i + 1, (*choices, (rank, 1)))

    def _is_over(self, taken: Taken, now: int) -> bool:
        window, gap = self.pattern.window, self.pattern.gap
        if window is not None and now - self.events[taken[0][1]]["ts"] >= window:
            return True
        return gap is not None and now - self.events[taken[-1][1]]["ts"] >= gap

    def _stays_until(self, start: int, moment: Moment) -> None:
        self.alive_until[start] = max(moment, self.alive_until.get(start, moment))


def _not_next(way: Way, event: Event, bound: Bound) -> bool:
    return any(step.accepts(event, bound) for step in way.not_next)


def detect(
    pattern: Pattern, events: list[Event], skip: str = "no_skip", step: str | None = None, end_time: int | None = None
) -> tuple[list[Taken], list[Taken]]:
    """Matches and timeouts, each as (step, number of the event) in order; at the end time is at `end_time`."""
    latest = max((event["ts"] for event in events), default=0)
    matcher = Matcher(pattern, events, latest if end_time is None else end_time)
    matcher.run()
    if skip == "no_skip":
        return [match.taken for match in matcher.matches], [taken for _, _, taken in matcher.timeouts]
    return _skipping(matcher, skip, step)


def _skipping(matcher: Matcher, skip: str, step: str | None) -> tuple[list[Taken], list[Taken]]:
    """Moment by moment: complete matches are given out, the earliest start first.

    A match waits for partial matches that began before it; then it ends what begins before the event it skips to.
    """
    matches: list[Taken] = []
    timeouts: list[Taken] = []
    waiting: list[Complete] = []
    first = 0  # nothing that begins earlier is left
    for moment in [(i, phase) for i in range(len(matcher.events) + 1) for phase in (0, 1)]:
        timeouts += [taken for at, start, taken in matcher.timeouts if at == moment and start >= first]
        waiting += [match for match in matcher.matches if match.at == moment and match.start >= first]
        while waiting:
            best = min(waiting)
            before = range(first, best.start)
            is_end = moment[0] == len(matcher.events)
            if not is_end and any(matcher.alive_until.get(start, (-1, 0)) > moment for start in before):
                break
            waiting.remove(best)
            matches.append(best.taken)
            first = max(first, _skip_to(best.taken, skip, step))
            waiting = [match for match in waiting if match.start >= first]
    return matches, timeouts


def _skip_to(taken: Taken, skip: str, step: str | None) -> int:
    """The first event with which a match may begin after this one."""
    if skip == "next":
        return taken[0][1] + 1
    if skip == "past_last":
        return taken[-1][1] + 1
    mine = [event for name, event in taken if name.lower() == (step or "").lower()]
    if not mine:
        return 0
    return mine[0] if skip == "to_first" else mine[-1]
