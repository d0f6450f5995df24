"""Whole SQL statements around MATCH_RECOGNIZE, tables of every kind, and types of results; some also on Spark."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev

TRADES = pa.table(
    {
        "symbol": pa.array(["x", "x", "x", "x", "y", "y"]),
        "id": pa.array(range(6), pa.int64()),
        "price": pa.array([10, 8, 6, 7, 9, 5], pa.int32()),
        "cost": pa.array([Decimal(n) / 4 for n in range(6)], pa.decimal128(10, 2)),
        "at": pa.array([dt.datetime(2024, 1, 1, 9, minute) for minute in range(6)], pa.timestamp("us")),
        "seen": pa.array([dt.datetime(2024, 1, 1, 9, minute) for minute in range(6)], pa.timestamp("us", "UTC")),
        "day": pa.array([dt.date(2024, 1, 1 + day) for day in range(6)]),
        "note": pa.array(["a", "b", None, "d", "e", "f"]),
        "checked": pa.array([True, False, None, True, False, True]),
        "weight": pa.array([0.5, 1.5, 2.5, None, 4.5, 5.5]),
    }
)
FALLS = """MATCH_RECOGNIZE (
    ORDER BY id
    MEASURES A.price AS top, LAST(B.price) AS bottom, count(*) AS n
    PATTERN (A B+)
    DEFINE B AS price < PREV(price)
)"""
FALL_ROWS = [{"top": 10, "bottom": 6, "n": 3}, {"top": 9, "bottom": 5, "n": 2}]


def rows(text: str, **tables: Any) -> list[dict[str, Any]]:
    return ev.sql(text, **({"trades": TRADES} | tables)).to_pylist()


def message(text: str, **tables: Any) -> str:
    with pytest.raises(ev.EventideError) as caught:
        rows(text, **tables)
    return str(caught.value)


# --- the statement around ---------------------------------------------------------------------------------


def test_the_clause_stands_in_from() -> None:
    assert rows(f"SELECT * FROM trades {FALLS}") == FALL_ROWS


def test_what_surrounds_the_clause_filters_computes_and_sorts() -> None:
    text = f"SELECT top - bottom AS fall FROM trades {FALLS} AS m WHERE m.n > 1 ORDER BY fall DESC LIMIT 1"
    assert rows(text) == [{"fall": 4}]


def test_two_clauses_in_one_statement() -> None:
    rises = FALLS.replace("<", ">")
    text = f"SELECT f.top, r.bottom AS peak FROM trades {FALLS} AS f JOIN trades {rises} AS r ON f.bottom < r.top + 1"
    assert sorted(map(str, rows(text))) == ["{'top': 10, 'peak': 9}", "{'top': 9, 'peak': 9}"]


def test_two_clauses_separated_by_a_comma() -> None:
    assert len(rows(f"SELECT a.n, b.n AS other FROM trades {FALLS} AS a, trades {FALLS} AS b")) == 4


def test_a_clause_inside_a_cte() -> None:
    text = f"WITH falls AS (SELECT * FROM trades {FALLS}) SELECT max(n) AS longest FROM falls"
    assert rows(text) == [{"longest": 3}]


def test_a_clause_over_a_cte() -> None:
    text = f"WITH cheap AS (SELECT * FROM trades WHERE price < 10) SELECT * FROM cheap {FALLS}"
    assert rows(text) == [{"top": 8, "bottom": 6, "n": 2}, {"top": 9, "bottom": 5, "n": 2}]


@pytest.mark.parametrize(
    "text",
    [
        f"WITH trades AS (SELECT * FROM trades WHERE price < 10) SELECT * FROM trades {FALLS}",
        f"SELECT * FROM (WITH cheap AS (SELECT * FROM trades WHERE price < 10) SELECT * FROM cheap {FALLS}) AS q",
        f"WITH a AS (WITH b AS (SELECT * FROM trades WHERE price < 10) SELECT * FROM b {FALLS}) SELECT * FROM a",
        f"WITH RECURSIVE cheap AS (SELECT * FROM trades WHERE price < 10) SELECT * FROM cheap {FALLS}",
        f"WITH a AS (SELECT * FROM trades), b AS (SELECT * FROM a WHERE price < 10) SELECT * FROM b {FALLS}",
    ],
)
def test_a_cte_is_seen_behind_it_and_inside_its_brackets(text: str) -> None:
    assert rows(text) == [{"top": 8, "bottom": 6, "n": 2}, {"top": 9, "bottom": 5, "n": 2}]


def test_a_recursive_cte() -> None:
    text = """WITH RECURSIVE r AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM r WHERE id < 5)
        SELECT * FROM r MATCH_RECOGNIZE (ORDER BY id MEASURES sum(id) AS s PATTERN (A+))"""
    assert rows(text) == [{"s": 15}]


def test_a_subquery_over_a_cte() -> None:
    text = """WITH bound AS (SELECT 8 AS price) SELECT * FROM trades MATCH_RECOGNIZE (
        ORDER BY id MEASURES A.id AS id PATTERN (A) DEFINE A AS price > (SELECT price FROM bound))"""
    assert rows(text) == [{"id": 0}, {"id": 4}]


def test_a_clause_inside_a_subquery() -> None:
    assert rows(f"SELECT bottom FROM (SELECT * FROM trades {FALLS}) AS q WHERE top = 9") == [{"bottom": 5}]
    assert rows(f"SELECT id FROM trades WHERE price IN (SELECT bottom FROM trades {FALLS})") == [{"id": 2}, {"id": 5}]
    assert rows(f"SELECT (SELECT max(n) FROM trades {FALLS}) AS longest") == [{"longest": 3}]


def test_a_clause_over_a_subquery() -> None:
    text = f"SELECT * FROM (SELECT id, 2 * price AS price FROM trades WHERE symbol = 'y') {FALLS}"
    assert rows(text) == [{"top": 18, "bottom": 10, "n": 2}]


def test_a_clause_over_values() -> None:
    text = """SELECT * FROM (VALUES (1, 2), (3, 4)) AS v(a, b)
              MATCH_RECOGNIZE (ORDER BY a MEASURES sum(b) AS total PATTERN (X+))"""
    assert rows(text) == [{"total": 6}]


def test_a_clause_over_the_result_of_another() -> None:
    second = "MATCH_RECOGNIZE (ORDER BY top MEASURES sum(n) AS n, count(*) AS falls PATTERN (F+))"
    expected = [{"n": 5, "falls": 2}]
    assert rows(f"SELECT * FROM trades {FALLS} {second}") == expected
    assert rows(f"SELECT * FROM trades {FALLS} AS f {second} AS s") == expected
    assert rows(f"SELECT * FROM (SELECT * FROM trades {FALLS}) {second}") == expected


def test_a_join_with_another_table() -> None:
    names = pa.table({"price": [6, 5], "name": ["six", "five"]})
    text = f"SELECT m.top, names.name FROM trades {FALLS} AS m JOIN names ON names.price = m.bottom ORDER BY m.top"
    assert rows(text, names=names) == [{"top": 9, "name": "five"}, {"top": 10, "name": "six"}]


def test_an_alias_renames_the_columns() -> None:
    assert rows(f"SELECT m.a, c FROM trades {FALLS} AS m(a, b, c) WHERE b = 5") == [{"a": 9, "c": 2}]


def test_union_with_a_plain_select() -> None:
    text = f"SELECT n FROM trades {FALLS} UNION ALL SELECT count(*) FROM trades"
    assert sorted(row["n"] for row in rows(text)) == [2, 3, 6]


def test_a_statement_without_the_clause_runs_too() -> None:
    assert rows("SELECT max(price) AS top FROM trades") == [{"top": 10}]


def test_only_queries_run() -> None:
    assert message("DELETE FROM trades") == (
        "ev.sql runs a query (line 1, column 1)\n  DELETE FROM trades\n  ^^^^^^^^^^^^^^^^^^\n"
        "Hint: begin with SELECT or WITH"
    )


# --- tables -----------------------------------------------------------------------------------------------


def test_tables_are_named_in_any_case() -> None:
    assert rows(f"SELECT * FROM TRADES {FALLS}") == FALL_ROWS
    assert rows(f"SELECT Trades.top FROM trades {FALLS} AS Trades WHERE n = 2") == [{"top": 9}]


@pytest.mark.parametrize("kind", ["pandas", "polars", "dicts", "path"])
def test_a_table_may_be_of_any_kind(kind: str, tmp_path: Path) -> None:
    table = TRADES.select(["id", "price"])
    pq.write_table(table, tmp_path / "trades.parquet")
    given: dict[str, Any] = {
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "dicts": table.to_pylist(),
        "path": tmp_path / "trades.parquet",
    }
    assert rows(f"SELECT * FROM trades {FALLS}", trades=given[kind]) == FALL_ROWS


def test_tables_of_different_kinds_in_one_statement() -> None:
    names = pd.DataFrame({"price": [5], "name": ["five"]})
    text = f"SELECT name FROM trades {FALLS} AS m JOIN names ON price = bottom"
    assert rows(text, names=names, trades=TRADES.to_pylist()) == [{"name": "five"}]


def test_an_unknown_table_is_told_with_the_one_that_was_meant() -> None:
    text = message(f"SELECT * FROM tradse {FALLS}")
    assert text.splitlines()[0] == "unknown table 'tradse' (line 1, column 15)"
    assert text.endswith("Hint: did you mean 'trades'?")


def test_without_tables_the_hint_says_how_to_pass_them() -> None:
    with pytest.raises(ev.QueryError) as caught:
        ev.sql(f"SELECT * FROM trades {FALLS}").run()
    assert caught.value.hint == "pass the tables by name: ev.sql(text, trades=table)"


def test_a_table_without_rows_gives_a_result_without_rows() -> None:
    result = ev.sql(f"SELECT * FROM trades {FALLS}", trades=TRADES.slice(0, 0))
    assert result.num_rows == 0
    assert result.schema == pa.schema({"top": pa.int32(), "bottom": pa.int32(), "n": pa.int64()})


# --- names ------------------------------------------------------------------------------------------------


def test_columns_are_found_in_any_case_and_keep_their_spelling() -> None:
    text = """SELECT * FROM trades MATCH_RECOGNIZE (
        PARTITION BY SYMBOL ORDER BY ID MEASURES a.Price AS Top PATTERN (A) DEFINE a AS PRICE > 8)"""
    assert rows(text) == [{"symbol": "x", "Top": 10}, {"symbol": "y", "Top": 9}]


def test_labels_in_quotes_are_exact() -> None:
    text = """SELECT * FROM trades MATCH_RECOGNIZE (
        ORDER BY id MEASURES "b".price AS p, CLASSIFIER() AS c, count(`two words`.*) AS n
        AFTER MATCH SKIP TO LAST "b" PATTERN (`two words` "b") DEFINE "b" AS price < `two words`.price)"""
    assert rows(text) == [
        {"p": 8, "c": "b", "n": 1},
        {"p": 6, "c": "b", "n": 1},
        {"p": 5, "c": "b", "n": 1},
    ]


def test_measures_may_have_odd_names() -> None:
    text = "SELECT `a b` FROM trades MATCH_RECOGNIZE (MEASURES count(*) AS `a b` PATTERN (A+)) AS `m m`"
    assert rows(text) == [{"a b": 6}]


def test_a_hundred_labels_in_alternation() -> None:
    labels = [f"L{i}" for i in range(100)]
    define = ", ".join(f"{label} AS price = {i}" for i, label in enumerate(labels))
    text = f"""SELECT * FROM trades MATCH_RECOGNIZE (
        ORDER BY id MEASURES CLASSIFIER() AS label PATTERN ({" | ".join(labels)}) DEFINE {define})"""
    assert [row["label"] for row in rows(text)] == ["L10", "L8", "L6", "L7", "L9", "L5"]


def test_a_null_partition_is_one_of_its_own() -> None:
    text = "SELECT * FROM trades MATCH_RECOGNIZE (PARTITION BY k ORDER BY id MEASURES count(*) AS n PATTERN (A+))"
    keyed = pa.table({"k": ["a", None, "b", None], "id": [1, 2, 3, 4]})
    assert sorted(map(str, rows(text, trades=keyed))) == [
        "{'k': 'a', 'n': 1}",
        "{'k': 'b', 'n': 1}",
        "{'k': None, 'n': 2}",
    ]


# --- types ------------------------------------------------------------------------------------------------

TYPES = """SELECT * FROM trades MATCH_RECOGNIZE (
    ORDER BY id
    MEASURES A.price AS price, A.cost AS cost, A.at AS at, A.seen AS seen, A.day AS day, A.note AS note,
        A.checked AS checked, FIRST(weight) AS weight, max(cost) AS max_cost, min(at) AS min_at, max(day) AS max_day,
        min(note) AS min_note, max(checked) AS max_checked, sum(price) AS sum_price, sum(cost) AS sum_cost,
        sum(weight) AS sum_weight, avg(price) AS avg_price, count(note) AS n, CLASSIFIER() AS label,
        MATCH_NUMBER() AS number, array_agg(note) AS notes
    PATTERN (A+)
)"""
EXPECTED_TYPES = {
    "price": pa.int32(),
    "cost": pa.decimal128(10, 2),
    "at": pa.timestamp("us"),
    "seen": pa.timestamp("us", "UTC"),
    "day": pa.date32(),
    "note": pa.string(),
    "checked": pa.bool_(),
    "weight": pa.float64(),
    "max_cost": pa.decimal128(10, 2),
    "min_at": pa.timestamp("us"),
    "max_day": pa.date32(),
    "min_note": pa.string(),
    "max_checked": pa.bool_(),
    "sum_price": pa.int64(),
    "sum_cost": pa.decimal128(20, 2),
    "sum_weight": pa.float64(),
    "avg_price": pa.float64(),
    "n": pa.int64(),
    "label": pa.string(),
    "number": pa.int64(),
}


def test_measures_have_the_types_of_what_they_read() -> None:
    result = ev.sql(TYPES, trades=TRADES)
    found = {field.name: field.type for field in result.schema if field.name != "notes"}
    assert found == EXPECTED_TYPES
    assert result.schema.field("notes").type.value_type == pa.string()
    (row,) = result.to_pylist()
    assert row["cost"] == Decimal("1.25") and row["sum_cost"] == Decimal("3.75")
    assert row["seen"] == dt.datetime(2024, 1, 1, 9, 5, tzinfo=dt.UTC)
    assert row["max_day"] == dt.date(2024, 1, 6)
    assert row["notes"] == ["a", "b", "d", "e", "f"] and row["n"] == 5


def test_a_sum_that_leaves_bigint_is_an_error() -> None:
    huge = pa.table({"id": [1, 2], "price": [2**62, 2**62]})
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY id MEASURES sum(price) AS s PATTERN (A+))"
    assert "leaves the range of BIGINT" in message(text, t=huge)


# --- WITHIN -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "length", "unit"),
    [
        ("at", "3 minutes", None),
        ("seen", "3 minutes", None),
        ("at", "INTERVAL '3' MINUTE", None),
        ("day", "3 days", None),
        ("id", "3 seconds", "s"),
        ("id", "3 milliseconds", "ms"),
        ("id", "3 microseconds", "us"),
    ],
)
def test_within_bounds_a_match_by_its_first_row(column: str, length: str, unit: str | None) -> None:
    text = f"""SELECT * FROM trades MATCH_RECOGNIZE (
        ORDER BY {column} MEASURES count(*) AS n PATTERN (A+) WITHIN {length})"""
    assert rows(text, ts_unit=unit) == [{"n": 3}, {"n": 3}]


def test_within_a_number_of_events_is_refused() -> None:
    text = "SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY at MEASURES count(*) AS n PATTERN (A+) WITHIN 3 EVENTS)"
    with pytest.raises(ev.QueryError):
        rows(text)


# --- subqueries in the clause -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("price > (SELECT avg(price) FROM trades)", [0, 1, 4]),
        ("price IN (SELECT price FROM trades WHERE symbol = 'y')", [4, 5]),
        ("price NOT IN (SELECT price FROM trades WHERE symbol = 'y')", [0, 1, 2, 3]),
        ("price IN (SELECT price FROM trades WHERE price > 99)", []),
        ("EXISTS (SELECT 1 FROM trades WHERE price > 99) OR id = 3", [3]),
        ("at > (SELECT max(at) FROM trades WHERE symbol = 'x')", [4, 5]),
        ("cost >= (SELECT max(cost) FROM trades)", [5]),
        ("price > PREV(price) AND price < (SELECT max(price) FROM trades)", [3, 4]),
    ],
)
def test_a_subquery_in_define_is_computed_once(condition: str, ids: list[int]) -> None:
    text = f"SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY id MEASURES A.id AS id PATTERN (A) DEFINE A AS {condition})"
    assert [row["id"] for row in rows(text)] == ids


def test_a_subquery_with_several_rows_is_an_error() -> None:
    text = """SELECT * FROM trades MATCH_RECOGNIZE (
        MEASURES A.id AS id PATTERN (A) DEFINE A AS price > (SELECT price FROM trades))"""
    assert message(text).splitlines()[0] == "a subquery in MATCH_RECOGNIZE gives more than one row (line 2, column 61)"


# --- the clause as a function -----------------------------------------------------------------------------


def test_match_recognize_says_what_the_clause_says() -> None:
    falls = ev.match_recognize(
        partition_by="symbol",
        order_by=["at"],
        measures={"n": "count(U.*)", "label": "CLASSIFIER()"},
        rows="all",
        after_match="skip to next row",
        pattern="A B+",
        within="2 minutes",
        subset={"U": ["A", "B"]},
        define={"B": "price < PREV(price)"},
    )
    text = """SELECT * FROM trades MATCH_RECOGNIZE (
        PARTITION BY symbol ORDER BY at MEASURES count(U.*) AS n, CLASSIFIER() AS label ALL ROWS PER MATCH
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+) WITHIN 2 minutes SUBSET U = (A, B)
        DEFINE B AS price < PREV(price))"""
    assert falls(TRADES).to_pylist() == rows(text)
    assert [row["label"] for row in rows(text)] == ["A", "B", "A", "B", "A", "B"]


# --- on Spark ---------------------------------------------------------------------------------------------


def on_spark(spark: Any) -> Any:
    """The trades as a DataFrame; of a timestamp without a zone Spark would make one with the session's."""
    frame = spark.createDataFrame(TRADES)
    return frame.withColumn("at", frame["at"].cast("timestamp_ntz"))


@pytest.mark.spark
@pytest.mark.parametrize(
    "text",
    [
        f"SELECT * FROM trades {FALLS}",
        f"WITH falls AS (SELECT * FROM trades {FALLS}) SELECT max(n) AS longest FROM falls",
        f"SELECT a.n, b.n AS other FROM trades {FALLS} AS a, Trades {FALLS} AS b",
        f"SELECT m.a, c FROM trades {FALLS} AS m(a, b, c) WHERE b = 5",
        f"SELECT * FROM trades {FALLS} MATCH_RECOGNIZE (ORDER BY top MEASURES sum(n) AS n PATTERN (F+))",
        f"SELECT id FROM trades WHERE price IN (SELECT bottom FROM trades {FALLS}) AND note <> '{{x}}'",
    ],
)
def test_statements_return_the_same_rows_on_spark(spark: Any, text: str) -> None:
    found = [row.asDict() for row in ev.sql(text, trades=on_spark(spark)).collect()]
    assert sorted(map(str, found)) == sorted(map(str, rows(text)))


@pytest.mark.spark
def test_a_table_of_the_catalog_is_found_by_name(spark: Any) -> None:
    on_spark(spark).createOrReplaceTempView("listed_trades")
    found = ev.sql(f"SELECT * FROM listed_trades {FALLS} ORDER BY top DESC", spark=spark).collect()
    assert [row.asDict() for row in found] == FALL_ROWS


@pytest.mark.spark
def test_a_recognizer_is_a_step_of_transform(spark: Any) -> None:
    falls = ev.match_recognize(
        order_by="id", pattern="A B+", define={"B": "price < PREV(price)"}, measures={"n": "count(*)"}
    )
    found = on_spark(spark).transform(falls).collect()
    assert sorted(row.n for row in found) == sorted(row["n"] for row in falls(TRADES).to_pylist())


@pytest.mark.spark
def test_types_on_spark_are_those_of_the_embedded_engine(spark: Any) -> None:
    result = ev.sql(TYPES, trades=on_spark(spark)).toArrow()
    found = {field.name: field.type for field in result.schema if field.name != "notes"}
    assert found == EXPECTED_TYPES
    assert result.to_pylist() == rows(TYPES)


@pytest.mark.spark
def test_a_local_table_beside_spark_is_an_error(spark: Any) -> None:
    with pytest.raises(ev.InputError) as caught:
        ev.sql(f"SELECT * FROM trades {FALLS}", trades=TRADES, spark=spark)
    assert str(caught.value) == "'trades' is no Spark DataFrame\nHint: pass spark.createDataFrame(trades)"


@pytest.mark.spark
def test_spark_reads_a_path_beside_a_session_or_a_dataframe(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "trades.csv"
    TRADES.select(["id", "price"]).to_pandas().to_csv(path, index=False)
    found = ev.sql(f"SELECT * FROM trades {FALLS}", trades=path, spark=spark).collect()
    assert sorted(row.n for row in found) == [2, 3]
    both = f"SELECT max(top) AS top FROM trades {FALLS} JOIN t ON n = t.id"
    joined = ev.sql(both, trades=str(path), t=spark.createDataFrame([(2,)], "id long"))
    assert [row.top for row in joined.collect()] == [9]
    assert "MATCH_RECOGNIZE over trades" in ev.explain_sql(f"SELECT * FROM trades {FALLS}", trades=path, spark=spark)


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("x > ALL (SELECT x FROM t WHERE id < 2)", [2]),
        ("x <> ALL (SELECT x FROM t WHERE id = 1)", [0, 2]),
        ("x = ANY (SELECT x FROM t WHERE id <> 1)", [0, 2]),
        ("x + 1 <= SOME (SELECT x FROM t)", [0, 1]),
        ("x > ALL (SELECT x FROM t WHERE id > 9)", [0, 1, 2]),
        ("x > ANY (SELECT x FROM t WHERE id > 9)", []),
        ("x > (SELECT min(x) FROM t) AND NOT x = ANY (SELECT 9)", [1]),
    ],
)
def test_a_comparison_with_all_or_any_rows_of_a_subquery(condition: str, ids: list[int]) -> None:
    rows = [{"id": i, "x": x} for i, x in enumerate([1, 5, 9])]
    text = f"SELECT id FROM t MATCH_RECOGNIZE (ORDER BY id MEASURES id AS id PATTERN (A) DEFINE A AS {condition})"
    assert [row["id"] for row in ev.sql(text, t=rows).to_pylist()] == ids


def test_a_table_cannot_be_called_spark() -> None:
    with pytest.raises(ev.EventideError) as caught:
        ev.sql("SELECT * FROM spark", spark=[{"ts": 1}])
    assert str(caught.value) == (
        "spark= takes a Spark session, found list\nHint: a table cannot be called 'spark': pass it under another name"
    )


@pytest.mark.parametrize(
    ("clause", "marked", "what"),
    [
        ("ORDER BY id ASC, id DESC MEASURES count(*) AS n PATTERN (A)", "id", "ORDER BY"),
        ("ORDER BY id, ID NULLS LAST MEASURES count(*) AS n PATTERN (A)", "ID", "ORDER BY"),
        ("ORDER BY id, `Id` MEASURES count(*) AS n PATTERN (A)", "`Id`", "ORDER BY"),
        ("PARTITION BY symbol, id, Symbol PATTERN (A)", "Symbol", "PARTITION BY"),
    ],
)
def test_a_column_is_named_once_in_any_case(clause: str, marked: str, what: str) -> None:
    text = f"SELECT * FROM trades MATCH_RECOGNIZE ({clause})"
    with pytest.raises(ev.QueryError) as caught:
        rows(text)
    assert caught.value.message == f"column '{marked.strip('`')}' is named twice in {what}"
    assert text[caught.value.start : caught.value.end] == marked
    assert caught.value.start > text.lower().index(marked.strip("`").lower())


def test_texts_of_a_match_are_joined() -> None:
    text = """SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY id MEASURES
        concat_ws('-', array_agg(symbol)) AS all, upper(concat_ws(', ', FIRST(symbol), LAST(symbol))) AS ends,
        concat_ws('+', 'n', array_agg(CAST(id AS STRING))) AS ids PATTERN (A{5}))"""
    assert rows(text) == [{"all": "x-x-x-x-y", "ends": "X, Y", "ids": "n+0+1+2+3+4"}]


def test_matches_are_counted_without_measures() -> None:
    assert rows("SELECT count(*) FROM trades MATCH_RECOGNIZE (PATTERN (A A))") == [{"count(1)": 3}]
    assert rows("SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY id PATTERN (A{3}))") == [
        {"match_number": 1},
        {"match_number": 2},
    ]
