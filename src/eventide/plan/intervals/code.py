"""Conditions and aggregates as source text of the kernel's `fold`, `begins` and `goes_on`.

Goes in: conjuncts that relate an event to its interval, and aggregates that values read. Comes out: `Code`: the source,
the encodings of what it reads, and where each aggregate is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from eventide.operators.encode import Encoding, place
from eventide.operators.intervals.spec import Extreme
from eventide.plan.expressions.code_spaces import CodeSpaces
from eventide.plan.expressions.residue import encoding_of, library_functions
from eventide.plan.expressions.split import EventValue, is_simple_cast
from eventide.plan.expressions.typecheck import bind
from eventide.plan.expressions.typed import Source, Typed, off_the_list
from eventide.plan.expressions.types import kind, type_name
from eventide.plan.expressions.write_code import DECORATOR
from eventide.plan.intervals.expressions import FIRST, PREV, SQUARES
from eventide.plan.rows.define import NavigatingWriter, event_value, merge_current
from eventide.plan.rows.leaves import FoldLeaf, Leaf, Resolved, Slot, ValueLeaf, leaf_type

_ROWS = {Slot(): "row", PREV: "prev", FIRST: "first"}
_NUMBERS = ("integer", "float", "double", "decimal", "null")
_ORDERED = (*_NUMBERS, "timestamp", "date", "boolean")
INTEGERS, DOUBLES, COUNTS = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Relation:
    """A conjunct that looks at more than its event; `at_first`: the first event of an interval decides it, too."""

    resolved: Resolved
    source: Source
    at_first: bool


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate that is kept: its place in the kept array, and the number of its count of values."""

    function: str
    value: int | None
    array: int
    place: int
    number: int
    extreme: int = -1


@dataclass(frozen=True, slots=True)
class Code:
    """What the kernel runs."""

    source: str | None
    encodings: tuple[Encoding, ...]
    sizes: tuple[int, int, int, int]
    extremes: tuple[Extreme, ...]


class IntervalCode:
    """Collects conjuncts and aggregates; `values` are what they read of single events."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self.values: list[EventValue] = []
        self._ranked: list[bool] = []  # whether a value of strings must have codes with their order
        self.folds: list[Fold] = []
        self._sizes = [0, 0]
        self._n_extremes = 0
        self._tests: list[tuple[Relation, Typed, list[Slot]]] = []

    def _index(self, value: EventValue, is_ranked: bool = False) -> int:
        for i, known in enumerate(self.values):
            if known.spark == value.spark and self._ranked[i] == is_ranked:
                return i
        self.values.append(value)
        self._ranked.append(is_ranked)
        return len(self.values) - 1

    # --- aggregates -----------------------------------------------------------------------------------------

    def fold(self, leaf: FoldLeaf, source: Source, *, in_condition: bool) -> Fold:
        """The aggregate of a leaf, kept once however often it is read."""
        value = None if leaf.tree is None else self._value_of(leaf, source)
        function = leaf.function
        index = None
        if value is not None:
            is_string = value.dtype is not None and kind(value.dtype) == "string"
            self._check(leaf, value, source, in_condition)
            index = self._index(value, is_ranked=is_string and function in ("MIN", "MAX"))
        for known in self.folds:
            if (known.function, known.value) == (function, index):
                return known
        made = Fold(function, index, COUNTS, len(self.folds), len(self.folds))
        if function in ("SUM", SQUARES):
            made = self._kept(made, value)
        elif function in ("MIN", "MAX"):
            made = self._kept(made, value, self._n_extremes)
            self._n_extremes += 1
        self.folds.append(made)
        return made

    def _kept(self, fold: Fold, value: EventValue | None, extreme: int = -1) -> Fold:
        assert value is not None and value.dtype is not None
        array = DOUBLES if kind(value.dtype) in ("double", "float") else INTEGERS
        at = self._sizes[array]
        # Squares are kept with the mean, behind which they stand.
        self._sizes[array] += 2 if fold.function == SQUARES else 1
        return Fold(fold.function, fold.value, array, at + (fold.function == SQUARES), fold.number, extreme)

    def _value_of(self, leaf: FoldLeaf, source: Source) -> EventValue:
        """What is aggregated; a cast that changes nothing is left out, so that the column need not be computed."""
        tree = leaf.tree
        assert tree is not None
        value = event_value(tree, self._schema, Source(source.text, leaf.span))
        if leaf.function == "COUNT" and (value.dtype is None or kind(value.dtype) not in _ORDERED):
            # Whether it is there is all that counts.
            there = exp.Not(this=exp.Is(this=exp.paren(tree.copy()), expression=exp.Null()))
            return event_value(exp.Case(ifs=[exp.If(this=there, true=exp.true())]), self._schema, value.source)
        if isinstance(tree, exp.Cast):
            inner = tree.this.this if isinstance(tree.this, exp.Paren) else tree.this
            if isinstance(inner, exp.Column) and self._schema.field(inner.name).type == value.dtype:
                return event_value(inner.copy(), self._schema, value.source)
        return value

    def _check(self, leaf: FoldLeaf, value: EventValue, source: Source, in_condition: bool) -> None:
        word = leaf.function.lower()
        if leaf.function == "COUNT":
            return
        if value.dtype is None:
            hint = "name its type with CAST, or compute it as a column before"
            raise source.error("the type of this is not known before it runs", leaf.span, hint)
        name = kind(value.dtype)
        if leaf.function in ("SUM", SQUARES):
            if name not in _NUMBERS:
                raise source.error(f"there is no {word} of {type_name(value.dtype)}", leaf.span, "take numbers")
        elif name == "string" and in_condition:
            hint = "compare the events themselves: prev(x), first(x)"
            raise source.error(f"there is no {word} of STRING in a condition", leaf.span, hint)
        elif name not in (*_ORDERED, "string"):
            hint = "take a number, a string or a time"
            raise source.error(f"there is no {word} of {type_name(value.dtype)} here", leaf.span, hint)
        if name == "decimal" and value.dtype.precision > 18:
            hint = "cast it to a decimal of at most 18 digits, or to DOUBLE"
            raise source.error(f"{type_name(value.dtype)} is too wide for {word}", leaf.span, hint)

    # --- conditions -----------------------------------------------------------------------------------------

    def relate(self, relation: Relation) -> None:
        """Add a conjunct."""
        source = relation.source
        resolved = merge_current(relation.resolved)
        values: dict[int, EventValue] = {}
        for i, leaf in enumerate(resolved.leaves):
            assert isinstance(leaf, (ValueLeaf, FoldLeaf))
            if leaf.tree is not None:
                values[i] = event_value(leaf.tree, self._schema, Source(source.text, leaf.span))

        def field(column: exp.Column) -> pa.Field:
            leaf, value = resolved.leaves[int(column.name)], values.get(int(column.name))
            assert isinstance(leaf, (ValueLeaf, FoldLeaf))
            dtype = leaf_type(leaf, None if value is None else value.dtype)
            if dtype is None:
                span = source.span_of(column)
                hint = f"name its type: CAST({source.text[span.start : span.end]} AS DOUBLE)"
                raise source.error("the type of this is not known before it runs", span, hint)
            return pa.field(column.name, dtype)

        typed = bind(resolved.tree, field, source.text, source.span)
        check_boolean(typed, source)
        slots: list[Slot] = []
        self._tests.append((relation, self._leaves(typed, resolved.leaves, values, slots, source), slots))

    def _leaves(
        self, typed: Typed, leaves: Sequence[Leaf], values: dict[int, EventValue], slots: list[Slot], source: Source
    ) -> Typed:
        """The conjunct over leaves "value" of (slot, value) and "code"."""
        cast = typed.op == "cast" and typed.args[0].op == "column"
        column = typed.args[0] if cast else typed
        if column.op != "column":
            args = tuple(self._leaves(arg, leaves, values, slots, source) for arg in typed.args)
            return Typed(typed.op, args, typed.dtype, typed.value, typed.span)
        leaf, value = leaves[int(column.value[0])], values.get(int(column.value[0]))
        if isinstance(leaf, ValueLeaf):
            assert value is not None
            if cast and is_simple_cast(typed):
                inner = self._leaves(column, leaves, values, slots, source)
                return Typed("cast", (inner,), typed.dtype, typed.value, typed.span)
            if cast:
                # The SQL engine casts.
                to = exp.DataType.build(type_name(typed.dtype), dialect="spark")
                tree = exp.Cast(this=exp.Paren(this=value.expression.copy()), to=to)
                value = event_value(tree, self._schema, value.source)
            if leaf.slot not in slots:
                slots.append(leaf.slot)
            read = (slots.index(leaf.slot), self._index(value))
            return Typed("value", (), typed.dtype, read, typed.span)
        if cast:
            inner = self._leaves(column, leaves, values, slots, source)
            return Typed("cast", (inner,), typed.dtype, typed.value, typed.span)
        assert isinstance(leaf, FoldLeaf)
        fold = self.fold(leaf, source, in_condition=True)
        count = f"kept[2][slot, {fold.number}]"
        if leaf.function == "COUNT":
            return Typed("code", (), pa.int64(), (count, "False"))
        truth = " != 0" if typed.dtype == pa.bool_() else ""
        read_kept = f"kept[{fold.array}][slot, {fold.place}]{truth}"
        return Typed("code", (), typed.dtype, (read_kept, f"{count} == 0"))

    # --- the source -----------------------------------------------------------------------------------------

    def write(self, columns: Sequence[str]) -> Code:
        """The code; value i is read from the block's column `columns[i]`."""
        if not self._tests and not self.folds:
            return Code(None, (), (0, 0, 0, 0), ())
        spaces = CodeSpaces([typed for _, typed, _ in self._tests])
        encodings = tuple(
            Encoding(columns[i], "string", space=-2 - i, ordered=True)
            if self._ranked[i]
            else encoding_of(columns[i], value, spaces, i)
            for i, value in enumerate(self.values)
        )
        places = {i: (*place(encodings, i), i) for i in range(len(self.values))}
        called: set[str] = {"add_int"} if self.folds else set()
        texts, at_first, always = [], [], []
        for k, (relation, typed, slots) in enumerate(self._tests):
            writer = _RelationWriter(spaces, places, relation.source, called)
            texts.append(writer.relation_function(f"test_{k}", typed, slots))
            if relation.at_first:
                at_first.append(f"test_{k}(row, row, -1, slot, kept, cols)")
            always.append(f"test_{k}(row, first, prev, slot, kept, cols)")
        library = [text for name, text in library_functions().items() if name in called]
        functions = [
            self._fold_source(encodings),
            _all("begins(row, slot, kept, cols)", at_first),
            _all("goes_on(row, first, prev, slot, kept, cols)", always),
        ]
        sizes = (*self._sizes, len(self.folds), self._n_extremes)
        return Code("\n\n".join([*library, *texts, *functions]), encodings, sizes, self._extremes())

    def _extremes(self) -> tuple[Extreme, ...]:
        return tuple(
            Extreme(fold.array, fold.place, fold.value if fold.value is not None else -1, fold.number)
            for fold in self.folds
            if fold.extreme >= 0
        )

    def _fold_source(self, encodings: tuple[Encoding, ...]) -> str:
        lines = [f"{DECORATOR}def fold(row, before, after, kept, cols):"]
        for fold in self.folds:
            lines += _fold_lines(fold, encodings)
        return "\n".join([*lines, "    return"]) + "\n"


def _fold_lines(fold: Fold, encodings: tuple[Encoding, ...]) -> list[str]:
    k, array, at = fold.number, fold.array, fold.place
    n, x, y, m = f"n{k}", f"x{k}", f"y{k}", f"m{k}"
    lines = [f"    {n} = kept[2][before, {k}] if before >= 0 else 0"]
    if fold.value is None:
        return [*lines, f"    kept[2][after, {k}] = {n} + 1"]
    source, row = place(encodings, fold.value)
    present = f"    if cols[2][{fold.value}, row]:"
    if array == COUNTS:
        return [*lines, present, f"        {n} += 1", f"    kept[2][after, {k}] = {n}"]
    zero = "0.0" if array == DOUBLES else "0"
    lines.append(f"    {x} = kept[{array}][before, {at}] if before >= 0 else {zero}")
    if fold.function == SQUARES:
        lines.append(f"    {m} = kept[{array}][before, {at - 1}] if before >= 0 else {zero}")
    if fold.extreme >= 0:
        lines.append(f"    r{k} = kept[3][before, {fold.extreme}] if before >= 0 else row")
    lines += [present, f"        {y} = cols[{source}][{row}, row]"]
    if fold.function == "SUM":
        added = f"{x} + {y}" if array == DOUBLES else f"add_int({x}, {y})"
        lines += [f"        {x} = {added} if {n} > 0 else {y}", f"        {n} += 1"]
    elif fold.function == SQUARES:
        # Welford's: no large squares are subtracted from one another.
        lines += [
            f"        {n} += 1",
            f"        d{k} = {y} - {m}",
            f"        {m} += d{k} / {n}",
            f"        {x} += d{k} * ({y} - {m})",
        ]
    else:
        # NaN is the greatest, as Spark has it.
        better = {"MIN": f"{y} < {x} or ({x} != {x} and {y} == {y})", "MAX": f"{y} > {x} or ({y} != {y} and {x} == {x})"}
        lines += [
            f"        if {n} == 0 or {better[fold.function]}:",
            f"            {x} = {y}",
            f"            r{k} = row",
            f"        {n} += 1",
        ]
    lines += [f"    kept[{array}][after, {at}] = {x}", f"    kept[2][after, {k}] = {n}"]
    if fold.function == SQUARES:
        lines.append(f"    kept[{array}][after, {at - 1}] = {m}")
    if fold.extreme >= 0:
        lines.append(f"    kept[3][after, {fold.extreme}] = r{k}")
    return lines


def _all(signature: str, calls: Sequence[str]) -> str:
    return f"{DECORATOR}def {signature}:\n    return {' and '.join(calls) or 'True'}\n"


def check_boolean(typed: Typed, source: Source) -> None:
    """Refuse a condition that is none."""
    if typed.dtype is not None and kind(typed.dtype) not in ("boolean", "null"):
        message = f"a condition must be a boolean, but this is {type_name(typed.dtype)}"
        raise source.error(message, typed.span, "compare it with something")


class _RelationWriter(NavigatingWriter):
    """Reads the event that comes, the one before it and the first of the interval, and what is kept in a slot."""

    def relation_function(self, name: str, typed: Typed, slots: Sequence[Slot]) -> str:
        """The source of the function."""
        cause = off_the_list(typed)
        if cause is not None:
            raise self._unsupported(cause)
        for i, slot in enumerate(slots):
            self.line(f"row_{i} = {_ROWS[slot]}")
        value, null = self.write(typed)
        self.line(f"return {value} and not {null}")
        return f"{DECORATOR}def {name}(row, first, prev, slot, kept, cols):\n" + "\n".join(self.lines) + "\n"

    def _code(self, typed: Typed) -> tuple[str, str]:
        text, null = typed.value
        x, n = self.variables()
        self.line(f"{n} = {null}")
        self.line(f"{x} = {text}")
        return x, n
