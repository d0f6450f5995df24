"""One input per event type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev

ORDERS = pa.table({"ts": [1, 5, 9], "user": ["a", "b", "a"], "item": ["x", "y", "z"]})
PAYMENTS = pa.table({"ts": [3, 6], "user": ["a", "a"], "amount": [10, 20], "item": pa.array([None, None], pa.string())})
BY_TYPE = ev.query("PATTERN SEQ(Order O, Payment P) WHERE [user] RETURN user, O.item, P.amount, P.item", ts_unit="s")
BY_TYPE_ROWS = [
    {"user": "a", "O_item": "x", "P_amount": amount, "P_item": None, "detected_at": ts}
    for amount, ts in [(10, 3), (20, 6)]
]


def by_time(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_pylist()
    return sorted(found, key=lambda row: row["detected_at"])


def test_one_input_per_event_type(tmp_path: Path) -> None:
    assert by_time(BY_TYPE.run(Order=ORDERS, Payment=PAYMENTS)) == BY_TYPE_ROWS
    assert BY_TYPE.metrics()["events"] == 5
    pq.write_table(PAYMENTS, tmp_path / "payments.parquet")
    with pa.ipc.new_file(tmp_path / "orders.arrow", ORDERS.schema) as writer:
        writer.write_table(ORDERS)
    mixed = BY_TYPE.run(Order=tmp_path / "orders.arrow", Payment=str(tmp_path / "payments.parquet"))
    assert by_time(mixed) == BY_TYPE_ROWS
    two_files = BY_TYPE.run(Order=tmp_path / "orders.arrow", Payment=PAYMENTS.to_pylist())
    assert by_time(two_files) == BY_TYPE_ROWS
    assert "O: event_type = 'Order'" in BY_TYPE.explain(Order=ORDERS, Payment=PAYMENTS)


@pytest.mark.parametrize(
    ("query", "inputs", "message"),
    [
        (BY_TYPE, {"Order": ORDERS}, "there is no input for the event type Payment\nHint: pass Payment=..."),
        (
            BY_TYPE,
            {"Ordr": ORDERS, "Payment": PAYMENTS},
            "the input Ordr is not an event type of PATTERN\nHint: did you mean 'Order'?",
        ),
        (
            ev.query("PATTERN SEQ(Order O, Payment P)", type="kind"),
            {"Order": ORDERS, "Payment": PAYMENTS},
            "type= cannot be combined with one input per event type\nHint: leave out type=",
        ),
        (
            BY_TYPE,
            {"Order": ORDERS.append_column("Event_Type", pa.nulls(3)), "Payment": PAYMENTS},
            "input Order: column 'Event_Type' is a name that Eventide adds\nHint: rename it",
        ),
        (
            BY_TYPE,
            {"Order": ORDERS.append_column("ITEM", pa.nulls(3)), "Payment": PAYMENTS},
            "input Order: column 'ITEM' is there twice\nHint: rename it",
        ),
        (
            BY_TYPE,
            {"Order": ORDERS, "Payment": PAYMENTS.set_column(1, "User", pa.array([1, 2]))},
            "column 'User' is string in input Order and bigint in input Payment\nHint: cast one of them",
        ),
    ],
)
def test_inputs_per_event_type_that_do_not_fit(query: ev.Query, inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(ev.InputError) as caught:
        query.run(**inputs)
    assert str(caught.value) == message


@pytest.mark.spark
def test_one_spark_input_per_event_type(spark: Any) -> None:
    orders, payments = spark.createDataFrame(ORDERS), spark.createDataFrame(PAYMENTS)
    assert by_time(BY_TYPE.run(Order=orders, Payment=payments).toArrow()) == BY_TYPE_ROWS
    with pytest.raises(ev.InputError, match="input Order: column 'Event_Type' is a name that Eventide adds"):
        BY_TYPE.run(Order=orders.selectExpr("*", "1 AS Event_Type"), Payment=payments)
    with pytest.raises(ev.InputError, match="column 'User' is string in input Order and int in input Payment"):
        BY_TYPE.run(Order=orders, Payment=payments.selectExpr("ts", "amount", "item", "1 AS User"))
    with pytest.raises(ev.InputError, match=r"engine='spark' takes Spark DataFrames or a path, found pyarrow\.Table"):
        BY_TYPE.run(Order=orders, Payment=PAYMENTS)
    with pytest.raises(ev.InputError, match="engine='local' does not read Spark DataFrames"):
        BY_TYPE.run(Order=orders, Payment=payments, engine="local")


def test_numbers_widen_and_nulls_have_any_type() -> None:
    orders = ORDERS.append_column("amount", pa.array([1.5, 2.5, 3.5])).append_column("note", pa.nulls(3))
    payments = PAYMENTS.append_column("note", pa.array(["p", "q"])).set_column(0, "ts", pa.array([3, 6], pa.int32()))
    found = BY_TYPE.run(Order=orders, Payment=payments)
    assert by_time(found) == BY_TYPE_ROWS
    assert found.schema.field("P_amount").type == pa.float64()


@pytest.mark.spark
def test_numbers_widen_the_same_on_spark(spark: Any) -> None:
    orders = spark.createDataFrame(ORDERS).selectExpr("*", "1.5D AS amount", "NULL AS note")
    payments = spark.createDataFrame(PAYMENTS).selectExpr(
        "CAST(ts AS INT) AS ts", "user", "amount", "item", "'p' AS note"
    )
    found = BY_TYPE.run(Order=orders, Payment=payments).toArrow()
    assert by_time(found) == BY_TYPE_ROWS
    assert found.schema.field("P_amount").type == pa.float64()
