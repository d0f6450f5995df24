"""Columns without a name: the one that Spark gives, or a refusal that asks for AS; never another name."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.engines.filled import Filled
from eventide.engines.statements import parse_sql
from eventide.expressions.functions import FUNCTIONS, SPECIAL_FORMS
from eventide.plan.statements.aggregates import AGGREGATES, WINDOW_FUNCTIONS
from eventide.plan.statements.queries import write_statement
from eventide.plan.statements.tables import Table
from tests.expressions.test_allow_list_equal import CASTS, OPERATORS, SCHEMA, calls
from tests.failing import error_of
from tests.families.statement.test_rows import T, drawn, expressions

# Shapes of the special forms, each in some spellings.
FORMS = {
    "ABS": "abs(x)",
    "ARRAY": "array(x, 1) ; array(x, 1)[0]",
    "ARRAY_CONTAINS": "array_contains(array(x), 1)",
    "ARRAY_JOIN": "array_join(array(s), '-')",
    "ARRAY_MAX": "array_max(array(x))",
    "ARRAY_MIN": "array_min(array(x))",
    "ARRAY_SORT": "array_sort(array(x))",
    "CARDINALITY": "cardinality(array(x))",
    "CASE": "CASE WHEN b THEN 1 END ; CASE x WHEN 3 THEN 's' WHEN 4 THEN s ELSE 't' END"
    " ; CASE WHEN x > 1 THEN CASE WHEN b THEN 1 END ELSE 2 END",
    "CAST": "CAST(x AS INT) ; CAST(x + 1 AS INT) ; CAST(x AS INT) + 1 ; x::INT ; (x + 1)::INT ; INT(x)"
    " ; CAST((x) AS INT) ; CAST(x + 1 AS DECIMAL(10, 2)) ; CAST(id AS STRING) || 'a' ; CAST('1' AS INT)",
    "CEIL": "ceil(d) ; ceiling(d)",
    "COALESCE": "coalesce(x, id)",
    "CONCAT": "concat(s, 'a') ; s || 'a' ; s || 'a' || s ; s || ('a' || s)",
    "CONCAT_WS": "concat_ws('-', s, s)",
    "ELEMENT_AT": "element_at(array(x), 1)",
    "EXTRACT": "extract(year FROM ts)",
    "FLOOR": "floor(d)",
    "GREATEST": "greatest(x, id)",
    "IF": "if(b, 1, 2) ; if(b, 1, 2) + 1",
    "IFNULL": "ifnull(x, 1)",
    "ISNOTNULL": "isnotnull(x)",
    "ISNULL": "isnull(x)",
    "LEAST": "least(x, id, 1)",
    "NULLIF": "nullif(x, 3)",
    "NVL": "nvl(x, 1)",
    "NVL2": "nvl2(x, 1, 2)",
    "PMOD": "pmod(x, 3)",
    "REGEXP_LIKE": "regexp_like(s, 'a') ; s RLIKE 'a' ; NOT s RLIKE 'a'",
    "ROUND": "round(d) ; round(c, 1)",
    "SIZE": "size(array(x))",
    "SORT_ARRAY": "sort_array(array(x))",
    "UNIX_TIMESTAMP": "unix_timestamp(ts)",
}
OTHERS = """
    x ; t.x ; X ; (x) ; x + 1 ; X + 1 ; T.X + 1 ; `x` + 1 ; x+1+2 ; x + (1 + 2) ; -x ; - -x ; -(x + 1) ; -1 ; - 1 ; +x
    x - id * 2 ; (x + 1) * 2 ; x % 3 ; mod(x, 3) ; x DIV 3 ; x / 2 ; 007 ; .5 ; 5. ; 1e3 ; 0.0000001 ; 1.50 ; 3L ; 1.5D
    99999999999999999999 ; NULL ; NULL + 1 ; true ; false ; 'a' ; "a" ; 'it\\'s' ; 'a\\nb' ; r'a' ; ''
    DATE '2026-01-01' ; TIMESTAMP '2026-01-01 00:00:00' ; INTERVAL '1' DAY ; day + 1 ; day - 1 ; day - day ; ts - ts
    ts + INTERVAL '90' MINUTE ; day + INTERVAL '1' DAY ; max(ts) - min(ts) ; x + NULL
    datediff(day, DATE '2026-01-01') ; date_diff(day, day) ; substr(s, 1, 2) ; substr(s, 1) ; pow(x, 2) ; log(d)
    x = 1 ; x == 1 ; x <> 1 ; x != 1 ; x <=> 1 ; x > 1 AND b ; b AND b AND b ; b AND b AND b AND b ; b AND (b AND b)
    b OR b OR b OR b ; b AND b OR b ; (b OR b) AND b ; NOT b ; !b ; x IS NULL ; x IS NOT NULL ; NOT x IS NULL
    NOT (x IS NULL) ; b IS TRUE ; b IS NOT TRUE ; NOT b IS TRUE ; x IS DISTINCT FROM 1 ; x IS NOT DISTINCT FROM 1
    x IN (1, 2) ; x IN (1, NULL) ; x NOT IN (1, 2) ; x BETWEEN 1 AND 3 ; x NOT BETWEEN 1 AND 3 ; s LIKE 'a%'
    s NOT LIKE 'a%' ; NOT s LIKE 'a' ; s ILIKE 'a' ; s LIKE 'a\\\\%' ; count(*) ; count(1) ; COUNT(ALL x)
    count(DISTINCT x) ; sum(DISTINCT x) ; avg(DISTINCT  x) ; count(*) FILTER (WHERE x > 1) ; sum(x + 1)
    sum(x) / count(*) ; sum(CASE WHEN b THEN 1 ELSE 0 END) ; lower(UPPER(s)) ; upper( s ) ; upper /* a */ (s)
    x /* a */ + 1 ; abs(+x) ; 1 + +x ; x > 1.5 ; 1.5 < x ; x = 1.5 ; x >= 0.5
    sum(x) OVER () ; (SELECT 1) ; EXISTS (SELECT 1) ; x IN (SELECT 1) ; trim('a' FROM s) ; ucase(s) ; len(s)
    char_length(s) ; character_length(s) ; signum(d) ; date(ts) ; to_date(ts) ; length(s) + length(s) ; hour(ts) + 1
"""
QUERIES = [
    "SELECT x + 1 AS y, y * 2 FROM t",
    "SELECT x + 1 AS y, y FROM t",
    "SELECT payload.Field, payload.field + 1, a.payload.field > 1, max(payload.FIELD) FROM a GROUP BY payload",
    "SELECT * FROM (SELECT max(x), min(x) AS y FROM t)",
    "WITH a AS (SELECT x, count(*) FROM t GROUP BY x) SELECT *, sqrt(x) FROM a",
    "SELECT upper(s) FROM t UNION ALL SELECT s FROM t",
    "SELECT x + 1 FROM t GROUP BY x + 1",
    "SELECT x FROM t WHERE x IN (SELECT variance(x) FROM t) AND EXISTS (SELECT lag(x) OVER (ORDER BY id) FROM t)",
    "SELECT n FROM (SELECT variance(x) OVER () FROM t) AS q(n)",
    "WITH a(n) AS (SELECT row_number() OVER (ORDER BY id) FROM t) SELECT n + 1 FROM a",
    "SELECT x FROM t UNION ALL SELECT lead(x) OVER (ORDER BY id) FROM t",
    "SELECT x + 1 FROM t JOIN (SELECT x FROM t) AS q USING (x)",
    "SELECT * FROM (SELECT sum(x) OVER () FROM t)",
    "SELECT x / id, * FROM t",
]
# Of the functions on the lists: those whose names Spark makes of more than what is written.
NEED_AS = {
    "ARRAY_SORT", "DATE_TRUNC", "EXTRACT", "ISNOTNULL", "ISNULL", "SORT_ARRAY", "UNIX_TIMESTAMP", *WINDOW_FUNCTIONS,
}  # fmt: skip


def listed(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" ; ") if part.strip()]


def name_in_process(text: str, tables: dict[str, Table]) -> list[str] | None:
    """The names of a statement's columns; None where it is refused."""
    try:
        written = write_statement(parse_sql(Filled(text), text), tables, text)
    except ev.QueryError as error:
        if "give it a name: " in str(error.hint):
            assert "AS name" in str(error.hint)
            return None
        if error.message.startswith("the local engine cannot"):
            return None
        raise
    return [name for name, _ in written.columns]


@pytest.fixture(scope="module")
def tables(spark: Any) -> dict[str, Table]:
    spark.createDataFrame(T).createOrReplaceTempView("t")
    spark.createDataFrame(pa.table([pa.nulls(1, dtype) for dtype in SCHEMA.types], SCHEMA.names)).where(
        "false"
    ).createOrReplaceTempView("a")
    return {"t": Table("t", T.schema, tuple(T.column_names)), "a": Table("a", SCHEMA, tuple(SCHEMA.names))}


def compared(spark: Any, tables: dict[str, Table], items: list[str], table: str) -> tuple[list[Any], set[str]]:
    """The names that differ, and the items that are refused."""
    wrong, refused = [], set()
    for item in items:
        text = f"SELECT {item} FROM {table}"
        found = name_in_process(text, tables)
        if found is None:
            refused.add(item)
        elif found != (wanted := spark.sql(text).columns):
            wrong.append((item, found, wanted))
    return wrong, refused


def calls_of_the_lists() -> dict[str, list[str]]:
    """Some calls of every function on the lists; `calls` of a function that is new fails until it has one."""
    found = {name: [f"t:{item}" for item in listed(FORMS[name])] for name in SPECIAL_FORMS}
    found |= {name: [f"a:{item}" for item in items] for name, items in calls().items()}
    assert set(found) >= set(FUNCTIONS)
    booleans = ("bool_and", "bool_or", "count_if")
    found |= {name: [f"t:{name}({'b' if computed in booleans else 'x'})"] for name, computed in AGGREGATES.items()}
    arguments = {
        "ntile": "2",
        "lag": "x",
        "lead": "x, 1",
        "first_value": "x",
        "last_value": "x",
        "first": "x",
        "last": "x",
    }
    found |= {name: [f"t:{name}({arguments.get(name, '')}) OVER (ORDER BY id)"] for name in WINDOW_FUNCTIONS}
    return found


@pytest.mark.spark
def test_columns_without_a_name_have_the_one_that_spark_gives(spark: Any, tables: dict[str, Table]) -> None:
    of_lists = calls_of_the_lists()
    every = [item for items in of_lists.values() for item in items]
    wrong, refused = [], set()
    for table in ("t", "a"):
        items = [item[2:] for item in every if item[0] == table]
        mine = compared(spark, tables, items, table)
        wrong += mine[0]
        refused |= mine[1]
    assert wrong == []
    assert {name for name, items in of_lists.items() if all(item[2:] in refused for item in items)} == NEED_AS


@pytest.mark.spark
def test_no_other_shape_of_an_expression_has_a_name_of_ours(spark: Any, tables: dict[str, Table]) -> None:
    random = Random(7)
    items = listed(OTHERS) + expressions()
    items += [drawn(random, kind, depth) for kind in ("int", "double", "string", "boolean") for depth in (1, 2, 2)]
    wrong, refused = compared(spark, tables, [item for item in items if "AS e" not in item], "t")
    more, _ = compared(spark, tables, random.sample(OPERATORS, 80) + OPERATORS[-120:] + CASTS[-25:], "a")
    assert wrong + more == []
    assert len(refused) < len(items) / 3


@pytest.mark.spark
def test_names_are_sparks_in_every_part_of_a_statement(spark: Any, tables: dict[str, Table]) -> None:
    refused = []
    for text in QUERIES:
        found = name_in_process(text, tables)
        if found is None:
            refused.append(text)
        else:
            assert found == spark.sql(text).columns, text
    assert refused == [QUERIES[0], QUERIES[-2]]


@pytest.mark.spark
def test_a_statement_on_spark_keeps_its_names(spark: Any, tables: dict[str, Table]) -> None:
    for text in (
        "SELECT variance(x / id) OVER (), * FROM t",
        "SELECT x / id, sum(x) OVER () FROM t",
        "SELECT s || 'a' FROM t",
    ):
        assert ev.sql(text, t=spark.table("t")).columns == spark.sql(text).columns


@pytest.mark.parametrize(
    ("item", "named"),
    [
        ("row_number() OVER (ORDER BY id)", "row_number() OVER (ORDER BY id)"),
        ("1e3", "1e3"),
        ("CASE WHEN x > 1e3 THEN 1 END", "CASE WHEN x > 1e3 THEN 1 END"),
    ],
)
def test_a_column_whose_name_is_not_known_needs_as(item: str, named: str) -> None:
    error = error_of(lambda: ev.sql(f"SELECT id, {item} FROM t", t=T), ev.QueryError)
    assert error.message == f"the name that Spark gives to {named} is not known in this process"
    assert error.hint == f"give it a name: {named} AS name"
    assert error.column == 12
    assert ev.sql(f"SELECT id, {item} AS v FROM t", t=T).column_names == ["id", "v"]
