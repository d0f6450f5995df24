"""The plans of a query without its public methods."""

from __future__ import annotations

import eventide as ev
from eventide.api.plans import Planning
from eventide.families.registry import family_named


def planning(query: ev.Query) -> Planning:
    """What a query knows of its plans."""
    family = family_named("events")

    def planned(schema: object, engine: str) -> object:
        return family.plan(query.tree, query.options, schema, engine=engine)

    return Planning(family, query.text, query.options, planned)  # type: ignore[arg-type]
