"""The longest partial match of a builder pattern: of the places that its ways lead to, those that events lead to, too.

The ways of the whole pattern say which places there are and how many events each still needs. A partial match is a
match of the pattern up to such a place, where the steps around it have as few events as they must take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.oracle.builder.matches import detect
from tests.oracle.builder.pattern import Event, Pattern, Step
from tests.oracle.builder.ways import Path, Way, first_ways, ways_after


def missing_events(pattern: Pattern, events: Sequence[Event], end_time: int) -> int | None:
    """How many events the longest partial match needs at least; None: there is a match.

    >>> from tests.oracle.builder.pattern import Step
    >>> steps = tuple(Step(kind, "followed_by", lambda e, b, kind=kind: e["kind"] == kind) for kind in "abc")
    >>> missing_events(Pattern(steps), [{"ts": 0, "kind": "a"}, {"ts": 1, "kind": "c"}], 1)
    2
    """

    def has_match(steps: tuple[Step, ...]) -> bool:
        return bool(detect(replace(pattern, steps=steps), list(events), "no_skip", None, end_time)[0])

    if has_match(pattern.steps):
        return None
    missing = _missing(pattern.steps)
    nothing = missing.pop(None)
    return min((n for path, n in missing.items() if path is not None and has_match(_up_to(path))), default=nothing)


def _missing(steps: tuple[Step, ...]) -> dict[Path | None, int]:
    """By place how many events lie on the shortest way from there to the end; None is the place before all events."""
    ways: dict[Path | None, list[Way]] = {None: first_ways(steps)}
    unseen: list[Path | None] = [None]
    while unseen:
        for way in ways[unseen.pop()]:
            if way.path is not None and way.path not in ways and _is_needed(way.path):
                ways[way.path] = ways_after(way.path)
                unseen.append(way.path)
    found = {path: 0 for path, onward in ways.items() if any(way.end is not None for way in onward)}
    while True:
        # One event more than the nearest place behind it.
        further = {
            path: 1 + min(found[way.path] for way in onward if way.path in found)
            for path, onward in ways.items()
            if path not in found and any(way.path in found for way in onward)
        }
        if not further:
            return found
        found |= further


def _is_needed(path: Path) -> bool:
    """Whether no step on the path has more iterations than it must have."""
    return all(frame.count <= frame.step.least for frame in path)


def _up_to(path: Path) -> tuple[Step, ...]:
    """The steps of the whole pattern, cut off behind the event that is taken at a path."""
    *around, last = path
    cut = replace(last.step, optional=False)
    if last.count < last.step.least:
        cut = _exactly(last.step, last.count)
    steps = (*last.steps[: last.at], cut)
    for frame in reversed(around):
        link = frame.step.inner if frame.count > 1 else frame.step.link
        before = (_exactly(frame.step, frame.count - 1),) if frame.count > 1 else ()
        steps = (*frame.steps[: frame.at], *before, replace(_exactly(frame.step, 1), group=steps, link=link))
    return steps


def _exactly(step: Step, n: int) -> Step:
    return replace(step, least=n, most=n, optional=False, greedy=False)
