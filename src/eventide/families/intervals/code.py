"""Conditions and aggregates as source text that is written into the loops of the kernel.

Goes in: conjuncts that relate an event to its interval, and aggregates that values read. Comes out: `Code`: the source,
the encodings of what it reads, and where each aggregate is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.code_spaces import CodeSpaces
from eventide.expressions.navigation.leaves import FoldLeaf, Leaf, Resolved, Slot, ValueLeaf, leaf_type
from eventide.expressions.relate import event_value, merge_current
from eventide.expressions.residue import encoding_of, library
from eventide.expressions.split import EventValue, is_simple_cast
from eventide.expressions.typecheck import bind
from eventide.expressions.typed import Source, Typed, off_the_list
from eventide.expressions.types import kind, type_name
from eventide.expressions.write_code import TestWriter
from eventide.families.intervals.expressions import FIRST, PREV, SQUARES
from eventide.families.intervals.spec import Extreme
from eventide.runtime.encode import Encoding, place

_ROWS = {Slot(): "row", PREV: "last", FIRST: "first"}
_COLUMNS = ("integers", "doubles")
_KEPT = ("kept_integers", "kept_doubles", "kept_counts")
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
    """What the kernel runs; `source` has the text of each generated region that is not empty."""

    source: tuple[tuple[str, str], ...]
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
            inner = tree.this
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
        if leaf.function == "COUNT":
            return Typed("code", (), pa.int64(), (f"n{fold.number}", "False"))
        truth = " != 0" if typed.dtype == pa.bool_() else ""
        return Typed("code", (), typed.dtype, (f"x{fold.number}{truth}", f"n{fold.number} == 0"))

    # --- the source -----------------------------------------------------------------------------------------

    def write(self, columns: Sequence[str]) -> Code:
        """The code; value i is read from the block's column `columns[i]`."""
        spaces = CodeSpaces([typed for _, typed, _ in self._tests])
        encodings = tuple(
            Encoding(columns[i], "string", space=-2 - i, ordered=True)
            if self._ranked[i]
            else encoding_of(columns[i], value, spaces, i)
            for i, value in enumerate(self.values)
        )
        places = {i: (*place(encodings, i), i) for i in range(len(self.values))}
        called: set[str] = {"add_int"} if any(fold.function == "SUM" for fold in self.folds) else set()
        sizes = (self._sizes[INTEGERS], self._sizes[DOUBLES], len(self.folds), self._n_extremes)
        begins, goes_on = [], []
        for k, (relation, typed, slots) in enumerate(self._tests):
            text = _RelationWriter(spaces, places, relation.source, called).relation(f"t{k}_", typed, slots)
            goes_on.append(text)
            if relation.at_first:
                begins.append(text)
        parts = {
            "functions": library(called),
            "fold": [_fold_text(fold, encodings, is_first=False) for fold in self.folds],
            "fold_first": [_fold_text(fold, encodings, is_first=True) for fold in self.folds],
            "goes_on": goes_on,
            "begins": begins,
            "keep": [_keep_text(fold) for fold in self.folds],
            "write": [_write_text(sizes)] if any(sizes) else [],
        }
        source = tuple((name, "\n".join(texts)) for name, texts in parts.items() if texts)
        return Code(source, encodings, sizes, self._extremes())

    def _extremes(self) -> tuple[Extreme, ...]:
        return tuple(
            Extreme(fold.array, fold.place, fold.value if fold.value is not None else -1)
            for fold in self.folds
            if fold.extreme >= 0
        )


def _fold_text(fold: Fold, encodings: tuple[Encoding, ...], *, is_first: bool) -> str:
    """The aggregate with the event in it, as local variables: n, its count of values, x itself, r the extreme's row."""
    k, kept = fold.number, _KEPT[fold.array]
    n, x, y, m, r = f"n{k}", f"x{k}", f"y{k}", f"m{k}", f"r{k}"
    lines = [f"{n} = 0" if is_first else f"{n} = kept_counts[slot, {k}]"]
    if fold.value is None:
        return "\n".join([*lines, f"{n} += 1"])
    source, at = place(encodings, fold.value)
    present = f"if valid[{fold.value}, row]:"
    if fold.array == COUNTS:
        return "\n".join([*lines, present, f"    {n} += 1"])
    zero = "0.0" if fold.array == DOUBLES else "0"
    lines.append(f"{x} = {zero}" if is_first else f"{x} = {kept}[slot, {fold.place}]")
    if fold.function == SQUARES:
        lines.append(f"{m} = {zero}" if is_first else f"{m} = {kept}[slot, {fold.place - 1}]")
    if fold.extreme >= 0:
        lines.append(f"{r} = row" if is_first else f"{r} = kept_rows[slot, {fold.extreme}]")
    lines += [present, f"    {y} = {_COLUMNS[source]}[{at}, row]"]
    if fold.function == "SUM":
        added = f"{x} + {y}" if fold.array == DOUBLES else f"add_int({x}, {y})"
        lines += [f"    {x} = {added} if {n} > 0 else {y}", f"    {n} += 1"]
    elif fold.function == SQUARES:
        # Welford's: no large squares are subtracted from one another.
        lines += [
            f"    {n} += 1",
            f"    d{k} = {y} - {m}",
            f"    {m} += d{k} / {n}",
            f"    {x} += d{k} * ({y} - {m})",
        ]
    else:
        # NaN is the greatest, as Spark has it.
        better = {
            "MIN": f"{y} < {x} or ({x} != {x} and {y} == {y})",
            "MAX": f"{y} > {x} or ({y} != {y} and {x} == {x})",
        }
        lines += [
            f"    if {n} == 0 or {better[fold.function]}:",
            f"        {x} = {y}",
            f"        {r} = row",
            f"    {n} += 1",
        ]
    return "\n".join(lines)


def _keep_text(fold: Fold) -> str:
    """The local variables of an aggregate back to where it is kept."""
    k, kept = fold.number, _KEPT[fold.array]
    lines = [f"kept_counts[slot, {k}] = n{k}"]
    if fold.array != COUNTS:
        lines.append(f"{kept}[slot, {fold.place}] = x{k}")
    if fold.function == SQUARES:
        lines.append(f"{kept}[slot, {fold.place - 1}] = m{k}")
    if fold.extreme >= 0:
        lines.append(f"kept_rows[slot, {fold.extreme}] = r{k}")
    return "\n".join(lines)


def _write_text(sizes: Sequence[int]) -> str:
    """What is kept of a slot to where a closed interval is written."""
    arrays = ("integers", "doubles", "counts", "rows")
    return "\n".join(
        f"out_{array}[n_out, {k}] = kept_{array}[slot, {k}]"
        for array, size in zip(arrays, sizes, strict=True)
        for k in range(size)
    )


def check_boolean(typed: Typed, source: Source) -> None:
    """Refuse a condition that is none."""
    if typed.dtype is not None and kind(typed.dtype) not in ("boolean", "null"):
        message = f"a condition must be a boolean, but this is {type_name(typed.dtype)}"
        raise source.error(message, typed.span, "compare it with something")


class _RelationWriter(TestWriter):
    """Writes a conjunct into the loop: reads the event, the one before it, the first of the run, and aggregates."""

    def relation(self, prefix: str, typed: Typed, slots: Sequence[Slot]) -> str:
        """Lines that leave `holds` true only where the conjunct is; `prefix` keeps its variables apart from others'."""
        cause = off_the_list(typed)
        if cause is not None:
            raise self._unsupported(cause)
        self._prefix = prefix
        self._slots = slots
        self.line(f"holds = {' and not '.join(self.write(typed))}")
        return "\n".join(["if holds:", *self.lines])

    def variables(self) -> tuple[str, str]:
        x, n = super().variables()
        return self._prefix + x, self._prefix + n

    def _value(self, typed: Typed) -> tuple[str, str]:
        slot, i = typed.value
        array, at, valid_at = self.places[i]
        event = _ROWS[self._slots[slot]]
        x, n = self.variables()
        truth = " != 0" if typed.dtype == pa.bool_() else ""
        self.line(f"{x} = {_COLUMNS[array]}[{at}, {event}]{truth}")
        self.line(f"{n} = not valid[{valid_at}, {event}]")
        return x, n

    def _code(self, typed: Typed) -> tuple[str, str]:
        text, null = typed.value
        x, n = self.variables()
        self.line(f"{n} = {null}")
        self.line(f"{x} = {text}")
        return x, n
