"""What was deleted is freed at once: ``oncelog serve`` nearly never collects what is old."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import cast
from unittest import mock

import pytest

from oncelog.broker.core.storage.partition import Partition
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.broker.server.disk.os_disk import OsDisk
from oncelog.broker.server.process.workers import Worker
from oncelog.errors import StorageError
from oncelog.types import TopicPartition
from tests.unit.broker.core.conftest import NOW_MS, Admin
from tests.unit.broker.log.batches import batch


@pytest.fixture(autouse=True)
def without_the_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def written(admin: Admin) -> Partition:
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    partition = admin.broker.partition(TopicPartition("t", 0))
    assert partition is not None
    assert not partition.append_client(batch(3, pid=7, epoch=0, seq=0), NOW_MS).error
    assert partition.log.read(0, 1000, 3, at_least_one_batch=True)
    return partition


@pytest.mark.parametrize("policy", ["commit", "interval", "none"])
def test_a_deleted_topic_is_freed_without_the_garbage_collector(tmp_path: Path, policy: str) -> None:
    admin = Admin(disk=OsDisk(str(tmp_path)), **{"oncelog.flush.policy": policy})  # type: ignore[arg-type]
    partition = written(admin)
    left: list[Callable[[], object]] = [weakref.ref(partition.log), weakref.ref(partition.log.segment_list.active.file)]
    del partition
    admin.broker.topics.delete("t", NOW_MS)
    admin.broker.advance(NOW_MS + 60_000)
    assert [reference() for reference in left] == [None, None]
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith("t-")]
    admin.broker.stop(NOW_MS)


def failing_sync(disk: MemoryDisk, path: str) -> None:
    try:
        raise OSError("Input/output error")
    except OSError as error:
        raise StorageError(f"cannot sync {path}") from error


def test_a_topic_deleted_during_its_sync_is_freed_without_the_garbage_collector() -> None:
    """A sync that fails for it refers to nothing but its cause."""
    admin = Admin(**{"oncelog.flush.policy": "commit"})
    log = weakref.ref(written(admin).log)
    job = admin.broker.flushing.take(NOW_MS)
    assert job is not None
    admin.broker.topics.delete("t", NOW_MS)
    with mock.patch.object(MemoryDisk, "sync_folder", failing_sync):
        failures = job.sync()
    assert failures
    admin.broker.flushing.done(job, failures, NOW_MS)
    del job, failures
    admin.broker.advance(NOW_MS + 60_000)
    assert log() is None


class Thing:
    """Something that work refers to."""


class Loop:
    """Is told of what has ended, and keeps nothing of it."""

    def __init__(self) -> None:
        self.reported = threading.Event()

    def is_closed(self) -> bool:
        return False

    def call_soon_threadsafe(self, call: Callable[..., object], *arguments: object) -> None:
        assert isinstance(arguments[0], StorageError)
        self.reported.set()


def test_a_worker_thread_keeps_no_reference_to_the_objects_of_failed_work() -> None:
    loop = Loop()
    worker = Worker(cast(asyncio.AbstractEventLoop, loop), "oncelog-test")

    def work(thing: Thing) -> None:
        raise StorageError(f"cannot remove {thing}")

    thing = Thing()
    left = weakref.ref(thing)
    worker.run(partial(work, thing), print)
    del thing
    assert loop.reported.wait(60)
    worker.stop()
    assert left() is None
