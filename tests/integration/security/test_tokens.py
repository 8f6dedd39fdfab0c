"""OAUTHBEARER with signed tokens: which ones are valid, through clients and the wire."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from confluent_kafka import Consumer, Producer
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.broker.server.security import token_validation
from oncelog.client.aio import Admin
from oncelog.errors import ConfigError, KafkaError
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from tests.support.token_server import unsecured_token

ISSUER, AUDIENCE, KEY_ID = "https://issuer.example", "kafka", "first"
SASL_AUTHENTICATION_FAILED = 58


class Signer:
    """A key that signs tokens, and its key set."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def key_set(self, key_id: str = KEY_ID) -> bytes:
        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        return json.dumps({"keys": [{**public, "kid": key_id, "use": "sig", "alg": "RS256"}]}).encode()

    def token(self, *, key_id: str = KEY_ID, algorithm: str = "RS256", key: Any = None, **claims: object) -> str:
        now = int(time.time())
        usual = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 600}
        present = {name: value for name, value in (usual | claims).items() if value is not None}
        return jwt.encode(present, key or self.key, algorithm, headers={"kid": key_id})


@pytest.fixture(scope="module")
def signer() -> Signer:
    return Signer()


@pytest.fixture(scope="module")
def key_file(signer: Signer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    path.write_bytes(signer.key_set())
    return path


def settings_for(source: str, **more: object) -> dict[str, object]:
    return {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": source,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": f"other,{AUDIENCE}",
        "connection.failed.authentication.delay.ms": 0,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:alice",
        "group.initial.rebalance.delay.ms": 0,
    } | more


@pytest.fixture(scope="module")
def broker(key_file: Path) -> Iterator[oncelog.Broker]:
    with oncelog.Broker(settings=settings_for(key_file.as_uri())) as running:
        yield running


def message(token: str) -> bytes:
    return f"n,,\x01auth=Bearer {token}\x01\x01".encode()


def begun(broker: oncelog.Broker) -> RawConnection:
    connection = RawConnection(broker.bootstrap_servers)
    assert connection.ask(SaslHandshakeRequest("OAUTHBEARER"), 1).error_code == 0
    return connection


def accepted(broker: oncelog.Broker, token: str) -> bool:
    """Whether a token opens the connection; an invalid one is answered as RFC 7628 says."""
    with begun(broker) as connection:
        answer = connection.ask(SaslAuthenticateRequest(message(token)), 2)
        if answer.auth_bytes == b"":
            assert answer.error_code == 0
            connection.ask(MetadataRequest([], False), 9)
            return True
        assert (answer.error_code, answer.auth_bytes) == (0, b'{"status":"invalid_token"}')
        ended = connection.ask(SaslAuthenticateRequest(b"\x01"), 2)
        assert (ended.error_code, ended.error_message) == (SASL_AUTHENTICATION_FAILED, '{"status":"invalid_token"}')
        with pytest.raises(ConnectionClosed):
            connection.ask(MetadataRequest([], False), 9)
        return False


async def _topics(broker: oncelog.Broker, token: Callable[[], str]) -> Any:
    settings = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}

    class Provider:
        async def token(self) -> str:
            return token()

    async with Admin(
        bootstrap_servers=broker.bootstrap_servers, sasl_oauth_token_provider=Provider(), **settings
    ) as admin:
        return await admin.list_topics()


def test_our_client_logs_in(broker: oncelog.Broker, signer: Signer) -> None:
    assert isinstance(asyncio.run(_topics(broker, signer.token)), list)
    with pytest.raises(KafkaError, match="invalid_token"):
        asyncio.run(_topics(broker, lambda: signer.token(exp=int(time.time()) - 3600)))


def test_librdkafka_logs_in(broker: oncelog.Broker, signer: Signer, unique_name: str) -> None:
    properties: dict[str, Any] = {
        "bootstrap.servers": broker.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "OAUTHBEARER",
        "oauth_cb": lambda _: (signer.token(), time.time() + 600),
    }
    producer = Producer(properties)
    producer.poll(0)
    producer.produce(unique_name, b"v")
    assert producer.flush(60) == 0
    consumer = Consumer({**properties, "group.id": unique_name, "auto.offset.reset": "earliest"})
    consumer.subscribe([unique_name])
    assert eventually(lambda: [one.value() for one in consumer.consume(1, 0.5)], 60) == [b"v"]
    consumer.close()


def test_librdkafka_gets_the_error_of_an_invalid_token(broker: oncelog.Broker) -> None:
    errors: list[str] = []
    stranger = Signer()
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanisms": "OAUTHBEARER",
            "oauth_cb": lambda _: (stranger.token(), time.time() + 600),
            "error_cb": lambda error: errors.append(error.name()),
        }
    )
    eventually(lambda: producer.poll(0.1) is not None and "_AUTHENTICATION" in errors, 60)


HOUR = 3600


def _unsigned(signer: Signer) -> str:
    return unsecured_token("alice")


def _unsigned_with_everything(signer: Signer) -> str:
    now = int(time.time())
    claims = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + HOUR}
    return jwt.encode(claims, "", "none", headers={"kid": KEY_ID})


def _public_key_as_a_shared_secret(signer: Signer) -> str:
    """The known attack: HS256 keyed with the public key."""
    import hashlib
    import hmac

    public = signer.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    now = int(time.time())
    claims = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + HOUR}
    parts = [{"alg": "HS256", "kid": KEY_ID, "typ": "JWT"}, claims]
    text = b".".join(urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    return (text + b"." + urlsafe_b64encode(hmac.digest(public, text, hashlib.sha256)).rstrip(b"=")).decode()


def _changed(signer: Signer) -> str:
    """Another subject under the same signature."""
    head, _, signature = signer.token().split(".")
    now = int(time.time())
    claims = {"sub": "root", "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + HOUR}
    return f"{head}.{urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b'=').decode()}.{signature}"


def _nested(signer: Signer) -> str:
    return urlsafe_b64encode(b"[" * 100_000).rstrip(b"=").decode() + ".e30.c2ln"


REFUSED: dict[str, Callable[[Signer], str]] = {
    "signed with another key": lambda signer: Signer().token(),
    "with another key's id": lambda signer: signer.token(key_id="other"),
    "with a key of its own in the header": lambda signer: jwt.encode(
        {"sub": "alice"},
        Signer().key,
        "RS256",
        headers={"jwk": json.loads(RSAAlgorithm.to_jwk(signer.key.public_key()))},
    ),
    "signed with another algorithm than the key's": lambda signer: signer.token(algorithm="PS256"),
    "expired": lambda signer: signer.token(exp=int(time.time()) - HOUR),
    "without an end": lambda signer: signer.token(exp=None),
    "with an end that is no time": lambda signer: signer.token(exp=float("inf")),
    "issued in the future": lambda signer: signer.token(iat=int(time.time()) + HOUR),
    "without its beginning": lambda signer: signer.token(iat=None),
    "not valid yet": lambda signer: signer.token(nbf=int(time.time()) + HOUR),
    "for another audience": lambda signer: signer.token(aud="somebody-else"),
    "for no audience": lambda signer: signer.token(aud=None),
    "of another issuer": lambda signer: signer.token(iss="https://elsewhere.example"),
    "of no issuer": lambda signer: signer.token(iss=None),
    "about nobody": lambda signer: signer.token(sub=None),
    "about an empty name": lambda signer: signer.token(sub=" "),
    "not signed": _unsigned,
    "not signed, all claims there": _unsigned_with_everything,
    "public key as a shared secret": _public_key_as_a_shared_secret,
    "changed": _changed,
    "nested deeply": _nested,
    "no token": lambda signer: "abc",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_an_invalid_token_is_refused(broker: oncelog.Broker, signer: Signer, kind: str) -> None:
    assert not accepted(broker, REFUSED[kind](signer))


def test_a_valid_token_is_accepted(broker: oncelog.Broker, signer: Signer) -> None:
    assert accepted(broker, signer.token())
    assert accepted(broker, signer.token(aud=["somebody-else", AUDIENCE]))


def test_no_refusal_logs_the_token(broker: oncelog.Broker, signer: Signer, caplog: pytest.LogCaptureFixture) -> None:
    token = Signer().token()
    assert not accepted(broker, token)
    eventually(lambda: "login refused" in caplog.text)
    assert token not in caplog.text
    assert token.rsplit(".", 1)[1] not in caplog.text


def test_a_session_ends_with_its_token(broker: oncelog.Broker, signer: Signer) -> None:
    with begun(broker) as connection:
        answer = connection.ask(SaslAuthenticateRequest(message(signer.token(exp=int(time.time()) + 100))), 2)
        assert 0 < answer.session_lifetime_ms <= 100_000


class KeyServer:
    """A JWKS address on this machine."""

    def __init__(self, keys: bytes) -> None:
        self.keys = keys
        self.speaks_http = True
        self.asked = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                if not outer.speaks_http:
                    self.wfile.write(b"220 mail.example ready\r\n")
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(outer.keys)))
                self.end_headers()
                self.wfile.write(outer.keys)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_port}/keys"

    def __enter__(self) -> KeyServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def test_jwks_keys_from_a_url_are_fetched_again(signer: Signer) -> None:
    second = Signer()
    with KeyServer(signer.key_set()) as server:
        refreshed = {"sasl.oauthbearer.jwks.endpoint.refresh.ms": 50}
        with oncelog.Broker(settings=settings_for(server.url, **refreshed)) as broker:
            assert accepted(broker, signer.token())
            server.keys = second.key_set("second")
            eventually(lambda: accepted(broker, second.token(key_id="second")))
            assert not accepted(broker, signer.token())
            server.keys = b"no keys"
            assert accepted(broker, second.token(key_id="second")), "the last keys hold"


@pytest.mark.parametrize("nonsense", [None, b"[" * 100_000, b"[]"])
def test_a_jwks_url_that_answers_invalid_data_is_requested_again(signer: Signer, nonsense: bytes | None) -> None:
    """None: not even HTTP, as on a port that something else has taken meanwhile."""
    with KeyServer(signer.key_set()) as server:
        keys = token_validation.KeySet(server.url, refresh_s=0.01, retry_s=0.01)
        if nonsense is None:
            server.speaks_http = False
        else:
            server.keys = nonsense
        before = server.asked
        eventually(lambda: server.asked > before + 1)
        assert keys.key(KEY_ID) is not None, "the last keys hold"
        server.speaks_http, server.keys = True, Signer().key_set("second")
        eventually(lambda: keys.key("second") is not None)
        keys.close()
        keys._thread.join(60)


def test_a_stop_does_not_wait_for_a_jwks_url_that_does_not_answer(
    signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, released = threading.Event(), threading.Event()
    fetched = [token_validation._fetch]

    def fetch(source: str) -> dict[str, object]:
        if fetched:
            return fetched.pop()(source)
        asked.set()
        released.wait(60)
        raise OSError("it does not answer")

    monkeypatch.setattr(token_validation, "_fetch", fetch)
    with KeyServer(signer.key_set()) as server:
        keys = token_validation.KeySet(server.url, refresh_s=0, retry_s=0)
        assert asked.wait(60)
        keys.close()
        assert keys._thread.is_alive()
        released.set()
        keys._thread.join(60)
        assert not keys._thread.is_alive()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("http://127.0.0.1:1/keys", "provides no keys"),
        ("file:///nowhere.json", "provides no keys"),
        ("ftp://127.0.0.1/keys", "is not an https:, http: or file: URL"),
        ("", "needs keys"),
    ],
)
def test_an_oauth_listener_without_keys_does_not_start(source: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        oncelog.Broker(settings=settings_for(source)).start()


def test_a_private_key_is_refused_as_a_shared_secret(tmp_path: Path) -> None:
    """A symmetric key in a key set is not used: published material must not be able to sign."""
    secret = urlsafe_b64encode(b"s" * 32).rstrip(b"=").decode()
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [{"kty": "oct", "k": secret, "kid": KEY_ID, "alg": "HS256"}]}))
    with oncelog.Broker(settings=settings_for(file.as_uri())) as broker:
        assert not accepted(broker, Signer().token(algorithm="HS256", key=b"s" * 32))
