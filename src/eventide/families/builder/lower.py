"""A builder pattern over a schema to what an engine runs."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import EventideError, QueryError, did_you_mean
from eventide.expressions.known_functions import for_engine
from eventide.expressions.relate import Relation
from eventide.expressions.split import EventValue
from eventide.expressions.typecheck import Types
from eventide.expressions.typed import Source
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
from eventide.plan.columns import MAX_STEPS, Columns
from eventide.plan.facts import read_columns, with_facts
from eventide.plan.logical import Detect, Scan
from eventide.plan.options import Options
from eventide.plan.physical import Physical, SqlColumn, column_as
from eventide.plan.places import within_the_stack
from eventide.plan.results import check_result_names
from eventide.plan.row_outputs import Outputs
from eventide.plan.scope import is_orderable, scope_of_arguments
from eventide.runtime.block import MAX_US, TS
from eventide.runtime.measured import RowOrder


def bind_pattern(pattern: EventPattern, options: Options, schema: pa.Schema, *, on_stream: bool = False) -> Detect:
    """The logical plan."""
    pattern = bounded(pattern, options)
    scope = scope_of_arguments(schema, options, needs_time=False)
    if not scope.ts and pattern.is_bounded:
        which = "within" if options.state_ttl is None else "state_ttl"
        raise EventideError(f"{which} measures time, and no column holds it", hint="pass ts='column'")
    return Detect(
        Scan.of(scope, is_stream=on_stream),
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
    pattern: EventPattern, schema: pa.Schema, options: Options, *, engine: str = "local", whole: bool = True
) -> Physical:
    """The executable form, without rules; of a part of a pattern if it is not `whole`."""
    with within_the_stack(write_pattern(pattern)), for_engine(engine):
        return lower_pattern(bind_pattern(pattern, options, schema), engine, whole=whole)


def bounded(pattern: EventPattern, options: Options) -> EventPattern:
    """The pattern with the time that `state_ttl` gives a match."""
    if options.state_ttl is None:
        return pattern
    return replace(pattern, window_us=min(options.state_ttl, pattern.window_us or options.state_ttl))


class _Lowering:
    def __init__(self, node: Detect, engine: str, whole: bool) -> None:
        self.pattern: EventPattern = node.tree
        self.whole = whole
        self.scope = node.input
        self.schema = node.input.schema
        self.types = Types()
        self.options: Options = node.input.options
        self.program = compile_pattern(self.pattern)
        absent = tuple(step.name for step in walk_steps(self.pattern.steps) if step.link.is_negative)
        self.names = Names(self.program.steps, absent)
        self.columns = Columns(self.scope, engine)

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
                bits.append(len(alone) // MAX_STEPS * 64 + len(alone) % MAX_STEPS if local else -1)
                alone += [local] if local else []
                tests += others
                for value in local:
                    self.columns.column("", value)
            except QueryError as error:
                raise about_step(error, _place(step.shown, name)) from None
        return alone, bits, tests

    def _identity(self, alone: list[EventValue], code: StepRelations, end_column: str) -> tuple[str, ...]:
        """Columns that tell events apart in match_id, whatever is selected: what conditions read, and the sequence.

        Without a sequence every column does. By name: an id must not depend on the order of the columns.
        """
        names = set(self.schema.names)
        if end_column:
            values = [*alone, *code.values]
            names = {column.name for value in values for column in value.expression.find_all(exp.Column)}
        known = sorted(names - {*self.scope.partition, self.scope.ts})
        told = [self.columns.of_column(name) for name in known if is_orderable(self.schema.field(name).type)]
        return tuple(dict.fromkeys([TS, *([end_column] if end_column else []), *told]))

    # --- the whole ------------------------------------------------------------------------------------------

    def physical(self) -> Physical:
        options = self.options
        alone, bits, tests = self._conditions()
        code = StepRelations(tests, self.schema, self.types)
        value_columns = [self.columns.of_value(value) for value in code.values]
        order = [RowOrder(TS, False, True)] if self.scope.ts else []
        end_column = ""
        if self.scope.sequence is not None:
            end_column = self.columns.of_column(self.scope.sequence)
            order.append(RowOrder(end_column, False, True))
        outputs = Outputs(self.columns)
        measures = [self._measure(name, text, outputs) for name, text in options.select]
        names = () if options.select else options.shown or self.schema.names
        shown = tuple((self.columns.of_column(name), name) for name in names)
        decided = [value for values in alone for value in values]
        ties = self.columns.ties(self.columns.read_by(decided))
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
            time_type=self.scope.time_type if self.scope.ts else None,
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
            max_matches=options.max_matches_per_partition,
            max_steps=options.max_steps_per_partition,
        )
        return self.columns.physical(
            spec,
            masks,
            self._project(measures),
            self._output_schema(outputs, shown),
            text="",
            reads=tuple(self.schema.names),
            computed=tuple(outputs.computed.values()),
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

    def _output_schema(self, outputs: Outputs, shown: tuple[tuple[str, str], ...]) -> pa.Schema:
        type_of, scope = self.scope.type_of_column, self.scope
        ends = scope.time_type.arrow if scope.ts else type_of(str(scope.sequence))
        fields = [
            *(pa.field(f"p{i}", type_of(name)) for i, name in enumerate(scope.partition)),
            pa.field(MATCH_ID, pa.string()),
            pa.field(MATCH_START, ends),
            pa.field(MATCH_END, ends),
            pa.field(TIMED_OUT, pa.bool_()),
            pa.field(LAST_STEP, pa.string()),
        ]
        if shown:
            event = pa.struct([pa.field(name, type_of(name)) for _, name in shown])
            fields += [pa.field(f"s{i}", pa.list_(event)) for i in range(len(self.names.steps))]
            return pa.schema(fields)
        return pa.schema([*fields, *outputs.returned()])

    def _project(self, measures: list[SqlColumn]) -> tuple[SqlColumn, ...]:
        """match_id, partition columns, the match's ends, the steps or the measures, and what tells timeouts."""
        ends = self.scope.ts or self.scope.sequence
        made = [column_as(MATCH_ID, MATCH_ID)]
        made += [column_as(name, f"p{i}", origin=name) for i, name in enumerate(self.scope.partition)]
        made += [column_as(name, name, origin=ends) for name in (MATCH_START, MATCH_END)]
        if self.options.select:
            made += measures
        else:
            made += [column_as(name, f"s{i}") for i, name in enumerate(self.names.steps)]
        made += [column_as(name, name) for name in (LAST_STEP, TIMED_OUT)]
        check_result_names(made, "name the step or the measure otherwise, or rename the column")
        return tuple(made)


def _place(step: str, name: str) -> str:
    return f"until of step {step}" if name.endswith(".until") else f"step {step}"
