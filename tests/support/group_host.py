"""A host for the group coordinator in memory: a log that can lose its tail, topics, transactions, and a clock.

For tests of the coordinator and for simulations. ``MemoryGroupHost`` is what a broker would be; ``GroupClient`` sends
requests to the coordinator in it the way clients do and unpacks the answers that are already there. Nothing is
answered before the log is "synced": at once, or when ``sync`` is called if ``sync_at_once`` is off.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from oncelog.broker.coordinator.group.environment import Caller
from oncelog.broker.coordinator.group.group_coordinator import GroupCoordinator
from oncelog.broker.coordinator.group.shard import GroupShard
from oncelog.broker.coordinator.runtime import Appended, CoordinatorRecord, LoggedMarker, LoggedRecord
from oncelog.broker.coordinator.share.share_coordinator import ShareCoordinator
from oncelog.broker.core.requests.work import finished
from oncelog.broker.log.producers.producer_rules import refused_by_coordinator
from oncelog.broker.log.producers.verification_state import (
    TransactionSupportedOperation,
    Verification,
    VerificationGuard,
)
from oncelog.errors import Error
from oncelog.protocol.generated.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from oncelog.protocol.generated.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from oncelog.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.generated.join_group_response import JoinGroupResponse
from oncelog.protocol.generated.leave_group_request import LeaveGroupRequest, MemberIdentity
from oncelog.protocol.generated.leave_group_response import LeaveGroupResponse
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from oncelog.protocol.generated.offset_fetch_response import OffsetFetchResponseGroup
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from oncelog.protocol.generated.sync_group_response import SyncGroupResponse
from oncelog.protocol.generated.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.timers import Timers
from oncelog.settings.config import BrokerConfig, parse
from oncelog.types import NO_PRODUCER, ProducerIdAndEpoch, TopicPartition
from tests.support.ports import CountingRandom

START_MS = 1_700_000_000_000
Logged = LoggedRecord | LoggedMarker


class MemoryGroupHost:
    """One broker's part for the coordinator of ``partitions`` partitions of ``__consumer_offsets``."""

    def __init__(self, topics: Mapping[str, int], settings: Mapping[str, str] | None = None) -> None:
        values = {"offsets.topic.num.partitions": "2", "group.initial.rebalance.delay.ms": "0", **(settings or {})}
        self.config: BrokerConfig = parse(BrokerConfig, values)
        self.timers = Timers()
        self.now_ms = START_MS
        self.random = CountingRandom()
        self.log: list[list[Logged]] = [[] for _ in range(self.config.offsets_topic_num_partitions)]
        self.sync_at_once = True
        self.append_error = Error.NONE
        """What every append answers until it is NONE again, without writing anything."""
        self.largest_batch_bytes = 2**31 - 1
        """The most bytes of keys and values in one append; more is MESSAGE_TOO_LARGE."""
        self.verification = Error.NONE
        """What a transaction's verification answers."""
        self.verified: list[tuple[str, ProducerIdAndEpoch, TopicPartition, bool]] = []
        self.settings_of: dict[str, dict[str, str]] = {}
        """Settings of single groups."""
        self._topics = dict(topics)
        self._incarnations: dict[str, int] = {}
        self._unsynced: list[tuple[int, Deferred[Error]]] = []
        self._synced = [0] * len(self.log)
        self.coordinator = self._started()

    # Life

    def _started(self) -> GroupCoordinator:
        coordinator = GroupCoordinator(self, lambda: self.config, self.random)
        for index, entries in enumerate(self.log):
            coordinator.runtime.load(index, 0, list(entries), self.now_ms)
        return coordinator

    def restart(self, lose_unsynced: int | None = 0) -> None:
        """Crash and come back; of what was not synced, the last ``lose_unsynced`` entries are gone (None: all)."""
        for index, entries in enumerate(self.log):
            unsynced = len(entries) - self._synced[index]
            lost = unsynced if lose_unsynced is None else min(lose_unsynced, unsynced)
            del entries[len(entries) - lost :]
            self._synced[index] = len(entries)
        self._unsynced.clear()
        self.timers = Timers()
        self.coordinator = self._started()

    def unload(self) -> None:
        """Another broker becomes the coordinator of everything."""
        for index in range(len(self.log)):
            self.coordinator.runtime.unload(index)

    def pass_time(self, milliseconds: int) -> None:
        """Let the clock run, firing timers at the moments they are due."""
        until_ms = self.now_ms + milliseconds
        while (due_ms := self.timers.next_ms()) is not None and due_ms <= until_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.timers.fire(self.now_ms)
        self.now_ms = until_ms

    def sync(self) -> None:
        """Commit everything that was appended."""
        self._synced = [len(entries) for entries in self.log]
        waiting, self._unsynced = self._unsynced, []
        for _, committed in waiting:
            committed.resolve(Error.NONE)

    def fail_sync(self, error: Error) -> None:
        """What was appended cannot be made durable."""
        waiting, self._unsynced = self._unsynced, []
        for _, committed in waiting:
            committed.resolve(error)

    def end_transaction(self, group_id: str, identity: ProducerIdAndEpoch, *, commit: bool) -> None:
        """Write the transaction's marker on the group's partition."""
        index = self.coordinator.runtime.partition_for(group_id).partition
        marker = LoggedMarker(len(self.log[index]), identity, commit)
        self.log[index].append(marker)
        if self.sync_at_once:
            self._synced[index] = len(self.log[index])
        self.coordinator.runtime.complete_transaction(index, marker)

    def shard(self, group_id: str) -> GroupShard:
        shard = self.coordinator.runtime.shard_for(group_id, node_id=None)
        if isinstance(shard, Error):
            raise LookupError(f"the shard of group {group_id} is not loaded: {shard.name}")
        return shard

    # Topics

    def create_topic(self, name: str, partitions: int) -> None:
        self._topics[name] = partitions
        self.coordinator.on_metadata_change()

    def delete_topic(self, name: str) -> None:
        del self._topics[name]
        self._incarnations[name] = self._incarnations.get(name, 0) + 1
        finished(self.coordinator.on_topic_deleted(name, self.now_ms))
        self.coordinator.on_metadata_change()

    def topic_partitions(self, topic: str) -> int | None:
        return self._topics.get(topic)

    def topic_id(self, topic: str) -> bytes | None:
        return self.id_of(topic) if topic in self._topics else None

    def topic_name(self, topic_id: bytes) -> str | None:
        return next((name for name in self._topics if self.id_of(name) == topic_id), None)

    def topics(self) -> Set[str]:
        return self._topics.keys()

    def id_of(self, topic: str) -> bytes:
        """The id of a topic of that name, existing or not."""
        return hashlib.blake2b(f"{topic}/{self._incarnations.get(topic, 0)}".encode(), digest_size=16).digest()

    # GroupHost

    @property
    def share_states(self) -> ShareCoordinator:
        raise AssertionError("no test of this host has share groups")

    def share_states_changed(self, group_id: str) -> None: ...

    def group_settings(self, group_id: str) -> Mapping[str, str]:
        return self.settings_of.get(group_id, {})

    def begin_task(self, work: Generator[None, None, None]) -> None:
        for _ in work:
            pass

    def append_records(
        self,
        partition: TopicPartition,
        records: Sequence[CoordinatorRecord],
        now_ms: int,
        producer: ProducerIdAndEpoch = NO_PRODUCER,
        guard: VerificationGuard | None = None,
    ) -> Appended:
        if self.append_error is not Error.NONE:
            return Appended(self.append_error, -1, Deferred.of(self.append_error))
        if sum(len(key) + len(value or b"") for key, value in records) > self.largest_batch_bytes:
            return Appended(Error.MESSAGE_TOO_LARGE, -1, Deferred.of(Error.MESSAGE_TOO_LARGE))
        entries = self.log[partition.partition]
        base_offset = len(entries)
        for delta, (key, value) in enumerate(records):
            entries.append(LoggedRecord(base_offset + delta, now_ms, producer, key, value))
        if self.sync_at_once:
            self._synced[partition.partition] = len(entries)
            return Appended(Error.NONE, base_offset, Deferred.of(Error.NONE))
        committed: Deferred[Error] = Deferred()
        self._unsynced.append((partition.partition, committed))
        return Appended(Error.NONE, base_offset, committed)

    def verify_transaction(
        self,
        transactional_id: str,
        identity: ProducerIdAndEpoch,
        partition: TopicPartition,
        operation: TransactionSupportedOperation,
        now_ms: int,
    ) -> Deferred[Verification]:
        self.verified.append((transactional_id, identity, partition, operation.supports_epoch_bump))
        return Deferred.of(Verification(refused_by_coordinator(self.verification, operation)))


def subscription(*topics: str, version: int = 1, owned: Mapping[str, Sequence[int]] | None = None) -> bytes:
    """A consumer's embedded subscription."""
    from oncelog.protocol.generated.consumer_protocol_subscription import TopicPartition as Owned

    message = ConsumerProtocolSubscription(list(topics), None, [Owned(t, list(p)) for t, p in (owned or {}).items()])
    return version.to_bytes(2, "big") + message.encode(version)


@dataclass
class GroupClient:
    """Requests about one group, in the newest versions unless told otherwise."""

    host: MemoryGroupHost
    group_id: str = "g"
    client_id: str = "c"

    def caller(self, version: int) -> Caller:
        return Caller(version, None, self.client_id, "127.0.0.1")

    def join(
        self,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        protocols: Mapping[str, bytes] | None = None,
        protocol_type: str = "consumer",
        session_timeout_ms: int = 10_000,
        rebalance_timeout_ms: int = 60_000,
        version: int = 9,
    ) -> Deferred[JoinGroupResponse]:
        chosen = {"range": subscription("t")} if protocols is None else protocols
        request = JoinGroupRequest(
            self.group_id,
            session_timeout_ms,
            rebalance_timeout_ms,
            member_id,
            instance_id,
            protocol_type,
            [JoinGroupRequestProtocol(name, metadata) for name, metadata in chosen.items()],
        )
        return self.host.coordinator.join_group(request, self.caller(version), self.host.now_ms)

    def joined(self, member_id: str = "", **options: Any) -> tuple[str, Deferred[JoinGroupResponse]]:
        """Join for good: a member without an id gets one first.

        Returns the id, if it is known, and the answer to come.
        """
        answer = self.join(member_id, **options)
        if answer.done and answer.value.error_code == Error.MEMBER_ID_REQUIRED:
            member_id = answer.value.member_id
            answer = self.join(member_id, **options)
        return member_id, answer

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
    ) -> Deferred[SyncGroupResponse]:
        request = SyncGroupRequest(
            self.group_id,
            generation,
            member_id,
            instance_id,
            protocol_type,
            protocol_name,
            [SyncGroupRequestAssignment(*item) for item in (assignments or {}).items()],
        )
        return self.host.coordinator.sync_group(request, self.caller(5), self.host.now_ms)

    def heartbeat(self, member_id: str, generation: int, instance_id: str | None = None) -> Error:
        request = HeartbeatRequest(self.group_id, generation, member_id, instance_id)
        return Error(self.host.coordinator.heartbeat(request, self.host.now_ms, node_id=None).value.error_code)

    def leave(self, *members: tuple[str, str | None]) -> Deferred[LeaveGroupResponse]:
        request = LeaveGroupRequest(self.group_id, "", [MemberIdentity(*member) for member in members])
        return self.host.coordinator.leave_group(request, self.host.now_ms, node_id=None)

    def stable(self, count: int, **options: Any) -> list[str]:
        """A group of ``count`` dynamic members that has finished its rebalance; the leader's id is first."""
        waiting = [self.joined(**options) for _ in range(count)]
        self.host.pass_time(0)
        joined = [answer.value for _, answer in waiting]
        leader = next(response for response in joined if response.member_id == response.leader)
        assignments = {response.member_id: response.member_id.encode() for response in joined}
        for response in sorted(joined, key=lambda r: r is leader):
            self.sync(response.member_id, response.generation_id, assignments if response is leader else None)
        return [leader.member_id, *(r.member_id for r in joined if r is not leader)]

    # Offsets

    def commit(
        self,
        offset: int,
        *,
        topic: str = "t",
        partition: int = 0,
        member_id: str = "",
        generation: int = -1,
        instance_id: str | None = None,
        metadata: str | None = "",
        retention_ms: int = -1,
        version: int = 9,
    ) -> Deferred[Error]:
        request = OffsetCommitRequest(
            self.group_id,
            generation,
            member_id,
            instance_id,
            retention_ms,
            [
                OffsetCommitRequestTopic(
                    topic,
                    self.host.topic_id(topic) or ZERO_UUID,
                    [OffsetCommitRequestPartition(partition, offset, -1, metadata)],
                )
            ],
        )
        answer = self.host.coordinator.commit_offsets(request, self.caller(version), self.host.now_ms)
        return answer.map(lambda response: Error(response.topics[0].partitions[0].error_code))

    def commit_in_transaction(
        self,
        offset: int,
        identity: ProducerIdAndEpoch,
        *,
        topic: str = "t",
        partition: int = 0,
        member_id: str = "",
        generation: int = -1,
        instance_id: str | None = None,
        version: int = 5,
    ) -> Deferred[Error]:
        request = TxnOffsetCommitRequest(
            "txn",
            self.group_id,
            identity.producer_id,
            identity.producer_epoch,
            generation,
            member_id,
            instance_id,
            [
                TxnOffsetCommitRequestTopic(
                    topic, self.host.topic_id(topic) or ZERO_UUID, [TxnOffsetCommitRequestPartition(partition, offset)]
                )
            ],
        )
        answer = self.host.coordinator.commit_transactional_offsets(request, self.caller(version), self.host.now_ms)
        return answer.map(lambda response: Error(response.topics[0].partitions[0].error_code))

    def fetch(
        self,
        topics: Mapping[str, Sequence[int]] | None,
        *,
        stable: bool = False,
        member_id: str | None = None,
        epoch: int = -1,
    ) -> OffsetFetchResponseGroup:
        asked = None if topics is None else [OffsetFetchRequestTopics(t, ZERO_UUID, list(p)) for t, p in topics.items()]
        request = OffsetFetchRequestGroup(self.group_id, member_id, epoch, asked)
        fetched = self.host.coordinator.fetch_offsets(request, stable, self.host.now_ms, node_id=None)
        return fetched.known(fetched.settled.value)

    def offset(self, topic: str = "t", partition: int = 0, *, stable: bool = False) -> int | Error:
        """The committed offset, -1 for none, or the reason why it is not given."""
        answer = self.fetch({topic: [partition]}, stable=stable)
        row = answer.topics[0].partitions[0]
        return Error(row.error_code) if row.error_code else row.committed_offset

    # The consumer protocol

    def beat(
        self,
        member_id: str,
        epoch: int,
        *,
        topics: Sequence[str] | None = None,
        regex: str | None = None,
        owned: Mapping[str, Sequence[int]] | None = None,
        instance_id: str | None = None,
        assignor: str | None = None,
        rebalance_timeout_ms: int | None = None,
        version: int = 1,
    ) -> Deferred[ConsumerGroupHeartbeatResponse]:
        """A heartbeat; when joining (epoch 0) it contains everything that a first one must."""
        joins = epoch == 0
        if joins and topics is None and regex is None:
            topics = ["t"]
        if rebalance_timeout_ms is None:
            rebalance_timeout_ms = 60_000 if joins else -1
        partitions: list[TopicPartitions] | None = [] if joins else None
        if owned is not None:
            partitions = [TopicPartitions(self.host.id_of(topic), list(p)) for topic, p in owned.items()]
        request = ConsumerGroupHeartbeatRequest(
            self.group_id,
            member_id,
            epoch,
            instance_id,
            None,
            rebalance_timeout_ms,
            None if topics is None else list(topics),
            regex,
            assignor,
            partitions,
        )
        return self.host.coordinator.consumer_group_heartbeat(request, self.caller(version), self.host.now_ms)

    def assigned(self, response: ConsumerGroupHeartbeatResponse) -> dict[str, list[int]] | None:
        """The answer's assignment by topic name; None if it contains none."""
        if response.assignment is None:
            return None
        named = ((self.host.topic_name(t.topic_id) or "?", t.partitions) for t in response.assignment.topic_partitions)
        return {name: list(partitions) for name, partitions in named}
