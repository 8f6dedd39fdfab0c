"""Which TLS versions are spoken, seen through sockets: a common one is agreed on, else the log says why none was."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.client.blocking import Producer
from oncelog.protocol.generated.metadata_request import MetadataRequest
from tests.integration.security.certificates import Authority

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(authority: Authority) -> Iterator[oncelog.Broker]:
    names = {"BOTH": "SSL", "OLD": "SSL", "NEW": "SSL", "PLAIN": "PLAINTEXT"}
    settings = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in names),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in names.items()),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": authority.issue("server").store,
        "listener.name.old.ssl.enabled.protocols": "TLSv1.2",
        "listener.name.new.ssl.enabled.protocols": "TLSv1.3",
    }
    with oncelog.Broker(settings=settings) as running:
        yield running


def agreed(broker: oncelog.Broker, authority: Path, listener: str, version: str) -> str | None:
    """The version that a client gets if it speaks only that one."""
    address = broker.addresses[listener]
    context = ssl.create_default_context(cafile=str(authority))
    context.minimum_version = context.maximum_version = VERSIONS[version]
    with (
        socket.create_connection((address.host, address.port), 60) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted,
    ):
        return encrypted.version()


@pytest.mark.parametrize(
    ("listener", "version"), [("BOTH", "TLSv1.2"), ("BOTH", "TLSv1.3"), ("OLD", "TLSv1.2"), ("NEW", "TLSv1.3")]
)
def test_tls_uses_a_version_that_both_sides_support(
    broker: oncelog.Broker, authority: Authority, listener: str, version: str
) -> None:
    assert agreed(broker, authority.certificate, listener, version) == version


@pytest.mark.parametrize(("listener", "version"), [("OLD", "TLSv1.3"), ("NEW", "TLSv1.2")])
def test_an_unsupported_tls_version_is_refused_and_the_reason_logged(
    broker: oncelog.Broker, authority: Authority, caplog: pytest.LogCaptureFixture, listener: str, version: str
) -> None:
    with pytest.raises(ssl.SSLError, match="alert protocol version"):
        agreed(broker, authority.certificate, listener, version)
    reported = (
        "connection refused from 127.0.0.1: TLS: the client supports none of the versions in ssl.enabled.protocols"
    )
    eventually(lambda: reported in caplog.text)


def test_a_plaintext_client_of_a_tls_listener_is_reported_in_the_log(
    broker: oncelog.Broker, caplog: pytest.LogCaptureFixture
) -> None:
    with RawConnection(str(broker.addresses["BOTH"])) as client, pytest.raises((ConnectionClosed, OSError)):
        client.ask(MetadataRequest([], False), 9)
    eventually(lambda: "the client does not use TLS: set its security.protocol to SSL" in caplog.text)


def test_sendfile_is_used_without_tls_and_never_with_tls(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    sendfile = os.sendfile

    def counted(target: int, source: int, position: int, size: int) -> int:
        count = sendfile(target, source, position, size)
        sent.append(count)
        return count

    monkeypatch.setattr(os, "sendfile", counted)
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": authority.issue("files").store,
    }
    position = {("t", 0): RawFetchPosition(0, 1_000_000)}
    with oncelog.Broker(tmp_path, settings=settings) as broker:
        plain, encrypted = broker.addresses["PLAINTEXT"], broker.addresses["SSL"]
        with RawConnection(str(plain)) as client:
            client.create_topic("t")
            assert client.produce("t", batch(bytes(500_000))).error == 0
            read = client.fetch_all(position).partitions["t", 0].records
            assert read is not None
            assert sum(sent) == len(read) > 500_000
        sent.clear()
        context = ssl.create_default_context(cafile=str(authority.certificate))
        with RawConnection(str(encrypted)) as client:
            client._socket = context.wrap_socket(client._socket, server_hostname="127.0.0.1")
            assert client.fetch_all(position).partitions["t", 0].records == read
        assert not sent


def test_records_pass_through_tls_1_2(broker: oncelog.Broker, authority: Authority, unique_name: str) -> None:
    settings = {
        "bootstrap_servers": str(broker.addresses["OLD"]),
        "security_protocol": "SSL",
        "ssl_cafile": str(authority.certificate),
        "ssl_enabled_protocols": ["TLSv1.2"],
    }
    values = [bytes([number]) * 200_000 for number in range(5)]
    with Producer(**settings) as producer:
        for value in values:
            producer.send_and_wait(unique_name, value)
    found = RawFetchPosition(0, 2_000_000)
    with RawConnection(str(broker.addresses["PLAIN"])) as reader:
        answer = reader.fetch_all({(unique_name, 0): found}).partitions[unique_name, 0]
    assert [record.value for stored in answer.batches for record in stored.records()] == values
