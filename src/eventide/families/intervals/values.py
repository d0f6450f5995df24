"""What an interval carries besides its ends: expressions over its first and last event and its aggregates."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.navigation.leaves import FoldLeaf, Leaf, ValueLeaf, leaf_type
from eventide.expressions.relate import event_value
from eventide.expressions.split import EventValue
from eventide.expressions.typecheck import bind
from eventide.expressions.typed import Source
from eventide.expressions.write_sql import write_spark, write_typed
from eventide.families.intervals.code import COUNTS, Fold, IntervalCode
from eventide.families.intervals.expressions import PREV, parse_expression, resolve_part
from eventide.families.intervals.spec import EXTREME, FIRST, LAST, Folded, Taken
from eventide.lang.nodes import copied
from eventide.lang.tree import Span
from eventide.plan.physical import SqlColumn
from eventide.plan.row_columns import RowColumns


class Values:
    """The operator's output columns that the values read, each once, and the values over them."""

    def __init__(self, columns: RowColumns, code: IntervalCode) -> None:
        self._columns = columns
        self._code = code
        self.taken: dict[Taken, pa.DataType] = {}
        self.folded: dict[Folded, pa.DataType] = {}

    def fields(self) -> list[pa.Field]:
        """The operator's columns."""
        return [pa.field(item.name, dtype) for group in (self.taken, self.folded) for item, dtype in group.items()]

    def add(self, name: str, text: str) -> SqlColumn:
        """The column of a value."""
        scalar = parse_expression(text, "the value", 'value="avg(temp)"')
        source = Source(text, scalar.span)
        resolved = resolve_part(scalar.tree, scalar, self._columns.schema, text)
        names = [self._leaf(leaf, source) for leaf in resolved.leaves]

        def rename(node: exp.Expr) -> exp.Expr | None:
            if not isinstance(node, exp.Column):
                return None
            column = exp.Column(this=exp.to_identifier(names[int(node.name)], quoted=True))
            column.meta.update(node.meta)
            return column

        tree = copied(resolved.tree, rename)
        fields = {field.name: field for field in self.fields()}
        typed = bind(tree, lambda column: fields[column.name], text, scalar.span)
        if isinstance(tree, exp.Column):
            return SqlColumn(name, f"`{tree.name}`", f'"{tree.name}"', dtype=fields[tree.name].type)
        if typed.dtype == pa.null():
            raise source.error("this value is always NULL, and has no type", scalar.span, "CAST(NULL AS STRING)")
        duckdb: str | None = None
        try:
            duckdb = write_typed(typed, source)
        except QueryError:
            if self._columns.engine == "local":
                raise
        return SqlColumn(name, write_spark(tree), duckdb, dtype=typed.dtype)

    def take_first(self, column: str) -> str:
        """The column of the first event's value of a column of the user's."""
        tree = exp.Column(this=exp.to_identifier(column, quoted=True))
        value = event_value(tree, self._columns.schema, Source(column, Span(0, len(column))))
        return self._take(value, FIRST)

    def _leaf(self, leaf: Leaf, source: Source) -> str:
        """The column of a leaf."""
        if isinstance(leaf, ValueLeaf):
            if leaf.slot == PREV:
                hint = "a value looks at the interval as a whole: first(x), last(x), or an aggregate"
                raise source.error("PREV is not allowed in a value", leaf.span, hint)
            value = event_value(leaf.tree, self._columns.schema, Source(source.text, leaf.span))
            return self._take(value, FIRST if leaf.slot.from_first else LAST)
        assert isinstance(leaf, FoldLeaf)
        fold = self._code.fold(leaf, source, in_condition=False)
        if fold.extreme >= 0:
            assert fold.value is not None
            return self._take(self._code.values[fold.value], EXTREME, fold.extreme)
        return self._number(leaf, fold)

    def _take(self, value: EventValue, event: str, extreme: int = -1) -> str:
        column = self._columns.of_value(value)
        for known in self.taken:
            if (known.column, known.event, known.extreme) == (column, event, extreme):
                return known.name
        dtype = self._type(value)
        if dtype is None:
            hint = "name its type with CAST, or compute it as a column before"
            raise value.source.error("the type of this is not known before it runs", value.source.span, hint)
        made = Taken(f"n{len(self.taken)}", column, event, extreme)
        self.taken[made] = dtype
        return made.name

    def _number(self, leaf: FoldLeaf, fold: Fold) -> str:
        value = None if fold.value is None else self._code.values[fold.value].dtype
        dtype = leaf_type(leaf, value)
        assert dtype is not None
        count = -1 if fold.array == COUNTS else fold.number
        for known in self.folded:
            if (known.array, known.place) == (fold.array, fold.place):
                return known.name
        made = Folded(f"f{len(self.folded)}", fold.array, fold.place, dtype, count)
        self.folded[made] = dtype
        return made.name

    def _type(self, value: EventValue) -> pa.DataType | None:
        """The type in which the value comes out: a plain column keeps its own."""
        if isinstance(value.expression, exp.Column):
            dtype = self._columns.schema.field(value.expression.name).type
            return dtype.value_type if pa.types.is_dictionary(dtype) else dtype
        return value.dtype
