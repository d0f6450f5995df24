"""Every public function with arguments that are not what they should be: an error of ours, or one with the name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import eventide as ev

EVENTS = [{"ts": 1, "kind": "A", "x": 1, "to": 5}, {"ts": 2, "kind": "B", "x": 2, "to": 7}]
WRONG: list[Any] = [None, object(), 3, True, "", "nonsense", [], [None], {}, {"a": None}, b"x", pd.DataFrame()]
STATEMENT = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN (A))"

PATTERNS = ev.query("PATTERN SEQ(A a, B b)", ts_unit="s", type="kind")
RELATIONS = ev.query("DEFINE A AS x = 1, B AS x = 2 PATTERN A meets B", ts_unit="s")
STEP = ev.Pattern.begin("a", "x = 1")
ROWS = ev.match_recognize(pattern="A", measures={"n": "x"}, order_by="ts")


class ReachedSparkError(Exception):
    """What stands for Spark was asked for something: all arguments had been accepted."""


class Frame:
    """A stream of Spark as far as arguments are checked."""

    __module__ = "pyspark.sql.stand_in"
    isStreaming = True  # noqa: N815

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else ReachedSparkError(name)


class Session(Frame):
    """A session of Spark as far as arguments are checked."""

    readStream = None  # noqa: N815


class Column:
    """What Spark has besides DataFrames: every name is a field of it."""

    __module__ = "pyspark.sql.stand_in"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


WRONG.append(Column())
OPTIONS = dict.fromkeys(("sequence", "allowed_lateness", "state_ttl"), None) | {"on_bad_event": "error"}
OF_INTERVALS = {"events": EVENTS, "ts_unit": "s", "within": None, "value": None, "close_at_end": False}
Call = tuple[Callable[..., Any], dict[str, Any]]


def rule_set(folder: Path) -> ev.RuleSet:
    (folder / "r.query").write_text("PATTERN A a WITHIN 1 minute")
    return ev.RuleSet(folder, ts_unit="s", type="kind")


CALLS: dict[str, Call] = {
    "ev.query": (ev.query, {"text": "PATTERN A a"}),
    "ev.query, options": (
        lambda **given: ev.query("PATTERN A a", **given).run(EVENTS),
        {"ts": "ts", "ts_unit": "s", "type": "kind", "partition_by": "kind", "ties": None, "counts": None}
        | {"on_overflow": None, "origin": None, "match_id": False, "max_matches_per_partition": 5}
        | {"close_at_end": False, "possible": None, **OPTIONS},
    ),
    "run": (PATTERNS.run, {"events": EVENTS, "engine": None, "spark": None, "memory_limit": None}),
    "run on Spark": (PATTERNS.run, {"events": "none.parquet", "engine": "spark", "spark": Session()}),
    "late": (PATTERNS.late, {"events": EVENTS}),
    "explain": (PATTERNS.explain, {"events": EVENTS, "engine": None}),
    "diagnose": (PATTERNS.diagnose, {"events": EVENTS, "partitions": 5}),
    "situations": (RELATIONS.situations, {"events": EVENTS}),
    "live": (
        lambda **given: list(PATTERNS.live(**given)),
        {"source": [EVENTS], "blocks_per_second": 50.0, "max_workers": 1, "tune_every": 1.0},
    ),
    "metrics": (PATTERNS.metrics, {"query": None}),
    "plan": (PATTERNS.plan, {"schema": pa.schema({"ts": pa.int64(), "kind": pa.string()}), "engine": "local"}),
    "ev.sql": (ev.sql, {"text": STATEMENT, "t": EVENTS, "spark": None, "ts_unit": "s", "match_id": False}),
    "ev.sql on Spark": (ev.sql, {"text": STATEMENT, "t": Frame(), "spark": Session(), "match_id": False}),
    "ev.explain_sql": (ev.explain_sql, {"text": STATEMENT, "t": EVENTS, "spark": None, "ts_unit": "s"}),
    "ev.match_recognize": (
        ev.match_recognize,
        {"pattern": "A", "define": None, "measures": None, "partition_by": (), "order_by": "ts", "rows": "one"}
        | {"after_match": None, "subset": None, "within": None, "ts_unit": "s", "match_id": False}
        | {name: value for name, value in OPTIONS.items() if name != "sequence"},
    ),
    "recognizer": (ROWS, {"events": EVENTS, "engine": None, "spark": None}),
    "recognizer.explain": (ROWS.explain, {"events": EVENTS}),
    "recognizer.late": (ROWS.late, {"events": EVENTS}),
    "recognizer.diagnose": (ROWS.diagnose, {"events": EVENTS, "partitions": 5}),
    "recognizer.metrics": (ROWS.metrics, {"query": None}),
    "ev.detect": (
        ev.detect,
        {"events": EVENTS, "pattern": STEP, "partition_by": (), "ts": "ts", "ts_unit": "s", "skip": "no_skip"}
        | {"select": None, "close_at_end": False, "max_matches_per_partition": None, "ties": None, **OPTIONS},
    ),
    "Pattern.begin": (ev.Pattern.begin, {"step": "a", "condition": "x = 1"}),
    "Pattern.next": (STEP.next, {"step": "b", "condition": "x = 1"}),
    "Pattern.not_followed_by": (STEP.not_followed_by, {"name": "b", "condition": "x = 1"}),
    "Pattern.times": (STEP.times, {"least": 1, "most": 2}),
    "Pattern.times_or_more": (STEP.times_or_more, {"least": 1}),
    "Pattern.until": (STEP.one_or_more().until, {"condition": "x = 1"}),
    "Pattern.within": (STEP.within, {"length": "1 minute", "between": "match"}),
    "Pattern.diagnose": (
        STEP.diagnose,
        {"events": EVENTS, "partition_by": (), "ts": "ts", "sequence": None, "ts_unit": "s", "state_ttl": None}
        | {"partitions": 5},
    ),
    "ev.intervals.homogeneous": (
        ev.intervals.homogeneous,
        {"condition": "x = 1", "occurrences": (1, None), "type": None, "partition_by": (), "engine": None}
        | {"spark": None, "detected_at": None, "memory_limit": None, "ties": None, "sequence": None}
        | OF_INTERVALS,
    ),
    "ev.intervals.threshold": (ev.intervals.threshold, {"condition": "x = 1", **OF_INTERVALS}),
    "ev.intervals.aggregate": (ev.intervals.aggregate, {"condition": "avg(x) = 1", **OF_INTERVALS}),
    "ev.intervals.delta": (ev.intervals.delta, {"expression": "x", "least": 1, **OF_INTERVALS}),
    "ev.intervals.boundary": (ev.intervals.boundary, {"expression": "x", "width": 1, **OF_INTERVALS}),
    "ev.intervals.heterogeneous": (
        ev.intervals.heterogeneous,
        {"events": EVENTS, "start": "x = 1", "end": "x = 2", "exclude": (), "value": None, "ts_unit": "s"},
    ),
    "ev.allen": (
        ev.allen,
        {"left": EVENTS, "right": EVENTS, "relations": "before", "within": None, "partition_by": (), "start": "ts"}
        | {"end": "to", "left_times": None, "right_times": None, "ts_unit": "s", "on_bad_event": "error"}
        | {"allowed_lateness": None, "engine": None, "spark": None, "memory_limit": None},
    ),
    "ev.to_instants": (
        ev.to_instants,
        {"intervals": EVENTS, "at": "now", "clock": 5, "start": "ts", "end": "to", "ts": "ts", "ts_unit": "s"},
    ),
    "ev.write_stream": (
        ev.write_stream,
        {"rows": Frame(), "to": "a", "checkpoint": "b", "trigger": None, "once": False, "format": "parquet"}
        | {"name": None},
    ),
    "ev.kafka.read": (
        ev.kafka.read,
        {"spark": Session(), "servers": "h:9092", "topic": "t", "schema": "ts timestamp", "format": "json", "ts": None}
        | {"starting": "earliest", "max_events_per_batch": None, "metadata": False, "registry_header": False}
        | {"options": None},
    ),
    "ev.kafka.to_records": (ev.kafka.to_records, {"rows": Frame()}),
    "ev.kafka.write": (
        ev.kafka.write,
        {"rows": Frame(), "servers": "h:9092", "topic": "t", "checkpoint": "c", "trigger": None, "once": False}
        | {"name": None, "options": None},
    ),
    "ev.metrics.of": (ev.metrics.of, {"query": None}),
    "ev.metrics.listen": (ev.metrics.listen, {"spark": Session()}),
    "ev.metrics.serve": (ev.metrics.serve, {"spark": Session(), "port": 0, "address": "127.0.0.1"}),
    "ev.stream_metrics": (ev.stream_metrics, {"checkpoint": "c", "spark": Session()}),
    "ev.timeline": (
        ev.timeline,
        {"query": RELATIONS, "events": EVENTS, "partition": None, "values": [], "ts": None, "ts_unit": None}
        | {"lane": None, "title": None, "path": None},
    ),
    "ev.sample": (ev.sample, {"name": "typed", "events": 3, "seed": 1}),
}


def calls_with(folder: Path) -> dict[str, Call]:
    rules = rule_set(folder)
    return {
        "ev.RuleSet": (
            lambda **given: ev.RuleSet(**given).run(EVENTS),
            {"folder": folder, "ts": "ts", "ts_unit": "s", "sequence": None, "type": "kind", "partition_by": None}
            | {"poll": "10 seconds", "n_buckets": None, "max_matches_per_partition": None, "memory_limit": None}
            | {"planning_limit": None, "close_at_end": False, "on_bad_event": "error", "allowed_lateness": None},
        ),
        "ev.RuleSet, table": (ev.RuleSet, {"table": "rules", "spark": Session()}),
        "RuleSet.run": (rules.run, {"events": EVENTS}),
        "RuleSet.check": (rules.check, {"events": EVENTS}),
        "RuleSet.rows": (rules.rows, {"found": rules.run(EVENTS), "name": "r"}),
        "ev.generate": (ev.generate, {"name": "typed", "events": 3, "output": folder / "x.parquet", "seed": 1}),
    }


def fault_of(call: Callable[..., Any], given: dict[str, Any], argument: str) -> str | None:
    """What is wrong with how a call answers; None where it answers as it should."""
    try:
        call(**given)
    except (ev.EventideError, ReachedSparkError):
        return None
    except TypeError as error:
        return None if argument in str(error) else f"TypeError: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def faults_of(call: Callable[..., Any], right: dict[str, Any]) -> list[str]:
    tried = [(name, {**right, name: wrong}) for name in right for wrong in WRONG]
    tried += [(name, {key: value for key, value in right.items() if key != name}) for name in right]
    tried += [("no_such_option", {**right, "no_such_option": 1}), ("ties", {**right, "ties": "strict"})]
    told = ((name, given, fault_of(call, given, name)) for name, given in tried)
    return [f"{name}={given.get(name)!r}: {fault}" for name, given, fault in told if fault is not None]


@pytest.mark.filterwarnings("ignore::eventide.EventideWarning")
@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_an_error_of_ours_or_names_it(name: str) -> None:
    assert faults_of(*CALLS[name]) == []


@pytest.mark.filterwarnings("ignore::eventide.EventideWarning")
def test_a_wrong_argument_around_files_is_an_error_of_ours_or_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules").mkdir()
    faults = {name: faults_of(*call) for name, call in calls_with(tmp_path / "rules").items()}
    assert {name: found for name, found in faults.items() if found} == {}


@pytest.mark.parametrize("name", CALLS)
def test_the_right_arguments_are_accepted(name: str) -> None:
    call, right = CALLS[name]
    if name in ("late", "recognizer.late", "ev.metrics.of"):
        with pytest.raises(ev.EventideError, match=r"stream|StreamingQuery"):
            call(**right)
        return
    try:
        call(**right)
    except ReachedSparkError:
        assert any(isinstance(value, Frame) for value in right.values())


STRICT = "ties='strict' is for ev.query: here events of one time follow one another"


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (lambda: ev.detect(EVENTS, STEP, ts_unit="s", ties="strict"), STRICT, "sequence= names a column"),
        (lambda: ev.intervals.threshold(EVENTS, "x = 1", ts_unit="s", ties="strict"), STRICT, "sequence= names"),
        (lambda: ev.detect(EVENTS, STEP, ts_unit="s", ties="loose"), "ties='loose' is not possible", "'sequence'"),
        (lambda: ev.sql(STATEMENT, t=EVENTS, ties="strict"), "ev.sql has no option 'ties'", "ts_unit, state_ttl"),
        (lambda: PATTERNS.run(EVENTS, no_such=1), "run has no option 'no_such'", "q.run(events)"),
        (lambda: PATTERNS.explain(EVENTS, no_such=1), "explain has no option 'no_such'", "q.explain(events)"),
        (lambda: ROWS(EVENTS, engine="sparc"), "there is no engine 'sparc'", "local"),
        (
            lambda: PATTERNS.run(pd.DataFrame(EVENTS), engine="spark"),
            "engine='spark' takes Spark DataFrames or a path, found pandas.DataFrame",
            "spark.createDataFrame",
        ),
        (lambda: ROWS(EVENTS, engine="spark"), "engine='spark' takes Spark DataFrames or a path, found list", "spark."),
        (
            lambda: ev.kafka.read(object(), "h:9092", "t", schema="ts timestamp"),
            "spark= takes a Spark session, found object",
            "SparkSession.builder",
        ),
        (lambda: ev.metrics.serve(EVENTS), "spark= takes a Spark session, found list", "SparkSession.builder"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_try(call: Callable[[], Any], message: str, hint: str) -> None:
    with pytest.raises(ev.EventideError) as caught:
        call()
    assert caught.value.message == message
    assert hint in str(caught.value.hint)


def test_ties_may_say_what_holds_anyway() -> None:
    found = ev.detect(EVENTS, STEP, ts_unit="s", ties="sequence")
    assert found.matches == ev.detect(EVENTS, STEP, ts_unit="s").matches
