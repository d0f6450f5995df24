"""The statement around MATCH_RECOGNIZE: the same rows, names and types in this process and on Spark, or a refusal."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import parse_one

import eventide as ev
from eventide.plan.statements.spark_text import null_by_zero

NAN = math.nan
HOURS = [dt.datetime(2026, 3, 29, hour, 30, tzinfo=dt.UTC) for hour in (0, 1, 2, 23, 3)]
T = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, 5], pa.int32()),
        "x": [3, None, 1, 3, 0],
        "d": [1.5, NAN, None, -0.5, 2.5],
        "c": pa.array([Decimal("1.50"), None, Decimal("-2.25"), Decimal("0.00"), Decimal("9.99")], pa.decimal128(6, 2)),
        "s": ["a", "B", None, "a", "é"],
        "b": [True, None, False, True, False],
        "ts": pa.array(HOURS, pa.timestamp("us", "UTC")),
        "day": pa.array([moment.date() for moment in HOURS], pa.date32()),
    }
)
U = pa.table({"k": [1, 2, 9], "x": [3, 1, 7], "w": ["p", "q", None]})
MATCHES = (
    "t MATCH_RECOGNIZE (ORDER BY id MEASURES A.x AS top, count(*) AS n PATTERN (A B*) DEFINE B AS x < PREV(x)) AS m"
)

EXPRESSIONS = """
    substring('hello', 0, 2) ; substring(s, -1) ; 1 / (x - 3) ; x % 0 ; x DIV 0 ; x / 0.0D ; 7 / 2 ; 7 DIV 2 ; -7 % 3
    mod(x, x - 3) ; 1 / CASE WHEN x = 3 THEN 0 ELSE x END ; x / -(x - 3) ; x / (x - 3)::INT ; x / (SELECT 0)
    (x + 1) / (id / x)
    CAST(x AS STRING) ; CAST('12' AS INT) + x ; CAST(c AS INT) ; CAST(x AS DECIMAL(10, 2)) ; CAST(id AS TINYINT)
    CAST(day AS TIMESTAMP) ; CAST(ts AS DATE) ; CAST(ts AS STRING) ; CAST('2026-03-29' AS DATE) ; CAST(c AS DOUBLE)
    CAST('Infinity' AS DOUBLE) ; CAST('NaN' AS DOUBLE) ; -CAST('inf' AS DOUBLE) ; CAST(' -Infinity ' AS DOUBLE)
    s || 'x' || s ; concat(s, 'x') ; upper(s) ; length(s) ; s LIKE 'a%' ; s < 'b' ; s IN ('a', 'B') ; trim(' a ')
    coalesce(s, 'none') ; nullif(x, 3) ; greatest(x, id) ; if(b, 1, 2) ; CASE WHEN x > 2 THEN 'big' ELSE s END
    CASE x WHEN 3 THEN 'three' END ; x <=> NULL ; x IS NULL ; NOT b ; b AND NULL ; d > 2 ; d = d ; abs(d) ; round(d)
    c + 1 ; c * x ; -c ; x + c ; 1.5 + x ; 3L ; 1.50 ; hour(ts) ; date_trunc('DAY', ts) ; ts + INTERVAL '90' MINUTE
    ts - TIMESTAMP '2026-03-29 00:00:00' ; year(day) ; day + INTERVAL '1' DAY ; datediff(day, DATE '2026-01-01')
    last_day(day) ; ts > TIMESTAMP '2026-03-29 01:45:00' ; sqrt(x) ; NULL ; true ; 'text' ; unix_micros(ts)
    concat_ws('-', s, array('x', s), s) ; concat_ws(', ', array(s))
    x BETWEEN 1 AND 3 ; array(x, 1)[0] ; size(array(1, 2)) ; least(1, 2.5) ; ts > day
    unix_timestamp(ts) ; dayofweek(day) ; pmod(-x, 3) ; s RLIKE '^[a-f]' ; s ILIKE 'b%'
"""

STATEMENTS = [
    "SELECT count(*), count(x), count(DISTINCT x), sum(x), avg(x), min(s), max(d), sum(c), any_value(1) FROM t",
    "SELECT sum(x) + 1, max(x) - min(x), x * 0 FROM t WHERE id > 9 GROUP BY x",
    "SELECT count_if(x > 9), count_if(b) FROM t WHERE x IS NULL",
    "SELECT count_if(x > 9), count_if(b) FROM t WHERE id > 9",
    "SELECT x, s FROM t ORDER BY x, s DESC",
    "SELECT x, s FROM t ORDER BY x DESC, s ASC NULLS LAST",
    "SELECT d FROM t ORDER BY d DESC",
    "SELECT x, count(*) AS n FROM t GROUP BY x HAVING n > 1 ORDER BY 1",
    "SELECT x, sum(id) FROM t GROUP BY 1 ORDER BY sum(id) DESC, 1",
    "SELECT x % 2 AS odd, count(*) FROM t GROUP BY odd ORDER BY odd",
    "SELECT sum(id) AS x, s FROM t GROUP BY s HAVING x > 2 ORDER BY x, s",
    "SELECT max(x) AS id FROM t GROUP BY s HAVING max(id) > 2 ORDER BY id",
    "SELECT s, b, count(*) AS n FROM t GROUP BY ROLLUP(s, b) ORDER BY s, b, n",
    "SELECT DISTINCT s, x > 1 FROM t ORDER BY s",
    "SELECT x + 1 AS y, y * 2 AS z FROM t ORDER BY z, y",
    "SELECT -x AS x FROM t ORDER BY x",
    "SELECT id FROM t ORDER BY x + id DESC, id LIMIT 3 OFFSET 1",
    "SELECT * FROM t JOIN u USING (x) ORDER BY id, k",
    "SELECT x, id, k FROM t FULL JOIN u USING (x) ORDER BY x, id, k",
    "SELECT t.id, u.w FROM t LEFT JOIN u ON t.x = u.x AND u.k < 2 ORDER BY id, w",
    "SELECT id FROM t LEFT SEMI JOIN u ON t.x = u.x ORDER BY id",
    "SELECT a.id, b.id AS other FROM t a, t b WHERE a.id = b.id + 1 ORDER BY 1",
    "SELECT x FROM t UNION SELECT k FROM u ORDER BY x",
    "SELECT id FROM t UNION ALL SELECT d FROM t ORDER BY id",
    "SELECT x FROM t INTERSECT ALL SELECT x FROM u ORDER BY x",
    "SELECT id, row_number() OVER (ORDER BY x, id) AS n, rank() OVER (ORDER BY x DESC) AS r FROM t ORDER BY id",
    "SELECT id, sum(x) OVER (PARTITION BY s ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s,"
    " avg(x) OVER () AS a FROM t ORDER BY id",
    "SELECT id, lag(x) OVER w AS p, lead(x, 2, -1) OVER w AS q, first_value(s) OVER w AS f FROM t"
    " WINDOW w AS (ORDER BY id) ORDER BY id",
    "SELECT id, ntile(2) OVER (ORDER BY id) AS n, percent_rank() OVER (ORDER BY x) AS p FROM t ORDER BY id",
    "SELECT id FROM t WHERE x NOT IN (SELECT x FROM u WHERE x > 1) ORDER BY id",
    "SELECT id, (SELECT max(w) FROM u WHERE u.x = t.x) AS w FROM t ORDER BY id",
    "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = t.x) OR d > 2 ORDER BY id",
    "WITH a AS (SELECT x, count(*) AS n FROM t GROUP BY x), b AS (SELECT max(n) FROM a) SELECT * FROM b",
    "WITH a(p, q) AS (SELECT id, x FROM t) SELECT q, p FROM a WHERE q > 1 ORDER BY p",
    "SELECT Id, T.X FROM t ORDER BY ID",
    "SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS v(n, s) ORDER BY n",
    "SELECT count(*) FILTER (WHERE x > 1) AS n, sum(DISTINCT x) AS s, count_if(b) AS c, bool_or(b) AS o FROM t",
    "SELECT max(ts) - min(ts) AS length, max(ts), min(day) FROM t",
    "SELECT * EXCEPT (ts, d, c, day) FROM t ORDER BY id DESC",
    f"SELECT n, top / (n - 1), CASE WHEN top > 2 THEN 'high' END FROM {MATCHES} ORDER BY n, top",
    f"SELECT count(*), sum(n) / count(*) FROM {MATCHES}",
    "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY id MEASURES concat_ws('-', array_agg(s), LAST(s)) AS v PATTERN (A{2}))",
    "SELECT count(*) FROM t MATCH_RECOGNIZE (PATTERN (A B?) DEFINE B AS false)",
    f"SELECT q.id, m.n FROM {MATCHES} JOIN t AS q ON q.x = m.top ORDER BY 1, 2",
]
# What Spark runs and DuckDB would answer differently, or does not know: the part that is named.
REFUSED = {
    "hash(x)": "hash(x)",
    "from_unixtime(x)": "from_unixtime(x)",
    "CAST(x * 1e10 AS STRING)": "CAST(x * 1e10 AS STRING)",
    "date_format(ts, 'HH')": "date_format(ts, 'HH')",
    "avg(c)": "avg(c)",
    "first(x)": "first(x)",
    "collect_set(x)": "collect_set(x)",
    "approx_count_distinct(x)": "approx_count_distinct(x)",
    "TRY_CAST(s AS INT)": "TRY_CAST(s AS INT)",
    "nth_value(x, 2) OVER (ORDER BY id)": "nth_value(x, 2)",
}


def rows_of(table: pa.Table) -> list[list[str]]:
    """The columns, each with its name, so that NaN equals itself and the kinds of numbers differ."""
    columns = zip(table.column_names, table.columns, strict=True)
    return [[name, *map(_shown, column.to_pylist())] for name, column in columns]


def _shown(value: Any) -> str:
    return value.astimezone(dt.UTC).isoformat() if isinstance(value, dt.datetime) else repr(value)


def types_of(table: pa.Table) -> list[str]:
    """The types; the two engines call the items of arrays differently."""
    return [f"array<{kind.value_type}>" if pa.types.is_list(kind) else str(kind) for kind in table.schema.types]


def expressions() -> list[str]:
    return [part.strip() for line in EXPRESSIONS.strip().splitlines() for part in line.split(";")]


def drawn(random: Random, kind: str, depth: int) -> str:
    """A random expression of a kind: int, double, string or boolean."""
    leaves = {
        "int": ["x", "id", "CAST(NULL AS INT)", "0", "2", "-1", "length(s)", "CAST(c AS INT)"],
        "double": ["d", "1.5D", "CAST(x AS DOUBLE)", "0.0D"],
        "string": ["s", "'ab'", "''", "CAST(x AS STRING)", "CAST(day AS STRING)"],
        "boolean": ["b", "true", "s IS NULL", "x IN (1, 3, NULL)", "d > 1"],
    }
    if depth == 0:
        return random.choice(leaves[kind])

    def part(of: str) -> str:
        return drawn(random, of, depth - 1)

    number = random.choice(("int", "double"))
    made = {
        "int": lambda: random.choice(
            (
                f"({part('int')} {random.choice('+-*%')} {part('int')})",
                f"({part('int')} DIV {part('int')})",
                f"length({part('string')})",
                f"abs({part('int')})",
                f"nullif({part('int')}, {part('int')})",
            )
        ),
        "double": lambda: random.choice(
            (
                f"({part(number)} / {part('int')})",
                f"({part('double')} {random.choice('+-*%')} {part(number)})",
                f"greatest({part('double')}, {part('int')})",
            )
        ),
        "string": lambda: random.choice(
            (
                f"({part('string')} || {part('string')})",
                f"substring({part('string')}, {part('int')}, {part('int')})",
                f"upper({part('string')})",
                f"concat_ws(',', {part('string')}, {part('string')})",
            )
        ),
        "boolean": lambda: random.choice(
            (
                f"({part(number)} {random.choice(('<', '<=', '=', '<>', '<=>'))} {part(number)})",
                f"({part('string')} < {part('string')})",
                f"({part('boolean')} {random.choice(('AND', 'OR'))} NOT {part('boolean')})",
            )
        ),
    }
    if random.random() < 0.2:
        return f"CASE WHEN {part('boolean')} THEN {part(kind)} ELSE {part(kind)} END"
    return f"coalesce({part(kind)}, {part(kind)})" if random.random() < 0.1 else made[kind]()


def on_spark(spark: Any, table: pa.Table) -> Any:
    return spark.createDataFrame(table)


@pytest.mark.spark
def test_expressions_are_equal_on_both_engines(spark: Any) -> None:
    random = Random(20)
    parts = expressions() + [drawn(random, kind, 3) for kind in ("int", "double", "string", "boolean") * 12]
    text = f"SELECT {', '.join(f'{part} AS e{i}' for i, part in enumerate(parts))} FROM t ORDER BY id"
    found, wanted = rows_of(ev.sql(text, t=T)), rows_of(ev.sql(text, t=on_spark(spark, T)).toArrow())
    assert [(part, *column) for part, column in zip(parts, found, strict=True)] == [
        (part, *column) for part, column in zip(parts, wanted, strict=True)
    ]


@pytest.fixture
def in_one_task(spark: Any) -> Iterator[Any]:
    """The session with one partition behind every exchange: there is little to do."""
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield spark
    spark.conf.set("spark.sql.shuffle.partitions", "2")


@pytest.mark.spark
def test_statements_give_the_same_rows_names_and_types(in_one_task: Any) -> None:
    tables = {"t": on_spark(in_one_task, T), "u": on_spark(in_one_task, U)}
    wrong = []
    for text in STATEMENTS:
        found, wanted = ev.sql(text, t=T, u=U), ev.sql(text, **tables).toArrow()
        kinds = [(types_of(table), rows_of(table)) for table in (found, wanted)]
        if kinds[0] != kinds[1]:
            wrong.append((text, *kinds))
    assert not wrong


@pytest.mark.parametrize("item", REFUSED)
def test_what_would_differ_is_refused_by_its_name(item: str) -> None:
    text = f"SELECT {item} AS v FROM t"
    with pytest.raises(ev.QueryError) as caught:
        ev.sql(text, t=T)
    assert caught.value.message == f"the local engine cannot compute {REFUSED[item]}"
    assert text[caught.value.start : caught.value.end] == REFUSED[item]
    assert "on Spark" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT x FROM t ORDER BY x", [None, 0, 1, 3, 3]),
        ("SELECT x FROM t ORDER BY x DESC", [3, 3, 1, 0, None]),
        ("SELECT row_number() OVER (ORDER BY x, id) AS r FROM t ORDER BY id", [4, 1, 3, 5, 2]),
        ("SELECT 1 / x AS q FROM t ORDER BY id", [1 / 3, None, 1.0, 1 / 3, None]),
        ("SELECT substring('hello', 0, 2) AS h FROM t LIMIT 1", ["he"]),
        ("SELECT sum(id) AS x FROM t GROUP BY s HAVING x > 2 ORDER BY x", [3, 5, 5]),
        ("SELECT sum(x) AS x FROM t GROUP BY s HAVING sum(x) >= 0 ORDER BY sum(x)", [0, 1, 6]),
        ("SELECT -x AS x FROM t ORDER BY x", [None, -3, -3, -1, 0]),
        ("SELECT x AS k FROM t FULL JOIN u USING (x) WHERE u.x = 7", [7]),
        ("SELECT any_value(s) AS s FROM (SELECT s FROM t WHERE id > 2)", [None]),
        ("SELECT size(array_agg(x)) AS n FROM t WHERE id = 2", [0]),
        ("WITH t AS (SELECT x FROM t WHERE x = 1) SELECT x FROM t", [1]),
        ("WITH t AS (SELECT x FROM t UNION SELECT k FROM u) SELECT count(*) FROM t", [6]),
        ("SELECT x FROM (SELECT id AS x, x AS id FROM t) AS t WHERE id = 1", [3]),
        ("SELECT (SELECT max(k) FROM u WHERE u.x = t.x) AS k FROM t ORDER BY id", [1, None, 2, 1, None]),
        ("SELECT count_if(x > 9) AS n FROM t GROUP BY x IS NULL", [0, 0]),
    ],
)
def test_the_meaning_is_sparks_in_this_process(text: str, expected: list[Any]) -> None:
    assert ev.sql(text, t=T, u=U).column(0).to_pylist() == expected


def test_two_columns_of_one_name_stay_two() -> None:
    found = ev.sql("SELECT * FROM (SELECT a.id, b.x AS id FROM t a JOIN t b ON a.id = b.id) ORDER BY 1 LIMIT 1", t=T)
    assert (found.column_names, [column.to_pylist() for column in found.columns]) == (["id", "id"], [[1], [3]])


def test_a_failing_cast_is_an_error() -> None:
    with pytest.raises(ev.InputError) as caught:
        ev.sql("SELECT CAST(s AS INT) AS n FROM t", t=T)
    assert str(caught.value).startswith("the text 'a' is no INT")


def test_what_makes_a_division_by_zero_null_is_put_around_whole_divisors() -> None:
    text = "SELECT a / -b[0], mod(a, CAST(NULL AS INT)), a % (b / 2)::INT DIV 2L, 1/2 FROM t"
    for span, new in sorted(null_by_zero(parse_one(text, read="spark"), text), key=lambda edit: -edit[0].start):
        text = text[: span.start] + new + text[span.end :]
    wanted = "SELECT a / NULLIF(-b[0], 0), mod(a, NULLIF(CAST(NULL AS INT), 0)), "
    assert text == wanted + "a % NULLIF((b / 2)::INT, 0) DIV NULLIF(2L, 0), 1/2 FROM t"
