"""The longest partial match of random MATCH_RECOGNIZE clauses over random rows, against enumeration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, Phase, given

from eventide.api.query import Query
from eventide.lang.rows import parse_clause
from eventide.plan.options import Options
from tests.budget import budgeted
from tests.families.rows.cases import COLUMNS, Case, cases
from tests.oracle.diagnosis.rows import longest_partial_match
from tests.oracle.rows.clause import read_clause

SECOND = 1_000_000
SETTINGS: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": (Phase.explicit, Phase.reuse, Phase.generate),
}


def check(case: Case) -> None:
    query = read_clause(case.clause)
    if query.within is not None:
        query = replace(query, within=query.within // SECOND)
    partitions: dict[Any, list[tuple[Any, ...]]] = {}
    for row in case.rows:
        partitions.setdefault(row[0] if query.partition_by else None, []).append(row)
    rows = (
        Query("rows", case.clause, parse_clause(case.clause), Options.of(ts_unit="s"))
        .diagnose(case.table())
        .table.to_pylist()
    )
    found = {row["p"] if query.partition_by else None: row for row in rows}
    assert found.keys() == partitions.keys()
    for key, own in partitions.items():
        row, longest = found[key], longest_partial_match(query, COLUMNS, own)
        assert row["matched"] == (longest is None)
        if longest is not None:
            assert tuple(row["symbols"]) == longest.labels
            if longest.labels:
                assert row["missing"] == longest.missing
            if longest.needed:
                assert row["symbol"] in longest.needed


@budgeted(**SETTINGS)
@given(cases(max_rows=6))
def test_the_longest_partial_match_and_the_label_behind_it_are_those_of_the_oracle(case: Case) -> None:
    check(case)
