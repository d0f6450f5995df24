"""Conditions and aggregates as source text that is written into the loops of the kernel.

Goes in: conjuncts that relate an event to its interval, and aggregates that values read. Comes out: `Code`: the source,
the encodings of what it reads, and where each aggregate is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.folds import SQUARES, Fold, Folds, Store
from eventide.expressions.navigation.leaves import FoldLeaf, Slot, ValueLeaf
from eventide.expressions.relate import NUMBERS, ORDERED, Related, Relation, Relations, event_value
from eventide.expressions.residue import library
from eventide.expressions.split import EventValue
from eventide.expressions.typed import Source, Typed
from eventide.expressions.types import kind, type_name
from eventide.expressions.write_code import Encoded, TestWriter
from eventide.families.intervals.expressions import FIRST, PREV
from eventide.families.intervals.spec import Extreme
from eventide.runtime.encode import Encoding

_ROWS = {Slot(): "row", PREV: "last", FIRST: "first"}
_KEPT = ("integers", "doubles", "counts", "rows")
_STORE = Store(tuple(f"kept_{array}" for array in _KEPT), by_owner=True)


@dataclass(frozen=True, slots=True)
class Code:
    """What the kernel runs; `source` has the text of each generated region that is not empty."""

    source: tuple[tuple[str, str], ...]
    encodings: tuple[Encoding, ...]
    sizes: tuple[int, int, int, int]
    extremes: tuple[Extreme, ...]


class IntervalRelations(Relations):
    """Conjuncts about an event and its interval, and what values aggregate."""

    when = "before it runs"
    instead = "compare the events themselves: prev(x), first(x)"

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.folds = Folds(keeps_rows=True)

    def fold(self, leaf: FoldLeaf, value: EventValue | None, source: Source, *, in_condition: bool = True) -> Fold:
        if value is None:
            return self.folds.add(Fold(leaf.function, None, None), None)
        value = self._read(leaf, value)
        if leaf.function != "COUNT":
            self._check(leaf, value, source, in_condition)
        is_string = value.dtype is not None and kind(value.dtype) == "string"
        index = self.index(value, is_ranked=is_string and leaf.function in ("MIN", "MAX"))
        return self.folds.add(Fold(leaf.function, None, index), value.dtype)

    def fold_value(self, leaf: FoldLeaf, source: Source) -> Fold:
        """The aggregate that a value of the interval reads."""
        return self.fold(leaf, self._value(leaf, source), source, in_condition=False)

    def _read(self, leaf: FoldLeaf, value: EventValue) -> EventValue:
        """What is aggregated; a cast that changes nothing is left out, so that the column need not be computed."""
        tree = leaf.tree
        assert tree is not None
        if leaf.function == "COUNT" and (value.dtype is None or kind(value.dtype) not in ORDERED):
            # Whether it is there is all that counts.
            there = exp.Not(this=exp.Is(this=exp.paren(tree.copy()), expression=exp.Null()))
            return event_value(exp.Case(ifs=[exp.If(this=there, true=exp.true())]), self._schema, value.source)
        if isinstance(tree, exp.Cast):
            inner = tree.this
            if isinstance(inner, exp.Column) and self._schema.field(inner.name).type == value.dtype:
                return event_value(inner, self._schema, value.source, self._types)
        return value

    def _check(self, leaf: FoldLeaf, value: EventValue, source: Source, in_condition: bool) -> None:
        word = leaf.function.lower()
        if value.dtype is None:
            hint = "name its type with CAST, or compute it as a column before"
            raise source.error("the type of this is not known before it runs", leaf.span, hint)
        name = kind(value.dtype)
        if leaf.function in ("SUM", SQUARES):
            if name not in NUMBERS:
                raise source.error(f"there is no {word} of {type_name(value.dtype)}", leaf.span, "take numbers")
        elif name == "string" and in_condition:
            raise source.error(f"there is no {word} of STRING in a condition", leaf.span, self.instead)
        elif name not in (*ORDERED, "string"):
            hint = "take a number, a string or a time"
            raise source.error(f"there is no {word} of {type_name(value.dtype)} here", leaf.span, hint)
        if name == "decimal" and value.dtype.precision > 18:
            hint = "cast it to a decimal of at most 18 digits, or to DOUBLE"
            raise source.error(f"{type_name(value.dtype)} is too wide for {word}", leaf.span, hint)

    # --- the source -----------------------------------------------------------------------------------------

    def write(self, columns: Sequence[str]) -> Code:
        """The code; value i is read from the block's column `columns[i]`."""
        encoded = replace(self.encoded(columns), columns=("integers", "doubles", "valid"))
        folds, sizes = self.folds.made, self.folds.sizes
        goes_on = [_RelationWriter(encoded, test, f"t{k}_").text() for k, test in enumerate(self.tests)]
        begins = [text for text, test in zip(goes_on, self.tests, strict=True) if applies_to_first(test.relation)]
        parts = {
            "functions": library(encoded.called),
            "fold": [line for fold in folds for line in _STORE.fold_lines(fold, encoded.read, "slot", "")],
            "fold_first": [line for fold in folds for line in _STORE.fold_lines(fold, encoded.read, "slot", "False")],
            "goes_on": goes_on,
            "begins": begins,
            "keep": [line for fold in folds for line in _STORE.keep_lines(fold, "slot")],
            # What is kept of a slot to where a closed interval is written.
            "write": [
                f"out_{array}[n_out, {k}] = kept_{array}[slot, {k}]"
                for array, size in zip(_KEPT, sizes, strict=True)
                for k in range(size)
            ],
        }
        source = tuple((name, "\n".join(texts)) for name, texts in parts.items() if texts)
        extremes = tuple(Extreme(fold.array, fold.place, fold.value or 0) for fold in folds if fold.extreme >= 0)
        return Code(source, encoded.encodings, sizes, extremes)


def applies_to_first(relation: Relation) -> bool:
    """Whether the first event of a run decides a conjunct, too: one that is about the run's aggregates alone."""
    return not any(isinstance(leaf, ValueLeaf) for leaf in relation.resolved.leaves)


class _RelationWriter(TestWriter):
    """Writes a conjunct into the loop: reads the event, the one before it, the first of the run, and aggregates."""

    def __init__(self, encoded: Encoded, test: Related, prefix: str) -> None:
        super().__init__(encoded, test.relation.source)
        self._test = test
        self._prefix = prefix  # keeps its variables apart from others'

    def text(self) -> str:
        """Lines that leave `holds` true only where the conjunct is."""
        self.line(f"holds = {' and not '.join(self.begun(self._test.tree))}")
        return "\n".join(["if holds:", *self.lines])

    def variables(self) -> tuple[str, str]:
        x, n = super().variables()
        return self._prefix + x, self._prefix + n

    def row(self, slot: int) -> str:
        return _ROWS[self._test.slots[slot]]

    def _fold(self, typed: Typed) -> tuple[str, str]:
        return self.kept(typed, f"x{typed.value.number}", f"n{typed.value.number}")
