"""A file that another takes the place of while a query runs: an error, never rows of both."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.engines.local import sources

QUERY = ev.query("PATTERN A a RETURN a.ts", ts_unit="s", type="kind")
PATTERN = ev.Pattern.begin("a", "kind = 'A'")


def events(*times: int) -> pa.Table:
    return pa.table({"ts": list(times), "kind": ["A"] * len(times)})


def replace_file(path: Path) -> None:
    pq.write_table(events(7, 8, 9), path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)


def touch_again(path: Path) -> None:
    """The same size, at another time."""
    os.utime(path, ns=(1, 1))


CHANGES: dict[str, Callable[[Path], None]] = {"rewritten": touch_again, "removed": Path.unlink}
RUNS: dict[str, Callable[[Path], Any]] = {
    "query": QUERY.run,
    "situations": ev.query("DEFINE A AS ts > 0, B AS ts > 1 PATTERN A starts B", ts_unit="s").run,
    "one by type": lambda path: ev.query("PATTERN SEQ(A a, B b)", ts_unit="s").run(A=path, B=events(3)),
    "sql": lambda path: ev.sql("SELECT ts FROM t", t=path),
    "clause": ev.match_recognize(order_by="ts", pattern="A", measures={"t": "A.ts"}),
    "builder": lambda path: ev.detect(path, PATTERN, ts_unit="s"),
    "intervals": lambda path: ev.intervals.threshold(path, "ts > 0", ts_unit="s"),
    "allen": lambda path: ev.allen(path, events(5), "before", start="ts", end="ts", ts_unit="s"),
    "diagnosis": QUERY.diagnose,
    "diagnosis of a builder": lambda path: PATTERN.diagnose(path, ts_unit="s"),
}


@pytest.fixture
def changing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Callable[[Path], None]], Path]:
    """A folder of which a file changes when the input has been opened."""
    for i in (1, 2):
        pq.write_table(events(i), tmp_path / f"{i}.parquet")
    opened = sources._read_path

    def made(change: Callable[[Path], None]) -> Path:
        def read(*arguments: Any) -> Any:
            found = opened(*arguments)
            if (tmp_path / "2.parquet").stat().st_mtime_ns > 1:
                change(tmp_path / "2.parquet")
            return found

        monkeypatch.setattr(sources, "_read_path", read)
        return tmp_path

    return made


@pytest.mark.parametrize("run", RUNS)
def test_a_replaced_file_ends_every_kind_of_run(changing: Any, run: str) -> None:
    with pytest.raises(ev.InputError, match=r"2\.parquet' changed while it was read\nHint: run it again"):
        RUNS[run](changing(replace_file))


@pytest.mark.parametrize("how", ["rewritten", "removed"])
def test_other_changes(changing: Any, how: str) -> None:
    with pytest.raises(ev.InputError, match=r"while it was read|No such file|cannot be read"):
        QUERY.run(changing(CHANGES[how]))


def test_files_that_stay_give_rows(changing: Any) -> None:
    assert QUERY.run(changing(lambda path: None)).num_rows == 2


@pytest.mark.spark
def test_tasks_notice_a_replaced_file(spark: Any, tmp_path: Path) -> None:
    from eventide.engines.spark.errors import user_message

    for i in (1, 2):
        pq.write_table(events(i), tmp_path / f"{i}.parquet")
    rows = QUERY.run(tmp_path, engine="spark", spark=spark, plan="kernels")
    assert rows.count() == 2
    replace_file(tmp_path / "2.parquet")
    with pytest.raises(Exception, match="changed while it was read") as caught:
        rows.collect()
    assert "2.parquet' changed while it was read" in str(user_message(caught.value))
