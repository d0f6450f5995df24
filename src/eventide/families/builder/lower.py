"""A builder pattern over a schema to what an engine runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import EventideError, InputError, QueryError, UnsupportedError, did_you_mean
from eventide.expressions.known_functions import for_engine
from eventide.expressions.relate import Relation
from eventide.expressions.split import EventValue
from eventide.expressions.typecheck import Types
from eventide.expressions.typed import Source
from eventide.expressions.types import type_name
from eventide.families.builder.automaton import compile_pattern, pattern_conditions
from eventide.families.builder.conditions import Names, StepRelations, about_step, refuse_rows, split_step
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
from eventide.plan.physical import Intake, Physical, SqlColumn
from eventide.plan.places import within_the_stack
from eventide.plan.references import is_orderable
from eventide.plan.row_columns import BITS_PER_MASK, RowColumns, plain
from eventide.plan.row_outputs import Outputs
from eventide.plan.time_column import time_type_of
from eventide.runtime.block import MAX_US, TS
from eventide.runtime.measured import RowOrder
from eventide.runtime.times import TimeType

_NO_TIME = TimeType(pa.int64(), "us")


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


def prepare_detection(
    pattern: EventPattern, schema: pa.Schema, options: DetectionOptions, *, engine: str = "local", whole: bool = True
) -> Physical:
    """The executable form of a pattern over events of a schema; of a part of one if it is not `whole`."""
    with within_the_stack(write_pattern(pattern)), for_engine(engine):
        made = _Lowering(bounded(pattern, options), schema, options, engine, whole).physical()
    told = {name: getattr(options, name) for name in ("partition_by", "ts_unit", "sequence", "select")}
    return with_facts(made, read_columns(made, schema), {"ts": made.intake.ts_column or None, **told})


def bounded(pattern: EventPattern, options: DetectionOptions) -> EventPattern:
    """The pattern with the time that `state_ttl` gives a match."""
    if options.state_ttl is None:
        return pattern
    return replace(pattern, window_us=min(options.state_ttl, pattern.window_us or options.state_ttl))


def check_stream(physical: Physical) -> None:
    """Refuse what no stream could answer, with what would make it possible."""
    spec = physical.spec
    assert isinstance(spec, DetectionSpec)
    if not spec.is_timed:
        raise UnsupportedError(
            "a stream cannot run this pattern: a partial match may wait for ever, so every event stays",
            hint="add .within('1 hour') to the pattern; or pass state_ttl='1 day': no match is longer then",
        )


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
    def __init__(
        self, pattern: EventPattern, schema: pa.Schema, options: DetectionOptions, engine: str, whole: bool
    ) -> None:
        self.pattern = pattern
        self.whole = whole
        self.schema = schema
        self.types = Types()
        self.options = options
        self.program = compile_pattern(pattern)
        absent = tuple(step.name for step in walk_steps(pattern.steps) if step.link.is_negative)
        self.names = Names(self.program.steps, absent)
        self.partition = partition_columns(schema, options)
        self.columns = RowColumns(self.partition, schema, engine)
        self.time = _find_time(schema, options)
        if self.time is None and pattern.is_bounded:
            which = "within" if options.state_ttl is None else "state_ttl"
            raise EventideError(f"{which} measures time, and no column holds it", hint="pass ts='column'")

    # --- conditions -----------------------------------------------------------------------------------------

    def _conditions(self) -> tuple[list[list[EventValue]], list[int], list[Relation]]:
        """What events alone decide, by bit; the bit of each condition, -1: none; and the tests on earlier events."""
        alone: list[list[EventValue]] = []
        bits: list[int] = []
        tests: list[Relation] = []
        for number, (step, name, text) in enumerate(pattern_conditions(self.pattern)):
            try:
                # In a part of a pattern a step may stand twice, and its events be there.
                later = not_before(self.pattern.steps, step) if self.whole else ()
                names = replace(self.names, later=later, own=step.name or None)
                local, others = split_step(number, text, names, self.schema)
                StepRelations(others, self.schema, self.types).write([""] * 64, len(self.names.steps))
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

    def _identity(self, alone: list[EventValue], code: StepRelations, end_column: str) -> tuple[str, ...]:
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
        code = StepRelations(tests, self.schema, self.types)
        value_columns = [self.columns.of_value(value) for value in code.values]
        order = [RowOrder(TS, False, True)] if self.time is not None else []
        end_column = ""
        if options.sequence is not None:
            end_column = self.columns.of_column(_orderable("sequence", options.sequence, self.schema))
            order.append(RowOrder(end_column, False, True))
        outputs = Outputs(self.columns)
        measures = [self._measure(name, text, outputs) for name, text in options.select]
        names = () if options.select else options.shown or self.schema.names
        shown = tuple((self.columns.of_column(name), name) for name in names)
        decided = [value for values in alone for value in values]
        ties = self._tie_columns(decided)
        identity = self._identity(decided, code, end_column)
        holds, carry, encodings, sizes = (
            code.write(value_columns, len(self.names.steps)) if tests else (None, None, (), (0, 0, 0, 0))
        )
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
        ts, time_type = self.time or ("", _NO_TIME)
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
            refuse_rows(text, scalar, final=True)
            source = Source(text, scalar.span)
            return outputs.column(name, outputs.over(resolved, source), source)
        except QueryError as error:
            raise about_step(error, f"select '{name}'") from None

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
        return pa.schema([*fields, *outputs.returned()])

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
