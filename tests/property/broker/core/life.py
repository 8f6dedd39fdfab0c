"""One run of the broker's core on a disk that may lose what was not synced; for the tests of power losses.

A life ends at a random sync, before it or after it, or with a clean stop. It ends with a power loss, or with the
process alone: then everything that was written is there, but a later power loss may still take what was not synced.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from oncelog.broker.coordinator.group.group_coordinator import GroupCoordinator
from oncelog.broker.core.appending.verification import verify_transaction
from oncelog.broker.core.broker import Broker
from oncelog.broker.core.cluster.node import SimulatedNode
from oncelog.broker.log.partition_log import PartitionLog
from oncelog.broker.log.producers.verification_state import TransactionSupportedOperation
from oncelog.broker.metadata.opening import open_metadata
from oncelog.errors import Error
from oncelog.records.batch import decode_records
from oncelog.runtime.deferred import Deferred
from oncelog.settings.config import BrokerConfig, parse
from oncelog.testing.simulation.disk import FaultyDisk
from oncelog.types import NO_PRODUCER, ProducerIdAndEpoch, TopicPartition
from tests.support.ports import AtOnce, CountingRandom
from tests.unit.broker.core.conftest import NOW_MS
from tests.unit.broker.log.batches import batch, roll

T = TypeVar("T")
ID = "txn"
TOPICS = {"a": 1, "b": 1, "in": 2}
PLACES = [TopicPartition(topic, 0) for topic in ("a", "b")]
LOGS = [*PLACES, TopicPartition("__transaction_state", 0), TopicPartition("__consumer_offsets", 0)]
SETTINGS = {
    "oncelog.flush.policy": "commit",
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}


class PowerLost(Exception):
    """The process ends in the middle of something."""


class Life:
    """One run of the broker, which lives to see ``syncs`` syncs. Also a host for ``GroupClient``."""

    now_ms = NOW_MS

    def __init__(
        self, disk: FaultyDisk, path: Path, rng: random.Random, syncs: int, settings: Mapping[str, str] | None = None
    ) -> None:
        config = parse(BrokerConfig, {**SETTINGS, **(settings or {})})
        source = CountingRandom()
        self.disk = disk
        self.metadata, config = open_metadata(str(path), disk, config, source, NOW_MS)
        node = SimulatedNode(1, "broker.example", 9092, None)
        self.broker = Broker(
            config=config, node=node, metadata=self.metadata, disk=disk, random=source, background=AtOnce()
        )
        self._rng = rng
        self._syncs = syncs
        self.broker.start(NOW_MS)
        for topic, partitions in TOPICS.items():
            if self.broker.partition(TopicPartition(topic, 0)) is None:
                self.broker.topics.create(topic, partitions, {}, NOW_MS)
        for topic in ("__transaction_state", "__consumer_offsets"):
            self.broker.topics.ensure_internal(topic, NOW_MS)

    @property
    def coordinator(self) -> GroupCoordinator:
        return self.broker.groups

    def topic_id(self, topic: str) -> bytes | None:
        info = self.metadata.topic(topic)
        return info.topic_id if info is not None else None

    def pass_time(self, milliseconds: int) -> None:
        self.broker.advance(NOW_MS + milliseconds)

    def end(self) -> FaultyDisk:
        """What is left of the disk."""
        self.metadata.close()
        return self.disk if self._rng.random() < 0.3 else self.disk.crash(self._rng)

    def keep_house(self) -> None:
        """What a broker does from time to time: closes segments, writes checkpoints, compacts closed segments."""
        chance = self._rng.random()
        if chance < 0.1:
            roll(self.log(self._rng.choice(LOGS)), NOW_MS)
        elif chance < 0.2:
            self.broker.logs.checkpoints.write_now()
        elif chance < 0.3:
            self.broker.logs._cleaner.clean(NOW_MS)

    def flush_once(self) -> bool:
        self.keep_house()
        if not self._syncs and self._rng.random() < 0.2:
            self.broker.stop(NOW_MS)
            raise PowerLost
        job = self.broker.flushing.take(NOW_MS)
        if job is None:
            return False
        self._syncs -= 1
        if self._syncs < 0:
            if self._rng.random() < 0.5:
                for _, ticket in self._rng.sample(job.tickets, self._rng.randint(0, len(job.tickets))):
                    ticket.sync(self.disk, set())
            raise PowerLost
        self.broker.flushing.done(job, job.sync(), NOW_MS)
        return True

    def flush_all(self) -> None:
        while self.flush_once():
            pass

    def answer(self, later: Deferred[T]) -> T:
        """The promised answer, after as many syncs as it takes."""
        found: list[T] = []
        later.then(found.append)
        while not found:
            assert self.flush_once(), "nothing is left to sync, and still no answer"
        return found[0]

    def log(self, place: TopicPartition) -> PartitionLog:
        partition = self.broker.partition(place)
        assert partition is not None
        return partition.log

    def init(self) -> ProducerIdAndEpoch:
        """A new epoch; a transaction that was left open is aborted first."""
        for _ in range(5):
            result = self.answer(
                self.broker.transactions.init_producer_id(ID, 60_000, NO_PRODUCER, NOW_MS, node_id=None)
            )
            if result.error is Error.NONE:
                return result.producer
            assert result.error is Error.CONCURRENT_TRANSACTIONS
            self.flush_all()
        raise AssertionError("the last transaction is never finished")

    def write(self, producer: ProducerIdAndEpoch, number: int, acknowledged: bool) -> None:
        """A record of transaction ``number`` in each partition; a producer that commits waits for all answers."""
        implicit = self._rng.random() < 0.5
        if not implicit:
            add = self.broker.transactions.add_partitions(
                ID, producer, PLACES, NOW_MS, transaction_version=2, node_id=None
            )
            assert self.answer(add) is Error.NONE
        for place in PLACES:
            partition = self.broker.partition(place)
            assert partition is not None
            operations = TransactionSupportedOperation
            operation = operations.ADD_PARTITION if implicit else operations.GENERIC_ERROR_SUPPORTED
            verification = self.answer(verify_transaction(self.broker, partition, ID, producer, operation, NOW_MS, 0))
            assert verification.error is Error.NONE
            data = batch(
                1, pid=producer.producer_id, epoch=producer.producer_epoch, seq=0, txn=True, key=b"%d" % number
            )
            result = partition.append_client(data, NOW_MS, verification.guard)
            assert result.error is Error.NONE, result
            if acknowledged or self._rng.random() < 0.5:
                assert self.answer(partition.when_committed(result.last_offset + 1)) is Error.NONE

    def end_transaction(self, producer: ProducerIdAndEpoch, commit: bool) -> ProducerIdAndEpoch:
        result = self.answer(
            self.broker.transactions.end_txn(ID, producer, commit, NOW_MS, transaction_version=2, node_id=None)
        )
        assert result.error is Error.NONE, result
        return result.producer

    def committed(self, place: TopicPartition) -> list[int]:
        """Transactions that a read_committed consumer sees; it must be able to read to the end of the log."""
        log = self.log(place)
        assert log.last_stable_offset == log.high_watermark == log.log_end_offset, f"{place}: a transaction hangs"
        aborted = sorted((first, pid) for pid, first in log.aborted_transactions(0, log.log_end_offset))
        active: set[int] = set()
        seen: list[int] = []
        for header, data in log.batches(0):
            while aborted and aborted[0][0] <= header.last_offset:
                active.add(aborted.pop(0)[1])
            if header.is_control:
                active.discard(header.producer_id)
            elif header.producer_id not in active:
                seen += [int(record.key or b"-1") for record in decode_records(data)]
        return seen
