"""The login of a connection: what is in its place, how a session begins again, and when it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oncelog.broker.core.login.sasl_authenticator import LoginResult, SaslAuthenticator
from oncelog.broker.core.login.sasl_mechanisms import LoggedIn, PlainLogin
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.produce_request import ProduceRequest
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.messages import response_type
from oncelog.protocol.wire import Message
from tests.support.frames import encode_request
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel

LIFETIME_MS = 10_000


def frame(message: Message, version: int) -> memoryview:
    return memoryview(encode_request(message.API_KEY, version, 1, "c", message.encode(version)))[4:]


@pytest.mark.parametrize("step_ms", [0, 3_600_000, -3_600_000])
def test_the_lifetime_of_a_session_does_not_depend_on_the_wall_clock(step_ms: int) -> None:
    broker, channel = Admin().broker, RecordingChannel()
    authenticator = SaslAuthenticator(
        LoginResult({"PLAIN": lambda: PlainLogin({"alice": "secret"})}, {"PLAIN": LIFETIME_MS}, 1000, 0), broker
    )
    assert not authenticator.was_authenticated
    assert authenticator.takes(channel, 0, frame(SaslHandshakeRequest("PLAIN"), 1), NOW_MS)
    assert authenticator.takes(channel, 1, frame(SaslAuthenticateRequest(b"\0alice\0secret"), 2), NOW_MS)
    assert authenticator.was_authenticated
    authenticator.clock_was_set(step_ms)
    begun_ms = NOW_MS + step_ms
    assert authenticator.allows_requests(begun_ms + LIFETIME_MS)
    assert not authenticator.allows_requests(begun_ms + LIFETIME_MS + 1)
    broker.stop(NOW_MS)


class Expiring(PlainLogin):
    """A user and password that are valid until then."""

    def __init__(self, expires_ms: int | None) -> None:
        super().__init__({"alice": "secret", "bob": "secret"})
        self._expires_ms = expires_ms

    def respond(self, token: bytes, now_ms: int) -> bytes:
        answer = super().respond(token, now_ms)
        if self.outcome is not None:
            self.outcome = LoggedIn(self.outcome.user, self._expires_ms)
        return answer


class Client:
    """A connection to a listener that requires PLAIN, with a authenticator of its own."""

    def __init__(
        self, *, session_ms: int = 0, failure_delay_ms: int = 0, largest_token: int = 1000, token_ms: int | None = None
    ) -> None:
        """:param token_ms: how long what the user logs in with is valid."""
        self.broker, self.channel = Admin().broker, RecordingChannel()
        expires_ms = None if token_ms is None else NOW_MS + token_ms
        mechanisms = {"PLAIN": lambda: Expiring(expires_ms), "OTHER": lambda: Expiring(expires_ms)}
        self.login = LoginResult(mechanisms, {"PLAIN": session_ms}, largest_token, failure_delay_ms)
        self.channel.session.authenticator = SaslAuthenticator(self.login, self.broker)

    def send(self, message: Message, version: int, *, after_ms: int = 0) -> Any:
        """The answer; None if there is none."""
        return self.send_frame(frame(message, version), message.API_KEY, version, after_ms=after_ms)

    def send_frame(self, sent: memoryview, api_key: int, version: int, *, after_ms: int = 0) -> Any:
        before = len(self.channel.answers)
        self.broker.receive(self.channel, before, sent, NOW_MS + after_ms)
        if len(self.channel.answers) == before:
            return None
        answer = self.channel.answers[-1]
        _, header = decode_response_header(answer[4:], api_key, version)
        return response_type(api_key).decode(answer, version, 4 + header)

    def logged_in(self) -> Client:
        assert self.send(HELLO, 1).error_code == Error.NONE
        assert self.send(LOGIN, 2).error_code == Error.NONE
        return self

    def works(self, *, after_ms: int = 0) -> bool:
        return self.send(ANY, 4, after_ms=after_ms) is not None and self.channel.closed is None


HELLO = SaslHandshakeRequest("PLAIN")
LOGIN = SaslAuthenticateRequest(b"\0alice\0secret")
ANY = HeartbeatRequest("group", 1, "nobody")


@pytest.fixture
def client() -> Iterator[Callable[..., Client]]:
    made: list[Client] = []

    def make(**settings: Any) -> Client:
        made.append(Client(**settings))
        return made[-1]

    yield make
    for one in made:
        one.broker.stop(NOW_MS)


def test_a_request_sent_in_place_of_a_token_gets_the_error_of_its_api(client: Callable[..., Client]) -> None:
    """SaslServerAuthenticator.handleSaslToken; a request that cannot be read, or is not served, gets no answer."""
    one = client()
    assert one.send(HELLO, 1).error_code == Error.NONE
    assert one.send(ANY, 4).error_code == Error.ILLEGAL_SASL_STATE
    assert one.channel.closed is not None
    for key, version, body in ((12, 99, b""), (999, 0, b""), (12, 4, b"\xff"), (36, 9, b"")):  # 12: Heartbeat
        other = client()
        other.send(HELLO, 1)
        assert other.send_frame(memoryview(encode_request(key, version, 1, "c", body))[4:], 12, 4) is None
        assert other.channel.closed is not None


@pytest.mark.parametrize("version", [0, 3, 99])
def test_an_api_versions_request_after_the_handshake_is_refused(client: Callable[..., Client], version: int) -> None:
    """In the form of version 0 if the version is unknown, with no API in it."""
    one = client()
    one.send(HELLO, 1)
    known = version < 99
    body = ApiVersionsRequest("c", "1").encode(version) if known else b""
    sent = memoryview(encode_request(ApiKey.API_VERSIONS, version, 1, "c", body))[4:]
    answer = one.send_frame(sent, ApiKey.API_VERSIONS, version if known else 0)
    assert (answer.error_code, answer.api_keys) == (Error.ILLEGAL_SASL_STATE, [])
    assert one.channel.closed is not None


@pytest.mark.parametrize(
    ("before", "message", "version"),
    [
        ((), HeartbeatRequest("group", 1, "nobody"), 4),
        ((), SaslAuthenticateRequest(b"\0alice\0secret"), 2),
        ((ApiVersionsRequest("c", "1"),), ApiVersionsRequest("c", "1"), 3),
        ((ApiVersionsRequest("c", "1"),), HeartbeatRequest("group", 1, "nobody"), 4),
    ],
)
def test_only_one_api_versions_is_accepted_before_the_handshake(
    client: Callable[..., Client], before: tuple[Message, ...], message: Message, version: int
) -> None:
    """What is out of place there gets no answer."""
    one = client()
    for asked in before:
        assert one.send(asked, 3).error_code == Error.NONE
    assert one.send(message, version) is None
    assert one.channel.closed is not None


def test_a_long_request_in_place_of_a_token_gets_no_answer(client: Callable[..., Client]) -> None:
    """Unlike Apache Kafka we do not read it for somebody who has not logged in."""
    one = client(largest_token=100_000)
    one.send(HELLO, 1)
    assert one.send(HeartbeatRequest("g" * 20_000, 1, "nobody"), 4) is None
    assert one.channel.closed is not None


def test_a_request_without_an_answer_sent_in_place_of_a_token_gets_no_answer(client: Callable[..., Client]) -> None:
    one = client()
    one.send(HELLO, 1)
    assert one.send(ProduceRequest(None, 0, 1000, []), 9) is None
    assert one.channel.closed is not None


def test_a_failed_login_is_answered_and_its_connection_closed_after_the_delay(client: Callable[..., Client]) -> None:
    """``connection.failed.authentication.delay.ms``: meanwhile nothing else is answered."""
    one = client(failure_delay_ms=100)
    one.send(HELLO, 1)
    assert one.send(ANY, 4) is None
    assert one.send(LOGIN, 2, after_ms=50) is None
    one.broker.advance(NOW_MS + 99)
    assert one.channel.closed is None
    one.broker.advance(NOW_MS + 100)
    assert len(one.channel.answers) == 2
    assert one.channel.closed is not None


@pytest.mark.parametrize("version", [0, 1])
def test_a_session_that_does_not_expire_is_not_renewed(client: Callable[..., Client], version: int) -> None:
    """KafkaChannel.maybeBeginServerReauthentication: without an expiry the handshake is answered as out of place."""
    one = client().logged_in()
    answer = one.send(HELLO, version)
    assert (answer.error_code, answer.mechanisms) == (Error.ILLEGAL_SASL_STATE, [])
    assert one.works()


def test_a_session_that_expires_is_renewed_at_most_once_a_second(client: Callable[..., Client]) -> None:
    one = client(session_ms=LIFETIME_MS).logged_in()
    assert one.send(HELLO, 1).error_code == Error.NONE
    assert one.send(LOGIN, 2).session_lifetime_ms == LIFETIME_MS
    assert one.send(HELLO, 1, after_ms=999).error_code == Error.ILLEGAL_SASL_STATE
    assert one.works(after_ms=999)
    assert one.send(HELLO, 1, after_ms=1000).error_code == Error.NONE


def test_a_renewal_with_a_mechanism_that_is_not_enabled_ends_the_connection(client: Callable[..., Client]) -> None:
    """Unlike at the first login Apache Kafka answers nothing."""
    one = client(session_ms=LIFETIME_MS).logged_in()
    assert one.send(SaslHandshakeRequest("NOPE"), 1) is None
    assert one.channel.closed is not None
    first = client()
    assert first.send(SaslHandshakeRequest("NOPE"), 1).error_code == Error.UNSUPPORTED_SASL_MECHANISM
    assert first.channel.closed is not None


def bare(one: Client, token: bytes, *, after_ms: int = 0) -> bytes | None:
    """The answer to a token without a request around it; None if there is none."""
    before = len(one.channel.answers)
    one.broker.receive(one.channel, before, memoryview(token), NOW_MS + after_ms)
    return one.channel.answers[-1] if len(one.channel.answers) > before else None


def test_after_a_handshake_of_version_0_tokens_are_sent_without_a_request_header(client: Callable[..., Client]) -> None:
    """The answer too is only a token with its size (KIP-43)."""
    one = client()
    assert one.send(HELLO, 0).error_code == Error.NONE
    assert bare(one, b"\0alice\0secret") == bytes(4)
    assert one.channel.session.principal == "User:alice"
    assert one.works()


def test_a_wrong_token_without_a_request_header_gets_no_answer(client: Callable[..., Client]) -> None:
    """There is no place for an error."""
    one = client()
    one.send(HELLO, 0)
    assert bare(one, b"\0alice\0wrong") is None
    assert one.channel.closed is not None
    assert bare(one, b"\0alice\0secret") is None


@pytest.mark.parametrize(("version", "lifetime_ms"), [(0, 0), (1, LIFETIME_MS), (2, LIFETIME_MS)])
def test_the_session_lifetime_is_reported_from_version_1_on(
    client: Callable[..., Client], version: int, lifetime_ms: int
) -> None:
    one = client(session_ms=LIFETIME_MS)
    one.send(HELLO, 1)
    answer = one.send(LOGIN, version)
    assert (answer.error_code, answer.error_message, answer.session_lifetime_ms) == (Error.NONE, "", lifetime_ms)


def test_a_session_that_has_ended_ends_the_connection_at_the_next_request(client: Callable[..., Client]) -> None:
    one = client(session_ms=LIFETIME_MS).logged_in()
    assert one.works(after_ms=LIFETIME_MS)
    assert not one.works(after_ms=LIFETIME_MS + 1)


def test_a_session_that_has_ended_may_still_be_renewed(client: Callable[..., Client]) -> None:
    """``Processor.processCompletedReceives``: only the handshake that begins the next login is not too late."""
    one = client(session_ms=LIFETIME_MS).logged_in()
    assert one.send(HELLO, 1, after_ms=LIFETIME_MS + 1).error_code == Error.NONE
    assert one.send(LOGIN, 2, after_ms=LIFETIME_MS + 1).session_lifetime_ms == LIFETIME_MS
    assert one.works(after_ms=2 * LIFETIME_MS)


@pytest.mark.parametrize(("token_ms", "ends_ms"), [(1000, 1000), (2 * LIFETIME_MS, LIFETIME_MS)])
def test_a_session_ends_no_later_than_its_token(client: Callable[..., Client], token_ms: int, ends_ms: int) -> None:
    """The earlier of the token's expiry and ``connections.max.reauth.ms``."""
    one = client(session_ms=LIFETIME_MS, token_ms=token_ms).logged_in()
    assert one.works(after_ms=ends_ms)
    assert not one.works(after_ms=ends_ms + 1)


def test_a_session_with_an_expiring_token_can_be_renewed_without_a_setting(client: Callable[..., Client]) -> None:
    one = client(token_ms=LIFETIME_MS).logged_in()
    assert one.send(HELLO, 1).error_code == Error.NONE


@pytest.mark.parametrize(
    ("message", "reported"),
    [
        (
            SaslAuthenticateRequest(b"\0bob\0secret"),
            "Cannot change principals during re-authentication from User.alice: User.bob",
        ),
        (SaslAuthenticateRequest(b"\0alice\0wrong"), "Authentication failed: Invalid username or password"),
    ],
)
def test_a_renewal_by_another_user_or_without_the_password_ends_the_connection(
    client: Callable[..., Client], message: SaslAuthenticateRequest, reported: str
) -> None:
    one = client(session_ms=LIFETIME_MS).logged_in()
    one.send(HELLO, 1)
    answer = one.send(message, 2)
    assert (answer.error_code, answer.error_message) == (Error.SASL_AUTHENTICATION_FAILED, reported)
    assert one.channel.closed is not None
    assert one.channel.session.principal == "User:alice"


def test_a_renewal_with_another_mechanism_is_refused_when_the_token_arrives(client: Callable[..., Client]) -> None:
    """The handshake is answered as if all were well (``SaslState.REAUTH_BAD_MECHANISM``)."""
    one = client(session_ms=LIFETIME_MS).logged_in()
    assert one.send(SaslHandshakeRequest("OTHER"), 1).error_code == Error.NONE
    assert one.send(LOGIN, 2) is None
    assert one.channel.closed is not None


def test_a_frame_larger_than_a_token_may_be_ends_the_connection(client: Callable[..., Client]) -> None:
    """``sasl.server.max.receive.size`` holds until the login is done."""
    one = client(largest_token=200)
    long = HeartbeatRequest("g" * 200, 1, "nobody")
    one.logged_in()
    assert one.send(long, 4) is not None
    assert one.channel.closed is None
    other = client(largest_token=200)
    other.send(HELLO, 1)
    assert other.send(SaslAuthenticateRequest(b"x" * 200), 2) is None
    assert other.channel.closed is not None


def test_a_change_of_the_settings_applies_from_the_next_login_on(client: Callable[..., Client]) -> None:
    """A connection that has logged in stays; what it needs to log in again is what is set now."""
    one = client(session_ms=LIFETIME_MS).logged_in()
    one.login.become(LoginResult({"PLAIN": lambda: PlainLogin({"alice": "new"})}, {}, 1000, 0))
    assert one.works()
    one.send(HELLO, 1)
    assert one.send(LOGIN, 2).error_code == Error.SASL_AUTHENTICATION_FAILED


def test_the_name_of_an_unknown_mechanism_is_not_logged(
    client: Callable[..., Client], caplog: pytest.LogCaptureFixture
) -> None:
    """It may be anything, even a password from a client out of step."""
    client().send(SaslHandshakeRequest("my secret"), 1)
    client().send(SaslHandshakeRequest("GSSAPI"), 1)
    assert "my secret" not in caplog.text
    assert "'GSSAPI' is not enabled" in caplog.text
