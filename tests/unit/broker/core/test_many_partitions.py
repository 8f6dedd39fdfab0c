"""Requests for many partitions are worked on in chunks, with the same result as in one iteration."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import partial
from itertools import count

import pytest

from oncelog.broker.core.broker import Broker
from oncelog.broker.core.requests.session import Part
from oncelog.broker.log.results import FileSlice
from oncelog.errors import Error
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.fetch_response import FetchResponse
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import ProduceResponse
from oncelog.protocol.messages import response_type
from oncelog.protocol.wire import Message
from oncelog.records.batch import encode_batch
from oncelog.records.record import Record
from tests.support.frames import encode_request
from tests.support.work import calls_of
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel

PARTITIONS = 250
BATCH = bytes(encode_batch([Record(0, NOW_MS, b"k", b"v")]))


class Asked(RecordingChannel):
    """One request, and its answer once there is one."""

    def __init__(self, broker: Broker, request: Message, version: int) -> None:
        super().__init__()
        self._kind, self._version = request.API_KEY, version
        sent = encode_request(self._kind, version, 7, "test", request.encode(version))
        broker.receive(self, 0, memoryview(bytes(sent))[4:], NOW_MS)

    def reply(self, slot: int, parts: Sequence[Part]) -> None:
        read = [part.read_bytes() if isinstance(part, FileSlice) else part for part in parts]
        super().reply(slot, read)

    @property
    def response(self) -> Message:
        (answer,) = self.answers
        _, header = decode_response_header(answer[4:], self._kind, self._version)
        return response_type(self._kind).decode(answer, self._version, 4 + header)


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A second passes with each look at the clock, so no iteration does more than one chunk."""
    seconds = count()
    made = Admin(work_clock=lambda: next(seconds) * 10**9).broker
    yield made
    made.stop(NOW_MS)


def finish(broker: Broker) -> None:
    while len(broker.tasks):
        broker.tasks.step()


@pytest.fixture
def wide(broker: Broker) -> Broker:
    broker.topics.create("wide", PARTITIONS, {}, NOW_MS)
    return broker


def produce(broker: Broker, partitions: range, acks: int = -1) -> Asked:
    data = [PartitionProduceData(index, BATCH) for index in partitions]
    return Asked(broker, ProduceRequest(None, acks, 30_000, [TopicProduceData(name="wide", partition_data=data)]), 9)


def fetch(broker: Broker, *, max_wait_ms: int = 1000, min_bytes: int = 1) -> Asked:
    topic = FetchTopic(topic="wide", partitions=[FetchPartition(index, fetch_offset=0) for index in range(PARTITIONS)])
    for partition in topic.partitions:
        partition.partition_max_bytes = 1 << 20
    return Asked(broker, FetchRequest(max_wait_ms=max_wait_ms, min_bytes=min_bytes, topics=[topic]), 4)


def with_records(asked: Asked) -> list[int]:
    response = asked.response
    assert isinstance(response, FetchResponse)
    return [data.partition_index for topic in response.responses for data in topic.partitions if data.records]


def test_a_produce_to_many_partitions_is_written_whole(wide: Broker) -> None:
    asked = produce(wide, range(PARTITIONS))
    finish(wide)
    response = asked.response
    assert isinstance(response, ProduceResponse)
    answers = response.responses[0].partition_responses
    assert [answer.index for answer in answers] == list(range(PARTITIONS))
    assert {(answer.error_code, answer.base_offset) for answer in answers} == {(Error.NONE, 0)}


def test_a_produce_to_many_partitions_is_written_after_its_connection_ends(wide: Broker) -> None:
    asked = produce(wide, range(PARTITIONS), acks=0)
    wide.disconnected(asked)
    finish(wide)
    assert {partition.log.log_end_offset for partition in wide.partitions().values()} == {1}


def test_a_fetch_of_many_partitions_returns_the_available_data(wide: Broker) -> None:
    produce(wide, range(3, 5))
    assert with_records(fetch(wide)) == [3, 4]


@pytest.mark.parametrize("index", [0, PARTITIONS - 1])
def test_data_that_arrives_while_a_large_fetch_waits_is_not_missed(wide: Broker, index: int) -> None:
    asked = fetch(wide, max_wait_ms=60_000)
    produce(wide, range(index, index + 1))
    finish(wide)
    assert with_records(asked) == [index]
    assert len(wide.fetches) == 0


def test_new_bytes_of_all_partitions_of_a_fetch_count_towards_min_bytes(wide: Broker) -> None:
    asked = fetch(wide, max_wait_ms=60_000, min_bytes=2 * len(BATCH))
    produce(wide, range(1))
    assert not asked.answers
    produce(wide, range(7, 8))
    finish(wide)
    assert with_records(asked) == [0, 7]


@pytest.mark.parametrize("ends", ["its connection ends", "it has waited long enough", "the broker stops"])
def test_an_ended_fetch_of_many_partitions_is_forgotten(wide: Broker, ends: str) -> None:
    asked = fetch(wide, max_wait_ms=1000)
    if ends == "its connection ends":
        wide.disconnected(asked)
    elif ends == "the broker stops":
        wide.fetches.expire_all()
    else:
        wide.advance(NOW_MS + 1000)
    finish(wide)
    assert len(asked.answers) == (ends != "its connection ends")
    assert (len(wide.fetches), wide.fetches._watched, wide.fetches._watchers) == (0, 0, {})


def test_a_waiting_fetch_of_many_partitions_is_answered_at_its_deadline(wide: Broker) -> None:
    asked = fetch(wide, max_wait_ms=1000)
    finish(wide)
    assert not asked.answers
    wide.advance(NOW_MS + 1000)
    finish(wide)
    assert with_records(asked) == []


def test_a_topic_of_many_partitions_exists_when_its_creation_is_answered(broker: Broker) -> None:
    topic = CreatableTopic(name="wide", num_partitions=PARTITIONS, replication_factor=1)
    asked = Asked(broker, CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7)
    assert not asked.answers
    finish(broker)
    assert asked.response.topics[0].error_code == Error.NONE  # type: ignore[attr-defined]
    assert len(broker.partitions()) == PARTITIONS


def test_a_topic_is_created_one_partition_at_a_time(broker: Broker) -> None:
    """Each partition costs a folder, some files, and a change of the metadata."""
    opened = [len(broker.partitions()) for _ in broker.topics.creating("wide", 5, {}, NOW_MS)]
    assert opened == [0, 1, 2, 3, 4, 5]


def test_a_topic_deleted_during_its_creation_leaves_no_partition_and_no_folder(broker: Broker) -> None:
    topic = CreatableTopic(name="wide", num_partitions=PARTITIONS, replication_factor=1)
    asked = Asked(broker, CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7)
    broker.tasks.step()
    broker.topics.delete("wide", NOW_MS)
    finish(broker)
    assert len(asked.answers) == 1
    assert not broker.partitions()


def test_quotas_of_many_clients_are_set_and_applied(broker: Broker) -> None:
    """Each entry rebuilt all quotas: 5,000 took minutes."""
    entries = [
        EntryData(entity=[EntityData("client-id", f"c{number}")], ops=[OpData("producer_byte_rate", 1000.0, False)])
        for number in range(95)
    ]
    asked = Asked(broker, AlterClientQuotasRequest(entries=entries, validate_only=False), 1)
    assert {entry.error_code for entry in asked.response.entries} == {Error.NONE}  # type: ignore[attr-defined]
    assert len(broker.metadata.client_quotas()) == 95
    assert broker.throttle is not None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_quota_that_is_not_a_number_is_refused(broker: Broker, value: float) -> None:
    entry = EntryData(entity=[EntityData("client-id", "c")], ops=[OpData("producer_byte_rate", value, False)])
    asked = Asked(broker, AlterClientQuotasRequest(entries=[entry], validate_only=False), 1)
    finish(broker)
    assert asked.response.entries[0].error_code == Error.INVALID_REQUEST  # type: ignore[attr-defined]
    assert not broker.metadata.client_quotas()


@pytest.mark.parametrize("pauses", [0, 50])
def test_a_failed_sweep_is_logged(broker: Broker, caplog: pytest.LogCaptureFixture, pauses: int) -> None:
    """Nobody awaits a sweep: a coordinator's would end in silence each time."""

    def sweep() -> Generator[None, None, None]:
        for _ in range(pauses):
            yield
        raise RuntimeError("nobody foresaw this")

    broker.transactions.runtime.host.begin_task(sweep())
    finish(broker)
    assert [str(line.exc_info[1]) for line in caplog.records if line.exc_info] == ["nobody foresaw this"]


def test_the_cost_of_a_produce_does_not_depend_on_other_partitions_of_waiting_fetches() -> None:
    """Ten fetches of 500 partitions or of one: each checks the partition that advanced, and continues to wait."""
    cost = {}
    for partitions in (1, 500):
        broker = Admin().broker
        broker.topics.create("wide", partitions, {}, NOW_MS)
        topic = FetchTopic(
            topic="wide",
            partitions=[FetchPartition(index, fetch_offset=0, partition_max_bytes=1000) for index in range(partitions)],
        )
        for _ in range(2):
            produce(broker, range(1))
        waiting = [
            Asked(broker, FetchRequest(max_wait_ms=60_000, min_bytes=2**30, max_bytes=2**30, topics=[topic]), 4)
            for _ in range(10)
        ]
        finish(broker)
        cost[partitions] = calls_of(partial(produce, broker, range(1)))
        assert len(broker.fetches) == 10
        assert not any(asked.answers for asked in waiting)
        broker.stop(NOW_MS)
    assert cost[500] < 1.1 * cost[1]
