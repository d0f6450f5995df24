"""One query of every family, over the same events: how users run it, and its plan for micro-batches without Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import eventide as ev
from eventide.families.intervals.lower import Deriving, Runs, Spans
from eventide.families.registry import family_named
from eventide.plan.options import Options
from eventide.plan.physical import Physical
from tests.engines.plans import SECOND_US, make_events

LATENESS_US = 5 * SECOND_US
LATENESS = "5 seconds"


@dataclass(frozen=True)
class Family:
    """`run` takes a table or a DataFrame, `plan` a schema; `keep` says which rows of the plan `run` gives."""

    name: str
    run: Callable[[Any], Any]
    plan: Callable[[pa.Schema], Physical]
    keep: Callable[[dict[str, Any]], bool] = lambda row: True
    columns: tuple[str, ...] | None = None  # that are compared; None: all

    def __repr__(self) -> str:
        return self.name


def all_events(n: int, seed: int) -> pa.Table:
    """Mixed users, and one event long after all others, so that the final watermark decides every row."""
    last = pa.array([1_900_000_000 * SECOND_US], pa.int64()).cast(pa.timestamp("us", "UTC"))
    end = pa.table({"user": ["end"], "ts": last, "kind": ["X"], "amount": pa.array([0], pa.int32())})
    return pa.concat_tables([make_events(n, seed=seed, n_users=3, null_users=True), end])


def _query(name: str, text: str, **options: Any) -> Family:
    query = ev.query(text, ts="ts", allowed_lateness=LATENESS, **options)
    return Family(name, query.run, query.plan)


def _pattern(name: str, text: str) -> Family:
    return _query(name, text, type="kind", partition_by="user", match_id=True)


def _patterns(strategy: str) -> list[Family]:
    plain = f"PATTERN SEQ(A a, B b, C c) SEMANTICS {strategy} WITHIN 20 seconds RETURN user, a.ts AS a, c.amount AS x"
    repeated = (
        f"PATTERN SEQ(A a, NOT X x, B b+, C c) WHERE coalesce(c.amount, 0) > coalesce(a.amount, 0) "
        f"SEMANTICS {strategy} WITHIN 12 seconds RETURN user, a.ts AS a, b.ts AS bs, c.ts AS c"
    )
    trailing = f"PATTERN SEQ(A a, B b, NOT C) SEMANTICS {strategy} WITHIN 12 seconds RETURN user, a.ts AS a, b.ts AS b"
    return [
        _pattern(f"pattern {strategy}", plain),
        _pattern(f"Kleene and NOT {strategy}", repeated),
        _pattern(f"NOT at the end {strategy}", trailing),
    ]


RISES = """PARTITION BY user ORDER BY ts, amount
    MEASURES MATCH_NUMBER() AS m, A.ts AS first_ts, count(B.*) AS n, max(B.amount) AS top
    PATTERN (A B+ C) WITHIN INTERVAL '30' SECOND
    DEFINE A AS kind = 'A', B AS kind <> 'C', C AS PREV(kind) <> 'A'"""
STATEMENT = f"SELECT user, first_ts, n, top, n * 2 AS twice FROM events MATCH_RECOGNIZE ({RISES}) WHERE m > 1"


def _recognized(name: str, **given: Any) -> Family:
    made = ev.match_recognize(
        partition_by="user", order_by=["ts", "amount"], allowed_lateness=LATENESS, match_id=True, **given
    )
    return Family(name, made, lambda schema: made._plan(made.options, schema, on_stream=True))


def _detected(name: str, output: str) -> Family:
    pattern = (
        ev.Pattern.begin("a", "kind = 'A'")
        .followed_by("b", "kind = 'B' AND coalesce(amount, 0) > coalesce(a.amount, 0)")
        .one_or_more()
        .not_followed_by("x", "kind = 'X'")
        .followed_by("c", "kind = 'C'")
        .within("20 seconds")
    )
    select = {"n": "count(b.*)", "last": "c.amount"}

    def run(events: Any) -> Any:
        options: dict[str, Any] = {"partition_by": "user", "ts": "ts", "skip": "past_last", "select": select}
        return getattr(ev.detect(events, pattern, allowed_lateness=LATENESS, **options), output)

    def plan(schema: pa.Schema) -> Physical:
        options = Options(partition_by=("user",), ts="ts", skip="past_last", select=tuple(select.items()))
        return family_named("builder").prepare(pattern.tree, options, schema, on_stream=True)

    columns = ("match_id", "user", "match_start", "match_end", "n", "last")
    return Family(name, run, plan, lambda row: row["timed_out"] == (output == "timeouts"), columns)


def _situations(name: str, emit: str = "", **options: Any) -> Family:
    text = f"""DEFINE A AS coalesce(amount, 0) % 3 = 1 FOR AT LEAST 1 second, B AS kind IN ('B', 'C'), X AS kind = 'X'
        PATTERN A overlaps|during|before|meets B AND B before|meets|contains X WITHIN 40 seconds {emit}
        RETURN user, start(A) AS a, end(A) AS ae, start(B) AS b, end(B) AS be, count(A.*) AS n, max(B.amount) AS top"""
    return _query(name, text, partition_by="user", **options)


def _intervals(name: str, form: Runs | Spans, run: Callable[[Any, dict[str, Any]], Any]) -> Family:
    values = (("n", "count(kind)"), ("top", "max(amount)"))
    options = Options.of(ts="ts", partition_by="user", allowed_lateness=LATENESS)
    given = {"ts": "ts", "partition_by": "user", "allowed_lateness": LATENESS, "value": dict(values)}
    return Family(
        name,
        lambda events: run(events, given),
        lambda schema: family_named("intervals").prepare(Deriving(form, values), options, schema),
    )


FAMILIES = [
    *(family for strategy in ("any", "next", "contiguous") for family in _patterns(strategy)),
    _pattern(
        "windows",
        "PATTERN SEQ(A a, C c) SEMANTICS any WITHIN 10 seconds SLIDE 4 seconds RETURN user, a.ts AS a, c.ts AS c",
    ),
    _query(
        "trends",
        "PATTERN SEQ(A a+, C c) SEMANTICS any WITHIN 20 seconds SLIDE 10 seconds "
        "RETURN user, COUNT(*) AS n, SUM(a.amount) AS total, MAX(c.amount) AS top",
        type="kind",
        partition_by="user",
    ),
    _recognized(
        "MATCH_RECOGNIZE, one row",
        pattern="A B+ C",
        within="30 seconds",
        define={"A": "kind = 'A'", "B": "kind <> 'C'", "C": "PREV(kind) <> 'A'"},
        measures={"m": "MATCH_NUMBER()", "first_ts": "A.ts", "n": "count(B.*)", "top": "max(B.amount)"},
    ),
    _recognized(
        "MATCH_RECOGNIZE, all rows",
        pattern="A (B | C)+",
        within="10 seconds",
        rows="all",
        after_match="skip to next row",
        define={"A": "kind = 'A'", "B": "kind = 'B'", "C": "kind = 'C' AND coalesce(amount, 1) % 2 = 1"},
        measures={"m": "MATCH_NUMBER()", "label": "CLASSIFIER()", "n": "count(B.*)"},
    ),
    _detected("builder matches", "matches"),
    _detected("builder timeouts", "timeouts"),
    _situations("situations"),
    _situations("situations with what is possible", possible=True),
    _situations("complete situations", "EMIT ON COMPLETE"),
    _intervals(
        "intervals of runs",
        Runs("kind <> 'X' AND coalesce(amount, 0) >= coalesce(prev(amount), 0)", 2, None, 8 * SECOND_US),
        lambda events, given: ev.intervals.homogeneous(
            events,
            "kind <> 'X' AND coalesce(amount, 0) >= coalesce(prev(amount), 0)",
            occurrences=(2, None),
            within="8 seconds",
            **given,
        ),
    ),
    _intervals(
        "intervals of spans",
        Spans("kind = 'A'", "kind = 'C'", ("kind = 'X'",)),
        lambda events, given: ev.intervals.heterogeneous(
            events, start="kind = 'A'", end="kind = 'C'", exclude=["kind = 'X'"], **given
        ),
    ),
]


def _trends(name: str, text: str) -> Family:
    return _query(f"trends {name}", text, type="kind", partition_by="user")


# Other operators and other forms of state. Their state is kept as fixtures; on Spark the families above stand for them.
FORMS = [
    _pattern(
        "OR inside",
        "PATTERN SEQ(A a, OR(B b, X x), C c) SEMANTICS any WITHIN 20 seconds RETURN user, a.ts AS a, c.ts AS c",
    ),
    _pattern(
        "OR of branches",
        "PATTERN OR(SEQ(A a, B b), SEQ(C c, X x)) SEMANTICS next WITHIN 20 seconds RETURN user, a.ts AS a, c.ts AS c",
    ),
    _pattern(
        "AND inside",
        "PATTERN SEQ(AND(A a, B b), C c) SEMANTICS any WITHIN 12 seconds RETURN user, a.ts AS a, b.ts AS b, c.ts AS c",
    ),
    _pattern(
        "AND of sides",
        "PATTERN AND(A a, SEQ(B b, C c)) SEMANTICS any WITHIN 12 seconds RETURN user, a.ts AS a, c.ts AS c",
    ),
    _pattern(
        "an aggregate in WHERE",
        "PATTERN SEQ(A a, B b+, C c) WHERE SUM(b.amount) > 10 SEMANTICS next WITHIN 20 seconds "
        "RETURN user, a.ts AS a, size(b.ts) AS n",
    ),
    _trends(
        "next",
        "PATTERN SEQ(A a+, B b) SEMANTICS next WITHIN 20 seconds SLIDE 10 seconds "
        "RETURN user, COUNT(*) AS n, MIN(a.amount) AS least, AVG(a.amount) AS mean",
    ),
    _trends(
        "contiguous",
        "PATTERN OR(A a, B b)+ SEMANTICS contiguous WITHIN 20 seconds SLIDE 10 seconds RETURN user, COUNT(*) AS n",
    ),
    _trends(
        "with NOT",
        "PATTERN SEQ(A a+, NOT X, C c) SEMANTICS any WITHIN 20 seconds SLIDE 5 seconds "
        "RETURN user, COUNT(*) AS n, COUNT(a) AS m",
    ),
    _trends(
        "that rise",
        "PATTERN SEQ(A a+, C c) WHERE a.amount < NEXT(a).amount SEMANTICS any WITHIN 20 seconds SLIDE 10 seconds "
        "RETURN user, COUNT(*) AS n, SUM(a.amount) AS total",
    ),
    _trends(
        "of AND",
        "PATTERN AND(A a+, B b+) SEMANTICS any WITHIN 10 seconds SLIDE 5 seconds RETURN user, COUNT(*) AS n",
    ),
    _trends("without SLIDE", "PATTERN SEQ(A a+, C c) SEMANTICS any WITHIN 10 seconds RETURN user, COUNT(*) AS n"),
    _recognized(
        "MATCH_RECOGNIZE, skip to a label",
        pattern="PERMUTE(A, B) C*? X",
        within="20 seconds",
        after_match="skip to last X",
        define={"A": "kind = 'A'", "B": "kind = 'B'", "X": "kind <> 'B' AND count(*) > 2"},
        measures={"m": "MATCH_NUMBER()", "last": "LAST(ts)", "n": "count(C.*)"},
    ),
    _intervals(
        "intervals of a threshold",
        Runs("coalesce(amount, 0) > 2", 1, None, None),
        lambda events, given: ev.intervals.threshold(events, "coalesce(amount, 0) > 2", **given),
    ),
]
