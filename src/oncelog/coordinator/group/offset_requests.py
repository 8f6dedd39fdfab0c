"""OffsetCommit, TxnOffsetCommit, OffsetFetch and OffsetDelete: who may, what is written, what is answered.

Called by ``coordinator`` alone. The groups' rules say whether the caller may commit; ``offsets`` holds the state. An
error of the group is every partition's error, since these answers have no place for it (OffsetFetch and OffsetDelete
have). Source: Kafka's ``OffsetMetadataManager`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from oncelog.config import BrokerConfig
from oncelog.coordinator.group import classic_rules, consumer_rules, records
from oncelog.coordinator.group.classic_group import ClassicGroup
from oncelog.coordinator.group.consumer_rules import CommitCheck
from oncelog.coordinator.group.environment import Caller, GroupHost
from oncelog.coordinator.group.offsets import CommittedOffset, Place
from oncelog.coordinator.group.shard import GroupShard
from oncelog.coordinator.runtime import CoordinatorRecord, CoordinatorRuntime, client_error
from oncelog.deferred import Deferred
from oncelog.errors import NONE, Error
from oncelog.log.verification import TransactionSupportedOperation, Verification
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
from oncelog.protocol.wire import ZERO_UUID
from oncelog.types import ProducerStamp, new_tuple

GROUP_ID_NOT_FOUND_FROM = 9
"""OffsetCommit: what used to be ILLEGAL_GENERATION where the group does not exist."""
GENERIC_ERROR_FROM = 4
ADD_PARTITION_FROM = 5
"""TxnOffsetCommit: versions that know TRANSACTION_ABORTABLE, and that add the partition to the transaction."""

NO_OFFSET = -1


def _supported_operation(version: int) -> TransactionSupportedOperation:
    if version >= ADD_PARTITION_FROM:
        return TransactionSupportedOperation.ADD_PARTITION
    if version >= GENERIC_ERROR_FROM:
        return TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
    return TransactionSupportedOperation.DEFAULT_ERROR


LAST_TIMESTAMP_MS = 2**63 - 1


class _Commits(NamedTuple):
    """One topic of a commit."""

    topic: str
    topic_id: bytes
    partitions: Sequence[OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition]


class _Decided(NamedTuple):
    """What to write, each partition's outcome if it is written, in the order of the request, and what was decided."""

    written: list[CoordinatorRecord]
    outcomes: list[list[Error]]
    committed: list[tuple[OffsetCommitKey, OffsetCommitValue]]


class OneCommit(NamedTuple):
    """A commit of one partition outside a transaction, that may come again with another offset."""

    request: OffsetCommitRequest
    caller: Caller
    place: Place
    topic_id: bytes
    metadata: str
    key: bytes


class OffsetRequests:
    """The requests about offsets of all groups."""

    def __init__(
        self, host: GroupHost, settings: Callable[[], BrokerConfig], runtime: CoordinatorRuntime[GroupShard]
    ) -> None:
        self._host = host
        self._settings = settings
        self._runtime = runtime

    # Commits

    def commit(self, request: OffsetCommitRequest, caller: Caller, now_ms: int) -> Deferred[OffsetCommitResponse]:
        def answer(outcomes: Callable[[int, int], Error]) -> OffsetCommitResponse:
            return OffsetCommitResponse(
                topics=[
                    OffsetCommitResponseTopic(
                        topic.name,
                        topic.topic_id,
                        [
                            OffsetCommitResponsePartition(partition.partition_index, outcomes(t, p))
                            for p, partition in enumerate(topic.partitions)
                        ],
                    )
                    for t, topic in enumerate(request.topics)
                ]
            )

        shard = self._runtime.shard_for(request.group_id)
        if isinstance(shard, Error):
            return Deferred.of(answer(_same(shard)))
        check = self._may_commit(shard, request, caller, now_ms)
        if isinstance(check, Error):
            return Deferred.of(answer(_same(check)))
        retention_ms = request.retention_time_ms
        decided = self._decide(
            request.group_id,
            [_Commits(topic.name, topic.topic_id, topic.partitions) for topic in request.topics],
            check,
            now_ms,
            -1 if retention_ms == -1 else min(now_ms + retention_ms, LAST_TIMESTAMP_MS),
        )
        if isinstance(decided, Error):
            return Deferred.of(answer(_same(decided)))
        apply = None
        if retention_ms == -1:  # else the record is of an older version, which does not hold all of the value
            apply = partial(shard.offsets_committed, decided.committed)
        written = shard.write(decided.written, now_ms, apply=apply)
        return written.map(lambda error: answer(_outcomes(error, decided.outcomes)))

    @staticmethod
    def one(request: OffsetCommitRequest, caller: Caller) -> tuple[OneCommit, OffsetCommitResponse]:
        """What :meth:`again` needs of a commit of one partition that was just taken in, and its answer."""
        (topic,) = request.topics
        (partition,) = topic.partitions
        place = request.group_id, topic.name, partition.partition_index
        metadata = partition.committed_metadata or ""
        commit = OneCommit(request, caller, place, topic.topic_id, metadata, offset_commit_key(*place))
        answer = OffsetCommitResponsePartition(partition.partition_index, NONE)
        return commit, OffsetCommitResponse(topics=[OffsetCommitResponseTopic(topic.name, topic.topic_id, [answer])])

    def again(self, commit: OneCommit, offset: int, leader_epoch: int, now_ms: int) -> bool:
        """What :meth:`commit` does, with another offset, if that is answered NONE at once; else nothing is done and the
        answer is False.

        Neither the topic nor the settings may have changed since ``commit`` was made.
        """
        request, caller, place, topic_id, metadata, key = commit
        shard = self._runtime.shard_for(place[0])
        if isinstance(shard, Error):
            return False
        check = self._may_commit(shard, request, caller, now_ms)
        if isinstance(check, Error) or check(topic_id, place[2]) is not NONE:
            return False
        value = offset_commit_value(offset, leader_epoch, metadata, now_ms, topic_id)

        def apply(record_offset: int) -> None:
            fields = offset, leader_epoch, metadata, now_ms, -1, topic_id, record_offset
            shard.offset_committed(place, new_tuple(CommittedOffset, fields))

        written = shard.write((new_tuple(CoordinatorRecord, (key, value)),), now_ms, apply=apply)
        return written.done and written.value is NONE

    def commit_in_transaction(
        self, request: TxnOffsetCommitRequest, caller: Caller, now_ms: int
    ) -> Deferred[TxnOffsetCommitResponse]:
        def answer(outcomes: Callable[[int, int], Error]) -> TxnOffsetCommitResponse:
            return TxnOffsetCommitResponse(
                topics=[
                    TxnOffsetCommitResponseTopic(
                        topic.name,
                        [
                            TxnOffsetCommitResponsePartition(partition.partition_index, outcomes(t, p))
                            for p, partition in enumerate(topic.partitions)
                        ],
                    )
                    for t, topic in enumerate(request.topics)
                ]
            )

        if not request.group_id:
            return Deferred.of(answer(_same(Error.INVALID_GROUP_ID)))
        shard = self._runtime.shard_for(request.group_id)
        if isinstance(shard, Error):
            return Deferred.of(answer(_same(shard)))
        stamp = ProducerStamp(request.producer_id, request.producer_epoch)
        partition = shard.partition

        def verified(verification: Verification) -> Deferred[TxnOffsetCommitResponse]:
            """The transaction covers the partition; the shard may have moved while that was found out."""
            error, guard = verification
            shard = self._runtime.shard(partition.partition)
            if error is not NONE or shard is None:
                return Deferred.of(answer(_same(Error.NOT_COORDINATOR if shard is None else client_error(error))))
            decided = self._decide_in_transaction(shard, request, now_ms)
            if isinstance(decided, Error):
                return Deferred.of(answer(_same(decided)))
            written = shard.write(decided.written, now_ms, stamp, guard)
            return written.map(lambda error: answer(_outcomes(error, decided.outcomes)))

        return self._host.verify_transaction(
            request.transactional_id, stamp, partition, _supported_operation(caller.api_version), now_ms
        ).flat_map(verified)

    def _may_commit(
        self, shard: GroupShard, request: OffsetCommitRequest, caller: Caller, now_ms: int
    ) -> CommitCheck | Error:
        """How to check each partition, or why the whole commit is refused. A group that commits is alive."""
        member_id, instance_id, epoch = (
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
        )
        group = shard.groups.get(request.group_id)
        if group is None:
            if epoch < 0:
                return consumer_rules.any_partition
            newer = caller.api_version >= GROUP_ID_NOT_FOUND_FROM
            return Error.GROUP_ID_NOT_FOUND if newer else Error.ILLEGAL_GENERATION
        if isinstance(group, ClassicGroup):
            verdict = classic_rules.decide(group, classic_rules.Commit(member_id, instance_id, epoch))
            if verdict.step is classic_rules.Step.REFUSE:
                return verdict.error
            if verdict.step is classic_rules.Step.ALIVE:
                shard.classic.alive(group, group.members[member_id], now_ms)
            return consumer_rules.any_partition
        return consumer_rules.may_commit(group, member_id, epoch, caller.api_version)

    def _decide_in_transaction(
        self, shard: GroupShard, request: TxnOffsetCommitRequest, now_ms: int
    ) -> _Decided | Error:
        """Older requests name no member and are taken as they are; newer ones prove membership (KIP-447)."""
        member_id, instance_id, epoch = request.member_id, request.group_instance_id, request.generation_id
        group = shard.groups.get(request.group_id)
        check: CommitCheck = consumer_rules.any_partition
        if group is None:
            if epoch >= 0:
                return Error.ILLEGAL_GENERATION
        elif isinstance(group, ClassicGroup):
            verdict = classic_rules.decide(group, classic_rules.TxnCommit(member_id, instance_id, epoch))
            if verdict.step is classic_rules.Step.REFUSE:
                return verdict.error
        else:
            checked = consumer_rules.may_commit_in_transaction(group, member_id, instance_id, epoch)
            if isinstance(checked, Error):
                return checked
            check = checked
        topics = [
            _Commits(topic.name, self._host.topic_id(topic.name) or ZERO_UUID, topic.partitions)
            for topic in request.topics
        ]
        # Kafka's transactional offsets do not say which topic id they are for
        decided = self._decide(request.group_id, topics, check, now_ms, -1, with_topic_id=False)
        return Error.ILLEGAL_GENERATION if decided is Error.STALE_MEMBER_EPOCH else decided

    def _decide(
        self,
        group_id: str,
        topics: Iterable[_Commits],
        check: CommitCheck,
        now_ms: int,
        expire_ms: int,
        with_topic_id: bool = True,
    ) -> _Decided | Error:
        """One record for each partition; metadata that is too long spoils its partition, a stale one the request."""
        decided = _Decided([], [], [])
        for topic in topics:
            errors: list[Error] = []
            decided.outcomes.append(errors)
            for partition in topic.partitions:
                metadata = partition.committed_metadata or ""
                if _java_length(metadata) > self._settings().offset_metadata_max_bytes:
                    errors.append(Error.OFFSET_METADATA_TOO_LARGE)
                    continue
                error = check(topic.topic_id, partition.partition_index)
                if error is not NONE:
                    return error
                errors.append(NONE)
                value = OffsetCommitValue(
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    metadata,
                    now_ms,
                    expire_ms,
                    topic.topic_id if with_topic_id else ZERO_UUID,
                )
                key = OffsetCommitKey(group_id, topic.topic, partition.partition_index)
                decided.written.append(records.offset_commit(key, value))
                decided.committed.append((key, value))
        return decided

    # Looks

    def fetch(
        self, request: OffsetFetchRequestGroup, require_stable: bool, now_ms: int
    ) -> Deferred[OffsetFetchResponseGroup]:
        """Offsets that are committed in the log as well; a pending one hides its partition's if that is asked for."""

        def refused(error: Error) -> OffsetFetchResponseGroup:
            return OffsetFetchResponseGroup(request.group_id, [], error)

        shard = self._runtime.shard_for(request.group_id)
        if isinstance(shard, Error):
            return Deferred.of(refused(shard))
        group = shard.groups.get(request.group_id)
        if group is not None and not isinstance(group, ClassicGroup):
            error = consumer_rules.may_fetch(group, request.member_id, request.member_epoch)
            if error is not NONE:
                return Deferred.of(refused(error))
        asked: list[tuple[str, bytes, Sequence[int]]] = (
            [(topic, ZERO_UUID, sorted(partitions)) for topic, partitions in shard.offsets.topics(request.group_id)]
            if request.topics is None
            else [(topic.name, topic.topic_id, topic.partition_indexes) for topic in request.topics]
        )
        topics = [
            OffsetFetchResponseTopics(
                name,
                topic_id,
                [self._fetched(shard, request.group_id, name, index, require_stable) for index in indexes],
            )
            for name, topic_id, indexes in asked
        ]
        answer = OffsetFetchResponseGroup(request.group_id, topics)
        return shard.write([], now_ms).map(lambda error: answer if error is NONE else refused(Error.NOT_COORDINATOR))

    @staticmethod
    def _fetched(
        shard: GroupShard, group_id: str, topic: str, partition: int, require_stable: bool
    ) -> OffsetFetchResponsePartitions:
        if require_stable and shard.offsets.is_pending(group_id, topic, partition):
            return OffsetFetchResponsePartitions(partition, NO_OFFSET, -1, "", Error.UNSTABLE_OFFSET_COMMIT)
        committed: CommittedOffset | None = shard.offsets.get(group_id, topic, partition)
        if committed is None:
            return OffsetFetchResponsePartitions(partition, NO_OFFSET, -1, "")
        return OffsetFetchResponsePartitions(partition, committed.offset, committed.leader_epoch, committed.metadata)

    # Deletion

    def delete(self, request: OffsetDeleteRequest, now_ms: int) -> Deferred[OffsetDeleteResponse]:
        """Offsets of topics that no member reads (KIP-496)."""

        def refused(error: Error) -> OffsetDeleteResponse:
            return OffsetDeleteResponse(error_code=error)

        if not request.group_id:
            return Deferred.of(refused(Error.INVALID_GROUP_ID))
        shard = self._runtime.shard_for(request.group_id)
        if isinstance(shard, Error):
            return Deferred.of(refused(shard))
        group = shard.groups.get(request.group_id)
        if group is None:
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


def _java_length(text: str) -> int:
    """The length that Java sees: UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _same(error: Error) -> Callable[[int, int], Error]:
    return lambda topic, partition: error


def _outcomes(error: Error, decided: list[list[Error]]) -> Callable[[int, int], Error]:
    if error is not NONE:
        return _same(client_error(error))
    return lambda topic, partition: decided[topic][partition]
