"""Every request is counted once, whichever way it takes through the broker: at once, waiting, in a run, or in vain."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from oncelog.broker.core.broker import Broker
from oncelog.broker.core.requests.request_metrics import RequestMetrics
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.wire import Message
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition
from tests.support.frames import encode_request, receive_as_run
from tests.unit.broker.core.conftest import NOW_MS, Admin, Reader
from tests.unit.broker.log.batches import batch

PRODUCE, FETCH, COMMIT, METADATA = ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.OFFSET_COMMIT, ApiKey.METADATA
STEP_NS = 1000


class Measured:
    """A broker whose clock moves a microsecond with each look, and one connection to it."""

    def __init__(self, **settings: str) -> None:
        steps = count(step=STEP_NS)
        self.metrics = RequestMetrics(lambda: next(steps))
        self.admin = Admin(requests=self.metrics, **settings)
        self.broker: Broker = self.admin.broker
        self.broker.topics.create("t", 1, {}, NOW_MS)
        for topic in (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
            self.broker.topics.ensure_internal(topic, NOW_MS)
        self.channel = Reader()

    def send(self, request: Message, version: int) -> bool:
        """Whether it was handled without being decoded."""
        frame = encode_request(request.API_KEY, version, 1, "c", request.encode(version))
        if receive_as_run(self.broker, self.channel, 0, frame, NOW_MS):
            return True
        self.broker.receive(self.channel, 0, memoryview(frame)[4:], NOW_MS)
        self.broker.tasks.finish()
        return False

    def produce(self, acks: int = -1, *, transactional_id: str | None = None, **of_batch: int | bool) -> bool:
        data = PartitionProduceData(0, bytes(batch(1, timestamp=NOW_MS, **of_batch)))  # type: ignore[arg-type]
        topics = [TopicProduceData("t", partition_data=[data])]
        return self.send(ProduceRequest(transactional_id, acks, 1000, topics), 9)

    def flush(self) -> None:
        while (job := self.broker.flushing.take(NOW_MS)) is not None:
            self.broker.flushing.done(job, job.sync(), NOW_MS)

    def number(self, api_key: int) -> int:
        return sum(number for (key, _), number in self.metrics.requests.items() if key == api_key)


@pytest.fixture
def measured() -> Iterator[Measured]:
    made = Measured()
    yield made
    made.broker.stop(NOW_MS)


@pytest.fixture
def synced() -> Iterator[Measured]:
    """Nothing is committed before it is synced."""
    made = Measured(**{"oncelog.flush.policy": "commit"})
    made.flush()
    yield made
    made.broker.stop(NOW_MS)


@pytest.mark.parametrize("acks", [-1, 0])
def test_batches_of_a_run_are_counted_like_the_first_batch(measured: Measured, acks: int) -> None:
    assert [measured.produce(acks) for _ in range(3)] == [False, True, True]
    assert measured.number(PRODUCE) == 3
    assert measured.metrics.errors == {(PRODUCE, Error.NONE): 3}
    local, remote, total = measured.metrics.times(PRODUCE)
    assert (local.count, remote.count, total.count) == (3, 3, 3)
    assert remote.sum_ns == 0 and 0 < local.sum_ns == total.sum_ns


def test_the_wait_for_the_commit_does_not_count_as_work(synced: Measured) -> None:
    assert [synced.produce() for _ in range(2)] == [False, True]
    assert synced.channel.answers == [] and synced.metrics.errors == {}
    synced.flush()
    assert len(synced.channel.answers) == 2
    assert synced.metrics.errors == {(PRODUCE, Error.NONE): 2}
    local, remote, total = synced.metrics.times(PRODUCE)
    assert local.count == remote.count == total.count == 2
    assert 0 < remote.sum_ns == total.sum_ns - local.sum_ns


def test_all_batches_of_a_run_fail_if_the_run_is_not_committed_in_time(synced: Measured) -> None:
    synced.produce()
    synced.produce()
    synced.broker.advance(NOW_MS + 1000)
    assert synced.metrics.errors == {(PRODUCE, Error.REQUEST_TIMED_OUT): 2}
    first, second = synced.channel.answers
    assert first == second


def test_repeated_offset_commits_are_counted_as_requests(measured: Measured) -> None:
    commit = OffsetCommitRequest(
        "g", topics=[OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 1, -1, "")])]
    )
    assert [measured.send(commit, 9) for _ in range(2)] == [False, True]
    assert measured.number(COMMIT) == 2
    assert measured.metrics.errors == {(COMMIT, Error.NONE): 2}


def test_other_requests_count_for_each_error_in_their_answers(measured: Measured) -> None:
    measured.send(MetadataRequest([]), 9)
    measured.produce(acks=7)
    assert measured.metrics.errors == {(METADATA, Error.NONE): 1, (PRODUCE, Error.INVALID_REQUIRED_ACKS): 1}


def test_a_request_that_raises_an_exception_counts_as_a_defect(
    measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(measured.broker.metadata, "topics", fail)
    measured.send(MetadataRequest(None), 9)
    assert measured.metrics.defects == {METADATA: 1}
    assert measured.channel.closed == "METADATA version 9 could not be answered: RuntimeError('a bug')"


def begin(measured: Measured, epoch: int = 0) -> tuple[int, int]:
    """The producer of the id ``pay``, initialized once more, whose transaction has the partition."""
    measured.send(InitProducerIdRequest("pay", 60_000), 4)
    measured.flush()
    add = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="pay",
        v3_and_below_producer_id=0,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic("t", [0])],
    )
    measured.send(add, 3)
    measured.flush()
    return 0, epoch


def test_a_transaction_is_complete_when_its_marker_is_committed(synced: Measured) -> None:
    pid, epoch = begin(synced)
    synced.produce(pid=pid, epoch=epoch, seq=0, txn=True, transactional_id="pay")
    synced.flush()
    synced.send(EndTxnRequest("pay", pid, epoch, True), 3)
    assert synced.metrics.completions.count == 0
    synced.flush()
    assert synced.metrics.completions.count == 1
    log = synced.broker.partitions()[TopicPartition("t", 0)].log
    assert log.last_stable_offset == log.log_end_offset


@pytest.mark.parametrize("policy", ["none", "commit"])
def test_the_first_batch_of_a_transaction_in_a_run_is_counted(policy: str) -> None:
    measured = Measured(**{"oncelog.flush.policy": policy})
    measured.flush()
    ways = []
    for round_ in range(3):
        pid, epoch = begin(measured, round_)
        ways.append(measured.produce(pid=pid, epoch=epoch, seq=0, txn=True, transactional_id="pay"))
        measured.flush()
        if round_ < 2:
            measured.send(EndTxnRequest("pay", pid, epoch, True), 3)
            measured.flush()
    assert ways == [False, True, True]
    assert measured.metrics.errors[PRODUCE, Error.NONE] == 3
    # A duplicate of it is answered as on the general path, without another record.
    end = measured.broker.partitions()[TopicPartition("t", 0)].log.log_end_offset
    measured.produce(pid=0, epoch=2, seq=0, txn=True, transactional_id="pay")
    measured.flush()
    assert measured.metrics.errors[PRODUCE, Error.NONE] == 4
    assert measured.broker.partitions()[TopicPartition("t", 0)].log.log_end_offset == end
    measured.broker.stop(NOW_MS)


def test_request_counts_remain_when_quantiles_expire(measured: Measured) -> None:
    measured.produce()
    measured.produce()
    for _ in range(2):
        measured.metrics.rotate()
    (total,) = {id(found): found for found in measured.metrics.times(PRODUCE)[2:]}.values()
    assert total.count == 2 and list(total.quantiles_ms([0.5])) == [0.0]
