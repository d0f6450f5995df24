"""The split of predicates: what one event decides becomes a column, what relates events stays a test.

Goes in: the conjuncts of WHERE, the symbols, the schema of the events. Comes out: a `Split`: conjuncts on one event,
values to compute per event (each once, however often it is used), and tests over those values.
A slot is an event that a conjunct reads: `A`, or `NEXT(A)`, the event after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from eventide.errors import did_you_mean
from eventide.lang.tree import Scalar
from eventide.plan.expressions.literals import literal
from eventide.plan.expressions.typecheck import bind, columns_of
from eventide.plan.expressions.typed import Source, Typed
from eventide.plan.expressions.types import as_decimal, kind, type_name
from eventide.plan.expressions.write_sql import write_spark, write_typed


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """An event that a conjunct reads."""

    symbol: str
    is_next: bool = False

    def __str__(self) -> str:
        return f"NEXT({self.symbol})" if self.is_next else self.symbol


@dataclass(frozen=True, slots=True)
class EventValue:
    """What is computed for each event; `expression` names columns without a symbol."""

    expression: exp.Expression
    typed: Typed
    source: Source

    @property
    def dtype(self) -> pa.DataType | None:
        return self.typed.dtype

    @property
    def spark(self) -> str:
        """The text for Catalyst."""
        return write_spark(self.expression)

    @property
    def duckdb(self) -> str:
        """The text for DuckDB; QueryError when it is off the allow-list."""
        return write_typed(self.typed, self.source)


@dataclass(frozen=True, slots=True)
class Local:
    """A conjunct that one event decides; `symbol` is None when it reads no event at all."""

    symbol: str | None
    value: EventValue


@dataclass(frozen=True, slots=True)
class Test:
    """What is left of a conjunct that relates events, over leaves "value" of (slot index, value index)."""

    slots: tuple[Slot, ...]
    tree: Typed
    source: Source


@dataclass(frozen=True, slots=True)
class Split:
    """All conjuncts, split; test k reads `values[i]` of its slots."""

    locals: tuple[Local, ...]
    values: tuple[EventValue, ...]
    tests: tuple[Test, ...]


def split(conjuncts: Sequence[Scalar], symbols: Sequence[str], schema: pa.Schema, text: str) -> Split:
    """Split the conjuncts of a query.

    >>> from eventide.lang.scalars import parse_scalar
    >>> text = "A.price * 2 < NEXT(A).price"
    >>> done = split([parse_scalar(text)], ["A"], pa.schema([("price", pa.float64())]), text)
    >>> [value.spark for value in done.values], [str(slot) for slot in done.tests[0].slots]
    (['`price` * 2', '`price`'], ['A', 'NEXT(A)'])
    """
    return _Splitter(symbols, schema, text).split(conjuncts)


class _Splitter:
    def __init__(self, symbols: Sequence[str], schema: pa.Schema, text: str) -> None:
        self.symbols = {symbol.lower(): symbol for symbol in symbols}
        self.schema = schema
        self.text = text
        self.values: dict[str, tuple[int, EventValue]] = {}

    def split(self, conjuncts: Sequence[Scalar]) -> Split:
        alone: list[Local] = []
        tests: list[Test] = []
        for conjunct in conjuncts:
            source = Source(self.text, conjunct.span)
            tree = self._qualified(conjunct.tree, source)
            slots = _slots(tree)
            typed = bind(tree, columns_of(self.schema, self.text, source.span), self.text, source.span)
            if typed.dtype is not None and kind(typed.dtype) not in ("boolean", "null"):
                raise source.error(
                    f"a condition must be a boolean, but this is {type_name(typed.dtype)}",
                    typed.span,
                    "compare it with something",
                )
            if len(slots) <= 1 and not any(slot.is_next for slot in slots):
                alone.append(Local(slots[0].symbol if slots else None, EventValue(_plain(tree), typed, source)))
            else:
                tests.append(self._test(tree, slots, source))
        return Split(tuple(alone), tuple(value for _, value in self.values.values()), tuple(tests))

    # --- references -----------------------------------------------------------------------------------------

    def _qualified(self, tree: exp.Expression, source: Source) -> exp.Expression:
        """The tree with every reference as a column whose table is its slot; struct fields as Dot."""

        def rewrite(node: exp.Expression) -> exp.Expression:
            if isinstance(node, exp.Column):
                return self._reference(node.parts, node, source)
            if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
                parts, base = [node.expression], node.this
                while isinstance(base, exp.Dot) and isinstance(base.expression, exp.Identifier):
                    parts.insert(0, base.expression)
                    base = base.this
                symbol = _next_symbol(base)
                if symbol is not None:
                    return self._column(self._slot(symbol, True, source), parts, node, source)
            return node

        return tree.transform(rewrite)

    def _reference(self, parts: Sequence[exp.Expr], node: exp.Column, source: Source) -> exp.Expression:
        if len(parts) > 1 and parts[0].name.lower() in self.symbols:
            return self._column(self._slot(parts[0], False, source), parts[1:], node, source)
        if len(self.symbols) == 1:
            return self._column(Slot(next(iter(self.symbols.values()))), parts, node, source)
        names = list(self.symbols.values())
        if len(parts) > 1:
            hint = did_you_mean(parts[0].name, names)
            raise source.error(f"unknown symbol '{parts[0].name}'", source.span_of(parts[0]), hint)
        hint = f"write {names[0]}.{parts[0].name}" if names else None
        raise source.error(f"column '{parts[0].name}' needs a symbol", source.span_of(node), hint)

    def _slot(self, symbol: exp.Expr, is_next: bool, source: Source) -> Slot:
        known = self.symbols.get(symbol.name.lower())
        if known is None:
            hint = did_you_mean(symbol.name, self.symbols.values())
            raise source.error(f"unknown symbol '{symbol.name}'", source.span_of(symbol), hint)
        return Slot(known, is_next)

    def _column(self, slot: Slot, parts: Sequence[exp.Expr], node: exp.Expression, source: Source) -> exp.Expression:
        span = source.span_of(node)
        plain = exp.Column(this=exp.to_identifier(parts[0].name, quoted=True))
        plain.meta.update(start=span.start, end=span.end - 1)
        field = columns_of(self.schema, self.text, span)(plain)
        made: exp.Expression = exp.column(exp.to_identifier(field.name, quoted=True), table=_key(slot))
        made.meta.update(start=span.start, end=span.end - 1)
        for part in parts[1:]:
            made = exp.Dot(this=made, expression=exp.to_identifier(part.name, quoted=True))
        return made

    # --- values and tests -----------------------------------------------------------------------------------

    def _value(self, tree: exp.Expression, source: Source) -> EventValue:
        plain = _plain(tree)
        typed = bind(plain, columns_of(self.schema, self.text, source.span), self.text, source.span)
        return EventValue(plain, typed, source)

    def _index(self, value: EventValue) -> int:
        return self.values.setdefault(value.spark, (len(self.values), value))[0]

    def _test(self, tree: exp.Expression, slots: tuple[Slot, ...], source: Source) -> Test:
        leaves: dict[str, tuple[int, EventValue]] = {}
        copy = tree.copy()
        slots_of = _slots_below(copy)

        def cut(node: exp.Expression) -> exp.Expression:
            mine = slots_of[id(node)]
            is_branch = isinstance(node, exp.If) and isinstance(node.parent, exp.Case)
            constant = not mine and isinstance(node, exp.Condition) and literal(node, source) is None
            if is_branch or not (len(mine) == 1 or constant) or isinstance(node, exp.Identifier):
                for child in list(node.iter_expressions()) if literal(node, source) is None else ():
                    if not isinstance(child, (exp.DataType, exp.Var, exp.IntervalSpan)):
                        made = cut(child)
                        if made is not child:
                            child.replace(made)
                return node
            span = source.span_of(node)
            value = self._value(node, Source(self.text, span))
            name = f"{slots.index(mine[0]) if mine else 0}:{value.spark}"
            leaves[name] = (slots.index(mine[0]) if mine else 0, value)
            leaf = exp.Column(this=exp.to_identifier(name, quoted=True))
            leaf.meta.update(start=span.start, end=span.end - 1)
            return leaf

        def resolve(column: exp.Column) -> pa.Field:
            value = leaves[column.name][1]
            if value.dtype is None:
                shown = self.text[value.typed.span.start : value.typed.span.end]
                hint = f"name its type: CAST({shown} AS DOUBLE)"
                raise source.error("the type of this is not known before the query runs", value.typed.span, hint)
            return pa.field(column.name, value.dtype)

        residue = bind(cut(copy), resolve, self.text, source.span)
        return Test(slots, self._leaves(residue, leaves), source)

    def _leaves(self, typed: Typed, leaves: dict[str, tuple[int, EventValue]]) -> Typed:
        """Leaves as indices; a cast of a leaf becomes part of the value, for the SQL engine to compute."""
        if typed.op == "cast" and typed.args[0].op == "column" and not is_simple_cast(typed):
            slot, value = leaves[typed.args[0].value[0]]
            to = exp.DataType.build(type_name(typed.dtype), dialect="spark")
            inner = value.expression.copy()
            cast = exp.Cast(this=inner if isinstance(inner, exp.Column) else exp.Paren(this=inner), to=to)
            return Typed("value", (), typed.dtype, (slot, self._index(self._value(cast, value.source))), typed.span)
        if typed.op == "column":
            slot, value = leaves[typed.value[0]]
            return Typed("value", (), typed.dtype, (slot, self._index(value)), typed.span)
        args = tuple(self._leaves(arg, leaves) for arg in typed.args)
        return Typed(typed.op, args, typed.dtype, typed.value, typed.span)


def is_simple_cast(typed: Typed) -> bool:
    """Whether generated code casts as the SQL engine does."""
    pair = kind(typed.args[0].dtype), kind(typed.dtype)
    if pair == ("decimal", "decimal"):
        return bool(as_decimal(typed.args[0].dtype).scale <= as_decimal(typed.dtype).scale)
    simple = (("integer", "integer"), ("integer", "double"), ("float", "double"), ("integer", "decimal"))
    return pair in (*simple, ("date", "timestamp"), ("timestamp", "timestamp"))


def _next_symbol(node: exp.Expression) -> exp.Expression | None:
    if not isinstance(node, exp.Anonymous) or node.name.upper() != "NEXT" or len(node.expressions) != 1:
        return None
    (symbol,) = node.expressions
    return symbol.this if isinstance(symbol, exp.Column) and len(symbol.parts) == 1 else None


def _key(slot: Slot) -> exp.Identifier:
    return exp.to_identifier(("n" if slot.is_next else "e") + slot.symbol, quoted=True)


def _slots(tree: exp.Expression) -> tuple[Slot, ...]:
    tables = [column.table for column in tree.find_all(exp.Column, bfs=False)]
    return tuple(dict.fromkeys(Slot(table[1:], table[0] == "n") for table in tables if table))


def _slots_below(tree: exp.Expression) -> dict[int, tuple[Slot, ...]]:
    """The slots of every node, by its id."""
    found: dict[int, tuple[Slot, ...]] = {}
    for node in reversed(list(tree.walk())):
        if isinstance(node, exp.Column) and node.table:
            found[id(node)] = (Slot(node.table[1:], node.table[0] == "n"),)
        else:
            parts = (slot for child in node.iter_expressions() for slot in found[id(child)])
            found[id(node)] = tuple(dict.fromkeys(parts))
    return found


def _plain(tree: exp.Expression) -> exp.Expression:
    """The tree with columns that carry no slot."""

    def without_slot(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column) and node.table:
            plain = exp.Column(this=node.this.copy())
            plain.meta.update(node.meta)
            return plain
        return node

    return tree.transform(without_slot)
