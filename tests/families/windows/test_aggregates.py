"""Every aggregate of Spark SQL over windows: the oracle's value, and Spark's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as ev
from eventide.families.windows import operator
from tests.budget import budgeted
from tests.drawn import mostly_drawn_rows
from tests.families.rows.test_aggregates import EXPRESSIONS, SETS, TABLE, same, same_column
from tests.families.windows.clauses import CLOSING, EVENTS, EVERYTHING, Cut
from tests.micro_batches import Arrival, Stream, arrivals
from tests.oracle import list_aggregates as whole
from tests.oracle import windows as oracle

Rows = Sequence[dict[str, Any]]
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("g", pa.string()),
        ("x", pa.int32()),
        ("y", pa.int32()),
        ("s", pa.string()),
        ("f", pa.bool_()),
    ]
)


def _of(*columns: str) -> Callable[[Callable[..., Any]], Callable[[Rows], Any]]:
    """A reference over the columns that an aggregate reads: in that order they order events of one time, too."""

    def over(reference: Callable[..., Any]) -> Callable[[Rows], Any]:
        def value(events: Rows) -> Any:
            ordered = sorted(events, key=lambda e: [(e[c] is not None, e[c]) for c in ("ts", *columns)])
            return reference(*([event[c] for event in ordered] for c in columns))

        return value

    return over


def _under(values: Sequence[Any], condition: Sequence[Any]) -> list[Any]:
    return [value for value, holds in zip(values, condition, strict=True) if holds]


def _greatest_first(values: Sequence[Any], keys: Sequence[Any]) -> list[Any]:
    """Values without NULL by their keys, the greatest first, NULL last; then by themselves."""
    pairs = [pair for pair in zip(values, keys, strict=True) if pair[0] is not None]
    return [value for value, _ in sorted(pairs, key=lambda pair: (pair[1] is None, -(pair[1] or 0), pair[0]))]


THIRD = Fraction(3, 10)
REFERENCES: dict[str, Callable[[Rows], Any]] = {
    "count(DISTINCT x)": _of("x")(whole.count_distinct),
    "count(DISTINCT x, y)": _of("x", "y")(whole.count_distinct),
    "count(DISTINCT x + y)": _of("x", "y")(
        lambda x, y: len({a + b for a, b in zip(x, y, strict=True) if None not in (a, b)})
    ),
    "sum(DISTINCT x)": _of("x")(lambda x: whole.total(whole.distinct(x))),
    "avg(DISTINCT x)": _of("x")(lambda x: whole.mean(whole.distinct(x))),
    "sum(DISTINCT x) FILTER (WHERE f)": _of("x", "f")(lambda x, f: whole.total(whole.distinct(_under(x, f)))),
    "try_sum(x)": _of("x")(whole.total),
    "try_avg(x)": _of("x")(whole.mean),
    "sum(CAST(x AS DECIMAL(30, 0)))": _of("x")(whole.total),
    "median(x)": _of("x")(lambda x: whole.percentile(x, Fraction(1, 2))),
    "percentile(x, 0.3)": _of("x")(lambda x: whole.percentile(x, THIRD)),
    "percentile_cont(0.3) WITHIN GROUP (ORDER BY x DESC)": _of("x")(
        lambda x: whole.percentile(x, THIRD, descending=True)
    ),
    "percentile_disc(0.3) WITHIN GROUP (ORDER BY x)": _of("x")(lambda x: whole.percentile_disc(x, THIRD)),
    "mode() WITHIN GROUP (ORDER BY x)": _of("x")(whole.mode),
    "array_agg(x)": _of("x")(whole.present),
    "array_agg(x) RESPECT NULLS": _of("x")(list),
    "collect_list(s) FILTER (WHERE f)": _of("s", "f")(lambda s, f: whole.present(_under(s, f))),
    "collect_set(x)": _of("x")(lambda x: whole.present(whole.distinct(x))),
    "listagg(s, ',')": _of("s")(lambda s: whole.joined(s, ",")),
    "string_agg(DISTINCT s, ',')": _of("s")(lambda s: whole.joined(whole.distinct(s), ",")),
    "listagg(s, ',') WITHIN GROUP (ORDER BY x DESC, s)": _of("s", "x")(
        lambda s, x: whole.joined(_greatest_first(s, x), ",")
    ),
    "max_by(x, x, 2)": _of("x")(lambda x: sorted(whole.present(x), reverse=True)[:2] or None),
    "first(x) FILTER (WHERE f)": _of("x", "f")(lambda x, f: next(iter(_under(x, f)), None)),
    "last(x) FILTER (WHERE f)": _of("x", "f")(lambda x, f: next(reversed(_under(x, f)), None)),
    "first(x)": _of("x")(lambda x: next(iter(x), None)),
    "last_value(x) IGNORE NULLS": _of("x")(lambda x: next(reversed(whole.present(x)), None)),
    "count(*) FILTER (WHERE x > 1)": _of("x")(lambda x: sum(value > 1 for value in whole.present(x))),
    "sum(x)": _of("x")(whole.total),
}
ASKED = st.lists(st.sampled_from(list(REFERENCES)), min_size=1, max_size=5, unique=True)
GROUPED = mostly_drawn_rows(EVENTS, 14)


def query(asked: Sequence[str], clause: str, **options: Any) -> ev.Query:
    items = ", ".join(f"{text} AS r{i}" for i, text in enumerate(asked))
    return ev.query(f"FROM t GROUP BY g {clause} RETURN g, count(*) AS n, {items}", ts_unit="s", **options)


def wanted(asked: Sequence[str], cut: Cut, events: Rows) -> list[list[Any]]:
    rows = [
        [group[0], start, end, len(held), *(REFERENCES[text](held) for text in asked)]
        for group, own in oracle.groups(events, ["g"]).items()
        for start, end, held in cut(own)
    ]
    return sorted(rows, key=_place)


def found(rows: Rows, asked: Sequence[str]) -> list[list[Any]]:
    names = ["g", "window_start", "window_end", "n", *(f"r{i}" for i in range(len(asked)))]
    return sorted([[row.get(name, 0) for name in names] for row in rows], key=_place)


def _place(row: list[Any]) -> Any:
    return [(value is not None, value) for value in row[:3]]


def check(rows: Rows, asked: Sequence[str], cut: Cut, events: Rows) -> None:
    expected, got = wanted(asked, cut, events), found(rows, asked)
    assert [row[:4] for row in got] == [row[:4] for row in expected]
    for one, other in zip(got, expected, strict=True):
        for text, a, b in zip(asked, one[4:], other[4:], strict=True):
            assert same(float(a), float(b)) if isinstance(a, float | Decimal) else a == b, text


@budgeted()
@given(GROUPED, ASKED, CLOSING | st.just(EVERYTHING))
def test_windows_have_the_oracles_aggregates(events: list[Any], asked: list[str], windows: tuple[str, Cut]) -> None:
    clause, cut = windows
    rows = query(asked, clause).run(pa.Table.from_pylist(events, SCHEMA)).to_pylist()
    check(rows, asked, cut, events)


@budgeted()
@given(GROUPED, ASKED, CLOSING, arrivals(14, 4))
def test_micro_batches_and_restarts_leave_the_oracles_aggregates(
    events: list[Any], asked: list[str], windows: tuple[str, Cut], arrival: Arrival
) -> None:
    clause, cut = windows
    stream = Stream(query(asked, clause).plan(SCHEMA))
    stream.play_arrival(pa.Table.from_pylist(events, SCHEMA), [event["ts"] for event in events], arrival)
    check(stream.rows, asked, cut, events)


@budgeted()
@given(GROUPED, ASKED, st.integers(1, 5), st.integers(1, 5))
def test_windows_of_events_have_the_oracles_aggregates(
    events: list[Any], asked: list[str], size: int, slide: int
) -> None:
    # The sequence orders events of one time.
    events = [{**event, "ts": 20 * event["ts"] + i, "second": event["ts"]} for i, event in enumerate(events)]
    table = pa.Table.from_pylist(events, pa.schema([*SCHEMA, ("second", pa.int64())]))
    asked_for = query(asked, f"WITHIN {size} EVENTS SLIDE {slide} EVENTS", ts="second", sequence="ts")
    check(asked_for.run(table).to_pylist(), asked, lambda own: oracle.counting(own, size, slide, ()), events)


def test_batches_of_rows_hold_few_items_of_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows that overlap hold an event often: the memory of their lists is bounded by batches."""
    events = pa.table({"ts": range(60), "x": range(60)})
    asked = ev.query("FROM t WITHIN 10 seconds SLIDE 1 second RETURN array_agg(x) AS a", ts_unit="s")
    whole_rows = asked.run(events)
    monkeypatch.setattr(operator, "_ITEMS_PER_BATCH", 40)
    batches = list(asked.batches(events))
    assert max(sum(map(len, batch.column("a").to_pylist())) for batch in batches) <= 50
    assert sorted(row["a"] for batch in batches for row in batch.to_pylist()) == sorted(
        whole_rows.column("a").to_pylist()
    )
    sessions = ev.query("FROM t GROUP BY x SESSION 1 second RETURN array_agg(x) AS a", ts_unit="s")
    assert [batch.num_rows for batch in sessions.batches(events)] == [39, 21]


def test_values_of_one_event_stay_beside_each_other() -> None:
    """Events of one time have their own order in each list, but lists of one call have the same."""
    events = [{"ts": 1, "a": a, "b": -a} for a in (3, 1, 2)]
    text = (
        "FROM t WITHIN 5 seconds RETURN max_by(a, b, 3) AS m, listagg(CAST(a AS STRING), '') WITHIN GROUP (ORDER BY b)"
    )
    (row,) = ev.query(f"{text} AS l", ts_unit="s").run(events).to_pylist()
    assert (row["m"], row["l"]) == ([1, 2, 3], "321")


def test_lists_and_structs_have_an_order_of_their_own() -> None:
    values = [{"k": 2}, None, {"k": 1}, {"k": None}]
    events = [{"ts": 1, "tags": tags, "v": v} for tags, v in zip([[2], [1, 5], [1], None], values, strict=True)]
    text = "FROM t WITHIN 5 seconds RETURN array_agg(tags) RESPECT NULLS AS t, array_agg(v) RESPECT NULLS AS v"
    for some in (events, events[::-1]):
        (row,) = ev.query(text, ts_unit="s").run(some).to_pylist()
        assert row["t"] == [None, [1], [1, 5], [2]]
        assert row["v"] == [None, {"k": None}, {"k": 1}, {"k": 2}]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "approx_count_distinct(x)",
            "approx_count_distinct cannot be computed over windows: its approximation is Spark's own",
            "count exactly: count(DISTINCT x)",
        ),
        ("median(s)", "median takes numbers, but this is string", "cast it: CAST(x AS DOUBLE)"),
        ("quantile(x, 0.5)", "there is no aggregate quantile", "in Spark SQL it is percentile"),
        ("median(max(x))", "an aggregate is inside another one", "an aggregate is over events"),
        (
            "grouping(x)",
            "grouping cannot be computed over windows: it belongs to GROUP BY with GROUPING SETS, CUBE or ROLLUP",
            "group the result after the query",
        ),
    ],
)
def test_what_cannot_be_computed_is_told_with_what_to_write(text: str, message: str, hint: str) -> None:
    with pytest.raises(ev.QueryError) as caught:
        query([text], "WITHIN 5 seconds").run(pa.Table.from_pylist([], SCHEMA))
    error = caught.value
    assert (error.message, error.hint) == (message, hint)
    assert error.text[error.start : error.end] == text


def test_a_sum_out_of_range_is_an_error_and_try_sum_is_null() -> None:
    huge = [{"ts": 1, "x": 2**62}, {"ts": 2, "x": 2**62 + 1}]
    text = "FROM t WITHIN 5 seconds RETURN {} AS s"
    with pytest.raises(ev.InputError, match="an aggregate of RETURN leaves the range of its type"):
        ev.query(text.format("sum(DISTINCT x)"), ts_unit="s").run(huge)
    assert ev.query(text.format("try_sum(x)"), ts_unit="s").run(huge).column("s").to_pylist() == [None]


@pytest.mark.spark
def test_every_aggregate_over_windows_is_that_of_spark(spark: Any) -> None:
    """Groups of rows are windows of 20 seconds, in the order of time."""
    times = pa.compute.add(pa.compute.multiply(TABLE.column("g"), 20), TABLE.column("i")).cast(pa.int64())
    table = TABLE.append_column("ts", times)
    frame = spark.createDataFrame(table).coalesce(1)
    frame.createOrReplaceTempView("windowed")
    texts, different = [*EXPRESSIONS, *SETS], []
    # DISTINCT beside them makes Spark forget the order of rows in the others.
    plain = [text for text in texts if "DISTINCT" not in text]
    parts = [plain[start : start + 12] for start in range(0, len(plain), 12)]
    for some in [*parts, *([text] for text in texts if "DISTINCT" in text)]:
        items = ", ".join(f"{text} AS m{i}" for i, text in enumerate(some))
        windows = "(SELECT *, window(timestamp_seconds(ts), '20 seconds') AS w FROM windowed)"
        expected = spark.sql(f"SELECT w, {items} FROM {windows} GROUP BY w ORDER BY w").toArrow()
        asked = ev.query(f"FROM t WITHIN 20 seconds RETURN {items}", ts_unit="s").run(table).sort_by("window_start")
        different += [text for i, text in enumerate(some) if not same_column(asked, expected, f"m{i}", text in SETS)]
    assert not different
