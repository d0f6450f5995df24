"""Conditions of thousands of terms: planned with work that grows with their number, or refused with a limit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp
from tools.touched import QUERIES, counted

import eventide as ev
from eventide.errors import QueryError
from eventide.expressions import split
from eventide.expressions.split import MAX_OPERATIONS
from eventide.families.registry import family_named
from eventide.lang import conditions, parse
from eventide.lang.rows.parse import parse_clause
from eventide.lang.tokens import MAX_WORDS
from eventide.plan.options import Options

EVENTS = pa.table(
    {
        "ts": pa.array([0, 1, 2, 3], pa.int64()),
        "kind": ["A", "B", "A", "B"],
        "x": pa.array([5, 7, 1999, None], pa.int64()),
        "s": ["p", "q", "r", None],
    }
)
CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts MEASURES first(x) AS x PATTERN (A) DEFINE A AS kind = 'A')"
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
    assert ev.sql(f"SELECT x FROM t {CLAUSE} WHERE {form('or', '')}", t=EVENTS)["x"].to_pylist() == [5, 1999]


def n_calls(run: Callable[[], object]) -> int:
    """How many functions are called, those of Python's own library too."""
    n = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal n
        n += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return n


@pytest.mark.parametrize(
    ("text", "term", "joint"),
    [
        ("PATTERN SEQ(A a, B b) WHERE {}", "a.x = {}", " OR "),
        ("PATTERN SEQ(A a, B b) WHERE b.x = 1 OR {}", "a.x = {}", " OR "),
        ("PATTERN SEQ(A a, B b) WHERE {}", "a.x <> {}", " AND "),
        ("PATTERN SEQ(A a, B b) WHERE a.x IN ({})", "{}", ", "),
        ("PATTERN SEQ(A a, B b) RETURN {} AS y", "a.s", " || "),
        ("PATTERN SEQ(A a, B b) DEFINE A AS {}", "x = {}", " OR "),
        ("PATTERN SEQ(A a+, B b) WHERE {} RETURN a.x", "a.x = {}", " OR "),
        ("PATTERN SEQ(A a+, B b) WHERE {} RETURN COUNT(*)", "a.x = {}", " OR "),
    ],
)
def test_the_work_of_planning_grows_with_the_number_of_terms(text: str, term: str, joint: str) -> None:
    def plan(n: int) -> None:
        terms = joint.join(term.format(i) for i in range(n))
        family_named("events").prepare(parse(text.format(terms)), Options(type="kind", ts_unit="s"), EVENTS.schema)

    plan(40)
    assert n_calls(lambda: plan(160)) < 4.5 * n_calls(lambda: plan(40))


@pytest.mark.parametrize(
    "derive",
    [
        lambda text: ev.detect(EVENTS, ev.Pattern.begin("a", text), ts="ts", ts_unit="s"),
        lambda text: ev.intervals.homogeneous(EVENTS, text, ts="ts", ts_unit="s"),
        lambda text: ev.query(f"DEFINE Hot AS {text}, Odd AS x = 7 PATTERN Odd during Hot", ts_unit="s").run(EVENTS),
        lambda text: ev.sql(f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS {text})", t=EVENTS),
        lambda text: ev.sql(f"SELECT * FROM t {CLAUSE} WHERE {text}", t=EVENTS),
    ],
    ids=["builder", "intervals", "situations", "rows", "statement"],
)
def test_the_work_of_every_language_grows_with_the_number_of_terms(derive: Callable[[str], object]) -> None:
    def run(n: int) -> None:
        derive(" OR ".join(f"x = {i}" for i in range(n)))

    run(40)
    assert n_calls(lambda: run(160)) < 4.5 * n_calls(lambda: run(40))


@pytest.mark.parametrize("name", ["SEQ", "pattern", "trends", "situations"])
def test_an_expression_is_typed_once_and_a_text_tokenized_once(name: str) -> None:
    with counted() as touched:
        QUERIES[name]()
    assert touched.typed and max(touched.typed.values()) == 1
    assert touched.tokenized and max(touched.tokenized.values()) == 1
    assert max(touched.by_sqlglot.values()) == 1


@pytest.mark.parametrize("name", ["MATCH_RECOGNIZE", "builder", "intervals"])
def test_only_columns_are_typed_again_as_what_stands_for_them(name: str) -> None:
    with counted() as touched:
        QUERIES[name]()
    assert {kind for (_, _, _, kind), n in touched.typed.items() if n > 1} <= {"Column"}
    assert max(touched.typed.values()) <= 2
    assert max(touched.by_sqlglot.values()) == 1


def test_a_text_of_too_many_words_is_refused_in_every_language() -> None:
    chain = "||".join(["s"] * (MAX_WORDS // 3 + 1))
    rows = f"MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS {chain} = 'a')"
    for run in (
        lambda: ev.query(f"PATTERN A a RETURN {chain} AS y"),
        lambda: ev.query(f"DEFINE Hot AS {chain} = 'a', Odd AS x = 7 PATTERN Odd during Hot"),
        lambda: ev.detect(EVENTS, ev.Pattern.begin("a", f"{chain} = 'a'"), ts="ts", ts_unit="s"),
        lambda: ev.intervals.homogeneous(EVENTS, f"{chain} = 'a'", ts="ts", ts_unit="s"),
        lambda: parse_clause(rows.removeprefix("MATCH_RECOGNIZE (").removesuffix(")")),
        lambda: ev.sql(f"SELECT * FROM t {rows}", t=EVENTS),
        lambda: ev.sql(f"SELECT {chain} FROM t {CLAUSE}", t=EVENTS),
    ):
        with pytest.raises(QueryError, match=r"has \d\d,\d{3} words and signs") as caught:
            run()
        assert f"at most {MAX_WORDS:,} are allowed" in str(caught.value) and "IN (...)" in str(caught.value)


def test_many_conditions_of_where_are_read_as_if_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = ["NOT a.x = 1", "(a.x = 2 OR a.x = 3)", "a.x BETWEEN 1 AND 9", "a.s  LIKE 'p%' -- so", "a.x IS NOT NULL"]
    text = "PATTERN SEQ(A a, B b) WHERE " + "\n AND ".join(parts * 5)
    at_once = parse(text).where
    monkeypatch.setattr(conditions, "_MANY", 1000)
    one_by_one = parse(text).where
    assert len(at_once) == 25 and at_once == one_by_one
    for left, right in zip(at_once, one_by_one, strict=True):
        assert (left.text, left.span, left.line) == (right.text, right.span, right.line)
        assert left.tree.parent is None
        assert [_place(node) for node in left.tree.walk()] == [_place(node) for node in right.tree.walk()]


def _place(node: exp.Expr) -> tuple[int | None, int | None]:
    return node.meta.get("start"), node.meta.get("end")


def test_a_mistake_among_many_conditions_is_told_as_among_few() -> None:
    for mistake in ("a.x >", "a.x = = 1", "a.x = 1 b.x"):
        told = []
        for n in (1, 30):
            with pytest.raises(QueryError) as caught:
                parse(f"PATTERN SEQ(A a, B b) WHERE {' AND '.join([mistake, *['a.x = 1'] * n])}")
            told.append((caught.value.message, caught.value.start, caught.value.end, caught.value.hint))
        assert told[0] == told[1]


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


def test_too_many_operations_are_refused_before_their_values_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    monkeypatch.setattr(split, "write_spark", lambda tree: written.append(tree) or "x")
    text = " OR ".join(f"a.x = b.x + {i}" for i in range(1000))
    with pytest.raises(QueryError, match="operations"):
        family_named("events").prepare(
            parse(f"PATTERN SEQ(A a, B b) WHERE {text}"), Options(type="kind", ts_unit="s"), EVENTS.schema
        )
    assert not written


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
