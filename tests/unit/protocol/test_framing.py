"""Frames and headers. Expected bytes are written out from the protocol's description."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import MalformedMessage
from oncelog.protocol.framing import (
    decode_request_header,
    decode_response_header,
    encode_response_header,
    is_flexible,
    peek_correlation_id,
)
from oncelog.protocol.generated.request_header import RequestHeader as GeneratedRequestHeader
from oncelog.protocol.generated.response_header import ResponseHeader as GeneratedResponseHeader
from oncelog.protocol.messages import API_VERSIONS
from tests.support.frames import encode_request


def test_request_before_the_flexible_versions_has_header_v1() -> None:
    frame = encode_request(ApiKey.METADATA, 8, 7, "me", b"body")
    assert frame == b"\0\0\0\x10" + b"\0\x03\0\x08\0\0\0\x07\0\x02me" + b"body"


def test_request_in_a_flexible_version_has_header_v2_with_a_plain_client_id() -> None:
    frame = encode_request(ApiKey.METADATA, 9, 7, "me", b"body")
    assert frame == b"\0\0\0\x11" + b"\0\x03\0\x09\0\0\0\x07\0\x02me\0" + b"body"


def test_null_client_id_has_length_minus_one() -> None:
    assert encode_request(ApiKey.METADATA, 8, 7, None, b"") == b"\0\0\0\x0a" + b"\0\x03\0\x08\0\0\0\x07\xff\xff"


@given(
    st.sampled_from(sorted(API_VERSIONS)),
    st.data(),
    st.integers(-(2**31), 2**31 - 1),
    st.none() | st.text(max_size=20),
    st.binary(max_size=10),
)
def test_decoded_request_header_is_what_was_encoded(
    key: int, data: st.DataObject, correlation_id: int, client_id: str | None, body: bytes
) -> None:
    version = data.draw(st.integers(API_VERSIONS[key].lowest, API_VERSIONS[key].highest))
    frame = encode_request(key, version, correlation_id, client_id, body)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header, start = decode_request_header(memoryview(frame)[4:])
    assert (header.api_key, header.api_version, header.correlation_id) == (key, version, correlation_id)
    assert (header.client_id, header.is_known) == (client_id, True)
    assert frame[4 + start :] == body
    generated = GeneratedRequestHeader(key, version, correlation_id, client_id)
    assert frame[4 : 4 + start] == generated.encode(2 if is_flexible(key, version) else 1)


def test_tagged_fields_of_a_request_header_are_skipped() -> None:
    frame = b"\0\x03\0\x09\0\0\0\x07\xff\xff" + b"\x01\x00\x03abc" + b"body"
    header, start = decode_request_header(frame)
    assert header.client_id is None
    assert frame[start:] == b"body"


@pytest.mark.parametrize(("key", "version"), [(999, 0), (-1, 0), (18, 99), (3, -1), (52, 0)])
def test_a_request_header_with_an_unknown_key_or_version_is_decoded_and_marked_unknown(key: int, version: int) -> None:
    frame = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True) + b"\0\0\0\x05\0\x01x" + b"?"
    header, start = decode_request_header(memoryview(frame))
    assert (header.api_key, header.api_version, header.correlation_id) == (key, version, 5)
    assert (header.client_id, header.is_known, start) == ("x", False, 11)


def test_every_truncation_of_a_request_header_is_malformed() -> None:
    frame = encode_request(ApiKey.METADATA, 9, 7, "me", b"")[4:]
    for length in range(len(frame)):
        with pytest.raises(MalformedMessage):
            decode_request_header(memoryview(frame)[:length])


def test_bytes_of_a_client_id_that_are_not_utf8_are_replaced() -> None:
    header, _ = decode_request_header(b"\0\x03\0\x08\0\0\0\x07\0\x03K\xf6l")
    assert header.client_id == "K\ufffdl"


def test_a_long_client_id_that_is_not_utf8_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match=r"client_id .* 20000 bytes that are not UTF-8"):
        decode_request_header(b"\0\x03\0\x08\0\0\0\x07\x4e\x20" + b"\xff" * 20_000)


@pytest.mark.parametrize(
    ("version", "head"), [(8, b"\0\0\0\x0e" + b"\0\0\0\x07"), (9, b"\0\0\0\x0f" + b"\0\0\0\x07" + b"\0")]
)
def test_response_header_carries_tags_from_the_flexible_versions_on(version: int, head: bytes) -> None:
    assert encode_response_header(ApiKey.METADATA, version, 7, 10) == head
    assert decode_response_header(head[4:], ApiKey.METADATA, version) == (7, len(head) - 4)
    assert head[4:] == GeneratedResponseHeader(7).encode(version - 8)


@pytest.mark.parametrize("version", range(5))
def test_api_versions_response_has_header_v0_in_every_version(version: int) -> None:
    head = encode_response_header(ApiKey.API_VERSIONS, version, 7, 10)
    assert head == b"\0\0\0\x0e" + b"\0\0\0\x07"
    assert decode_response_header(head[4:], ApiKey.API_VERSIONS, version) == (7, 4)


def test_truncated_response_header_is_malformed() -> None:
    for length in range(5):
        with pytest.raises(MalformedMessage):
            decode_response_header(b"\0\0\0\x07\0"[:length], ApiKey.METADATA, 9)
    with pytest.raises(MalformedMessage):
        peek_correlation_id(b"\0\0\0")


def test_correlation_id_can_be_read_without_knowing_the_request() -> None:
    assert peek_correlation_id(b"\xff\xff\xff\xfe\0rest") == -2
