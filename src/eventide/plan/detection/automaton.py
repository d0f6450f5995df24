"""Steps to states: the automaton in which partial matches move, from the last step back to the first.

A state takes an event, ignores it, or proceeds to another state, which then looks at the same event. Loops and
optional steps have a second state for events ignored on the way, which does not proceed: each way out is taken once.
The rules are those of Apache Flink's CEP library, also where they surprise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from eventide.errors import EventideError
from eventide.operators.detection.program import ACCEPTED, IGNORE, STOPPED, TAKE, Edge, Program, Terms
from eventide.plan.detection.formulas import FALSE, TRUE, Formula, both, condition, negation
from eventide.plan.detection.tree import EventPattern, Link, Step, walk_steps

MAX_EDGES = 200_000


class _Kind(Enum):
    NORMAL = 0
    ACCEPT = 1
    STOP = 2
    PENDING = 3


class _Action(Enum):
    TAKE = 0
    IGNORE = 1
    PROCEED = 2


@dataclass(slots=True, eq=False)
class _Transition:
    action: _Action
    target: _State
    formula: Formula


@dataclass(slots=True, eq=False)
class _State:
    kind: _Kind
    name: str
    transitions: list[_Transition] = field(default_factory=list)

    def add(self, action: _Action, target: _State, formula: Formula) -> None:
        self.transitions.append(_Transition(action, target, formula))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a step stands: its sequence, the step behind that, the group around it, and whether that is its first
    iteration."""

    sequence: tuple[Step, ...]
    idx: int
    after: Step | None = None
    group: Step | None = None
    first: bool = True

    @property
    def step(self) -> Step:
        return self.sequence[self.idx]

    @property
    def following(self) -> Step | None:
        return self.sequence[self.idx + 1] if self.idx + 1 < len(self.sequence) else self.after

    @property
    def heads_group(self) -> bool:
        return self.group is not None and self.idx == 0

    @property
    def heads_optional_group(self) -> bool:
        return self.heads_group and self.first and self.group is not None and self.group.optional

    def nots(self) -> Iterator[Step]:
        """The `not_followed_by` steps before it that still hold when it begins."""
        for step in reversed(self.sequence[: self.idx]):
            if step.link is Link.NOT_FOLLOWED_BY:
                yield step
            elif not step.optional:
                return


def compile_pattern(pattern: EventPattern) -> Program:
    """The program of a pattern; its condition k is the k-th of `pattern_conditions`.

    >>> steps = (Step(Link.BEGIN, "a", "x > 0"), Step(Link.FOLLOWED_BY, "b", "x < 0"))
    >>> print(compile_pattern(EventPattern(steps)).dump())
    0  take a if a: go to 1
    1  take b if b: accept
       ignore if not b: go to 1
    """
    writer = _Writer(pattern)
    start = writer.sequence(pattern.steps, _State(_Kind.ACCEPT, ""), None, None, True)
    return _flatten(start, pattern)


def pattern_conditions(pattern: EventPattern) -> list[tuple[Step, str, str]]:
    """All conditions: the step, their name in a listing, their text."""
    found = []
    for step in _with_groups(pattern.steps):
        if step.condition is not None:
            found.append((step, step.name, step.condition))
        if step.until is not None:
            name = step.name or "-".join(inner.name for inner in walk_steps(step.group))
            found.append((step, f"{name}.until", step.until))
    return found


def _with_groups(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _with_groups(step.group)


class _Writer:
    def __init__(self, pattern: EventPattern) -> None:
        self.pattern = pattern
        self.numbers: dict[tuple[int, str], int] = {}
        for k, (step, _, text) in enumerate(pattern_conditions(pattern)):
            self.numbers.setdefault((id(step), text), k)
        self.stops: dict[str, _State] = {}
        self.originals: dict[_State, _State] = {}

    # --- conditions -----------------------------------------------------------------------------------------

    def condition(self, step: Step) -> Formula:
        return TRUE if step.condition is None else condition(self.numbers[id(step), step.condition])

    def until(self, step: Step | None) -> Formula:
        """When a loop ends; never, where it has no such condition."""
        if step is None or step.until is None:
            return FALSE
        return condition(self.numbers[id(step), step.until])

    def taken(self, step: Step, group: Step | None) -> Formula:
        return both(self.condition(step), negation(self.until(group)))

    def ignored(self, place: _Place, *, inner: bool) -> Formula | None:
        """When an event before the step, or between its iterations, is passed over; None: it never is."""
        step, group = place.step, place.group
        link = step.inner_link if inner else step.link
        if place.heads_group:
            assert group is not None
            link = group.inner_link if inner or not place.first else group.link
        if link is Link.FOLLOWED_BY:
            return both(negation(self.condition(step)), negation(self.until(group)))
        return negation(self.until(group)) if link is Link.FOLLOWED_BY_ANY else None

    # --- states ---------------------------------------------------------------------------------------------

    def sequence(
        self, steps: tuple[Step, ...], sink: _State, after: Step | None, group: Step | None, first: bool
    ) -> _State:
        """The first state of steps that lead to `sink`."""
        for idx in range(len(steps) - 1, -1, -1):
            place = _Place(steps, idx, after, group, first)
            if place.step.link is Link.NOT_FOLLOWED_BY:
                if sink.kind in (_Kind.ACCEPT, _Kind.PENDING) and self.pattern.is_bounded:
                    sink = self._pending(place, sink)
            elif place.step.link is Link.NOT_NEXT:
                sink = self._not_next(place, sink)
            else:
                sink = self._convert(place, sink)
        return sink

    def _pending(self, place: _Place, sink: _State) -> _State:
        forbidden = self.taken(place.step, place.group)
        state = _State(_Kind.PENDING, place.step.name) if sink.kind is _Kind.ACCEPT else sink
        _leave_out(state, forbidden)
        state.add(_Action.PROCEED, self._stop(place.step, forbidden), forbidden)
        if state is not sink:
            state.add(_Action.IGNORE, state, negation(forbidden))
        return state

    def _not_next(self, place: _Place, sink: _State) -> _State:
        forbidden = self.taken(place.step, place.group)
        state = _State(_Kind.NORMAL, place.step.name)
        # The end of a pattern is reached with an event: the one that is not forbidden.
        action = _Action.IGNORE if sink.kind is _Kind.ACCEPT else _Action.PROCEED
        state.add(action, sink, negation(forbidden))
        state.add(_Action.PROCEED, self._stop(place.step, forbidden), forbidden)
        return state

    def _stop(self, step: Step, forbidden: Formula) -> _State:
        if step.name not in self.stops:
            state = self.stops[step.name] = _State(_Kind.STOP, step.name)
            state.add(_Action.TAKE, state, forbidden)
        return self.stops[step.name]

    def _add_stops(self, state: _State, place: _Place) -> None:
        for step in place.nots():
            forbidden = self.taken(step, place.group)
            state.add(_Action.PROCEED, self._stop(step, forbidden), forbidden)

    def _add_stop_to_loop(self, state: _State, place: _Place) -> None:
        step = place.following
        if step is not None and step.link is Link.NOT_FOLLOWED_BY:
            forbidden = self.taken(step, place.group)
            state.add(_Action.PROCEED, self._stop(step, forbidden), forbidden)

    def _convert(self, place: _Place, sink: _State) -> _State:
        step = place.step
        if step.is_loop:
            looping = self._loop(place, self._without_nots(place, sink))
            state = self._times(place, looping, sink, step.minimum, step.minimum)
        elif step.is_quantified:
            state = self._times(place, sink, sink, step.minimum, step.maximum or 1)
        else:
            ignored = self.ignored(place, inner=False)
            state = self._single(place, sink, sink, self.taken(step, place.group), ignored, step.optional, True)
        self._add_stops(state, place)
        return state

    def _times(self, place: _Place, sink: _State, proceed: _State, least: int, most: int) -> _State:
        """The iterations of a step up to `sink`; once there were enough of them, `proceed` may come."""
        step = place.step
        go_on = negation(self.until(step))
        taken = both(go_on, self.taken(step, place.group))
        inner = self.ignored(place, inner=True)
        inner = None if inner is None else both(go_on, inner)
        if step.greedy and least != most:
            if step.until is not None:
                self.originals[sink] = _copy(sink)
            _leave_out(sink, taken)
        state = sink
        for _ in range(most - least):
            state = self._single(place, state, proceed, taken, inner, True, False)
            self._add_stop_to_loop(state, place)
        for _ in range(least - 1):
            state = self._single(place, state, proceed, taken, inner, False, False)
            self._add_stop_to_loop(state, place)
        return self._single(place, state, proceed, taken, self.ignored(place, inner=False), step.optional, True)

    def _single(
        self,
        place: _Place,
        sink: _State,
        proceed: _State,
        taken: Formula,
        ignored: Formula | None,
        optional: bool,
        first: bool,
    ) -> _State:
        """One iteration: a state that takes an event and goes to `sink`; an optional one may proceed instead."""
        step = place.step
        if step.group:
            state = self.sequence(step.group, sink, place.following, step, first)
            if optional:
                state.add(_Action.PROCEED, proceed, negation(self.until(place.group)))
            return state
        state = _State(_Kind.NORMAL, step.name)
        sink = self._without_nots(place, sink)
        state.add(_Action.TAKE, sink, taken)
        if optional:
            self._leave(state, proceed, place)
        if ignored is not None:
            waiting = state
            if optional or place.heads_optional_group:
                waiting = _State(_Kind.NORMAL, step.name)
                waiting.add(_Action.TAKE, sink, taken)
                waiting.add(_Action.IGNORE, waiting, ignored)
                self._add_stops(waiting, place)
            state.add(_Action.IGNORE, waiting, ignored)
        return state

    def _leave(self, state: _State, proceed: _State, place: _Place) -> None:
        """The way past a step. What ends a greedy loop may go on as if the loop were not greedy."""
        allowed = negation(self.until(place.group))
        if place.step.greedy and place.step.until is not None:
            until = self.until(place.step)
            state.add(_Action.PROCEED, self.originals.get(proceed, proceed), both(allowed, until))
            allowed = both(allowed, negation(until))
        state.add(_Action.PROCEED, proceed, allowed)

    def _loop(self, place: _Place, sink: _State) -> _State:
        """A state that takes any number of events and may proceed to `sink` before each."""
        step = place.step
        if step.group:
            allowed = negation(self.until(place.group))
            again = _State(_Kind.NORMAL, "")
            head = self.sequence(step.group, again, place.following, step, False)
            head.add(_Action.PROCEED, sink, allowed)
            again.add(_Action.PROCEED, head, allowed)
            return head
        go_on = negation(self.until(step))
        taken = both(go_on, self.taken(step, place.group))
        ignored = self.ignored(place, inner=True)
        state = _State(_Kind.NORMAL, step.name)
        if step.greedy and step.until is not None:
            self.originals[sink] = _copy(sink)
        self._leave(state, sink, place)
        if step.greedy:
            _leave_out(sink, self.taken(step, place.group))
        state.add(_Action.TAKE, state, taken)
        self._add_stop_to_loop(state, place)
        if ignored is not None:
            waiting = _State(_Kind.NORMAL, step.name)
            waiting.add(_Action.TAKE, state, taken)
            waiting.add(_Action.IGNORE, waiting, both(go_on, ignored))
            state.add(_Action.IGNORE, waiting, both(go_on, ignored))
            self._add_stop_to_loop(waiting, place)
        return state

    def _without_nots(self, place: _Place, sink: _State) -> _State:
        """An optional step that took an event ends the `not_followed_by` before it: what follows no longer stops."""
        ended = {step.name for step in place.nots()}
        if not ended or not place.step.optional:
            return sink
        copy = _State(sink.kind, sink.name)
        for transition in sink.transitions:
            target = transition.target
            if transition.action is _Action.PROCEED:
                if target.kind is _Kind.STOP and target.name in ended:
                    continue
                if target.kind is not _Kind.STOP:
                    target = self._without_nots(place, target)
            elif target is sink:
                target = copy
            copy.add(transition.action, target, transition.formula)
        return copy


def _copy(state: _State) -> _State:
    copy = _State(state.kind, state.name)
    for transition in state.transitions:
        target = copy if transition.target is state else transition.target
        copy.add(transition.action, target, transition.formula)
    return copy


def _leave_out(state: _State, taken: Formula) -> None:
    """Keep events from a state: what a greedy loop takes, the step behind it does not."""
    for transition in state.transitions:
        transition.formula = both(transition.formula, negation(taken))


# --- flat ---------------------------------------------------------------------------------------------------


def _flatten(start: _State, pattern: EventPattern) -> Program:
    """The states that can be reached, with edges instead of ways to proceed."""
    steps = tuple(step.name for step in walk_steps(pattern.steps) if not step.link.is_negative)
    number = {name: i for i, name in enumerate(steps)}
    states, edges, n_edges = {start: 0}, list[tuple[Edge, ...]](), 0
    waiting = [start]
    for state in waiting:
        made = []
        for formula, source, transition in _closure(state):
            target = transition.target
            # A match begins with an event that is taken.
            if formula == FALSE or (state is start and transition.action is _Action.IGNORE):
                continue
            if target.kind is _Kind.NORMAL or target.kind is _Kind.PENDING:
                if target not in states:
                    states[target] = len(states)
                    waiting.append(target)
                place = states[target]
            else:
                place = ACCEPTED if target.kind is _Kind.ACCEPT else STOPPED
            takes = transition.action is _Action.TAKE
            accepts = _accepting(target) if takes and place not in (ACCEPTED, STOPPED) else FALSE
            step = number[source.name] if takes and place != STOPPED else 0
            made.append(Edge(TAKE if takes else IGNORE, place, step, _terms(formula), _terms(accepts)))
        edges.append(tuple(made))
        n_edges += len(made)
        if n_edges > MAX_EDGES:
            hint = "lower its bounds, or use one_or_more and test the number in a condition: count(a.*) < 1000"
            raise EventideError(f"the pattern is too large: more than {MAX_EDGES:,} ways to take an event", hint=hint)
    names = tuple(name for _, name, _ in pattern_conditions(pattern))
    pending = frozenset(i for state, i in states.items() if _only_waits(state))
    return Program(steps, names, tuple(edges), pending)


def _closure(state: _State) -> Iterator[tuple[Formula, _State, _Transition]]:
    """All ways to take or ignore an event, also from the states that it may proceed to; each way counts."""
    stack: list[tuple[_State, Formula, frozenset[int]]] = [(state, TRUE, frozenset())]
    while stack:
        here, so_far, passed = stack.pop()
        passed |= {id(here)}
        for transition in here.transitions:
            formula = both(so_far, transition.formula)
            if transition.action is not _Action.PROCEED:
                yield formula, here, transition
            elif formula != FALSE and id(transition.target) not in passed:
                stack.append((transition.target, formula, passed))


def _accepting(state: _State) -> Formula:
    """When a state may proceed to the end."""
    found: Formula = FALSE
    stack: list[tuple[_State, Formula, frozenset[int]]] = [(state, TRUE, frozenset())]
    while stack:
        here, so_far, passed = stack.pop()
        passed |= {id(here)}
        for transition in here.transitions:
            if transition.action is not _Action.PROCEED:
                continue
            formula = both(so_far, transition.formula)
            if transition.target.kind is _Kind.ACCEPT:
                found = found | formula
            elif formula != FALSE and id(transition.target) not in passed:
                stack.append((transition.target, formula, passed))
    return found


def _only_waits(state: _State) -> bool:
    """Whether the match is complete when its time is over: nothing more must come."""
    seen, stack = {id(state)}, [state]
    while stack:
        here = stack.pop()
        if here.kind is _Kind.PENDING:
            return True
        for transition in here.transitions:
            if transition.action is _Action.PROCEED and id(transition.target) not in seen:
                seen.add(id(transition.target))
                stack.append(transition.target)
    return False


def _terms(formula: Formula) -> Terms:
    return tuple(sorted(tuple(sorted(term)) for term in formula))
