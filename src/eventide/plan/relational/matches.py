"""Words to relations of matches: a row for each way to bind events to the steps of a word.

Under skip-till-any and contiguous a word is a set of events with conditions between them, so that the joins may come
in any order. Under skip-till-next it is a chain that grows step by step, since each step looks for the earliest event.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from eventide.lang.tree import Pattern, Scalar, Strategy
from eventide.plan.logical import Match
from eventide.plan.references import references
from eventide.plan.relational.algebra import Absent, Earliest, Extend, Filter, Join, Project, Range, Relation, Running, Union
from eventide.plan.relational.dialects import Dialect
from eventide.plan.relational.steps import BEFORE, Steps, has_next, relates_events
from eventide.plan.relational.words import Both, Element, NotMappedError, Take, Word, words_of

_NAME = re.compile(r"\b(?:[enbq]\d+\w*|p\d+)\b")


@dataclass(frozen=True, order=True)
class Var:
    """An event of a match: its number in the statement, and the symbol that it is bound to."""

    number: int
    symbol: str

    def column(self, name: str) -> str:
        return f"e{self.number}_{name}"


Vars = tuple[Var, ...]


@dataclass(frozen=True)
class Condition:
    """A text that must hold, and the events that it reads."""

    vars: frozenset[Var]
    text: str


@dataclass(frozen=True)
class Gap:
    """Something absent after the last of some events and before the first of others; None: the window's edge."""

    pattern: Pattern
    after: Vars | None
    before: Vars | None


@dataclass(frozen=True)
class Matched:
    """Partial or whole matches: the relation, the events of a row in order, and what is not decided yet."""

    relation: Relation
    vars: Vars
    firsts: Vars
    lasts: Vars
    gaps: tuple[Gap, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether something behind the last event decides."""
        return any(gap.before is None for gap in self.gaps)


@dataclass(frozen=True)
class Window:
    """How far events of a match may be apart, in the unit of `Steps.place`."""

    width: int | None
    is_sliding: bool = False


@dataclass
class Matches:
    """What all words of a query have in common, and the names that are taken."""

    plan: Match
    steps: Steps
    dialect: Dialect
    window: Window
    estimates: Mapping[str, float] = field(default_factory=dict)  # events of each symbol, where they are known
    reasons: list[str] = field(default_factory=list)
    _n_names: int = 0

    # --- names and texts

    def number(self) -> int:
        self._n_names += 1
        return self._n_names

    def rank(self, var: Var) -> str:
        return var.column(self.steps.rank)

    def place(self, var: Var) -> str:
        return var.column(self.steps.place)

    def first(self, some: Vars, column: str) -> str:
        return _extreme("least", [var.column(column) for var in some])

    def last(self, some: Vars, column: str) -> str:
        return _extreme("greatest", [var.column(column) for var in some])

    @property
    def related(self) -> list[Scalar]:
        return [conjunct for conjunct in self.plan.conjuncts if relates_events(conjunct)]

    # --- conditions between events

    def tests(self, some: Iterable[Var]) -> Iterator[Condition]:
        """Every conjunct without NEXT, for each choice of one event for each of its symbols."""
        by_symbol: dict[str, list[Var]] = {}
        for var in some:
            by_symbol.setdefault(var.symbol, []).append(var)
        for conjunct in self.related:
            symbols = list(dict.fromkeys(str(reference.symbol) for reference in references(conjunct.tree)))
            if has_next(conjunct) or not all(symbol in by_symbol for symbol in symbols):
                continue
            for chosen in product(*(by_symbol[symbol] for symbol in symbols)):
                at = dict(zip(symbols, chosen, strict=True))
                text = self._text(conjunct, at, {})
                yield Condition(frozenset(chosen), text)

    def adjacent(self, ends: Vars, begins: Vars) -> Iterator[Condition]:
        """Every conjunct with NEXT, between the last events of what is before and the first ones of what is behind."""
        for conjunct in filter(has_next, self.related):
            for left, right in product(ends, begins):
                text = self._adjacent(conjunct, left, right)
                if text is None:
                    continue
                others = [f"{self.rank(left)} < {self.rank(var)}" for var in ends if var != left]
                others += [f"{self.rank(var)} < {self.rank(right)}" for var in begins if var != right]
                whole = f"({' OR '.join([*others, f'({text})'])})" if others else text
                yield Condition(frozenset((*ends, *begins)), whole)

    def _adjacent(self, conjunct: Scalar, left: Var, right: Var) -> str | None:
        sides: dict[bool, set[str]] = {False: set(), True: set()}

        def note(symbol: str, is_next: bool, column: str) -> str:
            sides[is_next].add(symbol)
            return (right if is_next else left).column(self.steps.column(column))

        text = self.dialect.of_events(conjunct, self.plan, note)
        return text if sides == {False: {left.symbol}, True: {right.symbol}} else None

    def _text(self, conjunct: Scalar, at: Mapping[str, Var], after: Mapping[str, Var]) -> str:
        return self.dialect.of_events(
            conjunct,
            self.plan,
            lambda symbol, is_next, column: (after if is_next else at)[symbol].column(self.steps.column(column)),
        )

    # --- events and pairs of relations

    def events(self, symbol: str) -> tuple[Var, Relation]:
        """The events of a symbol under names of their own."""
        var = Var(self.number(), symbol)
        made = self.steps.of(symbol)
        named = [(name, name) for name in self.steps.keys]
        named += [(var.column(name), name) for name in made.columns if name not in self.steps.keys]
        return var, Project(made, tuple(named))

    def beside(self, relation: Relation) -> tuple[Relation, tuple[tuple[str, str], ...]]:
        """A relation as the right side of a join: its partition columns under other names, and the keys."""
        number = self.number()
        keys = tuple((name, f"q{number}_{name}") for name in self.steps.keys)
        others = [(name, name) for name in relation.columns if name not in self.steps.keys]
        return Project(relation, (*((new, old) for old, new in keys), *others)), keys

    def join(self, left: Relation, right: Relation, conditions: Sequence[str], range_: Range | None) -> Relation:
        made, keys = self.beside(right)
        nullable = {f"p{i}": self.plan.schema.field(name).nullable for i, name in enumerate(self.plan.partition)}
        plain = tuple(key for key in keys if not nullable[key[0]])
        return Join(left, made, tuple(key for key in keys if nullable[key[0]]), tuple(dict.fromkeys(conditions)), range_, plain)

    # --- absences

    def linked(self, word: Word, outside: Iterable[Var]) -> set[str]:
        """The symbols outside a negated word that some conjunct compares with symbols inside it."""
        inside, known = set(word.symbols), {var.symbol for var in outside}
        found: set[str] = set()
        for conjunct in self.related:
            symbols = {str(reference.symbol) for reference in references(conjunct.tree)}
            if symbols & inside:
                found |= (symbols - inside) & known
        return found

    def negated_words(self, pattern: Pattern) -> tuple[Word, ...]:
        fixed = {str(r.symbol) for c in self.related if has_next(c) for r in references(c.tree)}
        return words_of(pattern, negated=True, fixed=frozenset(fixed))

    def negated(self, word: Word) -> tuple[Matched, str]:
        """The matches of a negated word, always skip-till-any, with the name of their columns."""
        found = replace_strategy(self).flat(word)
        if found.gaps:
            pattern = found.gaps[0].pattern
            raise NotMappedError("a NOT at the edge of something that is negated itself", pattern.span)
        name, rank, place = f"n{self.number()}", self.steps.rank, self.steps.place
        ends = (
            (f"{name}_f", self.first(found.firsts, rank)),
            (f"{name}_l", self.last(found.lasts, rank)),
            (f"{name}_ft", self.first(found.firsts, place)),
            (f"{name}_lt", self.last(found.lasts, place)),
        )
        return replace(found, relation=Extend(found.relation, ends)), name

    def running(self, relation: Relation, gap: Gap, word: Word, of: Matched) -> tuple[Relation, Condition] | None:
        """The relation with an extreme over what is negated, and the condition that this says it is absent.

        `relation` has the events at one end of the gap, and `of` says what a match is. None where that is not enough.
        """
        rank, name = self.steps.rank, f"n{self.number()}"
        if gap.before is not None and len(gap.before) == 1 and gap.before[0].column(rank) in relation.columns:
            negated, made = self.negated(word)
            value = f"{made}_f" if gap.after is not None else f"{made}_ft"
            at, order, before = f"{made}_l", gap.before[0].column(rank), True
        elif gap.after is not None and len(gap.after) == 1 and gap.after[0].column(rank) in relation.columns:
            negated, made = self.negated(word)
            value = f"{made}_l" if gap.before is not None else f"{made}_lt"
            at, order, before = f"{made}_f", gap.after[0].column(rank), False
        else:
            return None
        other, keys = self.beside(negated.relation)
        bound = self.edge(gap, of, name, before)
        text = f"{name} IS NULL" if bound is None else f"({name} IS NULL OR {bound})"
        read = frozenset(var for var in of.vars if re.search(rf"\be{var.number}_", text)) | frozenset(
            gap.before if before else gap.after or ()
        )
        self.reasons.append(
            f"NOT {' '.join(word.symbols)}: a running {'maximum before' if before else 'minimum behind'} in place of a join"
        )
        return Running(relation, other, order, at, value, name, keys, before), Condition(read, text)

    def edge(self, gap: Gap, of: Matched, name: str, before: bool) -> str | None:
        """What says that the nearest match of something negated is outside a gap; None where there must be none."""
        rank, place, width = self.steps.rank, self.steps.place, self.window.width
        if before:
            if gap.after is not None:
                return f"{name} <= {self.last(gap.after, rank)}"
            if width is None:
                return None
            return f"{name} < window_start_us" if self.window.is_sliding else f"{name} <= {self.last(of.lasts, place)} - {width}"
        if gap.before is not None:
            return f"{name} >= {self.first(gap.before, rank)}"
        if width is None:
            return None
        return f"{name} >= window_end_us" if self.window.is_sliding else f"{name} >= {self.first(of.firsts, place)} + {width}"

    def absent(self, relation: Relation, gap: Gap, word: Word, of: Matched) -> Relation:
        """The rows for which no match of something negated is in the gap, by asking for one."""
        negated, name = self.negated(word)
        other, keys = self.beside(negated.relation)
        rank, place, width = self.steps.rank, self.steps.place, self.window.width
        conditions = []
        if gap.after is not None:
            conditions.append(f"{name}_f > {self.last(gap.after, rank)}")
        elif width is not None:
            edge = "window_start_us <= " if self.window.is_sliding else f"{self.last(of.lasts, place)} - {width} < "
            conditions.append(f"{edge}{name}_ft")
        if gap.before is not None:
            conditions.append(f"{name}_l < {self.first(gap.before, rank)}")
        elif width is not None:
            edge = "window_end_us" if self.window.is_sliding else f"{self.first(of.firsts, place)} + {width}"
            conditions.append(f"{name}_lt < {edge}")
        mine = set(negated.vars)
        for test in self.tests((*of.vars, *negated.vars)):
            if test.vars & mine and test.vars - mine:
                conditions.append(test.text)
        self.reasons.append(f"NOT {' '.join(word.symbols)}: NOT EXISTS, since it is compared with other events")
        return Absent(relation, other, keys, tuple(dict.fromkeys(conditions)))

    # --- any and contiguous: a set of events with conditions

    def flat(self, word: Word) -> Matched:
        """The matches of a word, joined in the order of the fewest events."""
        from eventide.plan.relational.order_joins import join_in_order

        shape = _Shape(self)
        firsts, lasts = shape.walk(word)
        return join_in_order(self, shape, firsts, lasts)

    # --- next: chains

    def chains(self, words: Sequence[Word]) -> list[tuple[Word, Matched]]:
        """The matches of all words of a pattern under skip-till-next: each step takes the earliest event that fits."""
        from eventide.plan.relational.chains import chains

        return chains(self, words)


def replace_strategy(matches: Matches) -> Matches:
    """The same for what is negated: it is matched skip-till-any."""
    plan = replace(matches.plan, strategy=Strategy.ANY)
    return _Shared(matches, plan)


class _Shared(Matches):
    """Another strategy over the same steps and names."""

    def __init__(self, of: Matches, plan: Match) -> None:
        super().__init__(plan, of.steps, of.dialect, of.window, of.estimates, of.reasons)
        self._of = of

    def number(self) -> int:
        return self._of.number()


class _Shape:
    """The events of a word, which of them follow which, and what must hold between them."""

    def __init__(self, matches: Matches) -> None:
        self.matches = matches
        self.relations: dict[Var, Relation] = {}
        self.order: set[tuple[Var, Var]] = set()
        self.conditions: list[Condition] = []
        self.gaps: list[Gap] = []

    def walk(self, word: Word) -> tuple[Vars, Vars]:
        """Take in a word; its first and its last events."""
        before: Vars = ()
        firsts: Vars = ()
        for element, gaps in zip(word.elements, word.gaps, strict=False):
            begins, ends = self._take(element)
            self.gaps += [Gap(pattern, before or None, begins) for pattern in gaps]
            if before:
                self._follow(before, begins)
            firsts, before = firsts or begins, ends
        self.gaps += [Gap(pattern, before, None) for pattern in word.gaps[-1]]
        return firsts, before

    def _take(self, element: Element) -> tuple[Vars, Vars]:
        if isinstance(element, Take):
            var, relation = self.matches.events(element.symbol)
            self.relations[var] = relation
            return (var,), (var,)
        sides = [self.walk(side) for side in element.sides]
        return tuple(v for begins, _ in sides for v in begins), tuple(v for _, ends in sides for v in ends)

    def _follow(self, ends: Vars, begins: Vars) -> None:
        matches = self.matches
        self.order |= set(product(ends, begins))
        self.conditions += matches.adjacent(ends, begins)
        if matches.plan.strategy is Strategy.CONTIGUOUS:
            text = f"{matches.first(begins, BEFORE)} = {matches.last(ends, matches.steps.rank)}"
            self.conditions.append(Condition(frozenset((*ends, *begins)), text))


def _extreme(function: str, texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})"


def names_in(texts: Iterable[str]) -> set[str]:
    """The columns of joined rows that some conditions read."""
    return {name for text in texts for name in _NAME.findall(text)}


__all__ = ["Both", "Filter", "Matches", "Union", "Earliest"]
