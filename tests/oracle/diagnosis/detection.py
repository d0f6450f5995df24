"""The longest partial match of a builder pattern: the first steps that events have a match of, most steps first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tests.oracle.detection.matches import detect
from tests.oracle.detection.pattern import Event, Pattern, Step


def missing_events(pattern: Pattern, events: Sequence[Event], end_time: int) -> int | None:
    """How many events the longest partial match needs at least; None: there is a match.

    >>> from tests.oracle.detection.pattern import Step
    >>> steps = tuple(Step(kind, "followed_by", lambda e, b, kind=kind: e["kind"] == kind) for kind in "abc")
    >>> missing_events(Pattern(steps), [{"ts": 0, "kind": "a"}, {"ts": 1, "kind": "c"}], 1)
    2
    """
    if detect(pattern, list(events), "no_skip", None, end_time)[0]:
        return None
    for steps, missing in reversed(list(_beginnings(pattern.steps))):
        if detect(replace(pattern, steps=steps), list(events), "no_skip", None, end_time)[0]:
            return missing
    return sum(map(_least, pattern.steps))


def _beginnings(steps: tuple[Step, ...], behind: int = 0) -> Iterator[tuple[tuple[Step, ...], int]]:
    """Steps cut off behind each event that one of them must take, and how many events are needed from there."""
    for i, step in enumerate(steps):
        if step.forbids:
            continue
        rest = behind + sum(map(_least, steps[i + 1 :]))
        if step.group:
            yield from (((*steps[:i], *cut), missing) for cut, missing in _in_group(step, rest))
            continue
        for n in range(1, step.least):
            yield (*steps[:i], _exactly(step, n)), rest + step.least - n
        yield (*steps[:i], replace(step, optional=False)), rest


def _in_group(step: Step, rest: int) -> Iterator[tuple[tuple[Step, ...], int]]:
    one = sum(map(_least, step.group))
    for k in range(step.least):
        for cut, missing in _beginnings(step.group, rest + (step.least - k - 1) * one):
            last = replace(_exactly(step, 1), group=cut, link=step.inner if k else step.link)
            yield ((_exactly(step, k), last) if k else (last,)), missing


def _exactly(step: Step, n: int) -> Step:
    return replace(step, least=n, most=n, optional=False, greedy=False)


def _least(step: Step) -> int:
    if step.forbids or step.optional:
        return 0
    return step.least * (sum(map(_least, step.group)) if step.group else 1)
