"""Features as clients see and change them, the quorum, and requests that need SASL; expected answers are Apache
Kafka 4.4.0's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.consumer_group_describe_request import ConsumerGroupDescribeRequest
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.create_delegation_token_request import CreateDelegationTokenRequest
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.describe_delegation_token_request import DescribeDelegationTokenRequest
from oncelog.protocol.generated.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from oncelog.protocol.generated.expire_delegation_token_request import ExpireDelegationTokenRequest
from oncelog.protocol.generated.renew_delegation_token_request import RenewDelegationTokenRequest
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.generated.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tests.unit.broker.core.conftest import NOW_MS, Admin

GROUP, SHARE, TRANSACTION = "group.version", "share.version", "transaction.version"
UPGRADE, SAFE = 1, 2
INVALID_UPDATE_VERSION, UNSUPPORTED_VERSION, ILLEGAL_SASL_STATE, NO_TOKEN = 95, 35, 34, 64


def finalized(admin: Admin, version: int = 4) -> tuple[int, dict[str, int]]:
    """The epoch and the levels."""
    answer = admin.ask(ApiVersionsRequest("test", "1"), version)
    assert all(row.min_version_level == row.max_version_level for row in answer.finalized_features)
    return answer.finalized_features_epoch, {row.name: row.max_version_level for row in answer.finalized_features}


def update(admin: Admin, *wanted: tuple[str, int, int], version: int = 2, validate_only: bool = False) -> Any:
    keys = [FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=how) for name, level, how in wanted]
    return admin.ask(UpdateFeaturesRequest(feature_updates=keys, validate_only=validate_only), version)


def test_describe_features_reports_every_level_except_level_0(admin: Admin) -> None:
    assert finalized(admin) == (0, {GROUP: 1, SHARE: 2, TRANSACTION: 2})
    assert update(admin, (TRANSACTION, 1, SAFE)).error_code == 0
    epoch, levels = finalized(admin)
    assert levels == {GROUP: 1, SHARE: 2, TRANSACTION: 1}
    assert update(admin, (TRANSACTION, 0, SAFE)).error_code == 0
    assert finalized(admin, 3)[1] == {GROUP: 1, SHARE: 2}
    assert finalized(admin)[0] > epoch > 0


@pytest.mark.parametrize("version", [4, 5])
def test_a_client_that_addresses_another_node_must_rebootstrap(admin: Admin, version: int) -> None:
    """KIP-1242, as in Apache Kafka 4.4.0: a node alone says nothing; older versions cannot say it."""
    cluster = admin.broker.metadata.cluster_id
    asked = {(None, -1): 0, (None, 8): 0, (cluster, 1): 0, (cluster, 8): 129, (cluster, -1): 129, ("other", 1): 129}
    answers = {(meant, node): admin.ask(ApiVersionsRequest("test", "1", meant, node), version) for meant, node in asked}
    found = {key: answer.error_code for key, answer in answers.items()}
    assert found == (asked if version >= 5 else dict.fromkeys(asked, 0))
    assert all(bool(answer.api_keys) is (answer.error_code == 0) for answer in answers.values())


def test_feature_levels_and_their_epoch_survive_a_restart(tmp_path: Path) -> None:
    place, disk = str(tmp_path / "metadata.sqlite"), MemoryDisk()
    first = Admin(place, disk)
    update(first, (GROUP, 0, SAFE), (TRANSACTION, 1, SAFE))
    before = finalized(first)
    first.broker.stop(NOW_MS)
    again = Admin(place, disk)
    assert finalized(again) == before
    assert before[1] == {SHARE: 2, TRANSACTION: 1}
    again.broker.stop(NOW_MS)


def test_validate_only_does_not_change_a_feature(admin: Admin) -> None:
    assert update(admin, (TRANSACTION, 0, SAFE), validate_only=True).error_code == 0
    assert finalized(admin) == (0, {GROUP: 1, SHARE: 2, TRANSACTION: 2})


def test_an_update_with_one_refused_feature_changes_no_feature(admin: Admin) -> None:
    answer = update(admin, (TRANSACTION, 1, SAFE), ("nope", 1, UPGRADE))
    assert answer.error_code == INVALID_UPDATE_VERSION
    assert answer.error_message == (
        "The update failed for all features since the following feature had an error: Invalid update version 1 for "
        "feature nope. Local controller 1 does not support this feature."
    )
    assert answer.results == []
    assert finalized(admin) == (0, {GROUP: 1, SHARE: 2, TRANSACTION: 2})


@pytest.mark.parametrize("version", [0, 1, 2])
def test_in_versions_0_and_1_a_feature_that_is_named_twice_gets_two_results(admin: Admin, version: int) -> None:
    answer = update(admin, (TRANSACTION, 2, UPGRADE), (GROUP, 1, UPGRADE), (TRANSACTION, 2, UPGRADE), version=version)
    assert (answer.error_code, answer.error_message) == (0, None)
    reported = [(result.feature, result.error_code, result.error_message) for result in answer.results]
    named = [(name, 0, "NONE") for name in (TRANSACTION, GROUP, TRANSACTION)]
    assert reported == (named if version < 2 else [])


def test_of_several_levels_for_one_feature_the_last_applies(admin: Admin) -> None:
    assert update(admin, (TRANSACTION, 3, UPGRADE), (TRANSACTION, 1, SAFE)).error_code == 0
    assert finalized(admin)[1][TRANSACTION] == 1
    assert update(admin, (TRANSACTION, 2, UPGRADE), (TRANSACTION, 3, UPGRADE)).error_code == INVALID_UPDATE_VERSION


def test_allow_downgrade_of_version_0_has_no_effect(admin: Admin) -> None:
    key = FeatureUpdateKey(feature=TRANSACTION, max_version_level=1, allow_downgrade=True)
    assert admin.ask(UpdateFeaturesRequest(feature_updates=[key]), 0).error_code == INVALID_UPDATE_VERSION
    assert finalized(admin)[1][TRANSACTION] == 2


def test_an_empty_feature_update_succeeds(admin: Admin) -> None:
    assert update(admin).error_code == 0
    assert finalized(admin)[0] == 0


@pytest.mark.parametrize("version", [0, 1])
def test_at_group_version_0_there_is_no_consumer_protocol(admin: Admin, version: int) -> None:
    update(admin, (GROUP, 0, SAFE))
    beat = admin.ask(ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0), version)
    assert (beat.error_code, beat.error_message, beat.member_id) == (UNSUPPORTED_VERSION, None, None)
    described = admin.ask(ConsumerGroupDescribeRequest(["g", "h"], include_authorized_operations=True), version)
    assert [(group.group_id, group.error_code) for group in described.groups] == [
        ("g", UNSUPPORTED_VERSION),
        ("h", UNSUPPORTED_VERSION),
    ]


def quorum(admin: Admin, *asked: tuple[str, list[int]], version: int = 2) -> Any:
    topics = [TopicData(name, [PartitionData(index) for index in parts]) for name, parts in asked]
    answer = admin.ask(DescribeQuorumRequest(topics), version)
    assert answer.error_code == 0
    return answer


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_quorum_consists_of_this_node(admin: Admin, version: int) -> None:
    answer = quorum(admin, ("__cluster_metadata", [0]), version=version)
    (partition,) = answer.topics[0].partitions
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, 1, 1)
    (voter,) = partition.current_voters
    assert (voter.replica_id, voter.log_end_offset) == (1, partition.high_watermark)
    assert voter.last_caught_up_timestamp == (NOW_MS if version >= 1 else -1)
    listeners = [(node.node_id, [(at.host, at.port) for at in node.listeners]) for node in answer.nodes]
    assert listeners == ([(1, [("broker.example", 9092)])] if version >= 2 else [])


def test_the_high_watermark_of_the_quorum_grows_with_the_metadata(admin: Admin) -> None:
    def high_watermark() -> int:
        value: int = quorum(admin, ("__cluster_metadata", [0])).topics[0].partitions[0].high_watermark
        return value

    before = high_watermark()
    assert before == high_watermark()
    admin.ask(CreateTopicsRequest([CreatableTopic("t", 2, 1, [], [])], 1000, False), 7)
    assert high_watermark() == before + 1


def test_the_leader_epoch_of_the_quorum_grows_with_every_start(tmp_path: Path) -> None:
    place, disk = str(tmp_path / "metadata.sqlite"), MemoryDisk()
    epochs = []
    for _ in range(3):
        admin = Admin(place, disk)
        epochs.append(quorum(admin, ("__cluster_metadata", [0])).topics[0].partitions[0].leader_epoch)
        admin.broker.stop(NOW_MS)
    assert epochs == [1, 2, 3]


@pytest.mark.parametrize(
    "asked",
    [
        [("x", [0])],
        [("__cluster_metadata", [1])],
        [("__cluster_metadata", [0, 0])],
        [("__cluster_metadata", [0]), ("x", [0])],
        [("__cluster_metadata", [0]), ("__cluster_metadata", [0])],
        [("__cluster_metadata", [])],
        [],
    ],
)
def test_only_the_metadata_partition_has_a_quorum(admin: Admin, asked: list[tuple[str, list[int]]]) -> None:
    answer = quorum(admin, *asked)
    reported = [
        (topic.topic_name, [(part.partition_index, part.error_code) for part in topic.partitions])
        for topic in answer.topics
    ]
    assert reported == [(name, [(index, 3) for index in parts]) for name, parts in asked]
    assert answer.nodes == []


@pytest.mark.parametrize("version", [0, 1, 2])
def test_sasl_requests_on_an_authenticated_connection_are_refused(admin: Admin, version: int) -> None:
    answer = admin.ask(SaslAuthenticateRequest(b"\0user\0password"), version)
    assert answer.error_code == ILLEGAL_SASL_STATE
    assert answer.error_message == "SaslAuthenticate request received after successful authentication"
    if version < 2:
        handshake = admin.ask(SaslHandshakeRequest("PLAIN"), version)
        assert (handshake.error_code, handshake.mechanisms) == (ILLEGAL_SASL_STATE, [])


@pytest.mark.parametrize("version", [1, 2, 3])
def test_no_delegation_tokens_exist(admin: Admin, version: int) -> None:
    created = admin.ask(CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1), version)
    assert (created.error_code, created.principal_type, created.principal_name) == (NO_TOKEN, "User", "ANONYMOUS")
    asker = created.token_requester_principal_type, created.token_requester_principal_name
    assert asker == (("User", "ANONYMOUS") if version >= 3 else ("", ""))
    assert (created.issue_timestamp_ms, created.expiry_timestamp_ms, created.max_timestamp_ms) == (-1, -1, -1)
    assert admin.ask(DescribeDelegationTokenRequest(None), version).error_code == NO_TOKEN
    if version < 3:
        renewed = admin.ask(RenewDelegationTokenRequest(b"h", 5), version)
        expired = admin.ask(ExpireDelegationTokenRequest(b"h", 5), version)
        assert (renewed.error_code, renewed.expiry_timestamp_ms) == (NO_TOKEN, -1)
        assert (expired.error_code, expired.expiry_timestamp_ms) == (NO_TOKEN, -1)
