"""Rules that change while a stream runs: two to begin with, a third one when the stream is on its way.

Run with `python examples/rules.py`; it starts a local Spark and takes a minute. docs/rules.md explains it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import eventide as ev

OPTIONS: dict[str, Any] = {"ts": "ts", "type": "kind", "partition_by": ["user"], "allowed_lateness": "10 seconds"}
SCHEMA = "user string, ts timestamp, kind string, amount double"
SECOND_US = 1_000_000

# The first rules; `late_pay` has a misspelt column, which is reported and stops nothing.
AT_FIRST = {
    "refund.query": "PATTERN SEQ(Order o, Pay p, Refund r) WITHIN 10 minutes RETURN o.user, p.amount, r.ts AS refunded",
    "late_pay.query": "PATTERN SEQ(Order o, Pay p) WHERE p.sum > 100 WITHIN 10 minutes RETURN p.sum",
}
# What is added and replaced while the stream runs.
LATER = {
    "late_pay.query": "PATTERN SEQ(Order o, Pay p) WHERE p.amount > 100 WITHIN 10 minutes RETURN o.user, p.amount",
    "rising.sql": """
        SELECT user, first_amount, last_amount FROM orders MATCH_RECOGNIZE (
            PARTITION BY user
            ORDER BY ts
            MEASURES A.amount AS first_amount, LAST(UP.amount) AS last_amount
            PATTERN (A UP{2}) WITHIN INTERVAL '1' HOUR
            DEFINE A AS kind = 'Pay', UP AS kind = 'Pay' AND amount > PREV(amount)
        )""",
}


def events(start_s: int) -> pa.Table:
    """Orders, payments and a refund within some minutes."""
    rows = [
        ("ann", 0, "Order", None), ("ann", 20, "Pay", 120.0), ("ann", 95, "Refund", 120.0),
        ("bob", 5, "Order", None), ("bob", 40, "Pay", 15.0), ("bob", 60, "Pay", 18.0), ("bob", 90, "Pay", 25.0),
        ("eve", 600, "Order", None),
    ]  # fmt: skip
    user, seconds, kind, amount = (list(column) for column in zip(*rows, strict=True))
    times = pa.array([(1_700_000_000 + start_s + s) * SECOND_US for s in seconds], pa.int64())
    return pa.table({"user": user, "ts": times.cast(pa.timestamp("us", "UTC")), "kind": kind, "amount": amount})


def write_rules(folder: Path, rules: dict[str, str]) -> None:
    """By renaming, so that nobody reads half of a rule."""
    for name, text in rules.items():
        (folder / f".{name}").write_text(text)
        (folder / f".{name}").rename(folder / name)


def main() -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
    spark = session.config("spark.sql.session.timeZone", "UTC").config("spark.log.level", "ERROR").getOrCreate()
    base = Path(tempfile.mkdtemp())
    for name in ("rules", "in"):
        (base / name).mkdir()
    write_rules(base / "rules", AT_FIRST)
    pq.write_table(events(0), base / "in" / "0.parquet")
    rules = ev.RuleSet(base / "rules", **OPTIONS)
    stream = spark.readStream.schema(SCHEMA).parquet(str(base / "in"))
    writer = rules.run(stream).writeStream.format("memory").queryName("found")
    running = writer.option("checkpointLocation", str(base / "checkpoint")).start()
    running.processAllAvailable()
    spark.table("found").select("rule", "row", "problem").show(truncate=60)
    write_rules(base / "rules", LATER)
    running.processAllAvailable()
    pq.write_table(events(3600), base / "in" / "1.parquet")
    running.processAllAvailable()
    rules.rows(spark.table("found"), "rising").show()
    spark.table("found").groupBy("rule").count().orderBy("rule").show()
    running.stop()
    spark.stop()


if __name__ == "__main__":
    main()
