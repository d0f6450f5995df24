"""What users call for event patterns, trends, situations and joins: `ev.query(...)`."""

from __future__ import annotations

import os
from typing import Any

from eventide.api.joins import Joined
from eventide.api.query import Query
from eventide.errors import EventideError
from eventide.families.registry import family_of_tree
from eventide.lang import parse
from eventide.lang.tree import JoinQuery
from eventide.plan.options import Options


def query(text: str, **options: Any) -> Query:
    """The query of a text: an event pattern, aggregates over trends or windows, a filter, situations, or a join.

    It runs on every engine; docs/language.md lists the options.

    >>> import eventide as ev
    >>> q = ev.query("PATTERN SEQ(Login L, Buy B) WITHIN 10 seconds RETURN L.user, B.amount",
    ...              ts="ts", ts_unit="s", type="kind", partition_by="user")
    >>> events = [{"ts": 1, "user": "ann", "kind": "Login", "amount": None},
    ...           {"ts": 4, "user": "ann", "kind": "Buy", "amount": 30}]
    >>> q.run(events).to_pylist()
    [{'L_user': 'ann', 'B_amount': 30, 'detected_at': 4}]
    """
    if not isinstance(text, str):
        hint = "ev.query(path.read_text())" if isinstance(text, os.PathLike) else None
        raise EventideError(f"a query is text, found {type(text).__name__}", hint=hint)
    tree = parse(text)
    kind = Joined if isinstance(tree, JoinQuery) else Query
    return kind(family_of_tree(tree), text, tree, Options.for_query(tree, **options))
