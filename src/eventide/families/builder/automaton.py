"""Steps to states: the automaton in which partial matches move, built from the last step back to the first.

A partial match waits for an event at a place, or chooses one of several, which then look at the same event. What lies
on the way there - a NOT, a greedy step left behind - counts until an event is taken: a state of the program is a
place together with these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

from eventide.errors import EventideError
from eventide.families.builder.formulas import FALSE, TRUE, Formula, both, condition, negation
from eventide.families.builder.program import ACCEPTED, IGNORE, STOPPED, TAKE, Edge, Program, Terms
from eventide.families.builder.syntax import EventPattern, Link, Step, every_step, walk_steps

MAX_EDGES = 200_000


@dataclass(slots=True, eq=False)
class _Wait:
    """Where an event is taken for a step, leading to `sink`, or passed over."""

    name: str
    taken: Formula
    passed: Formula
    sink: _State | None = None


@dataclass(slots=True, eq=False)
class _Choice:
    """Where a partial match goes on, in the order of preference.

    Behind an iteration of a group that took no event only `onward` is left, where the group needs the iteration.
    """

    ways: list[_Way] = field(default_factory=list)
    onward: _State | None = None


@dataclass(slots=True, eq=False)
class _End:
    """Where nothing more must come."""


_State: TypeAlias = _Wait | _Choice | _End


@dataclass(frozen=True, slots=True)
class _Rival:
    """What a greedy step that was left behind would take, and pass over."""

    taken: Formula
    passed: Formula


@dataclass(frozen=True, slots=True)
class _Way:
    """From a choice to a state: past a NOT, past a greedy step, or past a step that is left out."""

    target: _State
    link: Link | None = None  # of the NOT
    forbidden: Formula = FALSE  # by it, or by what stands behind a repeated step
    rival: _Rival | None = None
    leaves_out: bool = False
    enters: _Choice | None = None  # behind the iteration of a group that begins here


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a step stands: its sequence, and the group around it with whether this is the group's first iteration."""

    sequence: tuple[Step, ...]
    idx: int
    around: _Place | None = None
    first: bool = True

    @property
    def step(self) -> Step:
        return self.sequence[self.idx]

    def link(self, *, inner: bool) -> Link:
        """How an event of the step follows the one before it; at the head of a group that is the group's affair."""
        if inner:
            return self.step.inner_link
        if self.step.link is Link.BEGIN and self.around is not None:
            return self.around.link(inner=not self.first)
        return self.step.link

    def nots_behind(self) -> Iterator[Step]:
        """The `not_followed_by` steps directly behind the step, also past the end of a group."""
        for step in self.sequence[self.idx + 1 :]:
            if not step.link.is_negative:
                return
            if step.link is Link.NOT_FOLLOWED_BY:
                yield step
        if self.around is not None:
            yield from self.around.nots_behind()


def compile_pattern(pattern: EventPattern) -> Program:
    """The program of a pattern; its condition k is the k-th of `pattern_conditions`.

    >>> steps = (Step(Link.BEGIN, "a", "x > 0"), Step(Link.FOLLOWED_BY, "b", "x < 0"))
    >>> print(compile_pattern(EventPattern(steps)).dump())
    0  take a if a: go to 1
    1  take b if b: accept
       ignore if not b: go to 1
    """
    start = _Writer(pattern).sequence(pattern.steps, _End(), None, True)
    return _Flattener(_Here(start), pattern).program()


def pattern_conditions(pattern: EventPattern) -> list[tuple[Step, str, str]]:
    """All conditions: the step, their name in a listing, their text."""
    found = []
    for step in every_step(pattern.steps):
        if step.condition is not None:
            found.append((step, step.name, step.condition))
        if step.until is not None:
            name = step.name or "-".join(inner.name for inner in walk_steps(step.group))
            found.append((step, f"{name}.until", step.until))
    return found


class _Writer:
    def __init__(self, pattern: EventPattern) -> None:
        self.numbers: dict[tuple[int, str], int] = {}
        for k, (step, _, text) in enumerate(pattern_conditions(pattern)):
            self.numbers.setdefault((id(step), text), k)

    # --- conditions -----------------------------------------------------------------------------------------

    def condition(self, step: Step) -> Formula:
        return TRUE if step.condition is None else condition(self.numbers[id(step), step.condition])

    def until(self, place: _Place | None) -> Formula:
        """When the step, or a group around it, takes no more events."""
        if place is None:
            return FALSE
        step, around = place.step, self.until(place.around)
        return around if step.until is None else around | condition(self.numbers[id(step), step.until])

    def passed(self, place: _Place, *, inner: bool) -> Formula:
        """When an event before the step, or between its iterations, is passed over."""
        go_on = negation(self.until(place if inner else place.around))
        match place.link(inner=inner):
            case Link.FOLLOWED_BY:
                return both(negation(self.condition(place.step)), go_on)
            case Link.FOLLOWED_BY_ANY:
                return go_on
            case _:
                return FALSE

    # --- states ---------------------------------------------------------------------------------------------

    def sequence(self, steps: tuple[Step, ...], sink: _State, around: _Place | None, first: bool) -> _State:
        """The first state of steps that lead to `sink`."""
        for idx in range(len(steps) - 1, -1, -1):
            place = _Place(steps, idx, around, first)
            if place.step.link.is_negative:
                sink = _Choice([_Way(sink, place.step.link, self.condition(place.step))])
            else:
                sink = self._step(place, sink)
        return sink

    def _step(self, place: _Place, sink: _State) -> _State:
        """The iterations of a step, from the last one back to the first."""
        step = place.step
        forbidden = reduce(Formula.union, map(self.condition, place.nots_behind()), FALSE)
        state = sink
        if step.is_loop:
            state = loop = _Choice()
            again = self._iteration(place, loop, None, inner=True)
            loop.ways += [_Way(again, forbidden=forbidden), _Way(sink, rival=_rival(step, again))]
        for _ in range((step.maximum or step.minimum) - step.minimum):
            again = self._iteration(place, state, None, inner=True)
            state = _Choice([_Way(again, forbidden=forbidden), _Way(sink, rival=_rival(step, again))])
        for _ in range(step.minimum - 1):
            state = self._iteration(place, state, sink, inner=True)
            if forbidden != FALSE:
                state = _Choice([_Way(state, forbidden=forbidden)])
        state = self._iteration(place, state, None if step.optional else sink, inner=False)
        if step.optional:
            state = _Choice([_Way(state), _Way(sink, rival=_rival(step, state), leaves_out=True)])
        return state

    def _iteration(self, place: _Place, behind: _State, onward: _State | None, *, inner: bool) -> _State:
        """One iteration, leading to what is behind it; `onward`: where to without an event, None: not at all."""
        step = place.step
        if _can_be_empty(step):
            behind = _Choice([_Way(behind)], onward)
            return _Choice([_Way(self.sequence(step.group, behind, place, not inner), enters=behind)])
        if step.group:
            return self.sequence(step.group, behind, place, not inner)
        taken = both(self.condition(step), negation(self.until(place)))
        return _Wait(step.name, taken, self.passed(place, inner=inner), behind)


def _can_be_empty(step: Step) -> bool:
    """Whether an iteration of it, which is one of a group, may take no event."""
    return bool(step.group) and all(
        inner.link.is_negative or inner.optional or _can_be_empty(inner) for inner in step.group
    )


def _rival(step: Step, state: _State) -> _Rival | None:
    return _Rival(state.taken, state.passed) if step.greedy and isinstance(state, _Wait) else None


# --- flat ---------------------------------------------------------------------------------------------------

_TIME = _Wait("", FALSE, TRUE)  # where nothing but the end of the time is waited for


@dataclass(frozen=True, slots=True)
class _Here:
    """A state with what counts until an event is taken, and behind a choice what must hold of the event itself."""

    state: _State
    forbidden: Formula = FALSE
    rivals: frozenset[_Rival] = frozenset()
    formula: Formula = TRUE
    last: Link | None = None  # of the NOT just passed, as long as nothing is left out behind it

    def along(self, way: _Way) -> _Here:
        rivals = self.rivals if way.rival is None else self.rivals | {way.rival}
        last = None if way.leaves_out else way.link or self.last
        if way.link is Link.NOT_NEXT:
            formula = both(self.formula, negation(way.forbidden))
            return _Here(way.target, self.forbidden, rivals, formula, last)
        return _Here(way.target, self.forbidden | way.forbidden, rivals, self.formula, last)

    @property
    def allowed(self) -> Formula:
        """When the event may come here: no greedy step that was left behind wants it."""
        return reduce(both, (negation(rival.taken) for rival in self.rivals), self.formula)

    def past(self, state: _Wait) -> Iterator[tuple[Formula, _Here]]:
        """Behind an event that is passed over; a rival stays as long as it passes over the event, too."""
        made = {frozenset[_Rival](): both(self.allowed, state.passed)}
        for rival in self.rivals:
            stays = {rivals | {rival}: both(formula, rival.passed) for rivals, formula in made.items()}
            made = stays | {rivals: both(formula, negation(rival.passed)) for rivals, formula in made.items()}
        for rivals, formula in made.items():
            yield formula, _Here(state, self.forbidden, rivals)

    def reached(self) -> tuple[list[_Here], Formula]:
        """Where it leads, in the order of preference and each way counted; and when `not_next` forbids an event."""
        found: list[_Here] = []
        stopped: Formula = FALSE
        stack: list[tuple[_Here, frozenset[_Choice]]] = [(self, frozenset())]
        while stack:
            here, entered = stack.pop()
            if not isinstance(here.state, _Choice):
                found.append(here)
                continue
            ways = here.state.ways
            if here.state in entered:
                ways = [] if here.state.onward is None else [_Way(here.state.onward)]
            for way in reversed(ways):
                if way.link is Link.NOT_NEXT:
                    stopped |= both(here.allowed, way.forbidden)
                stack.append((here.along(way), entered if way.enters is None else entered | {way.enters}))
        return found, stopped

    @property
    def is_complete(self) -> bool:
        return isinstance(self.state, _End) and self.last is None


class _Flattener:
    """The states that can be reached, with edges instead of choices."""

    def __init__(self, start: _Here, pattern: EventPattern) -> None:
        self._start = start
        self._pattern = pattern
        # A beginning of a pattern may hold a step twice: in an iteration that is whole, and in one that is cut off.
        names = (step.name for step in walk_steps(pattern.steps) if not step.link.is_negative)
        self._steps = tuple(dict.fromkeys(names))
        self._numbers = {start: 0}
        self._waiting = [start]
        self._pending: set[int] = set()

    def program(self) -> Program:
        states, n_edges = list[tuple[Edge, ...]](), 0
        for here in self._waiting:
            states.append(tuple(self._edges(here)))
            n_edges += len(states[-1])
            if n_edges > MAX_EDGES:
                message = f"the pattern is too large: more than {MAX_EDGES:,} ways to take an event"
                hint = "lower its bounds, or use one_or_more and test the number in a condition: count(a.*) < 1000"
                raise EventideError(message, hint=hint)
        names = tuple(name for _, name, _ in pattern_conditions(self._pattern))
        return Program(self._steps, names, tuple(states), frozenset(self._pending))

    def _number(self, here: _Here) -> int:
        if here not in self._numbers:
            self._numbers[here] = len(self._numbers)
            self._waiting.append(here)
        return self._numbers[here]

    def _edges(self, here: _Here) -> Iterator[Edge]:
        found, stopped = here.reached()
        for at in found:
            state = at.state
            if isinstance(state, _End) and at.last is Link.NOT_NEXT and here is not self._start:
                yield Edge(IGNORE, ACCEPTED, 0, _terms(at.allowed))
            if isinstance(state, _End) and at.last is Link.NOT_FOLLOWED_BY:
                state = _TIME
            if not isinstance(state, _Wait):
                continue
            stopped |= both(at.allowed, at.forbidden)
            if state is _TIME:
                self._pending.add(self._numbers[here])
            taken = both(at.allowed, state.taken)
            if taken != FALSE and state.sink is not None:
                yield self._take(self._steps.index(state.name), taken, state.sink)
            # A match begins with an event that is taken.
            for formula, target in at.past(state) if here is not self._start else ():
                if formula != FALSE:
                    yield Edge(IGNORE, self._number(target), 0, _terms(formula))
        if stopped != FALSE:
            yield Edge(IGNORE, STOPPED, 0, _terms(stopped))

    def _take(self, step: int, taken: Formula, sink: _State) -> Edge:
        target = _Here(sink)
        completes = [at.is_complete for at in target.reached()[0]]
        if all(completes):
            return Edge(TAKE, ACCEPTED, step, _terms(taken))
        return Edge(TAKE, self._number(target), step, _terms(taken), _terms(TRUE) if any(completes) else ())


def _terms(formula: Formula) -> Terms:
    return tuple(sorted(tuple(sorted(term)) for term in formula))
