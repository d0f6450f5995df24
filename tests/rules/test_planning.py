"""What a rule may be: which texts and options run together over one stream, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from eventide.engines.rules import plan_rule, share
from eventide.errors import EventideError

SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("kind", pa.string()),
        ("amount", pa.int32()),
        ("tags", pa.list_(pa.string())),
    ]
)
SHARED = share(SCHEMA, {"ts": "ts", "type": "kind", "partition_by": ["user"]})
SEQ = "PATTERN SEQ(A a, B b) WITHIN 5 minutes"
ROWS = (
    "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES count(*) AS n, FIRST(A.ts) AS since PATTERN (A B+) "
    "WITHIN INTERVAL '1' HOUR DEFINE A AS kind = 'A', B AS kind = 'B')"
)


def plan(text: str, options: str | None = None) -> Any:
    return plan_rule({"query": text, "options": options}, SHARED)


def problem(text: str, options: str | None = None) -> str:
    with pytest.raises(EventideError) as caught:
        plan(text, options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (f"{SEQ} RETURN a.user, b.amount", ["a_user", "b_amount"]),
        (
            "PATTERN SEQ(A a+, B b) WITHIN 5 minutes RETURN user, COUNT(*)",
            ["user", "count", "window_start", "window_end"],
        ),
        ("DEFINE X AS amount > 3, Y AS kind = 'B' PATTERN X meets Y WITHIN 1 hour RETURN user", ["user"]),
        (f"SELECT * FROM events {ROWS}", ["user", "n", "since"]),
        (f"SELECT m.n AS number, user FROM events {ROWS} AS m", ["number", "user"]),
        (f"{SEQ} PARTITION BY user, amount RETURN amount", ["amount"]),
        (f"{SEQ} OPTIONS (ts = 'ts') RETURN a.amount", ["a_amount"]),
    ],
)
def test_a_rule_returns_the_columns_that_it_names(text: str, columns: list[str]) -> None:
    assert [field.name for field in plan(text).fields] == columns


def test_matches_have_an_id_where_events_can_be_told_apart() -> None:
    assert plan(f"{SEQ} RETURN a.user").has_id
    assert plan(f"SELECT n FROM events {ROWS}").has_id
    assert not plan(f"{SEQ} RETURN a.tags").has_id


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"SELECT n + 1 AS m FROM events {ROWS}", "a rule returns columns of MATCH_RECOGNIZE, and n + 1 is not one"),
        (f"SELECT n FROM events {ROWS} WHERE n > 1", "and nothing around it"),
        (f"SELECT DISTINCT n FROM events {ROWS}", "and nothing around it"),
        (f"SELECT n FROM events {ROWS} LIMIT 3", "and nothing around it"),
        (f"SELECT n FROM (SELECT * FROM events) {ROWS}", "and nothing around it"),
        (f"WITH x AS (SELECT 1) SELECT n FROM events {ROWS}", "and nothing around it"),
        (f"SELECT n, n FROM events {ROWS}", "two columns are called 'n'"),
        ("SELECT 1", "a rule that is a SQL statement has one MATCH_RECOGNIZE"),
        (f"SELECT n FROM events {ROWS.replace('kind =', '(SELECT 1) = 1 AND kind =', 1)}", "cannot run a subquery"),
        (f"SELECT n FROM events {ROWS.replace('PARTITION BY user', '')}", "add PARTITION BY user"),
        (f"{SEQ} PARTITION BY kind", "add PARTITION BY user"),
        ("PATTERN SEQ(A a+, B b) WITHIN 5 minutes RETURN COUNT(*)", "return the partition columns too"),
        ("PATTERN SEQ(A a, B b)", "without a WITHIN clause every event stays relevant for ever"),
        (f"{SEQ} OPTIONS (allowed_lateness = '1 hour')", "a rule has no allowed_lateness of its own"),
        ("PATTERN SEQ(A a, B b) WHERE soundex(a.kind) = 'x' WITHIN 5 minutes", "rules cannot compute soundex(a.kind)"),
        (f"{SEQ} RETURN a.sum", "unknown column 'sum'"),
        ("", "the query is empty"),
    ],
)
def test_what_a_rule_cannot_be_is_said(text: str, said: str) -> None:
    assert said in problem(text)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("{", "the options are not JSON"),
        ("[]", "the options are not a JSON object"),
        ('{"ts": "other"}', "a rule has no ts of its own"),
        ('{"nope": 1}', "there is no option 'nope'"),
        ('{"origin": "first"}', "origin='first' needs all events"),
    ],
)
def test_what_options_of_a_rule_cannot_be_is_said(options: str, said: str) -> None:
    assert said in problem(SEQ, options)


def test_match_recognize_takes_its_own_options_only() -> None:
    assert "MATCH_RECOGNIZE has no option 'type'" in problem(f"SELECT n FROM events {ROWS}", '{"type": "kind"}')
    assert plan(f"SELECT n FROM events {ROWS}", '{"state_ttl": "1 day"}').has_id


def test_match_recognize_is_over_the_time_of_the_set() -> None:
    shared = share(pa.schema([*SCHEMA, ("seen", pa.timestamp("us", "UTC"))]), {"ts": "ts", "partition_by": ["user"]})
    with pytest.raises(EventideError, match="the rule's time is 'seen', that of the rule set is 'ts'"):
        plan_rule({"query": f"SELECT n FROM events {ROWS.replace('ORDER BY ts', 'ORDER BY seen')}"}, shared)


def test_rules_that_say_the_same_are_the_same() -> None:
    assert plan(SEQ).same_as(plan(SEQ.replace("5 minutes", "300  seconds") + " -- again"))
    assert not plan(SEQ).same_as(plan(SEQ, '{"max_matches_per_partition": 9}'))
    assert not plan(f"SELECT n FROM events {ROWS}").same_as(plan(f"SELECT n AS m FROM events {ROWS}"))


def test_a_rule_that_could_not_be_read_says_why() -> None:
    with pytest.raises(EventideError, match="the rule cannot be read: no such luck"):
        plan_rule({"query": "", "options": None, "unreadable": "no such luck"}, SHARED)
