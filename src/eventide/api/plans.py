"""Which plan runs an event pattern: its operator, or joins of the SQL engine that has the events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.engines.local.sources import Source
from eventide.errors import EventideError, UnsupportedError
from eventide.expressions.known_functions import for_engine
from eventide.families.base import Family
from eventide.plan.arguments import one_of
from eventide.plan.choose import AUTO, JOINS, KERNELS, PLANS, PlanChoice, choose_plan
from eventide.plan.physical import Planned
from eventide.plan.places import within_the_stack

if TYPE_CHECKING:
    from eventide.plan.explain import Sections
    from eventide.plan.relational.map_pattern import Asked, Mapped


@dataclass(frozen=True, slots=True)
class Planning:
    """A query over events of a schema: `planned` gives its logical plan and its operator for a schema and an engine."""

    family: Family
    text: str
    options: Any
    planned: Callable[[pa.Schema, str], Planned]

    def word(self, given: str | None) -> str:
        """The plan that is asked for: in the call, or in the query's options."""
        found = one_of("plan", self.options.plan if given is None else given, PLANS)
        if found == JOINS and not self.family.has_joins:
            message = f"plan='joins' is for event patterns, and this is {self.family.what}"
            raise UnsupportedError(message, hint="leave out plan")
        return found

    def asked(self, schema: pa.Schema, engine: str) -> Asked:
        """The query as it is mapped; an error where it has no form as joins."""
        with within_the_stack(self.text), for_engine(engine):
            return self.family.asked(self.planned(schema, engine), engine)

    def mapped(
        self,
        asked: Asked,
        dialect: str,
        table: str,
        estimates: Mapping[str, float] | None = None,
        finished: bool = True,
    ) -> Mapped:
        """The statement of the query in a dialect, over a table."""
        from eventide.plan.relational.map_pattern import map_pattern

        with within_the_stack(self.text), for_engine("spark" if dialect == "spark" else "local"):
            return map_pattern(asked, dialect, table=table, estimates=estimates, finished=finished)

    def local_joins(self, source: Source) -> tuple[Mapped, Asked]:
        """The statement that DuckDB runs over an input."""
        from eventide.engines.local.relational import TABLE, count_events

        asked = self.asked(source.schema, "local")
        return self.mapped(asked, "duckdb", TABLE, count_events(asked, source)), asked

    def on_spark(self, schema: pa.Schema, word: str) -> tuple[PlanChoice, Asked | None]:
        """The plan for a batch DataFrame, and the query for the mapping where that is joins."""
        if word != AUTO:
            return choose_plan(word, None, "spark"), self.asked(schema, "spark") if word == JOINS else None
        asked = None
        with suppress(EventideError):
            asked = self.asked(schema, "spark")
        choice = choose_plan(word, None if asked is None else asked.plan, "spark")
        return choice, asked if choice.plan == JOINS else None

    def explained(
        self, schema: pa.Schema, engine: str, given: str | None, frame: Any = None, n_events: int | None = None
    ) -> tuple[PlanChoice, Sections]:
        """The choice, and the sections on it: costs, and where it is joins their statement and Spark's own plan.

        There are none where an operator runs the query and nobody asked for the plan.
        """
        from eventide.plan.relational.explanation import plan_lines

        word = self.word(given)
        is_settled = word == KERNELS or (word == AUTO and engine == "local")
        if engine == "spark stream" or not self.family.has_joins or (is_settled and given is None):
            return PlanChoice(KERNELS, ""), {}
        mapped, asked, refusal = None, None, None
        try:
            asked = self.asked(schema, engine)
            mapped = self.mapped(asked, "spark" if engine == "spark" else "duckdb", "events")
        except EventideError as error:
            if word == JOINS:
                raise
            refusal = error.message
        choice = choose_plan(word, None if asked is None else asked.plan, engine)
        lines = plan_lines(choice, mapped, refusal, n_events, engine)
        if choice.plan != JOINS or mapped is None or asked is None:
            return choice, {} if given is None else {"Plan": lines}
        sections = {"Plan": lines, "Statement": mapped.statement.splitlines()}
        if frame is not None:
            from eventide.engines.spark import relational

            found = self.mapped(asked, "spark", relational.TABLE, finished=False)
            sections["Spark's plan"] = relational.plan_lines(relational.run(frame, found, asked.physical, "").rows)
        return choice, sections
