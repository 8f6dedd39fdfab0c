"""What a fetch answers for a partition that it may not read from, in every version."""

from __future__ import annotations

import pytest

from oncelog.broker.apis.registry import SERVED
from oncelog.errors import Error
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tests.unit.broker.apis_admin.conftest import NOW_MS, Admin


@pytest.mark.parametrize("version", range(9, SERVED[1].high + 1))
@pytest.mark.parametrize(("epoch", "error"), [(-2, Error.NONE), (0, Error.NONE), (1, Error.UNKNOWN_LEADER_EPOCH)])
def test_a_leader_epoch_that_is_not_current_is_refused(version: int, epoch: int, error: Error) -> None:
    """KIP-320, as in Apache Kafka 4.3.1: a negative epoch requests no check, and the answer names no leader."""
    admin = Admin()
    info = admin.broker.topics.create("orders", 1, {}, NOW_MS)
    topic = FetchTopic(partitions=[FetchPartition(0, current_leader_epoch=epoch, fetch_offset=0)])
    if version < 13:
        topic.topic = "orders"
    else:
        topic.topic_id = info.topic_id
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic], session_epoch=-1)
    (answer,) = admin.ask(request, version).responses[0].partitions
    assert answer.error_code == error
    assert answer.current_leader.leader_id == -1
    admin.broker.stop(NOW_MS)
