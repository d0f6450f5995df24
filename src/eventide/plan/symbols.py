"""The symbols of a pattern, and how references to them are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eventide.errors import did_you_mean
from eventide.lang.tree import And, EventQuery, Not, Or, Pattern, Repeat, Seq, Span, Step
from eventide.plan.logical import Symbol
from eventide.plan.places import error_at


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
    """Every step with whether it stands under NOT and whether a match may bind other than one event to it."""
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
