"""OffsetCommits that differ from an earlier one of their connection only in offset, leader epoch and correlation id.

Only commits of one partition, in a flexible version, are learned (``apis/offset_commit.py`` is the general path). The
group's permission is checked each time. A property test compares both paths.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.repeated_requests import MeasurePorts, RepeatedRequests
from oncelog.broker.core.requests.session import Part
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.repeated import CORRELATION_AT, RequestPattern
from oncelog.types import CONSUMER_OFFSETS_TOPIC

if TYPE_CHECKING:
    from oncelog.broker.coordinator.group.group_coordinator import GroupCoordinator
    from oncelog.broker.coordinator.group.offset_requests import OneCommit
    from oncelog.broker.core.coordination.commit_order import CommitOrder
    from oncelog.broker.core.storage.flushing import Flushing
    from oncelog.protocol.generated.offset_commit_request import OffsetCommitRequest

FIRST_FLEXIBLE: Final = 8
_GAP: Final = Struct(">qi")
_MARKS: Final = (-0x5A5A_0001_7E57_0006, -0x5A5A_0007)


class _CommitPattern(NamedTuple):
    """The pattern of a commit: its bytes around the offset, its answer around the correlation id, and its version."""

    pattern: RequestPattern
    commit: OneCommit
    size: bytes
    answer: bytes
    version: int


class RepeatedCommitPorts(MeasurePorts, Protocol):
    """What a repeated commit needs from the broker."""

    @property
    def groups(self) -> GroupCoordinator: ...

    commit_order: CommitOrder
    flushing: Flushing


class RepeatedCommits(RepeatedRequests[_CommitPattern]):
    _ports: RepeatedCommitPorts

    def __init__(self, ports: RepeatedCommitPorts) -> None:
        super().__init__(ports, ApiKey.OFFSET_COMMIT)

    def learn(self, context: RequestContext, request: OffsetCommitRequest, frame: memoryview, body: int) -> None:
        """Learn the pattern of a commit that was just accepted, if the next one may match it."""
        version, channel, ports = context.api_version, context.channel, self._ports
        if version < FIRST_FLEXIBLE or len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
            return
        if not ports.flushing.commits_at_once(CONSUMER_OFFSETS_TOPIC) or not self._may_learn(channel):
            return  # an answer that has to wait takes the general path
        asked = request.topics[0].partitions[0]
        given = asked.committed_offset, asked.committed_leader_epoch
        asked.committed_offset, asked.committed_leader_epoch = _MARKS
        marked = request.encode(version)
        asked.committed_offset, asked.committed_leader_epoch = given
        pattern = RequestPattern.of(frame, body, marked, _GAP.pack(*_MARKS))
        if pattern is None:
            return
        from oncelog.broker.coordinator.group.environment import Caller  # not needed at a start

        caller = Caller(version, context.session.node_id, context.client_id, context.client_host)
        commit, response = ports.groups.one_commit(request, caller)
        encoded = response.encode(version)
        answer = encode_response_header(ApiKey.OFFSET_COMMIT, version, 0, len(encoded)) + encoded
        self._known[channel] = _CommitPattern(pattern, commit, answer[:4], answer[8:], version)

    def _answer(self, known: _CommitPattern, buffer: bytearray, start: int, now_ms: int) -> list[Part] | None:
        ports = self._ports
        if known.commit.request.group_id in ports.commit_order:
            return None
        offset, leader_epoch = _GAP.unpack_from(buffer, start + known.pattern.gap_at)
        if not ports.groups.commit_again(known.commit, offset, leader_epoch, now_ms):
            return None
        correlation_id = bytes(buffer[start + CORRELATION_AT : start + CORRELATION_AT + 4])
        return [known.size + correlation_id + known.answer]
