"""Quotas that are set while the broker runs hold for real connections."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import oncelog
from oncelog.conformance.wire import Connection, eventually
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
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
