"""Two schemas of intervals to what an engine runs: both sides selected as one input, and its plan.

A row of that input is an interval: its partition, its end as `ts`, its start, its side as a bit, and the columns of
both sides, of which one side's are NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from eventide.errors import InputError
from eventide.expressions.types import canonical, duckdb_type, kind, type_name
from eventide.families.allen.spec import COMPOSITE_END, COMPOSITE_START, RELATION, AllenSpec
from eventide.lang.durations import write_length
from eventide.lang.relations import RELATIONS, names_of
from eventide.lang.tree import Length
from eventide.plan.facts import with_facts
from eventide.plan.holder import column_hint
from eventide.plan.logical import Join, Scan
from eventide.plan.physical import Intake, IntervalIntake, IntervalSide, Physical, SqlColumn
from eventide.plan.references import is_orderable
from eventide.plan.row_columns import plain
from eventide.plan.time_column import time_type_of
from eventide.runtime.block import MASK, MAX_US, TS, Layout
from eventide.runtime.interval_columns import LEFT, RIGHT, START

INTERVAL_START, INTERVAL_END = "interval_start", "interval_end"
WINDOWS_PER_SLICE = 8  # an interval in an eighth of the slices' time goes into two of them


@dataclass(frozen=True, slots=True)
class AllenOptions:
    """What `ev.allen` is told besides the tables. Times are (start, end), or (time, time) of points."""

    relations: int
    window_us: int | None = None
    partition_by: tuple[str, ...] = ()
    left_times: tuple[str, str] = (INTERVAL_START, INTERVAL_END)
    right_times: tuple[str, str] = (INTERVAL_START, INTERVAL_END)
    ts_unit: str | None = None
    drop_bad_events: bool = False
    allowed_lateness: int = 0  # microseconds

    def text(self) -> str:
        """What is asked, in words."""
        times = zip(("LEFT", "RIGHT"), (self.left_times, self.right_times), strict=True)
        parts = [f"ALLEN {'|'.join(names_of(self.relations))}", *(f"{side} ({a}, {b})" for side, (a, b) in times)]
        if self.partition_by:
            parts.append(f"PARTITION BY {', '.join(self.partition_by)}")
        if self.window_us is not None:
            parts.append(f"WITHIN {write_length(Length(self.window_us))}")
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class AllenPlan:
    """The plan, how each side's columns become the input's, and which column of a side a result column is."""

    physical: Physical
    left: tuple[SqlColumn, ...]
    right: tuple[SqlColumn, ...]
    origins: Mapping[str, tuple[str, str]]  # result column -> "left" or "right", and its column there


def bind_allen(options: AllenOptions, left: pa.Schema, right: pa.Schema, *, on_stream: bool = False) -> Join:
    """The logical plan over the schemas of both sides."""
    sides = (
        _side("left", left, LEFT, options.left_times, options.partition_by),
        _side("right", right, RIGHT, options.right_times, options.partition_by),
    )
    end, times = sides[0].end, _common_time(sides)
    timed = left.set(left.get_field_index(end), pa.field(end, times))
    time_type = time_type_of(end, timed, options.ts_unit)
    scans = [
        Scan(options, side.schema, side.start, time_type, None, side.partition, is_stream=on_stream, end=side.end)
        for side in sides
    ]
    return Join(scans[0], scans[1], tuple(names_of(options.relations)), options.window_us)


def lower_allen(node: Join) -> AllenPlan:
    """The plan over both sides."""
    made = _Lowering(node).plan()
    # In the order of the schemas: the block's columns follow it.
    columns = [
        (f"{side}.{field.name}", field.type)
        for side, scan in (("left", node.left), ("right", node.right))
        for field in scan.schema
    ]
    return replace(made, physical=with_facts(made.physical, columns, {"ts_unit": node.left.options.ts_unit}))


def prepare_allen(left: pa.Schema, right: pa.Schema, options: AllenOptions) -> AllenPlan:
    """Both in one."""
    return lower_allen(bind_allen(options, left, right))


def in_slices(plan: AllenPlan) -> AllenPlan:
    """The plan with slices of time as one more partition column, where there is none and a window bounds pairs."""
    physical = plan.physical
    spec, intake = physical.spec, physical.intake
    assert isinstance(spec, AllenSpec)
    assert intake.intervals is not None
    if spec.window_us is None or spec.window_us * WINDOWS_PER_SLICE > MAX_US or spec.layout.n_partition:
        return plan
    layout = replace(spec.layout, n_partition=1)
    slices = spec.window_us * WINDOWS_PER_SLICE, spec.window_us
    schema = physical.output_schema
    assert schema is not None
    sliced = replace(
        physical,
        spec=replace(spec, layout=layout),
        intake=replace(intake, layout=layout, intervals=replace(intake.intervals, slices_us=slices)),
        output_schema=pa.schema([pa.field(layout.partition[0], pa.int64()), *schema]),
    )
    return replace(plan, physical=sliced)


def find_column(option: str, name: str, schema: pa.Schema, side: str | None = None) -> str:
    """The schema's spelling of a column."""
    known = {column.lower(): column for column in schema.names}
    if name.lower() not in known:
        where = f" in {side}" if side else ""
        raise InputError(f"{option}: there is no column '{name}'{where}", hint=column_hint(name, schema))
    column: str = known[name.lower()]
    return column


@dataclass(frozen=True, slots=True)
class _Side:
    name: str  # left or right
    schema: pa.Schema
    bit: int
    start: str
    end: str
    partition: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """What the result shows of it."""
        return [name for name in self.schema.names if name not in self.partition]

    @property
    def returned(self) -> list[str]:
        return [name for name in self.columns if name not in (self.start, self.end)]


class _Lowering:
    def __init__(self, node: Join) -> None:
        self.options: AllenOptions = node.left.options
        self.sides = (
            _Side("left", node.left.schema, LEFT, node.left.ts, node.left.end, node.left.partition),
            _Side("right", node.right.schema, RIGHT, node.right.ts, node.right.end, node.right.partition),
        )
        self.times = _common_time(self.sides)
        self.time_type = node.left.time_type
        self.partition = [
            _common("partition", list(zip(self.sides, names, strict=True)))
            for names in zip(*(side.partition for side in self.sides), strict=True)
        ]

    def plan(self) -> AllenPlan:
        left, right = self.sides
        n_left = len(left.returned)
        layout = Layout(len(left.partition), n_values=1, n_returned=n_left + len(right.returned))
        blocks = {
            "left": dict(zip(left.returned, layout.returned, strict=False)),
            "right": dict(zip(right.returned, layout.returned[n_left:], strict=True)),
        }
        shown = [[_block(side, blocks[side.name], name) for name in side.columns] for side in self.sides]
        selected = [self._select(side, blocks[side.name], layout) for side in self.sides]
        spec = AllenSpec(
            query=self._text(),
            layout=layout,
            relations=self.options.relations,
            names=RELATIONS,
            window_us=self.options.window_us,
            time_type=self.time_type,
            left=tuple(shown[0]),
            right=tuple(shown[1]),
        )
        intake = Intake(
            layout=layout,
            time_type=self.time_type,
            ts_column=TS,
            drop_bad_events=self.options.drop_bad_events,
            keep_all=True,
            names=((START, "start"),),
            intervals=IntervalIntake(tuple(self._intake(side, blocks[side.name]) for side in self.sides)),
        )
        project, origins = self._project()
        physical = Physical(
            text=spec.query,
            intake=intake,
            select=tuple(plain(name, name) for name in layout.columns),
            spec=spec,
            project=tuple(project),
            allowed_lateness_us=self.options.allowed_lateness,
            output_schema=self._schema(shown, blocks),
        )
        return AllenPlan(physical, selected[0], selected[1], origins)

    def _select(self, side: _Side, blocks: Mapping[str, str], layout: Layout) -> tuple[SqlColumn, ...]:
        """The side's columns as the input's; where the sides have a type in two forms, both are cast."""
        made = {TS: self._cast(TS, side, side.end, self.times), START: self._cast(START, side, side.start, self.times)}
        made[MASK] = SqlColumn(MASK, f"{side.bit}L", f"CAST({side.bit} AS BIGINT)")
        for block, name, dtype in zip(layout.partition, side.partition, self.partition, strict=True):
            made[block] = self._cast(block, side, name, dtype)
        for name, block in blocks.items():
            made[block] = plain(block, name)
        return tuple(made.get(name) or SqlColumn(name, "NULL", "NULL") for name in layout.columns)

    def _cast(self, block: str, side: _Side, name: str, dtype: pa.DataType) -> SqlColumn:
        column = plain(block, name)
        if side.schema.field(name).type == dtype:
            return column
        return replace(column, duckdb=f"CAST({column.duckdb} AS {duckdb_type(canonical(dtype))})")

    def _intake(self, side: _Side, blocks: Mapping[str, str]) -> IntervalSide:
        partition = tuple((f"p{i}", name) for i, name in enumerate(side.partition))
        names = (*partition, *((block, name) for name, block in blocks.items()))
        return IntervalSide(side.name, side.bit, side.start, side.end, names)

    def _project(self) -> tuple[list[SqlColumn], dict[str, tuple[str, str]]]:
        left = self.sides[0]
        made = [(name, f"p{i}", ("left", name)) for i, name in enumerate(left.partition)]
        for letter, side in zip("lr", self.sides, strict=True):
            made += [(f"{side.name}_{name}", f"{letter}{i}", (side.name, name)) for i, name in enumerate(side.columns)]
        columns = [SqlColumn(name, f"`{block}`", f'"{block}"', origin=name) for name, block, _ in made]
        origins = {name: place for name, _, place in made}
        for name, block, time in (
            (RELATION, RELATION, None),
            (INTERVAL_START, COMPOSITE_START, left.start),
            (INTERVAL_END, COMPOSITE_END, left.end),
        ):
            columns.append(SqlColumn(name, f"`{block}`", f'"{block}"', origin=name if time else None))
            if time:
                origins.setdefault(name, ("left", time))
        _check_names([column.name for column in columns])
        return columns, origins

    def _schema(self, shown: list[list[str]], blocks: Mapping[str, Mapping[str, str]]) -> pa.Schema:
        """Of the operator's rows."""
        times = self.time_type.arrow
        fields = [pa.field(f"p{i}", dtype) for i, dtype in enumerate(self.partition)]
        for letter, side, names in zip("lr", self.sides, shown, strict=True):
            types = {block: side.schema.field(name).type for name, block in blocks[side.name].items()}
            fields += [pa.field(f"{letter}{i}", types.get(name, times)) for i, name in enumerate(names)]
        added = [pa.field(RELATION, pa.string()), pa.field(COMPOSITE_START, times), pa.field(COMPOSITE_END, times)]
        return pa.schema([*fields, *added])

    def _text(self) -> str:
        """With the columns as the tables spell them."""
        times = [(side.start, side.end) for side in self.sides]
        found = replace(self.options, left_times=times[0], right_times=times[1], partition_by=self.sides[0].partition)
        return found.text()


def _common_time(sides: tuple[_Side, _Side]) -> pa.DataType:
    return _common("time", [(side, name) for side in sides for name in (side.start, side.end)])


def _common(what: str, columns: list[tuple[_Side, str]]) -> pa.DataType:
    """The one type that columns have, of which NULLs alone have any."""
    found: dict[pa.DataType, tuple[_Side, str]] = {}
    types = [side.schema.field(name).type for side, name in columns]
    for place, dtype in zip(columns, types, strict=True):
        if kind(canonical(dtype)) != "null":
            found.setdefault(canonical(dtype), place)
    if len(found) > 1:
        (one, (a, x)), (two, (b, y)) = list(found.items())[:2]
        shown = f"'{x}' of {a.name} is {type_name(one)}, '{y}' of {b.name} is {type_name(two)}"
        raise InputError(f"the {what} columns have different types: {shown}", hint="cast one of them")
    known = [dtype for dtype in types if kind(canonical(dtype)) != "null"]
    if len(set(known)) > 1:
        return next(iter(found))
    return known[0] if known else types[0]


def _side(name: str, schema: pa.Schema, bit: int, times: tuple[str, str], partition_by: tuple[str, ...]) -> _Side:
    start, end = (find_column(f"the times of {name}", time, schema) for time in times)
    partition = tuple(dict.fromkeys(find_column("partition_by", column, schema, name) for column in partition_by))
    for column in partition:
        dtype = schema.field(column).type
        if not is_orderable(dtype):
            hint = "take a plain column"
            raise InputError(f"partition_by cannot take '{column}' of {name}: it is {type_name(dtype)}", hint=hint)
        if column in (start, end):
            raise InputError(f"'{column}' of {name} is a time, so partition_by cannot take it", hint="leave it out")
    return _Side(name, schema, bit, start, end, partition)


def _block(side: _Side, blocks: Mapping[str, str], name: str) -> str:
    """The block column of a side's column; what points have as one time is their end."""
    return TS if name == side.end else START if name == side.start else blocks[name]


def _check_names(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise InputError(f"the result would have two columns '{name}'", hint="rename the column in the input")
        seen.add(name.lower())
