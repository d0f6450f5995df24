"""Counts and sums far beyond 64 bits are right to the last digit; past 38 digits there is an error, not a number."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eventide as ev
from tests.families.trends.recurrences import loop, rounds, windows
from tests.micro_batches import Stream

LARGEST = 10**38 - 1


def many(n: int, x: Any = None, kind: pa.DataType | None = None, **more: Any) -> pa.Table:
    """n events of type A, one a second."""
    table = pa.table({"ts": pa.array(range(n), pa.int64()), "kind": pa.array(["A"] * n)})
    if x is not None:
        table = table.append_column("x", pa.array([x(i) for i in range(n)], kind or pa.int64()))
    for name, value in more.items():
        table = table.append_column(name, pa.array([value] * n))
    return table


def run(text: str, events: Any, **options: Any) -> list[tuple[Any, ...]]:
    result = ev.query(text, ts="ts", ts_unit="s", type="kind", **options).run(events)
    rows = result.drop_columns(["detected_at"]).to_pylist()
    return [tuple(row.values()) for row in rows]


def one(text: str, events: Any, **options: Any) -> tuple[Any, ...]:
    (row,) = run(text, events, **options)
    return row


# --- exact -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [60, 62, 63, 64, 65, 95, 96, 100, 120, 125, 126])
def test_a_loop_of_n_events_has_two_to_the_n_less_one_trends(n: int) -> None:
    assert one("PATTERN A+ RETURN COUNT(*)", many(n)) == (Decimal(2**n - 1),)


@pytest.mark.parametrize("n", [57, 60, 64, 100, 112])
def test_each_event_is_in_half_of_the_trends(n: int) -> None:
    table = many(n, lambda i: 3 * i - 70)
    total = sum(3 * i - 70 for i in range(n)) * 2 ** (n - 1)
    text = "PATTERN A+ RETURN COUNT(A), COUNT(A.x), SUM(A.x), MIN(A.x), MAX(A.x), AVG(A.x)"
    found = one(text, table)
    assert found[:5] == (n * 2 ** (n - 1), n * 2 ** (n - 1), total, -70, 3 * (n - 1) - 70)
    assert found[5] == pytest.approx((3 * (n - 1)) / 2 - 70, rel=1e-9)


@pytest.mark.parametrize("n", [60, 90, 110])
def test_sums_of_negative_numbers_and_decimals_are_exact(n: int) -> None:
    cents = [(-1) ** i * (7 * i + 1) for i in range(n)]
    table = many(n, lambda i: Decimal(cents[i]).scaleb(-2), pa.decimal128(9, 2))
    (found,) = one("PATTERN A+ RETURN SUM(A.x)", table)
    assert Fraction(found) == Fraction(sum(cents) * 2 ** (n - 1), 100)


def test_sums_of_long_integers_are_exact() -> None:
    big = 2**62 + 1
    table = many(50, lambda i: big - i)
    assert one("PATTERN A+ RETURN SUM(A.x)", table) == (sum(big - i for i in range(50)) * 2**49,)
    table = many(50, lambda i: -big - i)
    assert one("PATTERN A+ RETURN SUM(A.x)", table) == (sum(-big - i for i in range(50)) * 2**49,)


@pytest.mark.parametrize("n", [114, 116, 118])
def test_a_sum_fits_although_its_positive_part_does_not(n: int) -> None:
    """Positive and negative values are added up apart; where either has more than 38 digits, bit by bit."""
    table = many(n, lambda i: 100 if i < n // 2 else -100)
    assert one("PATTERN A+ RETURN SUM(A.x), AVG(A.x), COUNT(*)", table) == (0, 0.0, 2**n - 1)
    table = many(n, lambda i: 2**62 + 5 * (i == 1) if i < n // 2 else -(2**62))
    assert one("PATTERN A+ RETURN SUM(A.x)", table) == (5 * 2 ** (n - 1),)


def test_a_decimal_sum_fits_although_its_parts_do_not() -> None:
    n = 60
    table = many(n, lambda i: Decimal("1" + "0" * 27 + ".25" if i % 2 else "-1" + "0" * 27), pa.decimal128(30, 2))
    assert one("PATTERN A+ RETURN SUM(A.x)", table) == (Decimal(n // 2) * Decimal("0.25") * 2 ** (n - 1),)


def test_a_sum_that_does_not_fit_is_an_error_whatever_its_parts() -> None:
    table = many(116, lambda i: 100 if i < 90 else -100)
    with pytest.raises(ev.EventideError, match="38 digits"):
        one("PATTERN A+ RETURN SUM(A.x)", table)
    assert one("PATTERN A+ RETURN SUM(A.x), AVG(A.x)", table, on_overflow="null") == (None, pytest.approx(6400 / 116))


def test_sums_that_cancel_out_in_windows_groups_pairs_and_by_neighbours() -> None:
    n = 116
    table = many(n, lambda i: 100 if i < n // 2 else -100, g="u", p=1)
    for more in ("WITHIN 500 s", "WITHIN 500 s SLIDE 250 s", "WHERE A.ts < NEXT(A).ts", "PARTITION BY p GROUP BY g"):
        rows = run(f"PATTERN A+ {more} RETURN SUM(A.x)", table)
        assert {row[0] for row in rows} == {0}, more
    table = pa.concat_tables([table, table.slice(0, 1).set_column(1, "kind", pa.array(["B"]))])
    assert one("PATTERN AND(A+, B) RETURN SUM(A.x)", table) == (0,)


def test_an_average_of_sums_beyond_38_digits_is_right_or_refused() -> None:
    for n in range(116, 132, 3):
        try:
            (found,) = one("PATTERN A+ RETURN AVG(A.x)", many(n, lambda i: 1000 + i % 2))
        except ev.EventideError as error:
            assert "cannot run yet" not in str(error)
            continue
        assert found == pytest.approx(1000 + (n // 2) / n, rel=1e-9)


@pytest.mark.parametrize("n", [40, 100, 130, 142])
def test_rounds_over_an_alternating_stream(n: int) -> None:
    """`(SEQ(A+, B))+`: about 1.85 times as many trends with every event."""
    events = [{"ts": i, "kind": "AB"[i % 2], "x": i} for i in range(n)]
    expected = rounds(events)
    assert expected.trends <= LARGEST
    assert one("PATTERN (SEQ(A+, B))+ RETURN COUNT(*)", events) == (expected.trends,)
    if expected.total <= LARGEST:
        found = one("PATTERN (SEQ(A+, B))+ RETURN COUNT(*), COUNT(A), SUM(A.x)", events)
        assert found == (expected.trends, expected.events, expected.total)


# --- past the limit ------------------------------------------------------------------------------------------------

GROUPED = "PATTERN A+ GROUP BY g WITHIN 5000 seconds RETURN g, COUNT(*)"


def far(n: int, g: str) -> pa.Table:
    """n events of a group in the window from 5000 to 10000."""
    table = many(n, g=g)
    return table.set_column(0, "ts", pa.array(range(5000, 5000 + n), pa.int64()))


def test_more_than_38_digits_are_an_error_that_names_group_and_window() -> None:
    events = pa.concat_tables([far(10, "cold"), far(127, "hot")])
    with pytest.raises(ev.EventideError) as refused:
        run(GROUPED, events)
    message = str(refused.value)
    assert "hot" in message and "5000" in message and "cold" not in message
    assert refused.value.hint is not None


def test_more_than_38_digits_without_group_or_window_are_an_error() -> None:
    with pytest.raises(ev.EventideError) as refused:
        run("PATTERN A+ RETURN COUNT(*)", many(127))
    assert "cannot run yet" not in str(refused.value)


@pytest.mark.parametrize("n", [127, 128, 129, 192, 256, 1000])
def test_more_than_38_digits_are_null_where_that_is_wanted(n: int) -> None:
    events = pa.concat_tables([far(10, "cold"), far(n, "hot")])
    rows = run(GROUPED, events, on_overflow="null")
    assert sorted(rows) == [("cold", 2**10 - 1, 5000, 10000), ("hot", None, 5000, 10000)]


def test_nulls_in_place_of_numbers_past_their_range_are_counted() -> None:
    text = "PATTERN A+ GROUP BY g WITHIN 5000 seconds RETURN g, COUNT(*), COUNT(A), MIN(A.ts)"
    query = ev.query(text, ts_unit="s", type="kind", on_overflow="null")
    query.run(pa.concat_tables([far(10, "cold"), far(125, "warm"), far(130, "hot")]))
    assert query.metrics()["overflows"] == 3
    query.run(far(10, "cold"))
    assert query.metrics()["overflows"] == 0


def test_nulls_of_micro_batches_are_counted_across_restarts() -> None:
    text = "PATTERN A+ WITHIN 1000 seconds RETURN COUNT(*)"
    stream = Stream(ev.query(text, ts="ts", ts_unit="s", type="kind", on_overflow="null").plan(many(1).schema))
    stream.step(many(130), 1_000_000_000)
    stream.step(far(10, "").drop_columns(["g"]), 6_000_000_000)
    assert [row["count"] for row in stream.rows] == [None, 2**10 - 1]
    assert stream.operator().overflows() == 1
    stream.step(far(130, "").drop_columns(["g"]), 6_000_000_001)
    assert stream.operator().overflows() == 1


def test_only_the_aggregate_that_is_too_large_is_null() -> None:
    table = many(125, lambda i: i)
    text = "PATTERN A+ RETURN COUNT(*), COUNT(A), SUM(A.x), MIN(A.x), MAX(A.x)"
    assert one(text, table, on_overflow="null") == (2**125 - 1, None, None, 0, 124)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_past_the_limit_is_an_error_on_both_sides(sign: int) -> None:
    table = many(60, lambda i: sign * 2**62)
    assert one("PATTERN A+ RETURN SUM(A.x)", many(55, lambda i: sign * 2**62)) == (sign * 55 * 2**116,)
    with pytest.raises(ev.EventideError):
        run("PATTERN A+ RETURN SUM(A.x)", table)
    assert one("PATTERN A+ RETURN SUM(A.x)", table, on_overflow="null") == (None,)


def test_a_decimal_sum_has_38_digits_with_its_places() -> None:
    """DECIMAL(38, 10) holds 28 digits before the point."""
    kind = pa.decimal128(20, 10)
    assert one("PATTERN A+ RETURN SUM(A.x)", many(80, lambda i: Decimal(1), kind)) == (80 * 2**79,)
    with pytest.raises(ev.EventideError):
        run("PATTERN A+ RETURN SUM(A.x)", many(95, lambda i: Decimal(1), kind))


def test_what_no_result_reads_does_not_overflow() -> None:
    """200 events of A+ have more than 60 digits, but no B follows, or only a few may."""
    events = [{"ts": 0, "kind": "B", "x": 0}, *({"ts": 1 + i, "kind": "A", "x": i} for i in range(200))]
    assert run("PATTERN SEQ(A+, B) RETURN COUNT(*)", events) == []
    text = "PATTERN SEQ(A+, B) WHERE A.x < NEXT(B).x RETURN COUNT(*)"
    assert run(text, [*events, {"ts": 500, "kind": "B", "x": 3}]) == [(7,)]


def test_windows_behind_one_that_overflows_are_right() -> None:
    """Windows share their panes: an overflow in one is not the next one's."""
    dense = [{"ts": i, "kind": "A"} for i in range(150)]
    sparse = [{"ts": ts, "kind": "A"} for ts in (320, 330, 340)]
    rows = run("PATTERN A+ WITHIN 200 s SLIDE 100 s RETURN COUNT(*)", dense + sparse, on_overflow="null")
    found = {start: count for count, start, _ in rows}
    assert found == {-100: 2**100 - 1, 0: None, 100: 2**50 - 1, 200: 7, 300: 7}


def test_panes_that_overflow_only_together() -> None:
    events = [{"ts": ts + i, "kind": "A"} for ts in (0, 100) for i in range(70)]
    for functions in ("COUNT(*)", "COUNT(*), COUNT(A)"):
        text = f"PATTERN A+ WITHIN 200 s SLIDE 100 s RETURN {functions}"
        found = {row[-2]: row[:-2] for row in run(text, events, on_overflow="null")}
        assert found[0] == (None,) * len(found[0])
        assert found[-100][0] == found[100][0] == 2**70 - 1


def test_a_number_just_past_38_digits() -> None:
    """5 * 2**124 is more than 10**38, but not much."""
    events = [{"ts": i, "kind": "A", "x": 0, "p": 1} for i in range(124)]
    events += [{"ts": 200 + i, "kind": "B", "x": 1, "p": 1} for i in range(5)]
    for text in (
        "PATTERN SEQ(A+, B) RETURN COUNT(*)",
        "PATTERN SEQ(A+, B) RETURN COUNT(B)",
        "PATTERN SEQ(A+, B) RETURN SUM(B.x)",
        "PATTERN SEQ(A+, B) WHERE [p] RETURN COUNT(*)",
    ):
        assert run(text, events[:-1]) == [(4 * (2**124 - 1),)]
        assert run(text, events, on_overflow="null") == [(None,)]


def test_one_event_takes_a_sum_past_two_words() -> None:
    assert one("PATTERN A+ RETURN SUM(A.x)", many(101, lambda i: (i == 100) * 2**10)) == (2**110,)
    table = many(101, lambda i: (i == 100) * 2**40)
    assert one("PATTERN A+ RETURN SUM(A.x)", table, on_overflow="null") == (None,)


def test_what_is_past_the_range_stays_there() -> None:
    assert one("PATTERN A+ RETURN COUNT(*), COUNT(A)", many(300), on_overflow="null") == (None, None)


# --- double and log2 --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [10, 200, 1000, 1023])
def test_doubles_reach_further(n: int) -> None:
    (found,) = one("PATTERN A+ RETURN COUNT(*)", many(n), counts="double")
    assert found == pytest.approx(float(2**n - 1), rel=1e-9)


@pytest.mark.parametrize("n", [1025, 1100, 3000])
def test_doubles_that_are_too_large_are_an_error_never_infinity(n: int) -> None:
    with pytest.raises(ev.EventideError) as refused:
        run(GROUPED, far(n, "hot"), counts="double")
    assert "hot" in str(refused.value) and "5000" in str(refused.value)
    rows = run(GROUPED, far(n, "hot"), counts="double", on_overflow="null")
    assert rows[0] == ("hot", None, 5000, 10000)


@pytest.mark.parametrize("n", [30, 60, 70, 100])
def test_sums_of_doubles_do_not_lose_small_parts(n: int) -> None:
    table = many(n, lambda i: 1e16 if i == 0 else -1e16 if i == n - 1 else 0.5, pa.float64())
    (found,) = one("PATTERN A+ RETURN SUM(A.x)", table)
    assert found == pytest.approx((n - 2) * 0.5 * 2 ** (n - 1), rel=1e-9)


def test_sums_of_doubles_past_the_limit_are_overflow() -> None:
    table = many(1000, lambda i: 1e300, pa.float64())
    assert one("PATTERN A+ RETURN SUM(A.x)", table, counts="double", on_overflow="null") == (None,)


@pytest.mark.parametrize("n", [1, 10, 127, 1100, 100_000])
def test_logarithms_never_overflow(n: int) -> None:
    found = one("PATTERN A+ RETURN COUNT(*), COUNT(A)", many(n), counts="log2")
    exact = math.log2(2**n - 1) if n < 1000 else float(n)
    assert found == pytest.approx((exact, n - 1 + math.log2(n)), rel=1e-9, abs=1e-9)


def test_numbers_of_different_size_add_up_in_logarithms() -> None:
    """2**511 trends to one B, 2**512 to the next: the scale of numbers changes between them."""
    events = [{"ts": i, "kind": "A"} for i in range(511)]
    events += [{"ts": 511, "kind": "B"}, {"ts": 512, "kind": "A"}, {"ts": 513, "kind": "B"}]
    assert one("PATTERN SEQ(A+, B) RETURN COUNT(*)", events, counts="log2") == (pytest.approx(511 + math.log2(3)),)


def test_an_average_of_both_signs_beside_logarithms() -> None:
    table = many(700, lambda i: 10 if i % 4 == 0 else -2)
    assert one("PATTERN A+ RETURN AVG(A.x)", table, counts="log2") == (pytest.approx(1.0),)


# --- long streams -----------------------------------------------------------------------------------------------------


def long_stream(n: int, seed: int, kinds: str, step: int = 2) -> list[dict[str, Any]]:
    """Ties, NULLs and negative numbers; `step` is how far apart events are at most, in seconds."""
    rng = random.Random(seed)
    ts = 0
    made = []
    for _ in range(n):
        ts += rng.randrange(step + 1)
        x = None if rng.random() < 0.05 else rng.randrange(-1000, 1000)
        made.append({"ts": ts, "kind": rng.choice(kinds), "x": x, "g": rng.choice("uvw")})
    return made


def table_of(events: list[dict[str, Any]]) -> pa.Table:
    fields = [("ts", pa.int64()), ("kind", pa.string()), ("x", pa.int64()), ("g", pa.string())]
    return pa.Table.from_pylist(events, pa.schema(fields))


def by_group_and_window(
    events: list[dict[str, Any]], within: int, slide: int
) -> Iterator[tuple[str, int, int, list[dict[str, Any]]]]:
    for g in "uvw":
        for start, end, inside in windows([event for event in events if event["g"] == g], within, slide):
            yield g, start, end, inside


@pytest.mark.parametrize(("within", "slide"), [(60, 60), (60, 20), (60, 7), (60, 1), (100, 70)])
def test_rounds_in_sliding_windows_over_a_long_stream(within: int, slide: int) -> None:
    events = long_stream(2000, within + slide, "AABBC")
    expected: dict[Any, Any] = {}
    for g, start, end, inside in by_group_and_window(events, within, slide):
        found = rounds(inside)
        if found.trends:
            expected[(g, start, end)] = (found.trends, found.events, found.total)
    text = f"PATTERN (SEQ(A+, B))+ GROUP BY g WITHIN {within} s SLIDE {slide} s RETURN g, COUNT(*), COUNT(A), SUM(A.x)"
    compare(run(text, table_of(events)), expected)


@pytest.mark.parametrize("strategy", ["any", "next", "contiguous"])
@pytest.mark.parametrize(("within", "slide"), [(80, 80), (80, 30)])
def test_rising_trends_in_sliding_windows_over_a_long_stream(strategy: str, within: int, slide: int) -> None:
    events = long_stream(1200, 5, "AAAAB")
    expected: dict[Any, Any] = {}
    for g, start, end, inside in by_group_and_window(events, within, slide):
        found = loop(inside, lambda a, b: a < b, strategy)
        if found.trends:
            expected[(g, start, end)] = (found.trends, found.events, found.total)
    text = f"""PATTERN A+ WHERE A.x < NEXT(A).x SEMANTICS {strategy} GROUP BY g
        WITHIN {within} s SLIDE {slide} s RETURN g, COUNT(*), COUNT(A), SUM(A.x)"""
    compare(run(text, table_of(events)), expected)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("A.x < NEXT(A).x", lambda a, b: a < b),
        ("A.x >= NEXT(A).x", lambda a, b: a >= b),
        ("NEXT(A).x > A.x * 2", lambda a, b: b > 2 * a),
        ("A.x <> NEXT(A).x", lambda a, b: a != b),
        ("A.x = NEXT(A).x", lambda a, b: a == b),
        ("A.x < NEXT(A).x AND A.x + 400 > NEXT(A).x", lambda a, b: a < b < a + 400),
    ],
)
def test_conditions_on_neighbours_over_a_long_stream(condition: str, holds: Any) -> None:
    n = {"A.x <> NEXT(A).x": 110, "NEXT(A).x > A.x * 2": 350}.get(condition, 600)
    events = long_stream(n, 3, "AAAAAAB")
    expected = loop(events, holds)
    assert max(expected.trends, expected.events, abs(expected.total)) <= LARGEST
    text = f"PATTERN A+ WHERE {condition} RETURN COUNT(*), COUNT(A), SUM(A.x)"
    assert run(text, table_of(events)) == [(expected.trends, expected.events, expected.total)]


def test_a_count_near_the_limit_by_neighbours() -> None:
    """An ordered index adds and takes away large counts: nothing may be lost."""
    x = np.random.default_rng(1).permutation(125)
    events = [{"ts": i, "kind": "A", "x": int(v), "g": "u"} for i, v in enumerate(x)]
    expected = loop(events, lambda a, b: a != b)
    assert run("PATTERN A+ WHERE A.x <> NEXT(A).x RETURN COUNT(*)", table_of(events)) == [(expected.trends,)]
    rising = sorted(events, key=lambda event: event["x"])
    rising = [{**event, "ts": i} for i, event in enumerate(rising)]
    assert run("PATTERN A+ WHERE A.x < NEXT(A).x RETURN COUNT(*)", table_of(rising)) == [(2**125 - 1,)]


def compare(rows: list[tuple[Any, ...]], expected: dict[Any, Any]) -> None:
    """Rows (group, values, window) against values by group and window."""
    found = {(row[0], *row[-2:]): row[1:-2] for row in rows}
    assert len(found) == len(rows)
    assert found.keys() == expected.keys()
    wrong = {key: (found[key], value) for key, value in expected.items() if not _equal(found[key], value)}
    assert not wrong


def _equal(found: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    """A sum of nothing but NULLs is NULL; the recurrence has 0."""
    return found[:-1] == expected[:-1] and (found[-1] or 0) == expected[-1]
