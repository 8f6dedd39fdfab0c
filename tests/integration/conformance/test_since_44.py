"""Rules that Apache Kafka 4.4 changed, on it and on our broker; older releases answer otherwise."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterator

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch, record
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.errors import Error
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tests.integration.conformance.nodes import running_node

SETTINGS = {"group.consumer.max.size": "3", "group.consumer.assignment.interval.ms": "0"}
MAX_RECORD_BYTES = 1000
BESIDE_VALUE_BYTES = 7
"""Attributes, deltas of timestamp and offset, no key, the value's length in two bytes, no header."""
GZIP = 1
ids = itertools.count()


@pytest.fixture(scope="module", params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def connection(request: pytest.FixtureRequest) -> Iterator[RawConnection]:
    with running_node(request.param, SETTINGS) as node, RawConnection(node.bootstrap_servers) as opened:
        opened.create_topic("t", 2)
        group = FindCoordinatorRequest(coordinator_keys=["any"])
        eventually(lambda: opened.ask(group, 4).coordinators[0].error_code == Error.NONE)
        eventually(lambda: beat(opened, "any", new_id(), 0).error_code == Error.NONE)
        yield opened


def new_id() -> str:
    return f"member-{next(ids)}"


def beat(
    connection: RawConnection,
    group: str,
    member_id: str,
    epoch: int,
    *,
    instance_id: str | None = None,
    assignor: str | None = None,
) -> ConsumerGroupHeartbeatResponse:
    joins = epoch == 0
    answer: ConsumerGroupHeartbeatResponse = connection.ask(
        ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=instance_id,
            rebalance_timeout_ms=60_000 if joins else -1,
            subscribed_topic_names=["t"] if joins else None,
            server_assignor=assignor,
            topic_partitions=[] if joins else None,
        ),
        1,
    )
    return answer


def group_epoch(connection: RawConnection, group: str) -> int:
    epoch: int = connection.ask(ConsumerGroupDescribeRequest(group_ids=[group]), 1).groups[0].group_epoch
    return epoch


def test_a_static_member_comes_back_to_a_full_group(connection: RawConnection, unique_name: str) -> None:
    first = new_id()
    for member_id, instance_id in ((first, "i"), (new_id(), "j"), (new_id(), None)):
        assert beat(connection, unique_name, member_id, 0, instance_id=instance_id).error_code == Error.NONE
    full = Error.GROUP_MAX_SIZE_REACHED
    assert beat(connection, unique_name, new_id(), 0, instance_id="k").error_code == full
    assert beat(connection, unique_name, new_id(), 0).error_code == full
    taken = Error.UNRELEASED_INSTANCE_ID
    assert beat(connection, unique_name, new_id(), 0, instance_id="i").error_code == taken
    assert beat(connection, unique_name, first, -2, instance_id="i").error_code == Error.NONE
    assert beat(connection, unique_name, new_id(), 0, instance_id="i").error_code == Error.NONE


@pytest.mark.parametrize("before", ["uniform", None], ids=["uniform", "none"])
def test_a_group_that_elects_another_assignor_starts_a_new_epoch(
    connection: RawConnection, unique_name: str, before: str | None
) -> None:
    member_id = new_id()
    epoch = beat(connection, unique_name, member_id, 0, assignor=before).member_epoch
    assert beat(connection, unique_name, member_id, epoch, assignor="uniform").member_epoch == epoch
    assert beat(connection, unique_name, member_id, epoch, assignor="range").member_epoch == epoch + 1
    assert group_epoch(connection, unique_name) == epoch + 1


def test_a_vote_for_the_same_assignor_starts_no_new_epoch(connection: RawConnection, unique_name: str) -> None:
    for _ in range(2):
        beat(connection, unique_name, new_id(), 0, assignor="uniform")
    third = new_id()
    epoch = beat(connection, unique_name, third, 0, assignor="uniform").member_epoch
    beat(connection, unique_name, third, epoch, assignor="range")
    assert group_epoch(connection, unique_name) == epoch


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\1\0\0"], ids=["empty", "cut-off", "without-topics"])
def test_an_unreadable_subscription_is_refused_as_an_inconsistent_protocol(
    connection: RawConnection, unique_name: str, metadata: bytes
) -> None:
    beat(connection, unique_name, new_id(), 0)
    request = JoinGroupRequest(
        group_id=unique_name,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", metadata)],
    )
    request.member_id = connection.ask(request, 9).member_id
    assert connection.ask(request, 9).error_code == Error.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("stored", ["producer", "gzip", "uncompressed"])
def test_a_compressed_batch_has_no_record_above_max_decompressed_message_bytes(
    connection: RawConnection, unique_name: str, stored: str
) -> None:
    connection.create_topic(unique_name, 1, max_decompressed_message_bytes=MAX_RECORD_BYTES, compression_type=stored)

    def answer(size_bytes: int, attributes: int) -> int:
        records = record(b"v" * (size_bytes - BESIDE_VALUE_BYTES))
        packed = gzip.compress(records) if attributes else records
        error: int = connection.produce(unique_name, batch(records=packed, attributes=attributes, count=1)).error
        return error

    assert answer(MAX_RECORD_BYTES, GZIP) == Error.NONE
    assert answer(MAX_RECORD_BYTES + 1, GZIP) == Error.INVALID_RECORD
    assert answer(MAX_RECORD_BYTES + 1, 0) == Error.NONE
