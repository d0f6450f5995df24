"""Conjuncts are split into what one event decides and what relates events."""

from __future__ import annotations

import pyarrow as pa
import pytest

from eventide.errors import QueryError
from eventide.expressions.split import Slot, Split
from tests.expressions.split_text import split_text

SCHEMA = pa.schema(
    [
        ("price", pa.float64()),
        ("Qty", pa.int32()),
        ("name", pa.string()),
        ("ts", pa.timestamp("us")),
        ("cost", pa.decimal128(10, 2)),
        ("payload", pa.struct([("inner", pa.struct([("x", pa.int64())])), ("a b", pa.int32())])),
    ]
)


def parts_of(*conjuncts: str, symbols: tuple[str, ...] = ("A", "B")) -> Split:
    return split_text(conjuncts, symbols, SCHEMA)


def spark_values(done: Split) -> list[str]:
    return [value.spark for value in done.values]


def test_a_conjunct_on_one_event_is_local_as_a_whole() -> None:
    done = parts_of("A.price * 2 > A.qty OR A.name = 'x'")
    assert [(local.symbol, local.value.spark) for local in done.locals] == [
        ("A", "`price` * 2 > `Qty` OR `name` = 'x'")
    ]
    assert done.values == done.tests == ()


def test_a_conjunct_on_the_next_event_alone_is_a_test() -> None:
    done = parts_of("NEXT(A).price > 5")
    assert spark_values(done) == ["`price` > 5"]
    assert done.tests[0].slots == (Slot("A", is_next=True),)
    assert done.tests[0].tree.op == "value"


def test_a_conjunct_without_events_is_local_to_none() -> None:
    assert parts_of("1 < 2").locals[0].symbol is None


def test_maximal_parts_of_one_event_become_values() -> None:
    done = parts_of("upper(A.name) = concat(B.name, 'x') AND A.price / A.qty < sqrt(B.price + 1) * 2")
    assert spark_values(done) == [
        "UPPER(`name`)",
        "CONCAT(`name`, 'x')",
        "`price` / NULLIF(`Qty`, 0)",
        "SQRT(`price` + 1) * 2",
    ]


def test_equal_values_are_computed_once_across_conjuncts_and_spellings() -> None:
    done = parts_of("A.price < B.PRICE", "a.Price > NEXT(b).price + 0", "B.qty = A.QTY")
    assert spark_values(done) == ["`price`", "`price` + 0", "`Qty`"]
    assert done.tests[1].slots == (Slot("A"), Slot("B", is_next=True))


def test_next_is_read_in_any_case_and_with_fields() -> None:
    done = parts_of("A.payload.inner.x < next(A).payload.inner.x", "A.payload.`a b` = B.payload.`A B`")
    assert done.values[0].spark == "`payload`.`inner`.`x`"
    assert done.values[0].duckdb == "struct_extract(struct_extract(\"payload\", 'inner'), 'x')"
    assert done.values[0].dtype == pa.int64()


def test_the_conditions_of_case_stay_conditions() -> None:
    done = parts_of("CASE WHEN A.price > 1 THEN B.price WHEN A.qty = 2 THEN A.price ELSE 0 END > 3")
    assert spark_values(done) == ["`price` > 1", "`price`", "`Qty` = 2"]
    assert done.tests[0].tree.args[0].op == "case"


def test_a_cast_that_only_an_engine_can_do_becomes_part_of_the_value() -> None:
    done = parts_of("A.cost < B.price")
    assert spark_values(done) == ["CAST(`cost` AS DOUBLE)", "`price`"]


def test_a_bare_column_belongs_to_the_only_symbol() -> None:
    done = parts_of("price > 1 AND payload.`a b` = 2", symbols=("Check",))
    assert done.locals[0].symbol == "Check"


@pytest.mark.parametrize(
    ("conjunct", "message"),
    [
        (
            "A.price + B.price",
            "a condition must be a boolean, but this is double (line 1, column 1)\n  A.price + B.price\n"
            "  ^^^^^^^^^^^^^^^^^\nHint: compare it with something",
        ),
        (
            "A.payload.z > 1",
            "unknown field 'z' (line 1, column 1)\n  A.payload.z > 1\n  ^^^^^^^^^^^\nHint: known: inner, a b",
        ),
        (
            "soundex(A.name) = B.name",
            "the type of this is not known before the query runs (line 1, column 1)\n  soundex(A.name) = B.name\n"
            "  ^^^^^^^^^^^^^^^\nHint: name its type: CAST(soundex(A.name) AS DOUBLE)",
        ),
    ],
)
def test_errors_underline_the_reference(conjunct: str, message: str) -> None:
    with pytest.raises(QueryError) as raised:
        parts_of(conjunct)
    assert str(raised.value) == message
