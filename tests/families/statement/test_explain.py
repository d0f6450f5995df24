"""`ev.explain_sql`: what a statement does, without running it."""

from __future__ import annotations

from typing import Any

import pytest

import eventide as ev

TICKS = [{"symbol": "x", "ts": i, "price": price} for i, price in enumerate([10, 8, 6, 7])]
FALLS = """
SELECT symbol, n FROM ticks MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts MEASURES count(*) AS n PATTERN (A DOWN+) DEFINE DOWN AS price < PREV(price)
) AS m
WHERE n > 1"""


def test_a_statement_is_told_clause_by_clause() -> None:
    text = ev.explain_sql(FALLS, ticks=TICKS)
    assert text.startswith("Query\n  SELECT symbol, n FROM ticks MATCH_RECOGNIZE (\n")
    rest = "result_0    MATCH_RECOGNIZE over ticks (line 2)\n  SELECT symbol, n FROM result_0 AS `m`\n  WHERE n > 1"
    assert f"\nLogical plan\n  {rest}\nOperator\n  DuckDB runs the statement over these results\n" in text
    assert "\nresult_0: MATCH_RECOGNIZE over ticks (line 2)\n  Query\n    PARTITION BY symbol\n" in text
    assert "\n  Program\n    0  label A\n    1  label DOWN\n    2  split 1, 3\n    3  accept\n" in text
    assert "DOWN: compiled code looks once at each row and its neighbours" in text


def test_inner_clauses_come_before_those_around_them() -> None:
    inner = "ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS ts, A.price AS price PATTERN (A A)) AS i"
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES max(price) AS m PATTERN (B+))"
    text = ev.explain_sql(f"SELECT m FROM (SELECT ts, price + 1 AS price FROM {inner}) {clause}", ticks=TICKS)
    assert text.index("MATCH_RECOGNIZE over ticks") < text.index("MATCH_RECOGNIZE over (SELECT ts, price + 1")
    assert text.count("\n  Program\n") == 2


def test_nothing_is_matched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any, *given: Any) -> Any:
        raise AssertionError("a row was looked at")

    monkeypatch.setattr("eventide.runtime.measures.Measures.at", refuse)
    assert "Program" in ev.explain_sql(FALLS, ticks=TICKS)


def test_a_statement_without_a_clause_has_only_itself() -> None:
    said = "Query\n  {0}\nLogical plan\n  {0}\nOperator\n  DuckDB runs the statement"
    for text in ("SELECT 1 AS x;", "SELECT 1 AS x"):
        assert ev.explain_sql(text) == said.format(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FALLS.replace("WHERE n", "WHERE m"), "m"),
        (FALLS.replace("price <", "prise <"), "unknown column 'prise'"),
        (FALLS.replace("ticks", "tiks"), "unknown table 'tiks'"),
    ],
)
def test_what_is_wrong_is_told_as_by_a_run(text: str, message: str) -> None:
    with pytest.raises(ev.EventideError, match=message) as caught:
        ev.explain_sql(text, ticks=TICKS)
    with pytest.raises(ev.EventideError) as run:
        ev.sql(text, ticks=TICKS)
    assert str(caught.value) == str(run.value)


def test_subqueries_have_their_values() -> None:
    text = FALLS.replace("price < PREV(price)", "price < (SELECT avg(price) FROM ticks)")
    assert "DOWN AS price < (SELECT AVG(price) FROM ticks)" in ev.explain_sql(text, ticks=TICKS)


def test_options_count() -> None:
    text = FALLS.replace("DOWN+)", "DOWN+) WITHIN 5 seconds")
    assert "rows of the last 5 seconds" in ev.explain_sql(text, ticks=TICKS, ts_unit="s")


@pytest.mark.parametrize(
    ("change", "options", "problem"),
    [
        (("ORDER BY ts", ""), {}, "a stream needs ORDER BY a time, ascending; write ORDER BY ts"),
        (("ORDER BY ts", "ORDER BY ts DESC"), {}, "a stream needs ORDER BY a time, ascending; write ORDER BY ts"),
        (("", ""), {}, "'ts' holds integers, and nothing says their unit; give ts_unit='s', 'ms' or 'us'"),
        (
            ("ORDER BY ts", "ORDER BY symbol"),
            {"ts_unit": "s"},
            "a stream measures 'symbol', the first column of ORDER BY, which is string; "
            "order by a timestamp, a date, or an integer with ts_unit: CAST(symbol AS TIMESTAMP)",
        ),
    ],
)
def test_what_a_stream_asks_of_the_order_is_told(
    change: tuple[str, str], options: dict[str, Any], problem: str
) -> None:
    text = FALLS.replace("DOWN+)", "DOWN)").replace(*change)
    assert f"  On a stream\n    refused: {problem}" in ev.explain_sql(text, ticks=TICKS, **options)


def test_all_that_keeps_a_stream_from_running_is_told() -> None:
    text = FALLS.replace("ORDER BY ts", "").replace("DOWN+)", "DOWN+ $)")
    assert ev.explain_sql(text, ticks=TICKS).count("refused: ") == 3
    assert "refused" not in ev.explain_sql(FALLS.replace("DOWN+)", "DOWN)"), ticks=TICKS, ts_unit="s")


@pytest.mark.spark
def test_spark_tells_the_same_clause(spark: Any) -> None:
    text = ev.explain_sql(FALLS, ticks=spark.createDataFrame(TICKS))
    assert ": MATCH_RECOGNIZE over ticks (line 2)\n  Query\n" in text
    assert "Spark runs the statement over these results\n" in text


def test_what_waits_for_the_end_of_a_partition_is_told_for_streams() -> None:
    options = {"order_by": "ts", "pattern": "A B $", "measures": {"n": "count(*)"}, "ts_unit": "s"}
    refused = "refused: $ waits for the end of a partition"
    assert refused in ev.match_recognize(**options).explain(TICKS)
    assert refused not in ev.match_recognize(**options, state_ttl="1 day").explain(TICKS)
