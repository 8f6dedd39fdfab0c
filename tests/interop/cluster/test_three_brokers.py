"""Our client against three real brokers while they are killed, stopped and paused in turn: rows C6 and F1 to F3.

Nothing that was acknowledged or committed is lost, nothing is there twice, nothing of an aborted transaction is read, a
transaction is there in all of its partitions or in none, and the order of each writer is kept.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin_types import NewTopic
from oncelog.client.errors import FatalProducerError, KafkaError
from oncelog.conformance.expect import eventually
from oncelog.types import TopicPartition
from tests.client.reading import read_back
from tests.support.kafka_cluster import NODES, KafkaCluster

pytestmark = [pytest.mark.kafka, pytest.mark.soak]
PARTITIONS = 3
ENDED = ("Empty", "CompleteCommit", "CompleteAbort")
PATIENT = {
    "delivery_timeout_ms": 600_000,
    "max_block_ms": 600_000,
    "request_timeout_ms": 5_000,
    "transaction_timeout_ms": 60_000,
}


class Actor(threading.Thread):
    """Works until it is told to end; what went wrong is raised by :meth:`end`."""

    def __init__(self, servers: str, topic: str) -> None:
        super().__init__(daemon=True)
        self.servers, self.topic = servers, topic
        self.steps = 0
        self._ending = threading.Event()
        self._moved = threading.Condition()
        self._failure: BaseException | None = None

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001 - raised by end()
            self._failure = error
        with self._moved:
            self._moved.notify_all()

    def work(self) -> None:
        raise NotImplementedError

    @property
    def ending(self) -> bool:
        return self._ending.is_set()

    def step(self) -> None:
        with self._moved:
            self.steps += 1
            self._moved.notify_all()

    def await_steps(self, count: int) -> None:
        """Until it has come ``count`` steps further."""
        with self._moved:
            wanted = self.steps + count
            assert self._moved.wait_for(lambda: self.steps >= wanted or self._failure is not None, 600)
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        self._ending.set()
        self.join(600)
        assert not self.is_alive()
        if self._failure is not None:
            raise self._failure


class Sender(Actor):
    """An idempotent producer: one value after the other, to the partition of its number."""

    def work(self) -> None:
        with Producer(bootstrap_servers=self.servers, **{**PATIENT, "transaction_timeout_ms": None}) as producer:  # type: ignore[arg-type]
            while not self.ending:
                futures = [producer.send(self.topic, b"%d" % (self.steps * 10 + n), partition=n % 3) for n in range(10)]
                for future in futures:
                    future.result(600)
                self.step()


class Transactions(Actor):
    """Transactions over all partitions; every third is aborted."""

    def __init__(self, servers: str, topic: str) -> None:
        super().__init__(servers, topic)
        self.committed: set[int] = set()
        self.unknown: set[int] = set()

    def work(self) -> None:
        number = 0
        while not self.ending:
            with Producer(bootstrap_servers=self.servers, transactional_id=self.topic, **PATIENT) as producer:  # type: ignore[arg-type]
                try:
                    while not self.ending:
                        number += 1
                        self._one(producer, number)
                        self.step()
                except FatalProducerError:
                    continue  # fenced by its own time-out: a new producer goes on

    def _one(self, producer: Producer, number: int) -> None:
        producer.begin_transaction()
        try:
            for partition in range(PARTITIONS):
                producer.send(self.topic, b"%d" % number, partition=partition)
            if number % 3 == 0:
                producer.abort_transaction()
                return
            self.unknown.add(number)
            producer.commit_transaction()
        except FatalProducerError:
            raise
        except KafkaError:
            self.unknown.discard(number)
            producer.abort_transaction()
            return
        self.unknown.discard(number)
        self.committed.add(number)


class Reader(Actor):
    """A member of a group that reads what is committed, and commits what it has read."""

    def __init__(self, servers: str, topic: str) -> None:
        super().__init__(servers, topic)
        self.seen: dict[TopicPartition, list[int]] = {}

    def work(self) -> None:
        with Consumer(
            self.topic,
            bootstrap_servers=self.servers,
            group_id=f"readers-of-{self.topic}",
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            default_api_timeout_ms=600_000,
            request_timeout_ms=10_000,
        ) as consumer:
            offsets: dict[TopicPartition, int] = {}
            while not self.ending:
                for partition, records in consumer.getmany(timeout_ms=200).items():
                    for record in records:
                        if record.offset > offsets.get(partition, -1):  # else read again after a rebalance
                            offsets[partition] = record.offset
                            self.seen.setdefault(partition, []).append(int(record.value or b""))
                self.step()


def disturb(cluster: KafkaCluster, rounds: int, busy: Callable[[], None]) -> None:
    """One node at a time goes away and comes back; ``busy`` waits until everybody has come further."""
    draw = random.Random(rounds)
    for round_ in range(rounds):
        number = round_ % NODES
        how = draw.choice(["kill", "stop", "pause"])
        if how == "pause":
            cluster.pause(number)
            busy()
            cluster.resume(number)
        else:
            node = cluster.nodes[number]
            node.kill() if how == "kill" else node.stop()
            busy()
            cluster.start(number)
        busy()


@pytest.mark.parametrize("rounds", [3, 100])
def test_nothing_is_lost_doubled_or_out_of_order(tmp_path: Path, rounds: int) -> None:
    with KafkaCluster(tmp_path) as cluster:
        servers = cluster.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic(name, PARTITIONS, NODES) for name in ("sent", "transactions")])
        sender, transactions = Sender(servers, "sent"), Transactions(servers, "transactions")
        reader = Reader(servers, "transactions")
        actors = (sender, transactions, reader)
        for actor in actors:
            actor.start()

        def busy() -> None:
            for actor in actors:
                actor.await_steps(3)

        busy()
        disturb(cluster, rounds, busy)
        sender.end()
        transactions.end()
        with Admin(bootstrap_servers=servers) as admin:  # markers come after the answer
            eventually(lambda: admin.describe_transactions(["transactions"])[0].state in ENDED)
        sent = [int(record.value or b"") for record in read_back(servers, "sent", PARTITIONS)]
        assert sorted(sent) == list(range(sender.steps * 10))
        by_partition: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
        for record in read_back(servers, "transactions", PARTITIONS):
            by_partition[record.partition].append(int(record.value or b""))
        first = by_partition[0]
        assert all(values == first for values in by_partition.values())
        assert first == sorted(set(first))
        assert transactions.committed <= set(first) <= transactions.committed | transactions.unknown
        reader.await_steps(3)

        def read_all() -> bool:
            return all(reader.seen.get(TopicPartition("transactions", n)) == first for n in range(PARTITIONS))

        while not read_all():
            reader.await_steps(1)
        reader.end()
