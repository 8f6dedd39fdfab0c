"""OffsetCommits that differ from an earlier one of their connection only in offset, leader epoch and correlation id.

Called by ``Broker`` for complete requests in a connection's buffer. A pattern is learned from a commit of one
partition, in a flexible version, that the general path (``apis/groups/offset_commit.py``) has accepted: its bytes and
its answer. A request that matches a pattern is handled without decoding it; any other is left to the general path. The
group's permission is checked each time. A pattern is dropped when topics, settings or permissions change
(``Broker.forget_patterns``). A property test compares both paths.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.session import Channel
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.repeated import CORRELATION_AT, RequestPattern
from oncelog.types import CONSUMER_OFFSETS_TOPIC

if TYPE_CHECKING:
    from oncelog.broker.coordinator.group.group_coordinator import GroupCoordinator
    from oncelog.broker.coordinator.group.offset_requests import OneCommit
    from oncelog.broker.core.requests.request_metrics import RequestMetrics
    from oncelog.broker.core.storage.flushing import Flushing
    from oncelog.protocol.generated.offset_commit_request import OffsetCommitRequest
    from oncelog.protocol.struct_fields import Buffer

FIRST_FLEXIBLE: Final = 8
LEARNED_IN_VAIN: Final = 8
"""After this many consecutive commits that matched no pattern, no more patterns are learned from the connection."""
_GAP: Final = Struct(">qi")
_MARKS: Final = (-0x5A5A_0001_7E57_0006, -0x5A5A_0007)


class _CommitPattern(NamedTuple):
    """The pattern of a commit: the bytes before and after the offset, the answer without its correlation id, and the
    version."""

    pattern: RequestPattern
    groups: GroupCoordinator
    commit: OneCommit
    size: bytes
    answer: bytes
    version: int


class RepeatedCommitPorts(Protocol):
    """The interface that a repeated commit needs from the broker."""

    @property
    def groups(self) -> GroupCoordinator: ...

    flushing: Flushing
    request_metrics: RequestMetrics | None


class RepeatedCommits:
    """Handles repeated commits, with the patterns of all connections of one broker, one pattern for each connection."""

    def __init__(self, ports: RepeatedCommitPorts) -> None:
        self._ports = ports
        self._known: dict[Channel, _CommitPattern] = {}
        self._in_vain: dict[Channel, int] = {}

    def forget(self, channel: Channel | None = None) -> None:
        """Drop the pattern of ``channel``, or all of them."""
        if channel is None:
            self._known.clear()
            self._in_vain.clear()
        else:
            self._known.pop(channel, None)
            self._in_vain.pop(channel, None)

    def learn(self, context: RequestContext, request: OffsetCommitRequest, frame: Buffer, body: int) -> None:
        """Learn the pattern of a commit that was just accepted, if the next commit may match it."""
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
        # imported here, because a start of the broker does not need it
        from oncelog.broker.coordinator.group.environment import Caller

        caller = Caller(version, context.session.node_id, context.client_id, context.client_host)
        groups = ports.groups
        commit, response = groups.one_commit(request, caller)
        encoded = response.encode(version)
        answer = encode_response_header(ApiKey.OFFSET_COMMIT, version, 0, len(encoded)) + encoded
        self._known[channel] = _CommitPattern(pattern, groups, commit, answer[:4], answer[8:], version)

    def receive(self, channel: Channel, slot: int, buffer: bytearray, start: int, end: int, now_ms: int) -> int:
        """Answer the request at ``buffer[start:end]``; returns the position after the request, or ``start`` to leave
        the request to the general path.
        """
        known = self._known.get(channel)
        if known is None:
            return start
        pattern, groups, commit, size, answer, version = known
        after = pattern.end(buffer, start, end)
        if after == start:
            return start
        requests = self._ports.request_metrics
        begun_ns = requests.clock() if requests is not None else 0
        offset, leader_epoch = _GAP.unpack_from(buffer, start + pattern.gap_at)
        if not groups.commit_again(commit, offset, leader_epoch, now_ms):
            return start
        self._in_vain[channel] = 0
        if requests is not None:
            requests.handled_and_answered(ApiKey.OFFSET_COMMIT, version, requests.clock() - begun_ns, None)
        correlation_id = buffer[start + CORRELATION_AT : start + CORRELATION_AT + 4]
        channel.reply(slot, (b"".join((size, correlation_id, answer)),))
        return after

    def _may_learn(self, channel: Channel) -> bool:
        """Whether to learn another pattern, which counts as learned in vain until a request matches it."""
        in_vain = self._in_vain.get(channel, 0)
        if in_vain >= LEARNED_IN_VAIN:
            return False
        self._in_vain[channel] = in_vain + 1
        return True
