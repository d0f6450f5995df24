"""What is wrong with a join is said in the words of the user, with a hint."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import eventide as ev

A = pa.table({"ts": [1], "id": [1], "x": [1.5], "tags": [["a"]]})
B = pa.table({"ts": [1], "id": [1], "y": ["a"]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FROM a JOIN b ON a.id = b.idd WITHIN 1 hour", "there is no column 'idd' in b.*did you mean 'id'"),
        ("FROM a JOIN b ON id = 1 WITHIN 1 hour", "which row's 'id'.*write a.id or b.id"),
        ("FROM a JOIN b ON a.id = c.id WITHIN 1 hour", "there is no input 'c' in FROM.*a and b"),
        ("FROM a JOIN b ON a.x = b.y WITHIN 1 hour", "cannot compare double with string"),
        ("FROM a JOIN b ON a.x WITHIN 1 hour", "a condition must be a boolean, but this is double"),
        ("FROM a JOIN b ON a = b WITHIN 1 hour", "'a' is a row, not a value.*a.ts"),
        ("FROM a JOIN b ON xx = 1 WITHIN 1 hour", "unknown column 'xx'"),
        ("FROM a JOIN b ON count(a.id) > 1 WITHIN 1 hour", "ON of a join is about one pair.*aggregate the result"),
        ("FROM a JOIN b WITHIN 1 hour RETURN sum(a.x)", "RETURN of a join is about one pair"),
        ("FROM a ANTI JOIN b ON a.id = b.id WITHIN 1 hour RETURN b.y", "a row of ANTI JOIN has no columns of b"),
        ("FROM a SEMI JOIN b WITHIN 1 hour WHERE b.id = 1", "a row of SEMI JOIN has no columns of b.*move it to ON"),
        ("FROM a SEMI JOIN b WITHIN 1 hour RETURN b.*", "a row of SEMI JOIN has no columns of b"),
        ("FROM a JOIN b WITHIN 1 hour RETURN c.*", "there is no input 'c' in FROM.*possible are"),
        ("FROM a JOIN b WITHIN 1 hour RETURN a.x AS y, b.y AS Y", "the result would have two columns 'Y'"),
        ("FROM a JOIN b WITHIN 1 hour RETURN a.x AS detected_at", "the name of a column that Eventide adds"),
        ("FROM a JOIN b WITHIN 1 hour AFTER OPTIONS (ties = sequence)", "nothing tells which of two tied rows comes"),
        ("FROM b JOIN a WITHIN 1 hour OPTIONS (ts = 'ts, at')", "ts: there is no column 'at' in a"),
        ("FROM b JOIN a WITHIN 1 hour OPTIONS (ts = 'ts, at, x')", "ts names 3 columns"),
        ("FROM b ASOF JOIN a ON a.id = b.id RETURN a.tags", "nothing orders rows with equal times: 'tags' of a"),
        ("FROM a JOIN b ON NEXT(a).x > 1 WITHIN 1 hour", "NEXT relates events of a PATTERN"),
    ],
)
def test_a_query_that_makes_no_sense(text: str, message: str) -> None:
    with pytest.raises(ev.EventideError, match=f"(?s){message}"):
        ev.query(text, ts_unit="s").run(a=A, b=B)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"how": "outer"}, "how='outer' is not possible.*'inner', 'left', 'semi', 'anti'"),
        ({"asof": "before"}, "asof='before' is not possible"),
        ({"within": 5}, "within must be text or a timedelta, found int"),
        ({"within": "0 seconds"}, "within: a length must be more than zero"),
        ({"within": "5 events"}, "a length of time is needed, not a number of events"),
        ({"within": "-1 second"}, "a length must be positive"),
        ({"within": ("1 s", "2 s"), "asof": "nearest"}, "two lengths of within and asof='nearest' exclude"),
        ({"after": True}, "after=True needs within"),
        ({"within": "1 s", "after": True, "asof": "forward"}, "after=True and asof exclude each other"),
        ({"ties": "all"}, "ties='all' is not possible.*'strict', 'sequence'"),
        ({"ties": "strict", "asof": "backward"}, "ties='strict' is not possible.*'last', 'all'"),
        ({"on": 5}, "on must be a name or a list of names"),
        ({"on": "idd"}, "there is no column 'idd' in left"),
        ({"where": "left.x >"}, "where: the expression ends too early"),
        ({"select": {}}, "select names no column"),
        ({"select": {"a": "left.x)"}}, "select"),
        ({"ts": ("a", "b", "c")}, "ts must be the name of a column, or of one for each input"),
    ],
)
def test_an_argument_that_makes_no_sense(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ev.EventideError, match=f"(?s){message}"):
        ev.join(A, B, **{"ts_unit": "s", **asked})


def test_times_of_different_types_and_integers_without_a_unit() -> None:
    with pytest.raises(ev.EventideError, match="the time columns have different types: 'ts' of left is bigint"):
        ev.join(A, B.set_column(0, "ts", B["ts"].cast(pa.timestamp("us"))), ts_unit="s")
    with pytest.raises(ev.EventideError, match="ts_unit"):
        ev.join(A, B)


def test_inputs_are_given_by_their_names() -> None:
    query = ev.query("FROM orders o JOIN payments p ON o.id = p.id WITHIN 1 hour", ts_unit="s")
    for given in ({}, {"orders": A}, {"orders": A, "payments": B, "more": B}):
        with pytest.raises(ev.InputError, match=r"(?s)Hint: q.run\(orders=..., payments=...\)"):
            query.run(**given)
    with pytest.raises(ev.InputError, match="run takes two inputs"):
        query.run(A)
    assert ev.query("FROM events e JOIN b ON e.id = b.id", ts_unit="s").run(events=A, b=B).num_rows == 1


def test_a_row_without_a_time_is_told_with_its_side_or_dropped() -> None:
    bad = pa.table({"ts": pa.array([None, 1]), "id": [7, 1]})
    with pytest.raises(ev.InputError, match="an event of right has no time: 'ts' is NULL in the row with id = 7"):
        ev.join(A, bad, on="id", within="1 hour", ts_unit="s")
    with pytest.raises(ev.InputError, match="an event of left or right has no time"):
        ev.join(A, bad, on="id", where="right.id < 5", within="1 hour", ts_unit="s")
    assert ev.join(A, bad, on="id", within="1 hour", ts_unit="s", on_bad_event="drop").num_rows == 1


def test_a_condition_that_only_spark_knows_is_refused_in_this_process() -> None:
    with pytest.raises(ev.QueryError, match="soundex"):
        ev.join(A, B, where="soundex(right.y) = 'A000'", ts_unit="s")
