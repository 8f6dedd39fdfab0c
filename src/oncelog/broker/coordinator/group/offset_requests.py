"""OffsetCommit, TxnOffsetCommit, OffsetFetch and OffsetDelete: checks membership, writes records and answers.

Called by ``group_coordinator``. The groups' rules decide whether the caller may commit; ``offsets`` holds the state. An
error of the group is returned for every partition, because answers to commits have no field for an error of the group
(answers to OffsetFetch and OffsetDelete have). Source: Kafka's ``OffsetMetadataManager`` (4.4.0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import NamedTuple, TypeVar

from oncelog.broker.coordinator.group import records
from oncelog.broker.coordinator.group.classic import classic_rules
from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup
from oncelog.broker.coordinator.group.consumer import consumer_rules
from oncelog.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from oncelog.broker.coordinator.group.consumer.consumer_rules import CommitCheck
from oncelog.broker.coordinator.group.environment import Caller, GroupHost
from oncelog.broker.coordinator.group.offsets import CommittedOffset, Place
from oncelog.broker.coordinator.group.shard import GroupShard
from oncelog.broker.coordinator.runtime import CoordinatorRecord, CoordinatorRuntime, client_error
from oncelog.broker.coordinator.share.share_group import ShareGroup
from oncelog.broker.log.producers.verification_state import TransactionSupportedOperation, Verification
from oncelog.errors import NONE, Error
from oncelog.protocol.coordinator_fast import offset_commit_key, offset_commit_value
from oncelog.protocol.generated.offset_commit_key import OffsetCommitKey
from oncelog.protocol.generated.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestPartition
from oncelog.protocol.generated.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from oncelog.protocol.generated.offset_commit_value import OffsetCommitValue
from oncelog.protocol.generated.offset_delete_request import OffsetDeleteRequest
from oncelog.protocol.generated.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from oncelog.protocol.generated.offset_fetch_request import OffsetFetchRequestGroup
from oncelog.protocol.generated.offset_fetch_response import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from oncelog.protocol.generated.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
)
from oncelog.protocol.generated.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.runtime.deferred import Deferred
from oncelog.settings.config import BrokerConfig
from oncelog.types import NO_PRODUCER, NO_PRODUCER_ID, ProducerIdAndEpoch, new_tuple

GROUP_ID_NOT_FOUND_FROM = 9
"""The first version of OffsetCommit that returns GROUP_ID_NOT_FOUND: earlier ones return ILLEGAL_GENERATION if the
group does not exist."""
OFFSET_COMMIT_BY_ID_FROM = 10
GENERIC_ERROR_FROM = 4
ADD_PARTITION_FROM = 5
MEMBER_EPOCHS_FROM = 6
"""The first versions of TxnOffsetCommit that know TRANSACTION_ABORTABLE; that add the partition to the transaction; and
that know topic ids, STALE_MEMBER_EPOCH and GROUP_ID_NOT_FOUND (KIP-1319), where earlier versions return
ILLEGAL_GENERATION."""

NO_OFFSET = -1
LAST_TIMESTAMP_MS = 2**63 - 1


def _supported_operation(version: int) -> TransactionSupportedOperation:
    if version >= ADD_PARTITION_FROM:
        return TransactionSupportedOperation.ADD_PARTITION
    if version >= GENERIC_ERROR_FROM:
        return TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
    return TransactionSupportedOperation.DEFAULT_ERROR


class _Commits(NamedTuple):
    """One topic in a commit of offsets."""

    topic: str
    topic_id: bytes
    partitions: Sequence[OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition]


@dataclass(slots=True)
class _DecidedCommits:
    """Records to write, each partition's outcome once they are written (in request order), and the new offsets."""

    written: list[CoordinatorRecord] = field(default_factory=list)
    outcomes: list[list[Error]] = field(default_factory=list)
    committed: list[tuple[Place, CommittedOffset]] = field(default_factory=list)


class FetchedOffsets(NamedTuple):
    """A group's part of an OffsetFetch answer, and a deferred that resolves once the log has committed what the part
    contains."""

    answer: OffsetFetchResponseGroup
    settled: Deferred[Error]

    def known(self, error: Error) -> OffsetFetchResponseGroup:
        """The answer to send once ``settled`` has resolved to ``error``: NOT_COORDINATOR if that is an error."""
        if error is NONE:
            return self.answer
        return OffsetFetchResponseGroup(self.answer.group_id, [], Error.NOT_COORDINATOR)


_SETTLED = Deferred.of(NONE)


class OneCommit(NamedTuple):
    """An accepted commit of one partition, outside a transaction, that can be repeated with another offset."""

    request: OffsetCommitRequest
    caller: Caller
    case: classic_rules.CommitCase
    place: Place
    topic_id: bytes
    metadata: str
    key: bytes


class OffsetRequests:
    """Handles the requests about offsets of all groups."""

    def __init__(
        self, host: GroupHost, settings: Callable[[], BrokerConfig], runtime: CoordinatorRuntime[GroupShard]
    ) -> None:
        self._host = host
        self._settings = settings
        self._runtime = runtime

    # --- commits

    def commit(self, request: OffsetCommitRequest, caller: Caller, now_ms: int) -> Deferred[OffsetCommitResponse]:
        """Handle OffsetCommit; all offsets of the request are written with one append."""
        topics = [_Commits(topic.name, topic.topic_id, topic.partitions) for topic in request.topics]
        checked = self._checked(request, caller, now_ms)
        if isinstance(checked, Error):
            return Deferred.of(_commit_answer(topics, checked))
        retention_ms = request.retention_time_ms
        expire_ms = -1 if retention_ms == -1 else min(now_ms + retention_ms, LAST_TIMESTAMP_MS)
        decided = self._decide(request.group_id, topics, now_ms, expire_ms)
        answer = _commit_answer(topics, decided.outcomes)
        shard, check = checked
        gone = unknown_topic(by_id=caller.api_version >= OFFSET_COMMIT_BY_ID_FROM)
        refused = self._refused(decided, topics, check, gone)
        if refused is not NONE:
            return Deferred.of(_with_error(answer, refused))
        apply = None
        # a commit with a retention time is written as an older record version, which lacks some fields: replay that
        # record instead
        if retention_ms == -1:
            apply = partial(shard.offsets_committed, decided.committed, NO_PRODUCER_ID)
        written = shard.write(decided.written, now_ms, apply=apply)
        return written.map(lambda error: _with_error(answer, client_error(error)))

    def _checked(
        self, request: OffsetCommitRequest, caller: Caller, now_ms: int
    ) -> tuple[GroupShard, CommitCheck] | Error:
        shard = self._runtime.shard_for(request.group_id, caller.node_id)
        if isinstance(shard, Error):
            return shard
        check = self._may_commit(shard, request, caller, _commit_case(request), now_ms)
        return check if isinstance(check, Error) else (shard, check)

    def _refused(self, decided: _DecidedCommits, topics: Sequence[_Commits], check: CommitCheck, gone: Error) -> Error:
        """The error that refuses a whole commit, because the member may not commit a partition or a topic is gone.

        :param gone: the error for a topic that was deleted, or recreated, since the request was read.
        """
        if check is not consumer_rules.any_partition:
            ids = {topic.topic: topic.topic_id for topic in topics}
            for (_, topic, index), _ in decided.committed:
                error = check(ids[topic], index)
                if error is not NONE:
                    return error
        if any(self._host.topic_id(topic.topic) != topic.topic_id for topic in topics):
            return gone
        return NONE

    @staticmethod
    def one(request: OffsetCommitRequest, caller: Caller) -> tuple[OneCommit, OffsetCommitResponse]:
        """The parts of an accepted commit of one partition that :meth:`commit_again` needs, and the answer to the
        commit."""
        (topic,) = request.topics
        (partition,) = topic.partitions
        place = request.group_id, topic.name, partition.partition_index
        metadata = partition.committed_metadata or ""
        case, key = _commit_case(request), offset_commit_key(*place)
        commit = OneCommit(request, caller, case, place, topic.topic_id, metadata, key)
        answer = OffsetCommitResponsePartition(partition.partition_index, NONE)
        return commit, OffsetCommitResponse(topics=[OffsetCommitResponseTopic(topic.name, topic.topic_id, [answer])])

    def commit_again(self, commit: OneCommit, offset: int, leader_epoch: int, now_ms: int) -> bool:
        """Repeat a :meth:`commit` with another offset if the answer would be NONE at once; else do nothing and return
        False.

        Neither the topic nor the settings may have changed since ``commit`` was created.
        """
        request, caller, case, place, topic_id, metadata, key = commit
        shard = self._runtime.shard_for(place[0], caller.node_id)
        if type(shard) is Error:  # isinstance() takes five times as long for an enum
            return False
        check = self._may_commit(shard, request, caller, case, now_ms)
        if type(check) is Error or check(topic_id, place[2]) is not NONE:
            return False
        value = offset_commit_value(offset, leader_epoch, metadata, now_ms, topic_id)

        def apply(record_offset: int) -> None:
            fields = offset, leader_epoch, metadata, now_ms, -1, topic_id, record_offset
            shard.offset_committed(place, new_tuple(CommittedOffset, fields))

        written = shard.write((new_tuple(CoordinatorRecord, (key, value)),), now_ms, NO_PRODUCER, None, apply)
        return written.has_value(NONE)

    def commit_in_transaction(
        self, request: TxnOffsetCommitRequest, caller: Caller, now_ms: int
    ) -> Deferred[TxnOffsetCommitResponse]:
        """Handle TxnOffsetCommit; all offsets of the request are written with one append."""
        topics = [_Commits(topic.name, topic.topic_id, topic.partitions) for topic in request.topics]
        group_id = request.group_id
        found = self._runtime.shard_for(group_id, caller.node_id) if group_id else Error.INVALID_GROUP_ID
        if isinstance(found, Error):
            return Deferred.of(_txn_commit_answer(topics, found))
        producer, partition = ProducerIdAndEpoch(request.producer_id, request.producer_epoch), found.partition
        decided = self._decide(group_id, topics, now_ms, -1)
        answer = _txn_commit_answer(topics, decided.outcomes)

        def verified(verification: Verification) -> Deferred[TxnOffsetCommitResponse]:
            """Write the offsets once the transaction has been verified; meanwhile the shard may have moved to another
            node."""
            error, guard = verification
            shard = self._runtime.shard(partition.partition)
            if error is not NONE or shard is None:
                refusal = Error.NOT_COORDINATOR if shard is None else client_error(error)
                return Deferred.of(_with_error(answer, refusal))
            knows_epochs = caller.api_version >= MEMBER_EPOCHS_FROM
            check = self._may_commit_in_transaction(shard, request, caller)
            gone = unknown_topic(by_id=knows_epochs)
            refused = check if isinstance(check, Error) else self._refused(decided, topics, check, gone)
            if refused is not NONE:
                if refused is Error.STALE_MEMBER_EPOCH and not knows_epochs:
                    refused = Error.ILLEGAL_GENERATION
                return Deferred.of(_with_error(answer, refused))
            apply = partial(shard.offsets_committed, decided.committed, producer.producer_id)
            written = shard.write(decided.written, now_ms, producer, guard, apply=apply)
            return written.map(lambda error: _with_error(answer, client_error(error)))

        return self._host.verify_transaction(
            request.transactional_id, producer, partition, _supported_operation(caller.api_version), now_ms
        ).flat_map(verified)

    def _may_commit(
        self,
        shard: GroupShard,
        request: OffsetCommitRequest,
        caller: Caller,
        case: classic_rules.CommitCase,
        now_ms: int,
    ) -> CommitCheck | Error:
        """The check for each partition, or the error that refuses the whole commit. A commit also proves that a classic
        member is alive."""
        member_id, epoch = request.member_id, request.generation_id_or_member_epoch
        group = shard.groups.get(request.group_id)
        if group is None:
            if epoch < 0:
                return consumer_rules.any_partition
            newer = caller.api_version >= GROUP_ID_NOT_FOUND_FROM
            return Error.GROUP_ID_NOT_FOUND if newer else Error.ILLEGAL_GENERATION
        if isinstance(group, ShareGroup):
            return Error.GROUP_ID_NOT_FOUND
        if isinstance(group, ClassicGroup):
            verdict = classic_rules.decide(group, case)
            if verdict.step is classic_rules.REFUSE:
                return verdict.error
            if verdict.step is classic_rules.ALIVE:
                shard.classic.alive(group, group.members[member_id], now_ms)
            return consumer_rules.any_partition
        return consumer_rules.may_commit(group, member_id, epoch, caller.api_version)

    def _may_commit_in_transaction(
        self, shard: GroupShard, request: TxnOffsetCommitRequest, caller: Caller
    ) -> CommitCheck | Error:
        """The check for each partition, or the error that refuses the whole commit. Older requests name no member and
        are accepted; newer ones prove membership (KIP-447)."""
        member_id, instance_id = request.member_id, request.group_instance_id
        epoch = request.generation_id_or_member_epoch
        group = shard.groups.get(request.group_id)
        if group is None:
            if epoch < 0:
                return consumer_rules.any_partition
            newer = caller.api_version >= MEMBER_EPOCHS_FROM
            return Error.GROUP_ID_NOT_FOUND if newer else Error.ILLEGAL_GENERATION
        if isinstance(group, ShareGroup):
            return Error.GROUP_ID_NOT_FOUND
        if isinstance(group, ClassicGroup):
            verdict = classic_rules.decide(group, classic_rules.TxnCommit(member_id, instance_id, epoch))
            refused = verdict.step is classic_rules.REFUSE
            return verdict.error if refused else consumer_rules.any_partition
        return consumer_rules.may_commit_in_transaction(group, member_id, instance_id, epoch)

    def _decide(
        self,
        group_id: str,
        topics: Iterable[_Commits],
        now_ms: int,
        expire_ms: int,
    ) -> _DecidedCommits:
        """Make one record for each partition; a partition whose metadata are too long gets an error instead."""
        decided = _DecidedCommits()
        for topic in topics:
            errors: list[Error] = []
            decided.outcomes.append(errors)
            topic_id = topic.topic_id
            for partition in topic.partitions:
                metadata = partition.committed_metadata or ""
                if _java_length(metadata) > self._settings().offset_metadata_max_bytes:
                    errors.append(Error.OFFSET_METADATA_TOO_LARGE)
                    continue
                errors.append(NONE)
                offset, leader_epoch = partition.committed_offset, partition.committed_leader_epoch
                key = OffsetCommitKey(group_id, topic.topic, partition.partition_index)
                value = OffsetCommitValue(offset, leader_epoch, metadata, now_ms, expire_ms, topic_id)
                decided.written.append(records.offset_commit(key, value))
                committed = CommittedOffset(offset, leader_epoch, metadata, now_ms, expire_ms, topic_id, -1)
                decided.committed.append(((group_id, topic.topic, partition.partition_index), committed))
        return decided

    # --- reads

    def fetch(
        self, request: OffsetFetchRequestGroup, require_stable: bool, now_ms: int, node_id: int | None
    ) -> FetchedOffsets:
        """The committed offsets of a group; with ``require_stable`` a partition with a pending offset gets
        UNSTABLE_OFFSET_COMMIT instead."""

        def refused(error: Error) -> FetchedOffsets:
            return FetchedOffsets(OffsetFetchResponseGroup(request.group_id, [], error), _SETTLED)

        shard = self._runtime.shard_for(request.group_id, node_id)
        if isinstance(shard, Error):
            return refused(shard)
        group = shard.groups.get(request.group_id)
        # only a consumer group checks the member: a share group has no committed offsets
        if isinstance(group, ConsumerGroup):
            error = consumer_rules.may_fetch(group, request.member_id, request.member_epoch)
            if error is not NONE:
                return refused(error)
        settled, offsets = shard.write([], now_ms), shard.offsets.of(request.group_id)
        asked: list[tuple[str, bytes, Sequence[int]]] = (
            [(topic, ZERO_UUID, sorted(offsets.committed[topic])) for topic in sorted(offsets.committed)]
            if request.topics is None
            else [(topic.name, topic.topic_id, topic.partition_indexes) for topic in request.topics]
        )
        pending = offsets.pending if require_stable else ()
        topics: list[OffsetFetchResponseTopics] = []
        for name, topic_id, indexes in asked:
            committed = offsets.committed.get(name, {})
            answers = [_fetched(index, committed.get(index), (name, index) in pending, topic_id) for index in indexes]
            topics.append(OffsetFetchResponseTopics(name, topic_id, answers))
        return FetchedOffsets(OffsetFetchResponseGroup(request.group_id, topics), settled)

    # --- deletion

    def delete(self, request: OffsetDeleteRequest, now_ms: int, node_id: int | None) -> Deferred[OffsetDeleteResponse]:
        """Delete offsets of topics that no member reads (KIP-496)."""

        def refused(error: Error) -> OffsetDeleteResponse:
            return OffsetDeleteResponse(error_code=error)

        if not request.group_id:
            return Deferred.of(refused(Error.INVALID_GROUP_ID))
        shard = self._runtime.shard_for(request.group_id, node_id)
        if isinstance(shard, Error):
            return Deferred.of(refused(shard))
        group = shard.groups.get(request.group_id)
        if group is None or isinstance(group, ShareGroup):
            return Deferred.of(refused(Error.GROUP_ID_NOT_FOUND))
        if isinstance(group, ClassicGroup):
            verdict = classic_rules.decide(group, classic_rules.DeleteOffsets())
            if verdict.error is not NONE:
                return Deferred.of(refused(verdict.error))
        written: list[CoordinatorRecord] = []
        topics: list[OffsetDeleteResponseTopic] = []
        for topic in request.topics:
            error = Error.GROUP_SUBSCRIBED_TO_TOPIC if group.reads(topic.name) else NONE
            indexes = [partition.partition_index for partition in topic.partitions]
            topics.append(
                OffsetDeleteResponseTopic(topic.name, [OffsetDeleteResponsePartition(i, error) for i in indexes])
            )
            if error is NONE:
                for index in indexes:
                    written += shard.offsets.delete(request.group_id, topic.name, index)
        answer = OffsetDeleteResponse(topics=topics)
        return shard.write(written, now_ms).map(lambda error: answer if error is NONE else refused(client_error(error)))


def unknown_topic(*, by_id: bool) -> Error:
    """The error for a topic that does not exist, in a request that identifies topics by id or by name."""
    return Error.UNKNOWN_TOPIC_ID if by_id else Error.UNKNOWN_TOPIC_OR_PARTITION


def _java_length(text: str) -> int:
    """The length of a text in Java, in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _fetched(
    index: int, committed: CommittedOffset | None, is_pending: bool, topic_id: bytes
) -> OffsetFetchResponsePartitions:
    """One partition's answer. An offset of an earlier topic of the same name counts as none; a log that Apache Kafka
    wrote may contain such offsets."""
    if is_pending:
        return OffsetFetchResponsePartitions(index, NO_OFFSET, -1, "", Error.UNSTABLE_OFFSET_COMMIT)
    if committed is None or (topic_id != committed.topic_id and ZERO_UUID not in (topic_id, committed.topic_id)):
        return OffsetFetchResponsePartitions(index, NO_OFFSET, -1, "")
    return OffsetFetchResponsePartitions(index, committed.offset, committed.leader_epoch, committed.metadata)


Outcomes = list[list[Error]] | Error


def _commit_answer(topics: Sequence[_Commits], outcomes: Outcomes) -> OffsetCommitResponse:
    response = OffsetCommitResponse(topics=[])

    def add(topic: _Commits) -> list[OffsetCommitResponsePartition]:
        response.topics.append(OffsetCommitResponseTopic(topic.topic, topic.topic_id, []))
        return response.topics[-1].partitions

    _add_outcomes(topics, outcomes, add, OffsetCommitResponsePartition)
    return response


def _txn_commit_answer(topics: Sequence[_Commits], outcomes: Outcomes) -> TxnOffsetCommitResponse:
    response = TxnOffsetCommitResponse(topics=[])

    def add(topic: _Commits) -> list[TxnOffsetCommitResponsePartition]:
        response.topics.append(TxnOffsetCommitResponseTopic(topic.topic, topic.topic_id, []))
        return response.topics[-1].partitions

    _add_outcomes(topics, outcomes, add, TxnOffsetCommitResponsePartition)
    return response


Outcome = TypeVar("Outcome", OffsetCommitResponsePartition, TxnOffsetCommitResponsePartition)


def _add_outcomes(
    topics: Sequence[_Commits],
    outcomes: Outcomes,
    add: Callable[[_Commits], list[Outcome]],
    partition_outcome: Callable[[int, Error], Outcome],
) -> None:
    """Add each partition's outcome to the list that ``add`` creates for the partition's topic."""
    for number, topic in enumerate(topics):
        errors = repeat(outcomes) if isinstance(outcomes, Error) else outcomes[number]
        listed = add(topic)
        for partition, error in zip(topic.partitions, errors, strict=False):
            listed.append(partition_outcome(partition.partition_index, error))


Answer = TypeVar("Answer", OffsetCommitResponse, TxnOffsetCommitResponse)


def _with_error(answer: Answer, error: Error) -> Answer:
    """Set ``error``, unless it is NONE, for every partition of ``answer``, because nothing was written; returns
    ``answer``."""
    if error is not NONE:
        for topic in answer.topics:
            for partition in topic.partitions:
                partition.error_code = error
    return answer


def _commit_case(request: OffsetCommitRequest) -> classic_rules.CommitCase:
    return classic_rules.CommitCase(request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
