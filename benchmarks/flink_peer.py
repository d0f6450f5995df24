"""Flink's side of the benchmark 'peers', in the environment of PyFlink: `python -m benchmarks.flink_peer WAY PATH`.

WAY is "batch" or "stream", which reads the same bounded file. The job runs in the JVM that PyFlink starts.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment

from benchmarks.conversation import answer

# Flink's time attributes have milliseconds; `ts`, in microseconds, orders what they make equal. The watermark stays a
# millisecond behind: at the time itself, later rows of the same millisecond would be late, and dropped.
_TABLE = """
CREATE TABLE events (
    `ts` BIGINT, `key` INT, `kind` STRING,
    `at` AS TO_TIMESTAMP_LTZ(`ts` / 1000, 3),
    WATERMARK FOR `at` AS `at` - INTERVAL '0.001' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'parquet')
"""
_QUERY = """
SELECT count(*), coalesce(sum(c_us - a_us), 0) FROM events MATCH_RECOGNIZE (
    PARTITION BY `key` ORDER BY `at`, `ts`
    MEASURES A.`ts` AS a_us, C.`ts` AS c_us
    ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A B+ C)
    DEFINE A AS A.kind = 'A', B AS B.kind = 'B', C AS C.kind = 'C'
)
"""


def setup(way: str, path: str) -> Callable[[], dict[str, Any]]:
    settings = EnvironmentSettings.in_batch_mode() if way == "batch" else EnvironmentSettings.in_streaming_mode()
    tables = TableEnvironment.create(settings)
    options = {
        "parallelism.default": str(len(os.sched_getaffinity(0))),
        "table.local-time-zone": "UTC",
        "taskmanager.memory.managed.size": "1g",
    }
    if way == "stream":
        # The sums of a stream change with every match; only some of the changes are of interest.
        options |= {
            "table.exec.mini-batch.enabled": "true",
            "table.exec.mini-batch.allow-latency": "10 s",
            "table.exec.mini-batch.size": "1000000",
        }
    for name, value in options.items():
        tables.get_config().set(name, value)
    tables.execute_sql(_TABLE.format(path=path))

    def run() -> dict[str, Any]:
        result = tables.execute_sql(_QUERY)
        with result.collect() as rows:
            *_, last = rows
        job_ms = result.get_job_client().get_job_execution_result().result().get_net_runtime()
        return {"count": last[0], "checksum": last[1], "details": {"the job alone": [{"seconds": job_ms / 1000}]}}

    return run


if __name__ == "__main__":
    answer(setup)
