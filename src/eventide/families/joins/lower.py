"""A bound join to what an engine runs: both sides selected as one input, and its plan.

A row of that input is a row of one side: its keys, its time, its side as a bit, and the columns of both sides, of which
one side's are NULL. So what is computed from right columns has in a left row the value of a row without a partner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.residue import write_tests
from eventide.expressions.split import EventValue, Slot, Split, Test, split
from eventide.expressions.typed import Source, Typed, cast_to
from eventide.expressions.types import type_name
from eventide.expressions.write_code import DECORATOR
from eventide.expressions.write_sql import write_spark, write_typed
from eventide.families.joins.bind import LEFT, RIGHT, raw_schema
from eventide.families.joins.spec import CAN_MATCH, DETECTED_AT, EVER_US, LONGEST_US, JoinSpec
from eventide.lang import write
from eventide.lang.tree import JoinQuery, Length, Scalar
from eventide.plan.columns import Columns
from eventide.plan.facts import with_facts
from eventide.plan.logical import Equal, Join, Scan
from eventide.plan.options import Options
from eventide.plan.physical import Input, IntervalIntake, IntervalSide, Physical, SqlColumn, column_as
from eventide.plan.places import option_error
from eventide.plan.results import computed_column, renamed_columns
from eventide.plan.scope import Scope, is_orderable
from eventide.plan.sides import cast_column, common_type
from eventide.runtime import interval_columns as bits
from eventide.runtime.block import MASK, SEQUENCE, TS
from eventide.runtime.encode import Encoding

SIDE = "side"  # of a row of the input, as a bit
_BITS = {LEFT: bits.LEFT, RIGHT: bits.RIGHT}


def lower_join(node: Join, engine: str) -> Physical:
    """The plan over both sides; `engine` "local" needs every expression on the allow-list."""
    made = _Lowering(node, engine).physical()
    columns = [
        (f"{side}.{field.name}", field.type)
        for side, scan in ((LEFT, node.left), (RIGHT, node.right))
        for field in scan.schema
    ]
    return with_facts(made, columns, {"ts_unit": node.left.options.ts_unit})


@dataclass(frozen=True, slots=True)
class _Reach:
    """How far the right row may be from the left one, in microseconds, and how long a left row waits for one."""

    low: int
    high: int
    wait: int

    @classmethod
    def of(cls, query: JoinQuery, tie_rule: int) -> _Reach:
        within, asof = query.within, query.asof
        before = after = EVER_US
        if within is not None:
            before, after = _length(within.before), _length(within.after)
        if asof == "backward":
            return cls(-_last(before), 0, 0)
        if asof == "forward":
            return cls(0, _last(after), after)
        tie = 0 if tie_rule else 1
        low = -_last(before) if before else tie
        high = _last(after) if after else -tie
        return cls(low, high, after)


def _length(length: Length | None) -> int:
    """Microseconds; 0 where rows of that direction join nothing."""
    if length is None:
        return 0
    return length.amount if length.amount < LONGEST_US else EVER_US


def _last(length_us: int) -> int:
    """The greatest distance that is less than a length."""
    return length_us - 1 if length_us < LONGEST_US else EVER_US


class _Lowering:
    def __init__(self, node: Join, engine: str) -> None:
        self.node, self.engine = node, engine
        self.query: JoinQuery = node.tree
        self.options: Options = node.left.options
        self.scans = {LEFT: node.left, RIGHT: node.right}
        self.symbols = {LEFT: self.query.left.name, RIGHT: self.query.right.name}
        self.tie_rule = self._tie_rule()
        self.raw = self._raw()
        times = self.node.left.time_type
        partition = tuple(f"p{i}" for i in range(len(node.keys)))
        sequence = SEQUENCE if self._is_sequenced else None
        scope = Scope(self.options, self.raw, TS, times, sequence, partition)
        self.columns = Columns(scope, engine, in_sequence=True)
        self.slots: list[dict[str, int]] = []  # columns of results: by side, which of its columns is there
        self.returned: dict[str, dict[str, pa.Field]] = {LEFT: {}, RIGHT: {}}  # block columns that results read

    def physical(self) -> Physical:
        split_on = self._split([*self.node.conjuncts, *(() if self._filters_late else self.node.filters)])
        late = self._split(self.node.filters if self._filters_late else ())
        masks = self._masks(split_on, late)
        source, encodings = self._tests(split_on, late)
        project = [self._column(i) for i in range(len(self.node.items))]
        ties = self._tie_columns()
        reach = _Reach.of(self.query, self.tie_rule)
        spec = JoinSpec(
            query=self._text(),
            layout=self.columns.layout(),
            kind=self.query.kind,
            asof=self.query.asof,
            all_ties=self.query.all_ties,
            low_us=reach.low,
            high_us=reach.high,
            wait_us=reach.wait,
            time_type=self.node.left.time_type,
            left=tuple(self.returned[LEFT]),
            right=tuple(self.returned[RIGHT]),
            tie_rule=self.tie_rule,
            tie_columns=ties,
            encodings=encodings,
            tests_source=source,
        )
        needs_end = spec.waits and spec.is_bounded and spec.wait_us > 0 and not self.options.close_at_end
        made = self.columns.physical(
            spec,
            [column_as(MASK, MASK)],
            [*project, column_as(DETECTED_AT, DETECTED_AT, origin=DETECTED_AT)],
            self._schema(),
            keep_all=False,
            text=spec.query,
            inputs=tuple(self._input(side, masks[side]) for side in self.scans),
            needs_end=needs_end,
            closes_at_end=self.options.close_at_end,
        )
        sides = IntervalIntake(tuple(self._intake(side) for side in self.scans), has_start=False)
        names = (*((f"p{i}", key.text) for i, key in enumerate(self.node.keys)), (TS, "time"))
        return replace(made, intake=replace(made.intake, intervals=sides, names=names))

    @property
    def _filters_late(self) -> bool:
        """Whether WHERE is about what the join has found: there, what it leaves out says nothing about partners."""
        return self.query.kind in ("left", "anti") or self.query.asof is not None

    # --- ties -----------------------------------------------------------------------------------------------

    @property
    def _is_sequenced(self) -> bool:
        return self.node.left.sequence is not None and (self.tie_rule != 0 or self._takes_one)

    @property
    def _takes_one(self) -> bool:
        return self.query.asof is not None and not self.query.all_ties and self.query.kind in ("inner", "left")

    def _tie_rule(self) -> int:
        within = self.query.within
        is_ordered = within is not None and (within.before is None or within.after is None)
        if not is_ordered or self.options.ties != "sequence":
            return 0
        if self.node.left.sequence is None:
            hint = "name a column of both inputs with sequence=, or leave out ties: tied rows do not join then"
            raise option_error(self.query, "ties", "nothing tells which of two tied rows comes first", hint)
        return 1 if within is not None and within.before is None else -1

    def _tie_columns(self) -> tuple[str, ...]:
        """What orders tied right rows of which one is taken: the sequence, then the columns that are read."""
        if not self._takes_one:
            return ()
        told = [SEQUENCE] if self.node.right.sequence is not None else []
        trees = [each.tree for each in (*self.node.conjuncts, *self.node.filters)]
        trees += [item.tree for item in self.node.items]
        read = {node.name for tree in trees for node in tree.find_all(exp.Column) if node.table == RIGHT}
        found = [*told]
        for i, field in enumerate(self.node.right.schema):
            if f"r{i}" not in read or field.name == self.node.right.ts:
                continue
            if told and not is_orderable(field.type):
                continue
            if not is_orderable(field.type):
                message = f"nothing orders rows with equal times: '{field.name}' of {self.symbols[RIGHT]} has no order"
                raise option_error(self.query, "sequence", message, "name a column that does with sequence=")
            found.append(self._block(RIGHT, i))
        return tuple(name for name in found if name not in self.columns.scope.partition)

    # --- conditions -----------------------------------------------------------------------------------------

    def _split(self, conditions: Sequence[Scalar]) -> Split:
        return split(conditions, [LEFT, RIGHT], self.raw, self.query.text, self.node.types)

    def _masks(self, on: Split, late: Split) -> dict[str, SqlColumn]:
        """The mask by side: whether a row is of interest, and of left ones whether they may have partners.

        Where a left row without a partner is of no interest, both are one bit.
        """
        alone: dict[str, list[EventValue]] = {LEFT: [], RIGHT: []}
        for local in on.locals:
            # What reads no row is a condition on partners.
            alone[local.symbol or RIGHT].append(local.value)
        where = [local.value for local in late.locals if local.symbol in (LEFT, None)]
        left = [(bits.LEFT, [*where, *alone[LEFT]], True)]
        if self.query.kind in ("left", "anti"):
            left = [(bits.LEFT, where, False), (CAN_MATCH, [*where, *alone[LEFT]], True)]
        return {LEFT: self._mask(LEFT, left), RIGHT: self._mask(RIGHT, [(bits.RIGHT, alone[RIGHT], True)])}

    def _mask(self, side: str, asked: Sequence[tuple[int, Sequence[EventValue], bool]]) -> SqlColumn:
        """A sum of bits, each with the conditions that set it; with True its keys must not be NULL."""
        spark, duckdb = [], []
        for bit, values, has_keys in asked:
            made = [self._over_side(side, value.expression, value.typed, value.source) for value in values]
            if has_keys:
                made += [self._key(i, key, side) for i, key in enumerate(self.node.keys)]
            n = len(values)
            tests = [f"({column.spark})" + (" IS NOT NULL" if i >= n else "") for i, column in enumerate(made)]
            spark.append(f"CASE WHEN {' AND '.join(tests)} THEN {bit}L ELSE 0L END" if tests else f"{bit}L")
            tests = [f"({column.duckdb})" + (" IS NOT NULL" if i >= n else "") for i, column in enumerate(made)]
            known = None not in [column.duckdb for column in made]
            duckdb.append(
                (f"CASE WHEN {' AND '.join(tests)} THEN {bit} ELSE 0 END" if tests else f"{bit}") if known else None
            )
        text = None if None in duckdb else f"CAST({' + '.join(str(each) for each in duckdb)} AS BIGINT)"
        return SqlColumn(MASK, " + ".join(spark), text)

    def _over_side(self, side: str, tree: exp.Expr, typed: Typed, source: Source) -> SqlColumn:
        """An expression over the columns of one side, as the user calls them."""
        names = {f"{side[0]}{k}": name for k, name in enumerate(self.scans[side].schema.names)}
        spark = write_spark(tree, lambda column: names[column.name])
        try:
            return SqlColumn("", spark, write_typed(renamed_columns(typed, names), source))
        except QueryError:
            if self.engine == "local":
                raise
            return SqlColumn("", spark, None)

    def _tests(self, on: Split, late: Split) -> tuple[str | None, tuple[Encoding, ...]]:
        """The source of `holds` and `keeps`, None where nothing is tested, and the encodings of what they read."""
        values = [*on.values]
        moved = [_shifted(test, len(values)) for test in late.tests]
        values += late.values
        for local in late.locals:
            if local.symbol == RIGHT:
                tree = Typed("value", (), pa.bool_(), (0, len(values)), local.value.typed.span)
                moved.append(Test((Slot(RIGHT),), tree, local.value.source))
                values.append(local.value)
        tests = [*on.tests, *moved]
        if not tests:
            return None, ()
        names = [self.columns.add_value(value) for value in values]
        residue = write_tests(tests, values, names)
        calls = [
            f"{name}({', '.join(slot.symbol for slot in test.slots)}, cols)"
            for name, test in zip(residue.names, tests, strict=True)
        ]
        n = len(on.tests)
        parts = [residue.source, _both("holds", calls[:n]), _both("keeps", calls[n:])]
        return "\n\n".join(parts), residue.encodings

    # --- columns --------------------------------------------------------------------------------------------

    def _raw(self) -> pa.Schema:
        """The columns of the input that both sides are: what the block is selected from."""
        self.key_types = [self._key_type(key) for key in self.node.keys]
        fields = [pa.field(f"p{i}", dtype) for i, dtype in enumerate(self.key_types)]
        fields += [pa.field(TS, self.node.left.time_type.arrow), pa.field(SIDE, pa.int64())]
        if self._is_sequenced:
            places = [(self.symbols[side], scan.schema, str(scan.sequence)) for side, scan in self.scans.items()]
            fields.append(pa.field(SEQUENCE, common_type("sequence", places)))
        return pa.schema([*fields, *raw_schema(self.node.left.schema, self.node.right.schema)])

    def _key_type(self, key: Equal) -> pa.DataType:
        """As the sides have it where both have it alike; else the type in which they are compared."""
        types = [self._field(each).type for each in (key.left, key.right) if isinstance(each, exp.Column)]
        return types[0] if len(types) == 2 and types[0] == types[1] else key.dtype

    def _field(self, column: exp.Column) -> pa.Field:
        return self.scans[column.table].schema.field(int(column.name[1:]))

    def _input(self, side: str, mask: SqlColumn) -> Input:
        scan = self.scans[side]
        made = [self._key(i, key, side) for i, key in enumerate(self.node.keys)]
        made.append(cast_column(TS, scan.schema, scan.ts, self.node.left.time_type.arrow))
        made.append(SqlColumn(SIDE, f"{_BITS[side]}L", f"CAST({_BITS[side]} AS BIGINT)"))
        made.append(mask)
        if self._is_sequenced:
            made.append(cast_column(SEQUENCE, scan.schema, str(scan.sequence), self.raw.field(SEQUENCE).type))
        made += [self._slot(slot, side) for slot in self.slots]
        for own, other in self.scans.items():
            for i, name in enumerate(other.schema.names):
                block = f"{own[0]}{i}"
                made.append(column_as(block, name) if own == side else SqlColumn(block, "NULL", "NULL"))
        return Input(side, tuple(made), tuple(self._shown(side)))

    def _key(self, i: int, key: Equal, side: str) -> SqlColumn:
        tree = key.left if side == LEFT else key.right
        if isinstance(tree, exp.Column) and self._field(tree).type == self.key_types[i]:
            return column_as(f"p{i}", self._field(tree).name)
        typed = self.node.types.of(tree)
        assert typed is not None
        made = self._over_side(side, tree, cast_to(typed, key.dtype), Source(self.query.text, typed.span))
        spark = made.spark if typed.dtype == key.dtype else f"CAST({made.spark} AS {type_name(key.dtype)})"
        return replace(made, name=f"p{i}", spark=spark)

    def _shown(self, side: str) -> list[tuple[str, str]]:
        """Result columns that are columns of a side."""
        found = [
            (item.name, self._field(item.tree).name)
            for item in self.node.items
            if isinstance(item.tree, exp.Column) and item.tree.table == side
        ]
        return [*found, (DETECTED_AT, self.node.left.ts)] if side == LEFT else found

    def _block(self, side: str, i: int) -> str:
        """The block's column that a column of a side is."""
        scan, raw = self.scans[side], f"{side[0]}{i}"
        field = scan.schema.field(i)
        for k, key in enumerate(self.node.keys):
            tree = key.left if side == LEFT else key.right
            if isinstance(tree, exp.Column) and tree.name == raw and field.type == self.key_types[k]:
                return f"p{k}"
        if field.name == scan.ts and field.type == self.node.left.time_type.arrow:
            return TS
        # A column that both sides have a value in, where the other has one of the type: no room for NULLs.
        taken = next((slot for slot in self.slots if slot.get(side) == i), None)
        if taken is None:
            fields = [(each, self.scans[other].schema.field(k)) for each in self.slots for other, k in each.items()]
            free = [each for each, known in fields if side not in each and known.type == field.type]
            taken = free[0] if free else {}
            if not free:
                self.slots.append(taken)
            taken[side] = i
        return self.columns.of_column(f"s{self.slots.index(taken)}")

    def _slot(self, slot: dict[str, int], side: str) -> SqlColumn:
        name = f"s{self.slots.index(slot)}"
        return (
            column_as(name, self.scans[side].schema.names[slot[side]])
            if side in slot
            else SqlColumn(name, "NULL", "NULL")
        )

    def _output(self, column: exp.Column) -> str:
        """The operator's column of a bound reference."""
        block = self._block(column.table, int(column.name[1:]))
        name = f"{column.table}_{block}"
        self.returned[column.table].setdefault(block, pa.field(name, self._field(column).type))
        return name

    def _column(self, i: int) -> SqlColumn:
        item = self.node.items[i]
        if isinstance(item.tree, exp.Column):
            return column_as(item.name, self._output(item.tree), origin=item.name)
        typed = self.node.types.of(item.tree)
        assert typed is not None
        names = {node.name: self._output(node) for node in item.tree.find_all(exp.Column)}
        source = Source(self.query.text, item.span)
        tree, renamed = item.tree, renamed_columns(typed, names)
        return computed_column(item.name, tree, renamed, source, self.engine, lambda node: names[node.name])

    def _schema(self) -> pa.Schema:
        """Of the operator's rows."""
        fields = [*self.returned[LEFT].values(), *self.returned[RIGHT].values()]
        return pa.schema([*fields, pa.field(DETECTED_AT, self.node.left.time_type.arrow)])

    def _intake(self, side: str) -> IntervalSide:
        scan = self.scans[side]
        trees = enumerate(key.left if side == LEFT else key.right for key in self.node.keys)
        names = tuple((f"p{i}", self._field(tree).name) for i, tree in trees if isinstance(tree, exp.Column))
        return IntervalSide(self.symbols[side], _BITS[side], scan.ts, scan.ts, names)

    def _text(self) -> str:
        """The query as it is printed, with what else decides its meaning in lines of comment."""
        bare = replace(self.query, options=())
        found: Mapping[str, Scan] = self.scans
        unit = self.node.left.time_type.unit or ""
        lines = [f"-- {side} {scan.ts} {unit}".rstrip() for side, scan in found.items()]
        if self._is_sequenced:
            lines += [f"-- sequence {', '.join(str(scan.sequence) for scan in found.values())}"]
        return "\n".join([write(bare), *lines, f"-- ties {self.options.ties}"])


def _shifted(test: Test, by: int) -> Test:
    """The test over values that stand further behind."""

    def moved(typed: Typed) -> Typed:
        if typed.op == "value":
            return replace(typed, value=(typed.value[0], typed.value[1] + by))
        return replace(typed, args=tuple(map(moved, typed.args)))

    return replace(test, tree=moved(test.tree))


def _both(name: str, calls: Sequence[str]) -> str:
    return f"{DECORATOR}def {name}(left, right, cols):\n    return {' and '.join(calls) or 'True'}\n"
