"""Types and the messages of the type check, word for word."""

from __future__ import annotations

import pyarrow as pa
import pytest

from eventide.errors import QueryError
from eventide.expressions.typecheck import bind, columns_of
from eventide.expressions.types import DURATION, TIMESTAMP, TIMESTAMP_NTZ
from eventide.expressions.write_sql import IN_PROCESS, write_duckdb
from eventide.lang.scalars import parse_scalar
from eventide.lang.tree import Span
from tests.lang.corpus import check_message, each_message, read_pairs

SCHEMA = pa.schema(
    [
        ("price", pa.float64()),
        ("n", pa.int32()),
        ("tiny", pa.uint8()),
        ("name", pa.dictionary(pa.int32(), pa.string())),
        ("ok", pa.bool_()),
        ("day", pa.date32()),
        ("ts", pa.timestamp("ns", "Europe/Berlin")),
        ("ntz", pa.timestamp("ms")),
        ("cost", pa.decimal128(8, 2)),
        ("tags", pa.list_(pa.string())),
    ]
)


def type_of(text: str) -> pa.DataType | None:
    return bind(parse_scalar(text).tree, columns_of(SCHEMA, text), text, Span(0, len(text))).dtype


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("tiny + 1S", pa.int16()),
        ("n / 2", pa.float64()),
        ("cost * 2", pa.decimal128(10, 2)),
        ("ts - ntz", DURATION),
        ("day + interval 1 day", pa.date32()),
        ("day + interval 1 hour", TIMESTAMP),
        ("coalesce(null, ntz)", TIMESTAMP_NTZ),
        ("name || 'x'", pa.string()),
        ("case when ok then 1 else 2.5 end", pa.decimal128(11, 1)),
        ("tags is null", pa.bool_()),
        ("null", pa.null()),
    ],
)
def test_types_are_those_of_spark(text: str, dtype: pa.DataType) -> None:
    assert type_of(text) == dtype


@pytest.mark.parametrize(
    "text", ["soundex(name)", "soundex(name) + 1 > 'x'", "cost / 2", "tags = tags", "round(price, 2)"]
)
def test_what_is_off_the_list_is_not_checked_further(text: str) -> None:
    assert type_of(text) in (None, pa.bool_())


def test_a_named_type_makes_an_unknown_function_known() -> None:
    assert type_of("cast(soundex(name) as double) > 1") == pa.bool_()


@each_message(read_pairs("../expressions/invalid.txt"))
def test_messages(text: str, message: str) -> None:
    check_message(lambda: type_of(text), message)


@pytest.mark.parametrize(
    ("text", "underlined", "hint"),
    [
        ("soundex(name) = 'x'", "soundex(name)", IN_PROCESS),
        (
            "n > sqqrt(price)",
            "sqqrt(price)",
            "did you mean 'SQRT'? Spark SQL has no function 'sqqrt'; one that a Spark session defines works there",
        ),
        (
            "product(n) > 1",
            "product(n)",
            "Spark SQL has no function 'product'; one that a Spark session defines works there",
        ),
        ("cost / 2 > 1", "cost / 2", IN_PROCESS),
        ("cast(price as string) = '1'", "cast(price as string)", IN_PROCESS),
    ],
)
def test_off_the_list_is_an_error_locally(text: str, underlined: str, hint: str) -> None:
    with pytest.raises(QueryError) as raised:
        write_duckdb(parse_scalar(text).tree, columns_of(SCHEMA, text), text, Span(0, len(text)))
    name = underlined.split("(")[0]
    unknown = "Spark SQL has no function" in hint
    said = f"unknown function '{name}'" if unknown else f"the local engine cannot compute {underlined}"
    assert raised.value.message == said
    assert (text[raised.value.start : raised.value.end], raised.value.hint) == (underlined, hint)


def test_a_doubled_quote_is_refused_rather_than_lost() -> None:
    with pytest.raises(QueryError, match="a quote inside a string cannot be written twice") as raised:
        type_of("name = 'it''s'")
    assert raised.value.hint == "write it as \\'"


def test_a_name_in_two_cases_is_ambiguous() -> None:
    schema = pa.schema([("a", pa.int32()), ("A", pa.int32())])
    with pytest.raises(QueryError, match="column 'a' is ambiguous: a, A"):
        bind(parse_scalar("a > 1").tree, columns_of(schema, "a > 1"), "a > 1", Span(0, 5))


@pytest.mark.parametrize("text", ["m = m", "m <> m", "m <=> m", "m IN (m)", "s = s"])
def test_maps_are_not_compared(text: str) -> None:
    kind = pa.map_(pa.string(), pa.int32())
    columns = columns_of(pa.schema({"m": kind, "s": pa.struct({"m": kind})}), text)
    with pytest.raises(QueryError, match="cannot compare maps"):
        bind(parse_scalar(text).tree, columns, text, Span(0, len(text)))
    assert bind(parse_scalar("m IS NULL").tree, columns, text, Span(0, len(text))).dtype == pa.bool_()
