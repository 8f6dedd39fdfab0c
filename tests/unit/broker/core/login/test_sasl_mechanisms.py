"""SASL PLAIN and OAUTHBEARER: who is let in, and what a client that is not is told, as in Apache Kafka."""

from __future__ import annotations

import pytest

from oncelog.broker.core.login.sasl_mechanisms import (
    InvalidToken,
    LoggedIn,
    LoginRefused,
    OAuthBearer,
    PlainLogin,
    Scram,
)
from oncelog.protocol.scram import ScramCredential, credential

NOW_MS = 1_700_000_000_000
USERS = {"alice": "secret", "bøb": "pässwörd"}


@pytest.mark.parametrize(
    ("token", "user"),
    [
        ("\0alice\0secret", "alice"),
        ("alice\0alice\0secret", "alice"),
        ("\0bøb\0pässwörd", "bøb"),
    ],
)
def test_a_client_with_the_password_is_authenticated_without_an_expiry(token: str, user: str) -> None:
    """An identity to act as may be named if it is the user's own (RFC 4616)."""
    plain = PlainLogin(USERS)
    assert plain.respond(token.encode(), NOW_MS) == b""
    assert plain.outcome == LoggedIn(user, expires_ms=None)


@pytest.mark.parametrize(
    ("token", "reported"),
    [
        ("", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        ("alice\0secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        ("\0alice\0secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        ("\0alice\0secret\0more\0still", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        ("\0\0secret", "Authentication failed: username not specified"),
        ("\0alice\0", "Authentication failed: password not specified"),
        ("\0alice\0Secret", "Authentication failed: Invalid username or password"),
        ("\0alice\0secret ", "Authentication failed: Invalid username or password"),
        ("\0nobody\0secret", "Authentication failed: Invalid username or password"),
        (
            "bob\0alice\0secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        ("bob\0alice\0wrong", "Authentication failed: Invalid username or password"),
    ],
)
def test_wrong_plain_messages_are_refused_in_the_words_of_kafkas_plain_sasl_server(token: str, reported: str) -> None:
    plain = PlainLogin(USERS)
    with pytest.raises(LoginRefused) as refused:
        plain.respond(token.encode(), NOW_MS)
    assert refused.value.public == reported
    assert plain.outcome is None
    assert "secret" not in refused.value.reason


def test_no_password_authenticates_a_user_without_credentials() -> None:
    with pytest.raises(LoginRefused, match="password not specified"):
        PlainLogin({"alice": ""}).respond(b"\0alice\0", NOW_MS)


def bearer(outcome: LoggedIn | str) -> OAuthBearer:
    """Accepts any token with this outcome, or refuses it for this reason."""

    def validate(token: str, now_ms: int) -> LoggedIn:
        assert (token, now_ms) == ("a.b.c", NOW_MS)
        if isinstance(outcome, str):
            raise InvalidToken(outcome)
        return outcome

    return OAuthBearer(validate)


@pytest.mark.parametrize(
    "message",
    [
        "n,,\x01auth=Bearer a.b.c\x01\x01",
        "n,,\x01auth=bearer   a.b.c\x01\x01",
        "n,a=alice,\x01auth=Bearer a.b.c\x01\x01",
        "n,,\x01auth=Bearer a.b.c\x01traceId=7\x01\x01",
    ],
)
def test_a_valid_token_logs_its_principal_in_until_it_expires(message: str) -> None:
    server = bearer(LoggedIn("alice", NOW_MS + 1000))
    assert server.respond(message.encode(), NOW_MS) == b""
    assert server.outcome == LoggedIn("alice", NOW_MS + 1000)


def test_a_name_with_comma_and_equals_sign_is_unescaped_from_the_token() -> None:
    """RFC 5801 writes them as =2C and =3D."""
    server = bearer(LoggedIn("a,b=c"))
    server.respond(b"n,a=a=2Cb=3Dc,\x01auth=Bearer a.b.c\x01\x01", NOW_MS)
    assert server.outcome == LoggedIn("a,b=c")


def test_a_token_of_another_principal_is_refused_and_the_error_names_both() -> None:
    server = bearer(LoggedIn("alice"))
    with pytest.raises(LoginRefused) as refused:
        server.respond(b"n,a=bob,\x01auth=Bearer a.b.c\x01\x01", NOW_MS)
    assert refused.value.public == (
        "Authentication failed: Client requested an authorization id (bob) that is different from the token's "
        "principal name (alice)"
    )
    assert server.outcome is None


@pytest.mark.parametrize("end", [b"\x01", b"n,,\x01auth=Bearer a.b.c\x01\x01", b""])
def test_an_invalid_token_is_answered_with_a_status_before_the_login_ends(end: bytes) -> None:
    """RFC 7628: the client's next message, a control A, ends the exchange; no other message saves it."""
    server = bearer("it has expired")
    assert server.respond(b"n,,\x01auth=Bearer a.b.c\x01\x01", NOW_MS) == b'{"status":"invalid_token"}'
    assert server.outcome is None
    with pytest.raises(LoginRefused) as refused:
        server.respond(end, NOW_MS)
    assert refused.value.public == ('{"status":"invalid_token"}' if end == b"\x01" else None)
    assert server.outcome is None


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01auth=Bearer a.b.c\x01",
        b"y,,\x01auth=Bearer a.b.c\x01\x01",
        b"n,,\x01auth=Basic a.b.c\x01\x01",
        b"n,,\x01auth=Bearera.b.c\x01\x01",
        b"n,,\x01other=Bearer a.b.c\x01\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\xff\x01\x01",
    ],
)
def test_an_invalid_bearer_message_is_refused(message: bytes) -> None:
    server = bearer(LoggedIn("alice"))
    with pytest.raises(LoginRefused, match="OAUTHBEARER message"):
        server.respond(message, NOW_MS)
    assert server.outcome is None


CREDENTIALS: dict[tuple[str, int], ScramCredential] = {
    (name, 1): credential(1, 4096, b"salt", b"salted") for name in ("alice", "a,b=c")
}


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (b"\xff", "not UTF-8"),
        (b"n,,n=alice", "an invalid first SCRAM message"),
        (b"p=tls-unique,,n=alice,r=abc", "an invalid first SCRAM message"),
        (b"n,,m=x,n=alice,r=abc", "an invalid first SCRAM message"),
        (b"n,,n=alice,r=abc,tokenauth=true", "a delegation token"),
        (b"n,,n=nobody,r=abc", "'nobody' has no credential"),
        (b"n,a=bob,n=alice,r=abc", "an authorization id that differs"),
    ],
)
def test_an_invalid_first_scram_message_is_refused(first: bytes, reason: str) -> None:
    """Among them mandatory extensions, which RFC 5802 has refused, and channel binding, which Kafka does not know."""
    with pytest.raises(LoginRefused, match=reason):
        Scram("SCRAM-SHA-256", CREDENTIALS, b"server").respond(first, NOW_MS)


@pytest.mark.parametrize("first", [b"n,,n=a=2Cb=3Dc,r=abc", b"n,a=a=2Cb=3Dc,n=a=2Cb=3Dc,r=abc"])
def test_a_scram_user_with_comma_and_equals_sign_is_challenged(first: bytes) -> None:
    challenge = Scram("SCRAM-SHA-256", CREDENTIALS, b"server").respond(first, NOW_MS)
    assert challenge == b"r=abcc2VydmVy,s=c2FsdA==,i=4096"


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (b"c=biws,p=AAAA", "an invalid last SCRAM message"),
        (b"c=eSws,r=abcc2VydmVy,p=AAAA", "channel binding that differs"),
        (b"c=biws,r=abcc2VydmVy,p=A", "an invalid SCRAM proof"),
        (b"c=biws,r=abcc2VydmVy,p=AAAA", "an invalid SCRAM proof"),
        (b"c=biws,r=abcc2VydmVy,p=" + b"A" * 43 + b"=", "wrong password"),
    ],
)
def test_an_invalid_final_scram_message_is_refused(last: bytes, reason: str) -> None:
    scram = Scram("SCRAM-SHA-256", CREDENTIALS, b"server")
    scram.respond(b"n,,n=alice,r=abc", NOW_MS)
    with pytest.raises(LoginRefused, match=reason) as refused:
        scram.respond(last, NOW_MS)
    assert refused.value.public is None
    assert scram.outcome is None
