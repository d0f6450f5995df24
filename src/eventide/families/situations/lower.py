"""Situation queries to their executable form."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from eventide.expressions.split import split
from eventide.families.situations.aggregates import Aggregates
from eventide.families.situations.operator import output_fields
from eventide.families.situations.spec import Related, SituationSpec
from eventide.lang.relations import RELATIONS, inverse, mask_of
from eventide.lang.tree import Seq, Step
from eventide.plan.columns import check_told_apart, columns_of_plan, conditions_of, read_columns
from eventide.plan.facts import canonical, with_options
from eventide.plan.logical import Situations
from eventide.plan.options import Options
from eventide.plan.physical import Physical, SqlColumn, column_as
from eventide.runtime.block import SEQUENCE


def lower_situations(plan: Situations, engine: str) -> Physical:
    """The executable form; `engine` "local" needs every expression on the allow-list."""
    query = plan.tree
    columns = columns_of_plan(plan, engine)
    names = query.symbols
    numbers = {name: k for k, name in enumerate(names)}
    check_told_apart(plan, "sequence")
    told = columns.hold(read_columns(plan))
    aggregates = Aggregates(plan, columns, numbers)
    for item in plan.items:
        aggregates.add(item)
    layout = columns.layout()
    defined = {each.name.text: each for each in query.define}
    durations = tuple(
        (
            defined[name].minimum.amount if defined[name].minimum else 0,  # type: ignore[union-attr]
            defined[name].maximum.amount if defined[name].maximum else None,  # type: ignore[union-attr]
        )
        for name in names
    )
    related = tuple(
        Related(
            numbers[each.left.text],
            numbers[each.right.text],
            mask_of(each.relations),
            inverse(mask_of(each.relations)),
            f"{each.left.text}_{each.right.text}",
        )
        for each in query.pattern
    )
    sequence = [SEQUENCE] if layout.has_sequence else []
    spec = SituationSpec(
        query=canonical(query, plan.input, _settled(plan.options)),
        layout=layout,
        symbols=names,
        durations=durations,
        gaps=tuple(gap.amount if (gap := defined[name].max_gap) else None for name in names),
        related=related,
        complete=query.complete,
        within_us=query.window.length.amount if query.window else None,
        measures=tuple(aggregates.measures),
        starts=tuple(aggregates.starts),
        ends=tuple(aggregates.ends),
        possible=plan.options.possible,
        closes=plan.options.close_at_end,
        time_type=plan.time_type,
        tie_columns=(*sequence, *(columns.returned[name] for name in told)),
    )
    fields = output_fields(spec, [plan.schema.field(name).type for name in plan.partition])
    out = pa.schema(fields)
    pattern = plan.pattern
    assert isinstance(pattern, Seq)
    steps = [step for step in pattern.parts if isinstance(step, Step)]
    parts = split((), list(plan.symbols), plan.schema, plan.query.text)
    made = columns.physical(
        spec,
        columns.masks(conditions_of(plan, steps, parts)),
        (*(aggregates.project(item, out) for item in plan.items), *_added(spec, plan)),
        out,
        text=query.text,
        reads=read_columns(plan),
        # What the end closes was open at instants that would be decided before.
        windows_close=not spec.closes,
    )
    return with_options(made, plan.options, plan.schema)


def _settled(options: Options) -> dict[str, Any]:
    """The options that decide what the query means."""
    return {"close_at_end": options.close_at_end, "possible": options.possible}


def _added(spec: SituationSpec, plan: Situations) -> list[SqlColumn]:
    """What every row carries besides RETURN."""
    made = []
    if spec.possible:
        for i, related in enumerate(spec.related):
            cases = [(f"`r{i}` & {1 << bit} <> 0", name) for bit, name in enumerate(RELATIONS)]
            spark = ", ".join(f"CASE WHEN {test} THEN '{name}' END" for test, name in cases)
            duckdb = ", ".join(
                f"CASE WHEN \"r{i}\" & {1 << bit} <> 0 THEN '{name}' END" for bit, name in enumerate(RELATIONS)
            )
            duckdb = f"list_filter([{duckdb}], lambda x: x IS NOT NULL)"
            kind = pa.list_(pa.string())
            made.append(SqlColumn(related.name, f"array_compact(array({spark}))", duckdb, dtype=kind))
    return [*made, column_as("detected_at", "detected_at", origin=plan.ts)]
