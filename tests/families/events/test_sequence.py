"""The sequence operator against the oracle, without a plan above it: random blocks, batches and restarts."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventide.families.events.sequence import Returned, SequenceOperator, SequenceSpec
from eventide.runtime.block import MIN_US, Layout
from eventide.runtime.times import TimeType
from tests.budget import budgeted
from tests.oracle.events.event import Event
from tests.oracle.events.matches import matches
from tests.oracle.events.pattern import Type, seq
from tests.oracle.events.query import Query

LAYOUT = Layout(n_partition=1, n_values=0, n_returned=1)
KINDS = "ABCD"


def spec(n_steps: int, strategy: str, window_us: int | None) -> SequenceSpec:
    return SequenceSpec(
        query="test",
        layout=LAYOUT,
        n_steps=n_steps,
        strategy=strategy,
        window_us=window_us,
        time_type=TimeType(pa.int64(), "us"),
        returned=tuple(Returned(step, "c0") for step in range(n_steps)),
    )


def block(events: list[tuple[int, int | None, str]], n_steps: int, numbers: list[int]) -> pa.Table:
    masks = [1 << KINDS.index(kind) if KINDS.index(kind) < n_steps else 0 for _, _, kind in events]
    return pa.table(
        {
            "p0": pa.array([key for _, key, _ in events], pa.int64()),
            "ts": pa.array([ts for ts, _, _ in events], pa.int64()),
            "mask": pa.array(masks, pa.int64()),
            "c0": pa.array(numbers, pa.int64()),
        }
    )


def rows(results: object, n_steps: int) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for batch in results:  # type: ignore[attr-defined]
        columns = [batch.column(f"s{k}_c0").to_pylist() for k in range(n_steps)]
        found.update(zip(*columns, strict=True))
    return found


# Few times, partitions and kinds, so that ties, window edges and matches are frequent.
_EVENT = st.tuples(st.integers(0, 8), st.sampled_from([1, 1, None]), st.sampled_from("AABBCD"))
EVENTS = st.integers(0, 16).flatmap(lambda n: st.lists(_EVENT, min_size=n, max_size=n))


def expected(events: list[tuple[int, int | None, str]], n_steps: int, strategy: str, within: int | None) -> Counter:
    pattern = seq(*(Type(kind) for kind in KINDS[:n_steps]))
    stream = [Event(ts, type=kind, values={}, partition=(key,)) for ts, key, kind in events]
    found = matches(Query(pattern, strategy, within=within), stream)
    return Counter(tuple(match.event_indices()) for match in found)


@budgeted()
@given(EVENTS, st.integers(1, 4), st.sampled_from(["any", "next", "contiguous"]), st.sampled_from([None, 1, 2, 3, 5]))
def test_one_block_gives_the_oracles_matches(events, n_steps, strategy, within) -> None:
    operator = SequenceOperator(spec(n_steps, strategy, within), n_threads=2)
    assert not list(operator.process(block(events, n_steps, list(range(len(events)))), MIN_US))
    assert rows(operator.finish(), n_steps) == expected(events, n_steps, strategy, within)


@budgeted()
@given(EVENTS, st.integers(1, 3), st.sampled_from(["any", "next", "contiguous"]), st.integers(1, 5), st.data())
def test_batches_with_restarts_give_the_same_matches(events, n_steps, strategy, within, data) -> None:
    """Events come in any batches that keep within the watermark; between batches the state moves house."""
    numbered = sorted(enumerate(events), key=lambda item: item[1][0])
    the_spec = spec(n_steps, strategy, within)
    operator = SequenceOperator(the_spec)
    found: Counter[tuple[int, ...]] = Counter()
    written: dict[int, bytes] = {}
    while numbered:
        size = data.draw(st.integers(1, len(numbered)))
        batch, numbered = numbered[:size], numbered[size:]
        shuffled = data.draw(st.permutations(batch))
        earliest_left = numbered[0][1][0] if numbered else 100
        watermark = data.draw(st.integers(-1, earliest_left - 1)) if earliest_left > 0 else MIN_US
        part = block([event for _, event in shuffled], n_steps, [i for i, _ in shuffled])
        found += rows(operator.process(part, watermark), n_steps)
        snapshot = operator.snapshot()
        for number, stored in snapshot.segments.items():
            assert written.setdefault(number, stored) == stored, "a segment changed under its number"
        operator = SequenceOperator(the_spec)
        operator.restore(snapshot)
    found += rows(operator.finish(), n_steps)
    assert operator.late_events() == 0
    assert found == expected(events, n_steps, strategy, within)


def test_late_events_are_dropped_and_counted() -> None:
    operator = SequenceOperator(spec(2, "any", 10))
    list(operator.process(block([(5, 1, "A")], 2, [0]), 5))
    list(operator.process(block([(5, 1, "A"), (6, 1, "B")], 2, [1, 2]), 6))
    assert operator.late_events() == 1
    assert operator.pending_us() is None


def test_more_matches_than_one_batch_holds_all_arrive() -> None:
    events = [(i, 1, "A") for i in range(500)] + [(1000 + i, 1, "B") for i in range(500)]
    operator = SequenceOperator(spec(2, "any", None))
    list(operator.process(block(events, 2, list(range(len(events)))), MIN_US))
    batches = list(operator.finish())
    assert len(batches) > 1
    assert sum(batch.num_rows for batch in batches) == 250_000
    assert len(rows(batches, 2)) == 250_000


def test_the_buffer_forgets_what_the_window_has_passed() -> None:
    operator = SequenceOperator(spec(2, "next", 10))
    for start in range(0, 1000, 10):
        list(operator.process(block([(start + i, 1, "A") for i in range(10)], 2, list(range(10))), start + 9))
    assert len(operator.snapshot().segments) <= 2
    assert operator.memory_bytes() < 2000


@budgeted()
@given(EVENTS, st.integers(1, 3), st.sampled_from(["any", "next", "contiguous"]), st.integers(1, 3))
def test_a_small_result_array_pauses_and_resumes(events, n_steps, strategy, capacity) -> None:
    """Results leave in bounded memory: a full array pauses the walk, and the next call goes on from there."""
    operator = SequenceOperator(spec(n_steps, strategy, None))
    list(operator.process(block(events, n_steps, list(range(len(events)))), MIN_US))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eventide.families.events.sequence.MATCHES_PER_BATCH", capacity)
        batches = list(operator.finish())
    assert all(batch.num_rows <= capacity for batch in batches)
    assert rows(batches, n_steps) == expected(events, n_steps, strategy, None)


def letters(text: str, n_steps: int, strategy: str, within: int | None = None) -> list[str]:
    """Matches in a word, one event a second: "ABxC" has an event D in the place of x."""
    events = [(i, 1, "D" if letter == "x" else letter) for i, letter in enumerate(text)]
    operator = SequenceOperator(spec(n_steps, strategy, within))
    list(operator.process(block(events, n_steps, list(range(len(events)))), MIN_US))
    return sorted("".join(str(i) for i in match) for match in rows(operator.finish(), n_steps).elements())


@pytest.mark.parametrize(
    ("text", "strategy", "within", "found"),
    [
        ("ABC", "contiguous", None, ["012"]),
        ("AxBC", "contiguous", None, []),
        ("ABxC", "contiguous", None, []),
        ("AABC", "contiguous", None, ["123"]),
        ("ABxC", "next", None, ["013"]),
        ("AABBCC", "next", None, ["024", "124"]),
        ("AABC", "any", None, ["023", "123"]),
        ("ABBC", "any", None, ["013", "023"]),
        ("ABxC", "any", 4, ["013"]),
        ("ABxC", "any", 3, []),
        ("AABxC", "any", 4, ["124"]),
        ("AABxC", "next", 4, ["124"]),
        ("ABxC", "next", 3, []),
        ("CBA", "any", None, []),
    ],
)
def test_words(text: str, strategy: str, within: int | None, found: list[str]) -> None:
    assert letters(text, 3, strategy, within) == found


@pytest.mark.parametrize("strategy", ["any", "next", "contiguous"])
def test_a_match_that_ends_at_the_watermark_is_returned_once(strategy: str) -> None:
    operator = SequenceOperator(spec(2, strategy, 10))
    assert rows(operator.process(block([(1, 1, "A"), (2, 1, "B")], 2, [0, 1]), 2), 2) == {(0, 1): 1}
    assert not rows(operator.process(block([(3, 1, "A")], 2, [2]), 3), 2)
    assert not rows(operator.process(None, 4), 2)


@pytest.mark.parametrize("strategy", ["next", "contiguous"])
def test_all_tied_earliest_events_branch_the_chain(strategy: str) -> None:
    events = [(1, 1, "A"), (2, 1, "B"), (2, 1, "B"), (3, 1, "C"), (3, 1, "C"), (4, 1, "B")]
    operator = SequenceOperator(spec(3, strategy, None))
    list(operator.process(block(events, 3, list(range(len(events)))), MIN_US))
    assert rows(operator.finish(), 3) == Counter([(0, 1, 3), (0, 1, 4), (0, 2, 3), (0, 2, 4)])


def test_tied_events_do_not_follow_one_another_where_others_do() -> None:
    events = [(0, 1, "A"), (1, 1, "A"), (1, 1, "B"), (2, 1, "B"), (2, 1, "C")]
    for n_steps, found in ((2, [(0, 2), (0, 3), (1, 3)]), (3, [(0, 2, 4)])):
        operator = SequenceOperator(spec(n_steps, "any", None))
        list(operator.process(block(events, n_steps, list(range(len(events)))), MIN_US))
        assert rows(operator.finish(), n_steps) == Counter(found)
