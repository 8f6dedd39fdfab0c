"""What a broker on a folder does on macOS, and what happens when a sync fails in a way nobody foresaw."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.broker.server.connections import sending
from oncelog.broker.server.disk import os_disk as disk
from oncelog.broker.server.disk.os_disk import OsDisk, OsFile
from oncelog.client.blocking import Consumer, Producer
from oncelog.client.errors import KafkaError
from oncelog.errors import Error, StorageError

F_FULLFSYNC = 51


@pytest.fixture
def full_syncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """macOS: no ``fdatasync``, no MSG_MORE, and F_FULLFSYNC, whose calls are recorded."""
    calls: list[int] = []

    def control(descriptor: int, command: int) -> int:
        assert command == F_FULLFSYNC
        os.fstat(descriptor)
        calls.append(descriptor)
        return 0

    monkeypatch.delattr(os, "fdatasync")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", F_FULLFSYNC, raising=False)
    monkeypatch.setattr("oncelog.broker.server.disk.os_disk.fcntl.fcntl", control)
    monkeypatch.delattr(socket, "MSG_MORE")
    monkeypatch.setattr(sending, "MSG_MORE", 0)
    return calls


def test_a_sync_flushes_the_drives_cache(full_syncs: list[int], tmp_path: Path) -> None:
    file = OsDisk(str(tmp_path)).open("f", create=True)
    file.append([b"x"])
    file.sync()
    OsDisk(str(tmp_path)).write_atomic("g", b"y")
    assert len(full_syncs) == 2
    assert disk.sync_call() == "F_FULLFSYNC"


@pytest.mark.parametrize("refusal", [errno.ENOTSUP, errno.EINVAL, errno.ENOTTY])
def test_a_file_system_without_full_syncs_gets_an_fsync(
    refusal: int, full_syncs: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain: list[int] = []

    def control(descriptor: int, command: int) -> int:
        raise OSError(refusal, os.strerror(refusal))

    monkeypatch.setattr("oncelog.broker.server.disk.os_disk.fcntl.fcntl", control)
    monkeypatch.setattr(os, "fsync", plain.append)
    file = OsDisk(str(tmp_path)).open("f", create=True)
    file.sync()
    assert len(plain) == 1


def test_a_full_sync_that_fails_is_reported(
    full_syncs: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def control(descriptor: int, command: int) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("oncelog.broker.server.disk.os_disk.fcntl.fcntl", control)
    with pytest.raises(StorageError, match="cannot sync f: Input/output error"):
        OsDisk(str(tmp_path)).open("f", create=True).sync()


def test_a_broker_keeps_its_data_with_full_syncs(full_syncs: list[int], tmp_path: Path) -> None:
    settings = {"oncelog.flush.policy": "commit"}
    with oncelog.Broker(tmp_path, settings=settings) as broker:
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            producer.send("topic", b"value").result()
        assert full_syncs
        broker.restart()
        with Consumer("topic", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            record = consumer.getone(timeout_ms=120_000)
    assert record is not None
    assert record.value == b"value"


def _raises(error: BaseException) -> Callable[..., Any]:
    def sync(*_: object) -> None:
        raise error

    return sync


@pytest.mark.parametrize("error", [AttributeError("no such call"), MemoryError(), ValueError("closed")])
@pytest.mark.parametrize("policy", ["commit", "interval"])
def test_an_unforeseen_failure_of_a_sync_stops_the_partition(
    error: Exception, policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"oncelog.flush.policy": policy, "log.flush.interval.ms": 1, "auto.create.topics.enable": True}
    broker = oncelog.Broker(tmp_path, settings=settings).start()
    try:
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            producer.send_and_wait("topic", b"kept")
        with Producer(
            bootstrap_servers=broker.bootstrap_servers, request_timeout_ms=500, delivery_timeout_ms=2000
        ) as producer:
            monkeypatch.setattr(OsFile, "sync", _raises(error))
            with pytest.raises(KafkaError) as refused:
                _send_until_refused(producer)
            assert refused.value.error in (Error.KAFKA_STORAGE_ERROR, Error.REQUEST_TIMED_OUT)
    finally:
        broker.stop()
    assert f"unexpected {type(error).__name__}" in caplog.text


def _send_until_refused(producer: Producer) -> None:
    for _ in range(10_000):  # under interval, until the next sync has failed
        producer.send_and_wait("topic", b"refused")


def test_a_broker_whose_stop_fails_still_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = oncelog.Broker(tmp_path).start()
    port = broker.address.port
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send_and_wait("topic", b"value")
    monkeypatch.setattr(OsFile, "close", _raises(RuntimeError("unforeseen")))
    with pytest.raises(RuntimeError, match="unforeseen"):
        broker.stop()
    broker.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=120)
