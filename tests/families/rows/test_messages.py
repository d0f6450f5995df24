"""MATCH_RECOGNIZE clauses that do not bind to a schema, and the whole message each gets."""

from __future__ import annotations

import pickle

import pytest

from eventide.errors import QueryError
from eventide.families.rows.lower import prepare_rows
from eventide.lang.rows import parse_clause
from tests.lang.corpus import read_pairs
from tests.plan.schema import SCHEMA

INVALID = read_pairs("../plan/rows_invalid.txt")


@pytest.mark.parametrize(("clause", "message"), INVALID, ids=[clause[:70] for clause, _ in INVALID])
def test_the_whole_message(clause: str, message: str) -> None:
    query = parse_clause(clause)
    with pytest.raises(QueryError) as caught:
        prepare_rows(query, SCHEMA)
    assert str(caught.value) == message
    assert str(pickle.loads(pickle.dumps(caught.value))) == message
