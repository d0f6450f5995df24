"""What `ev.detect` returns: columns, partitions, times, measures, conditions on earlier events, bounded memory."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import eventide as ev
from eventide.families.builder import walk
from tests.families.builder.conformance import arguments, cases, expected, found, to_pattern, to_table
from tests.oracle.builder import pattern as oracle
from tests.oracle.builder.matches import detect as oracle_detect

begin = ev.Pattern.begin


def ticks(*prices: float, **more: list[Any]) -> list[dict[str, Any]]:
    return [
        {"ts": i, "price": price} | {name: values[i] for name, values in more.items()} for i, price in enumerate(prices)
    ]


def taken(table: pa.Table, column: str = "price") -> list[dict[str, list[Any]]]:
    """The events of each step, by one column."""
    rows = table.to_pylist()
    return [{k: [e[column] for e in v] for k, v in row.items() if isinstance(v, list)} for row in rows]


def test_a_match_has_an_id_its_partition_its_ends_and_the_events_of_each_step() -> None:
    events = ticks(1, 2, 3, user=["ann", "bob", "ann"])
    result = ev.detect(events, begin("a").followed_by("b", "price > a.price"), partition_by="user", ts_unit="s")
    assert result.matches.column_names == ["match_id", "user", "match_start", "match_end", "a", "b"]
    (row,) = result.matches.to_pylist()
    assert len(row.pop("match_id")) == 32
    assert row == {
        "user": "ann",
        "match_start": 0,
        "match_end": 2,
        "a": [{"ts": 0, "price": 1, "user": "ann"}],
        "b": [{"ts": 2, "price": 3, "user": "ann"}],
    }
    assert result.timeouts.num_rows == 0
    assert result.late.num_rows == 0
    assert result.late.column_names == ["ts", "price", "user"]


def test_a_match_has_the_same_id_in_every_run_and_another_one_for_other_events() -> None:
    pattern = begin("a", "price > 1").followed_by_any("b", "price > 2")
    ids = [ev.detect(ticks(2, 3, 4), pattern, ts_unit="s").matches.column("match_id").to_pylist() for _ in range(2)]
    assert sorted(ids[0]) == sorted(ids[1])
    assert len(set(ids[0])) == len(ids[0]) == 3


def test_measures_stand_instead_of_the_steps() -> None:
    falls = "last(down.price, 1) IS NULL OR price < last(down.price, 1)"
    pattern = begin("down", falls).one_or_more().consecutive().next("up")
    select = {"n": "count(down.*)", "low": "min(down.price)", "rise": "up.price - last(down.price)", "all": "count(*)"}
    rows = ev.detect(ticks(5, 4, 2, 9), pattern, ts_unit="s", skip="past_last", select=select).matches.to_pylist()
    assert [{name: row[name] for name in select} for row in rows] == [
        {"n": 1, "low": 5, "rise": -1, "all": 2},
        {"n": 1, "low": 2, "rise": 7, "all": 2},
    ]


def test_timed_out_partial_matches_tell_how_far_they_came() -> None:
    pattern = begin("a", "price = 1").followed_by("b", "price = 2").followed_by("c", "price = 3").within("2 seconds")
    result = ev.detect(ticks(1, 2, 0, 1, 0), pattern, ts_unit="s")
    assert result.matches.num_rows == 0
    (row,) = result.timeouts.to_pylist()
    assert row["last_step"] == "b"
    assert [e["ts"] for e in row["a"]] == [0]
    assert row["c"] == []


def test_time_goes_on_in_all_partitions_and_with_close_at_end_to_its_end() -> None:
    pattern = begin("order", "price = 1").not_followed_by("pay", "price = 2").within(timedelta(seconds=3))
    events = [{"ts": datetime(2024, 1, 1, 0, 0, s), "user": u, "price": 1} for s, u in [(0, "ann"), (3, "bob")]]
    assert ev.detect(events, pattern, partition_by="user").matches.column("user").to_pylist() == ["ann"]
    assert ev.detect(events, pattern, partition_by="user", close_at_end=True).matches.num_rows == 2


def test_a_loop_before_a_trailing_not_is_complete_when_time_is_over() -> None:
    pattern = begin("a", "price = 1").one_or_more().not_followed_by("b", "price = 2").within("3 seconds")
    events = [{"ts": 0, "price": 1}, {"ts": 9, "price": 0}]
    assert taken(ev.detect(events, pattern, ts_unit="s").matches, "ts") == [{"a": [0]}]


def test_two_trailing_nots_both_count() -> None:
    pattern = begin("a", "price = 1").not_followed_by("b", "price = 2").not_followed_by("c", "price = 3")
    for price, n in [(2, 0), (3, 0), (4, 1)]:
        events = [{"ts": 0, "price": 1}, {"ts": 1, "price": price}, {"ts": 9, "price": 0}]
        assert ev.detect(events, pattern.within("3 seconds"), ts_unit="s").matches.num_rows == n


def test_tied_events_follow_one_another_by_sequence() -> None:
    events = [{"ts": 0, "n": n, "price": n} for n in (2, 1)]
    rows = ev.detect(events, begin("a").next("b"), ts_unit="s", sequence="n").matches
    assert taken(rows) == [{"a": [1], "b": [2]}]


def test_without_a_time_the_ends_are_those_of_the_sequence() -> None:
    rows = ev.detect([{"n": "y"}, {"n": "x"}], begin("a").next("b"), sequence="n").matches.to_pylist()
    assert [(row["match_start"], row["match_end"]) for row in rows] == [("x", "y")]


def _last(events: list[dict[str, Any]], offset: int = 0) -> Any:
    return events[-1 - offset]["price"] if len(events) > offset else None


_BOUND: dict[str, oracle.Condition] = {
    "price > a.price OR (price > avg(a.price) AND count(a.*) > 2)": lambda e, b: (
        e["price"] > _last(b["a"]) or (e["price"] > sum(x["price"] for x in b["a"]) / len(b["a"]) and len(b["a"]) > 2)
    ),
    "price = last(a.price, 1) OR upper(kind) = first(a.kind) AND coalesce(last(b.price, 1), 5) = sum(a.price)": (
        lambda e, b: (
            e["price"] == _last(b["a"], 1)
            or (e["kind"].upper() == b["a"][0]["kind"] and sum(x["price"] for x in b["a"]) == 5)
        )
    ),
    "price = first(a.price, 1)": lambda e, b: len(b["a"]) > 1 and e["price"] == b["a"][1]["price"],
}


@pytest.mark.parametrize("condition", _BOUND)
def test_conditions_look_at_the_events_so_far(condition: str) -> None:
    events = ticks(1, 3, 2, 3, 2, kind=["k", "K", "k", "K", "k"])
    rows = ev.detect(events, begin("a").one_or_more().followed_by("b", condition), ts_unit="s").matches
    steps = (
        oracle.Step("a", "begin", most=None),
        oracle.Step("b", "followed_by", _BOUND[condition]),
    )
    matches, _ = oracle_detect(oracle.Pattern(steps), events)
    wanted = [{name: [events[i]["price"] for step, i in match if step == name] for name in "ab"} for match in matches]
    assert sorted(map(str, taken(rows))) == sorted(map(str, wanted))
    assert wanted


@pytest.mark.parametrize(
    ("condition", "falls"),
    [
        ("fall.price < 5", [[3, 4, 1], [4, 1], [1]]),
        ("last(fall.price, 1) IS NULL OR fall.price < last(fall.price, 1)", [[5, 3, 1], [3, 1], [4, 1], [1]]),
        ("fall.price <= first(fall.price)", [[5, 3, 4, 1], [3, 1], [4, 1], [1]]),
        ("sum(fall.price) <= 8 AND fall.price < 9", [[3, 4, 1], [4, 1], [1]]),
        ("count(fall.*) <= 2 AND price < 9", [[4, 1], [1]]),
        ("fall.price = min(fall.price) AND price < 9", [[5, 3, 1], [3, 1], [4, 1], [1]]),
    ],
)
def test_a_steps_own_name_is_the_event_that_is_tested(condition: str, falls: list[list[int]]) -> None:
    pattern = begin("fall", condition).one_or_more().greedy().next("rise", "rise.price = 9")
    rows = ev.detect(ticks(5, 3, 4, 1, 9), pattern, ts_unit="s").matches
    assert [row["fall"] for row in taken(rows)] == falls


def test_a_single_step_may_be_written_as_in_match_recognize() -> None:
    events = [{"ts": 0, "kind": "A", "x": 1}, {"ts": 1, "kind": "B", "x": 5}]
    pattern = begin("a", "a.kind = 'A'").followed_by("b", "b.kind = 'B' AND b.x > a.x")
    assert ev.detect(events, pattern, ts_unit="s").matches.num_rows == 1
    assert pattern.diagnose(events, ts_unit="s").table["matched"].to_pylist() == [True]
    rows = ev.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN (A B) "
        "DEFINE A AS A.kind = 'A', B AS B.kind = 'B' AND B.x > A.x)",
        t=events,
    )
    assert rows.num_rows == 1


def test_a_step_that_must_not_occur_may_name_the_event_that_is_tested() -> None:
    for name in ("x", '"no_more"'):
        absent = begin("a", "price = 1").not_followed_by(name.strip('"'), f"{name}.price > a.price")
        pattern = absent.followed_by("b", "price = 0")
        assert ev.detect(ticks(1, 2, 0), pattern, ts_unit="s").matches.num_rows == 0
        assert ev.detect(ticks(1, 1, 0), pattern, ts_unit="s").matches.num_rows == 2


def test_until_is_a_condition_of_its_step() -> None:
    pattern = begin("a", "price < 9").one_or_more().consecutive().until("sum(a.price) > 6").next("b", "b.price = 9")
    for prices, loops in (((3, 2, 1, 9), [[3, 2, 1], [2, 1], [1]]), ((5, 2, 9), [[2]])):
        rows = ev.detect(ticks(*prices), pattern, ts_unit="s").matches
        assert [row["a"] for row in taken(rows)] == loops


@pytest.mark.parametrize("case", cases()[::4], ids=[case["id"] for case in cases()[::4]])
def test_matches_are_the_same_in_any_amount_of_room(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "ROOM", 1)
    monkeypatch.setattr(walk, "MATCHES_PER_CALL", 1)
    monkeypatch.setattr(walk, "EVENTS_PER_BATCH", 2)
    result = ev.detect(to_table(case), to_pattern(case), **arguments(case))
    assert found(result.matches.to_pylist(), to_pattern(case)) == expected(case)


def test_bindings_of_lost_partial_matches_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "ROOM", 4)
    pattern = begin("a", "price = 1").next("b", "price > sum(a.price) AND price > a.price")
    rows = ev.detect(ticks(*[1, 0] * 50, 1, 2), pattern, ts_unit="s").matches
    assert taken(rows) == [{"a": [1], "b": [2]}]


def test_bindings_that_move_keep_the_ones_before_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "ROOM", 4)
    pattern = begin("a", "price < 6").next("b", "price = 6").followed_by("c", "price = 7")
    rows = ev.detect(ticks(5, 6, *[1] * 100, 7), pattern, ts_unit="s").matches
    assert taken(rows) == [{"a": [5], "b": [6], "c": [7]}]


def test_aggregates_in_conditions_are_those_of_their_step() -> None:
    pattern = begin("a", "price = 1").followed_by("b", "price > 1").times(2).followed_by("c", "price = sum(b.price)")
    assert taken(ev.detect(ticks(1, 2, 3, 6, 5), pattern, ts_unit="s").matches) == [{"a": [1], "b": [2, 3], "c": [5]}]


def test_too_many_partial_matches_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "ROOM", 8)
    monkeypatch.setattr(walk, "MAX_RUNS", 64)
    with pytest.raises(ev.InputError, match="partial matches are open at once"):
        ev.detect(ticks(*[1] * 20), begin("a").one_or_more().allow_combinations().next("b"), ts_unit="s")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"skip": "first"}, "skip='first' is not possible"),
        ({"skip": ("to_first", "c")}, "no step 'c' that takes events"),
        ({"partition_by": "usr"}, "partition_by: there is no column 'usr'"),
        ({"ts_unit": None}, "nothing says their unit"),
        ({"ts": "price", "ts_unit": None}, "the time column 'price'"),
        ({"select": {"match_end": "a.price"}}, "two columns of the result are called 'match_end'"),
        ({"select": {"x": "a.prize"}}, "select 'x': unknown column 'prize'"),
        ({"select": {"x": "classifier()"}}, "CLASSIFIER is not allowed in a pattern of the builder"),
        ({"on_bad_event": "skip"}, "on_bad_event='skip' is not possible"),
    ],
)
def test_wrong_options_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ev.EventideError, match=message):
        ev.detect(ticks(1.5, 2.5), begin("a").next("b"), **{"ts_unit": "s", **given})


def test_a_wrong_condition_is_told_with_its_step_and_place() -> None:
    with pytest.raises(ev.QueryError) as told:
        ev.detect(ticks(1), begin("a", "price > 0 AND prise < 9"), ts_unit="s")
    assert str(told.value) == (
        "step 'a': unknown column 'prise' (line 1, column 15)\n"
        "  price > 0 AND prise < 9\n"
        "                ^^^^^\n"
        "Hint: did you mean 'price'?"
    )


@pytest.mark.spark
def test_a_dataframe_gives_dataframes(spark: Any) -> None:
    events = pa.table({"n": list(range(8)), "user": ["u", "v"] * 4, "kind": list("aabbbaab")})
    pattern = ev.Pattern.begin("a", "kind = 'a'").followed_by("b", "kind = 'b'").one_or_more()
    options: dict[str, Any] = {"partition_by": ["user"], "sequence": "n"}
    expected = ev.detect(events, pattern, **options).matches.to_pylist()
    result = ev.detect(spark.createDataFrame(events), pattern, **options)
    rows = [row.asDict(recursive=True) for row in result.matches.collect()]
    assert expected
    assert sorted(rows, key=str) == sorted(expected, key=str)
    assert result.timeouts.count() == result.late.count() == 0


def test_more_matches_than_the_limit_are_an_error() -> None:
    rows = [{"ts": i, "kind": kind, "g": i % 2} for i, kind in enumerate("aaaabb")]
    pattern = ev.Pattern.begin("a", "kind = 'a'").followed_by_any("b", "kind = 'b'")

    def found(limit: int | None, **options: Any) -> int:
        n: int = ev.detect(rows, pattern, ts_unit="s", max_matches_per_partition=limit, **options).matches.num_rows
        return n

    assert found(None) == found(8) == 8
    with pytest.raises(ev.InputError, match="the input has more than 7 matches"):
        found(7)
    assert found(2, partition_by="g") == 4
    with pytest.raises(ev.InputError, match="the partition 0 has more than 1 matches"):
        found(1, partition_by="g")
    with pytest.raises(ev.EventideError, match="takes a number from 1 on, found 0"):
        found(0)


def test_partial_matches_that_time_out_do_not_count_as_matches() -> None:
    rows = [{"ts": i, "kind": kind} for i, kind in enumerate("aaaab")]
    pattern = ev.Pattern.begin("a", "kind = 'a'").followed_by("b", "kind = 'b'").within("2 seconds")
    found = ev.detect(rows, pattern, ts_unit="s", max_matches_per_partition=1)
    assert (found.matches.num_rows, found.timeouts.num_rows) == (1, 3)


def test_an_id_does_not_depend_on_what_is_selected() -> None:
    rows = [
        {"ts": 1, "s": "A", "k": 1, "n": 7},
        {"ts": 1, "s": "A", "k": 2, "n": 7},
        {"ts": 2, "s": "B", "k": 3, "n": 7},
    ]
    pattern = begin("a", "s = 'A'").followed_by("b", "s = 'B'")

    def ids(select: dict[str, str] | None, **options: Any) -> list[str]:
        found = ev.detect(rows, pattern, ts_unit="s", select=select, **options).matches
        return sorted(found.column("match_id").to_pylist())

    for options in ({}, {"sequence": "k"}, {"partition_by": "n"}):
        whole = ids(None, **options)
        assert len(set(whole)) == 2
        assert whole == ids({"m": "count(a.*)"}, **options) == ids({"m": "a.k + b.n"}, **options)
    assert ids(None) != ids(None, sequence="k")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (
            begin("a", "(price > 1"),
            "step 'a': '(' is never closed (line 1, column 1)",
        ),
        (
            begin("a").not_next("n", "price > 5").next("b", "price > n.price"),
            "step 'b': 'n' must not occur, so it has no event that could be read (line 1, column 9)",
        ),
        (
            begin("a", "price < b.price").next("b"),
            "step 'a': 'b' has no event yet when this is decided (line 1, column 9)",
        ),
        (begin("a").next("b", "price > q.price"), "step 'b': there is no step 'q' (line 1, column 9)"),
        (begin("a").not_next("n", "price < b.price").next("b"), "step 'n': 'b' has no event yet when this is decided"),
    ],
)
def test_a_condition_on_a_step_without_events_is_an_error(pattern: ev.Pattern, message: str) -> None:
    with pytest.raises(ev.QueryError) as caught:
        ev.detect(ticks(1, 2, 3), pattern, ts_unit="s")
    assert message in str(caught.value).split("\n")[0]


def test_a_condition_may_look_at_the_iteration_before() -> None:
    inside = begin("a", "coalesce(price > b.price, true)").next("b")
    found = ev.detect(ticks(1, 2, 3, 4), begin(inside).times(2), ts_unit="s")
    assert found.matches.num_rows == 1


def test_a_measure_of_what_must_not_occur_is_an_error() -> None:
    pattern = begin("a").not_next("n", "price > 5")
    with pytest.raises(ev.QueryError, match="select 'x': 'n' must not occur"):
        ev.detect(ticks(1, 2), pattern, ts_unit="s", select={"x": "n.price"})


def test_state_ttl_says_how_long_something_must_not_occur() -> None:
    rows = [{"ts": 0, "kind": "a"}, {"ts": 3, "kind": "a"}, {"ts": 4, "kind": "b"}, {"ts": 9, "kind": "c"}]
    pattern = begin("a", "kind = 'a'").not_followed_by("b", "kind = 'b'")
    found = ev.detect(rows, pattern, ts_unit="s", state_ttl="2 seconds").matches
    assert found.column("match_start").to_pylist() == [0]
    why = pattern.diagnose(rows[1:], ts_unit="s", state_ttl="2 seconds").table.to_pylist()[0]
    assert (why["symbol"], why["reason"], why["event"]) == ("b", "absence", 4)
    with pytest.raises(ev.EventideError, match="nothing says how long 'b' must not occur"):
        ev.detect(rows, pattern, ts_unit="s")
    with pytest.raises(ev.EventideError, match="state_ttl measures time, and no column holds it"):
        ev.detect(rows, pattern, sequence="ts", state_ttl="2 seconds")
