"""`match_id` of MATCH_RECOGNIZE: a stable hash of the clause, the partition and the bound rows, on request."""

from __future__ import annotations

import re
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.families.registry import family_named
from eventide.lang.rows import parse_clause
from eventide.plan.options import Options
from tests.micro_batches import SECOND_US, Stream

ROWS = [{"p": p, "id": i, "s": s} for p in (1, 2) for i, s in enumerate("AABABB")]
DEFINE = {"A": "s = 'A'", "B": "s = 'B'"}


def ids(events: Any = ROWS, pattern: str = "A+ B", **options: Any) -> list[str]:
    given = {"partition_by": "p", "order_by": "id", "measures": {"n": "FIRST(id)"}, "define": DEFINE, **options}
    define = {label: text for label, text in given.pop("define").items() if label in pattern}
    found = ev.match_recognize(pattern=pattern, define=define, match_id=True, **given)(events)
    assert found.column_names[-1] == "match_id"
    return [row["match_id"] for row in found.to_pylist()]


def test_every_match_has_an_id_of_its_own() -> None:
    found = ids()
    assert len(found) == len(set(found)) == 4
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in found)


def test_the_id_does_not_depend_on_the_order_of_arrival() -> None:
    assert sorted(ids(ROWS[::-1])) == sorted(ids())
    tied = [{"p": 1, "id": 1, "s": s, "other": n} for n, s in enumerate("AAB")]
    assert len({tuple(ids(list(rows))) for rows in permutations(tied)}) == 1


def test_another_clause_gives_other_ids() -> None:
    assert not set(ids()) & set(ids(pattern="A+ B?"))


def test_rows_that_differ_only_in_a_column_that_is_not_read_have_different_ids() -> None:
    found = ids([{"p": 1, "id": 1, "s": "A", "other": n} for n in (1, 2)], pattern="A")
    assert len(set(found)) == 2


def test_the_request_changes_no_match() -> None:
    rows = [{"a": 2, "id": 1, "s": "A"}, {"a": 1, "id": 1, "s": "B"}]
    given = {"order_by": "id", "measures": {"n": "count(*)"}, "pattern": "A B", "define": DEFINE}
    with_ids = ev.match_recognize(match_id=True, **given)(rows)
    assert with_ids.drop_columns("match_id").to_pylist() == ev.match_recognize(**given)(rows).to_pylist() == [{"n": 2}]


def test_all_rows_of_a_match_carry_its_id_and_unmatched_rows_none() -> None:
    clause = ev.match_recognize(
        order_by="id", pattern="A B", define=DEFINE, measures={"m": "MATCH_NUMBER()"}, match_id=True,
        rows="ALL ROWS PER MATCH WITH UNMATCHED ROWS",
    )  # fmt: skip
    found = clause([{"id": i, "s": s} for i, s in enumerate("AABABB")]).sort_by("id").to_pylist()
    assert [row["m"] for row in found] == [None, 1, 1, 2, 2, None]
    assert [row["match_id"] is None for row in found] == [True, False, False, False, False, True]
    assert found[1]["match_id"] == found[2]["match_id"] != found[3]["match_id"] == found[4]["match_id"]


def test_all_rows_have_the_ids_of_the_matches_whatever_a_batch_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ids(rows="all")
    monkeypatch.setattr("eventide.families.rows.operator.ROWS_PER_BATCH", 2)
    assert sorted(ids(rows="all")) == sorted(whole)
    assert len(set(whole)) == 4


def test_empty_matches_are_told_apart_by_their_place() -> None:
    assert len(set(ids([{"p": 1, "id": i, "s": "B"} for i in range(3)], pattern="A*"))) == 3


def test_labels_are_part_of_the_id() -> None:
    define = {"A": "PREV(s) = 'x'"}
    rows = [{"p": 1, "id": 1, "s": "x"}, {"p": 1, "id": 2, "s": "y"}]
    as_a, as_b = ids(rows, pattern="A | B", define=define), ids(rows[1:], pattern="A | B", define=define)
    assert len(as_a) == 2
    assert not set(as_a) & set(as_b)


def test_a_statement_asks_for_ids_too() -> None:
    text = "SELECT match_id, n FROM t MATCH_RECOGNIZE (ORDER BY id MEASURES count(*) AS n PATTERN (A+)) ORDER BY n"
    (row,) = ev.sql(text, t=ROWS, match_id=True).to_pylist()
    assert re.fullmatch("[0-9a-f]{32}", row["match_id"])
    with pytest.raises(ev.QueryError, match="unknown column 'match_id'"):
        ev.sql(text, t=ROWS)


def test_a_column_that_is_called_match_id_is_in_the_way() -> None:
    with pytest.raises(ev.QueryError, match="two columns of the result are called 'match_id'"):
        ids(measures={"match_id": "count(*)"})
    with pytest.raises(ev.QueryError, match="the table has a column 'match_id' already"):
        ids([{"match_id": 1, **row} for row in ROWS], rows="all")


def test_columns_of_every_type_are_hashed() -> None:
    table = pa.table(
        {
            "id": [1, 2],
            "l": [[1], [2]],
            "d": pa.array([1, None], pa.duration("us")),
            "b": pa.array([b"a", None]),
            "n": pa.nulls(2),
            "t": pa.array([1, None], pa.timestamp("ns")),
            "c": pa.array(["a", "b"]).dictionary_encode(),
            "f": [0.5, None],
            "u": pa.array([2**63, 0], pa.uint64()),
        }
    )
    found = ev.match_recognize(order_by="id", pattern="A", measures={"n": "count(*)"}, match_id=True)(table)
    assert len(set(found.column("match_id").to_pylist())) == 2


def test_a_stream_gives_the_ids_of_a_batch() -> None:
    define = "DEFINE A AS s = 'A', B AS s = 'B'"
    clause = f"PARTITION BY p ORDER BY id MEASURES FIRST(id) AS n PATTERN (A+ B) WITHIN 9 seconds {define}"
    given = Options.of(ts_unit="s", match_id=True)
    table = pa.Table.from_pylist(sorted(ROWS, key=lambda row: row["id"]))
    stream = Stream(family_named("rows").prepare(parse_clause(clause), given, table.schema, on_stream=True))
    stream.play(table, [i * SECOND_US for i in table.column("id").to_pylist()], [4, 8], 0)
    batch = ev.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", t=ROWS, ts_unit="s", match_id=True).to_pylist()
    assert sorted(row["match_id"] for row in stream.rows) == sorted(row["match_id"] for row in batch)
    assert len(batch) == 4


def test_diagnose_needs_no_id() -> None:
    clause = ev.match_recognize(order_by="id", pattern="A B", define={"B": "id > 9"}, match_id=True)
    assert "failed   B" in str(clause.diagnose(ROWS[:3]))


@pytest.mark.spark
def test_spark_gives_the_ids_of_this_process_and_drops_rows_without_a_time(spark: Any) -> None:
    rows = [*ROWS, {"p": 1, "id": None, "s": "A"}]
    given = {"partition_by": "p", "order_by": "id", "measures": {"n": "FIRST(id)"}, "pattern": "A+ B", "define": DEFINE}
    clause = ev.match_recognize(
        **given, match_id=True, within="9 seconds", ts_unit="s", rows="all", on_bad_event="drop"
    )
    frame = spark.createDataFrame(pa.Table.from_pylist(rows))
    here, there = clause(rows).to_pylist(), clause(frame).toArrow().to_pylist()
    assert len(here) == 10
    assert sorted(map(str, here)) == sorted(map(str, there))
