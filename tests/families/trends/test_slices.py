"""Slices of time: matrices in place of events, made wherever the events are, give the values of the whole."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import eventide as ev
from eventide.engines.file_input import choose_for_files
from eventide.families.trends.slices import Slicer, is_sliced, make_slicer, slice_tables
from eventide.families.trends.spec import TrendSpec
from eventide.plan.choose import KEYS, SLICES, forced
from eventide.plan.physical import Physical
from eventide.runtime.block import MAX_US, MIN_US, from_bytes, to_bytes
from eventide.runtime.costs import costing
from tests.budget import ON_SPARK, QUICK, budgeted
from tests.families.trends.cases import trend_cases
from tests.families.trends.compare import TrendCase
from tests.families.trends.test_same_values import SEVERAL, planned
from tests.micro_batches import SECOND_US, Arrival, Stream, arrivals

SCHEMA = pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("g", pa.string()), ("x", pa.int64())])


def plan_of(text: str, **options: Any) -> Physical:
    query = ev.query(text, **{"ts": "ts", "ts_unit": "s", "type": "kind"} | options)
    return query._plan(query.options, SCHEMA, on_stream=True)  # streams slice trends of one event, too


def plan_case(case: TrendCase) -> Physical:
    """The plan of a case that can be asked and has slices."""
    physical = planned(case)
    assume(not isinstance(slice_tables(physical.spec), str))  # type: ignore[arg-type]
    return physical


def few(least: int) -> Any:
    """From so many events on a matrix stands for them."""
    return patch.object(Slicer, "_least", lambda self, block: least)


def borders_of(case: TrendCase, drawn: list[int]) -> list[int]:
    """Instants of events."""
    times = sorted({event["ts"] for event in case.events})
    return [times[i % len(times)] * SECOND_US for i in drawn] if times else []


def sliced(physical: Physical, table: pa.Table, borders_us: list[int], disorder: random.Random) -> list[dict[str, Any]]:
    """The rows of slices between borders, which come together in any order.

    The events at a border lie in the slices on both sides of it, so they stay events.
    """
    stream = Stream(physical)
    block, slicer = stream._block(table), make_slicer(physical.spec)  # type: ignore[arg-type]
    assert slicer is not None
    borders = sorted(set(borders_us))
    shares: list[list[int]] = [[] for _ in range(len(borders) + 1)]
    for row, us in enumerate(block.column("ts").to_pylist()):
        near = [
            k for k in range(len(shares)) if (not k or borders[k - 1] <= us) and (k == len(borders) or us <= borders[k])
        ]
        shares[disorder.choice(near)].append(row)
    made = []
    for share in shares:
        made += slicer.combine(block.take(pa.array(share, pa.int64())), [(us, us) for us in borders])
    disorder.shuffle(made)
    operator = stream.operator()
    for each in made:
        assert list(operator.process(from_bytes(to_bytes(each)), MIN_US)) == []
    return stream._read(operator.finish())


@budgeted(**QUICK)
@given(
    # Without windows a pane is all of the time, so that slices of one pane are many.
    case=st.sampled_from([False, None]).flatmap(
        lambda windowed: trend_cases(
            groups=(1, 2), max_events=14, first_origin=False, count_windows=False, windowed=windowed
        )
    ),
    borders=st.lists(st.integers(0, 14), max_size=5, min_size=1),
    least=st.sampled_from([1, 1, 2, 3]),
    disorder=st.randoms(use_true_random=False),
)
def test_slices_give_the_values_of_the_oracle(
    case: TrendCase, borders: list[int], least: int, disorder: random.Random
) -> None:
    physical = plan_case(case)
    with few(least):
        case.check_rows(sliced(physical, case.table(), borders_of(case, borders), disorder))


@budgeted(**QUICK)
@given(
    case=trend_cases(focus="negation", max_events=12, first_origin=False, count_windows=False),
    borders=st.lists(st.integers(0, 14), max_size=5, min_size=1),
    disorder=st.randoms(use_true_random=False),
)
def test_negation_reaches_across_slices(case: TrendCase, borders: list[int], disorder: random.Random) -> None:
    physical = plan_case(case)
    with few(1):
        case.check_rows(sliced(physical, case.table(), borders_of(case, borders), disorder))


@budgeted(**QUICK)
@given(
    case=trend_cases(groups=SEVERAL, max_events=14, windowed=True, first_origin=False, count_windows=False),
    arrival=arrivals(13, 8),
    least=st.sampled_from([1, 2]),
)
def test_micro_batches_that_leave_matrices_give_the_values_of_the_oracle(
    case: TrendCase, arrival: Arrival, least: int
) -> None:
    with few(least), patch("eventide.families.trends.operator.LEAST_FOLD", 1):
        case.check_arrival(plan_case(case), arrival)


# --- what can go wrong, one by one ---------------------------------------------------------------------------------


def by_share(text: str, *shares: str, shared: tuple[int, ...] = (), **options: Any) -> dict[str, Any]:
    """The one row of events in shares, such as "a1 b2"; those at the `shared` seconds may lie in several shares."""
    stream = Stream(plan_of(text, **options))
    slicer = make_slicer(stream.physical.spec)  # type: ignore[arg-type]
    operator = stream.operator()
    assert slicer is not None
    n_matrices = 0
    for share in shares:
        events = [{"kind": word[0].upper(), "ts": int(word[1:]), "g": "", "x": int(word[1:])} for word in share.split()]
        block = stream._block(pa.Table.from_pylist(events, SCHEMA))
        with few(1):
            made = slicer.combine(block, [(second * SECOND_US, second * SECOND_US) for second in shared])
        for each in made:
            n_matrices += is_sliced(each)
            assert list(operator.process(each, MIN_US)) == []
    assert n_matrices
    (row,) = stream._read(operator.finish()) or [{}]
    return row


def test_slices_are_multiplied_in_order_of_time() -> None:
    text = "PATTERN SEQ(A, B, C) RETURN COUNT(*)"
    assert int(by_share(text, "a1 a2 a3", "b4 b5", "c6")["count"]) == 6
    assert int(by_share(text, "c6", "b4 b5", "a1 a2 a3")["count"]) == 6
    assert by_share(text, "b1 b2", "a4 a5", "c6") == {}


def test_events_of_one_time_in_two_slices_do_not_follow_one_another() -> None:
    assert int(by_share("PATTERN A+ RETURN COUNT(*)", "a1 a2", "a2 a3", shared=(2,))["count"]) == 2 * 3 * 2 - 1
    row = by_share("PATTERN SEQ(A+, NOT C, B) RETURN COUNT(*)", "a1 c2", "b2 b3", shared=(2,))
    assert int(row["count"]) == 1


def test_a_matrix_does_not_reach_over_events_of_others() -> None:
    assert int(by_share("PATTERN SEQ(A, B, C) RETURN COUNT(*)", "a1 c3", "b2", shared=(2,))["count"]) == 1


def test_events_that_stayed_events_do_not_reach_over_a_matrix() -> None:
    row = by_share("PATTERN SEQ(A, B, C) RETURN COUNT(*)", "a1 a3", "b4", "c6 c7", shared=(3, 6))
    assert int(row["count"]) == 4


def test_the_last_event_of_all_slices_says_when_it_was_detected() -> None:
    assert by_share("PATTERN A+ RETURN COUNT(*)", "a1 a7", "a8 a9")["detected_at"] == 9


def test_extremes_and_sums_go_through_slices() -> None:
    row = by_share("PATTERN A+ RETURN MIN(A.x), MAX(A.x), SUM(A.x), COUNT(A)", "a5 a6", "a1 a2", "a3")
    assert list(row.values()) == [1, 6, (5 + 6 + 1 + 2 + 3) * 16, 5 * 16, 6]


def test_an_infinite_value_in_a_slice_is_a_result_and_no_overflow() -> None:
    schema = pa.schema([("ts", pa.int64()), ("kind", pa.string()), ("y", pa.float64())])
    stream = Stream(ev.query("PATTERN A+ RETURN SUM(A.y)", ts_unit="s", type="kind").plan(schema))
    slicer, operator = make_slicer(stream.physical.spec), stream.operator()  # type: ignore[arg-type]
    assert slicer is not None
    for ts, y in enumerate([1.0, float("inf"), 2.0]):
        with few(1):
            (made,) = slicer.combine(stream._block(pa.table({"ts": [ts], "kind": ["A"], "y": [y]})))
        assert list(operator.process(made, MIN_US)) == []
    (row,) = stream._read(operator.finish())
    assert row["sum_A_y"] == float("inf")


def batch(text: str) -> pa.Table:
    events = [{"kind": word[0].upper(), "ts": int(word[1:]), "g": "", "x": 0} for word in text.split()]
    return pa.Table.from_pylist(events, SCHEMA)


def test_events_that_the_watermark_has_not_passed_stay_events() -> None:
    """a6 comes after b8, and lies between it and a4."""
    stream = Stream(plan_of("PATTERN SEQ(A, B) WITHIN 10 seconds RETURN COUNT(*)"))
    with few(1), patch("eventide.families.trends.operator.LEAST_FOLD", 1):
        stream.step(batch("a1 a2 a4 b8"), 3 * SECOND_US)
        assert held(stream) == (2, 1)
        stream.step(batch("a6"), 7 * SECOND_US)
        assert held(stream) == (1, 1)
    assert [int(row["count"]) for row in stream.finish()] == [4]


def test_a_window_that_only_matrices_hold_is_waited_for_and_forgotten() -> None:
    stream = Stream(plan_of("PATTERN A+ WITHIN 10 seconds RETURN COUNT(*)"))
    with few(1), patch("eventide.families.trends.operator.LEAST_FOLD", 1):
        stream.step(batch("a1 a2"), 5 * SECOND_US)
        assert held(stream) == (0, 1)
        assert stream.pending_us() == 10 * SECOND_US - 1
        assert [int(row["count"]) for row in stream.step(batch(""), 10 * SECOND_US)] == [3]
        assert held(stream) == (0, 0)
        assert stream.pending_us() is None


def held(stream: Stream) -> tuple[int, int]:
    """Events and matrices in the state."""
    operator: Any = stream.operator()
    return operator._buffer.count(MAX_US), operator._slices.count(MAX_US)


def test_the_state_of_a_stream_follows_the_panes_not_the_events() -> None:
    text = "PATTERN (SEQ(A+, B))+ WITHIN 1 hour SLIDE 30 minutes RETURN COUNT(*)"
    stream = Stream(plan_of(text, counts="log2"))
    most_events, most_matrices, most_bytes = 0, 0, 0
    for batch in range(40):
        times = [batch * 300 + i // 10 for i in range(3000)]
        kinds = ["AAB"[i % 3] for i in range(3000)]
        table = pa.table({"ts": times, "kind": kinds, "g": [""] * 3000, "x": times}, schema=SCHEMA)
        stream.step(table, (times[-1] - 1) * SECOND_US)
        events, matrices = held(stream)
        most_events, most_matrices = max(most_events, events), max(most_matrices, matrices)
        most_bytes = max(most_bytes, stream.operator().memory_bytes())
    # A matrix is made of each micro-batch, in six of which a pane lies; the last instants wait for the watermark.
    assert most_events <= 20
    assert most_matrices <= 20
    assert most_bytes < 10_000
    assert len(stream.rows) == 6
    whole = ev.query(
        "PATTERN (SEQ(A+, B))+ WITHIN 1 hour SLIDE 30 minutes RETURN COUNT(*)", ts_unit="s", type="kind", counts="log2"
    )
    times = [batch * 300 + i // 10 for batch in range(40) for i in range(3000)]
    expected = whole.run(pa.table({"ts": times, "kind": ["AAB"[i % 3] for i in range(len(times))]})).to_pylist()
    assert [row["window_start"] for row in stream.rows] == [row["window_start"] for row in expected[: len(stream.rows)]]
    for row, other in zip(stream.rows, expected, strict=False):
        assert row["count"] == pytest.approx(other["count"])


def test_matrices_of_one_pane_become_one() -> None:
    stream = Stream(plan_of("PATTERN A+ GROUP BY g WITHIN 1 hour RETURN g, COUNT(*), MIN(A.x), SUM(A.x)"))
    with few(1), patch("eventide.families.trends.operator.LEAST_FOLD", 2):
        for second in range(30):
            table = pa.table({"ts": [second] * 2, "kind": ["A"] * 2, "g": ["p", "q"], "x": [50 - second, second]})
            stream.step(table.cast(SCHEMA), second * SECOND_US)
            assert held(stream)[1] <= 4
    rows = {row["g"]: row for row in stream.finish()}
    assert int(rows["p"]["count"]) == 2**30 - 1
    assert (rows["p"]["min_A_x"], rows["q"]["min_A_x"]) == (21, 0)
    assert int(rows["q"]["sum_A_x"]) == sum(range(30)) * 2**29


def test_matrices_of_different_panes_stay_apart() -> None:
    stream = Stream(plan_of("PATTERN A+ WITHIN 8 seconds SLIDE 4 seconds RETURN COUNT(*)"))
    with few(1), patch("eventide.families.trends.operator.LEAST_FOLD", 1):
        for second in range(16):
            stream.step(batch(f"a{second}"), second * SECOND_US)
            assert held(stream)[1] <= 3
    stream.finish()
    assert [int(row["count"]) for row in stream.rows] == [2**4 - 1, 2**8 - 1, 2**8 - 1, 2**8 - 1, 2**4 - 1]


def test_a_pattern_that_needs_its_events_has_no_slices_and_says_why() -> None:
    def reason(text: str, **options: Any) -> Any:
        return slice_tables(plan_of(text, **options).spec)  # type: ignore[arg-type]

    assert "adjacent" in reason("PATTERN A+ WHERE A.x < NEXT(A).x RETURN COUNT(*)")
    assert "window of events" in reason("PATTERN A+ WITHIN 5 EVENTS RETURN COUNT(*)")
    assert "follow one another" in reason("PATTERN A+ RETURN COUNT(*)", ties="sequence")
    assert "states" in reason("PATTERN A{2,40} RETURN COUNT(*)")
    assert "bound in several ways" in reason("PATTERN SEQ(A x+, A y+) RETURN COUNT(x)")


def test_few_events_stay_events() -> None:
    """Two of p in the pane take less room than a matrix, a hundred of q take more."""
    physical = plan_of("PATTERN A+ GROUP BY g WITHIN 1 hour RETURN g, COUNT(*)")
    groups = ["p", "p", *["q"] * 100]
    table = pa.table({"ts": range(102), "kind": ["A"] * 102, "g": groups, "x": range(102)}).cast(SCHEMA)
    slicer = make_slicer(physical.spec)  # type: ignore[arg-type]
    assert slicer is not None
    events, matrices = slicer.combine(Stream(physical)._block(table))
    assert (events.num_rows, matrices.num_rows) == (2, 1)
    assert not is_sliced(events) and is_sliced(matrices)


def test_panes_are_counted_each_by_itself() -> None:
    """Two events in each of 50 panes are few, however many there are together."""
    physical = plan_of("PATTERN A+ WITHIN 1 minute RETURN COUNT(*)")
    times = [60 * (i // 2) + i % 2 for i in range(100)]
    table = pa.table({"ts": times, "kind": ["A"] * 100, "g": ["p"] * 100, "x": times}).cast(SCHEMA)
    slicer = make_slicer(physical.spec)  # type: ignore[arg-type]
    assert slicer is not None
    assert slicer.frequent_share(Stream(physical)._block(table)) == 0.0


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("PATTERN SEQ(A+, B)", (1, 2)),
        ("PATTERN SEQ(A p, A q+)", (3,)),
        ("PATTERN SEQ(A p, A q+) WHERE q.x > 1", (1, 3)),
        ("PATTERN SEQ(A p, B) WHERE p.x > 1 AND B.x > 1", (1, 2)),
        ("PATTERN SEQ(P, Q) DEFINE P AS x > 1, Q AS x > 2", (1, 2, 3)),
        ("PATTERN SEQ(P, Q) DEFINE P AS kind IN ('A', 'B'), Q AS kind = 'B' OR x = 1", (1, 2, 3)),
        ("PATTERN SEQ(P, Q) DEFINE P AS kind = 'a', Q AS kind = 'A'", (1, 2, 3)),
        ("PATTERN SEQ(P, Q) DEFINE P AS x = 1, Q AS x = 1.0", (1, 2, 3)),
        ("PATTERN SEQ(P, Q) DEFINE P AS NOT kind = 'a', Q AS kind = 'a'", (1, 2, 3)),
    ],
)
def test_the_letters_that_conditions_leave(text: str, letters: tuple[int, ...]) -> None:
    options = {} if "DEFINE" not in text else {"type": None}
    spec: Any = plan_of(f"{text} RETURN COUNT(*)", **options).spec
    assert spec.alphabet == letters


# --- how it is shared out -------------------------------------------------------------------------------------------


def hot_events(n: int, groups: str = "aaaaaaab") -> pa.Table:
    """Three of four events are of the group a; four events have one time, so row groups share an instant."""
    rng = random.Random(3)
    kinds = [rng.choice("AAB") for _ in range(n)]
    mixed = [rng.choice(groups) for _ in range(n)]
    return pa.table({"ts": [i // 4 for i in range(n)], "kind": kinds, "g": mixed, "x": [i % 97 for i in range(n)]})


def write_files(table: pa.Table, folder: Path) -> tuple[str, str]:
    """The events as a file in order of time, and as one whose row groups overlap."""
    n = table.num_rows
    paths = folder / "in_order.parquet", folder / "mixed.parquet"
    pq.write_table(table, paths[0], row_group_size=n // 10 + 1)
    rows = random.Random(4).sample(range(n), n)
    pq.write_table(table.take(pa.array(rows)), paths[1], row_group_size=n // 10 + 1)
    return str(paths[0]), str(paths[1])


GROUPED = "PATTERN (SEQ(A+, B))+ GROUP BY g RETURN g, COUNT(*)"


# How slices come to their tasks: as row groups that the tasks read, or exchanged by ranges of time.
GROUPS, RANGES = "row groups", "ranges"


@costing(few_rows=0)
@pytest.mark.parametrize(
    ("text", "groups", "in_order", "mixed"),
    [
        ("PATTERN (SEQ(A+, B))+ RETURN COUNT(*)", "ab", GROUPS, RANGES),
        (GROUPED, "aaaaaaab", GROUPS, RANGES),
        (GROUPED, "abcdefgh", GROUPS, KEYS),
        ("PATTERN A+ GROUP BY g WITHIN 8 seconds RETURN g, COUNT(*)", "abcdefghijklmnopqrst", KEYS, KEYS),
        ("PATTERN A+ WHERE A.x < NEXT(A).x RETURN COUNT(*)", "ab", KEYS, KEYS),
    ],
)
def test_files_are_shared_out_by_key_or_by_time(
    tmp_path: Path, text: str, groups: str, in_order: str, mixed: str
) -> None:
    physical = plan_of(text)
    for path, way in zip(write_files(hot_events(4000, groups), tmp_path), (in_order, mixed), strict=True):
        choice = choose_for_files([path], physical, n_buckets=4)
        assert choice.form == (KEYS if way == KEYS else SLICES), (path, choice)
        assert (bool(choice.shares), bool(choice.ranges)) == (way == GROUPS, way == RANGES)
        if way == GROUPS:
            assert len(choice.shares) == 4
            # Neighbours share an instant, or their borders lie between two of them.
            assert all(lo == hi for ranges in choice.shared for lo, hi in ranges)


@costing(few_rows=0)
def test_files_without_times_in_their_footers_are_shared_out_by_key(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(hot_events(100), path, row_group_size=10, write_statistics=False)
    choice = choose_for_files([str(path)], plan_of(GROUPED), n_buckets=4)
    assert (choice.form, choice.reason) == (KEYS, "the files' footers do not tell the times of all row groups")


def test_explain_says_how_files_are_shared_out_and_why(tmp_path: Path) -> None:
    in_order, mixed = write_files(hot_events(4000), tmp_path)

    def distribution(text: str, path: str) -> str:
        lines = ev.query(text, ts_unit="s", type="kind").explain(path, engine="spark").splitlines()
        return lines[lines.index("Distribution") + 1]

    with costing(few_rows=0):
        assert "slices of time" in distribution(GROUPED, in_order)
        assert "one key has" in distribution(GROUPED, in_order)
        assert "no event is exchanged" in distribution(GROUPED, in_order)
        assert "events are exchanged" in distribution(GROUPED, mixed)
        ungrouped = "PATTERN A+ WHERE A.x < NEXT(A).x RETURN COUNT(*)"
        assert "one task, because all events belong together and a condition on adj" in distribution(ungrouped, mixed)
    assert "few events" in distribution(GROUPED, in_order)


# --- on Spark -----------------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_slices_on_spark_give_the_values_of_the_embedded_engine(spark: Any, tmp_path: Path) -> None:
    """No key at all in a DataFrame and in files in any order, a hot one in files in order of time."""
    table = hot_events(2000)
    in_order, mixed = write_files(table, tmp_path)
    on_spark = {"engine": "spark", "spark": spark}
    with costing(few_bytes=0, few_rows=0):
        for events, group, inputs, words in (
            (spark.createDataFrame(table), "", {}, "exchanged by time"),
            (in_order, "g", on_spark, "one key has"),
            (mixed, "", on_spark, "row groups overlap in time"),
        ):
            text = f"PATTERN SEQ(A+, B) {'GROUP BY g' if group else ''} WITHIN 200 seconds SLIDE 50 seconds "
            text += f"RETURN {'g, ' if group else ''}COUNT(*), SUM(A.x), MAX(B.x), AVG(A.x)"
            query = ev.query(text, ts_unit="s", type="kind", counts="double")
            expected = query.run(table)
            assert expected.num_rows > 10
            rows = query.run(events, **inputs).toArrow()
            assert words in query.last_run.reason
            assert_same(rows, expected)


@pytest.mark.spark
@costing(few_bytes=0)
def test_events_are_counted_once_whatever_was_looked_at_before(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of the keys reads a few of the events, and is no run."""
    monkeypatch.setattr("eventide.engines.spark.frame_input._SAMPLE_ROWS", 10)
    table = hot_events(400).append_column("at", pa.array([None if i % 40 == 7 else i for i in range(400)]))
    query = ev.query(GROUPED, ts="at", ts_unit="s", type="kind", counts="double", on_bad_event="drop")
    query.run(spark.createDataFrame(table).repartition(8)).toArrow()
    assert query.metrics() == {"events": 400, "dropped_events": 10}


def assert_same(rows: pa.Table, expected: pa.Table) -> None:
    """The same rows in any order; doubles are added in another order, too."""
    assert rows.column_names == expected.column_names
    both = [
        sorted(table.to_pylist(), key=lambda row: (row["window_start"], row.get("g"))) for table in (rows, expected)
    ]
    for row, other in zip(*both, strict=True):
        assert row == {name: pytest.approx(v) if isinstance(v, float) else v for name, v in other.items()}


@pytest.mark.spark
@budgeted(**ON_SPARK)
@given(case=trend_cases(groups=SEVERAL, max_events=14, first_origin=False, count_windows=False))
def test_slices_on_spark_give_the_values_of_the_oracle(spark: Any, tmp_path_factory: Any, case: TrendCase) -> None:
    """Files whose row groups share times as they will."""
    plan_case(case)
    assume(case.expected and len(case.events) > 6)
    query = ev.query(case.text, **case.options)
    # Windows answer what is about single events.
    assume(isinstance(query.plan(case.table().schema).spec, TrendSpec))
    path = tmp_path_factory.mktemp("events") / "events.parquet"
    pq.write_table(case.table(), path, row_group_size=3)
    with forced(SLICES):
        result = query.run(path, engine="spark", spark=spark).toArrow()
    assert "by time" in query.last_run.reason
    case.check(result)
