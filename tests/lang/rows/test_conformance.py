"""Every statement of the conformance cases is parsed and survives the round trip."""

from __future__ import annotations

import pytest

from eventide.lang.rows import parse_clause, parse_statement, write_clause
from tests.conformance import shared_cases

CASES = shared_cases("match_recognize")

if CASES:

    @pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
    def test_the_statement_is_parsed(case: dict[str, str]) -> None:
        (found,) = parse_statement(case["sql"]).recognitions
        assert parse_clause(write_clause(found.clause)) == found.clause
        assert parse_clause(case["match_recognize"]) == found.clause
