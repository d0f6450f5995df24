"""Searches that find little and try much: they pause, so that Ctrl-C is heard, and their steps have a limit."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eventide as ev
from eventide.engines.intake import take_in
from eventide.engines.raw_columns import wanted_columns
from eventide.families.events.operator import PatternOperator
from eventide.runtime import effort
from eventide.runtime.block import MAX_US
from eventide.runtime.effort import Effort, Pace, TooManyStepsError
from eventide.runtime.threads import StoppedError, check_stopped, share_among_threads
from tests.families.events.test_conjunctions import letters
from tests.few_steps import few_steps

WITHOUT_JIT = os.environ.get("NUMBA_DISABLE_JIT") == "1"
STEPS = 2_000  # in place of 200 million


def run(text: str, events: Any, **options: Any) -> Any:
    return ev.query(text, ts_unit="s", type="kind", **options).run(events)


def in_rows(events: Any, **options: Any) -> Any:
    define = "A AS n >= 0, C AS SUM(C.n) >= 0, B AS n < 0"
    clause = f"(ORDER BY ts MEASURES count(*) AS n PATTERN ((A|C)+ B) DEFINE {define})"
    return ev.sql(f"SELECT * FROM t MATCH_RECOGNIZE {clause}", t=events, ts_unit="s", **options)


def in_the_builder(events: Any, **options: Any) -> Any:
    pattern = ev.Pattern.begin("a", "kind = 'A'").one_or_more().allow_combinations().next("b", "kind = 'B'")
    return ev.detect(events, pattern, ts_unit="s", **options).matches


ENDLESS: dict[str, Callable[..., Any]] = {
    "repetition": lambda events, **options: run("PATTERN A a+ WHERE SUM(a.n) < 0 RETURN a.ts", events, **options),
    "negation": lambda events, **options: run(
        "PATTERN SEQ(X x, NOT(SEQ(A a+, B b)), Y y) WHERE a.n > b.n + x.n RETURN x.ts",
        [{"ts": -1, "kind": "X", "n": 99}, *events, {"ts": 98, "kind": "B", "n": 0}, {"ts": 99, "kind": "Y", "n": 0}],
        **options,
    ),
    "side of AND": lambda events, **options: run(
        "PATTERN AND(SEQ(A a+, B b), C c) WHERE SUM(a.n) < b.n RETURN c.ts",
        [*events, {"ts": 98, "kind": "B", "n": 0}, {"ts": 99, "kind": "C", "n": 0}],
        **options,
    ),
    "rows": in_rows,
    "builder": in_the_builder,
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(effort, "STEPS", STEPS)
    monkeypatch.setattr(effort, "STEPS_PER_EVENT", 1)
    with few_steps(100):
        yield


@pytest.mark.parametrize("name", ENDLESS)
def test_a_search_without_an_end_stops_and_says_what_to_do(name: str, small: None) -> None:
    with pytest.raises(ev.InputError) as caught:
        ENDLESS[name](letters("A" * 40))
    assert caught.value.message == f"the search in the input takes more than {STEPS:,} steps"
    assert "ithin" in str(caught.value.hint).replace("WITHIN", "within")
    assert str(caught.value.hint).endswith("or raise max_steps_per_partition")


@pytest.mark.parametrize("name", ENDLESS)
def test_the_limit_of_steps_can_be_raised_and_lifted(name: str, small: None) -> None:
    for most in (10**9, "unlimited"):
        assert ENDLESS[name](letters("A" * 8), max_steps_per_partition=most).num_rows in (0, 1)
    with pytest.raises(ev.InputError, match="takes more than 50 steps"), few_steps(10):
        ENDLESS[name](letters("A" * 8), max_steps_per_partition=50)


def test_the_partition_that_takes_too_long_is_named(small: None) -> None:
    events = [{"ts": i, "kind": "A", "n": 1, "user": "ann" if i % 20 == 0 else "bob"} for i in range(42)]
    with pytest.raises(ev.InputError, match="the search in the partition bob takes more than"):
        run("PATTERN A a+ WHERE SUM(a.n) < 0 RETURN a.ts", events, partition_by="user")


def test_a_search_that_is_polynomial_has_no_default_limit(small: None) -> None:
    events = letters("A" * 60 + "B" * 60)
    assert run("PATTERN SEQ(A a, B b) WHERE a.n > b.n RETURN a.ts", events).num_rows == 0
    clause = "(ORDER BY ts MEASURES count(*) AS n PATTERN ((A|C)+ B) DEFINE A AS n >= 0, C AS n >= 0, B AS n < 0)"
    assert ev.sql(f"SELECT * FROM t MATCH_RECOGNIZE {clause}", t=events, ts_unit="s").num_rows == 0
    with pytest.raises(ev.InputError, match="takes more than 300 steps"):
        run("PATTERN SEQ(A a, B b) WHERE a.n > b.n RETURN a.ts", events, max_steps_per_partition=300)


def test_steps_count_in_a_partition_and_its_limit_grows_with_its_events() -> None:
    counted = Effort(None, np.array([0, 5, 5_000]), may_double=True)
    assert (counted.limit_of(0), counted.limit_of(1)) == (effort.STEPS, 4_995 * effort.STEPS_PER_EVENT)
    assert Effort(None, np.array([0, 5]), may_double=False).limit_of(0) == effort.UNLIMITED
    with few_steps(100):
        pace = Pace(Effort(250, np.array([0, 5, 9, 12]), may_double=False))
        for partition in (0, 1, 1, 2, 2, 2):
            assert pace.go_on(partition) == 100
        with pytest.raises(TooManyStepsError) as caught:
            pace.go_on(2)
    assert (caught.value.partition, caught.value.limit) == (2, 250)


def test_calls_get_as_long_as_a_tenth_of_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(effort, "monotonic", lambda: now)
    pace = Pace(Effort(None, np.array([0, 5]), may_double=False))
    taken = []
    for seconds_per_step in (1e-7, 1e-4, 1e-6):
        for _ in range(12):
            taken.append(pace.go_on(0))
            now += taken[-1] * seconds_per_step
        assert 0.04 < taken[-1] * seconds_per_step < 0.21


def test_a_negation_goes_on_where_it_was_paused() -> None:
    events = letters("X" + "A" * 6 + "B" + "Y")
    text = "PATTERN SEQ(X x, NOT(SEQ(A a+, B b)), Y y) WHERE a.n > b.n + x.n RETURN x.ts"
    with few_steps(5):
        # Begun anew after every pause, it would never come to an end.
        assert run(text, events, max_steps_per_partition=10_000).num_rows == 1


def test_an_attempt_that_was_paused_knows_what_it_has_labelled() -> None:
    clause = "(ORDER BY ts MEASURES count(*) AS n PATTERN (A+ B C) DEFINE B AS n = LAST(A.n) + 1, C AS n > LAST(B.n))"
    events = letters("A" * 7)
    text = f"SELECT * FROM t MATCH_RECOGNIZE {clause}"
    expected = ev.sql(text, t=events, ts_unit="s").to_pylist()
    with few_steps(1):
        assert ev.sql(text, t=events, ts_unit="s").to_pylist() == expected == [{"n": 7}]


# --- Ctrl-C ---------------------------------------------------------------------------------------------------


@pytest.fixture
def alarm() -> Iterator[Callable[[float], None]]:
    """Ctrl-C after so many seconds."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", ENDLESS)
def test_ctrl_c_is_heard_while_a_search_runs(name: str, alarm: Callable[[float], None]) -> None:
    ENDLESS[name](letters("A" * 3))  # compiled before the clock starts
    alarm(0.3)
    started = time.process_time()  # as much as this process had of the machine
    with pytest.raises(KeyboardInterrupt):
        ENDLESS[name](letters("A" * 60))
    assert time.process_time() - started < 2


def test_ctrl_c_is_heard_while_threads_search(alarm: Callable[[float], None]) -> None:
    query = ev.query("PATTERN A a+ WHERE SUM(a.n) < 0", ts_unit="s", type="kind", partition_by="user")
    events = pa.Table.from_pylist([{"ts": i // 2, "kind": "A", "n": 1, "user": i % 2} for i in range(120)])
    physical = query.plan(events.schema)
    block = take_in(wanted_columns(events, physical, ("UTC", 1)), physical.intake)[0]
    operator = PatternOperator(physical.spec, n_threads=2)  # type: ignore[arg-type]
    n_threads = threading.active_count()
    with few_steps(1_000 if WITHOUT_JIT else effort.FIRST_STEPS):
        alarm(0.3)
        with pytest.raises(KeyboardInterrupt):
            list(operator.process(block, MAX_US))
    assert threading.active_count() <= n_threads + 1


def test_when_one_share_fails_the_others_end() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(share: int) -> None:
        if share == 0:
            begun.wait(10)
            raise ValueError("no")
        begun.set()
        try:
            while True:
                check_stopped()
                time.sleep(0.001)
        except StoppedError:
            ended.set()
            raise

    with pytest.raises(ValueError, match="no"):
        share_among_threads(work, [0, 1])
    assert ended.is_set()
    check_stopped()
