"""Members of consumer groups as raw clients. Each has its own connection, because the coordinator answers a JoinGroup
only when the other members have joined, too."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from oncelog.apps.conformance.expect import eventually, holds, same
from oncelog.apps.conformance.raw.transactional_producer import LOADING, find_coordinator
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.errors import Error
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.generated.join_group_response import JoinGroupResponse
from oncelog.protocol.generated.leave_group_request import LeaveGroupRequest, MemberIdentity
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from oncelog.protocol.generated.sync_group_response import SyncGroupResponse

MEMBER_ID_REQUIRED = Error.MEMBER_ID_REQUIRED


def subscription(user_data: bytes) -> bytes:
    """The metadata that a consumer sends in JoinGroup: version 0, no topics, and the assignor's user data."""
    return struct.pack(">hii", 0, 0, len(user_data)) + user_data


class Member:
    """A member of a classic group."""

    def __init__(self, connection: RawConnection, group: str, *, instance: str | None = None) -> None:
        self.connection = connection
        self.group = group
        self.instance = instance
        self.id = ""
        self.generation = -1

    def join_request(
        self, *, metadata: bytes = subscription(b"m"), protocol: str = "range", **changes: Any
    ) -> JoinGroupRequest:
        fields: dict[str, Any] = {
            "group_id": self.group,
            "session_timeout_ms": 30_000,
            "rebalance_timeout_ms": 30_000,
            "member_id": self.id,
            "group_instance_id": self.instance,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(name=protocol, metadata=metadata)],
        }
        return JoinGroupRequest(**(fields | changes))

    def join_once(self, version: int = 5, **changes: Any) -> Any:
        return self.connection.ask(self.join_request(**changes), version)

    def send_join(self, **changes: Any) -> int:
        return self.connection.send_message(self.join_request(**changes), 5)

    def receive_join(self, number: int) -> Any:
        answer = JoinGroupResponse.decode(self.connection.receive(number, flexible=False), 5, 0)
        self._take(answer)
        return answer

    def _take(self, answer: Any) -> None:
        if answer.error_code == 0:
            self.id, self.generation = answer.member_id, answer.generation_id

    def identify(self, version: int = 5) -> None:
        """Get a member id if the version requires one (KIP-394)."""
        if version >= 4 and self.instance is None and not self.id:
            answer = self.join_once(version)
            same(answer.error_code, MEMBER_ID_REQUIRED)
            holds(answer.member_id, "the answer names a member id")
            self.id = answer.member_id

    def join(self, version: int = 5, **changes: Any) -> Any:
        find_coordinator(self.connection, self.group, 0)
        self.identify(version)
        answer = self.join_once(version, **changes)
        same(answer.error_code, Error.NONE)
        self._take(answer)
        return answer

    def sync_request(self, assignments: dict[str, bytes] | None = None, **changes: Any) -> SyncGroupRequest:
        fields: dict[str, Any] = {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
            "assignments": [
                SyncGroupRequestAssignment(member_id=name, assignment=data)
                for name, data in (assignments or {}).items()
            ],
        }
        return SyncGroupRequest(**(fields | changes))

    def sync(self, assignments: dict[str, bytes] | None = None, version: int = 3, **changes: Any) -> Any:
        return self.connection.ask(self.sync_request(assignments, **changes), version)

    def send_sync(self) -> int:
        return self.connection.send_message(self.sync_request(), 3)

    def receive_sync(self, number: int) -> Any:
        return SyncGroupResponse.decode(self.connection.receive(number, flexible=False), 3, 0)

    def heartbeat(self, version: int = 3, **changes: Any) -> int:
        fields: dict[str, Any] = {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
        }
        code: int = self.connection.ask(HeartbeatRequest(**(fields | changes)), version).error_code
        return code

    def leave(self, version: int = 3) -> tuple[int, list[int]]:
        if version < 3:
            answer = self.connection.ask(LeaveGroupRequest(group_id=self.group, member_id=self.id), version)
            return answer.error_code, []
        identity = MemberIdentity(member_id=self.id, group_instance_id=self.instance)
        answer = self.connection.ask(LeaveGroupRequest(group_id=self.group, members=[identity]), version)
        return answer.error_code, [member.error_code for member in answer.members]

    def commit(self, offsets: dict[tuple[str, int], int], version: int = 8, **changes: Any) -> list[int]:
        who: dict[str, Any] = {"generation": self.generation, "member": self.id, "instance": self.instance}
        return commit(self.connection, self.group, offsets, version, **(who | changes))


def stable_alone(connection: RawConnection, group: str, *, instance: str | None = None) -> Member:
    """A group with one member that has its assignment."""
    member = Member(connection, group, instance=instance)
    member.join()
    same(member.sync({member.id: b"all"}).error_code, Error.NONE)
    return member


def commit(
    connection: RawConnection,
    group: str,
    offsets: dict[tuple[str, int], int],
    version: int = 8,
    *,
    generation: int = -1,
    member: str = "",
    instance: str | None = None,
    metadata: str | None = "",
) -> list[int]:
    """Send OffsetCommit; returns the error of each partition."""
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, index), offset in offsets.items():
        topics.setdefault(topic, []).append(
            OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=metadata)
        )
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        topics=[OffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in topics.items()],
    )
    if version >= 7:
        request.group_instance_id = instance
    answer = connection.ask(request, version)
    return [part.error_code for topic in answer.topics for part in topic.partitions]


def fetch_offsets(
    connection: RawConnection,
    group: str,
    partitions: list[tuple[str, int]] | None,
    *,
    version: int = 7,
    stable: bool = False,
) -> tuple[int, dict[tuple[str, int], tuple[int, int, str | None]]]:
    """Send OffsetFetch; returns the error, and for each partition the error, the offset and the metadata."""

    def probe() -> Any:
        answer = _fetch_offsets(connection, group, partitions, version, stable)
        return None if answer[0] in LOADING else answer

    found: tuple[int, dict[tuple[str, int], tuple[int, int, str | None]]] = eventually(probe)
    return found


def _fetch_offsets(
    connection: RawConnection, group: str, partitions: list[tuple[str, int]] | None, version: int, stable: bool
) -> tuple[int, dict[tuple[str, int], tuple[int, int, str | None]]]:
    names: dict[str, list[int]] = {}
    for topic, index in partitions or []:
        names.setdefault(topic, []).append(index)
    request = OffsetFetchRequest()
    if version >= 7:
        request.require_stable = stable
    if version >= 8:
        listed = [OffsetFetchRequestTopics(name=name, partition_indexes=indexes) for name, indexes in names.items()]
        request.groups = [OffsetFetchRequestGroup(group_id=group, topics=None if partitions is None else listed)]
        (answer,) = connection.ask(request, version).groups
    else:
        request.group_id = group
        request.topics = (
            None
            if partitions is None
            else [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in names.items()]
        )
        answer = connection.ask(request, version)
    found = {
        (topic.name, part.partition_index): (part.error_code, part.committed_offset, part.metadata)
        for topic in answer.topics
        for part in topic.partitions
    }
    return answer.error_code if version >= 2 else 0, found


def committed(connection: RawConnection, group: str, topic: str, partition: int = 0, *, stable: bool = False) -> int:
    """The committed offset, or the negated error code."""
    error, found = fetch_offsets(connection, group, [(topic, partition)], stable=stable)
    same(error, Error.NONE)
    code, offset, _ = found[topic, partition]
    return -code if code else offset


def committed_once_stable(connection: RawConnection, group: str, topic: str) -> int:
    """The committed offset, read with ``require_stable``; the request is repeated while a transaction's offset is
    pending, as clients do.

    A group's coordinator may still have a transaction's offsets pending after the transaction is complete: Apache
    Kafka's coordinator applies them on another thread than the one that writes the marker.
    """

    def probe() -> tuple[int] | None:
        found = committed(connection, group, topic, stable=True)
        return None if found == -Error.UNSTABLE_OFFSET_COMMIT else (found,)

    return eventually(probe)[0]


def describe_group(connection: RawConnection, group: str, version: int | None = None) -> Any:
    version = connection.best(DescribeGroupsRequest.API_KEY, 5) if version is None else version
    return connection.ask(DescribeGroupsRequest(groups=[group]), version).groups[0]


def until(condition: Callable[[], bool]) -> None:
    eventually(condition)
