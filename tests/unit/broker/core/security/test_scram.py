"""SCRAM's server, with an RFC 5802 client written out here."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode

import pytest

from oncelog.broker.core.login.sasl_mechanisms import LoginRefused, Scram
from oncelog.protocol.scram import credential

SALT, ITERATIONS, PASSWORD = b"salt", 4096, b"alice-secret"
SALTED = hashlib.pbkdf2_hmac("sha256", PASSWORD, SALT, ITERATIONS)


def proof(messages: bytes) -> bytes:
    key = hmac.digest(SALTED, b"Client Key", "sha256")
    signature = hmac.digest(hashlib.sha256(key).digest(), messages, "sha256")
    return b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True)))


def login(nonce: str) -> Scram:
    """Log in; ``nonce`` is the last message's nonce, in which ``{}`` stands for the nonce of both sides."""
    scram = Scram("SCRAM-SHA-256", {("alice", 1): credential(1, ITERATIONS, SALT, SALTED)}, b"server")
    challenge = scram.respond(b"n,,n=alice,r=client", 0)
    both = challenge.decode().split(",")[0].removeprefix("r=")
    without_proof = f"c=biws,r={nonce.format(both)}".encode()
    messages = b"n=alice,r=client," + challenge + b"," + without_proof
    scram.respond(without_proof + b",p=" + proof(messages), 0)
    return scram


@pytest.mark.parametrize("nonce", ["{}", "client{}"], ids=["RFC 5802", "librdkafka before 2.6.1"])
def test_a_client_with_the_password_is_authenticated(nonce: str) -> None:
    """Apache Kafka's server checks only the end of the nonce, and old librdkafka relies on that."""
    outcome = login(nonce).outcome
    assert outcome is not None
    assert outcome.user == "alice"


@pytest.mark.parametrize("nonce", ["client", "{}x", "x"])
def test_a_client_with_another_scram_nonce_is_refused(nonce: str) -> None:
    with pytest.raises(LoginRefused, match="invalid last SCRAM message"):
        login(nonce)
