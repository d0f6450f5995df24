"""MATCH_RECOGNIZE on a stream: the rows of one batch, each as soon as it is certain, and no more kept than must be."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eventide.errors import QueryError
from eventide.families.registry import family_named
from eventide.lang.rows import parse_clause
from eventide.plan.options import Options
from tests.budget import QUICK, budgeted
from tests.families.rows.cases import COLUMNS, Case, cases
from tests.families.rows.conformance import comparable
from tests.micro_batches import SECOND_US, Arrival, Stream, arrivals
from tests.oracle.rows.clause import run as oracle


def open_stream(clause: str, schema: pa.Schema, **options: Any) -> Stream:
    given = Options.of(ts_unit="s", **options)
    return Stream(family_named("rows").prepare(parse_clause(clause), given, schema, on_stream=True))


def expected(case: Case, ttl: int | None) -> Counter[tuple[Any, ...]]:
    """The oracle's rows; with a ttl, of each session on its own, and no match longer than it."""
    if ttl is None:
        found = case.expected()
        assume(found is not None)
        assert found is not None
        return found
    clause = case.clause
    if "WITHIN" not in clause:
        start = clause.index("PATTERN")
        end = clause.find("\n", start)
        clause = f"{clause[:end]} WITHIN {ttl} seconds{clause[end:]}"
    elif ttl < 3:
        clause = clause.replace("WITHIN 3 seconds", f"WITHIN {ttl} seconds")
    partitions: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for row in sorted(case.rows, key=lambda row: row[1]):
        key = row[0] if "PARTITION" in clause else 0
        partitions[key].append(row)
    rows: list[tuple[Any, ...]] = []
    for partition in partitions.values():
        sessions: list[list[tuple[Any, ...]]] = []
        for row in partition:
            if not sessions or row[1] - sessions[-1][-1][1] >= ttl:
                sessions.append([])
            sessions[-1].append(row)
        for session in sessions:
            one = Case(clause, tuple(session))
            assume(one.expected() is not None)
            rows += oracle(clause, COLUMNS, session, unit_us=1_000_000)[1]
    return comparable(rows)


@budgeted(**QUICK)
@given(
    case=cases(),
    spread=st.lists(st.integers(1, 5), min_size=12, max_size=12),
    ttl=st.sampled_from([None, None, 2, 4, 30]),
    arrival=arrivals(9, 4),
)
def test_micro_batches_return_the_rows_of_one_batch(
    case: Case, spread: list[int], ttl: int | None, arrival: Arrival
) -> None:
    clause = case.clause.replace(" DESC NULLS FIRST", "").replace(" DESC", "").replace(" NULLS LAST", "")
    # Times further apart.
    times = [sum(spread[: i + 1]) for i in range(12)]
    rows = tuple((p, times[0 if i is None else i], x, s) for p, i, x, s in case.rows)
    case = Case(clause, rows)
    table = case.table()
    try:
        stream = open_stream(clause, table.schema, state_ttl=None if ttl is None else f"{ttl} seconds")
    except QueryError as refused:
        assert "a stream cannot run this" in str(refused)
        assume(False)
    wanted = expected(case, ttl)
    stream.play_arrival(table, [seconds for _, seconds, _, _ in rows], arrival)
    assert comparable([tuple(row.values()) for row in stream.rows]) == wanted


def table(rows: list[tuple[int, str, int]]) -> pa.Table:
    """Rows (seconds, partition, x)."""
    return pa.table(
        {
            "id": pa.array([r[0] for r in rows], pa.int64()),
            "p": pa.array([r[1] for r in rows], pa.string()),
            "x": pa.array([r[2] for r in rows], pa.int64()),
        }
    )


NOTHING = table([])


def begin(pattern: str, define: str, measures: str = "A.id AS a, LAST(id) AS z", **options: Any) -> Stream:
    clause = f"PARTITION BY p ORDER BY id MEASURES {measures} PATTERN ({pattern} DEFINE {define}"
    return open_stream(clause, NOTHING.schema, **options)


def step(stream: Stream, rows: list[tuple[int, str, int]], watermark_us: int) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in stream.step(table(rows), watermark_us)]


def test_a_match_leaves_when_no_later_row_could_change_it() -> None:
    stream = begin("A B C) WITHIN 10 seconds", "B AS x > A.x, C AS x > B.x")
    assert step(stream, [(1, "u", 1), (2, "u", 2)], 2 * SECOND_US) == []
    assert step(stream, [(3, "u", 3)], 3 * SECOND_US) == [("u", 1, 3)]


def test_a_greedy_loop_waits_for_the_row_that_ends_it_or_for_its_window() -> None:
    stream = begin("A B+) WITHIN 10 seconds", "B AS x > PREV(x)")
    assert step(stream, [(1, "u", 1), (2, "u", 2), (1, "v", 1), (2, "v", 5)], 3 * SECOND_US) == []
    assert step(stream, [(5, "u", 0)], 5 * SECOND_US) == [("u", 1, 2)]
    # The window of v's first row ends with the last microsecond of second 10.
    assert stream.pending_us() == 11 * SECOND_US - 1
    assert step(stream, [], 11 * SECOND_US - 2) == []
    assert step(stream, [], 11 * SECOND_US - 1) == [("v", 1, 2)]


def test_a_reluctant_loop_does_not_wait() -> None:
    stream = begin("A B+?) WITHIN 10 seconds", "B AS x > PREV(x)")
    assert step(stream, [(1, "u", 1), (2, "u", 2)], 2 * SECOND_US) == [("u", 1, 2)]


def test_rows_that_no_attempt_can_use_are_forgotten() -> None:
    stream = begin("A B) WITHIN 10 seconds", "A AS x = 1, B AS x = 2")
    step(stream, [(i, "u", 7) for i in range(100)], 99 * SECOND_US)
    assert stream.n_held() == 0
    step(stream, [(100, "u", 1), (100, "v", 1)], 100 * SECOND_US)
    assert stream.n_held() == 2
    step(stream, [], 200 * SECOND_US)
    assert stream.n_held() == 0 and stream.pending_us() is None


def test_prev_keeps_as_many_rows_of_a_partition_as_it_reads() -> None:
    stream = begin("A) WITHIN 10 seconds", "A AS x > PREV(x, 2)")
    step(stream, [(i, "u", 100 - i) for i in range(50)], 49 * SECOND_US)
    assert stream.n_held() == 2
    assert step(stream, [(90, "u", 53)], 90 * SECOND_US) == [("u", 90, 90)]


def test_next_waits_for_the_row_that_it_reads() -> None:
    stream = begin("A) WITHIN 10 seconds", "A AS x < NEXT(x)")
    assert step(stream, [(1, "u", 1)], 1000 * SECOND_US) == []
    assert step(stream, [(2000, "u", 5)], 2000 * SECOND_US) == [("u", 1, 1)]


def test_match_numbers_go_on_after_silence() -> None:
    stream = begin("A) WITHIN 10 seconds", "A AS x = 1", "MATCH_NUMBER() AS n")
    assert step(stream, [(1, "u", 1), (2, "u", 1)], 2 * SECOND_US) == [("u", 1), ("u", 2)]
    step(stream, [(i, "v", 1) for i in range(3, 50)], 500 * SECOND_US)
    assert step(stream, [(501, "u", 1)], 501 * SECOND_US) == [("u", 3)]


def test_a_row_of_an_earlier_match_is_not_unmatched_later() -> None:
    clause = (
        "ORDER BY id MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW "
        "PATTERN (A B) WITHIN 10 seconds DEFINE B AS x > A.x"
    )
    stream = open_stream(clause, NOTHING.schema)
    shown = [(row["id"], row["n"]) for row in stream.step(table([(1, "u", 1), (2, "u", 2)]), 2 * SECOND_US)]
    assert shown == [(1, 1), (2, 1)]
    shown = [(row["id"], row["n"]) for row in stream.step(table([(3, "u", 0), (4, "u", 0)]), 4 * SECOND_US)]
    assert shown == [(3, None)]


def test_the_begin_of_a_partition_is_remembered() -> None:
    stream = begin("^ A) WITHIN 10 seconds", "A AS x = 1")
    assert step(stream, [(1, "u", 0), (1, "v", 1)], 1 * SECOND_US) == [("v", 1, 1)]
    assert step(stream, [(900, "u", 1), (900, "v", 1)], 900 * SECOND_US) == []


def test_a_gap_as_long_as_the_ttl_begins_a_partition_anew() -> None:
    stream = begin("^ A B* $)", "B AS x = 1", "MATCH_NUMBER() AS n, count(*) AS rows", state_ttl="10 seconds")
    assert step(stream, [(1, "u", 1), (10, "u", 1)], 10 * SECOND_US) == []
    assert step(stream, [], 11 * SECOND_US) == []
    assert stream.pending_us() == 20 * SECOND_US - 1
    assert step(stream, [], 20 * SECOND_US - 2) == []
    assert step(stream, [], 20 * SECOND_US - 1) == [("u", 1, 2)]
    assert step(stream, [(20, "u", 1)], 20 * SECOND_US) == []
    assert step(stream, [], 40 * SECOND_US) == [("u", 1, 1)]
    assert stream.n_held() == 0


def test_bytes_written_follow_the_rows_that_arrive() -> None:
    stream = begin("A B) WITHIN 100 seconds", "A AS x = 1, B AS x = 2")
    seen: set[int] = set()
    for second in range(50):
        step(stream, [(second, f"u{second}-{i}", 1) for i in range(20)], second * SECOND_US)
        assert len(stream.snapshot.segments.keys() - seen) <= 2
        seen |= stream.snapshot.segments.keys()
    assert stream.n_held() == 1000


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("A B+)", "WITHIN behind the pattern"), ("A B $)", "leave out \\$")],
)
def test_what_a_stream_cannot_answer_is_refused_with_what_would_help(pattern: str, words: str) -> None:
    with pytest.raises(QueryError, match=f"(?s)a stream cannot run this.*{words}"):
        begin(pattern, "B AS x > 1")


def test_a_stream_needs_an_order_by_time() -> None:
    with pytest.raises(QueryError, match="a stream needs ORDER BY a time, ascending"):
        open_stream("PATTERN (A B) DEFINE B AS x > 1", NOTHING.schema)
    with pytest.raises(QueryError, match="a stream measures 'p'"):
        open_stream("ORDER BY p MEASURES A.x AS x PATTERN (A B) DEFINE B AS x > 1", NOTHING.schema)
