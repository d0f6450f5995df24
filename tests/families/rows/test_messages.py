"""MATCH_RECOGNIZE clauses that do not bind to a schema, and the whole message each gets."""

from __future__ import annotations

from eventide.families.registry import family_named
from eventide.lang.rows import parse_clause
from eventide.plan.options import Options
from tests.lang.corpus import check_message, each_message, read_pairs
from tests.plan.schema import SCHEMA


@each_message(read_pairs("../plan/rows_invalid.txt"))
def test_the_whole_message(text: str, message: str) -> None:
    query = parse_clause(text)
    check_message(lambda: family_named("rows").prepare(query, Options(), SCHEMA), message)
