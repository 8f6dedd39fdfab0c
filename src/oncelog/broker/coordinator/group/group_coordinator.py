"""The group coordinator: passes every request about groups and their offsets to the shard that owns the group.

Called by the handlers in ``broker.core.apis``, with decoded requests and the time, and by the broker, which hosts it
and reports changes of topics. Answers are ``Deferred``: a write is answered when it is committed, a read when all that
it read is committed. Errors are answers, never exceptions. Source: Kafka's ``GroupCoordinatorService`` (4.4.0).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from oncelog.broker.coordinator.group import describe, records
from oncelog.broker.coordinator.group.classic import classic_rules
from oncelog.broker.coordinator.group.classic.classic_group import MEMBER_BYTES, ClassicGroup
from oncelog.broker.coordinator.group.consumer import consumer_rules
from oncelog.broker.coordinator.group.consumer.consumer_group import (
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroup,
    size_of_names,
)
from oncelog.broker.coordinator.group.environment import Caller, GroupHost
from oncelog.broker.coordinator.group.offset_requests import FetchedOffsets, OffsetRequests, OneCommit
from oncelog.broker.coordinator.group.shard import GroupShard
from oncelog.broker.coordinator.runtime import CoordinatorRecord, CoordinatorRuntime, client_error
from oncelog.broker.coordinator.share.share_group import ShareGroup
from oncelog.broker.coordinator.share.share_protocol import first_error
from oncelog.broker.coordinator.share.share_requests import ShareRequests
from oncelog.errors import Error
from oncelog.protocol.generated.consumer_group_describe_response import DescribedGroup as DescribedConsumerGroup
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from oncelog.protocol.generated.delete_groups_response import DeletableGroupResult
from oncelog.protocol.generated.describe_groups_response import DescribedGroup
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.heartbeat_response import HeartbeatResponse
from oncelog.protocol.generated.join_group_request import JoinGroupRequest
from oncelog.protocol.generated.join_group_response import JoinGroupResponse
from oncelog.protocol.generated.leave_group_request import LeaveGroupRequest
from oncelog.protocol.generated.leave_group_response import LeaveGroupResponse, MemberResponse
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.list_groups_response import ListedGroup
from oncelog.protocol.generated.offset_commit_request import OffsetCommitRequest
from oncelog.protocol.generated.offset_commit_response import OffsetCommitResponse
from oncelog.protocol.generated.offset_delete_request import OffsetDeleteRequest
from oncelog.protocol.generated.offset_delete_response import OffsetDeleteResponse
from oncelog.protocol.generated.offset_fetch_request import OffsetFetchRequestGroup
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest
from oncelog.protocol.generated.sync_group_response import SyncGroupResponse
from oncelog.protocol.generated.txn_offset_commit_request import TxnOffsetCommitRequest
from oncelog.protocol.generated.txn_offset_commit_response import TxnOffsetCommitResponse
from oncelog.runtime.deferred import Deferred, gather
from oncelog.runtime.ports import Random
from oncelog.settings.config import BrokerConfig
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TopicPartition

R = TypeVar("R")

GROUPS_IN_A_CHUNK = 200
MAX_MEMBERS_BYTES = 256 * 1024 * 1024
"""Limit in bytes on the memory of all groups' members; a member is kept from its join until its session ends."""
COUNTED_AGAIN_MS = 1000


class GroupCoordinator:
    """The coordinator of every group that this broker owns. ``node_id``, also in a :class:`Caller`, is the node to
    which the request was sent (``CoordinatorRuntime.shard_for``)."""

    def __init__(
        self, host: GroupHost, settings: Callable[[], BrokerConfig], random: Random, partitions: int | None = None
    ) -> None:
        """:param settings: returns the broker's current settings.
        :param partitions: the number of partitions of ``__consumer_offsets``; None if the topic does not exist, which
            means the configured number.
        """
        self._host = host
        self._settings = settings
        self._random = random
        self.runtime: CoordinatorRuntime[GroupShard] = CoordinatorRuntime(
            host, CONSUMER_OFFSETS_TOPIC, partitions or settings().offsets_topic_num_partitions, self._new_shard
        )
        self._offsets = OffsetRequests(host, settings, self.runtime)
        self.share = ShareRequests(host, self.runtime, self._has_capacity)
        self._members_bytes = 0
        """Upper bound in bytes on the memory of all members: the last count, plus that of all members that have joined
        since."""
        self._members_counted_ms = 0

    def _new_shard(self, partition: TopicPartition, epoch: int) -> GroupShard:
        return GroupShard(self._host, self._settings, self._random, partition, self.runtime)

    # --- topics

    def on_metadata_change(self) -> None:
        """Called when topics were created or extended, or permissions changed: consumer groups compare their topics at
        their next heartbeat."""
        for shard in self.runtime.shards():
            shard.consumer.metadata_changed()
            shard.share.metadata_changed()

    def on_topic_deleted(self, topic: str, now_ms: int) -> Generator[None, None, None]:
        """Remove committed offsets of a deleted topic; a generator that pauses between chunks."""
        for shard in list(self.runtime.shards()):
            yield from shard.topic_deleted(topic, now_ms)

    def expire_members(self, group_id: str, member_id: str | None, now_ms: int) -> list[str]:
        """End the sessions of a group's member, or of all its members, at once, for tests; returns the members' ids."""
        shard = self.runtime.shard(self.runtime.partition_for(group_id).partition)
        return shard.expire_members(group_id, member_id, now_ms) if shard is not None else []

    # --- the classic protocol

    def join_group(self, request: JoinGroupRequest, caller: Caller, now_ms: int) -> Deferred[JoinGroupResponse]:
        """Handle JoinGroup: answered when the rebalance admits the member, or at once with an error or the current
        generation."""

        def refused(error: Error) -> Deferred[JoinGroupResponse]:
            return Deferred.of(JoinGroupResponse(error_code=error, member_id=request.member_id, protocol_name=None))

        config = self._settings()
        if not request.group_id:
            return refused(Error.INVALID_GROUP_ID)
        if not config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms:
            return refused(Error.INVALID_SESSION_TIMEOUT)
        shard = self.runtime.shard_for(request.group_id, caller.node_id)
        if isinstance(shard, Error):
            return refused(shard)
        if request.rebalance_timeout_ms < 0:  # JoinGroup 0 has no rebalance timeout: the session timeout applies
            request = request.replace(rebalance_timeout_ms=request.session_timeout_ms)
        more = MEMBER_BYTES + 2 * len(caller.client_id)
        more += sum(len(protocol.name) + len(protocol.metadata) for protocol in request.protocols)
        if not self._has_capacity(more, now_ms):
            return refused(Error.COORDINATOR_NOT_AVAILABLE)
        group = shard.groups.get(request.group_id)
        if isinstance(group, ShareGroup):
            return Deferred.of(JoinGroupResponse(error_code=Error.INCONSISTENT_GROUP_PROTOCOL, protocol_name=None))
        if isinstance(group, ConsumerGroup):
            if not group.empty:
                return shard.classic_members.join(group, request, caller, now_ms)
            forgotten = shard.write(records.consumer_group_tombstones(group), now_ms)
            if request.group_id in shard.groups:
                return forgotten.flat_map(lambda error: refused(client_error(error)))
        return shard.classic.join(request, caller, now_ms)

    def _has_capacity(self, more: int, now_ms: int) -> bool:
        """Whether the memory limit leaves ``more`` bytes for a member; the memory of existing members is computed again
        only if the limit may be reached."""
        is_old = not 0 <= now_ms - self._members_counted_ms < COUNTED_AGAIN_MS
        if self._members_bytes + more > MAX_MEMBERS_BYTES and is_old:
            groups = (group for shard in self.runtime.shards() for group in shard.groups.values())
            self._members_bytes = sum(group.memory_bytes for group in groups)
            self._members_counted_ms = now_ms
        if self._members_bytes + more > MAX_MEMBERS_BYTES:
            return False
        self._members_bytes += more
        return True

    def sync_group(self, request: SyncGroupRequest, caller: Caller, now_ms: int) -> Deferred[SyncGroupResponse]:
        """Handle SyncGroup: answered when the leader's assignment is stored."""

        def refused(error: Error) -> Deferred[SyncGroupResponse]:
            return Deferred.of(SyncGroupResponse(error_code=error))

        if not request.group_id:
            return refused(Error.INVALID_GROUP_ID)
        shard = self.runtime.shard_for(request.group_id, caller.node_id)
        if isinstance(shard, Error):
            return refused(shard)
        group = shard.groups.get(request.group_id)
        if group is None or group.empty or isinstance(group, ShareGroup):
            return refused(Error.UNKNOWN_MEMBER_ID)
        if isinstance(group, ConsumerGroup):
            return shard.classic_members.sync(group, request, now_ms)
        return shard.classic.sync(group, request, now_ms)

    def heartbeat(self, request: HeartbeatRequest, now_ms: int, node_id: int | None) -> Deferred[HeartbeatResponse]:
        return Deferred.of(HeartbeatResponse(error_code=self._heartbeat(request, now_ms, node_id)))

    def _heartbeat(self, request: HeartbeatRequest, now_ms: int, node_id: int | None) -> Error:
        if not request.group_id:
            return Error.INVALID_GROUP_ID
        shard = self.runtime.shard_for(request.group_id, node_id)
        if isinstance(shard, Error):
            return shard
        group = shard.groups.get(request.group_id)
        if group is None or isinstance(group, ShareGroup):
            return Error.UNKNOWN_MEMBER_ID
        if isinstance(group, ConsumerGroup):
            return shard.classic_members.heartbeat(group, request, now_ms)
        return shard.classic.heartbeat(group, request, now_ms)

    def leave_group(self, request: LeaveGroupRequest, now_ms: int, node_id: int | None) -> Deferred[LeaveGroupResponse]:
        """Handle LeaveGroup: one outcome for each of ``request.members``; a request of an older version has a single
        member."""

        def refused(error: Error) -> Deferred[LeaveGroupResponse]:
            return Deferred.of(LeaveGroupResponse(error_code=error))

        if not request.group_id:
            return refused(Error.INVALID_GROUP_ID)
        shard = self.runtime.shard_for(request.group_id, node_id)
        if isinstance(shard, Error):
            return refused(shard)
        group = shard.groups.get(request.group_id)
        if group is None or isinstance(group, ShareGroup):
            unknown = Error.UNKNOWN_MEMBER_ID
            members = [MemberResponse(m.member_id, m.group_instance_id, unknown) for m in request.members]
            return Deferred.of(LeaveGroupResponse(members=members))
        if isinstance(group, ConsumerGroup):
            return shard.classic_members.leave(group, request, now_ms)
        left = shard.classic.leave(group, request, now_ms)
        if isinstance(left, Error):
            return refused(left)
        answer = LeaveGroupResponse(members=left)
        # If the last member leaves, the empty group is written before the answer, so that no restart brings the member
        # back.
        return shard.write([], now_ms).map(
            lambda error: answer if error is Error.NONE else LeaveGroupResponse(error_code=client_error(error))
        )

    # --- the consumer protocol

    def consumer_group_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, caller: Caller, now_ms: int
    ) -> Deferred[ConsumerGroupHeartbeatResponse]:
        """Handle a member that joins, stays or leaves; answered once the member's changes are committed (KIP-848)."""

        def refused(error: Error, message: str | None = None) -> Deferred[ConsumerGroupHeartbeatResponse]:
            return Deferred.of(ConsumerGroupHeartbeatResponse(error_code=error, error_message=message))

        invalid = consumer_rules.invalid_heartbeat(
            request, caller.api_version, self._settings().group_consumer_assignors
        )
        if invalid is not None:
            return refused(invalid.error, invalid.message)
        shard = self.runtime.shard_for(request.group_id, caller.node_id)
        if isinstance(shard, Error):
            return refused(shard)
        if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return shard.consumer.leave(request, now_ms)
        names = request.subscribed_topic_names
        if names is not None and not self._has_capacity(MEMBER_BYTES + size_of_names(names), now_ms):
            message = f"the members of all groups take {MAX_MEMBERS_BYTES} bytes; try again when some have left"
            return refused(Error.COORDINATOR_NOT_AVAILABLE, message)
        return shard.consumer.heartbeat(request, caller, now_ms)

    # --- offsets

    def commit_offsets(
        self, request: OffsetCommitRequest, caller: Caller, now_ms: int
    ) -> Deferred[OffsetCommitResponse]:
        """Handle OffsetCommit; the handler has completed each topic's name and id."""
        return self._offsets.commit(request, caller, now_ms)

    def one_commit(self, request: OffsetCommitRequest, caller: Caller) -> tuple[OneCommit, OffsetCommitResponse]:
        """An accepted commit of one partition, for :meth:`commit_again`, and its answer."""
        return self._offsets.one(request, caller)

    def commit_again(self, commit: OneCommit, offset: int, leader_epoch: int, now_ms: int) -> bool:
        """Repeat a commit with another offset; returns False if nothing was done, and :meth:`commit_offsets` must
        handle the request."""
        return self._offsets.commit_again(commit, offset, leader_epoch, now_ms)

    def commit_transactional_offsets(
        self, request: TxnOffsetCommitRequest, caller: Caller, now_ms: int
    ) -> Deferred[TxnOffsetCommitResponse]:
        """Handle TxnOffsetCommit: the transaction is verified first (KIP-890), and offsets stay pending until its
        marker."""
        return self._offsets.commit_in_transaction(request, caller, now_ms)

    def fetch_offsets(
        self, request: OffsetFetchRequestGroup, require_stable: bool, now_ms: int, node_id: int | None
    ) -> FetchedOffsets:
        """The offsets of one group in an OffsetFetch request; None for topics means all topics."""
        return self._offsets.fetch(request, require_stable, now_ms, node_id)

    def delete_offsets(
        self, request: OffsetDeleteRequest, now_ms: int, node_id: int | None
    ) -> Deferred[OffsetDeleteResponse]:
        return self._offsets.delete(request, now_ms, node_id)

    # --- groups

    def describe_groups(self, group_ids: Sequence[str], caller: Caller, now_ms: int) -> Deferred[list[DescribedGroup]]:
        """Describe groups of the classic protocol; DescribeGroups reports every other group as dead."""

        def one(group_id: str) -> Deferred[DescribedGroup]:
            shard = self.runtime.shard_for(group_id, caller.node_id)
            if isinstance(shard, Error):
                return Deferred.of(DescribedGroup(error_code=shard, group_id=group_id))
            described = describe.classic_group(group_id, shard.groups.get(group_id), caller.api_version)
            return _settled(shard, described, lambda error: DescribedGroup(error_code=error, group_id=group_id), now_ms)

        return gather([one(group_id) for group_id in group_ids])

    def consumer_group_describe(
        self, group_ids: Sequence[str], now_ms: int, node_id: int | None
    ) -> Deferred[list[DescribedConsumerGroup]]:
        def one(group_id: str) -> Deferred[DescribedConsumerGroup]:
            def refused(error: Error) -> DescribedConsumerGroup:
                return describe.refused_consumer_group(group_id, error)

            if not group_id:
                return Deferred.of(refused(Error.INVALID_GROUP_ID))
            shard = self.runtime.shard_for(group_id, node_id)
            if isinstance(shard, Error):
                return Deferred.of(refused(shard))
            described = describe.consumer_group(
                group_id, shard.groups.get(group_id), self._host, self._settings().group_consumer_assignors[0]
            )
            return _settled(shard, described, refused, now_ms)

        return gather([one(group_id) for group_id in group_ids])

    def count(self, node_id: int | None) -> int:
        """The number of groups that :meth:`list_groups` examines."""
        return sum(len(shard.groups) for shard in self.runtime.shards_of(node_id))

    def list_groups(self, request: ListGroupsRequest, node_id: int | None) -> Generator[None, None, list[ListedGroup]]:
        """All groups that this node coordinates and the filters select; a generator that pauses between chunks."""
        states = {state.strip().lower() for state in request.states_filter}
        types = {group_type.lower() for group_type in request.types_filter}
        listed: list[ListedGroup] = []
        looked_at = 0
        for shard in list(self.runtime.shards_of(node_id)):
            for group_id in sorted(shard.groups):
                looked_at += 1
                if not looked_at % GROUPS_IN_A_CHUNK:
                    yield
                group = shard.groups.get(group_id)
                row = describe.listed(group) if group is not None else None
                if row is None or (states and row.group_state.lower() not in states):
                    continue
                if not types or row.group_type in types:
                    listed.append(row)
        return listed

    def delete_groups(
        self, group_ids: Sequence[str], now_ms: int, node_id: int | None
    ) -> Deferred[list[DeletableGroupResult]]:
        """Delete empty groups with all their offsets; other groups stay and get NON_EMPTY_GROUP."""

        def one(group_id: str) -> Deferred[DeletableGroupResult]:
            shard = self.runtime.shard_for(group_id, node_id)
            if isinstance(shard, Error):
                return Deferred.of(DeletableGroupResult(group_id, shard))
            written = _deletion(shard, group_id)
            if isinstance(written, Error):
                return Deferred.of(DeletableGroupResult(group_id, written))
            group = shard.groups[group_id]
            states = shard.share.forget_all(group, now_ms) if isinstance(group, ShareGroup) else []
            return gather([shard.write(written, now_ms), *states]).map(
                lambda errors: DeletableGroupResult(group_id, client_error(first_error(errors)))
            )

        return gather([one(group_id) for group_id in dict.fromkeys(group_ids)])


def _deletion(shard: GroupShard, group_id: str) -> list[CoordinatorRecord] | Error:
    group = shard.groups.get(group_id)
    if group is None:
        return Error.GROUP_ID_NOT_FOUND
    if isinstance(group, ClassicGroup):
        verdict = classic_rules.decide(group, classic_rules.DeleteGroup())
        if verdict.error is not Error.NONE:
            return verdict.error
    elif not group.empty:
        return Error.NON_EMPTY_GROUP
    return shard.offsets.delete_all(group_id) + shard.group_tombstones(group)


def _settled(shard: GroupShard, value: R, failed: Callable[[Error], R], now_ms: int) -> Deferred[R]:
    """Resolves to ``value`` once all records from which ``value`` was read are committed."""
    return shard.write([], now_ms).map(lambda error: value if error is Error.NONE else failed(client_error(error)))
