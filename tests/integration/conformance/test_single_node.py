"""What the only node of a cluster says about its quorum, and about SASL and tokens if its listener has no SASL."""

from __future__ import annotations

import pytest
from kafka.admin import KafkaAdminClient

from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated.create_delegation_token_request import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from oncelog.protocol.generated.describe_delegation_token_request import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from oncelog.protocol.generated.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from oncelog.protocol.generated.expire_delegation_token_request import ExpireDelegationTokenRequest
from oncelog.protocol.generated.renew_delegation_token_request import RenewDelegationTokenRequest
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from tests.conftest import RunningBroker

ILLEGAL_SASL_STATE, TOKEN_NOT_ALLOWED, UNKNOWN_TOPIC_OR_PARTITION = 34, 64, 3
METADATA = "__cluster_metadata"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", ""])
@pytest.mark.parametrize("version", [0, 1])
def test_a_sasl_handshake_on_a_plaintext_listener_is_refused_and_the_connection_stays_open(
    connection: RawConnection, version: int, mechanism: str
) -> None:
    for _ in range(2):
        answer = connection.ask(SaslHandshakeRequest(mechanism), version)
        assert (answer.error_code, answer.mechanisms) == (ILLEGAL_SASL_STATE, [])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_sasl_authenticate_on_a_plaintext_listener_is_refused_and_the_connection_stays_open(
    connection: RawConnection, version: int
) -> None:
    for _ in range(2):
        answer = connection.ask(SaslAuthenticateRequest(b"\0user\0password"), version)
        reported = answer.error_code, answer.error_message, answer.auth_bytes, answer.session_lifetime_ms
        message = "SaslAuthenticate request received after successful authentication"
        assert reported == (ILLEGAL_SASL_STATE, message, b"", 0)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_delegation_tokens_are_neither_created_nor_described(connection: RawConnection, version: int) -> None:
    for renewers in ([], [CreatableRenewers("User", "a")]):
        made = connection.ask(CreateDelegationTokenRequest(renewers=renewers, max_lifetime_ms=1000), version)
        assert (made.error_code, made.principal_type, made.principal_name) == (TOKEN_NOT_ALLOWED, "User", "ANONYMOUS")
        asker = made.token_requester_principal_type, made.token_requester_principal_name
        assert asker == (("User", "ANONYMOUS") if version >= 3 else ("", ""))
        assert (made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms) == (-1, -1, -1)
        assert (made.token_id, made.hmac) == ("", b"")
    for owners in (None, [], [DescribeDelegationTokenOwner("User", "a")]):
        shown = connection.ask(DescribeDelegationTokenRequest(owners), version)
        assert (shown.error_code, shown.tokens) == (TOKEN_NOT_ALLOWED, [])


@pytest.mark.parametrize("version", [1, 2])
def test_delegation_tokens_are_neither_renewed_nor_expired(connection: RawConnection, version: int) -> None:
    for request in (RenewDelegationTokenRequest(b"h", 5), ExpireDelegationTokenRequest(b"h", 5)):
        answer = connection.ask(request, version)
        assert (answer.error_code, answer.expiry_timestamp_ms) == (TOKEN_NOT_ALLOWED, -1)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_single_node_leads_the_quorum(connection: RawConnection, version: int) -> None:
    answer = connection.ask(DescribeQuorumRequest([TopicData(METADATA, [PartitionData(0)])]), version)
    assert (answer.error_code, answer.error_message) == (0, "")
    (topic,) = answer.topics
    (partition,) = topic.partitions
    assert (topic.topic_name, partition.partition_index, partition.error_code, partition.error_message) == (
        METADATA,
        0,
        0,
        "",
    )
    assert (partition.leader_id, partition.leader_epoch, partition.observers) == (1, 1, [])
    (voter,) = partition.current_voters
    assert (voter.replica_id, voter.replica_directory_id) == (1, bytes(16))
    assert voter.log_end_offset == partition.high_watermark > 0
    times = voter.last_fetch_timestamp, voter.last_caught_up_timestamp
    assert min(times) > 1_500_000_000_000 if version >= 1 else times == (-1, -1)
    assert [node.node_id for node in answer.nodes] == ([1] if version >= 2 else [])
    assert all(len(node.listeners) == 1 for node in answer.nodes)


@pytest.mark.parametrize(
    "asked",
    [
        [("x", [0])],
        [(METADATA, [1])],
        [(METADATA, [0, 0])],
        [(METADATA, [0]), ("x", [0])],
        [(METADATA, [0]), (METADATA, [0])],
        [(METADATA, [])],
        [],
    ],
)
@pytest.mark.parametrize("version", [0, 1, 2])
def test_only_the_metadata_partition_has_a_quorum(
    connection: RawConnection, version: int, asked: list[tuple[str, list[int]]]
) -> None:
    topics = [TopicData(name, [PartitionData(index) for index in parts]) for name, parts in asked]
    answer = connection.ask(DescribeQuorumRequest(topics), version)
    assert (answer.error_code, answer.error_message, answer.nodes) == (0, "", [])
    message = "This server does not host this topic-partition." if version >= 2 else ""
    reported = [
        (topic.topic_name, [(part.partition_index, part.error_code, part.error_message) for part in topic.partitions])
        for topic in answer.topics
    ]
    expected = [(index, UNKNOWN_TOPIC_OR_PARTITION, message) for index in (0, 1)]
    assert reported == [(name, [expected[index] for index in parts]) for name, parts in asked]


def test_kafka_pythons_admin_describes_the_quorum_and_the_features(broker: RunningBroker) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    try:
        (topic,) = admin.describe_metadata_quorum()["topics"]
        features = admin.describe_features()
    finally:
        admin.close()
    (partition,) = topic["partitions"]
    (voter,) = partition["current_voters"]
    assert (topic["topic_name"], partition["leader_id"], voter["replica_id"]) == (METADATA, 1, 1)
    for name, highest in (("group.version", 1), ("transaction.version", 2)):
        assert (features[name]["supported"], features[name]["finalized"]) == ((0, highest), (highest, highest))
