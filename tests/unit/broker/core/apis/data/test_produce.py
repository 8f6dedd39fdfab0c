"""Produce's handler over its ports: which batches reach the pipeline, and what the answers make of its results."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.broker.core.appending.batch import refused
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.parking import MAX_PARKS
from oncelog.errors import Error
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import PartitionProduceResponse
from oncelog.runtime.deferred import Deferred
from tests.support.handler_ports import HandlerPorts
from tests.unit.broker.log.batches import NOW_MS, batch

MANY = MAX_PARKS + 1
DATA = bytes(batch())


class ProduceFakes(HandlerPorts):
    """A pipeline that refuses the partitions of ``refusals`` and gives all other batches offset 5."""

    def __init__(self) -> None:
        super().__init__(NOW_MS, appends=self)
        self.appended: list[tuple[str, int, bytes]] = []
        self.refusals: dict[int, Error] = {}
        self.waits: Deferred[None] | None = None

    def from_start(
        self, context: RequestContext, request: ProduceRequest, topic: TopicProduceData, data: PartitionProduceData
    ) -> Deferred[PartitionProduceResponse]:
        self.appended.append((topic.name, data.index, bytes(data.records or b"")))
        if data.index in self.refusals:
            return Deferred.of(refused(data.index, self.refusals[data.index]))
        done = PartitionProduceResponse(data.index, Error.NONE, 5)
        return Deferred.of(done) if self.waits is None else self.waits.map(lambda _: done)

    def produce(self, request: ProduceRequest, version: int = 12) -> list[tuple[str, int, Error, int]]:
        """Topic, partition, error and offset of each answer."""
        answer = self.ask(request, version)
        return [
            (topic.name, part.index, Error(part.error_code), part.base_offset)
            for topic in answer.responses
            for part in topic.partition_responses
        ]


@pytest.fixture
def ports() -> ProduceFakes:
    return ProduceFakes()


def entries(*indexes: int, data: bytes = DATA) -> list[PartitionProduceData]:
    return [PartitionProduceData(index, data) for index in indexes]


def request_for(*topics: TopicProduceData, acks: int = -1, transactional_id: str | None = None) -> ProduceRequest:
    return ProduceRequest(transactional_id, acks, 1000, list(topics))


def transactional(*producer_ids: int) -> list[PartitionProduceData]:
    return [PartitionProduceData(at, bytes(batch(pid=pid, seq=0, txn=True))) for at, pid in enumerate(producer_ids)]


def test_each_partition_is_answered_with_the_outcome_of_its_batch(ports: ProduceFakes) -> None:
    ports.refusals = {1: Error.NOT_LEADER_OR_FOLLOWER}
    request = request_for(
        TopicProduceData("a", partition_data=entries(0, 1)), TopicProduceData("b", partition_data=entries(2))
    )
    assert ports.produce(request) == [
        ("a", 0, Error.NONE, 5),
        ("a", 1, Error.NOT_LEADER_OR_FOLLOWER, -1),
        ("b", 2, Error.NONE, 5),
    ]


def test_the_answer_waits_until_the_batch_is_committed(ports: ProduceFakes) -> None:
    ports.waits = Deferred()
    answered: list[Any] = []
    ports.begin(request_for(TopicProduceData("a", partition_data=entries(0))), 12).then(
        answered.append, answered.append
    )
    assert answered == []
    ports.waits.resolve(None)
    assert answered[0].responses[0].partition_responses[0].base_offset == 5


@pytest.mark.parametrize("last", [1, MANY])
def test_of_several_entries_for_a_partition_the_last_one_counts(ports: ProduceFakes, last: int) -> None:
    """One answer, at the place of the first entry, as in Apache Kafka."""
    other = bytes(batch(size=20))
    data = [*entries(0), *entries(*range(1, last + 1)), *entries(0, data=other)]
    found = ports.produce(request_for(TopicProduceData("a", partition_data=data)))
    assert [part[1] for part in found] == list(range(last + 1))
    assert ports.appended == [("a", 0, other), *(("a", index, DATA) for index in range(1, last + 1))]


@pytest.mark.parametrize("count", [1, MANY])
def test_batches_of_two_transactional_producers_are_all_refused(ports: ProduceFakes, count: int) -> None:
    data = [*transactional(*[7] * count), PartitionProduceData(count, bytes(batch(pid=8, seq=0, txn=True)))]
    found = ports.produce(request_for(TopicProduceData("a", partition_data=data), transactional_id="t"))
    assert {part[2] for part in found} == {Error.INVALID_PRODUCER_ID_MAPPING}
    assert (len(found), ports.appended) == (count + 1, [])


def test_a_transactional_batch_needs_a_transactional_id(ports: ProduceFakes) -> None:
    found = ports.produce(request_for(TopicProduceData("a", partition_data=transactional(7))))
    assert found == [("a", 0, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1)]


def test_a_caller_without_permission_for_the_transactional_id_is_refused(ports: ProduceFakes) -> None:
    asked: list[Any] = []

    def allows(*what: Any) -> bool:
        asked.append(what[-1])
        return False

    denying: Any = SimpleNamespace(allows=allows)
    ports.authorizer = denying
    found = ports.produce(request_for(TopicProduceData("a", partition_data=transactional(7)), transactional_id="t"))
    assert found == [("a", 0, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1)]
    assert (asked, ports.appended) == (["t"], [])


@pytest.mark.parametrize("count", [1, 2, MANY])
@pytest.mark.parametrize("is_refused", [False, True])
def test_with_acks_0_there_is_no_answer_but_an_error_closes_the_connection(
    ports: ProduceFakes, count: int, is_refused: bool
) -> None:
    ports.refusals = {count - 1: Error.MESSAGE_TOO_LARGE} if is_refused else {}
    answer = ports.begin(request_for(TopicProduceData("a", partition_data=entries(*range(count))), acks=0), 12)
    ports.tasks.finish()
    why = "a produce request with acks=0 was refused with MESSAGE_TOO_LARGE"
    assert (answer.value, ports.closed) == (None, [why] if is_refused else [])
    assert len(ports.appended) == count


def test_many_topics_are_answered_in_their_order(ports: ProduceFakes) -> None:
    names = [f"t{number}" for number in range(200)]
    found = ports.produce(request_for(*(TopicProduceData(name, partition_data=entries(0)) for name in names)))
    assert found == [(name, 0, Error.NONE, 5) for name in names]


def test_a_batch_with_an_unreadable_header_is_refused_by_the_pipeline(ports: ProduceFakes) -> None:
    ports.produce(request_for(TopicProduceData("a", partition_data=[PartitionProduceData(0, b"short")])))
    assert ports.appended == [("a", 0, b"short")]
