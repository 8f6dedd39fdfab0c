"""Listeners with TLS and logins, through real clients and through the wire."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.client.blocking import Admin
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from tests.integration.security.certificates import Authority, Identity

PASSWORD = "alice-secret"
USERS = [f"SCRAM-SHA-{size}=[name=alice,password={PASSWORD}]" for size in (256, 512)]
PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alice-secret";'


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def client_identity(authority: Authority) -> Identity:
    return authority.issue("client", "CN=alice,OU=people,O=example")


@pytest.fixture(scope="module")
def broker(authority: Authority) -> Iterator[oncelog.Broker]:
    server = authority.issue("server", password="key-password")
    settings = {
        "listeners": "SSL://127.0.0.1:0,SASL_SSL://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": server.store,
        "ssl.key.password": "key-password",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": authority.certificate,
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": r"RULE:^CN=([^,]+),OU=people.*$/$1/L,DEFAULT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": PLAIN,
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": PLAIN,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:alice",
        "connections.max.reauth.ms": 60_000,
        "group.initial.rebalance.delay.ms": 0,
    }
    with oncelog.Broker(settings=settings, first_users=USERS) as running:
        yield running


def _properties(broker: oncelog.Broker, authority: Authority, client: Identity, way: str) -> dict[str, Any]:
    protocol, _, mechanism = way.partition(" ")
    found: dict[str, Any] = {
        "bootstrap.servers": str(broker.addresses[protocol]),
        "security.protocol": protocol,
        "ssl.ca.location": str(authority.certificate),
    }
    if mechanism:
        found |= {"sasl.mechanism": mechanism, "sasl.username": "alice", "sasl.password": PASSWORD}
    else:
        found |= {"ssl.certificate.location": str(client.certificate), "ssl.key.location": str(client.key)}
    return found


WAYS = [
    "SSL",
    "SASL_SSL PLAIN",
    "SASL_SSL SCRAM-SHA-256",
    "SASL_SSL SCRAM-SHA-512",
    "SASL_PLAINTEXT SCRAM-SHA-512",
    "SASL_PLAINTEXT PLAIN",
]


@pytest.mark.parametrize("way", WAYS)
def test_librdkafka_produces_and_consumes(
    broker: oncelog.Broker, authority: Authority, client_identity: Identity, way: str, unique_name: str
) -> None:
    properties = _properties(broker, authority, client_identity, way)
    producer = Producer(properties)
    large = bytes(900_000)
    for _ in range(20):
        producer.produce(unique_name, large)
    for number in range(500):
        producer.produce(unique_name, str(number).encode())
    assert producer.flush(60) == 0
    consumer = Consumer({**properties, "group.id": unique_name, "auto.offset.reset": "earliest"})
    consumer.subscribe([unique_name])
    values: list[bytes | None] = []
    eventually(lambda: values.extend(m.value() for m in consumer.consume(600, 0.5)) or len(values) == 520, 60)
    consumer.close()
    assert values == [large] * 20 + [str(number).encode() for number in range(500)]


def test_a_client_without_a_certificate_is_refused(broker: oncelog.Broker, authority: Authority) -> None:
    address = broker.addresses["SSL"]
    context = ssl.create_default_context(cafile=str(authority.certificate))
    plain = socket.create_connection((address.host, address.port), 20)
    with context.wrap_socket(plain, server_hostname="127.0.0.1") as wrapped, pytest.raises(OSError):
        _exchange(wrapped)


def _exchange(wrapped: ssl.SSLSocket) -> None:
    """Send something and read the answer; raises OSError (which includes ssl's errors) if the connection is refused."""
    wrapped.sendall(bytes(14))
    if not wrapped.recv(1):
        raise ConnectionResetError


def test_no_request_is_served_before_the_login(broker: oncelog.Broker) -> None:
    with RawConnection(str(broker.addresses["SASL_PLAINTEXT"])) as connection, pytest.raises(ConnectionClosed):
        connection.ask(MetadataRequest([], False), 9)


def test_a_wrong_password_is_reported_and_logged_without_it(
    broker: oncelog.Broker, caplog: pytest.LogCaptureFixture
) -> None:
    with RawConnection(str(broker.addresses["SASL_PLAINTEXT"])) as connection:
        connection.ask(SaslHandshakeRequest("PLAIN"), 1)
        answer = connection.ask(SaslAuthenticateRequest(b"\0alice\0not-the-password"), 2)
        assert (answer.error_code, answer.error_message) == (58, "Authentication failed: Invalid username or password")
        with pytest.raises(ConnectionClosed):
            connection.ask(SaslHandshakeRequest("PLAIN"), 1)
    assert "login refused from 127.0.0.1" in caplog.text
    assert "not-the-password" not in caplog.text
    assert PASSWORD not in caplog.text


def test_an_unknown_mechanism_is_answered_with_the_enabled_mechanisms(broker: oncelog.Broker) -> None:
    with RawConnection(str(broker.addresses["SASL_PLAINTEXT"])) as connection:
        answer = connection.ask(SaslHandshakeRequest("GSSAPI"), 1)
        assert (answer.error_code, answer.mechanisms) == (33, ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])


def test_a_session_has_the_configured_lifetime(broker: oncelog.Broker) -> None:
    with RawConnection(str(broker.addresses["SASL_PLAINTEXT"])) as connection:
        connection.ask(SaslHandshakeRequest("PLAIN"), 1)
        answer = connection.ask(SaslAuthenticateRequest(f"\0alice\0{PASSWORD}".encode()), 2)
        assert (answer.error_code, answer.session_lifetime_ms) == (0, 60_000)


def test_a_new_certificate_is_used_without_a_restart(authority: Authority, tmp_path: Path) -> None:
    first, second = authority.issue("first"), authority.issue("second")
    store = tmp_path / "store.pem"
    store.write_bytes(first.store.read_bytes())
    settings = {"listeners": "SSL://127.0.0.1:0", "ssl.keystore.type": "PEM", "ssl.keystore.location": store}
    with oncelog.Broker(settings=settings) as broker:
        context = ssl.create_default_context(cafile=str(authority.certificate))

        def serial() -> int:
            plain = socket.create_connection((broker.address.host, broker.address.port), 20)
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as wrapped:
                shown = wrapped.getpeercert()
                assert shown is not None
                return int(str(shown["serialNumber"]), 16)

        assert serial() == first.serial
        store.write_bytes(second.store.read_bytes())
        eventually(lambda: serial() == second.serial)


def test_our_admin_client_manages_users_and_acls_over_tls(broker: oncelog.Broker, authority: Authority) -> None:
    from oncelog.protocol.acls import Acl, AclFilter, AclResourceType, Operation, PatternType, Permission

    acl = Acl(AclResourceType.TOPIC, "t", PatternType.LITERAL, "User:bob", "*", Operation.READ, Permission.ALLOW)
    everything = AclFilter(AclResourceType.ANY, None, PatternType.ANY, None, None, Operation.ANY, Permission.ANY)
    with Admin(
        bootstrap_servers=str(broker.addresses["SASL_SSL"]),
        security_protocol="SASL_SSL",
        ssl_cafile=str(authority.certificate),
        sasl_mechanism="SCRAM-SHA-512",
        sasl_plain_username="alice",
        sasl_plain_password=PASSWORD,
    ) as admin:
        admin.set_password("bob", 1, "bob-secret", 4096)
        assert [(one.user, one.mechanism) for one in admin.describe_users()] == [("alice", 1), ("alice", 2), ("bob", 1)]
        admin.create_acls([acl])
        assert admin.describe_acls(everything) == [acl]
        assert admin.delete_acls(everything) == [acl]
        admin.delete_credential("bob", 1)
