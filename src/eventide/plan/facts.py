"""What saved state depends on: what the query means, the types and places of columns, and some options.

With other ones the state would be read wrongly, so it is refused. Not among them is what only later events meet:
`allowed_lateness`, `on_bad_event`, `on_overflow`, `max_matches_per_partition` and `max_steps_per_partition` may change
between two runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from eventide.expressions.types import type_name
from eventide.lang import write
from eventide.lang.durations import write_length
from eventide.lang.nodes import copied
from eventide.lang.tree import EventQuery, Length, SituationQuery, WindowQuery
from eventide.plan.logical import Match
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from eventide.plan.scope import Scope
from eventide.runtime.changes import COLUMN, OPTION, PLACES


def meaning(plan: Match) -> str:
    """The canonical text: it names a checkpoint's query and is part of `match_id`."""
    conditions = [f"{name}: {_condition_text(condition.tree)}" for name, condition in sorted(plan.conditions.items())]
    resolved = {"types": "; ".join(conditions), "ties": plan.options.ties, "origin": plan.options.origin}
    return canonical(plan.query, plan.input, resolved)


def canonical(query: EventQuery | SituationQuery | WindowQuery, scope: Scope, resolved: Mapping[str, Any]) -> str:
    """The text of a query as it is printed, with what else decides its meaning in lines of comment."""
    found = {
        "time": f"{scope.ts} {scope.time_type.unit or ''}".strip(),
        "sequence": scope.sequence,
        "partition": ", ".join(scope.partition),
        **resolved,
    }
    bare = replace(query, options=(), source=None, partition_by=())
    return "\n".join([write(bare), *(f"-- {name} {value}" for name, value in found.items() if value)])


def _condition_text(tree: exp.Expr) -> str:
    return copied(tree).sql("spark", copy=False)


def with_facts(physical: Physical, columns: Sequence[tuple[str, pa.DataType]], options: Mapping[str, Any]) -> Physical:
    """The plan whose operator knows `columns`, the input's that it reads, and `options` that are not None."""
    given = [(name, value) for name, value in options.items() if value not in (None, False, ())]
    facts = (
        *((f"{COLUMN}{name}", _type(dtype)) for name, dtype in columns),
        *((f"{OPTION}{name}", _text(name, value)) for name, value in given),
        (PLACES, ", ".join(name for name, _ in columns)),
    )
    return replace(physical, spec=replace(physical.spec, facts=facts))


def with_options(physical: Physical, options: Options, schema: pa.Schema) -> Physical:
    """The same for a query of the language: the columns that it reads, and its options."""
    told = {
        "counts": None if options.counts == "exact" else options.counts,
        "state_ttl": options.state_ttl,
        "match_id": options.match_id,
    }
    physical = replace(physical, closes_at_end=options.close_at_end)
    return with_facts(physical, read_columns(physical, schema), told)


def read_columns(physical: Physical, schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    """The columns that a plan reads, with their types, in the schema's order, which block columns follow."""
    return [(field.name, field.type) for field in schema if field.name in physical.reads]


def _type(dtype: pa.DataType) -> str:
    # Strings as dictionaries are a matter of how they are read.
    return type_name(dtype.value_type if pa.types.is_dictionary(dtype) else dtype)


def _text(name: str, value: Any) -> str:
    if name == "state_ttl":
        return write_length(Length(value))
    if isinstance(value, tuple):
        return ", ".join(each if isinstance(each, str) else " = ".join(each) for each in value)
    return str(value)
