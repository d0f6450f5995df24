"""What a listener has counted as Prometheus reads it, and the HTTP endpoint that serves it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from eventide.engines.spark.listener import Listener
from eventide.engines.spark.tally import Tally
from eventide.errors import InputError

_OF_RULES = ("query", "id", "rule")
_OF_QUERIES = ("query", "id")


class _Collector(Collector):
    """Prometheus calls `collect` for each scrape."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def collect(self) -> Iterator[Metric]:
        with self._listener.locked:
            tallies = self._listener.tallies()
            yield from [*_by_rule(tallies), *_by_query(tallies)]


def _by_rule(tallies: list[Tally]) -> list[Metric]:
    made = {
        "events": CounterMetricFamily("eventide_events", "Events that came to an operator.", labels=_OF_RULES),
        "late_events": CounterMetricFamily(
            "eventide_late_events", "Events that came after the watermark, and were dropped.", labels=_OF_RULES
        ),
        "matches": CounterMetricFamily("eventide_matches", "Result rows.", labels=_OF_RULES),
        "kernel_us": CounterMetricFamily("eventide_kernel_seconds", "Time inside operators.", labels=_OF_RULES),
        "task_us": CounterMetricFamily(
            "eventide_task_seconds", "Time of buckets: state, operators and rows.", labels=_OF_RULES
        ),
        "problems": CounterMetricFamily("eventide_problems", "Rules that were switched off.", labels=_OF_RULES),
    }
    open_runs = GaugeMetricFamily(
        "eventide_open_runs", "Partial matches, open windows or open situations.", labels=_OF_RULES
    )
    state = GaugeMetricFamily("eventide_state_bytes", "Bytes of state that operators keep.", labels=_OF_RULES)
    for tally in tallies:
        names = [tally.name or tally.query_id, tally.query_id]
        counted = tally.rules or {"": tally.counted}
        for label, counters in counted.items():
            for name, value in counters.added().items():
                made[name].add_metric([*names, label], value / 1e6 if name.endswith("_us") else value)
            n_open, state_bytes = tally.held(label or None)
            open_runs.add_metric([*names, label], n_open)
            state.add_metric([*names, label], state_bytes)
    return [*made.values(), open_runs, state]


def _by_query(tallies: list[Tally]) -> list[Metric]:
    def counter(name: str, about: str) -> CounterMetricFamily:
        return CounterMetricFamily(name, about, labels=_OF_QUERIES)

    def gauge(name: str, about: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(name, about, labels=_OF_QUERIES)

    batches = counter("eventide_batches", "Micro-batches.")
    seconds = counter("eventide_batch_seconds", "Time of micro-batches.")
    rows = counter("eventide_input_rows", "Rows read from the sources.")
    dropped = counter("eventide_dropped_events", "Events without a time that on_bad_event='drop' dropped.")
    bad = counter("eventide_bad_records", "Records of a source that are not events.")
    running = gauge("eventide_running", "1 while the stream runs.")
    watermark = gauge("eventide_watermark_seconds", "The watermark, in seconds after 1970.")
    last = gauge("eventide_last_batch_seconds", "Time of the last micro-batch.")
    started = gauge("eventide_last_batch_start_seconds", "Start of the last micro-batch, in seconds after 1970.")
    buckets = gauge("eventide_last_batch_buckets", "Buckets with events in the last micro-batch.")
    events_share = gauge("eventide_largest_bucket_events_ratio", "Share of events of the bucket that has the most.")
    time_share = gauge("eventide_largest_bucket_time_ratio", "Share of time of the bucket that takes the most.")
    for tally in tallies:
        names = [tally.name or tally.query_id, tally.query_id]
        batches.add_metric(names, tally.n_batches)
        seconds.add_metric(names, tally.batch_us / 1e6)
        rows.add_metric(names, tally.input_rows)
        dropped.add_metric(names, tally.dropped_events)
        bad.add_metric(names, tally.bad_records)
        running.add_metric(names, int(tally.is_running))
        if tally.watermark is not None:
            watermark.add_metric(names, tally.watermark.timestamp())
        if tally.batches:
            numbers = tally.batches[-1]
            last.add_metric(names, numbers["batch_us"] / 1e6)
            if numbers["started_at"] is not None:
                started.add_metric(names, numbers["started_at"].timestamp())
            buckets.add_metric(names, numbers["buckets"])
            events_share.add_metric(names, numbers["largest_bucket_events"])
            time_share.add_metric(names, numbers["largest_bucket_time"])
    counters, gauges = [batches, seconds, rows, dropped, bad], [running, watermark, last, started, buckets]
    return [*counters, *gauges, events_share, time_share]


def expose(listener: Listener) -> str:
    """The text of one scrape."""
    return generate_latest(_registry(listener)).decode()


def _registry(listener: Listener) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(listener))
    return registry


class Server:
    """What `ev.metrics.serve` returns: serves until `stop`."""

    def __init__(self, listener: Listener, port: int, address: str) -> None:
        self._server: WSGIServer
        self._thread: Thread
        try:
            self._server, self._thread = start_http_server(port, address, _registry(listener))
        except OverflowError:
            raise InputError(f"there is no port {port}", hint="a number from 0 to 65535; 0 takes a free one") from None
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                hint = "stop what listens there, give another port=, or port=0 for a free one"
                raise InputError(f"port {port} is in use", hint=hint) from None
            raise InputError(f"cannot serve metrics at {address}:{port}: {error.strerror or error}") from None
        self.listener = listener
        self.port = int(self._server.server_port)

    def stop(self) -> None:
        """Serve and listen no longer."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self.listener.stop()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def serve(listener: Listener, port: int, address: str) -> Server:
    """An endpoint over a listener."""
    try:
        return Server(listener, port, address)
    except InputError:
        listener.stop()
        raise
