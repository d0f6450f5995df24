"""What the matches of a pattern are made of: events as columns of joined rows, and the conditions between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product

from eventide.lang.tree import Pattern, Scalar, Strategy
from eventide.plan.logical import Match
from eventide.plan.references import references
from eventide.plan.relational.algebra import Join, Range, Relation, renamed
from eventide.plan.relational.dialects import Dialect
from eventide.plan.relational.steps import Steps, has_next, relates_events
from eventide.plan.relational.words import Word

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


@dataclass(frozen=True)
class Matches:
    """What all words of a query have in common, and the names that are taken."""

    plan: Match
    steps: Steps
    dialect: Dialect
    window: Window
    match_any: Callable[[Matches, Word], Matched]  # the matches of a word where the strategy is any or contiguous
    estimates: Mapping[str, float] = field(default_factory=dict)  # events of each symbol, where they are known
    reasons: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    # --- names and texts

    def number(self) -> int:
        """One that no name has yet."""
        return next(self.numbers)

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
                yield Condition(frozenset(chosen), self._text(conjunct, at))

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

    def _text(self, conjunct: Scalar, at: Mapping[str, Var]) -> str:
        def name(symbol: str, is_next: bool, column: str) -> str:
            return at[symbol].column(self.steps.column(column))

        return self.dialect.of_events(conjunct, self.plan, name)

    # --- events and pairs of relations

    def events(self, symbol: str) -> tuple[Var, Relation]:
        """The events of a symbol under names of their own."""
        var = Var(self.number(), symbol)
        made = self.steps.of(symbol)
        named = [(name, name) for name in self.steps.keys]
        named += [(var.column(name), name) for name in made.columns if name not in self.steps.keys]
        return var, renamed(made, tuple(named))

    def beside(self, relation: Relation) -> tuple[Relation, tuple[tuple[str, str], ...]]:
        """A relation as the right side of a join: its partition columns under other names, and the keys."""
        number = self.number()
        keys = tuple((name, f"q{number}_{name}") for name in self.steps.keys)
        others = [(name, name) for name in relation.columns if name not in self.steps.keys]
        return renamed(relation, (*((new, old) for old, new in keys), *others)), keys

    def join(self, left: Relation, right: Relation, conditions: Sequence[str], range_: Range | None) -> Relation:
        made, keys = self.beside(right)
        nullable = {f"p{i}": self.plan.schema.field(name).nullable for i, name in enumerate(self.plan.partition)}
        plain = tuple(key for key in keys if not nullable[key[0]])
        null_safe = tuple(key for key in keys if nullable[key[0]])
        return Join(left, made, null_safe, tuple(dict.fromkeys(conditions)), range_, plain)

    def skipping_till_any(self) -> Matches:
        """The same for what is negated, whose strategy is always any."""
        return replace(self, plan=replace(self.plan, strategy=Strategy.ANY))


def _extreme(function: str, texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})"


def names_in(texts: Iterable[str]) -> set[str]:
    """The columns of joined rows that some conditions read."""
    return {name for text in texts for name in _NAME.findall(text)}
