"""Strings that lie in Parquet files as codes: tasks evaluate conditions for each string, the rows stay the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eventide.runtime.costs import costing
from tests.inputs.test_coded_strings import clause, events, rows

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Row groups with dictionaries of their own."""
    path = tmp_path_factory.mktemp("coded") / "events"
    path.mkdir()
    table = events()
    pq.write_table(table.slice(0, 100), path / "1.parquet", row_group_size=7)
    pq.write_table(table.slice(100), path / "2.parquet", row_group_size=40)
    return path


@pytest.mark.parametrize("few_rows", [1000, 0], ids=["one task", "exchange"])
@pytest.mark.parametrize("name", ["one column", "two columns", "a number beside it", "the last string"])
def test_spark_finds_the_rows_of_a_table_in_memory(spark: Any, folder: Path, few_rows: int, name: str) -> None:
    with costing(few_rows=few_rows):
        found = clause(name)(folder, engine="spark", spark=spark).toArrow()
    assert rows(found) == rows(clause(name)(events()))
    assert found.num_rows


def test_tasks_agree_on_what_is_coded(spark: Any, tmp_path: Path) -> None:
    table = events()
    pq.write_table(table.slice(0, 100), tmp_path / "1.parquet", use_dictionary=["kind"])
    pq.write_table(table.slice(100), tmp_path / "2.parquet", use_dictionary=["kind", "color"])
    with costing(few_rows=0):
        found = clause("two columns")(tmp_path, engine="spark", spark=spark).toArrow()
    assert rows(found) == rows(clause("two columns")(table))


def test_a_string_that_an_event_has_must_cast_on_spark(spark: Any, tmp_path: Path) -> None:
    import eventide as ev

    sevens = ev.match_recognize(
        order_by="ts", pattern="A", define={"A": "CAST(kind AS INT) = 7"}, measures={"t": "A.ts"}
    )
    pq.write_table(pa.table({"ts": [1, 2], "kind": ["7", "no number"]}), tmp_path / "e.parquet")
    with pytest.raises(Exception, match="no number"):
        sevens(tmp_path / "e.parquet", engine="spark", spark=spark).toArrow()
