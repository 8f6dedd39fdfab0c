"""Power loss under the broker: what was answered is there, each transaction is whole, and none hangs.

The broker's core runs on a disk that loses what was not synced, file by file and in part, so data may survive of which
the coordinator's records do not, or the other way round. A life ends at a random sync, before it or after it.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TypeVar

import pytest

from oncelog.broker.broker import Broker
from oncelog.broker.node import Node
from oncelog.config import BrokerConfig, parse
from oncelog.deferred import Deferred
from oncelog.errors import Error
from oncelog.log.partition_log import PartitionLog
from oncelog.metadata.opening import open_metadata
from oncelog.records.batch import decode_records
from oncelog.testing.faulty_disk import FaultyDisk
from oncelog.types import NO_PRODUCER, ProducerStamp, TopicPartition
from tests.unit.broker.apis_admin.conftest import NOW_MS, AtOnce, CountingRandom
from tests.unit.log.batches import batch

T = TypeVar("T")
ID = "writer"
PLACES = [TopicPartition(topic, 0) for topic in ("a", "b")]
LIVES = 6
SETTINGS = {
    "oncelog.flush.policy": "commit",
    "transaction.state.log.num.partitions": "1",
    "transaction.partition.verification.enable": "false",
}


class PowerLost(Exception):
    """The process is gone in the midst of something."""


class Life:
    """One run of the broker; ``syncs`` is how many syncs it lives to see."""

    def __init__(self, disk: FaultyDisk, path: Path, rng: random.Random, syncs: int) -> None:
        config = parse(BrokerConfig, SETTINGS)
        source = CountingRandom()
        self.metadata, config = open_metadata(str(path), disk, config, source, NOW_MS)
        node = Node(1, "broker.example", 9092, None)
        self.broker = Broker(
            config=config, node=node, metadata=self.metadata, disk=disk, random=source, background=AtOnce()
        )
        self._rng = rng
        self._syncs = syncs
        self.broker.start(NOW_MS)
        for place in PLACES:
            if self.broker.partition(place) is None:
                self.broker.create_topic(place.topic, 1, {}, NOW_MS)
        self.broker.ensure_internal_topic("__transaction_state", NOW_MS)

    def flush_once(self) -> bool:
        job = self.broker.take_flush()
        if job is None:
            return False
        self._syncs -= 1
        if self._syncs < 0:
            if self._rng.random() < 0.5:
                for _, ticket in self._rng.sample(job.tickets, self._rng.randint(0, len(job.tickets))):
                    for file in ticket.files:
                        file.sync()
            raise PowerLost
        self.broker.flushed(job, job.sync())
        return True

    def answer(self, later: Deferred[T]) -> T:
        """What was promised, after as many syncs as it takes."""
        found: list[T] = []
        later.then(found.append)
        while not found:
            assert self.flush_once(), "nothing is left to sync, and still no answer"
        return found[0]

    def log(self, place: TopicPartition) -> PartitionLog:
        partition = self.broker.partition(place)
        assert partition is not None
        return partition.log

    def init(self) -> ProducerStamp:
        """A new epoch; a transaction that was left open is aborted first."""
        for _ in range(5):
            result = self.answer(self.broker.transactions.init_producer_id(ID, 60_000, NO_PRODUCER, NOW_MS))
            if result.error is Error.NONE:
                return result.stamp
            assert result.error is Error.CONCURRENT_TRANSACTIONS
            while self.flush_once():
                pass
        raise AssertionError("the last transaction is never finished")

    def write(self, stamp: ProducerStamp, number: int, acknowledged: bool) -> None:
        """A record of transaction ``number`` in each partition; a producer that commits waits for all answers."""
        add = self.broker.transactions.add_partitions(ID, stamp, PLACES, NOW_MS, transaction_version=2)
        assert self.answer(add) is Error.NONE
        for place in PLACES:
            partition = self.broker.partition(place)
            assert partition is not None
            data = batch(1, pid=stamp.producer_id, epoch=stamp.producer_epoch, seq=0, txn=True, key=b"%d" % number)
            result = partition.append_client(data, NOW_MS)
            assert result.error is Error.NONE, result
            if acknowledged or self._rng.random() < 0.5:
                assert self.answer(partition.when_committed(result.last_offset + 1)) is Error.NONE

    def end(self, stamp: ProducerStamp, commit: bool) -> ProducerStamp:
        result = self.answer(self.broker.transactions.end_txn(ID, stamp, commit, NOW_MS, transaction_version=2))
        assert result.error is Error.NONE, result
        return result.stamp

    def committed(self, place: TopicPartition) -> list[int]:
        """Transactions that a read_committed consumer sees; it has to see to the end of the log."""
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


@pytest.mark.parametrize("seed", range(60))
def test_every_answered_commit_survives_a_power_loss_and_no_transaction_hangs(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    disk = FaultyDisk()
    outcomes: dict[int, bool | None] = {}
    for _ in range(LIVES):
        life = Life(disk, tmp_path / "metadata.sqlite", rng, rng.randint(0, 25))
        try:
            stamp = life.init()
            check(life, outcomes)
            while True:
                number, commit = len(outcomes), rng.random() < 0.6
                outcomes[number] = False
                life.write(stamp, number, acknowledged=commit)
                outcomes[number] = None if commit else False
                stamp = life.end(stamp, commit)
                outcomes[number] = commit
        except PowerLost:
            life.metadata.close()
            disk = disk.crash(rng)
    life = Life(disk, tmp_path / "metadata.sqlite", rng, 1000)
    life.init()
    check(life, outcomes)


def check(life: Life, outcomes: dict[int, bool | None]) -> None:
    """Whoever waits for the markers has them by now; a commit without an answer was all or nothing, for good."""
    while life.flush_once():
        pass
    seen, other = (life.committed(place) for place in PLACES)
    assert seen == other, "a transaction is visible in part"
    for number, outcome in outcomes.items():
        if outcome is None:
            outcomes[number] = number in seen
    assert seen == [number for number, outcome in outcomes.items() if outcome]
