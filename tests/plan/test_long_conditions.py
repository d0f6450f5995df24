"""Conditions of thousands of terms: planned with work that grows with their number, or refused with a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

import eventide as ev
from eventide.errors import QueryError
from eventide.lang import parse
from eventide.plan.expressions.split import MAX_OPERATIONS
from eventide.plan.options import Options
from eventide.plan.prepare import prepare

EVENTS = pa.table(
    {
        "ts": pa.array([0, 1, 2, 3], pa.int64()),
        "kind": ["A", "B", "A", "B"],
        "x": pa.array([5, 7, 1999, None], pa.int64()),
        "s": ["p", "q", "r", None],
    }
)
N = 1000
FORMS = {
    "or": " OR ".join(f"{{c}}x = {2 * i + 1}" for i in range(N)),
    "and": " AND ".join(f"{{c}}x <> {2 * i}" for i in range(N)),
    "in": f"{{c}}x IN ({', '.join(str(2 * i + 1) for i in range(N))})",
    "case": "CASE " + " ".join(f"WHEN {{c}}x = {2 * i + 1} THEN TRUE" for i in range(N)) + " ELSE FALSE END",
    "concat": " || ".join(["{c}s"] * N) + " >= 'a'",
}


def form(name: str, symbol: str) -> str:
    return FORMS[name].replace("{c}", symbol)


@pytest.mark.parametrize("name", FORMS)
def test_thousands_of_terms_run_in_an_event_query(name: str) -> None:
    query = ev.query(f"PATTERN SEQ(A a, B b) WHERE {form(name, 'a.')} RETURN a.x", ts_unit="s", type="kind")
    assert sorted(query.run(EVENTS)["a_x"].to_pylist()) == [5, 5, 1999]


@pytest.mark.parametrize("name", ["or", "in", "and"])
def test_thousands_of_terms_run_in_every_language(name: str) -> None:
    text = form(name, "")
    pattern = ev.Pattern.begin("a", text)
    assert ev.detect(EVENTS, pattern, ts="ts", ts_unit="s").matches.num_rows == 3
    rows = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES first(x) AS v PATTERN (A) DEFINE A AS {text})"
    assert ev.sql(rows, t=EVENTS)["v"].to_pylist() == [5, 7, 1999]
    defined = ev.query(f"PATTERN A a DEFINE A AS {text} RETURN a.x", ts_unit="s")
    assert sorted(defined.run(EVENTS)["a_x"].to_pylist()) == [5, 7, 1999]
    situations = ev.query(f"DEFINE Hot AS {text}, Odd AS x = 7 PATTERN Odd during Hot", ts_unit="s")
    assert situations.run(EVENTS).num_rows == 1
    assert ev.intervals.homogeneous(EVENTS, text, ts="ts", ts_unit="s").num_rows == 1


def test_thousands_of_terms_run_in_the_statement_around_a_clause() -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES first(x) AS x PATTERN (A) DEFINE A AS kind = 'A')"
    assert ev.sql(f"SELECT x FROM t {clause} WHERE {form('or', '')}", t=EVENTS)["x"].to_pylist() == [5, 1999]


def test_the_work_of_planning_grows_with_the_number_of_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    visited = 0
    original = exp.Expression.iter_expressions

    def counted(self: Any, reverse: bool = False) -> Iterator[Any]:
        nonlocal visited
        for child in original(self, reverse):
            visited += 1
            yield child

    def work(condition: str, n: int) -> int:
        nonlocal visited
        visited = 0
        text = f"PATTERN SEQ(A a, B b) WHERE {condition.format(terms=' OR '.join(f'a.x = {i}' for i in range(n)))}"
        prepare(parse(text), Options(type="kind", ts_unit="s"), EVENTS.schema)
        return visited

    monkeypatch.setattr(exp.Expression, "iter_expressions", counted)
    for condition in ("{terms}", "b.x = 1 OR {terms}"):
        assert work(condition, 80) < 2.5 * work(condition, 40)


@pytest.mark.parametrize(
    "items, expected",
    [
        ("3, 4, 12, 5, 6, 7, 8, 9, 10, 11", [12]),
        ("'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'pq'", [12]),
        ("3.5, 4.5, 12.0, 5.5, 6, 7, 8, 9, 10, 11", [12]),
        ("3, 4, 12, 5, 6, 7, 8, 9, 10, NULL", [12]),
        ("3, 4, 1, 5, 6, 7, 8, 9, 10, 2", []),
        ("3e0, 4e0, 12e0, 5e0, 6e0, 7e0, 8e0, 9e0, 10e0, 11e0", [12]),
        ("12, 12, 12, 12, 12, 12, 12, 12, 12, 12", [12]),
    ],
)
def test_a_list_of_values_between_events_is_looked_up(items: str, expected: list[int]) -> None:
    left = "CASE WHEN a.x < b.x THEN 'pq' ELSE b.s END" if "'" in items else "a.x + b.x"
    query = ev.query(f"PATTERN SEQ(A a, B b) WHERE {left} IN ({items}) RETURN a.x, b.x", ts_unit="s", type="kind")
    assert [row["a_x"] + row["b_x"] for row in query.run(EVENTS).to_pylist()] == expected


def test_a_value_that_is_not_in_a_list_with_null_is_unknown() -> None:
    items = "1, 2, 3, 4, 5, 6, 7, 8, 9"
    for listed, n in ((items, 1), (f"{items}, NULL", 0)):
        query = ev.query(f"PATTERN SEQ(A a, B b) WHERE a.x + b.x NOT IN ({listed})", ts_unit="s", type="kind")
        assert query.run(EVENTS).num_rows == n


def test_thousands_of_values_between_events_are_looked_up() -> None:
    items = ", ".join(map(str, range(10, 6000)))
    query = ev.query(f"PATTERN SEQ(A a, B b) WHERE a.x + b.x IN ({items}) RETURN b.x", ts_unit="s", type="kind")
    assert query.run(EVENTS)["b_x"].to_pylist() == [7]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("CASE {whens} END = 3", [7]),
        # NULLIF(5, NULL) is 5.
        ("coalesce({values}) = 5", [7, None]),
    ],
    ids=["branches of a CASE", "values of a coalesce"],
)
def test_many_choices_between_events_are_not_nested(condition: str, found: list[int | None]) -> None:
    whens = " ".join(f"WHEN a.x + b.x = {i} THEN {i // 4}" for i in range(60))
    values = ", ".join(["NULLIF(a.x, b.x - 2)"] * 50 + ["b.x - 2"])
    text = condition.format(whens=whens, values=values)
    query = ev.query(f"PATTERN SEQ(A a, B b) WHERE {text} RETURN b.x", ts_unit="s", type="kind")
    assert sorted(query.run(EVENTS)["b_x"].to_pylist(), key=str) == found


def test_operations_between_events_have_a_limit_that_the_error_names() -> None:
    text = " OR ".join(f"a.x = b.x + {i}" for i in range(1000))
    query = ev.query(f"PATTERN SEQ(A a, B b) WHERE {text}", ts_unit="s", type="kind")
    with pytest.raises(QueryError, match=f"more than {MAX_OPERATIONS} operations"):
        query.run(EVENTS)


def test_a_query_too_deep_for_the_stack_is_a_query_error() -> None:
    query = ev.query(f"PATTERN A a WHERE {' + '.join(['a.x'] * 200)} > 0", ts_unit="s", type="kind")

    def deep(levels: int, call: Callable[[pa.Table], object]) -> object:
        return call(EVENTS) if levels == 0 else deep(levels - 1, call)

    for call in (query.run, query.explain, query.diagnose):
        with pytest.raises(QueryError, match="nested too deeply to be planned"):
            deep(600, call)


@pytest.mark.spark
def test_long_conditions_run_on_spark(spark: Any) -> None:
    text = f"""
        ({form("or", "a.")}) AND {form("in", "a.")} AND {form("case", "a.")}
        AND {" || ".join(["a.s"] * 500)} >= 'a' AND {" + ".join(["a.x"] * 200)} > 0
    """
    rows = ev.query(f"PATTERN SEQ(A a, B b) WHERE {text} RETURN a.x", ts_unit="s", type="kind")
    found = rows.run(spark.createDataFrame(EVENTS)).toArrow()
    assert sorted(found["a_x"].to_pylist()) == [5, 5, 1999]
