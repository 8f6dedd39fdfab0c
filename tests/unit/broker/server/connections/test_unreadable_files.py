"""A sector that the disk refuses while an answer is being sent: one connection ends, and no other partition's."""

from __future__ import annotations

import errno
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import oncelog
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.errors import Error
from tests.integration.security.certificates import Authority

SECTOR = 512
BAD = "bad-0/00000000000000000000.log"


@contextmanager
def refused_sector(monkeypatch: pytest.MonkeyPatch, position: int) -> Iterator[None]:
    """As on Linux: what comes before the sector is returned, and a call that begins in it fails."""
    pread, sendfile = os.pread, os.sendfile

    def allowed(descriptor: int, start: int, count: int) -> int:
        if not os.readlink(f"/proc/self/fd/{descriptor}").endswith(BAD) or start >= position + SECTOR:
            return count
        if start >= position:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return min(count, position - start)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", lambda fd, count, start: pread(fd, allowed(fd, start, count), start))
        patched.setattr(os, "sendfile", lambda to, fd, start, n: sendfile(to, fd, start, allowed(fd, start, n)))
        yield


@pytest.mark.parametrize("listener", ["PLAINTEXT", "SSL"])
@pytest.mark.parametrize("record_bytes", [50_000, 2000], ids=["sendfile", "copied"])
def test_a_connection_that_reads_an_unreadable_sector_is_ended_and_the_sector_is_known_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, listener: str, record_bytes: int
) -> None:
    authority = Authority(tmp_path)
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": authority.issue("files").store,
    }
    wanted = {(topic, 0): RawFetchPosition(0, 1_000_000) for topic in ("bad", "good")}
    with oncelog.Broker(tmp_path / "data", settings=settings) as broker:

        def connected() -> RawConnection:
            connection = RawConnection(str(broker.addresses[listener]))
            if listener == "SSL":
                context = ssl.create_default_context(cafile=str(authority.certificate))
                connection._socket = context.wrap_socket(connection._socket, server_hostname="127.0.0.1")
            return connection

        with connected() as client:
            for topic in ("bad", "good"):
                client.create_topic(topic)
                for _ in range(6):
                    assert client.produce(topic, batch(bytes(record_bytes))).error == 0
            size = (tmp_path / "data" / BAD).stat().st_size // 6
        with refused_sector(monkeypatch, 2 * size + 1000):
            with connected() as client, pytest.raises((ConnectionClosed, OSError)):
                client.fetch_all(wanted)
            assert "Input/output error" in caplog.text
            with connected() as client:
                for _ in range(2):
                    found = client.fetch_all(wanted).partitions
                    bad, good = found["bad", 0], found["good", 0]
                    assert (bad.error, len(bad.records or b"")) == (Error.NONE, 2 * size)
                    assert (good.error, len(good.records or b"")) == (Error.NONE, 6 * size)
                found = client.fetch_all(wanted | {("bad", 0): RawFetchPosition(2, 1_000_000)}).partitions
                assert found["bad", 0].error == Error.KAFKA_STORAGE_ERROR
                assert len(found["good", 0].records or b"") == 6 * size
                found = client.fetch_all({("bad", 0): RawFetchPosition(3, 1_000_000)}).partitions
                assert (found["bad", 0].error, len(found["bad", 0].records or b"")) == (Error.NONE, 3 * size)
                assert client.produce("bad", batch(b"goes on")).error == 0
