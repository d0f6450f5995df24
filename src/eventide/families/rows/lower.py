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
from eventide.expressions.relate import Relation, Relations, split_condition
from eventide.expressions.split import EventValue
from eventide.expressions.typecheck import Types
from eventide.expressions.typed import Source
from eventide.expressions.types import column_type
from eventide.expressions.write_sql import write_typed
from eventide.families.rows.bind import stream_refusal
from eventide.families.rows.compile import compile_pattern
from eventide.families.rows.conditions import Code, is_near, write_conditions
from eventide.families.rows.program import LABEL, Program
from eventide.families.rows.spec import Interpreted, RowsSpec
from eventide.families.rows.streams import check_stream, reach, reads_number
from eventide.lang.durations import write_length
from eventide.lang.rows.tree import LabelDefinition, Measure, RowQuery, Rows, SkipTo
from eventide.lang.rows.write import write_clause
from eventide.lang.tree import Length, Scalar, Span
from eventide.plan.columns import Columns
from eventide.plan.facts import read_columns, with_facts
from eventide.plan.list_aggregates import OF_ONE_ROW
from eventide.plan.logical import Recognize
from eventide.plan.options import Options
from eventide.plan.physical import Physical, SqlColumn, column_as
from eventide.plan.row_outputs import Outputs
from eventide.plan.scope import is_orderable
from eventide.runtime.block import SEQUENCE
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
        self.columns = Columns(node.input, engine)
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
            time_type=self.scan.time_type,
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
        return self.columns.physical(
            spec,
            masks,
            self._project(measures),
            self._output_schema(shown),
            text=query.text,
            takes_codes=True,
            reads=self._reads(),
            computed=tuple(self.outputs.computed.values()),
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
            ordered = dict.fromkeys(key.column for key in self.scan.order)
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
