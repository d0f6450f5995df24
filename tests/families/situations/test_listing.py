"""The situations of a query as a table: which are listed, and under which names."""

from __future__ import annotations

from typing import Any

import pytest

import eventide as ev
from tests.families.situations.lanes import lanes, table


def listed(text: str, events: list[dict[str, Any]], **options: Any) -> list[dict[str, Any]]:
    return ev.query(text, ts_unit="s", **options).situations(events).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("duration", "spans"),
    [
        ("", [(1, 4), (8, None)]),
        ("FOR AT LEAST 2 seconds", [(1, 4)]),
        ("FOR AT LEAST 1 second", [(1, 4), (8, None)]),
        ("FOR AT MOST 3 seconds", [(1, 4)]),
        ("FOR BETWEEN 1 second AND 2 seconds", []),
    ],
)
def test_only_what_meets_the_duration_is_listed(duration: str, spans: list[tuple[int, int | None]]) -> None:
    """The last run has lasted one second when the events end; how long it will last is open."""
    events = lanes(a=".###....##", b="......#...")
    found = listed(f"DEFINE A AS a {duration}, B AS b PATTERN A after|before B", events)
    assert [(row["start"], row["end"]) for row in found if row["symbol"] == "A"] == spans


def test_a_gap_ends_what_is_listed() -> None:
    events = [event for event in lanes(a=".########.", b="..........") if event["ts"] not in (4, 5, 6)]
    text = "DEFINE A AS a{}, B AS b PATTERN A before B"
    assert [(row["start"], row["end"]) for row in listed(text.format(""), events)] == [(1, 9)]
    gap = text.format(" MAX GAP 2 seconds")
    assert [(row["start"], row["end"]) for row in listed(gap, events)] == [(1, 5), (7, 9)]
    both = listed("DEFINE A AS a MAX GAP 4 seconds, B AS a MAX GAP 3 seconds PATTERN A before B", events)
    assert [tuple(row.values()) for row in both] == [("A", 1, 9), ("B", 1, 6), ("B", 7, 9)]


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ("symbol", ["symbol", "situation_symbol", "start", "end"]),
        ("start", ["start", "symbol", "situation_start", "end"]),
        ("END", ["END", "symbol", "start", "situation_end"]),
        ("car", ["car", "symbol", "start", "end"]),
    ],
)
@pytest.mark.parametrize("is_empty", [False, True])
def test_a_partition_column_keeps_its_name_beside_columns_of_the_listing(
    column: str, names: list[str], is_empty: bool
) -> None:
    events = table([{**event, column: "X"} for event in lanes(a=".###..", b="..###.")])
    q = ev.query(f"PARTITION BY `{column}` DEFINE A AS a, B AS b PATTERN A overlaps B", ts_unit="s")
    found = q.situations(events.slice(0, 0) if is_empty else events)
    assert found.column_names == names
    rows = [] if is_empty else [("X", "A", 1, 4), ("X", "B", 2, 5)]
    assert [tuple(row.values()) for row in found.to_pylist()] == rows
    if not is_empty:
        page = ev.timeline(query=q, events=events, partition={column: "X"})._repr_html_()
        assert "A: a" in page and "B: b" in page
