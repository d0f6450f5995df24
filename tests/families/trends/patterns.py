"""Random patterns of trend queries: as a tree for the oracle, and written as the language has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.families.events.pattern_cases import can_be_empty, write_parts
from tests.oracle.events.pattern import And, Not, Or, Pattern, Repeat, Seq, Type, branches, nodes
from tests.oracle.events.template import build_template

KINDS = "ABC"
QUANTIFIERS = {
    "+": (1, None),
    "*": (0, None),
    "?": (0, 1),
    "{2}": (2, 2),
    "{1,2}": (1, 2),
    "{2,}": (2, None),
    "{0,2}": (0, 2),
    "{2,3}": (2, 3),
}
# `+` is what trends are about.
_DRAWN = ["+", "+", "+", "*", "?", "{2}", "{1,2}", "{2,}", "{0,2}", "{2,3}"]
PLAIN = ["seq", "seq", "repeat", "repeat", "repeat", "or"]


def write(pattern: Pattern) -> str:
    """The pattern as the query language has it; a symbol that is its type's name is left out."""
    match pattern:
        case Type(kind, symbol):
            return kind if kind == symbol else f"{kind} {symbol}"
        case Not(part):
            return f"NOT {write(part)}"
        case Repeat(part, minimum, maximum):
            inner = write(part) if isinstance(part, Type) else f"({write(part)})"
            return inner + {bounds: text for text, bounds in QUANTIFIERS.items()}[(minimum, maximum)]
        case Seq() | And() | Or():
            return write_parts(pattern, write)


@dataclass
class Names:
    """How many steps a pattern may still get, and what they are called.

    With `own` every step has a symbol of its own; else a type is its symbol and may stand several times. What
    is absent always has its own: one name cannot stand for events and for absent events.
    """

    left: int
    own: bool
    used: int = 0

    def step(self, draw: st.DrawFn, absent: bool, kinds: str = KINDS) -> Type:
        self.left -= 1
        self.used += 1
        kind = draw(st.sampled_from(kinds))
        if absent:
            return Type(kind, f"n{self.used}")
        return Type(kind, f"s{self.used}") if self.own else Type(kind)


@st.composite
def patterns(draw: st.DrawFn, *, negations: bool = True, conjunction: bool = False) -> Pattern:
    """A pattern of up to five steps; with `conjunction` the outermost operator is AND."""
    names = Names(draw(st.sampled_from([3, 4, 2, 1, 5])), draw(st.booleans()))
    kinds = [*PLAIN, "not"] if negations else PLAIN
    if conjunction:
        names.left = draw(st.sampled_from([2, 3, 4]))
        n_sides = draw(st.sampled_from([2, 2, 3, 3, 4]))
        return And(tuple(_draw(draw, names, 2, kinds, False) for _ in range(n_sides)))
    match draw(st.sampled_from(["seq", "rounds", "loop", "seq", "or", "some"])):
        case "seq":
            return _draw_seq(draw, names, 2, kinds, False)
        case "rounds":
            return _repeat(draw, _draw_seq(draw, names, 1, kinds, False))
        case "loop":
            return _repeat(draw, names.step(draw, False))
        case "or":
            return Or(tuple(_draw_seq(draw, names, 1, kinds, False) for _ in range(2)))
    return _draw(draw, names, 2, kinds, False)


@st.composite
def with_negation(draw: st.DrawFn) -> Pattern:
    """A NOT first, last or between, around short patterns; what is absent may hold a NOT too."""
    names = Names(8, draw(st.booleans()))

    def present() -> Pattern:
        step: Pattern = names.step(draw, False)
        return _repeat(draw, step) if draw(st.booleans()) else step

    def absent() -> Pattern:
        match draw(st.sampled_from(["step", "step", "seq", "or", "not", "plus"])):
            case "seq":
                return Seq((names.step(draw, True), names.step(draw, True)))
            case "or":
                return Or((names.step(draw, True), names.step(draw, True)))
            case "not":
                parts = [names.step(draw, True), Not(names.step(draw, True)), names.step(draw, True)]
                first, last = draw(st.sampled_from([(0, 3), (0, 3), (0, 2), (1, 3)]))
                return Seq(tuple(parts[first:last]))
            case "plus":
                return Repeat(names.step(draw, True), 1, None)
        return names.step(draw, True)

    match draw(st.sampled_from(["between", "last", "first", "both", "between"])):
        case "between":
            found = Seq((present(), Not(absent()), present()))
        case "last":
            found = Seq((present(), Not(absent())))
        case "first":
            found = Seq((Not(absent()), present()))
        case _:
            found = Seq((Not(absent()), present(), Not(absent())))
    return _repeat(draw, found) if draw(st.sampled_from([False, True])) else found


@st.composite
def with_absent_neighbours(draw: st.DrawFn) -> Pattern:
    """A NOT in any place around a pattern whose events have neighbours; it may hold a NOT in any place too."""
    names = Names(12, draw(st.booleans()))

    def present() -> Pattern:
        step: Pattern = names.step(draw, False, "AAB")
        return _repeat(draw, step) if draw(st.sampled_from([False, False, True])) else step

    def forbidden() -> Type:
        return names.step(draw, True, "BBCA")

    def absent(depth: int) -> Pattern:
        first, second = forbidden(), forbidden()
        kinds = ["seq", "plus", "seq plus", "or", *(["between", "last", "first"] if depth else [])]
        match draw(st.sampled_from(kinds)):
            case "plus":
                return Repeat(first, 2, None)
            case "seq plus":
                return Seq((Repeat(first, 1, None), second))
            case "or":
                return Or((Seq((first, second)), forbidden()))
            case "between":
                return Seq((first, Not(inner()), second))
            case "last":
                return Seq((first, second, Not(inner())))
            case "first":
                return Seq((Not(inner()), first, second))
        return Seq((first, second))

    def inner() -> Pattern:
        return absent(0) if draw(st.booleans()) else forbidden()

    match draw(st.sampled_from(["between", "between", "last", "first", "both", "two"])):
        case "between":
            found = Seq((present(), Not(absent(1)), present()))
        case "last":
            found = Seq((present(), Not(absent(1))))
        case "first":
            found = Seq((Not(absent(1)), present()))
        case "two":
            light = Not(forbidden())
            found = Seq((present(), Not(absent(1)), *draw(st.permutations([present(), light]))))
        case _:
            found = Seq((Not(absent(0)), present(), Not(absent(0))))
    return _repeat(draw, found) if draw(st.sampled_from([False, True])) else found


@st.composite
def with_neighbours(draw: st.DrawFn) -> Pattern:
    """Loops, where most steps have many events before them to compare with."""
    names = Names(4, draw(st.booleans()))

    def loop() -> Pattern:
        return Repeat(names.step(draw, False), 1, None)

    match draw(st.sampled_from(["loop", "rounds", "seq", "two", "choice"])):
        case "loop":
            return loop()
        case "rounds":
            return Repeat(Seq((loop(), names.step(draw, False))), 1, None)
        case "seq":
            return Seq((names.step(draw, False), loop(), names.step(draw, False)))
        case "two":
            return Seq((loop(), loop()))
    return Repeat(Or((names.step(draw, False), names.step(draw, False))), 1, None)


def _draw(draw: st.DrawFn, names: Names, depth: int, kinds: list[str], absent: bool) -> Pattern:
    choices = ["step"] if depth <= 0 or names.left <= 1 else ["step", *(kind for kind in kinds if kind != "not")]
    match draw(st.sampled_from(choices)):
        case "seq":
            return _draw_seq(draw, names, depth, kinds, absent)
        case "repeat":
            return _repeat(draw, _draw(draw, names, depth - 1, kinds, absent))
        case "or":
            return Or(tuple(_draw(draw, names, depth - 1, kinds, absent) for _ in range(2)))
    return names.step(draw, absent)


def _repeat(draw: st.DrawFn, part: Pattern) -> Pattern:
    return Repeat(part, *QUANTIFIERS[draw(st.sampled_from(_DRAWN))])


def _draw_seq(draw: st.DrawFn, names: Names, depth: int, kinds: list[str], absent: bool) -> Pattern:
    parts: list[Pattern] = []
    for _ in range(draw(st.sampled_from([2, 2, 3]))):
        if names.left <= 0 and parts:
            break
        if "not" in kinds and draw(st.sampled_from([False, False, False, False, True])):
            part = _draw(draw, names, depth - 1, kinds, True)
            if not can_be_empty(part):
                parts.append(Not(part))
        else:
            part = _draw(draw, names, depth - 1, kinds, absent)
            parts.append(_repeat(draw, part) if draw(st.sampled_from([False, True, False])) else part)
    if all(isinstance(part, Not) for part in parts):
        parts.append(names.step(draw, absent))
    return Seq(tuple(parts))


def adjacent_symbols(pattern: Pattern) -> list[tuple[str, str]]:
    """The pairs of symbols that may stand side by side: what NEXT can relate, also inside what is absent."""
    wholes = [pattern, *(node.part for node in nodes(pattern, negated=True) if isinstance(node, Not))]
    pairs: dict[tuple[str, str], None] = {}
    for whole in wholes:
        for part in _templates(whole):
            edges = build_template(part).follows
            for before, after, _ in sorted(edges, key=lambda edge: (edge[0].position_idx, edge[1].position_idx)):
                pairs.setdefault((before.item.symbol, after.item.symbol))  # type: ignore[union-attr]
    return list(pairs)


def _templates(pattern: Pattern) -> Iterator[Pattern]:
    if isinstance(pattern, And):
        for side in pattern.parts:
            yield from branches(side)
    else:
        yield from branches(pattern)


def features(pattern: Pattern) -> set[str]:
    """What stands in a pattern, for `event` and for coverage of the strategies."""
    found = {type(node).__name__ for node in nodes(pattern, negated=True)}
    for node in nodes(pattern, negated=True):
        if isinstance(node, Seq) and len(node.parts) > 1:
            found |= {"leading NOT"} if isinstance(node.parts[0], Not) else set()
            found |= {"trailing NOT"} if isinstance(node.parts[-1], Not) else set()
            found |= {"inner NOT"} if any(isinstance(part, Not) for part in node.parts[1:-1]) else set()
        if isinstance(node, Not) and any(isinstance(inner, Not) for inner in nodes(node.part)):
            found.add("nested NOT")
    return found
