"""`eventide stream`: what it says before anything starts, and whole runs over folders."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eventide.cli.job import Job, Signals, failure_of, run_job
from eventide.cli.live_view import View
from eventide.cli.stream import rows_of
from eventide.cli.texts import read_query
from eventide.engines.addresses import Folder, Terminal, Topic
from eventide.errors import BrokerAwayError, InputError

QUERY = "PATTERN SEQ(Login L, Buy B) WHERE [user] WITHIN 10 seconds RETURN user, B.amount OPTIONS (type = 'kind')"
Command = Callable[..., tuple[int, str, str]]


# --- mistakes that are found before Spark starts ------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `query.txt`, and two files of events in `events`."""
    seconds, users, kinds = [1, 2, 4, 5, 30, 60], ["ann", "bob"] * 3, ["Login", "Login", "Buy", "Buy", "Buy", "Buy"]
    times = pa.array([1_767_225_600 + second for second in seconds], pa.timestamp("s")).cast(pa.timestamp("us", "UTC"))
    events = pa.table({"ts": times, "user": users, "kind": kinds, "amount": [None, None, 30, 5, 7, 8]})
    (tmp_path / "events").mkdir()
    for number, part in enumerate((events.slice(0, 3), events.slice(3))):
        path = tmp_path / "events" / f"{number}.parquet"
        pq.write_table(part, path)
        # The file source reads the oldest file first.
        os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))
    (tmp_path / "query.txt").write_text(QUERY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


TO = ["--to", "out"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["query.txt", *TO], "Missing option '--from'"),
        (["query.txt", "--from", "events"], "Missing option '--to'"),
        ([*TO, "--from", "events"], "Missing argument 'QUERY_FILE'"),
        (["none.txt", "--from", "events", *TO], "cannot read the query file 'none.txt'"),
        (["query.txt", "--from", "none", *TO], "there is no folder 'none'"),
        (["query.txt", "--from", "query.txt", *TO], "'query.txt' is a file"),
        (["query.txt", "--from", "events", "--to", "query.txt"], "'query.txt' is a file"),
        (["query.txt", "--from", "mixed", *TO], "have several formats"),
        (["query.txt", "--from", "odd", *TO], "cannot tell the format of 'x.xls'"),
        (["query.txt", "--from", "kafka://host/t", *TO], "--from: 'host' is not the address of a Kafka broker"),
        (["query.txt", "--from", "kafka://host:9092", *TO], "the topic is missing"),
        (["query.txt", "--from", "kafak://host:9092/t", *TO], "did you mean 'kafka'?"),
        (["query.txt", "--from", "events", "--format", "avro", *TO], "--format avro is not possible here"),
        (["query.txt", "--from", "events", "--to", "kafka://a:1/t"], "rows that go to Kafka need a checkpoint"),
        (["query.txt", "--from", "events", *TO, "--json"], "--json prints the rows"),
        (["query.txt", "--from", "events", *TO, "--once", "--trigger", "2 seconds"], "--trigger has nothing to say"),
        (["query.txt", "--from", "events", *TO, "--trigger", "soon"], "--trigger 'soon'"),
        (["query.txt", "--from", "events", *TO, "--conf", "x"], "--conf takes name=value"),
        (["query.txt", "--from", "events", *TO, "--schema", "none.ddl"], "cannot read the schema file 'none.ddl'"),
        (["query.txt", "--from", "events", *TO, "--bad", "bad"], "there are no bad records"),
        (["query.txt", "--from", "events", *TO, "--log", "no/x.log"], "cannot write the log"),
        (["query.txt", "--from", "kafka://a:1/t", *TO, "--registry-header"], "--registry-header is for Avro records"),
        (["query.txt", "--rules", "odd", "--from", "events", *TO], "a query and --rules are both given"),
        (["--rules", "none", "--from", "events", *TO], "there is no folder 'none'"),
        (
            ["query.txt", "--from", "events", *TO, "--memory-limit", "1GB"],
            "--planning-limit are for --rules",
        ),
        (["--rules", "mixed", "--from", "events", *TO, "--memory-limit", "all"], "memory_limit='all' is not a size"),
        (
            ["--rules", "mixed", "--from", "events", *TO, "--planning-limit", "9"],
            "is not a duration",
        ),
        (["--rules", "mixed", "--from", "events", *TO, "--max-matches-per-partition", "no"], "a number from 1 on"),
        (["query.txt", "--from", "events", *TO, "--type", "kind"], "option 'type' is given twice"),
        (["rows.sql", "--from", "events", *TO, "--type", "kind"], "--type is for queries"),
        (["wrong.txt", "--from", "events", *TO], "                 ^\nHint: add the missing ')'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_mistake_is_one_message_before_anything_starts(
    folder: Path, eventide: Command, words: list[str], message: str
) -> None:
    for name in ("mixed/a.csv", "mixed/b.json", "odd/x.xls"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    (folder / "wrong.txt").write_text("PATTERN SEQ(A, B\nWITHIN 5 minutes".replace("SEQ(", "SEQ    ("))
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS at PATTERN (A B) DEFINE B AS amount > 1)"
    (folder / "rows.sql").write_text(f"SELECT * FROM events {clause}")
    code, out, err = eventide("stream", *words)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert message in err
    assert "Traceback" not in err
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--from", "kafka://ann:hunter2@host:9092/t", *TO],
        ["--from", "kafka://ann:hun/hunter2@x@host:9092/t", *TO],
        ["--from", "kafka://ann:hunter2/x@host:9092/t", *TO],
        ["--from", "kafak://ann:hunter2@host:9092/t", *TO],
        ["--from", "events", "--to", "kafka://ann:hunter2@host/t"],
        ["--from", "events", *TO, "--conf", "spark.ssl.keyPassword:hunter2"],
        ["--from", "file://ann:hunter2@host/none", *TO],
    ],
)
def test_no_message_gives_a_password_away(folder: Path, eventide: Command, words: list[str]) -> None:
    code, out, err = eventide("stream", "query.txt", *words)
    assert (code, out) == (2, "") and err.startswith("Error: ")
    assert "hunter2" not in err


def test_neither_the_view_nor_the_last_lines_give_a_password_away(
    folder: Path, eventide: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_job(job: Job, view: View, *_: object, **__: object) -> None:
        assert (job.metrics_port, job.metrics_address) == (9464, "127.0.0.1"), "only this machine is served"
        assert "hunter2" not in f"{view.source} {view.sink} {view.title}"
        assert isinstance(job.sink, Folder) and "hunter2" in job.sink.path

    monkeypatch.setattr("eventide.cli.stream.run_job", run_job)
    words = ["--from", "events", "--to", "s3a://key:hunter2@bucket/out", "--metrics-port", "9464"]
    code, out, err = eventide("stream", "query.txt", *words)
    assert code == 0 and "s3a://***@bucket/out.checkpoint" in err
    assert "hunter2" not in out + err


@pytest.mark.parametrize(("n_bad", "bad"), [(0, None), (2, None), (2, "bad")])
def test_who_left_records_out_is_told_how_to_see_them(
    folder: Path, eventide: Command, monkeypatch: pytest.MonkeyPatch, n_bad: int, bad: str | None
) -> None:
    def run_job(job: Job, view: View, *_: object, **__: object) -> None:
        view.tally.bad_records = n_bad
        assert (job.registry_header, job.bad) == (True, bad)

    monkeypatch.setattr("eventide.cli.stream.run_job", run_job)
    words = ["query.txt", "--from", "kafka://a:1/t", *TO, "--format", "avro", "--registry-header"]
    code, _, err = eventide("stream", *words, *(["--bad", bad] if bad else []))
    assert code == 0
    assert ("the same command with --bad FOLDER" in err) == (n_bad > 0 and bad is None)


def test_a_topic_that_is_not_there_is_named() -> None:
    said = "[STREAM_FAILED] Query [id = 1] terminated with exception: This server does not host this topic-partition."
    error = type("StreamingQueryException", (Exception,), {"__module__": "pyspark.errors"})(said)
    job = Job("q", make_rows=print, ts=None, source=Topic("a:1", "orderz"), sink=Terminal(), checkpoint=None)
    assert str(failure_of(error, 0, job)) == (
        "there is no topic kafka://a:1/orderz\nHint: make it first, or check its name"
    )
    both = replace(job, sink=Topic("a:1", "alerts"))
    assert "does not exist: kafka://a:1/orderz and kafka://a:1/alerts" in str(failure_of(error, 0, both))


def test_a_broker_that_stays_away_is_told_with_the_number_of_tries() -> None:
    error = BrokerAwayError("no broker answers at a:1", hint="is it running?")
    job = Job("q", make_rows=print, ts=None, source=Topic("a:1", "orders"), sink=Terminal(), checkpoint=None)
    assert str(failure_of(error, 10, job)) == "no broker answers at a:1 (tried 10 times again)\nHint: is it running?"


def test_nothing_is_started_while_no_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    from eventide.engines.spark import session

    class Session:
        def stop(self) -> None:
            pass

    class Screen:
        def show(self) -> None:
            pass

    monkeypatch.setattr(session, "quiet_session", lambda *_, **__: Session())
    monkeypatch.setattr(session, "is_alive", lambda _: True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        servers = f"127.0.0.1:{server.getsockname()[1]}"
    job = Job("q", make_rows=print, ts=None, source=Topic(servers, "t"), sink=Terminal(), checkpoint=None, retries=1)
    view: Any = View("q", str(job.source), "-", 0.0)
    screen: Any = Screen()
    with pytest.raises(BrokerAwayError, match=rf"^no broker answers at {servers} \(tried 1 times again\)"):
        run_job(job, view, screen, Signals(), checkpoint="c")


# --- whole runs ----------------------------------------------------------------------------------------------

COMMAND = [sys.executable, "-m", "eventide", "stream"]
SMALL = ["--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.driver.memory=1g"]
NOISE = ("Traceback", "WARN", "ERROR", "\tat ", "TransformWithState", "incubator")


@pytest.mark.spark
def test_once_writes_the_rows_of_a_folder_and_stops(folder: Path) -> None:
    words = ["query.txt", "--from", "events", "--to", "out", "--once", "--batch-files", "1", *SMALL]
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    rows = pq.read_table(folder / "out", columns=["user", "B_amount"]).to_pylist()
    assert sorted(rows, key=str) == [{"user": "ann", "B_amount": 30}, {"user": "bob", "B_amount": 5}]
    assert "\ndone: 6 events, 2 rows to out in " in done.stderr
    assert "\ndecided up to the watermark, 2026-01-01 00:01:00, 0.0 s behind the newest event\n" in done.stderr
    assert (folder / "out.checkpoint" / "commits").is_dir()
    assert not [word for word in NOISE if word in done.stderr]


@pytest.mark.spark
def test_rows_come_out_while_it_runs_and_bad_records_on_the_side_until_sigterm(folder: Path) -> None:
    (folder / "lines").mkdir()
    (folder / "lines" / "a.jsonl").write_text(
        '{"user": "ann", "ts": "2026-01-01T00:00:01Z", "kind": "Login"}\n'
        "this is no JSON\n\n"
        '{"user": "ann", "ts": "2026-01-01T00:00:04Z", "kind": "Buy", "amount": 30, "more": [1]}\n'
        '{"user": "ann", "ts": "soon", "kind": "Buy", "amount": 31}\n'
        '{"user": "ann", "ts": "2026-01-01T00:01:00Z", "kind": "Buy", "amount": 32}\n'
    )
    (folder / "columns.ddl").write_text("user string, ts timestamp,\n  kind string, amount double\n")
    words = ["query.txt", "--from", "lines", "--to", "-", "--json", "--schema", "columns.ddl", "--bad", "bad", *SMALL]
    running = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    try:
        row = json.loads(running.stdout.readline())
        deadline = time.monotonic() + 120
        while not list((folder / "bad").glob("*.json")) and time.monotonic() < deadline:
            time.sleep(0.2)
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=150)
    finally:
        running.kill()
    assert row == {"user": "ann", "B_amount": 30.0, "detected_at": "2026-01-01T00:00:04+00:00"}
    assert (running.returncode, out) == (0, ""), err
    assert "\nstopped: " in err and "3 events, 1 row to standard output" in err
    assert "\nleft out: 2 bad\n" in err
    assert not [word for word in NOISE if word in err]
    bad = [json.loads(line) for file in (folder / "bad").glob("*.json") for line in file.read_text().splitlines()]
    assert sorted(each["record"] for each in bad)[0] == "this is no JSON"
    assert [json.loads(each["read"]).get("amount") for each in bad if "soon" in each["record"]] == [31.0]
    assert all(each["file"].endswith("lines/a.jsonl") for each in bad)


@pytest.mark.spark
def test_a_mistake_that_only_the_columns_show_is_one_message(folder: Path) -> None:
    (folder / "query.txt").write_text(QUERY.replace("B.amount", "B.amuont"))
    done = subprocess.run(
        [*COMMAND, "query.txt", "--from", "events", "--to", "out", *SMALL], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    error = done.stderr[done.stderr.index("Error:") :]
    assert error.startswith("Error: unknown column 'amuont' (line 1, column ")
    assert error.endswith("^^^^^^\nHint: did you mean 'amount'?\n")
    assert not [word for word in NOISE if word in done.stderr]


@pytest.mark.spark
def test_what_the_columns_of_a_folder_are(spark: Any, folder: Path) -> None:
    from eventide.engines.spark.folders import declared, schema_of

    (folder / "none").mkdir()
    (folder / "table").mkdir()
    (folder / "table" / "a.csv").write_text("user,ts,amount\nann,2026-01-01T00:00:01Z,3\n")
    assert (
        schema_of(spark, str(folder / "table"), "csv", None).simpleString()
        == "struct<user:string,ts:timestamp,amount:int>"
    )
    assert schema_of(spark, "table", None, "x int").simpleString() == "struct<x:int>"
    assert schema_of(spark, str(folder / "events"), "parquet", None).names == ["ts", "user", "kind", "amount"]
    with pytest.raises(InputError, match="holds no files yet, so its columns are not known\nHint: add --schema"):
        schema_of(spark, "none", None, None)
    (folder / "none" / "x.parquet").write_bytes(b"PAR1 no parquet PAR1")
    with pytest.raises(InputError, match=r"^cannot read '[^\n]*none': [^\n]*\nHint: --schema gives the columns$"):
        schema_of(spark, str(folder / "none"), "parquet", None)
    with pytest.raises(InputError, match=r"^--schema is not a list of columns and types: [^\n]*\nHint: for example"):
        declared("user strin, ts timestamp")


@pytest.mark.spark
def test_every_record_of_a_csv_folder_is_an_event_or_bad(spark: Any, folder: Path) -> None:
    from eventide.engines.spark.folders import declared, read_folder

    (folder / "table").mkdir()
    (folder / "table" / "a.csv").write_text("user,n\nann,1\nbob,two\ncid,3,4,5\n")
    source = read_folder(spark, str(folder / "table"), "csv", declared("user string, n int"))
    found = {}
    for name, frame in (("events", source.events.select("user")), ("bad", source.bad)):
        writer = frame.writeStream.format("memory").queryName(f"cli_stream_{name}").trigger(availableNow=True)
        query = writer.start()
        query.awaitTermination()
        found[name] = [row.asDict() for row in spark.table(f"cli_stream_{name}").collect()]
    assert found["events"] == [{"user": "ann"}]
    assert sorted(row["record"] for row in found["bad"]) == ["bob,two", "cid,3,4,5"]


@pytest.mark.spark
def test_a_file_with_match_recognize_is_sql_over_the_stream(spark: Any, folder: Path) -> None:
    from eventide.engines.spark.folders import declared, read_folder

    clause = "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES B.amount AS paid PATTERN (A B) DEFINE B AS true)"
    (folder / "rows.sql").write_text(f"SELECT * FROM orders {clause}")
    schema = declared("user string, ts timestamp, kind string, amount double")
    events = read_folder(spark, str(folder / "events"), "parquet", schema).events
    for with_ids, columns in ((False, ["user", "paid"]), (True, ["user", "paid", "match_id"])):
        text = read_query(folder / "rows.sql", None)
        make_rows, _ = rows_of(text, {"allowed_lateness": "1 second"}, "orders", with_ids=with_ids)
        rows = make_rows(events, spark)
        assert rows.isStreaming and rows.columns == columns
