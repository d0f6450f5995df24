"""Two schemas of intervals to what an engine runs: both sides selected as one input, and its plan.

A row of that input is an interval: its partition, its end as `ts`, its start, its side as a bit, and the columns of
both sides, of which one side's are NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from eventide.errors import InputError
from eventide.families.allen.spec import COMPOSITE_END, COMPOSITE_START, RELATION, AllenSpec
from eventide.lang.durations import write_length
from eventide.lang.relations import RELATIONS, names_of
from eventide.lang.tree import Length
from eventide.plan.facts import with_facts
from eventide.plan.logical import Join, Scan
from eventide.plan.options import Options
from eventide.plan.physical import Input, Intake, IntervalIntake, IntervalSide, Physical, SqlColumn, column_as
from eventide.plan.scope import argument_column
from eventide.plan.sides import cast_column, common_type
from eventide.plan.time_column import time_type_of
from eventide.runtime.block import MASK, TS, Layout
from eventide.runtime.interval_columns import LEFT, RIGHT, START

INTERVAL_START, INTERVAL_END = "interval_start", "interval_end"


@dataclass(frozen=True, slots=True)
class Relating:
    """Which pairs `ev.allen` is asked for. Times are (start, end), or (time, time) of points."""

    relations: int
    window_us: int | None = None
    partition_by: tuple[str, ...] = ()
    left_times: tuple[str, str] = (INTERVAL_START, INTERVAL_END)
    right_times: tuple[str, str] = (INTERVAL_START, INTERVAL_END)

    def text(self) -> str:
        """What is asked, in words."""
        times = zip(("LEFT", "RIGHT"), (self.left_times, self.right_times), strict=True)
        parts = [f"ALLEN {'|'.join(names_of(self.relations))}", *(f"{side} ({a}, {b})" for side, (a, b) in times)]
        if self.partition_by:
            parts.append(f"PARTITION BY {', '.join(self.partition_by)}")
        if self.window_us is not None:
            parts.append(f"WITHIN {write_length(Length(self.window_us))}")
        return " ".join(parts)


def bind_allen(
    relating: Relating, options: Options, left: pa.Schema, right: pa.Schema, *, on_stream: bool = False
) -> Join:
    """The logical plan over the schemas of both sides."""
    sides = (
        _side("left", left, LEFT, relating.left_times, relating.partition_by),
        _side("right", right, RIGHT, relating.right_times, relating.partition_by),
    )
    end, times = sides[0].end, _common_time(sides)
    timed = left.set(left.get_field_index(end), pa.field(end, times))
    time_type = time_type_of(end, timed, options.ts_unit)
    scans = [
        Scan(options, side.schema, side.start, time_type, None, side.partition, is_stream=on_stream, end=side.end)
        for side in sides
    ]
    return Join(scans[0], scans[1], tuple(names_of(relating.relations)), relating.window_us, relating)


def lower_allen(node: Join) -> Physical:
    """The plan over both sides."""
    made = _Lowering(node).physical()
    # In the order of the schemas: the block's columns follow it.
    columns = [
        (f"{side}.{field.name}", field.type)
        for side, scan in (("left", node.left), ("right", node.right))
        for field in scan.schema
    ]
    return with_facts(made, columns, {"ts_unit": node.left.options.ts_unit})


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
        self.relating: Relating = node.tree
        self.options: Options = node.left.options
        self.sides = (
            _Side("left", node.left.schema, LEFT, node.left.ts, node.left.end, node.left.partition),
            _Side("right", node.right.schema, RIGHT, node.right.ts, node.right.end, node.right.partition),
        )
        self.times = _common_time(self.sides)
        self.time_type = node.left.time_type
        self.partition = [
            common_type(
                "partition", [(side.name, side.schema, name) for side, name in zip(self.sides, names, strict=True)]
            )
            for names in zip(*(side.partition for side in self.sides), strict=True)
        ]

    def physical(self) -> Physical:
        left, right = self.sides
        n_left = len(left.returned)
        layout = Layout(len(left.partition), n_values=1, n_returned=n_left + len(right.returned))
        blocks = {
            "left": dict(zip(left.returned, layout.returned, strict=False)),
            "right": dict(zip(right.returned, layout.returned[n_left:], strict=True)),
        }
        shown = [[_block(side, blocks[side.name], name) for name in side.columns] for side in self.sides]
        spec = AllenSpec(
            query=self._text(),
            layout=layout,
            relations=self.relating.relations,
            names=RELATIONS,
            window_us=self.relating.window_us,
            time_type=self.time_type,
            left=tuple(shown[0]),
            right=tuple(shown[1]),
        )
        intake = Intake(
            layout=layout,
            time_type=self.time_type,
            ts_column=TS,
            drop_bad_events=self.options.on_bad_event == "drop",
            keep_all=True,
            names=((START, "start"),),
            intervals=IntervalIntake(tuple(self._intake(side, blocks[side.name]) for side in self.sides)),
        )
        project, of_side = self._project()
        return Physical(
            text=spec.query,
            intake=intake,
            select=tuple(column_as(name, name) for name in layout.columns),
            spec=spec,
            project=tuple(project),
            allowed_lateness_us=self.options.allowed_lateness,
            output_schema=self._schema(shown, blocks),
            inputs=tuple(
                Input(side.name, self._select(side, blocks[side.name], layout), tuple(of_side[side.name]))
                for side in self.sides
            ),
        )

    def _select(self, side: _Side, blocks: Mapping[str, str], layout: Layout) -> tuple[SqlColumn, ...]:
        """The side's columns as the input's; where the sides have a type in two forms, both are cast."""
        made = {
            TS: cast_column(TS, side.schema, side.end, self.times),
            START: cast_column(START, side.schema, side.start, self.times),
        }
        made[MASK] = SqlColumn(MASK, f"{side.bit}L", f"CAST({side.bit} AS BIGINT)")
        for block, name, dtype in zip(layout.partition, side.partition, self.partition, strict=True):
            made[block] = cast_column(block, side.schema, name, dtype)
        for name, block in blocks.items():
            made[block] = column_as(block, name)
        return tuple(made.get(name) or SqlColumn(name, "NULL", "NULL") for name in layout.columns)

    def _intake(self, side: _Side, blocks: Mapping[str, str]) -> IntervalSide:
        partition = tuple((f"p{i}", name) for i, name in enumerate(side.partition))
        names = (*partition, *((block, name) for name, block in blocks.items()))
        return IntervalSide(side.name, side.bit, side.start, side.end, names)

    def _project(self) -> tuple[list[SqlColumn], dict[str, list[tuple[str, str]]]]:
        """The result's columns, and by side those that are columns of it, with their names there."""
        left = self.sides[0]
        columns = [column_as(name, f"p{i}", origin=name) for i, name in enumerate(left.partition)]
        shown = {side.name: [(f"{side.name}_{name}", name) for name in side.columns] for side in self.sides}
        for side, names in shown.items():
            columns += [column_as(name, f"{side[0]}{i}", origin=name) for i, (name, _) in enumerate(names)]
        ends = [(INTERVAL_START, left.start), (INTERVAL_END, left.end)]
        columns.append(column_as(RELATION, RELATION))
        columns.append(column_as(INTERVAL_START, COMPOSITE_START, origin=INTERVAL_START))
        columns.append(column_as(INTERVAL_END, COMPOSITE_END, origin=INTERVAL_END))
        _check_names([column.name for column in columns])
        shown["left"] = [*((name, name) for name in left.partition), *shown["left"], *ends]
        return columns, shown

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
        found = replace(self.relating, left_times=times[0], right_times=times[1], partition_by=self.sides[0].partition)
        return found.text()


def _common_time(sides: tuple[_Side, _Side]) -> pa.DataType:
    return common_type("time", [(side.name, side.schema, name) for side in sides for name in (side.start, side.end)])


def _side(name: str, schema: pa.Schema, bit: int, times: tuple[str, str], partition_by: tuple[str, ...]) -> _Side:
    start, end = (argument_column(f"the times of {name}", time, schema) for time in times)
    found = (argument_column("partition_by", column, schema, name, ordered=True) for column in partition_by)
    partition = tuple(dict.fromkeys(found))
    for column in partition:
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
