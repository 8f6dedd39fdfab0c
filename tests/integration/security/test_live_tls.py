"""Every setting of TLS that is marked as changeable acts on a running listener: at once, for the next connection."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography import x509

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.broker.metadata.property_effects import SECURITY
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.settings.config import BrokerConfig
from oncelog.settings.fields import properties
from oncelog.settings.kafka_properties import UpdateMode, broker_properties
from tests.integration.security import test_live_listeners
from tests.integration.security.certificates import Authority, Identity
from tests.integration.security.test_live_listeners import INVALID_REQUEST, accepted, alter

SUITE = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
PASSWORDS = ("first-password", "second-password")


class World:
    """Two authorities, and identities that the first one has signed; the last two are encrypted with ``PASSWORDS``."""

    def __init__(self, folder: Path) -> None:
        (folder / "other").mkdir()
        self.authority, self.other = Authority(folder), Authority(folder / "other", "another authority")
        self.first, self.second = (self.authority.issue(name) for name in ("first", "second"))
        self.closed = [self.authority.issue(word, password=word) for word in PASSWORDS]
        self.client = self.other.issue("client", "CN=client")


class Seen(NamedTuple):
    """What a client saw that was served."""

    serial: int
    version: str | None
    cipher: str


def seen(broker: oncelog.Broker, world: World, shown: Identity | None, newest: ssl.TLSVersion) -> Seen | None:
    """What a client with or without a certificate sees; None if it is not served."""
    with RawConnection(str(broker.addresses["TLS"])) as client:
        try:
            encrypt(client, world, shown, newest)
            client.ask(ApiVersionsRequest("test", "1"), 3)
        except (ConnectionClosed, OSError):
            return None
        encrypted = client._socket
        assert isinstance(encrypted, ssl.SSLSocket)
        certificate, cipher = encrypted.getpeercert(binary_form=True), encrypted.cipher()
        assert certificate is not None and cipher is not None
        return Seen(x509.load_der_x509_certificate(certificate).serial_number, encrypted.version(), cipher[0])


def encrypt(client: RawConnection, world: World, shown: Identity | None, newest: ssl.TLSVersion) -> None:
    context = ssl.create_default_context(cafile=str(world.authority.certificate))
    context.maximum_version = newest
    if shown is not None:
        context.load_cert_chain(shown.certificate, shown.key)
    client._socket = context.wrap_socket(client._socket, server_hostname="127.0.0.1")


@dataclass(frozen=True)
class Effect:
    """What clients see before and after a change.

    :param start: the listener's settings at first, without its prefix.

    :param change: what changes while it runs.

    :param newest: the newest version that the client speaks.
    """

    change: Callable[[World], Mapping[str, str]]
    see: Callable[[Seen | None], object]
    before: Callable[[World], object]
    after: Callable[[World], object]
    start: Callable[[World], Mapping[str, str]] = field(default=lambda world: stored(world.first))
    shown: Callable[[World], Identity | None] = field(default=lambda _: None)
    newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3


def stored(identity: Identity, **more: str) -> dict[str, str]:
    named = {name.replace("_", "."): value for name, value in more.items()}
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(identity.store), **named}


def inline(identity: Identity) -> dict[str, str]:
    key, chain = identity.key.read_text(), identity.certificate.read_text()
    return {"ssl.keystore.key": key, "ssl.keystore.certificate.chain": chain}


def asking(world: World, **trust: str) -> dict[str, str]:
    return stored(world.first, ssl_client_auth="required", ssl_truststore_type="PEM", **trust)


def serial(found: Seen | None) -> int | None:
    return found and found.serial


def is_served(found: Seen | None) -> bool:
    return found is not None


INLINE = Effect(
    start=lambda world: {"ssl.keystore.type": "PEM", **inline(world.first)},
    change=lambda world: inline(world.second),
    see=serial,
    before=lambda world: world.first.serial,
    after=lambda world: world.second.serial,
)
EFFECTS = {
    "ssl.keystore.location": Effect(
        change=lambda world: {"ssl.keystore.location": str(world.second.store)},
        see=serial,
        before=lambda world: world.first.serial,
        after=lambda world: world.second.serial,
    ),
    "ssl.keystore.key": INLINE,
    "ssl.keystore.certificate.chain": INLINE,
    "ssl.key.password": Effect(
        start=lambda world: stored(world.closed[0], ssl_key_password=PASSWORDS[0]),
        change=lambda world: stored(world.closed[1], ssl_key_password=PASSWORDS[1]),
        see=serial,
        before=lambda world: world.closed[0].serial,
        after=lambda world: world.closed[1].serial,
    ),
    "ssl.truststore.location": Effect(
        start=lambda world: asking(world, ssl_truststore_location=str(world.authority.certificate)),
        change=lambda world: {"ssl.truststore.location": str(world.other.certificate)},
        see=is_served,
        before=lambda _: False,
        after=lambda _: True,
        shown=lambda world: world.client,
    ),
    "ssl.truststore.certificates": Effect(
        start=lambda world: asking(world, ssl_truststore_certificates=world.authority.certificate.read_text()),
        change=lambda world: {"ssl.truststore.certificates": world.other.certificate.read_text()},
        see=is_served,
        before=lambda _: False,
        after=lambda _: True,
        shown=lambda world: world.client,
    ),
    "ssl.client.auth": Effect(
        change=lambda _: {"ssl.client.auth": "required"},
        see=is_served,
        before=lambda _: True,
        after=lambda _: False,
    ),
    "ssl.enabled.protocols": Effect(
        change=lambda _: {"ssl.enabled.protocols": "TLSv1.2"},
        see=lambda found: found and found.version,
        before=lambda _: "TLSv1.3",
        after=lambda _: "TLSv1.2",
    ),
    "ssl.cipher.suites": Effect(
        change=lambda _: {"ssl.cipher.suites": SUITE},
        see=lambda found: found and found.cipher,
        before=lambda _: "ECDHE-ECDSA-AES256-GCM-SHA384",
        after=lambda _: "ECDHE-ECDSA-AES128-GCM-SHA256",
        newest=ssl.TLSVersion.TLSv1_2,
    ),
}
"""Properties, and what changing each of them does."""
REFUSED = {
    "ssl.keystore.type": ({"ssl.keystore.type": "JKS"}, "ssl.keystore.type of listener TLS is JKS"),
    "ssl.truststore.type": ({"ssl.truststore.type": "PKCS12"}, "ssl.truststore.type of listener TLS is PKCS12"),
    "a file that is not there": ({"ssl.keystore.location": "/nowhere.pem"}, "(/nowhere.pem) cannot be used"),
    "a key that is not the certificate's": ({"ssl.keystore.location": "mixed"}, "KEY_VALUES_MISMATCH"),
    "a password that does not open the key": ({"ssl.keystore.location": "closed"}, "ssl.key.password is wrong"),
    "authorities that are none": ({"ssl.truststore.location": "/nowhere.pem"}, "(/nowhere.pem) cannot be used"),
    "versions that nobody speaks": ({"ssl.enabled.protocols": "TLSv1.1"}, "set TLSv1.2, TLSv1.3 or both"),
    "suites that OpenSSL does not know": ({"ssl.cipher.suites": "TLS_RSA_WITH_X"}, "has none that OpenSSL supports"),
    "suites of a version that is not spoken": (
        {"ssl.enabled.protocols": "TLSv1.3", "ssl.cipher.suites": SUITE},
        "match no version in ssl.enabled.protocols",
    ),
}
"""Impossible values, and words of the refusal; a store's type is PEM or nothing, so refusing is its only effect."""


def of_listener(settings: Mapping[str, str]) -> dict[str, str]:
    return {f"listener.name.tls.{name}": value for name, value in settings.items()}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("certificates"))


def running(settings: Mapping[str, str]) -> oncelog.Broker:
    listeners = {
        "listeners": "PLAINTEXT://127.0.0.1:0,TLS://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TLS:SSL",
    }
    return oncelog.Broker(settings={**listeners, **of_listener(settings)})


@pytest.mark.parametrize("name", EFFECTS)
def test_a_tls_change_applies_to_the_next_connection_and_can_be_reverted(name: str, world: World) -> None:
    effect = EFFECTS[name]
    change = of_listener(effect.change(world))
    assert f"listener.name.tls.{name}" in change
    with running(effect.start(world)) as broker:

        def now() -> object:
            return effect.see(seen(broker, world, effect.shown(world), effect.newest))

        assert now() == effect.before(world)
        accepted(broker.bootstrap_servers, change)
        eventually(lambda: now() == effect.after(world))
        accepted(broker.bootstrap_servers, {}, delete=list(change))
        eventually(lambda: now() == effect.before(world))


def test_existing_connections_continue_after_a_tls_change(world: World) -> None:
    with running(stored(world.first)) as broker, RawConnection(str(broker.addresses["TLS"])) as client:
        encrypt(client, world, None, ssl.TLSVersion.TLSv1_3)
        assert client.ask(ApiVersionsRequest("test", "1"), 3).error_code == 0
        accepted(broker.bootstrap_servers, of_listener({"ssl.client.auth": "required"}))
        eventually(lambda: seen(broker, world, None, ssl.TLSVersion.TLSv1_3) is None)
        assert client.ask(ApiVersionsRequest("test", "1"), 3).error_code == 0


@pytest.fixture
def asked(world: World, tmp_path: Path) -> Iterator[oncelog.Broker]:
    """It requires certificates, and trusts the authority that signed the client's."""
    with running(asking(world, ssl_truststore_location=str(world.other.certificate))) as broker:
        yield broker


@pytest.mark.parametrize("what", REFUSED)
def test_an_invalid_tls_setting_is_refused_and_changes_nothing(
    what: str, asked: oncelog.Broker, world: World, tmp_path: Path
) -> None:
    change, words = REFUSED[what]
    mixed = tmp_path / "mixed.pem"
    mixed.write_bytes(world.first.key.read_bytes() + world.second.certificate.read_bytes())
    files = {"mixed": str(mixed), "closed": str(world.closed[0].store)}
    settings = of_listener({name: files.get(value, value) for name, value in change.items()})
    code, message = alter(asked.bootstrap_servers, settings)
    assert code == INVALID_REQUEST
    assert message is not None and words in message
    found = seen(asked, world, world.client, ssl.TLSVersion.TLSv1_3)
    assert serial(found) == world.first.serial
    accepted(asked.bootstrap_servers, of_listener({"ssl.client.auth": "requested"}))
    eventually(lambda: is_served(seen(asked, world, None, ssl.TLSVersion.TLSv1_3)))


def test_every_changeable_setting_of_listeners_has_a_test_of_its_effect() -> None:
    known = broker_properties()
    listed = {name for section in SECURITY.values() for name in section} & known.keys()
    live = {name for name in listed if known[name].update is not UpdateMode.READ_ONLY}
    shown = EFFECTS.keys() | (REFUSED.keys() & known.keys()) | test_live_listeners.TESTED
    assert live - properties(BrokerConfig).keys() == shown, "the others: test_live_settings.py"
