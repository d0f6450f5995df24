"""Progress of all streams of a session, as it comes: what each has counted, its last micro-batches, and a warning.

Every stream that drops late events is told once, when it first does: they would vanish without a word.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener

from eventide.engines.spark.checkpoints import made_of
from eventide.engines.spark.ship import is_connect
from eventide.engines.spark.tally import Batch, Tally
from eventide.errors import InputError

QUERIES_KEPT = 100  # that have ended
_LISTENING: list[Listener] = []
_WATCHED: weakref.WeakSet[SparkSession] = weakref.WeakSet()
_log = logging.getLogger("eventide.streams")


class Listener(StreamingQueryListener):  # type: ignore[misc]
    """What `ev.metrics.listen` returns. Spark calls the `on...` methods, on a thread of its own."""

    def __init__(self) -> None:
        self._tallies: dict[str, Tally] = {}
        self._lock = threading.Lock()
        self._remove: Callable[[], None] = lambda: None

    def latest(self, query: Any = None) -> Any:
        """What a stream has counted, as `ev.metrics.of`; without one, of all streams, by name or id.

        `query` is a StreamingQuery, its name or its id.
        """
        with self._lock:
            if query is None:
                return {tally.name or tally.query_id: tally.numbers() for tally in self._tallies.values()}
            return self._find(query).numbers()

    def history(self, query: Any = None) -> list[dict[str, Any]]:
        """The last micro-batches of a stream, oldest first; of the only one where none is named."""
        with self._lock:
            return list(self._find(query).batches)

    def stop(self) -> None:
        """Listen no longer; what was counted stays."""
        self._remove()
        self._remove = lambda: None

    def tallies(self) -> list[Tally]:
        """All that is counted; read it inside `locked`."""
        return list(self._tallies.values())

    @property
    def locked(self) -> threading.Lock:
        return self._lock

    def counted(self, query_id: str) -> tuple[int, dict[str, Any]]:
        """How many micro-batches of a stream it has seen, and what they amount to."""
        with self._lock:
            tally = self._tallies.get(query_id)
            return (0, {}) if tally is None else (tally.n_batches, tally.numbers())

    def _find(self, query: Any) -> Tally:
        if query is None:
            if len(self._tallies) == 1:
                return next(iter(self._tallies.values()))
            known = ", ".join(tally.name or tally.query_id for tally in self._tallies.values())
            raise InputError(f"which of {len(self._tallies)} streams?", hint=f"name one: {known}" if known else None)
        wanted = str(getattr(query, "id", query))
        for tally in self._tallies.values():
            if wanted in (tally.query_id, tally.name):
                return tally
        hint = "the listener sees streams that make progress after ev.metrics.listen(spark)"
        raise InputError(f"nothing is known of the stream '{wanted}'", hint=hint)

    # --- called by Spark ------------------------------------------------------------------------------------

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        with self._lock:
            tally = self._tallies.setdefault(str(event.id), Tally(str(event.id), event.name))
            tally.name, tally.is_running = event.name, True

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        progress = event.progress
        with self._lock:
            name = str(progress["id"])
            self._tallies.setdefault(name, Tally(name, progress["name"])).add(progress)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        with self._lock:
            if str(event.id) in self._tallies:
                self._tallies[str(event.id)].is_running = False
            over = [name for name, tally in self._tallies.items() if not tally.is_running]
            for name in over[: max(0, len(over) - QUERIES_KEPT)]:
                del self._tallies[name]


def listen(spark: SparkSession) -> Listener:
    """A listener that the session calls."""
    listener = Listener()
    spark.streams.addListener(listener)
    _LISTENING.append(listener)

    def remove() -> None:
        spark.streams.removeListener(listener)
        _LISTENING.remove(listener)

    listener._remove = remove
    return listener


def numbers_of(query: Any) -> dict[str, Any]:
    """What a stream has counted: in the progress that Spark keeps, or in what a listener has seen, if that is more."""
    tally = Tally(str(query.id), query.name)
    for progress in query.recentProgress:
        tally.add(progress)
    counted = [listener.counted(tally.query_id) for listener in _LISTENING]
    return max([(tally.n_batches, tally.numbers()), *counted], key=lambda each: each[0])[1]


def watch(spark: SparkSession) -> None:
    """Look at the progress of the session's streams from now on.

    Not on Connect, where each listener holds a connection: there `ev.metrics` tells.
    """
    if spark not in _WATCHED and not is_connect(spark):
        _WATCHED.add(spark)
        spark.streams.addListener(LateWatch())


class LateWatch(StreamingQueryListener):  # type: ignore[misc]
    """Spark calls the `on...` methods, on a thread of its own."""

    def __init__(self) -> None:
        self._warned: set[str] = set()  # runs of streams

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        progress = event.progress
        run_id = str(progress["runId"])
        if run_id in self._warned or "addBatch" not in (progress["durationMs"] or {}):
            return
        batch = Batch.of(progress)
        for name, n_late in batch.late_by_operator.items():
            made = made_of(name)
            if n_late and made is not None and made.lateness is not None:
                self._warned.add(run_id)
                _log.warning(
                    "stream %s: %d events of batch %d came after the watermark had passed them and were left out; %s. "
                    "Later ones are only counted: ev.metrics has their number, q.late(events) returns the events "
                    "themselves, and a longer allowed_lateness waits for them.",
                    progress["name"] or progress["id"],
                    n_late,
                    batch.batch_id,
                    made.lateness,
                )
                return

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        self._warned.discard(str(event.runId))
