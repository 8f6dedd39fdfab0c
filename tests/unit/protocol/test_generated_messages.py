"""What holds for every generated message in every version."""

from __future__ import annotations

import struct
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.protocol.codec_errors import MalformedMessage, UnencodableValue, UnknownVersion, UnsupportedField
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from oncelog.protocol.generated.fetch_response import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.transaction_log_value import TransactionLogValue
from oncelog.protocol.struct_fields import ElementLimit, Struct
from oncelog.protocol.wire import Message
from tests.unit.protocol.message_values import (
    MESSAGES,
    HypothesisSource,
    RandomSource,
    make_message,
    message_class,
    versions,
)

every_message = pytest.mark.parametrize("name", MESSAGES)


@every_message
@settings(max_examples=4, deadline=None, database=None)
@given(data=st.data())
def test_a_message_is_unchanged_after_encoding_and_decoding(name: str, data: st.DataObject) -> None:
    kind = message_class(name)
    for version in versions(MESSAGES[name]):
        message = make_message(name, version, HypothesisSource(data))
        encoded = message.encode(version)
        assert kind.decode(encoded, version) == message
        framed = memoryview(b"head" + encoded + b"tail")
        assert kind.decode_prefix(framed, version, 4) == (message, 4 + len(encoded))


def elements_of(value: object) -> int:
    """The elements of all arrays in a message, nested ones included."""
    if isinstance(value, list):
        return len(value) + sum(map(elements_of, value))
    return sum(elements_of(getattr(value, name)) for name in value.__slots__) if isinstance(value, Struct) else 0


@every_message
def test_a_request_of_too_many_elements_is_malformed(name: str) -> None:
    kind = message_class(name)
    if not name.endswith("Request"):
        return
    for version in range(kind.MIN_VERSION, kind.MAX_VERSION + 1):
        made = make_message(name, version, RandomSource(f"{name} {version}"))
        encoded, count = made.encode(version), elements_of(made)
        limit = ElementLimit(count)
        assert kind.decode_prefix(encoded, version, 0, limit) == (made, len(encoded))
        assert limit.count == count
        if count:
            with pytest.raises(MalformedMessage, match=f"at most {count - 1} are accepted"):
                kind.decode_prefix(encoded, version, 0, ElementLimit(count - 1))


@every_message
def test_truncated_message_is_malformed_at_every_length(name: str) -> None:
    kind = message_class(name)
    for version in versions(MESSAGES[name]):
        encoded = make_message(name, version, RandomSource(f"{name} {version}")).encode(version)
        for length in sorted({*range(0, len(encoded), 1 + len(encoded) // 40)}):
            with pytest.raises(MalformedMessage):
                kind.decode(encoded[:length], version)


@every_message
def test_decoding_a_damaged_message_returns_a_message_or_raises_only_malformed(name: str) -> None:
    kind = message_class(name)
    random = Random(name)
    for version in versions(MESSAGES[name]):
        encoded = make_message(name, version, RandomSource(f"{name} {version}")).encode(version)
        damaged = [random.randbytes(random.randrange(60)) for _ in range(8)]
        for _ in range(12 if encoded else 0):
            changed = bytearray(encoded)
            changed[random.randrange(len(changed))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
            damaged.append(bytes(changed))
        errors = [error for data in damaged if (error := malformed_by(kind, data, version)) is not None]
        assert all(error.offset >= 0 and error.message.startswith(name) for error in errors)


def malformed_by(kind: type[Message], data: bytes, version: int) -> MalformedMessage | None:
    try:
        kind.decode(data, version)
    except MalformedMessage as error:
        return error
    return None


@every_message
def test_bytes_after_a_message_are_malformed(name: str) -> None:
    kind = message_class(name)
    for version in versions(MESSAGES[name]):
        encoded = make_message(name, version, RandomSource(name)).encode(version)
        with pytest.raises(MalformedMessage, match="1 bytes left over"):
            kind.decode(encoded + b"\0", version)


@every_message
def test_version_outside_the_range_is_refused(name: str) -> None:
    kind = message_class(name)
    for version in (kind.MIN_VERSION - 1, kind.MAX_VERSION + 1):
        with pytest.raises(UnknownVersion, match=f"not {version}$"):
            kind().encode(version)
        with pytest.raises(UnknownVersion):
            kind.decode(b"", version)


def test_unknown_tagged_fields_are_skipped() -> None:
    encoded = ApiVersionsRequest("client", "1").encode(3)
    assert encoded[-1] == 0
    tagged = encoded[:-1] + bytes([2, 5, 3, 1, 2, 3, 200, 1, 0])
    assert ApiVersionsRequest.decode(tagged, 3) == ApiVersionsRequest("client", "1")


def test_a_tagged_field_whose_size_differs_from_its_values_size_is_malformed() -> None:
    request = FetchRequest(replica_state=ReplicaState(1, 2))
    encoded = request.encode(15)
    at = encoded.index(bytes([1, 1, 13]), len(encoded) - 16)
    with pytest.raises(MalformedMessage, match="tagged field of 14 bytes read as 13"):
        FetchRequest.decode(encoded[: at + 2] + b"\x0e" + encoded[at + 3 :] + b"\0", 15)


def test_a_field_that_the_version_lacks_is_refused_unless_kafka_ignores_it() -> None:
    with pytest.raises(UnsupportedField, match=r"TransactionLogValue\.next_producer_id .* version 0 "):
        TransactionLogValue(next_producer_id=7).encode(0)
    assert FetchRequest(rack_id="ignored").encode(4) == FetchRequest().encode(4)


def test_null_is_unencodable_in_a_version_without_null() -> None:
    with pytest.raises(UnencodableValue, match="topics is null, which version 0 does not allow"):
        MetadataRequest(topics=None).encode(0)
    assert MetadataRequest.decode(MetadataRequest(topics=None).encode(1), 1).topics is None


@pytest.mark.parametrize("version", [11, 13])
def test_a_hostile_array_count_is_refused_before_anything_is_allocated(version: int) -> None:
    head = struct.pack(">iiiibii", -1, 0, 0, 0, 0, 0, 0) if version == 11 else struct.pack(">iiiibii", *([0] * 7))
    count = struct.pack(">i", 2**31 - 1) if version == 11 else b"\xff\xff\xff\xff\x0f"
    with pytest.raises(MalformedMessage, match=r"topics at byte \d+: length \d+ with 1 bytes left"):
        FetchRequest.decode(head + count + b"\0", version)


def test_negative_length_is_malformed_where_null_is_not_allowed() -> None:
    encoded = FetchRequest(topics=[FetchTopic("t", partitions=[FetchPartition()])]).encode(11)
    broken = encoded.replace(b"\x00\x01t", b"\xff\xfft")
    with pytest.raises(MalformedMessage, match=r"FetchTopic: topic at byte .* null \(length -1\)"):
        FetchRequest.decode(broken, 11)


LATIN_1 = [
    (b"M\xfcller", "M\ufffdller"),
    (b"\xff\xfe", "\ufffd\ufffd"),
    (b"a\xe2\x82", "a\ufffd"),
    (b"\xc3\x28", "\ufffd("),
]
"""Bytes, and the string that ``new String(bytes, UTF_8)`` makes of them in Java 17, which Apache Kafka calls."""


@pytest.mark.parametrize(("sent", "read"), LATIN_1)
@pytest.mark.parametrize("version", [8, 9])
def test_bytes_of_a_string_that_are_not_utf8_are_replaced_as_in_java(sent: bytes, read: str, version: int) -> None:
    encoded = ProduceRequest(transactional_id="x" * len(sent)).encode(version)
    broken = encoded.replace(b"x" * len(sent), sent)
    assert ProduceRequest.decode(broken, version).transactional_id == read


@pytest.mark.parametrize("version", [8, 9])
def test_a_long_string_that_is_not_utf8_is_malformed(version: int) -> None:
    """It could not be written again: each replaced byte takes three."""
    encoded = ProduceRequest(transactional_id="x" * 10_923).encode(version)
    broken = encoded.replace(b"x" * 10_923, b"\xff" * 10_923)
    with pytest.raises(MalformedMessage, match=r"transactional_id at byte .* 10923 bytes that are not UTF-8") as caught:
        ProduceRequest.decode(broken, version)
    assert caught.value.field == "transactional_id"


@pytest.mark.parametrize("version", [8, 9])
def test_a_string_above_the_limit_is_refused_when_encoding_and_decoding(version: int) -> None:
    with pytest.raises(UnencodableValue):
        ProduceRequest(transactional_id="x" * 32768).encode(version)
    longest = ProduceRequest(transactional_id="x" * 32767).encode(version)
    assert ProduceRequest.decode(longest, version).transactional_id == "x" * 32767
    if version == 9:
        length = bytes([0x81, 0x80, 0x02])
        with pytest.raises(MalformedMessage, match="string of 32768 bytes"):
            ProduceRequest.decode(length + b"x" * 40000, version)


@pytest.mark.parametrize("topic_id", [b"", b"short", bytes(17)])
def test_a_uuid_that_does_not_have_16_bytes_is_unencodable(topic_id: bytes) -> None:
    with pytest.raises(UnencodableValue, match="topic_id has"):
        MetadataRequest(topics=[MetadataRequestTopic(topic_id)]).encode(12)


def test_decoded_records_are_views_of_the_input_and_are_not_copied() -> None:
    records = b"r" * 10_000
    partition = PartitionProduceData(0, records)
    request = ProduceRequest(topic_data=[TopicProduceData("t", partition_data=[partition])])
    data = bytearray(request.encode(9))
    decoded = ProduceRequest.decode(memoryview(data), 9).topic_data[0].partition_data[0].records
    assert isinstance(decoded, memoryview)
    assert decoded == records
    data[data.index(b"rrrr")] = 0
    assert decoded[0] == 0
    assert any(part is records for part in request.encode_parts(9))


def test_value_out_of_range_is_unencodable() -> None:
    with pytest.raises(UnencodableValue, match="ProduceRequest"):
        ProduceRequest(acks=40_000).encode(9)


def test_default_lists_are_not_shared_between_messages() -> None:
    first, second = FetchRequest(), FetchRequest()
    first.topics.append(FetchTopic("t"))
    assert second.topics == []
    assert FetchRequest().topics == []


def test_a_null_array_is_distinguished_from_an_empty_array() -> None:
    for aborted in (None, list[AbortedTransaction]()):
        partition = PartitionData(aborted_transactions=aborted)
        for version in (4, 12):
            response = FetchResponse(responses=[FetchableTopicResponse("t", partitions=[partition])])
            decoded = FetchResponse.decode(response.encode(version), version)
            assert decoded.responses[0].partitions[0].aborted_transactions == aborted


def test_messages_compare_print_and_copy_by_value() -> None:
    message = ReplicaState(1, 2)
    assert message == ReplicaState(replica_id=1, replica_epoch=2)
    assert message != ReplicaState(1, 3)
    assert message != (1, 2)
    assert repr(message) == "ReplicaState(replica_id=1, replica_epoch=2)"
    assert message.replace(replica_epoch=5) == ReplicaState(1, 5)
    with pytest.raises(TypeError, match="no field 'epoch'"):
        message.replace(epoch=5)


def test_the_error_of_a_malformed_message_can_be_pickled() -> None:
    import pickle

    error = MalformedMessage("M", "f", 3, "short")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "malformed M: f at byte 3: short"
