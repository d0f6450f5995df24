"""A session's time zone: every engine computes in UTC, whatever Spark's session says."""

from __future__ import annotations

import datetime as dt
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.engines.spark.time_zone import in_utc

TIMES = [dt.datetime(2026, 7, 1, 21, 30), dt.datetime(2026, 7, 1, 23, 30), dt.datetime(2026, 7, 2, 1, 15)]
EVENTS = pa.table(
    {
        "ts": pa.array([moment.replace(tzinfo=dt.UTC) for moment in TIMES], pa.timestamp("us", "UTC")),
        "kind": ["A", "A", "B"],
        "x": [1, 2, 3],
    }
)
PARTS = {
    "hour": "hour({ts})",
    "day": "CAST({ts} AS DATE)",
    "shown": "CAST({ts} AS STRING)",
    "begun": "date_trunc('DAY', {ts})",
    "late": "{ts} > TIMESTAMP '2026-07-01 23:00:00'",
    "later": "{ts} > DATE '2026-07-02'",
}
ONE = ", ".join(f"{text.format(ts='a.ts')} AS {name}" for name, text in PARTS.items())
QUERY = ev.query(f"PATTERN SEQ(A a, B b) WHERE hour(a.ts) >= 22 WITHIN 1 day RETURN a.x, {ONE}", type="kind")
ROWS = {name: text.format(ts="LAST(A.ts)") for name, text in PARTS.items()}
MATCHES = ev.match_recognize(order_by="ts", pattern="A B", measures=ROWS, define={"A": "hour(A.ts) >= 22"})
OF_T = ", ".join(f"{text.format(ts='ts')} AS {name}" for name, text in PARTS.items())


@pytest.fixture
def zurich(spark: Any) -> Iterator[Any]:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Zurich")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    return [{name: _instant(value) for name, value in row.items()} for row in table.to_pylist()]


def _instant(value: Any) -> Any:
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value


FAMILIES: dict[str, Callable[[Any], Any]] = {
    "query": QUERY.run,
    "rows": MATCHES,
    "statement": lambda t: ev.sql(f"SELECT {OF_T} FROM t WHERE hour(ts) >= 22", t=t),
    "intervals": lambda t: ev.intervals.homogeneous(t, "hour(ts) >= 22", value="max(hour(ts))"),
}


@pytest.mark.spark
def test_every_family_computes_in_utc_and_leaves_the_session_as_it_was(zurich: Any) -> None:
    frame = zurich.createDataFrame(EVENTS)
    for name, run in FAMILIES.items():
        found, wanted = rows_of(run(frame).toArrow()), rows_of(run(EVENTS))
        assert wanted and found == wanted, name
        assert zurich.conf.get("spark.sql.session.timeZone") == "Europe/Zurich"


@pytest.mark.spark
def test_files_and_streams_compute_in_utc(zurich: Any, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(EVENTS, folder / "a.parquet")
    wanted = rows_of(QUERY.run(EVENTS))
    assert rows_of(QUERY.run(str(folder), engine="spark", spark=zurich).toArrow()) == wanted
    stream = zurich.readStream.schema("ts timestamp, kind string, x long").parquet(str(folder))
    written = QUERY.run(stream).writeStream.format("memory").queryName("in_utc").trigger(availableNow=True)
    written.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    assert rows_of(zurich.table("in_utc").toArrow()) == wanted


class _Remote:
    """A session of Spark Connect, as far as the check looks."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self) -> None:
        self.conf = {"spark.sql.session.timeZone": "Asia/Tokyo"}


def test_a_remote_session_in_another_zone_is_refused_where_the_zone_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eventide.engines.spark.time_zone.is_connect", lambda spark: True)
    remote: Any = _Remote()
    with in_utc(remote, ["`price` * 2"]):
        pass
    with pytest.raises(ev.InputError) as caught, in_utc(remote, ["hour(`ts`)"]):
        pass
    assert str(caught.value) == (
        "the session's time zone is Asia/Tokyo, and Eventide computes in UTC\n"
        'Hint: spark.conf.set("spark.sql.session.timeZone", "UTC")'
    )
