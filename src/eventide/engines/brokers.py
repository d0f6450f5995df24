"""Whether a Kafka broker answers: Spark's connector would try for many minutes and say nothing."""

from __future__ import annotations

import socket

from eventide.errors import BrokerAwayError

_ANSWER_SECONDS = 5.0


def check_brokers(servers: str) -> None:
    """Raise unless one of the servers, as Kafka's clients take them, takes a connection."""
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECONDS).close()
        except (OSError, UnicodeError):  # the latter: no name of a host
            continue
        return
    raise BrokerAwayError(f"no broker answers at {servers}", hint="is it running, and are host and port right?")
