"""Which column is meant: the same in every language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.families.allen.lower import Relating
from eventide.families.registry import family_named
from eventide.plan.options import Options
from eventide.plan.physical import Physical

TIME, WORD = pa.timestamp("us"), pa.string()


def schema(*names: str) -> pa.Schema:
    columns = [("ts", TIME), ("x", pa.int64()), ("interval_start", TIME), ("interval_end", TIME)]
    return pa.schema([*columns, *((name, WORD) for name in names)])


def allen(over: pa.Schema) -> Physical:
    return family_named("allen").prepare(Relating(1, partition_by=("user",)), Options(), (over, over))


PLANS: dict[str, Callable[[pa.Schema], Physical]] = {
    "events": ev.query("DEFINE A AS x > 1 PATTERN A", partition_by="user").plan,
    "situations": ev.query("DEFINE A AS x > 1, B AS x < 0 PATTERN A before B", partition_by="user").plan,
    "rows": ev.match_recognize(partition_by="user", order_by="ts", pattern="A B", define={"B": "x > 1"}).plan,
    "builder": ev.detect(ev.Pattern.begin("a", "x > 1"), partition_by="user").plan,
    "intervals": ev.intervals.homogeneous("x > 1", partition_by="user").plan,
    "allen": allen,
}


@pytest.mark.parametrize("language", PLANS)
def test_a_column_is_found_in_any_case(language: str) -> None:
    plan = PLANS[language](schema("USER"))
    names: Any = {column.name: column.origin for column in plan.project}
    assert names.get("USER", "USER") == "USER"
    assert plan.intake.layout.n_partition == 1


@pytest.mark.parametrize("language", PLANS)
def test_a_column_that_only_case_tells_from_another_is_refused(language: str) -> None:
    message = "column 'user' is ambiguous: the events have User and USER"
    with pytest.raises(ev.EventideError, match=message) as caught:
        PLANS[language](schema("User", "USER"))
    assert "the case of letters does not tell columns apart" in str(caught.value)
