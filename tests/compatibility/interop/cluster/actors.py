"""Programs that work while three brokers are disturbed; at the end each knows what the log must contain."""

from __future__ import annotations

import threading

from oncelog.client.blocking import Consumer, Producer
from oncelog.client.errors import FatalProducerError, KafkaError
from oncelog.types import TopicPartition

PARTITIONS = 3
PATIENT = {
    "delivery_timeout_ms": 600_000,
    "max_block_ms": 600_000,
    "request_timeout_ms": 5_000,
    "transaction_timeout_ms": 60_000,
}
PACE_S = 0.2
"""Pause between steps: the cluster's trouble is tested, not its speed."""


class Actor(threading.Thread):
    """Works until it is told to end; :meth:`end` raises what went wrong."""

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
        self.pause()

    def pause(self) -> None:
        """Wait a little, unless it is to end."""
        self._ending.wait(PACE_S)

    def await_steps(self, count: int) -> None:
        """Wait until it has advanced by ``count`` steps."""
        with self._moved:
            wanted = self.steps + count
            assert self._moved.wait_for(lambda: self.steps >= wanted or self._failure is not None, 600), self
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        self._ending.set()
        self.join(600)
        assert not self.is_alive()
        if self._failure is not None:
            raise self._failure


class Sender(Actor):
    """An idempotent producer: one value after another, each to the partition that its number gives."""

    def work(self) -> None:
        with Producer(bootstrap_servers=self.servers, **{**PATIENT, "transaction_timeout_ms": None}) as producer:  # type: ignore[arg-type]
            while not self.ending:
                first = self.steps * 10
                futures = [
                    producer.send(self.topic, b"%d" % number, partition=number % PARTITIONS)
                    for number in range(first, first + 10)
                ]
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
                    continue  # fenced by its own timeout: a new producer continues

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


def member(servers: str, group: str, topic: str) -> Consumer:
    """Reads what is committed, and commits only by hand."""
    return Consumer(
        topic,
        bootstrap_servers=servers,
        group_id=group,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        default_api_timeout_ms=600_000,
        request_timeout_ms=10_000,
    )


class Reader(Actor):
    """A member of a group that reads what is committed, and commits what it has read."""

    def __init__(self, servers: str, topic: str) -> None:
        super().__init__(servers, topic)
        self.seen: dict[TopicPartition, list[int]] = {}

    def work(self) -> None:
        with member(self.servers, f"readers-of-{self.topic}", self.topic) as consumer:
            offsets: dict[TopicPartition, int] = {}
            while not self.ending:
                for partition, records in consumer.getmany(timeout_ms=200).items():
                    for record in records:
                        if record.offset > offsets.get(partition, -1):  # else read again after a rebalance
                            offsets[partition] = record.offset
                            self.seen.setdefault(partition, []).append(int(record.value or b""))
                self.step()


class Copy(Actor):
    """Reads one topic and writes another, with positions and records in one transaction."""

    def __init__(self, servers: str, source: str, topic: str) -> None:
        super().__init__(servers, topic)
        self._source = source

    def work(self) -> None:
        while not self.ending:
            consumer = member(self.servers, f"copies-to-{self.topic}", self._source)
            with consumer, Producer(bootstrap_servers=self.servers, transactional_id=self.topic, **PATIENT) as producer:  # type: ignore[arg-type]
                try:
                    while not self.ending:
                        self._one(consumer, producer)
                        self.step()
                except FatalProducerError:
                    continue  # fenced by its own timeout: a new producer continues

    def _one(self, consumer: Consumer, producer: Producer) -> None:
        batch = consumer.getmany(timeout_ms=200)
        if not batch:
            return
        try:
            with producer.transaction():
                for partition, records in batch.items():
                    for record in records:
                        producer.send(self.topic, record.value, partition=partition.partition)
                ends = {partition: records[-1].offset + 1 for partition, records in batch.items()}
                producer.send_offsets_to_transaction(ends, consumer.group_metadata())
        except FatalProducerError:
            raise
        except KafkaError:
            consumer.seek_to_committed()
