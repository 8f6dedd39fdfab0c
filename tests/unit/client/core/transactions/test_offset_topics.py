"""Offsets of a transaction identify their topics by id where all have one (KIP-1319), without a network."""

from __future__ import annotations

import pytest

from oncelog.client.core.client_errors import AbortableTransactionError
from oncelog.client.core.connection.wire import END_TXN, FIND_COORDINATOR, METADATA, TXN_OFFSET_COMMIT
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata
from oncelog.client.core.transactions.coordinator_requests import Result
from oncelog.client.core.transactions.transaction_states import ClientTxnState
from oncelog.errors import Error
from oncelog.protocol.generated.end_txn_response import EndTxnResponse
from oncelog.protocol.generated.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from oncelog.protocol.generated.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.types import TopicPartition
from tests.unit.client.core.producers import ProducerCore, coordinator
from tests.unit.client.core.wires import FakeWire, Sent

A, B = TopicPartition("a", 0), TopicPartition("b", 3)
FIRST, SECOND, THIRD = bytes([1] * 16), bytes([2] * 16), bytes([3] * 16)
MEMBER = ConsumerGroupMetadata("g", 3, "m")


class World:
    """A transaction that commits offsets of topics, whose ids the cluster's metadata has."""

    def __init__(self, level: int = 2, **ids: bytes) -> None:
        self.core = ProducerCore(FakeWire(level), transactional_id="x").start()
        self.wire, self.txn = self.core.wire, self.core.txn
        self.core.metadata.want(ids)
        self.core.metadata.refresh()
        self.answer_metadata(**ids)
        self.txn.begin()

    def answer_metadata(self, **ids: bytes) -> None:
        self.wire.pass_time(200)
        topics = [
            MetadataResponseTopic(
                Error.NONE, name, topic_id, False, [MetadataResponsePartition(0, n, 1, 0) for n in range(4)]
            )
            for name, topic_id in ids.items()
        ]
        self.wire.take(METADATA).answer(
            MetadataResponse(
                brokers=[MetadataResponseBroker(1, "a", 1), MetadataResponseBroker(2, "b", 2)], topics=topics
            )
        )

    def send(self, *partitions: TopicPartition, **read: bytes) -> Result:
        """:param read: the topics that the consumer has read from."""
        member = MEMBER._replace(topic_ids=tuple((TopicPartition(name, 0), found) for name, found in read.items()))
        result = self.txn.send_offsets({name: OffsetAndMetadata(5) for name in partitions}, member)
        if self.wire.count(FIND_COORDINATOR):
            self.wire.take(FIND_COORDINATOR).answer(coordinator("g", 1))
        return result

    def commit(self) -> Sent:
        return self.wire.take(TXN_OFFSET_COMMIT)

    def refused(self, result: Result) -> AbortableTransactionError:
        assert isinstance(result.value, AbortableTransactionError)
        assert self.txn.state is ClientTxnState.ABORTABLE_ERROR
        return result.value


def answer(error: Error, topic_id: bytes = FIRST, index: int = 0) -> TxnOffsetCommitResponse:
    partitions = [TxnOffsetCommitResponsePartition(index, error)]
    return TxnOffsetCommitResponse(topics=[TxnOffsetCommitResponseTopic(topic_id=topic_id, partitions=partitions)])


def test_a_commit_identifies_topics_by_id_if_all_of_them_have_ids() -> None:
    world = World(a=FIRST, b=SECOND)
    result = world.send(A, B)
    sent = world.commit()
    assert sent.version == 6
    assert [(topic.name, topic.topic_id) for topic in sent.message.topics] == [("", FIRST), ("", SECOND)]
    taken = answer(Error.NONE).topics + answer(Error.NONE, SECOND, 3).topics
    sent.answer(TxnOffsetCommitResponse(topics=taken))
    assert result.value is None


def test_offsets_are_those_of_the_topic_that_was_read_even_if_the_metadata_is_older() -> None:
    world = World(a=FIRST, b=SECOND)
    result = world.send(A, a=THIRD)
    assert world.wire.count(TXN_OFFSET_COMMIT) == 0, "which of both is newer is asked first"
    world.answer_metadata(a=THIRD, b=SECOND)
    world.wire.take(FIND_COORDINATOR).answer(coordinator("g", 1))
    sent = world.commit()
    assert [(topic.name, topic.topic_id) for topic in sent.message.topics] == [("", THIRD)]
    sent.answer(answer(Error.NONE, THIRD))
    assert result.value is None


def test_offsets_of_a_deleted_topic_are_not_committed() -> None:
    world = World(a=SECOND)
    result = world.send(A, a=FIRST)
    world.answer_metadata(a=SECOND)
    assert "topic 'a' was deleted and recreated" in str(world.refused(result))
    assert world.wire.count(TXN_OFFSET_COMMIT) == 0


def test_a_recreated_topic_does_not_prevent_a_commit_without_offsets_of_it() -> None:
    world = World(a=SECOND, b=THIRD)
    world.send(B, a=FIRST)
    assert [topic.topic_id for topic in world.commit().message.topics] == [THIRD]


def test_if_one_topic_has_no_id_all_topics_of_the_commit_are_identified_by_name() -> None:
    world = World(a=FIRST, b=ZERO_UUID)
    world.send(A, B)
    sent = world.commit()
    assert sent.version == 5
    assert [(topic.name, topic.topic_id) for topic in sent.message.topics] == [("a", ZERO_UUID), ("b", ZERO_UUID)]


def test_a_broker_without_txn_offset_commit_6_gets_topic_names() -> None:
    world = World(a=FIRST)
    world.wire.newest = {TXN_OFFSET_COMMIT.key: 5}
    world.send(A)
    sent = world.commit()
    assert (sent.version, [topic.name for topic in sent.message.topics]) == (5, ["a"])


def test_topic_ids_that_are_not_known_yet_are_requested_once() -> None:
    world = World()
    result = world.send(A)
    assert world.wire.count(TXN_OFFSET_COMMIT) == 0
    end = world.txn.commit()
    world.answer_metadata(a=FIRST)
    world.wire.take(FIND_COORDINATOR).answer(coordinator("g", 1))
    sent = world.commit()
    assert sent.version == 6
    assert world.wire.count(END_TXN) == 0, "the commit waits for the offsets"
    sent.answer(answer(Error.NONE))
    assert result.value is None
    world.wire.take(END_TXN).answer(EndTxnResponse(producer_id=7, producer_epoch=1))
    assert end.value is None


def test_a_topic_that_the_cluster_does_not_know_is_identified_by_name() -> None:
    world = World()
    world.send(A)
    world.answer_metadata()
    world.wire.take(FIND_COORDINATOR).answer(coordinator("g", 1))
    assert world.commit().version == 5


def test_unavailable_metadata_does_not_delay_the_commit() -> None:
    world = World()
    world.send(A)
    world.wire.pass_time(200)
    world.wire.take(METADATA).lose()
    world.wire.take(FIND_COORDINATOR).answer(coordinator("g", 1))
    assert world.commit().version == 5


def test_a_commit_with_an_unknown_topic_id_is_repeated_after_new_metadata() -> None:
    world = World(a=FIRST)
    result = world.send(A)
    world.commit().answer(answer(Error.UNKNOWN_TOPIC_ID))
    world.wire.pass_time(200)
    assert world.wire.count(TXN_OFFSET_COMMIT) == 0, "first the metadata"
    world.answer_metadata(a=FIRST)
    again = world.commit()
    assert again.message.topics[0].topic_id == FIRST
    again.answer(answer(Error.NONE))
    assert result.value is None


def test_a_commit_for_a_deleted_topic_waits_for_the_topic() -> None:
    world = World(a=FIRST)
    result = world.send(A)
    for _ in range(3):
        sent = world.commit()
        assert (sent.version, sent.message.topics[0].topic_id) == (6, FIRST)
        sent.answer(answer(Error.UNKNOWN_TOPIC_ID))
        world.wire.pass_time(2000)
        world.answer_metadata()
    assert not result.done


def test_offsets_of_a_recreated_topic_are_refused() -> None:
    """They could be of the earlier topic: records of the new one would be skipped."""
    world = World(a=FIRST)
    result = world.send(A)
    world.commit().answer(answer(Error.UNKNOWN_TOPIC_ID))
    world.wire.pass_time(200)
    world.answer_metadata(a=SECOND)
    assert world.wire.count(TXN_OFFSET_COMMIT) == 0
    assert "topic 'a' was deleted and recreated" in str(world.refused(result))
    end = world.txn.abort()
    world.wire.take(END_TXN).answer(EndTxnResponse(producer_id=7, producer_epoch=1))
    assert end.value is None
    world.txn.begin()
    world.send(A)
    assert world.commit().message.topics[0].topic_id == SECOND, "the next transaction knows the new topic"


def test_an_answer_without_a_partition_does_not_count_as_committed() -> None:
    for response in (TxnOffsetCommitResponse(), answer(Error.NONE, THIRD), answer(Error.NONE, FIRST, 1)):
        world = World(a=FIRST)
        result = world.send(A)
        world.commit().answer(response)
        assert world.refused(result).error is Error.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    "error",
    [
        Error.STALE_MEMBER_EPOCH,
        Error.UNKNOWN_MEMBER_ID,
        Error.GROUP_ID_NOT_FOUND,
        Error.ILLEGAL_GENERATION,
        Error.FENCED_INSTANCE_ID,
    ],
)
def test_an_offset_commit_of_a_former_member_fails_with_an_abortable_error(error: Error) -> None:
    world = World(a=FIRST)
    result = world.send(A)
    world.commit().answer(answer(error))
    assert world.refused(result).error is error


def test_without_transaction_version_2_no_metadata_is_requested() -> None:
    world = World(level=1)
    world.txn.send_offsets({A: OffsetAndMetadata(5)}, MEMBER)
    world.wire.pass_time(1000)
    assert world.wire.count(METADATA) == 0
