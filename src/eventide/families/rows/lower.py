"""MATCH_RECOGNIZE over a schema to what an engine runs."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from eventide.errors import QueryError
from eventide.expressions.known_functions import for_engine
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
from eventide.expressions.relate import Relation, Relations, split_condition
from eventide.expressions.split import EventValue
from eventide.expressions.typecheck import Types
from eventide.expressions.typed import Source
from eventide.expressions.types import column_type, type_name
from eventide.expressions.write_sql import write_typed
from eventide.families.rows.compile import compile_pattern
from eventide.families.rows.conditions import Code, is_near, write_conditions
from eventide.families.rows.program import LABEL, Program
from eventide.families.rows.spec import Interpreted, RowsSpec
from eventide.families.rows.streams import check_stream, reach, reads_number
from eventide.lang.durations import write_length
from eventide.lang.rows import parse_clause
from eventide.lang.rows.tree import LabelDefinition, Measure, RowQuery, Rows, SkipTo
from eventide.lang.rows.write import write_clause
from eventide.lang.tree import Length, Name, Scalar, Span
from eventide.plan.columns import Columns
from eventide.plan.facts import read_columns, with_facts
from eventide.plan.options import Options
from eventide.plan.physical import Physical, SqlColumn, column_as
from eventide.plan.places import within_the_stack
from eventide.plan.row_outputs import OF_ONE_ROW, Outputs
from eventide.plan.scope import NO_TIME, Fail, Scope, find_column, is_orderable, orderable_column
from eventide.plan.time_column import time_hint, time_type_of
from eventide.runtime.block import SEQUENCE
from eventide.runtime.computed import Computed
from eventide.runtime.measured import RowOrder
from eventide.runtime.measures import MATCH_ID, NUMBER
from eventide.runtime.times import TimeType

_ROWS = {
    Rows.ONE: "one",
    Rows.ALL: "all",
    Rows.ALL_OMIT_EMPTY: "all omit empty",
    Rows.ALL_WITH_UNMATCHED: "all with unmatched",
}
_SKIP = {SkipTo.PAST_LAST_ROW: "past last", SkipTo.NEXT_ROW: "next", SkipTo.FIRST: "first", SkipTo.LAST: "last"}
_NO_OPTIONS = Options()


def prepare_rows(
    query: RowQuery,
    schema: pa.Schema,
    *,
    engine: str = "local",
    options: Options = _NO_OPTIONS,
    on_stream: bool = False,
) -> Physical:
    """The executable form of a clause over rows of a schema."""
    with within_the_stack(query.text), for_engine(engine):
        made = _Lowering(_with_column(query, options), schema, engine, options, on_stream).physical()
    return with_facts(made, read_columns(made, schema), {"ts_unit": options.ts_unit})


class _Lowering:
    def __init__(self, query: RowQuery, schema: pa.Schema, engine: str, options: Options, on_stream: bool) -> None:
        self.query = query
        self.schema = schema
        self.types = Types()
        self.options = options
        self.on_stream = on_stream
        self.leaves: list[Leaf] = []  # all that conditions and measures read
        self.program: Program = compile_pattern(query.pattern, query.text)
        self.labels = self.program.labels
        self.unions = self._unions()
        self.partition = tuple(dict.fromkeys(self._orderable(name, "PARTITION BY") for name in query.partition_by))
        self.columns = Columns(Scope(options, schema, "", NO_TIME, None, self.partition), engine)
        self.outputs = Outputs(self.columns)

    def error(self, message: str, span: Span, hint: str | None = None) -> QueryError:
        return QueryError(message, self.query.text, span.start, span.end, hint=hint)

    # --- names ----------------------------------------------------------------------------------------------

    def _unions(self) -> dict[str, tuple[int, ...]]:
        number = {name: i for i, name in enumerate(self.labels)}
        return {
            subset.name.text: tuple(sorted(number[member.text] for member in subset.members))
            for subset in self.query.subset
        }

    def _fail(self, name: Name) -> Fail:
        return lambda message, hint: self.error(message, name.span, hint)

    def _find(self, name: Name) -> str:
        return find_column(name.text, self.schema, self._fail(name))

    def _orderable(self, name: Name, clause: str) -> str:
        hint = "compute a column with an order before MATCH_RECOGNIZE: a field, payload.ts, or an item, tags[0]"
        refusal = f"{clause} cannot take '{{}}': it is {{}}"
        return orderable_column(name.text, self.schema, self._fail(name), refusal, hint)

    def _resolve(self, scalar: Scalar, defines: int | None = None) -> Resolved:
        resolved = resolve(scalar, self.labels, self.unions, self.schema, self.query.text, defines=defines)
        self.leaves += resolved.leaves
        return resolved

    # --- DEFINE ---------------------------------------------------------------------------------------------

    def _split(self, definition: LabelDefinition) -> tuple[list[EventValue], list[Relation]]:
        label, whole = self.labels.index(definition.label.text), definition.condition
        source = Source(self.query.text, whole.span)
        alone, others = split_condition(whole, source, lambda part: self._resolve(part, label), self.schema)
        return alone, [Relation(label, resolved, source) for resolved in others]

    def _relations(self, conditions: list[Relation]) -> Relations:
        relations = Relations(self.schema, self.types)
        for condition in conditions:
            relations.relate(condition)
        return relations

    def _sort_out(self, conditions: list[Relation]) -> tuple[list[Relation], list[Interpreted]]:
        """Conditions that the matcher's code can hold, and those that DuckDB must evaluate, row by row."""
        compiled, interpreted = [], []
        for condition in conditions:
            try:
                alone = self._relations([condition])
                write_conditions(alone, [""] * len(alone.values), len(self.labels))
                compiled.append(condition)
            except QueryError:
                interpreted.append(self._interpret(condition))
        return compiled, interpreted

    def _interpret(self, condition: Relation) -> Interpreted:
        outputs = Outputs(self.columns)
        tree = outputs.over(condition.resolved, condition.source)
        typed = outputs.bind(tree, condition.source)
        condition.source.need_boolean(typed)
        return Interpreted(
            condition.number,
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
        conditions: list[Relation] = []
        for definition in query.define:
            alone, others = self._split(definition)
            conditions += others
            if alone:
                bits[self.labels.index(definition.label.text)] = len(local)
                local.append(alone)
        compiled, interpreted = self._sort_out(conditions)
        relations = self._relations(compiled)
        value_columns = [self.columns.of_value(value) for value in relations.values]
        order = self._order()
        ts, time_type = self._time(on_stream=self.on_stream)
        measures = [
            self.outputs.over(self._resolve(measure.value), self._source(measure)) for measure in query.measures
        ]
        shown = self._shown()
        ties = self._tie_columns()
        hashed = self._hashed() if self.options.match_id else None
        if hashed is not None and query.order_by:
            # Asked last, so that the request changes no match.
            ties = tuple(dict.fromkeys([*ties, *hashed[len(self.partition) :]]))
        written = write_conditions(relations, value_columns, len(self.labels)) if compiled else Code()
        masks = self.columns.masks(local)
        # 62 bits to a mask.
        spread = tuple(bit if bit < 0 else bit // 62 * 64 + bit % 62 for bit in bits)
        tested = [bool(relations.folds.made)] * len(self.labels)
        on_path, on_start = [False] * len(self.labels), False
        for condition in conditions:
            tested[condition.number] |= not is_near(condition) or condition not in compiled
            path, start = _dependence(condition.resolved.leaves)
            on_path[condition.number] |= path
            on_start |= start
        if order and order[0].column == SEQUENCE:
            self.columns.sequence = SqlColumn(SEQUENCE, "monotonically_increasing_id()", None)
        skip = query.skip
        back, ahead = reach(self.leaves)
        spec = RowsSpec(
            query=_meaning(query, self.options),
            layout=self.columns.layout(len(masks)),
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
        if self.on_stream:
            check_stream(query, spec)
        self.columns.scope = replace(self.columns.scope, ts=ts, time_type=time_type)
        return self.columns.physical(
            spec,
            masks,
            self._project(measures),
            self._output_schema(shown),
            text=query.text,
            takes_codes=True,
            reads=self._reads(),
            computed=tuple(self.outputs.computed.values()),
            stream_refusal=self._stream_refusal(),
        )

    def _members(self, name: str) -> tuple[int, ...]:
        return self.unions[name] if name in self.unions else (self.labels.index(name),)

    def _order(self) -> tuple[RowOrder, ...]:
        if not self.query.order_by and self.columns.engine == "spark":
            # A DataFrame has no order but that in which it is read.
            return (RowOrder(SEQUENCE, False, True),)
        keys = []
        for item in self.query.order_by:
            column = self._orderable(item.column, "ORDER BY")
            first = item.nulls_first if item.nulls_first is not None else not item.descending
            keys.append(RowOrder(self.columns.of_column(column), item.descending, first))
        return tuple(keys)

    def _stream_refusal(self) -> str | None:
        """Why a stream could not order its rows."""
        try:
            self._time(on_stream=True)
        except QueryError as error:
            return f"{error.message.removeprefix('a stream: ')}; {error.hint}"
        return None

    def _time(self, *, on_stream: bool) -> tuple[str, TimeType]:
        """The time, which is the first ORDER BY column, where something asks for it, and its type."""
        query, within = self.query, self.query.within
        if within is not None and within.in_events:
            hint = "bound the number of rows in PATTERN, B{1,100}, or in DEFINE, count(*) <= 100"
            raise self.error("WITHIN of MATCH_RECOGNIZE is a length of time", within.span, hint)
        if within is not None:
            what, place = "WITHIN", within.span
        elif self.options.state_ttl is not None:
            what, place = "state_ttl", query.pattern.span
        elif on_stream:
            what, place = "a stream", query.pattern.span
        else:
            return "", NO_TIME
        if not query.order_by or query.order_by[0].descending:
            raise self.error(f"{what} needs ORDER BY a time, ascending", place, "write ORDER BY ts")
        name = query.order_by[0].column
        column = self._find(name)
        dtype = self.schema.field(column).type
        is_integer = pa.types.is_integer(dtype)
        unit = self.options.ts_unit if is_integer else None
        if is_integer and unit is None:
            message = f"{what}: '{column}' holds integers, and nothing says their unit"
            raise self.error(message, name.span, "give ts_unit='s', 'ms' or 'us'")
        if not (is_integer or pa.types.is_timestamp(dtype) or pa.types.is_date(dtype) or pa.types.is_null(dtype)):
            message = f"{what} measures '{column}', the first column of ORDER BY, which is {type_name(dtype)}"
            possible = "order by a timestamp, a date, or an integer with ts_unit"
            raise self.error(message, name.span, time_hint(column, self.schema, possible))
        return column, time_type_of(column, self.schema, unit)

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
        return self.columns.scope.in_order({*self.partition, *self.columns.returned, *columns_read(self.leaves)})

    # --- the result -----------------------------------------------------------------------------------------

    def _output_schema(self, shown: list[tuple[str, str]]) -> pa.Schema:
        own = [pa.field(block, self.schema.field(name).type) for block, name in shown]
        ids = [pa.field(MATCH_ID, pa.string())] if self.options.match_id else []
        return pa.schema([*self.columns.scope.partition_fields(), *own, *self.outputs.returned(), *ids])

    def _project(self, measures: list[exp.Expression]) -> tuple[SqlColumn, ...]:
        """PARTITION BY columns, then measures; for ALL ROWS the ORDER BY columns before them and the others after."""
        own = [(name, f"p{i}") for i, name in enumerate(self.partition)]
        after: list[tuple[str, str]] = []
        if self.query.rows is not Rows.ONE:
            ordered = dict.fromkeys(self._find(item.column) for item in self.query.order_by)
            own += [(name, self.columns.of_column(name)) for name in ordered if name not in self.partition]
            done = {name for name, _ in own}
            after = [(name, self.columns.of_column(name)) for name in self.schema.names if name not in done]
        made = [column_as(name, block, origin=name) for name, block in own]
        made += [self._item(measure, tree) for measure, tree in zip(self.query.measures, measures, strict=True)]
        made += [column_as(name, block, origin=name) for name, block in after]
        if self.options.match_id:
            made.append(column_as(MATCH_ID, MATCH_ID))
        self._check_names(made)
        return tuple(made)

    def _source(self, measure: Measure) -> Source:
        return Source(self.query.text, measure.value.span)

    def _item(self, measure: Measure, tree: exp.Expression) -> SqlColumn:
        made = self.outputs.column(measure.alias.text, tree, self._source(measure))
        if self.query.rows is Rows.ALL_WITH_UNMATCHED:
            # All measures of a row that is in no match are NULL, also a constant.
            spark = f"CASE WHEN `{NUMBER}` IS NOT NULL THEN {made.spark} END"
            duckdb = made.duckdb and f'CASE WHEN "{NUMBER}" IS NOT NULL THEN {made.duckdb} END'
            made = replace(made, spark=spark, duckdb=duckdb)
        if made.dtype == pa.null() and measure.value.tree.find(exp.Column) is None:
            hint = "name its type: CAST(NULL AS STRING)"
            raise self.error(f"the measure '{made.name}' is always NULL, and has no type", measure.value.span, hint)
        return made

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


def _with_column(query: RowQuery, options: Options) -> RowQuery:
    """The clause with a column: where it names none, each match still is a row, and can be counted."""
    if query.measures or query.partition_by or query.rows is not Rows.ONE or options.match_id:
        return query
    return replace(query, measures=parse_clause("MEASURES MATCH_NUMBER() AS match_number PATTERN (A)").measures)


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
