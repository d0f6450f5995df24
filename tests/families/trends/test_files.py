"""Files in order of time are aggregated piece by piece; the values are those of the whole table."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.engines.local import run as local_run
from eventide.engines.parquet import is_in_time_order
from eventide.families.registry import make_operator

QUERY = "PATTERN (SEQ(A+, B))+ GROUP BY g WITHIN 20 seconds SLIDE {} RETURN g, COUNT(*), COUNT(A)"


def events(n: int, seed: int = 0) -> pa.Table:
    draw = random.Random(seed)
    times, ts = [], 0
    for _ in range(n):
        ts += draw.choice([0, 0, 1, 3])
        times.append(ts * 1_000_000)
    kinds = [draw.choice("ABC") for _ in range(n)]
    groups = [draw.choice(["u", "v", None]) for _ in range(n)]
    return pa.table({"ts": pa.array(times, pa.timestamp("us")), "kind": kinds, "g": groups})


def rows(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def query(slide: str = "20 seconds") -> Any:
    return ev.query(QUERY.format(slide), ts="ts", type="kind")


@pytest.mark.parametrize("slide", ["20 seconds", "7 seconds"])
@pytest.mark.parametrize("row_group_size", [1, 3, 40, 1000])
def test_pieces_give_the_values_of_the_whole(tmp_path: Path, slide: str, row_group_size: int) -> None:
    table = events(200)
    path = tmp_path / "events.parquet"
    pq.write_table(table, path, row_group_size=row_group_size)
    with patch.object(local_run, "ROWS_PER_READ", 5):
        assert rows(query(slide).run(path)) == rows(query(slide).run(table))


def test_what_is_held_does_not_grow_with_the_events(tmp_path: Path) -> None:
    held: list[int] = []

    def watched(*arguments: Any) -> Any:
        operator = make_operator(*arguments)
        process = operator.process

        def recorded(block: Any, watermark_us: int) -> Any:
            yield from process(block, watermark_us)
            held.append(operator.memory_bytes())

        operator.process = recorded  # type: ignore[method-assign]
        return operator

    most = {}
    for n in (500, 5000):
        path = tmp_path / f"{n}.parquet"
        pq.write_table(events(n), path, row_group_size=50)
        held.clear()
        with patch.object(local_run, "ROWS_PER_READ", 50), patch.object(local_run, "make_operator", watched):
            query().run(path)
        most[n] = max(held)
    assert most[5000] < 2 * most[500]


def test_files_that_are_not_in_order_are_read_whole(tmp_path: Path) -> None:
    table = events(100)
    later, earlier = table.slice(50), table.slice(0, 50)
    path = tmp_path / "events.parquet"
    pq.write_table(pa.concat_tables([later, earlier]), path, row_group_size=50)
    assert not is_in_time_order([str(path)], "ts")
    assert rows(query().run(path)) == rows(query().run(table))
    pq.write_table(earlier, tmp_path / "1.parquet")
    pq.write_table(later, tmp_path / "2.parquet")
    files = [str(tmp_path / "1.parquet"), str(tmp_path / "2.parquet")]
    assert is_in_time_order(files, "ts")
    assert not is_in_time_order(files[::-1], "ts")
    assert not is_in_time_order(files, "no such column")


def test_times_that_are_missing_are_an_error_in_pieces_too(tmp_path: Path) -> None:
    table = events(30)
    times = [None if i == 20 else ts for i, ts in enumerate(table.column("ts").to_pylist())]
    table = table.set_column(0, "ts", pa.array(times, pa.timestamp("us")))
    path = tmp_path / "events.parquet"
    pq.write_table(table, path, row_group_size=5)
    with pytest.raises(ev.EventideError, match="no time"):
        query().run(path)


def test_the_counters_are_those_of_a_filtered_read(tmp_path: Path) -> None:
    table = events(60)
    path = tmp_path / "events.parquet"
    pq.write_table(table, path, row_group_size=10)
    by_file, by_table = query(), query()
    by_file.run(path)
    by_table.run(table)
    relevant = sum(kind in "AB" for kind in table.column("kind").to_pylist())
    assert by_file.last_run.relevant_events == by_table.last_run.relevant_events == relevant
