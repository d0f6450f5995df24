"""One test per sentence of semantics.md, "Situations and Allen relations", by hand, on the embedded engine."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from tests.families.situations.lanes import intervals, lanes, rows, run, table

# --- deriving ---------------------------------------------------------------------------------------------------


def test_a_situation_is_from_its_first_event_to_the_first_that_does_not_satisfy() -> None:
    assert intervals("A overlaps B", lanes(a=".###...", b="..###..")) == [(1, 4, 2, None, 4)]
    assert intervals("A overlaps B", lanes(a=".# #. ..", b=".. ## #.")) == [(1, 4, 3, None, 4)]


def test_a_run_is_of_one_partition() -> None:
    events = sorted(
        lanes(keys={"g": 1}, a=".###...", b="..###..") + lanes(keys={"g": 2}, a=".......", b="......."),
        key=lambda event: event["ts"],
    )
    assert intervals("PARTITION BY g DEFINE A AS a, B AS b PATTERN A overlaps B", events) == [(1, 4, 2, None, 4)]


def test_null_is_a_partition_of_its_own() -> None:
    events = [
        event
        for key, a, b in ((None, "##..", "..#."), (1, "#...", "..#."), (2, "....", "####"))
        for event in lanes(keys={"g": key}, a=a, b=b)
    ]
    text = "PARTITION BY g DEFINE A AS a, B AS b PATTERN A before|meets B RETURN g, end(A) AS ended"
    assert rows(text, events) == [(None, 2, 2), (1, 1, 2)]


def test_partition_columns_may_be_several() -> None:
    events = [
        event
        for key in ((1, "p"), (1, "q"), (2, "p"))
        for event in lanes(keys={"g": key[0], "h": key[1]}, a="#..", b="..#" if key != (1, "q") else "...")
    ]
    text = "PARTITION BY g, h DEFINE A AS a, B AS b PATTERN A before B RETURN h, g"
    assert rows(text, events) == [("p", 1, 2), ("p", 2, 2)]


def test_a_condition_that_is_null_does_not_hold() -> None:
    assert intervals("A before B", lanes(a="##?#...", b="....?#.")) == [(0, 2, 5, None, 5), (3, 4, 5, None, 5)]


@pytest.mark.parametrize(
    ("tied", "expected"),
    [
        # A run inside one instant is none.
        ([(2, True), (2, False)], []),
        # One ends and the next begins at the same instant.
        ([(1, True), (2, False), (2, True), (3, False)], [(1, 2), (2, 3)]),
        ([(1, True), (2, False), (2, True), (2, False), (3, False)], [(1, 2)]),
        ([(2, False), (2, True), (3, False)], [(2, 3)]),
        ([(2, True), (2, True), (3, False), (3, True), (3, False)], [(2, 3)]),
    ],
)
def test_all_events_of_one_instant_are_applied_before_anything_is_tested(
    tied: list[tuple[int, bool]], expected: list[tuple[int, int]]
) -> None:
    events = [{"ts": ts, "id": i, "a": a, "b": False} for i, (ts, a) in enumerate(tied)]
    events += [{"ts": 8, "id": 50, "a": False, "b": True}]
    found = intervals("A before B", events, symbols="A", sequence="id")
    assert found == [(*interval, 8) for interval in expected]


def test_two_situations_that_begin_at_one_instant_through_different_events_start_each_other() -> None:
    events = [
        {"ts": 1, "id": 0, "a": True, "b": False},
        {"ts": 1, "id": 1, "a": True, "b": True},
        {"ts": 3, "id": 2, "a": False, "b": True},
        {"ts": 4, "id": 3, "a": False, "b": False},
    ]
    assert intervals("A starts B", events, sequence="id") == [(1, 3, 1, None, 3)]
    assert intervals("A starts|equals|started-by B", events, sequence="id") == [(1, None, 1, None, 1)]


def test_tied_events_without_a_sequence_are_in_the_order_of_the_columns_read_nulls_first() -> None:
    """b stands before a in the schema: False, True by b, whatever a is."""
    events = [
        {"ts": 1, "b": True, "a": False},
        {"ts": 1, "b": False, "a": True},
        {"ts": 3, "b": False, "a": False},
    ]
    # (b, a): (False, True) then (True, False): A is empty, B is [1, 3).
    assert intervals("A before|meets|overlaps B", events) == []
    # NULL comes before False: a is first unknown, then true.
    events = [{"ts": 1, "a": True, "b": False}, {"ts": 1, "a": None, "b": True}, {"ts": 3, "a": False, "b": True}]
    assert intervals("A before|meets B", events) == [(1, 3, 3, None, 3)]


def test_rows_of_the_input_may_stand_in_any_order() -> None:
    events = lanes(a=".###....", b="..###.#.")
    expected = intervals("A overlaps|before B", events)
    assert expected == [(1, 4, 2, None, 4), (1, 4, 6, None, 6)]
    assert intervals("A overlaps|before B", events[::-1]) == expected
    assert intervals("A overlaps|before B", events[1::2] + events[::2]) == expected


def test_the_end_of_the_input_does_not_close_a_situation() -> None:
    assert intervals("A before B", lanes(a="##....", b="...###"), symbols="B") == [(3, None, 3)]
    complete = "DEFINE A AS a, B AS b PATTERN A before B EMIT ON COMPLETE"
    assert intervals(complete, lanes(a="##....", b="...###")) == []
    assert intervals(complete, lanes(a="##....", b="...##.")) == [(0, 2, 3, 5, 5)]


def test_the_end_of_the_input_closes_situations_on_request() -> None:
    complete = "DEFINE A AS a, B AS b PATTERN A before B EMIT ON COMPLETE"
    assert intervals(complete, lanes(a="##....", b="...###"), close_at_end=True) == [(0, 2, 3, 5, 5)]


# --- durations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "kept"),
    [
        ("AT LEAST 3 seconds", [3, 4]),
        ("AT MOST 3 seconds", [2, 3]),
        ("BETWEEN 3 seconds AND 3 seconds", [3]),
        ("BETWEEN 2 seconds AND 3 seconds", [2, 3]),
        ("AT LEAST 5 seconds", []),
        ("AT LEAST 2500 milliseconds", [3, 4]),
    ],
)
def test_duration_constraints_apply_to_end_minus_start_and_include_their_bounds(bounds: str, kept: list[int]) -> None:
    events = lanes(a="##.###.####.....", b="..............#.")
    found = intervals(f"DEFINE A AS a FOR {bounds}, B AS b PATTERN A before B", events, symbols="A")
    assert [end - start for start, end, _ in found] == kept


def test_a_duration_is_that_of_the_interval_not_of_the_events() -> None:
    """The last event of the run is at 2, but the situation lasts to 9."""
    events = lanes(a=".##      ..", b="..........#")
    text = "DEFINE A AS a FOR AT LEAST 8 seconds, B AS b PATTERN A before B"
    assert intervals(text, events) == [(1, 9, 10, None, 10)]


def test_a_minimum_duration_is_certain_at_the_first_event_that_reaches_it() -> None:
    events = lanes(a="..##......", b=".#######..")
    text = "DEFINE A AS a, B AS b FOR AT LEAST {} seconds PATTERN A during B"
    assert intervals(text.format(3), events) == [(2, 4, 1, None, 4)]
    assert intervals(text.format(5), events) == [(2, 4, 1, None, 6)]
    assert intervals(text.format(7), events) == [(2, 4, 1, 8, 8)]
    assert intervals(text.format(8), events) == []


def test_a_minimum_duration_is_reached_at_an_event_of_the_partition() -> None:
    events = lanes(a="..##.    ..", b=".####    ##")
    text = "DEFINE A AS a, B AS b FOR AT LEAST 5 seconds PATTERN A during B"
    assert intervals(text, events) == [(2, 4, 1, None, 9)]


def test_a_maximum_duration_is_certain_only_at_the_end() -> None:
    events = lanes(a="..##......", b=".#######..")
    text = "DEFINE A AS a, B AS b FOR AT MOST {} seconds PATTERN A during B"
    assert intervals(text.format(7), events) == [(2, 4, 1, 8, 8)]
    assert intervals(text.format(6), events) == []
    assert intervals(text.format(7), events[:8]) == []


def test_prefix_groups_wait_for_durations_too() -> None:
    events = lanes(a=".######..", b="..#####..")
    group = "overlaps|finished-by|contains"
    assert intervals(f"DEFINE A AS a, B AS b PATTERN A {group} B", events)[0][-1] == 2
    assert intervals(f"DEFINE A AS a, B AS b FOR AT LEAST 3 seconds PATTERN A {group} B", events)[0][-1] == 5
    assert intervals(f"DEFINE A AS a FOR AT MOST 9 seconds, B AS b PATTERN A {group} B", events)[0][-1] == 7


# --- relations and certainty ------------------------------------------------------------------------------------

# a, b, the instant of the third endpoint, that of the second
TABLE = {
    "before": ("##....", "...##.", 3, 3),
    "meets": ("##....", "..##..", 2, 2),
    "starts": (".##...", ".####.", 3, 1),
    "equals": (".###..", ".###..", 4, 1),
    "started-by": (".####.", ".##...", 3, 1),
    "overlaps": (".###..", "..###.", 4, 2),
    "finished-by": (".####.", "...##.", 5, 3),
    "contains": (".####.", "..#...", 3, 2),
}
INVERSE = {
    "before": "after",
    "meets": "met-by",
    "overlaps": "overlapped-by",
    "starts": "started-by",
    "started-by": "starts",
    "contains": "during",
    "finished-by": "finishes",
    "equals": "equals",
}
GROUPS = [("before", "meets"), ("starts", "equals", "started-by"), ("overlaps", "finished-by", "contains")]


@pytest.mark.parametrize("name", TABLE)
def test_a_single_relation_is_certain_at_its_third_endpoint(name: str) -> None:
    a, b, third, _ = TABLE[name]
    assert [row[-1] for row in intervals(f"A {name} B", lanes(a=a, b=b))] == [third]
    assert [row[-1] for row in intervals(f"B {INVERSE[name]} A", lanes(a=a, b=b))] == [third]


@pytest.mark.parametrize("name", TABLE)
def test_only_the_relation_that_holds_is_found(name: str) -> None:
    a, b, *_ = TABLE[name]
    for other in [*TABLE, *INVERSE.values()]:
        assert bool(intervals(f"A {other} B", lanes(a=a, b=b))) == (other == name)


@pytest.mark.parametrize("group", GROUPS)
def test_a_whole_prefix_group_is_certain_at_the_second_endpoint(group: tuple[str, ...]) -> None:
    for name in group:
        a, b, _, second = TABLE[name]
        assert [row[-1] for row in intervals(f"A {'|'.join(group)} B", lanes(a=a, b=b))] == [second]
        mirrored = "|".join(INVERSE[other] for other in group)
        assert [row[-1] for row in intervals(f"B {mirrored} A", lanes(a=a, b=b))] == [second]


@pytest.mark.parametrize("group", GROUPS[1:])
def test_a_part_of_a_prefix_group_waits_for_the_third_endpoint(group: tuple[str, ...]) -> None:
    for left_out in group:
        part = [name for name in group if name != left_out]
        for name in group:
            a, b, third, _ = TABLE[name]
            expected = [third] if name != left_out else []
            assert [row[-1] for row in intervals(f"A {'|'.join(part)} B", lanes(a=a, b=b))] == expected


def test_an_ongoing_situation_ends_after_the_event_at_hand() -> None:
    """At 4 both go on as far as is known: equals and finished-by would be guesses."""
    events = lanes(a=".####", b=".####")
    assert intervals("A equals B", events) == []
    assert intervals("A equals|starts B", events) == []
    assert intervals("A equals|starts|started-by B", events) == [(1, None, 1, None, 1)]


def test_the_first_situation_must_have_ended_before_the_second_begins() -> None:
    """A ends and B begins with one event: A meets B is certain there, and before is not possible."""
    assert intervals("A before B", lanes(a="##..", b="..#.")) == []
    assert intervals("A meets B", lanes(a="##..", b="..#.")) == [(0, 2, 2, None, 2)]


# --- early emission ---------------------------------------------------------------------------------------------


def test_a_match_is_emitted_once() -> None:
    """Certain at B's start, and still true at both ends."""
    events = lanes(a="##......", b="...##...")
    assert intervals("A before B", events) == [(0, 2, 3, None, 3)]
    both = lanes(a=".####...", b="..##....")
    assert intervals("A contains|finished-by|overlaps B", both) == [(1, None, 2, None, 2)]


def test_every_configuration_of_situations_is_a_match_of_its_own() -> None:
    events = lanes(a="#.#.....", b="....#.#.")
    assert [row[-1] for row in intervals("A before B", events)] == [4, 6, 4, 6]


def test_situations_that_are_not_related_may_both_go_on() -> None:
    """Figure 4 of 001, second configuration."""
    events = lanes(a="#.......", b="..######", c=".##.....", d="...#####")
    pattern = "A before|meets B AND A before|meets C AND A before|meets D AND C contains|finished-by|meets D"
    assert intervals(pattern, events, symbols="ABCD") == [(0, 1, 2, None, 1, 3, 3, None, 3)]


def test_the_last_constraint_to_become_certain_decides_the_instant() -> None:
    events = lanes(a="#........", b="......##.", c=".###.....", d="..#......")
    pattern = "A before B AND C contains D"
    assert intervals(pattern, events, symbols="ABCD") == [(0, 1, 6, None, 1, 4, 2, 3, 6)]


def test_a_chain_of_relations_is_their_conjunction() -> None:
    events = lanes(a=".##......", b=".####....", c="......##.")
    assert intervals("A starts B before C", events, symbols="ABC") == [(1, 3, 1, 5, 6, None, 6)]


def test_detected_at_is_an_event_time_of_the_partition() -> None:
    events = lanes(keys={"g": 1}, a="..##.    ..", b=".####    ##")
    events += lanes(keys={"g": 2}, a="..........", b="..........")
    text = "PARTITION BY g DEFINE A AS a, B AS b FOR AT LEAST 5 seconds PATTERN A during B"
    assert intervals(text, events) == [(2, 4, 1, None, 9)]


def test_within_is_from_the_first_start_to_the_detection_and_includes_its_bound() -> None:
    events = lanes(a=".##.......", b="....#####.")
    assert intervals("A before B WITHIN 3 seconds", events) == [(1, 3, 4, None, 4)]
    assert intervals("A before B WITHIN 2 seconds", events) == []
    # The one that decides may be the one that is too old.
    assert intervals("A overlaps B WITHIN 4 seconds", lanes(a=".#####..", b="...####.")) == []
    assert intervals("A overlaps B WITHIN 5 seconds", lanes(a=".#####..", b="...####.")) == [(1, 6, 3, None, 6)]
    # The other pair fits.
    events = lanes(a="#..#......", b="......###.")
    assert intervals("A before B WITHIN 4 seconds", events) == [(3, 4, 6, None, 6)]


def test_aggregates_cover_the_events_seen_at_the_detection() -> None:
    events = [{**event, "v": i} for i, event in enumerate(lanes(a=".###....", b="..####.."))]
    returned = "count(B.*) AS n, sum(B.v) AS total, first(B.v) AS f, last(B.v) AS l, avg(A.v) AS mean"
    text = f"DEFINE A AS a, B AS b PATTERN A overlaps B {{}} RETURN {returned}, min(B.v) AS mi, max(B.v) AS ma"
    # At 4 A has ended; B has the events at 2, 3 and 4.
    assert rows(text.format(""), events) == [(3, 9, 2, 4, 2.0, 2, 4, 4)]
    assert rows(text.format("EMIT ON COMPLETE"), events) == [(4, 14, 2, 5, 2.0, 2, 5, 6)]


def test_aggregates_ignore_nulls() -> None:
    values = [None, 3, None, 5, None, 9, None]
    events = [{**event, "v": v} for v, event in zip(values, lanes(a=".###...", b=".....#."), strict=True)]
    returned = "count(A.*) AS n, count(A.v) AS m, sum(A.v) AS s, avg(A.v) AS a, stddev(A.v) AS d, sum(B.v) AS b"
    (row,) = rows(f"DEFINE A AS a, B AS b PATTERN A before B RETURN {returned}", events)
    assert row == (3, 2, 8, 4.0, pytest.approx(2**0.5), 9, 5)


def test_an_aggregate_of_no_values_is_null_and_the_deviation_of_one_too() -> None:
    events = [{**event, "v": 1 if i == 1 else None} for i, event in enumerate(lanes(a=".#.....", b="...##.."))]
    returned = "sum(B.v) AS s, min(B.v) AS m, avg(B.v) AS a, count(B.v) AS n, stddev(A.v) AS d"
    assert rows(f"DEFINE A AS a, B AS b PATTERN A before B RETURN {returned}", events) == [
        (None, None, None, 0, None, 3)
    ]


# --- complete emission ------------------------------------------------------------------------------------------


def test_complete_emission_waits_for_all_ends() -> None:
    text = "DEFINE A AS a, B AS b PATTERN A before B {} EMIT ON COMPLETE"
    events = lanes(a=".##.......", b="....#####.")
    assert intervals(text.format(""), events) == [(1, 3, 4, 9, 9)]
    assert intervals(text.format("WITHIN 8 seconds"), events) == [(1, 3, 4, 9, 9)]
    assert intervals(text.format("WITHIN 7 seconds"), events) == []


def test_complete_emission_measures_to_the_last_end_of_all() -> None:
    events = lanes(a=".#######..", b="...##.....")
    text = "DEFINE A AS a, B AS b PATTERN B during A EMIT ON COMPLETE"
    assert intervals(text, events) == [(1, 8, 3, 5, 8)]


# --- results ----------------------------------------------------------------------------------------------------


def test_the_relations_still_possible_are_returned_on_request() -> None:
    events = lanes(a=".####.", b="...##.")
    result = run("PATTERN A overlaps|finished-by|contains B RETURN start(A) AS s", events, possible=True)
    assert result["A_B"].to_pylist() == [["overlaps", "contains", "finished-by"]]
    result = run("PATTERN B finishes|before A RETURN start(A) AS s OPTIONS (possible = true)", events)
    assert result["B_A"].to_pylist() == [["finishes"]]


def test_the_result_has_the_returned_columns_and_the_instant_of_detection() -> None:
    result = run("PATTERN A before B RETURN end(B) AS e, count(A.*) AS n", lanes(a="##...", b="...#."))
    assert result.column_names == ["e", "n", "detected_at"]
    assert result.to_pylist() == [{"e": None, "n": 2, "detected_at": 3}]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_integer_times_have_the_unit_of_the_input(unit: str) -> None:
    bound = {"s": "2 seconds", "ms": "2 milliseconds", "us": "2 microseconds"}[unit]
    text = f"DEFINE A AS a FOR AT LEAST {bound}, B AS b PATTERN A before B"
    events = lanes(a="##.#...", b=".....#.")
    assert intervals(text, events, ts_unit=unit) == [(0, 2, 5, None, 5)]


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.date32()])
def test_times_have_the_type_of_the_input(kind: pa.DataType) -> None:
    day = 86_400
    scale = 1 if kind == pa.date32() else day * (1000 if kind.unit == "ms" else 1_000_000)
    events = table(lanes(a="##....", b="...#.."))
    times = pa.array([t * scale for t in events["ts"].to_pylist()]).cast(pa.int64())
    times = times.cast(pa.int32()).cast(kind) if kind == pa.date32() else times.cast(kind)
    text = "DEFINE A AS a FOR AT LEAST 2 days, B AS b PATTERN A before B RETURN start(A) AS s, end(A) AS e, end(B) AS o"
    result = ev.query(text, ts="ts").run(events.set_column(0, "ts", times))
    assert {result.schema.field(name).type for name in ("s", "e", "o", "detected_at")} == {kind}
    (row,) = result.to_pylist()
    assert str(row["s"])[:10] == "1970-01-01" and str(row["e"])[:10] == "1970-01-03" and row["o"] is None
    assert str(row["detected_at"])[:10] == str(dt.date(1970, 1, 4))


@pytest.mark.parametrize("events", [lanes(a="#", b="#"), lanes(a=".", b="."), []])
def test_one_event_or_none_gives_no_match(events: list[dict[str, Any]]) -> None:
    text = "DEFINE A AS a, B AS b PATTERN A before B RETURN start(A) AS s"
    result = ev.query(text, ts="ts", ts_unit="s").run(table(events))
    assert result.num_rows == 0 and result.column_names == ["s", "detected_at"]


def test_one_event_may_start_two_situations() -> None:
    assert intervals("A starts|equals|started-by B", lanes(a="#", b="#")) == [(0, None, 0, None, 0)]


def test_a_missing_time_is_an_error_that_names_the_row_or_is_dropped() -> None:
    events = table(lanes(a="##...", b="...#."))
    ts = pa.array([0, None, 2, 3, 4], pa.int64())
    broken = events.set_column(0, "ts", ts)
    text = "DEFINE A AS a, B AS b PATTERN A before B RETURN end(A) AS e"
    with pytest.raises(ev.EventideError, match="an event has no time"):
        ev.query(text, ts="ts", ts_unit="s").run(broken)
    assert ev.query(text, ts="ts", ts_unit="s", on_bad_event="drop").run(broken)["e"].to_pylist() == [2]
