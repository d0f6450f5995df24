from __future__ import annotations

from contextlib import nullcontext

import pyarrow as pa
import pytest

import eventide as ev
from eventide.plan.streams import for_stream
from tests.failing import error_of
from tests.lang.corpus import read_pairs
from tests.plan.schema import SCHEMA

NO_COLUMNS = "needs the events' columns: pass the events to explain"
EXPLAINED = read_pairs("../plan/explain.txt")


def explain(query: ev.Query, engine: str, schema: pa.Schema = SCHEMA) -> str:
    """What is said over events of a schema."""
    return query._explained(query.options, schema, engine)


@pytest.mark.parametrize(("text", "expected"), EXPLAINED, ids=[text.split("\n")[0] for text, _ in EXPLAINED])
def test_the_whole_explanation(text: str, expected: str) -> None:
    """The first line of the query says where it runs: `-- on spark`."""
    engine = text.split("\n")[0].removeprefix("-- on ")
    assert explain(ev.query(text), engine) == expected


def test_without_events_the_query_as_understood() -> None:
    assert ev.query("pattern seq(A,B) within 60 s").explain() == (
        "Query\n  PATTERN SEQ(A, B)\n  WITHIN 1 minute\n"
        f"Logical plan\n  {NO_COLUMNS}\n"
        "Program\n  match, any: start 0\n    0  bind A; then 1\n    1  bind B; end"
    )


LIMIT = (
    "limit       1,000,000 matches in a partition, 10,000 for each event where that is more; "
    "max_matches_per_partition sets another"
)
STEPS = (
    "limit       200,000,000 steps of the search in a partition, 1,000,000 for each event where that is more; "
    "max_steps_per_partition sets another"
)
UNBOUNDED = "warning     nothing bounds n: add WITHIN, or "
TIES = "ties        events tied for the earliest each extend a match: k at each of n times have up to k^n matches; "


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("SEQ(A, B)", []),
        ("A{20}", []),
        ("SEQ(A, NOT B+, C)", []),
        (
            "A{1,40}",
            [
                "results     under skip-till-any a repetition of up to 40 events out of n has up to 2^n matches",
                f"{UNBOUNDED}SEMANTICS next, or a lower bound",
            ],
        ),
        (
            "SEQ(A+, B) WITHIN 1 hour",
            ["results     under skip-till-any a repetition of n events has up to 2^n matches; WITHIN bounds n"],
        ),
        (
            "AND(SEQ(A, A2)*, B)",
            [
                "results     under skip-till-any a repetition of n events has up to 2^n matches",
                f"{UNBOUNDED}SEMANTICS next",
            ],
        ),
        ("A+ SEMANTICS next WITHIN 5 s", [f"{TIES}WITHIN bounds n"]),
        ("A+ SEMANTICS next OPTIONS (ties = 'sequence')", []),
        ("OR(A, B)+ SEMANTICS contiguous", [f"{TIES}WITHIN or ties='sequence' bounds them"]),
        (
            "OR(X, B)+ DEFINE X AS x > 1 SEMANTICS next OPTIONS (ties = 'sequence')",
            [
                "results     in a repetition one event may be 'X' or 'B': n events have up to 2^n matches",
                f"{UNBOUNDED}conditions that exclude one another",
            ],
        ),
        (
            "SEQ(A x, A y?)+ SEMANTICS next WITHIN 5 s OPTIONS (ties = 'sequence')",
            [
                "results     in a repetition one event may be 'x' or 'y': n events have up to 2^n matches; "
                "WITHIN bounds n"
            ],
        ),
        (
            "AND(A, B)+ SEMANTICS next OPTIONS (ties = 'sequence')",
            [
                "results     in a repetition one event may begin several pairs of AND: n events have up to 2^n matches",
                f"{UNBOUNDED}SEQ in place of AND",
            ],
        ),
    ],
)
def test_without_events_the_pattern_alone_warns_of_too_many_matches(text: str, lines: list[str]) -> None:
    told = ev.query(f"PATTERN {text}").explain().split("\nOperator\n")[1:]
    said = "\n".join(f"  {line}" for line in [*lines, LIMIT, STEPS])
    assert told == ([] if not lines else [said])


def test_the_limit_of_matches_is_named_as_it_is() -> None:
    for most, said in (("7", "7 matches in a partition, as"), ("unlimited", "none, as")):
        for pattern in ("A+", "SEQ(A, B)"):
            text = f"PATTERN {pattern} OPTIONS (max_matches_per_partition = {most})"
            query = ev.query(text, type="kind", ts_unit="s")
            told = query.explain([{"ts": 1, "kind": "A"}])
            assert f"  limit       {said} max_matches_per_partition says" in told.splitlines()


def test_the_limit_of_steps_is_named_as_it_is_where_there_is_one() -> None:
    events = [{"ts": 1, "kind": "A", "n": 1}]
    for most, said in (("7", "7 steps of the search in a partition, as"), ("unlimited", "no limit of steps, as")):
        query = ev.query(f"PATTERN A+ OPTIONS (max_steps_per_partition = {most})", type="kind", ts_unit="s")
        assert f"  limit       {said} max_steps_per_partition says" in query.explain(events).splitlines()
    for condition, is_told in (("SUM(A.n) > 0", True), ("n > 0", False)):
        clause = f"ORDER BY ts MEASURES count(*) AS c PATTERN (A+) DEFINE A AS {condition}"
        told = ev.explain_sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", t=events)
        assert ("limit       200,000,000 steps of the search in a partition" in told) == is_told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PATTERN SEQ(A, B) WHERE zz.x > 1", "unknown symbol 'zz'"),
        ("PATTERN SEQ(A, B) WHERE A.x < NEXT(q).y", "unknown symbol 'q'"),
        ("PATTERN SEQ(A, B) RETURN A.x, zz.y", "unknown symbol 'zz'"),
        ("PATTERN SEQ(A, B) RETURN COUNT(zz)", "unknown symbol 'zz'"),
        ("PATTERN SEQ(A, B) RETURN x", "which event's 'x'?"),
        ("PATTERN SEQ(Login a, Buy a)", "symbol 'a' stands for types 'Login' and 'Buy'"),
        ("PATTERN SEQ(A, B) DEFINE C AS x > 1", "type 'C' is defined but not in PATTERN"),
        ("PATTERN SEQ(A, B) DEFINE A AS NEXT(B).x > 1", "DEFINE is about one event"),
        ("PATTERN SEQ(A, B) MIN LENGTH 3", "a match of this pattern has 2 events, so MIN LENGTH 3 leaves none"),
        ("PATTERN SEQ(A, B) OPTIONS (origin = 'first')", "origin moves sliding windows, and this query has none"),
        ("PATTERN SEQ(A, B) RETURN A.x, B.y AS a_X", "'a_X' is the name of two columns"),
    ],
)
def test_without_events_what_no_events_can_make_right_is_an_error(text: str, message: str) -> None:
    assert error_of(ev.query(text).explain, ev.QueryError).message == message


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN A WHERE payload.city = 'Rome' RETURN a, A.payload.size",
        "PATTERN SEQ(A{1}, B) WHERE A.ts > 5 AND A.type = 3 AND [user] RETURN USER, length(B.tags[0]) + 1 AS n",
        "PATTERN SEQ(A, B) DEFINE A AS A.x > 1 AND place.city = 'Rome' WHERE A.ok RETURN B.x OPTIONS (ts_unit = 's')",
    ],
)
def test_without_events_nothing_is_said_about_columns(text: str) -> None:
    assert f"Logical plan\n  {NO_COLUMNS}\nProgram\n" in ev.query(text).explain()


def test_without_events_it_is_told_what_cannot_run_yet() -> None:
    text = ev.query("PATTERN SEQ(A a+, B b) RETURN COMPLETE TRENDS").explain()
    assert text.endswith("Operator\n  none: RETURN COMPLETE TRENDS cannot run yet in this version")


def test_a_stream_that_would_be_refused_is_told_what_would_make_it_possible() -> None:
    query = ev.query("PATTERN SEQ(A, B)")
    refused = (
        "On a stream\n  refused: without a WITHIN clause every event stays relevant "
        "for ever; add a WITHIN clause, such as WITHIN 1 hour, or give state_ttl='1 hour', which bounds every match so"
    )
    for engine in ("local", "spark", "spark stream"):
        assert explain(query, engine).endswith(refused)
    assert "spark stream: none, because a stream refuses the query" in explain(query, "spark stream")
    bounded = ev.query("PATTERN SEQ(A, B)", state_ttl="1 hour")
    assert "refuse" not in explain(bounded, "spark stream")


def test_the_number_of_events_is_told_where_it_is_known() -> None:
    events = pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "type": ["A", "B"]})
    text = ev.query("PATTERN SEQ(A, B)").explain(events)
    assert "local (2 events): one thread, because there is no partition column" in text
    assert "spark (2 events): one task" in ev.query("PATTERN SEQ(A, B)").explain(events, engine="spark")


def test_explain_checks_its_arguments_as_run_does() -> None:
    query = ev.query("PATTERN SEQ(A, B)")
    with pytest.raises(ev.InputError, match="there is no engine 'flink'"):
        query.explain([{"ts": 1}], engine="flink")
    with pytest.raises(ev.QueryError, match="nothing says which events are of type 'A'"):
        query.explain(pa.table({"ts": pa.array([1], pa.timestamp("s"))}))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("PATTERN SEQ(A, B) WITHIN 1 hour", "it is not sliced, because matches are made of the events themselves"),
        (
            "PATTERN SEQ(A a+, B) WITHIN 1 hour SLIDE 10 minutes RETURN key, COUNT(*)",
            "matrices stand for slices of its events that the watermark has passed",
        ),
        ("DEFINE P AS x > 6, Q AS x < 2 PATTERN P overlaps Q WITHIN 1 hour", "it keeps situations, never their events"),
    ],
    ids=["pattern", "trends", "situations"],
)
def test_a_stream_says_what_becomes_of_a_hot_key(text: str, kept: str) -> None:
    schema = pa.schema(
        [("ts", pa.timestamp("us", "UTC")), ("key", pa.int64()), ("kind", pa.string()), ("x", pa.int64())]
    )
    options = {} if text.startswith("DEFINE") else {"type": "kind"}
    for partition, n_lines in (("key", 1), ((), 0)):
        if not partition and "key," in text:
            continue
        query = ev.query(text, ts="ts", partition_by=partition, **options)
        lines = explain(query, "spark stream", schema).splitlines()
        hot = [line for line in lines if line.strip().startswith("hot key:")]
        assert len(hot) == n_lines
        assert all(f"; {kept};" in line for line in hot)
        assert "hot key:" not in explain(query, "spark", schema)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("key, COUNT(*)", "spark stream: hash of key to buckets, one operator with its own state per bucket"),
        ("COUNT(*)", "refused: a stream cannot add up windows that count events: the partitions of a group fill them"),
    ],
)
def test_a_stream_runs_windows_that_count_events_as_explain_says(returned: str, said: str) -> None:
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("key", pa.int64()), ("kind", pa.string())])
    text = f"PATTERN SEQ(A a+, B b) WITHIN 6 EVENTS SLIDE 3 EVENTS RETURN {returned}"
    query = ev.query(text, ts="ts", partition_by="key", type="kind")
    told = explain(query, "spark stream", schema)
    assert said in told
    assert ("On a stream\n  keeps the events that a window may still need" in told) == ("refused" not in said)
    refused = pytest.raises(ev.UnsupportedError, match="windows that count events")
    with refused if "refused" in said else nullcontext():
        for_stream(query.plan(schema, "spark"))


def test_a_row_pattern_says_how_a_stream_is_shared_out() -> None:
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("key", pa.int64())])
    for partition, wanted in ((["key"], "hot key: all tasks read"), ([], "one bucket, because there is no partition")):
        made = ev.match_recognize(pattern="A B", order_by="ts", partition_by=partition, measures={"n": "count(*)"})
        assert wanted in explain(made, "spark stream", schema).split("Distribution")[1]
        whole = "there is no partition column, and without WITHIN a match may have any length"
        assert (whole in explain(made, "spark", schema)) == (not partition)


def test_explain_plans_once_and_a_run_takes_the_same_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = []
    events = [{"ts": 1, "type": "A"}]
    for query in (ev.query("PATTERN SEQ(A, B)", ts_unit="s"), ev.intervals.threshold("ts > 5", ts_unit="s")):
        bind = query._family.bind
        monkeypatch.setattr(
            query._family, "bind", lambda *given, bind=bind, **more: bound.append(1) or bind(*given, **more)
        )
        query.explain(events)
        query.run(events)
        query.explain(events)
    assert len(bound) == 2


def test_a_rule_that_changed_the_plan_is_told() -> None:
    flat, nested = (ev.query(f"PATTERN {pattern}") for pattern in ("SEQ(A, B)", "SEQ(SEQ(A), B)"))
    assert "Rules applied" not in explain(flat, "local")
    assert "Rules applied\n  flatten_pattern: SEQ(SEQ(A, B), C) is SEQ(A, B, C)" in explain(nested, "local")
