"""Events are cut by bucket with all their columns; bad ones are the stream's and not a rule's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from eventide.engines.rules import share
from eventide.errors import InputError
from eventide.runtime.block import from_bytes
from tests.rules.bucket import OPTIONS, SCHEMA, table

pytest.importorskip("pyspark")


def cut(events: pa.Table, labels: tuple[int, ...] = (0,), **options: Any) -> list[tuple[int, pa.Table]]:
    from eventide.engines.spark.rules_stream import EventCutter

    rows = EventCutter.of(share(SCHEMA, OPTIONS | options), len(labels), labels).rows_of(iter(events.to_batches(3)))
    return [(row["bucket"][0].as_py(), from_bytes(row["data"][0].as_py())) for row in rows]


def without_time(events: pa.Table) -> pa.Table:
    times = pa.array([None, *events["ts"].to_pylist()[1:]], SCHEMA.field("ts").type)
    return events.set_column(1, "ts", times)


def test_all_events_of_a_partition_come_to_one_bucket_with_all_columns() -> None:
    events = pa.concat_tables([table([(0, "A"), (1, "B")], user) for user in "abcdefgh"])
    parts = cut(events, (7, 0))
    assert {label for label, _ in parts} == {7, 0}
    assert all(part.schema == SCHEMA for _, part in parts)
    users = [set(part["user"].to_pylist()) for _, part in parts]
    assert not users[0] & users[1] and users[0] | users[1] == set("abcdefgh")
    assert sum(part.num_rows for _, part in parts) == events.num_rows


def test_an_event_without_a_time_is_an_error_that_names_it() -> None:
    with pytest.raises(InputError, match=r"an event has no time: 'ts' is NULL in the event with user = 'u'"):
        cut(without_time(table([(0, "A"), (1, "B")])))


def test_an_event_without_a_time_can_be_dropped() -> None:
    ((_, part),) = cut(without_time(table([(0, "A"), (1, "B")])), on_bad_event="drop")
    assert part["kind"].to_pylist() == ["B"]


def test_a_time_out_of_range_is_an_error_that_names_the_column() -> None:
    far = pa.array([2**62], pa.int64()).cast(SCHEMA.field("ts").type)
    with pytest.raises(InputError, match="a time in 'ts'"):
        cut(table([(0, "A")]).set_column(1, "ts", far))
