"""What the checkpoint of a stream knows: counters of all buckets, read from the state store."""

from __future__ import annotations

from pyspark.sql import SparkSession

from eventide.errors import InputError
from eventide.runtime.sealed import open_sealed


def read_counters(checkpoint: str, spark: SparkSession) -> dict[str, int]:
    """Counters summed over the buckets, as of the last committed micro-batch."""
    try:
        heads = spark.read.format("statestore").option("stateVarName", "head").load(checkpoint)
        rows = heads.select("value.engine", "value.operator").collect()
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"'{checkpoint}' is not the checkpoint of an Eventide stream: {reason}") from error
    engines, operators = [open_sealed(row[0].encode()) for row in rows], [open_sealed(bytes(row[1])) for row in rows]
    counters = {
        "late_events": sum(operator["late"] for operator in operators),
        "held_segments": sum(len(engine["segments"]) for engine in engines),
        "buckets": len(rows),
    }
    if any("overflows" in operator for operator in operators):
        counters["overflows"] = sum(operator.get("overflows", 0) for operator in operators)
    return counters
