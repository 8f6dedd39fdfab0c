"""Rounds of syncs that are shared among several threads: nothing is committed before the whole round is over."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast
from unittest import mock

import pytest

from oncelog.broker.core.storage.flush_job import FlushJob
from oncelog.broker.core.storage.partition import Partition
from oncelog.broker.metrics.shell import ShellCounts
from oncelog.broker.server.disk import syncing
from oncelog.broker.server.disk.memory_disk import MemoryFile
from oncelog.broker.server.disk.syncing import QUICK_SYNC_S, Syncing
from oncelog.broker.server.process.workers import Worker
from oncelog.broker.server.server import Server
from oncelog.errors import Error, StorageError
from oncelog.records.batch import Record, encode_batch
from oncelog.types import TopicPartition
from tests.unit.broker.core.conftest import NOW_MS, Admin

PARTITIONS = 5


class Thread:
    """A worker that does its work when it is told to."""

    def __init__(self) -> None:
        self.alive = True
        self.jobs: list[Callable[[], None]] = []

    def submit(self, job: Callable[[], None]) -> None:
        self.jobs.append(job)

    def resume(self) -> None:
        self.jobs.pop(0)()

    def stop(self) -> None:
        self.alive = False


class Loop:
    def __init__(self) -> None:
        self.calls: list[Callable[[], object]] = []

    def call_soon(self, call: Callable[..., object], *arguments: Any) -> None:
        self.calls.append(partial(call, *arguments))

    call_soon_threadsafe = call_soon

    def turn(self) -> None:
        calls, self.calls = self.calls, []
        for call in calls:
            call()


class Shell:
    """What ``Syncing`` knows about a server, around a broker that syncs before it commits."""

    is_stopping = False

    def __init__(self, threads: int) -> None:
        self.loop, self.counts = Loop(), ShellCounts()
        self.broker = Admin(**{"oncelog.flush.policy": "commit"}).broker
        self.threads = [Thread() for _ in range(threads)]
        self.syncing = Syncing(cast(Server, self), cast("list[Worker]", self.threads))
        self.broker.topics.create("t", PARTITIONS, {}, NOW_MS)

    def now_ms(self) -> int:
        return NOW_MS

    def end_iteration_soon(self) -> None:
        if self.broker.flushing.wanted:
            self.syncing.iteration_ends()
        self.loop.turn()

    def partition(self, index: int) -> Partition:
        partition = self.broker.partition(TopicPartition("t", index))
        assert partition is not None
        return partition

    def append(self, partitions: int = PARTITIONS) -> None:
        for index in range(partitions):
            assert not self.partition(index).append_client(encode_batch([Record(0, NOW_MS, None, b"v")]), NOW_MS).error
        self.end_iteration_soon()

    def committed(self) -> list[int]:
        return [self.partition(index).log.high_watermark for index in range(PARTITIONS)]


@pytest.mark.parametrize("last", range(3))
def test_no_batch_is_committed_before_the_last_sync_thread_is_done(last: int) -> None:
    shell = Shell(3)
    shell.append()
    for thread in shell.threads[:last] + shell.threads[last + 1 :]:
        thread.resume()
        shell.loop.turn()
        assert (shell.committed(), shell.syncing.under_way) == ([0] * PARTITIONS, True)
    shell.append()  # for the next round
    shell.threads[last].resume()
    shell.loop.turn()
    assert shell.committed() == [1] * PARTITIONS
    for thread in shell.threads:
        thread.resume()
    shell.loop.turn()
    assert (shell.committed(), shell.syncing.under_way) == ([2] * PARTITIONS, False)
    assert not any(thread.jobs for thread in shell.threads)


def test_a_sync_that_fails_on_one_thread_stops_only_its_partition() -> None:
    shell = Shell(2)
    shell.append()
    sync = MemoryFile.sync

    def failing(file: MemoryFile) -> None:
        if file.path.startswith("t-3/"):
            raise StorageError(f"cannot sync {file.path}: Input/output error")
        sync(file)

    with mock.patch.object(MemoryFile, "sync", failing):
        for thread in shell.threads:
            thread.resume()
    shell.loop.turn()
    assert shell.committed() == [1, 1, 1, 0, 1]
    assert [shell.partition(index).failed for index in range(PARTITIONS)] == [False, False, False, True, False]
    assert shell.partition(3).when_committed(1).value is Error.KAFKA_STORAGE_ERROR
    assert shell.counts.flush_failures == 1


@pytest.mark.parametrize(("count", "sizes"), [(1, [5]), (2, [3, 2]), (4, [2, 1, 1, 1]), (8, [1, 1, 1, 1, 1])])
def test_a_sync_job_is_divided_without_an_empty_share(count: int, sizes: list[int]) -> None:
    shell = Shell(1)
    shell.append()
    job = shell.broker.flushing.take(NOW_MS)
    assert job is None  # the round has it
    (run,) = shell.threads[0].jobs
    whole = cast("FlushJob", run.args[1])  # type: ignore[attr-defined]
    parts = whole.shared_out(count)
    assert [len(part.tickets) for part in parts] == sizes
    shared = {partition for part in parts for partition, _ in part.tickets}
    assert shared == {partition for partition, _ in whole.tickets}


def test_small_syncs_run_on_the_event_loop_while_the_disk_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = takes_s = 0.0
    sync = MemoryFile.sync

    def timed(file: MemoryFile) -> None:
        nonlocal now_s
        now_s += takes_s
        sync(file)

    monkeypatch.setattr(MemoryFile, "sync", timed)
    monkeypatch.setattr(syncing, "real_time", mock.Mock(perf_counter=lambda: now_s))
    shell = Shell(1)
    (thread,) = shell.threads
    for _ in ("the first one, with its folder", "the first small one"):
        shell.append(1)
        assert (len(thread.jobs), shell.syncing.under_way) == (1, True)
        thread.resume()
        shell.loop.turn()
    takes_s = 2 * QUICK_SYNC_S
    shell.append(1)
    assert (thread.jobs, shell.committed()[0]) == ([], 3)
    shell.append(1)
    assert (len(thread.jobs), shell.committed()[0]) == (1, 3), "it was slow the last time"
    assert (shell.counts.flushes.count, shell.counts.flushes.sum_ns) == (3, 2_000_000)


def test_a_server_that_stops_begins_no_round_of_syncs_and_ends_its_threads() -> None:
    shell = Shell(2)
    shell.is_stopping = True
    shell.append()
    shell.syncing.stop()
    assert [(thread.jobs, thread.alive) for thread in shell.threads] == [([], False)] * 2
    assert not shell.syncing.under_way
