"""Share partitions while the share coordinator takes its time to write: nothing rests on what is not committed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from oncelog.broker.coordinator.share.state_rules import RecordState, ShareKey, ShareState, StateBatch, WriteState
from oncelog.broker.core.sharing.share_partition import AckBatch, AcknowledgeType, AckRefusal, Acquired
from oncelog.broker.core.sharing.share_partitions import Held, SharePartitions
from oncelog.errors import NONE, Error
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.records.batch import BatchBuilder
from oncelog.runtime.deferred import Deferred
from oncelog.types import TopicPartition
from tests.unit.broker.core.conftest import NOW_MS, Admin

LOCK_MS = 30_000
STORED = ShareState(0, 1, 0, 0, 0, NOW_MS, NOW_MS)
ACCEPT = AckBatch(0, 4, [AcknowledgeType.ACCEPT])


class SlowStates:
    """A share coordinator that commits what it is given when a test says so."""

    def __init__(self) -> None:
        self.loads: list[Deferred[ShareState | Error]] = []
        self.writes: list[tuple[WriteState, Deferred[Error]]] = []

    def load(self, key: ShareKey, leader_epoch: int, now_ms: int) -> Deferred[ShareState | Error]:
        self.loads.append(Deferred())
        return self.loads[-1]

    def write(self, key: ShareKey, event: WriteState, now_ms: int) -> Deferred[Error]:
        self.writes.append((event, Deferred()))
        return self.writes[-1][1]


@dataclass
class Ports:
    """What share partitions need of a broker, with states of its own."""

    broker: Any
    share_states: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.broker, name)


class Sharing:
    """A group that begins to read a partition of ten records."""

    def __init__(self, admin: Admin) -> None:
        self.states = SlowStates()
        self.sharing = SharePartitions(Ports(admin.broker, self.states))
        admin.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)]))
        builder = BatchBuilder()
        for number in range(10):
            builder.append(NOW_MS, None, b"%d" % number)
        data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, memoryview(builder.build()))])]
        admin.ask(ProduceRequest(None, -1, 1000, data), 12)
        partition = admin.broker.partition(TopicPartition("t", 0))
        assert partition is not None
        self.partition = partition
        self._timers = admin.broker.timers

    def open(self) -> Held | Error | None:
        key = ShareKey("g", self.partition.topic_id or b"", 0)
        return self.sharing.open(key, self.partition, NOW_MS)

    def opened(self) -> Held:
        self.open()
        self.states.loads[-1].resolve(STORED)
        held = self.open()
        assert isinstance(held, Held)
        return held

    def acquire(self, held: Held, member: str, now_ms: int = NOW_MS) -> list[Acquired]:
        found = self.sharing.deliver(held, member, 5, 1 << 20, now_ms, is_strict=True)
        assert not isinstance(found, Error)
        return found.acquired

    def pass_time(self, now_ms: int) -> None:
        fired: list[bool] = []
        self._timers.fire(now_ms, lambda: fired.append(True) or len(fired) > 100)
        assert len(fired) < 100, "a timer makes another one for the same moment, without end"


@pytest.fixture
def sharing(admin: Admin) -> Iterator[Sharing]:
    made = Sharing(admin)
    yield made
    made.sharing.stop()


def test_no_record_is_delivered_from_an_uncommitted_state(sharing: Sharing) -> None:
    assert sharing.open() is None
    assert sharing.open() is None
    assert len(sharing.states.loads) == 1, "it is asked for once"
    acknowledged = STORED._replace(start_offset=5)
    sharing.states.loads[0].resolve(acknowledged)
    held = sharing.open()
    assert isinstance(held, Held)
    assert held.state.next_offset() == 5


def test_a_state_that_is_lost_before_it_is_committed_is_read_again(sharing: Sharing) -> None:
    assert sharing.open() is None
    sharing.states.loads[0].resolve(Error.NOT_COORDINATOR)
    assert sharing.open() is Error.COORDINATOR_NOT_AVAILABLE
    assert sharing.open() is None
    sharing.states.loads[1].resolve(STORED)
    assert isinstance(sharing.open(), Held)


def test_a_state_that_is_replaced_while_it_is_read_is_read_again(sharing: Sharing) -> None:
    assert sharing.open() is None
    sharing.sharing.states_changed("g")
    assert sharing.open() is None
    assert len(sharing.states.loads) == 2


@pytest.mark.parametrize("error", [NONE, Error.COORDINATOR_LOAD_IN_PROGRESS])
def test_a_lock_that_expires_during_an_acknowledgement_ends_with_its_write(sharing: Sharing, error: Error) -> None:
    held = sharing.opened()
    assert sharing.acquire(held, "a") == [Acquired(0, 4, 1)]
    answers: list[AckRefusal | None] = []
    sharing.sharing.acknowledge(held, "a", [ACCEPT], NOW_MS).then(answers.append)
    sharing.pass_time(NOW_MS + LOCK_MS)
    assert held.state.next_offset() == 5, "the outcome is not known yet"
    (_, written), *_ = sharing.states.writes
    written.resolve(error)
    sharing.pass_time(NOW_MS + LOCK_MS)
    assert [answer is None for answer in answers] == [error is NONE]
    expected = [Acquired(5, 9, 1)] if error is NONE else [Acquired(0, 4, 2)]
    assert sharing.acquire(held, "b", NOW_MS + LOCK_MS) == expected


def test_an_expired_lock_is_stored_with_its_delivery_count(sharing: Sharing) -> None:
    held = sharing.opened()
    sharing.acquire(held, "a")
    sharing.pass_time(NOW_MS + LOCK_MS)
    ((event, _),) = sharing.states.writes
    assert event.batches == [StateBatch(0, 4, RecordState.AVAILABLE, 1)]
