"""Progress of micro-batches to what a stream has counted."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from eventide.api.metrics import of
from eventide.engines.spark.counters import Counters
from eventide.engines.spark.listener import QUERIES_KEPT, Listener, numbers_of
from eventide.engines.spark.tally import BATCHES_KEPT, Tally
from eventide.errors import EventideError, InputError
from tests.metrics.reports import call, progress


def tally_of(*reports: dict[str, Any]) -> Tally:
    tally = Tally("0a1b", "orders")
    for each in reports:
        tally.add(each)
    return tally


def test_counters_survive_the_way_through_text_whatever_a_rule_is_called() -> None:
    for rule in (None, "fraud", "two words", "7 8", " led", "ü\ttab"):
        counters = Counters(1, 2, 3, 4, 5, 6, 7, 8, 9, rule)
        assert Counters.parse(counters.text()) == counters


def test_numbers_of_a_call_add_up_and_those_after_it_do_not() -> None:
    first = call(0, 6, late_events=1, matches=2, open_runs=5, state_bytes=100, kernel_us=10, task_us=30)
    second = call(0, 4, late_events=2, matches=3, open_runs=4, state_bytes=90, kernel_us=20, task_us=50)
    numbers = tally_of(progress(0, first), progress(1, second)).numbers()
    wanted = {"events": 10, "late_events": 3, "matches": 5, "kernel_us": 30, "task_us": 80, "open_runs": 4}
    wanted |= {"state_bytes": 90, "input_rows": 20, "batches": 2, "batch_us": 1_000_000, "query": "orders"}
    assert {name: numbers[name] for name in wanted} == wanted
    assert numbers["watermark"] == datetime(2026, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    last = numbers["last_batch"]
    assert (last["batch_id"], last["events"], last["matches"], last["batch_us"]) == (1, 4, 3, 500_000)
    assert numbers["rules"] == {}


def test_a_bucket_that_was_not_called_keeps_its_state() -> None:
    both = progress(0, call(0, 1, open_runs=5, state_bytes=100), call(1, 1, open_runs=7, state_bytes=10))
    tally = tally_of(both, progress(1, call(1, 1, open_runs=1, state_bytes=20)))
    assert tally.held() == (6, 120)


def test_of_two_calls_in_one_batch_the_state_of_the_later_counts() -> None:
    tally = tally_of(progress(0, call(0, 9, open_runs=5, matches=1), call(0, 0, open_runs=2, matches=1)))
    assert tally.held() == (2, 0)
    assert tally.counted.matches == 2
    assert tally.batches[0]["buckets"] == 1


def test_rules_are_counted_apart_and_together() -> None:
    tally = tally_of(
        progress(0, call(0, 3, rule="a", matches=1, open_runs=2), call(0, 3, rule="b", open_runs=4)),
        progress(1, call(1, 2, rule="a", matches=5, open_runs=1)),
    )
    rules = tally.numbers()["rules"]
    assert (rules["a"]["events"], rules["a"]["matches"], rules["a"]["open_runs"]) == (5, 6, 3)
    assert (rules["b"]["events"], rules["b"]["matches"], rules["b"]["open_runs"]) == (3, 0, 4)
    assert tally.numbers()["open_runs"] == 7
    last = tally.numbers()["last_batch"]["rules"]
    assert (last.keys(), last["a"]["events"], last["a"]["matches"]) == ({"a"}, 2, 5)


def test_two_queries_in_one_stream_have_buckets_of_their_own() -> None:
    observed = {"eventide_buckets_1": {"counters": [call(0, 1, open_runs=1)]}}
    observed["eventide_buckets_2"] = {"counters": [call(0, 3, open_runs=2)]}
    tally = tally_of(progress(0, observedMetrics=observed))
    assert tally.held() == (3, 0)
    assert tally.numbers()["last_batch"]["largest_bucket_events"] == 0.75


def test_counters_are_read_from_rows_as_spark_and_as_connect_send_them() -> None:
    from pyspark.sql import Row

    texts = [call(0, 4, matches=1), call(1, 2)]
    named = Row("counters")(texts)
    sent = Row("values", "schema")([texts], {"type": "struct", "fields": [{"name": "counters", "type": "array"}]})
    for row in (named, sent, {"counters": texts}):
        numbers = tally_of(progress(0, observedMetrics={"eventide_buckets_1": row})).numbers()
        assert (numbers["events"], numbers["matches"]) == (6, 1)


def test_dropped_events_and_bad_records_come_from_the_sources() -> None:
    observed = {
        "eventide_intake_1": {"events": 9, "dropped_events": 2},
        "eventide_source": {"events": 9, "bad_records": 3},
        "mine": {"dropped_events": 100, "bad_records": 100},
    }
    numbers = tally_of(progress(0, observedMetrics=observed), progress(1)).numbers()
    assert (numbers["dropped_events"], numbers["bad_records"]) == (2, 3)


def test_a_report_that_there_is_nothing_to_do_is_no_batch() -> None:
    idle = progress(1, durationMs={"triggerExecution": 3}, observedMetrics={}, eventTime={})
    tally = tally_of(progress(0, call(0, 1, open_runs=2)), idle)
    assert (tally.n_batches, tally.batch_us, tally.held()) == (1, 500_000, (2, 0))


def test_a_restart_goes_on_counting_and_forgets_the_state_of_buckets() -> None:
    tally = tally_of(progress(0, call(0, 1, open_runs=2)), progress(1, call(1, 2, open_runs=3), run="again"))
    assert (tally.counted.events, tally.held()) == (3, (3, 0))


def test_the_watermark_is_unknown_before_the_first_event_and_stays_when_a_report_has_none() -> None:
    start = progress(0, eventTime={"watermark": "1970-01-01T00:00:00.000Z"})
    assert tally_of(start).numbers()["watermark"] is None
    assert tally_of(start, progress(1), progress(2, eventTime={})).watermark is not None


def test_the_share_of_the_largest_bucket_is_that_of_one_batch() -> None:
    batch = progress(0, call(0, 6, task_us=10), call(1, 2, task_us=10), call(2, 0, task_us=20))
    last = tally_of(progress(0, call(1, 99)), batch).numbers()["last_batch"]
    assert (last["largest_bucket_events"], last["largest_bucket_time"], last["buckets"]) == (0.75, 0.5, 2)
    assert tally_of(progress(0)).numbers()["last_batch"]["largest_bucket_events"] == 0


def hot(share: int, n_buckets: int = 4, n_events: int = 1000) -> list[str]:
    rest = n_events - share
    return [call(0, share), *(call(i, rest // (n_buckets - 1)) for i in range(1, n_buckets))]


@pytest.mark.parametrize(
    ("calls", "n_warnings"),
    [(hot(700), 1), (hot(500), 0), (hot(700, n_buckets=3), 0), (hot(70, n_events=100), 0)],
    ids=["hot", "half", "few buckets", "few events"],
)
def test_a_hot_bucket_is_said_once(calls: list[str], n_warnings: int, caplog: pytest.LogCaptureFixture) -> None:
    run = f"run {len(calls)} {calls[0]}"
    with caplog.at_level(logging.WARNING, "eventide.metrics"):
        for _ in range(2):
            tally_of(progress(0, *calls, run=run), progress(1, *calls, run=run))
    assert len(caplog.records) == n_warnings
    assert all("stream orders: one of 4 buckets has 70% of the events of batch 0" in m for m in caplog.messages)


def test_the_history_is_bounded() -> None:
    tally = tally_of(*(progress(1, call(0, 1)) for _ in range(BATCHES_KEPT + 5)))
    assert (len(tally.batches), tally.counted.events) == (BATCHES_KEPT, BATCHES_KEPT + 5)


def event(**given: Any) -> Any:
    return SimpleNamespace(**given)


def test_a_listener_knows_streams_by_name_by_id_and_by_the_query_itself() -> None:
    listener = Listener()
    listener.onQueryStarted(event(id="0a1b", name="orders"))
    listener.onQueryProgress(event(progress=progress(0, call(0, 5))))
    listener.onQueryProgress(event(progress=progress(3, call(0, 2)) | {"id": "ffff", "name": None}))
    assert listener.latest().keys() == {"orders", "ffff"}
    for query in ("orders", "0a1b", event(id="0a1b")):
        assert listener.latest(query)["events"] == 5
    assert [batch["batch_id"] for batch in listener.history("ffff")] == [3]
    with pytest.raises(InputError, match="which of 2 streams"):
        listener.history()
    with pytest.raises(InputError, match="nothing is known of the stream 'other'"):
        listener.latest("other")


def test_a_listener_forgets_streams_that_ended_long_ago() -> None:
    listener = Listener()
    for i in range(QUERIES_KEPT + 2):
        listener.onQueryStarted(event(id=str(i), name=None))
    for i in range(QUERIES_KEPT + 1):
        listener.onQueryTerminated(event(id=str(i)))
    assert "0" not in listener.latest()
    assert {"1", str(QUERIES_KEPT + 1)} <= listener.latest().keys()


def test_the_metrics_of_a_query_are_those_of_what_knows_more_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = [progress(i, call(0, 1)) for i in range(3)]
    query = event(id="0a1b", name="orders", recentProgress=reports[1:])
    assert numbers_of(query)["events"] == 2
    listener = Listener()
    monkeypatch.setattr("eventide.engines.spark.listener._LISTENING", [listener])
    listener.onQueryProgress(event(progress=reports[0]))
    assert numbers_of(query)["events"] == 2
    for each in reports[1:]:
        listener.onQueryProgress(event(progress=each))
    assert numbers_of(query)["events"] == 3


def test_metrics_of_something_else_than_a_stream_are_an_error() -> None:
    with pytest.raises(EventideError, match="metrics are those of a StreamingQuery, found list"):
        of([])
