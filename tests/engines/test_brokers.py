"""One server that takes a connection is enough; where none does, the message names them."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from eventide.engines.addresses import check_brokers
from eventide.engines.spark.errors import is_passing, reason_of
from eventide.errors import BrokerAwayError


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found: int = server.getsockname()[1]
    return found


def test_one_of_the_servers_answers(port: int, closed_port: int) -> None:
    check_brokers(f"127.0.0.1:{port}")
    check_brokers(f"127.0.0.1:{closed_port}, 127.0.0.1:{port}")


def test_where_none_answers_the_stream_may_try_again(closed_port: int) -> None:
    servers = f"127.0.0.1:{closed_port},no-such-host.invalid:9092,a..b:9092"
    with pytest.raises(BrokerAwayError) as caught:
        check_brokers(servers)
    assert reason_of(caught.value) == f"no broker answers at {servers}"
    assert is_passing(caught.value)
