"""What the handlers of group requests add to the coordinator: topics that exist, and the shapes of old versions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.broker.core.registry import handler_for
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.session import Session
from oncelog.broker.metadata import features
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.generated.leave_group_request import LeaveGroupRequest
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest
from oncelog.protocol.generated.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from oncelog.protocol.struct_fields import ZERO_UUID
from tests.support.group_host import GroupClient, MemoryGroupHost
from tests.support.handler_ports import HandlerPorts


class FakeBroker(HandlerPorts):
    """As much of a broker as the handlers need."""

    def __init__(self) -> None:
        self.host = MemoryGroupHost({"t": 2})
        super().__init__(self.host.now_ms)
        self.metadata = SimpleNamespace(
            topic=self.topic, topic_by_id=self.topic_by_id, finalized_features=features.HIGHEST
        )

    @property
    def now_ms(self) -> int:
        return self.host.now_ms

    @property
    def groups(self) -> object:
        return self.host.coordinator

    def topic(self, name: str) -> object:
        partitions = self.host.topic_partitions(name)
        topic_id = self.host.id_of(name)
        return None if partitions is None else SimpleNamespace(name=name, partitions=partitions, topic_id=topic_id)

    def topic_by_id(self, topic_id: bytes) -> object:
        name = self.host.topic_name(topic_id)
        return None if name is None else self.topic(name)


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker()


@pytest.mark.parametrize(("version", "name"), [(0, ""), (6, ""), (7, None), (9, None)])
def test_a_refused_join_has_an_empty_or_null_protocol_name_by_version(
    broker: FakeBroker, version: int, name: str | None
) -> None:
    request = JoinGroupRequest("", 10_000, -1, "", None, "consumer", [JoinGroupRequestProtocol("range", b"")])
    answer = broker.ask(request, version)
    assert (answer.error_code, answer.protocol_name) == (Error.INVALID_GROUP_ID, name)


def test_in_version_0_the_session_timeout_is_the_rebalance_timeout(broker: FakeBroker) -> None:
    request = JoinGroupRequest("g", 7000, -1, "", None, "consumer", [JoinGroupRequestProtocol("range", b"")])
    context = RequestContext(SimpleNamespace(client_host="h", session=Session()), 0, 11, 0, 1, "c", broker.host.now_ms)  # type: ignore[arg-type]
    handler_for(ApiKey.JOIN_GROUP)(broker, context, request)
    (member,) = broker.host.shard("g").groups["g"].members.values()
    assert member.rebalance_timeout_ms == 7000  # type: ignore[union-attr]
    assert member.client_host == "/h"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_before_version_3_a_leaving_members_error_is_the_top_level_error(broker: FakeBroker, version: int) -> None:
    (member,) = GroupClient(broker.host).stable(1)
    assert broker.ask(LeaveGroupRequest("g", "stranger"), version).error_code == Error.UNKNOWN_MEMBER_ID
    assert broker.ask(LeaveGroupRequest("absent", member), version).error_code == Error.UNKNOWN_MEMBER_ID
    assert broker.ask(LeaveGroupRequest("g", member), version).error_code == Error.NONE
    assert broker.host.shard("g").groups["g"].empty


def test_sync_group_from_version_5_on_must_name_the_protocol(broker: FakeBroker) -> None:
    assert broker.ask(SyncGroupRequest("g", 1, "m"), 5).error_code == Error.INCONSISTENT_GROUP_PROTOCOL
    assert broker.ask(SyncGroupRequest("g", 1, "m"), 4).error_code == Error.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", [2, 9, 10])
def test_a_commit_stores_offsets_of_existing_partitions_and_refuses_others(broker: FakeBroker, version: int) -> None:
    def topic(name: str, *partitions: int) -> OffsetCommitRequestTopic:
        rows = [OffsetCommitRequestPartition(p, 5) for p in partitions]
        by_id = version >= 10
        return OffsetCommitRequestTopic("" if by_id else name, broker.host.id_of(name) if by_id else ZERO_UUID, rows)

    answer = broker.ask(OffsetCommitRequest("g", topics=[topic("t", 0, 7), topic("gone", 0)]), version)
    by_topic = {t.topic_id if version >= 10 else t.name: t.partitions for t in answer.topics}
    known, unknown = (broker.host.id_of("t"), broker.host.id_of("gone")) if version >= 10 else ("t", "gone")
    assert {p.partition_index: p.error_code for p in by_topic[known]} == {0: 0, 7: Error.UNKNOWN_TOPIC_OR_PARTITION}
    missing = Error.UNKNOWN_TOPIC_ID if version >= 10 else Error.UNKNOWN_TOPIC_OR_PARTITION
    assert [p.error_code for p in by_topic[unknown]] == [missing]
    assert GroupClient(broker.host).offset() == 5
    only = broker.ask(OffsetCommitRequest("h", topics=[topic("gone", 0)]), version)
    assert [p.error_code for t in only.topics for p in t.partitions] == [missing]
    assert "h" not in broker.host.shard("h").groups


@pytest.mark.parametrize(("version", "loading"), [(1, 15), (2, 14)])
def test_early_versions_of_transactional_commits_get_another_loading_error(
    broker: FakeBroker, version: int, loading: int
) -> None:
    rows = [
        TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(p, 5) for p in (0, 9)]),
        TxnOffsetCommitRequestTopic("gone", partitions=[TxnOffsetCommitRequestPartition(0, 5)]),
    ]
    request = TxnOffsetCommitRequest("x", "g", 1, 0, topics=rows)
    answer = broker.ask(request, version)
    assert {(t.name, p.partition_index): p.error_code for t in answer.topics for p in t.partitions} == {
        ("t", 0): 0,
        ("t", 9): 3,
        ("gone", 0): 3,
    }
    broker.host.append_error = Error.NETWORK_EXCEPTION
    answer = broker.ask(request, version)
    assert answer.topics[0].partitions[0].error_code == loading


def txn_commit(broker: FakeBroker, names: dict[str, list[int]], version: int, **member: Any) -> dict[Any, list[int]]:
    """The errors of each topic, by name or id as the version has it."""
    rows = [
        TxnOffsetCommitRequestTopic(
            name, broker.host.id_of(name), [TxnOffsetCommitRequestPartition(index, 5) for index in indexes]
        )
        for name, indexes in names.items()
    ]
    answer = broker.ask(TxnOffsetCommitRequest("x", "g", 1, 0, topics=rows, **member), version)
    assert all((topic.topic_id == ZERO_UUID) is (version < 6) for topic in answer.topics)
    errors = {}
    for topic in answer.topics:
        errors[topic.topic_id if version >= 6 else topic.name] = [p.error_code for p in topic.partitions]
    return errors


@pytest.mark.parametrize("version", [5, 6])
def test_a_transactional_commit_stores_offsets_of_existing_partitions_and_refuses_others(
    broker: FakeBroker, version: int
) -> None:
    """KIP-1319: topics by id from version 6 on."""
    by_id = version >= 6
    known, gone = (broker.host.id_of("t"), broker.host.id_of("gone")) if by_id else ("t", "gone")
    missing = Error.UNKNOWN_TOPIC_ID if by_id else Error.UNKNOWN_TOPIC_OR_PARTITION
    assert txn_commit(broker, {"t": [0, 9], "gone": [0]}, version) == {
        known: [0, Error.UNKNOWN_TOPIC_OR_PARTITION],
        gone: [missing],
    }
    assert txn_commit(broker, {"gone": [3]}, version) == {gone: [missing]}


def test_a_transactional_commit_of_version_6_without_topic_ids_is_refused(broker: FakeBroker) -> None:
    rows = [TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, 5)])]
    answer = broker.ask(TxnOffsetCommitRequest("x", "g", 1, 0, topics=rows), 6)
    assert [(t.topic_id, [p.error_code for p in t.partitions]) for t in answer.topics] == [
        (ZERO_UUID, [Error.UNKNOWN_TOPIC_ID])
    ]


@pytest.mark.parametrize(("version", "error"), [(5, Error.ILLEGAL_GENERATION), (6, Error.GROUP_ID_NOT_FOUND)])
def test_a_transactional_commit_for_a_missing_group_is_accepted_or_refused_by_generation(
    broker: FakeBroker, version: int, error: Error
) -> None:
    member = {"member_id": "m", "generation_id_or_member_epoch": 3}
    assert list(txn_commit(broker, {"t": [0]}, version, **member).values()) == [[error]]
    assert list(txn_commit(broker, {"t": [0]}, version).values()) == [[Error.NONE]]


@pytest.mark.parametrize("version", [5, 6])
def test_members_of_the_classic_protocol_have_generations_in_every_version(broker: FakeBroker, version: int) -> None:
    (member,) = GroupClient(broker.host).stable(1)
    errors = {1: Error.NONE, 7: Error.ILLEGAL_GENERATION}
    for generation, error in errors.items():
        given = {"member_id": member, "generation_id_or_member_epoch": generation}
        assert list(txn_commit(broker, {"t": [0]}, version, **given).values()) == [[error]]
    stranger = {"member_id": "stranger", "generation_id_or_member_epoch": 1}
    assert list(txn_commit(broker, {"t": [0]}, version, **stranger).values()) == [[Error.UNKNOWN_MEMBER_ID]]


@pytest.mark.parametrize(("version", "stale"), [(5, Error.ILLEGAL_GENERATION), (6, Error.STALE_MEMBER_EPOCH)])
def test_members_of_the_consumer_protocol_have_epochs_from_version_6_on(
    broker: FakeBroker, version: int, stale: Error
) -> None:
    joined = broker.ask(ConsumerGroupHeartbeatRequest("g", "m", 0, None, None, 1000, ["t"], None, None, []), 1)
    for epoch, error in {joined.member_epoch: Error.NONE, 7: stale}.items():
        given = {"member_id": "m", "generation_id_or_member_epoch": epoch}
        assert list(txn_commit(broker, {"t": [0]}, version, **given).values()) == [[error]]
    stranger = {"member_id": "stranger", "generation_id_or_member_epoch": joined.member_epoch}
    assert list(txn_commit(broker, {"t": [0]}, version, **stranger).values()) == [[Error.UNKNOWN_MEMBER_ID]]


def test_fetched_offsets_are_encoded_for_the_requested_version(broker: FakeBroker) -> None:
    g = GroupClient(broker.host)
    g.commit(5, metadata="m")
    for version in range(1, 8):
        answer = broker.ask(OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0, 1])]), version)
        rows = answer.topics[0].partitions
        assert [(p.committed_offset, p.metadata, p.error_code) for p in rows] == [(5, "m", 0), (-1, "", 0)]
        if version >= 2:
            assert len(broker.ask(OffsetFetchRequest("g", None), version).topics[0].partitions) == 1
    groups = [OffsetFetchRequestGroup(group, topics=None) for group in ("g", "absent")]
    answer = broker.ask(OffsetFetchRequest(groups=groups), 8)
    assert [(g.group_id, len(g.topics)) for g in answer.groups] == [("g", 1), ("absent", 0)]
    t, gone = broker.host.id_of("t"), broker.host.id_of("gone")
    asked = [OffsetFetchRequestTopics("", topic_id, [0]) for topic_id in (t, gone)]
    answer = broker.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=asked)]), 10)
    found = {
        x.topic_id: (x.partitions[0].committed_offset, x.partitions[0].error_code) for x in answer.groups[0].topics
    }
    assert found == {t: (5, 0), gone: (-1, Error.UNKNOWN_TOPIC_ID)}
    answer = broker.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)]), 10)
    assert [x.topic_id for x in answer.groups[0].topics] == [t]


def test_offset_fetch_reports_a_group_error_for_each_partition_in_version_1_and_at_top_level_later(
    broker: FakeBroker,
) -> None:
    broker.host.unload()
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0, 1])])
    answer = broker.ask(request, 1)
    assert [p.error_code for p in answer.topics[0].partitions] == [Error.NOT_COORDINATOR] * 2
    assert broker.ask(request, 2).error_code == Error.NOT_COORDINATOR
    grouped = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)])
    assert broker.ask(grouped, 8).groups[0].error_code == Error.NOT_COORDINATOR


def test_offsets_of_partitions_that_do_not_exist_are_not_deleted(broker: FakeBroker) -> None:
    GroupClient(broker.host).commit(5)
    rows = [
        OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(p) for p in (0, 9)]),
        OffsetDeleteRequestTopic("gone", [OffsetDeleteRequestPartition(0)]),
    ]
    answer = broker.ask(OffsetDeleteRequest("g", rows), 0)
    assert {(t.name, p.partition_index): p.error_code for t in answer.topics for p in t.partitions} == {
        ("t", 0): 0,
        ("t", 9): 3,
        ("gone", 0): 3,
    }
    assert broker.ask(OffsetDeleteRequest("absent", rows), 0).error_code == Error.GROUP_ID_NOT_FOUND


def test_authorized_operations_of_a_group_are_reported_on_request(broker: FakeBroker) -> None:
    GroupClient(broker.host).stable(1)
    GroupClient(broker.host, "k").beat("a", 0)
    assert broker.ask(DescribeGroupsRequest(["g"], True), 5).groups[0].authorized_operations == 3400
    assert broker.ask(DescribeGroupsRequest(["g"]), 5).groups[0].authorized_operations == -(2**31)
    described = broker.ask(ConsumerGroupDescribeRequest(["k", "g"], True), 1).groups
    assert [d.authorized_operations for d in described] == [3400, -(2**31)]
