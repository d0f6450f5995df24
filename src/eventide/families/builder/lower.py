"""A builder pattern over a schema to what an engine runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import EventideError, InputError, QueryError, did_you_mean
from eventide.expressions.known_functions import for_engine
from eventide.expressions.split import EventValue
from eventide.expressions.typecheck import Types
from eventide.expressions.typed import Source
from eventide.expressions.types import type_name
from eventide.expressions.write_sql import FROM_RESULT, write_spark, write_typed
from eventide.families.builder.automaton import compile_pattern, pattern_conditions
from eventide.families.builder.conditions import Names, Test, TestCode, about_step, refuse_rows, split_condition
from eventide.families.builder.spec import (
    LAST_STEP,
    MATCH_END,
    MATCH_ID,
    MATCH_START,
    TIMED_OUT,
    DetectionSpec,
)
from eventide.families.builder.syntax import EventPattern, not_before, walk_steps
from eventide.families.builder.write import write_pattern
from eventide.plan.facts import read_columns, with_facts
from eventide.plan.holder import column_hint, guess_time
from eventide.plan.logical import NO_TIME, Detect, Scan
from eventide.plan.physical import Intake, Physical, SqlColumn
from eventide.plan.places import within_the_stack
from eventide.plan.references import is_orderable
from eventide.plan.row_columns import BITS_PER_MASK, RowColumns, plain
from eventide.plan.row_outputs import Outputs
from eventide.plan.time_column import time_type_of
from eventide.runtime.block import MAX_US, TS
from eventide.runtime.measured import RowOrder
from eventide.runtime.times import TimeType


@dataclass(frozen=True, slots=True)
class DetectionOptions:
    """What `ev.detect` is told besides the pattern."""

    partition_by: tuple[str, ...] = ()
    ts: str | None = None
    sequence: str | None = None
    ts_unit: str | None = None
    skip: str = "no_skip"
    skip_to: str | None = None
    select: tuple[tuple[str, str], ...] = ()
    drop_bad_events: bool = False
    state_ttl: int | None = None  # microseconds
    allowed_lateness: int = 0  # microseconds
    max_matches: int | None = None  # in one partition
    max_steps: int | None = None
    close_at_end: bool = False
    shown: tuple[str, ...] = ()  # columns of events that a match without `select` shows; none: all


def bind_pattern(
    pattern: EventPattern, options: DetectionOptions, schema: pa.Schema, *, on_stream: bool = False
) -> Detect:
    """The logical plan."""
    pattern = bounded(pattern, options)
    time = _find_time(schema, options)
    if time is None and pattern.is_bounded:
        which = "within" if options.state_ttl is None else "state_ttl"
        raise EventideError(f"{which} measures time, and no column holds it", hint="pass ts='column'")
    ts, time_type = time or ("", NO_TIME)
    sequence = None if options.sequence is None else _orderable("sequence", options.sequence, schema)
    return Detect(
        Scan(options, schema, ts, time_type, sequence, partition_columns(schema, options), is_stream=on_stream),
        pattern,
        tuple((name, text) for _, name, text in pattern_conditions(pattern)),
        options.select,
        pattern.window_us,
    )


def lower_pattern(node: Detect, engine: str, *, whole: bool = True) -> Physical:
    """The executable form of a pattern over events of a schema; of a part of one if it is not `whole`."""
    options = node.input.options
    made = _Lowering(node, engine, whole).physical()
    told = {name: getattr(options, name) for name in ("partition_by", "ts_unit", "sequence", "select")}
    facts = {"ts": made.intake.ts_column or None, **told}
    return with_facts(made, read_columns(made, node.input.schema), facts)


def prepare_detection(
    pattern: EventPattern, schema: pa.Schema, options: DetectionOptions, *, engine: str = "local", whole: bool = True
) -> Physical:
    """The executable form, without rules; of a part of a pattern if it is not `whole`."""
    with within_the_stack(write_pattern(pattern)), for_engine(engine):
        return lower_pattern(bind_pattern(pattern, options, schema), engine, whole=whole)


def bounded(pattern: EventPattern, options: DetectionOptions) -> EventPattern:
    """The pattern with the time that `state_ttl` gives a match."""
    if options.state_ttl is None:
        return pattern
    return replace(pattern, window_us=min(options.state_ttl, pattern.window_us or options.state_ttl))


def _find_time(schema: pa.Schema, options: DetectionOptions) -> tuple[str, TimeType] | None:
    """The time column and its type; None where events have an order by `sequence` and no time."""
    name = options.ts
    if name is None and options.sequence is not None:
        return None
    if name is None:
        name = guess_time(schema, "pass ts='column', or sequence='column' for an order without times")
    name = _find("ts", name, schema)
    return name, time_type_of(name, schema, options.ts_unit)


def _find(option: str, name: str, schema: pa.Schema) -> str:
    known = {column.lower(): column for column in schema.names}
    if name.lower() not in known:
        raise InputError(f"{option}: there is no column '{name}'", hint=column_hint(name, schema))
    column: str = known[name.lower()]
    return column


def _orderable(option: str, name: str, schema: pa.Schema) -> str:
    column = _find(option, name, schema)
    dtype = schema.field(column).type
    if not is_orderable(dtype):
        raise InputError(f"{option} cannot take '{column}': it is {type_name(dtype)}", hint="take a plain column")
    return column


def partition_columns(schema: pa.Schema, options: DetectionOptions) -> tuple[str, ...]:
    """The columns that partition the events, as the schema has them."""
    return tuple(dict.fromkeys(_orderable("partition_by", name, schema) for name in options.partition_by))


class _Lowering:
    def __init__(self, node: Detect, engine: str, whole: bool) -> None:
        self.pattern: EventPattern = node.tree
        self.whole = whole
        self.scan = node.input
        self.schema = node.input.schema
        self.types = Types()
        self.options: DetectionOptions = node.input.options
        self.program = compile_pattern(self.pattern)
        absent = tuple(step.name for step in walk_steps(self.pattern.steps) if step.link.is_negative)
        self.names = Names(self.program.steps, absent)
        self.partition = node.input.partition
        self.columns = RowColumns(self.partition, self.schema, engine)
        self.time = (self.scan.ts, self.scan.time_type) if self.scan.ts else None

    # --- conditions -----------------------------------------------------------------------------------------

    def _conditions(self) -> tuple[list[list[EventValue]], list[int], list[Test]]:
        """What events alone decide, by bit; the bit of each condition, -1: none; and the tests on earlier events."""
        alone: list[list[EventValue]] = []
        bits: list[int] = []
        tests: list[Test] = []
        for number, (step, name, text) in enumerate(pattern_conditions(self.pattern)):
            try:
                # In a part of a pattern a step may stand twice, and its events be there.
                later = not_before(self.pattern.steps, step) if self.whole else ()
                names = replace(self.names, later=later, own=step.name or None)
                local, others = split_condition(number, text, names, self.schema)
                TestCode(others, len(self.names.steps), self.schema, self.types).write([""] * 64)
                bits.append(len(alone) // BITS_PER_MASK * 64 + len(alone) % BITS_PER_MASK if local else -1)
                alone += [local] if local else []
                tests += others
                for value in local:
                    self.columns.column("", value)
            except QueryError as error:
                raise about_step(error, _place(step.shown, name)) from None
        return alone, bits, tests

    def _tie_columns(self, alone: list[EventValue]) -> tuple[str, ...]:
        """Columns that are read, in schema order: they tell events apart that the order does not."""
        names = {*self.columns.returned, *self.columns.read_by_values()}
        names |= {column.name for value in alone for column in value.expression.find_all(exp.Column)}
        known = [name for name in self.schema.names if name in names and name not in self.columns.partition]
        return tuple(self.columns.of_column(name) for name in known if is_orderable(self.schema.field(name).type))

    def _identity(self, alone: list[EventValue], code: TestCode, end_column: str) -> tuple[str, ...]:
        """Columns that tell events apart in match_id, whatever is selected: what conditions read, and the sequence.

        Without a sequence every column does. By name: an id must not depend on the order of the columns.
        """
        names = set(self.schema.names)
        if end_column:
            values = [*alone, *code.values]
            names = {column.name for value in values for column in value.expression.find_all(exp.Column)}
        ts = "" if self.time is None else self.time[0]
        known = [name for name in sorted(names) if name not in self.columns.partition and name != ts]
        told = [self.columns.of_column(name) for name in known if is_orderable(self.schema.field(name).type)]
        return tuple(dict.fromkeys([TS, *([end_column] if end_column else []), *told]))

    # --- the whole ------------------------------------------------------------------------------------------

    def physical(self) -> Physical:
        options = self.options
        alone, bits, tests = self._conditions()
        code = TestCode(tests, len(self.names.steps), self.schema, self.types)
        value_columns = [self.columns.of_value(value) for value in code.values]
        order = [RowOrder(TS, False, True)] if self.time is not None else []
        end_column = ""
        if self.scan.sequence is not None:
            end_column = self.columns.of_column(self.scan.sequence)
            order.append(RowOrder(end_column, False, True))
        outputs = Outputs(self.columns, "")
        measures = [self._measure(name, text, outputs) for name, text in options.select]
        names = () if options.select else options.shown or self.schema.names
        shown = tuple((self.columns.of_column(name), name) for name in names)
        decided = [value for values in alone for value in values]
        ties = self._tie_columns(decided)
        identity = self._identity(decided, code, end_column)
        holds, carry, encodings, sizes = code.write(value_columns) if tests else (None, None, (), (0, 0, 0, 0))
        masks = self.columns.masks(alone)
        tested = {test.number for test in tests}
        layout = self.columns.layout(len(masks))
        spec = DetectionSpec(
            query=write_pattern(self.pattern) + self._skip_text(),
            layout=layout,
            program=self.program,
            order=tuple(order),
            tie_columns=ties,
            mask_columns=self.columns.mask_names(len(masks)),
            tests=tuple((bit, number in tested) for number, bit in enumerate(bits)),
            time_type=None if self.time is None else self.time[1],
            end_column=end_column,
            window_us=self.pattern.window_us,
            gap_us=self.pattern.gap_us,
            end_us=MAX_US,
            skip=options.skip,
            skip_step=self._skip_step(),
            identity=(*layout.partition, *identity),
            shown=shown,
            picked=tuple(outputs.picked),
            folded=tuple(outputs.folded),
            listed=tuple(outputs.listed),
            encodings=encodings,
            holds_source=holds,
            carry_source=carry,
            n_carried=sizes,
            max_matches=options.max_matches,
            max_steps=options.max_steps,
        )
        ts, time_type = self.scan.ts, self.scan.time_type
        times = plain(TS, ts) if ts else SqlColumn(TS, "0L", "CAST(0 AS BIGINT)")
        return Physical(
            text="",
            intake=Intake(layout, time_type, ts, options.drop_bad_events, True, self.columns.names()),
            select=self.columns.select(times, masks, by_arrival=False),
            spec=spec,
            project=self._project(measures),
            reads=tuple(self.schema.names),
            output_schema=self._output_schema(outputs, shown),
            computed=tuple(outputs.computed.values()),
            allowed_lateness_us=options.allowed_lateness,
            needs_end=spec.is_timed and self.whole and not options.close_at_end,
            closes_at_end=options.close_at_end,
        )

    def _skip_text(self) -> str:
        kind, step = self.options.skip, self.options.skip_to
        return "" if kind == "no_skip" else f"\n-- skip {kind} {step or ''}".rstrip()

    def _skip_step(self) -> int:
        name = self.options.skip_to
        if name is None:
            return -1
        known = {step.lower(): i for i, step in enumerate(self.names.steps)}
        if name.lower() not in known:
            hint = did_you_mean(name, self.names.steps)
            raise EventideError(f"skip: the pattern has no step '{name}' that takes events", hint=hint)
        return known[name.lower()]

    # --- the result -----------------------------------------------------------------------------------------

    def _measure(self, name: str, text: str, outputs: Outputs) -> SqlColumn:
        try:
            scalar, resolved = self.names.read(text, self.schema, "the measure")
            refuse_rows(scalar.tree, text, scalar, final=True)
            tree = outputs.over(resolved)
            typed = outputs.bind(tree, scalar.span)
            if isinstance(tree, exp.Column):
                return SqlColumn(name, f"`{tree.name}`", f'"{tree.name}"', dtype=typed.value[1])
            try:
                duckdb = write_typed(typed, Source(text, scalar.span), FROM_RESULT)
            except QueryError:
                if self.columns.engine == "local":
                    raise
                duckdb = None
            return SqlColumn(name, write_spark(tree), duckdb, dtype=typed.dtype)
        except QueryError as error:
            # Outputs does not know the text of each measure.
            shown = QueryError(error.message, text, error.start, error.end, hint=error.hint)
            raise about_step(shown, f"select '{name}'") from None

    def _ends_type(self) -> pa.DataType:
        if self.time is not None:
            return self.time[1].arrow
        return self._plain_type(str(self.options.sequence))

    def _plain_type(self, name: str) -> pa.DataType:
        dtype = self.schema.field(_find("sequence", name, self.schema)).type
        return dtype.value_type if pa.types.is_dictionary(dtype) else dtype

    def _output_schema(self, outputs: Outputs, shown: tuple[tuple[str, str], ...]) -> pa.Schema:
        fields = [pa.field(f"p{i}", self._plain_type(name)) for i, name in enumerate(self.partition)]
        fields += [
            pa.field(MATCH_ID, pa.string()),
            pa.field(MATCH_START, self._ends_type()),
            pa.field(MATCH_END, self._ends_type()),
            pa.field(TIMED_OUT, pa.bool_()),
            pa.field(LAST_STEP, pa.string()),
        ]
        if shown:
            event = pa.struct([pa.field(name, self._plain_type(name)) for _, name in shown])
            fields += [pa.field(f"s{i}", pa.list_(event)) for i in range(len(self.names.steps))]
            return pa.schema(fields)
        return pa.schema([*fields, *outputs.fields()])

    def _project(self, measures: list[SqlColumn]) -> tuple[SqlColumn, ...]:
        """match_id, partition columns, the match's ends, the steps or the measures, and what tells timeouts."""
        ends = self.time[0] if self.time is not None else str(self.options.sequence)
        made = [SqlColumn(MATCH_ID, f"`{MATCH_ID}`", f'"{MATCH_ID}"')]
        made += [SqlColumn(name, f"`p{i}`", f'"p{i}"', origin=name) for i, name in enumerate(self.partition)]
        made += [SqlColumn(name, f"`{name}`", f'"{name}"', origin=ends) for name in (MATCH_START, MATCH_END)]
        if self.options.select:
            made += measures
        else:
            made += [SqlColumn(name, f"`s{i}`", f'"s{i}"') for i, name in enumerate(self.names.steps)]
        made += [SqlColumn(name, f"`{name}`", f'"{name}"') for name in (LAST_STEP, TIMED_OUT)]
        seen: set[str] = set()
        for column in made:
            if column.name.lower() in seen:
                hint = "name the step or the measure otherwise, or rename the column"
                raise EventideError(f"two columns of the result are called '{column.name}'", hint=hint)
            seen.add(column.name.lower())
        return tuple(made)


def _place(step: str, name: str) -> str:
    return f"until of step {step}" if name.endswith(".until") else f"step {step}"
