"""The symbols of a pattern, and what expressions read of them: `A.price`, `price`, `NEXT(A).price`, `A.payload.field`.

In: a sqlglot tree as written. Out: a copy in which every reference is `symbol.column` or `NEXT(symbol).column`
with the names of the pattern and of the schema, and struct fields are dotted onto it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from sqlglot import exp

from eventide.errors import QueryError, did_you_mean
from eventide.expressions.readings import is_next, readings
from eventide.expressions.split import Test
from eventide.lang.nodes import copied, every_node
from eventide.lang.positions import span_of
from eventide.lang.tree import And, EventQuery, Not, Or, Pattern, Repeat, Seq, Span, Step
from eventide.plan.logical import Match, Reference, Symbol
from eventide.plan.places import error_at
from eventide.plan.scope import find_column

# What an unqualified column means: the symbol it belongs to, or None for a partition column that stays plain.
Unqualified = Callable[[str, Span], str | None]


def collect_symbols(query: EventQuery) -> dict[str, Symbol]:
    """The symbols in order of appearance; one name for two types is an error.

    >>> from eventide.lang import parse
    >>> [s.name for s in collect_symbols(parse("PATTERN SEQ(A, Big B+, NOT C) RETURN A.x")).values()]
    ['A', 'B', 'C']
    """
    found: dict[str, Symbol] = {}
    folded: dict[str, str] = {}
    for step, negated, repeated in walk_steps(query.pattern):
        other = f"give one of them another name: {step.type} {step.symbol}2"
        if folded.setdefault(step.symbol.lower(), step.symbol) != step.symbol:
            message = f"symbols '{folded[step.symbol.lower()]}' and '{step.symbol}' differ only in case"
            raise error_at(query, step.span, message, other)
        before = found.get(step.symbol)
        if before is None:
            found[step.symbol] = Symbol(step.symbol, step.type, 1, negated, repeated)
            continue
        if before.type != step.type:
            message = f"symbol '{step.symbol}' stands for types '{before.type}' and '{step.type}'"
            raise error_at(query, step.span, message, other)
        if before.negated != negated:
            message = f"symbol '{step.symbol}' stands for events and for absent events"
            raise error_at(query, step.span, message, other)
        found[step.symbol] = Symbol(step.symbol, step.type, before.n_steps + 1, negated, before.repeated or repeated)
    return found


def name_apart(symbol: Symbol) -> str:
    """The hint for a symbol of several steps where one of them must be meant."""
    return f"give each its own name: {symbol.type} {symbol.name}1, {symbol.type} {symbol.name}2"


def walk_steps(pattern: Pattern, negated: bool = False, repeated: bool = False) -> Iterator[tuple[Step, bool, bool]]:
    """Every step, whether it is under NOT, and whether a match may bind no event or several events to it."""
    match pattern:
        case Step():
            yield pattern, negated, repeated
        case Seq() | And():
            for part in pattern.parts:
                yield from walk_steps(part, negated, repeated)
        case Or():
            for part in pattern.parts:
                yield from walk_steps(part, negated, True)
        case Not():
            yield from walk_steps(pattern.part, True, repeated)
        case Repeat():
            yield from walk_steps(pattern.part, negated, repeated or (pattern.minimum, pattern.maximum) != (1, 1))


def find_symbol(name: str, symbols: Mapping[str, Symbol], query: EventQuery, span: Span) -> Symbol:
    """The symbol of that name; any case will do where it is unambiguous."""
    if name in symbols:
        return symbols[name]
    folded = [symbol for key, symbol in symbols.items() if key.lower() == name.lower()]
    if len(folded) == 1:
        return folded[0]
    of_type = [symbol.name for symbol in symbols.values() if symbol.type.lower() == name.lower()]
    hint = did_you_mean(name, symbols)
    if of_type:
        hint = f"'{name}' is an event type; its symbol is {' or '.join(repr(s) for s in of_type)}"
    raise error_at(query, span, f"unknown symbol '{name}'", hint)


def which_event(query: EventQuery, span: Span, symbols: list[str]) -> QueryError:
    """The error about a column that could be any event's."""
    column = query.text[span.start : span.end]
    hint = "write " + " or ".join(f"{symbol}.{column}" for symbol in symbols[:4])
    return error_at(query, span, f"which event's '{column}'?", hint)


def qualify(
    tree: exp.Expression,
    default: Span,
    plan: Match,
    unqualified: Unqualified,
    symbols: Mapping[str, Symbol] | None = None,
) -> exp.Expression:
    """A copy of the tree with exact references to the plan's symbols, or to others."""
    query, schema = plan.query, plan.schema
    symbols = plan.symbols if symbols is None else symbols
    known = {name.lower() for name in symbols}
    columns = {name.lower() for name in schema.names}
    found: dict[str, str] = {}

    def column_of(part: exp.Expr) -> str:
        if part.name not in found:
            found[part.name] = find_column(part.name, schema, partial(error_at, query, span_of(part, default)))
        return found[part.name]

    def rewrite(node: exp.Expr) -> exp.Expr | None:
        if is_next(node):
            return rewrite_next(copied(node))
        if not isinstance(node, exp.Column):
            return None
        if isinstance(node.this, exp.Star):
            return copied(node)
        first, *rest = node.parts
        span = span_of(node, default)
        if rest and (first.name.lower() in known or first.name.lower() not in columns):
            symbol = find_symbol(first.name, symbols, query, span_of(first, default)).name
            return _reference(symbol, column_of(rest[0]), node, rest[1:])
        if not rest and first.name.lower() in known and first.name.lower() not in columns:
            hint = f"name one of its columns: {first.name}.{schema.names[0] if schema.names else 'column'}"
            raise error_at(query, span, f"'{first.name}' is an event, not a value", hint)
        column = column_of(first)
        return _reference(unqualified(column, span), column, node, rest)

    def rewrite_next(node: exp.Expr) -> exp.Expr:
        argument = node.this.expressions[0]
        symbol = find_symbol(argument.name, symbols, query, span_of(argument, default)).name
        column = column_of(node.expression)
        node.this.expressions[0].this.set("this", symbol)
        node.expression.set("this", column)
        return node

    made = copied(tree, rewrite)
    assert isinstance(made, exp.Expression)
    return made


def hold_counted_symbols(tree: exp.Expression, span: Span, plan: Match) -> exp.Expression:
    """COUNT(E) and COUNT(E.*) name a symbol, not a column: they become COUNT with an identifier inside."""
    if not any(isinstance(node, exp.Count) for node in every_node(tree)):
        return tree
    copy = tree.copy()
    for count in copy.find_all(exp.Count):
        argument = count.this
        if not isinstance(argument, exp.Column):
            continue
        named = argument.args.get("table") if isinstance(argument.this, exp.Star) else argument.this
        if isinstance(named, exp.Identifier) and (isinstance(argument.this, exp.Star) or not argument.table):
            symbol = find_symbol(named.name, plan.symbols, plan.query, span_of(argument, span))
            held = exp.Identifier(this=symbol.name, quoted=True)
            held.meta.update(named.meta)
            count.set("this", held)
    return copy


def aggregated_symbols(node: exp.AggFunc, symbols: Mapping[str, Symbol]) -> list[Symbol]:
    """The symbols over whose events an aggregate goes."""
    names = [column.table for column in node.find_all(exp.Column)]
    if isinstance(node.this, exp.Identifier):
        names.append(node.this.name)
    return [symbols[name] for name in dict.fromkeys(names) if name in symbols]


def references(tree: exp.Expr) -> tuple[Reference, ...]:
    """What a qualified tree reads, without repeats, in order of appearance; NEXT(s).c reads s.c."""
    found: dict[Reference, None] = {}
    for node in readings(tree):
        if isinstance(node, exp.Column):
            found.setdefault(Reference(node.table or None, node.name))
        else:
            found.setdefault(Reference(node.this.expressions[0].name, node.expression.name))
    return tuple(found)


def _reference(symbol: str | None, column: str, node: exp.Column, fields: list[exp.Expr]) -> exp.Expr:
    name = exp.Identifier(this=column, quoted=True)
    table = exp.Identifier(this=symbol, quoted=True) if symbol is not None else None
    positions = [part.meta for part in node.parts if "start" in part.meta]
    if positions:
        name.meta.update(start=positions[0]["start"], end=positions[-1]["end"])
    built: exp.Expr = exp.Column(this=name, table=table)
    for field in fields:
        built = exp.Dot(this=built, expression=field.copy())
    return built


def sides_of(test: Test) -> tuple[str, str]:
    """The symbols of a test on adjacent events: of the earlier one, and of the later."""
    (left,) = (slot.symbol for slot in test.slots if not slot.is_next)
    (right,) = (slot.symbol for slot in test.slots if slot.is_next)
    return left, right


def never_adjacent(plan: Match, test: Test, pairs: set[tuple[str, str]], hint: str) -> QueryError:
    """The error about a NEXT between symbols that are never side by side, as those of `pairs` are."""
    left, right = sides_of(test)
    if left != right and (right, left) in pairs:
        hint = f"'{right}' comes first: write {right}.column and NEXT({left}).column"
    message = f"'{left}' is never directly followed by '{right}' in this pattern"
    return error_at(plan.query, test.source.span, message, hint)
