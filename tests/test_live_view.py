"""What `eventide stream` shows, what it tries again, and how it reads addresses; nothing here starts Spark."""

from __future__ import annotations

import io
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from eventide.cli.live_view import View, row_table
from eventide.engines.addresses import Folder, Terminal, Topic, checkpoint_of, sink_of, source_of
from eventide.engines.spark.errors import is_passing, pause_seconds, reason_of
from eventide.engines.spark.session import not_started
from eventide.errors import InputError

STARTED = datetime.fromisoformat("2026-11-16T17:00:00+00:00").timestamp()


# --- the view ----------------------------------------------------------------------------------------------


def progress(number: int, **changes: Any) -> dict[str, Any]:
    """A progress as Spark 4.3 gives it, cut down to what the view reads; batches of 2 s follow each other."""
    started = datetime.fromisoformat("2026-11-16T17:00:00+00:00") + timedelta(seconds=2 * number)
    counters = ["0 600 2 3 40 5000 150000 300000 0", "1 400 0 1 60 4000 50000 200000 0"]
    found: dict[str, Any] = {
        "runId": "d3996cb7",
        "timestamp": started.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "batchId": number,
        "numInputRows": 1000,
        "durationMs": {
            "addBatch": 1500,
            "commitOffsets": 100,
            "getBatch": 30,
            "latestOffset": 70,
            "queryPlanning": 200,
            "triggerExecution": 2000,
            "walCommit": 100,
        },
        "eventTime": {
            "max": f"2026-01-01T00:{number:02}:30.500Z",
            "min": "2026-01-01T00:00:00.000Z",
            "watermark": f"2026-01-01T00:{number:02}:20.250Z",
        },
        "stateOperators": [{"operatorName": "transformWithStateInPandasExec", "memoryUsedBytes": 2826784}],
        "observedMetrics": {
            "eventide_buckets_1f": {"counters": counters},
            "eventide_intake_2a": {"events": 993, "dropped_events": 5},
            "eventide_source_3b": {"events": 993, "bad_records": 7},
            "eventide_rows": {
                "rows": 4,
                "last": [f'{{"user":"u{number}","amount":3.5}}', f'{{"user":"v{number}","amount":null}}'],
            },
        },
    }
    return {**found, **changes}


def waiting(number: int, at: str = "2026-11-16T17:01:00.000Z") -> dict[str, Any]:
    """The report of a stream that has nothing to do."""
    return progress(number, timestamp=at, numInputRows=0, durationMs={"latestOffset": 2, "triggerExecution": 2})


def view_of(*reports: dict[str, Any]) -> View:
    view = View("takeover.evq", "events", "alerts", STARTED, status="running")
    for each in reports:
        view.add(each)
    return view


def drawn(view: View, now: float, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(view.panel(now, width))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_totals_add_up_over_batches_and_state_is_the_latest() -> None:
    view = view_of(progress(0), progress(1))
    assert (view.events, view.rows, view.n_batches) == (1986, 8, 2)
    assert (view.open_runs, view.state_bytes) == (100, 9000)
    assert view.line(STARTED + 4) == (
        "0:00:04  batch 1  events 1,986 (496/s)  rows 8 (2.0/s)  "
        "watermark 2026-01-01 00:01:20, 10 s behind the newest event  state 9.0 kB, 100 open runs  "
        "late 4  dropped 10  bad 14"
    )


def test_a_progress_that_is_seen_again_counts_once() -> None:
    view = view_of(progress(0))
    assert not view.add(progress(0))
    assert view.events == 993
    assert view.add(progress(0, runId="after a restart"))
    assert view.events == 1986


def test_waiting_is_no_batch_and_brings_the_rate_down_to_nothing() -> None:
    view = view_of(progress(0), waiting(1))
    assert view.n_batches == 1
    assert view.rates(STARTED + 4)[0] == 496.5
    assert view.rates(STARTED + 60) == (0.0, 0.0)


def test_a_long_batch_is_not_taken_for_idleness() -> None:
    durations = {"addBatch": 40_000, "triggerExecution": 40_000}
    view = view_of(progress(0, durationMs=durations))
    assert view.rates(STARTED + 40 + 100)[0] == 993 / 40
    assert view.rates(STARTED + 40 + 130)[0] == 0


def test_the_lag_is_from_the_newest_event_of_all_to_the_watermark() -> None:
    late = progress(1)
    late["eventTime"] = {"max": "2026-01-01T00:00:10.000Z", "watermark": "2026-01-01T00:00:25.000Z"}
    assert view_of(progress(0)).lag_seconds() == 10.25
    assert view_of(progress(0), late).lag_seconds() == 5.5
    assert view_of().lag_seconds() is None
    at_first = {"max": "2026-01-01T00:00:10.000Z", "watermark": "1970-01-01T00:00:00.000Z"}
    assert "watermark none yet" in view_of(progress(0, eventTime=at_first)).line(STARTED)


def test_without_counters_the_numbers_are_those_of_spark() -> None:
    view = view_of(progress(0, observedMetrics={}), progress(1, observedMetrics=None))
    assert (view.state_bytes, view.events, view.rows) == (2826784, 2000, 0)


def test_rules_are_no_events() -> None:
    sources = [
        {"description": "FileStreamSource[file:/tmp/in]", "numInputRows": 998},
        {"description": "org.apache.spark.sql.execution.python.PythonMicroBatchStream@1f", "numInputRows": 2},
    ]
    assert view_of(progress(0, observedMetrics={}, sources=sources)).events == 998


def test_the_newest_rows_come_first_and_old_ones_go() -> None:
    view = view_of(*(progress(n) for n in range(4)))
    assert [row["user"] for row in view.last_rows] == ["u3", "v3", "u2", "v2", "u1"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_panel_fits_its_terminal(width: int) -> None:
    view = view_of(*(progress(n) for n in range(60)))
    view.source = "kafka://broker-1.example.com:9092,broker-2.example.com:9092/a-topic-with-a-long-name"
    view.problem = "the broker is away " * 12
    lines = drawn(view, STARTED + 122, width)
    assert {len(line) for line in lines} == {width}
    assert len(lines) < 24
    text = "\n".join(lines)
    for part in ("59,580", "496/s", "2026-01-01 00:59:20", "9.0 kB", "late 120", "u59", "NULL"):
        assert part in text


def test_the_panel_shows_the_parts_of_a_batch() -> None:
    text = "\n".join(drawn(view_of(progress(7)), STARTED + 16, 100))
    assert "batch 7    2.0 s: find 0.1, plan 0.2, run 1.5, commit 0.2; matching 0.2" in text


@pytest.mark.parametrize("width", [60, 80])
def test_a_long_batch_leaves_the_names_of_the_lines_whole(width: int) -> None:
    durations = {"addBatch": 1_387_000, "queryPlanning": 216_000, "walCommit": 91_000, "triggerExecution": 1_623_000}
    text = "\n".join(drawn(view_of(progress(7, batchId=1234, durationMs=durations)), STARTED, width))
    assert "│ watermark " in text and "│ left out " in text and "│ batch 1234 " in text
    assert "1623 s: find 0.0, plan 216, run 1387" in text


def test_before_the_first_batch_there_is_a_panel_too() -> None:
    view = view_of()
    view.activity = "Processing new data"
    text = "\n".join(drawn(view, STARTED, 80))
    assert "none yet" in text and "running 0:00:00" in text and "now        Processing new data" in text
    view.status = "stopped"
    assert "Processing" not in "\n".join(drawn(view, STARTED, 80))
    assert view_of().line(STARTED + 5) == "0:00:05  running"


def test_a_line_says_why_a_stream_waits() -> None:
    view = view_of(progress(0))
    view.status, view.problem = "waiting 1 s", "Connection refused"
    assert view.line(STARTED + 5).startswith("0:00:05  batch 0  waiting 1 s: Connection refused  events 993 (")


def test_rows_with_many_columns_take_a_line_each() -> None:
    row = {f"c{i}": i for i in range(12)}
    console = Console(file=io.StringIO(), width=76)
    console.print(row_table([row], 76))
    assert "c0=0  c1=1  c2=2" in console.file.getvalue()  # type: ignore[attr-defined]


def test_markup_in_rows_is_shown_as_it_is() -> None:
    view = view_of(progress(0, observedMetrics={"eventide_rows": {"rows": 1, "last": ['{"x":"[red]y[/red]"}']}}))
    assert "[red]y[/red]" in "\n".join(drawn(view, STARTED, 80))


def test_the_summary_says_what_was_left_out() -> None:
    assert view_of(progress(0), progress(1)).summary(STARTED + 65) == (
        "1,986 events, 8 rows to alerts in 1 min 5 s, 2 batches\n"
        "decided up to the watermark, 2026-01-01 00:01:20, 10 s behind the newest event\n"
        "left out: 4 late, 10 dropped, 14 bad"
    )
    failing = {"eventide_buckets_1f": {"counters": ["0 5 0 0 0 0 1 1 2 fraud"]}}
    assert view_of(progress(0, observedMetrics=failing)).summary(STARTED).endswith("left out: 2 rules with a problem")
    assert view_of().summary(STARTED) == "0 events, 0 rows to alerts in 0.0 s, 0 batches"


# --- what passes by itself ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: listOffsets",
        "Job aborted due to stage failure: org.apache.kafka.common.errors.DisconnectException",
        "java.net.ConnectException: Connection refused",
        "org.apache.kafka.common.errors.NotLeaderOrFollowerException: For requests intended only for the leader",
    ],
)
def test_a_broker_that_is_away_comes_back(text: str) -> None:
    assert is_passing(RuntimeError(text))


@pytest.mark.parametrize(
    "text",
    [
        "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this topic",
        "org.apache.kafka.common.errors.SaslAuthenticationException: wrong password",
        "java.lang.OutOfMemoryError: Java heap space",
        "eventide.errors.InputError: an event has no time after Connection refused",
        "[UNRESOLVED_COLUMN] a column cannot be resolved",
    ],
)
def test_a_mistake_stays(text: str) -> None:
    assert not is_passing(RuntimeError(text))
    assert not is_passing(InputError("cannot read 'x': Connection refused"))


def test_pauses_grow_up_to_a_minute() -> None:
    pauses = [pause_seconds(n) for n in range(1, 12)]
    assert pauses == sorted(pauses) and pauses[0] == 1 and pauses[-1] == 60
    assert sum(pauses) > 60, "a broker may be away for a minute"


def test_the_reason_of_a_failure_is_one_line_without_traces() -> None:
    worker = (
        "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [PYTHON_EXCEPTION] An exception was "
        'thrown from the Python worker: Traceback (most recent call last):\n  File "w.py", line 3, in f\n    g()\n'
        "ValueError: not enough values\n SQLSTATE: 38000 SQLSTATE: XXKST\n=== Streaming Query ===\n"
        "Identifier: [id = 1]\nCurrent State: ACTIVE"
    )
    assert reason_of(RuntimeError(worker)) == "ValueError: not enough values"
    ours = worker.replace("ValueError: not enough values", "eventide.errors.InputError: no time\nHint: fill it in")
    assert reason_of(RuntimeError(ours)) == "no time\nHint: fill it in"
    timeout = "org.apache.kafka.common.errors.TimeoutException: Timed out\n\tat x"
    kafka = f"java.util.concurrent.ExecutionException: {timeout}"
    assert reason_of(RuntimeError(kafka)) == "Timed out"


# --- addresses ---------------------------------------------------------------------------------------------


def test_addresses_are_read(tmp_path: Path) -> None:
    assert source_of("kafka://a:9092,b:9093/orders.v1") == Topic("a:9092,b:9093", "orders.v1")
    assert source_of("kafka://[::1]:9092/t", "avro") == Topic("[::1]:9092", "t")
    (tmp_path / "a.jsonl.gz").write_bytes(b"")
    (tmp_path / "_SUCCESS").write_bytes(b"")
    assert source_of(str(tmp_path)) == Folder(str(tmp_path), "json")
    assert source_of(str(tmp_path), "csv").format == "csv"  # type: ignore[union-attr]
    assert sink_of("out/rows.csv") == Folder("out/rows.csv", "csv")
    assert sink_of("out/rows.csv", "json") == Folder("out/rows.csv", "json")
    assert sink_of("-") == Terminal()
    assert sink_of("kafka://a:1/t") == Topic("a:1", "t")
    assert source_of("s3a://bucket/events", "parquet") == Folder("s3a://bucket/events", "parquet")


def test_the_checkpoint_of_a_folder_is_beside_it() -> None:
    assert checkpoint_of(None, Folder("alerts/")) == "alerts.checkpoint"
    assert checkpoint_of("c", Folder("alerts")) == "c"
    assert checkpoint_of(None, Terminal()) is None
    with pytest.raises(InputError, match="need a checkpoint"):
        checkpoint_of(None, Topic("a:1", "t"))


def test_a_session_that_does_not_start_says_why() -> None:
    packages = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"
    fetching = [":: resolving dependencies ::", "\t\t:: UNRESOLVED DEPENDENCIES ::", "Exception in thread main"]
    assert str(not_started(fetching, packages)).startswith(f"Spark's Kafka connector cannot be fetched: {packages}\n")
    assert "spark.jars=" in str(not_started(fetching, packages))
    said = not_started(["", "Error: Could not find or load main class X", "more"], "")
    assert said.message == "Spark did not start: Error: Could not find or load main class X"
    assert not_started([], "").message == "Spark did not start"
