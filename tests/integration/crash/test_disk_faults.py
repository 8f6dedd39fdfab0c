"""A full disk and failing syncs as real clients meet them: what cannot be stored is refused, until there is room, or
a restart.

The full disk is a limit on the size of the process's files (``RLIMIT_FSIZE``): the operating system itself refuses the
write, halfway if need be. A failing sync is injected below the broker.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from oncelog import Broker
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, batch
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.broker.server.disk.os_disk import OsFile
from oncelog.errors import StorageError
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from tests.support.crash_rounds.actors import client_settings
from tests.support.crash_rounds.node import ServeProcess

pytestmark = pytest.mark.crash

KAFKA_STORAGE_ERROR = 56
LIMIT = 300_000
SETTINGS = {
    "oncelog.flush.policy": "commit",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}


def create_topics(servers: str, *names: str) -> None:
    admin = AdminClient(client_settings(servers))
    for created in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
        created.result(120)


def idempotent(servers: str) -> Producer:
    return Producer(client_settings(servers) | {"enable.idempotence": True})


def transactional(servers: str, name: str) -> Producer:
    producer = Producer(client_settings(servers) | {"transactional.id": name, "transaction.timeout.ms": 120_000})
    producer.init_transactions(120)
    return producer


def committed_values(servers: str, topic: str) -> list[bytes | None]:
    """Everything below the last stable offset, which must be the end of the log."""
    settings = client_settings(servers) | {"group.id": "reader", "enable.partition.eof": True}
    place = TopicPartition(topic, 0, 0)
    uncommitted = Consumer(settings | {"isolation.level": "read_uncommitted"})
    _, end = uncommitted.get_watermark_offsets(place, 30)
    uncommitted.close()
    consumer = Consumer(settings | {"isolation.level": "read_committed"})
    consumer.assign([place])
    values: list[bytes | None] = []
    position = 0
    while position < end:
        message = consumer.poll(120)
        assert message is not None, f"{topic} can be read to {position} of {end}: a transaction hangs"
        offset = message.offset()
        assert offset is not None
        if message.error():
            position = offset
        else:
            values.append(message.value())
            position = offset + 1
    consumer.close()
    return values


def is_done(call: Callable[[float], object], timeout_s: float) -> bool:
    """Whether a transactional call succeeded; False if its error says to repeat it."""
    try:
        call(timeout_s)
    except KafkaException as error:
        if error.args[0].retriable():
            return False
        raise
    return True


def repeated(call: Callable[[float], object]) -> None:
    assert any(is_done(call, 10) for _ in range(10)), "the call never succeeded"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ServeProcess]:
    process = ServeProcess(tmp_path, SETTINGS)
    process.start()
    yield process
    process.close()


def fill_disk(node: ServeProcess) -> None:
    _, most = resource.prlimit(node.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (LIMIT, most))


def make_room(node: ServeProcess) -> None:
    _, most = resource.prlimit(node.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (most, most))


@pytest.mark.parametrize("restarts", [True, False])
def test_a_full_disk_refuses_records_and_stores_them_once_when_space_is_free(
    node: ServeProcess, restarts: bool
) -> None:
    servers = node.bootstrap_servers
    create_topics(servers, "full", "other")
    values = [b"%d " % number + bytes(1000) for number in range(600)]
    writer = idempotent(servers)
    for value in values[:50]:
        writer.produce("full", value)
    assert writer.flush(120) == 0
    fill_disk(node)
    refused: list[object] = []
    for value in values[50:]:
        writer.produce("full", value, on_delivery=lambda error, _: refused.append(error) if error else None)
    assert writer.flush(3) > 0
    with_sizes = RawConnection(servers)
    answer = with_sizes.produce("full", batch(bytes(LIMIT)))
    assert answer.error == KAFKA_STORAGE_ERROR
    assert with_sizes.produce("other", batch(b"goes on")).error == 0
    assert committed_values(servers, "other") == [b"goes on"]
    assert (
        "full-0 refuses records until the disk has free space: cannot append to full-0/00000000000000000000.log"
        in node.log_tail(100_000)
    )
    make_room(node)
    with_sizes.close()
    if restarts:
        node.kill()
        node.start()
    assert writer.flush(60) == 0
    assert refused == []
    assert committed_values(servers, "full") == values


def test_a_commit_refused_by_a_full_disk_is_decided_after_the_restart(node: ServeProcess) -> None:
    servers = node.bootstrap_servers
    create_topics(servers, "results")
    writer = transactional(servers, "t" * 10_000)
    fill_disk(node)
    values: list[bytes] = []
    decided = True
    while decided:
        assert len(values) < 100, "the log of transactions should have been full by now"
        writer.begin_transaction()
        values.append(b"%d" % len(values))
        writer.produce("results", values[-1])
        decided = is_done(writer.commit_transaction, 3)
    make_room(node)
    repeated(writer.commit_transaction)
    assert committed_values(servers, "results") == values
    writer.begin_transaction()
    writer.produce("results", b"aborted")
    writer.flush(120)
    repeated(writer.abort_transaction)
    assert committed_values(servers, "results") == values


@pytest.mark.parametrize("restarts", [True, False])
@pytest.mark.parametrize("full", ["__transaction_state", "results"])
def test_a_disk_full_after_a_restart_delays_no_other_partition(node: ServeProcess, full: str, restarts: bool) -> None:
    """What the restart recovered still waits for its sync (``commit``), and the end of a transaction finds no space."""
    txn_id = "t" * (20_000 if full == "__transaction_state" else 10)
    with RawConnection(node.bootstrap_servers) as client:
        for topic in ("results", "other"):
            client.create_topic(topic)
        if full == "results":
            assert client.produce("results", batch(bytes(100_000))).error == 0
        find = FindCoordinatorRequest(key="", key_type=1, coordinator_keys=[txn_id])
        client.ask_until(find, 4, lambda answer: answer.coordinators[0].error_code == 0)
        begun = client.ask_until(InitProducerIdRequest(txn_id, 300_000), 4, lambda answer: answer.error_code == 0)
        identity = {"pid": begun.producer_id, "epoch": begun.producer_epoch}
        inside = batch(b"inside", sequence=0, attributes=TRANSACTIONAL, **identity)
        options: dict[str, Any] = {"version": 12, "transactional_id": txn_id}
        assert eventually(lambda: client.produce("results", inside, **options).error == 0)
    node.kill()
    node.start()
    size = (node.data / f"{full}-0" / "00000000000000000000.log").stat().st_size
    _, most = resource.prlimit(node.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (size, most))
    end = EndTxnRequest(txn_id, begun.producer_id, begun.producer_epoch, True)
    with RawConnection(node.bootstrap_servers) as client:
        answered = client.ask(end, 5)  # whatever it is: it does not hang
        assert (answered.error_code == 0) == (full == "results")
        assert client.produce("other", batch(b"goes on")).error == 0
    make_room(node)
    if restarts:
        node.kill()
        node.start()
    with RawConnection(node.bootstrap_servers) as client:
        client.ask_until(end, 5, lambda answer: answer.error_code == 0)
        client.ask_until(end, 5, lambda answer: answer.error_code == 0)
        assert eventually(lambda: client.read_committed("results")[-1:] == [b"inside"])
        assert client.read_committed("other") == [b"goes on"]


class FailingSyncs:
    """Makes syncs of files below ``failing`` fail."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.failing: str | None = None
        works = OsFile.sync

        def sync(file: OsFile) -> None:
            if self.failing is not None and file.path.startswith(self.failing):
                raise StorageError(f"cannot sync {file.path}: Input/output error")
            works(file)

        patch.setattr(OsFile, "sync", sync)


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> FailingSyncs:
    return FailingSyncs(monkeypatch)


def test_a_failing_sync_stops_only_its_partition_until_a_restart(
    tmp_path: Path, syncs: FailingSyncs, caplog: pytest.LogCaptureFixture
) -> None:
    with Broker(tmp_path, settings=SETTINGS) as broker:
        servers = broker.bootstrap_servers
        create_topics(servers, "bad", "good")
        writer = idempotent(servers)
        writer.produce("bad", b"acknowledged")
        assert writer.flush(120) == 0
        syncs.failing = "bad-0/"
        writer.produce("bad", b"not synced")
        assert writer.flush(2) == 1
        assert "bad-0 is offline until a restart: cannot sync bad-0/" in caplog.text
        connection = RawConnection(servers)
        assert connection.produce("bad", batch(b"x")).error == KAFKA_STORAGE_ERROR
        assert connection.produce("good", batch(b"x")).error == 0
        syncs.failing = None
        assert connection.produce("bad", batch(b"x")).error == KAFKA_STORAGE_ERROR
        connection.close()
        broker.restart()
        assert writer.flush(120) == 0
        writer.produce("bad", b"after the restart")
        assert writer.flush(120) == 0
        assert committed_values(servers, "bad") == [b"acknowledged", b"not synced", b"after the restart"]
        assert committed_values(servers, "good") == [b"x"]


@pytest.mark.parametrize("failing", ["bad-0/", "__transaction_state-0/"])
def test_a_transaction_whose_end_cannot_be_synced_is_atomic_after_a_restart(
    tmp_path: Path, syncs: FailingSyncs, failing: str
) -> None:
    with Broker(tmp_path, settings=SETTINGS) as broker:
        servers = broker.bootstrap_servers
        create_topics(servers, "bad", "good")
        writer = transactional(servers, "writer")
        for number, commit in enumerate([True, False]):
            writer.begin_transaction()
            for topic in ("bad", "good"):
                writer.produce(topic, b"%d" % number)
            assert writer.flush(120) == 0
            end = writer.commit_transaction if commit else writer.abort_transaction
            syncs.failing = failing
            finished = is_done(end, 2)
            syncs.failing = None
            broker.restart()
            if not finished:
                repeated(end)
        for topic in ("bad", "good"):
            assert committed_values(servers, topic) == [b"0"]
