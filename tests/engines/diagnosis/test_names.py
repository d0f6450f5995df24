"""Partition columns that are called as columns of a diagnosis are."""

from __future__ import annotations

import pytest

import eventide as ev
from eventide.engines.diagnose.result import Diagnosis

NAMES = ("symbol", "event", "events", "length", "hint", "reason", "values", "matched", "Missing")


def diagnoses(column: str) -> list[Diagnosis]:
    """Of one question in three languages."""
    events = [{"ts": 0, column: "MSFT", "kind": "Up"}, {"ts": 1, column: "ORCL", "kind": "Down"}]
    text = f"PATTERN SEQ(Up u, Down d) WHERE [`{column}`]"
    steps = ev.Pattern.begin("u", "kind = 'Up'").followed_by("d", "kind = 'Down'")
    rows = ev.match_recognize(
        partition_by=f"`{column}`",
        order_by="ts",
        pattern="U D",
        define={"U": "kind = 'Up'", "D": "kind = 'Down'"},
        measures={"n": "count(*)"},
    )
    return [
        ev.query(text, ts_unit="s", type="kind").diagnose(events),
        steps.diagnose(events, ts="ts", ts_unit="s", partition_by=column),
        rows.diagnose(events),
    ]


@pytest.mark.parametrize("column", NAMES)
def test_a_diagnosis_tells_the_partition_whatever_its_column_is_called(column: str) -> None:
    for found in diagnoses(column):
        assert f"{column} = MSFT: no match" in str(found) and f"{column} = ORCL: no match" in str(found), found
        assert sorted(found.table.column(column).to_pylist()) == ["MSFT", "ORCL"]
        assert f"diagnosis_{column.lower()}" in found.table.column_names


def test_a_diagnosis_shows_its_text() -> None:
    found = diagnoses("user")[0]
    assert repr(found) == str(found)
    assert "symbol" in found.table.column_names and "diagnosis_symbol" not in found.table.column_names
