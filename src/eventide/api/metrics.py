"""What users call to see what streams do: `ev.metrics.of(query)`, `.listen(spark)` and `.serve(spark)`.

They also know the streams of `ev.detect`, `ev.match_recognize`, `ev.sql` and rule sets: what is asked is the query that
`start()` or `ev.write_stream` returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide.errors import EventideError
from eventide.plan.arguments import check_session

if TYPE_CHECKING:
    from eventide.engines.spark.exposition import Server
    from eventide.engines.spark.listener import Listener

__all__ = ["listen", "of", "serve"]

PORT = 9464
ADDRESS = "127.0.0.1"


def of(query: Any) -> dict[str, Any]:
    """What a running or ended stream has counted.

    In all `batches` that are known: `input_rows`, `events`, `late_events`, `dropped_events`, `bad_records`, `matches`,
    `kernel_us`, `task_us` and `batch_us`; now: `watermark`, `open_runs` and `state_bytes`; `last_batch` alone, with
    the shares of the largest bucket; and by rule, where there are `rules`. Spark keeps the last 100 micro-batches; with
    `listen` called before, all of them count.
    """
    if not hasattr(type(query), "recentProgress"):
        raise EventideError(
            f"metrics are those of a StreamingQuery, found {type(query).__name__}",
            hint="pass what df.writeStream...start() or ev.write_stream(...) returned",
        )
    from eventide.engines.spark.listener import numbers_of

    return numbers_of(query)


def listen(spark: Any) -> Listener:
    """Follow all streams of a session: `.latest()`, `.history()`, and `.stop()` when it is enough."""
    check_session(spark)
    from eventide.engines.spark.listener import listen as listen_to

    return listen_to(spark)


def serve(spark: Any, port: int = PORT, address: str = ADDRESS) -> Server:
    """Serve the metrics of all streams of a session to Prometheus, at http://address:port/metrics, until `.stop()`.

    Nobody is asked for a password, so only this machine is served unless another `address` is given; "0.0.0.0" is all
    of the machine's. `port=0` takes a free one; `.port` says which.
    """
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise EventideError(f"there is no port {port!r}", hint="a number from 0 to 65535; 0 takes a free one")
    if not isinstance(address, str) or not address.strip():
        raise EventideError(f"there is no address {address!r}", hint='such as "127.0.0.1"; "0.0.0.0" serves everybody')
    from eventide.engines.spark.exposition import serve as serve_it

    return serve_it(listen(spark), port, address)
