"""What the operator must return for the leaves of an expression, and the expression over it."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.navigation.leaves import (
    AggregateLeaf,
    FoldLeaf,
    LabelLeaf,
    Leaf,
    ListLeaf,
    NumberLeaf,
    Resolved,
    Slot,
    ValueLeaf,
    leaf_type,
)
from eventide.expressions.relate import event_value
from eventide.expressions.split import EventValue
from eventide.expressions.typecheck import Types, bind, columns_of
from eventide.expressions.typed import Source, Typed
from eventide.expressions.types import MONTHS, column_type, kind, type_name
from eventide.lang.nodes import copied
from eventide.lang.tree import Span
from eventide.plan.columns import Columns
from eventide.plan.list_aggregates import aggregate_lists, need_type, without_order
from eventide.plan.physical import SqlColumn, column_as
from eventide.plan.results import computed_column
from eventide.plan.scope import is_orderable
from eventide.runtime.computed import Computed
from eventide.runtime.measured import Folded, Listed, Picked, Position
from eventide.runtime.measures import NUMBER


class Readings:
    """What expressions read of an operator's columns; a family says which column a leaf becomes, each once."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._types = Types()

    def fields(self) -> list[pa.Field]:
        """The operator's columns."""
        raise NotImplementedError

    def _add(self, leaf: Leaf, source: Source) -> str:
        """The column of a leaf; `source` is that of the whole expression."""
        raise NotImplementedError

    def over(self, resolved: Resolved, source: Source) -> exp.Expression:
        """An expression over the operator's columns, whose types are known."""
        names = [self._add(leaf, source) for leaf in resolved.leaves]
        fields = {field.name: field.type for field in self.fields()}

        def rename(node: exp.Expr) -> exp.Expr | None:
            if not isinstance(node, exp.Column):
                return None
            name = names[int(node.name)]
            column = exp.Column(this=exp.to_identifier(name, quoted=True))
            column.meta.update(node.meta)
            read = (name, fields[name])
            self._types.keep(column, Typed("column", (), column_type(fields[name]), read, source.span_of(node)))
            return column

        return copied(resolved.tree, rename)

    def bind(self, tree: exp.Expression, source: Source) -> Typed:
        """An expression that `over` gave, with types."""
        return bind(tree, columns_of(pa.schema(self.fields())), source.text, source.span, self._types)

    def column(self, name: str, tree: exp.Expression, source: Source) -> SqlColumn:
        """A result column that is an expression that `over` gave."""
        typed = self.bind(tree, source)
        if not isinstance(tree, exp.Column):
            return computed_column(name, tree, typed, source, self._columns.engine)
        dtype = typed.dtype if typed.value[1] == MONTHS else typed.value[1]
        return column_as(name, tree.name, dtype=dtype)

    def _value(self, tree: exp.Expression, span: Span, source: Source) -> EventValue:
        return event_value(tree, self._columns.schema, Source(source.text, span), self._types)

    def _type(self, value: EventValue | None) -> pa.DataType | None:
        """The type in which the value comes out: a plain column keeps its own."""
        if value is None:
            return None
        if isinstance(value.expression, exp.Column):
            return self._columns.scope.type_of_column(value.expression.name)
        return value.dtype


class Outputs(Readings):
    """The columns that matches of rows have: single values, aggregates, lists, and what DuckDB makes of lists."""

    def __init__(self, columns: Columns) -> None:
        super().__init__(columns)
        self.picked: dict[Picked, pa.DataType] = {}
        self.folded: dict[Folded, pa.DataType] = {}
        self.listed: dict[Listed, pa.DataType] = {}
        self.computed: dict[str, Computed] = {}

    def returned(self) -> list[pa.Field]:
        """The columns that the operator returns."""
        groups = (self.picked, self.folded, self.listed)
        return [pa.field(NUMBER, pa.int64())] + [
            pa.field(item.name, dtype) for group in groups for item, dtype in group.items()
        ]

    def fields(self) -> list[pa.Field]:
        return [*self.returned(), *(pa.field(item.name, item.dtype) for item in self.computed.values())]

    def _add(self, leaf: Leaf, source: Source) -> str:
        match leaf:
            case NumberLeaf():
                return NUMBER
            case ValueLeaf() | LabelLeaf():
                value = self._value(leaf.tree, leaf.span, source) if isinstance(leaf, ValueLeaf) else None
                column, position = self._column(value), _position(leaf.slot)
                for known in self.picked:
                    if (known.position, known.column) == (position, column):
                        return known.name
                picked = Picked(f"n{len(self.picked)}", position, column)
                self.picked[picked] = need_type(leaf_type(leaf, self._type(value)), source)
                return picked.name
            case FoldLeaf():
                value = None if leaf.tree is None else self._value(leaf.tree, leaf.span, source)
                self._check_fold(leaf, value, source)
                if self._is_for_lists(leaf.function, value):
                    item = exp.Column(this=exp.to_identifier("0", quoted=True))
                    listed_items = (ListLeaf(leaf.members, leaf.tree, leaf.final, leaf.span),)
                    name = leaf.function.lower()
                    made = AggregateLeaf(leaf.function, (item,), listed_items, False, leaf.span, name=name)
                    return self._aggregate(made, source)
                dtype = need_type(leaf_type(leaf, self._type(value)), source)
                name = f"f{len(self.folded)}"
                self.folded[Folded(name, leaf.function, leaf.members, self._column(value), leaf.final, dtype)] = dtype
                return name
            case ListLeaf():
                value = None if leaf.tree is None else self._value(leaf.tree, leaf.span, source)
                column = self._column(value)
                dtype = pa.int32() if value is None else need_type(self._type(value), source)
                for known_list in self.listed:
                    if (known_list.members, known_list.column, known_list.final) == (leaf.members, column, leaf.final):
                        return known_list.name
                listed = Listed(f"l{len(self.listed)}", leaf.members, column, leaf.final)
                self.listed[listed] = pa.list_(dtype)
                return listed.name
            case AggregateLeaf():
                return self._aggregate(leaf, source)

    def _aggregate(self, leaf: AggregateLeaf, whole: Source) -> str:
        """A correlated subquery over the lists, which DuckDB evaluates for each row."""
        names = [self._add(item, whole) for item in leaf.lists]
        items = {item.name: dtype.value_type for item, dtype in self.listed.items()}
        text, dtype = aggregate_lists(leaf, [(name, items[name]) for name in names], whole, {"number": NUMBER})
        name = f"a{len(self.computed)}"
        self.computed[name] = Computed(name, text, dtype)
        return name

    def _check_fold(self, leaf: FoldLeaf, value: EventValue | None, source: Source) -> None:
        if leaf.function == "COUNT" or value is None:
            return
        dtype = self._type(value)
        if leaf.function in ("MIN", "MAX"):
            if dtype is not None and not is_orderable(column_type(dtype)):
                raise without_order(leaf.function.lower(), dtype, leaf.span, source)
            return
        if value.dtype is None:
            return
        if kind(value.dtype) not in ("integer", "double", "float", "decimal", "null"):
            raise source.error(f"there is no sum of {type_name(value.dtype)}", leaf.span, "sum numbers")

    def _is_for_lists(self, function: str, value: EventValue | None) -> bool:
        """Whether no fold has the result: sums may need more than 64 bits, and DuckDB's intervals are no numbers."""
        dtype = self._type(value)
        if dtype is None or function == "COUNT":
            return False
        if function == "SUM":
            return bool(pa.types.is_uint64(dtype) or (pa.types.is_decimal(dtype) and dtype.precision > 18))
        return bool(pa.types.is_interval(dtype))

    def _column(self, value: EventValue | None) -> str | None:
        return None if value is None else self._columns.of_value(value)


def _position(slot: Slot) -> Position:
    return Position(slot.members, slot.from_first, slot.offset, slot.shift, slot.final)
