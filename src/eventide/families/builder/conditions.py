"""Conditions of steps: what the event alone decides becomes a bit of a mask, what looks at earlier events code.

A step's name before a dot stands for the last event taken for it so far, in an aggregate for all of them. In its own
condition a step has taken the event that is tested, as in DEFINE of MATCH_RECOGNIZE: its name is that event, and
`last(a.x, 1)` the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError, did_you_mean
from eventide.expressions.code_spaces import CodeSpaces
from eventide.expressions.navigation.leaves import FoldLeaf, Leaf, Resolved, Slot, ValueLeaf, leaf_type
from eventide.expressions.navigation.resolve import resolve
from eventide.expressions.relate import NavigatingWriter, conjuncts, event_value, is_local, merge_current, plain_tree
from eventide.expressions.residue import encoding_of, library
from eventide.expressions.split import EventValue, is_simple_cast
from eventide.expressions.typecheck import Types, bind
from eventide.expressions.typed import Source, Typed, off_the_list
from eventide.expressions.types import kind, type_name
from eventide.expressions.write_code import DECORATOR
from eventide.lang.rows.expressions import read_expression
from eventide.lang.tokens import match_brackets, tokenize
from eventide.lang.tree import Scalar
from eventide.runtime.encode import Encoding, place

_ARGUMENTS = "row, node, bindings, carried, cols"
_REFUSED = {
    "PREV": "look at earlier events by the names of their steps: a.price",
    "NEXT": "a condition is decided when its event comes",
    "RUNNING": "leave it out: conditions and aggregates look at the events so far",
    "FINAL": "a condition is decided when its event comes",
    "CLASSIFIER": "steps have names: write the condition of a step in that step",
    "MATCH_NUMBER": "matches of a builder pattern have no numbers",
}


@dataclass(frozen=True, slots=True)
class Names:
    """The steps that events are taken for, as expressions may spell them: in any case, or quoted as they are.

    `absent` are steps that must not occur, `later` those that have no event yet where the expression is decided. `own`
    is the step whose condition it is; it may be one that must not occur.
    """

    steps: tuple[str, ...]
    absent: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    own: str | None = None

    @property
    def known(self) -> tuple[str, ...]:
        """The steps that have an event to be read."""
        return self.steps if self.own is None or self.own in self.steps else (*self.steps, self.own)

    @property
    def own_number(self) -> int | None:
        return None if self.own is None else self.known.index(self.own)

    @property
    def labels(self) -> list[str]:
        return [name.upper() for name in self.known]

    @property
    def quoted(self) -> dict[str, tuple[int, ...]]:
        return {name: (i,) for i, name in enumerate(self.known) if name != name.upper()}

    def read(self, text: str, schema: pa.Schema, what: str) -> tuple[Scalar, Resolved]:
        """An expression, and what it reads of a match."""
        scalar = self.parse(text, what)
        self.check(scalar, schema, text)
        return scalar, self.resolve(scalar, schema, text)

    def parse(self, text: str, what: str, example: str | None = None) -> Scalar:
        """An expression, as it is written."""
        tokens = tokenize(text)
        match_brackets(text, tokens)
        return read_expression(text, tokens[:-1], tokens[-1], what, {*self.labels, *self.quoted}, example)

    def resolve(self, scalar: Scalar, schema: pa.Schema, text: str) -> Resolved:
        return resolve(scalar, self.labels, self.quoted, schema, text, defines=self.own_number)

    def check(self, scalar: Scalar, schema: pa.Schema, text: str) -> None:
        """An error about a step that has no event to be read."""
        source = Source(text, scalar.span)
        steps, absent, later = (
            {name.lower(): name for name in names} for names in (self.known, self.absent, self.later)
        )
        columns = {name.lower() for name in schema.names}
        for node in scalar.tree.find_all(exp.Column):
            name = node.parts[0].name.lower()
            if len(node.parts) == 1 or (name in columns and name not in steps):
                continue
            if name in later:
                message = f"'{later[name]}' has no event yet when this is decided"
                hint = "conditions look at earlier steps: move it to the later one"
                raise source.error(message, source.span_of(node), hint)
            if name in absent and name not in steps:
                message = f"'{absent[name]}' must not occur, so it has no event that could be read"
                raise source.error(message, source.span_of(node), "its own condition says which events it means")
            if name not in steps:
                written = node.parts[0].name
                raise source.error(
                    f"there is no step '{written}'", source.span_of(node), did_you_mean(written, self.known)
                )


def refuse_rows(tree: exp.Expression, text: str, scalar: Scalar, *, final: bool = False) -> None:
    """An error about what only MATCH_RECOGNIZE knows; `final`: FINAL and RUNNING say something here."""
    source = Source(text, scalar.span)
    for node in tree.walk():
        name = node.name.upper() if isinstance(node, exp.Anonymous) else ""
        if name in _REFUSED and not (final and name in ("RUNNING", "FINAL")):
            message = f"{name} is not allowed in a pattern of the builder"
            raise source.error(message, source.span_of(node), _REFUSED[name])
        if isinstance(node, exp.Query):
            message = "a subquery is not allowed in a pattern of the builder"
            raise source.error(message, source.span_of(node), "join the other table before")


@dataclass(frozen=True)
class Test:
    """A conjunct of condition `number` that looks at earlier events; step `own` has taken the one that is tested."""

    number: int
    resolved: Resolved
    source: Source
    own: int | None = None

    @cached_property
    def merged(self) -> Resolved:
        """The conjunct with every part that the tested event decides as one leaf."""
        return merge_current(self.resolved)


def split_condition(number: int, text: str, names: Names, schema: pa.Schema) -> tuple[list[EventValue], list[Test]]:
    """What the event alone decides, and the rest.

    >>> schema = pa.schema([("price", pa.float64())])
    >>> alone, others = split_condition(0, "price > 1 AND price < a.price", Names(("a",)), schema)
    >>> [value.spark for value in alone], len(others)
    (['`price` > 1'], 1)
    """
    whole = names.parse(text, "the condition", "begin('a', 'price > 1')")
    refuse_rows(whole.tree, text, whole)
    names.check(whole, schema, text)
    source = Source(text, whole.span)
    alone: list[EventValue] = []
    others: list[Test] = []
    for tree in conjuncts(whole.tree):
        resolved = names.resolve(Scalar(tree, whole.text, whole.span), schema, text)
        if not is_local(resolved):
            others.append(Test(number, resolved, source, names.own_number))
            continue
        value = event_value(plain_tree(resolved), schema, source)
        _check_boolean(value.dtype, source, value.typed)
        alone.append(value)
    return alone, others


def _check_boolean(dtype: pa.DataType | None, source: Source, typed: Typed) -> None:
    if dtype is not None and kind(dtype) not in ("boolean", "null"):
        message = f"a condition must be a boolean, but this is {type_name(dtype)}"
        raise source.error(message, typed.span, "compare it with something")


@dataclass(frozen=True, slots=True)
class _Fold:
    """An aggregate that is kept at each binding, of the value `index`; None: of events."""

    function: str
    members: tuple[int, ...] | None
    index: int | None


class TestCode:
    """The tests as source text of `holds` and `carry`, over `encodings` of the values that they read."""

    __test__ = False  # pytest takes its name for that of tests

    def __init__(self, tests: Sequence[Test], n_steps: int, schema: pa.Schema, types: Types) -> None:
        self._n_steps = n_steps
        self._schema = schema
        self._types = types
        self.values: list[EventValue] = []
        self._numbers: dict[str, int] = {}  # of the values, by their text
        self._lasts: list[int] = []  # steps whose last event is kept at each binding
        self._folds: list[_Fold] = []
        self._typed = [(test, *self._bind(test)) for test in tests]

    def _index(self, value: EventValue) -> int:
        number = self._numbers.setdefault(value.spark, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number

    def _bind(self, test: Test) -> tuple[Typed, list[Slot]]:
        """The test over leaves "value" of (slot, value) and "code", and its slots."""
        source = test.source
        resolved = test.merged
        values: dict[int, EventValue] = {}
        for i, leaf in enumerate(resolved.leaves):
            if not isinstance(leaf, (ValueLeaf, FoldLeaf)):
                hint = "conditions may use count, sum, avg, min and max"
                raise source.error("a condition cannot hold this aggregate", source.span, hint)
            if leaf.tree is not None:
                values[i] = event_value(leaf.tree, self._schema, Source(source.text, leaf.span), self._types)

        def field(column: exp.Column) -> pa.Field:
            leaf, value = resolved.leaves[int(column.name)], values.get(int(column.name))
            assert isinstance(leaf, (ValueLeaf, FoldLeaf))
            dtype = leaf_type(leaf, None if value is None else value.dtype)
            if dtype is None:
                span = source.span_of(column)
                hint = f"name its type: CAST({source.text[span.start : span.end]} AS DOUBLE)"
                raise source.error("the type of this is not known before the pattern runs", span, hint)
            return pa.field(column.name, dtype)

        typed = bind(resolved.tree, field, source.text, source.span, self._types)
        _check_boolean(typed.dtype, source, typed)
        slots: list[Slot] = []
        leaves = [_behind_tested(leaf, test.own) for leaf in resolved.leaves]
        return self._leaves(typed, leaves, values, slots), slots

    def _leaves(self, typed: Typed, leaves: Sequence[Leaf], values: dict[int, EventValue], slots: list[Slot]) -> Typed:
        cast = typed.op == "cast" and typed.args[0].op == "column"
        column = typed.args[0] if cast else typed
        if column.op != "column":
            args = tuple(self._leaves(arg, leaves, values, slots) for arg in typed.args)
            return Typed(typed.op, args, typed.dtype, typed.value, typed.span)
        leaf, value = leaves[int(column.value[0])], values.get(int(column.value[0]))
        if cast and isinstance(leaf, ValueLeaf) and value is not None and not is_simple_cast(typed):
            # The SQL engine casts.
            to = exp.DataType.build(type_name(typed.dtype), dialect="spark")
            tree = exp.Cast(this=exp.Paren(this=value.expression.copy()), to=to)
            made = event_value(tree, self._schema, value.source)
            return Typed("value", (), typed.dtype, (self._slot(slots, leaf.slot), self._index(made)), typed.span)
        if cast:
            inner = self._leaves(column, leaves, values, slots)
            return Typed("cast", (inner,), typed.dtype, typed.value, typed.span)
        if isinstance(leaf, ValueLeaf):
            assert value is not None
            return Typed("value", (), typed.dtype, (self._slot(slots, leaf.slot), self._index(value)), typed.span)
        assert isinstance(leaf, FoldLeaf)
        return Typed("code", (), pa.int64() if leaf.function == "COUNT" else typed.dtype, self._fold(leaf, value))

    def _slot(self, slots: list[Slot], slot: Slot) -> int:
        if _is_last(slot) and slot.members is not None and slot.members[0] not in self._lasts:
            self._lasts.append(slot.members[0])
        if slot not in slots:
            slots.append(slot)
        return slots.index(slot)

    def _fold(self, leaf: FoldLeaf, value: EventValue | None) -> int:
        if leaf.function != "COUNT" and value is not None and value.dtype is not None:
            numbers = ("integer", "float", "double", "decimal")
            times = ("timestamp", "date") if leaf.function in ("MIN", "MAX") else ()
            if kind(value.dtype) not in numbers + times:
                message = f"there is no {leaf.function.lower()} of {type_name(value.dtype)} in a condition"
                raise value.source.error(message, leaf.span, "compare the events themselves: last(a.x), first(a.x)")
        fold = _Fold(leaf.function, leaf.members, None if value is None else self._index(value))
        if fold not in self._folds:
            self._folds.append(fold)
        return self._folds.index(fold)

    # --- the source -----------------------------------------------------------------------------------------

    def write(self, columns: Sequence[str]) -> tuple[str, str, tuple[Encoding, ...], tuple[int, int, int, int]]:
        """Source of `holds` and `carry`, the encodings, and how many rows each array of `carried` has.

        Value i is read from the block's column `columns[i]`.
        """
        spaces = CodeSpaces([typed for _, typed, _ in self._typed])
        encodings = tuple(encoding_of(columns[i], value, spaces, i) for i, value in enumerate(self.values))
        places = {i: (*place(encodings, i), i) for i in range(len(self.values))}
        folds, sizes = self._fold_places(encodings)
        called: set[str] = {"add_int"} if self._folds else set()
        texts = []
        calls: dict[int, list[str]] = {}
        for k, (test, typed, slots) in enumerate(self._typed):
            writer = _BoundTestWriter(spaces, places, test.source, called)
            placed = [(fold, folds[at]) for at, fold in enumerate(self._folds)]
            writer.prepare(self._lasts, placed, self._n_steps, test.own)
            texts.append(writer.bound_function(f"test_{k}", typed, slots))
            calls.setdefault(test.number, []).append(f"test_{k}({_ARGUMENTS})")
        lines = [f"    if condition == {c}:\n        return {' and '.join(made)}" for c, made in calls.items()]
        holds = f"{DECORATOR}def holds(condition, {_ARGUMENTS}):\n" + "\n".join(lines) + "\n    return True\n"
        parts = library(called)
        # `find_bound` stands behind the generated code in the kernel's file; Numba finds it late.
        return "\n\n".join([*parts, *texts, holds]), self._carry_source(encodings, folds), encodings, sizes

    def _fold_places(
        self, encodings: tuple[Encoding, ...]
    ) -> tuple[dict[int, tuple[int, int]], tuple[int, int, int, int]]:
        """For each fold its array in `carried` and its row there."""
        places: dict[int, tuple[int, int]] = {}
        sizes = [0, 0]
        for k, fold in enumerate(self._folds):
            array = 0 if fold.index is None else place(encodings, fold.index)[0]
            places[k] = (array + 1, sizes[array])
            sizes[array] += 1
        return places, (len(self._lasts), sizes[0], sizes[1], len(self._folds))

    def _carry_source(self, encodings: tuple[Encoding, ...], places: dict[int, tuple[int, int]]) -> str:
        lines = [f"{DECORATOR}def carry(node, before, row, step, carried, cols):"]
        for i, step in enumerate(self._lasts):
            known = f"(carried[0][{i}, before] if before >= 0 else -1)"
            lines.append(f"    carried[0][{i}, node] = row if step == {step} else {known}")
        for k, fold in enumerate(self._folds):
            array, at = places[k]
            wanted = "True" if fold.members is None else " or ".join(f"step == {m}" for m in fold.members)
            lines += [
                f"    n{k} = carried[3][{k}, before] if before >= 0 else 0",
                f"    x{k} = carried[{array}][{at}, before] if before >= 0 else carried[{array}].dtype.type(0)",
            ]
            if fold.index is None:
                lines += [f"    if {wanted}:", f"        n{k} += 1"]
            else:
                source, source_row = place(encodings, fold.index)
                lines += [
                    f"    if ({wanted}) and cols[2][{fold.index}, row]:",
                    f"        y{k} = cols[{source}][{source_row}, row]",
                    f"        x{k} = y{k} if n{k} == 0 else ({_combined(fold.function, array, f'x{k}', f'y{k}')})",
                    f"        n{k} += 1",
                ]
            lines += [f"    carried[{array}][{at}, node] = x{k}", f"    carried[3][{k}, node] = n{k}"]
        return "\n".join([*lines, "    return"]) + "\n"


class _BoundTestWriter(NavigatingWriter):
    """As its base, with rows of earlier events: -1 where there is none, and everything read there is NULL."""

    def prepare(
        self, lasts: Sequence[int], folds: Sequence[tuple[_Fold, tuple[int, int]]], n_steps: int, own: int | None
    ) -> None:
        self._lasts = list(lasts)
        self._folds = folds
        self._n_steps = n_steps
        self._own = own

    def bound_function(self, name: str, typed: Typed, slots: Sequence[Slot]) -> str:
        """The source of the function."""
        cause = off_the_list(typed)
        if cause is not None:
            raise self._unsupported(cause)
        for i, slot in enumerate(slots):
            self.line(f"row_{i} = {self._row(slot)}")
        value, null = self.write(typed)
        self.line(f"return {value} and not {null}")
        return f"{DECORATOR}def {name}({_ARGUMENTS}):\n" + "\n".join(self.lines) + "\n"

    def _row(self, slot: Slot) -> str:
        if slot.is_current:
            return "row"
        if _is_last(slot) and slot.members is not None:
            return f"carried[0][{self._lasts.index(slot.members[0])}, node] if node >= 0 else -1"
        members = range(self._n_steps) if slot.members is None else slot.members
        chosen = ", ".join(str(int(m in members)) for m in range(self._n_steps))
        array = f"np.array([{chosen}], dtype=np.int32)"
        found = f"find_bound(bindings, node, {array}, {slot.from_first}, {{}})"
        if slot.from_first and slot.members is not None and slot.members == (self._own,):
            # The event that is tested follows those that its step has taken.
            is_next = f"{found.format(slot.offset - 1)} >= 0" if slot.offset else "True"
            taken = found.format(slot.offset)
            return f"{taken} if {taken} >= 0 else row if {is_next} else -1"
        return found.format(slot.offset)

    def _code(self, typed: Typed) -> tuple[str, str]:
        k = typed.value
        fold, (array, at) = self._folds[k]
        x, n = self.variables()
        n_events = f"m{x}"
        self.line(f"{n_events} = carried[3][{k}, node] if node >= 0 else 0")
        if fold.function != "COUNT":
            self.line(f"{x} = carried[{array}][{at}, node] if node >= 0 else {'0.0' if array == 2 else '0'}")
        if fold.members is not None and fold.members == (self._own,):
            self._add_tested(fold, x, n_events, array)
        if fold.function == "COUNT":
            self.line(f"{x} = {n_events}")
        self.line(f"{n} = {'False' if fold.function == 'COUNT' else f'{n_events} == 0'}")
        return x, n

    def _add_tested(self, fold: _Fold, x: str, n_events: str, array: int) -> None:
        """Lines that fold the event that is tested, too."""
        if fold.index is None:
            self.line(f"{n_events} += 1")
            return
        source, source_row, valid_row = self.places[fold.index]
        self.line(f"if cols[2][{valid_row}, row]:")
        if fold.function != "COUNT":
            self.line(f"    y{x} = cols[{source}][{source_row}, row]")
            self.line(f"    {x} = y{x} if {n_events} == 0 else ({_combined(fold.function, array, x, f'y{x}')})")
        self.line(f"    {n_events} += 1")


def _combined(function: str, array: int, x: str, y: str) -> str:
    """What an aggregate becomes with one more value."""
    return {
        "COUNT": "0",
        "SUM": f"add_int({x}, {y})" if array == 1 else f"{x} + {y}",
        "MIN": f"{y} if {y} < {x} or {x} != {x} else {x}",
        "MAX": f"{y} if {y} > {x} or {y} != {y} else {x}",
    }[function]


def _behind_tested(leaf: Leaf, own: int | None) -> Leaf:
    """Counted back from the event that is tested, `last(a.x, 1)` is the last one that its own step has taken."""
    if not isinstance(leaf, ValueLeaf) or leaf.slot.members is None or leaf.slot.members != (own,):
        return leaf
    slot = leaf.slot
    return leaf if slot.from_first else replace(leaf, slot=replace(slot, offset=slot.offset - 1))


def _is_last(slot: Slot) -> bool:
    return slot.members is not None and len(slot.members) == 1 and not slot.from_first and slot.offset == 0


def about_step(error: QueryError, step: str) -> QueryError:
    """The error with the step that its text belongs to."""
    return QueryError(f"{step}: {error.message}", error.text, error.start, error.end, hint=error.hint)
