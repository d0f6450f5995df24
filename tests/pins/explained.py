"""One query of every family and what `explain` says of it, for each form of input that it takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import eventide as ev

US = pa.timestamp("us", "UTC")
START_US = 1_700_000_000_000_000
OPTIONS: dict[str, Any] = {"ts": "ts", "type": "kind", "partition_by": "user"}
HOW: dict[str, Any] = {"ts": "ts", "partition_by": "user"}
Explain = Callable[..., str]


def events() -> pa.Table:
    kinds = ["A", "B", "A", "C", "X", "B", "C", "A"]
    times = [START_US + 1_000_000 * i for i in range(len(kinds))]
    return pa.table(
        {
            "user": ["u", "v"] * 4,
            "ts": pa.array(times, pa.int64()).cast(US),
            "kind": kinds,
            "amount": pa.array(range(len(kinds)), pa.int32()),
        }
    )


def intervals() -> pa.Table:
    start = pa.array([START_US, START_US + 5_000_000], pa.int64()).cast(US)
    end = pa.array([START_US + 3_000_000, START_US + 6_000_000], pa.int64()).cast(US)
    return pa.table({"interval_start": start, "interval_end": end, "user": ["u", "u"]})


def _query(text: str, **options: Any) -> Explain:
    return lambda given, **how: ev.query(text, **(options or OPTIONS)).explain(given, **how)


def _recognized(**clauses: Any) -> Explain:
    made = ev.match_recognize(partition_by="user", order_by="ts", **clauses)
    return lambda given, **how: made.explain(given, **how)


def _statement(text: str) -> Explain:
    return lambda given, **how: ev.explain_sql(text, events=given, **how)


def _intervals(kind: str, *conditions: Any, **options: Any) -> Explain:
    derive = getattr(ev.intervals, kind)
    return lambda given, **how: derive(*conditions, **HOW, **options).explain(given, **how)


QUERIES: dict[str, Explain] = {
    "SEQ, any": _query("PATTERN SEQ(A a, B b, C c) WHERE a.amount < c.amount WITHIN 20 seconds RETURN user, a.ts AS a"),
    "SEQ, next": _query(
        "PATTERN SEQ(A a, B b) SEMANTICS next WITHIN 20 seconds RETURN user, b.amount - a.amount AS more"
    ),
    "SEQ, contiguous, no bound": _query("PATTERN SEQ(A a, B b) SEMANTICS contiguous", type="kind", ts="ts"),
    "Kleene": _query(
        "PATTERN SEQ(A a, B b+, C c) WHERE b.amount < NEXT(b).amount AND SUM(b.amount) > 3 SEMANTICS next "
        "WITHIN 20 seconds RETURN user, b.ts AS bs"
    ),
    "NOT": _query("PATTERN SEQ(A a, NOT X x, C c) WHERE x.amount = a.amount WITHIN 20 seconds RETURN user, a.ts AS a"),
    "NOT at the end": _query("PATTERN SEQ(A a, NOT C) WITHIN 20 seconds RETURN user, a.ts AS a"),
    "OR": _query("PATTERN OR(SEQ(A a, B b), C c) WITHIN 20 seconds RETURN user, a.ts AS a, c.ts AS c"),
    "AND": _query("PATTERN SEQ(AND(A a, B b), C c) WITHIN 20 seconds RETURN user, a.ts AS a, b.ts AS b"),
    "windows": _query("PATTERN SEQ(A a, C c) WITHIN 10 seconds SLIDE 5 seconds RETURN user, a.ts AS a, c.ts AS c"),
    "DEFINE": _query(
        "PATTERN SEQ(Low a, High b) DEFINE Low AS amount < 3, High AS amount > 5 WITHIN 20 seconds "
        "RETURN user, b.ts AS b",
        **HOW,
    ),
    "trends, any": _query(
        "PATTERN SEQ(A a+, C c) WITHIN 20 seconds SLIDE 10 seconds RETURN user, COUNT(*) AS n, SUM(a.amount) AS total"
    ),
    "trends, next": _query(
        "PATTERN SEQ(A a+, B b) SEMANTICS next WITHIN 20 seconds SLIDE 10 seconds RETURN user, COUNT(*), AVG(a.amount)"
    ),
    "trends, contiguous": _query("PATTERN OR(A a, B b)+ SEMANTICS contiguous RETURN user, COUNT(*), MAX(a.amount)"),
    "trends with NOT": _query("PATTERN SEQ(A a+, NOT X, C c) WITHIN 20 seconds SLIDE 5 seconds RETURN user, COUNT(*)"),
    "trends that rise": _query(
        "PATTERN SEQ(A a+, C c) WHERE a.amount < NEXT(a).amount WITHIN 20 seconds SLIDE 10 seconds "
        "RETURN user, COUNT(*)"
    ),
    "trends of AND": _query("PATTERN AND(A a+, B b+) WITHIN 10 seconds SLIDE 5 seconds RETURN user, COUNT(*)"),
    "trends over events": _query("PATTERN SEQ(A a+, C c) WITHIN 6 EVENTS SLIDE 3 EVENTS RETURN user, COUNT(*)"),
    "MATCH_RECOGNIZE, one row": _recognized(
        pattern="A B+ C",
        within="30 seconds",
        define={"A": "kind = 'A'", "B": "amount > PREV(amount)", "C": "kind = 'C' AND amount > avg(B.amount)"},
        measures={"n": "count(B.*)", "first_ts": "A.ts"},
    ),
    "MATCH_RECOGNIZE, all rows": _recognized(
        pattern="PERMUTE(A, B) {- C*? -} X",
        rows="all",
        after_match="skip to next row",
        define={"A": "kind = 'A'", "B": "kind = 'B'"},
        measures={"m": "MATCH_NUMBER()", "label": "CLASSIFIER()"},
    ),
    "MATCH_RECOGNIZE in SQL": _statement(
        "SELECT user, n FROM events MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES count(*) AS n "
        "PATTERN (A B*) WITHIN INTERVAL '30' SECOND DEFINE B AS amount > PREV(amount)) AS m WHERE n > 1"
    ),
    "situations": _query(
        "DEFINE P AS amount > 3 FOR AT LEAST 1 second, Q AS kind IN ('B', 'C') PATTERN P overlaps|during|before Q "
        "WITHIN 40 seconds RETURN user, start(P) AS p, end(Q) AS q, max(P.amount) AS top",
        **HOW,
    ),
    "situations, complete": _query(
        "DEFINE P AS amount > 3, Q AS kind = 'C', R AS kind = 'X' PATTERN P meets Q AND Q before R WITHIN 40 seconds "
        "EMIT ON COMPLETE RETURN user, start(P) AS p",
        **HOW,
    ),
    "intervals, homogeneous": _intervals(
        "homogeneous", "amount >= prev(amount)", occurrences=(2, 5), within="5 seconds", value={"top": "max(amount)"}
    ),
    "intervals, threshold": _intervals("threshold", "amount >= 3", value="count(kind)"),
    "intervals, aggregate": _intervals("aggregate", "avg(amount) > 3"),
    "intervals, delta": _intervals("delta", "amount", 2),
    "intervals, boundary": _intervals("boundary", "amount", 3),
    "intervals, heterogeneous": _intervals(
        "heterogeneous", start="kind = 'A'", end="kind = 'C'", exclude=["kind = 'X'"], value="max(amount)"
    ),
}
RELATED: dict[str, dict[str, Any]] = {
    "allen, one relation": {"relations": "during", "within": "1 hour", "partition_by": "user"},
    "allen, several": {"relations": ["before", "meets"], "within": "10 seconds"},
}
JOINED = {
    "join": "FROM a JOIN b ON a.user = b.user AND a.amount < b.amount WITHIN 10 seconds RETURN a.user, b.amount",
    "join, as of": "FROM a LEFT ASOF NEAREST JOIN b ON a.user = b.user WITHIN 10 seconds WHERE b.kind = 'A' RETURN a.*",
}
# A statement is explained of bounded tables.
NOT_OF_STREAMS = ("MATCH_RECOGNIZE in SQL",)
PATTERNS: dict[str, ev.Pattern] = {
    "builder": ev.Pattern.begin("a", "kind = 'A'")
    .followed_by("b", "kind = 'B' AND amount > a.amount")
    .one_or_more()
    .not_followed_by("x", "kind = 'X'")
    .followed_by_any("c", "kind = 'C'")
    .within("20 seconds"),
    "builder, a group": ev.Pattern.begin("a", "kind = 'A'")
    .next(ev.Pattern.begin("b", "kind = 'B'").next("c", "kind = 'C'").optional())
    .times(2, 3),
}


def in_this_process(folder: Path) -> dict[str, list[str]]:
    """Of a table, of a path, of a path that Spark is to read, and of nothing."""
    pq.write_table(events(), folder / "events.parquet")
    pq.write_table(intervals(), folder / "intervals.parquet")
    found: dict[str, Any] = {}
    for name, explain in QUERIES.items():
        found[f"{name}: table"] = explain(events())
        found[f"{name}: path"] = explain(str(folder / "events.parquet"))
        if _is_query(name):
            found[f"{name}: nothing"] = explain(None)
            found[f"{name}: path on Spark"] = explain(str(folder / "events.parquet"), engine="spark")
    for name, options in RELATED.items():
        found[f"{name}: table"] = _related(intervals(), intervals(), options)
    for name, text in JOINED.items():
        found[f"{name}: table"] = ev.query(text).explain(a=events(), b=events())
    for name, pattern in PATTERNS.items():
        found[f"{name}: nothing"] = pattern.explain()
        found[f"{name}: table"] = ev.detect(pattern, **HOW).explain(events())
    return _lines(found, folder)


def on_spark(spark: Any, folder: Path) -> dict[str, list[str]]:
    """Of a DataFrame, of a stream, and of a path where that needs a session."""
    (folder / "events").mkdir()
    (folder / "intervals").mkdir()
    pq.write_table(events(), folder / "events" / "events.parquet")
    pq.write_table(intervals(), folder / "intervals" / "intervals.parquet")
    frame, pairs = spark.read.parquet(str(folder / "events")), spark.read.parquet(str(folder / "intervals"))
    stream = spark.readStream.schema(frame.schema).parquet(str(folder / "events"))
    streamed = spark.readStream.schema(pairs.schema).parquet(str(folder / "intervals"))
    found: dict[str, Any] = {}
    for name, explain in QUERIES.items():
        found[f"{name}: DataFrame"] = explain(frame)
        if name not in NOT_OF_STREAMS:
            found[f"{name}: stream"] = _told(lambda explain=explain: explain(stream))
        if name.startswith("intervals"):
            found[f"{name}: path on Spark"] = explain(str(folder / "events"), engine="spark", spark=spark)
    for name, options in RELATED.items():
        found[f"{name}: DataFrame"] = _related(pairs, pairs, options)
        found[f"{name}: stream"] = _told(lambda options=options: _related(streamed, streamed, options))
    return _lines(found, folder)


def _is_query(name: str) -> bool:
    return not name.startswith(("MATCH_RECOGNIZE", "intervals"))


def _related(left: Any, right: Any, options: dict[str, Any]) -> str:
    others = {name: value for name, value in options.items() if name != "relations"}
    return ev.allen(options["relations"], **others).explain(left=left, right=right)


def _told(explain: Callable[[], str]) -> str:
    """What a stream refuses, it refuses here."""
    try:
        return explain()
    except ev.EventideError as error:
        return str(error)


def _lines(found: dict[str, str], folder: Path) -> dict[str, list[str]]:
    return {name: text.replace(str(folder), "FOLDER").splitlines() for name, text in found.items()}
