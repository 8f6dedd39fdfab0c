"""Contexts of encrypted listeners: which versions they speak, and how their files are renewed."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from oncelog.broker.server.security import tls
from oncelog.broker.server.security.tls import TlsContexts, TlsSettings, new_context
from oncelog.errors import ConfigError
from tests.integration.security.certificates import Authority, Identity

OLD, NEW = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def identity(authority: Authority) -> Identity:
    return authority.issue("server")


def settings(store: Path, **more: str) -> TlsSettings:
    named = {name.replace("_", "."): value for name, value in more.items()}
    return TlsSettings("SSL", {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(store), **named})


@pytest.mark.parametrize(
    ("protocols", "least", "most"),
    [
        ("", OLD, NEW),
        ("TLSv1.2", OLD, OLD),
        ("TLSv1.3", NEW, NEW),
        ("TLSv1.3, TLSv1.2", OLD, NEW),
        ("TLSv1.2,TLSv1.1,TLSv1", OLD, OLD),  # the default of Apache Kafka 2
    ],
)
def test_only_enabled_tls_protocols_are_used(
    identity: Identity, protocols: str, least: ssl.TLSVersion, most: ssl.TLSVersion
) -> None:
    context = new_context(settings(identity.store, ssl_enabled_protocols=protocols))
    assert (context.minimum_version, context.maximum_version) == (least, most)


@pytest.mark.parametrize("protocols", ["TLSv1.1", "TLSv1.4", "TLSv1.3,tls1.2", "TLSv1,SSLv3"])
def test_protocols_that_openssl_does_not_support_are_named_in_the_refusal(identity: Identity, protocols: str) -> None:
    with pytest.raises(ConfigError, match=r"ssl.enabled.protocols of listener SSL names .*; set TLSv1.2, TLSv1.3 or"):
        new_context(settings(identity.store, ssl_enabled_protocols=protocols))


class Renewing:
    """The contexts of a store that is rewritten, a second later each time."""

    def __init__(self, store: Path, content: bytes) -> None:
        self.store, self.now_s = store, 0.0
        store.write_bytes(content)
        self.contexts = TlsContexts(lambda: settings(store), lambda: self.now_s)

    def after(self, change: Callable[[Path], object]) -> ssl.SSLContext:
        change(self.store)
        self.now_s += 2
        return self.contexts.current()


def test_an_unusable_key_pair_leaves_the_old_key_pair_in_use(
    authority: Authority, identity: Identity, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = authority.issue("other")
    renewing = Renewing(tmp_path / "store.pem", identity.store.read_bytes())
    first = renewing.contexts.current()
    half = other.store.read_bytes()[:-200]
    mixed = identity.key.read_bytes() + other.certificate.read_bytes()
    for broken in (half, mixed, b""):
        assert renewing.after(lambda store, text=broken: store.write_bytes(text)) is first  # type: ignore[misc]
    assert renewing.after(Path.unlink) is first
    assert caplog.text.count("listener SSL keeps its certificates") == 4
    assert "PRIVATE KEY" not in caplog.text
    assert renewing.after(lambda store: store.write_bytes(other.store.read_bytes())) is not first
    assert "listener SSL uses new certificates" in caplog.text


def test_key_files_are_checked_for_changes_once_a_second(
    authority: Authority, identity: Identity, tmp_path: Path
) -> None:
    renewing = Renewing(tmp_path / "store.pem", identity.store.read_bytes())
    first = renewing.contexts.current()
    renewing.store.write_bytes(authority.issue("later").store.read_bytes())
    assert renewing.contexts.current() is first
    assert renewing.after(lambda _: None) is not first


def test_key_files_that_were_unreadable_are_read_again_even_without_a_change(
    authority: Authority, identity: Identity, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As if the process had no file descriptor left at that moment."""
    renewing = Renewing(tmp_path / "store.pem", identity.store.read_bytes())
    first = renewing.contexts.current()
    whole, descriptors = tls.new_context, [0, 0, 1]

    def scarce(settings: TlsSettings) -> ssl.SSLContext:
        if not descriptors.pop(0):
            raise ConfigError("the key and certificate of listener SSL cannot be used: Too many open files")
        return whole(settings)

    renewing.store.write_bytes(authority.issue("later").store.read_bytes())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tls, "new_context", scarce)
        assert [renewing.after(lambda _: None) is first for _ in range(3)] == [True, True, False]
    assert caplog.text.count("Too many open files") == 1
