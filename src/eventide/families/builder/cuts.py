"""The beginnings of a builder pattern: what a partial match may have matched of it, in groups as outside of them.

A beginning is a sequence of steps itself, cut off behind an event that a step must take. A step that repeats is cut
behind each of them, a group inside each iteration that it must have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from eventide.families.builder.syntax import Step, walk_steps

Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Needed:
    """The step that lacks an event, or where none does, that must not occur; and the NOTs on the way there."""

    step: Step
    nots: Steps


@dataclass(frozen=True, slots=True)
class Cut:
    """Steps up to a cut, and what comes behind it, with links as they count from there.

    `certain`: whatever begins with a longer beginning begins with this one, too; not so where a step may be left out.
    """

    steps: Steps
    behind: Steps
    certain: bool = True

    @property
    def missing(self) -> int:
        """How many events are needed behind it at least."""
        return sum(map(least_events, self.behind))

    @property
    def needed(self) -> Needed | None:
        """What is needed next, or may come next where nothing must; None: nothing can."""
        may_come = (step for step in walk_steps(self.behind) if not step.link.is_negative)
        return _next(self.behind) or next((Needed(step, ()) for step in may_come), None)


def cuts_of(steps: Steps) -> list[Cut]:
    """Every beginning, from none to the longest.

    >>> from eventide.families.builder.syntax import Link
    >>> group = (Step(Link.BEGIN, "b"), Step(Link.NEXT, "c"))
    >>> made = cuts_of((Step(Link.BEGIN, "a"), Step(Link.NEXT, group=group, minimum=2, maximum=2)))
    >>> [(cut.missing, cut.needed.step.name if cut.needed else None) for cut in made]
    [(5, 'a'), (4, 'b'), (3, 'c'), (2, 'b'), (1, 'c'), (0, None)]
    """
    return [Cut((), steps), *_cuts(steps, ())]


def least_events(step: Step) -> int:
    """How many events a step takes at least."""
    if step.link.is_negative or step.optional:
        return 0
    return step.minimum * (sum(map(least_events, step.group)) if step.group else 1)


def _next(steps: Steps, nots: Steps = ()) -> Needed | None:
    for step in steps:
        if step.link.is_negative:
            nots = (*nots, step)
        elif least_events(step) and not step.group:
            return Needed(step, nots)
        elif least_events(step):
            # How the first step of a group follows is the group's affair.
            head, *others = step.group
            found = _next((replace(head, link=step.link), *others), nots)
            assert found is not None
            return found
    return Needed(nots[0], nots) if nots else None


def _cuts(steps: Steps, behind: Steps) -> Iterator[Cut]:
    for i, step in enumerate(steps):
        if step.link.is_negative:
            continue
        rest = (*steps[i + 1 :], *behind)
        inside = _iterations(step, rest) if step.group else _events(step, rest)
        for cut in inside:
            yield Cut((*steps[:i], *cut.steps), cut.behind, cut.certain and not step.optional)


def _events(step: Step, behind: Steps) -> Iterator[Cut]:
    for n in range(1, step.minimum):
        yield Cut((_exactly(step, n),), (_more(step, n), *behind))
    yield Cut((replace(step, optional=False),), behind)


def _iterations(step: Step, behind: Steps) -> Iterator[Cut]:
    for k in range(step.minimum):
        more = (_more(step, k + 1), *behind) if k + 1 < step.minimum else behind
        before = (_exactly(step, k),) if k else ()
        last = replace(_exactly(step, 1), link=step.inner_link if k else step.link)
        for cut in _cuts(step.group, more):
            yield Cut((*before, replace(last, group=cut.steps)), cut.behind, cut.certain)


def _exactly(step: Step, n: int) -> Step:
    return replace(step, minimum=n, maximum=n, optional=False, greedy=False)


def _more(step: Step, n: int) -> Step:
    """The iterations that a step must have behind the first n."""
    return replace(step, link=step.inner_link, minimum=step.minimum - n, optional=False)
