"""What the core does with a frame before any handler sees it, and what it has imported when it starts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oncelog.broker.core import registry
from oncelog.broker.core.registry import SERVED
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import decode_response_header, encode_request_header
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.api_versions_response import ApiVersionsResponse
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from oncelog.protocol.generated.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from oncelog.types import NO_PRODUCER_ID, TRANSACTION_STATE_TOPIC
from tests.support.frames import encode_request
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel


@pytest.fixture
def channel() -> RecordingChannel:
    return RecordingChannel()


def receive(admin: Admin, channel: RecordingChannel, frame: bytes) -> None:
    admin.broker.receive(channel, 0, memoryview(frame)[4:], NOW_MS)
    admin.broker.tasks.finish()


@pytest.mark.parametrize(("key", "version"), [(ApiKey.PRODUCE, 99), (9999, 0)])
def test_a_version_or_an_api_that_is_not_served_closes_the_connection(
    admin: Admin, channel: RecordingChannel, key: int, version: int
) -> None:
    receive(admin, channel, bytes(4) + key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(6))
    assert channel.closed == f"API key {int(key)} is not served in version {version}"
    assert channel.answers == []


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(admin: Admin, channel: RecordingChannel) -> None:
    frame = encode_request_header(ApiKey.API_VERSIONS, 3, 7, "c", 0)
    receive(admin, channel, frame[:6] + (99).to_bytes(2, "big") + frame[8:])
    (answer,) = channel.answers
    correlation_id, header = decode_response_header(answer[4:], ApiKey.API_VERSIONS, 0)
    found = ApiVersionsResponse.decode(answer, 0, 4 + header)
    served = SERVED[ApiKey.API_VERSIONS]
    assert (correlation_id, found.error_code) == (7, Error.UNSUPPORTED_VERSION)
    assert [(one.api_key, one.min_version, one.max_version) for one in found.api_keys] == [
        (ApiKey.API_VERSIONS, served.low, served.high)
    ]


@pytest.mark.parametrize("name", ["", "-kcat", "two words"])
def test_an_invalid_client_software_name_is_refused(admin: Admin, name: str) -> None:
    assert admin.ask(ApiVersionsRequest(name, "1"), 3).error_code == Error.INVALID_REQUEST
    assert admin.ask(ApiVersionsRequest("kcat", "1"), 3).error_code == Error.NONE


def test_a_request_longer_than_its_api_allows_closes_the_connection(admin: Admin, channel: RecordingChannel) -> None:
    most = SERVED[ApiKey.DESCRIBE_GROUPS].max_bytes
    request = DescribeGroupsRequest(["g" * 30_000] * (most // 30_000 + 1)).encode(5)
    receive(admin, channel, encode_request(ApiKey.DESCRIBE_GROUPS, 5, 1, "c", request))
    assert channel.closed is not None
    assert channel.closed.endswith(f"at most {most} are accepted: request less at once")


def test_a_request_that_cannot_be_read_closes_the_connection(admin: Admin, channel: RecordingChannel) -> None:
    receive(admin, channel, encode_request(ApiKey.DESCRIBE_GROUPS, 5, 1, "c", b"\xff\xff\xff\xff\x0f"))
    assert channel.closed is not None and channel.closed.startswith("a request could not be read: ")


def test_a_login_that_fails_unexpectedly_closes_its_own_connection(admin: Admin, channel: RecordingChannel) -> None:
    class Broken:
        def takes(self, *_: object) -> bool:
            raise RuntimeError("a bug")

    channel.session.authenticator = Broken()  # type: ignore[assignment]
    receive(admin, channel, encode_request(ApiKey.API_VERSIONS, 3, 1, "c", ApiVersionsRequest("c", "1").encode(3)))
    assert channel.closed == "the login could not be answered: RuntimeError('a bug')"


def test_all_modules_may_be_imported_before_the_first_request(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_handlers", {})
    admin.broker.import_all()
    assert registry._handlers.keys() == admin.broker.served.keys()
    assert None not in admin.broker.coordinators_in_use()


def test_list_partition_reassignments_returns_no_reassignment(admin: Admin) -> None:
    answer = admin.ask(ListPartitionReassignmentsRequest(), 0)
    assert (answer.error_code, answer.topics) == (Error.NONE, [])


@pytest.fixture
def two_phase() -> Iterator[Admin]:
    made = Admin(**{"transaction.two.phase.commit.enable": "true"})
    yield made
    made.broker.stop(NOW_MS)


def test_two_phase_commit_adds_a_version_and_its_fields(two_phase: Admin) -> None:
    assert two_phase.broker.served[ApiKey.INIT_PRODUCER_ID].high == SERVED[ApiKey.INIT_PRODUCER_ID].high + 1
    two_phase.broker.topics.ensure_internal(TRANSACTION_STATE_TOPIC, NOW_MS)
    answer = two_phase.ask(InitProducerIdRequest("pay", 60_000, enable_2pc=True), 6)
    assert (answer.error_code, answer.ongoing_txn_producer_id) == (Error.NONE, NO_PRODUCER_ID)


def test_write_txn_markers_of_an_operator_is_answered_for_each_partition(admin: Admin) -> None:
    admin.broker.topics.create("t", 60, {}, NOW_MS)
    wanted = WritableTxnMarker(5, 0, True, [WritableTxnMarkerTopic("t", [*range(60), 99])])
    empty = WritableTxnMarker(6, 0, True, [WritableTxnMarkerTopic("t", [])])
    (answer,) = admin.ask(WriteTxnMarkersRequest([wanted, empty]), 1).markers
    errors = {part.partition_index: part.error_code for part in answer.topics[0].partitions}
    assert errors == {**dict.fromkeys(range(60), Error.NONE), 99: Error.UNKNOWN_TOPIC_OR_PARTITION}
    assert all(partition.log.log_end_offset == 1 for partition in admin.broker.partitions().values())
