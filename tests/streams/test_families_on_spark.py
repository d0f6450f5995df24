"""Every query family on Spark: rows to any sink, aggregated further, and statements over views that are streams."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from tests.engines.plans import micros, shuffle_within, table_rows
from tests.engines.streams import SCHEMA, read_batches, write_files
from tests.streams.families import FAMILIES, LATENESS_US, STATEMENT, all_events

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark

# One of each operator: the others differ in the plan only, which micro-batches without Spark compare.
NAMES = (
    "Kleene and NOT any",
    "trends",
    "MATCH_RECOGNIZE, all rows",
    "builder timeouts",
    "situations with what is possible",
    "complete situations",
    "intervals of runs",
)
WINDOW_S = 20


@pytest.fixture(scope="module")
def events() -> pa.Table:
    return all_events(160, seed=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, events: pa.Table) -> Path:
    base = tmp_path_factory.mktemp("families")
    write_files(base / "in", shuffle_within(events, LATENESS_US, seed=6), n_files=2, seed=7)
    return base


def source(spark: Any, base: Path) -> Any:
    return read_batches(spark, base / "in", SCHEMA)


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_of_every_family_has_the_rows_of_the_local_engine(
    spark: Any, folder: Path, events: pa.Table, name: str
) -> None:
    family = next(family for family in FAMILIES if family.name == name)
    rows = family.run(source(spark, folder))
    assert rows.isStreaming
    to, checkpoint = folder / f"out-{name}", folder / f"state-{name}"
    ev.write_stream(rows, to=to, checkpoint=checkpoint, once=True).awaitTermination()
    written = spark.read.parquet(str(to)).toArrow()
    expected = family.run(events)
    columns = sorted(expected.schema.names)
    # When an interval was decided, only a stream can say.
    assert set(written.schema.names) - {"detected_at"} == set(columns) - {"detected_at"}
    assert table_rows(written.select(columns)) == table_rows(expected.select(columns))
    assert written.num_rows > 1


def test_statements_read_views_that_are_streams(spark: Any, folder: Path, events: pa.Table) -> None:
    """The catalog's view is named in the statement; the sink is memory, and a function of each batch."""
    source(spark, folder).createOrReplaceTempView("arrivals")
    text = STATEMENT.replace("FROM events", "FROM arrivals")
    expected = table_rows(ev.sql(STATEMENT, events=events))
    assert len(expected) > 3
    seen: list[tuple[object, ...]] = []

    def take(rows: Any, number: int) -> None:
        seen.extend(table_rows(rows.toArrow()))

    try:
        rows = ev.sql(text, spark=spark, allowed_lateness="5 seconds")
        assert rows.isStreaming
        to_memory = rows.writeStream.format("memory").queryName("rises").trigger(availableNow=True).start()
        to_memory.awaitTermination()
        narrow = ev.sql(
            f"WITH some AS (SELECT * FROM arrivals WHERE user IS NOT NULL) {text.replace('arrivals', 'some')}",
            spark=spark,
            allowed_lateness="5 seconds",
        )
        to_function = narrow.writeStream.foreachBatch(take).trigger(availableNow=True).start()
        to_function.awaitTermination()
        assert table_rows(spark.table("rises").toArrow()) == expected
        assert sorted(seen, key=str) == sorted([row for row in expected if row[0] is not None], key=str)
    finally:
        spark.catalog.dropTempView("arrivals")
        spark.catalog.dropTempView("rises")


def test_situations_can_be_counted_by_windows_of_detected_at(spark: Any, folder: Path, events: pa.Table) -> None:
    from pyspark.sql import functions as sf

    family = next(family for family in FAMILIES if family.name == "situations")
    windows = sf.window("detected_at", f"{WINDOW_S} seconds")
    counted = family.run(source(spark, folder)).groupBy(windows).count()
    rows = counted.select(sf.unix_seconds("window.start").alias("start"), "count")
    to, checkpoint = folder / "counted", folder / "counted-state"
    ev.write_stream(rows, to=to, checkpoint=checkpoint, once=True, format="json").awaitTermination()
    found = {row["start"]: row["count"] for row in spark.read.json(str(to)).collect()}
    times = micros(family.run(events).select(["detected_at"]).rename_columns(["ts"]))
    assert found == Counter(time_us // (WINDOW_S * 1_000_000) * WINDOW_S for time_us in times)
    assert len(found) > 2
