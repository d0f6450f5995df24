"""Generated tests agree with DuckDB, which sees both events as one row."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
import warnings
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eventide.errors import QueryError
from eventide.expressions.residue import HEADER, Residue, compile_tests, write_tests
from eventide.expressions.split import Split
from eventide.expressions.typecheck import columns_of
from eventide.expressions.write_sql import write_duckdb
from eventide.lang.scalars import parse_scalar
from eventide.lang.tree import Span
from eventide.runtime.encode import encode_columns
from eventide.runtime.generated import load_module
from tests.budget import budgeted
from tests.expressions.split_text import split_text

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "n": (pa.int32(), [None, 0, 1, -1, 7, -40]),
    "k": (pa.int64(), [None, 0, 3, -3, 100000]),
    "x": (pa.float64(), [None, 0.0, -0.0, math.nan, math.inf, -math.inf, 0.1, -2.5]),
    "f": (pa.float32(), [None, 0.0, math.nan, 0.1, -3.5]),
    "c": (pa.decimal128(8, 2), [None, Decimal("0.00"), Decimal("1.50"), Decimal("-1.55")]),
    "w": (pa.decimal128(12, 4), [None, Decimal("1.5000"), Decimal("99999999.9999"), Decimal("-0.0001")]),
    "s": (pa.string(), [None, "", "a", "b", "é", "ab", "Z"]),
    "r": (pa.string(), [None, "a", "zz", "日"]),
    "b": (pa.bool_(), [None, True, False]),
    "t": (
        pa.timestamp("us"),
        [None, dt.datetime(2020, 2, 29, 1), dt.datetime(2020, 2, 29, 2), dt.datetime(1969, 1, 1)],
    ),
    "u": (pa.timestamp("us", "UTC"), [None, dt.datetime(2020, 2, 29, 1, tzinfo=dt.UTC)]),
    "d": (pa.date32(), [None, dt.date(2020, 2, 29), dt.date(2020, 3, 1), dt.date(1969, 1, 1)]),
}
SCHEMA = pa.schema([(name, dtype) for name, (dtype, _) in VALUES.items()])
PAIR_SCHEMA = pa.schema([(f"{symbol}_{name}", dtype) for symbol in "AB" for name, (dtype, _) in VALUES.items()])


@cache
def duckdb_connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def plain_namespace(source: str) -> dict[str, Any]:
    """The generated source as plain Python."""
    namespace: dict[str, Any] = {"njit": lambda **_: lambda function: function}
    exec(HEADER.replace("from eventide.compilation.njit import njit\n", "") + source, namespace)
    return namespace


def computed(done: Split, events: pa.Table) -> pa.Table:
    """The values of a split, one column each, as the local engine makes them."""
    connection = duckdb_connection()
    connection.register("events", events)
    items = ", ".join(f"{value.duckdb} AS v{i}" for i, value in enumerate(done.values)) or "1 AS one"
    return connection.sql(f"SELECT {items} FROM events").to_arrow_table()


def compiled(text: str, symbols: tuple[str, ...] = ("A", "B")) -> tuple[Split, Residue]:
    done = split_text([text], symbols, SCHEMA)
    return done, write_tests(done.tests, done.values, [f"v{i}" for i in range(len(done.values))])


def by_residue(text: str, events: pa.Table) -> list[bool]:
    """The test for every pair (row of A, row of B)."""
    done, residue = compiled(text)
    cols = encode_columns(computed(done, events), residue.encodings)
    test = plain_namespace(residue.source)["test_0"]
    rows = {"A": 0, "B": 1}
    pairs = itertools.product(range(len(events)), repeat=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return [bool(test(*(pair[rows[slot.symbol]] for slot in done.tests[0].slots), cols)) for pair in pairs]


def by_duckdb(text: str, events: pa.Table) -> list[bool]:
    joined = text.replace("A.", "A_").replace("B.", "B_")
    tree = parse_scalar(joined).tree
    sql = write_duckdb(tree, columns_of(PAIR_SCHEMA, joined), joined, Span(0, len(joined)))
    connection = duckdb_connection()
    pairs = list(itertools.product(range(len(events)), repeat=2))
    columns = {
        f"{symbol}_{name}": events.column(name).take(pa.array([pair[side] for pair in pairs]))
        for side, symbol in enumerate("AB")
        for name in SCHEMA.names
    }
    connection.register("pairs", pa.table(columns))
    return [bool(row[0]) for row in connection.sql(f"SELECT {sql} FROM pairs").fetchall()]


CHOICES = ("coalesce({}, {})", "least({}, {}, {})", "greatest({}, {})", "nullif({}, {})")
COMPARISONS = ("{} = {}", "{} <> {}", "{} < {}", "{} <= {}", "{} > {}", "{} >= {}", "{} <=> {}", "{} between {} and {}")
TESTS = (*COMPARISONS, "{} in ({}, {})", "{} not in ({}, {})", "{} is null", "{} is not null")
SUMS = ("({} + {})", "({} - {})", "(- {})", "abs({})")
# Per class of operands: columns, literals, operators, tests.
GRAMMAR: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "integer": ("nk", ("0", "2", "-3L", "null"), (*SUMS, "({} * {})", "({} % {})", "({} div {})", *CHOICES), TESTS),
    "number": (
        "nxf",
        ("0.5D", "3", "1.5"),
        (*SUMS, "({} * {})", "({} / (1D * {}))", "sqrt({})", "sign({})", *CHOICES),
        TESTS,
    ),
    "decimal": ("cwn", ("1.5", "2", "-0.001"), (*SUMS, "coalesce({}, {})"), TESTS),
    "string": ("sr", ("'a'", "'é'", "'m'", "null"), CHOICES, TESTS),
    "time": ("tud", ("TIMESTAMP '2020-02-29 01:30:00'", "DATE '2020-02-29'"), ("greatest({}, {})",), TESTS),
    "moment": (
        "tu",
        (),
        ("({} + INTERVAL 1 HOUR)", "({} - INTERVAL '1' DAY)"),
        ("{} - {} > INTERVAL 0 DAYS", *COMPARISONS),
    ),
    "day": ("d", (), ("({} + 1)", "({} - INTERVAL 2 DAYS)"), ("{} - {} <= INTERVAL '1' DAY", "datediff({}, {}) > 0")),
}
CONNECTORS = ("({} and {})", "({} or {})", "(not {})", "case when {} then {} when {} then {} end", "if({}, {}, {})")


def operand(random: Random, name: str, depth: int) -> str:
    columns, literals, operators, _ = GRAMMAR[name]
    if depth > 0 and random.random() < 0.5:
        template = random.choice(operators)
        return template.format(*(operand(random, name, depth - 1) for _ in range(template.count("{}"))))
    if literals and random.random() < 0.2:
        return random.choice(literals)
    return f"{random.choice('AB')}.{random.choice(columns)}"


def condition(random: Random, depth: int) -> str:
    if depth > 0 and random.random() < 0.6:
        template = random.choice(CONNECTORS)
        return template.format(*(condition(random, depth - 1) for _ in range(template.count("{}"))))
    if random.random() < 0.1:
        return f"{random.choice('AB')}.b"
    name = random.choice(list(GRAMMAR))
    test = random.choice(GRAMMAR[name][3])
    return test.format(*(operand(random, name, 2) for _ in range(test.count("{}"))))


def random_events(random: Random, n_rows: int) -> pa.Table:
    return pa.table(
        {name: pa.array(random.choices(values, k=n_rows), dtype) for name, (dtype, values) in VALUES.items()}
    )


@budgeted()
@given(seed=st.integers(0, 2**32))
def test_generated_tests_equal_duckdb(seed: int) -> None:
    random = Random(seed)
    text = f"({condition(random, 2)}) and (A.n is null or B.n is null or true)"
    events = random_events(random, 4)
    try:
        found = by_residue(text, events)
    except QueryError as error:
        # Decimals of more than 15 digits do not meet doubles. To Spark -NULL is a double, and DIV takes whole numbers.
        # Both are rare enough that most cases remain.
        divides_a_double = "div" in text and re.search(r"- null|abs\(null\)", text)
        assert "events cannot be related by" in error.message or divides_a_double
        assume(False)
    assert found == by_duckdb(text, events), text


JIT = (
    "A.n + B.n > 3 AND (A.s < B.s OR A.s = 'a' OR B.r IN ('a', 'zz')) AND coalesce(A.c, B.w) <= B.w * 2",
    "B.t - A.t BETWEEN INTERVAL 0 HOURS AND INTERVAL 2 HOURS AND A.x / B.n <> A.f AND power(A.x, B.x) >= ln(A.x + B.x)",
    "CASE WHEN A.b THEN B.b ELSE A.k % B.k = 0 END AND A.d <> B.u AND least(A.s, B.r) <=> greatest(A.r, B.s)",
)


@pytest.mark.parametrize("text", JIT)
def test_compiled_code_equals_plain_code(text: str) -> None:
    events = random_events(Random(7), 20)
    done, residue = compiled(text)
    cols = encode_columns(computed(done, events), residue.encodings)
    assert [slot.symbol for slot in done.tests[0].slots] in (["A", "B"], ["B", "A"])
    fast, slow = load_module(HEADER + residue.source).test_0, plain_namespace(residue.source)["test_0"]
    pairs = list(itertools.product(range(20), repeat=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert [bool(fast(i, j, cols)) for i, j in pairs] == [bool(slow(i, j, cols)) for i, j in pairs]
    assert fast.signatures


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("A.k + B.k > 0", 2**63 - 1, 1),
        ("A.k - B.k > 0", -(2**63), 1),
        ("A.k * B.k > 0", 2**62, 2),
        ("A.k * B.k > 0", -(2**63), -1),
        ("-(least(A.k, B.k)) > 0", -(2**63), 1),
        ("A.k div B.k > 0", -(2**63), -1),
    ],
)
def test_an_overflow_raises_and_never_wraps(text: str, low: int, high: int) -> None:
    done, residue = compiled(text)
    events = pa.table({"k": pa.array([low, high], pa.int64())})
    cols = encode_columns(computed(done, events), residue.encodings)
    with pytest.raises(OverflowError):
        plain_namespace(residue.source)["test_0"](0, 1, cols)


@pytest.mark.parametrize(("a", "b"), [(2**62, -2), (-(2**63), 1), (3037000499, 3037000500), (-3, 3074457345618258602)])
def test_products_up_to_the_limit_are_exact(a: int, b: int) -> None:
    done, residue = compiled("A.k * B.k <> 0")
    cols = encode_columns(computed(done, pa.table({"k": pa.array([a, b], pa.int64())})), residue.encodings)
    assert plain_namespace(residue.source)["test_0"](0, 1, cols)


def test_a_narrow_integer_overflows_at_its_own_width() -> None:
    done, residue = compiled("A.n + B.n > 0")
    cols = encode_columns(computed(done, pa.table({"n": pa.array([2**31 - 1, 1], pa.int32())})), residue.encodings)
    with pytest.raises(OverflowError):
        plain_namespace(residue.source)["test_0"](0, 1, cols)


def test_decimals_far_apart_compare_without_overflow() -> None:
    schema = pa.schema([("p", pa.decimal128(18, 0)), ("q", pa.decimal128(18, 16))])
    text = "A.p > B.q"
    done = split_text([text], ["A", "B"], schema)
    residue = write_tests(done.tests, done.values, ["p", "q"])
    table = pa.table(
        {"p": [Decimal(10**17), Decimal(-(10**17))], "q": [Decimal("99.5"), Decimal("-99.5")]}, schema=schema
    )
    test = plain_namespace(residue.source)["test_0"]
    cols = encode_columns(table, residue.encodings)
    assert [bool(test(i, j, cols)) for i in (0, 1) for j in (0, 1)] == [True, True, False, False]


def test_holds_makes_each_test_when_its_last_slot_is_bound() -> None:
    text = "A.n < B.n"
    done = split_text([text], ["A", "B"], SCHEMA)
    for backward, step in ((False, 2), (True, 0)):
        source, encodings = compile_tests([(done.tests[0], (0, 2))], done.values, ["n"], 3, backward=backward)
        assert source is not None
        cols = encode_columns(pa.table({"n": pa.array([5, 3], pa.int32())}), encodings)
        holds = plain_namespace(source)["holds"]
        assert [bool(holds(k, [0, 0, 1], cols)) for k in range(3)] == [k != step for k in range(3)]
    assert compile_tests([], [], [], 3, backward=True) == (None, ())


@pytest.mark.parametrize(
    ("text", "underlined", "message"),
    [
        ("upper(concat(A.s, B.s)) = 'X'", "concat(A.s, B.s)", "events cannot be related by concat(A.s, B.s)"),
        (
            "A.s LIKE 'a%' AND length(coalesce(A.s, B.s)) > 1",
            "length(coalesce(A.s, B.s))",
            "events cannot be related by length(coalesce(A.s, B.s))",
        ),
        ("A.c / B.c > 1", "A.c / B.c", "events cannot be related by A.c / B.c"),
        (
            "CAST(A.n AS DECIMAL(30,2)) < B.n",
            "CAST(A.n AS DECIMAL(30,2))",
            "decimal(30,2) is too wide to relate events by",
        ),
    ],
)
def test_what_cannot_relate_events_is_an_error(text: str, underlined: str, message: str) -> None:
    with pytest.raises(QueryError) as raised:
        compiled(text)
    assert raised.value.message == message
    assert text[raised.value.start : raised.value.end] == underlined
