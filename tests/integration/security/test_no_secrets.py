"""No line that a broker logs at any level, and no error that it answers, contains a secret.

One run with users and passwords of every kind: logins that succeed and that fail, credentials that are changed and
refused, settings that are wrong, and a defect in the middle of a login.
"""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Iterator
from typing import Any

import pytest

import oncelog
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.broker.core.login import sasl_authenticator
from oncelog.client.blocking import Admin
from oncelog.errors import OncelogError
from oncelog.protocol.generated.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest

FIRST, PLAIN, WRONG, LATER = "first-pa55word", "plain-pa55word", "wrong-pa55word", "later-pa55word"
JAAS = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SALT = b"salt-that-nobody-else-has"
SALTED = hashlib.pbkdf2_hmac("sha256", LATER.encode(), SALT, 4096)
BROKER = 4
SECRETS = {FIRST, PLAIN, WRONG, LATER, repr(SALTED)[2:-1], SALTED.hex(), base64.b64encode(SALTED).decode()}


def mentions(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


@pytest.fixture
def broker(caplog: pytest.LogCaptureFixture) -> Iterator[oncelog.Broker]:
    caplog.set_level(logging.DEBUG)
    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        JAAS: f'{MODULE} user_paul="{PLAIN}";',
    }
    users = [f"SCRAM-SHA-256=[name=fay,password={FIRST}]"]
    with oncelog.Broker(settings=settings, first_users=users) as running:
        yield running


def plain_login(broker: oncelog.Broker, token: bytes) -> Any:
    with RawConnection(str(broker.addresses["SASL_PLAINTEXT"])) as client:
        client.ask(SaslHandshakeRequest("PLAIN"), 1)
        return client.ask(SaslAuthenticateRequest(token), 2)


def scram_login(broker: oncelog.Broker, password: str) -> str:
    """What the client says about the refusal; empty if it is let in."""
    try:
        with Admin(
            bootstrap_servers=str(broker.addresses["SASL_PLAINTEXT"]),
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-256",
            sasl_plain_username="fay",
            sasl_plain_password=password,
        ) as admin:
            admin.list_topics()
    except OncelogError as error:
        return repr(error) + str(error)
    return ""


def set_jaas(client: RawConnection, value: str) -> Any:
    resource = AlterConfigsResource(BROKER, "1", [AlterableConfig(JAAS, 0, value)])
    return client.ask(IncrementalAlterConfigsRequest([resource]), 1)


def test_neither_the_log_nor_an_answer_contains_a_secret(
    broker: oncelog.Broker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[object] = []
    answer = plain_login(broker, f"\0paul\0{PLAIN}".encode())
    assert answer.error_code == 0
    wrong = WRONG.encode()
    for token in (b"\0paul\0%b", b"\0nobody\0%b", b"%b", b"\0%b", b"\0\0%b\0\0", b"\0paul\0%b\xff", b"\0\xffpaul\0%b"):
        reported.append(answer := plain_login(broker, token % wrong))
        assert answer.error_code != 0
    assert scram_login(broker, FIRST) == ""
    reported.append(refused := scram_login(broker, WRONG))
    assert refused
    with RawConnection(str(broker.addresses["PLAINTEXT"])) as client:
        for name, iterations, mechanism in (("lea", 4096, 1), ("lea", 1, 1), ("lea", 4096, 9), ("", 4096, 1)):
            upsertion = ScramCredentialUpsertion(name, mechanism, iterations, SALT, SALTED)
            reported.append(client.ask(AlterUserScramCredentialsRequest([], [upsertion]), 0))
        for value in (
            f'{MODULE} user_paul="{LATER}";',
            f'{MODULE} user_paul="{LATER}',
            f"{LATER}",
            f"{MODULE} {LATER};",
        ):
            reported.append(set_jaas(client, value))
        reported.append(client.ask(DescribeConfigsRequest([DescribeConfigsResource(BROKER, "1", None)], True, True), 4))

    def broken(*_: object) -> None:
        raise RuntimeError("a defect")

    with monkeypatch.context() as patch:
        patch.setattr(sasl_authenticator.SaslAuthenticator, "_respond", broken)
        with pytest.raises(ConnectionClosed):
            plain_login(broker, f"\0paul\0{PLAIN}".encode())
    for values in ({JAAS: f'{MODULE} user_paul="{LATER}'}, {JAAS: f"{LATER}"}):
        listener = {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", "sasl.enabled.mechanisms": "PLAIN"}
        with pytest.raises(OncelogError) as failure:
            oncelog.Broker(settings=listener | values).start()
        reported += [str(failure.value), repr(failure.value)]
    for wrong_user in (f"SCRAM-SHA-256=[name=fay,password={LATER}", f"SCRAM-MD5=[name=fay,password={LATER}]"):
        with pytest.raises(OncelogError) as failure:
            oncelog.Broker(settings=dict(listener), first_users=[wrong_user]).start()
        reported += [str(failure.value), repr(failure.value)]
    assert "login refused" in caplog.text
    assert mentions(caplog.text) == []
    assert [(text, found) for text in map(repr, reported) if (found := mentions(text))] == []
