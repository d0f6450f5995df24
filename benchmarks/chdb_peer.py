"""ClickHouse's side of the benchmark 'peers', in the environment of chDB: `python -m benchmarks.chdb_peer WAY PATH`.

WAY is one of `QUERIES`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import chdb

from benchmarks.conversation import answer

LONGEST_RUN = 12
_KINDS = "kind = 'A', kind = 'B', kind = 'C', kind NOT IN ('A', 'B', 'C')"
_US = "toUInt64(toUnixTimestamp64Micro(ts))"


def _sequence_counts() -> str:
    """The patterns of sequenceCount have no repetition: a count for each length of a run of B, added up."""
    patterns = [f"(?1){'(?2)' * n}(?3)" for n in range(1, LONGEST_RUN + 1)]
    return " + ".join(f"sequenceCount('{pattern}')({_US}, {_KINDS})" for pattern in patterns)


QUERIES = {
    "countMatches": """
        SELECT sum(countMatches(letters, 'AB+C')) AS n FROM (
            SELECT arrayStringConcat(arrayMap(e -> e.2, arraySort(groupArray((ts, kind))))) AS letters
            FROM file('{path}', Parquet) GROUP BY key
        )""",
    "sequenceCount": f"""
        SELECT sum(n) AS n FROM (
            SELECT {_sequence_counts()} AS n FROM file('{{path}}', Parquet) GROUP BY key
        )""",
    "windowFunnel": f"""
        SELECT countIf(level = 3) AS keys, avg(level) AS steps FROM (
            SELECT windowFunnel(1000000000000)({_US}, kind = 'A', kind = 'B', kind = 'C') AS level
            FROM file('{{path}}', Parquet) GROUP BY key
        )""",
}


def setup(way: str, path: str) -> Callable[[], dict[str, Any]]:
    query = QUERIES[way].replace("{path}", path)

    def run() -> dict[str, Any]:
        (row,) = (json.loads(line) for line in str(chdb.query(query, "JSONEachRow")).splitlines())
        if "n" in row:
            return {"count": int(row["n"])}
        found = {"keys with an A, later a B, later a C": int(row["keys"]), "steps of a key on average": row["steps"]}
        return {"details": {"not comparable": [found]}}

    return run


if __name__ == "__main__":
    answer(setup)
