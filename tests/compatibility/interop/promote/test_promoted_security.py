"""A secured broker is promoted: Kafka starts with what was written, and the same clients continue with the same
logins.

SCRAM and PLAIN over TLS on one listener, client certificates on another; rights, super users and quotas. The
certificate is renewed before Kafka starts, under the same name.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from cryptography.hazmat.primitives import serialization

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.errors import SaslAuthenticationFailed, TopicAuthorizationFailedError
from oncelog.errors import KafkaError, OncelogError
from oncelog.protocol.acls import Acl, AclFilter, AclResourceType, Operation, PatternType, Permission
from oncelog.settings.properties_file import dump_properties
from tests.compatibility.interop.promote.test_promote import AUTHORIZER, promote
from tests.integration.cli.conftest import call
from tests.integration.security.certificates import Authority, Identity
from tests.integration.security.sides import ANY
from tests.support.apache_kafka import ApacheKafka
from tests.support.free_ports import free_ports

pytestmark = pytest.mark.kafka

MECHANISM = "SCRAM-SHA-512"
PASSWORDS = {"admin": "admin-secret", "alice": "alice-secret"}
BOB = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_bob="bob-secret";'


@dataclass
class Places:
    """The address that clients are told to use, before and after."""

    authority: Authority
    certificate: Identity
    logins: str
    certificates: str
    settings: dict[str, str]

    def login(self, user: str, password: str, mechanism: str = MECHANISM) -> dict[str, Any]:
        return {
            "bootstrap_servers": self.logins,
            "security_protocol": "SASL_SSL",
            "ssl_cafile": str(self.authority.certificate),
            "sasl_mechanism": mechanism,
            "sasl_plain_username": user,
            "sasl_plain_password": password,
        }

    def shown(self) -> dict[str, Any]:
        return {
            "bootstrap_servers": self.certificates,
            "security_protocol": "SSL",
            "ssl_cafile": str(self.authority.certificate),
            "ssl_certfile": str(self.certificate.certificate),
            "ssl_keyfile": str(self.certificate.key),
        }

    def librdkafka(self, user: str) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.logins,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.authority.certificate),
            "sasl.mechanism": MECHANISM,
            "sasl.username": user,
            "sasl.password": PASSWORDS[user],
        }


def places(folder: Path) -> Places:
    authority = Authority(folder)
    logins, certificates = (f"127.0.0.1:{port}" for port in free_ports(2))
    settings = {
        "listeners": f"LOGINS://{logins},CERTIFICATES://{certificates}",
        "listener.security.protocol.map": "LOGINS:SASL_SSL,CERTIFICATES:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.issue("server").store),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.certificate),
        "listener.name.certificates.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": r"RULE:^CN=(\w+)$/$1/L,DEFAULT",
        "sasl.enabled.mechanisms": f"{MECHANISM},PLAIN",
        "listener.name.logins.plain.sasl.jaas.config": BOB,
        "authorizer.class.name": AUTHORIZER,
        "super.users": "User:admin",
        "auto.create.topics.enable": "false",
        "inter.broker.listener.name": "LOGINS",
    }
    return Places(authority, authority.issue("carol", "CN=Carol"), logins, certificates, settings)


def allow(user: str, kind: AclResourceType, name: str, operation: Operation) -> Acl:
    return Acl(kind, name, PatternType.LITERAL, f"User:{user}", "*", operation, Permission.ALLOW)


def write(where: Places) -> None:
    """What clients do before: grant rights, set a quota, and start a transactional producer of alice's."""
    with Admin(**where.login("admin", PASSWORDS["admin"])) as admin:
        admin.create_topics([NewTopic("orders", 1), NewTopic("hidden", 1)])
        admin.create_acls(
            [
                allow("alice", AclResourceType.TOPIC, "orders", Operation.ALL),
                allow("alice", AclResourceType.GROUP, "billing", Operation.READ),
                allow("alice", AclResourceType.TRANSACTIONAL_ID, "shop", Operation.ALL),
                allow("bob", AclResourceType.TOPIC, "orders", Operation.READ),
                allow("carol", AclResourceType.TOPIC, "orders", Operation.READ),
            ]
        )
    say(where, b"before")
    assert read_on(where) == b"before"


def say(where: Places, value: bytes) -> None:
    producer = Producer(**where.login("alice", PASSWORDS["alice"]), transactional_id="shop")
    with producer, producer.transaction():
        producer.send("orders", value)


def read_on(where: Places) -> bytes | None:
    """The group's next value, read by another client."""
    consumer = confluent_kafka.Consumer(
        {
            **where.librdkafka("alice"),
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.subscribe(["orders"])
        record = eventually(lambda: consumer.poll(1), 120)
        assert record.error() is None, record.error()
        consumer.commit(record, asynchronous=False)
        found: bytes | None = record.value()
        return found
    finally:
        consumer.close()


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    """Kafka on the promoted folder, at the addresses that our broker had."""
    folder = tmp_path_factory.mktemp("secured")
    found = places(folder)
    users = [f"{MECHANISM}=[name={user},password={password}]" for user, password in PASSWORDS.items()]
    with oncelog.Broker(folder / "data", settings=found.settings, first_users=users):
        write(found)
    (folder / "given.properties").write_text(dump_properties(found.settings))
    controller, internal = (f"127.0.0.1:{port}" for port in free_ports(2))
    reported = promote(
        folder / "data", folder / "node", "--config", str(folder / "given.properties"), "--controller", controller,
        "--internal", internal,
    )  # fmt: skip
    assert reported["records_read_by_kafka"] == reported["records"]
    assert reported["dropped_settings"] == ["inter.broker.listener.name"]
    assert reported["properties"]["listener.name.internal.plain.sasl.jaas.config"] is None
    found.authority.issue("server")

    def answers() -> bool:
        try:
            with Admin(**found.login("admin", PASSWORDS["admin"]), default_api_timeout_ms=2000) as admin:
                return len(admin.describe_cluster().nodes) == 1
        except OncelogError:
            return False

    kafka = ApacheKafka(folder / "kafka")
    try:
        kafka.start_promoted(folder / "node", timeout_s=240, answers=answers)
        yield found
    finally:
        kafka.stop()


def test_a_user_logs_in_with_the_same_credentials_after_promotion(where: Places) -> None:
    with Admin(**where.login("admin", PASSWORDS["admin"])) as admin:
        assert len(admin.describe_acls(AclFilter(ANY, None, ANY, None, None, ANY, ANY))) == 5
    say(where, b"after")
    assert read_on(where) == b"after"


def test_forbidden_operations_stay_forbidden_after_promotion(where: Places) -> None:
    with (
        Producer(**where.login("alice", PASSWORDS["alice"])) as producer,
        pytest.raises(TopicAuthorizationFailedError),
    ):
        producer.send("hidden", b"x").result(60)
    with pytest.raises(SaslAuthenticationFailed):
        Admin(**where.login("alice", "another")).start()
    with pytest.raises(KafkaError):
        Admin(bootstrap_servers=where.logins, request_timeout_ms=5000, default_api_timeout_ms=5000).start()


@pytest.mark.parametrize("how", ["PLAIN", "certificate"])
def test_other_login_mechanisms_work_after_promotion(where: Places, how: str) -> None:
    login = where.login("bob", "bob-secret", "PLAIN") if how == "PLAIN" else where.shown()
    with Consumer("orders", **login, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
        assert next(consumer).value == b"before"
    with (
        Producer(**login, enable_idempotence=False) as producer,
        pytest.raises(TopicAuthorizationFailedError),
    ):
        producer.send("orders", b"x").result(60)


def test_only_the_owner_can_read_the_nodes_password(where: Places) -> None:
    properties = Path(where.settings["ssl.keystore.location"]).parent / "node" / "server.properties"
    assert stat.S_IMODE(properties.stat().st_mode) == 0o600
    (super_users,) = re.findall(r"^super\.users=(.*)$", properties.read_text(), re.MULTILINE)
    assert re.fullmatch(r"User:admin;User:node-[0-9a-f]{8}", super_users)


def refusal(found: Places, data: Path, words: tuple[str, ...] = (), **changed: str) -> str:
    given = {**found.settings, **{name.replace("_", "."): value for name, value in changed.items()}}
    sets = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
    return call("promote", str(data), "--to", str(data.with_name("k")), "--dry-run", *sets, *words).sentence()


def test_settings_that_prevent_a_start_of_kafka_are_refused(tmp_path: Path) -> None:
    found = places(tmp_path)
    data = tmp_path / "data"
    with oncelog.Broker(data):
        pass
    assert "is plain text, and clients had LOGINS (SASL_SSL)" in refusal(found, data, ("--listen", "127.0.0.1:9092"))
    assert "name the host by which they reach it, advertised.listeners=LOGINS" in refusal(
        found, data, listeners="LOGINS://0.0.0.0:9999"
    )
    assert "has no port that clients could know" in refusal(found, data, listeners="LOGINS://127.0.0.1:0")
    assert "a listener CONTROLLER of its own" in refusal(
        found, data, listeners="CONTROLLER://127.0.0.1:9999", listener_security_protocol_map="CONTROLLER:SASL_SSL"
    )
    locked = str(found.authority.issue("locked", password="x").store)
    assert "cannot be used" in refusal(found, data, ssl_keystore_location=locked)
    assert "is not encrypted, and has ssl.key.password" in refusal(found, data, ssl_key_password="x")
    identity = found.authority.issue("old")
    key = serialization.load_pem_private_key(identity.key.read_bytes(), None)
    older = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    old = tmp_path / "old.pem"
    old.write_bytes(older + identity.certificate.read_bytes())
    assert "openssl pkcs8 -topk8" in refusal(found, data, ssl_keystore_location=str(old))
