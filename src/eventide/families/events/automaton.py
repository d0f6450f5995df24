"""A pattern to its program: position automata, negations on their edges, conjunctions as single steps.

`*`, `?`, `{n,m}` and a nested OR are expanded inside one automaton; each branch of an outermost OR is one of its own.
A negation is an empty piece of pattern that leaves its mark on the edges that pass over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from eventide.families.events.program import Branch, Conjunction, Edge, Ending, Negation, PatternProgram, Position
from eventide.lang.deadline import check_deadline
from eventide.lang.tree import And, Not, Or, Pattern, Repeat, Seq, Span, Step

MAX_POSITIONS = 1000

Marks = frozenset[int]  # negations passed over
Place = tuple[int, Marks]
_NOTHING: Marks = frozenset()


class TooLargeError(Exception):
    """The pattern has more than MAX_POSITIONS places when its bounds are written out."""

    def __init__(self, span: Span) -> None:
        super().__init__(span)
        self.span = span


@dataclass(frozen=True, slots=True)
class Links:
    """What the conjuncts of WHERE mean for the shape: symbols related by one, and those of each aggregate conjunct."""

    related: tuple[frozenset[str], ...] = ()
    aggregates: tuple[frozenset[str], ...] = ()


def compile_pattern(pattern: Pattern, strategy: str, links: Links | None = None) -> PatternProgram:
    """The program of a pattern.

    >>> from eventide.lang import parse
    >>> print("\\n".join(compile_pattern(parse("PATTERN SEQ(A, NOT C, B+)").pattern, "any").dump()))
    match, any: start 0
      0  bind A; then 2 if not 0
      2  bind B; then 2, or end
    not 0, any: start 1
      1  bind C; end
    """
    return _Compiler(pattern, links or Links()).compile(strategy)


def symbols_in(pattern: Pattern, negated: bool = False) -> list[str]:
    """The symbols that a match of the pattern can bind, in order; with `negated` also those below NOT."""
    return list(dict.fromkeys(_symbols(pattern, negated)))


def branches_of(pattern: Pattern) -> tuple[Pattern, ...]:
    """The branches of an outermost OR; any other pattern is its only branch."""
    if isinstance(pattern, Or):
        return tuple(branch for part in pattern.parts for branch in branches_of(part))
    if isinstance(pattern, Seq) and len(pattern.parts) == 1:
        return branches_of(pattern.parts[0])
    return (pattern,)


def _symbols(pattern: Pattern, negated: bool) -> Iterator[str]:
    match pattern:
        case Step():
            yield pattern.symbol
        case Not():
            if negated:
                yield from _symbols(pattern.part, negated)
        case Repeat():
            yield from _symbols(pattern.part, negated)
        case Seq() | And() | Or():
            for part in pattern.parts:
                yield from _symbols(part, negated)


@dataclass(slots=True)
class _Piece:
    """A part of an automaton: where it is entered and left, and the marks of every way through it without an event."""

    firsts: list[Place]
    lasts: list[Place]
    empties: set[Marks] = field(default_factory=set)


class _Compiler:
    def __init__(self, pattern: Pattern, links: Links) -> None:
        self._pattern = pattern
        self._links = links
        self._symbols = symbols_in(pattern, negated=True)
        self._items: list[Step | And] = []
        self._edges: list[dict[Place, None]] = []
        self._positions: list[Position] = []
        self._mine: list[int] = []  # the positions of the automaton that is being built
        self._branches: list[Branch] = []
        self._numbers: dict[Pattern, int] = {}  # of negations
        self._negations: list[Negation] = []
        self._conjunction_numbers: dict[tuple[And, str], int] = {}
        self._conjunctions: list[Conjunction] = []

    def compile(self, strategy: str) -> PatternProgram:
        main = self._whole(self._pattern, strategy)
        return PatternProgram(
            symbols=tuple(self._symbols),
            positions=tuple(self._positions),
            branches=tuple(self._branches),
            main=main,
            negations=tuple(self._negations),
            conjunctions=tuple(self._conjunctions),
            may_repeat=self._may_repeat(),
            n_nested=max(0, _depth(self._pattern) - 1),
        )

    def _may_repeat(self) -> bool:
        """Conservative: branches that share symbols, or a conjunction beside other steps."""
        branches = branches_of(self._pattern)
        names = [symbol for branch in branches for symbol in symbols_in(branch)]
        beside = any(not isinstance(branch, And) and _has_conjunction(branch) for branch in branches)
        return len(names) != len(set(names)) or beside

    def _whole(self, pattern: Pattern, strategy: str) -> tuple[int, ...]:
        """The branches of a pattern that is matched on its own."""
        outer, numbers = self._mine, []
        for branch in branches_of(pattern):
            self._mine = []
            made = self._finish(branch, self._build(branch, strategy), strategy)
            numbers.append(len(self._branches))
            self._branches.append(made)
        self._mine = outer
        return tuple(numbers)

    def _finish(self, branch: Pattern, piece: _Piece, strategy: str) -> Branch:
        """The automaton's positions, with what each step closes."""
        inside = set(symbols_in(branch))
        # Those of an AND on its own were tested when its pairs were made.
        is_pair = isinstance(branch, And)
        mine = {k for k, names in enumerate(self._links.aggregates) if names <= inside and not is_pair}
        bindable = self._bindable(self._mine) if mine else {}

        def closed(position: int) -> set[int]:
            return {k for k in mine if self._links.aggregates[k].isdisjoint(bindable[position])}

        def edges(places: Iterable[Place], before: set[int]) -> tuple[Edge, ...]:
            return tuple(Edge(target, _sorted(marks), _sorted(closed(target) - before)) for target, marks in places)

        endings: dict[int, dict[Marks, None]] = {}
        for position, marks in piece.lasts:
            endings.setdefault(position, {})[marks] = None
        for number in self._mine:
            item = self._items[number]
            self._positions[number] = Position(
                symbol=self._symbols.index(item.symbol) if isinstance(item, Step) else None,
                conjunction=self._conjunction_numbers[(item, strategy)] if isinstance(item, And) else None,
                edges=edges(self._edges[number], closed(number)),
                endings=tuple(
                    Ending(_sorted(marks), _sorted(mine - closed(number))) for marks in endings.get(number, ())
                ),
            )
        return Branch(edges(dict.fromkeys(piece.firsts), set()), strategy)

    def _bindable(self, numbers: Sequence[int]) -> dict[int, set[str]]:
        """The symbols of each position and of every position reachable from it."""
        found: dict[int, set[str]] = {}
        for number in numbers:
            reached, waiting = {number}, [number]
            while waiting:
                for target, _ in self._edges[waiting.pop()]:
                    if target not in reached:
                        reached.add(target)
                        waiting.append(target)
            found[number] = {symbol for place in reached for symbol in symbols_in(self._items[place])}
        return found

    def _build(self, pattern: Pattern, strategy: str) -> _Piece:
        match pattern:
            case Step() | And():
                return self._position(pattern, strategy)
            case Not():
                return _Piece([], [], {frozenset([self._negation(pattern.part)])})
            case Seq():
                return self._concatenate(self._build(part, strategy) for part in pattern.parts)
            case Or():
                pieces = [self._build(part, strategy) for part in pattern.parts]
                return _Piece(
                    [place for piece in pieces for place in piece.firsts],
                    [place for piece in pieces for place in piece.lasts],
                    {marks for piece in pieces for marks in piece.empties},
                )
            case Repeat():
                return self._repeat(pattern, strategy)

    def _position(self, item: Step | And, strategy: str) -> _Piece:
        if isinstance(item, And):
            self._conjunction(item, strategy)
        check_deadline()
        if len(self._items) >= MAX_POSITIONS:
            raise TooLargeError(item.span)
        place = (len(self._items), _NOTHING)
        self._mine.append(len(self._items))
        self._items.append(item)
        self._edges.append({})
        self._positions.append(Position(None, None))
        return _Piece([place], [place])

    def _repeat(self, pattern: Repeat, strategy: str) -> _Piece:
        needed = [self._build(pattern.part, strategy) for _ in range(pattern.minimum)]
        if pattern.maximum is None:
            looped = needed[-1] if needed else self._build(pattern.part, strategy)
            self._connect(looped.lasts, looped.firsts)
            if needed:
                return self._concatenate(needed)
            looped.empties.add(_NOTHING)
            return looped
        # A copy that may be left out is entered only through the one before it.
        optional = _Piece([], [], {_NOTHING})
        copies = [self._build(pattern.part, strategy) for _ in range(pattern.maximum - pattern.minimum)]
        for copy in reversed(copies):
            optional = self._concatenate([copy, optional])
            optional.empties.add(_NOTHING)
        return self._concatenate([*needed, optional])

    def _concatenate(self, pieces: Iterable[_Piece]) -> _Piece:
        result = _Piece([], [], {_NOTHING})
        for right in pieces:
            left = result
            self._connect(left.lasts, right.firsts)
            result = _Piece(
                left.firsts + [(p, skipped | marks) for skipped in left.empties for p, marks in right.firsts],
                right.lasts + [(p, marks | skipped) for p, marks in left.lasts for skipped in right.empties],
                {x | y for x in left.empties for y in right.empties},
            )
        return result

    def _connect(self, lasts: Iterable[Place], firsts: Sequence[Place]) -> None:
        for position, before in lasts:
            for target, after in firsts:
                self._edges[position][(target, before | after)] = None

    def _negation(self, part: Pattern) -> int:
        if part in self._numbers:
            return self._numbers[part]
        n_before = len(self._negations)
        branches = self._whole(part, "any")
        inside = set(symbols_in(part, negated=True))
        linked = {symbol for names in self._links.related if names & inside for symbol in names - inside}
        behind = max((negation.n_windows for negation in self._negations[n_before:]), default=0)
        n_windows = behind + int(self._looks_behind(branches))
        self._numbers[part] = len(self._negations)
        self._negations.append(Negation(branches, _sorted(map(self._symbols.index, linked)), n_windows))
        return self._numbers[part]

    def _conjunction(self, pattern: And, strategy: str) -> None:
        if (pattern, strategy) in self._conjunction_numbers:
            return
        sides = tuple(self._whole(part, strategy) for part in pattern.parts)
        inside = set(symbols_in(pattern))
        parts = [set(symbols_in(part)) for part in pattern.parts]
        across = [
            k
            for k, names in enumerate(self._links.aggregates)
            if names <= inside and not any(names <= part for part in parts)
        ]
        self._conjunction_numbers[(pattern, strategy)] = len(self._conjunctions)
        self._conjunctions.append(Conjunction(sides, tuple(across)))

    def _looks_behind(self, branches: Iterable[int]) -> bool:
        """Whether a match of one of the branches may end with a NOT."""
        for branch in branches:
            reached: set[int] = set()
            waiting = [edge.target for edge in self._branches[branch].starts]
            while waiting:
                number = waiting.pop()
                if number in reached:
                    continue
                reached.add(number)
                position = self._positions[number]
                waiting += [edge.target for edge in position.edges]
                if any(ending.negations for ending in position.endings):
                    return True
                if position.conjunction is not None:
                    sides = self._conjunctions[position.conjunction].sides
                    if any(self._looks_behind(side) for side in sides):
                        return True
        return False


def _sorted(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(numbers))


def _has_conjunction(pattern: Pattern) -> bool:
    match pattern:
        case And():
            return True
        case Repeat():
            return _has_conjunction(pattern.part)
        case Seq() | Or():
            return any(map(_has_conjunction, pattern.parts))
        case Step() | Not():
            return False


def _depth(pattern: Pattern) -> int:
    """How deep NOT is inside NOT."""
    match pattern:
        case Step():
            return 0
        case Not():
            return 1 + _depth(pattern.part)
        case Repeat():
            return _depth(pattern.part)
        case Seq() | And() | Or():
            return max(map(_depth, pattern.parts))
