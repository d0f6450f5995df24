"""What may be asked of a SQL statement: each MATCH_RECOGNIZE in it is a query of the family `rows`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from eventide.families.base import NO_SITUATIONS, Family
from eventide.families.registry import family_named, register

if TYPE_CHECKING:
    from eventide.lang.rows.tree import Statement
    from eventide.plan.explain import Explanation


class Statements(Family):
    """It has no operator of its own."""

    name = "statement"
    what = "a statement"
    refusals: ClassVar = {
        **NO_SITUATIONS,
        "late": (
            "a statement has no late events: several MATCH_RECOGNIZE may read several streams",
            "ev.match_recognize(...).late(stream) returns those of one clause",
        ),
        "live": (
            "a statement needs whole tables, and live input has no end",
            "ev.match_recognize(...).live(source) runs one clause",
        ),
        "plan": ("a statement has a plan for each MATCH_RECOGNIZE", "q.explain(table=rows) shows them"),
    }

    def write(self, tree: Statement) -> str:
        return tree.text.strip()

    def explanation(self) -> Explanation:
        from eventide.plan.explain import Explanation

        class Clauses(Explanation):
            def outline(self, tree: Statement, options: Any) -> dict[str, list[str]]:
                """The parts as they are understood."""
                from eventide.lang.rows.tree import Recognition
                from eventide.lang.write import write_windowing

                lines = []
                for each in tree.parts:
                    if not isinstance(each, Recognition):
                        lines += [f"{each.name} over {each.relation}", f"  {write_windowing(each.windowing)}"]
                        continue
                    lines.append(f"MATCH_RECOGNIZE over {each.relation}")
                    lines += (f"  {line}" for line in family_named("rows").write(each.clause).splitlines())
                return {"Logical plan": lines}

        return Clauses()


register(Statements())
