"""`ev.write_stream`: what is checked before a stream starts, and that what it writes is complete."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.errors import EventideError, InputError
from tests.engines.plans import make_events
from tests.engines.streams import SCHEMA, write_files

pytest.importorskip("pyspark")

QUERY = "PATTERN SEQ(A a, B b) WHERE [user] SEMANTICS next WITHIN 20 seconds RETURN user, a.ts AS a, b.ts AS b"


class Session:
    """A session without a JVM in this process, as on Connect: only local folders are looked at."""


class Rows:
    """A DataFrame that keeps what its writer was told."""

    __module__ = "pyspark.sql.stand_in"
    sparkSession = Session()  # noqa: N815
    isStreaming = True  # noqa: N815

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}

    def _explain_string(self, extended: bool) -> str:
        return ""

    @property
    def writeStream(self) -> Rows:  # noqa: N802
        return self

    def format(self, name: str) -> Rows:
        self.told["format"] = name
        return self

    def outputMode(self, mode: str) -> Rows:  # noqa: N802
        return self

    def option(self, name: str, value: str) -> Rows:
        self.told[name] = value
        return self

    def queryName(self, name: str) -> Rows:  # noqa: N802
        self.told["name"] = name
        return self

    def trigger(self, **given: Any) -> Rows:
        self.told.update(given)
        return self

    def start(self) -> str:
        return "started"


def log(folder: Path, *batches: str) -> None:
    folder.mkdir(parents=True)
    for batch in batches:
        (folder / batch).write_text("v1")


def test_the_writer_is_told_what_was_asked_for(tmp_path: Path) -> None:
    rows = Rows()
    out, state = str(tmp_path / "out"), str(tmp_path / "state")
    assert ev.write_stream(rows, to=out, checkpoint=state, trigger="90 s", format="json", name="alerts") == "started"
    assert rows.told == {
        "format": "json",
        "path": out,
        "checkpointLocation": state,
        "name": "alerts",
        "processingTime": "90 seconds",
    }
    rows = Rows()
    ev.write_stream(rows, to=out, checkpoint=state, once=True)
    assert rows.told["availableNow"] is True and "processingTime" not in rows.told


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"format": "parket"}, "(?s)format='parket' is not possible.*did you mean 'parquet'.*rows.writeStream"),
        ({"format": "delta"}, "(?s)format='delta' is not possible.*known: parquet.*rows.writeStream"),
        ({"trigger": "now"}, "(?s)trigger='now'.*Hint: write trigger='5 seconds'"),
        ({"trigger": "5 events"}, "trigger='5 events' is not a time"),
        ({"trigger": 5}, "trigger is text, found 5"),
        ({"trigger": "5 s", "once": True}, "once=True reads what is there and stops"),
        ({"name": ""}, "name is text"),
        ({"to": ""}, "to is the path of a folder"),
        ({"checkpoint": None}, "(?s)checkpoint is the path of a folder, found None.*alerts-checkpoint"),
    ],
)
def test_wrong_arguments_are_told_before_anything_starts(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    places = {"to": str(tmp_path / "out"), "checkpoint": str(tmp_path / "state")}
    with pytest.raises(EventideError, match=said):
        ev.write_stream(Rows(), **{**places, **given})


def test_only_a_stream_can_be_written_as_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="takes a streaming DataFrame, found Table"):
        ev.write_stream(pa.table({"x": [1]}), to=tmp_path / "out", checkpoint=tmp_path / "state")
    rows = Rows()
    rows.isStreaming = False
    with pytest.raises(InputError, match=r"(?s)not a stream.*rows\.write\.parquet"):
        ev.write_stream(rows, to=tmp_path / "out", checkpoint=tmp_path / "state")


@pytest.mark.parametrize(
    ("to", "checkpoint", "said"),
    [
        ("out", "out/", "cannot hold both the rows and the checkpoint"),
        ("out", "other/../out", "cannot hold both the rows and the checkpoint"),
        ("state/out", "state", "is inside the checkpoint"),
        ("out", "out/state", "is among the rows"),
    ],
)
def test_rows_and_checkpoint_have_folders_of_their_own(tmp_path: Path, to: str, checkpoint: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ev.write_stream(Rows(), to=f"{tmp_path}/{to}", checkpoint=f"{tmp_path}/{checkpoint}")


def test_a_hidden_folder_among_the_rows_may_be_the_checkpoint(tmp_path: Path) -> None:
    assert ev.write_stream(Rows(), to=tmp_path / "out", checkpoint=tmp_path / "out" / "_checkpoint") == "started"


@pytest.mark.parametrize(
    ("written", "planned", "done", "said"),
    [
        (["0", "1"], None, None, "batches up to 1, but in .* there is no checkpoint: Spark would leave out"),
        (["9.compact", "10"], ["0", "1"], ["0"], "batches up to 10, .* the checkpoint knows only batches up to 1"),
        (None, ["0", "1"], ["0"], "finished batches up to 0, but .* has no rows of a stream"),
        (["0"], ["0", "1", "2"], ["0", "1"], "finished batches up to 1, but .* has only the rows of batches up to 0"),
    ],
)
def test_rows_and_a_checkpoint_that_do_not_belong_together_are_refused(
    tmp_path: Path, written: list[str] | None, planned: list[str] | None, done: list[str] | None, said: str
) -> None:
    for name, batches in (("out/_spark_metadata", written), ("state/offsets", planned), ("state/commits", done)):
        if batches is not None:
            log(tmp_path / name, *batches)
    with pytest.raises(InputError, match=said):
        ev.write_stream(Rows(), to=tmp_path / "out", checkpoint=tmp_path / "state")


@pytest.mark.parametrize(
    ("written", "planned", "done"),
    [
        ([], ["0"], []),  # killed before the first rows
        (["0"], ["0"], []),  # killed before the first batch was done
        (["0", "1"], ["0", "1", ".2.tmp"], ["0"]),
        (["0"], ["0", "1"], ["0"]),
        (["9.compact"], ["8", "9"], ["8", "9"]),
    ],
)
def test_a_kill_at_any_moment_leaves_what_can_go_on(
    tmp_path: Path, written: list[str], planned: list[str], done: list[str]
) -> None:
    for name, batches in (("out/_spark_metadata", written), ("state/offsets", planned), ("state/commits", done)):
        log(tmp_path / name, *batches)
    assert ev.write_stream(Rows(), to=tmp_path / "out", checkpoint=tmp_path / "state") == "started"


def test_late_events_are_of_streams_only() -> None:
    events = pa.table({"ts": [1], "kind": ["A"], "user": ["u"]})
    falls = ev.match_recognize(order_by="ts", pattern="A", define={"A": "kind = 'A'"}, ts_unit="s")
    for late in (ev.query("PATTERN SEQ(A, B)", ts_unit="s", type="kind").late, falls.late):
        with pytest.raises(InputError, match="only a stream has late events"):
            late(events)
    with pytest.raises(InputError, match="only a stream has late events"):
        ev.intervals.threshold("ts > 0", ts_unit="s").late(events)
    with pytest.raises(InputError, match="only a stream has late events"):
        ev.allen("before", left_times="ts", right_times="ts", ts_unit="s").late(left=events, right=events)


@pytest.mark.spark
def test_a_deleted_checkpoint_is_an_error_and_not_a_silent_loss(spark: Any, tmp_path: Path) -> None:
    events = make_events(120, seed=21)
    write_files(tmp_path / "in", events, n_files=2)
    query = ev.query(QUERY, ts="ts", type="kind", allowed_lateness="1 second")

    def rows() -> Any:
        source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        return query.run(source)

    def run(out: str) -> int:
        ev.write_stream(rows(), to=tmp_path / out, checkpoint=tmp_path / "state", once=True).awaitTermination()
        return int(spark.read.parquet(str(tmp_path / out)).count())

    first = run("out")
    assert first > 5
    shutil.rmtree(tmp_path / "state")
    with pytest.raises(InputError, match=r"has the rows of batches up to \d+, but in .* there is no checkpoint"):
        run("out")
    # What Spark does without the check: the rows of the new stream are nowhere.
    unchecked = rows().writeStream.format("parquet").option("path", str(tmp_path / "out"))
    unchecked = unchecked.option("checkpointLocation", str(tmp_path / "unchecked"))
    unchecked.trigger(availableNow=True).start().awaitTermination()
    assert spark.read.parquet(str(tmp_path / "out")).count() == first
    assert run("new") == first


@pytest.mark.spark
def test_late_events_of_queries_clauses_and_intervals_are_streams(spark: Any, tmp_path: Path) -> None:
    events = make_events(80, seed=22)
    late = events.slice(3, 2)
    write_files(tmp_path / "in", events, 1)
    write_files(tmp_path / "in", late, 1, first=1)
    falls = ev.match_recognize(
        partition_by="user", order_by="ts", pattern="A B", define={"A": "kind = 'A'"}, within="20 seconds"
    )
    both = [ev.query(QUERY, ts="ts", type="kind").late, falls.late]
    both.append(ev.intervals.threshold("amount > 0", ts="ts", partition_by="user").late)
    for i, late_of in enumerate(both):
        source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        out, state = tmp_path / f"late{i}", tmp_path / f"state{i}"
        ev.write_stream(late_of(source), to=out, checkpoint=state, once=True).awaitTermination()
        found = spark.read.parquet(str(out)).toArrow()
        assert found.sort_by("ts").to_pylist() == late.cast(found.schema).sort_by("ts").to_pylist()
