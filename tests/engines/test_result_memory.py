"""Results that do not fit into memory: a message, before the machine is out of memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.engines.local import memory
from eventide.engines.local.memory import available_bytes, collect

ROWS = pa.RecordBatch.from_pydict({"n": list(range(1000))})


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 10_000)


def test_rows_are_collected_no_further_than_memory_reaches(little: None) -> None:
    made = []

    def batches() -> Iterator[pa.RecordBatch]:
        for i in range(100):
            made.append(i)
            yield ROWS

    with pytest.raises(ev.InputError, match=r"1,000 rows take 8.0 KB, and there is room for 7.5 KB"):
        collect(batches())
    assert made == [0]


@pytest.mark.parametrize("error", [MemoryError(), pa.ArrowMemoryError("malloc of size 64 failed")])
def test_an_allocation_that_fails_is_told_as_what_it_is(error: Exception) -> None:
    def batches(n: int) -> Iterator[pa.RecordBatch]:
        for _ in range(n):
            yield ROWS
        raise error

    with pytest.raises(ev.InputError, match=r"2,000 rows take 16.0 KB, and there is no more memory"):
        collect(batches(2))
    with pytest.raises(ev.InputError, match="the query needs more memory than there is"):
        collect(batches(0))


@pytest.mark.parametrize(
    "run",
    [
        lambda rows: ev.query("PATTERN A RETURN A.ts, A.n", ts_unit="s", type="kind").run(rows),
        lambda rows: ev.detect(rows, ev.Pattern.begin("a"), ts_unit="s"),
        lambda rows: ev.sql(
            "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES a.n AS n PATTERN (a) DEFINE a AS true)", t=rows
        ),
    ],
    ids=["query", "builder", "MATCH_RECOGNIZE"],
)
def test_every_family_stops_with_a_message(run: Any, little: None) -> None:
    rows = [{"ts": i, "kind": "A", "n": i} for i in range(5_000)]
    with pytest.raises(ev.InputError, match="the result does not fit into memory") as caught:
        run(rows)
    assert "engine='spark'" in str(caught.value.hint)


def test_what_is_left_is_the_least_of_machine_container_and_process(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "/proc/meminfo": ["MemTotal:  9 kB", "MemAvailable:  8000 kB"],
        "/sys/fs/cgroup/memory.max": ["5000000"],
        "/sys/fs/cgroup/memory.current": ["4000000"],
        "/sys/fs/cgroup/memory.stat": ["anon 1000000", "active_file 1000000", "inactive_file 2000000"],
    }
    monkeypatch.setattr(memory, "_lines", lambda path: files.get(path, []))
    assert available_bytes() == 4_000_000
    files["/sys/fs/cgroup/memory.max"] = ["max"]
    assert available_bytes() == 8_192_000
    files["/proc/self/statm"] = ["1 1 1"]
    page = memory.os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr(memory.resource, "getrlimit", lambda which: (page + 700, 10**9))
    assert available_bytes() == 700
