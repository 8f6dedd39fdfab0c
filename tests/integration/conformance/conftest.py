"""Connections to the broker under test, and brokers with settings that make time pass quickly."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import lz4.frame
import pytest
import zstandard

from oncelog.apps.conformance.raw.batches import DECOMPRESS, LZ4, ZSTD
from oncelog.apps.conformance.raw.wire import RawConnection
from tests.conftest import ANY_HEARTBEAT, RunningBroker
from tests.integration.conformance.nodes import Node, running_node
from tests.support.apache_kafka import ApacheKafka
from tests.support.shared_kafka import RunningKafka

DECOMPRESS[LZ4] = lz4.frame.decompress
DECOMPRESS[ZSTD] = lambda data: bytes(zstandard.ZstdDecompressor().decompressobj().decompress(data))
# Other codecs than the broker's own.

QUICK = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
    "transactional.id.expiration.ms": "4000",
    "producer.id.expiration.ms": "3000",
    "producer.id.expiration.check.interval.ms": "100",
    "oncelog.flush.policy": "none",
}
"""Timeouts of a day or a week become seconds, but enough of them that a busy machine does not expire state mid-test."""


@pytest.fixture(scope="session")
def oncelog_broker() -> Iterator[Node]:
    """Our broker as users run it: a process with a data folder that it syncs before it acknowledges."""
    with running_node("oncelog") as node:
        yield node


@pytest.fixture(scope="session")
def apache_kafka() -> Iterator[RunningKafka]:
    """One that no other test uses at the same time.

    A broker asks the coordinator about the partitions of several producers in one request, and writes the error for all
    of them as the version of the first producer's Produce has it: TRANSACTION_ABORTABLE instead of INVALID_TXN_STATE.
    """
    with ApacheKafka(properties=ANY_HEARTBEAT) as kafka:
        yield RunningKafka(kafka.bootstrap_servers, kafka.data_folder)


@pytest.fixture(scope="session", params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def broker(request: pytest.FixtureRequest) -> RunningBroker:
    """Each of these brokers in turn."""
    chosen: RunningBroker = request.getfixturevalue("oncelog_broker" if request.param == "oncelog" else "apache_kafka")
    return chosen


@pytest.fixture
def connection(broker: RunningBroker) -> Iterator[RawConnection]:
    with RawConnection(broker.bootstrap_servers) as opened:
        yield opened


@pytest.fixture
def topic(connection: RawConnection, unique_name: str) -> str:
    """A new topic of one partition."""
    connection.create_topic(unique_name)
    return unique_name


@pytest.fixture(scope="module")
def shared_topic(broker: RunningBroker) -> str:
    """A topic of one partition, shared by the tests of a module that do not mind each other's records."""
    name = f"shared-{uuid.uuid4().hex[:12]}"
    with RawConnection(broker.bootstrap_servers) as opened:
        opened.create_topic(name)
    return name


@pytest.fixture(scope="module", params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def quick_node(request: pytest.FixtureRequest) -> Iterator[Node]:
    """Each broker in turn with ``QUICK`` settings; only as long as needed, because these settings keep Kafka busy."""
    with running_node(request.param, QUICK) as node:
        yield node
