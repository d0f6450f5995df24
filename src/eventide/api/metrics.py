"""What users call to see what streams do: `ev.metrics.of(query)`, `.listen(spark)` and `.serve(spark)`.

They know the streams of every kind of query, and of rule sets. They take the StreamingQuery that `start()` or
`ev.write_stream` returned.
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

    Sums over all `batches` that are known: `input_rows`, `events`, `late_events`, `dropped_events`, `bad_records`,
    `matches`, `kernel_us`, `task_us` and `batch_us`. The present state: `watermark`, `open_runs` and `state_bytes`.
    `last_batch` is the last micro-batch alone, with the shares of the largest bucket. A rule set also has `rules`.
    Spark keeps the last 100 micro-batches; after `listen`, all of them count.
    """
    if not hasattr(type(query), "recentProgress"):
        raise EventideError(
            f"metrics are those of a StreamingQuery, found {type(query).__name__}",
            hint="pass what df.writeStream...start() or ev.write_stream(...) returned",
        )
    from eventide.engines.spark.listener import numbers_of

    return numbers_of(query)


def listen(spark: Any) -> Listener:
    """Follow all streams of a session: `.latest()` and `.history()` of the result have the numbers, until `.stop()`."""
    check_session(spark)
    from eventide.engines.spark.listener import listen as listen_to

    return listen_to(spark)


def serve(spark: Any, port: int = PORT, address: str = ADDRESS) -> Server:
    """Serve the metrics of all streams of a session to Prometheus, at http://address:port/metrics, until `.stop()`.

    The server asks for no password, so it serves only this machine, unless `address` is another one; "0.0.0.0" is all
    addresses of the machine. `port=0` takes a free port, and `.port` is its number.
    """
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise EventideError(f"there is no port {port!r}", hint="a number from 0 to 65535; 0 takes a free one")
    if not isinstance(address, str) or not address.strip():
        raise EventideError(f"there is no address {address!r}", hint='such as "127.0.0.1"; "0.0.0.0" serves everybody')
    from eventide.engines.spark.exposition import serve as serve_it

    return serve_it(listen(spark), port, address)
