"""Checks 25, 35, 46 and 49: what a broker does when time passes, with timeouts of seconds instead of days.

The producer ids of these tests are from a node of its own with the settings of ``conftest.QUICK``.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.bodies import READ_COMMITTED
from oncelog.apps.conformance.raw.transactional_producer import (
    CONCURRENT_TRANSACTIONS,
    RawTransactionalProducer,
    init,
    new_pid,
)
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest, TopicRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from tests.integration.conformance.nodes import Node
from tests.support.both_brokers import OURS_AND_KAFKA_IN_SOAK

FENCED, INVALID_EPOCH, INVALID_PID_MAPPING, OUT_OF_ORDER = 90, 47, 49, 45
LAST_EPOCH = 32766
EXHAUSTED_IN_SOAK = pytest.mark.parametrize("quick_node", OURS_AND_KAFKA_IN_SOAK, indirect=True)
"""Apache Kafka needs half a minute to count an epoch up to its last, and runs these tests in ``make soak``."""


@pytest.fixture
def connection(quick_node: Node) -> Iterator[RawConnection]:
    with RawConnection(quick_node.bootstrap_servers) as opened:
        yield opened


class Aging:
    """Producers and transactional ids that grow old side by side, for tests that wait for that."""

    def __init__(self, connection: RawConnection) -> None:
        self.connection = connection
        self.idle_pid = new_pid(connection)
        self.idle_id = self._transactional("idle")
        self.open = self._transactional("open", timeout_ms=600_000)  # the tests before may take minutes
        self.open_pid = new_pid(connection)
        for name in ("of-idle-pid", "of-idle-id", "of-open"):
            connection.create_topic(name)
        first = batch(b"a", pid=self.idle_pid, epoch=0, sequence=0)
        assert connection.produce("of-idle-pid", first).error == 0
        self.too_early = connection.produce("of-idle-pid", batch(b"a", pid=self.idle_pid, epoch=0, sequence=9)).error
        self.idle_id.send("of-idle-id", b"a")
        self.idle_id.commit()
        self.open.send("of-open", b"a")
        connection.produce("of-open", batch(b"b", pid=self.open_pid, epoch=0, sequence=0))
        self.younger_id = self._transactional("younger")

    def _transactional(self, name: str, timeout_ms: int = 60_000) -> RawTransactionalProducer:
        return RawTransactionalProducer(self.connection, f"aging-{name}", timeout_ms=timeout_ms).init()


@pytest.fixture(scope="module", autouse=True)
def aging(quick_node: Node) -> Iterator[Aging]:
    with RawConnection(quick_node.bootstrap_servers) as opened:
        yield Aging(opened)


def producers_of(connection: RawConnection, topic: str) -> set[int]:
    answer = connection.ask(DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])]), 0)
    return {state.producer_id for state in answer.topics[0].partitions[0].active_producers}


def test_check_25_producer_expiration_counts_from_the_last_records_timestamp(
    connection: RawConnection, topic: str
) -> None:
    """A producer that sends old records is forgotten soon; what it repeats after that is stored again."""
    now_ms = time.time_ns() // 1_000_000
    late, early = new_pid(connection), new_pid(connection)
    assert connection.produce(topic, batch(b"a", pid=early, epoch=0, sequence=0, timestamp=now_ms + 600_000)).error == 0
    old = batch(b"b", pid=late, epoch=0, sequence=5, timestamp=now_ms - 600_000)
    assert connection.produce(topic, old).base_offset == 1
    eventually(lambda: late not in producers_of(connection, topic))
    assert connection.produce(topic, old).base_offset == 2
    assert early in producers_of(connection, topic)


@pytest.mark.parametrize("version_2", [False, True])
def test_check_46_a_transaction_past_its_timeout_is_aborted_and_its_producer_fenced(
    connection: RawConnection, topic: str, unique_name: str, version_2: bool
) -> None:
    producer = RawTransactionalProducer(connection, unique_name + "-id", version_2=version_2, timeout_ms=400).init()
    producer.send(topic, b"never")
    state = eventually(lambda: producer.describe() if producer.describe().transaction_state != "Ongoing" else None)
    assert producer.completed() == "CompleteAbort"
    assert state.transaction_state in ("PrepareAbort", "CompleteAbort")
    assert producer.describe().producer_epoch == producer.epoch + 1
    assert connection.read_committed(topic) == []
    assert producer.send_once(topic, b"late").error == INVALID_EPOCH
    if version_2:
        # KIP-890: what the timeout did is the answer to an abort of the old epoch, and no answer to a commit.
        assert producer.end_once(commit=True).error_code == 48
        aborted = producer.end_once(commit=False)
        assert (aborted.error_code, aborted.producer_epoch) == (0, producer.epoch + 1)
    else:
        assert producer.end_once(commit=True).error_code == FENCED
        assert set(producer.add_once((topic, 0)).values()) == {FENCED}
    eager = init(connection, producer.id, pid=producer.pid, epoch=producer.epoch)
    assert eager.error_code in (0, FENCED)


def test_check_46_a_fenced_producer_can_begin_again(connection: RawConnection, topic: str, unique_name: str) -> None:
    producer = RawTransactionalProducer(connection, unique_name + "-id", timeout_ms=300).init()
    producer.send(topic, b"never")
    eventually(lambda: producer.describe().transaction_state == "CompleteAbort")
    first = producer.epoch
    producer.init()
    assert producer.epoch == first + 2
    producer.send(topic, b"kept")
    producer.commit()
    assert connection.read_committed(topic) == [b"kept"]


def test_a_transaction_within_its_timeout_is_not_aborted(
    connection: RawConnection, topic: str, unique_name: str
) -> None:
    brief = RawTransactionalProducer(connection, unique_name + "-brief", timeout_ms=200).init()
    patient = RawTransactionalProducer(connection, unique_name + "-patient", timeout_ms=60_000).init()
    patient.send(topic, b"kept")
    brief.send(topic, b"never")
    eventually(lambda: brief.describe().transaction_state == "CompleteAbort")
    assert patient.describe().transaction_state == "Ongoing"
    assert connection.list_offset(topic, isolation=READ_COMMITTED).offset == 0
    patient.commit()
    assert connection.read_committed(topic) == [b"kept"]


@pytest.fixture
def exhausted(connection: RawConnection, unique_name: str) -> RawTransactionalProducer:
    """A producer with the last epoch that a client may have."""
    producer = RawTransactionalProducer(connection, unique_name + "-id").init()
    body = InitProducerIdRequest(transactional_id=producer.id, transaction_timeout_ms=60_000).encode(1)
    while producer.epoch < LAST_EPOCH:
        numbers = [connection.send(22, 1, body) for _ in range(min(1000, LAST_EPOCH - producer.epoch))]
        for number in numbers:
            _, error, _, given = struct.unpack(">ihqh", connection.receive(number, flexible=False))
            assert error in (0, CONCURRENT_TRANSACTIONS)
            producer.epoch = max(producer.epoch, given)
    return producer


@EXHAUSTED_IN_SOAK
def test_check_35_an_exhausted_epoch_leads_to_a_new_producer_id(
    connection: RawConnection, exhausted: RawTransactionalProducer, topic: str
) -> None:
    old = exhausted
    old.send(topic, b"at the end")
    old.commit()
    fresh = init(connection, old.id, pid=old.pid, epoch=LAST_EPOCH)
    assert (fresh.error_code, fresh.producer_epoch) == (0, 0)
    assert fresh.producer_id != old.pid
    assert old.end_once(commit=False).error_code == INVALID_PID_MAPPING

    # The same with transaction version 2: the end of the transaction itself gives the new identity.
    new = RawTransactionalProducer(connection, old.id, version_2=True)
    new.pid, new.epoch = fresh.producer_id, 0
    new.send(topic, b"v2")
    answer = new.end_once(commit=True)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, new.pid, 1)
    new.completed()
    assert connection.read_committed(topic) == [b"at the end", b"v2"]


@EXHAUSTED_IN_SOAK
def test_check_35_end_txn_at_the_last_epoch_under_transaction_version_2_returns_a_new_producer_id(
    connection: RawConnection, exhausted: RawTransactionalProducer, topic: str
) -> None:
    producer = RawTransactionalProducer(connection, exhausted.id, version_2=True)
    producer.pid, producer.epoch = exhausted.pid, exhausted.epoch
    producer.send(topic, b"last")
    answer = producer.end_once(commit=True)
    assert (answer.error_code, answer.producer_epoch) == (0, 0)
    assert answer.producer_id != producer.pid
    producer.completed()
    marker = connection.fetch(topic, 1).batches[0]
    assert (marker.marker()[0], marker.pid, marker.epoch) == ("commit", producer.pid, 32767)
    again = producer.end_once(commit=True)
    assert (again.error_code, again.producer_id, again.producer_epoch) == (0, answer.producer_id, 0)
    assert producer.end_once(commit=False).error_code == 48
    old = producer.pid
    producer.pid, producer.epoch = answer.producer_id, 0
    producer.sequences.clear()
    producer.send(topic, b"next")
    producer.commit()
    assert connection.read_committed(topic) == [b"last", b"next"]
    producer.pid = old
    assert producer.send_once(topic, b"zombie", epoch=LAST_EPOCH).error in (INVALID_EPOCH, INVALID_PID_MAPPING)


def test_check_25_an_idle_producer_is_forgotten_after_its_expiration_time(aging: Aging) -> None:
    connection, pid = aging.connection, aging.idle_pid
    assert aging.too_early == OUT_OF_ORDER
    eventually(lambda: pid not in producers_of(connection, "of-idle-pid"))
    assert connection.produce("of-idle-pid", batch(b"a", pid=pid, epoch=0, sequence=9)).error == 0


def test_check_49_an_idle_transactional_id_is_forgotten(aging: Aging) -> None:
    producer = aging.idle_id
    eventually(lambda: producer.describe().error_code == 105)
    assert producer.end_once(commit=True).error_code == INVALID_PID_MAPPING
    assert set(producer.add_once(("of-idle-id", 0)).values()) == {INVALID_PID_MAPPING}
    assert producer.send_once("of-idle-id", b"b").error == INVALID_PID_MAPPING
    old = producer.pid
    producer.init()
    assert producer.epoch == 0
    assert producer.pid != old


def test_checks_25_and_49_an_open_transaction_keeps_its_producer_and_its_id(aging: Aging) -> None:
    """Longer than another producer of the partition, and than another id, are kept."""
    producer, topic = aging.open, "of-open"
    younger = aging.younger_id
    eventually(lambda: aging.open_pid not in producers_of(aging.connection, topic))
    eventually(lambda: younger.describe().error_code == 105)
    assert producers_of(aging.connection, topic) == {producer.pid}
    assert producer.describe().transaction_state == "Ongoing"
    assert producer.send_once(topic, b"b").error == 0
    producer.commit()
    eventually(lambda: producers_of(aging.connection, topic) == set())
