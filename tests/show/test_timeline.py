"""`ev.timeline`: from results, queries, events and tables of intervals to a picture of one partition."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from tests.show.charts import Drawn, S
from tests.show.pixels import decode, is_colour, render

QUERY = """
    FROM cars PARTITION BY car_id
    DEFINE A AS accel > 8 FOR AT LEAST 5 seconds,
           B AS speed > 70
    PATTERN A overlaps B
    RETURN first(B.speed) AS speed, count(A.*) AS n
"""


def drive(car: int, **runs: tuple[int, int]) -> list[dict[str, Any]]:
    """One event a second from 0 to 59, with values that make situations of the runs."""

    def inside(name: str, t: int) -> bool:
        start, end = runs.get(name, (0, 0))
        return start <= t < end

    return [
        {"ts": t, "car_id": car, "accel": 9 if inside("A", t) else 0, "speed": 80 if inside("B", t) else 50}
        for t in range(60)
    ]


EVENTS = [*drive(7, A=(10, 30), B=(20, 40)), *drive(8, A=(5, 20), B=(15, 60)), *drive(9)]


@pytest.fixture
def query() -> ev.Query:
    return ev.query(QUERY, ts_unit="s")


def intervals(lane: Any) -> list[tuple[float, float | None]]:
    known = zip(lane.start_us.tolist(), lane.end_us.tolist(), lane.is_open.tolist(), strict=True)
    return [(start // S, None if is_open else end // S) for start, end, is_open in known]


def test_situations_events_and_matches_of_one_partition_are_shown(query: ev.Query) -> None:
    chart = ev.timeline(query.run(EVENTS), query=query, events=EVENTS, partition={"car_id": 7}).chart
    assert [(lane.name, intervals(lane)) for lane in chart.lanes] == [
        ("A: accel > 8", [(10, 30)]),
        ("B: speed > 70", [(20, 40)]),
    ]
    assert chart.lanes[0].detail == "A: accel > 8 FOR AT LEAST 5 seconds"
    assert chart.events_us is not None and (chart.events_us // S).tolist() == list(range(60))
    (match,) = chart.matches or ()
    # Certain when A ends; the end of B, which is that of the match, is known by now.
    assert (match.start_us, match.end_us, match.detected_us) == (10 * S, 40 * S, 30 * S)
    assert match.values == (("speed", "80"), ("n", "20"))
    assert chart.title == "A overlaps B"
    assert chart.subtitle == "car_id = 7  ·  2 situations  ·  1 match  ·  60 events  ·  0 s to 59 s (59 s)"


def test_a_match_of_a_situation_that_goes_on_has_no_end(query: ev.Query) -> None:
    chart = ev.timeline(query.run(EVENTS), query=query, events=EVENTS, partition={"car_id": 8}).chart
    assert intervals(chart.lanes[1]) == [(15, None)]
    assert [match.end_us for match in chart.matches or ()] == [None]


def test_a_partition_without_a_match_is_shown_as_such(query: ev.Query) -> None:
    shown = ev.timeline(query.run(EVENTS), query=query, events=EVENTS, partition={"car_id": 9})
    assert shown.chart.matches == () and "no match" in Drawn.of(shown.svg).words()


def test_the_picture_of_a_query_shows_bars_and_the_detection_where_they_are(query: ev.Query) -> None:
    shown = ev.timeline(query.run(EVENTS), query=query, events=EVENTS, partition={"car_id": 7})
    drawn, pixels = Drawn.of(shown.svg), decode(render(shown.svg))
    first = drawn.all("rect", "bar")[0]
    y = int(float(first.get("y"))) + 7
    assert is_colour(pixels[y, round(drawn.x(10)) + 2 : round(drawn.x(30)) - 2], "#0072b2").all()
    assert not is_colour(pixels[y, round(drawn.x(31)) :], "#0072b2").any()
    diamond = drawn.all("use", "detected")[-1]
    assert float(diamond.get("x")) == pytest.approx(drawn.x(30), abs=0.01)


def test_only_matches_of_the_result_are_shown(query: ev.Query) -> None:
    events = [
        *drive(7, A=(10, 30), B=(20, 40)),
        *({**row, "ts": row["ts"] + 60} for row in drive(7, A=(0, 9), B=(5, 12))),
    ]
    result = query.run(events)
    assert result.num_rows == 2

    def n_shown(rows: Any) -> int:
        return len(ev.timeline(rows, query=query, events=events, partition={"car_id": 7}).chart.matches or ())

    assert [n_shown(result), n_shown(result.slice(1)), n_shown(result.slice(2)), n_shown(None)] == [2, 1, 0, 2]


def test_a_query_without_return_shows_its_default_columns() -> None:
    query = ev.query(QUERY[: QUERY.index("RETURN")], ts_unit="s")
    (match,) = ev.timeline(query.run(EVENTS), query=query, events=EVENTS, partition={"car_id": 7}).chart.matches or ()
    assert (match.start_us, match.end_us, match.detected_us) == (10 * S, 40 * S, 30 * S)
    assert dict(match.values)["B_end"] == "NULL", "what was known when it was detected"


def test_symbols_may_have_any_name() -> None:
    query = ev.query(
        'DEFINE `<b> "1"` AS accel > 8, `of` AS speed > 70 PATTERN `<b> "1"` overlaps `of` RETURN count(`of`.*) AS n',
        ts_unit="s",
    )
    shown = ev.timeline(query=query, events=drive(7, A=(10, 30), B=(20, 40)))
    assert len(shown.chart.matches or ()) == 1
    assert any("<b>" in words for words in Drawn.of(shown.svg).words())


def test_a_partitioned_query_needs_a_partition_and_some_are_named(query: ev.Query) -> None:
    with pytest.raises(ev.InputError, match="which car_id") as error:
        ev.timeline(query.run(EVENTS), query=query, events=EVENTS)
    assert "{'car_id': 7}, {'car_id': 8}, {'car_id': 9}" in str(error.value)


def test_a_partition_without_events_is_an_error_that_names_some_others(query: ev.Query) -> None:
    with pytest.raises(ev.InputError, match="no event with car_id = 70") as error:
        ev.timeline(query=query, events=EVENTS, partition={"car_id": 70})
    assert "{'car_id': 7}" in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"partition": {"car": 7, "car_id": 7}}, "no column 'car'"),
        ({"partition": 7}, "partition takes a dict"),
        ({"partition": {"car_id": "x"}}, "cannot be read"),
        ({"partition": {"car_id": 7}, "values": "speet"}, "did you mean 'speed'"),
        ({"partition": {"car_id": 7}, "lane": "speed"}, "tables of intervals"),
        ({"partition": {"car_id": 7}, "events": None}, "found in its events"),
        ({"partition": {"car_id": 7}, "path": "page.txt"}, "cannot write"),
    ],
)
def test_what_is_asked_wrongly_is_said(query: ev.Query, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ev.EventideError, match=message):
        ev.timeline(query.run(EVENTS), **{"query": query, "events": EVENTS, **given})


def test_values_must_be_numbers(query: ev.Query) -> None:
    events = [{**row, "name": "x"} for row in EVENTS]
    with pytest.raises(ev.InputError, match="'name' is not a number"):
        ev.timeline(query=query, events=events, partition={"car_id": 7}, values=["name"])


def test_values_are_lines_of_their_own(query: ev.Query) -> None:
    chart = ev.timeline(query=query, events=EVENTS, partition={"car_id": 7}, values=["speed", "accel"]).chart
    assert [line.name for line in chart.lines] == ["speed", "accel"]
    assert chart.lines[1].values.tolist() == [float(row["accel"]) for row in drive(7, A=(10, 30))]


def test_null_is_a_partition_and_a_null_value_breaks_the_line() -> None:
    rows = [{**row, "car_id": None, "speed": None if row["ts"] == 3 else row["speed"]} for row in drive(7, A=(10, 30))]
    events = pa.Table.from_pylist([*rows, *drive(8)])
    query = ev.query(QUERY, ts_unit="s")
    chart = ev.timeline(query=query, events=events, partition={"car_id": None}, values="speed").chart
    assert intervals(chart.lanes[0]) == [(10, 30)]
    assert [i for i, value in enumerate(chart.lines[0].values) if value != value] == [3]


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "parquet"])
def test_events_and_results_may_be_held_by_anything(query: ev.Query, kind: str, tmp_path: Path) -> None:
    table = pa.Table.from_pylist(EVENTS)
    result = query.run(table)
    if kind == "pandas":
        table, result = table.to_pandas(), result.to_pandas()
    elif kind == "polars":
        polars = pytest.importorskip("polars")
        table, result = polars.from_arrow(table), polars.from_arrow(result)
    elif kind == "parquet":
        path = tmp_path / "events.parquet"
        pq.write_table(table, path)
        table = str(path)
    chart = ev.timeline(result, query=query, events=table, partition={"car_id": 7}).chart
    assert len(chart.matches or ()) == 1 and intervals(chart.lanes[0]) == [(10, 30)]


def test_timestamps_are_shown_without_a_zone_and_instants_in_utc() -> None:
    start = datetime(2024, 1, 31, 12, 0, 0)
    rows = [{**row, "ts": start + timedelta(seconds=row["ts"])} for row in drive(7, A=(10, 30), B=(20, 40))]
    naive = pa.Table.from_pylist(rows)
    query = ev.query(QUERY.replace("PARTITION BY car_id", ""))
    chart = ev.timeline(query.run(naive), query=query, events=naive).chart
    assert chart.zone == "" and "2024-01-31 12:00:00 to 2024-01-31 12:00:59 (59 s)" in chart.subtitle
    aware = naive.set_column(0, "ts", naive.column("ts").cast(pa.timestamp("us", "Asia/Tokyo")))
    chart = ev.timeline(query.run(aware), query=query, events=aware).chart
    assert chart.zone == "UTC" and chart.span_us[0] == int(start.replace(tzinfo=UTC).timestamp()) * S
    assert [match.detected_us for match in chart.matches or ()] == [chart.span_us[0] + 30 * S]


def test_integers_that_count_from_the_epoch_are_shown_as_dates() -> None:
    rows = [{**row, "ts": row["ts"] + 1_706_700_000} for row in drive(7, A=(10, 30), B=(20, 40))]
    query = ev.query(QUERY.replace("PARTITION BY car_id", ""), ts_unit="s")
    chart = ev.timeline(query=query, events=rows).chart
    assert (chart.unit, chart.zone) == (None, "UTC") and "2024-01-31 11:20:00" in chart.subtitle


ROOMS = [
    {"room": room, "interval_start": start, "interval_end": end, "value": value}
    for room, start, end, value in [(2, 0, 10, 3.5), (1, 5, None, 1.0), (2, 20, 30, 4.0), (None, 7, 8, None)]
]


def test_a_table_of_intervals_is_one_lane_or_one_for_each_value() -> None:
    (lane,) = ev.timeline(ROOMS, ts_unit="s").chart.lanes
    assert sorted(intervals(lane), key=lambda pair: pair[0]) == [(0, 10), (5, None), (7, 8), (20, 30)]
    chart = ev.timeline(ROOMS, lane="room", ts_unit="s").chart
    assert [(lane.name, intervals(lane)) for lane in chart.lanes] == [
        ("1", [(5, None)]),
        ("2", [(0, 10), (20, 30)]),
        ("NULL", [(7, 8)]),
    ]
    assert chart.lanes[1].notes == ("value: 3.5", "value: 4.0")
    assert chart.matches is None and chart.events_us is None


def test_a_table_of_intervals_can_be_one_partition_with_its_events() -> None:
    events = [{"ts": t, "room": t % 3, "heat": t} for t in range(30)]
    shown = ev.timeline(ROOMS, ts_unit="s", partition={"room": 2}, events=events, values="heat")
    assert intervals(shown.chart.lanes[0]) == [(0, 10), (20, 30)]
    assert shown.chart.subtitle == "room = 2  ·  2 intervals  ·  10 events  ·  0 s to 30 s (30 s)"
    titles = [title.text for title in Drawn.of(shown.svg).all("title")]
    assert "intervals\n0 s to 10 s (10 s)\nroom: 2\nvalue: 3.5" in titles


def test_derived_intervals_are_shown_as_they_are() -> None:
    options = {"partition_by": "car_id", "ts": "ts", "ts_unit": "s", "close_at_end": True}
    found = ev.intervals.homogeneous(EVENTS, "speed > 70", **options)
    chart = ev.timeline(found, lane="car_id", ts_unit="s").chart
    assert [(lane.name, intervals(lane)) for lane in chart.lanes] == [("7", [(20, 39)]), ("8", [(15, 59)])]


def test_integer_times_need_a_unit_and_texts_are_no_times() -> None:
    with pytest.raises(ev.InputError, match="ts_unit"):
        ev.timeline(ROOMS)
    with pytest.raises(ev.InputError, match="'interval_start' is not a time"):
        ev.timeline([{"interval_start": "a", "interval_end": "b"}])


def test_a_lane_for_each_of_very_many_values_is_refused() -> None:
    rows = [{"id": i, "interval_start": i, "interval_end": i + 1} for i in range(300)]
    with pytest.raises(ev.InputError, match="300 values"):
        ev.timeline(rows, lane="id", ts_unit="s")


def test_matches_of_event_patterns_are_shown_at_their_detection() -> None:
    query = ev.query(
        "PATTERN SEQ(Low L, High H) DEFINE Low AS speed < 60, High AS speed > 70 RETURN H.speed", ts_unit="s"
    )
    events = [{"ts": 1, "speed": 50}, {"ts": 4, "speed": 90}]
    chart = ev.timeline(query.run(events), query=query, events=events).chart
    assert [(match.start_us, match.detected_us, match.values) for match in chart.matches or ()] == [
        (4 * S, 4 * S, (("H_speed", "90"),))
    ]
    assert chart.lanes == ()


def test_matches_with_a_start_and_an_end_are_brackets() -> None:
    rows = [{"user": "ann", "match_start": 1, "match_end": 9, "n": 3}]
    (match,) = ev.timeline(rows, ts_unit="s").chart.matches or ()
    assert (match.start_us, match.end_us, match.detected_us) == (S, 9 * S, None)


def test_a_result_without_times_says_what_it_needs() -> None:
    with pytest.raises(ev.InputError, match="no times to show"):
        ev.timeline([{"n": 3}])
    with pytest.raises(ev.EventideError, match="nothing to show"):
        ev.timeline()


def test_the_page_is_written_where_it_is_asked_for(query: ev.Query, tmp_path: Path) -> None:
    path = tmp_path / "car.html"
    shown = ev.timeline(query=query, events=EVENTS, partition={"car_id": 7}, title="car 7", path=path)
    assert path.read_text(encoding="utf-8") == shown.html and "<title>car 7</title>" in shown.html


@pytest.mark.spark
def test_results_and_events_on_spark_are_read_for_the_partition_alone(spark: Any, query: ev.Query) -> None:
    frame = spark.createDataFrame(pa.Table.from_pylist(EVENTS).to_pandas())
    chart = ev.timeline(query.run(frame), query=query, events=frame, partition={"car_id": 7}).chart
    assert intervals(chart.lanes[0]) == [(10, 30)] and chart.events_us is not None and chart.events_us.size == 60
    assert [match.detected_us for match in chart.matches or ()] == [30 * S]
    with pytest.raises(ev.InputError, match="which car_id"):
        ev.timeline(query=query, events=frame)


@pytest.mark.spark
def test_timestamps_on_spark_are_instants(spark: Any) -> None:
    start = datetime(2024, 1, 31, 12, 0, 0, tzinfo=UTC)
    rows = [{**row, "ts": start + timedelta(seconds=row["ts"])} for row in drive(7, A=(10, 30), B=(20, 40))]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows).to_pandas())
    query = ev.query(QUERY)
    chart = ev.timeline(query.run(frame), query=query, events=frame, partition={"car_id": 7}).chart
    assert chart.zone == "UTC" and chart.span_us[0] == int(start.timestamp()) * S
    assert [match.detected_us for match in chart.matches or ()] == [chart.span_us[0] + 30 * S]


@pytest.mark.spark
def test_a_stream_is_refused(spark: Any, query: ev.Query) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ev.InputError, match="are a stream"):
        ev.timeline(stream, query=ev.query("PATTERN SEQ(A, B)", type="value"), events=stream)
