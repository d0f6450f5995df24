"""The deterministic automaton of a pattern: a state is everything that decides how a partial trend may go on.

A trend is a sequence of events, however they are bound, so a state holds all standings of one sequence. Standings whose
bindings give the aggregated symbols the same events are one class; a standing reached in two classes is mixed, and an
aggregate of such a trend is ambiguous.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eventide.families.events.program import PatternProgram
from eventide.families.trends.absences import Absence
from eventide.families.trends.standings import Group, Standing, Standings, Tests, Watches, leading

Tagged = tuple[int, Standing]  # a main branch and where it stands
START, CHAIN, ENDED = "start", "chain", "ended"


@dataclass(frozen=True, slots=True)
class State:
    """`since` watches from the window's start; `length` is the number of events, as far as it matters."""

    kind: str
    since: Watches = ()
    length: int = 0
    classes: frozenset[frozenset[Tagged]] = frozenset()
    mixed: frozenset[Tagged] = frozenset()

    @property
    def tagged(self) -> frozenset[Tagged]:
        return self.mixed.union(*self.classes)


@dataclass(frozen=True, slots=True)
class Step:
    """An event taken: the state after it, the branches that took it, and where each of its classes comes from."""

    target: State | None
    branches: int = 0  # bits
    # class of the target, class before (None: the start), whether the event is one of each counted symbol
    origins: tuple[tuple[frozenset[Tagged], frozenset[Tagged] | None, tuple[bool, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a state counts for when the window ends: bits of the sides, and the class of each; None: ambiguous."""

    sides: int
    classes: tuple[frozenset[Tagged] | None, ...]


class States:
    """The steps of states; `sides` are the branches of each side of an outermost AND, or of the whole pattern."""

    def __init__(
        self,
        program: PatternProgram,
        sides: tuple[tuple[int, ...], ...],
        strategy: str,
        min_length: int,
        n_lengths: int,
        counted: tuple[frozenset[int], ...],
        tests: Tests,
        absences: tuple[Absence, ...] = (),
    ) -> None:
        self.standings = Standings(program, tests, absences)
        self.strategy = strategy
        self._program = program
        self.sides = sides
        self.branches = [branch for side in sides for branch in side]
        self._min_length = min_length
        self.n_lengths = n_lengths  # by which whole trends are told apart
        self._longest = max(min_length, n_lengths)
        self._counted = counted  # the symbols of each aggregate
        found = self.standings.absences
        followed = [negation for n, negation in enumerate(program.negations) if n not in found]
        inner = {n for negation in followed for n in leading(program, negation.branches)}
        self._inner = tuple(sorted(inner))

    def start(self) -> State:
        """Before the first event."""
        first = {*self._inner, *leading(self._program, self.branches)} - self.standings.absences.keys()
        return State(START, tuple((n, frozenset()) for n in sorted(first)))

    def tests(self, state: State, mask: int) -> int:
        """The adjacent-event tests that decide what an event does to a state."""
        bits = 0
        for _, standing in state.tagged:
            bits |= self.standings.tests_before(standing, mask)
        return bits

    def take(self, state: State, mask: int, passed: int = 0) -> Step:
        """The partial trend with one event more; it has the old `since` until the event's group has passed."""
        reached: dict[Tagged, set[tuple[frozenset[Tagged] | None, tuple[bool, ...]]]] = {}
        mixed: set[Tagged] = set()

        def reach(origin: frozenset[Tagged] | None, branch: int, standings: Iterable[Standing]) -> None:
            for standing in standings:
                position = self._program.positions[standing.position or 0]
                bound = tuple(position.symbol in symbols for symbols in self._counted)
                reached.setdefault((branch, standing), set()).add((origin, bound))

        if state.kind == START:
            for branch in self.branches:
                reach(None, branch, self.standings.start(branch, mask, state.since))
        for block in state.classes:
            for branch, standing in block:
                reach(block, branch, self.standings.step(standing, mask, passed))
        for branch, standing in state.mixed:
            mixed.update((branch, after) for after in self.standings.step(standing, mask, passed))
        mixed |= {tagged for tagged, ways in reached.items() if len(ways) > 1}
        groups: dict[tuple[frozenset[Tagged] | None, tuple[bool, ...]], set[Tagged]] = {}
        for tagged, ways in reached.items():
            if tagged not in mixed:
                groups.setdefault(next(iter(ways)), set()).add(tagged)
        if not groups and not mixed:
            return Step(None)
        origins = tuple((frozenset(block), origin, bound) for (origin, bound), block in groups.items())
        since = tuple((n, track) for n, track in state.since if n in self._inner)
        length = min(state.length + 1, self._longest)
        target = State(CHAIN, since, length, frozenset(block for block, _, _ in origins), frozenset(mixed))
        branches = 0
        for branch, _ in target.tagged:
            branches |= 1 << self.branches.index(branch)
        return Step(target, branches, origins)

    def end(self, state: State) -> tuple[State | None, dict[frozenset[Tagged], frozenset[Tagged]]]:
        """The trend as a whole, to be counted when the window ends; and the class of each of its classes before."""
        if state.length < self._min_length:
            return None, {}
        blocks = [(self._ended(block), block) for block in state.classes]
        classes, mixed, origins = _settle(blocks, self._ended(state.mixed))
        if not classes and not mixed:
            return None, {}
        return State(ENDED, state.since, state.length, classes, mixed), origins

    def _ended(self, block: frozenset[Tagged]) -> frozenset[Tagged]:
        return frozenset((b, whole) for b, standing in block for whole in self.standings.endings(standing))

    def pass_by(
        self, state: State, group: Group, took: int = 0
    ) -> tuple[State | None, dict[frozenset[Tagged], frozenset[Tagged]]]:
        """The state after a group of events; `took` are the branches that a step of the group has extended.

        With it, the class before of each class.
        """
        since = self.standings.advance(state.since, group, state.since)
        if state.kind == START:
            return State(START, since), {}

        def wait(block: frozenset[Tagged]) -> frozenset[Tagged]:
            kept: set[Tagged] = set()
            for branch, standing in block:
                if state.kind == CHAIN and not self._stays(branch, took):
                    continue
                waited = self.standings.wait(standing, group, state.since)
                if waited is not None and (state.kind == ENDED or self._matters(waited)):
                    kept.add((branch, waited))
            return frozenset(kept)

        classes, mixed, origins = _settle([(wait(block), block) for block in state.classes], wait(state.mixed))
        if not classes and not mixed:
            return None, {}
        return State(state.kind, since, state.length, classes, mixed), origins

    def settle(self, state: State, group: Group) -> tuple[State, dict[frozenset[Tagged], frozenset[Tagged]]]:
        """A state that came of the group itself: what is watched behind its event begins behind the group."""
        since = self.standings.advance(state.since, group, state.since)

        def settled(block: frozenset[Tagged]) -> frozenset[Tagged]:
            return frozenset((branch, self.standings.settle(s, group, state.since)) for branch, s in block)

        blocks = [(settled(block), block) for block in state.classes]
        classes, mixed, origins = _settle(blocks, settled(state.mixed))
        return State(state.kind, since, state.length, classes, mixed), origins

    def verdict(self, state: State) -> Verdict:
        """What the state counts for when the window ends."""
        sides, classes = 0, []
        # Without skip-till-any a trend is counted where it ends, and its chain goes on beside it.
        counts = state.kind == ENDED or (self.strategy == "any" and state.kind == CHAIN)
        for k, branches in enumerate(self.sides):
            found: set[frozenset[Tagged] | None] = set()
            if counts and state.length >= self._min_length:
                found = {block for block in state.classes if self._counts(block, branches)}
                if self._counts(state.mixed, branches):
                    found.add(None)
            if found:
                sides |= 1 << k
            classes.append(next(iter(found)) if len(found) == 1 else None)
        return Verdict(sides, tuple(classes))

    def _counts(self, block: frozenset[Tagged], branches: tuple[int, ...]) -> bool:
        return any(
            branch in branches and self.standings.is_valid_at_end(whole)
            for branch, standing in block
            for whole in self.standings.ends_now(standing)
        )

    def _stays(self, branch: int, took: int) -> bool:
        if self.strategy == "any":
            return True
        return self.strategy == "next" and not took >> self.branches.index(branch) & 1

    def _matters(self, standing: Standing) -> bool:
        if self.standings.may_go_on(standing):
            return True
        return self.strategy == "any" and any(True for _ in self.standings.ends_now(standing))


def _settle(
    blocks: list[tuple[frozenset[Tagged], frozenset[Tagged]]], mixed: frozenset[Tagged]
) -> tuple[frozenset[frozenset[Tagged]], frozenset[Tagged], dict[frozenset[Tagged], frozenset[Tagged]]]:
    """Classes with what now stands in two of them as mixed; with the class before of each class."""
    seen: set[Tagged] = set()
    twice: set[Tagged] = set(mixed)
    for block, _ in blocks:
        twice |= block & seen
        seen |= block
    origins = {block - twice: before for block, before in blocks if block - twice}
    return frozenset(origins), frozenset(twice), origins
