"""What the owner of a rule set allows every rule: one that wants more is switched off, and the others go on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.engines.rule_limits import Limits
from eventide.engines.rules import plan_rule, share
from eventide.engines.rules_run import run_bounded
from eventide.families.events.sequence import SequenceOperator
from eventide.lang import deadline
from eventide.runtime.limit import UNLIMITED
from tests.few_steps import few_steps
from tests.rules.bucket import OPTIONS, SCHEMA, Stream, table

AB = "PATTERN SEQ(A a, B b) WITHIN 8 ms RETURN a.amount, b.amount"
MANY = "PATTERN A a+ WITHIN 1 hour RETURN a.amount"
LETTERS = [(i, "A") for i in range(12)] + [(12, "B")]


def rule_set(folder: Path, rules: dict[str, str], **limits: Any) -> Any:
    for name, text in rules.items():
        (folder / f"{name}.evq").write_text(text)
    return ev.RuleSet(folder, **OPTIONS, **limits)


def problems(found: pa.Table) -> dict[str, str]:
    pairs = zip(found["rule"].to_pylist(), found["problem"].to_pylist(), strict=True)
    return {name: problem for name, problem in pairs if problem is not None}


def limited(**limits: Any) -> Any:
    return share(SCHEMA, OPTIONS, Limits(**limits))


@pytest.mark.parametrize("own", ["", " OPTIONS (max_matches_per_partition = unlimited)"])
def test_a_rule_with_too_many_matches_is_a_problem_and_the_others_go_on(tmp_path: Path, own: str) -> None:
    rules = rule_set(tmp_path, {"ab": AB, "many": MANY + own}, max_matches_per_partition=500)
    found = rules.run(table(LETTERS))
    assert list(problems(found)) == ["many"]
    assert problems(found)["many"].startswith("the partition u has more than 500 matches")
    assert found["rule"].to_pylist().count("ab") == 7


@pytest.mark.parametrize(
    ("own", "owners", "expected"),
    [
        (None, None, None),
        ("7", None, 7),
        (None, 5, 5),
        ("3", 5, 3),
        ("7", 5, 5),
        ("unlimited", 5, 5),
        ("unlimited", None, UNLIMITED),
    ],
)
def test_a_rule_tightens_the_limit_and_never_loosens_it(own: str | None, owners: int | None, expected: Any) -> None:
    for text in (AB, MANY):
        written = {"query": text, "options": None if own is None else f'{{"max_matches_per_partition": "{own}"}}'}
        assert plan_rule(written, limited(max_matches=owners)).physical.spec.max_matches == expected


def test_the_limit_of_matches_is_no_matter_for_rules_that_return_none() -> None:
    rules = {
        "trend": "PATTERN A a+ WITHIN 1 hour RETURN user, COUNT(*) AS n",
        "situation": "DEFINE X AS kind = 'A', Y AS kind = 'B' PATTERN X meets Y WITHIN 1 second RETURN user",
    }
    for text in rules.values():
        plan_rule({"query": text, "options": None}, limited(max_matches=1))


def test_rows_that_take_too_much_memory_are_a_problem_of_their_rule(tmp_path: Path) -> None:
    rules = rule_set(tmp_path, {"ab": AB, "many": MANY}, memory_limit="50KB")
    found = rules.run(table(LETTERS))
    assert list(problems(found)) == ["many"]
    assert problems(found)["many"].startswith("the result does not fit into memory")
    assert found["rule"].to_pylist().count("many") == 1


@pytest.fixture
def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any, block: Any, ordered: Any, newer_than_us: int) -> Iterator[Any]:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr(SequenceOperator, "_match", fail)


def test_a_rule_that_exhausts_memory_ends_no_other(no_memory: None, tmp_path: Path) -> None:
    for found in (
        rule_set(tmp_path, {"ab": AB, "single": "PATTERN A a+ WITHIN 1 ms"}).run(table(LETTERS)),
        pa.Table.from_batches(
            run_bounded(
                table(LETTERS),
                {name: {"query": text} for name, text in {"ab": AB, "single": "PATTERN A a+ WITHIN 1 ms"}.items()},
                limited(),
            )
        ),
    ):
        assert "needs more memory than there is" in problems(found)["ab"]
        assert found["rule"].to_pylist().count("single") == 12


def test_on_a_stream_a_rule_that_exhausts_memory_is_switched_off(no_memory: None) -> None:
    stream = Stream()
    found = stream.step(table([*LETTERS, (40, "X")]), ab=AB, single="PATTERN A a+ WITHIN 1 ms RETURN a.amount")
    assert {row["rule"] for row in found} == {"single"}
    assert [(failure["rule"], failure["problem"]) for failure in stream.told] == [
        ("ab", "the rule needs more memory than there is")
    ]
    assert not [key for key in stream.segments if key[0] == "ab"]


def stream_with(**limits: Any) -> Stream:
    stream = Stream()
    stream.share(limited(**limits))
    return stream


def test_on_a_stream_the_limits_hold_for_state_and_matches() -> None:
    stream = stream_with(memory_bytes=20_000)
    long = "PATTERN SEQ(A a, C c) WITHIN 1 hour RETURN a.amount"
    assert [row["rule"] for row in stream.step(table([(0, "A"), (1, "B")]), ab=AB, long=long)] == ["ab"]
    stream.step(table([(2 + i, "A") for i in range(5_000)]))
    assert [failure["rule"] for failure in stream.told] == ["long"]
    assert "and the rule set allows 20.0 KB" in stream.told[0]["problem"]
    stream = stream_with(max_matches=3)
    stream.step(table([*LETTERS, (40, "X")]), many=MANY, ab=AB)
    assert [failure["rule"] for failure in stream.told] == ["ab", "many"]


def test_over_bounded_events_the_limit_of_memory_holds_for_what_a_rule_holds() -> None:
    rules = {"many": {"query": MANY}, "none": {"query": MANY.replace("A a", "Z a")}}
    found = pa.Table.from_batches(run_bounded(table(LETTERS), rules, limited(memory_bytes=100)))
    assert list(problems(found)) == ["many"]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock is a second later."""
    times = iter(range(10**9))
    monkeypatch.setattr(deadline.time, "thread_time", lambda: float(next(times)))


def test_a_rule_that_takes_too_long_to_plan_is_a_problem(slow: None, tmp_path: Path) -> None:
    long = AB.replace("WITHIN", f"WHERE {' OR '.join(f'a.amount = {i}' for i in range(40))} WITHIN")
    rules = rule_set(tmp_path, {"ab": AB, "long": long}, planning_limit="90 seconds")
    assert list(rules.check(table(LETTERS))) == ["long"]
    found = rules.run(table(LETTERS))
    assert problems(found)["long"].startswith("planning the query takes more than 90 seconds")
    assert "ab" not in problems(found)


def test_on_a_stream_all_buckets_hear_of_a_rule_that_takes_too_long_to_plan() -> None:
    stream = stream_with(planning_seconds=0.000001)
    assert stream.step(table(LETTERS), ab=AB) == []
    assert [failure["rule"] for failure in stream.told] == ["ab"]
    found = stream.step(None, ab={"query": AB, "options": None, "failed": stream.told[0]["problem"]})
    assert [row["problem"].split("\n")[0] for row in found] == ["planning the query takes more than 1e-06 seconds"]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_matches_per_partition": 0}, "max_matches_per_partition takes a number from 1 on, found 0"),
        ({"memory_limit": "much"}, "memory_limit='much' is not a size"),
        ({"planning_limit": "soon"}, "planning_limit='soon' is not a duration"),
    ],
)
def test_limits_that_say_nothing_are_refused(tmp_path: Path, limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ev.EventideError) as caught:
        ev.RuleSet(tmp_path, **limits)
    assert caught.value.message == message


OTHERS = {
    "rows": "SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES count(*) AS n PATTERN (A)"
    " DEFINE A AS kind = 'A')",
    "situations": "PARTITION BY user DEFINE H AS kind = 'A', L AS kind = 'B' PATTERN H before|meets L WITHIN 1 hour",
}
TURNS = [(i, "AB"[i % 2]) for i in range(12)]


@pytest.mark.parametrize("family", OTHERS)
def test_the_limit_of_matches_holds_in_every_family(tmp_path: Path, family: str) -> None:
    (tmp_path / f"{family}.{'sql' if family == 'rows' else 'evq'}").write_text(OTHERS[family])
    events = table(TURNS)
    assert not problems(ev.RuleSet(tmp_path, **OPTIONS, max_matches_per_partition=100).run(events))
    found = ev.RuleSet(tmp_path, **OPTIONS, max_matches_per_partition=3).run(events)
    assert problems(found)[family].startswith("the partition u has more than 3 matches")
    in_a_bucket = run_bounded(events, {family: {"query": OTHERS[family]}}, limited(max_matches=3))
    assert list(problems(pa.Table.from_batches(in_a_bucket))) == [family]
    stream = stream_with(max_matches=3)
    stream.step(events, **{family: OTHERS[family]})
    stream.step(table([(40, "X")]))
    assert [failure["rule"] for failure in stream.told] == [family]


# --- steps of a search ----------------------------------------------------------------------------------------

ENDLESS = {
    "pattern": "PATTERN A a+ WHERE SUM(a.amount) < 0 WITHIN 1 hour RETURN user",
    "rows": (
        "SELECT user FROM events MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts PATTERN ((A|C)+ B) WITHIN INTERVAL 1 "
        "HOUR DEFINE A AS amount >= 0, C AS SUM(C.amount) >= 0, B AS amount < 0)"
    ),
}


def test_a_rule_that_searches_for_ever_is_a_problem_and_the_others_go_on(tmp_path: Path) -> None:
    rules = rule_set(tmp_path, {"ab": AB, "rows": "", **ENDLESS}, max_steps_per_partition=2_000)
    (tmp_path / "rows.evq").rename(tmp_path / "rows.sql")
    with few_steps(100):
        found = rules.run(table(LETTERS))
    assert sorted(problems(found)) == ["pattern", "rows"]
    for problem in problems(found).values():
        assert problem.startswith("the search in the partition u takes more than 2,000 steps")
    assert found["rule"].to_pylist().count("ab") == 7


def test_on_a_stream_a_rule_that_searches_for_ever_is_switched_off() -> None:
    stream = stream_with(max_steps=2_000)
    with few_steps(100):
        found = stream.step(table([*LETTERS, (40, "X")]), ab=AB, **ENDLESS)
    assert {row["rule"] for row in found} == {"ab"}
    assert sorted(failure["rule"] for failure in stream.told) == ["pattern", "rows"]


@pytest.mark.parametrize(
    ("own", "owners", "expected"), [(None, 5, 5), ("3", 5, 3), ("unlimited", 5, 5), ("7", None, 7)]
)
def test_a_rule_never_loosens_the_limit_of_steps(own: str | None, owners: int | None, expected: int) -> None:
    for text in (AB, *ENDLESS.values()):
        written = {"query": text, "options": None if own is None else f'{{"max_steps_per_partition": "{own}"}}'}
        assert plan_rule(written, limited(max_steps=owners)).physical.spec.max_steps == expected
