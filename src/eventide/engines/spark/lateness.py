"""One warning for each stream that drops late events, when it first does: they would vanish without a word."""

from __future__ import annotations

import logging
import weakref
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener

from eventide.engines.spark.checkpoints import made_of
from eventide.engines.spark.ship import is_connect
from eventide.engines.spark.tally import Batch

_WATCHED: weakref.WeakSet[SparkSession] = weakref.WeakSet()
_log = logging.getLogger("eventide.streams")


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
