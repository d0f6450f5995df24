"""What is open when bounded input ends is not returned; `close_at_end` returns it. One rule for all families."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as ev
from eventide.runtime.costs import costing

ABSENT = "PATTERN SEQ(A a, NOT B b) PARTITION BY g WITHIN 5 seconds RETURN a.id"
UNPAID = ev.Pattern.begin("a", "kind = 'A'").not_followed_by("b", "kind = 'B'").within("5 seconds")
OPTIONS: dict[str, Any] = {"ts": "ts", "ts_unit": "s"}


def events(*words: str) -> list[dict[str, Any]]:
    """`a3@x` is an A at 3 in partition x."""
    made = []
    for word in words:
        what, _, group = word.partition("@")
        made.append({"ts": int(what[1:]), "kind": what[0].upper(), "g": group or "x", "id": what})
    return made


def absent(given: Any, text: str = ABSENT, **options: Any) -> list[str]:
    return sorted(ev.query(text, type="kind", **OPTIONS, **options).run(given).column("a_id").to_pylist())


def unpaid(given: Any, **options: Any) -> list[str]:
    found = ev.detect(given, UNPAID, partition_by="g", select={"id": "a.id"}, **OPTIONS, **options)
    return sorted(found.matches.column("id").to_pylist())


def test_a_trailing_not_whose_window_is_not_over_is_no_match() -> None:
    given = events("a1", "a4", "b5", "a6")
    assert absent(given) == unpaid(given) == []
    assert absent(given, close_at_end=True) == unpaid(given, close_at_end=True) == ["a6"]


def test_what_is_over_is_judged_by_the_latest_event_of_all_partitions() -> None:
    given = events("a0", "a3", "a5", "z9@other")
    assert absent(given) == unpaid(given) == ["a0", "a3"]
    assert absent(given[:-1]) == unpaid(given[:-1]) == ["a0"]


def test_an_event_that_no_step_wants_moves_time_on() -> None:
    given = [*events("a0"), {"ts": 5, "kind": None, "g": None, "id": None}]
    assert absent(given) == unpaid(given) == ["a0"]


def test_the_last_instant_of_a_window_is_the_one_before_its_end() -> None:
    units: dict[str, Any] = {"ts": "ts", "ts_unit": "us"}
    text = ABSENT.replace("5 seconds", "5 microseconds")
    pattern = ev.Pattern.begin("a", "kind = 'A'").not_followed_by("b", "kind = 'B'").within("5 microseconds")
    for last, n_found in ((3, 0), (4, 1)):
        given = events("a0", f"z{last}")
        assert ev.query(text, type="kind", **units).run(given).num_rows == n_found
        assert ev.detect(given, pattern, partition_by="g", **units).matches.num_rows == n_found


def test_without_a_window_the_end_decides() -> None:
    text = ABSENT.replace(" WITHIN 5 seconds", "")
    assert absent(events("a0", "a1"), text) == absent(events("a0", "a1"), text, close_at_end=True) == ["a0", "a1"]


def test_a_window_that_slides_is_over_at_its_end() -> None:
    text = ABSENT.replace("WITHIN 5 seconds", "WITHIN 5 seconds SLIDE 5 seconds")
    assert absent(events("a1", "a7"), text) == ["a1"]
    assert absent(events("a1", "a7"), text, close_at_end=True) == ["a1", "a7"]


def test_a_not_that_ends_a_not_looks_a_window_further() -> None:
    text = "PATTERN SEQ(A a, NOT SEQ(B b, NOT D d), C c) WITHIN 5 seconds RETURN a.id"
    given = events("a0", "c2")
    assert absent([*given, *events("z6")], text) == []
    assert absent([*given, *events("z7")], text) == absent(given, text, close_at_end=True) == ["a0"]


def test_aligned_windows_of_aggregates_are_returned_full_or_not() -> None:
    text = "PATTERN SEQ(A a, NOT B b) WITHIN 5 seconds RETURN COUNT(*) AS n"
    for options in ({}, {"close_at_end": True}):
        rows = ev.query(text, type="kind", **OPTIONS, **options).run(events("a1", "a7")).to_pylist()
        assert [(row["window_start"], row["n"]) for row in rows] == [(0, 1), (5, 1)]


def test_a_partial_match_that_has_not_timed_out_is_no_timeout() -> None:
    pattern = ev.Pattern.begin("a", "kind = 'A'").followed_by("b", "kind = 'B'").within("5 seconds")
    given = events("a0", "a4", "z5")
    for options, n_timeouts in (({}, 1), ({"close_at_end": True}, 2)):
        assert ev.detect(given, pattern, **OPTIONS, **options).timeouts.num_rows == n_timeouts


def test_events_that_are_spilled_are_judged_alike() -> None:
    given = pa.Table.from_pylist(events(*(f"a{i}@{i % 7}" for i in range(40))))
    query = ev.query(ABSENT, type="kind", **OPTIONS)
    assert query.run(given, memory_limit=64).num_rows == 35
    assert query.metrics()["spilled_bytes"] > 0


def test_slices_of_time_on_threads_are_judged_alike() -> None:
    text = ABSENT.replace(" PARTITION BY g", "")
    given = pa.Table.from_pylist(events(*(f"a{i}" for i in range(100))))
    with costing(few_events=0), patch("os.cpu_count", lambda: 3):
        for options, n_found in (({}, 95), ({"close_at_end": True}, 100)):
            assert ev.query(text, type="kind", **OPTIONS, **options).run(given).num_rows == n_found


def test_a_reader_that_can_be_read_once_is_held() -> None:
    table = pa.Table.from_pylist(events("a0", "z5"))
    assert absent(pa.RecordBatchReader.from_batches(table.schema, table.to_batches())) == ["a0"]


def test_live_input_that_ends_is_judged_by_its_latest_event() -> None:
    query = ev.query(ABSENT, type="kind", **OPTIONS)
    for last, found in ((4, []), (5, ["a0"])):
        blocks = [events("a0"), events(f"z{last}@other")]
        assert [row["a_id"] for table in query.live(blocks) for row in table.to_pylist()] == found
    with pytest.raises(ev.InputError, match="close_at_end is for bounded input"):
        list(ev.query(ABSENT, type="kind", close_at_end=True, **OPTIONS).live([events("a0")]))


def test_the_rules_of_a_set_share_what_the_end_means(tmp_path: Path) -> None:
    (tmp_path / "absent.query").write_text(ABSENT)
    given = events("a0", "a3", "z6@other")
    shared: dict[str, Any] = {**OPTIONS, "type": "kind", "partition_by": "g"}
    for options, n_found in (({}, 1), ({"close_at_end": True}, 2)):
        found = ev.RuleSet(tmp_path, **shared, **options).run(given)
        assert found["problem"].null_count == found.num_rows == n_found


def test_a_rule_alone_cannot_say_what_the_end_means(tmp_path: Path) -> None:
    (tmp_path / "absent.query").write_text(ABSENT + " OPTIONS (close_at_end = true)")
    problems = ev.RuleSet(tmp_path, **OPTIONS, type="kind", partition_by="g").check(events("a0"))
    assert "a rule has no close_at_end of its own" in problems["absent"]


def test_match_recognize_leaves_nothing_open() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN (A) DEFINE A AS ts > 0)"
    with pytest.raises(ev.EventideError, match="the end leaves nothing open"):
        ev.sql(text, t=events("a1"), close_at_end=True)


def test_a_diagnosis_tells_that_a_window_is_not_over() -> None:
    given = events("a0", "z4")
    query, closing = (ev.query(ABSENT, type="kind", close_at_end=closes, **OPTIONS) for closes in (False, True))
    why = query.diagnose(given)
    assert why.table["matched"].to_pylist() == [False]
    assert "the events end before that time" in str(why) and "close_at_end=True" in str(why)
    assert closing.diagnose(given).table["matched"].to_pylist() == [True]
    assert query.diagnose(events("a0", "z5")).table["matched"].to_pylist() == [True]


# --- on Spark ---------------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_spark_tasks_know_the_latest_event_of_all_partitions(spark: Any, tmp_path: Path) -> None:
    given = pa.Table.from_pylist(events(*(f"a{i}@{i % 7}" for i in range(12)), "z13@other"))
    path = tmp_path / "events.parquet"
    pq.write_table(given, path, row_group_size=3)
    for options, n_found in (({}, 9), ({"close_at_end": True}, 12)):
        query = ev.query(ABSENT, type="kind", **OPTIONS, **options)
        assert query.run(spark.createDataFrame(given)).count() == n_found
        for few_rows in (0, 10**9):
            with costing(few_rows=few_rows):
                assert query.run(path, engine="spark", spark=spark).count() == n_found


@pytest.mark.spark
def test_files_without_statistics_are_asked_by_a_job(spark: Any, tmp_path: Path) -> None:
    given = pa.Table.from_pylist(events("a0", "a3", "z6@other"))
    pq.write_table(given, tmp_path / "events.parquet", write_statistics=False)
    query = ev.query(ABSENT, type="kind", **OPTIONS)
    assert query.run(tmp_path / "events.parquet", engine="spark", spark=spark).count() == 1


@pytest.mark.spark
def test_the_rules_of_a_set_are_judged_alike_on_spark(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "absent.query").write_text(ABSENT)
    frame = spark.createDataFrame(pa.Table.from_pylist(events("a0", "a3", "z6@other")))
    shared: dict[str, Any] = {**OPTIONS, "type": "kind", "partition_by": "g"}
    assert ev.RuleSet(tmp_path, **shared).run(frame).count() == 1
    assert ev.RuleSet(tmp_path, **shared, close_at_end=True).run(frame).count() == 2


@pytest.mark.spark
def test_a_stream_has_no_end_that_could_close_anything(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "absent.query").write_text(ABSENT)
    rate = spark.readStream.format("rate").load()
    stream = rate.selectExpr("timestamp AS ts", "'A' AS kind", "'x' AS g", "value AS id")
    closing: dict[str, Any] = {"ts": "ts", "close_at_end": True}
    starts = [
        lambda: ev.query(ABSENT, type="kind", **closing).run(stream),
        lambda: ev.query("PATTERN A a WITHIN 1 hour RETURN COUNT(*) AS n", type="kind", **closing).run(stream),
        lambda: ev.detect(stream, UNPAID, **closing),
        lambda: ev.intervals.homogeneous(stream, "id > 1", **closing),
        lambda: ev.RuleSet(tmp_path, type="kind", partition_by="g", **closing).run(stream),
    ]
    for start in starts:
        with pytest.raises(ev.UnsupportedError, match="close_at_end is for bounded input"):
            start()
