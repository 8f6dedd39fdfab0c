"""Messages and requests: every frame is answered or ends its own connection, and the others are served afterwards."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from oncelog.broker.core.login.sasl_authenticator import LoginResult, SaslAuthenticator
from oncelog.broker.core.login.sasl_mechanisms import InvalidToken, LoggedIn, Mechanism, OAuthBearer, PlainLogin, Scram
from oncelog.broker.core.registry import SERVED, served_apis
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import MalformedMessage
from oncelog.protocol.fetch_fast import parse_in_python
from oncelog.protocol.generated.fetch_request import FetchRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.messages import request_type, response_type
from oncelog.protocol.scram import credential
from oncelog.protocol.wire import Message
from oncelog.records.batch import encode_batch
from oncelog.records.native import compiled
from oncelog.records.record import Record
from tests.hostile.fuzz.target import Target, one_at_a_time
from tests.property.broker.core.test_produce_runs import Frames, Sent, Side
from tests.support.frames import encode_request
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel
from tests.unit.protocol.message_values import RandomSource, any_scalar, make_message
from tools.codec.schema import Field

HOUR_MS = 3_600_000
MAX_FRAMES = 8
MAX_STEPS = 100_000


class Failures(logging.Handler):
    """What the broker logs with an exception: a handler met a case that no rule covers.

    Each target begins with none.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is not None:
            self.seen.append(record)

    def check(self) -> None:
        seen, self.seen = self.seen, []
        for record in seen:
            assert record.exc_info is not None
            raise AssertionError(record.getMessage()) from record.exc_info[1]


FAILURES = Failures()
logging.getLogger("oncelog").addHandler(FAILURES)


# --- messages

KINDS = [kind for key in sorted(SERVED) for kind in (request_type(key), response_type(key))]


def run_message(data: bytes) -> None:
    """Two bytes choose message and version.

    What can be read is written and read again without change. Both twins read the same of a Fetch.
    """
    if len(data) < 2:
        return
    kind = KINDS[data[0] % len(KINDS)]
    version = kind.MIN_VERSION + data[1] % (kind.MAX_VERSION - kind.MIN_VERSION + 1)
    if kind is FetchRequest and version >= kind.FLEXIBLE_FROM and compiled is not None:
        assert compiled.parse_fetch(data, 2, version) == parse_in_python(data, 2, version)
    read = _read(lambda: kind.decode_prefix(data, version, 2))
    if isinstance(read, str):
        return
    message, _ = read
    written = message.encode(version)
    assert kind.decode(written, version).encode(version) == written


def _read(decode: Callable[[], tuple[Message, int]]) -> tuple[Message, int] | str:
    """The message and where it ends, or why there is none."""
    try:
        return decode()
    except MalformedMessage as error:
        return str(error)


def messages() -> Iterator[bytes]:
    for index, kind in enumerate(KINDS):
        for version in {kind.MIN_VERSION, kind.MAX_VERSION}:
            yield _message(index, version, RandomSource(f"{index} {version}"))


def _message(index: int, version: int, source: RandomSource) -> bytes:
    kind = KINDS[index]
    made = make_message(kind.__name__, version, source)
    return bytes([index, version - kind.MIN_VERSION]) + bytes(made.encode(version))[:500]


def new_message(random: Random) -> bytes:
    index = random.randrange(len(KINDS))
    version = random.randint(KINDS[index].MIN_VERSION, KINDS[index].MAX_VERSION)
    return _message(index, version, RandomSource(str(random.getrandbits(64))))


# --- requests

NAMES = ("orders", "orders", "keyed", "id", "group", "range", "member", "", "1", "__consumer_offsets", "x" * 250)
TOPICS = {"orders": {}, "keyed": {"cleanup.policy": "compact"}}
SETTINGS = {
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.two.phase.commit.enable": "true",
}
TOPIC_IDS = [Admin(**SETTINGS).broker.topics.create(name, 2, TOPICS[name], NOW_MS).topic_id for name in ("orders",)]
BATCHES = [
    encode_batch([Record(0, NOW_MS, b"k", b"v")]),
    encode_batch([Record(0, NOW_MS, b"k", b"v")], producer_id=0, producer_epoch=0, base_sequence=0),
    encode_batch([Record(0, NOW_MS, b"k", b"v")], producer_id=0, producer_epoch=0, base_sequence=0, transactional=True),
]


class LikelySource(RandomSource):
    TEXTS = NAMES

    def integer(self, low: int, high: int) -> int:
        if self.random.random() < 0.8:
            return min(max(self.random.choice((-1, 0, 0, 0, 1, 1, 2, 3, 60_000)), low), high)
        return super().integer(low, high)


def likely(source: Any, item: Field) -> Any:
    """A value that gets deep into the code: names, ids and batches that the broker knows."""
    random: Random = source.random
    if item.type == "uuid" and random.random() < 0.8:
        return TOPIC_IDS[0]
    if item.type == "records" or (item.type == "bytes" and random.random() < 0.2):
        return bytes(random.choice(BATCHES))
    return any_scalar(source, item)


def _request(api_key: int, version: int, seed: str) -> bytes:
    source = LikelySource(seed)
    kind = request_type(api_key)
    request = make_message(kind.__name__, version, source, likely)
    return bytes(encode_request(api_key, version, source.random.getrandbits(31), "test", request.encode(version)))


REQUESTS = [
    (key, version)
    for key, row in sorted(served_apis(two_phase_commit=True).items())
    for version in range(max(row.low, request_type(key).MIN_VERSION), row.high + 1)
]
"""Every API in every version that is served."""


def requests() -> Iterator[bytes]:
    for key, version in REQUESTS:
        yield _request(key, version, f"{key} {version}")


def new_requests(random: Random) -> bytes:
    chosen = random.choices(REQUESTS, k=random.randint(1, 4))
    return b"".join(_request(*each, str(random.getrandbits(64))) for each in chosen)


def frames_in(data: bytes) -> Iterator[bytes]:
    """As a connection splits them: size and frame; the bytes left over at the end form a frame too."""
    for _ in range(MAX_FRAMES):
        size = int.from_bytes(data[:4], "big")
        if len(data) <= 4:
            return
        yield data[4 : 4 + size]
        data = data[4 + size :]


class Harness:
    """A broker with topics, another connection, and every answer that is due; two hours pass after each input."""

    def __init__(self) -> None:
        FAILURES.seen.clear()
        self.broker = Admin(**SETTINGS).broker
        for name, settings in TOPICS.items():
            self.broker.topics.create(name, 2, settings, NOW_MS)
        for name in ("__consumer_offsets", "__transaction_state"):
            self.broker.topics.ensure_internal(name, NOW_MS)
        self.channels: list[RecordingChannel] = []
        self.now_ms = NOW_MS

    def feed(self, data: bytes) -> None:
        for frame in frames_in(data):
            self.send(frame)
        self.others_are_served()
        for minutes in (0, 1, 60, 59):
            self.now_ms += minutes * HOUR_MS // 60
            self.broker.advance(self.now_ms)
            self._work()
        self.channels = [channel for channel in self.channels if not self._is_answered(channel)]
        FAILURES.check()

    @staticmethod
    def _is_answered(channel: RecordingChannel) -> bool:
        assert len(channel.answers) <= 1, "a request got two answers"
        return channel.closed is not None or len(channel.answers) == 1

    def send(self, frame: bytes) -> RecordingChannel:
        channel = FuzzChannel()
        self.broker.receive(channel, 0, memoryview(frame), self.now_ms)
        self.channels.append(channel)
        self._work()
        return channel

    def _work(self) -> None:
        for _ in range(MAX_STEPS):
            if not len(self.broker.tasks):
                return
            self.broker.tasks.step()
        raise AssertionError("the work of one request has no end")

    def others_are_served(self) -> None:
        request = MetadataRequest(topics=[])
        asked = encode_request(ApiKey.METADATA, 12, 1, "other", request.encode(12))
        other = self.send(bytes(asked)[4:])
        assert other.closed is None and len(other.answers) == 1

    def end(self) -> None:
        self.broker.stop(self.now_ms)
        assert all(self._is_answered(channel) for channel in self.channels), "a request got no answer"
        FAILURES.check()


class FuzzChannel(RecordingChannel):
    def reply(self, slot: int, parts: Any) -> None:
        self.answers.append(b"".join(bytes(part) for part in parts if isinstance(part, bytes | bytearray | memoryview)))

    def throttle(self, wait_ms: int) -> None:
        """Answers come at once here."""


# --- runs of produces


class TwoWays:
    """The general path and the path for runs give the same result, whatever the buffer holds."""

    def __init__(self) -> None:
        FAILURES.seen.clear()
        self._alone, self._together = Side("none"), Side("none")

    def feed(self, data: bytes) -> None:
        frames = [len(frame).to_bytes(4, "big") + frame for frame in frames_in(data)]
        self._alone.reconnect()
        self._together.reconnect()
        self._alone.one_by_one(frames)
        self._together.together(frames)
        assert self._together.reported() == self._alone.reported()
        FAILURES.check()

    def end(self) -> None:
        assert self._together.seen() == self._alone.seen()


def produces() -> Iterator[bytes]:
    for version, topic in ((7, "plain"), (9, "plain"), (12, "small"), (9, "keyed"), (11, "dated")):
        frames = Frames({})
        sents = [
            Sent(topic, version=version),
            Sent(topic, version=version, count=3),
            Sent(topic, version=version, pid=0, sequence=-1),
            Sent(topic, version=version, pid=0, sequence=-1, size=100),
            Sent(topic, version=version),
        ]
        yield b"".join(map(frames.frame, sents))


# --- SASL

PASSWORD = "alice-secret"
TOKEN = "eyJhbGciOiJub25lIn0.e30.x"


def _mechanisms() -> dict[str, Any]:
    scram = {("alice", number): credential(number, 4096, b"salt", b"\1" * 32) for number in (1, 2)}

    def validate(token: str, now_ms: int) -> LoggedIn:
        if token != TOKEN:
            raise InvalidToken("another token")
        return LoggedIn("alice", now_ms + HOUR_MS)

    def maker(name: str) -> Any:
        def make() -> Mechanism:
            return Scram(name, scram, b"nonce")

        return make

    return {
        "PLAIN": lambda: PlainLogin({"alice": PASSWORD}),
        "SCRAM-SHA-256": maker("SCRAM-SHA-256"),
        "SCRAM-SHA-512": maker("SCRAM-SHA-512"),
        "OAUTHBEARER": lambda: OAuthBearer(validate),
    }


class Logins:
    """One frame per connection: without a password or token nobody gets in, and no other request is served before
    that.
    """

    def __init__(self) -> None:
        FAILURES.seen.clear()
        self._broker = Admin(**SETTINGS).broker

    def feed(self, data: bytes) -> None:
        channel = FuzzChannel()
        authenticator = SaslAuthenticator(LoginResult(_mechanisms(), {}, 524_288, 0), self._broker)
        channel.session.authenticator = authenticator
        sent = 0
        for frame in frames_in(data):
            if channel.closed is not None:
                break
            self._broker.receive(channel, sent, memoryview(frame), NOW_MS)
            sent += 1
        if authenticator.is_authenticated:
            assert channel.session.principal == "User:alice"
            assert PASSWORD.encode() in data or TOKEN.encode() in data, "a login without password or token"
        elif (
            not authenticator.was_authenticated
        ):  # a second login that failed ends the connection, whoever it belonged to
            assert channel.session.principal == "User:ANONYMOUS"
        assert channel.closed is not None or len(channel.answers) == sent
        reported = re.sub("password for ['\"].*", "", channel.closed or "")  # a user who is not known may have any name
        assert PASSWORD not in reported
        FAILURES.check()

    def end(self) -> None:
        self._broker.stop(NOW_MS)
        FAILURES.check()


def logins() -> Iterator[bytes]:
    tokens = {
        "PLAIN": [f"\0alice\0{PASSWORD}".encode()],
        "SCRAM-SHA-256": [b"n,,n=alice,r=abc", b"c=biws,r=abcbm9uY2U=,p=AAAA"],
        "SCRAM-SHA-512": [b"n,a=alice,n=alice,r=abc,x=1", b"c=bixhPWFsaWNlLA==,r=abcbm9uY2U=,p=AAAA"],
        "OAUTHBEARER": [f"n,,\1auth=Bearer {TOKEN}\1\1".encode(), b"\1"],
    }
    for name, messages_of in tokens.items():
        for version in (0, 1):
            handshake = SaslHandshakeRequest(mechanism=name).encode(version)
            frames = [bytes(encode_request(ApiKey.SASL_HANDSHAKE, version, 1, "t", handshake))]
            for token in messages_of:
                authenticate = SaslAuthenticateRequest(auth_bytes=token).encode(2)
                framed = bytes(encode_request(ApiKey.SASL_AUTHENTICATE, 2, 2, "t", authenticate))
                frames.append(framed if version else len(token).to_bytes(4, "big") + token)
            yield b"".join(frames)
            versions = encode_request(ApiKey.API_VERSIONS, 0, 1, "t", request_type(ApiKey.API_VERSIONS)().encode(0))
            yield bytes(versions) + b"".join(frames)


TARGETS = [
    Target("messages", one_at_a_time(run_message), messages, new_message, short=4000),
    Target("requests", Harness, requests, new_requests, tuple(n.encode() for n in NAMES[:8]), short=1200),
    Target("produce_runs", TwoWays, produces, short=1000),
    Target("sasl", Logins, logins, tokens=(b"alice", b"n=", b",r=", b",p=", b"=2C", b"\1", b"\0"), short=1200),
]
