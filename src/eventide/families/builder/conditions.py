"""Conditions of steps: what the event alone decides becomes a bit of a mask, what looks at earlier events code.

A step's name before a dot stands for the last event taken for it so far, in an aggregate for all of them. In its own
condition a step has taken the event that is tested, as in DEFINE of MATCH_RECOGNIZE: its name is that event, and
`last(a.x, 1)` the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError, did_you_mean
from eventide.expressions.folds import COUNTS, Fold, Store, folded
from eventide.expressions.navigation.leaves import CodeLeaf, Leaf, Resolved, Slot, ValueLeaf
from eventide.expressions.navigation.resolve import resolve
from eventide.expressions.relate import Related, Relation, Relations, split_condition
from eventide.expressions.residue import choose, library
from eventide.expressions.split import EventValue
from eventide.expressions.typecheck import Types
from eventide.expressions.typed import Source, Typed
from eventide.expressions.write_code import DECORATOR, Encoded, TestWriter
from eventide.lang.rows.expressions import parse_expression, refuse_calls
from eventide.lang.tree import Scalar
from eventide.runtime.encode import Encoding

_ARGUMENTS = "row, node, bindings, carried, cols"
_STORE = Store(("carried[1]", "carried[2]", "carried[3]"))
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
        return parse_expression(text, what, {*self.labels, *self.quoted}, example)

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


def refuse_rows(text: str, scalar: Scalar, *, final: bool = False) -> None:
    """An error about what only MATCH_RECOGNIZE knows; `final`: FINAL and RUNNING say something here."""
    refused = {name: hint for name, hint in _REFUSED.items() if not (final and name in ("RUNNING", "FINAL"))}
    refuse_calls(scalar, text, refused, "in a pattern of the builder")


def split_step(number: int, text: str, names: Names, schema: pa.Schema) -> tuple[list[EventValue], list[Relation]]:
    """What the event alone decides, and the rest.

    >>> schema = pa.schema([("price", pa.float64())])
    >>> alone, others = split_step(0, "price > 1 AND price < a.price", Names(("a",)), schema)
    >>> [value.spark for value in alone], len(others)
    (['`price` > 1'], 1)
    """
    whole = names.parse(text, "the condition", "begin('a', 'price > 1')")
    refuse_rows(text, whole)
    names.check(whole, schema, text)
    source = Source(text, whole.span)
    alone, others = split_condition(whole, source, lambda part: names.resolve(part, schema, text), schema)
    return alone, [Relation(number, resolved, source, names.own_number) for resolved in others]


class StepRelations(Relations):
    """The conditions of steps; `lasts` are the steps whose last event is kept at each binding."""

    when = "before the pattern runs"

    def __init__(self, relations: Sequence[Relation], schema: pa.Schema, types: Types) -> None:
        super().__init__(schema, types)
        self.lasts: list[int] = []
        for relation in relations:
            self.relate(relation)

    def _readable(self, leaf: Leaf, relation: Relation) -> CodeLeaf:
        """Counted back from the event that is tested, `last(a.x, 1)` is the last one that its own step has taken."""
        read = super()._readable(leaf, relation)
        if not isinstance(read, ValueLeaf) or read.slot.members != (relation.own,) or read.slot.from_first:
            return read
        slot = read.slot
        return replace(read, slot=replace(slot, offset=slot.offset - 1))

    def slot(self, slots: list[Slot], slot: Slot) -> int:
        if _is_last(slot) and slot.members is not None and slot.members[0] not in self.lasts:
            self.lasts.append(slot.members[0])
        return super().slot(slots, slot)

    def write(
        self, columns: Sequence[str], n_steps: int
    ) -> tuple[str, str, tuple[Encoding, ...], tuple[int, int, int, int]]:
        """Source of `holds` and `carry`, the encodings, and how many rows each array of `carried` has.

        Value i is read from the block's column `columns[i]`.
        """
        encoded = self.encoded(columns)
        texts = []
        calls: dict[int, list[str]] = {}
        for k, test in enumerate(self.tests):
            writer = _StepWriter(encoded, test, self.lasts, n_steps)
            texts.append(writer.function(f"test_{k}", test.tree, _ARGUMENTS))
            calls.setdefault(test.relation.number, []).append(f"test_{k}({_ARGUMENTS})")
        holds = choose("holds", "condition", _ARGUMENTS, calls, DECORATOR)
        n_integers, n_doubles, n_counts, _ = self.folds.sizes
        sizes = len(self.lasts), n_integers, n_doubles, n_counts
        # The kernel's file imports `find_bound`.
        source = "\n\n".join([*library(encoded.called), *texts, holds])
        return source, self._carry_source(encoded), encoded.encodings, sizes

    def _carry_source(self, encoded: Encoded) -> str:
        lines = [f"{DECORATOR}def carry(node, before, row, step, carried, cols):"]
        for i, step in enumerate(self.lasts):
            known = f"(carried[0][{i}, before] if before >= 0 else -1)"
            lines.append(f"    carried[0][{i}, node] = row if step == {step} else {known}")
        for fold in self.folds.made:
            made = _STORE.fold_lines(fold, encoded.read, "before", "before >= 0", "step")
            lines += [f"    {line}" for line in [*made, *_STORE.keep_lines(fold, "node")]]
        return "\n".join([*lines, "    return"]) + "\n"


class _StepWriter(TestWriter):
    """Finds rows of earlier events by their bindings."""

    may_miss = True

    def __init__(self, encoded: Encoded, test: Related, lasts: Sequence[int], n_steps: int) -> None:
        super().__init__(encoded, test.relation.source)
        self._slots = test.slots
        self._lasts = lasts
        self._n_steps = n_steps
        self._own = test.relation.own

    def begin(self) -> None:
        for i, slot in enumerate(self._slots):
            self.line(f"row_{i} = {self._row(slot)}")

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

    def _fold(self, typed: Typed) -> tuple[str, str]:
        fold: Fold = typed.value
        _, name = self.variables()
        x, n_events = f"x{name}", f"m{name}"
        self.line(f"{n_events} = {_STORE.cell(COUNTS, fold.number, 'node')} if node >= 0 else 0")
        if fold.array != COUNTS:
            self.line(f"{x} = {_STORE.cell(fold.array, fold.place, 'node')} if node >= 0 else {fold.zero}")
        if fold.members is not None and fold.members == (self._own,):
            # The event that is tested is one of them.
            for line in folded(fold, self.read, n_events, x):
                self.line(line)
        return self.kept(typed, x, n_events)


def _is_last(slot: Slot) -> bool:
    return slot.members is not None and len(slot.members) == 1 and not slot.from_first and slot.offset == 0


def about_step(error: QueryError, step: str) -> QueryError:
    """The error with the step that its text belongs to."""
    return QueryError(f"{step}: {error.message}", error.text, error.start, error.end, hint=error.hint)
