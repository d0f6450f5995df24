"""Queries of windows as rules: the same rows as on their own, in one run and in micro-batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import eventide as ev
from tests.rules.bucket import Stream, table

RULES = {
    "hop": "FROM e WITHIN 4 ms SLIDE 2 ms RETURN count(*) AS n, max(amount) AS top",
    "session": "FROM e GROUP BY user SESSION 3 ms RETURN user, count(*) AS n HAVING n > 1",
    "positions": "FROM e GROUP BY user WITHIN 2 EVENTS RETURN user, sum(amount) AS total HAVING count(*) = 2",
    "filter": "FROM e WHERE kind = 'A' RETURN amount",
}
EVENTS = [(0, "A"), (1, "B"), (3, "C"), (9, "A"), (10, "B"), (14, "C")]


def values(rows: list[dict[str, Any]]) -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = {}
    for row in rows:
        assert row["problem"] is None
        held = {name: value for name, value in json.loads(row["row"]).items() if not name.startswith("window")}
        found.setdefault(row["rule"], []).append(list(held.values()))
    # What is detected at one time has no order.
    return {name: sorted(kept) if name == "filter" else kept for name, kept in found.items()}


EXPECTED = {
    "hop": [[2, 1], [3, 2], [1, 2], [1, 3], [2, 4], [1, 4], [1, 5], [1, 5]],
    "session": [["u", 3], ["u", 2]],
    "positions": [["u", 1], ["u", 5], ["u", 9]],
    "filter": [[0], [3]],
}


def test_a_rule_set_runs_queries_of_windows_over_a_table(tmp_path: Path) -> None:
    for name, text in RULES.items():
        (tmp_path / f"{name}.query").write_text(text)
    rules = ev.RuleSet(tmp_path, ts="ts", type="kind", partition_by=["user"])
    assert values(rules.run(table(EVENTS)).to_pylist()) == EXPECTED
    alone = ev.query(RULES["hop"], ts="ts", partition_by=["user"]).run(table(EVENTS))
    found = rules.rows(rules.run(table(EVENTS)), "hop")
    assert alone.select(["n", "top", "window_start"]).equals(found.select(["n", "top", "window_start"]))


def test_a_rule_set_runs_queries_of_windows_in_micro_batches() -> None:
    pytest.importorskip("pyspark")
    stream, rows = Stream(), []
    rows += stream.step(table(EVENTS[:2]), **RULES)
    amounts = table(EVENTS)
    for part in (amounts.slice(2, 2), amounts.slice(4)):
        rows += stream.step(part)
    rows += stream.step(table([(30, "X")], user="other"))
    rows += stream.step(None)
    assert values(rows) == EXPECTED


def test_a_rule_that_would_return_open_windows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "early.query").write_text("FROM e WITHIN 4 ms EMIT EVERY 1 ms RETURN count(*) AS n")
    rules = ev.RuleSet(tmp_path, ts="ts", partition_by=["user"])
    assert "a rule returns what is certain" in rules.check(table(EVENTS))["early"]
