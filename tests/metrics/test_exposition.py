"""What Prometheus reads."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from types import SimpleNamespace
from urllib.error import URLError
from urllib.request import urlopen

import pytest

pytest.importorskip("pyspark")

from prometheus_client.parser import text_string_to_metric_families

import eventide as ev
from eventide.engines.spark.exposition import Server, expose, serve
from eventide.engines.spark.listener import Listener
from eventide.errors import EventideError, InputError
from tests.metrics.reports import call, progress

QUERY = {"query": "orders", "id": "0a1b"}


def listener_of(*reports: dict[str, object]) -> Listener:
    listener = Listener()
    for each in reports:
        listener.onQueryProgress(SimpleNamespace(progress=each))
    return listener


def read(text: str) -> dict[tuple[str, str], float]:
    """Samples by name and rule; every one has the labels of the stream."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert QUERY.items() <= sample.labels.items()
            found[sample.name, sample.labels.get("rule", "-")] = sample.value
    return found


def test_numbers_that_add_up_are_counters_and_the_others_gauges() -> None:
    counted = {"late_events": 1, "matches": 2, "kernel_us": 1_500_000, "task_us": 2_000_000}
    first = progress(0, call(0, 6, **counted, open_runs=5, state_bytes=100), call(1, 2))
    second = progress(1, call(0, 3, task_us=3), call(1, 1, task_us=1))
    text = expose(listener_of(first, second))
    assert read(text) == {
        ("eventide_events_total", ""): 12,
        ("eventide_late_events_total", ""): 1,
        ("eventide_matches_total", ""): 2,
        ("eventide_kernel_seconds_total", ""): 1.5,
        ("eventide_task_seconds_total", ""): 2.000004,
        ("eventide_problems_total", ""): 0,
        ("eventide_open_runs", ""): 0,
        ("eventide_state_bytes", ""): 0,
        ("eventide_batches_total", "-"): 2,
        ("eventide_batch_seconds_total", "-"): 1,
        ("eventide_input_rows_total", "-"): 20,
        ("eventide_dropped_events_total", "-"): 0,
        ("eventide_bad_records_total", "-"): 0,
        ("eventide_running", "-"): 1,
        ("eventide_watermark_seconds", "-"): 1767225601.5,
        ("eventide_last_batch_seconds", "-"): 0.5,
        ("eventide_last_batch_start_seconds", "-"): 1767225601,
        ("eventide_last_batch_buckets", "-"): 2,
        ("eventide_largest_bucket_events_ratio", "-"): 0.75,
        ("eventide_largest_bucket_time_ratio", "-"): 0.75,
    }
    kinds = {line.split()[2]: line.split()[3] for line in text.splitlines() if line.startswith("# TYPE")}
    assert {kinds[name] for name, _ in read(text) if name.endswith("_total")} == {"counter"}
    assert {kinds[name] for name, _ in read(text) if not name.endswith("_total")} == {"gauge"}


def test_rules_are_labels() -> None:
    found = read(
        expose(listener_of(progress(0, call(0, 6, rule="a b", open_runs=2), call(0, 5, rule='"c"', problems=1))))
    )
    assert (found["eventide_events_total", "a b"], found["eventide_events_total", '"c"']) == (6, 5)
    assert found["eventide_open_runs", "a b"] == 2
    assert (found["eventide_problems_total", "a b"], found["eventide_problems_total", '"c"']) == (0, 1)
    assert ("eventide_events_total", "") not in found


def test_a_stream_that_ended_does_not_run() -> None:
    listener = listener_of(progress(0))
    listener.onQueryTerminated(SimpleNamespace(id="0a1b"))
    assert read(expose(listener))["eventide_running", "-"] == 0


def test_a_stream_before_its_first_batch_has_no_watermark() -> None:
    listener = Listener()
    listener.onQueryStarted(SimpleNamespace(id="0a1b", name="orders"))
    names = {name for name, _ in read(expose(listener))}
    assert "eventide_batches_total" in names
    assert "eventide_watermark_seconds" not in names


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(listener_of(progress(0, call(0, 7))), 0, "127.0.0.1") as made:
        yield made


def test_the_endpoint_serves_what_is_counted_when_it_is_asked(server: Server) -> None:
    def scrape() -> float:
        with urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=10) as response:
            return read(response.read().decode())["eventide_events_total", ""]

    assert scrape() == 7
    server.listener.onQueryProgress(SimpleNamespace(progress=progress(1, call(0, 2))))
    assert scrape() == 9


def test_only_this_machine_is_served_unless_an_address_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eventide.api.metrics.listen", lambda spark: Listener())
    for given, bound in (({}, "127.0.0.1"), ({"address": "0.0.0.0"}, "0.0.0.0")):
        with ev.metrics.serve(None, port=0, **given) as server:
            assert server._server.server_address[0] == bound


@pytest.mark.parametrize("address", ["", None, 7])
def test_an_address_that_cannot_be_is_refused(address: object) -> None:
    with pytest.raises(EventideError, match="there is no address"):
        ev.metrics.serve(None, address=address)  # type: ignore[arg-type]


def test_a_port_in_use_is_said(server: Server) -> None:
    with pytest.raises(InputError, match=f"port {server.port} is in use\nHint: stop what listens there"):
        serve(Listener(), server.port, "127.0.0.1")


def test_after_stop_the_port_is_free() -> None:
    server = serve(Listener(), 0, "127.0.0.1")
    server.stop()
    with pytest.raises(URLError):
        urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=10)
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", server.port))


@pytest.mark.parametrize("port", [-1, 65536, "9464", True])
def test_a_port_that_cannot_be_is_refused(port: object) -> None:
    with pytest.raises(EventideError, match="there is no port"):
        ev.metrics.serve(None, port=port)  # type: ignore[arg-type]
