"""Principals of client certificates, the lines that a broker logs, and what survives kill -9."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

import oncelog
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.broker.core.login import sasl_authenticator
from oncelog.broker.core.security.security_log import SecurityLog
from oncelog.client import blocking
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.runtime.timers import Timers
from tests.integration.cli.conftest import ONCELOG, call
from tests.integration.security.certificates import Authority, Identity

RULES = (
    r"RULE:^CN=([a-z]+)\.([a-z]+),OU=people,O=(.*?)$/$2.$1@$3/,"
    r"RULE:^CN=(.*?),OU=machines.*$/$1/U,"
    r"RULE:^CN=(.*?),OU=SERVICES.*$/$1/L,"
    r"DEFAULT"
)
SUBJECTS = {
    "CN=jane.doe,OU=people,O=example": "User:doe.jane@example",
    "CN=press,OU=machines,O=example": "User:PRESS",
    "CN=BILLING,OU=SERVICES": "User:billing",
    "CN=other,O=example": "User:CN=other,O=example",
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(authority: Authority) -> Iterator[oncelog.Broker]:
    settings = {
        "listeners": "SSL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": authority.issue("server").store,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": authority.certificate,
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": RULES,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with oncelog.Broker(settings=settings) as running:
        yield running


def _properties(broker: oncelog.Broker, authority: Authority, identity: Identity) -> dict[str, Any]:
    return {
        "bootstrap.servers": str(broker.addresses["SSL"]),
        "security.protocol": "SSL",
        "ssl.ca.location": str(authority.certificate),
        "ssl.certificate.location": str(identity.certificate),
        "ssl.key.location": str(identity.key),
    }


@pytest.mark.parametrize("subject", SUBJECTS)
def test_an_acl_applies_to_the_mapped_name_of_a_certificate(
    broker: oncelog.Broker, authority: Authority, subject: str, unique_name: str
) -> None:
    from oncelog.protocol.acls import Acl, AclResourceType, Operation, PatternType, Permission

    properties = _properties(broker, authority, authority.issue(unique_name, subject))
    errors: list[Any] = []

    def write() -> str:
        producer = Producer(properties)
        producer.produce(unique_name, b"v", on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(60) == 0
        found = errors.pop()
        return found.name() if found is not None else ""

    with blocking.Admin(bootstrap_servers=str(broker.addresses["PLAINTEXT"])) as admin:
        assert write() == "TOPIC_AUTHORIZATION_FAILED"
        operations = (Operation.WRITE, Operation.CREATE)
        topic = AclResourceType.TOPIC
        admin.create_acls(
            [
                Acl(topic, unique_name, PatternType.LITERAL, SUBJECTS[subject], "*", operation, Permission.ALLOW)
                for operation in operations
            ]
        )
        assert write() == ""


def test_a_name_that_a_client_invented_cannot_forge_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    SecurityLog(Timers()).refused_operation("User:a\nlogin", "192.0.2.1", 3, 2, "t\nlogin refused", "FETCH", 1000)
    assert "\n" not in caplog.messages[0]


def _warnings(caplog: pytest.LogCaptureFixture, **settings: object) -> list[str]:
    caplog.clear()
    given = {name.replace("_", "."): value for name, value in settings.items()}
    with oncelog.Broker(settings=given):
        return [line for line in caplog.messages if "has no authentication" in line]


def test_an_unauthenticated_listener_is_reported_once_unless_it_is_on_loopback(
    caplog: pytest.LogCaptureFixture, authority: Authority
) -> None:
    everywhere = {"listeners": "PLAINTEXT://0.0.0.0:0", "advertised_listeners": "PLAINTEXT://localhost:9092"}
    assert len(_warnings(caplog, **everywhere)) == 1
    assert not _warnings(caplog, listeners="PLAINTEXT://127.0.0.1:0")
    assert not _warnings(caplog, listeners="PLAINTEXT://localhost:0")
    store = {"ssl_keystore_type": "PEM", "ssl_keystore_location": authority.issue("warned").store}
    tls = {"listeners": "SSL://0.0.0.0:0", "advertised_listeners": "SSL://localhost:9093", **store}
    assert len(_warnings(caplog, **tls)) == 1
    assert not _warnings(caplog, **tls, ssl_client_auth="required")
    trust = {"ssl_truststore_type": "PEM", "ssl_truststore_location": authority.certificate}
    assert len(_warnings(caplog, **tls, **trust, ssl_client_auth="requested")) == 1


def test_an_exception_in_a_login_ends_only_its_own_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("unforeseen")

    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    }
    with oncelog.Broker(settings=settings) as broker:
        asking = str(broker.addresses["SASL_PLAINTEXT"])
        with RawConnection(str(broker.addresses["PLAINTEXT"])) as other, RawConnection(asking) as waiting:
            other.ask(MetadataRequest([], False), 9)
            with monkeypatch.context() as patch, RawConnection(asking) as victim:
                patch.setattr(sasl_authenticator.SaslAuthenticator, "_begin", broken)
                with pytest.raises(ConnectionClosed):
                    victim.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 1)
            other.ask(MetadataRequest([], False), 9)
            assert waiting.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 1).error_code == 0
    assert "a login from 127.0.0.1 failed" in caplog.text


PASSWORD = "admin-secret"
SERVE = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        f'org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="{PASSWORD}";'
    ),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
}
RATE, SIZE = 1000, 100_000
"""A quota's bytes per second, and a batch's bytes: many times what a window accumulates."""


def as_admin(servers: str) -> RawConnection:
    return RawConnection(servers, login={"sasl.username": "admin", "sasl.password": PASSWORD})


def limit_producer(admin: RawConnection) -> None:
    entry = EntryData([EntityData("user", "admin")], [OpData("producer_byte_rate", RATE, False)])
    assert [reported.error_code for reported in admin.ask(AlterClientQuotasRequest([entry], False), 1).entries] == [0]


def produce_throttled_ms(admin: RawConnection) -> int:
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(0, batch(bytes(SIZE)))])
    answer = admin.ask(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data]), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0
    return int(answer.throttle_time_ms)


def test_acls_credentials_and_quotas_exist_after_kill_9(tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in SERVE.items()))
    secrets = tmp_path / "admin"
    secrets.write_text(f"SCRAM-SHA-512=[name=admin,password={PASSWORD}]\n")
    client = tmp_path / "client.properties"

    def client_of(user: str, password: str) -> Path:
        lines = ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-512")
        client.write_text("\n".join([*lines, f"sasl.username={user}", f"sasl.password={password}", ""]))
        return client

    def served(*more: object) -> subprocess.Popen[str]:
        words = [ONCELOG, "serve", "--config", config, "--data", tmp_path / "data", "--json", *more]
        return subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, text=True)

    def asked(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        return str(json.loads(process.stdout.readline())["listening"])

    process = served("--add-scram", f"@{secrets}")
    try:
        servers = asked(process)
        where = ("--bootstrap-server", servers, "--config", client_of("admin", PASSWORD))
        call("users", "set", "alice", "--password-file", "-", *where, stdin="alice-secret\n").done()
        call("acls", "add", "--allow", "User:alice", "--operation", "describe", "--topic", "*", *where).done()
        with as_admin(servers) as admin:
            admin.create_topic("t")
            assert produce_throttled_ms(admin) == 0
            limit_producer(admin)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        process = served()
        servers = asked(process)
        again = ("--bootstrap-server", servers, "--json", "--config", client_of("admin", PASSWORD))
        assert [row["user"] for row in call("users", "list", *again).done().json] == ["admin", "alice"]
        (acl,) = call("acls", "list", *again).done().json
        assert (acl["principal"], acl["operation"], acl["name"]) == ("User:alice", "describe", "*")
        where = ("--bootstrap-server", servers, "--config", client_of("alice", "alice-secret"))
        assert "CLUSTER_AUTHORIZATION_FAILED" in call("acls", "list", *where).sentence()
        assert call("topics", "list", *where).done().code == 0
        with as_admin(servers) as admin:
            assert 1000 * (SIZE / RATE - 11) - 1000 < produce_throttled_ms(admin) < 2000 * SIZE / RATE
    finally:
        process.kill()
        process.communicate()
