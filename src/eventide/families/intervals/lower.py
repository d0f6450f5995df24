"""Intervals over events of a schema to what an engine runs: masks, code, values, result columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from eventide.errors import EventideError, InputError, QueryError
from eventide.expressions.navigation.leaves import Resolved, ValueLeaf
from eventide.expressions.relate import conjuncts, event_value, is_local, plain_tree
from eventide.expressions.split import EventValue
from eventide.expressions.typed import Source
from eventide.expressions.types import is_number, type_name
from eventide.families.intervals.code import IntervalCode, Relation, check_boolean
from eventide.families.intervals.expressions import parse_expression, resolve_part
from eventide.families.intervals.spec import COUNT, DETECTED_AT, END, RUNS, SPANS, START, IntervalSpec
from eventide.families.intervals.values import Values
from eventide.lang.durations import write_length
from eventide.lang.tree import Length
from eventide.plan.facts import read_columns, with_facts
from eventide.plan.holder import column_hint, guess_time
from eventide.plan.logical import Intervals, Scan
from eventide.plan.options import Options
from eventide.plan.physical import Intake, Physical, SqlColumn
from eventide.plan.references import is_orderable
from eventide.plan.row_columns import BITS_PER_MASK, RowColumns, plain
from eventide.plan.time_column import time_type_of
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
    partition = tuple(dict.fromkeys(_orderable("partition_by", name, schema) for name in options.partition_by))
    ts = _find("ts", options.ts if options.ts is not None else guess_time(schema), schema)
    time_type = time_type_of(ts, schema, options.ts_unit)
    sequence = None if options.sequence is None else _orderable("sequence", options.sequence, schema)
    form = deriving.form
    asked = (("", form.condition),) if isinstance(form, Runs) else form.asked
    return Intervals(
        Scan(options, schema, ts, time_type, sequence, partition, is_stream=on_stream),
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


def _find(option: str, name: str, schema: pa.Schema) -> str:
    found: list[str] = [column for column in schema.names if column.lower() == name.lower()]
    if not found:
        raise InputError(f"{option}: there is no column '{name}'", hint=column_hint(name, schema))
    if len(found) > 1:
        hint = "rename one of them: the case of letters does not tell columns apart, as in Spark"
        raise InputError(f"{option}: column '{name}' is ambiguous: {', '.join(found)}", hint=hint)
    return found[0]


def _orderable(option: str, name: str, schema: pa.Schema) -> str:
    column = _find(option, name, schema)
    dtype = schema.field(column).type
    if not is_orderable(dtype):
        raise InputError(f"{option} cannot take '{column}': it is {type_name(dtype)}", hint="take a plain column")
    return column


def _check_frame(name: str, text: str, schema: pa.Schema) -> None:
    """Refuse what a ready-made frame does not take; messages are about what the user wrote."""
    what = "condition" if name in ("threshold", "aggregate") else "expression"
    with about(what):
        scalar = parse_expression(text, f"the {what}", _CONDITION if what == "condition" else "speed")
        source = Source(text, scalar.span)
        parts = [resolve_part(tree, scalar, schema, text) for tree in conjuncts(scalar.tree)]
        local = all(map(is_local, parts))
        if name == "aggregate" and all(isinstance(leaf, ValueLeaf) for part in parts for leaf in part.leaves):
            hint = "write avg(speed) >= 67; a condition on each event is ev.intervals.threshold"
            raise source.error("there is no aggregate in the condition", scalar.span, hint)
        if name == "threshold" and not local:
            hint = "prev, first and aggregates can stand in the condition of ev.intervals.homogeneous"
            raise source.error("a threshold is about one event", scalar.span, hint)
        if what == "expression":
            if not local:
                hint = "it is computed of each event, and then compared with that of the first"
                raise source.error("prev, first and aggregates cannot stand here", scalar.span, hint)
            value = event_value(plain_tree(parts[0]), schema, source)
            if len(parts) > 1 or (value.dtype is not None and not is_number(value.dtype)):
                found = "BOOLEAN" if len(parts) > 1 or value.dtype is None else type_name(value.dtype)
                raise source.error(
                    f"{name} takes a number, but this is {found}", scalar.span, "name a column of numbers"
                )


def applies_to_first(resolved: Resolved) -> bool:
    """Whether the first event of a run decides a conjunct: one about the run's aggregates alone, or about the event."""
    return is_local(resolved) or not any(isinstance(leaf, ValueLeaf) for leaf in resolved.leaves)


class _Lowering:
    def __init__(self, node: Intervals, engine: str, detects: bool) -> None:
        self.deriving: Deriving = node.tree
        self.detects = detects
        self.scan = node.input
        self.schema = node.input.schema
        self.options: Options = node.input.options
        self.partition = node.input.partition
        self.columns = RowColumns(self.partition, self.schema, engine)
        self.code = IntervalCode(self.schema)
        self.values = Values(self.columns, self.code)
        self.ts, self.time_type = node.input.ts, node.input.time_type
        self._alone: list[EventValue] = []  # what events alone decide

    # --- conditions -----------------------------------------------------------------------------------------

    def _split(self, what: str, text: str) -> tuple[list[EventValue], list[Relation]]:
        """What an event alone decides of a condition, and the conjuncts that relate it to its interval."""
        scalar = parse_expression(text, f"the {what}", _CONDITION)
        source = Source(text, scalar.span)
        alone, relations = [], []
        for tree in conjuncts(scalar.tree):
            resolved = resolve_part(tree, scalar, self.schema, text)
            if not is_local(resolved):
                relations.append(Relation(resolved, source, applies_to_first(resolved)))
                continue
            value = event_value(plain_tree(resolved), self.schema, source)
            check_boolean(value.typed, source)
            self.columns.column("", value)
            alone.append(value)
        self._alone += alone
        return alone, relations

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
        if len(form.asked) > BITS_PER_MASK:
            raise EventideError(
                f"exclude takes at most {BITS_PER_MASK - 2} conditions", hint="join some of them with OR"
            )
        bits = []
        for what, text in form.asked:
            with about(what):
                bits.append(self._on_one_event(what, text))
        return bits

    def _on_one_event(self, what: str, text: str) -> list[EventValue]:
        alone, relations = self._split(what, text)
        if relations:
            source = relations[0].source
            hint = "prev, first and aggregates can stand in the condition of ev.intervals.homogeneous"
            raise source.error("this must be decided by one event", relations[0].resolved.span, hint)
        return alone

    def _one_type(self, name: str) -> Relation:
        """All events of a run have the type of its first; NULL is a type of its own."""
        column = "`" + _orderable("type", name, self.schema).replace("`", "``") + "`"
        text = f"{column} <=> first({column})"
        scalar = parse_expression(text, "the type", text)
        return Relation(resolve_part(scalar.tree, scalar, self.schema, text), Source(text, scalar.span), False)

    # --- the whole ------------------------------------------------------------------------------------------

    def physical(self) -> Physical:
        form, options = self.deriving.form, self.options
        closes = options.close_at_end
        bits = self._conditions()
        shown = [] if options.type is None or isinstance(form, Spans) else [_find("type", options.type, self.schema)]
        types = [(name, self.values.take_first(name)) for name in shown]
        added = []
        for name, text in self.deriving.values:
            with about(f"value '{name}'"):
                added.append(self.values.add(name, text))
        order = [RowOrder(TS, False, True)]
        if self.scan.sequence is not None:
            order.append(RowOrder(self.columns.of_column(self.scan.sequence), False, True))
        value_columns = [self.columns.of_value(value) for value in self.code.values]
        ties = self._tie_columns()
        with about("condition"):
            code = self.code.write(value_columns)
        masks = self.columns.masks(bits)
        layout = self.columns.layout(len(masks))
        spec = IntervalSpec(
            query=self._meaning(),
            layout=layout,
            kind=RUNS if isinstance(form, Runs) else SPANS,
            time_type=self.time_type,
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
        drop = options.on_bad_event == "drop"
        return Physical(
            text="",
            intake=Intake(layout, self.time_type, self.ts, drop, True, self.columns.names()),
            select=self.columns.select(plain(TS, self.ts), masks, by_arrival=False),
            spec=spec,
            project=self._project(types, added),
            reads=self._reads(),
            allowed_lateness_us=options.allowed_lateness,
            takes_codes=True,
            windows_close=True,
            output_schema=self._output_schema(),
            needs_end=spec.gap_us is not None and not closes,
            closes_at_end=closes,
        )

    def _tie_columns(self) -> tuple[str, ...]:
        """Columns that are read, in schema order: they tell events apart that the order does not."""
        read = {*self.columns.returned, *self.columns.read_by_values()}
        read |= {column.name for value in self._alone for column in value.expression.find_all(exp.Column)}
        known = [name for name in self.schema.names if name in read and name not in (*self.partition, self.ts)]
        return tuple(self.columns.of_column(name) for name in known if is_orderable(self.schema.field(name).type))

    def _reads(self) -> tuple[str, ...]:
        names = {*self.partition, self.ts, *self.columns.returned, *self.columns.read_by_values()}
        names |= {column.name for value in self._alone for column in value.expression.find_all(exp.Column)}
        return tuple(name for name in self.schema.names if name in names)

    def _meaning(self) -> str:
        """A text that tells this derivation from others: a checkpoint belongs to it."""
        options = self.options
        parts = [self.deriving.text()]
        parts.append(f"PARTITION BY {', '.join(self.partition)} ORDER BY {self.ts}, {options.sequence}")
        return "\n".join([*parts, *([f"TYPE {options.type}"] if options.type else [])])

    # --- the result -----------------------------------------------------------------------------------------

    def _output_schema(self) -> pa.Schema:
        fields = [pa.field(f"p{i}", self._plain_type(name)) for i, name in enumerate(self.partition)]
        times = [pa.field(name, self.time_type.arrow) for name in (START, END)]
        detected = [pa.field(DETECTED_AT, self.time_type.arrow)] if self.detects else []
        return pa.schema([*fields, *times, pa.field(COUNT, pa.int64()), *self.values.fields(), *detected])

    def _plain_type(self, name: str) -> pa.DataType:
        dtype = self.schema.field(name).type
        return dtype.value_type if pa.types.is_dictionary(dtype) else dtype

    def _project(self, types: Sequence[tuple[str, str]], values: Sequence[SqlColumn]) -> tuple[SqlColumn, ...]:
        """Partition columns, the type, start, end, count, values, the instant that decided."""
        made = [SqlColumn(name, f"`p{i}`", f'"p{i}"', origin=name) for i, name in enumerate(self.partition)]
        made += [SqlColumn(name, f"`{block}`", f'"{block}"', origin=name) for name, block in types]
        made += [SqlColumn(name, f"`{name}`", f'"{name}"', origin=self.ts) for name in (START, END)]
        made += [SqlColumn(COUNT, f"`{COUNT}`", f'"{COUNT}"'), *values]
        if self.detects:
            made.append(SqlColumn(DETECTED_AT, f"`{DETECTED_AT}`", f'"{DETECTED_AT}"', origin=self.ts))
        seen: set[str] = set()
        for column in made:
            if column.name.lower() in seen:
                hint = 'name the value otherwise, value={"name": "avg(temp)"}, or rename the column before'
                raise EventideError(f"two columns of the result are called '{column.name}'", hint=hint)
            seen.add(column.name.lower())
        return tuple(made)


@contextmanager
def about(what: str) -> Iterator[None]:
    """Errors about a text say which argument it is."""
    try:
        yield
    except QueryError as error:
        raise QueryError(f"{what}: {error.message}", error.text, error.start, error.end, hint=error.hint) from None
