"""OffsetCommits that differ from an earlier one of their connection in offset, leader epoch and correlation id only.

Called by :class:`~oncelog.broker.broker.Broker` for requests that lie whole in a connection's buffer. What is kept of
a commit that went the general way (``apis/offset_commit.py``) and was taken in are its bytes and its answer. Only a
commit of one partition, in a flexible version, is remembered; who may commit is asked of the group each time, and where
that, or anything else, is not as it was, the general way sees the request from its first byte. A property test holds
both together. What is remembered is forgotten where anything changes that it was learned from
(``Broker.forget_routes``).
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from oncelog.broker.context import Channel, RequestContext
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.repeated import CORRELATION_AT, RequestPattern

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker
    from oncelog.coordinator.group.offset_requests import OneCommit
    from oncelog.protocol.generated.offset_commit_request import OffsetCommitRequest

FIRST_FLEXIBLE: Final = 8
LEARNED_IN_VAIN: Final = 8
"""A connection none of whose commits was like an earlier one for so long is not looked at any more."""
_GAP: Final = Struct(">qi")
_MARKS: Final = (-0x5A5A_0001_7E57_0006, -0x5A5A_0007)


class _Known(NamedTuple):
    """A commit without its offset, its answer around the correlation id, and which version it has."""

    pattern: RequestPattern
    commit: OneCommit
    size: bytes
    answer: bytes
    version: int


class RepeatedCommits:
    """What is remembered of all connections of one broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._known: dict[Channel, _Known] = {}
        self._in_vain: dict[Channel, int] = {}

    def forget(self, channel: Channel | None = None) -> None:
        """Commits must be learned anew: that of ``channel``, or all."""
        if channel is None:
            self._known.clear()
            self._in_vain.clear()
        else:
            self._known.pop(channel, None)
            self._in_vain.pop(channel, None)

    def learn(self, context: RequestContext, request: OffsetCommitRequest, frame: memoryview, body: int) -> None:
        """Remember a commit that was just taken in, if the next one may be like it."""
        version, channel, broker = context.api_version, context.channel, self._broker
        if version < FIRST_FLEXIBLE or len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
            return
        in_vain = self._in_vain.get(channel, 0)
        if broker.flushing.before_commit or in_vain >= LEARNED_IN_VAIN:
            return  # an answer that has to wait is the general way's
        self._in_vain[channel] = in_vain + 1
        asked = request.topics[0].partitions[0]
        given = asked.committed_offset, asked.committed_leader_epoch
        asked.committed_offset, asked.committed_leader_epoch = _MARKS
        marked = request.encode(version)
        asked.committed_offset, asked.committed_leader_epoch = given
        pattern = RequestPattern.of(frame, body, marked, _GAP.pack(*_MARKS))
        if pattern is None:
            return
        from oncelog.coordinator.group.environment import Caller  # which a start does not need

        caller = Caller(version, context.client_id, context.client_host)
        commit, response = broker.groups.one_commit(request, caller)
        encoded = response.encode(version)
        answer = encode_response_header(ApiKey.OFFSET_COMMIT, version, 0, len(encoded)) + encoded
        self._known[channel] = _Known(pattern, commit, answer[:4], answer[8:], version)

    def receive(self, channel: Channel, slot: int, buffer: bytearray, start: int, end: int, now_ms: int) -> int:
        """Carry out the commit at ``buffer[start:end]``; where it ends, ``start`` where the general way has to."""
        known = self._known.get(channel)
        if known is None:
            return start
        pattern = known.pattern
        after = pattern.end(buffer, start, end)
        if after == start:
            return start
        broker = self._broker
        requests = broker.requests
        begun_ns = requests.clock() if requests is not None else 0
        broker.settle(now_ms)
        offset, leader_epoch = _GAP.unpack_from(buffer, start + pattern.gap_at)
        if not broker.groups.commit_again(known.commit, offset, leader_epoch, now_ms):
            return start
        self._in_vain[channel] = 0
        if requests is not None:
            local_ns = requests.clock() - begun_ns
            requests.handled(ApiKey.OFFSET_COMMIT, known.version, local_ns)
            requests.answered(ApiKey.OFFSET_COMMIT, local_ns, local_ns, None)
        correlation_id = bytes(buffer[start + CORRELATION_AT : start + CORRELATION_AT + 4])
        channel.reply(slot, [known.size + correlation_id + known.answer])
        return after
