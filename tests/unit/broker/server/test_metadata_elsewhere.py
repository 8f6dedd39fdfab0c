"""Metadata is synced on a thread of its own, and nobody else's requests wait for the disk meanwhile."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import oncelog
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.broker.metadata.store import FILE_NAME, MetadataStore
from oncelog.broker.server.disk.os_disk import ForeignFile
from oncelog.errors import OncelogError, StorageError
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.testing.simulation.broker import SimulatedStoreLog
from tests.support.ports import CountingRandom


@pytest.fixture
def disk_goes_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """No metadata is synced before the test says so."""
    goes_on, real = threading.Event(), ForeignFile.sync

    def sync(file: ForeignFile) -> None:
        assert goes_on.wait(60)
        real(file)

    goes_on.set()
    monkeypatch.setattr(ForeignFile, "sync", sync)
    yield goes_on
    goes_on.set()


@pytest.mark.parametrize("policy", ["interval", "commit"])
def test_other_producers_write_while_the_disk_delays_a_metadata_change(
    tmp_path: Path, disk_goes_on: threading.Event, policy: str
) -> None:
    with oncelog.Broker(tmp_path, settings={"oncelog.flush.policy": policy}) as broker:
        servers = broker.bootstrap_servers
        with RawConnection(servers, timeout_s=60) as changes, RawConnection(servers, timeout_s=60) as neighbour:
            neighbour.create_topic("old")
            disk_goes_on.clear()
            request = CreateTopicsRequest([CreatableTopic("new", 1, 1)], 60_000)
            changes.send(request.API_KEY, 7, request.encode(7))
            for _ in range(20):
                assert neighbour.produce("old", batch(b"v")).error == 0
            assert len(neighbour.fetch("old").batches) > 0
            disk_goes_on.set()
            changes.receive_frame()
        broker.restart()
        with RawConnection(broker.bootstrap_servers, timeout_s=60) as client:
            assert client.produce("new", batch(b"v")).error == 0


def test_a_stop_completes_changes_delayed_by_the_disk(tmp_path: Path, disk_goes_on: threading.Event) -> None:
    broker = oncelog.Broker(tmp_path)
    with broker:
        with RawConnection(broker.bootstrap_servers, timeout_s=60) as client:
            disk_goes_on.clear()
            request = CreateTopicsRequest([CreatableTopic("new", 1, 1)], 60_000)
            client.send(request.API_KEY, 7, request.encode(7))
            while broker.on_loop(lambda nodes: nodes.server.broker.metadata_sync.is_settled):
                pass
            disk_goes_on.set()
            broker.stop()
        broker.start()
        assert broker.on_loop(lambda nodes: nodes.server.broker.metadata.topic("new")) is not None


def test_a_sync_of_the_metadata_store_syncs_its_log_file(tmp_path: Path) -> None:
    """A change is in that file before it is synced, and in no other."""
    path = tmp_path / FILE_NAME
    store = MetadataStore(str(path), node_id=1, random=CountingRandom())
    assert store.file.has_log and not MetadataStore(":memory:", node_id=1, random=CountingRandom()).file.has_log
    store.file.leave_sync_to(lambda: None)
    log = ForeignFile(f"{path}-wal")
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    store.create_topic("t", 1, {}, 0)
    log.sync()
    changed = [file.name for file in tmp_path.iterdir() if file.read_bytes() != before.get(file)]
    assert changed == [f"{FILE_NAME}-wal"]
    log.close()
    store.close()


def test_a_missing_log_of_the_metadata_store_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot open .*nothing-wal"):
        ForeignFile(str(tmp_path / "nothing-wal"))


@pytest.mark.parametrize("policy", ["interval", "commit"])
def test_a_topic_recreated_between_two_crashes_keeps_its_records(tmp_path: Path, policy: str) -> None:
    """The old topic's log began at 8, according to the checkpoints of its last clean stop."""
    values = [b"%d" % number for number in range(3)]

    with oncelog.Broker(tmp_path, settings={"oncelog.flush.policy": policy}) as broker:

        def connected() -> RawConnection:
            return RawConnection(broker.bootstrap_servers, timeout_s=60)

        with connected() as client:
            client.create_topic("t")
            for _ in range(8):
                assert client.produce("t", batch(b"old")).error == 0
            below = DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 8)])
            assert not client.ask(DeleteRecordsRequest([below], 60_000), 2).topics[0].partitions[0].error_code
        broker.restart()
        with connected() as client:
            deleted = client.ask(DeleteTopicsRequest(topics=[DeleteTopicState("t")], timeout_ms=60_000), 6)
            assert not deleted.responses[0].error_code
        broker.restart_after(lambda: None)
        with connected() as client:
            client.create_topic("t")
            assert [client.produce("t", batch(value)).base_offset for value in values] == [0, 1, 2]
        broker.restart_after(lambda: None)
        with connected() as client:
            assert client.read_committed("t") == values


def test_a_start_that_cannot_open_the_metadata_store_releases_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: ForeignFile, path: str) -> None:
        raise StorageError(f"cannot open {path}: Too many open files")

    threads = set(threading.enumerate())
    with monkeypatch.context() as patched:
        patched.setattr(ForeignFile, "__init__", refuse)
        with pytest.raises(OncelogError, match="Too many open files"):
            oncelog.Broker(tmp_path).start()
    assert not {thread.name for thread in set(threading.enumerate()) - threads if "oncelog" in thread.name}
    with oncelog.Broker(tmp_path) as broker, RawConnection(broker.bootstrap_servers, timeout_s=60) as client:
        client.create_topic("t")


@pytest.mark.parametrize("seed", range(10))
def test_a_simulated_power_failure_keeps_synced_data_and_a_prefix_of_the_rest(tmp_path: Path, seed: int) -> None:
    path = tmp_path / FILE_NAME
    store = MetadataStore(str(path), node_id=1, random=CountingRandom())
    store.file.leave_sync_to(lambda: None)
    log = SimulatedStoreLog(path)
    for number in range(4):
        store.create_topic(f"t{number}", 1, {}, 0)
        if number == 1:
            log.sync()
    left = log.power_fails(random.Random(seed))
    store.close()
    log.restore(left)
    with closing(MetadataStore(str(path), node_id=1, random=CountingRandom())) as again:
        names = [info.name for info in again.topics()]
    assert names in ([f"t{number}" for number in range(count)] for count in (2, 3, 4))
