"""SEQ of single events to its executable form: masks, values, tests, and where each result column comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.lang import write
from eventide.lang.durations import write_length
from eventide.lang.tree import Length, Pattern, Scalar, Seq, Step, Strategy
from eventide.operators.block import MASK, SEQUENCE, TS, Layout
from eventide.operators.sequence import Returned, SequenceSpec
from eventide.operators.times import UNIT_US, TimeType
from eventide.operators.windows import Slide
from eventide.plan.bound import Bound, Item
from eventide.plan.expressions.residue import compile_tests
from eventide.plan.expressions.split import EventValue, Split, Test, split
from eventide.plan.expressions.typecheck import columns_of, typecheck
from eventide.plan.expressions.types import type_name
from eventide.plan.expressions.write_sql import write_duckdb, write_spark
from eventide.plan.physical import Intake, Physical, SqlColumn
from eventide.plan.places import error_at, option_error
from eventide.plan.references import is_orderable, references

MAX_STEPS = 62  # bits of the mask
_STRATEGY = {Strategy.ANY: "any", Strategy.NEXT: "next", Strategy.CONTIGUOUS: "contiguous"}


@dataclass(frozen=True, slots=True)
class Placed:
    """A test with the step of each of its slots."""

    test: Test
    steps: tuple[int, ...]


def sequence_steps(pattern: Pattern) -> tuple[Step, ...] | None:
    """The steps when the pattern is a SEQ of single events, else None."""
    match pattern:
        case Step():
            return (pattern,)
        case Seq() if all(isinstance(part, Step) for part in pattern.parts):
            return tuple(part for part in pattern.parts if isinstance(part, Step))
    return None


def place_tests(plan: Bound, steps: tuple[Step, ...], parts: Split) -> tuple[Placed, ...]:
    """Each test with its steps; an adjacent-event test stands once for every adjacent pair it concerns."""
    at = {step.symbol: i for i, step in enumerate(steps)}
    placed: list[Placed] = []
    for test in parts.tests:
        if not any(slot.is_next for slot in test.slots):
            placed.append(Placed(test, tuple(at[slot.symbol] for slot in test.slots)))
            continue
        for i in _adjacent_pairs(test, steps, plan):
            placed.append(Placed(test, tuple(i + 1 if slot.is_next else i for slot in test.slots)))
    return tuple(placed)


def _adjacent_pairs(test: Test, steps: tuple[Step, ...], plan: Bound) -> list[int]:
    """The steps that are directly followed by one that the test relates them to."""
    (left,) = (slot.symbol for slot in test.slots if not slot.is_next)
    (right,) = (slot.symbol for slot in test.slots if slot.is_next)
    names = [step.symbol for step in steps]
    follows = list(pairwise(names))
    pairs = [i for i, pair in enumerate(follows) if pair == (left, right)]
    if not pairs:
        hint = "leave out NEXT to relate events that do not stand side by side"
        if left == right:
            hint = f"'{left}' stands once: name the event after it, NEXT(symbol)"
        elif (right, left) in follows:
            hint = f"'{right}' comes first: write {right}.column and NEXT({left}).column"
        message = f"'{left}' is never directly followed by '{right}' in this pattern"
        raise error_at(plan.query, test.source.span, message, hint)
    return pairs


def lower_sequence(plan: Bound, steps: tuple[Step, ...], engine: str) -> Physical:
    """The executable form; `engine` "local" needs every expression on the allow-list."""
    _check(plan, steps)
    query = plan.query
    parts = split(plan.conjuncts, list(plan.symbols), plan.schema, query.text)
    placed = place_tests(plan, steps, parts)
    columns = _Columns(plan, engine)
    columns.add_values(parts.values)
    needs_identity, by_sequence = plan.options.match_id, plan.options.ties == "sequence"
    if needs_identity or by_sequence:
        for name in read_columns(plan):
            if is_orderable(plan.schema.field(name).type):
                columns.block_column(name)
    # These, and not what RETURN adds below, tell events with equal times apart.
    told = [name for name in read_columns(plan) if name in columns.returned]
    returned, project, output = _results(plan, steps, columns)
    holds_source, encodings = compile_tests(
        [(place.test, place.steps) for place in placed],
        parts.values,
        columns.value_names,
        len(steps),
        backward=plan.strategy is Strategy.ANY,
    )
    layout = columns.layout()
    sequence = [SEQUENCE] if layout.has_sequence else []
    tie_columns = [*sequence, *(columns.returned[name] for name in told)]
    # By name: an id must not depend on the order of the columns.
    identity = [*layout.partition, TS, *sequence, *(columns.returned[name] for name in sorted(told))]
    window = query.window
    spec = SequenceSpec(
        query=_meaning(plan),
        layout=layout,
        n_steps=len(steps),
        strategy=_STRATEGY[plan.strategy],
        window_us=window.length.amount if window else None,
        time_type=plan.time_type,
        returned=returned,
        slide=_slide(plan),
        tie_columns=tuple(tie_columns) if by_sequence else None,
        encodings=encodings,
        holds_source=holds_source,
        identity=tuple(identity) if needs_identity else None,
    )
    intake = Intake(
        layout=layout,
        time_type=plan.time_type,
        ts_column=plan.ts,
        drop_bad_events=plan.options.on_bad_event == "drop",
        keep_all=plan.strategy is Strategy.CONTIGUOUS,
        names=columns.names(),
    )
    select = columns.select(_mask(plan, steps, parts, columns))
    return Physical(
        text=query.text,
        intake=intake,
        select=select,
        spec=spec,
        project=project,
        reads=read_columns(plan),
        align_to_first=plan.options.origin == "first",
        allowed_lateness_us=plan.options.allowed_lateness,
        output_schema=output,
    )


def _meaning(plan: Bound) -> str:
    """What the query means, however it was said: names a checkpoint's query and is part of `match_id`."""
    bare = replace(plan.query, options=(), source=None, partition_by=())
    conditions = [f"{name}: {condition.tree.sql('spark')}" for name, condition in sorted(plan.conditions.items())]
    resolved = {
        "time": f"{plan.ts} {plan.time_type.unit or ''}".strip(),
        "sequence": plan.sequence,
        "partition": ", ".join(plan.partition),
        "types": "; ".join(conditions),
        "ties": plan.options.ties,
        "origin": plan.options.origin,
    }
    return "\n".join([write(bare), *(f"-- {name} {value}" for name, value in resolved.items() if value)])


def read_columns(plan: Bound) -> tuple[str, ...]:
    """Every column the query reads, in schema order."""
    trees = [c.tree for c in plan.conjuncts] + [item.tree for item in plan.items]
    trees += [condition.tree for condition in plan.conditions.values()]
    names = {reference.column for tree in trees for reference in references(tree)}
    names |= {plan.ts, *plan.partition} | ({plan.sequence} if plan.sequence else set())
    return tuple(name for name in plan.schema.names if name in names)


def _check(plan: Bound, steps: tuple[Step, ...]) -> None:
    query, options = plan.query, plan.options
    if len(steps) > MAX_STEPS:
        raise error_at(query, steps[MAX_STEPS].span, f"a SEQ has at most {MAX_STEPS} steps")
    _check_windows(plan)
    if plan.sequence is None:
        for name in read_columns(plan):
            kind = plan.schema.field(name).type
            if is_orderable(kind):
                continue
            hint = "name a column that does with sequence="
            message = f"nothing tells events with equal times apart: '{name}' is {type_name(kind)}"
            if options.ties == "sequence":
                raise option_error(query, "ties", message, hint)
            if options.match_id:
                raise option_error(query, "match_id", message, hint)


def _check_windows(plan: Bound) -> None:
    """The borders of windows are result times: they must be whole units of the time column."""
    window, slide = plan.query.window, _slide(plan)
    if window is None or slide is None:
        return
    unit_us = _unit_us(plan.time_type)
    if any(us % unit_us for us in (slide.length_us, slide.slide_us, slide.origin_us)):
        unit = write_length(Length(unit_us)).removeprefix("1 ")
        message = f"these windows do not begin and end at a whole {unit}, which is all '{plan.ts}' can say"
        raise error_at(plan.query, window.span, message, f"use whole {unit}s, or a time column with a finer unit")


def _unit_us(time_type: TimeType) -> int:
    if time_type.unit is not None:
        return UNIT_US[time_type.unit]
    if pa.types.is_date(time_type.arrow):
        return 86_400_000_000
    return UNIT_US.get(time_type.arrow.unit, 1)


def _slide(plan: Bound) -> Slide | None:
    window = plan.query.window
    if window is None or window.slide is None:
        return None
    origin = plan.options.origin
    return Slide(window.length.amount, window.slide.amount, origin if isinstance(origin, int) else 0)


class _Columns:
    """The block's columns as they are asked for: each user column and each value once."""

    def __init__(self, plan: Bound, engine: str) -> None:
        self._plan = plan
        self.engine = engine
        ordered = plan.options.match_id or plan.options.ties == "sequence"
        self._needs_sequence = plan.sequence is not None and ordered
        self.returned: dict[str, str] = {}  # user column -> block column
        self.value_names: list[str] = []  # block column of each value
        self._values: list[EventValue] = []

    def add_values(self, values: Iterable[EventValue]) -> None:
        """Values that are plain columns share the block column with what is returned."""
        for value in values:
            if isinstance(value.expression, exp.Column):
                self.value_names.append(self.block_column(value.expression.name))
            else:
                self.value_names.append(f"v{len(self._values)}")
                self._values.append(value)

    def block_column(self, name: str) -> str:
        plan = self._plan
        if name in plan.partition:
            return f"p{plan.partition.index(name)}"
        return self.returned.setdefault(name, f"c{len(self.returned)}")

    def layout(self) -> Layout:
        plan = self._plan
        return Layout(
            n_partition=len(plan.partition),
            n_values=len(self._values),
            n_returned=len(self.returned),
            has_sequence=self._needs_sequence,
        )

    def names(self) -> tuple[tuple[str, str], ...]:
        """Block columns that are columns of the user, with the user's names."""
        plan = self._plan
        partition = [(f"p{i}", name) for i, name in enumerate(plan.partition)]
        sequence = [(SEQUENCE, str(plan.sequence))] if self._needs_sequence else []
        return (*partition, *sequence, *((block, name) for name, block in self.returned.items()))

    def select(self, mask: SqlColumn) -> tuple[SqlColumn, ...]:
        plan = self._plan
        items = [self._plain(f"p{i}", name) for i, name in enumerate(plan.partition)]
        items.append(self._plain(TS, plan.ts))
        if self._needs_sequence:
            items.append(self._plain(SEQUENCE, str(plan.sequence)))
        items.append(mask)
        items += [self.column(f"v{i}", value) for i, value in enumerate(self._values)]
        items += [self._plain(block, name) for name, block in self.returned.items()]
        return tuple(items)

    def column(self, name: str, value: EventValue) -> SqlColumn:
        """A computed column; off the allow-list it is an error locally and Catalyst's on Spark."""
        try:
            duckdb = value.duckdb
        except QueryError:
            if self.engine == "local":
                raise
            return SqlColumn(name, value.spark, None)
        return SqlColumn(name, value.spark, duckdb)

    def _plain(self, name: str, column: str) -> SqlColumn:
        quoted = column.replace('"', '""')
        return SqlColumn(name, "`" + column.replace("`", "``") + "`", f'"{quoted}"')


def _mask(plan: Bound, steps: tuple[Step, ...], parts: Split, columns: _Columns) -> SqlColumn:
    """One bit per step: the event has the step's type and satisfies the conjuncts on it alone."""
    spark: list[str] = []
    duckdb: list[str] | None = []
    constants = [local.value for local in parts.locals if local.symbol is None]
    for k, step in enumerate(steps):
        condition = plan.conditions[step.type]
        values = [_value(condition, plan), *constants]
        values += [local.value for local in parts.locals if local.symbol == step.symbol]
        made = [columns.column(MASK, value) for value in values]
        spark.append(f"CASE WHEN {' AND '.join(f'({m.spark})' for m in made)} THEN {1 << k}L ELSE 0L END")
        texts = [m.duckdb for m in made]
        if duckdb is not None and all(text is not None for text in texts):
            duckdb.append(f"CASE WHEN {' AND '.join(f'({t})' for t in texts)} THEN {1 << k} ELSE 0 END")
        else:
            duckdb = None
    # Bits of different steps never carry into each other, so a sum is the union.
    joined = None if duckdb is None else f"CAST({' + '.join(duckdb)} AS BIGINT)"
    return SqlColumn(MASK, " + ".join(spark), joined)


def _value(condition: Scalar, plan: Bound) -> EventValue:
    parts = split([Scalar(condition.tree, condition.text, condition.span)], ["event"], plan.schema, plan.query.text)
    return parts.locals[0].value


def _results(
    plan: Bound, steps: tuple[Step, ...], columns: _Columns
) -> tuple[tuple[Returned, ...], tuple[SqlColumn, ...], pa.Schema]:
    """What the operator returns, how the user's columns are made of it, and the operator's schema."""
    at = {step.symbol: i for i, step in enumerate(steps)}
    fields = [pa.field(f"p{i}", plan.schema.field(name).type) for i, name in enumerate(plan.partition)]
    returned: dict[Returned, pa.Field] = {}

    def output_name(node: exp.Column) -> str:
        if not node.table:
            return f"p{plan.partition.index(node.name)}"
        step = at[node.table]
        if node.name in plan.partition:
            return f"p{plan.partition.index(node.name)}"
        source = TS if node.name == plan.ts else columns.block_column(node.name)
        item = Returned(step, source)
        returned.setdefault(item, pa.field(item.name, plan.schema.field(node.name).type))
        return item.name

    trees = [(item, item.tree.copy().transform(lambda n: _renamed(n, output_name))) for item in plan.items]
    times = plan.time_type.arrow
    fields += returned.values()
    extra = []
    if plan.query.window and plan.query.window.slide:
        extra += [pa.field("window_start", times), pa.field("window_end", times)]
    if plan.options.match_id:
        extra.append(pa.field("match_id", pa.string()))
    extra.append(pa.field("detected_at", times))
    schema = pa.schema([*fields, *extra])
    project = [_project_item(item, tree, schema, plan, columns) for item, tree in trees]
    for field in extra:
        origin = plan.ts if field.type == times and field.name != "match_id" else None
        project.append(SqlColumn(field.name, f"`{field.name}`", f'"{field.name}"', origin))
    return tuple(returned), tuple(project), schema


def _renamed(node: exp.Expr, name: Callable[[exp.Column], str]) -> exp.Expr:
    if not isinstance(node, exp.Column):
        return node
    identifier = exp.Identifier(this=name(node), quoted=True)
    identifier.meta.update(node.this.meta)
    return exp.Column(this=identifier)


def _project_item(item: Item, tree: exp.Expr, schema: pa.Schema, plan: Bound, columns: _Columns) -> SqlColumn:
    assert isinstance(tree, exp.Expression)
    if isinstance(tree, exp.Column):
        return SqlColumn(item.name, f"`{tree.name}`", f'"{tree.name}"', origin=item.tree.name)
    text, span = plan.query.text, item.span
    resolve = columns_of(schema, text, span)
    try:
        duckdb = write_duckdb(tree, resolve, text, span)
    except QueryError:
        if columns.engine == "local":
            raise
        return SqlColumn(item.name, write_spark(tree), None)
    return SqlColumn(item.name, write_spark(tree), duckdb, dtype=typecheck(tree, resolve, text, span))


def with_origin(physical: Physical, origin_us: int) -> Physical:
    """The same plan with its windows aligned to another instant."""
    assert physical.spec.slide is not None
    slide = replace(physical.spec.slide, origin_us=origin_us)
    return replace(physical, spec=replace(physical.spec, slide=slide))
