"""DEFINE: what one row decides becomes a bit of a mask, what looks at other rows becomes code in the matcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.code_spaces import CodeSpaces
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
from eventide.expressions.residue import HEADER, encoding_of, library
from eventide.expressions.split import EventValue, is_simple_cast
from eventide.expressions.typecheck import Types, bind, columns_of
from eventide.expressions.typed import Source, Typed, off_the_list
from eventide.expressions.types import kind, type_name
from eventide.expressions.write_code import DECORATOR, Place, TestWriter
from eventide.lang.nodes import copied
from eventide.runtime.encode import Encoding, place

_NEAR_ARGUMENTS = "span, cols"
_IMPORTS = """from eventide.families.rows.kernel_labels import find_first, find_last
from eventide.families.rows.kernel_types import FOLD, HOLDS


"""
_ARGUMENTS = "span, labels, first, last, before, folds, cols"


@dataclass(frozen=True)
class Condition:
    """A conjunct of a label's condition that looks at more than its row: a tree of leaves "value" and "code"."""

    label: int
    resolved: Resolved
    source: Source

    @cached_property
    def merged(self) -> Resolved:
        """The condition with every part that its row decides as one leaf."""
        return merge_current(self.resolved)

    @property
    def is_near(self) -> bool:
        """Whether it looks at the row and those a fixed distance away, whatever match they are in."""
        leaves = self.resolved.leaves
        return all(isinstance(leaf, ValueLeaf) and not leaf.slot.depends_on_start for leaf in leaves)


@dataclass(frozen=True, slots=True)
class Code:
    """Source text for the matcher, and what it reads; `nears` numbers the labels that `near` knows."""

    tests: str | None = None  # a module with `holds` and `fold`
    near: str | None = None
    nears: Mapping[int, int] = field(default_factory=dict)
    encodings: tuple[Encoding, ...] = ()
    n_folds: tuple[int, int, int] = (0, 0, 0)  # rows of integers, of doubles, of counts


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


class ConditionCode:
    """The conditions as source text of `holds` and `fold`, over `encodings` of the values that they read."""

    def __init__(self, conditions: Sequence[Condition], n_labels: int, schema: pa.Schema, types: Types) -> None:
        self._n_labels = n_labels
        self._schema = schema
        self._types = types
        self.values: list[EventValue] = []
        self._numbers: dict[str, int] = {}  # of the values, by their text
        self._folds: list[tuple[FoldLeaf, int | None]] = []  # with the value that is folded
        self._typed = [(condition, *self._bind(condition)) for condition in conditions]

    def _index(self, value: EventValue) -> int:
        number = self._numbers.setdefault(value.spark, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number

    def _bind(self, condition: Condition) -> tuple[Typed, list[Slot]]:
        """The condition over leaves "value" of (slot, value) and "code"; and its slots."""
        resolved, source = condition.resolved, condition.source
        slots: list[Slot] = []
        if any(isinstance(leaf, (ListLeaf, AggregateLeaf)) for leaf in resolved.leaves):
            raise source.error("this aggregate cannot be compiled", source.span)
        merged = condition.merged
        values = {
            i: event_value(leaf.tree, self._schema, Source(source.text, leaf.span), self._types)
            for i, leaf in enumerate(merged.leaves)
            if isinstance(leaf, (ValueLeaf, FoldLeaf)) and leaf.tree is not None
        }

        def resolve(column: exp.Column) -> pa.Field:
            leaf, value = merged.leaves[int(column.name)], values.get(int(column.name))
            assert not isinstance(leaf, (ListLeaf, AggregateLeaf))
            dtype = leaf_type(leaf, None if value is None else value.dtype)
            if dtype is None:
                shown = source.text[source.span_of(column).start : source.span_of(column).end]
                hint = f"name its type: CAST({shown} AS DOUBLE)"
                raise source.error("the type of this is not known before the query runs", source.span_of(column), hint)
            return pa.field(column.name, dtype)

        typed = bind(merged.tree, resolve, source.text, source.span, self._types)
        if typed.dtype is not None and kind(typed.dtype) not in ("boolean", "null"):
            message = f"a condition must be a boolean, but this is {type_name(typed.dtype)}"
            raise source.error(message, typed.span, "compare it with something")
        return self._leaves(typed, merged.leaves, values, slots), slots

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
            return Typed("value", (), typed.dtype, (_slot(slots, leaf.slot), self._index(made)), typed.span)
        if cast:
            inner = self._leaves(column, leaves, values, slots)
            return Typed("cast", (inner,), typed.dtype, typed.value, typed.span)
        match leaf:
            case ValueLeaf():
                assert value is not None
                return Typed("value", (), typed.dtype, (_slot(slots, leaf.slot), self._index(value)), typed.span)
            case LabelLeaf():
                s = _slot(slots, leaf.slot)
                inside = f"span[2] <= row_{s} <= row"
                return Typed(
                    "code", (), pa.int32(), (f"(labels[row_{s} - span[2]] if {inside} else 0)", f"not ({inside})")
                )
            case NumberLeaf():
                return Typed("code", (), pa.int64(), ("span[3]", "False"))
            case FoldLeaf():
                k = self._fold(leaf, value)
                if leaf.function == "COUNT":
                    return Typed("code", (), pa.int64(), (f"folds[2][{k}, row - span[2]]", "False"))
                return Typed("code", (), typed.dtype, (("fold", k), f"folds[2][{k}, row - span[2]] == 0"))
        raise AssertionError(f"{leaf} is not compiled")

    def _fold(self, leaf: FoldLeaf, value: EventValue | None) -> int:
        numbers = ("integer", "float", "double", "decimal")
        if (
            leaf.function != "COUNT"
            and value is not None
            and value.dtype is not None
            and kind(value.dtype) not in numbers
        ):
            raise value.source.error(f"compiled code aggregates no {type_name(value.dtype)}", leaf.span)
        index = None if value is None else self._index(value)
        entry = (leaf, index)
        known = [(f.function, f.members, i) for f, i in self._folds]
        if (leaf.function, leaf.members, index) in known:
            return known.index((leaf.function, leaf.members, index))
        self._folds.append(entry)
        return len(self._folds) - 1

    # --- the source -----------------------------------------------------------------------------------------

    @property
    def has_folds(self) -> bool:
        return bool(self._folds)

    def write(self, columns: Sequence[str]) -> Code:
        """The code; value i is read from the block's column `columns[i]`."""
        trees = [typed for _, typed, _ in self._typed]
        spaces = CodeSpaces(trees)
        encodings = tuple(encoding_of(columns[i], value, spaces, i) for i, value in enumerate(self.values))
        places = {i: (*place(encodings, i), i) for i in range(len(self.values))}
        fold_places, n_folds = self._fold_places(encodings)
        called: set[str] = {"add_int"} if self._folds else set()
        texts: dict[bool, list[str]] = {True: [], False: []}  # by whether they look at neighbours only
        far: dict[int, list[str]] = {}
        close: dict[int, list[str]] = {}
        for k, (condition, typed, slots) in enumerate(self._typed):
            writer = _RowTestWriter(spaces, places, condition.source, called, fold_places, self._n_labels)
            arguments = _NEAR_ARGUMENTS if condition.is_near else _ARGUMENTS
            texts[condition.is_near].append(writer.row_function(f"test_{k}", typed, slots, arguments))
            by_label = close if condition.is_near else far
            by_label.setdefault(condition.label, []).append(f"test_{k}(row, {arguments})")
        functions = library(called)
        numbered = {i: calls for i, calls in enumerate(close.values())}
        tests = near = None
        if far or self._folds:
            holds = _choose("holds", "label", _ARGUMENTS, far, "@njit(HOLDS, cache=True, nogil=True)\n")
            fold = self._fold_source(encodings, fold_places)
            tests = HEADER + _IMPORTS + "\n\n".join([*functions, *texts[False], holds, fold])
        if close:
            near = "\n\n".join(
                [*functions, *texts[True], _choose("near", "which", _NEAR_ARGUMENTS, numbered, DECORATOR)]
            )
        return Code(tests, near, {label: i for i, label in enumerate(close)}, encodings, n_folds)

    def _fold_places(self, encodings: tuple[Encoding, ...]) -> tuple[dict[int, tuple[int, int]], tuple[int, int, int]]:
        places: dict[int, tuple[int, int]] = {}
        sizes = [0, 0]
        for k, (_, index) in enumerate(self._folds):
            array = 0 if index is None else place(encodings, index)[0]
            places[k] = (array, sizes[array])
            sizes[array] += 1
        return places, (sizes[0], sizes[1], len(self._folds))

    def _fold_source(self, encodings: tuple[Encoding, ...], places: dict[int, tuple[int, int]]) -> str:
        lines = ["@njit(FOLD, cache=True, nogil=True)\ndef fold(depth, row, label, span, folds, cols):"]
        for k, (leaf, index) in enumerate(self._folds):
            array, at = places[k]
            wanted = "True" if leaf.members is None else " or ".join(f"label == {m}" for m in leaf.members)
            lines += [
                f"    n{k} = folds[2][{k}, depth - 1] if depth > 0 else 0",
                f"    x{k} = folds[{array}][{at}, depth - 1] if depth > 0 else folds[{array}].dtype.type(0)",
            ]
            if index is None:
                lines += [f"    if {wanted}:", f"        n{k} += 1"]
            else:
                source, source_row = place(encodings, index)
                added = f"add_int(x{k}, y{k})" if array == 0 else f"x{k} + y{k}"
                combine = {
                    "COUNT": "0",
                    "SUM": added,
                    "MIN": f"y{k} if y{k} < x{k} or x{k} != x{k} else x{k}",
                    "MAX": f"y{k} if y{k} > x{k} or y{k} != y{k} else x{k}",
                }[leaf.function]
                lines += [
                    f"    if ({wanted}) and cols[2][{index}, row]:",
                    f"        y{k} = cols[{source}][{source_row}, row]",
                    f"        x{k} = y{k} if n{k} == 0 else ({combine})",
                    f"        n{k} += 1",
                ]
            lines += [f"    folds[{array}][{at}, depth] = x{k}", f"    folds[2][{k}, depth] = n{k}"]
        return "\n".join([*lines, "    return 0"]) + "\n"


class NavigatingWriter(TestWriter):
    """As its base, with rows found by navigation: -1 where there is none, and everything read there is NULL."""

    def _value(self, typed: Typed) -> tuple[str, str]:
        slot, i = typed.value
        array, row, valid_row = self.places[i]
        x, n = self.variables()
        truth = " != 0" if typed.dtype == pa.bool_() else ""
        # Row -1, which is no row, reads the last one, and the value is not looked at.
        self.line(f"{x} = cols[{array}][{row}, row_{slot}]{truth}")
        self.line(f"{n} = row_{slot} < 0 or not cols[2][{valid_row}, row_{slot}]")
        return x, n


class _RowTestWriter(NavigatingWriter):
    """Finds rows by their labels in the match so far."""

    def __init__(
        self,
        spaces: CodeSpaces,
        places: Mapping[int, Place],
        source: Source,
        called: set[str],
        fold_places: Mapping[int, tuple[int, int]],
        n_labels: int,
    ) -> None:
        super().__init__(spaces, places, source, called)
        self._fold_places = fold_places
        self._n_labels = n_labels

    def row_function(self, name: str, typed: Typed, slots: Sequence[Slot], arguments: str) -> str:
        """The source of the function."""
        cause = off_the_list(typed)
        if cause is not None:
            raise self._unsupported(cause)
        for i, slot in enumerate(slots):
            self._find(i, slot)
        value, null = self.write(typed)
        self.line(f"return {value} and not {null}")
        return f"{DECORATOR}def {name}(row, {arguments}):\n" + "\n".join(self.lines) + "\n"

    def _find(self, i: int, slot: Slot) -> None:
        """Lines that set `row_i` to the slot's row."""
        at = f"row_{i}"
        if slot.members is None:
            self.line(f"{at} = span[2] + {slot.offset}" if slot.from_first else f"{at} = row - {slot.offset}")
            if slot.offset:
                self.line(f"if {at} < span[2] or {at} > row:")
                self.line(f"    {at} = -1")
        elif len(slot.members) == 1 and slot.offset == 0:
            self.line(f"{at} = {'first' if slot.from_first else 'last'}[{slot.members[0]}]")
            self.line(f"if {at} >= 0:")
            self.line(f"    {at} += span[2]")
        else:
            members = ", ".join(str(int(m in slot.members)) for m in range(self._n_labels))
            find = "find_first" if slot.from_first else "find_last"
            self.line(f"{at} = {find}(labels, row - span[2], np.array([{members}], dtype=np.int32), {slot.offset})")
            self.line(f"if {at} >= 0:")
            self.line(f"    {at} += span[2]")
        if slot.shift:
            self.line(f"if {at} >= 0:")
            self.line(f"    {at} += {slot.shift}")
            self.line(f"    if {at} < span[0] or {at} >= span[1]:")
            self.line(f"        {at} = -1")

    def _code(self, typed: Typed) -> tuple[str, str]:
        text, null = typed.value
        if not isinstance(text, str):
            array, at = self._fold_places[text[1]]
            text = f"folds[{array}][{at}, row - span[2]]"
        x, n = self.variables()
        self.line(f"{n} = {null}")
        self.line(f"{x} = {text}")
        return x, n


def _choose(name: str, which: str, arguments: str, calls: Mapping[int, Sequence[str]], decorator: str) -> str:
    """A function that makes the calls of one number."""
    lines = [f"    if {which} == {i}:\n        return {' and '.join(texts)}" for i, texts in calls.items()]
    return f"{decorator}def {name}({which}, row, {arguments}):\n" + "\n".join([*lines, "    return True"]) + "\n"


def _slot(slots: list[Slot], slot: Slot) -> int:
    if slot not in slots:
        slots.append(slot)
    return slots.index(slot)


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
