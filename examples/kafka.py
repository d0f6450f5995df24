"""Orders from a Kafka topic, logins that a purchase follows to another topic: python examples/kafka.py localhost:9092

Needs Spark's Kafka connector, which the session fetches when it starts. Records look like
{"user": "ann", "ts": "2026-01-01T10:00:00Z", "kind": "Login", "amount": null}
"""

from __future__ import annotations

import sys
from typing import Any

import eventide as ev

SCHEMA = "user string, ts timestamp, kind string NOT NULL, amount double"
QUERY = """
PATTERN SEQ(Login L, Buy B)
PARTITION BY user
WITHIN 10 minutes
RETURN L.user AS user, L.ts AS login, B.ts AS bought, B.amount AS amount
"""


def start(spark: Any, servers: str, folder: str, *, source: str, target: str, bad: str) -> list[Any]:
    """Start two queries: the matches of topic `source` to topic `target`, its bad records to topic `bad`."""
    orders = ev.kafka.read(spark, servers, source, schema=SCHEMA, max_events_per_batch=500_000)
    purchases = ev.query(QUERY, ts="ts", type="kind", match_id=True, allowed_lateness="1 minute").run(orders.events)
    return [
        ev.kafka.write(purchases, servers, target, checkpoint=f"{folder}/purchases", trigger="1 second"),
        ev.kafka.write(orders.bad, servers, bad, checkpoint=f"{folder}/bad", trigger="1 second"),
    ]


def main(servers: str) -> None:
    import pyspark
    from pyspark.sql import SparkSession

    connector = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    spark = SparkSession.builder.config("spark.jars.packages", connector).getOrCreate()
    places = {"source": "orders", "target": "purchases", "bad": "orders-bad"}
    start(spark, servers, "kafka-example", **places)
    print("reading the topic orders; matches go to purchases, bad records to orders-bad")
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
