"""`ev.RuleSet` on this machine: what it takes, what it returns, and what is wrong with which rule."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.engines.rule_files import make_reader
from eventide.engines.rule_rows import plain_values
from eventide.engines.rules import share
from eventide.engines.rules_run import run_bounded
from tests.rules.bucket import OPTIONS, SCHEMA, table

AB = "PATTERN SEQ(A a, B b) WITHIN 8 ms RETURN a.amount, b.amount, b.ts"


def rule_set(folder: Path, **rules: str) -> Any:
    for name, text in rules.items():
        (folder / f"{name}.query").write_text(text)
    return ev.RuleSet(folder, ts="ts", type="kind", partition_by=["user"])


def test_the_embedded_engine_runs_all_rules_and_reports_the_others(tmp_path: Path) -> None:
    rules = rule_set(tmp_path, ab=AB, ac=AB.replace("B b", "C b"), broken="PATTRN")
    events = table([(0, "A"), (1, "B"), (2, "C")])
    found = rules.run(events)
    assert found.column_names == ["rule", "detected_at", "match_id", "row", "problem"]
    assert found["rule"].to_pylist() == ["ab", "ac", "broken"]
    assert found["problem"].to_pylist()[:2] == [None, None] and "PATTRN" in found["problem"][2].as_py()
    alone = ev.query(AB, ts="ts", type="kind", partition_by=["user"], match_id=True).run(events)
    columns = ["a_amount", "b_amount", "b_ts", "detected_at", "match_id"]
    assert rules.rows(found, "ab").equals(alone.select(columns))
    assert rules.rows(found, "ab").num_rows == 1


def test_check_names_what_is_wrong_with_which_rule(tmp_path: Path) -> None:
    rules = rule_set(tmp_path, ab=AB, broken="PATTRN", unknown=AB.replace("b.ts", "b.sum"))
    problems = rules.check(SCHEMA)
    assert problems.keys() == {"broken", "unknown"}
    assert problems == rules.check(table([(0, "A")]))
    assert "unknown column 'sum'" in problems["unknown"]


def test_a_rule_that_fails_while_it_runs_leaves_the_others(tmp_path: Path) -> None:
    failing = AB.replace("WITHIN", "WHERE CAST(a.kind AS INT) < 1 WITHIN")
    found = rule_set(tmp_path, failing=failing, ab=AB).run(table([(0, "A"), (1, "B")]))
    assert [(row["rule"], row["problem"] is None) for row in found.to_pylist()] == [("ab", True), ("failing", False)]


def test_rules_together_over_one_table_find_and_report_what_they_do_one_by_one(tmp_path: Path) -> None:
    failing = AB.replace("WITHIN", "WHERE CAST(a.kind AS INT) < 1 WITHIN")
    rules = rule_set(tmp_path, failing=failing, ab=AB, broken="PATTRN")
    events = table([(0, "A"), (1, "B"), (3, "A"), (5, "B")])
    together = run_bounded(events, make_reader()(str(tmp_path), {}), share(SCHEMA, OPTIONS))
    assert pa.Table.from_batches(together).equals(rules.run(events))


def test_the_folder_is_read_at_each_run(tmp_path: Path) -> None:
    rules = rule_set(tmp_path)
    events = table([(0, "A"), (1, "B")])
    assert rules.run(events).num_rows == 0
    (tmp_path / "ab.query").write_text(AB)
    assert rules.run(events).num_rows == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "a rule set reads a folder or a table"),
        ({"folder": "x", "table": "y"}, "a rule set reads a folder or a table"),
        ({"table": "y"}, "a table of rules needs a session"),
        ({"folder": "x", "tz": "y"}, "a rule set has no option 'tz'"),
        ({"folder": "x", "state_ttl": "1 hour"}, "give it to a rule"),
        ({"folder": "x", "n_buckets": 0}, "n_buckets is a number from 1 on"),
        ({"folder": "x", "poll": "soon"}, "poll='soon' is not a duration"),
        ({"folder": "x", "allowed_lateness": "soon"}, "allowed_lateness='soon' is not a duration"),
    ],
)
def test_wrong_arguments_are_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ev.EventideError) as caught:
        ev.RuleSet(**given)
    assert said in str(caught.value)


def test_a_folder_or_a_rule_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ev.InputError, match="there is no folder"):
        ev.RuleSet(tmp_path / "none", ts="ts").run(table([(0, "A")]))
    rules = rule_set(tmp_path, ab=AB)
    with pytest.raises(ev.EventideError, match="there are no rows before a run"):
        rules.rows(None, "ab")
    found = rules.run(table([(0, "A")]))
    with pytest.raises(ev.InputError, match="there is no rule 'abc'"):
        rules.rows(found, "abc")


def test_columns_that_the_events_lack_are_said(tmp_path: Path) -> None:
    with pytest.raises(ev.EventideError, match="nobody"):
        ev.RuleSet(tmp_path, ts="ts", type="kind", partition_by=["nobody"]).run(table([(0, "A")]))


VALUES = {
    "text": (["a", None], pa.string()),
    "number": ([1.5, math.inf], pa.float64()),
    "decimal": ([Decimal("12345678901234567.89"), None], pa.decimal128(38, 2)),
    "flag": ([True, None], pa.bool_()),
    "day": ([dt.date(2024, 2, 29), None], pa.date32()),
    "at": ([dt.datetime(2024, 2, 29, 1, 2, 3, 4), None], pa.timestamp("us")),
    "bytes": ([b"\x00\xff", None], pa.binary()),
    "list": ([[1, None], None], pa.list_(pa.int64())),
    "struct": ([{"x": dt.date(2024, 1, 1), "y": None}, None], pa.struct([("x", pa.date32()), ("y", pa.string())])),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_every_type_come_back_from_json(tmp_path: Path, name: str) -> None:
    values, kind = VALUES[name]
    events = table([(0, "A"), (1, "A"), (2, "B")]).append_column("v", pa.array([*values, None], kind))
    rules = rule_set(tmp_path, ab="PATTERN SEQ(A a, B b) WITHIN 8 ms RETURN a.v")
    rows = rules.rows(rules.run(events), "ab")
    assert sorted(rows["a_v"].to_pylist(), key=repr) == sorted(values, key=repr)
    assert json.loads(rules.run(events)["row"][0].as_py()).keys() == {"a_v"}


def test_numbers_that_json_lacks_are_texts() -> None:
    assert plain_values(pa.array([math.inf, -math.inf, math.nan])) == ["Infinity", "-Infinity", "NaN"]
    assert plain_values(pa.array([1500], pa.duration("ms"))) == [1_500_000]
