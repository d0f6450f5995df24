"""Parquet files that hold strings as codes: conditions are evaluated for each string, the rows stay the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.engines import raw_columns as module
from eventide.engines.local import run as local
from eventide.engines.parquet import coded_columns


def events(n: int = 300, seed: int = 0) -> pa.Table:
    """Kinds with NULLs; times with ties; a double with NaN."""
    random_ = random.Random(seed)
    return pa.table(
        {
            "ts": pa.array(sorted(random_.choices(range(n), k=n)), pa.timestamp("us")),
            "key": pa.array(random_.choices(["x", "y", None], k=n)),
            "kind": pa.array(random_.choices(["A", "B", "C", "7", None], k=n)),
            "color": pa.array(random_.choices(["red", "blue", None], k=n)),
            "value": pa.array(random_.choices([1.0, 2.5, float("nan"), None], k=n)),
        }
    )


CLAUSES: dict[str, dict[str, Any]] = {
    "one column": {"pattern": "A B+", "define": {"A": "kind = 'A'", "B": "kind = 'B' OR kind IS NULL"}},
    "two columns": {"pattern": "A B+", "define": {"A": "kind = 'A'", "B": "color = 'red'"}},
    "both in one condition": {"pattern": "A B+", "define": {"A": "kind = 'A'", "B": "kind = 'B' AND color = 'red'"}},
    "a number beside it": {"pattern": "A B+", "define": {"A": "kind = 'A'", "B": "value > 2"}},
    "a constant": {"pattern": "A B+", "define": {"A": "kind = 'A'", "B": "1 < 2"}},
    "a computed value": {"pattern": "A B", "define": {"A": "kind = 'A'", "B": "upper(kind) > PREV(upper(kind))"}},
    "a function": {"pattern": "A B", "define": {"A": "coalesce(kind, 'A') = 'A'", "B": "length(kind) = 1"}},
    "the last string": {"pattern": "A B", "define": {"A": "kind = 'A'", "B": "kind > PREV(kind)"}},
    "many labels": {
        "pattern": "A (" + " | ".join(f"L{i}" for i in range(70)) + ")+",
        "define": {"A": "kind = 'A'"} | {f"L{i}": f"kind = 'B' AND {i} = {i}" for i in range(70)},
    },
}
MEASURES = {"a": "FIRST(ts)", "n": "count(*)", "k": "LAST(kind)", "greatest": "max(kind)", "all": "array_agg(color)"}


def clause(name: str) -> Any:
    return ev.match_recognize(partition_by="key", order_by="ts", measures=MEASURES, **CLAUSES[name])


def rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.fixture
def is_direct(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Gets an entry for each table that is read from files without DuckDB."""
    seen: list[bool] = []
    real = module.raw_columns

    def spy(*arguments: Any) -> pa.Table:
        seen.append(True)
        return real(*arguments)

    monkeypatch.setattr(local, "raw_columns", spy)
    return seen


@pytest.mark.parametrize("name", CLAUSES)
@pytest.mark.parametrize("row_group_size", [1000, 7])
def test_the_rows_are_those_of_a_table_in_memory(
    name: str, row_group_size: int, tmp_path: Path, is_direct: list[bool]
) -> None:
    table = events()
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=row_group_size)
    found = clause(name)(tmp_path / "e.parquet")
    assert rows(found) == rows(clause(name)(table))
    assert found.schema == clause(name)(table).schema
    assert found.num_rows
    assert is_direct


@pytest.mark.parametrize("rows_shown", ["all", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"])
def test_all_rows_show_the_strings(rows_shown: str, tmp_path: Path, is_direct: list[bool]) -> None:
    table = events()
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=50)
    shown = ev.match_recognize(order_by="ts", rows=rows_shown, pattern="A B+", define=CLAUSES["one column"]["define"])
    assert rows(shown(tmp_path / "e.parquet")) == rows(shown(table))
    assert is_direct


def test_pieces_that_do_not_fit_into_memory_have_different_dictionaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_direct: list[bool]
) -> None:
    table = events()
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=7)
    monkeypatch.setattr(local, "ROWS_PER_READ", 20)
    monkeypatch.setattr(local, "default_memory_limit", lambda: 4000)
    for name in CLAUSES:
        assert rows(clause(name)(tmp_path / "e.parquet")) == rows(clause(name)(table)), name
    assert len(is_direct) > 10


def test_several_files_and_a_file_without_rows(tmp_path: Path, is_direct: list[bool]) -> None:
    table = events()
    for i, part in enumerate([table.slice(0, 100), table.slice(0, 0), table.slice(100)]):
        pq.write_table(part, tmp_path / f"{i}.parquet")
    assert rows(clause("two columns")(tmp_path)) == rows(clause("two columns")(table))
    assert is_direct
    (tmp_path / "0.parquet").unlink()
    (tmp_path / "2.parquet").unlink()
    assert clause("two columns")(tmp_path).num_rows == 0


def test_a_column_that_is_all_null(tmp_path: Path, is_direct: list[bool]) -> None:
    table = events().set_column(2, "kind", pa.nulls(300, pa.string()))
    pq.write_table(table, tmp_path / "e.parquet")
    empty = ev.match_recognize(order_by="ts", measures=MEASURES, pattern="A", define={"A": "kind IS NULL"})
    assert empty(tmp_path / "e.parquet").num_rows == 300
    assert is_direct


def test_a_categorical_column_is_read_as_its_strings(tmp_path: Path, is_direct: list[bool]) -> None:
    table = events()
    coded = table.set_column(2, "kind", table["kind"].cast(pa.dictionary(pa.int8(), pa.string())))
    pq.write_table(coded, tmp_path / "e.parquet")
    assert rows(clause("one column")(tmp_path / "e.parquet")) == rows(clause("one column")(table))
    assert is_direct


def test_a_string_that_no_event_has_is_not_cast(tmp_path: Path, is_direct: list[bool]) -> None:
    kinds = pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 0], pa.int32()), ["7", "no number", "8"])
    table = pa.table({"ts": [1, 2, 3, 4], "kind": kinds})
    pq.write_table(table, tmp_path / "e.parquet")
    read = pq.read_table(tmp_path / "e.parquet", read_dictionary=["kind"])["kind"].chunk(0)
    assert "no number" in read.dictionary.to_pylist()
    sevens = ev.match_recognize(
        order_by="ts", pattern="A", define={"A": "CAST(kind AS INT) = 7"}, measures={"t": "A.ts"}
    )
    assert sevens(tmp_path / "e.parquet")["t"].to_pylist() == [1, 4]
    assert is_direct


def test_a_string_that_an_event_has_must_cast(tmp_path: Path, is_direct: list[bool]) -> None:
    table = pa.table({"ts": [1, 2], "kind": ["7", "no number"]})
    pq.write_table(table, tmp_path / "e.parquet")
    sevens = ev.match_recognize(
        order_by="ts", pattern="A", define={"A": "CAST(kind AS INT) = 7"}, measures={"t": "A.ts"}
    )
    messages = []
    for source in (tmp_path / "e.parquet", table):
        with pytest.raises(ev.InputError, match="no number") as caught:
            sevens(source)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert is_direct


def test_what_fails_on_null_fails_only_where_there_is_one(tmp_path: Path) -> None:
    checked = ev.match_recognize(
        order_by="ts",
        pattern="A",
        define={"A": "CAST(coalesce(kind, 'none') AS INT) = 7"},
        measures={"t": "A.ts"},
    )
    pq.write_table(pa.table({"ts": [1, 2], "kind": ["7", "8"]}), tmp_path / "e.parquet")
    assert checked(tmp_path / "e.parquet")["t"].to_pylist() == [1]
    pq.write_table(pa.table({"ts": [1, 2], "kind": ["7", None]}), tmp_path / "e.parquet")
    with pytest.raises(ev.InputError, match="none"):
        checked(tmp_path / "e.parquet")


def test_values_do_not_go_from_one_query_to_another(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": [1, 2], "kind": ["A", "B"]}), tmp_path / "e.parquet")

    def found(condition: str) -> list[int]:
        made = ev.match_recognize(order_by="ts", pattern="A", define={"A": condition}, measures={"t": "A.ts"})
        times: list[int] = made(tmp_path / "e.parquet")["t"].to_pylist()
        return times

    assert found("kind = 'A'") == [1]
    assert found("kind = 'B'") == [2]
    assert found("kind = 'A'") == [1]


def test_more_strings_than_are_remembered(tmp_path: Path, is_direct: list[bool]) -> None:
    n = module._MOST_REMEMBERED + 100
    table = pa.table({"ts": range(n), "kind": [f"k{i}" for i in range(n)]})
    pq.write_table(table, tmp_path / "e.parquet")
    assert coded_columns([str(tmp_path / "e.parquet")], ["kind"]) == ["kind"]
    one = ev.match_recognize(order_by="ts", pattern="A", define={"A": "kind = 'k4150'"}, measures={"t": "A.ts"})
    assert one(tmp_path / "e.parquet")["t"].to_pylist() == [4150]
    assert is_direct


def _wide(n: int) -> pa.Table:
    return pa.table({"ts": np.arange(n), "kind": [f"a rather long text, number {i}" for i in range(n)]})


def test_columns_that_are_not_coded_throughout_are_left_to_duckdb(tmp_path: Path, is_direct: list[bool]) -> None:
    path = tmp_path / "e.parquet"
    pq.write_table(_wide(20_000), path, dictionary_pagesize_limit=1000)
    assert coded_columns([str(path)], ["kind", "ts"]) == []
    pq.write_table(_wide(10), path, use_dictionary=False)
    assert coded_columns([str(path)], ["kind"]) == []
    one = ev.match_recognize(order_by="ts", pattern="A", define={"A": "kind LIKE '%7'"}, measures={"t": "A.ts"})
    assert one(path)["t"].to_pylist() == [7]
    assert not is_direct


def test_what_pyarrow_reads_in_another_way_is_left_to_duckdb(tmp_path: Path, is_direct: list[bool]) -> None:
    table = events()
    large = table.set_column(2, "kind", table["kind"].cast(pa.large_string()))
    pq.write_table(large, tmp_path / "large.parquet")
    assert rows(clause("one column")(tmp_path / "large.parquet")) == rows(clause("one column")(table))
    folder = tmp_path / "in" / "color=green"
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "e.parquet")
    green = ev.match_recognize(order_by="ts", pattern="A", define={"A": "color = 'green'"}, measures={"t": "A.ts"})
    assert green(tmp_path / "in").num_rows == 300
    assert not is_direct


def test_files_with_different_columns_are_left_to_duckdb(tmp_path: Path, is_direct: list[bool]) -> None:
    pq.write_table(pa.table({"ts": [1], "kind": ["A"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"kind": ["A"], "ts": [2]}), tmp_path / "1.parquet")
    one = ev.match_recognize(order_by="ts", pattern="A", define={"A": "kind = 'A'"}, measures={"t": "A.ts"})
    assert one(tmp_path)["t"].to_pylist() == [1, 2]
    assert not is_direct


def test_a_statement_reads_files_in_the_same_way(tmp_path: Path, is_direct: list[bool]) -> None:
    table = events()
    pq.write_table(table, tmp_path / "e.parquet")
    text = """SELECT key, a FROM t MATCH_RECOGNIZE (
        PARTITION BY key ORDER BY ts MEASURES FIRST(ts) AS a PATTERN (A B) DEFINE A AS kind = 'A', B AS kind = 'B')"""
    assert rows(ev.sql(text, t=tmp_path / "e.parquet")) == rows(ev.sql(text, t=table))
    assert is_direct


def test_bytes_that_are_no_text_are_an_error_about_the_input(tmp_path: Path) -> None:
    kinds = pa.array([b"A", b"\xff"]).cast(pa.binary()).view(pa.string())
    pq.write_table(pa.table({"ts": [1, 2], "kind": kinds}), tmp_path / "e.parquet")
    one = ev.match_recognize(order_by="ts", pattern="A", define={"A": "kind = 'A'"}, measures={"t": "A.ts"})
    with pytest.raises(ev.InputError):
        one(tmp_path / "e.parquet")
