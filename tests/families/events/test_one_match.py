"""What RETURN says about one match: the same from a table, on Spark, from a path, on a stream and in a rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev

KINDS = "AAABCB"
EVENTS = pa.table(
    {
        "ts": pa.array([1_000_000 * i for i in range(6)], pa.timestamp("us", "UTC")),
        "user": ["u"] * 6,
        "kind": list(KINDS),
        "x": pa.array([1, None, 3, 9, 5, 7], pa.int64()),
        "s": ["p", "q", None, "r", "t", "u"],
    }
)
PATTERN = "PATTERN SEQ(A a+, C c*, B b) WHERE [user] SEMANTICS next WITHIN 10 seconds"
RETURNED = """
    FIRST(a.x) AS f, LAST(a.x) AS l, LAST(a.ts) - FIRST(a.ts) AS time, FIRST(a.x) + b.x AS both, FIRST(b.s) AS s,
    FIRST(concat(a.s, user)) AS fu, size(a.x) AS n, size(c.x) AS m, a.x[0] AS i0, a.x[7] AS i7, a.x[-1] AS before,
    element_at(a.x, -1) AS e, element_at(a.x, 9) AS e9, element_at(a.x, 0) AS e0, array_max(a.x) AS most,
    array_min(c.x) AS least, array_contains(a.x, 3) AS has, array_contains(a.x, 4) AS unknown, cardinality(c.x) AS k,
    sort_array(a.x) AS sorted, array_join(a.s, '-') AS joined, FIRST(c.x) AS fc, LAST(c.ts) AS lc, c.x[0] AS c0,
    user, FIRST(a.ts) AS began
"""


def query(returned: str, **options: Any) -> Any:
    return ev.query(f"{PATTERN} RETURN {returned}", type="kind", **options)


def rows(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=repr)


def test_the_events_of_a_repeated_symbol_are_described() -> None:
    found = query(RETURNED).run(EVENTS)
    whole = [row for row in found.to_pylist() if row["n"] == 3]
    shown = {name: value for name, value in whole[0].items() if name not in ("time", "began", "detected_at")}
    assert len(whole) == 1
    assert shown == {
        "f": 1, "l": 3, "both": 10, "s": "r", "fu": "pu", "n": 3, "m": 0, "i0": 1, "i7": None, "before": None, "e": 3,
        "e9": None, "e0": None, "most": 3, "least": None, "has": True, "unknown": None, "k": 0, "sorted": [None, 1, 3],
        "joined": "p-q", "fc": None, "lc": None, "c0": None, "user": "u",
    }  # fmt: skip
    assert whole[0]["time"].total_seconds() == 2
    assert found.schema.field("began").type == EVENTS.schema.field("ts").type


def test_return_star_gives_whole_events() -> None:
    found = query("*", match_id=True).run(EVENTS)
    assert found.column_names == ["user", "match_start", "match_end", "a", "c", "b", "match_id", "detected_at"]
    (row,) = (row for row in found.to_pylist() if len(row["a"]) == 3)
    events = EVENTS.to_pylist()
    assert (row["a"], row["c"], row["b"]) == (events[:3], [], [events[3]])
    assert (row["match_start"], row["match_end"]) == (events[0]["ts"], events[3]["ts"])
    assert found.schema.field("a").type.value_type == pa.struct(list(EVENTS.schema))


def test_return_star_of_single_symbols_and_of_alternatives() -> None:
    events = [{"ts": i, "kind": kind} for i, kind in enumerate("AB")]
    pattern = "PATTERN OR(SEQ(A a, B b), SEQ(A a, C c)) RETURN *"
    (row,) = ev.query(pattern, type="kind", ts_unit="s").run(events).to_pylist()
    assert row == {
        "match_start": 0, "match_end": 1, "a": [events[0]], "b": [events[1]], "c": [], "detected_at": 1,
    }  # fmt: skip


def test_a_symbol_that_is_called_like_a_column_of_the_result_is_an_error() -> None:
    with pytest.raises(ev.QueryError, match="'user' is the name of two columns"):
        ev.query("PATTERN A user+ WHERE [user] RETURN *", type="kind").run(EVENTS)


def test_return_star_keeps_the_types_of_the_columns() -> None:
    events = pa.table(
        {
            "ts": pa.array([1, 2], pa.int32()),
            "kind": pa.array(["A", "A"]).dictionary_encode(),
            "at": pa.array([1, 2], pa.timestamp("ns", "Europe/Zurich")),
            "n": pa.array([1, 2], pa.uint8()),
            "tags": pa.array([["x"], None], pa.list_(pa.string())),
        }
    )
    found = ev.query("PATTERN A a RETURN *", type="kind", ts_unit="s").run(events)
    assert [row["a"] for row in found.to_pylist()] == [[row] for row in events.to_pylist()]
    assert found.schema.field("match_start").type == pa.int32()


@pytest.mark.spark
def test_spark_a_path_and_a_stream_return_the_same_rows(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.mkdir()
    pq.write_table(EVENTS, path / "e.parquet")
    frame = spark.createDataFrame(EVENTS)
    for returned in (RETURNED, "*"):
        asked = query(returned)
        expected = rows(asked.run(EVENTS))
        assert rows(asked.run(str(path))) == expected
        assert rows(asked.run(frame).toArrow()) == expected
        assert rows(asked.run(str(path), engine="spark", spark=spark).toArrow()) == expected
    stream = spark.readStream.schema(frame.schema).parquet(str(path))
    out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
    ev.write_stream(query("*").run(stream), to=out, checkpoint=checkpoint, once=True).awaitTermination()
    decided = [row for row in rows(query("*").run(EVENTS)) if row["detected_at"] < EVENTS["ts"][-1].as_py()]
    assert rows(spark.read.parquet(out).toArrow()) == decided


def test_rules_return_the_same_rows(tmp_path: Path) -> None:
    (tmp_path / "one.query").write_text(f"{PATTERN} RETURN FIRST(a.x) AS f, size(a.x) AS n")
    (tmp_path / "two.query").write_text(f"{PATTERN} RETURN *")
    rules = ev.RuleSet(tmp_path, type="kind")
    found = rules.run(EVENTS)
    for name, returned in (("one", "FIRST(a.x) AS f, size(a.x) AS n"), ("two", "*")):
        mine, alone = rules.rows(found, name), query(returned).run(EVENTS)
        names = [column for column in alone.column_names if column in mine.column_names]
        assert rows(mine.select(names)) == rows(alone.select(names))
        assert set(names) >= {"detected_at"} | ({"f", "n"} if name == "one" else {"a", "b", "c"})


@pytest.mark.parametrize("text", ["FIRST(a.x, 1)", "LAST(a.x, 7)", "1 + coalesce(LAST(a.x, a.x), 0)"])
def test_first_and_last_take_one_argument(text: str) -> None:
    """MATCH_RECOGNIZE counts with a second one; here it would be ignored."""
    events = [{"ts": ts, "kind": "A", "x": ts} for ts in range(3)]
    query = f"PATTERN A a+ RETURN {text} AS v"
    with pytest.raises(ev.QueryError, match="takes one argument") as caught:
        ev.query(query, ts_unit="s", type="kind").run(events)
    assert query[caught.value.start : caught.value.end].endswith(",")
    assert "element_at(a.x, 2)" in str(caught.value.hint)
