"""Frames, versions and features: what a client learns before it sends its first record, and what ends its
connection.
"""

from __future__ import annotations

import contextlib
import random
import struct

import pytest

from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.bodies import RawFetchPosition, fetch_body, produce_body
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated import API_VERSIONS
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.api_versions_response import ApiVersionsResponse
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.metadata_response import MetadataResponse
from tests.integration.conformance.nodes import Node
from tests.support.shared_kafka import RunningKafka

API_VERSIONS_KEY = 18

NOT_OFFERED = {
    64: "UnregisterBroker: no Raft quorum here",
    80: "AddRaftVoter: no Raft quorum here",
    81: "RemoveRaftVoter: no Raft quorum here",
    83: "InitializeShareGroupState: between brokers",
    84: "ReadShareGroupState: between brokers",
    85: "WriteShareGroupState: between brokers",
    86: "DeleteShareGroupState: between brokers",
    87: "ReadShareGroupStateSummary: between brokers",
    88: "StreamsGroupHeartbeat: Kafka Streams uses the classic protocol by default",
    89: "StreamsGroupDescribe: as 88",
    93: "StreamsGroupTopologyDescriptionUpdate: as 88",
    94: "UnregisterController: no Raft quorum here",
}
"""APIs of Apache Kafka 4.4.0 that we need not offer, and why."""


def api_versions(
    connection: RawConnection, version: int, name: str = "conformance", software: str = "1.0"
) -> ApiVersionsResponse:
    request = ApiVersionsRequest()
    if version >= 3:
        request.client_software_name, request.client_software_version = name, software
    answer: ApiVersionsResponse = connection.ask(request, version)
    return answer


def ranges(connection: RawConnection) -> dict[int, tuple[int, int]]:
    return {row.api_key: (row.min_version, row.max_version) for row in api_versions(connection, 4).api_keys}


@pytest.fixture
def unaware(connection: RawConnection) -> RawConnection:
    """A connection that has not asked for versions."""
    return connection.another()


@pytest.mark.kafka
def test_every_api_that_we_serve_has_kafkas_versions(oncelog_broker: Node, apache_kafka: RunningKafka) -> None:
    with (
        RawConnection(oncelog_broker.bootstrap_servers) as ours,
        RawConnection(apache_kafka.bootstrap_servers) as theirs,
    ):
        mine, reference = ranges(ours), ranges(theirs)
    different = {
        ApiKey(key).name: (found, reference.get(key)) for key, found in mine.items() if found != reference.get(key)
    }
    assert different == {}


@pytest.mark.kafka
def test_every_api_of_kafka_that_we_lack_is_listed_as_not_offered(
    oncelog_broker: Node, apache_kafka: RunningKafka
) -> None:
    with (
        RawConnection(oncelog_broker.bootstrap_servers) as ours,
        RawConnection(apache_kafka.bootstrap_servers) as theirs,
    ):
        missing = set(ranges(theirs)) - set(ranges(ours))
    assert missing <= set(NOT_OFFERED)


@pytest.mark.kafka
@pytest.mark.parametrize("version", range(6))
def test_the_reported_features_equal_those_of_kafka(
    oncelog_broker: Node, apache_kafka: RunningKafka, version: int
) -> None:
    with (
        RawConnection(oncelog_broker.bootstrap_servers) as ours,
        RawConnection(apache_kafka.bootstrap_servers) as theirs,
    ):
        mine, reference = api_versions(ours, version), api_versions(theirs, version)
    assert mine.error_code == reference.error_code == 0
    assert mine.throttle_time_ms == reference.throttle_time_ms

    def levels(answer: ApiVersionsResponse) -> dict[str, tuple[int, int]]:
        return {
            row.name: (row.min_version_level, row.max_version_level)
            for row in answer.finalized_features
            if row.name in ("transaction.version", "group.version")
        }

    assert levels(mine) == levels(reference)
    known = {row.name: (row.min_version, row.max_version) for row in reference.supported_features}
    for row in mine.supported_features:
        low, high = known[row.name]
        assert row.min_version == low
        assert row.max_version <= high


@pytest.mark.parametrize("version", [6, 9, 32767])
def test_an_unknown_version_of_api_versions_is_answered_in_version_0(unaware: RawConnection, version: int) -> None:
    body = ApiVersionsRequest(client_software_name="x", client_software_version="1").encode(3)
    number = unaware.send(API_VERSIONS_KEY, version, body, flexible=True)
    frame = unaware.receive(number, flexible=False)
    answer = ApiVersionsResponse.decode(frame, 0, 0)
    assert answer.error_code == 35
    (row,) = [row for row in answer.api_keys if row.api_key == API_VERSIONS_KEY]
    assert (row.min_version, row.max_version) == (0, 5)
    assert api_versions(unaware, 3).error_code == 0


@pytest.mark.parametrize(
    ("name", "software", "error"),
    [
        ("ok-name.1", "1.0-x", 0),
        ("", "1.0", 42),
        ("bad name", "1.0", 42),
        ("-x", "1", 42),
        ("x", "1_0", 42),
        ("x", "", 42),
    ],
)
@pytest.mark.parametrize("version", [3, 4])
def test_the_name_of_the_client_software_is_checked(
    unaware: RawConnection, version: int, name: str, software: str, error: int
) -> None:
    assert api_versions(unaware, version, name, software).error_code == error


@pytest.mark.parametrize("key", [0, 1, 2, 3, 8, 9, 10, 11, 22, 24, 25, 26, 28, 32, 61, 65, 66])
def test_an_unsupported_version_ends_the_connection(connection: RawConnection, key: int) -> None:
    for version in (API_VERSIONS[key].highest + 1, 100, -1):
        with connection.another() as other:
            other.send(key, version, bytes(40), flexible=False)
            with pytest.raises(ConnectionClosed):
                other.receive_frame()


@pytest.mark.parametrize("version", [0, 1, 2])
def test_produce_0_to_2_are_offered_and_refused(connection: RawConnection, topic: str, version: int) -> None:
    assert ranges(connection)[0] == (0, 13)
    body = struct.pack(">hi", -1, 1000) + struct.pack(">i", 1) + struct.pack(">h", len(topic)) + topic.encode()
    data = batch(b"a")
    body += struct.pack(">iii", 1, 0, len(data)) + data
    with connection.another() as other:
        other.send(0, version, body, flexible=False)
        with pytest.raises(ConnectionClosed):
            other.receive_frame()
    assert connection.list_offset(topic).offset == 0


@pytest.mark.parametrize("key", [-1, 4, 5, 6, 7, 62, 63, 999, 32767])
def test_an_api_that_does_not_exist_ends_the_connection(connection: RawConnection, key: int) -> None:
    with connection.another() as other:
        other.send(key, 0, bytes(20), flexible=False)
        with pytest.raises(ConnectionClosed):
            other.receive_frame()


def _garbage() -> dict[str, bytes]:
    return {
        "size 0": struct.pack(">i", 0),
        "size negative": struct.pack(">i", -1) + bytes(20),
        "size larger than allowed": struct.pack(">i", 104857601) + bytes(20),
        "size huge": b"\x7f\xff\xff\xff" + bytes(20),
        "an HTTP request": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a TLS hello": bytes.fromhex("16030100f8010000f40303") + bytes(245),
        "header cut off": struct.pack(">ihh", 4, 3, 1),
        "client id too long": struct.pack(">ihhih", 10, 3, 1, 7, 500),
        "body missing": struct.pack(">ihhih", 10, 0, 11, 7, -1),
        "array longer than the frame": struct.pack(">ihhih", 14, 3, 1, 7, -1) + struct.pack(">i", 2**31 - 1),
        "negative array": struct.pack(">ihhih", 14, 10, 1, 7, -1) + struct.pack(">i", -7),
        "produce cut off": struct.pack(">ihhih", 20, 0, 3, 7, -1) + bytes(10),
        "fetch cut off": struct.pack(">ihhih", 20, 1, 4, 7, -1) + bytes(10),
    }


@pytest.mark.parametrize("name", _garbage())
def test_garbage_ends_the_connection_that_sent_it_and_no_other(
    connection: RawConnection, shared_topic: str, name: str
) -> None:
    before = connection.produce(shared_topic, batch(b"before")).base_offset
    with connection.another() as other:
        other.send_bytes(_garbage()[name])
        with pytest.raises(ConnectionClosed):
            other.receive_frame()
    assert connection.produce(shared_topic, batch(b"after")).base_offset == before + 1


def test_a_connection_that_ends_within_a_request_harms_nobody(connection: RawConnection, shared_topic: str) -> None:
    for size in (1, 3, 4, 9, 30):
        with connection.another() as other:
            body = produce_body(11, {(shared_topic, 0): batch(b"cut")})
            frame = struct.pack(">hhihs", 0, 11, 1, 1, b"c") + b"\0" + body
            other.send_bytes((struct.pack(">i", len(frame)) + frame)[:size])
    assert connection.produce(shared_topic, batch(b"whole")).error == 0


def test_bytes_that_arrive_one_by_one_make_a_request(connection: RawConnection, shared_topic: str) -> None:
    body = produce_body(11, {(shared_topic, 0): batch(b"slow")})
    frame = struct.pack(">hhihs", 0, 11, 77, 1, b"c") + b"\0" + body
    with connection.another() as other:
        for byte in struct.pack(">i", len(frame)) + frame:
            other.send_bytes(bytes([byte]))
        assert other.receive_produce(77)[shared_topic, 0].error == 0


def test_a_null_client_id_is_accepted(connection: RawConnection, shared_topic: str) -> None:
    with connection.another(client_id=None) as other:
        assert other.produce(shared_topic, batch(b"x")).error == 0


def test_unknown_tagged_fields_of_a_request_are_skipped(connection: RawConnection, shared_topic: str) -> None:
    """A tag that no version knows, in the header and in the body (KIP-482)."""
    tags = b"\x02" + b"\x64\x03abc" + b"\x65\x01z"
    body = fetch_body(12, {(shared_topic, 0): RawFetchPosition(0)})
    assert body.endswith(b"\0")
    frame = struct.pack(">hhih", 1, 12, 5, -1) + tags + body[:-1] + tags
    with connection.another() as other:
        other.send_bytes(struct.pack(">i", len(frame)) + frame)
        assert other.receive_fetch(5).partitions[shared_topic, 0].error == 0


@pytest.mark.parametrize("version", [1, 4, 8, 12, 13])
def test_bytes_after_a_request_are_ignored(connection: RawConnection, shared_topic: str, version: int) -> None:
    """In flexible versions librdkafka 2.16 asks for all topics with a null array followed by three bytes too many."""
    body = (
        MetadataRequest(topics=None, allow_auto_topic_creation=False).encode(version) if version >= 4 else b"\xff" * 4
    )
    with connection.another() as other:
        correlation_id = other.send(MetadataRequest.API_KEY, version, body + b"\1\0\0")
        frame = other.receive_frame()
        got, at = decode_response_header(frame, MetadataRequest.API_KEY, version)
        assert got == correlation_id
        answer = MetadataResponse.decode(frame, version, at)
        assert shared_topic in [row.name for row in answer.topics]
        correlation_id = other.send(0, 11, produce_body(11, {(shared_topic, 0): batch(b"x")}) + b"surplus")
        assert other.receive_produce(correlation_id)[shared_topic, 0].error == 0


@pytest.mark.parametrize("seed", range(6))
def test_random_bytes_do_not_harm_the_broker(connection: RawConnection, shared_topic: str, seed: int) -> None:
    """Requests of every API with random bodies are answered or end the connection, and the broker serves the next
    client.
    """
    chance = random.Random(seed)
    offered = sorted(ranges(connection).items())
    for key, (low, high) in offered:
        with connection.another() as other:
            version = chance.randint(low, high)
            body = chance.randbytes(chance.choice([0, 3, 17, 60]))
            other.send(key, version, body)
            other._socket.settimeout(0.02)
            with contextlib.suppress(ConnectionClosed, TimeoutError):
                other.receive_frame()
    assert connection.produce(shared_topic, batch(b"still here")).error == 0
