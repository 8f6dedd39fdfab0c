"""confluent-kafka's ShareConsumer on our broker: redelivery, transactions, kill -9, and groups of another kind."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import AcknowledgeType, Consumer, KafkaError, Message, Producer, ShareConsumer

from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated.delete_groups_request import DeleteGroupsRequest
from oncelog.protocol.generated.delete_share_group_offsets_request import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from tests.support.children import ends_with_us
from tests.support.share_groups import TIMEOUT_S, accept, make_topic_and_group, polled, share_consumer
from tests.support.share_members import ShareMember, ShareTopic

RECORDS = 300
_numbers = itertools.count()


class Server:
    """``oncelog serve`` as a process that is killed and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = 0
        self.start()

    def start(self) -> None:
        listen = f"127.0.0.1:{self._port}"
        command = [sys.executable, "-m", "oncelog", "serve", "--listen", listen, "--data", str(self._folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        ends_with_us(self._process.pid)
        assert self._process.stdout is not None
        printed = self._process.stdout.readline()
        self.servers = printed.split("listens on ")[1].split(",")[0].strip()
        self._port = int(self.servers.rpartition(":")[2])

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("data"))
    yield running
    running.kill()


class Group:
    """A new topic and a new share group that reads it from its beginning."""

    def __init__(self, server: Server, partitions: int = 1, **settings: str) -> None:
        number = next(_numbers)
        self.topic, self.name = f"t{number}", f"g{number}"
        self._server = server
        make_topic_and_group(server.servers, self.topic, self.name, partitions, **settings)

    @contextmanager
    def consumer(self) -> Iterator[ShareConsumer]:
        with share_consumer(self._server.servers, self.topic, self.name) as made:
            yield made

    def producer(self, **settings: str) -> Producer:
        return Producer(
            {"bootstrap.servers": self._server.servers, **{k.replace("_", "."): v for k, v in settings.items()}}
        )

    def produce(self, count: int = RECORDS) -> list[bytes]:
        producer, values = self.producer(), [b"%d" % number for number in range(count)]
        for value in values:
            producer.produce(self.topic, value)
        assert producer.flush(TIMEOUT_S) == 0
        return values


def test_each_record_is_delivered_once_to_one_of_several_consumers(server: Server) -> None:
    group = Group(server, partitions=2)
    values = group.produce()
    found: list[bytes | None] = []
    with group.consumer() as first, group.consumer() as second:
        deadline = time.monotonic() + TIMEOUT_S
        while len(found) < len(values):
            assert time.monotonic() < deadline, f"{len(found)} records"
            for consumer in (first, second):
                for message in consumer.poll(0.2):
                    found.append(message.value())
                    consumer.acknowledge(message)
                consumer.commit_sync(TIMEOUT_S)
    assert Counter(found) == Counter(values)


def test_a_released_record_is_redelivered_and_a_poison_record_archived(server: Server) -> None:
    """The delivery limit is 5; the records beside the bad one are accepted once it is delivered without them."""
    group = Group(server)
    group.produce(3)

    def kind(message: Message) -> AcknowledgeType:
        return AcknowledgeType.RELEASE if message.value() == b"1" else AcknowledgeType.ACCEPT

    with group.consumer() as consumer:
        found = polled(consumer, lambda messages: sum(each.value() == b"1" for each in messages) == 5, kind)
        assert [each.delivery_count() for each in found if each.value() == b"1"] == [1, 2, 3, 4, 5]
        assert [each.value() for each in found if each.value() != b"1"] == [b"0", b"2"]
        producer = group.producer()
        producer.produce(group.topic, b"next")
        producer.flush(TIMEOUT_S)
        assert [each.value() for each in polled(consumer, bool, accept)] == [b"next"]


def test_a_read_committed_group_waits_for_open_transactions_and_skips_aborted_ones(server: Server) -> None:
    group = Group(server, isolation_level="read_committed")
    producer = group.producer(transactional_id=f"tx-{group.name}")
    producer.init_transactions(TIMEOUT_S)
    for outcome in ("commit", "abort"):
        producer.begin_transaction()
        producer.produce(group.topic, outcome.encode())
        producer.flush(TIMEOUT_S)
        (producer.commit_transaction if outcome == "commit" else producer.abort_transaction)(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(group.topic, b"open")
    producer.flush(TIMEOUT_S)
    outside = group.producer()
    outside.produce(group.topic, b"behind")
    outside.flush(TIMEOUT_S)
    with group.consumer() as consumer:
        assert [each.value() for each in polled(consumer, bool, accept)] == [b"commit"]
        assert list(consumer.poll(1.0)) == []
        producer.abort_transaction(TIMEOUT_S)
        assert [each.value() for each in polled(consumer, bool, accept)] == [b"behind"]


def test_a_read_uncommitted_share_group_reads_records_of_every_outcome(server: Server) -> None:
    group = Group(server)
    producer = group.producer(transactional_id=f"tx-{group.name}")
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(group.topic, b"abort")
    producer.flush(TIMEOUT_S)
    producer.abort_transaction(TIMEOUT_S)
    outside = group.producer()
    outside.produce(group.topic, b"behind")
    outside.flush(TIMEOUT_S)
    with group.consumer() as consumer:
        found = polled(consumer, lambda messages: len(messages) == 2, accept)
    assert [each.value() for each in found] == [b"abort", b"behind"]


def test_records_acknowledged_before_a_kill_are_never_redelivered_or_lost(tmp_path: Path) -> None:
    server = Server(tmp_path)
    group = Group(server)
    values = group.produce()
    accepted: list[bytes | None] = []
    for _ in range(3):
        with group.consumer() as consumer:
            found = polled(
                consumer,
                bool,
                lambda message: AcknowledgeType.ACCEPT if (message.offset() or 0) % 2 else AcknowledgeType.RELEASE,
            )
            accepted += [each.value() for each in found if (each.offset() or 0) % 2]
            server.kill()
            server.start()
    with group.consumer() as consumer:
        left = len(values) - len(accepted)
        accepted += [each.value() for each in polled(consumer, lambda messages: len(messages) >= left, accept)]
    assert Counter(accepted) == Counter(values)
    server.kill()


def test_a_group_id_belongs_to_one_group_type(server: Server) -> None:
    group = Group(server)
    group.produce(1)
    with group.consumer() as consumer:
        polled(consumer, bool, accept)
        other = Consumer({"bootstrap.servers": server.servers, "group.id": group.name})
        other.subscribe([group.topic])
        message = other.poll(TIMEOUT_S)
        assert message is not None
        error = message.error()
        assert error is not None
        assert error.code() == KafkaError.INCONSISTENT_GROUP_PROTOCOL
        other.close()


def test_a_group_whose_offsets_are_deleted_or_that_is_deleted_begins_anew(server: Server) -> None:
    group = Group(server)
    values = group.produce(5)
    with RawConnection(server.servers) as client:

        def delete_offsets() -> int:
            topics = [DeleteShareGroupOffsetsRequestTopic(group.topic)]
            return int(client.ask(DeleteShareGroupOffsetsRequest(group.name, topics), 0).responses[0].error_code)

        def delete_group() -> int:
            return int(client.ask(DeleteGroupsRequest([group.name]), 2).results[0].error_code)

        for forget in (delete_offsets, delete_group, delete_group):
            with group.consumer() as consumer:
                found = polled(consumer, lambda messages: len(messages) >= 5, accept)
                assert [each.value() for each in found] == values
            assert forget() == 0


def test_joining_members_are_assigned_and_unsubscribing_members_released_at_once(server: Server) -> None:
    """Whatever the interval between two assignments of a group, ``share.assignment.interval.ms``, is. A group's first
    member waits, as in Apache Kafka, until the states of its partitions exist, and is asked to come back soon."""
    name = f"assigned-{next(_numbers)}"
    topic = ShareTopic(server.servers, name, assignment_interval_ms="15000")
    members = [ShareMember(topic, f"m{number}", joins=False) for number in range(3)]
    answers = [member.heartbeat(0, [name]) for member in members]
    assert [len(answer.assignment.topic_partitions) for answer in answers] == [0, 1, 1]
    assert [answer.heartbeat_interval_ms for answer in answers] == [200, 5000, 5000]
    answers[0] = members[0].heartbeat(answers[0].member_epoch)
    assert len(answers[0].assignment.topic_partitions) == 1
    other = members[0].heartbeat(answers[0].member_epoch, ["another"])
    assert (other.error_code, other.assignment.topic_partitions) == (0, [])
