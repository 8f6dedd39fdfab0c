"""Records of the coordinators' topics. Bytes are written out from Kafka's record formats."""

from __future__ import annotations

import struct

import pytest

from oncelog.protocol.codec_errors import MalformedMessage, UnknownVersion
from oncelog.protocol.generated.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from oncelog.protocol.generated.group_metadata_key import GroupMetadataKey
from oncelog.protocol.generated.group_metadata_value import GroupMetadataValue, MemberMetadata
from oncelog.protocol.generated.offset_commit_key import OffsetCommitKey
from oncelog.protocol.generated.offset_commit_value import OffsetCommitValue
from oncelog.protocol.generated.transaction_log_key import TransactionLogKey
from oncelog.protocol.generated.transaction_log_value import PartitionsSchema, TransactionLogValue
from oncelog.protocol.internal_records import (
    InternalRecord,
    Unknown,
    decode_group_record,
    decode_share_state_record,
    decode_transaction_key,
    decode_transaction_value,
    encode_record_key,
    encode_record_value,
    encode_transaction_key,
    encode_transaction_value,
)
from tests.unit.protocol.message_values import MESSAGES, RandomSource, make_message, versions

GROUP_KEYS = [
    name
    for name, definition in MESSAGES.items()
    if definition.kind == "coordinator-key"
    and not name.startswith(("TransactionLog", "Legacy", "ShareSnapshot", "ShareUpdate"))
]


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def test_the_key_of_a_transaction_record_consists_of_version_0_and_the_id() -> None:
    assert encode_transaction_key("tx") == b"\0\0\0\x02tx"
    assert decode_transaction_key(b"\0\0\0\x02tx") == TransactionLogKey("tx")


def test_the_key_of_a_transaction_record_of_another_type_is_unknown() -> None:
    assert decode_transaction_key(b"\0\x09\0\x02tx") == Unknown(9)


def test_the_value_of_a_transaction_record_v0_has_kafkas_layout() -> None:
    value = TransactionLogValue(
        producer_id=4000,
        producer_epoch=3,
        transaction_timeout_ms=60_000,
        transaction_status=1,
        transaction_partitions=[PartitionsSchema("t", [0, 2])],
        transaction_last_update_timestamp_ms=11,
        transaction_start_timestamp_ms=10,
    )
    partitions = struct.pack(">i", 1) + text("t") + struct.pack(">iii", 2, 0, 2)
    expected = struct.pack(">hqhib", 0, 4000, 3, 60_000, 1) + partitions + struct.pack(">qq", 11, 10)
    assert encode_transaction_value(value, 0) == expected
    assert decode_transaction_value(memoryview(expected)) == value


def test_the_value_of_a_transaction_record_v1_keeps_the_tagged_fields() -> None:
    value = TransactionLogValue(1, 2, 3, 4, 5, transaction_partitions=None, client_transaction_version=2)
    encoded = encode_transaction_value(value, 1)
    assert encoded[:2] == b"\0\1"
    assert decode_transaction_value(encoded) == value


def test_the_value_of_an_offset_commit_record_v3_has_kafkas_layout() -> None:
    key = struct.pack(">h", 1) + text("g") + text("t") + struct.pack(">i", 4)
    value = struct.pack(">hqi", 3, 77, 5) + text("note") + struct.pack(">q", 99)
    record = decode_group_record(key, value)
    assert record == InternalRecord(OffsetCommitKey("g", "t", 4), OffsetCommitValue(77, 5, "note", 99))
    assert encode_record_key(OffsetCommitKey("g", "t", 4)) == key
    assert encode_record_value(OffsetCommitValue(77, 5, "note", 99), 3) == value


def test_an_offset_commit_record_of_the_oldest_type_is_read_like_the_current_type() -> None:
    key = struct.pack(">h", 0) + text("g") + text("t") + struct.pack(">i", 4)
    value = struct.pack(">hq", 1, 77) + text("") + struct.pack(">qq", 99, 100)
    assert decode_group_record(key, value) == InternalRecord(
        OffsetCommitKey("g", "t", 4), OffsetCommitValue(77, -1, "", 99, 100)
    )


def test_the_value_of_a_group_metadata_record_v3_has_kafkas_layout() -> None:
    member = MemberMetadata("m", None, "client", "/host", 300, 45, b"sub", b"assign")
    group = GroupMetadataValue("consumer", 6, "range", "m", 123, [member])
    fields = text("consumer") + struct.pack(">i", 6) + text("range") + text("m") + struct.pack(">qi", 123, 1)
    parts = text("m") + b"\xff\xff" + text("client") + text("/host") + struct.pack(">ii", 300, 45)
    blobs = struct.pack(">i", 3) + b"sub" + struct.pack(">i", 6) + b"assign"
    encoded = struct.pack(">h", 3) + fields + parts + blobs
    assert encode_record_value(group, 3) == encoded
    assert decode_group_record(encode_record_key(GroupMetadataKey("g")), encoded) == InternalRecord(
        GroupMetadataKey("g"), group
    )


def test_a_record_with_a_null_value_is_a_tombstone() -> None:
    key = ConsumerGroupCurrentMemberAssignmentKey("g", "m")
    assert decode_group_record(encode_record_key(key), None) == InternalRecord(key, None)


@pytest.mark.parametrize("record_type", [9, 18, 24, -1, 32767])
def test_a_record_of_an_unknown_type_is_not_decoded(record_type: int) -> None:
    assert decode_group_record(struct.pack(">h", record_type) + b"anything", b"\0\0") == Unknown(record_type)


@pytest.mark.parametrize("name", ["ShareSnapshot", "ShareUpdate"])
def test_every_record_of_a_share_partition_decodes_to_what_was_encoded(name: str) -> None:
    key = make_message(f"{name}Key", 0, RandomSource(name))
    value = make_message(f"{name}Value", 0, RandomSource(f"{name} value"))
    record = decode_share_state_record(encode_record_key(key), encode_record_value(value, 0))
    assert record == InternalRecord(key, value)


@pytest.mark.parametrize("name", GROUP_KEYS)
def test_every_group_record_decodes_to_what_was_encoded(name: str) -> None:
    value_name = name.removesuffix("Key") + "Value"
    key = make_message(name, 0, RandomSource(name))
    for version in versions(MESSAGES[value_name]):
        value = make_message(value_name, version, RandomSource(f"{value_name} {version}"))
        record = decode_group_record(encode_record_key(key), encode_record_value(value, version))
        assert record == InternalRecord(key, value)


def test_a_value_of_a_newer_version_is_not_decoded() -> None:
    with pytest.raises(UnknownVersion):
        decode_group_record(encode_record_key(GroupMetadataKey("g")), b"\0\x63")
    with pytest.raises(UnknownVersion):
        decode_transaction_value(b"\0\x63")


@pytest.mark.parametrize("data", [b"", b"\0"])
def test_a_record_shorter_than_its_version_requires_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_group_record(data, None)
    with pytest.raises(MalformedMessage):
        decode_group_record(encode_record_key(GroupMetadataKey("g")), data)
    with pytest.raises(MalformedMessage):
        decode_transaction_key(data)
    with pytest.raises(MalformedMessage):
        decode_transaction_value(data)
