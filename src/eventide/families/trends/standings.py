"""Where one way to match stands: a position, what has happened behind it, and what must still happen.

A negation is watched by following the matches of its own pattern that began after the last event, as a set of
standings again; so NOT in any place and at any depth stays a finite state. Semantics: "Negation" (Definition 2.2 of
seed 002), decided within one window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eventide.families.events.program import Edge, Ending, PatternProgram
from eventide.families.trends.absences import Absence

# A negation and the matches of it since some instant, as far as they are; None: one has happened for certain.
Watches = tuple[tuple[int, "frozenset[Standing] | None"], ...]
Group = tuple[int, ...]  # the masks of events with one time
Tests = Mapping[tuple[int, int], int]  # bits of the adjacent-event tests between two symbols


@dataclass(frozen=True, slots=True)
class Standing:
    """A partial match at a position; None: it has ended.

    `watches` follows the negations that a step from here, or the end of the match, passes over. `duties` are ended
    matches of negations passed over that a NOT at their own end may still undo: each must be undone.
    """

    position: int | None
    watches: Watches = ()
    duties: frozenset[Standing] = frozenset()


class Standings:
    """The steps of a program's standings."""

    def __init__(self, program: PatternProgram, tests: Tests, absences: Sequence[Absence] = ()) -> None:
        self.program = program
        self._tests = tests
        # They are not followed: tests and the bits of masks say what has happened.
        self.absences = {absence.negation: absence for absence in absences}
        self._watched = [
            sorted(
                {n for edge in position.edges for n in edge.negations if n not in self.absences}
                | {n for e in position.endings for n in e.negations}
            )
            for position in program.positions
        ]

    def start(self, branch: int, mask: int, since: Watches) -> Iterator[Standing]:
        """The first events of a branch's matches; `since` watches from the window's start."""
        starts = self.program.branches[branch].starts
        allowed = [edge for edge in starts if all(mask >> self.absences[n].lead & 1 for n in self._absent(edge))]
        yield from self._enter(allowed, mask, since, frozenset())

    def step(self, standing: Standing, mask: int, passed: int = 0) -> Iterator[Standing]:
        """The standings after an event; `passed` are the adjacent-event tests that hold between the two."""
        if standing.position is None:
            return
        edges = self.program.positions[standing.position].edges
        allowed = [edge for edge in edges if not self.tests_of(standing.position, edge) & ~passed]
        yield from self._enter(allowed, mask, standing.watches, standing.duties)

    def tests_of(self, position: int, edge: Edge) -> int:
        """The tests that the step over an edge must pass."""
        left, right = self.program.positions[position].symbol, self.program.positions[edge.target].symbol
        assert left is not None and right is not None
        bits = self._tests.get((left, right), 0)
        for n in self._absent(edge):
            bits |= 1 << self.absences[n].test
        return bits

    def tests_before(self, standing: Standing, mask: int) -> int:
        """The tests that decide which steps an event allows."""
        if standing.position is None:
            return 0
        bits = 0
        for edge in self.program.positions[standing.position].edges:
            if self._takes(edge.target, mask):
                bits |= self.tests_of(standing.position, edge)
        return bits

    def endings(self, standing: Standing) -> Iterator[Standing]:
        """The standing as a whole match, in each way in which it may end here."""
        if standing.position is None:
            return
        tracks = dict(standing.watches)
        for ending in self.program.positions[standing.position].endings:
            watched = tuple((n, frozenset[Standing]()) for n in ending.negations if n not in self.absences)
            if all(tracks[n] is not None for n in self._absent(ending)):
                yield Standing(None, watched, standing.duties)

    def ends_now(self, standing: Standing) -> Iterator[Standing]:
        """As `endings`, of a standing whose watches have followed what came after it."""
        if standing.position is None:
            yield standing
            return
        tracks = dict(standing.watches)
        for ending in self.program.positions[standing.position].endings:
            watches = tuple((n, tracks[n]) for n in ending.negations)
            if all(track is not None for _, track in watches):
                yield Standing(None, watches, standing.duties)

    def wait(self, standing: Standing, group: Group, since: Watches) -> Standing | None:
        """The standing when the events of a group pass by; None: it is an ended match that they undo."""
        watches = self.advance(standing.watches, group, since)
        if standing.position is None and any(track is None for _, track in watches):
            return None
        return self.settle(Standing(standing.position, watches, standing.duties), group, since)

    def settle(self, standing: Standing, group: Group, since: Watches) -> Standing:
        """A standing that an event of the group has led to: what it watches begins behind the group, its duties not."""
        if not standing.duties:
            return standing
        duties = {self.wait(duty, group, since) for duty in standing.duties}
        return Standing(standing.position, standing.watches, frozenset(duty for duty in duties if duty is not None))

    def advance(self, watches: Watches, group: Group, since: Watches) -> Watches:
        """What a group of events adds to what has happened."""
        return tuple((n, self._follow(n, track, group, since)) for n, track in watches)

    def may_go_on(self, standing: Standing) -> bool:
        """Whether a later event may still extend it."""
        if standing.position is None:
            return False
        happened = {n for n, track in standing.watches if track is None and n not in self.absences}
        return any(happened.isdisjoint(edge.negations) for edge in self.program.positions[standing.position].edges)

    def is_valid_at_end(self, standing: Standing) -> bool:
        """Whether an ended match counts when the window ends."""
        if any(self._has_happened(track) for _, track in standing.watches):
            return False
        return not any(self.is_valid_at_end(duty) for duty in standing.duties)

    def _has_happened(self, track: frozenset[Standing] | None) -> bool:
        return track is None or any(s.position is None and self.is_valid_at_end(s) for s in track)

    def _absent(self, move: Edge | Ending) -> list[int]:
        return [n for n in move.negations if n in self.absences]

    def _takes(self, position: int, mask: int) -> bool:
        symbol = self.program.positions[position].symbol
        assert symbol is not None
        return bool(mask >> symbol & 1)

    def _enter(
        self, edges: Iterable[Edge], mask: int, watches: Watches, duties: frozenset[Standing]
    ) -> Iterator[Standing]:
        tracks = dict(watches)
        for edge in edges:
            if not self._takes(edge.target, mask):
                continue
            passed_over = [tracks[n] for n in edge.negations if n not in self.absences]
            if any(track is None for track in passed_over):
                continue
            undecided = {s for track in passed_over if track is not None for s in track if s.position is None}
            fresh = tuple((n, self._behind(n, mask)) for n in self._watched[edge.target])
            yield Standing(edge.target, fresh, duties | undecided)

    def _behind(self, negation: int, mask: int) -> frozenset[Standing] | None:
        """What has happened right behind an event: nothing, but of an absence all that will happen is known."""
        absence = self.absences.get(negation)
        return None if absence is not None and not mask >> absence.trail & 1 else frozenset()

    def _follow(
        self, negation: int, track: frozenset[Standing] | None, group: Group, since: Watches
    ) -> frozenset[Standing] | None:
        if track is None or negation in self.absences:
            return track
        followed: set[Standing] = set()
        reached: list[Standing] = []
        for standing in track:
            waited = self.wait(standing, group, since)
            if waited is not None:
                followed.add(waited)
            reached += (s for mask in group for s in self.step(standing, mask))
        for branch in self.program.negations[negation].branches:
            reached += (s for mask in group for s in self.start(branch, mask, since))
        for standing in (self.settle(s, group, since) for s in reached):
            followed.update(self.endings(standing))
            if self.program.positions[standing.position or 0].edges:
                followed.add(standing)
        if any(s.position is None and not s.watches and not s.duties for s in followed):
            return None
        return frozenset(followed)


def leading(program: PatternProgram, branches: Sequence[int]) -> set[int]:
    """The negations that stand before the first event of the branches."""
    return {n for branch in branches for edge in program.branches[branch].starts for n in edge.negations}
