"""A pattern as words: each way through OR, `?` and bounded repetition is a sequence of its own.

In: a pattern. Out: its words. A word has elements one after another, and between them what must be absent. An element
is one event, or an AND with a word for each of its sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product

from eventide.lang.tree import And, Not, Or, Pattern, Repeat, Seq, Span, Step
from eventide.plan.logical import Match, Trends

MOST_COPIES = 4
MOST_WORDS = 64
Absences = tuple[Pattern, ...]


class NotMappedError(Exception):
    """A part of a query that has no form in the algebra: what, and where."""

    def __init__(self, what: str, span: Span) -> None:
        super().__init__(what)
        self.what = what
        self.span = span


@dataclass(frozen=True, slots=True)
class Take:
    """One event."""

    symbol: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Both:
    """An AND: the word of each side, and all words that each side has."""

    sides: tuple[Word, ...]
    choices: tuple[tuple[Word, ...], ...]
    span: Span = field(compare=False)


Element = Take | Both


@dataclass(frozen=True, slots=True)
class Word:
    """Elements in order; `gaps[i]` must be absent before element i, the last ones behind the last element."""

    elements: tuple[Element, ...]
    gaps: tuple[Absences, ...]

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of all events, in order; those of an AND side by side."""
        return tuple(self._symbols())

    def _symbols(self) -> Iterator[str]:
        for element in self.elements:
            if isinstance(element, Take):
                yield element.symbol
            else:
                for side in element.sides:
                    yield from side.symbols

    @property
    def has_and(self) -> bool:
        return any(isinstance(element, Both) for element in self.elements)


def words_of(pattern: Pattern, *, negated: bool = False, fixed: frozenset[str] = frozenset()) -> tuple[Word, ...]:
    """All words that have an event, each once.

    Of something `negated` only whether it is there matters: fewer repetitions are inside more of them, so it has the
    fewest. `fixed` are symbols for which that is not so.

    >>> from eventide.lang import parse
    >>> [word.symbols for word in words_of(parse("PATTERN SEQ(A, B?, C{1,2})").pattern)]
    [('A', 'C'), ('A', 'C', 'C'), ('A', 'B', 'C'), ('A', 'B', 'C', 'C')]
    """
    found = [word for word in dict.fromkeys(_Expansion(negated, fixed).words(pattern)) if word.elements]
    _check_apart(found, pattern.span)
    return tuple(found)


def is_one_event(word: Word) -> bool:
    """Whether a match of the word is one event, whatever else there is."""
    return len(word.elements) == 1 and not word.has_and and not any(word.gaps)


def is_filter(plan: Match) -> bool:
    """Whether nothing is matched: every event that fits a step is a row."""
    try:
        return not isinstance(plan, Trends) and all(map(is_one_event, words_of(plan.pattern)))
    except NotMappedError:
        return False


def _check_apart(words: list[Word], span: Span) -> None:
    """Two words that bind the same events to the same symbols would be one match, found twice."""
    by_elements: dict[object, Word] = {}
    for word in words:
        key = frozenset(Counter(word.symbols).items()) if any(w.has_and for w in words) else word.symbols
        if key in by_elements:
            raise NotMappedError("a pattern that has several ways to one match", span)
        by_elements[key] = word


@dataclass(frozen=True, slots=True)
class _Expansion:
    negated: bool
    fixed: frozenset[str]
    in_and: bool = False  # of which every side has an event

    def words(self, pattern: Pattern) -> list[Word]:
        match pattern:
            case Step():
                return [Word((Take(pattern.symbol, pattern.span),), ((), ()))]
            case Not():
                return [Word((), ((pattern.part,),))]
            case Seq():
                return self._row([self.words(part) for part in pattern.parts], pattern)
            case Or():
                return _few([word for part in pattern.parts for word in self.words(part)], pattern)
            case Repeat():
                return self._repeated(pattern)
            case And():
                return self._and(pattern)

    def _row(self, parts: list[list[Word]], pattern: Pattern) -> list[Word]:
        made = [_NOTHING]
        for part in parts:
            made = _few([_joined(left, right) for left in made for right in part], pattern)
        return made

    def _repeated(self, pattern: Repeat) -> list[Word]:
        part, low, high = pattern.part, pattern.minimum, pattern.maximum
        if self.negated and not any(self._is_fixed(part)):
            high = max(low, 1) if self.in_and else low
        if high is None:
            raise NotMappedError("a repetition without an upper bound", pattern.span)
        if high > MOST_COPIES:
            raise NotMappedError(f"a repetition of more than {MOST_COPIES} copies", pattern.span)
        one = self.words(part)
        return _few([word for n in range(low, high + 1) for word in self._row([one] * n, pattern)], pattern)

    def _is_fixed(self, pattern: Pattern) -> Iterator[bool]:
        """Whether leaving out a repetition could make a match of what is none."""
        match pattern:
            case Step():
                yield pattern.symbol in self.fixed
            case Not():
                yield True
            case Repeat():
                yield from self._is_fixed(pattern.part)
            case Seq() | And() | Or():
                for part in pattern.parts:
                    yield from self._is_fixed(part)

    def _and(self, pattern: And) -> list[Word]:
        inside = replace(self, in_and=True)
        choices = tuple(
            tuple(word for word in dict.fromkeys(inside.words(part)) if word.elements) for part in pattern.parts
        )
        for side in choices:
            _check_apart(list(side), pattern.span)
        counted = Counter(symbol for side in choices for symbol in {s for word in side for s in word.symbols})
        if any(n > 1 for n in counted.values()):
            raise NotMappedError("an AND with one symbol on both sides", pattern.span)
        return [Word((Both(sides, choices, pattern.span),), ((), ())) for sides in product(*choices)]


_NOTHING = Word((), ((),))


def _few(words: Iterable[Word], pattern: Pattern) -> list[Word]:
    made = list(dict.fromkeys(words))
    if len(made) > MOST_WORDS:
        raise NotMappedError(f"a pattern with more than {MOST_WORDS} alternatives", pattern.span)
    return made


def _joined(left: Word, right: Word) -> Word:
    between = tuple(dict.fromkeys((*left.gaps[-1], *right.gaps[0])))
    return Word((*left.elements, *right.elements), (*left.gaps[:-1], between, *right.gaps[1:]))
