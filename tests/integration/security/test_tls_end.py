"""Requests that arrive over TLS before the client closes are carried out, however busy the broker is."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.broker.server import embedded
from oncelog.broker.server.process import loops
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.integration.security.certificates import Authority
from tests.support.frames import encode_request

RECORDS = 1000


def produce() -> bytes:
    """A Produce request with one record and ``acks=0``."""
    parts = [PartitionProduceData(0, memoryview(batch(bytes(100))))]
    message = ProduceRequest(None, 0, 30_000, [TopicProduceData(name="t", partition_data=parts)])
    return encode_request(message.API_KEY, 9, 1, "ends", message.encode(9))


@pytest.mark.parametrize("notified", [False, True])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("new_loop", [loops.new_event_loop, asyncio.SelectorEventLoop])
def test_records_sent_before_the_end_of_tls_are_stored(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    new_loop: Callable[[], asyncio.AbstractEventLoop],
    version: ssl.TLSVersion,
    notified: bool,
) -> None:
    """They took more than one iteration; the broker saw the end between two iterations and dropped what it had not
    decrypted."""
    monkeypatch.setattr(embedded, "new_event_loop", new_loop)
    authority = Authority(tmp_path)
    settings = {
        "listeners": "SSL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.issue("server").store),
    }
    context = ssl.create_default_context(cafile=str(authority.certificate))
    context.minimum_version = context.maximum_version = version
    with (
        oncelog.Broker(settings=settings) as broker,
        RawConnection(f"127.0.0.1:{broker.addresses['PLAINTEXT'].port}") as reader,
    ):
        reader.create_topic("t")
        with socket.create_connection(("127.0.0.1", broker.addresses["SSL"].port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            encrypted = encryption(client, context, produce() * RECORDS, notified=notified)
            is_busy, goes_on = threading.Event(), threading.Event()
            busy = threading.Thread(target=broker.on_loop, args=(lambda _: (is_busy.set(), goes_on.wait(60)),))
            busy.start()
            assert is_busy.wait(60)
            client.sendall(encrypted)
        goes_on.set()
        busy.join()
        eventually(lambda: reader.list_offset("t").offset == RECORDS)


def encryption(client: socket.socket, context: ssl.SSLContext, data: bytes, *, notified: bool) -> bytes:
    """Encrypt ``data`` on a connection that has shaken hands and had an answer; ``notified`` adds a close_notify."""
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(received, sent, server_hostname="127.0.0.1")

    def until_done(step: Callable[[], object]) -> None:
        while True:
            try:
                step()
            except ssl.SSLWantReadError:
                client.sendall(sent.read())
                received.write(client.recv(1 << 16))
            else:
                return

    until_done(tls.do_handshake)
    tls.write(encode_request(18, 0, 1, "ends", b""))
    until_done(lambda: tls.read(1 << 16))  # TLS 1.3's session tickets came before it
    tls.write(data)
    if notified:
        with pytest.raises(ssl.SSLWantReadError):
            tls.unwrap()
    return sent.read()
