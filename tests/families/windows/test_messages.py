"""Wrong queries of windows: what is wrong, where, and what to try."""

from __future__ import annotations

import pyarrow as pa
import pytest

import eventide as ev

EVENTS = [{"ts": 1, "k": "a", "v": 1}, {"ts": 3, "k": "b", "v": 2}]


@pytest.mark.parametrize(
    ("clauses", "underlined", "message"),
    [
        ("WITHIN 5 seconds RETURN count(*) AS n HAVING n", "n", "HAVING is a condition, but this is bigint"),
        ("GROUP BY k WITHIN 5 seconds RETURN k HAVING k", "k", "HAVING is a condition, but this is string"),
        ("GROUP BY k RETURN window_start", "window_start", "window_start is about windows, and this query has none"),
        ("RETURN count(*) HAVING window_end > 1", "window_end", "window_end is about windows, and this query has none"),
        ("WITHIN 5 seconds RETURN max(window_start)", "window_start", "about the window, not about its events"),
        ("WITHIN 5 seconds RETURN summ(v)", "summ(v)", "unknown function 'summ'"),
        ("WITHIN 5 seconds RETURN v", "v", "which event's 'v'?"),
        ("WITHIN 5 seconds WHERE count(*) > 1 RETURN sum(v)", "count(*)", "WHERE is about one event"),
        ("WITHIN 5 seconds RETURN window_end AS window_start", "window_end AS window_start", "that Eventide adds"),
        ("WITHIN 5 seconds RETURN sum(try_divide(v, 2))", "sum(try_divide(v, 2))", "the type of this is not known"),
        ("WITHIN 5 seconds RETURN sum(k)", "sum(k)", "sum needs a number, but this is string"),
        ("WITHIN 500 milliseconds RETURN sum(v)", "500 milliseconds", "do not begin and end at a whole second"),
    ],
)
def test_a_wrong_query_is_refused_where_it_is_wrong(clauses: str, underlined: str, message: str) -> None:
    with pytest.raises(ev.EventideError) as caught:
        ev.query(clauses, ts_unit="s").run(EVENTS)
    text, marks = str(caught.value).splitlines()[1:3]
    assert message in caught.value.message
    assert text[marks.index("^") : marks.rindex("^") + 1] == underlined


@pytest.mark.parametrize("name", ["true", "null", "select", "case", "order id", "within"])
def test_groups_may_have_any_name(name: str) -> None:
    events = [{"ts": 1, name: "x"}, {"ts": 2, name: "y"}]
    rows = ev.aggregate(events, "count(*) AS n", by=name, ts_unit="s").to_pylist()
    assert sorted(row[name] for row in rows) == ["x", "y"]


def test_a_name_has_one_expression() -> None:
    with pytest.raises(ev.EventideError, match="unexpected ','"):
        ev.aggregate(EVENTS, {"n": "count(*), sum(v)"}, ts_unit="s")


def test_lists_of_fixed_size_are_values_like_others() -> None:
    lists = pa.array([[1], [2]], pa.list_(pa.int64(), 1))
    rows = ev.aggregate(pa.table({"ts": [1, 2], "l": lists}), "last(l) AS last", ts_unit="s")
    assert rows.column("last").to_pylist() == [[2]]
