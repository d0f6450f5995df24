"""A checkpoint of another query is refused before the stream starts, also when no event has come since."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import eventide as ev
from eventide.cli import job as cli_job
from eventide.engines.addresses import Terminal
from eventide.errors import InputError, StateError

pytest.importorskip("pyspark")

from eventide.engines.spark import checkpoints
from eventide.engines.spark.checkpoints import Made, check_checkpoint

FACTS = (("option ts", "ts"), ("column x", "int"))
MADE = Made("PATTERN A\nWITHIN 10 seconds", FACTS, 4, None)


class Rows:
    """A stream on Connect, as far as the check asks: its plan names the metrics of its operators."""

    __module__ = "pyspark.sql.stand_in"
    sparkSession = object()  # noqa: N815
    isStreaming = True  # noqa: N815

    def __init__(self, *operators: Made) -> None:
        self.names = [f"eventide_buckets_{number:012x}" for number in range(len(operators))]
        for name, operator in zip(self.names, operators, strict=True):
            checkpoints.remember(name, operator)

    def _explain_string(self, extended: bool) -> str:
        return "\n".join(f"CollectMetrics {name}, [...]\n  CollectMetrics {name}" for name in self.names)


def begin(folder: Path, *operators: Made) -> None:
    """What a first start leaves."""
    check_checkpoint(Rows(*operators), str(folder))
    (folder / "offsets").mkdir()
    (folder / "offsets" / "0").write_text("v1")


def test_the_same_query_goes_on_also_with_another_lateness(tmp_path: Path) -> None:
    begin(tmp_path, MADE)
    check_checkpoint(Rows(Made(MADE.query, FACTS, 4, "allowed_lateness is 5 seconds")), f"{tmp_path}/")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Made("PATTERN A\nWITHIN 60 seconds", FACTS, 4, None), "WITHIN 10 seconds became WITHIN 60 seconds"),
        (Made(MADE.query, (FACTS[0], ("column x", "double")), 4, None), "column x: int became double"),
        (Made(MADE.query, FACTS, 8, None), "made with 4 buckets, the query now runs with 8"),
    ],
    ids=["clause", "type", "buckets"],
)
def test_another_query_is_refused_with_what_changed(tmp_path: Path, other: Made, said: str) -> None:
    begin(tmp_path, MADE)
    with pytest.raises(InputError, match=said):
        check_checkpoint(Rows(other), str(tmp_path))
    # It is still that of the first query.
    check_checkpoint(Rows(MADE), str(tmp_path))


def test_each_operator_of_a_stream_is_compared(tmp_path: Path) -> None:
    second = Made("ALLEN", (), 4, None)
    begin(tmp_path, MADE, second)
    check_checkpoint(Rows(MADE, second), str(tmp_path))
    with pytest.raises(InputError, match="belongs to another query"):
        check_checkpoint(Rows(MADE, MADE), str(tmp_path))
    with pytest.raises(InputError, match="one of 2 queries, not 1"):
        check_checkpoint(Rows(MADE), str(tmp_path))


def test_a_start_that_failed_binds_nothing(tmp_path: Path) -> None:
    check_checkpoint(Rows(Made("PATTERN B", (), 1, None)), str(tmp_path))
    begin(tmp_path, MADE)
    check_checkpoint(Rows(MADE), str(tmp_path))


def test_a_checkpoint_that_was_begun_without_the_check_is_left_to_the_buckets(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text("v1")
    check_checkpoint(Rows(MADE), str(tmp_path))
    # Who is right is not known yet: nothing is written down.
    assert not (tmp_path / checkpoints._FILE).exists()


def test_what_is_written_down_is_checked_for_damage(tmp_path: Path) -> None:
    begin(tmp_path, MADE)
    path = tmp_path / checkpoints._FILE
    path.write_bytes(path.read_bytes().replace(b"10 seconds", b"60 seconds"))
    with pytest.raises(StateError, match="is damaged"):
        check_checkpoint(Rows(MADE), str(tmp_path))


@pytest.mark.parametrize("sink", ["files", "kafka", "terminal"])
def test_every_way_to_write_looks_before_the_start(tmp_path: Path, sink: str) -> None:
    begin(tmp_path / "state", MADE)
    rows: Any = Rows(Made("PATTERN B", FACTS, 4, None))
    with pytest.raises(InputError, match="PATTERN A became PATTERN B"):
        if sink == "files":
            ev.write_stream(rows, to=tmp_path / "out", checkpoint=tmp_path / "state")
        elif sink == "kafka":
            ev.kafka.write(rows, "localhost:9092", "alerts", checkpoint=tmp_path / "state")
        else:
            job: Any = SimpleNamespace(sink=Terminal(), trigger=None, once=False)
            cli_job._write(job, rows, screen=None, checkpoint=str(tmp_path / "state"))  # type: ignore[arg-type]


@pytest.mark.spark
def test_a_changed_query_is_refused_on_spark_and_late_events_are_logged(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def write(*rows: tuple[int, str]) -> None:
        frame = spark.createDataFrame(list(rows), "s long, kind string").coalesce(1)
        frame.selectExpr("timestamp_seconds(s) AS ts", "kind").write.mode("append").parquet(f"{tmp_path}/in")

    def run(seconds: int) -> int:
        events = spark.readStream.schema("ts timestamp, kind string").parquet(f"{tmp_path}/in")
        found = ev.query(f"PATTERN SEQ(A a, B b) WITHIN {seconds} seconds", type="kind").run(events).where("true")
        query = ev.write_stream(found, to=tmp_path / "out", checkpoint=f"file:{tmp_path}/state", once=True)
        query.awaitTermination()
        return int(spark.read.parquet(f"{tmp_path}/out").count())

    write((0, "A"), (30, "B"), (9000, "C"))
    assert run(10) == 0
    with pytest.raises(InputError, match="WITHIN 10 seconds became WITHIN 1 minute"):
        run(60)
    write((5, "A"), (9001, "A"), (9005, "B"), (9100, "C"))
    with caplog.at_level(logging.WARNING, logger="eventide"):
        assert run(10) == 1
        deadline = time.monotonic() + 30
        while not caplog.records and time.monotonic() < deadline:
            time.sleep(0.1)
    assert "1 events of batch" in caplog.text and "allowed_lateness is 0" in caplog.text
