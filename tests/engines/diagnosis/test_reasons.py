"""What a diagnosis of an event pattern says failed, reason by reason."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.families.events import beginnings


def events(letters: str, **columns: list[Any]) -> list[dict[str, Any]]:
    """One event per letter, a second apart; a letter is the kind."""
    return [
        {"ts": i, "kind": kind, "x": i} | {name: values[i] for name, values in columns.items()}
        for i, kind in enumerate(letters)
        if kind != " "
    ]


def diagnosed(text: str, rows: Any, **options: Any) -> dict[str, Any]:
    """The only row of a diagnosis without partitions."""
    (row,) = ev.query(text, **{"ts_unit": "s", "type": "kind"} | options).diagnose(rows).table.to_pylist()
    return row


def cause(text: str, letters: str, **columns: list[Any]) -> tuple[Any, ...]:
    row = diagnosed(text, events(letters, **columns))
    return tuple(row[name] for name in ("symbol", "reason", "predicate", "values", "event"))


def test_a_type_that_no_event_has_is_named_with_what_the_events_have() -> None:
    row = diagnosed("PATTERN SEQ(a, B)", events("ab"))
    assert (row["symbol"], row["reason"], row["predicate"]) == ("B", "no event", "kind = 'B'")
    assert row["hint"] == "the events have kind = 'b'"


def test_events_of_the_type_that_come_before_are_out_of_order() -> None:
    assert cause("PATTERN SEQ(b, a)", "aab") == ("a", "order", None, "the last one, not after b at 2", 1)


def test_the_event_of_the_step_before_is_not_behind_it() -> None:
    assert cause("PATTERN SEQ(a x, a y)", "a") == ("y", "order", None, "the last one, not after x at 0", 0)


def test_the_end_of_the_window_is_outside() -> None:
    assert cause("PATTERN SEQ(a, b) WITHIN 3 seconds", "a  b")[:2] == ("b", "window")


def test_the_longer_branch_of_or_counts_for_what_is_behind_it() -> None:
    row = diagnosed("PATTERN SEQ(OR(SEQ(a, b), c), d, e) WITHIN 5 seconds", events("ab        cd"))
    assert (row["symbols"], row["missing"]) == (["c", "d"], 1)


def test_a_condition_on_the_event_alone_shows_the_first_event_behind() -> None:
    assert cause("PATTERN SEQ(a, b) WHERE b.x > 9", "babb") == ("b", "condition", "b.x > 9", "b.x = 2", 2)


def test_conditions_are_put_one_after_the_other_and_the_first_that_none_meets_failed() -> None:
    text = "PATTERN SEQ(a, b) WHERE b.x > 2 AND b.x > a.x + 9"
    assert cause(text, "abbb") == ("b", "condition", "b.x > a.x + 9", "b.x = 3, a.x = 0", 3)


def test_a_text_in_a_condition_that_no_event_has_gets_a_hint() -> None:
    row = diagnosed("PATTERN SEQ(a, b) WHERE b.s = 'ok'", events("ab", s=["x", "OK"]))
    assert (row["predicate"], row["values"], row["hint"]) == ("b.s = 'ok'", "b.s = OK", "the events have s = 'OK'")


def test_define_is_taken_apart_into_its_conjuncts() -> None:
    text = "PATTERN SEQ(First f, Big g) DEFINE First AS x = 0, Big AS x > 1 AND x > 100"
    assert cause(text, "aaa") == ("g", "condition", "x > 100", "x = 2", 2)


def test_a_window_says_how_much_longer_it_would_have_to_be() -> None:
    row = diagnosed("PATTERN SEQ(a, b) WITHIN 2 seconds", events("a    b"))
    assert (row["symbol"], row["reason"], row["predicate"], row["event"]) == ("b", "window", "WITHIN 2 seconds", 5)
    assert row["hint"] == "WITHIN would have to be longer than 5 seconds for these events"
    assert diagnosed("PATTERN SEQ(a, b) WITHIN 6 seconds", events("a    b"))["matched"]


def test_of_sliding_windows_one_that_holds_both_events_counts() -> None:
    text = "PATTERN SEQ(a, b) WHERE b.x > 9 WITHIN 2 seconds SLIDE 1 second"
    assert cause(text, "ab") == ("b", "condition", "b.x > 9", "b.x = 1", 1)
    relating = "PATTERN SEQ(a, b) WHERE b.x > a.x + 9 WITHIN 2 seconds SLIDE 1 second"
    assert cause(relating, "ab")[:3] == ("b", "condition", "b.x > a.x + 9")
    assert cause(relating, "a b")[:3] == ("b", "window", "WITHIN 2 seconds SLIDE 1 second")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SEQ(a, NOT n, b)", ("b", "absence", "NOT n", "n at 1", 2)),
        ("SEQ(b, NOT n) WITHIN 9 seconds", ("n", "absence", "NOT n", "n at 3", 3)),
        ("SEQ(NOT n, b) WITHIN 9 seconds", ("n", "absence", "NOT n", "n at 1", 1)),
    ],
)
def test_what_not_excludes_is_shown_where_it_is(text: str, expected: tuple[Any, ...]) -> None:
    assert cause(f"PATTERN {text}", "anbn") == expected


def test_under_contiguous_the_event_in_between_is_shown() -> None:
    row = diagnosed("PATTERN SEQ(a, b) SEMANTICS contiguous", events("acb"))
    assert (row["reason"], row["values"], row["event"]) == ("contiguity", "the event at 1 is in between", 2)


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("avg(b.x) > 9", "avg(b.x) = 1.5"),
        ("c.x > 5 * avg(2 * b.x) + count(b)", "c.x = 3, avg(2 * b.x) = 3.0, count(b) = 2"),
        ("min(b.kind) > 'b'", "min(b.kind) = b"),
        ("sum(b.x) > a.x + 9", "a.x = 0, sum(b.x) = 3"),
    ],
)
def test_an_aggregate_shows_its_value(condition: str, values: str) -> None:
    text = f"PATTERN SEQ(a, b+, c) WHERE {condition}"
    assert cause(text, "abbc")[1:4] == ("condition", condition, values)


def test_an_aggregate_at_the_end_shows_its_value() -> None:
    row = diagnosed("PATTERN SEQ(a, b+) WHERE max(b.x) > 9 SEMANTICS contiguous", events("abb"))
    assert (row["reason"], row["values"]) == ("condition", "max(b.x) = 2")


def test_adjacent_events_show_both_sides_of_next() -> None:
    text = "PATTERN SEQ(a, b) WHERE a.x > NEXT(b).x"
    assert cause(text, "ab") == ("b", "condition", "a.x > NEXT(b).x", "a.x = 0, NEXT(b).x = 1", 1)


def test_min_length_is_a_reason_when_all_events_are_there() -> None:
    row = diagnosed("PATTERN SEQ(a, b+) MIN LENGTH 4", events("abb"))
    assert (row["missing"], row["length"], row["reason"], row["values"]) == (0, 3, "length", "3 events")


def test_an_and_names_the_side_that_is_not_there() -> None:
    assert cause("PATTERN SEQ(a, AND(b, c))", "ab")[:3] == ("c", "no event", "kind = 'c'")
    row = diagnosed("PATTERN AND(b, c) WHERE b.x = c.x", events("bc"))
    assert (row["length"], row["symbol"], row["reason"]) == (0, "AND(b, c)", "condition")


def test_the_reason_does_not_depend_on_how_often_a_repetition_took_an_event() -> None:
    """The last c lies before the last b, but every c fails the condition."""
    text = "PATTERN SEQ(a, b+, c) WHERE c.x > 100"
    assert cause(text, "abbcb") == ("c", "condition", "c.x > 100", "c.x = 3", 3)


def test_a_repetition_in_the_middle_does_not_hide_how_far_the_events_lead() -> None:
    row = diagnosed("PATTERN SEQ(a+, b, c)", events("abaaa"))
    assert (row["symbols"], row["symbol"]) == (["a", "b"], "c")


@pytest.mark.parametrize(
    ("pattern", "letters", "found"),
    [
        # All the events of the last repetition.
        ("SEQ(a, b+, c)", "abbb", [0, 1, 2, 3]),
        # Of several that have come as far, the first; a later window finds another one.
        ("SEQ(a, b, c)", "abab", [0, 1]),
        ("SEQ(a, b, c) WITHIN 4 seconds SLIDE 2 seconds", "ab   ab", [0, 1]),
        # Steps that may be left out have ranks that nothing reaches.
        ("SEQ(a?, b, c?, d, e)", "bd", [0, 1]),
        # NOT at an edge, and NOT whose condition names a later symbol, say nothing yet.
        ("SEQ(NOT n, a, b, c) WITHIN 9 seconds", "nab", [1, 2]),
        ("SEQ(a, NOT n, b, c) WHERE n.x > c.x", "anb", [0, 2]),
        # AND is one step: all of its sides, or none.
        ("SEQ(a, AND(b, c), d)", "abc", [0, 1, 2]),
        ("SEQ(a, AND(b, c), d)", "abd", [0]),
    ],
)
def test_the_partial_match_that_leads_furthest_is_found(pattern: str, letters: str, found: list[int]) -> None:
    assert diagnosed(f"PATTERN {pattern}", events(letters))["events"] == found


def test_partitions_without_a_match_come_first_and_are_counted_by_cause() -> None:
    rows = events("abab", g=[1, 1, 2, 2], y=[0, 5, 9, 1])
    why = ev.query("PATTERN SEQ(a, b) WHERE [g] AND b.y > a.y", ts_unit="s", type="kind").diagnose(rows)
    assert why.table.column("g").to_pylist() == [2, 1]
    assert why.table.column("matched").to_pylist() == [False, True]
    assert why.summary.to_pylist() == [
        {"symbol": "b", "reason": "condition", "predicate": "b.y > a.y", "partitions": 1}
    ]
    assert str(why).startswith("1 of 2 partitions have no match.\n  1 stops at b: b.y > a.y\n\ng = 2: no match")


def test_beyond_the_first_partitions_only_the_symbol_is_said() -> None:
    rows = [{"ts": i, "kind": "a", "g": i} for i in range(5)]
    why = ev.query("PATTERN SEQ(a, b) WHERE [g]", ts_unit="s", type="kind").diagnose(rows, partitions=2)
    assert why.table.column("reason").to_pylist() == ["no event", "no event", None, None, None]
    assert why.table.column("symbol").to_pylist() == ["b"] * 5
    assert "Of the first 2 of them:\n  2 stop at b" in str(why)


def test_the_order_of_the_rows_changes_nothing() -> None:
    rows = [{"ts": ts, "kind": kind, "x": x} for ts, kind, x in [(1, "a", 3), (1, "a", 2), (2, "b", 1), (2, "b", 0)]]
    query = ev.query("PATTERN SEQ(a, b) WHERE b.x > a.x", ts_unit="s", type="kind")
    assert query.diagnose(rows).table == query.diagnose(rows[::-1]).table


def test_a_search_that_was_stopped_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beginnings, "MAX_STEPS", 1)
    query = ev.query("PATTERN SEQ(a, b) WHERE b.x > a.x + 999", ts_unit="s", type="kind")
    n = int((2 * beginnings.LEAST_STEPS) ** 0.5)
    table = pa.table({"ts": range(2 * n), "kind": ["a"] * n + ["b"] * n, "x": [0] * 2 * n})
    (row,) = query.diagnose(table).table.to_pylist()
    assert (row["searched"], row["length"], row["predicate"]) == (False, 1, "b.x > a.x + 999")


def test_without_events_there_is_nothing_to_say() -> None:
    nothing = pa.table({"ts": pa.array([], pa.int64()), "kind": pa.array([], pa.string())})
    query = ev.query("PATTERN SEQ(a, b)", ts_unit="s", type="kind")
    assert str(query.diagnose(nothing)) == "There are no events."


def test_one_input_per_event_type_can_be_diagnosed() -> None:
    query = ev.query("PATTERN SEQ(a, b) WHERE b.x > a.x", ts_unit="s")
    why = query.diagnose(a=[{"ts": 1, "x": 5}], b=[{"ts": 2, "x": 4}])
    assert why.table.column("values").to_pylist() == ["b.x = 4, a.x = 5"]


def test_a_spark_dataframe_is_refused_and_the_hint_says_how_to_go_on() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()
    for diagnose in (
        ev.query("PATTERN SEQ(a, b)").diagnose,
        ev.match_recognize(pattern="A").diagnose,
        ev.Pattern.begin("a").diagnose,
    ):
        with pytest.raises(ev.UnsupportedError, match="toArrow"):
            diagnose(frame)
