"""The compiled codec of messages and its twin in Python read and write the same, and refuse the same."""

from __future__ import annotations

from array import array
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from oncelog.protocol import _pure_layout
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.consumer_group_member_metadata_value import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.layouts import StructLayout, build_layout, compiled
from oncelog.protocol.struct_fields import ElementLimit
from oncelog.protocol.wire import Message
from tests.unit.protocol.message_values import MESSAGES, RandomSource, make_message, message_class, versions

pytestmark = pytest.mark.skipif(compiled is None, reason="there is no compiled module to compare")
every_message = pytest.mark.parametrize("name", MESSAGES)


def twins(kind: type[Message], version: int) -> tuple[Any, Any]:
    is_flexible = version >= kind.FLEXIBLE_FROM
    first, second = (
        build_layout(kind, version, is_flexible, made_by) for made_by in (StructLayout, _pure_layout.StructLayout)
    )
    return first, second


def outcome(call: Any, *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except ProtocolError as error:
        return type(error), str(error)


@every_message
def test_both_codecs_write_the_same_bytes(name: str) -> None:
    for version in versions(MESSAGES[name]):
        message = make_message(name, version, RandomSource(f"{name} {version}"))
        compiled_one, pure = twins(message_class(name), version)
        written = pure.write(message)
        assert compiled_one.write(message) == written
        assert (
            compiled_one.read(b"".join(written), 0)
            == pure.read(b"".join(written), 0)
            == (message, sum(map(len, written)))
        )


@every_message
def test_both_codecs_refuse_the_fields_that_a_version_does_not_have(name: str) -> None:
    for version in versions(MESSAGES[name]):
        for made_for in versions(MESSAGES[name]):
            message = make_message(name, made_for, RandomSource(f"{name} {made_for}"))
            compiled_one, pure = twins(message_class(name), version)
            assert outcome(compiled_one.write, message) == outcome(pure.write, message)


@every_message
def test_both_codecs_read_damaged_bytes_alike(name: str) -> None:
    random = Random(name)
    for version in versions(MESSAGES[name]):
        encoded = make_message(name, version, RandomSource(f"{name} {version}")).encode(version)
        compiled_one, pure = twins(message_class(name), version)
        damaged = [random.randbytes(random.randrange(60)) for _ in range(8)]
        damaged += [encoded[: random.randrange(len(encoded))] for _ in range(8) if encoded]
        for _ in range(20 if encoded else 0):
            changed = bytearray(encoded)
            changed[random.randrange(len(changed))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
            damaged.append(bytes(changed))
        for data in damaged:
            limits = [ElementLimit(5), ElementLimit(5)]
            assert outcome(compiled_one.read, data, 0, limits[0]) == outcome(pure.read, data, 0, limits[1])


def records(size: int) -> ProduceRequest:
    return ProduceRequest(topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, bytes(size))])])


class Text(str):
    __slots__ = ()


class Index:
    """A whole number of a class of its own, as NumPy has them."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __index__(self) -> int:
        return self._number


WRONG: dict[str, tuple[Message, int]] = {
    "an int16 that is too large": (ProduceRequest(acks=40_000), 9),
    "an int32 that is too small": (ProduceRequest(timeout_ms=-(2**31) - 1), 9),
    "an int32 beyond 64 bits": (ProduceRequest(timeout_ms=2**70), 9),
    "text for a number": (ProduceRequest(acks="all"), 9),  # type: ignore[arg-type]
    "a number for text": (ApiVersionsRequest(7), 3),  # type: ignore[arg-type]
    "a lone surrogate": (ApiVersionsRequest("\ud800"), 3),
    "a string that is too long": (ApiVersionsRequest("x" * 32_768), 3),
    "a long string in two bytes a letter": (ApiVersionsRequest("ö" * 16_384), 3),
    "a fraction for a number": (ProduceRequest(timeout_ms=1.5), 9),  # type: ignore[arg-type]
    "a whole float for a number": (ProduceRequest(timeout_ms=30_000.0), 9),  # type: ignore[arg-type]
    "a Decimal for a number": (ProduceRequest(timeout_ms=Decimal(30)), 9),  # type: ignore[arg-type]
    "a str of another class for a number": (ProduceRequest(timeout_ms=Text("30")), 9),  # type: ignore[arg-type]
    "a UUID of 15 bytes": (MetadataRequest([MetadataRequestTopic(bytes(15))]), 12),
    "text for a UUID": (MetadataRequest([MetadataRequestTopic("x" * 16)]), 12),  # type: ignore[arg-type]
    "16 integers for a UUID": (MetadataRequest([MetadataRequestTopic(memoryview(array("i", range(16))))]), 12),  # type: ignore[arg-type]
    "null where the version has none": (MetadataRequest(None), 0),
    "text for records": (
        ProduceRequest(topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, "r")])]),  # type: ignore[arg-type]
        9,
    ),
    "integers for bytes": (SaslAuthenticateRequest(memoryview(array("i", range(4)))), 2),  # type: ignore[arg-type]
    "every second byte of a buffer": (SaslAuthenticateRequest(memoryview(bytes(8))[::2]), 2),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("wrong", WRONG)
def test_both_codecs_refuse_a_wrong_value_with_the_same_words(wrong: str) -> None:
    message, version = WRONG[wrong]
    compiled_one, pure = twins(type(message), version)
    refused = outcome(pure.write, message)
    assert isinstance(refused[0], type) and issubclass(refused[0], ProtocolError)
    assert outcome(compiled_one.write, message) == refused


def test_both_codecs_write_any_whole_number_and_no_tag_for_empty_sequences() -> None:
    member = ConsumerGroupMemberMetadataValue(
        rebalance_timeout_ms=Index(7),  # type: ignore[arg-type]
        classic_member_metadata=ClassicMemberMetadata(0, ()),  # type: ignore[arg-type]
    )
    plain = ConsumerGroupMemberMetadataValue(rebalance_timeout_ms=7)
    for layout in twins(ConsumerGroupMemberMetadataValue, 0):
        assert layout.write(member) == layout.write(plain)


@pytest.mark.parametrize("size", [0, 1023, 1024, 1025, 100_000])
def test_both_codecs_return_long_record_sets_unchanged(size: int) -> None:
    message = records(size)
    compiled_one, pure = twins(ProduceRequest, 9)
    parts = pure.write(message)
    assert compiled_one.write(message) == parts
    assert len(parts) == (3 if size > _pure_layout.SHORT_BYTES else 1)


@every_message
def test_both_codecs_write_the_fields_around_an_array(name: str) -> None:
    for version in versions(MESSAGES[name]):
        message = make_message(name, version, RandomSource(f"{name} {version}"))
        for item in MESSAGES[name].root.fields:
            is_tagged = version in item.tagged
            if not item.is_array or version not in item.versions or is_tagged:
                continue
            elements = getattr(message, item.attribute)
            if elements is None:
                continue
            for layout in twins(message_class(name), version):
                before, after = layout.write_around(message, item.attribute)
                between = layout.write_elements(item.attribute, elements)
                assert b"".join([*before, *between, *after]) == message.encode(version)
