from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from eventide.errors import EventideError, QueryError
from eventide.lang import parse
from eventide.plan.options import Options


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"partition_by": "user, region"}, ("user", "region")),
        ({"partition_by": ["first, last"]}, ("first, last",)),
        ({"partition_by": []}, ()),
        ({"allowed_lateness": "1.5 minutes"}, 90_000_000),
        ({"allowed_lateness": "0 seconds"}, 0),
        ({"allowed_lateness": 0}, 0),
        ({"allowed_lateness": timedelta(days=1, microseconds=3)}, 86_400_000_003),
        ({"origin": "first"}, "first"),
        ({"origin": "6 hours"}, 21_600_000_000),
        ({"origin": -5}, -5),
        ({"origin": "-5"}, -5),
        ({"origin": datetime(1970, 1, 2)}, 86_400_000_000),
        ({"origin": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)}, 1_000_000),
        ({"match_id": "TRUE"}, True),
        ({"match_id": False}, False),
        ({"counts": "log2"}, "log2"),
        ({"ts": None}, None),
    ],
)
def test_values_that_are_taken(given: dict[str, Any], expected: object) -> None:
    (name,) = given
    assert getattr(Options.of(**given), name) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tss": "x"}, "there is no option 'tss'\nHint: did you mean 'ts'?"),
        ({"ts": 5}, "ts takes a column name, found 5"),
        ({"ts": ""}, "ts takes a column name, found ''"),
        (
            {"ts_unit": "ns"},
            "ts_unit='ns' is not possible\nHint: one of 's', 'ms', 'us'; divide nanoseconds by 1000 before",
        ),
        ({"ties": "loose"}, "ties='loose' is not possible\nHint: one of 'strict', 'sequence'"),
        ({"partition_by": ""}, "partition_by takes column names, found ''\nHint: for example 'user, region'"),
        ({"partition_by": [1]}, "partition_by takes column names, found [1]\nHint: for example 'user, region'"),
        ({"partition_by": 7}, "partition_by takes column names, found 7\nHint: for example 'user, region'"),
        ({"allowed_lateness": "5"}, "allowed_lateness='5' is not a duration\nHint: for example '10 seconds'"),
        ({"allowed_lateness": 5}, "allowed_lateness=5 is not a duration\nHint: for example '10 seconds'"),
        (
            {"allowed_lateness": "3 events"},
            "allowed_lateness='3 events' is not a duration\nHint: for example '10 seconds'",
        ),
        (
            {"allowed_lateness": timedelta(seconds=-1)},
            f"allowed_lateness={timedelta(seconds=-1)!r} is not a duration\nHint: for example '10 seconds'",
        ),
        ({"match_id": 1}, "match_id is true or false, found 1"),
        (
            {"origin": 1.5},
            "origin=1.5 is not possible\nHint: 'first', a datetime, or a time after the epoch such as '6 hours'",
        ),
        (
            {"origin": 2**62},
            f"origin={2**62} is out of range\nHint: it counts microseconds after the epoch",
        ),
        (
            {"origin": "-9000000 days"},
            "origin='-9000000 days' is not possible\n"
            "Hint: 'first', a datetime, or a time after the epoch such as '6 hours'",
        ),
        (
            {"origin": "90000000 days"},
            "origin='90000000 days' is out of range\nHint: it counts microseconds after the epoch",
        ),
    ],
)
def test_values_that_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(EventideError) as caught:
        Options.of(**given)
    assert str(caught.value) == message


def test_the_text_and_the_call_complete_one_another() -> None:
    query = parse("PATTERN A PARTITION BY user OPTIONS (ts = 'time', TS_UNIT = 'ms', match_id = true)")
    options = Options.for_query(query, type="kind", allowed_lateness="1 s")
    assert options == Options(
        ts="time", ts_unit="ms", match_id=True, partition_by=("user",), type="kind", allowed_lateness=1_000_000
    )


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("PATTERN A OPTIONS (ts = 'ts')", {"ts": "ts"}),
        # Also when the value is the default: what is said twice may differ tomorrow.
        ("PATTERN A OPTIONS (ties = 'sequence')", {"ties": "strict"}),
        ("PATTERN A OPTIONS (match_id = true)", {"match_id": False}),
    ],
)
def test_nothing_is_said_in_the_text_and_in_the_call(text: str, given: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match="is given twice") as caught:
        Options.for_query(parse(text), **given)
    assert caught.value.hint == "leave it out here or in the call"
    assert text[caught.value.start :].startswith(next(iter(given)))


@pytest.mark.parametrize(
    ("text", "given", "ties"),
    [
        ("PATTERN A", {}, "strict"),
        ("PATTERN A", {"sequence": "n"}, "sequence"),
        ("PATTERN A OPTIONS (sequence = 'n')", {}, "sequence"),
        ("PATTERN A OPTIONS (sequence = 'n', ties = 'strict')", {}, "strict"),
        ("PATTERN A OPTIONS (ties = 'strict')", {"sequence": "n"}, "strict"),
        ("PATTERN A", {"ties": "sequence"}, "sequence"),
    ],
)
def test_naming_a_sequence_orders_ties_unless_it_is_said_otherwise(text: str, given: dict[str, Any], ties: str) -> None:
    assert Options.for_query(parse(text), **given).ties == ties


def test_partition_columns_stand_in_one_place() -> None:
    with pytest.raises(QueryError, match="the partition columns are given twice"):
        Options.for_query(parse("PATTERN A PARTITION BY user"), partition_by="user")
