"""Event patterns as joins: what the operator would return, in words that `plan.relational` knows."""

from __future__ import annotations

from typing import Any, cast

from eventide.families.events.lower_sequence import sequence_steps
from eventide.families.events.prepare import lower
from eventide.families.events.sequence import SequenceSpec
from eventide.plan.logical import Match, Trends
from eventide.plan.physical import Planned
from eventide.plan.relational.map_pattern import Asked, Wanted
from eventide.plan.relational.refusals import check_mapped
from eventide.runtime.block import TS


def asked_of(planned: Planned, engine: str) -> Asked:
    """The query for the mapping: the operator's columns, and the user's over them.

    What has no operator, as a window that counts events, may have a form as joins.
    """
    plan = planned.node
    assert isinstance(plan, Match)
    check_mapped(plan, planned.physical)
    physical = planned.physical or lower(plan, engine)
    names, spec = {**dict(physical.intake.names), TS: plan.ts}, cast(Any, physical.spec)
    schema = physical.output_schema
    assert schema is not None
    found = []
    for returned in () if isinstance(plan, Trends) else spec.returned:
        dtype = schema.field(returned.name).type
        if isinstance(spec, SequenceSpec):
            steps = sequence_steps(plan.pattern)
            assert steps is not None
            made = Wanted(returned.name, steps[returned.step].symbol, (names[returned.column],), dtype)
        else:
            symbol = spec.program.symbols[returned.symbol]
            columns = tuple(names[column] for column, _ in returned.fields) or (names[returned.column],)
            made = Wanted(
                returned.name, symbol, columns, dtype, returned.is_array, returned.end == "last", bool(returned.fields)
            )
        found.append(made)
    return Asked(plan, tuple(found), physical)
