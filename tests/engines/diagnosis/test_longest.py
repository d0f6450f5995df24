"""The longest partial match of random queries over random events, against enumeration."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, assume, given

import eventide as ev
from tests.budget import budgeted
from tests.families.events.pattern_cases import PatternCase, pattern_cases
from tests.oracle.diagnosis.longest import longest_partial_matches

KINDS = ["seq", "seq", "repeat", "repeat", "or", "not"]
SETTINGS: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    # Shrinking a case costs more than reading it.
    "phases": (Phase.explicit, Phase.reuse, Phase.generate),
}


def diagnosed(query: ev.Query, events: pa.Table) -> list[dict[str, Any]]:
    """The rows of a diagnosis; what cannot be asked is not a case."""
    try:
        return query.diagnose(events).table.to_pylist()
    except ev.QueryError:
        assume(False)
        raise


def check(case: PatternCase) -> None:
    rows = diagnosed(ev.query(case.text, **case.options), case.table())
    found = {(row["g"],): row for row in rows if not row["matched"]}
    expected = longest_partial_matches(case.oracle, case.stream())
    assert found.keys() == expected.keys()
    for partition, row in found.items():
        longest = expected[partition]
        assert (row["length"], row["missing"]) == (len(longest.indices), longest.missing), (partition, longest)
        assert row["searched"]
        if longest.needed and row["reason"] != "absence":
            assert row["symbol"] in longest.needed


@budgeted(**SETTINGS)
@given(pattern_cases(kinds=KINDS, max_per_group=5).filter(lambda case: "aggregate" not in case.features))
def test_the_longest_partial_match_and_the_symbol_behind_it_are_those_of_the_oracle(case: PatternCase) -> None:
    check(case)


@budgeted(**SETTINGS)
@given(pattern_cases(max_per_group=5))
def test_a_partition_is_matched_exactly_when_the_query_has_a_row(case: PatternCase) -> None:
    query = ev.query(f"{case.text}, g", **case.options)
    rows = diagnosed(query, case.table())
    matched = {row["g"] for row in query.run(case.table()).to_pylist()}
    assert {row["g"] for row in rows if row["matched"]} == matched
    assert {row["g"] for row in rows} == {event["g"] for event in case.events}


def test_an_aggregate_of_a_symbol_that_the_branch_lacks_is_what_failed() -> None:
    events = [{"ts": ts, "kind": "C", "x": 1} for ts in range(3)]
    query = ev.query("PATTERN SEQ(OR(A s1, C s2), C s3) WHERE sum(s1.x) >= 2", ts_unit="s", type="kind")
    assert "no match" in str(query.diagnose(events))
