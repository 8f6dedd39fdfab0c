"""Whatever is sent before a login is complete, in whatever order or all at once: none of it is carried out."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator

import pytest

from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.create_topics_response import CreateTopicsResponse
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.wire import Message
from tests.integration.security.sides import PASSWORD, Rule, Side, oncelog_side
from tests.support.frames import encode_request

UNKNOWN_TOPIC, ILLEGAL_SASL_STATE = 3, 34
ALL_RIGHTS = Rule(2, "*", 3, "User:*", "*", 2, 3)


def frame(message: Message, version: int) -> bytes:
    return encode_request(message.API_KEY, version, 7, "hostile", message.encode(version))


def sized(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


VERSIONS = frame(ApiVersionsRequest("x", "1"), 3)
HELLO, HELLO_BARE = frame(SaslHandshakeRequest("PLAIN"), 1), frame(SaslHandshakeRequest("PLAIN"), 0)
WRONG = frame(SaslAuthenticateRequest(b"\0alice\0wrong"), 2)
EMPTY = frame(SaslAuthenticateRequest(b""), 2)
RIGHT = frame(SaslAuthenticateRequest(f"\0alice\0{PASSWORD}".encode()), 2)
RIGHT_BARE = sized(f"\0alice\0{PASSWORD}".encode())
WISH = frame(CreateTopicsRequest([CreatableTopic("sneaked", 1, 1)], 5000), 5)
UNREADABLE = sized(b"\x00\x24\x00\x02\xff\xff\xff\xff\xff\xff\xff\x7f")


@pytest.fixture(scope="module")
def side() -> Iterator[Side]:
    with oncelog_side({"connection.failed.authentication.delay.ms": "200"}) as found:
        found.set_rules(ALL_RIGHTS)
        yield found


def answers_until_closed(connection: RawConnection) -> list[bytes]:
    found: list[bytes] = []
    with contextlib.suppress(ConnectionClosed):
        while True:
            found.append(bytes(connection.receive_frame()))
    return found


@pytest.mark.parametrize(
    "sent",
    [
        [WISH],
        [VERSIONS, WISH],
        [VERSIONS, VERSIONS, WISH],
        [HELLO, WISH],
        [HELLO, HELLO, RIGHT, WISH],
        [HELLO, VERSIONS, RIGHT, WISH],
        [HELLO, WRONG, WISH],
        [HELLO, WRONG, RIGHT, WISH],
        [HELLO, WRONG, HELLO, RIGHT, WISH],
        [HELLO, EMPTY, RIGHT, WISH],
        [RIGHT, WISH],
        [VERSIONS, RIGHT, WISH],
        [HELLO_BARE, WISH, WISH],
        [HELLO_BARE, RIGHT, WISH],
        [HELLO, RIGHT_BARE, WISH],
        [HELLO, UNREADABLE, RIGHT, WISH],
        [sized(bytes(600_000)), HELLO, RIGHT, WISH],
        [struct.pack(">i", -1), HELLO, RIGHT, WISH],
        [sized(b""), HELLO, RIGHT, WISH],
    ],
)
def test_no_request_is_served_before_the_login(side: Side, sent: list[bytes]) -> None:
    with RawConnection(side.asking_servers) as hostile:
        with contextlib.suppress(ConnectionClosed):
            hostile.send_bytes(b"".join(sent))
        answers = answers_until_closed(hostile)
    if sent == [HELLO, WISH]:
        refused = CreateTopicsResponse.decode(answers.pop(), 5, 5).topics
        assert [(topic.name, topic.error_code) for topic in refused] == [("sneaked", ILLEGAL_SASL_STATE)]
    assert len(answers) < len(sent)
    asked = MetadataRequest([MetadataRequestTopic(name="sneaked")], False)
    assert side.admin.ask(asked, 9).topics[0].error_code == UNKNOWN_TOPIC


@pytest.mark.parametrize("sent", [[HELLO, RIGHT], [VERSIONS, HELLO, RIGHT], [HELLO_BARE, RIGHT_BARE]])
def test_requests_sent_together_with_a_successful_login_are_served(side: Side, sent: list[bytes]) -> None:
    asked = frame(MetadataRequest([MetadataRequestTopic(name="sneaked")], False), 9)
    with RawConnection(side.asking_servers) as honest:
        honest.send_bytes(b"".join([*sent, asked]))
        for _ in sent:
            honest.receive_frame()
        assert honest.receive_frame()[:4] == struct.pack(">i", 7)
