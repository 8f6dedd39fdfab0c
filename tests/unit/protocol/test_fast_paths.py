"""The hand-written paths give exactly what the codec of messages gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from struct import error as StructError

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oncelog.protocol import fetch_fast
from oncelog.protocol.codec_errors import MalformedMessage, UnknownVersion
from oncelog.protocol.fetch_fast import (
    FetchAnswered,
    FetchAsked,
    FetchedPartition,
    encode_flexible_in_python,
    of_request,
    parse_in_python,
)
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.produce_fast import parse_one_partition
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.records.native import compiled
from tests.unit.protocol.message_values import HypothesisSource, make_message

PRODUCE_VERSIONS = range(3, 14)
FETCH_VERSIONS = range(4, 19)
TOPIC_ID = bytes(range(16))
every_produce_version = pytest.mark.parametrize("version", PRODUCE_VERSIONS)
every_fetch_version = pytest.mark.parametrize("version", FETCH_VERSIONS)
FLEXIBLE_FETCH_VERSIONS = range(12, 19)
every_flexible_fetch_version = pytest.mark.parametrize("version", FLEXIBLE_FETCH_VERSIONS)


@pytest.fixture(params=["compiled", "pure"])
def fetch_codec(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both twins in turn."""
    if request.param == "pure":
        monkeypatch.setattr(fetch_fast, "_parse", parse_in_python)
        monkeypatch.setattr(fetch_fast, "_encode_flexible", encode_flexible_in_python)
    elif compiled is None:
        pytest.skip("the module is not compiled")


of_both_codecs = pytest.mark.usefixtures("fetch_codec")
for_each_example = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


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
def test_any_produce_request_is_parsed_as_by_the_generated_codec(version: int, data: st.DataObject) -> None:
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
def test_a_damaged_produce_request_has_the_outcome_of_the_generated_codec(version: int) -> None:
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


def joined(parts: Sequence[object]) -> bytes:
    return b"".join(part.content if isinstance(part, Stretch) else bytes(part) for part in parts)  # type: ignore[call-overload]


@of_both_codecs
@every_fetch_version
@settings(for_each_example, max_examples=25)
@given(data=st.data())
def test_any_fetch_request_is_parsed_as_by_the_generated_codec(version: int, data: st.DataObject) -> None:
    request = make_message("FetchRequest", version, HypothesisSource(data))
    assert isinstance(request, FetchRequest)
    asked, _ = FetchAsked.decode_prefix(b"header" + request.encode(version), version, 6)
    assert asked == of_request(request, version)


def common_fetch(version: int) -> FetchRequest:
    topic = FetchTopic(topic_id=TOPIC_ID) if version >= 13 else FetchTopic("orders")
    topic.partitions = [FetchPartition(index, fetch_offset=index + 7, partition_max_bytes=100) for index in (0, 3)]
    return FetchRequest(
        max_wait_ms=500, min_bytes=1, max_bytes=1000, topics=[topic], rack_id="r" if version > 10 else ""
    )


@of_both_codecs
@every_flexible_fetch_version
def test_a_common_fetch_is_read_without_the_generated_codec(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = common_fetch(version).encode(version)
    monkeypatch.setattr(FetchRequest, "decode_prefix", None)
    asked, _ = FetchAsked.decode_prefix(frame, version)
    assert asked == of_request(common_fetch(version), version)


@of_both_codecs
@every_fetch_version
def test_a_damaged_fetch_request_has_the_outcome_of_the_generated_codec(version: int) -> None:
    encoded = common_fetch(version).encode(version)
    damaged = [encoded[:length] for length in range(len(encoded))] + [encoded + b"\0"]
    for position in range(len(encoded)):
        for value in (0, 1, 2, 0x7F, 0x80, 0xFF):
            damaged.append(encoded[:position] + bytes([value]) + encoded[position + 1 :])

    def in_general(frame: memoryview, version: int) -> FetchAsked:
        return of_request(FetchRequest.decode_prefix(frame, version)[0], version)

    for data in damaged:
        frame = memoryview(data)
        read = outcome(lambda buffer, at_version: FetchAsked.decode_prefix(buffer, at_version)[0], frame, version)
        assert read == outcome(in_general, frame, version)


slices = st.lists(st.binary(min_size=1, max_size=300).map(Stretch), max_size=2)
offsets = st.integers(-1, 2**63 - 1)
pairs = st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))


@st.composite
def fetched_partitions(draw: st.DrawFn, version: int) -> FetchedPartition:
    name, topic_id = (
        ("", draw(st.binary(min_size=16, max_size=16))) if version >= 13 else (draw(st.text(max_size=200)), b"")
    )
    found = draw(slices)
    tags = st.none() | pairs if version >= 12 else st.none()
    return FetchedPartition(
        (name, topic_id, draw(st.integers(0, 2**31 - 1))),
        draw(st.integers(-1, 106)),
        *(draw(offsets), draw(offsets), draw(offsets)),
        draw(st.none() | st.lists(pairs, max_size=200)),
        found,
        sum(each.size_bytes for each in found),
        draw(tags),
        draw(tags),
    )


def in_general(answer: FetchAnswered, version: int) -> FetchResponse:
    """The same answer as a generated message."""
    response = FetchResponse(answer.throttle_time_ms, responses=[])
    if version >= 7:
        response.error_code, response.session_id = answer.error_code, answer.session_id
    for part in answer.partitions:
        (name, topic_id, index), error, high_watermark, stable, log_start, aborted, found, _, divergence, leader = part
        last = response.responses[-1] if response.responses else None
        if last is None or (last.topic, last.topic_id) != (name, topic_id or ZERO_UUID):
            last = FetchableTopicResponse(name, topic_id or ZERO_UUID, [])
            response.responses.append(last)
        last.partitions.append(
            PartitionData(
                index,
                error,
                high_watermark,
                stable,
                log_start,
                EpochEndOffset(*divergence) if divergence else None,
                LeaderIdAndEpoch(*leader) if leader else None,
                None,
                None if aborted is None else [AbortedTransaction(*entry) for entry in aborted],
                -1,
                joined(found),
            )
        )
    return response


@of_both_codecs
@every_fetch_version
@settings(for_each_example, max_examples=40)
@given(data=st.data())
def test_the_parts_of_a_fetch_answer_join_to_the_bytes_of_the_generated_codec(
    version: int, data: st.DataObject
) -> None:
    partitions = data.draw(st.lists(fetched_partitions(version), max_size=4))
    if data.draw(st.booleans()) and partitions:  # of one topic
        name, topic_id, _ = partitions[0].key
        partitions = [part._replace(key=(name, topic_id, part.key[2])) for part in partitions]
    answer = FetchAnswered(data.draw(st.integers(-1, 106)), data.draw(st.integers(0, 2**31 - 1)), partitions)
    answer.throttle_time_ms = data.draw(st.integers(0, 2**31 - 1))
    correlation_id = data.draw(st.integers(-(2**31), 2**31 - 1))
    body = in_general(answer, version).encode(version)
    parts = answer.encode_with_slices(version, correlation_id)
    assert joined(parts) == encode_response_header(FetchResponse.API_KEY, version, correlation_id, len(body)) + body
    assert isinstance(parts[0], bytes)


@of_both_codecs
@every_fetch_version
def test_slices_of_records_are_neither_copied_nor_joined(version: int) -> None:
    big, small = Stretch(b"r" * 10_000), Stretch(b"s" * 10)
    key = ("", TOPIC_ID) if version >= 13 else ("t", b"")
    partitions = [
        FetchedPartition((*key, index), 0, 1, 1, 0, None, found, sum(each.size_bytes for each in found), None, None)
        for index, found in enumerate(([big], [], [small]))
    ]
    parts = FetchAnswered(0, 0, partitions).encode_with_slices(version, 1)
    assert parts[1] is big
    assert parts[3] is small
    assert all(isinstance(part, bytes) for part in (parts[0], parts[2]))
    assert int.from_bytes(parts[0][:4], "big") == len(joined(parts)) - 4


@pytest.mark.skipif(compiled is None, reason="the module is not compiled")
@every_flexible_fetch_version
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_compiled_and_pure_code_parse_changed_requests_alike(version: int, data: st.DataObject) -> None:
    """Also whether they leave a request to the codec of messages."""
    if data.draw(st.booleans()):
        request = common_fetch(version)
    else:
        generated = make_message("FetchRequest", version, HypothesisSource(data))
        assert isinstance(generated, FetchRequest)
        request = generated
    changed = bytearray(request.encode(version))
    for position, byte in data.draw(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=3)):
        changed[position % len(changed)] = byte
    frame = bytes(changed[: len(changed) - data.draw(st.integers(0, 3))])
    offset = data.draw(st.integers(0, len(frame) + 1))
    for start in (0, offset):
        assert compiled.parse_fetch(frame, start, version) == parse_in_python(frame, start, version)


@pytest.mark.skipif(compiled is None, reason="the module is not compiled")
def test_compiled_and_pure_code_refuse_an_answer_of_more_than_two_gigabytes() -> None:
    class Long(Stretch):
        @property
        def size_bytes(self) -> int:
            return 2**31

    part = FetchedPartition(("t", b"", 0), 0, 1, 1, 0, None, [Long(b"")], 2**31, None, None)
    answer = FetchAnswered(0, 0, [part])
    for encode, refusal in ((compiled.encode_fetch, OverflowError), (encode_flexible_in_python, StructError)):
        with pytest.raises(refusal):
            encode(answer, 1)
