"""Quotas that are set while the broker runs apply to real connections."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker() as running:
        yield running


def set_quota(broker: oncelog.Broker, kind: str, name: str | None, key: str, value: float | None) -> None:
    operation = OpData(key, value or 0.0, value is None)
    with RawConnection(broker.bootstrap_servers) as connection:
        request = AlterClientQuotasRequest([EntryData([EntityData(kind, name)], [operation])], False)
        assert [entry.error_code for entry in connection.ask(request, 1).entries] == [0]


def test_request_percentage_throttles_a_client_until_it_is_removed(broker: oncelog.Broker) -> None:
    with RawConnection(broker.bootstrap_servers) as connection:
        assert connection.ask(MetadataRequest(None, False), 9).throttle_time_ms == 0
        set_quota(broker, "user", "ANONYMOUS", "request_percentage", 0.001)
        eventually(lambda: connection.ask(MetadataRequest(None, False), 9).throttle_time_ms > 0)
    set_quota(broker, "user", "ANONYMOUS", "request_percentage", None)
    with RawConnection(broker.bootstrap_servers) as connection:
        eventually(lambda: connection.ask(MetadataRequest(None, False), 9).throttle_time_ms == 0)


WINDOW_MS = 11_000
"""How much accumulates by default: ``quota.window.num`` times ``quota.window.size.seconds``."""
RATE = 10_000
SIZE = 1_000_000
"""Bytes per second, and a batch's bytes: more than has accumulated, by 89 s of the rate."""


def fetched(client: RawConnection, topic: str) -> tuple[int, int]:
    """Bytes of records in the answer, and for how many ms the client is told to wait."""
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=2 * SIZE)
    topics = [FetchTopic(topic=topic, partitions=[partition])]
    answer = client.ask(FetchRequest(max_wait_ms=0, max_bytes=2 * SIZE, session_epoch=-1, topics=topics), 12)
    return len(answer.responses[0].partitions[0].records or b""), answer.throttle_time_ms


def produced(client: RawConnection, topic: str) -> int:
    """For how many ms the client is told to wait."""
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, batch(bytes(SIZE)))])
    answer = client.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0
    return int(answer.throttle_time_ms)


@pytest.mark.parametrize("of", ["consumer", "producer"])
def test_all_clients_that_share_a_byte_quota_are_throttled_together(broker: oncelog.Broker, of: str) -> None:
    """The delay is exactly what the bytes take at the rate, less what had accumulated."""
    with RawConnection(broker.bootstrap_servers) as client:
        client.create_topic("t")
        assert produced(client, "t") == 0
        assert fetched(client, "t")[1] == 0
    set_quota(broker, "user", "ANONYMOUS", f"{of}_byte_rate", RATE)

    def waits() -> int:
        with RawConnection(broker.bootstrap_servers) as client:
            if of == "producer":
                return produced(client, "t")
            size, wait_ms = fetched(client, "t")
            assert size > SIZE, "the answer that goes over the rate is whole"
            return wait_ms

    of_one_ms = SIZE * 1000 // RATE
    first = waits()
    assert 0 <= first - (of_one_ms - WINDOW_MS) < 100, "headers of the batch and of the request"
    second = waits()
    assert first < second <= first + of_one_ms + 100, "another connection waits for both"
    other = "producer" if of == "consumer" else "consumer"
    with RawConnection(broker.bootstrap_servers) as client:
        assert (produced(client, "t") if other == "producer" else fetched(client, "t")[1]) == 0
    set_quota(broker, "user", "ANONYMOUS", f"{of}_byte_rate", None)
    assert waits() == 0


@pytest.fixture
def on_two_addresses() -> Iterator[oncelog.Broker]:
    listeners = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SIX://[::1]:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SIX:PLAINTEXT",
    }
    with oncelog.Broker(settings=listeners) as running:
        yield running


def is_served(servers: str, timeout_s: float = 30) -> bool:
    with RawConnection(servers, timeout_s=timeout_s) as client:
        try:
            return bool(client.ask(ApiVersionsRequest("test", "1"), 3).error_code == 0)
        except TimeoutError:
            return False


def test_connections_of_an_address_over_its_rate_wait_and_others_do_not(on_two_addresses: oncelog.Broker) -> None:
    broker = on_two_addresses
    four, six = str(broker.addresses["PLAINTEXT"]), str(broker.addresses["SIX"])
    with RawConnection(four) as admin:

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
