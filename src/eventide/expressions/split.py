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

from eventide.errors import QueryError
from eventide.expressions.literals import literal
from eventide.expressions.readings import is_next, is_reading, readings
from eventide.expressions.typecheck import Types, bind, bind_nexts, columns_of
from eventide.expressions.typed import Source, Typed
from eventide.expressions.types import as_decimal, kind, type_name
from eventide.expressions.write_sql import write_spark, write_typed
from eventide.lang.nodes import copied, every_node
from eventide.lang.tree import Scalar

# A condition of 400 operations took 15 s of CPU to compile, one of 800 more than 100 s.
MAX_OPERATIONS = 500


def too_many_operations(source: Source) -> QueryError:
    """The error about a condition between events that is too long to be compiled."""
    message = f"a condition that relates events has more than {MAX_OPERATIONS} operations"
    hint = "compiled code takes long beyond that: compute parts of it as columns before, or write a list as IN"
    return source.error(message, source.span, hint)


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """An event that a conjunct reads."""

    symbol: str
    is_next: bool = False

    def __str__(self) -> str:
        return f"NEXT({self.symbol})" if self.is_next else self.symbol


@dataclass(frozen=True, slots=True)
class EventValue:
    """What is computed for each event; the symbols of the columns of `expression` say nothing here."""

    expression: exp.Expr
    typed: Typed
    source: Source

    @property
    def dtype(self) -> pa.DataType | None:
        return self.typed.dtype

    @classmethod
    def of(cls, tree: exp.Expr, schema: pa.Schema, source: Source, types: Types) -> EventValue:
        """An expression over columns of a schema."""
        assert isinstance(tree, exp.Expression)
        columns = columns_of(schema, source.text, source.span, types)
        return cls(tree, bind(tree, columns, source.text, source.span, types), source)

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


def split(
    conjuncts: Sequence[Scalar], symbols: Sequence[str], schema: pa.Schema, text: str, types: Types | None = None
) -> Split:
    """Split the conjuncts of a query, whose references are exact; `types` are those of its plan.

    >>> from eventide.lang.scalars import parse_scalar
    >>> text = "A.price * 2 < NEXT(A).price"
    >>> done = split([parse_scalar(text)], ["A"], pa.schema([("price", pa.float64())]), text)
    >>> [value.spark for value in done.values], [str(slot) for slot in done.tests[0].slots]
    (['`price` * 2', '`price`'], ['A', 'NEXT(A)'])
    """
    return _Splitter(symbols, schema, text, types).split(conjuncts)


class _Splitter:
    def __init__(self, symbols: Sequence[str], schema: pa.Schema, text: str, types: Types | None) -> None:
        self.symbols = symbols
        self.schema = schema
        self.text = text
        self.types = Types() if types is None else types
        self.values: dict[str, tuple[int, EventValue]] = {}

    def split(self, conjuncts: Sequence[Scalar]) -> Split:
        alone: list[Local] = []
        tests: list[Test] = []
        for conjunct in conjuncts:
            source = Source(self.text, conjunct.span)
            tree = conjunct.tree
            slots = tuple(dict.fromkeys(self._slot_of(node) for node in readings(tree)))
            columns = columns_of(self.schema, self.text, source.span, self.types)
            bind_nexts(tree, columns, self.text, source.span, self.types)
            typed = bind(tree, columns, self.text, source.span, self.types)
            source.need_boolean(typed)
            if len(slots) <= 1 and not any(slot.is_next for slot in slots):
                alone.append(Local(slots[0].symbol if slots else None, EventValue(tree, typed, source)))
            else:
                tests.append(self._test(tree, typed, slots, source))
        return Split(tuple(alone), tuple(value for _, value in self.values.values()), tuple(tests))

    def _slot_of(self, node: exp.Expr) -> Slot:
        """The event that a column or NEXT reference reads."""
        if not isinstance(node, exp.Column):
            return Slot(node.this.expressions[0].name, True)
        return Slot(node.table or self.symbols[0])

    # --- values and tests -----------------------------------------------------------------------------------

    def _index(self, value: EventValue) -> int:
        return self.values.setdefault(value.spark, (len(self.values), value))[0]

    def _test(self, tree: exp.Expression, typed: Typed, slots: tuple[Slot, ...], source: Source) -> Test:
        slots_of = self._slots_below(tree)
        leaves: dict[int, _Leaf] = {}  # by the id of what the node was typed as

        def keep(node: exp.Expr, known: Typed, slot: int) -> None:
            value = EventValue(node, known, Source(self.text, source.span_of(node)))
            leaves.setdefault(id(known), _Leaf(slot, value))

        def cut(node: exp.Expr) -> None:
            """Find the largest parts that one event decides."""
            mine = slots_of[id(node)]
            known = self.types.of(node)
            is_literal = not mine and isinstance(node, exp.Expression) and literal(node, source) is not None
            constant = not mine and isinstance(node, exp.Condition) and not is_literal
            if known is not None and (len(mine) == 1 or constant):
                slot = slots.index(mine[0]) if mine else 0
                keep(node, known, slot)
                if len(leaves) > MAX_OPERATIONS:
                    raise too_many_operations(source)
            elif not is_literal and not is_next(node):
                for child in node.iter_expressions():
                    if not isinstance(child, (exp.DataType, exp.Var, exp.IntervalSpan)):
                        cut(child)

        cut(tree)
        for node in readings(tree):
            # What the type check takes apart further, such as a cast that it makes itself.
            if (known := self.types.of(node)) is not None:
                keep(node, known, slots.index(self._slot_of(node)))
        return Test(slots, self._residue(typed, leaves, source), source)

    def _slots_below(self, tree: exp.Expr) -> dict[int, tuple[Slot, ...]]:
        """The slots of every node, by its id."""
        found: dict[int, tuple[Slot, ...]] = {}
        for node in reversed(every_node(tree, is_reading)):
            if is_reading(node):
                found[id(node)] = (self._slot_of(node),)
            else:
                parts = (slot for child in node.iter_expressions() for slot in found[id(child)])
                found[id(node)] = tuple(dict.fromkeys(parts))
        return found

    def _residue(self, typed: Typed, leaves: dict[int, _Leaf], source: Source) -> Typed:
        """Leaves as indices; a cast of a leaf becomes part of the value, for the SQL engine to compute."""
        leaf = leaves.get(id(typed))
        if leaf is not None:
            return Typed("value", (), self._known(leaf, source), (leaf.slot, self._index(leaf.value)), typed.span)
        under = leaves.get(id(typed.args[0])) if typed.op == "cast" else None
        if under is not None and self._known(under, source) is not None and not is_simple_cast(typed):
            value = cast_value(under.value, typed, self.schema, self.types)
            return Typed("value", (), typed.dtype, (under.slot, self._index(value)), typed.span)
        args = tuple(self._residue(arg, leaves, source) for arg in typed.args)
        return Typed(typed.op, args, typed.dtype, typed.value, typed.span)

    def _known(self, leaf: _Leaf, source: Source) -> pa.DataType:
        typed = leaf.value.typed
        if typed.dtype is None:
            shown = self.text[typed.span.start : typed.span.end]
            hint = f"name its type: CAST({shown} AS DOUBLE)"
            raise source.error("the type of this is not known before the query runs", typed.span, hint)
        return typed.dtype


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A part of a condition that one event decides: its slot, and what is computed for the event."""

    slot: int
    value: EventValue


def cast_value(value: EventValue, typed: Typed, schema: pa.Schema, types: Types) -> EventValue:
    """The value in the type of a cast, for the SQL engine to compute."""
    source, inner = value.source, copied(value.expression)
    types.keep(inner, value.typed)
    to = exp.DataType.build(type_name(typed.dtype), dialect="spark")
    made = exp.Cast(this=inner if is_reading(inner) else exp.Paren(this=inner), to=to)
    columns = columns_of(schema, source.text, source.span, types)
    return EventValue(made, bind(made, columns, source.text, source.span, types), source)


def is_simple_cast(typed: Typed) -> bool:
    """Whether generated code casts as the SQL engine does."""
    pair = kind(typed.args[0].dtype), kind(typed.dtype)
    if pair == ("decimal", "decimal"):
        return bool(as_decimal(typed.args[0].dtype).scale <= as_decimal(typed.dtype).scale)
    simple = (("integer", "integer"), ("integer", "double"), ("float", "double"), ("integer", "decimal"))
    return pair in (*simple, ("date", "timestamp"), ("timestamp", "timestamp"))
