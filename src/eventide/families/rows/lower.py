"""MATCH_RECOGNIZE over a schema to what an engine runs."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.navigation.leaves import (
    FoldLeaf,
    LabelLeaf,
    Leaf,
    NumberLeaf,
    Resolved,
    ValueLeaf,
    columns_read,
)
from eventide.expressions.navigation.resolve import resolve
from eventide.expressions.relate import Code, Condition, ConditionCode, conjuncts, event_value, is_local, plain_tree
from eventide.expressions.split import EventValue
from eventide.expressions.typecheck import Types
from eventide.expressions.typed import Source
from eventide.expressions.types import MONTHS, column_type, kind, type_name
from eventide.expressions.write_sql import FROM_RESULT, write_spark, write_typed
from eventide.families.registry import family_named
from eventide.families.rows.bind import stream_refusal
from eventide.families.rows.compile import compile_pattern
from eventide.families.rows.program import LABEL, Program
from eventide.families.rows.spec import Interpreted, RowsSpec
from eventide.families.rows.streams import check_stream, reach, reads_number
from eventide.lang.durations import write_length
from eventide.lang.rows.tree import LabelDefinition, Measure, RowQuery, Rows, SkipTo
from eventide.lang.rows.write import write_clause
from eventide.lang.tree import Length, Scalar, Span
from eventide.plan.facts import read_columns, with_facts
from eventide.plan.logical import Recognize
from eventide.plan.options import Options
from eventide.plan.physical import Intake, Physical, SqlColumn
from eventide.plan.references import is_orderable
from eventide.plan.row_columns import RowColumns, plain
from eventide.plan.row_outputs import OF_ONE_ROW, Outputs
from eventide.runtime.block import SEQUENCE, TS
from eventide.runtime.computed import Computed
from eventide.runtime.measured import RowOrder
from eventide.runtime.measures import MATCH_ID, NUMBER

_ROWS = {
    Rows.ONE: "one",
    Rows.ALL: "all",
    Rows.ALL_OMIT_EMPTY: "all omit empty",
    Rows.ALL_WITH_UNMATCHED: "all with unmatched",
}
_SKIP = {SkipTo.PAST_LAST_ROW: "past last", SkipTo.NEXT_ROW: "next", SkipTo.FIRST: "first", SkipTo.LAST: "last"}


def lower_rows(node: Recognize, engine: str) -> Physical:
    """The executable form of a bound clause."""
    made = _Lowering(node, engine).physical()
    return with_facts(made, read_columns(made, node.input.schema), {"ts_unit": node.input.options.ts_unit})


def prepare_rows(
    query: RowQuery,
    schema: pa.Schema,
    *,
    engine: str = "local",
    options: Options = Options(),  # noqa: B008
    on_stream: bool = False,
) -> Physical:
    """The executable form of a clause over rows of a schema."""
    return family_named("rows").prepare(query, options, schema, engine=engine, on_stream=on_stream)


class _Lowering:
    def __init__(self, node: Recognize, engine: str) -> None:
        self.query: RowQuery = node.tree
        self.scan = node.input
        self.schema = node.input.schema
        self.types = Types()
        self.options: Options = node.input.options
        self.leaves: list[Leaf] = []  # all that conditions and measures read
        self.program: Program = compile_pattern(self.query.pattern, self.query.text)
        self.labels = self.program.labels
        self.unions = self._unions()
        self.partition = node.input.partition
        self.columns = RowColumns(self.partition, self.schema, engine)
        self.outputs = Outputs(self.columns, self.query.text)

    def error(self, message: str, span: Span, hint: str | None = None) -> QueryError:
        return QueryError(message, self.query.text, span.start, span.end, hint=hint)

    # --- names ----------------------------------------------------------------------------------------------

    def _unions(self) -> dict[str, tuple[int, ...]]:
        number = {name: i for i, name in enumerate(self.labels)}
        return {
            subset.name.text: tuple(sorted(number[member.text] for member in subset.members))
            for subset in self.query.subset
        }

    def _resolve(self, scalar: Scalar, defines: int | None = None) -> Resolved:
        resolved = resolve(scalar, self.labels, self.unions, self.schema, self.query.text, defines=defines)
        self.leaves += resolved.leaves
        return resolved

    # --- DEFINE ---------------------------------------------------------------------------------------------

    def _split(self, definition: LabelDefinition) -> tuple[list[EventValue], list[Condition]]:
        label = self.labels.index(definition.label.text)
        alone: list[EventValue] = []
        others: list[Condition] = []
        whole = definition.condition
        source = Source(self.query.text, whole.span)
        for tree in conjuncts(whole.tree):
            resolved = self._resolve(Scalar(tree, whole.text, whole.span), label)
            if not is_local(resolved):
                others.append(Condition(label, resolved, source))
                continue
            value = event_value(plain_tree(resolved), self.schema, source)
            if value.dtype is not None and kind(value.dtype) not in ("boolean", "null"):
                message = f"a condition must be a boolean, but this is {type_name(value.dtype)}"
                raise source.error(message, value.typed.span, "compare it with something")
            alone.append(value)
        return alone, others

    def _sort_out(self, conditions: list[Condition]) -> tuple[list[Condition], list[Interpreted]]:
        """Conditions that the matcher's code can hold, and those that DuckDB must evaluate, row by row."""
        compiled, interpreted = [], []
        for condition in conditions:
            try:
                alone = ConditionCode([condition], len(self.labels), self.schema, self.types)
                alone.write([""] * len(alone.values))
                compiled.append(condition)
            except QueryError:
                interpreted.append(self._interpret(condition))
        return compiled, interpreted

    def _interpret(self, condition: Condition) -> Interpreted:
        outputs = Outputs(self.columns, self.query.text)
        tree = outputs.over(condition.resolved)
        typed = outputs.bind(tree, condition.source.span)
        if typed.dtype is not None and kind(typed.dtype) not in ("boolean", "null"):
            message = f"a condition must be a boolean, but this is {type_name(typed.dtype)}"
            raise condition.source.error(message, typed.span, "compare it with something")
        return Interpreted(
            condition.label,
            tuple(outputs.picked),
            tuple(outputs.folded),
            tuple(outputs.listed),
            tuple(outputs.computed.values()),
            Computed("holds", write_typed(typed, condition.source, OF_ONE_ROW), pa.bool_()),
        )

    # --- the whole ------------------------------------------------------------------------------------------

    def physical(self) -> Physical:
        query = self.query
        if query.rows is Rows.ALL_WITH_UNMATCHED and any(op == LABEL and b for op, _, b in self.program.instructions):
            message = "{- -} leaves rows out, WITH UNMATCHED ROWS shows all: they do not go together"
            raise self.error(message, query.pattern.span, "leave out one of them")
        local: list[list[EventValue]] = []
        bits = [-1] * len(self.labels)
        conditions: list[Condition] = []
        for definition in query.define:
            alone, others = self._split(definition)
            conditions += others
            if alone:
                bits[self.labels.index(definition.label.text)] = len(local)
                local.append(alone)
        compiled, interpreted = self._sort_out(conditions)
        code = ConditionCode(compiled, len(self.labels), self.schema, self.types)
        value_columns = [self.columns.of_value(value) for value in code.values]
        order = self._order()
        ts, time_type = self.scan.ts, self.scan.time_type
        measures = [self.outputs.over(self._resolve(measure.value)) for measure in query.measures]
        shown = self._shown()
        ties = self._tie_columns()
        hashed = self._hashed() if self.options.match_id else None
        if hashed is not None and query.order_by:
            # Asked last, so that the request changes no match.
            ties = tuple(dict.fromkeys([*ties, *hashed[len(self.partition) :]]))
        written = code.write(value_columns) if compiled else Code()
        masks = self.columns.masks(local)
        # 62 bits to a mask.
        spread = tuple(bit if bit < 0 else bit // 62 * 64 + bit % 62 for bit in bits)
        tested = [code.has_folds] * len(self.labels)
        on_path, on_start = [False] * len(self.labels), False
        for condition in conditions:
            tested[condition.label] |= not condition.is_near or condition not in compiled
            path, start = _dependence(condition.resolved.leaves)
            on_path[condition.label] |= path
            on_start |= start
        unordered = bool(order) and order[0].column == SEQUENCE
        layout = replace(self.columns.layout(len(masks)), has_sequence=unordered)
        skip = query.skip
        back, ahead = reach(self.leaves)
        spec = RowsSpec(
            query=_meaning(query, self.options),
            layout=layout,
            program=self.program,
            order=order,
            tie_columns=ties,
            mask_columns=self.columns.mask_names(len(masks)),
            bits=spread,
            nears=tuple(written.nears.get(i, -1) for i in range(len(self.labels))),
            tested=tuple(tested),
            depends_on_path=tuple(on_path),
            depends_on_start=on_start,
            time_type=time_type,
            window_us=query.within.amount if query.within is not None else None,
            rows=_ROWS[query.rows],
            skip=_SKIP[skip.to],
            skip_members=() if skip.label is None else self._members(skip.label.text),
            skip_label="" if skip.label is None else skip.label.text,
            returned=tuple(block for block, _ in shown),
            picked=tuple(self.outputs.picked),
            folded=tuple(self.outputs.folded),
            listed=tuple(self.outputs.listed),
            encodings=written.encodings,
            tests_source=written.tests,
            near_source=written.near,
            n_folds=written.n_folds,
            interpreted=tuple(interpreted),
            back=back,
            ahead=ahead,
            shows_number=reads_number(self.leaves),
            ttl_us=self.options.state_ttl,
            hashed=hashed,
            max_steps=self.options.max_steps_per_partition,
        )
        if self.scan.is_stream:
            check_stream(query, spec)
        # Without a length of time NULL is a key like any other.
        drop = bool(ts) and self.options.on_bad_event == "drop"
        intake = Intake(layout, time_type, ts, drop, True, self.columns.names())
        times = plain(TS, ts) if ts else SqlColumn(TS, "0L", "CAST(0 AS BIGINT)", addends=())
        return Physical(
            text=query.text,
            intake=intake,
            select=self.columns.select(times, masks, by_arrival=unordered),
            spec=spec,
            project=self._project(measures),
            takes_codes=True,
            reads=self._reads(),
            output_schema=self._output_schema(shown),
            computed=tuple(self.outputs.computed.values()),
            allowed_lateness_us=self.options.allowed_lateness,
            stream_refusal=stream_refusal(query, self.options, self.schema),
        )

    def _members(self, name: str) -> tuple[int, ...]:
        return self.unions[name] if name in self.unions else (self.labels.index(name),)

    def _order(self) -> tuple[RowOrder, ...]:
        if not self.query.order_by and self.columns.engine == "spark":
            # A DataFrame has no order but that in which it is read.
            return (RowOrder(SEQUENCE, False, True),)
        return tuple(
            RowOrder(self.columns.of_column(key.column), key.descending, key.nulls_first) for key in self.scan.order
        )

    def _tie_columns(self) -> tuple[str, ...]:
        """Columns that the clause reads, in schema order: they tell rows with equal keys apart."""
        if not self.query.order_by:
            return ()
        return tuple(self.columns.of_column(name) for name in self._reads() if name not in self.partition)

    def _hashed(self) -> tuple[str, ...]:
        """All columns that can be hashed, read or not: they tell the rows of different matches apart."""
        types = {field.name: column_type(field.type) for field in self.schema}
        names = [name for name, dtype in types.items() if is_orderable(dtype)]
        own = [self.columns.of_column(name) for name in names if name not in self.partition]
        return (*(f"p{i}" for i in range(len(self.partition))), *own)

    def _shown(self) -> list[tuple[str, str]]:
        """For ALL ROWS PER MATCH the row's own columns: block column and name; partition columns come anyway."""
        if self.query.rows is Rows.ONE:
            return []
        return [(self.columns.of_column(name), name) for name in self.schema.names if name not in self.partition]

    def _reads(self) -> tuple[str, ...]:
        names = {*self.partition, *self.columns.returned, *columns_read(self.leaves)}
        return tuple(name for name in self.schema.names if name in names)

    # --- the result -----------------------------------------------------------------------------------------

    def _output_schema(self, shown: list[tuple[str, str]]) -> pa.Schema:
        fields = [pa.field(f"p{i}", self._plain_type(name)) for i, name in enumerate(self.partition)]
        fields += [pa.field(block, self._plain_type(name)) for block, name in shown]
        ids = [pa.field(MATCH_ID, pa.string())] if self.options.match_id else []
        return pa.schema([*fields, *self.outputs.fields(), *ids])

    def _plain_type(self, name: str) -> pa.DataType:
        return self.schema.field(name).type

    def _project(self, measures: list[exp.Expression]) -> tuple[SqlColumn, ...]:
        """PARTITION BY columns, then measures; for ALL ROWS the ORDER BY columns before them and the others after."""
        own = [(name, f"p{i}") for i, name in enumerate(self.partition)]
        after: list[tuple[str, str]] = []
        if self.query.rows is not Rows.ONE:
            ordered = dict.fromkeys(key.column for key in self.scan.order)
            own += [(name, self.columns.of_column(name)) for name in ordered if name not in self.partition]
            done = {name for name, _ in own}
            after = [(name, self.columns.of_column(name)) for name in self.schema.names if name not in done]
        made = [SqlColumn(name, f"`{block}`", f'"{block}"', origin=name) for name, block in own]
        made += [self._item(measure, tree) for measure, tree in zip(self.query.measures, measures, strict=True)]
        made += [SqlColumn(name, f"`{block}`", f'"{block}"', origin=name) for name, block in after]
        if self.options.match_id:
            made.append(SqlColumn(MATCH_ID, f"`{MATCH_ID}`", f'"{MATCH_ID}"'))
        self._check_names(made)
        return tuple(made)

    def _item(self, measure: Measure, tree: exp.Expression) -> SqlColumn:
        name, span = measure.alias.text, measure.value.span
        typed = self.outputs.bind(tree, span)
        dtype = typed.dtype
        if isinstance(tree, exp.Column) and typed.value[1] != MONTHS:
            dtype = typed.value[1]
        spark: str = f"`{tree.name}`" if isinstance(tree, exp.Column) else write_spark(tree)
        duckdb: str | None = f'"{tree.name}"'
        if not isinstance(tree, exp.Column):
            try:
                duckdb = write_typed(typed, Source(self.query.text, span), FROM_RESULT)
            except QueryError:
                if self.columns.engine == "local":
                    raise
                duckdb = None
        if self.query.rows is Rows.ALL_WITH_UNMATCHED:
            # All measures of a row that is in no match are NULL, also a constant.
            spark = f"CASE WHEN `{NUMBER}` IS NOT NULL THEN {spark} END"
            duckdb = duckdb and f'CASE WHEN "{NUMBER}" IS NOT NULL THEN {duckdb} END'
        if dtype == pa.null() and measure.value.tree.find(exp.Column) is None:
            hint = "name its type: CAST(NULL AS STRING)"
            raise self.error(f"the measure '{name}' is always NULL, and has no type", span, hint)
        return SqlColumn(name, spark, duckdb, dtype=dtype)

    def _check_names(self, items: list[SqlColumn]) -> None:
        seen: set[str] = set()
        measures = {measure.alias.text.lower(): measure for measure in self.query.measures}
        for item in items:
            key = item.name.lower()
            if key in seen and key in measures:
                alias = measures[key].alias
                raise self.error(f"two columns of the result are called '{item.name}'", alias.span, "name it otherwise")
            if key in seen and item.name == MATCH_ID:
                hint = "leave out match_id=True, or rename the column before: (SELECT match_id AS earlier, ... FROM t)"
                raise self.error(f"the table has a column '{MATCH_ID}' already", self.query.pattern.span, hint)
            seen.add(key)


def _meaning(query: RowQuery, options: Options) -> str:
    """The canonical text, which names the query of a checkpoint."""
    ttl = "" if options.state_ttl is None else f"\n-- state_ttl {write_length(Length(options.state_ttl))}"
    return write_clause(query) + ttl + ("\n-- match_id" if options.match_id else "")


def _dependence(leaves: tuple[Leaf, ...]) -> tuple[bool, bool]:
    """Whether a condition looks at the labels of other rows, and at where the match began."""
    path = start = False
    for leaf in leaves:
        match leaf:
            case ValueLeaf():
                path |= leaf.slot.depends_on_path
                start |= leaf.slot.depends_on_start
            case LabelLeaf():
                path |= not leaf.slot.is_current
            case NumberLeaf():
                start = True
            case FoldLeaf(members=None):
                # Of all rows of the match so far, whatever their labels.
                start = True
            case _:
                path = True
    return path, start or path
