"""The clock is set while a request is in progress: whatever starts late in it lasts as long as intended."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oncelog.broker.core.broker import Broker
from oncelog.errors import Error
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.heartbeat_response import HeartbeatResponse
from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.generated.join_group_response import JoinGroupResponse
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest
from oncelog.protocol.wire import Message
from oncelog.types import CONSUMER_OFFSETS_TOPIC
from tests.support.frames import encode_request
from tests.support.work import Ticks
from tests.unit.broker.core.conftest import NOW_MS, Admin
from tests.unit.broker.core.limits.test_long_requests import Peer

HOUR_MS = 3_600_000
PARTITIONS = 1000


def ask(broker: Broker, request: Message, version: int, meanwhile: Callable[[], None] = lambda: None) -> bytes:
    """At the broker's own time."""
    peer = Peer()
    sent = bytes(encode_request(request.API_KEY, version, 7, "test", request.encode(version)))[4:]
    broker.receive(peer, 0, memoryview(sent), broker.now_ms)
    meanwhile()
    broker.tasks.finish()
    broker.advance(broker.now_ms + 1)
    (answer,) = peer.answers
    return answer


@pytest.mark.parametrize("step_ms", [HOUR_MS, -HOUR_MS])
def test_a_session_that_begins_after_a_slow_write_has_its_full_lifetime(step_ms: int) -> None:
    """Under ``commit`` an assignment waits for the disk, and its members' sessions begin when it is stored."""
    settings = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
    made = Admin(work_clock=Ticks(), **settings, **{"oncelog.flush.policy": "commit"})
    broker = made.broker
    broker.topics.ensure_internal(CONSUMER_OFFSETS_TOPIC, NOW_MS)
    broker.now_ms = NOW_MS

    def sync() -> None:
        while broker.flushing.wanted and (job := broker.flushing.take(broker.now_ms)) is not None:
            broker.flushing.done(job, job.sync(), broker.now_ms)

    def alive() -> int:
        return HeartbeatResponse.decode(ask(broker, HeartbeatRequest("g", 1, member), 3, sync), 3, 8).error_code

    def set_and_sync() -> None:
        broker.clock_was_set(step_ms)
        sync()

    joining = JoinGroupRequest("g", 60_000, 60_000, "", None, "consumer", [JoinGroupRequestProtocol("range", b"")])
    member = JoinGroupResponse.decode(ask(broker, joining, 3, sync), 3, 8).member_id
    ask(broker, SyncGroupRequest("g", 1, member, assignments=[]), 3, set_and_sync)
    broker.advance(broker.now_ms + 59_000)
    assert alive() == Error.NONE
    broker.advance(broker.now_ms + 61_000)
    assert alive() == Error.UNKNOWN_MEMBER_ID
    made.broker.stop(broker.now_ms)
