"""Random requests to our broker and to Apache Kafka: the same answers, and in the end the same logs.

A sequence follows from its seed alone. Producer ids are compared by the order in which they appeared; what has to be
waited for, such as the markers of a transaction, is waited for on both before the next step. A failure names the seed
and shows the steps. ``ONCELOG_FUZZ_SEEDS`` (``FIRST-LAST``) and ``ONCELOG_FUZZ_STEPS`` ask for more.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from oncelog.apps.conformance.checks.isolation import write_marker
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, batch, now_ms
from oncelog.apps.conformance.raw.group_members import commit, fetch_offsets
from oncelog.apps.conformance.raw.transactional_producer import (
    LOADING,
    RawTransactionalProducer,
    find_coordinator,
    init,
)
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from oncelog.protocol.generated.describe_producers_request import DescribeProducersRequest, TopicRequest
from tests.integration.conformance.nodes import Node
from tests.support.shared_kafka import RunningKafka

STEPS = int(os.environ.get("ONCELOG_FUZZ_STEPS", "80"))
PARTITIONS = 2
IDS = 3
TRANSIENT = {19, 51}
STUCK_AFTER_S = 5
TIMEOUT_S = 60
"""Before this, a side is not called stuck: it may only be slow."""
STUCK = "stuck"


class Stuck(Exception):
    """A marker of ours with a higher epoch makes both brokers refuse the coordinator's own, so the sequence ends."""


def _seeds() -> range:
    first, _, last = os.environ.get("ONCELOG_FUZZ_SEEDS", "1-6").partition("-")
    return range(int(first), int(last or first) + 1)


class Identity(NamedTuple):
    """A producer id by its order of appearance, and an epoch."""

    pid: int
    epoch: int


class Side:
    """One of the two brokers, which runs the same steps with its own producer ids."""

    def __init__(self, bootstrap_servers: str, name: str) -> None:
        self.connection = RawConnection(bootstrap_servers)
        self.name = name
        self.topic = name
        self.pids: list[int] = [2**40]
        self.connection.create_topic(name, PARTITIONS)
        for index in range(IDS):
            find_coordinator(self.connection, self.id(index), 1)
        find_coordinator(self.connection, self.group, 0)

    @property
    def group(self) -> str:
        return f"{self.name}-group"

    def id(self, index: int) -> str:
        return f"{self.name}-id-{index}"

    def symbol(self, pid: int) -> int:
        if pid < 0:
            return -1
        if pid not in self.pids:
            self.pids.append(pid)
        return self.pids.index(pid)

    def actual(self, identity: Identity | None) -> tuple[int, int]:
        return (-1, -1) if identity is None else (self.pids[identity.pid], identity.epoch)

    def producer(self, index: int, identity: Identity) -> RawTransactionalProducer:
        producer = RawTransactionalProducer(self.connection, self.id(index))
        producer.pid, producer.epoch = self.actual(identity)
        return producer

    def settle(self, index: int, seconds: float = STUCK_AFTER_S) -> str:
        """Wait until no marker of this id is in flight; return the state."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            state = RawTransactionalProducer(self.connection, self.id(index)).describe()
            if state.error_code:
                return "none"
            if "Prepare" not in state.transaction_state:
                return str(state.transaction_state)
        return STUCK

    # --- steps: each answers what is to be compared

    def init(self, index: int, identity: Identity | None, version: int) -> Any:
        pid, epoch = self.actual(identity)
        answer = init(self.connection, self.id(index), version=version, pid=pid, epoch=epoch)
        return answer.error_code, self.symbol(answer.producer_id), answer.producer_epoch

    def add(self, index: int, identity: Identity, partitions: list[int], version: int) -> Any:
        found = self.producer(index, identity).add_once(*[(self.topic, part) for part in partitions], version=version)
        return sorted((part, error) for (_, part), error in found.items())

    def produce(
        self,
        index: int | None,
        identity: Identity | None,
        partition: int,
        sequence: int,
        count: int,
        version: int,
        transactional: bool,
        timestamp: int,
    ) -> Any:
        pid, epoch = self.actual(identity)
        data = batch(
            *[b"%d" % (sequence + step) for step in range(count)],
            pid=pid,
            epoch=epoch,
            sequence=sequence if identity is not None else -1,
            attributes=TRANSACTIONAL if transactional else 0,
            timestamp=timestamp,
        )

        def probe() -> Any:
            answer = self.connection.produce(
                self.topic, data, partition, version=version, transactional_id=None if index is None else self.id(index)
            )
            return None if answer.error in TRANSIENT else answer[:4]

        return eventually(probe)

    def end(self, index: int, identity: Identity, commit: bool, version: int) -> Any:
        answer = self.producer(index, identity).end_once(commit=commit, version=version)
        if version < 5:
            return (answer.error_code,)
        return answer.error_code, self.symbol(answer.producer_id), answer.producer_epoch

    def offsets(self, index: int, identity: Identity, offset: int, version: int, add: bool) -> Any:
        producer = self.producer(index, identity)
        added = None
        if add:
            from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest

            request = AddOffsetsToTxnRequest(
                transactional_id=producer.id,
                producer_id=producer.pid,
                producer_epoch=producer.epoch,
                group_id=self.group,
            )
            added = self.connection.ask(request, 3).error_code

        def probe() -> Any:
            found = producer.commit_offsets_once(self.group, {(self.topic, 0): offset}, version=version)
            return None if set(found) & (TRANSIENT | LOADING) else found

        return added, eventually(probe)

    def plain_offsets(self, offset: int) -> Any:
        def probe() -> Any:
            found = commit(self.connection, self.group, {(self.topic, 0): offset})
            return None if set(found) & LOADING else found

        return eventually(probe)

    def marker(self, identity: Identity, partition: int, commit: bool, epoch: int, version: int) -> Any:
        pid, producer_epoch = self.actual(identity)
        return write_marker(
            self.connection,
            self.topic,
            pid,
            producer_epoch,
            partition=partition,
            commit=commit,
            coordinator_epoch=epoch,
            version=max(version, 1),
            transaction_version=version if version == 2 else 0,
        )

    def delete(self, partition: int, offset: int) -> Any:
        request = DeleteRecordsRequest(
            topics=[
                DeleteRecordsTopic(
                    name=self.topic, partitions=[DeleteRecordsPartition(partition_index=partition, offset=offset)]
                )
            ],
            timeout_ms=10_000,
        )
        (found,) = self.connection.ask(request, 2).topics[0].partitions
        return found.error_code, found.low_watermark

    # --- what can be seen

    def fetch(self, partition: int, offset: int, isolation: int, limit: int) -> Any:
        found = self.connection.fetch(
            self.topic, offset, partition, isolation=isolation, partition_max_bytes=limit, version=12
        )
        # Kafka may list more than the range needs, since it looks up its end in the sparse offset index.
        end = found.batches[-1].last_offset if found.batches else -1
        aborted = None
        if found.aborted is not None:
            aborted = [(self.symbol(pid), first) for pid, first in found.aborted if first <= end]
        batches = [
            (
                item.base_offset,
                item.last_offset_delta,
                item.attributes,
                self.symbol(item.pid),
                item.epoch,
                item.sequence,
                item.marker() if item.is_control else [(read.value, read.timestamp) for read in item.records()],
            )
            for item in found.batches
        ]
        return found.error, found.high_watermark, found.last_stable_offset, found.log_start_offset, aborted, batches

    def watermarks(self) -> Any:
        return [
            self.connection.list_offset(self.topic, timestamp, index, isolation=isolation).offset
            for index in range(PARTITIONS)
            for timestamp, isolation in ((-2, 0), (-1, 0), (-1, 1))
        ]

    def producers(self) -> Any:
        request = DescribeProducersRequest(
            topics=[TopicRequest(name=self.topic, partition_indexes=list(range(PARTITIONS)))]
        )
        return [
            sorted(
                (
                    self.symbol(state.producer_id),
                    state.producer_epoch,
                    state.last_sequence,
                    state.coordinator_epoch,
                    state.current_txn_start_offset,
                )
                for state in part.active_producers
            )
            for part in self.connection.ask(request, 0).topics[0].partitions
        ]

    def transactions(self) -> Any:
        found = []
        for index in range(IDS):
            state = RawTransactionalProducer(self.connection, self.id(index)).describe()
            topics = sorted((added.topic.replace(self.name, "T"), sorted(added.partitions)) for added in state.topics)
            if any(name == "__consumer_offsets" for name, _ in topics):
                topics = [(name, [] if name.startswith("__") else parts) for name, parts in topics]
            found.append(
                (
                    state.error_code,
                    state.transaction_state,
                    # of an id that is not known the answer has the field's default, which is another's producer id
                    -1 if state.error_code else self.symbol(state.producer_id),
                    state.producer_epoch,
                    topics,
                )
            )
        return found

    def committed_offsets(self) -> Any:
        return [
            fetch_offsets(self.connection, self.group, [(self.topic, 0)], stable=stable)[1][self.topic, 0]
            for stable in (False, True)
        ]


class Driver:
    """Chooses steps by the seed and by the answers so far."""

    def __init__(self, seed: int, ours: Side, theirs: Side) -> None:
        self.chance = random.Random(seed)
        self.seed = seed
        self.ours, self.theirs = ours, theirs
        self.history: list[str] = []
        self.current: list[Identity | None] = [None] * IDS
        self.known: list[Identity] = []
        self.next_sequence: dict[tuple[int, int], int] = {}
        self.sent: dict[tuple[int, int], list[tuple[Identity, int, int]]] = {}
        self.timestamp = now_ms() - 100_000

    def both(self, name: str, *arguments: Any) -> Any:
        """The answer, which must be the same on both."""
        mine = getattr(self.ours, name)(*arguments)
        reference = getattr(self.theirs, name)(*arguments)
        self.history.append(f"{name}{arguments} -> {reference}")
        if mine != reference:
            steps = "\n".join(self.history[-40:])
            raise AssertionError(
                f"seed {self.seed}, step {len(self.history)}: ours {mine}\ntheirs {reference}\n{steps}"
            )
        return mine

    def identity(self, index: int) -> Identity | None:
        """Mostly the id's current producer id and epoch, sometimes another one or a changed one."""
        current = self.current[index]
        if current is None or (self.known and self.chance.random() < 0.08):
            return self.chance.choice(self.known) if self.known else None
        drift = self.chance.random()
        if drift < 0.05:
            return current._replace(epoch=max(0, current.epoch + self.chance.choice([-1, 1, -2])))
        return current

    def learn(self, index: int, pid: int, epoch: int) -> None:
        identity = Identity(pid, epoch)
        self.current[index] = identity
        self.known.append(identity)
        for partition in range(PARTITIONS):
            if self.next_sequence.get((pid, partition)) is not None:
                self.next_sequence[pid, partition] = 0

    # --- steps

    def step(self) -> None:
        steps: list[tuple[int, Callable[[], None]]] = [
            (10, self.step_init),
            (14, self.step_add),
            (36, self.step_produce),
            (6, self.step_plain),
            (16, self.step_end),
            (6, self.step_offsets),
            (2, self.step_plain_offsets),
            (2, self.step_marker),
            (2, self.step_delete),
            (8, self.step_fetch),
        ]
        (chosen,) = self.chance.choices([step for _, step in steps], [weight for weight, _ in steps])
        chosen()
        observed = self._observe()
        del self.history[-observed:]

    def _observe(self) -> int:
        """Compare everything visible; returns how many lines of history that gave."""
        before = len(self.history)
        for what in ("watermarks", "producers", "transactions"):
            self.both(what)
        return len(self.history) - before

    def settle(self, index: int) -> None:
        mine, reference = self.ours.settle(index), self.theirs.settle(index)
        if mine == reference == STUCK:
            raise Stuck
        if mine != reference:
            for side in (self.ours, self.theirs):
                side.settle(index, TIMEOUT_S)
        self.both("settle", index)

    def step_init(self) -> None:
        index = self.chance.randrange(IDS)
        identity = self.identity(index) if self.chance.random() < 0.4 else None
        error, pid, epoch = self.both("init", index, identity, self.chance.choice([3, 4, 5]))
        self.settle(index)
        if error == 0:
            self.learn(index, pid, epoch)

    def step_add(self) -> None:
        index = self.chance.randrange(IDS)
        identity = self.identity(index)
        if identity is not None:
            partitions = self.chance.choice([[0], [1], [0, 1], [0, 1], [0, PARTITIONS]])
            self.both("add", index, identity, partitions, self.chance.choice([0, 1, 2, 3]))

    def step_produce(self) -> None:
        index = self.chance.randrange(IDS)
        identity = self.identity(index)
        if identity is None:
            return
        partition = self.chance.randrange(PARTITIONS)
        key = identity.pid, partition
        count = self.chance.choice([1, 1, 2, 3])
        sequence = self.next_sequence.get(key, 0)
        outcome = self.chance.random()
        if outcome < 0.12 and self.sent.get(key):
            identity, sequence, count = self.chance.choice(self.sent[key][-8:])
        elif outcome < 0.2:
            sequence = max(0, sequence + self.chance.choice([-2, -1, 1, 5]))
        transactional = self.chance.random() < 0.92
        version = self.chance.choice([9, 10, 11, 11, 12, 12])
        self.timestamp += 1
        answer = self.both(
            "produce", index, identity, partition, sequence, count, version, transactional, self.timestamp
        )
        if answer[0] == 0:
            self.next_sequence[key] = sequence + count
            self.sent.setdefault(key, []).append((identity, sequence, count))
        elif answer[0] == 45 and self.chance.random() < 0.5:
            self.next_sequence[key] = 0

    def step_plain(self) -> None:
        self.timestamp += 1
        self.both("produce", None, None, self.chance.randrange(PARTITIONS), 0, 1, 11, False, self.timestamp)

    def step_end(self) -> None:
        index = self.chance.randrange(IDS)
        identity = self.identity(index)
        if identity is None:
            return
        version = self.chance.choice([1, 3, 4, 5, 5, 5])
        answer = self.both("end", index, identity, self.chance.random() < 0.6, version)
        self.settle(index)
        if answer[0] == 0 and version == 5 and identity == self.current[index]:
            self.learn(index, answer[1], answer[2])

    def step_offsets(self) -> None:
        index = self.chance.randrange(IDS)
        identity = self.identity(index)
        if identity is not None:
            version = self.chance.choice([1, 3, 4, 5])
            self.both("offsets", index, identity, self.chance.randrange(100), version, self.chance.random() < 0.6)
            self.both("committed_offsets")

    def step_plain_offsets(self) -> None:
        self.both("plain_offsets", self.chance.randrange(100))
        self.both("committed_offsets")

    def step_marker(self) -> None:
        if self.known:
            identity = self.chance.choice(self.known)
            identity = identity._replace(epoch=max(0, identity.epoch + self.chance.choice([0, 0, 1, -1])))
            self.both(
                "marker",
                identity,
                self.chance.randrange(PARTITIONS),
                self.chance.random() < 0.5,
                0,
                self.chance.choice([1, 2]),
            )

    def step_delete(self) -> None:
        self.both("delete", self.chance.randrange(PARTITIONS), self.chance.randrange(30))

    def step_fetch(self) -> None:
        self.both(
            "fetch",
            self.chance.randrange(PARTITIONS),
            self.chance.randrange(60),
            self.chance.choice([0, 1]),
            self.chance.choice([1 << 20, 1 << 20, 300, 1]),
        )

    def compare_logs(self) -> None:
        for index in range(IDS):
            if self.current[index] is not None:
                self.both("init", index, None, 4)
                self.settle(index)
        for partition in range(PARTITIONS):
            offset = self.ours.connection.list_offset(self.ours.topic, -2, partition).offset
            for isolation in (0, 1):
                self.both("fetch", partition, offset, isolation, 8 << 20)
        self.both("watermarks")
        self.both("producers")
        self.both("committed_offsets")


@pytest.mark.kafka
@pytest.mark.parametrize("seed", _seeds())
def test_random_requests_are_answered_as_in_kafka(
    oncelog_broker: Node, apache_kafka: RunningKafka, unique_name: str, seed: int
) -> None:
    ours = Side(oncelog_broker.bootstrap_servers, unique_name)
    theirs = Side(apache_kafka.bootstrap_servers, unique_name)
    driver = Driver(seed, ours, theirs)
    with contextlib.suppress(Stuck):
        for _ in range(STEPS):
            driver.step()
        driver.compare_logs()
