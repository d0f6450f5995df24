"""One query on three engines: a list in memory, a Spark DataFrame, a Spark stream.

Run with `python docs/examples/takeover.py`; it needs Java 17 or newer.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

# --8<-- [start:query]
import eventide as ev

takeover = ev.query("""
    PATTERN SEQ(Login l, Reset r, Transfer t)
    WHERE [user] AND t.country <> l.country
    WITHIN 10 minutes
    RETURN user, t.amount, l.ts AS login_at
""", ts="ts", type="kind", allowed_lateness="1 minute")  # fmt: skip
# --8<-- [end:query]

SCHEMA = "ts timestamp, user string, kind string, country string, amount int"
EVENTS = [
    ("2026-03-01 09:00:00", "ann", "Login", "FR", None),
    ("2026-03-01 09:00:10", "bob", "Login", "DE", None),
    ("2026-03-01 09:01:00", "ann", "Reset", "FR", None),
    ("2026-03-01 09:01:30", "bob", "Reset", "DE", None),
    ("2026-03-01 09:01:35", "ann", "Transfer", "US", 900),
    ("2026-03-01 09:11:40", "bob", "Transfer", "US", 50),
    ("2026-03-01 09:20:00", "eve", "Login", "IT", None),
]


def as_dataframe(spark: Any) -> Any:
    """The events as a batch DataFrame."""
    text = SCHEMA.replace("ts timestamp", "ts string")
    return spark.createDataFrame(EVENTS, text).selectExpr("CAST(ts AS timestamp) AS ts", "* EXCEPT (ts)")


def on_a_dataframe(spark: Any) -> Any:
    """Batch: a DataFrame in, a DataFrame out; nothing runs before an action asks for rows."""
    events = as_dataframe(spark)
    # --8<-- [start:batch]
    rows = takeover.run(events)
    rows.show()
    # --8<-- [end:batch]
    return rows


def on_a_path(spark: Any, folder: Path) -> Any:
    """Batch from Parquet: Spark's tasks open the files themselves."""
    path = str(folder / "events.parquet")
    as_dataframe(spark).coalesce(1).write.parquet(path)
    # --8<-- [start:path]
    rows = takeover.run(path, engine="spark", spark=spark)
    # --8<-- [end:path]
    return rows


def on_a_stream(spark: Any, folder: Path) -> Any:
    """Stream: the same call on a streaming DataFrame; the result is a streaming DataFrame."""
    inbox, result, checkpoint = (str(folder / name) for name in ("inbox", "result", "checkpoint"))
    as_dataframe(spark).coalesce(1).write.parquet(inbox)
    # --8<-- [start:stream]
    events = spark.readStream.schema(SCHEMA).parquet(inbox)
    query = (
        takeover.run(events)
        .writeStream.format("parquet")
        .option("path", result)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    # --8<-- [end:stream]
    return spark.read.parquet(result)


def main() -> None:
    from eventide.engines.spark.session import session

    spark = session("takeover")
    spark.conf.set("spark.sql.shuffle.partitions", "4")  # a stream keeps one state for each
    with tempfile.TemporaryDirectory() as folder:
        on_a_dataframe(spark)
        on_a_path(spark, Path(folder)).show()
        on_a_stream(spark, Path(folder)).show()
    spark.stop()


if __name__ == "__main__":
    main()
