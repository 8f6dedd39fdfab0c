"""Passes requests about share groups and their offsets to the shard that owns the group (KIP-932, KIP-1226).

Called by the handlers in ``broker.core.apis`` through ``GroupCoordinator.share``; the same rules hold for the answers
as in the group coordinator. Source: Kafka's ``GroupCoordinatorService`` (4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from oncelog.broker.coordinator.group.consumer.consumer_group import LEAVE_EPOCH, MEMBER_BYTES, TopicId, size_of_names
from oncelog.broker.coordinator.group.environment import Caller, GroupHost
from oncelog.broker.coordinator.group.shard import GroupShard
from oncelog.broker.coordinator.runtime import CoordinatorRuntime, client_error
from oncelog.broker.coordinator.share import share_protocol
from oncelog.broker.coordinator.share.share_group import ShareGroup
from oncelog.broker.coordinator.share.share_protocol import Offsets
from oncelog.broker.coordinator.share.state_rules import ShareKey, ShareState
from oncelog.errors import NONE, Error
from oncelog.protocol.generated.share_group_describe_response import DescribedGroup
from oncelog.protocol.generated.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from oncelog.protocol.generated.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from oncelog.runtime.deferred import Deferred, gather


class ShareRefused(NamedTuple):
    """The error that refuses a request about a group as a whole."""

    error: Error
    message: str | None = None


class StoredOffset(NamedTuple):
    """The stored state of one partition; ``state`` is None if the group has never read it."""

    topic_id: TopicId
    name: str
    partition: int
    state: ShareState | None


class ShareRequests:
    """Handles requests about share groups. ``node_id``, also in a :class:`Caller`, is the node to which the request was
    sent."""

    def __init__(
        self,
        host: GroupHost,
        runtime: CoordinatorRuntime[GroupShard],
        has_capacity: Callable[[int, int], bool],
    ) -> None:
        """:param has_capacity: called with a number of bytes and the time in ms; returns whether a member may take that
        much memory."""
        self._host = host
        self._runtime = runtime
        self._has_capacity = has_capacity

    def heartbeat(
        self, request: ShareGroupHeartbeatRequest, caller: Caller, now_ms: int
    ) -> Deferred[ShareGroupHeartbeatResponse]:
        """Handle a member that joins, stays or leaves; answered once the member's changes are committed."""

        def refused(error: Error, message: str | None = None) -> Deferred[ShareGroupHeartbeatResponse]:
            return Deferred.of(ShareGroupHeartbeatResponse(error_code=error, error_message=message))

        invalid = share_protocol.invalid_heartbeat(request)
        if invalid is not None:
            return refused(invalid.error, invalid.message or None)
        shard = self._runtime.shard_for(request.group_id, caller.node_id)
        if isinstance(shard, Error):
            return refused(shard)
        if request.member_epoch == LEAVE_EPOCH:
            return shard.share.leave(request, now_ms)
        names = request.subscribed_topic_names
        if names is not None and not self._has_capacity(MEMBER_BYTES + size_of_names(names), now_ms):
            return refused(Error.COORDINATOR_NOT_AVAILABLE, "the members of all groups take too much memory")
        return shard.share.heartbeat(request, caller, now_ms)

    def describe(self, group_ids: Sequence[str], now_ms: int, node_id: int | None) -> Deferred[list[DescribedGroup]]:
        def one(group_id: str) -> Deferred[DescribedGroup]:
            def refused(error: Error) -> DescribedGroup:
                return share_protocol.refused_description(group_id, error)

            if not group_id:
                return Deferred.of(refused(Error.INVALID_GROUP_ID))
            shard = self._runtime.shard_for(group_id, node_id)
            if isinstance(shard, Error):
                return Deferred.of(refused(shard))
            shown = share_protocol.describe(group_id, shard.groups.get(group_id), shard.env)
            return shard.write([], now_ms).map(lambda error: shown if error is NONE else refused(client_error(error)))

        return gather([one(group_id) for group_id in group_ids])

    def offsets(
        self, group_id: str, places: Sequence[tuple[str, int]] | None, node_id: int | None
    ) -> list[StoredOffset] | ShareRefused:
        """The stored offsets of a group; ``places=None`` means all partitions that the group reads or has read. A group
        that does not exist, has another type or an empty id has no offsets."""
        shard = self._runtime.shard_for(group_id, node_id)
        if isinstance(shard, Error):
            return ShareRefused(shard)
        group = shard.groups.get(group_id)
        if places is None:
            asked = [
                (topic_id, topic.name, index)
                for topic_id, topic in (group.initialized.items() if isinstance(group, ShareGroup) else ())
                for index in sorted(topic.partitions)
            ]
        else:
            asked = [(self._host.topic_id(name) or b"", name, index) for name, index in places]
        return [
            StoredOffset(topic_id, name, index, self._host.share_states.state(ShareKey(group_id, topic_id, index)))
            for topic_id, name, index in asked
        ]

    def alter_offsets(
        self, group_id: str, offsets: Offsets, now_ms: int, node_id: int | None
    ) -> Deferred[ShareRefused]:
        """Change the offsets at which the group's next reader starts; the group must have no members, and is created if
        it does not exist. Resolves with ``ShareRefused(NONE)`` on success."""
        found = self._empty_group(group_id, node_id, may_be_new=True)
        if isinstance(found, ShareRefused):
            return Deferred.of(found)
        shard, group = found
        return shard.share.alter_offsets(group, offsets, now_ms).map(ShareRefused)

    def delete_offsets(
        self, group_id: str, topic_ids: Sequence[TopicId], now_ms: int, node_id: int | None
    ) -> Deferred[ShareRefused]:
        """Remove the stored states of topics; the group must have no members."""
        found = self._empty_group(group_id, node_id)
        if isinstance(found, ShareRefused):
            return Deferred.of(found)
        shard, group = found
        known = [topic_id for topic_id in topic_ids if topic_id in group.initialized]
        if not known:
            return Deferred.of(ShareRefused(NONE))
        return shard.share.forget_topics(group, known, now_ms).map(ShareRefused)

    def reads(self, group_id: str, topic_id: TopicId, node_id: int | None) -> bool:
        """Whether the group has stored offsets in a topic."""
        found = self._group(group_id, node_id)
        return not isinstance(found, ShareRefused) and topic_id in found[1].initialized

    def may_change(self, group_id: str, node_id: int | None, *, may_be_new: bool) -> ShareRefused | None:
        """The error with which a change of the group's offsets would be refused; None if they may be changed."""
        found = self._empty_group(group_id, node_id, may_be_new=may_be_new)
        return found if isinstance(found, ShareRefused) else None

    def _shard(self, group_id: str, node_id: int | None) -> GroupShard | ShareRefused:
        if not group_id:
            return ShareRefused(Error.INVALID_GROUP_ID, "The group id is invalid.")
        shard = self._runtime.shard_for(group_id, node_id)
        return ShareRefused(shard) if isinstance(shard, Error) else shard

    def _group(
        self, group_id: str, node_id: int | None, *, may_be_new: bool = False
    ) -> tuple[GroupShard, ShareGroup] | ShareRefused:
        shard = self._shard(group_id, node_id)
        if isinstance(shard, ShareRefused):
            return shard
        group = shard.groups.get(group_id)
        if group is None and may_be_new:
            return shard, ShareGroup(group_id)
        if not isinstance(group, ShareGroup):
            kind = "not found" if group is None else "is not a share group"
            return ShareRefused(Error.GROUP_ID_NOT_FOUND, f"Group {group_id} {kind}.")
        return shard, group

    def _empty_group(
        self, group_id: str, node_id: int | None, *, may_be_new: bool = False
    ) -> tuple[GroupShard, ShareGroup] | ShareRefused:
        found = self._group(group_id, node_id, may_be_new=may_be_new)
        if not isinstance(found, ShareRefused) and not found[1].empty:
            return ShareRefused(Error.NON_EMPTY_GROUP, "The group is not empty.")
        return found
