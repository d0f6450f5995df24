"""Errors in the SQL around MATCH_RECOGNIZE and in the arguments of ev.match_recognize: our words, and the place."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import eventide as ev

TRADES = pa.table({"id": [1, 2, 3], "price": [3, 2, 1], "name": ["a", "b", "c"]})
CLAUSE = """MATCH_RECOGNIZE (
    ORDER BY id MEASURES A.price AS top, count(*) AS n PATTERN (A B+) DEFINE B AS {})"""
FALLS = CLAUSE.format("price < PREV(price)")
# The statement, the message with its place, the underlined text, the hint.
STATEMENTS = [
    (f"SELECT * FROM tradse {FALLS}", "unknown table 'tradse' (line 1, column 15)", "tradse", "did you mean 'trades'?"),
    (f"SELECT * FROM market.x {FALLS}", "unknown table 'market.x' (line 1, column 22)", "x", "known: trades"),
    (f"SELECT topp FROM trades {FALLS}", "unknown column 'topp' (line 1, column 8)", "topp", "did you mean 'top'?"),
    (
        f"SELECT m.n,\n  m.topp FROM trades {FALLS} AS m",
        "'m' has no column 'topp' (line 2, column 5)",
        "topp",
        "did you mean 'top'?",
    ),
    (
        f"SELECT n AS prise FROM trades {FALLS}\nWHERE top > 1 AND prize > 2",
        "unknown column 'prize' (line 3, column 19)",
        "prize",
        "known: n, top",
    ),
    (f"SELECT q.n FROM trades {FALLS} AS m", "unknown table 'q' (line 1, column 8)", "q", "known: m"),
    (
        f"WITH a AS (SELECT idd FROM trades) SELECT * FROM a {FALLS}",
        "unknown column 'idd' (line 1, column 19)",
        "idd",
        "did you mean 'id'?",
    ),
    (
        f"SELECT n FROM (SELECT prise FROM trades) {FALLS}",
        "unknown column 'prise' (line 1, column 23)",
        "prise",
        "did you mean 'price'?",
    ),
    (
        f"SELECT n FROM trades {CLAUSE.format('price < (SELECT max(prise) FROM trades)')}",
        "unknown column 'prise' (line 2, column 103)",
        "prise",
        "did you mean 'price'?",
    ),
    (
        f"SELECT n FROM trades {CLAUSE.format('price IN (SELECT price FROM tradse)')}",
        "unknown table 'tradse' (line 2, column 111)",
        "tradse",
        "did you mean 'trades'?",
    ),
    (
        f"SELECT * FROM trades {FALLS} MATCH_RECOGNIZE (ORDER BY tp MEASURES count(*) AS c PATTERN (X+))",
        "unknown column 'tp' (line 2, column 130)",
        "tp",
        "did you mean 'top'?",
    ),
    (
        f"SELECT top, count(*) FROM trades {FALLS}",
        "'top' is neither in GROUP BY nor inside an aggregate (line 1, column 8)",
        "top",
        "add it to GROUP BY, or write any_value(top)",
    ),
    (
        f"SELECT a.n FROM trades {FALLS} AS a, trades {FALLS} AS b\nWHERE n > 1",
        "column 'n' is ambiguous (line 4, column 7)",
        "n",
        "write a.n or b.n",
    ),
    (
        f"SELECT nosuch(n) FROM trades {FALLS}",
        "unknown function 'nosuch' (line 1, column 8)",
        "nosuch(n)",
        "did you mean 'COSH'? Spark SQL has no function 'nosuch'; one that a Spark session defines works there",
    ),
    (
        f"SELECT name || 'x', hash(n) FROM trades, trades {FALLS}",
        "the local engine cannot compute hash(n) (line 1, column 21)",
        "hash(n)",
        "run the statement on Spark, ev.sql(text, spark=spark), or compute it from the result",
    ),
    (
        "SELECT name + 1 AS x FROM trades",
        "cannot add string and int (line 1, column 8)",
        "name + 1",
        "cast the string: CAST(name AS DOUBLE)",
    ),
    (
        f"SELECT * FORM trades {FALLS}",
        "MATCH_RECOGNIZE must follow a table (line 1, column 22)",
        "MATCH_RECOGNIZE",
        "did you mean FROM instead of FORM?",
    ),
    (
        f"SELEC * FROM trades {FALLS}",
        "unexpected 'FROM' in the statement (line 1, column 9)",
        "FROM",
        "did you mean SELECT instead of SELEC?",
    ),
    (
        f"SELECT * FROM trades {FALLS} AS m\nWHER n > 1 AN top > 2",
        "unexpected 'WHER' in the statement (line 3, column 1)",
        "WHER",
        "did you mean WHERE instead of WHER?",
    ),
    (
        f"SELECT * FROM trades {FALLS} AS m\nWHERE",
        "the statement ends too early, after 'WHERE' (line 3, column 1)",
        "WHERE",
        "something must follow 'WHERE'",
    ),
    (
        f"SELECT * FROM trades {FALLS}\nORDER n",
        "unexpected 'n' in the statement (line 3, column 7)",
        "n",
        "write ORDER BY",
    ),
    (f"SELECT (n FROM trades {FALLS}", "'(' is never closed (line 1, column 8)", "(", "add the missing ')'"),
    (
        f"SELECT * FROM (TABLE trades) {FALLS}",
        "unknown table 'TABLE' (line 1, column 16)",
        "TABLE",
        "only TUMBLE, HOP, CUMULATE and SESSION take TABLE t: write t, or (SELECT * FROM t)",
    ),
    (
        f"SELECT * FROM trades {FALLS}; SELECT 1",
        "ev.sql runs one statement (line 2, column 103)",
        ";",
        "run the statements one after the other",
    ),
    (
        "SELECT * FROM trades MATCH_RECOGNISE (PATTERN (A))",
        "unexpected '(' in the statement (line 1, column 47)",
        "(",
        "did you mean MATCH_RECOGNIZE instead of MATCH_RECOGNISE?",
    ),
]


@pytest.mark.parametrize(
    ("text", "message", "underlined", "hint"), STATEMENTS, ids=[message for _, message, _, _ in STATEMENTS]
)
def test_what_is_wrong_around_the_clause(text: str, message: str, underlined: str, hint: str) -> None:
    with pytest.raises(ev.QueryError) as caught:
        ev.sql(text, trades=TRADES)
    error = caught.value
    assert str(error).splitlines()[0] == message
    assert text[error.start : error.end] == underlined
    assert error.hint == hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"SELECT * FROM trades {FALLS} UNION ALL SELECT 1", "the queries of UNION, EXCEPT or INTERSECT"),
        ("SELECT (SELECT id FROM trades) AS x", "a subquery that is used as a value gives more than one row"),
        ("SELECT id FROM trades WHERE sum(id) > 1", "an aggregate is not allowed in WHERE"),
    ],
)
def test_what_is_wrong_where_no_place_is_known(text: str, message: str) -> None:
    with pytest.raises(ev.InputError) as caught:
        ev.sql(text, trades=TRADES)
    assert caught.value.message.startswith(message) and caught.value.hint


def test_a_variable_of_the_program_is_no_table() -> None:
    trades = TRADES  # DuckDB would find it by its name
    with pytest.raises(ev.QueryError):
        ev.sql("SELECT * FROM trades", other=trades)


# --- arguments of ev.match_recognize ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pattern": None}, "pattern must be text, found None"),
        ({"pattern": ["A"]}, "pattern must be text, found list"),
        ({"measures": "count(*)"}, "measures must be a dict from names to expressions, found str"),
        ({"measures": ["n"]}, "measures must be a dict from names to expressions, found list"),
        ({"measures": {"n": 1}}, "measures['n'] must be text, found int"),
        ({"measures": {1: "count(*)"}}, "a name in measures must be text, found 1"),
        ({"measures": {"": "count(*)"}}, "a name in measures must be text, found ''"),
        ({"define": "A AS x"}, "define must be a dict from names to expressions, found str"),
        ({"define": {"A": None}}, "define['A'] must be text, found None"),
        ({"rows": None}, "rows must be text, found None"),
        ({"within": 5}, "within must be text, found int"),
        ({"after_match": ["next"]}, "after_match must be text, found list"),
        ({"order_by": 3}, "order_by must be a name or a list of names, found int"),
        ({"partition_by": ["id", 2]}, "partition_by must be a name or a list of names, found list"),
        ({"subset": ["U"]}, "subset must be a dict from names to lists of labels, found list"),
        ({"subset": {"U": [1]}}, "subset must be a name or a list of names, found list"),
        ({"rows": "every"}, "rows='every' is not possible"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_told(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ev.EventideError) as caught:
        ev.match_recognize(**({"pattern": "A+", "measures": {"n": "count(*)"}} | arguments))
    assert caught.value.message == message
    assert caught.value.hint is not None and caught.value.hint.startswith("write ")


def test_a_measure_may_have_any_name() -> None:
    names = ["a`b", "a b", "order", "é", '"', "n"]
    found = ev.match_recognize(pattern="A+", measures=dict.fromkeys(names, "count(*)"))(TRADES)
    assert found.to_pylist() == [dict.fromkeys(names, 3)]


@pytest.mark.parametrize("name", ["user id", "within", "order", "a`b", 'a"b', "a, b", "ts"])
def test_a_column_of_any_name_may_partition_and_order(name: str) -> None:
    rows = [{name: x, "x": x} for x in (2, 1)]
    for given in (name, [name]):
        if given == "a, b":
            continue  # two names
        clause = ev.match_recognize(pattern="A+", order_by=given, measures={"x": "array_agg(x)"})
        assert clause(rows).to_pylist() == [{"x": [1, 2]}]
        clause = ev.match_recognize(pattern="A+", partition_by=given, measures={"n": "count(*)"})
        assert len(clause(rows)) == 2
    quoted = f"`{name.replace('`', '``')}` DESC"
    clause = ev.match_recognize(pattern="A+", order_by=[quoted], measures={"x": "array_agg(x)"})
    assert clause(rows).to_pylist() == [{"x": [2, 1]}]


def test_a_direction_stands_behind_any_name() -> None:
    rows = [{"user id": x, "b": x} for x in (1, None, 2)]
    for order in ("user id DESC NULLS FIRST", "user id desc nulls first, b", ["user id DESC NULLS FIRST", "b asc"]):
        clause = ev.match_recognize(pattern="A+", order_by=order, measures={"x": "array_agg(coalesce(b, 0))"})
        assert clause(rows).to_pylist() == [{"x": [0, 2, 1]}]
    clause = ev.match_recognize(pattern="A+", partition_by="user id, b", measures={"n": "count(*)"})
    assert clause(rows).column_names == ["user id", "b", "n"]


def test_a_subquery_needs_ev_sql() -> None:
    with pytest.raises(ev.QueryError) as caught:
        ev.match_recognize(pattern="A+", define={"A": "price IN (SELECT price FROM t)"})(TRADES)
    assert caught.value.message == "ev.match_recognize runs no subqueries"
    assert "ev.sql" in str(caught.value.hint)


# --- on Spark ---------------------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "message", "underlined", "hint"),
    [
        STATEMENTS[0],
        STATEMENTS[2],
        (
            f"SELECT m.n,\n  m.topp FROM trades {FALLS} AS m",
            "unknown column 'm.topp' (line 2, column 3)",
            "m.topp",
            "did you mean 'top'?",
        ),
        (
            f"SELECT n AS nn FROM trades {FALLS}, trades WHERE top > 1 AND nn > 2",
            "unknown column 'nn' (line 2, column 130)",
            "nn",
            "did you mean 'n'?",
        ),
        (
            f"SELECT n FROM trades {CLAUSE.format('price < (SELECT max(prise) FROM trades)')}",
            "unknown column 'prise' (line 2, column 103)",
            "prise",
            "did you mean 'price'?",
        ),
        (
            f"SELECT a.n FROM trades {FALLS} AS a, trades {FALLS} AS b\nWHERE n > 1",
            "column 'n' is ambiguous (line 4, column 7)",
            "n",
            "write one of a.n, b.n",
        ),
        (
            f"SELECT nosuch(n) FROM trades {FALLS}",
            "unknown function 'nosuch' (line 1, column 8)",
            "nosuch(n)",
            "did you mean 'cosh'? A function of your own is registered first: spark.udf.register(\"nosuch\", ...)",
        ),
    ],
)
def test_what_is_wrong_around_the_clause_on_spark(
    spark: Any, text: str, message: str, underlined: str, hint: str
) -> None:
    with pytest.raises(ev.QueryError) as caught:
        ev.sql(text, trades=spark.createDataFrame(TRADES))
    error = caught.value
    assert str(error).splitlines()[0] == message
    assert text[error.start : error.end] == underlined
    assert error.hint == hint
