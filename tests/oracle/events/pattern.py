"""The oracle's own pattern tree: what a query looks for.

Implements semantics.md, "Patterns": event type with a symbol, SEQ, AND, OR, NOT inside SEQ, and `P{n,m}` of
which `P+`, `P*`, `P?` and `ITER(P, m)` are spellings. The tree is plain data; template.py gives it meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Type:
    """One event of a type, bound to a symbol; without a symbol the type's name is the symbol.

    >>> Type("Check").symbol
    'Check'
    """

    type: str
    symbol: str = ""

    def __post_init__(self) -> None:
        if not self.symbol:
            object.__setattr__(self, "symbol", self.type)


@dataclass(frozen=True)
class Seq:
    """`SEQ(...)`: the parts one after the other; parts may be `Not`."""

    parts: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))


@dataclass(frozen=True)
class And:
    """`AND(...)`: one match of every part, in any order in time."""

    parts: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))


@dataclass(frozen=True)
class Or:
    """`OR(...)`: a match of any part."""

    parts: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))


@dataclass(frozen=True)
class Not:
    """`NOT N` inside `SEQ`: no match of N lies there."""

    part: Pattern


@dataclass(frozen=True)
class Repeat:
    """`P{minimum,maximum}`; `maximum` None means unbounded."""

    part: Pattern
    minimum: int
    maximum: int | None


Pattern = Type | Seq | And | Or | Not | Repeat


def seq(*parts: Pattern) -> Seq:
    """`SEQ(parts)`."""
    return Seq(parts)


def and_(*parts: Pattern) -> And:
    """`AND(parts)`."""
    return And(parts)


def or_(*parts: Pattern) -> Or:
    """`OR(parts)`."""
    return Or(parts)


def plus(part: Pattern) -> Repeat:
    """`P+`."""
    return Repeat(part, 1, None)


def star(part: Pattern) -> Repeat:
    """`P*`."""
    return Repeat(part, 0, None)


def optional(part: Pattern) -> Repeat:
    """`P?`."""
    return Repeat(part, 0, 1)


def iter_(part: Pattern, times: int) -> Repeat:
    """`ITER(P, m)`, which is `P{m}`."""
    return Repeat(part, times, times)


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """The direct parts of a pattern, negated ones too."""
    match pattern:
        case Type():
            return ()
        case Not(part) | Repeat(part):
            return (part,)
        case _:
            return pattern.parts


def nodes(pattern: Pattern, negated: bool = False) -> Iterator[Pattern]:
    """Every node of the tree; those below a `Not` only when `negated`."""
    yield pattern
    if isinstance(pattern, Not) and not negated:
        return
    for child in children(pattern):
        yield from nodes(child, negated)


def symbols(pattern: Pattern, negated: bool = False) -> frozenset[str]:
    """The symbols a match of the pattern can bind; with `negated` also those below a `Not`.

    >>> sorted(symbols(seq(Type("A"), Not(Type("N")), Type("B"))))
    ['A', 'B']
    """
    return frozenset(node.symbol for node in nodes(pattern, negated) if isinstance(node, Type))


def branches(pattern: Pattern) -> tuple[Pattern, ...]:
    """The branches of an outermost OR (ORs directly inside it too); any other pattern is its only branch."""
    if isinstance(pattern, Or):
        return tuple(branch for part in pattern.parts for branch in branches(part))
    if isinstance(pattern, Seq) and len(pattern.parts) == 1:
        return branches(pattern.parts[0])
    return (pattern,)


def check_pattern(pattern: Pattern, inside_seq: bool = False) -> None:
    """Refuse what the language does not have: NOT outside SEQ, SEQ without a positive part, bad bounds."""
    match pattern:
        case Not() if not inside_seq:
            raise ValueError("NOT is allowed only inside SEQ")
        case Not(part) if isinstance(part, Not):
            raise ValueError("NOT NOT is no pattern")
        case Seq(parts) if all(isinstance(part, Not) for part in parts):
            raise ValueError("SEQ needs a part that is not negated")
        case And(parts) | Or(parts) if not parts:
            raise ValueError("AND and OR need parts")
        case Repeat(_, minimum, maximum) if minimum < 0 or (maximum is not None and maximum < max(minimum, 1)):
            raise ValueError(f"{{{minimum},{maximum}}} is no repetition")
    for child in children(pattern):
        check_pattern(child, inside_seq=isinstance(pattern, Seq))
