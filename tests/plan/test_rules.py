"""Rewrite rules by fixture: a pattern in, a pattern out; and the invariants that hold after every rule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp

import eventide as ev
from eventide.families.registry import family_named
from eventide.lang import Scalar, parse, write
from eventide.lang.rows import parse_clause
from eventide.lang.tree import Seq, Step
from eventide.plan import rules
from eventide.plan.bind import bind
from eventide.plan.logical import Match
from eventide.plan.options import Options
from eventide.plan.rules import check_plan, rewrite
from eventide.plan.rules.flatten_pattern import flatten_pattern
from tests.lang.corpus import read_pairs
from tests.plan.schema import SCHEMA

FLATTEN = read_pairs("../plan/flatten_pattern.txt")


def bound(text: str) -> Match:
    query = ev.query(text)
    return bind(query.tree, query.options, SCHEMA)


@pytest.mark.parametrize(("pattern", "expected"), FLATTEN, ids=[pattern for pattern, _ in FLATTEN])
def test_flatten_pattern(pattern: str, expected: str) -> None:
    flat = flatten_pattern(bound(pattern))
    assert write(replace(parse(pattern), pattern=flat.pattern)) == expected
    assert flatten_pattern(flat) == flat


def test_rewrite_applies_the_rules() -> None:
    assert rewrite(bound("PATTERN SEQ(SEQ(A, B), C)")).pattern == parse("PATTERN SEQ(A, B, C)").pattern


def test_a_rule_that_breaks_an_invariant_fails_every_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "RULES", (flatten_pattern, _with_type))
    with pytest.raises(AssertionError, match="event types differ"):
        ev.query("PATTERN SEQ(A, B)").plan(SCHEMA)


def test_a_rule_for_another_kind_of_node_leaves_a_plan_alone() -> None:
    node = family_named("rows").bind(parse_clause("ORDER BY ts PATTERN (A B)"), Options(), SCHEMA)
    applied: list[str] = []
    assert rewrite(node, applied) is node and not applied


def test_a_flat_pattern_returns_what_the_nested_one_does() -> None:
    events = [{"ts": i, "type": kind, "n": i} for i, kind in enumerate("AABCBC")]
    rows = [
        ev.query(f"PATTERN {pattern} RETURN A.n, C.n", ts_unit="s").run(events).to_pylist()
        for pattern in ("SEQ(A, B, C)", "SEQ(SEQ(A), SEQ(B{1}, ITER(C, 1)))")
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 6


def _with_pattern(plan: Match) -> Match:
    return replace(plan, pattern=Seq((Step("A", "A"), Step("X", "X"))))


def _with_type(plan: Match) -> Match:
    return replace(plan, conditions={name: c for name, c in plan.conditions.items() if name != "A"})


def _with_symbol(plan: Match) -> Match:
    return replace(plan, conjuncts=(Scalar(exp.column("price", "X"), ""),))


def _with_column(plan: Match) -> Match:
    return replace(plan, conjuncts=(Scalar(exp.column("prise", "A"), ""),))


def _with_time(plan: Match) -> Match:
    return replace(plan, input=replace(plan.input, ts="time"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_with_pattern, "symbols differ from pattern"),
        (_with_type, "event types differ from their conditions"),
        (_with_symbol, "unknown symbol in"),
        (_with_column, "unknown column in"),
        (_with_time, "unknown column 'time'"),
    ],
)
def test_a_rule_that_damages_the_plan_is_found_out(damage: object, message: str) -> None:
    plan = bound("PATTERN SEQ(A, B) WHERE A.price > 1 RETURN B.price")
    check_plan(plan)
    assert callable(damage)
    with pytest.raises(AssertionError, match=message):
        check_plan(damage(plan))
