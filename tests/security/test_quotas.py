"""Quotas that are set while the broker runs hold for real connections."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import oncelog
from oncelog.conformance.expect import eventually
from oncelog.conformance.wire import Connection
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        yield running


def set_quota(broker: oncelog.Broker, kind: str, name: str | None, key: str, value: float | None) -> None:
    operation = OpData(key, value or 0.0, value is None)
    with Connection(broker.bootstrap_servers) as connection:
        request = AlterClientQuotasRequest([EntryData([EntityData(kind, name)], [operation])], False)
        assert [entry.error_code for entry in connection.ask(request, 1).entries] == [0]


def test_request_percentage_throttles_a_client_and_its_end_frees_it(broker: oncelog.Broker) -> None:
    with Connection(broker.bootstrap_servers) as connection:
        assert connection.ask(MetadataRequest(None, False), 9).throttle_time_ms == 0
        set_quota(broker, "user", "ANONYMOUS", "request_percentage", 0.001)
        eventually(lambda: connection.ask(MetadataRequest(None, False), 9).throttle_time_ms > 0)
    set_quota(broker, "user", "ANONYMOUS", "request_percentage", None)
    with Connection(broker.bootstrap_servers) as connection:
        eventually(lambda: connection.ask(MetadataRequest(None, False), 9).throttle_time_ms == 0)


@pytest.fixture
def on_two_addresses() -> Iterator[oncelog.Broker]:
    listeners = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SIX://[::1]:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SIX:PLAINTEXT",
    }
    with oncelog.Broker(settings=listeners) as running:
        yield running


def is_served(servers: str, timeout_s: float = 30) -> bool:
    with Connection(servers, timeout_s=timeout_s) as client:
        try:
            return bool(client.ask(ApiVersionsRequest("test", "1"), 3).error_code == 0)
        except TimeoutError:
            return False


def test_connections_of_an_address_over_its_rate_wait_and_others_do_not(on_two_addresses: oncelog.Broker) -> None:
    broker = on_two_addresses
    four, six = str(broker.addresses["PLAINTEXT"]), str(broker.addresses["SIX"])
    with Connection(four) as admin:

        def set_rate(host: str | None, rate: float | None) -> None:
            operation = OpData("connection_creation_rate", rate or 0.0, rate is None)
            request = AlterClientQuotasRequest([EntryData([EntityData("ip", host)], [operation])], False)
            assert [entry.error_code for entry in admin.ask(request, 1).entries] == [0]

        set_rate("::1", 1)
        assert not all(is_served(six, 0.2) for _ in range(50)), "a connection a second is served"
        assert all(is_served(four) for _ in range(50))
        set_rate("::1", None)
        assert all(is_served(six) for _ in range(50))
        set_rate(None, 1)
        assert not all(is_served(four, 0.2) for _ in range(50)), "the quota of every address"
        set_rate("127.0.0.1", 1000)
        assert all(is_served(four) for _ in range(50)), "an address's own quota wins over that of all"
