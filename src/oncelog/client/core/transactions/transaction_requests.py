"""Builds the transaction requests and reads their responses.

Called by the transaction manager and by ``BatchTransactions``. Each method returns (api, build, read): ``build`` makes
the message in a version, ``read`` turns the response into a :class:`RequestOutcome`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from oncelog.client.core.client_errors import error_of
from oncelog.client.core.connection.error_rules import ErrorAction, Step, action_for
from oncelog.client.core.connection.wire import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    INIT_PRODUCER_ID,
    INIT_TWO_PHASE,
    NO_LIMIT,
    TXN_OFFSET_COMMIT,
    Answer,
    Api,
    Build,
)
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from oncelog.client.core.transactions.offset_topics import OffsetTopics
from oncelog.errors import Error
from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from oncelog.types import NO_PRODUCER, ProducerIdAndEpoch, by_topic

TV1_HIGHEST = {Step.END_TXN: 4, Step.TXN_OFFSET_COMMIT: 4}
"""The highest versions of two requests with transaction version 1. Up to these versions, partitions must be added to
the transaction before records or offsets are written (KIP-890)."""
TV1_HIGHEST_PRODUCE = 11
FIRST_WITH_TOPIC_IDS = 6
"""The first version of TxnOffsetCommit that identifies topics by id (KIP-1319)."""


class RequestOutcome(NamedTuple):
    """The result in a response: an error, or the producer id and epoch to use next. ``where`` names the refused
    thing."""

    error: Error
    where: str = ""
    producer: ProducerIdAndEpoch | None = None
    ongoing: ProducerIdAndEpoch = NO_PRODUCER
    """The producer id and epoch of the transaction that was found open and kept (KIP-939)."""


Request: TypeAlias = tuple[Api, Build, Callable[[Answer, int], RequestOutcome]]


class TxnRequests:
    """Builds the requests of one transactional id (None for a producer that is only idempotent)."""

    def __init__(
        self, transactional_id: str | None, timeout_ms: int, two_phase_commit: bool = False, *, keeps: bool = False
    ) -> None:
        """Set what all requests have in common.

        :param keeps: with two-phase commit, do not abort an open transaction that is found at the start.
        """
        self._id = transactional_id
        self._timeout_ms = timeout_ms
        self._two_phase_commit = two_phase_commit
        self._keeps = keeps

    def highest(self, step: Step, transaction_v2: bool, topics: OffsetTopics | None = None) -> int:
        """The highest version that a step's request may have. ``topics`` are those of the offsets that the step
        commits."""
        if not transaction_v2:
            return TV1_HIGHEST.get(step, NO_LIMIT)
        return NO_LIMIT if topics is None or topics.by_id else FIRST_WITH_TOPIC_IDS - 1

    def init(self, current: ProducerIdAndEpoch) -> Request:
        """InitProducerId. A ``current`` producer id and epoch requests the next epoch (from version 3 on)."""

        def build(version: int) -> InitProducerIdRequest:
            request = InitProducerIdRequest(
                transactional_id=self._id, transaction_timeout_ms=self._timeout_ms if self._id else 2**31 - 1
            )
            if version >= 3:
                request.producer_id, request.producer_epoch = current
            request.enable_2pc, request.keep_prepared_txn = self._two_phase_commit, self._keeps
            return request

        def read(answer: Answer, version: int) -> RequestOutcome:
            error = error_of(answer.error_code)
            if error is Error.INVALID_TRANSACTION_TIMEOUT:
                return RequestOutcome(
                    error,
                    f": transaction.timeout.ms={self._timeout_ms} is more than the broker's "
                    "transaction.max.timeout.ms; lower it",
                )
            producer = ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)
            if not self._two_phase_commit:
                return RequestOutcome(error, "", producer)
            ongoing = ProducerIdAndEpoch(answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch)
            return RequestOutcome(error, "", producer, ongoing=ongoing)

        return INIT_TWO_PHASE if self._two_phase_commit else INIT_PRODUCER_ID, build, read

    def add_partitions(self, producer: Callable[[], ProducerIdAndEpoch], partitions: list[TopicPartition]) -> Request:
        topics = by_topic(partitions)

        def build(version: int) -> AddPartitionsToTxnRequest:
            producer_id, epoch = producer()
            return AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self._id or "",
                v3_and_below_producer_id=producer_id,
                v3_and_below_producer_epoch=epoch,
                v3_and_below_topics=[
                    AddPartitionsToTxnTopic(name=topic, partitions=numbers) for topic, numbers in topics.items()
                ],
            )

        def read(answer: Answer, version: int) -> RequestOutcome:
            found = [
                (error_of(item.partition_error_code), TopicPartition(topic.name, item.partition_index))
                for topic in answer.results_by_topic_v3_and_below
                for item in topic.results_by_partition
            ]
            return _gravest(Step.ADD_PARTITIONS, found)

        return ADD_PARTITIONS_TO_TXN, build, read

    def add_offsets(self, producer: ProducerIdAndEpoch, group_id: str) -> Request:
        def build(version: int) -> AddOffsetsToTxnRequest:
            return AddOffsetsToTxnRequest(
                transactional_id=self._id or "",
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                group_id=group_id,
            )

        def read(answer: Answer, version: int) -> RequestOutcome:
            return RequestOutcome(error_of(answer.error_code), f" for group {group_id!r}")

        return ADD_OFFSETS_TO_TXN, build, read

    def offsets(
        self,
        producer: ProducerIdAndEpoch,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
        topics: OffsetTopics,
    ) -> Request:
        """TxnOffsetCommit; from version 6 on, ``topics`` has an id for each topic."""

        def build(version: int) -> TxnOffsetCommitRequest:
            request = TxnOffsetCommitRequest(
                transactional_id=self._id or "",
                group_id=group.group_id,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                topics=_offset_topics(offsets, topics if version >= FIRST_WITH_TOPIC_IDS else None),
            )
            if version >= 3:
                request.generation_id_or_member_epoch = group.generation_id
                request.member_id = group.member_id
                request.group_instance_id = group.group_instance_id
            return request

        def read(answer: Answer, version: int) -> RequestOutcome:
            found = {
                TopicPartition(
                    topics.name(topic.topic_id) if version >= FIRST_WITH_TOPIC_IDS else topic.name, item.partition_index
                ): error_of(item.error_code)
                for topic in answer.topics
                for item in topic.partitions
            }
            outcome = _gravest(
                Step.TXN_OFFSET_COMMIT, [(found.get(key, Error.UNKNOWN_SERVER_ERROR), key) for key in offsets]
            )
            if outcome.error is Error.UNKNOWN_TOPIC_ID:
                topics.doubt()
            return outcome._replace(where=f"{outcome.where} of group {group.group_id!r}")

        return TXN_OFFSET_COMMIT, build, read

    def end(self, producer: Callable[[], ProducerIdAndEpoch], commit: bool) -> Request:
        def build(version: int) -> EndTxnRequest:
            producer_id, epoch = producer()
            return EndTxnRequest(self._id or "", producer_id, epoch, commit)

        def read(answer: Answer, version: int) -> RequestOutcome:
            error = error_of(answer.error_code)
            if error is Error.NONE and version >= 5 and answer.producer_id >= 0:
                return RequestOutcome(error, "", ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch))
            return RequestOutcome(error)

        return END_TXN, build, read


def replaced(topics: OffsetTopics, group_id: str) -> RequestOutcome:
    """The refusal of offsets, one of whose topics was deleted and recreated."""
    return RequestOutcome(
        Error.TRANSACTION_ABORTABLE,
        f": topic {topics.replaced!r} was deleted and recreated, and the offsets of group {group_id!r} may be of the "
        "earlier one; abort the transaction, and read the topic again from the group's committed offset or its start",
    )


def _offset_topics(
    offsets: Mapping[TopicPartition, OffsetAndMetadata], ids: OffsetTopics | None
) -> list[TxnOffsetCommitRequestTopic]:
    """The offsets grouped by topic, with topic ids, or with names if ``ids`` is None."""
    topics: dict[str, list[TxnOffsetCommitRequestPartition]] = defaultdict(list)
    for (topic, partition), position in offsets.items():
        topics[topic].append(
            TxnOffsetCommitRequestPartition(
                partition_index=partition,
                committed_offset=position.offset,
                committed_leader_epoch=position.leader_epoch,
                committed_metadata=position.metadata,
            )
        )
    if ids is None:
        return [TxnOffsetCommitRequestTopic(name=name, partitions=items) for name, items in topics.items()]
    return [TxnOffsetCommitRequestTopic(topic_id=ids.id(name), partitions=items) for name, items in topics.items()]


_GRAVITY = {
    ErrorAction.FENCED: 5,
    ErrorAction.FATAL: 4,
    ErrorAction.ABORTABLE: 3,
    ErrorAction.FAIL: 3,
    ErrorAction.FIND_COORDINATOR: 2,
    ErrorAction.RETRY: 1,
    ErrorAction.SEQUENCE: 1,
    ErrorAction.DONE: 0,
}


def _gravest(step: Step, found: list[tuple[Error, TopicPartition]]) -> RequestOutcome:
    """The most severe of several partitions' errors. OPERATION_NOT_ATTEMPTED, which only says that another partition
    failed, is the least severe."""

    def gravity(item: tuple[Error, TopicPartition]) -> tuple[int, bool]:
        return _GRAVITY[action_for(step, item[0])], item[0] is not Error.OPERATION_NOT_ATTEMPTED

    if not found:
        return RequestOutcome(Error.NONE)
    error, partition = max(found, key=gravity)
    return RequestOutcome(error, "" if error is Error.NONE else f" for {partition}")
