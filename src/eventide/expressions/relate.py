"""Conditions between events: what one event decides becomes a bit of a mask, what relates events becomes compiled code.

Goes in: conjuncts over leaves. Comes out: `Related`, over the slots and the values of single events that they read. How
the row of a slot is found, and where an aggregate is kept, a family says by its `Relations` and its `TestWriter`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.folds import Fold, Folds
from eventide.expressions.navigation.leaves import (
    AggregateLeaf,
    CodeLeaf,
    FoldLeaf,
    LabelLeaf,
    Leaf,
    ListLeaf,
    Resolved,
    Slot,
    ValueLeaf,
    leaf_type,
)
from eventide.expressions.residue import encode_values
from eventide.expressions.split import EventValue, cast_value, is_simple_cast
from eventide.expressions.typecheck import Types, bind, columns_of
from eventide.expressions.typed import Source, Typed
from eventide.expressions.types import kind, type_name
from eventide.expressions.write_code import Encoded
from eventide.lang.nodes import copied
from eventide.lang.tree import Scalar

NUMBERS = ("integer", "float", "double", "decimal", "null")
ORDERED = (*NUMBERS, "timestamp", "date", "boolean")


@dataclass(frozen=True)
class Relation:
    """A conjunct of condition `number` that looks at more than its event; `own`: the label that the event has then."""

    number: int
    resolved: Resolved
    source: Source
    own: int | None = None

    @cached_property
    def merged(self) -> Resolved:
        """The conjunct with every part that its event decides as one leaf."""
        return merge_current(self.resolved)


def conjuncts(tree: exp.Expression) -> list[exp.Expression]:
    """The conjuncts of a condition.

    >>> import sqlglot
    >>> [str(c) for c in conjuncts(sqlglot.parse_one("a > 1 AND (b AND c OR d)"))]
    ['a > 1', '(b AND c OR d)']
    """
    found: list[exp.Expression] = []
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.And):
            waiting += [part.expression, part.this]
        elif isinstance(part, exp.Paren) and isinstance(part.this, exp.And):
            waiting.append(part.this)
        else:
            found.append(part)
    return found


def split_condition(
    whole: Scalar, source: Source, resolve: Callable[[Scalar], Resolved], schema: pa.Schema
) -> tuple[list[EventValue], list[Resolved]]:
    """The conjuncts that the event alone decides, and the others."""
    alone: list[EventValue] = []
    others: list[Resolved] = []
    for tree in conjuncts(whole.tree):
        resolved = resolve(Scalar(tree, whole.text, whole.span))
        if not is_local(resolved):
            others.append(resolved)
            continue
        value = event_value(plain_tree(resolved), schema, source)
        source.need_boolean(value.typed)
        alone.append(value)
    return alone, others


def is_local(resolved: Resolved) -> bool:
    """Whether the row itself decides the condition."""
    return all(isinstance(leaf, ValueLeaf) and leaf.slot.is_current for leaf in resolved.leaves)


def plain_tree(resolved: Resolved) -> exp.Expression:
    """A local condition over the row's columns."""

    def rewrite(node: exp.Expr) -> exp.Expr | None:
        if not isinstance(node, exp.Column):
            return None
        leaf = resolved.leaves[int(node.name)]
        assert isinstance(leaf, ValueLeaf)
        return copied(leaf.tree)

    return copied(resolved.tree, rewrite)


def event_value(tree: exp.Expression, schema: pa.Schema, source: Source, types: Types | None = None) -> EventValue:
    """An expression over the columns of one row."""
    text, span = source.text, source.span
    return EventValue(tree, bind(tree, columns_of(schema, text, span, types), text, span, types), source)


@dataclass(frozen=True, slots=True)
class Related:
    """A conjunct over leaves "value" of (slot, value), "fold", "label" of a slot, and "number"."""

    relation: Relation
    slots: tuple[Slot, ...]
    tree: Typed


class Relations:
    """The conjuncts of one query over what they read: `values` of single events and `folds`, each once.

    A family refines what it can read, and words its messages: `when` something is known, `instead` of an aggregate.
    """

    when = "before the query runs"
    instead = "compare the events themselves: last(a.x), first(a.x)"

    def __init__(self, schema: pa.Schema, types: Types | None = None) -> None:
        self._schema = schema
        self._types = Types() if types is None else types
        self.values: list[EventValue] = []
        self._numbers: dict[tuple[str, bool], int] = {}  # of the values, by their text, and whether they are ranked
        self.folds = Folds()
        self.tests: list[Related] = []

    def index(self, value: EventValue, is_ranked: bool = False) -> int:
        """The number of a value; one that is ranked is a string whose codes have its order."""
        number = self._numbers.setdefault((value.spark, is_ranked), len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number

    def relate(self, relation: Relation) -> None:
        """Add a conjunct."""
        source, merged = relation.source, relation.merged
        leaves = [self._readable(leaf, relation) for leaf in merged.leaves]
        read = [(leaf, self._value(leaf, source)) for leaf in leaves]
        for column in merged.tree.find_all(exp.Column):
            number, span = int(column.name), source.span_of(column)
            leaf, value = read[number]
            dtype = leaf_type(leaf, None if value is None else value.dtype)
            if dtype is None:
                hint = f"name its type: CAST({source.text[span.start : span.end]} AS DOUBLE)"
                raise source.error(f"the type of this is not known {self.when}", span, hint)
            self._types.keep(column, Typed("leaf", (), dtype, number, span))
        typed = bind(merged.tree, _no_column, source.text, source.span, self._types)
        source.need_boolean(typed)
        slots: list[Slot] = []
        tree = self._placed(typed, read, slots, source)
        self.tests.append(Related(relation, tuple(slots), tree))

    def _value(self, leaf: CodeLeaf, source: Source) -> EventValue | None:
        """What a leaf reads of one event."""
        if not isinstance(leaf, (ValueLeaf, FoldLeaf)) or leaf.tree is None:
            return None
        return event_value(leaf.tree, self._schema, Source(source.text, leaf.span), self._types)

    def _placed(
        self, typed: Typed, read: Sequence[tuple[CodeLeaf, EventValue | None]], slots: list[Slot], source: Source
    ) -> Typed:
        """The tree of a `Related`."""
        is_cast = typed.op == "cast" and typed.args[0].op == "leaf"
        found = typed.args[0] if is_cast else typed
        if found.op != "leaf":
            args = tuple(self._placed(arg, read, slots, source) for arg in typed.args)
            return replace(typed, args=args)
        leaf, value = read[found.value]
        match leaf:
            case ValueLeaf():
                assert value is not None
                by_engine = is_cast and not is_simple_cast(typed)
                if by_engine:
                    value, found, is_cast = cast_value(value, typed, self._schema, self._types), typed, False
                made = Typed("value", (), found.dtype, (self.slot(slots, leaf.slot), self.index(value)), found.span)
            case FoldLeaf():
                made = Typed("fold", (), found.dtype, self.fold(leaf, value, source), found.span)
            case LabelLeaf():
                made = Typed("label", (), found.dtype, self.slot(slots, leaf.slot), found.span)
            case _:
                made = Typed("number", (), found.dtype, None, found.span)
        return replace(typed, args=(made,)) if is_cast else made

    def encoded(self, columns: Sequence[str]) -> Encoded:
        """The values, of which number i is read from the block's column `columns[i]`."""
        ranked = {number for (_, is_ranked), number in self._numbers.items() if is_ranked}
        trees = [test.tree for test in self.tests]
        made = encode_values(trees, self.values, columns, range(len(self.values)), ranked)
        if any(fold.function == "SUM" for fold in self.folds.made):
            made.called.add("add_int")
        return made

    # --- what a family refines ------------------------------------------------------------------------------

    def _readable(self, leaf: Leaf, relation: Relation) -> CodeLeaf:
        """A leaf as the event of a condition sees it; an error when no code reads it."""
        if isinstance(leaf, (ListLeaf, AggregateLeaf)):
            hint = "conditions may use count, sum, avg, min and max"
            raise relation.source.error("a condition cannot hold this aggregate", relation.source.span, hint)
        return leaf

    def slot(self, slots: list[Slot], slot: Slot) -> int:
        """The number of a slot in its test."""
        if slot not in slots:
            slots.append(slot)
        return slots.index(slot)

    def fold(self, leaf: FoldLeaf, value: EventValue | None, source: Source) -> Fold:
        """The aggregate of a leaf, kept once however often it is read."""
        dtype = None if value is None else value.dtype
        kinds = ORDERED if leaf.function in ("MIN", "MAX") else NUMBERS
        if leaf.function != "COUNT" and dtype is not None and kind(dtype) not in kinds:
            message = f"there is no {leaf.function.lower()} of {type_name(dtype)} in a condition"
            raise source.error(message, leaf.span, self.instead)
        index = None if value is None else self.index(value)
        return self.folds.add(Fold(leaf.function, leaf.members, index), dtype)


def _no_column(column: exp.Column) -> pa.Field:
    raise AssertionError(f"the leaf {column.name} has no type")


def merge_current(resolved: Resolved) -> Resolved:
    """The same condition, with every part that the current row decides as one leaf: the SQL engine computes it."""
    leaves: dict[Leaf, int] = {}
    tree = copied(resolved.tree)
    decided = _decided_by_row(tree, resolved.leaves)

    def add(leaf: Leaf, node: exp.Expression) -> exp.Expression:
        number = leaves.setdefault(leaf, len(leaves))
        made = exp.Column(this=exp.to_identifier(str(number), quoted=True))
        made.meta.update(node.meta)
        return made

    def cut(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Column):
            return add(resolved.leaves[int(node.name)], node)
        is_branch = isinstance(node, exp.If) and isinstance(node.parent, exp.Case)
        whole = isinstance(node, exp.Condition) and not is_branch and not isinstance(node, exp.Paren)
        if whole and decided[id(node)]:
            plain = plain_tree(Resolved(node, resolved.leaves, resolved.span))
            return add(ValueLeaf(Slot(), plain, resolved.span), node)
        for child in list(node.iter_expressions()):
            if isinstance(child, exp.Expression) and not isinstance(child, (exp.DataType, exp.Var, exp.Identifier)):
                made = cut(child)
                if made is not child:
                    child.replace(made)
        return node

    return Resolved(cut(tree), tuple(leaves), resolved.span)


def _decided_by_row(tree: exp.Expression, leaves: Sequence[Leaf]) -> dict[int, bool | None]:
    """Of every node, by its id, whether all leaves below it are of the current row; None where there is none."""
    found: dict[int, bool | None] = {}
    for node in reversed(list(tree.walk())):
        if isinstance(node, exp.Column):
            leaf = leaves[int(node.name)]
            found[id(node)] = isinstance(leaf, ValueLeaf) and leaf.slot.is_current
        else:
            below = [found[id(child)] for child in node.iter_expressions()]
            found[id(node)] = False if False in below else True if True in below else None
    return found
