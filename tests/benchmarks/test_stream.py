"""The stream benchmark's own parts: files of one batch each, and the table of state by batch."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.sequence import TYPED
from benchmarks.stream import batch_table, write_files

from eventide.generate import sample


def test_files_hold_one_batch_each_and_together_all_events_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.stream.BATCH_EVENTS", 300)
    write_files(tmp_path / "events", 1000)
    files = sorted((tmp_path / "events").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert [path.name for path in files] == [f"{idx:05d}.parquet" for idx in range(4)]
    tables = [pq.read_table(path) for path in files]
    assert [len(table) for table in tables] == [300, 300, 300, 100]
    assert pa.concat_tables(tables).equals(sample("typed", 1000, **TYPED))
    assert list(tmp_path.iterdir()) == [tmp_path / "events"]


def test_state_bytes_of_a_batch_are_its_changelogs_in_all_partitions(tmp_path: Path) -> None:
    for partition in ("0", "1"):
        folder = tmp_path / "state" / "0" / partition
        folder.mkdir(parents=True)
        (folder / "1.changelog").write_bytes(b"x" * 1024)
        (folder / "2_1a2b-c3.changelog").write_bytes(b"x" * 2048)
        (folder / "2.zip").write_bytes(b"x" * 9999)
    progress = [
        {
            "batchId": batch,
            "numInputRows": 5,
            "batchDuration": 1500,
            "stateOperators": [{"numRowsTotal": 3}, {"numRowsTotal": 4}],
            "timestamp": "2026-01-01T00:00:00.000Z",
            "durationMs": {"triggerExecution": 1500},
            "eventTime": {},
            "observedMetrics": {"eventide_buckets_1": {"counters": ["0 5 0 1 2 4096 1 2 0", "3 0 0 0 0 1024 1 2 0"]}},
        }
        for batch in (0, 1, 2)
    ]
    table = batch_table(progress, tmp_path, {0: 3 << 20})
    assert [row["state KiB written"] for row in table] == [2, 4, 0]
    assert table[0] == {
        "batch": 0,
        "events": 5,
        "seconds": 1.5,
        "state rows": 7,
        "state KiB": 5,
        "state KiB written": 2,
        "resident MiB": 3,
    }
    assert table[1]["resident MiB"] == ""
