"""What a join means, rule by rule: edges of the window, ties, NULL keys, kinds, AS OF, conditions, inputs, streams."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.runtime import paired
from tests.families.joins.cases import Case
from tests.families.joins.micro_batches import SECOND_US, Stream, block_of, plan_of


def rows(*times: int, **columns: list[Any]) -> pa.Table:
    """Rows at some seconds, numbered from 0."""
    return pa.table({"ts": list(times), "n": list(range(len(times))), **columns})


def pairs(left: pa.Table, right: pa.Table, **asked: Any) -> list[tuple[Any, Any]]:
    """The numbers of both rows, in order."""
    select = {"a": "left.n"} | ({} if asked.get("how") in ("semi", "anti") else {"b": "right.n"})
    found = ev.join(left, right, select=select, ts_unit="s", **{"close_at_end": True, **asked}).to_pylist()
    return sorted(((row["a"], row.get("b")) for row in found), key=str)


# --- the window ---------------------------------------------------------------------------------------------


def test_a_distance_of_the_window_is_outside_and_a_tie_inside() -> None:
    right = rows(5, 6, 10, 14, 15, 16)
    assert pairs(rows(10), right, within="5 seconds") == [(0, 1), (0, 2), (0, 3)]
    # Cursors move on from row to row, in each thread.
    assert pairs(rows(1, 20, 20, 21), right, within="5 seconds") == [(0, 0), (1, 5), (2, 5)]


def test_after_is_strict_on_both_sides() -> None:
    left, right = rows(10), rows(9, 10, 11, 14, 15)
    assert pairs(left, right, within="5 seconds", after=True) == [(0, 2), (0, 3)]


def test_two_lengths_look_less_or_further_back() -> None:
    left, right = rows(10), rows(6, 7, 10, 11, 12)
    assert pairs(left, right, within=("4 seconds", "2 seconds")) == [(0, 1), (0, 2), (0, 3)]
    assert pairs(left, right, within=(timedelta(seconds=2), timedelta(seconds=4))) == [(0, 2), (0, 3), (0, 4)]


def test_before_alone_is_a_form_of_the_language() -> None:
    query = ev.query("FROM a JOIN b WITHIN 4 seconds BEFORE RETURN b.n AS n", ts_unit="s")
    assert query.run(a=rows(10), b=rows(6, 7, 10, 11)).column("n").to_pylist() == [1]


def test_without_a_window_all_rows_with_equal_keys_join() -> None:
    assert pairs(rows(1, 900), rows(5), how="left") == [(0, 0), (1, 0)]
    assert pairs(rows(1), rows(5), how="anti", where="left.n > right.n", close_at_end=None) == [(0, None)]


def test_tied_rows_follow_one_another_in_their_sequence() -> None:
    left, right = rows(10, 10, s=[2, None]), rows(10, 10, s=[1, 3])
    assert pairs(left, right, within="5 seconds", after=True) == []
    asked = {"within": "5 seconds", "after": True, "sequence": "s"}
    assert pairs(left, right, **asked) == [(0, 1), (1, 0), (1, 1)]
    assert pairs(left, right, **asked, ties="strict") == []


# --- keys ---------------------------------------------------------------------------------------------------


def test_null_keys_join_nothing_and_left_rows_with_them_have_no_partner() -> None:
    left, right = rows(1, 1, k=["a", None]), rows(1, 1, k=["a", None])
    assert pairs(left, right, on="k", within="1 second") == [(0, 0)]
    assert pairs(left, right, on="k", within="1 second", how="left") == [(0, 0), (1, None)]
    assert pairs(left, right, on="k", within="1 second", how="anti") == [(1, None)]
    assert pairs(left, right, on="k", within="1 second", how="semi") == [(0, None)]


def test_several_keys_under_different_names_and_of_different_types() -> None:
    left = rows(1, 1, k=pa.array([1, 2], pa.int32()), w=["x", "y"])
    right = rows(1, 1, id=pa.array([2, 2], pa.int64()), w=["x", "y"])
    assert pairs(left, right, on={"k": "id", "w": "w"}, within="1 second") == [(1, 1)]


def test_a_key_may_be_computed() -> None:
    text = "FROM a JOIN b ON upper(a.k) = b.k AND a.n + 1 = b.n WITHIN 1 second RETURN a.k, b.k"
    found = ev.query(text, ts_unit="s").run(a=rows(1, 1, k=["x", "y"]), b=rows(1, 1, k=["Y", "X"]))
    assert found.to_pylist() == [{"a_k": "x", "b_k": "X", "detected_at": 1}]


# --- AS OF --------------------------------------------------------------------------------------------------


def test_as_of_takes_the_latest_row_at_or_before() -> None:
    left, right = rows(10), rows(5, 9, 10, 11)
    for where in (None, "right.n > left.n"):
        assert pairs(left, right, asof="backward", where=where) == [(0, 2)]
        assert pairs(left, right.slice(0, 2), asof="backward", where=where) == [(0, 1)]
    assert pairs(left, right, asof="forward") == [(0, 2)]
    assert pairs(left, right.slice(3), asof="forward") == [(0, 3)]


def test_the_tolerance_of_as_of_is_exclusive() -> None:
    left, right = rows(10), rows(5)
    assert pairs(left, right, asof="backward", within="5 seconds") == []
    assert pairs(left, right, asof="backward", within="6 seconds") == [(0, 0)]
    assert pairs(right, left, asof="forward", within="5 seconds", how="left") == [(0, None)]


def test_of_tied_rows_as_of_takes_the_last_in_their_order_or_all() -> None:
    left, right = rows(10), rows(9, 9, 9, x=[3, 1, 2])
    for where in (None, "right.x > left.n"):
        assert pairs(left, right.take([2, 1, 0]), asof="backward", where=where) == [(0, 2)]
    assert pairs(left, right, asof="backward", sequence=("ts", "x")) == [(0, 0)]
    assert pairs(left, right, asof="backward", ties="all") == [(0, 0), (0, 1), (0, 2)]
    assert pairs(left, right, asof="backward", ties="all", where="right.x <> 1") == [(0, 0), (0, 2)]


def test_the_nearest_of_both_directions_is_the_later_where_both_are_as_near() -> None:
    left = rows(10)
    assert pairs(left, rows(8, 11), asof="nearest") == [(0, 1)]
    assert pairs(left, rows(9, 12), asof="nearest") == [(0, 0)]
    assert pairs(left, rows(9, 11), asof="nearest") == [(0, 1)]
    assert pairs(left, rows(9, 11, 12), asof="nearest", ties="all") == [(0, 0), (0, 1)]


def test_a_condition_in_on_passes_over_rows_and_one_in_where_filters_what_was_found() -> None:
    left, right = rows(10), rows(8, 9, x=[1, 0])
    given = {"a": left, "b": right}
    text = "FROM a ASOF JOIN b ON {} WHERE {} RETURN b.n AS n"
    assert ev.query(text.format("b.x > 0", "true"), ts_unit="s").run(**given).column("n").to_pylist() == [0]
    assert ev.query(text.format("true", "b.x > 0"), ts_unit="s").run(**given).num_rows == 0


# --- kinds --------------------------------------------------------------------------------------------------


def test_where_of_a_left_join_sees_rows_without_a_partner() -> None:
    text = "FROM a LEFT JOIN b ON a.n = b.n AND a.n < 2 WITHIN 5 seconds WHERE b.n IS NULL RETURN a.n AS n"
    query = ev.query(text, ts_unit="s", close_at_end=True)
    assert sorted(query.run(a=rows(1, 1, 1), b=rows(1, 90, 1)).column("n").to_pylist()) == [1, 2]


def test_a_row_without_a_partner_is_open_until_its_window_is_over() -> None:
    left, right = rows(10, 20), rows(15, 27)
    assert pairs(left, right, within="3 seconds", how="anti", close_at_end=None) == [(0, None), (1, None)]
    assert pairs(left, right.slice(0, 1), within="3 seconds", how="anti", close_at_end=None) == [(0, None)]
    found = ev.join(left, right, within="3 seconds", how="anti", ts_unit="s").column("detected_at").to_pylist()
    assert found == [13, 23]


def test_a_semi_join_is_decided_by_the_first_partner() -> None:
    found = ev.join(rows(10), rows(12, 6, 13), within="5 seconds", how="semi", ts_unit="s").to_pylist()
    assert found == [{"ts": 10, "n": 0, "detected_at": 10}]
    found = ev.join(rows(10), rows(12, 13), within="5 seconds", how="semi", ts_unit="s").to_pylist()
    assert found == [{"ts": 10, "n": 0, "detected_at": 12}]


def test_an_input_may_be_joined_with_itself() -> None:
    query = ev.query("FROM t a JOIN t b ON a.n < b.n WITHIN 3 seconds RETURN a.n, b.n", ts_unit="s")
    some = rows(1, 2, 9)
    expected = [{"a_n": 0, "b_n": 1, "detected_at": 2}]
    assert query.run(t=some).to_pylist() == query.run(some).to_pylist() == expected
    assert query.run(some.to_reader()).to_pylist() == expected


# --- columns and inputs -------------------------------------------------------------------------------------


def test_columns_of_one_name_and_different_types_stay_apart() -> None:
    left, right = rows(1, x=["a"]), rows(1, x=[2.5])
    found = ev.join(left, right, within="1 second", where="length(left.x) < right.x", ts_unit="s")
    assert found.select(["left_x", "right_x"]).to_pylist() == [{"left_x": "a", "right_x": 2.5}]
    text = "FROM a JOIN b WITHIN 1 second RETURN length(a.x) + b.x AS both, a.*, b.x AS x"
    assert ev.query(text, ts_unit="s").run(a=left, b=right).column_names == [
        "both",
        "a_ts",
        "a_n",
        "a_x",
        "x",
        "detected_at",
    ]


def test_inputs_of_every_kind_and_times_of_every_type(tmp_path: Path) -> None:
    one = pa.table({"at": [datetime(2024, 1, 1)], "n": [1]})
    pq.write_table(one, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("at,n\n2024-01-01 00:00:00,1\n")
    kinds: list[Any] = [one, one.to_pylist(), one.to_pandas(), one.to_reader(), tmp_path / "a.parquet"]
    for left in [*kinds, str(tmp_path / "a.csv"), duckdb.from_arrow(one)]:
        assert ev.join(left, one, on="n", within="1 minute").num_rows == 1
    days = pa.table({"at": [date(2024, 1, 1), date(2024, 1, 2)], "n": [1, 2]})
    found = ev.join(days, days, within="2 days", after=True, ts="at", select={"d": "right.at"})
    assert found.to_pylist() == [{"d": date(2024, 1, 2), "detected_at": date(2024, 1, 2)}]


def test_the_time_columns_may_have_different_names() -> None:
    left, right = pa.table({"made": [1], "n": [1]}), pa.table({"n": [1], "paid": [2]})
    found = ev.join(left, right, on="n", within="5 seconds", ts=("made", "paid"), ts_unit="s")
    assert found.to_pylist() == [{"n": 1, "left_made": 1, "right_paid": 2, "detected_at": 2}]


def test_empty_inputs_have_the_columns_of_the_result() -> None:
    some = rows(1, x=["a"])
    for left, right, n in ((some, some.slice(1), 1), (some.slice(1), some, 0), (some.slice(1), some.slice(1), 0)):
        found = ev.join(left, right, on="n", within="1 second", how="left", ts_unit="s", close_at_end=True)
        assert (found.num_rows, found.column_names[:3]) == (n, ["n", "left_ts", "left_x"])
        assert found.schema.field("right_x").type == pa.string()


def test_many_results_come_in_batches_on_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "PAIRS_PER_BATCH", 7)
    left, right = rows(*range(20)), rows(*range(15))
    query = ev.join(within="1 hour", select={"a": "left.n", "b": "right.n"}, ts_unit="s")
    batches = list(query.batches(left=left, right=right))
    found = {(row["a"], row["b"]) for batch in batches for row in batch.to_pylist()}
    assert len(batches) > 5 and len(found) == sum(batch.num_rows for batch in batches) == 300


# --- a second witness ---------------------------------------------------------------------------------------


def test_duckdb_says_the_same() -> None:
    n = 400
    left = pa.table({"ts": [i * 7 % 900 for i in range(n)], "k": [i % 5 for i in range(n)], "n": range(n)})
    right = pa.table({"ts": [i * 11 % 900 for i in range(n)], "k": [i % 7 for i in range(n)], "n": range(n)})
    asked: dict[str, Any] = {"on": "k", "within": "9 seconds"}
    band = "JOIN r ON l.k = r.k AND abs(l.ts - r.ts) < 9"
    told = {
        "inner": f"SELECT l.n, r.n FROM l {band}",
        "left": f"SELECT l.n, r.n FROM l LEFT {band}",
        "semi": f"SELECT l.n, NULL FROM l SEMI {band}",
        "anti": f"SELECT l.n, NULL FROM l ANTI {band}",
    }
    database = duckdb.connect()
    database.register("l", left)
    database.register("r", right)
    for how, text in told.items():
        assert pairs(left, right, how=how, **asked) == sorted(database.sql(text).fetchall(), key=str)
    once = right.group_by(["ts", "k"]).aggregate([("n", "max")]).rename_columns(["ts", "k", "n"])
    database.register("once", once)
    text = "SELECT l.n, o.n FROM l ASOF LEFT JOIN once o ON l.k = o.k AND l.ts >= o.ts"
    assert pairs(left, once, on="k", asof="backward", how="left") == sorted(database.sql(text).fetchall(), key=str)
    text = "SELECT l.n, o.n FROM l ASOF JOIN once o ON l.k = o.k AND l.ts <= o.ts"
    assert pairs(left, once, on="k", asof="forward") == sorted(database.sql(text).fetchall(), key=str)


# --- what a stream holds, and when it answers ---------------------------------------------------------------


def stream_of(case: Case) -> tuple[Stream, pa.Table]:
    plan = plan_of(case)
    return Stream(plan), block_of(case, plan)


def one(at: int, **more: Any) -> dict[str, Any]:
    return {"key": "a", "at": at, "x": 1, "seq": None, **more}


def test_a_row_without_a_partner_comes_when_the_watermark_has_passed_its_window() -> None:
    stream, block = stream_of(Case((one(10, n=0),), (), "left", within=(5, 5)))
    assert stream.step(block, 10 * SECOND_US) == []
    assert stream.operator().pending_us() == 15 * SECOND_US
    assert stream.operator().open_runs() == 1
    assert stream.step(None, 15 * SECOND_US - 1) == []
    assert [row["detected_at"] for row in stream.step(None, 15 * SECOND_US)] == [15]
    assert stream.operator().pending_us() is None
    assert stream.operator().open_runs() == 0
    assert stream.step(None, 90 * SECOND_US) == []


def test_a_pair_leaves_once_with_its_later_row() -> None:
    words = (one(8, word="a"), one(12, word="b"), one(14, word="c"))
    stream, block = stream_of(Case((one(10, n=0),), words, within=(5, 5)))
    found = [
        [row["word"] for row in stream.step(block.take(some), watermark_us)]
        for some, watermark_us in (([0, 1], 11 * SECOND_US), ([2], 14 * SECOND_US - 1), ([3], 14 * SECOND_US))
    ]
    assert found == [["a"], ["b"], ["c"]]


def test_a_semi_join_answers_when_its_first_partner_comes() -> None:
    stream, block = stream_of(Case((one(10, n=0),), (one(12, word="a"), one(13, word="b")), "semi", within=(5, 5)))
    assert stream.step(block.take([0]), 11 * SECOND_US) == []
    assert [row["detected_at"] for row in stream.step(block.take([1]), 12 * SECOND_US)] == [12]
    assert stream.step(block.take([2]), 90 * SECOND_US) == []


def test_state_is_bounded_by_the_window() -> None:
    for kind, kept in (("inner", 4), ("anti", 9)):
        lefts = tuple(one(i, n=i) for i in range(50))
        stream, block = stream_of(Case(lefts, (one(0, word="w"),), kind, within=(5, 5)))
        for i in range(50):
            stream.step(block.slice(i, 1) if i else block.take([0, 50]), i * SECOND_US)
        held = stream.operator()._buffer.select_all()  # type: ignore[attr-defined]
        assert min(held.column("ts").to_pylist()) >= (49 - kept - 1) * SECOND_US


def test_the_nearest_row_waits_until_nothing_nearer_can_come() -> None:
    case = Case((one(10, n=0),), (one(8, word="w"),), asof="nearest", within=(5, 5))
    stream, block = stream_of(case)
    assert stream.step(block, 11 * SECOND_US) == []
    assert stream.operator().pending_us() == 11 * SECOND_US + 1
    assert [row["detected_at"] for row in stream.step(None, 12 * SECOND_US)] == [12]


def test_late_rows_are_dropped_and_counted() -> None:
    stream, block = stream_of(Case((one(10, n=0), one(3, n=1)), (), within=(5, 5)))
    stream.step(block.slice(0, 1), 9 * SECOND_US)
    stream.step(block.slice(1, 1), 9 * SECOND_US)
    assert stream.operator().late_events() == 1
