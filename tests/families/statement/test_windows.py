"""Table functions of windows in a statement: what the window operator answers, what is expanded, what is refused."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import eventide as ev
from tests.engines.plans import table_rows
from tests.engines.streams import collect, read_batches, write_files

HOP = "HOP(TABLE trades, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)"
BY = "GROUP BY symbol, window_start, window_end"
TRADES = pa.table(
    {
        "ts": pa.array([dt.datetime(2024, 1, 1, 0, 0, 7 * i) for i in range(7)], pa.timestamp("us")),
        "symbol": ["a", "b", "a", "b", "b", None, "a"],
        "price": [4.0, 1.0, None, 3.0, 8.0, 5.0, 2.0],
        "amount": pa.array([1, 2, 3, 4, 5, 6, 7], pa.int32()),
    }
)


def at(second: int) -> dt.datetime:
    return dt.datetime(2024, 1, 1) + dt.timedelta(seconds=second)


def rows(text: str, **given: Any) -> list[tuple[Any, ...]]:
    table = ev.sql(text, **({"trades": TRADES} | given))
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def plan(text: str, **given: Any) -> str:
    """What `explain` says of the function and of what is left of the statement."""
    said = ev.explain_sql(text, **({"trades": TRADES} | given))
    return said[said.index("Logical plan") : said.index("Operator")]


def is_operator(text: str, **given: Any) -> bool:
    return "expands the rows" not in plan(text, **given)


# --- spellings --------------------------------------------------------------------------------------------

SECONDS = "INTERVAL '10' SECOND"
SPELLINGS = {
    "TABLE around": f"TABLE(TUMBLE(TABLE trades, DESCRIPTOR(ts), {SECONDS}))",
    "no TABLE around": f"TUMBLE(TABLE trades, DESCRIPTOR(ts), {SECONDS})",
    "bare names": f"tumble(trades, ts, {SECONDS})",
    "names of arguments": f"TUMBLE(SIZE => {SECONDS}, DATA => TABLE trades, TIMECOL => DESCRIPTOR(ts))",
    "some names": f"TUMBLE(TABLE trades, DESCRIPTOR(ts), SIZE => {SECONDS})",
    "a subquery": f"TUMBLE(TABLE (SELECT * FROM trades), DESCRIPTOR(`ts`), {SECONDS})",
    "a hop that does not overlap": f"HOP(TABLE trades, DESCRIPTOR(ts), {SECONDS}, {SECONDS})",
    "an offset of one window": f"TUMBLE(TABLE trades, DESCRIPTOR(ts), {SECONDS}, INTERVAL '-10' SECOND)",
}


@pytest.mark.parametrize("function", SPELLINGS.values(), ids=SPELLINGS)
def test_every_spelling_is_the_same_function(function: str) -> None:
    text = f"SELECT window_start, window_end, count(*) AS n FROM {function} GROUP BY window_start, window_end"
    assert sorted(rows(text)) == [
        (at(0), at(10), 2),
        (at(10), at(20), 1),
        (at(20), at(30), 2),
        (at(30), at(40), 1),
        (at(40), at(50), 1),
    ]
    assert is_operator(text)
    assert rows(f"SELECT window_end FROM {function} AS w WHERE w.amount = 3") == [(at(20),)]


def test_an_offset_moves_the_windows() -> None:
    function = f"TUMBLE(TABLE trades, DESCRIPTOR(ts), {SECONDS}, INTERVAL '4' SECOND)"
    expected = [(at(-6), 1), (at(4), 1), (at(14), 2), (at(24), 1), (at(34), 1), (at(44), 0)]
    text = f"SELECT window_start, count(price) AS n FROM {function} GROUP BY window_start, window_end ORDER BY 1"
    assert rows(text) == [*expected[:2], (at(14), 1), (at(24), 1), (at(34), 2)]
    starts = rows(f"SELECT window_start FROM {function} ORDER BY ts")
    assert starts == [(at(s),) for s in (-6, 4, 14, 14, 24, 34, 34)]


# --- the operator -----------------------------------------------------------------------------------------

OPERATOR = {
    "names": "SELECT symbol, window_start, window_end, avg(price), count(*) + 1 FROM {} {}",
    "a condition on events": "SELECT symbol, window_start, sum(amount) AS s FROM {} w WHERE w.price > 1 {}",
    "a condition on windows": (
        "SELECT symbol, window_start, sum(amount) AS s FROM {} WHERE price BETWEEN 1 AND 5 AND "
        "window_start > TIMESTAMP_NTZ '2024-01-01 00:00:05' AND amount > 1 {}"
    ),
    "HAVING": "SELECT symbol, window_start, max(price) AS m FROM {} {} HAVING m > 2 AND count(*) < 2",
    "HAVING on a name that hides a column": (
        "SELECT upper(symbol) AS symbol, window_start, count(*) AS n FROM {} {} HAVING symbol = 'A'"
    ),
    "aliases and numbers": (
        "SELECT symbol AS s, window_start ws, window_time, count(*) AS a0 "
        "FROM {} GROUP BY s, 2, window_end, window_time"
    ),
    "FILTER": "SELECT symbol, window_start, sum(amount) FILTER (WHERE price > 2) AS s, count_if(price > 2) FROM {} {}",
    "window functions": (
        "SELECT symbol, window_start, sum(sum(amount)) OVER (PARTITION BY symbol ORDER BY window_start) AS s FROM {} {}"
    ),
    "QUALIFY": (
        "SELECT symbol, count(*) AS n, row_number() OVER (PARTITION BY symbol ORDER BY window_start) AS r "
        "FROM {} {} QUALIFY r = 1"
    ),
    "DISTINCT": "SELECT DISTINCT symbol, count(*) AS n FROM {} {}",
    "CASE": "SELECT symbol, CASE WHEN count(*) > 1 THEN 'many' ELSE symbol END AS c, window_end FROM {} {}",
}


@pytest.mark.parametrize("text", OPERATOR.values(), ids=OPERATOR)
def test_what_the_operator_answers_equals_the_rows_of_the_sql_engine(text: str) -> None:
    """In a subquery the function is not directly under GROUP BY, so the SQL engine groups expanded rows."""
    direct, expanded = text.format(HOP, BY), text.format(f"(SELECT * FROM {HOP})", BY)
    assert is_operator(direct)
    assert not is_operator(expanded)
    one, two = (ev.sql(each, trades=TRADES) for each in (direct, expanded))
    assert one.schema == two.schema
    assert sorted(map(str, one.to_pylist())) == sorted(map(str, two.to_pylist()))
    assert one.num_rows > 1


EXPANDED = {
    "a computed group": (
        f"SELECT count(*) AS n FROM {HOP} GROUP BY upper(symbol), window_start, window_end",
        "columns",
    ),
    "groups of groups": (f"SELECT count(*) AS n FROM {HOP} GROUP BY ROLLUP(symbol), window_start, window_end", "more"),
    "no GROUP BY": (f"SELECT window_start FROM {HOP}", "no GROUP BY"),
    "no windows in GROUP BY": (f"SELECT symbol, count(*) AS n FROM {HOP} GROUP BY symbol", "window_start"),
    "a join": (
        f"SELECT t.symbol, count(*) AS n FROM {HOP} w JOIN trades t ON w.ts = t.ts GROUP BY t.symbol, w.window_start",
        "alone",
    ),
    "a subquery in WHERE": (f"SELECT count(*) AS n FROM {HOP} WHERE amount > (SELECT 1) {BY}", "subquery"),
    "windows against events": (f"SELECT count(*) AS n FROM {HOP} WHERE ts > window_start {BY}", "'ts'"),
    "sessions of all in groups": (f"SELECT symbol, count(*) AS n FROM SESSION(trades, ts, {SECONDS}) {BY}", "sessions"),
    "other names of columns": (
        f"SELECT s, count(*) AS n FROM {HOP} AS w(t, s, p, a, x, y, z) GROUP BY s, x, y",
        "renamed",
    ),
}


@pytest.mark.parametrize(("text", "reason"), EXPANDED.values(), ids=EXPANDED)
def test_what_the_operator_cannot_say_is_expanded_and_explain_says_why(text: str, reason: str) -> None:
    said = plan(text)
    assert "DuckDB expands the rows" in said
    assert reason in said[said.index("not the window operator") :]
    assert rows(text)


def test_windows_that_grow_are_told_apart_by_both_ends() -> None:
    growing = f"CUMULATE(TABLE trades, DESCRIPTOR(ts), {SECONDS}, INTERVAL '1' MINUTE)"
    text = f"SELECT window_start, count(*) AS n FROM {growing} GROUP BY window_start"
    assert rows(text) == [(at(0), 6 + 6 + 5 + 4 + 4 + 3 + 2)]
    assert [n for _, n in rows(f"{text}, window_end ORDER BY window_end")] == [2, 3, 5, 6, 7, 7]


def test_an_aggregate_that_the_operator_does_not_keep_is_one_of_the_sql_engine(monkeypatch: Any) -> None:
    text = f"SELECT symbol, window_end, max(price) AS m FROM {HOP} {BY} ORDER BY window_end, symbol"
    expected = rows(text)

    def make(self: Any, node: Any, item: Any) -> Any:
        raise ev.QueryError("this aggregate is not kept", text, 0, 1)

    monkeypatch.setattr("eventide.families.windows.lower.Aggregates.make", make)
    assert "not the window operator: this aggregate is not kept" in plan(text)
    assert rows(text) == expected


def test_explain_shows_what_is_left_of_the_statement_and_the_operator() -> None:
    text = f"SELECT symbol, window_end, avg(price) FROM {HOP} WHERE price > 0 {BY} HAVING count(*) > 1"
    said = ev.explain_sql(text, trades=TRADES)
    assert "  result_0    HOP over trades (line 1)\n" in said
    assert "SELECT symbol, window_end, `a0` AS `avg(price)` FROM result_0 WHERE (`a1` > 1)" in said
    assert "    WITHIN 10 seconds SLIDE 5 seconds\n" in said
    assert "windowed aggregation" in said


def test_comments_stay_with_what_they_are_about() -> None:
    text = f"""
        SELECT symbol, -- which
            count(*) -- how many
        FROM {HOP} -- windows
        WHERE price > 1 -- events
        {BY} -- groups
        HAVING count(*) > 0 -- some
        ORDER BY 1, 2"""
    said = plan(text)
    assert "`a0` AS `count(1)` -- how many\n          FROM result_0 WHERE (`a0` > 0) -- some\n" in said
    assert len(rows(text)) == 9


def test_explain_without_tables_outlines_the_function() -> None:
    said = ev.sql(f"SELECT count(*) FROM {HOP} GROUP BY window_start, window_end").explain()
    assert "HOP over trades\n    WITHIN 10 seconds SLIDE 5 seconds" in said


def test_an_aggregate_without_a_name_that_nobody_knows_here_needs_one() -> None:
    with pytest.raises(ev.QueryError, match=r"max_by\(symbol, amount\) is not known") as caught:
        rows(f"SELECT stddev(price), max_by(symbol, amount) FROM {HOP} {BY}")
    assert caught.value.hint == "give it a name: max_by(symbol, amount) AS name"
    assert len(rows(f"SELECT stddev(price), max_by(symbol, amount) AS best FROM {HOP} {BY}")) == 13


def test_an_aggregate_that_the_sql_engine_cannot_compute_here_has_sparks_name() -> None:
    trades = TRADES.set_column(2, "price", TRADES["price"].cast(pa.decimal128(10, 2)))
    found = ev.sql(f"SELECT symbol, avg(price), avg(price) > 2 FROM {HOP} {BY}", trades=trades)
    assert found.column_names == ["symbol", "avg(price)", "(avg(price) > 2)"]
    assert found.num_rows == 13


def test_a_column_that_is_not_grouped_is_refused_as_in_any_statement() -> None:
    with pytest.raises(ev.QueryError, match="'price' is neither in GROUP BY nor inside an aggregate"):
        rows(f"SELECT price, count(*) AS n FROM {HOP} {BY}")


# --- the statement around ---------------------------------------------------------------------------------


def test_windows_are_tables_of_the_statement_around() -> None:
    text = f"""
        WITH hops AS (SELECT symbol, window_start, count(*) AS n FROM {HOP} {BY}),
             names AS (SELECT 'a' AS symbol, 'Alpha' AS name)
        SELECT name, n, window_start FROM hops JOIN names ON names.symbol = hops.symbol
        UNION ALL
        SELECT 'all', count(*), window_start FROM {HOP} GROUP BY window_start, window_end HAVING count(*) > 1
        ORDER BY n DESC, window_start, name LIMIT 3
    """
    assert rows(text) == [("all", 2, at(0)), ("all", 2, at(5)), ("all", 2, at(20))]


def test_windows_of_windows_read_the_time_of_the_windows_before() -> None:
    text = f"""
        WITH small AS (
            SELECT symbol, window_time AS at, sum(amount) AS s FROM TUMBLE(TABLE trades, DESCRIPTOR(ts), {SECONDS})
            GROUP BY symbol, window_start, window_end, window_time
        )
        SELECT window_start, max(s) AS m FROM TUMBLE(TABLE small, DESCRIPTOR(at), INTERVAL '30' SECOND)
        GROUP BY window_start, window_end ORDER BY window_start
    """
    assert is_operator(text)
    assert rows(text) == [(at(0), 9), (at(30), 7)]


def test_a_window_join_is_plain_sql() -> None:
    text = f"""
        SELECT l.amount, r.amount AS other FROM TUMBLE(TABLE trades, DESCRIPTOR(ts), {SECONDS}) AS l
        JOIN TUMBLE(TABLE trades, DESCRIPTOR(ts), {SECONDS}) AS r
          ON l.window_start = r.window_start AND l.window_end = r.window_end AND l.amount < r.amount
    """
    assert sorted(rows(text)) == [(1, 2), (4, 5)]


def test_match_recognize_reads_windows_and_windows_read_matches() -> None:
    text = f"""
        SELECT n FROM (SELECT window_end, count(*) AS n FROM {HOP} GROUP BY window_start, window_end)
        MATCH_RECOGNIZE (ORDER BY window_end MEASURES LAST(B.n) AS n PATTERN (A B) DEFINE B AS n > PREV(n))
    """
    assert is_operator(text)
    assert rows(text) == [(2,), (2,), (2,)]
    matches = "SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS at PATTERN (A) DEFINE A AS price > 3)"
    text = (
        f"SELECT count(*) AS n FROM TUMBLE(TABLE ({matches}), DESCRIPTOR(at), INTERVAL '30' SECOND) GROUP BY window_end"
    )
    assert sorted(rows(text)) == [(1,), (2,)]


def test_a_subquery_of_define_reads_windows_of_a_with() -> None:
    text = f"""
        WITH hops AS (SELECT sum(amount) AS s FROM {HOP} {BY})
        SELECT * FROM trades MATCH_RECOGNIZE (
            ORDER BY ts MEASURES A.amount AS amount PATTERN (A) DEFINE A AS amount > (SELECT min(s) FROM hops)
        )
    """
    assert rows(text) == [(n,) for n in range(2, 8)]
    assert rows(text.replace("min(s)", "max(s)")) == []


# --- times ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [f"SELECT symbol, count(*) AS n FROM {HOP} {BY}", f"SELECT symbol FROM {HOP}"])
def test_an_event_without_a_time_is_an_error_unless_it_is_dropped(text: str) -> None:
    none = TRADES.slice(0, 1).set_column(0, "ts", pa.nulls(1, pa.timestamp("us")))
    trades = pa.concat_tables([TRADES, none])
    with pytest.raises(ev.InputError, match="an event has no time: 'ts' is NULL") as caught:
        rows(text, trades=trades)
    assert 'on_bad_event="drop"' in str(caught.value.hint)
    assert sorted(map(str, rows(text, trades=trades, on_bad_event="drop"))) == sorted(map(str, rows(text)))


@pytest.mark.parametrize("text", [f"SELECT count(*) AS n FROM {HOP} {BY}", f"SELECT ts FROM {HOP}"])
def test_integers_need_a_unit_in_which_windows_are_whole(text: str) -> None:
    trades = [{"ts": 7, "symbol": "a"}]
    with pytest.raises(ev.QueryError, match="holds integers, and nothing says their unit"):
        rows(text, trades=trades)
    assert len(rows(text, trades=trades, ts_unit="s")) == 2
    with pytest.raises(ev.QueryError, match="at a whole second"):
        rows(text.replace("'5' SECOND", "'500' MILLISECOND"), trades=trades, ts_unit="s")


# --- bad input --------------------------------------------------------------------------------------------

BAD = {
    "no time column": ("TUMBLE(TABLE trades, INTERVAL '1' MINUTE)", "INTERVAL '1' MINUTE", "DESCRIPTOR(ts)"),
    "no size": ("TUMBLE(TABLE trades, DESCRIPTOR(ts))", "TUMBLE(TABLE trades, DESCRIPTOR(ts))", "INTERVAL '1' MINUTE"),
    "one length of two": ("HOP(trades, ts, INTERVAL '1' MINUTE)", "HOP(trades, ts, INTERVAL '1' MINUTE)", "the slide"),
    "too many": ("SESSION(trades, ts, INTERVAL '1' DAY, 2)", "2", "write SESSION"),
    "zero": ("TUMBLE(trades, ts, INTERVAL '0' DAY)", "INTERVAL '0'", "lengths look like"),
    "negative": ("HOP(trades, ts, INTERVAL '-1' DAY, INTERVAL '1' DAY)", "INTERVAL '-1' DAY", "remove"),
    "months": ("TUMBLE(trades, ts, INTERVAL '1' MONTH)", "MONTH", "in days"),
    "no unit": ("TUMBLE(trades, ts, 10)", "10", "10 seconds"),
    "events": ("TUMBLE(trades, ts, 10 EVENTS)", "10 EVENTS", "ev.query"),
    "steps that do not fit": ("CUMULATE(trades, ts, 7 seconds, 1 minute)", "7 seconds", "the step comes first"),
    "unknown function": ("HOOP(TABLE trades, DESCRIPTOR(ts), 1 second, 1 minute)", "HOOP", "did you mean 'HOP'?"),
    "misspelt, bare": ("TUMBL(trades, ts, INTERVAL '1' DAY)", "TUMBL", "did you mean 'TUMBLE'?"),
    "unknown argument": ("TUMBLE(trades, ts, SIZ => INTERVAL '1' DAY)", "SIZ", "did you mean 'SIZE'?"),
    "twice": ("TUMBLE(trades, ts, SIZE => 1 day, SIZE => 1 day)", "SIZE", "remove one"),
    "order of arguments": ("TUMBLE(TIMECOL => ts, trades, SIZE => 1 day)", "trades", "come first"),
    "PARTITION BY": ("TUMBLE(TABLE trades PARTITION BY symbol, ts, 1 day)", "PARTITION", "GROUP BY groups"),
    "unknown column": ("TUMBLE(trades, DESCRIPTOR(tss), 1 day)", "tss", "did you mean 'ts'?"),
    "unknown key": ("SESSION(TABLE trades PARTITION BY symbl, ts, 1 day)", "symbl", "did you mean 'symbol'?"),
    "no time": ("TUMBLE(trades, DESCRIPTOR(price), 1 day)", "price", "it must be a timestamp"),
    "unknown table": ("TUMBLE(TABLE trads, DESCRIPTOR(ts), 1 day)", "trads", "did you mean 'trades'?"),
    "windows twice": (
        "TUMBLE(TABLE (SELECT ts, 1 AS window_end FROM trades), ts, 1 day)",
        "(SELECT ts, 1 AS window_end FROM trades)",
        "rename it",
    ),
    "too many rows": ("HOP(trades, ts, 1 microsecond, 1 hour)", "1 microsecond, 1 hour", "a longer slide"),
    "alias inside": ("TABLE(TUMBLE(trades, ts, 1 day) w)", "w", "TABLE(TUMBLE(...))"),
}


@pytest.mark.parametrize(("function", "underlined", "hint"), BAD.values(), ids=BAD)
def test_bad_functions_are_refused_with_their_place(function: str, underlined: str, hint: str) -> None:
    text = f"SELECT *\nFROM {function}"
    with pytest.raises(ev.QueryError) as caught:
        rows(text)
    error = caught.value
    assert text[error.start : error.end] == underlined
    assert hint in str(error.hint)


def test_names_that_only_look_like_functions_are_left_alone() -> None:
    assert rows("SELECT hop.a FROM (SELECT 1 AS a) AS hop(a)") == [(1,)]
    session = [{"a": 1}]
    assert rows("SELECT session.a FROM session", session=session) == [(1,)]


# --- Spark ------------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_on_spark_windows_are_those_of_sparks_own_functions(spark: Any) -> None:
    frame = spark.createDataFrame(TRADES).selectExpr("CAST(ts AS TIMESTAMP) AS ts", "symbol", "price", "amount")
    kept = "avg(price), sum(amount) + 1"
    hops = ("window", "window(ts, '10 seconds', '5 seconds')")
    session = f"SESSION(TABLE trades PARTITION BY symbol, DESCRIPTOR(ts), {SECONDS})"
    for function, (name, call), measures in (
        (HOP, hops, kept),
        (HOP, hops, f"{kept}, percentile(price, 0.5)"),
        (session, ("session_window", "session_window(ts, '10 seconds')"), kept),
    ):
        text = f"SELECT symbol, window_start, window_end, {measures} FROM {function} {BY}"
        if measures == kept:
            assert "expands the rows" not in ev.explain_sql(text, trades=frame)
        bounds = f"{name}.start AS window_start, {name}.end AS window_end"
        theirs = spark.sql(f"SELECT symbol, {bounds}, {measures} FROM {{t}} GROUP BY symbol, {call}", t=frame)
        found = ev.sql(text, trades=frame)
        assert found.dtypes == theirs.dtypes
        assert Counter(found.collect()) == Counter(theirs.collect())


@pytest.mark.spark
def test_names_with_braces_are_no_places_of_tables(spark: Any) -> None:
    frame = spark.createDataFrame(TRADES).selectExpr("ts AS `at{0}`", "symbol AS `k{`", "amount")
    text = f"SELECT amount, window_start FROM SESSION(TABLE t PARTITION BY `k{{`, DESCRIPTOR(`at{{0}}`), {SECONDS})"
    starts = [at(0), at(7), at(14), at(21), at(21), at(35), at(42)]
    assert sorted(map(tuple, ev.sql(text, t=frame).collect())) == list(zip(range(1, 8), starts, strict=True))


@pytest.mark.spark
def test_a_stream_returns_the_windows_that_are_over(spark: Any, tmp_path: Path) -> None:
    write_files(tmp_path / "in", TRADES.set_column(0, "ts", TRADES["ts"].cast(pa.timestamp("us", "UTC"))), n_files=2)
    trades = read_batches(spark, tmp_path / "in")
    text = f"SELECT symbol, window_start, sum(amount) AS s FROM {HOP} {BY}"
    stream = ev.sql(text, trades=trades)
    assert stream.isStreaming
    table = ev.sql(text, trades=TRADES)
    over = table.filter(pc.less_equal(table["window_start"], at(42 - 10)))
    assert table_rows(collect(stream, tmp_path, spark)) == table_rows(over)
    with pytest.raises(ev.UnsupportedError, match="no sessions of a stream as rows"):
        ev.sql(f"SELECT * FROM SESSION(trades, ts, {SECONDS})", trades=trades)


def test_a_condition_behind_sessions_leaves_the_sessions_as_all_events_make_them() -> None:
    events = [{"ts": ts, "price": price, "symbol": "A"} for ts, price in ((1, 10), (5, 1), (9, 12))]
    text = """SELECT symbol, window_start, window_end, count(*) AS n
        FROM SESSION(TABLE e PARTITION BY symbol, DESCRIPTOR(ts), INTERVAL '5' SECOND)
        WHERE {} GROUP BY symbol, window_start, window_end"""
    for condition, n in (("price > 5", 2), ("symbol = 'A'", 3), ("window_start = 1", 3)):
        rows = ev.sql(text.format(condition), e=events, ts_unit="s").to_pylist()
        assert rows == [{"symbol": "A", "window_start": 1, "window_end": 14, "n": n}]
