"""Which plan runs an event pattern: its operator, or joins of the SQL engine that has the events."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.engines.local.sources import Source
from eventide.errors import EventideError
from eventide.plan.arguments import one_of
from eventide.plan.choose import AUTO, JOINS, PLANS, PlanChoice, choose_plan

if TYPE_CHECKING:
    from eventide.api.query import Query
    from eventide.plan.relational.map_pattern import Asked, Mapped


def plan_word(query: Query, given: str | None) -> str:
    """What is asked for: in the call, or in the query's options."""
    found = getattr(query.options, "plan", AUTO) if given is None else given
    return one_of("plan", found, PLANS)


def asked_of(query: Query, options: Any, schema: pa.Schema, engine: str) -> Asked:
    """The query as it is mapped; an error where it has no form as joins."""
    from eventide.expressions.known_functions import for_engine
    from eventide.plan.places import within_the_stack

    with within_the_stack(query.text), for_engine(engine):
        return query.family.asked(query.planned(options, schema, engine), engine)


def mapped_of(
    query: Query,
    asked: Asked,
    dialect: str,
    table: str,
    estimates: Mapping[str, float] | None = None,
    finished: bool = True,
) -> Mapped:
    """The statement of a query in a dialect, over a table."""
    from eventide.expressions.known_functions import for_engine
    from eventide.plan.places import within_the_stack
    from eventide.plan.relational.map_pattern import map_pattern

    with within_the_stack(query.text), for_engine("spark" if dialect == "spark" else "local"):
        return map_pattern(asked, dialect, table=table, estimates=estimates, finished=finished)


def local_joins(query: Query, source: Source, options: Any) -> tuple[Mapped, Asked]:
    """The statement that DuckDB runs over an input."""
    from eventide.engines.local.relational import TABLE, count_events

    asked = asked_of(query, options, source.schema, "local")
    return mapped_of(query, asked, "duckdb", TABLE, count_events(asked, source)), asked


def spark_choice(query: Query, options: Any, schema: pa.Schema, word: str) -> tuple[PlanChoice, Asked | None]:
    """The plan for a batch DataFrame, and the query for the mapping where that is joins."""
    if word == AUTO:
        asked = None
        with suppress(EventideError):
            asked = asked_of(query, options, schema, "spark")
        choice = choose_plan(word, None if asked is None else asked.plan, "spark")
        return choice, asked if choice.plan == JOINS else None
    choice = choose_plan(word, None, "spark")
    return choice, asked_of(query, options, schema, "spark") if word == JOINS else None
