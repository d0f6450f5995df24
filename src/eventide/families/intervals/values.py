"""What an interval carries besides its ends: expressions over its first and last event and its aggregates."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.folds import COUNTS, Fold
from eventide.expressions.navigation.leaves import FoldLeaf, Leaf, ValueLeaf, leaf_type
from eventide.expressions.split import EventValue
from eventide.expressions.typed import Source
from eventide.families.intervals.code import IntervalRelations
from eventide.families.intervals.expressions import PREV, resolve_part
from eventide.families.intervals.spec import EXTREME, FIRST, LAST, Folded, Taken
from eventide.lang.rows.expressions import parse_expression
from eventide.lang.tree import Span
from eventide.plan.columns import Columns
from eventide.plan.physical import SqlColumn
from eventide.plan.row_outputs import Readings


class Values(Readings):
    """The operator's output columns that the values read, each once, and the values over them."""

    def __init__(self, columns: Columns, code: IntervalRelations) -> None:
        super().__init__(columns)
        self._code = code
        self.taken: dict[Taken, pa.DataType] = {}
        self.folded: dict[Folded, pa.DataType] = {}

    def fields(self) -> list[pa.Field]:
        return [pa.field(item.name, dtype) for group in (self.taken, self.folded) for item, dtype in group.items()]

    def add(self, name: str, text: str) -> SqlColumn:
        """The column of a value."""
        scalar = parse_expression(text, "the value", usage='value="avg(temp)"')
        source = Source(text, scalar.span)
        resolved = resolve_part(scalar.tree, scalar, self._columns.schema, text)
        tree = self.over(resolved, source)
        made = self.column(name, tree, source)
        if made.dtype == pa.null() and not isinstance(tree, exp.Column):
            raise source.error("this value is always NULL, and has no type", scalar.span, "CAST(NULL AS STRING)")
        return made

    def take_first(self, column: str) -> str:
        """The column of the first event's value of a column of the user's."""
        tree = exp.Column(this=exp.to_identifier(column, quoted=True))
        span = Span(0, len(column))
        return self._take(self._value(tree, span, Source(column, span)), FIRST)

    def _add(self, leaf: Leaf, source: Source) -> str:
        if isinstance(leaf, ValueLeaf):
            if leaf.slot == PREV:
                hint = "a value looks at the interval as a whole: first(x), last(x), or an aggregate"
                raise source.error("PREV is not allowed in a value", leaf.span, hint)
            value = self._value(leaf.tree, leaf.span, source)
            return self._take(value, FIRST if leaf.slot.from_first else LAST)
        assert isinstance(leaf, FoldLeaf)
        fold = self._code.fold_value(leaf, source)
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
        count, at = (-1, fold.number) if fold.array == COUNTS else (fold.number, fold.place)
        for known in self.folded:
            if (known.array, known.place) == (fold.array, at):
                return known.name
        made = Folded(f"f{len(self.folded)}", fold.array, at, dtype, count)
        self.folded[made] = dtype
        return made.name
