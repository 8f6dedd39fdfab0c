"""A process without a free file descriptor, or a disk without room for a checkpoint, puts no partition offline."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from oncelog.apps.conformance.raw.batches import batch
from oncelog.broker.core.storage.flush_job import FlushJob
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import Error, NoSpace, OutOfDescriptors, RefusedForNow
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.types import TopicPartition
from tests.support.frames import encode_request
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel


class ScarceDisk(MemoryDisk):
    """Has no descriptor while ``scarce``."""

    scarce = False
    refusal: RefusedForNow = OutOfDescriptors("cannot write: Too many open files")

    def sync_folder(self, path: str) -> None:
        if self.scarce:
            raise OutOfDescriptors(f"cannot open {path}: Too many open files")
        super().sync_folder(path)

    def write_atomic(self, path: str, data: bytes, *, sync: bool = True) -> None:
        if self.scarce:
            raise self.refusal
        super().write_atomic(path, data, sync=sync)


class NoFolderSyncs(MemoryDisk):
    """Has no descriptor for a folder while ``scarce``."""

    scarce = False

    def sync_folder(self, path: str) -> None:
        if self.scarce and path == "t-0":
            raise OutOfDescriptors(f"cannot open {path}: Too many open files")
        super().sync_folder(path)


def produced(admin: Admin) -> Sequence[bytes]:
    """The answers to a record so far."""
    request = ProduceRequest(
        None, -1, 5000, [TopicProduceData("t", b"", [PartitionProduceData(0, batch(b"v", timestamp=NOW_MS))])]
    )
    channel = RecordingChannel()
    sent = encode_request(ProduceRequest.API_KEY, 9, 7, "test", request.encode(9))
    admin.broker.receive(channel, 0, memoryview(sent)[4:], NOW_MS)
    return channel.answers


def flush(admin: Admin, now_ms: int) -> FlushJob | None:
    job = admin.broker.flushing.take(now_ms)
    if job is not None:
        admin.broker.flushing.done(job, job.sync(), now_ms)
    return job


@pytest.mark.parametrize("refusal", [OutOfDescriptors("Too many open files"), NoSpace("No space left on device")])
def test_a_sync_that_fails_for_lack_of_a_descriptor_or_space_is_retried_before_the_answer(
    refusal: RefusedForNow, caplog: pytest.LogCaptureFixture
) -> None:
    disk = ScarceDisk()
    disk.refusal = refusal
    admin = Admin(disk=disk, **{"oncelog.flush.policy": "commit"})
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    disk.scarce = True
    answers = produced(admin)
    assert flush(admin, NOW_MS) is not None or not admin.broker.flushing.wanted
    partition = admin.broker.partition(TopicPartition("t", 0))
    assert partition is not None
    assert not partition.failed
    assert not answers
    assert not admin.broker.flushing.wanted, "it would try again in every turn"
    for scarce in (True, False):
        again_ms = admin.broker.next_wakeup_ms()
        assert again_ms is not None
        admin.broker.advance(again_ms)
        assert admin.broker.flushing.wanted
        disk.scarce = scarce
        if scarce:
            flush(admin, again_ms)
            assert not answers
    reported = [record.getMessage() for record in caplog.records if "wait for their sync" in record.getMessage()]
    assert reported == [f"1 partitions wait for their sync: {refusal}"], "a line for each attempt fills the disk"
    assert flush(admin, again_ms) is not None
    assert len(answers) == 1
    assert partition.log.flushed_offset == 1
    admin.broker.stop(NOW_MS)


def test_a_stop_without_free_descriptors_ends() -> None:
    disk = ScarceDisk()
    admin = Admin(disk=disk, **{"oncelog.flush.policy": "commit"})
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    disk.scarce = True
    answers = produced(admin)
    admin.broker.stop(NOW_MS)
    (answer,) = answers
    assert int(Error.NOT_LEADER_OR_FOLLOWER).to_bytes(2, "big") in answer


def test_data_that_could_not_be_synced_at_the_start_is_hidden_until_it_is_synced() -> None:
    disk = NoFolderSyncs()
    killed = Admin(disk=disk, **{"oncelog.flush.policy": "commit"})
    killed.broker.topics.create("t", 1, {}, NOW_MS)
    produced(killed)
    killed.broker.abandon()
    disk.scarce = True
    admin = Admin(disk=disk, **{"oncelog.flush.policy": "commit"})
    partition = admin.broker.partition(TopicPartition("t", 0))
    assert partition is not None
    assert (partition.log.log_end_offset, partition.log.high_watermark) == (1, 0)
    disk.scarce = False
    again_ms = admin.broker.next_wakeup_ms()
    assert again_ms is not None
    admin.broker.advance(again_ms)
    assert flush(admin, again_ms) is not None
    assert partition.log.high_watermark == 1
    admin.broker.stop(NOW_MS)
