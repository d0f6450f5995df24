"""Intervals over events of a schema to what an engine runs: masks, code, values, result columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from eventide.errors import EventideError, QueryError
from eventide.expressions.navigation.leaves import ValueLeaf
from eventide.expressions.relate import Relation, conjuncts, event_value, is_local, plain_tree, split_condition
from eventide.expressions.split import EventValue
from eventide.expressions.typed import Source
from eventide.expressions.types import is_number, type_name
from eventide.families.intervals.code import IntervalRelations
from eventide.families.intervals.expressions import resolve_part
from eventide.families.intervals.spec import COUNT, DETECTED_AT, END, RUNS, SPANS, START, IntervalSpec
from eventide.families.intervals.values import Values
from eventide.lang.durations import write_length
from eventide.lang.rows.expressions import parse_expression
from eventide.lang.tree import Length
from eventide.plan.columns import MAX_STEPS, Columns
from eventide.plan.facts import read_columns, with_facts
from eventide.plan.logical import Intervals, Scan
from eventide.plan.options import Options
from eventide.plan.physical import Physical, SqlColumn, column_as
from eventide.plan.results import check_result_names
from eventide.plan.scope import argument_column, scope_of_arguments
from eventide.runtime.block import MAX_US, TS
from eventide.runtime.measured import RowOrder

_CONDITION = "temp >= 35"


@dataclass(frozen=True, slots=True)
class Runs:
    """Homogeneous intervals: runs of events under a condition."""

    condition: str
    minimum: int = 1
    maximum: int | None = None
    gap_us: int | None = None


@dataclass(frozen=True, slots=True)
class Spans:
    """Heterogeneous intervals: from a start to an end, without what is excluded."""

    start: str
    end: str
    exclude: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[tuple[str, str], ...]:
        """The conditions, with the arguments that they are."""
        return ("start", self.start), ("end", self.end), *(("exclude", text) for text in self.exclude)


@dataclass(frozen=True, slots=True)
class Deriving:
    """What is derived, and what each interval carries."""

    form: Runs | Spans
    values: tuple[tuple[str, str], ...] = ()
    frame: tuple[str, str] | None = None  # the ready-made form that the condition is of, and what the user wrote
    detects: bool | None = None  # whether rows say when they were decided; None: those of a stream do

    @property
    def first(self) -> str:
        """The condition that decides where an interval begins."""
        return self.form.condition if isinstance(self.form, Runs) else self.form.start

    def text(self) -> str:
        """What is derived, in words."""
        form = self.form
        if isinstance(form, Runs):
            most = "" if form.maximum is None else str(form.maximum)
            gap = "" if form.gap_us is None else f" WITHIN {write_length(Length(form.gap_us))}"
            parts = [f"RUNS OF {form.condition}", f"OCCURRENCES {form.minimum}..{most}{gap}"]
        else:
            parts = [f"FROM {form.start}", f"TO {form.end}", *(f"WITHOUT {text}" for text in form.exclude)]
        return "\n".join([*parts, *(f"VALUE {text} AS {name}" for name, text in self.values)])


def bind_intervals(deriving: Deriving, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Intervals:
    """The logical plan."""
    if deriving.frame is not None:
        _check_frame(*deriving.frame, schema)
    form = deriving.form
    asked = (("", form.condition),) if isinstance(form, Runs) else form.asked
    return Intervals(
        Scan.of(scope_of_arguments(schema, options), is_stream=on_stream),
        deriving,
        asked,
        deriving.values,
        form.gap_us if isinstance(form, Runs) else None,
    )


def lower_intervals(node: Intervals, engine: str) -> Physical:
    """The executable form; rows say when they were decided if it was asked for, or if they are those of a stream."""
    deriving: Deriving = node.tree
    detects = node.input.is_stream if deriving.detects is None else deriving.detects
    made = _Lowering(node, engine, detects).physical()
    return with_facts(made, read_columns(made, node.input.schema), {"ts_unit": node.input.options.ts_unit})


def _check_frame(name: str, text: str, schema: pa.Schema) -> None:
    """Refuse what a ready-made frame does not take; messages are about what the user wrote."""
    what = "condition" if name in ("threshold", "aggregate") else "expression"
    with about(what):
        scalar = parse_expression(text, f"the {what}", usage=_CONDITION if what == "condition" else "speed")
        source = Source(text, scalar.span)
        parts = [resolve_part(tree, scalar, schema, text) for tree in conjuncts(scalar.tree)]
        local = all(map(is_local, parts))
        if name == "aggregate" and all(isinstance(leaf, ValueLeaf) for part in parts for leaf in part.leaves):
            hint = "write avg(speed) >= 67; a condition on each event is ev.intervals.threshold"
            raise source.error("there is no aggregate in the condition", scalar.span, hint)
        if name == "threshold" and not local:
            hint = "the condition of ev.intervals.homogeneous may use prev, first and aggregates"
            raise source.error("a threshold is about one event", scalar.span, hint)
        if what == "expression":
            if not local:
                hint = "it is computed of each event, and then compared with that of the first"
                raise source.error("prev, first and aggregates are not allowed here", scalar.span, hint)
            value = event_value(plain_tree(parts[0]), schema, source)
            if len(parts) > 1 or (value.dtype is not None and not is_number(value.dtype)):
                found = "BOOLEAN" if len(parts) > 1 or value.dtype is None else type_name(value.dtype)
                raise source.error(
                    f"{name} takes a number, but this is {found}", scalar.span, "name a column of numbers"
                )


class _Lowering:
    def __init__(self, node: Intervals, engine: str, detects: bool) -> None:
        self.deriving: Deriving = node.tree
        self.detects = detects
        self.scope = node.input
        self.schema = node.input.schema
        self.options: Options = node.input.options
        self.columns = Columns(self.scope, engine)
        self.code = IntervalRelations(self.schema)
        self.values = Values(self.columns, self.code)
        self._alone: list[EventValue] = []  # what events alone decide

    # --- conditions -----------------------------------------------------------------------------------------

    def _split(self, what: str, text: str) -> tuple[list[EventValue], list[Relation]]:
        """What an event alone decides of a condition, and the conjuncts that relate it to its interval."""
        scalar = parse_expression(text, f"the {what}", usage=_CONDITION)
        source = Source(text, scalar.span)
        alone, others = split_condition(
            scalar, source, lambda part: resolve_part(part.tree, scalar, self.schema, text), self.schema
        )
        for value in alone:
            self.columns.column("", value)
        self._alone += alone
        return alone, [Relation(0, resolved, source) for resolved in others]

    def _conditions(self) -> list[list[EventValue]]:
        """What events alone decide, by bit of the mask; what relates events goes into the code."""
        form = self.deriving.form
        if isinstance(form, Runs):
            with about("condition"):
                alone, relations = self._split("condition", form.condition)
                if self.options.type is not None:
                    relations.append(self._one_type(self.options.type))
                for relation in relations:
                    self.code.relate(relation)
            return [alone] if alone else []
        if len(form.asked) > MAX_STEPS:
            raise EventideError(f"exclude takes at most {MAX_STEPS - 2} conditions", hint="join some of them with OR")
        bits = []
        for what, text in form.asked:
            with about(what):
                bits.append(self._on_one_event(what, text))
        return bits

    def _on_one_event(self, what: str, text: str) -> list[EventValue]:
        alone, relations = self._split(what, text)
        if relations:
            source = relations[0].source
            hint = "the condition of ev.intervals.homogeneous may use prev, first and aggregates"
            raise source.error("this must be decided by one event", relations[0].resolved.span, hint)
        return alone

    def _one_type(self, name: str) -> Relation:
        """All events of a run have the type of its first; NULL is a type of its own."""
        column = "`" + argument_column("type", name, self.schema, ordered=True).replace("`", "``") + "`"
        text = f"{column} <=> first({column})"
        scalar = parse_expression(text, "the type", usage=text)
        return Relation(0, resolve_part(scalar.tree, scalar, self.schema, text), Source(text, scalar.span))

    # --- the whole ------------------------------------------------------------------------------------------

    def physical(self) -> Physical:
        form, options = self.deriving.form, self.options
        closes = options.close_at_end
        bits = self._conditions()
        types = []
        if options.type is not None and isinstance(form, Runs):
            name = argument_column("type", options.type, self.schema)
            types.append((name, self.values.take_first(name)))
        added = []
        for name, text in self.deriving.values:
            with about(f"value '{name}'"):
                added.append(self.values.add(name, text))
        order = [RowOrder(TS, False, True)]
        if self.scope.sequence is not None:
            order.append(RowOrder(self.columns.of_column(self.scope.sequence), False, True))
        value_columns = [self.columns.of_value(value) for value in self.code.values]
        ties = self.columns.ties(self.columns.read_by(self._alone), without=self.scope.ts)
        with about("condition"):
            code = self.code.write(value_columns)
        masks = self.columns.masks(bits)
        layout = self.columns.layout(len(masks))
        spec = IntervalSpec(
            query=self._meaning(),
            layout=layout,
            kind=RUNS if isinstance(form, Runs) else SPANS,
            time_type=self.scope.time_type,
            order=tuple(order),
            tie_columns=ties,
            minimum=form.minimum if isinstance(form, Runs) else 1,
            maximum=form.maximum if isinstance(form, Runs) else None,
            gap_us=form.gap_us if isinstance(form, Runs) else None,
            is_masked=bool(masks),
            encodings=code.encodings,
            source=code.source,
            sizes=code.sizes,
            extremes=code.extremes,
            taken=tuple(self.values.taken),
            folded=tuple(self.values.folded),
            detects=self.detects,
            # Without a gap only events close a run: whatever time it is, one that is open stays open.
            end_us=MAX_US if closes or isinstance(form, Spans) else MAX_US - 1,
        )
        read = {*self.scope.partition, self.scope.ts, *self.columns.read_by(self._alone)}
        return self.columns.physical(
            spec,
            masks,
            self._project(types, added),
            self._output_schema(),
            text="",
            reads=self.scope.in_order(read),
            takes_codes=True,
            windows_close=True,
            needs_end=spec.gap_us is not None and not closes,
            closes_at_end=closes,
        )

    def _meaning(self) -> str:
        """A text that tells this derivation from others: a checkpoint belongs to it."""
        options = self.options
        parts = [self.deriving.text()]
        parts.append(f"PARTITION BY {', '.join(self.scope.partition)} ORDER BY {self.scope.ts}, {options.sequence}")
        return "\n".join([*parts, *([f"TYPE {options.type}"] if options.type else [])])

    # --- the result -----------------------------------------------------------------------------------------

    def _output_schema(self) -> pa.Schema:
        scope, kind = self.scope, self.scope.time_type.arrow
        fields = [pa.field(f"p{i}", scope.type_of_column(name)) for i, name in enumerate(scope.partition)]
        times = [pa.field(name, kind) for name in (START, END)]
        detected = [pa.field(DETECTED_AT, kind)] if self.detects else []
        return pa.schema([*fields, *times, pa.field(COUNT, pa.int64()), *self.values.fields(), *detected])

    def _project(self, types: Sequence[tuple[str, str]], values: Sequence[SqlColumn]) -> tuple[SqlColumn, ...]:
        """Partition columns, the type, start, end, count, values, the instant that decided."""
        made = [column_as(name, f"p{i}", origin=name) for i, name in enumerate(self.scope.partition)]
        made += [column_as(name, block, origin=name) for name, block in types]
        made += [column_as(name, name, origin=self.scope.ts) for name in (START, END)]
        made += [column_as(COUNT, COUNT), *values]
        if self.detects:
            made.append(column_as(DETECTED_AT, DETECTED_AT, origin=self.scope.ts))
        check_result_names(made, 'name the value otherwise, value={"name": "avg(temp)"}, or rename the column before')
        return tuple(made)


@contextmanager
def about(what: str) -> Iterator[None]:
    """Errors about a text say which argument it is."""
    try:
        yield
    except QueryError as error:
        raise QueryError(f"{what}: {error.message}", error.text, error.start, error.end, hint=error.hint) from None
