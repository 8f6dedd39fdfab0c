"""The hand-written paths give exactly what the generated codec gives."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.protocol.codec_errors import MalformedMessage, UnknownVersion, UnsupportedField
from oncelog.protocol.fetch_fast import encode_fetch_response_parts, set_slices
from oncelog.protocol.generated.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.produce_fast import parse_one_partition
from tests.unit.protocol.message_values import HypothesisSource, make_message

PRODUCE_VERSIONS = range(3, 14)
FETCH_VERSIONS = range(4, 19)
TOPIC_ID = bytes(range(16))
every_produce_version = pytest.mark.parametrize("version", PRODUCE_VERSIONS)
every_fetch_version = pytest.mark.parametrize("version", FETCH_VERSIONS)


def single_partition_request(version: int, transactional_id: str | None, topic: str, records: bytes) -> ProduceRequest:
    named = {"topic_id": TOPIC_ID} if version >= 13 else {"name": topic}
    partition = PartitionProduceData(5, records)
    data = TopicProduceData(**named, partition_data=[partition])  # type: ignore[arg-type]
    return ProduceRequest(transactional_id, -1, 30_000, [data])


@every_produce_version
@settings(max_examples=30, deadline=None)
@given(st.none() | st.text(max_size=30), st.text(max_size=30), st.binary(max_size=300))
def test_single_partition_produce_is_parsed_as_by_the_generated_codec(
    version: int, transactional_id: str | None, topic: str, records: bytes
) -> None:
    request = single_partition_request(version, transactional_id, topic, records)
    frame = memoryview(b"header" + request.encode(version))
    parsed = parse_one_partition(frame, 6, version)
    assert parsed == request == ProduceRequest.decode(frame, version, 6)


@every_produce_version
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_produce_is_parsed_as_by_the_generated_codec(version: int, data: st.DataObject) -> None:
    request = make_message("ProduceRequest", version, HypothesisSource(data))
    frame = memoryview(request.encode(version))
    assert parse_one_partition(frame, 0, version) in (None, request)


@every_produce_version
def test_parsed_records_are_a_view_of_the_frame(version: int) -> None:
    frame = memoryview(single_partition_request(version, None, "t", b"r" * 5000).encode(version))
    parsed = parse_one_partition(frame, 0, version)
    assert parsed is not None
    records = parsed.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame.obj


def outcome(parse: object, frame: memoryview, version: int) -> object:
    try:
        return parse(frame, version)  # type: ignore[operator]
    except MalformedMessage as error:
        return str(error)


@every_produce_version
def test_damaged_produce_has_the_outcome_of_the_generated_codec(version: int) -> None:
    encoded = single_partition_request(version, "txn", "orders", b"r" * 140).encode(version)
    random = Random(version)
    damaged = [encoded[:length] for length in range(len(encoded))] + [encoded + b"\0"]
    for position in range(min(len(encoded), 60)):
        for value in (0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)):
            damaged.append(encoded[:position] + bytes([value]) + encoded[position + 1 :])
            damaged.append(encoded[: -1 - position] + bytes([value]) + encoded[len(encoded) - position :])
    for data in damaged:
        frame = memoryview(data)
        fast = parse_one_partition(frame, 0, version)
        whole = outcome(lambda buffer, at_version: ProduceRequest.decode_prefix(buffer, at_version)[0], frame, version)
        assert fast in (None, whole)


@pytest.mark.parametrize("version", [2, 14, -1])
def test_produce_of_a_version_that_is_not_served_is_refused(version: int) -> None:
    frame = memoryview(single_partition_request(9, None, "t", b"r").encode(9))
    assert parse_one_partition(frame, 0, version) is None
    with pytest.raises(UnknownVersion):
        ProduceRequest.decode_prefix(frame, version)


@dataclass
class Stretch:
    """Records in some file."""

    content: bytes

    @property
    def size_bytes(self) -> int:
        return len(self.content)


def joined(parts: list[object]) -> bytes:
    return b"".join(part.content if isinstance(part, Stretch) else bytes(part) for part in parts)  # type: ignore[call-overload]


@every_fetch_version
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_fetch_parts_join_to_the_bytes_of_the_message(version: int, data: st.DataObject) -> None:
    response = make_message("FetchResponse", version, HypothesisSource(data))
    assert isinstance(response, FetchResponse)
    expected = response.encode(version)
    for topic in response.responses:
        for partition in topic.partitions:
            records = partition.records
            if records is not None and data.draw(st.booleans()):
                cut = data.draw(st.integers(0, len(records)))
                set_slices(partition, [Stretch(bytes(records[:cut])), Stretch(bytes(records[cut:]))], len(records))
    parts, size_bytes = encode_fetch_response_parts(response, version)
    assert joined(parts) == expected
    assert size_bytes == len(expected)


@every_fetch_version
def test_slices_of_records_are_neither_copied_nor_joined(version: int) -> None:
    big, small = Stretch(b"r" * 10_000), Stretch(b"s" * 10)
    partitions = [PartitionData(index, aborted_transactions=None) for index in range(3)]
    set_slices(partitions[0], [big], big.size_bytes)
    set_slices(partitions[2], [small], small.size_bytes)
    topic = FetchableTopicResponse(topic_id=TOPIC_ID) if version >= 13 else FetchableTopicResponse("t")
    topic.partitions = partitions
    parts, size_bytes = encode_fetch_response_parts(FetchResponse(responses=[topic]), version)
    assert parts[1] is big
    assert parts[3] is small
    assert all(isinstance(part, bytes) for part in (parts[0], parts[2]))
    assert size_bytes == len(joined(parts))


def test_fetch_field_that_the_version_lacks_is_refused() -> None:
    topic = FetchableTopicResponse("t", partitions=[PartitionData(preferred_read_replica=2)])
    with pytest.raises(UnsupportedField, match="preferred_read_replica"):
        encode_fetch_response_parts(FetchResponse(responses=[topic]), 10)
