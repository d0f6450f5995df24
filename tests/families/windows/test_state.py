"""The state of windows is bounded: it follows what is open, not what has come."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from tests.micro_batches import SECOND_US, Stream

QUERIES = {
    "time": "FROM e GROUP BY g WITHIN 20 seconds SLIDE 3 seconds RETURN g, count(*) AS n, max(x) AS top",
    "growing": "FROM e GROUP BY g WITHIN UP TO 20 seconds STEP 5 seconds RETURN g, count(*) AS n",
    "sessions": "FROM e GROUP BY g SESSION 2 seconds RETURN g, count(*) AS n, avg(x) AS mean",
    "a session without end": "FROM e GROUP BY g SESSION 30 seconds RETURN g, count(*) AS n",
    "events": "FROM e GROUP BY g WITHIN 9 EVENTS SLIDE 4 EVENTS RETURN g, sum(x) AS total",
    "early": "FROM e GROUP BY g WITHIN 20 seconds EMIT EVERY 5 seconds RETURN g, count(*) AS n",
}
N_BATCHES, SECONDS = 80, 5


def batch(number: int) -> pa.Table:
    """Events of all groups over some seconds; in the others two groups have gaps."""
    rows: list[dict[str, Any]] = []
    for second in range(number * SECONDS, (number + 1) * SECONDS):
        groups = "ab" if second % 10 < 6 else "a"
        rows += [{"ts": second, "g": g, "x": second % 7} for g in groups for _ in range(3)]
    return pa.Table.from_pylist(rows, pa.schema({"ts": pa.int64(), "g": pa.string(), "x": pa.int64()}))


@pytest.mark.parametrize("name", QUERIES)
def test_the_state_stays_as_small_as_it_was(name: str) -> None:
    query = ev.query(QUERIES[name], ts_unit="s")
    stream, sizes = Stream(query._plan(query.options, batch(0).schema, on_stream=True)), []
    for number in range(N_BATCHES):
        stream.step(batch(number), ((number + 1) * SECONDS - 3) * SECOND_US)
        sizes.append(len(stream.snapshot.head) + sum(map(len, stream.snapshot.segments.values())))
    assert max(sizes[N_BATCHES // 2 :]) <= 1.1 * max(sizes[: N_BATCHES // 2])
    assert len(stream.rows) >= N_BATCHES // 2 or name == "a session without end"


def test_a_late_event_changes_no_window_and_is_counted() -> None:
    query = ev.query("FROM e WITHIN 10 seconds RETURN count(*) AS n", ts_unit="s")
    table = pa.table({"ts": [1, 12, 3, 11]})
    stream = Stream(query._plan(query.options, table.schema, on_stream=True))
    stream.step(table.slice(0, 2), 5 * SECOND_US)
    # 3 is late though its window is open; 11 is not.
    stream.step(table.slice(2), 20 * SECOND_US)
    assert [(row["window_start"], row["n"]) for row in stream.rows] == [(0, 1), (10, 2)]
    assert stream.operator().late_events() == 1
