"""Every entry of the allow-list gives the same values and types on Catalyst and on DuckDB."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from eventide.expressions.functions import FUNCTIONS, MOST_ULPS
from eventide.expressions.regular import as_re2
from eventide.expressions.typecheck import bind, columns_of
from eventide.expressions.types import DURATION, canonical
from eventide.expressions.write_sql import write_duckdb, write_spark
from eventide.lang.scalars import parse_scalar
from eventide.lang.tree import Span
from tests.expressions.split_text import split_text

pytestmark = pytest.mark.spark

INF, NAN = math.inf, math.nan
DOUBLES = [None, NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 2.5, 0.49999999999999994, 1e-310, 123456789.125]
STRINGS = [None, "", "a", "B", " b ", "\ta", "é", "e\u0301", "日本", "𝒳y", "a%b", "a_b\\", "it's", "ab" * 40]
DATES = ["1970-01-01", "2020-02-29", "2021-03-31", "1582-10-04", "0001-01-01", "9999-12-31", "2024-12-30"]
TIMES = [f"{day}T{time}" for day, time in zip(DATES, ["00:00:00", "23:59:59.999999", "12:30:00.1"] * 3, strict=False)]
SCHEMA = pa.schema(
    [
        *((f"{name}{k}", dtype) for k in "12" for name, dtype in (
            ("b", pa.bool_()), ("tiny", pa.int8()), ("small", pa.int16()), ("n", pa.int32()), ("long", pa.int64()),
            ("f", pa.float32()), ("d", pa.float64()), ("dec", pa.decimal128(8, 2)), ("wide", pa.decimal128(18, 6)),
            ("s", pa.string()), ("day", pa.date32()), ("ntz", pa.timestamp("us")), ("ts", pa.timestamp("us", "UTC")),
        )),
        ("min_n", pa.int32()), ("min_long", pa.int64()), ("big", pa.decimal128(30, 10)),
        ("digits", pa.string()), ("real", pa.string()), ("truth", pa.string()), ("day_text", pa.string()),
        ("time_text", pa.string()), ("calm", pa.float64()), ("odd name.`\"", pa.int32()),
        ("payload", pa.struct([("Field", pa.int32())])),
    ]
)  # fmt: skip


def edge_values() -> dict[str, list[Any]]:
    """Values per column; columns of one pair are crossed with one another below."""
    days = [None, *(dt.date.fromisoformat(d) for d in DATES)]
    ntz = [None, *(dt.datetime.fromisoformat(t) for t in TIMES)]
    return {
        "b": [None, True, False],
        "tiny": [None, 0, 1, -1, 5, -11],
        "small": [None, 0, 7, -7, 181],
        "n": [None, 0, 1, -1, 7, -46340, 46340],
        "long": [None, 0, 3, -3, 3037000499, -3037000499],
        "f": [None, NAN, INF, -0.0, 0.1, -3.5, 1e30],
        "d": DOUBLES,
        "dec": [None, Decimal("0.00"), Decimal("1.50"), Decimal("-1.55"), Decimal("999999.99"), Decimal("-2.50")],
        "wide": [None, Decimal("0.000001"), Decimal("123456789012.345678"), Decimal("-0.5"), Decimal("2.5")],
        "s": STRINGS,
        "day": days,
        "ntz": ntz,
        "ts": [None if t is None else t.replace(tzinfo=dt.UTC) for t in ntz],
        "min_n": [None, -(2**31), 2**31 - 1],
        "min_long": [None, -(2**63), 2**63 - 1],
        "big": [None, Decimal("12345678901234567890.0123456789"), Decimal("-0.1"), Decimal("9007199254740993")],
        "digits": [None, "0", " 12 ", "-7", "+7", "007"],
        "real": [
            None,
            "0",
            " 1.5 ",
            "-.5e3",
            "1e-400",
            "5.",
            "179769313486231570000000000",
            "NaN",
            " inf ",
            "-Infinity",
        ],
        "truth": [None, "t", "TRUE", "no", "0", " Y "],
        "day_text": [None, *DATES],
        "time_text": [None, *(t.replace("T", " ") for t in TIMES), "2020-02-29"],
        "calm": [None, 0.5, -0.5, 1.0, 0.0, 0.3],
        'odd name.`"': [None, 4],
        "payload": [None, {"Field": None}, {"Field": 3}],
    }


@pytest.fixture(scope="module")
def table() -> pa.Table:
    values = edge_values()
    n_rows = max(len(v) for v in values.values()) ** 2
    columns = {}
    for field in SCHEMA:
        base = field.name[:-1] if field.name[-1] in "12" else field.name
        edges = values[base]
        pairs = list(itertools.product(edges, edges))
        side = 1 if field.name.endswith("2") else 0
        cycled = itertools.islice(itertools.cycle(pair[side] for pair in pairs), n_rows)
        columns[field.name] = pa.array(list(cycled), field.type)
    return pa.table(columns, schema=SCHEMA)


NUMBERS = ["tiny", "small", "n", "long", "f", "d", "dec", "wide"]
CALLS = {
    "POWER": ["power(d1, d2)", "pow(n1, 2)"],
    "ATAN2": ["atan2(d1, d2)"],
    "NANVL": ["nanvl(d1, n2)"],
    "LN": ["ln(d1)", "ln(n1)", "log(d1)"],
    "LOG2": ["log2(d1)"],
    "LOG10": ["log10(d1)", "log10(long1)"],
    "EXP": ["exp(calm)", "exp(-d1)"],
    "SINH": ["sinh(calm)"],
    "COSH": ["cosh(calm)"],
    "SIN": ["sin(calm)", "sin(f1)"],
    "COS": ["cos(calm)"],
    "TAN": ["tan(calm)"],
    "UPPER": ["upper(s1)"],
    "LOWER": ["lower(s1)"],
    "TRIM": ["trim(s1)", "trim(both 'ab' from s1)"],
    "LTRIM": ["ltrim(s1)", "trim(leading ' a' from s1)"],
    "RTRIM": ["rtrim(s1)", "trim(trailing 'b ' from s1)"],
    "SUBSTRING": [
        *(f"substring(s1, {i})" for i in (-50, -2, 0, 1, 2, 99)),
        *(f"substring(s1, {i}, {j})" for i in (-3, 0, 1, 2) for j in (-1, 0, 1, 100)),
        "substring(s1, n2, n1)",
    ],
    "LEFT": ["left(s1, 1)", "left(s1, tiny1)"],
    "RIGHT": ["right(s1, 1)", "right(s1, tiny1)"],
    "STARTSWITH": ["startswith(s1, s2)"],
    "ENDSWITH": ["endswith(s1, s2)"],
    "CONTAINS": ["contains(s1, s2)"],
    "REPLACE": ["replace(s1, s2, 'x')", "replace(s1, 'a', '')"],
    "INSTR": ["instr(s1, s2)", "locate('b', s1)", "position('b' in s1)"],
    "DATEDIFF": ["datediff(day1, day2)", "datediff(ntz1, ts2)"],
    "DATE_ADD": ["date_add(day1, tiny2)", "date_sub(day1, 3)"],
    "ADD_MONTHS": ["add_months(day1, 1)", "add_months(day1, -11)"],
    "DATE_TRUNC": [
        f"date_trunc('{unit}', {c}1)"
        for unit in [
            "YEAR",
            "QUARTER",
            "MONTH",
            "WEEK",
            "DAY",
            "HOUR",
            "MINUTE",
            "SECOND",
            "MILLISECOND",
            "MICROSECOND",
        ]
        for c in ("ts", "ntz")
    ],
    "UNIX_MICROS": ["unix_micros(ts1)"],
    "UNIX_SECONDS": ["unix_seconds(ts1)"],
}
TIME_PARTS = {
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEKOFYEAR",
    "DAYOFYEAR",
    "DAYOFMONTH",
    "DAYOFWEEK",
    "WEEKDAY",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "LAST_DAY",
}


def calls() -> dict[str, list[str]]:
    """Expressions per function of the list."""
    found = dict(CALLS)
    for name, row in FUNCTIONS.items():
        if name in TIME_PARTS:
            found[name] = [f"{name.lower()}({c}1)" for c in ("day", "ntz", "ts")]
        elif row.params == ("double",) and name not in found:
            found[name] = [f"{name.lower()}({c}1)" for c in ("d", "f", "n", "dec")]
        elif row.params == ("string",) and name not in found:
            found[name] = [f"{name.lower()}(s1)"]
    return found


def listed(text: str) -> list[str]:
    return [part for line in text.strip().splitlines() for part in line.strip().split(" ; ")]


OPERATORS = [
    *(f"{a}1 {op} {b}2" for op in "+-*" for a, b in itertools.product(NUMBERS, NUMBERS)
      if (op, {a, b}) != ("*", {"long", "wide"})),
    *(f"{a}1 / {b}2" for a, b in itertools.product(["tiny", "n", "long", "f", "d"], repeat=2)),
    *(f"{a}1 % {b}2" for a, b in itertools.product(["tiny", "n", "long", "f", "d"], repeat=2)),
    *(f"-{c}1" for c in NUMBERS),
    *(f"abs({c}1)" for c in NUMBERS),
    *(f"{a}1 {op} {b}2" for op in ("=", "<>", "<", "<=", ">", ">=", "<=>") for a, b in (
        *itertools.combinations_with_replacement(NUMBERS, 2), ("b", "b"), ("s", "s"), ("day", "day"), ("day", "ntz"),
        ("day", "ts"), ("ntz", "ntz"), ("ntz", "ts"), ("ts", "ts"))),
    *(f"{f}({c}1, {c}2)" for f in ("least", "greatest") for c in (*NUMBERS, "s", "day", "ntz", "ts", "b")),
    *(f"{c}1 {op} {interval}" for c in ("day", "ntz", "ts") for op in "+-" for interval in (
        "INTERVAL '1' DAY", "INTERVAL 2 WEEKS", "INTERVAL '1' MONTH", "INTERVAL 11 MONTHS", "INTERVAL '5' MINUTE",
        "INTERVAL '1.5' SECOND", "INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL 250 MILLISECONDS")),
    *(f"{a}1 - {b}2 {op} INTERVAL '36' HOUR" for a, b in itertools.product(["day", "ntz", "ts"], repeat=2)
      for op in (">", "<=")),
    *listed(
        r"""
        d1 / dec2 ; dec1 / d2 ; min_n % -1 ; min_long % -1 ; min_n % n1 ; n1 div n2 ; min_n div 7
        long1 div tiny2 ; n1 + 1 ; small1 + 1S ; n1 * 1.5 ; d1 * 1.5 ; dec1 * 2 ; dec1 + 3L ; n1 / 0 ; d1 / 0
        n1 % 0 ; d1 % 0 ; n1 / 2 ; min_long = d1 ; min_long < big ; min_long > 1.5 ; n1 is distinct from n2
        n1 is not distinct from n2 ; b1 and b2 ; b1 or b2 ; not b1 ; b1 is true ; b1 is not false ; b1 and null
        b1 or null ; not null ; null = 1 ; n1 is null ; n1 is not null ; isnull(s1) ; isnotnull(d1)
        payload is null ; null is null ; n1 in (1, 7) ; n1 not in (1, null) ; n1 in (1.0, 2.5)
        s1 in ('a', 'é', null) ; d1 in (0.1D, d2) ; d1 between d2 and 5 ; n1 not between -1 and n2
        s1 between 'a' and 'é' ; day1 between DATE '1970-01-01' and day2 ; s1 like 'a%' ; s1 like '%b_'
        s1 like '_' ; s1 not like '%é%' ; s1 like 'a\\%b' ; s1 like '%\\\\'
        case when b1 then n1 when b2 then 1.5 end ; case n1 when 7 then 'x' else s1 end ; if(b1, n1, d2)
        if(b1, day1, ts2) ; coalesce(n1, dec2, 3) ; coalesce(s1, 'x') ; nvl(d1, n2) ; ifnull(day1, ntz2)
        nvl2(n1, dec1, n2) ; nullif(n1, dec2) ; nullif(d1, d2) ; nullif(s1, '') ; coalesce(null, n1)
        least(n1, d2, 1.5) ; greatest(day1, ts2) ; round(d1) ; round(n1) ; round(dec1) ; round(dec1, 1)
        round(wide1, 3) ; round(dec1, 5) ; floor(calm) ; ceil(calm) ; floor(dec1) ; ceil(dec1) ; floor(n1)
        ceiling(long1) ; floor(nanvl(calm, 0)) ; concat(s1, s2) ; s1 || s2 || 'x' ; concat(s1, null)
        extract(year from day1) ; extract(hour from ts1) ; 1.5 ; -1.5 ; 1.5D ; 3L ; 3S ; 3Y ; 1e3 ; -2147483648
        CAST('NaN' AS DOUBLE) ; CAST(' +infinity ' AS DOUBLE) ; -CAST('inf' AS DOUBLE) ; d1 < CAST('-INF' AS DOUBLE)
        -9223372036854775808L ; 99999999999 ; 0.001 ; 100 ; 'text' ; 'it\'s' ; 'a\\b\n\t"' ; DATE '2020-02-29'
        TIMESTAMP_NTZ '2020-02-29 12:30:00.5' ; TRUE ; FALSE ; TIMESTAMP '2020-02-29 12:30:00'
        TIMESTAMP '2020-02-29T12:30:00+02:00' ; 1.50BD ; s1 = 'it\'s' ; 'é日𝒳'
        INTERVAL 1 DAY + ts1 ; day1 + tiny2 ; day1 - 3
        INTERVAL 1 day 2 hours + ntz1 ; day1 - day2 ; ts1 - ts2 ; (ts1 - ts2) + INTERVAL 1 DAY ; -(ntz1 - ntz2)
        INTERVAL 1 HOUR * tiny1 ; payload.field + 1 > 3 ; payload.FIELD is null ; `odd name.``"` * 2
        INTERVAL 1 DAY > INTERVAL 23 HOURS ; s1 ilike 'A%' ; s1 not ilike '%B_' ; s1 ilike '%\\\\'
        s1 rlike 'a' ; not s1 rlike '^[a-z]+$' ; regexp_like(s1, 'a.?b') ; unix_timestamp(ts1) ; unix_timestamp(ntz1)
        unix_timestamp(day1) ; pmod(tiny1, 7) ; pmod(n1, 3L) ; pmod(min_long, 1000000) ; pmod(min_n, 2147483647)
        """
    ),
]  # fmt: skip
CASTS = [
    *(f"cast({a} as {b})" for a in ("tiny1", "small1", "n1", "long1")
      for b in ("bigint", "float", "double", "decimal(20,2)", "string", "boolean")),
    *(f"cast(min_long as {b})" for b in ("double", "float", "decimal(20,0)", "string", "boolean")),
    *(f"cast({a} as {b})" for a in ("calm", "dec1") for b in ("int", "bigint")),
    *(f"cast({a} as {b})" for a in ("dec1", "wide1", "big")
      for b in ("double", "decimal(38,12)", "decimal(38,1)", "string")),
    *(f"cast({a} as string)" for a in ("b1", "day1", "ntz1", "ts1")),
    *listed(
        r"""
        cast(tiny1 as int) ; cast(tiny1 as smallint) ; cast(n1 as int) ; cast(wide1 as bigint) ; cast(b1 as int)
        cast(f1 as double) ; cast(day1 as timestamp) ; cast(day1 as timestamp_ntz) ; cast(ts1 as date)
        cast(ntz1 as date) ; cast(ntz1 as timestamp) ; cast(ts1 as timestamp_ntz) ; int(calm) ; tiny1::double
        date(ts1) ; cast(digits as int) ; cast(digits as bigint) ; cast(real as double) ; cast(truth as boolean)
        cast(day_text as date) ; cast(time_text as timestamp) ; cast(time_text as timestamp_ntz)
        cast(null as int)
        """
    ),
]  # fmt: skip

INEXACT = {text for name, texts in calls().items() if not FUNCTIONS[name].exact for text in texts}


def texts_of(expression: str) -> tuple[str, str, pa.DataType]:
    if "payload." in expression:
        (local,) = split_text([expression], ["event"], SCHEMA).locals
        return local.value.spark, local.value.duckdb, local.value.dtype
    tree, span = parse_scalar(expression).tree, Span(0, len(expression))
    columns = columns_of(SCHEMA, expression)
    dtype = bind(tree, columns, expression, span).dtype
    return write_spark(tree), write_duckdb(tree, columns, expression, span), dtype


def plain_values(column: pa.ChunkedArray) -> list[Any]:
    """Values that can be compared: times are numbers, NaN is a word, -0.0 is 0.0."""
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date(column.type) else pa.int64())
    values = column.to_pylist()
    if not pa.types.is_floating(column.type):
        return values
    return [None if v is None else "NaN" if math.isnan(v) else v + 0.0 for v in values]


def equal(one: Any, two: Any, inexact: bool) -> bool:
    if inexact and isinstance(one, float) and isinstance(two, float) and math.isfinite(one):
        return abs(one - two) <= MOST_ULPS * math.ulp(one)
    return bool(one == two)


def differences(table: pa.Table, spark: Any, expressions: list[str]) -> list[str]:
    made = [(e, *texts_of(e)) for e in expressions]
    frame = spark.createDataFrame(table.append_column("row", pa.array(range(len(table)), pa.int32())))
    for name in ("ntz1", "ntz2"):
        frame = frame.withColumn(name, frame[name].cast("timestamp_ntz"))
    selected = [f"{text} AS r{i}" for i, (_, text, _, _) in enumerate(made)]
    left = frame.selectExpr("row", *selected).toArrow().sort_by("row").drop_columns("row")
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("t", table)
    items = ", ".join(f"{text} AS r{i}" for i, (_, _, text, _) in enumerate(made))
    right = connection.sql(f"SELECT {items} FROM t").to_arrow_table()
    found = []
    for i, (expression, _, _, dtype) in enumerate(made):
        one, two = left.column(i), right.column(i)
        types = canonical(one.type), pa.int64() if dtype == DURATION else canonical(dtype), canonical(two.type)
        if (types[0] != dtype and dtype != pa.null()) or types[1] != types[2]:
            found.append(f"{expression}: typed {dtype}, Spark {one.type}, DuckDB {two.type}")
        pairs = list(zip(plain_values(one), plain_values(two), strict=True))
        wrong = [pair for pair in pairs if not equal(*pair, expression in INEXACT)]
        if wrong:
            found.append(f"{expression}: {len(wrong)} rows, first Spark {wrong[0][0]!r}, DuckDB {wrong[0][1]!r}")
    return found


def test_every_function_of_the_list_has_expressions() -> None:
    assert set(calls()) == set(FUNCTIONS)


def test_functions_are_equal_on_both_engines(table: pa.Table, spark: Any) -> None:
    assert differences(table, spark, [text for texts in calls().values() for text in texts]) == []


def test_functions_of_doubles_are_equal_bit_for_bit_or_within_the_stated_units(spark: Any) -> None:
    random = np.random.default_rng(20)
    small, wide = random.uniform(-1, 1, 1000), random.normal(0, 1, 2000) * 10.0 ** random.integers(-9, 9, 2000)
    values = np.concatenate([small, wide, np.abs(random.normal(0, 40, 1000))])
    powers = np.concatenate([random.normal(0, 3, 2000), random.integers(-6, 7, 2000)])
    numbers = pa.table({"row": range(len(values)), "x": values, "y": random.permutation(powers)})
    rows = [row for row in FUNCTIONS.values() if set(row.params) == {"double"} and row.result == pa.float64()]
    texts = [f"{row.name}({', '.join('xy'[: len(row.params)])})" for row in rows]
    trees = [parse_scalar(text).tree for text in texts]
    made = [write_duckdb(tree, columns_of(numbers.schema), "", Span(0, 0)) for tree in trees]
    selected = [f"{write_spark(tree)} AS r{i}" for i, tree in enumerate(trees)]
    left = spark.createDataFrame(numbers).selectExpr("row", *selected).toArrow().sort_by("row")
    connection = duckdb.connect()
    connection.register("numbers", numbers)
    items = ", ".join(f"{text} AS r{i}" for i, text in enumerate(made))
    right = connection.sql(f"SELECT row, {items} FROM numbers ORDER BY row").to_arrow_table()
    wrong = {}
    for i, row in enumerate(rows):
        pairs = zip(plain_values(left[f"r{i}"]), plain_values(right[f"r{i}"]), strict=True)
        found = [pair for pair in pairs if not equal(*pair, inexact=not row.exact)]
        if found:
            wrong[texts[i]] = len(found), found[0]
    assert wrong == {}


def test_operators_and_literals_are_equal_on_both_engines(table: pa.Table, spark: Any) -> None:
    assert differences(table, spark, OPERATORS) == []


def test_upper_and_lower_are_equal_or_refused_for_every_character(spark: Any) -> None:
    frame = spark.range(1, 0x110000).where("id < 55296 OR id > 57343")
    frame = frame.selectExpr("decode(unhex(lpad(hex(id), 8, '0')), 'UTF-32') AS c").where("length(c) = 1")
    letters = frame.selectExpr("c", "upper(c) AS u", "lower(c) AS l").toArrow()
    refused = {}
    for name in ("upper", "lower"):
        text = write_duckdb(parse_scalar(f"{name}(c)").tree, columns_of(letters.schema), "", Span(0, 0))
        connection = duckdb.connect()
        connection.register("letters", letters)
        unsafe = text[text.index("regexp_matches") : text.index(" THEN")]
        refused[name] = connection.sql(f"SELECT count(*) FROM letters WHERE {unsafe}").fetchall()[0][0]
        wrong = connection.sql(f"SELECT c FROM letters WHERE NOT {unsafe} AND {name}(c) <> {name[0]}").fetchall()
        assert wrong == []
    assert max(refused.values()) < 300


def test_regular_expressions_are_equal_on_both_engines_or_refused(spark: Any) -> None:
    pieces = ["", "a", "b", "ab1", "é", "\n", "\r", "\r\n", "\x85", "\u2028", "\x0b", " ", "\t", "_", "A"]
    texts = sorted({a + b + c for a in pieces for b in pieces for c in ("", "\n", "b")})
    patterns = [
        "a", "^a", "a$", "b$", "^.$", "a.b", "^a.*b$", r"\d", r"^\s+$", r"\S\s?\w", r"\W$", "(a|é)+b", "[^a]b",
        "[a-c0-9]{2}$", "a?b{1,2}1", r"^\D*$", "^(?:ab1|b)$", "é.", r"\.", "( |_)a|^b$",
    ]  # fmt: skip
    table = pa.table({"row": range(len(texts)), "s1": texts})
    made = []
    for pattern in patterns:
        expression = "s1 rlike '" + pattern.replace("\\", "\\\\") + "'"
        tree, span = parse_scalar(expression).tree, Span(0, len(expression))
        made.append((write_spark(tree), write_duckdb(tree, columns_of(table.schema), expression, span)))
    frame = spark.createDataFrame(table)
    left = frame.selectExpr("row", *(f"{text} AS r{i}" for i, (text, _) in enumerate(made))).toArrow().sort_by("row")
    connection = duckdb.connect()
    connection.register("t", table)
    items = ", ".join(f"{text} AS r{i}" for i, (_, text) in enumerate(made))
    right = connection.sql(f"SELECT row, {items} FROM t ORDER BY row").to_arrow_table()
    wrong = [
        (pattern, texts[row])
        for i, pattern in enumerate(patterns)
        for row, pair in enumerate(zip(left[f"r{i}"].to_pylist(), right[f"r{i}"].to_pylist(), strict=True))
        if pair[0] != pair[1]
    ]
    assert wrong == []


BEYOND = ["(?i)a", r"\bab", "a*+", r"(a)\1", "[[:alpha:]]", "[a&&b]", r"\p{L}", "a$b", "(?=a)", "a{2}{3}", "(a", "a|"]


@pytest.mark.parametrize("pattern", BEYOND)
def test_regular_expressions_beyond_the_common_part_are_refused(pattern: str) -> None:
    assert as_re2(pattern) is None


def test_casts_are_equal_on_both_engines(table: pa.Table, spark: Any) -> None:
    assert differences(table, spark, CASTS) == []
