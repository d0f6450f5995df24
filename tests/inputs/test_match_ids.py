"""Identities of matches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev

SLID = "PATTERN SEQ(A, B) WITHIN 4 s SLIDE 2 s RETURN user, A.at, B.at AS b_at, B.score OPTIONS (match_id = true)"
BY_USER: dict[str, Any] = {"ts": "at", "ts_unit": "s", "partition_by": "user"}
PEOPLE = pa.table(
    {
        "at": pa.array([2, 2, 3, 3, 4, 4, 2], pa.int64()),
        "user": ["ann", "bob", "ann", "bob", "ann", "bob", None],
        "type": ["A", "A", "B", "B", "B", "B", "A"],
        "score": pa.array([0.5, None, -0.0, 0.0, float("nan"), 1.0, 2.0]),
    }
)


def ids(table: pa.Table) -> dict[tuple[str, ...], str]:
    names = [name for name in table.column_names if name != "match_id"]
    keys = zip(*(map(str, table.column(name).to_pylist()) for name in names), strict=True)
    found = dict(zip(keys, table.column("match_id").to_pylist(), strict=True))
    assert len(found) == table.num_rows
    return found


def test_match_ids_are_stable_and_tell_matches_apart() -> None:
    query = ev.query(SLID, **BY_USER)
    found = ids(query.run(PEOPLE))
    # Two users; the first B lies in two windows with A, the second in one.
    assert len(found) == 2 * (2 + 1)
    assert len(set(found.values())) == len(found)
    assert all(len(name) == 32 and set(name) <= set("0123456789abcdef") for name in found.values())
    assert ids(query.run(PEOPLE.take([6, 5, 4, 3, 2, 1, 0]))) == found
    assert ids(query.run(PEOPLE, memory_limit=1)) == found
    one = ev.query("PATTERN SEQ(A, B)", match_id=True, **BY_USER).run(PEOPLE)
    other = ev.query("PATTERN SEQ(A, B) WHERE A.type = 'A'", match_id=True, **BY_USER).run(PEOPLE)
    assert one.num_rows == other.num_rows == 4
    assert not set(ids(one).values()) & set(ids(other).values())


def test_events_that_differ_in_what_the_query_reads_have_other_ids() -> None:
    query = ev.query("PATTERN SEQ(A, B) RETURN B.x OPTIONS (match_id = true)", ts="at", ts_unit="s")
    events = pa.table({"at": [1, 2, 2], "type": ["A", "B", "B"], "x": [7, 8, 9], "y": [1, 1, 2]})
    assert len(set(query.run(events).column("match_id").to_pylist())) == 2
    # Equal rows are interchangeable, and so are their matches.
    equal = events.set_column(2, "x", pa.array([7, 8, 8]))
    assert len(set(query.run(equal).column("match_id").to_pylist())) == 1
    apart = ev.query("PATTERN SEQ(A, B) OPTIONS (match_id = true)", ts="at", ts_unit="s", sequence="y")
    assert len(set(apart.run(equal).column("match_id").to_pylist())) == 2


@pytest.mark.spark
def test_match_ids_are_the_same_on_spark(spark: Any, tmp_path: Path) -> None:
    query, plain = ev.query(SLID, **BY_USER), ev.query(SLID.replace("SLIDE 2 s ", ""), **BY_USER)
    local = ids(query.run(PEOPLE))
    pq.write_table(PEOPLE, tmp_path / "events.parquet")
    assert ids(query.run(spark.createDataFrame(PEOPLE)).toArrow()) == local
    assert ids(query.run(tmp_path / "events.parquet", engine="spark", spark=spark).toArrow()) == local
    assert ids(plain.run(spark.read.parquet(str(tmp_path)).repartition(3)).toArrow()) == ids(plain.run(PEOPLE))
