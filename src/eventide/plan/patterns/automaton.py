"""A pattern to its program: position automata, negations on their edges, conjunctions as single steps.

`*`, `?`, `{n,m}` and a nested OR are expanded inside one automaton; each branch of an outermost OR is one of its own.
A negation is an empty piece of pattern that leaves its mark on the edges that pass over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from eventide.lang.tree import And, Not, Or, Pattern, Repeat, Seq, Span, Step
from eventide.operators.patterns.program import Branch, Conjunction, Edge, Ending, Negation, PatternProgram, Position

MAX_POSITIONS = 1000

Marks = frozenset[int]  # negations passed over
Place = tuple[int, Marks]
_NOTHING: Marks = frozenset()


class TooLarge(Exception):
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
      0  bind A; then 1 if not 0
      1  bind B; then 1, or end
    not 0, any: start 2
      2  bind C; end
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
    """A part of an automaton: where it may be entered and left, and the marks of every way through it without an event."""

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
        self._branches: list[Branch] = []
        self._negations: dict[Pattern, int] = {}
        self._compiled_negations: list[Negation | None] = []
        self._conjunctions: dict[tuple[And, str], int] = {}
        self._compiled_conjunctions: list[Conjunction] = []
        self._depth = 0
        self._deepest = 0

    def compile(self, strategy: str) -> PatternProgram:
        main = self._whole(self._pattern, strategy)
        positions = [self._numbered(position) for position in self._positions]
        negations = tuple(negation for negation in self._compiled_negations if negation is not None)
        assert len(negations) == len(self._compiled_negations)
        return PatternProgram(
            symbols=tuple(self._symbols),
            positions=tuple(positions),
            branches=tuple(self._branches),
            main=main,
            negations=negations,
            conjunctions=tuple(self._compiled_conjunctions),
            may_repeat=self._may_repeat(),
            n_nested=max(0, self._deepest - 1),
        )

    def _numbered(self, position: Position) -> Position:
        return position

    def _may_repeat(self) -> bool:
        """Conservative: branches that share symbols, or a conjunction beside other steps."""
        branches = branches_of(self._pattern)
        names = [symbol for branch in branches for symbol in symbols_in(branch)]
        beside = any(not isinstance(branch, And) and _has_conjunction(branch) for branch in branches)
        return len(names) != len(set(names)) or beside

    def _whole(self, pattern: Pattern, strategy: str) -> tuple[int, ...]:
        """The branches of a pattern that is matched on its own."""
        numbers = []
        for branch in branches_of(pattern):
            start = len(self._items)
            piece = self._build(branch, strategy)
            numbers.append(len(self._branches))
            self._branches.append(self._finish(branch, piece, start, strategy))
        return tuple(numbers)

    def _finish(self, branch: Pattern, piece: _Piece, start: int, strategy: str) -> Branch:
        """The automaton's positions, with what each step closes."""
        inside = set(symbols_in(branch))
        mine = [k for k, names in enumerate(self._links.aggregates) if names <= inside]
        numbers = range(start, len(self._items))
        bindable = self._bindable(numbers) if mine else {}

        def closed(position: int) -> set[int]:
            return {k for k in mine if self._links.aggregates[k].isdisjoint(bindable[position])}

        def edges(places: Iterable[Place], before: set[int]) -> tuple[Edge, ...]:
            return tuple(
                Edge(target, _sorted(marks), _sorted(closed(target) - before if mine else ())) for target, marks in places
            )

        endings: dict[int, dict[Marks, None]] = {}
        for position, marks in piece.lasts:
            endings.setdefault(position, {})[marks] = None
        for number in numbers:
            item = self._items[number]
            is_step = isinstance(item, Step)
            before = closed(number) if mine else set()
            self._positions[number] = Position(
                symbol=self._symbols.index(item.symbol) if isinstance(item, Step) else None,
                conjunction=None if is_step else self._conjunctions[(item, strategy)],  # type: ignore[index]
                edges=edges(self._edges[number], before),
                endings=tuple(Ending(_sorted(marks), _sorted(set(mine) - before)) for marks in endings.get(number, ())),
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
        if len(self._items) >= MAX_POSITIONS:
            raise TooLarge(item.span)
        place = (len(self._items), _NOTHING)
        self._items.append(item)
        self._edges.append({})
        self._positions.append(Position(None, None))
        return _Piece([place], [place])

    def _repeat(self, pattern: Repeat, strategy: str) -> _Piece:
        pieces = [self._build(pattern.part, strategy) for _ in range(max(pattern.minimum, 1))]
        if pattern.maximum is None:
            looped = pieces[-1]
            self._connect(looped.lasts, looped.firsts)
        if pattern.minimum == 0:
            pieces[0].empties.add(_NOTHING)
        optional: _Piece | None = None
        if pattern.maximum is not None:
            # From the last copy inwards: a copy is reached only through the one before it.
            copies = [self._build(pattern.part, strategy) for _ in range(pattern.maximum - len(pieces))]
            for copy in reversed(copies):
                optional = copy if optional is None else self._concatenate([copy, optional])
                optional.empties.add(_NOTHING)
        return self._concatenate(pieces if optional is None else self._with_optional(pattern, pieces, optional))

    def _with_optional(self, pattern: Repeat, pieces: list[_Piece], optional: _Piece) -> list[_Piece]:
        if pattern.minimum > 0:
            return [*pieces, optional]
        # {0,m}: the first copy is optional as a whole, and what follows stands behind it.
        first = pieces[0]
        first.empties.discard(_NOTHING)
        joined = self._concatenate([first, optional])
        joined.empties.add(_NOTHING)
        return [joined]

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
        known = self._negations.get(part)
        if known is not None:
            return known
        number = self._negations[part] = len(self._compiled_negations)
        self._compiled_negations.append(None)
        self._depth += 1
        self._deepest = max(self._deepest, self._depth)
        items, first_inner = self._items, len(self._compiled_negations)
        # Its positions are those of other automata: numbered behind the ones that are being built.
        branches = self._apart(part)
        self._depth -= 1
        assert items is self._items
        inside = set(symbols_in(part, negated=True))
        linked = {symbol for names in self._links.related if names & inside for symbol in names - inside}
        inner = [negation.n_windows for negation in self._compiled_negations[first_inner:] if negation is not None]
        behind = _ends_in_not(part)
        self._compiled_negations[number] = Negation(
            branches, tuple(sorted(map(self._symbols.index, linked))), int(behind) + max(inner, default=0)
        )
        return number

    def _conjunction(self, pattern: And, strategy: str) -> None:
        if (pattern, strategy) in self._conjunctions:
            return
        sides = tuple(self._apart(part, strategy) for part in pattern.parts)
        inside = set(symbols_in(pattern))
        parts = [set(symbols_in(part)) for part in pattern.parts]
        across = tuple(
            k
            for k, names in enumerate(self._links.aggregates)
            if names <= inside and not any(names <= part for part in parts)
        )
        self._conjunctions[(pattern, strategy)] = len(self._compiled_conjunctions)
        self._compiled_conjunctions.append(Conjunction(sides, across))

    def _apart(self, pattern: Pattern, strategy: str = "any") -> tuple[int, ...]:
        """The branches of a pattern inside another, compiled on their own and numbered behind all positions so far."""
        inner = _Compiler(pattern, self._links)
        inner._symbols = self._symbols
        inner._negations, inner._compiled_negations = self._negations, self._compiled_negations
        inner._conjunctions, inner._compiled_conjunctions = self._conjunctions, self._compiled_conjunctions
        inner._branches = self._branches
        inner._depth = self._depth
        raise NotImplementedError
