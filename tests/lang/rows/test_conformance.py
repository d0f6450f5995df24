"""Every statement of the conformance cases, which lie beside the repository, is parsed and survives the round trip."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eventide.lang.rows import parse_clause, parse_statement, write_clause

FILE = Path(__file__).resolve().parents[4] / "shared" / "conformance" / "match_recognize.json"

if FILE.exists():
    CASES = json.loads(FILE.read_text(encoding="utf-8"))["cases"]

    @pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
    def test_the_statement_is_parsed(case: dict[str, str]) -> None:
        (found,) = parse_statement(case["sql"]).recognitions
        assert parse_clause(write_clause(found.clause)) == found.clause
        assert parse_clause(case["match_recognize"]) == found.clause
