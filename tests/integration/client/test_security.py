"""Logging in and TLS against Apache Kafka: OAUTHBEARER, and key stores in Java's formats."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.client.aio import Admin, Producer
from oncelog.client.aio.connection import connection
from oncelog.client.core.config import AdminConfig, ProducerConfig
from oncelog.errors import ConfigError, KafkaError
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.options import parse_sink_options, parse_source_options
from tests.support.apache_kafka import ApacheKafka
from tests.support.token_server import TokenServer, unsecured_token

pytestmark = pytest.mark.kafka
PASSWORD = "store-secret"
SESSION_MS = 8000
"""A busy machine gets at least a twentieth of the lifetime for a renewal."""


class Stores:
    """Key stores of a broker and a client that trust each other, made with Java's keytool."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for who, kind in (("broker", "PKCS12"), ("client", "JKS")):
            self._keytool(
                *("-genkeypair", "-keystore", f"{who}.{kind}", "-storetype", kind, "-alias", who, "-keyalg", "EC"),
                *("-dname", f"CN={who}", "-ext", "san=ip:127.0.0.1", "-validity", "2"),
            )
            self._keytool("-exportcert", "-rfc", "-keystore", f"{who}.{kind}", "-alias", who, "-file", f"{who}.pem")
        for who, other in (("broker", "client"), ("client", "broker")):
            for kind in ("JKS", "PKCS12"):
                source = ("-noprompt", "-alias", other, "-file", f"{other}.pem", "-storetype", kind)
                self._keytool("-importcert", *source, "-keystore", f"{who}-trust.{kind}")
        self._keytool(
            *("-importkeystore", "-srckeystore", "client.JKS", "-srcstorepass", PASSWORD, "-srcstoretype", "JKS"),
            *("-destkeystore", "client.PKCS12", "-deststoretype", "PKCS12"),
        )

    def _keytool(self, *arguments: str) -> None:
        word = "-deststorepass" if "-importkeystore" in arguments else "-storepass"
        command = ["keytool", *arguments, word, PASSWORD]
        if "-genkeypair" in arguments:
            command += ["-keypass", PASSWORD]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True, timeout=300)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def pem_identity(self) -> tuple[str, str]:
        """The client's key and certificate as PEM."""
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

        store = load_pkcs12((self.folder / "client.PKCS12").read_bytes(), PASSWORD.encode())
        assert store.key is not None
        key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        return key, (self.folder / "client.pem").read_text()


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="module")
def secure_kafka(stores: Stores) -> Iterator[ApacheKafka]:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    properties = {
        "listener.name.tls.ssl.client.auth": "required",
        "ssl.keystore.location": stores.path("broker.PKCS12"),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": stores.path("broker-trust.JKS"),
        "ssl.truststore.password": PASSWORD,
        "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.oauth.oauthbearer.sasl.jaas.config": f'{module} required unsecuredLoginStringClaim_sub="kafka";',
        "listener.name.oauth.oauthbearer.connections.max.reauth.ms": str(SESSION_MS),
    }
    with ApacheKafka(properties=properties, listeners={"TLS": "SSL", "OAUTH": "SASL_PLAINTEXT"}) as kafka:
        yield kafka


async def _topics(properties: dict[str, str]) -> list[str]:
    async with Admin(config=AdminConfig.from_properties(properties)) as admin:
        return sorted(await admin.list_topics())


def _connects(properties: dict[str, str]) -> bool:
    return isinstance(asyncio.run(_topics(properties)), list)


def oauth(kafka: ApacheKafka, **more: str) -> dict[str, str]:
    return {
        "bootstrap.servers": kafka.address("OAUTH"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
    } | {name.replace("_", "."): value for name, value in more.items()}


def test_client_credentials_in_jaas_or_in_settings_are_exchanged_for_a_token(secure_kafka: ApacheKafka) -> None:
    with TokenServer({"svc": "s3cr%t"}) as server:
        url = {"sasl.oauthbearer.token.endpoint.url": server.url}
        jaas = (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            'clientId="svc" clientSecret="s3cr%t" scope="read";'
        )
        handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
        written = {"sasl.jaas.config": jaas, "sasl.login.callback.handler.class": handler}
        assert _connects(oauth(secure_kafka) | url | written)
        assert server.requests == [{"grant_type": "client_credentials", "scope": "read", "client_id": "svc"}]
        credentials = "sasl.oauthbearer.client.credentials.client"
        named = {f"{credentials}.id": "svc", f"{credentials}.secret": "s3cr%t"}
        server.failures = 2
        assert _connects(oauth(secure_kafka) | url | named)
        assert len(server.requests) == 4
        with pytest.raises(KafkaError, match=r"answered 401 .*check the client id"):
            asyncio.run(_topics(oauth(secure_kafka) | url | named | {f"{credentials}.secret": "wrong"}))


def provided_token() -> str:
    """What a user's module may contain."""
    return unsecured_token("somebody")


def test_a_token_comes_from_a_callable_an_object_or_a_file(secure_kafka: ApacheKafka, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(unsecured_token("somebody") + "\n")
    assert _connects(oauth(secure_kafka, **{"sasl.oauthbearer.token.endpoint.url": file.as_uri()}))
    assert _connects(oauth(secure_kafka, **{"sasl.oauthbearer.token.provider": f"{__name__}:provided_token"}))

    class Provider:
        async def token(self) -> str:
            return unsecured_token("somebody")

    async def send() -> int:
        settings = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}
        address = secure_kafka.address("OAUTH")
        async with Producer(bootstrap_servers=address, sasl_oauth_token_provider=Provider(), **settings) as producer:
            return (await producer.send_and_wait("by-token", b"v")).offset

    assert asyncio.run(send()) == 0


def test_the_message_of_a_broker_that_refuses_a_token_is_quoted(secure_kafka: ApacheKafka, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(unsecured_token("somebody", life_s=-3600))
    with pytest.raises(KafkaError, match="invalid_token"):
        asyncio.run(_topics(oauth(secure_kafka, **{"sasl.oauthbearer.token.endpoint.url": file.as_uri()})))


def test_a_session_is_renewed_on_the_same_connection_before_the_broker_ends_it(secure_kafka: ApacheKafka) -> None:
    async def work() -> int:
        properties = oauth(secure_kafka, **{"sasl.oauthbearer.token.provider": f"{__name__}:provided_token"})
        async with Admin(config=AdminConfig.from_properties(properties)) as admin:
            connections = set(admin.cluster.network._connections.values())
            renewals = {connection.renew_at_ms for connection in connections}
            seen = 0
            while seen < 2:
                await admin.list_topics()
                found = {connection.renew_at_ms for connection in admin.cluster.network._connections.values()}
                seen += bool(found - renewals)
                renewals |= found
            assert connections <= set(admin.cluster.network._connections.values())
            assert not any(connection.closed for connection in connections)
            return seen

    assert asyncio.run(work()) >= 2


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_java_key_stores_are_read(secure_kafka: ApacheKafka, stores: Stores, kind: str) -> None:
    properties = {
        "bootstrap.servers": secure_kafka.address("TLS"),
        "security.protocol": "SSL",
        "ssl.truststore.type": kind,
        "ssl.truststore.location": stores.path(f"client-trust.{kind}"),
        "ssl.truststore.password": PASSWORD,
        "ssl.keystore.type": kind,
        "ssl.keystore.location": stores.path(f"client.{kind}"),
        "ssl.keystore.password": PASSWORD,
    }
    assert _connects(properties)
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.location=.* does not open with ssl\.truststore\.password"):
        asyncio.run(_topics(properties | {"ssl.truststore.password": "wrong"}))
    with pytest.raises(ConfigError, match=r"ssl\.keystore\.location=.*nowhere cannot be read"):
        asyncio.run(_topics(properties | {"ssl.keystore.location": "/nowhere"}))


@pytest.mark.parametrize("encrypted", [False, True])
def test_stopping_a_producer_without_acks_does_not_wait_for_apache_kafka_to_close_tls(
    monkeypatch: pytest.MonkeyPatch, secure_kafka: ApacheKafka, stores: Stores, encrypted: bool
) -> None:
    """It ignores the end of TLS alone, so stop() used to wait for as long as it may."""
    monkeypatch.setattr(connection, "_READ_OUT_SECONDS", 3600)
    monkeypatch.setattr("asyncio.constants.SSL_SHUTDOWN_TIMEOUT", 3600)
    tls = {
        "bootstrap.servers": secure_kafka.address("TLS"),
        "security.protocol": "SSL",
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": stores.path("client-trust.PKCS12"),
        "ssl.truststore.password": PASSWORD,
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": stores.path("client.PKCS12"),
        "ssl.keystore.password": PASSWORD,
    }
    properties = tls if encrypted else {"bootstrap.servers": secure_kafka.bootstrap_servers}

    async def produce() -> None:
        more = {"acks": "0", "enable.idempotence": "false"}
        producer = Producer(config=ProducerConfig.from_properties(properties | more))
        await producer.start()
        for _ in range(20):
            await producer.send("unheard", bytes(20_000))
        async with asyncio.timeout(60):
            await producer.stop()

    asyncio.run(produce())


def test_sparks_source_and_sink_log_in_as_the_client_does(secure_kafka: ApacheKafka, stores: Stores) -> None:
    """Their options are the client's settings with the prefix ``kafka.``."""
    tls = {"bootstrap.servers": secure_kafka.address("TLS"), "security.protocol": "SSL"}
    key, chain = stores.pem_identity()
    pem = {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": (stores.folder / "broker.pem").read_text(),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": key,
        "ssl.keystore.certificate.chain": chain,
    }
    stored = [
        {
            "ssl.truststore.type": kind,
            "ssl.truststore.location": stores.path(f"client-trust.{kind}"),
            "ssl.truststore.password": PASSWORD,
            "ssl.keystore.type": kind,
            "ssl.keystore.location": stores.path(f"client.{kind}"),
            "ssl.keystore.password": PASSWORD,
        }
        for kind in ("JKS", "PKCS12")
    ]
    with TokenServer({"svc": "secret"}) as server:
        credentials = "sasl.oauthbearer.client.credentials.client"
        asked = {"sasl.oauthbearer.token.endpoint.url": server.url, f"{credentials}.id": "svc"}
        asked[f"{credentials}.secret"] = "secret"
        provided = {"sasl.oauthbearer.token.provider": f"{__name__}:provided_token"}
        ways = [tls | more for more in (pem, *stored)] + [oauth(secure_kafka) | more for more in (asked, provided)]
        for properties in ways:
            given = {f"kafka.{name}": value for name, value in properties.items()}
            source = parse_source_options(given | {"subscribe": "t"}, streaming=True)
            sink = parse_sink_options(given | {"topic": "t"}, streaming=False)
            for options in (source, sink):
                assert cluster_for(options).partition_counts(["no-such-topic"]) == {}


@pytest.mark.parametrize("one_line", [False, True])
def test_pem_text_in_the_settings_is_read(secure_kafka: ApacheKafka, stores: Stores, one_line: bool) -> None:
    key, chain = stores.pem_identity()
    trusted = (stores.folder / "broker.pem").read_text()
    if one_line:
        key, chain, trusted = (" ".join(text.split("\n")) for text in (key, chain, trusted))
    inline = {
        "bootstrap.servers": secure_kafka.address("TLS"),
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": trusted,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": key,
        "ssl.keystore.certificate.chain": chain,
    }
    assert _connects(inline)


def test_a_client_without_a_certificate_or_with_a_wrong_type_of_store_is_reported(
    secure_kafka: ApacheKafka, stores: Stores
) -> None:
    properties = {
        "bootstrap.servers": secure_kafka.address("TLS"),
        "security.protocol": "SSL",
        "ssl.truststore.location": stores.path("client-trust.JKS"),
        "ssl.truststore.password": PASSWORD,
    }
    with pytest.raises(KafkaError, match="no broker could be reached"):
        asyncio.run(_topics(properties))
    wrong = properties | {"ssl.truststore.location": stores.path("client-trust.PKCS12")}
    with pytest.raises(ConfigError, match=r"is PKCS12, .*: set ssl\.truststore\.type to PKCS12"):
        asyncio.run(_topics(wrong))
