"""The rules of examples/rules.py do what it says, over its events and without Spark."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pyarrow as pa

import eventide as ev

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "rules.py"


def test_the_rules_report_one_mistake_and_find_what_was_put_in(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("rules_example", SCRIPT)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    rules = ev.RuleSet(tmp_path, **example.OPTIONS)
    events = pa.concat_tables([example.events(0), example.events(3600)])
    example.write_rules(tmp_path, example.AT_FIRST)
    assert list(rules.check(events)) == ["late_pay"]
    example.write_rules(tmp_path, example.LATER)
    assert rules.check(events) == {}
    found = rules.run(events)
    assert sorted(found["rule"].to_pylist()) == ["late_pay"] * 2 + ["refund"] * 2 + ["rising"] * 2
    assert (
        rules.rows(found, "rising").drop_columns("match_id").to_pylist()
        == [{"user": "bob", "first_amount": 15.0, "last_amount": 25.0}] * 2
    )
