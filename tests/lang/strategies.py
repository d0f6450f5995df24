"""Hypothesis strategies for random event queries, valid by construction."""

from __future__ import annotations

from hypothesis import strategies as st
from sqlglot import exp

from eventide.lang import (
    And,
    Definition,
    EventQuery,
    Length,
    Name,
    Not,
    Option,
    Or,
    Pattern,
    Repeat,
    ReturnItem,
    Scalar,
    Seq,
    Step,
    Strategy,
    Window,
)
from eventide.lang.patterns import can_be_empty

plain_text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
name_texts = st.one_of(
    st.sampled_from(
        ["A", "B", "price", "größe", "within", "SEQ", "not", "from", "as", "a b", "a`b", "1x", "min", "温度"]
    ),
    plain_text,
)
names = st.builds(Name, name_texts)


def name_lists(max_size: int = 3) -> st.SearchStrategy[tuple[Name, ...]]:
    return st.lists(names, max_size=max_size, unique_by=lambda name: name.text).map(tuple)


# --- patterns ---------------------------------------------------------------------------------------------

steps = st.one_of(st.builds(Step, name_texts, name_texts), name_texts.map(lambda name: Step(name, name)))


@st.composite
def repeats(draw: st.DrawFn, parts: st.SearchStrategy[Pattern]) -> Repeat:
    minimum = draw(st.integers(0, 4))
    maximum = draw(st.one_of(st.none(), st.integers(max(minimum, 1), 6)))
    return Repeat(draw(parts), minimum, maximum)


@st.composite
def sequences(draw: st.DrawFn, parts: st.SearchStrategy[Pattern]) -> Seq:
    elements: list[Pattern] = list(draw(st.lists(parts, min_size=1, max_size=3)))
    for absent in draw(st.lists(parts.filter(lambda part: not can_be_empty(part)), max_size=2)):
        elements.insert(draw(st.integers(0, len(elements))), Not(absent))
    return Seq(tuple(elements))


def _nest(parts: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(repeats(parts), sequences(parts), st.builds(And, several), st.builds(Or, several))


patterns: st.SearchStrategy[Pattern] = st.recursive(steps, _nest, max_leaves=6)

# --- scalar expressions -----------------------------------------------------------------------------------

identifiers = name_texts.map(lambda name: exp.to_identifier(name, quoted=True))
columns = st.one_of(
    st.builds(lambda name: exp.Column(this=name), identifiers),
    st.builds(lambda name, table: exp.Column(this=name, table=table), identifiers, identifiers),
)
literals = st.one_of(
    st.integers(0, 10**20).map(lambda number: exp.Literal.number(str(number))),
    st.decimals(0, 100, places=3).map(lambda number: exp.Literal.number(str(number))),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5).map(exp.Literal.string),
    st.sampled_from([exp.true(), exp.false(), exp.null()]),
)
adjacent = st.builds(
    lambda symbol, column: exp.Dot(
        this=exp.Anonymous(this="NEXT", expressions=[exp.Column(this=symbol)]), expression=column
    ),
    identifiers,
    identifiers,
)


def _combine(parts: st.SearchStrategy[exp.Expression]) -> st.SearchStrategy[exp.Expression]:
    operands = st.one_of(columns, literals, adjacent, parts.map(lambda part: exp.Paren(this=part.copy())))
    binary = st.sampled_from([exp.Add, exp.Sub, exp.Mul, exp.EQ, exp.NEQ, exp.LT, exp.GTE, exp.Or, exp.NullSafeEQ])
    calls = st.sampled_from([exp.Sum, exp.Avg, exp.Max, exp.Abs, exp.Lower])
    return st.one_of(
        st.builds(
            lambda kind, left, right: kind(this=left.copy(), expression=right.copy()), binary, operands, operands
        ),
        st.builds(lambda kind, part: kind(this=part.copy()), calls, parts),
        st.builds(lambda part: exp.Not(this=exp.Paren(this=part.copy())), parts),
        st.builds(lambda part, low: exp.Between(this=part.copy(), low=low.copy(), high=low.copy()), operands, operands),
        st.builds(lambda part, items: exp.In(this=part.copy(), expressions=[items.copy()]), operands, literals),
        st.builds(lambda part: exp.Is(this=part.copy(), expression=exp.null()), operands),
        st.builds(
            lambda parts: exp.Anonymous(this="foo", expressions=[p.copy() for p in parts]), st.lists(parts, max_size=2)
        ),
        st.builds(lambda part: exp.Bracket(this=part.copy(), expressions=[exp.Literal.number(0)]), columns),
    )


trees = st.recursive(st.one_of(columns, literals, adjacent), _combine, max_leaves=6)
scalars = trees.map(lambda tree: Scalar(tree, ""))
# An OR among several conjuncts needs parentheses to stay one conjunct.
conjuncts = trees.map(lambda tree: Scalar(exp.Paren(this=tree.copy()) if isinstance(tree, exp.Or) else tree, ""))

# --- queries ----------------------------------------------------------------------------------------------


@st.composite
def windows(draw: st.DrawFn) -> Window:
    in_events = draw(st.booleans())
    unit = 1 if in_events else draw(st.sampled_from([1, 1_000, 60_000_000, 86_400_000_000]))
    length = draw(st.integers(1, 10_000))
    slide = draw(st.one_of(st.none(), st.integers(1, length)))
    return Window(Length(length * unit, in_events), None if slide is None else Length(slide * unit, in_events))


def _unique_items(items: list[ReturnItem]) -> tuple[ReturnItem, ...]:
    seen: set[str] = set()
    unique = []
    for item in items:
        if item.alias and item.alias.text in seen:
            item = ReturnItem(item.value)
        seen |= {item.alias.text} if item.alias else set()
        unique.append(item)
    return tuple(unique)


@st.composite
def queries(draw: st.DrawFn) -> EventQuery:
    complete = draw(st.booleans())
    items = st.lists(st.builds(ReturnItem, scalars, st.one_of(st.none(), names)), max_size=3).map(_unique_items)
    definitions = st.lists(st.builds(Definition, names, scalars), max_size=2, unique_by=lambda d: d.name.text)
    options = st.lists(st.builds(Option, names, st.text(max_size=5)), max_size=2, unique_by=lambda o: o.name.text)
    return EventQuery(
        text="",
        pattern=draw(patterns),
        source=draw(st.one_of(st.none(), names)),
        partition_by=draw(name_lists()),
        define=tuple(draw(definitions)),
        same=draw(name_lists()),
        where=tuple(draw(st.lists(conjuncts, max_size=3))),
        semantics=draw(st.one_of(st.none(), st.sampled_from(Strategy))),
        group_by=draw(name_lists()),
        window=draw(st.one_of(st.none(), windows())),
        min_length=draw(st.one_of(st.none(), st.integers(1, 99))),
        returns=() if complete else draw(items),
        complete_trends=complete,
        options=tuple(draw(options)),
    )


@st.composite
def mutated(draw: st.DrawFn, texts: list[str], pieces: list[str]) -> str:
    """One of the texts, in up to three places of which something else is written."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 8)))
        text = text[:start] + draw(st.sampled_from(["", *pieces])) + text[end:]
    return text
