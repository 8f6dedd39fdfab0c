"""What is synced when, for how many partitions, and which requests wait for it."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import oncelog
from oncelog.apps.conformance.raw.batches import batch
from oncelog.broker.core.storage.flushing import AGAIN_MS, EARLY_BYTES, MAX_AT_ONCE
from oncelog.broker.core.storage.partition import Partition
from oncelog.errors import Error, NoSpace, StorageError
from oncelog.types import TopicPartition
from tests.unit.broker.core.conftest import NOW_MS, Admin

COUNT = 2 * MAX_AT_ONCE + 1


def partitions_of(admin: Admin) -> Sequence[Partition]:
    admin.broker.topics.create("t", COUNT, {}, NOW_MS)
    return [partition for partition in admin.broker.partitions().values() if partition.topic_partition.topic == "t"]


def append(partitions: Sequence[Partition]) -> None:
    for partition in partitions:
        assert partition.append_client(bytearray(batch(b"v", timestamp=NOW_MS)), NOW_MS).error is Error.NONE


def test_appends_during_the_syncs_of_an_interval_wait_for_the_next_interval() -> None:
    admin = Admin(**{"oncelog.flush.policy": "interval", "log.flush.interval.ms": "1000"})
    partitions, flushing = partitions_of(admin), admin.broker.flushing
    append(partitions)
    admin.broker.advance(NOW_MS + 1000)
    syncs = 0
    while flushing.wanted and syncs < COUNT:
        job = flushing.take(NOW_MS)
        assert job is not None
        append(partitions)
        flushing.done(job, job.sync(), NOW_MS)
        syncs += 1
    assert syncs == 3
    assert min(partition.log.flushed_offset for partition in partitions) >= 1
    admin.broker.stop(NOW_MS)


def test_a_partition_with_much_to_sync_is_synced_alone_before_the_interval() -> None:
    admin = Admin(**{"oncelog.flush.policy": "interval", "log.flush.interval.ms": "1000"})
    partitions, flushing = partitions_of(admin), admin.broker.flushing
    append(partitions)
    large = partitions[1]
    batch_bytes = 1_000_000
    for number in range(1, EARLY_BYTES // batch_bytes + 2):
        assert not flushing.wanted
        assert large.append_client(bytearray(batch(bytes(batch_bytes), timestamp=NOW_MS)), NOW_MS).error is Error.NONE
        if number == EARLY_BYTES // batch_bytes:
            assert large.log.activity.bytes_in < EARLY_BYTES
    assert flushing.wanted
    job = flushing.take(NOW_MS)
    assert job is not None
    assert [partition for partition, _ in job.tickets] == [large]
    flushing.done(job, job.sync(), NOW_MS)
    assert large.log.flushed_offset == large.log.log_end_offset
    assert not flushing.wanted
    admin.broker.stop(NOW_MS)


@pytest.mark.parametrize("policy", ["none", "commit"])
def test_with_flush_policy_none_much_unsynced_data_causes_no_early_sync(policy: str) -> None:
    admin = Admin(**{"oncelog.flush.policy": policy})
    partition, flushing = partitions_of(admin)[0], admin.broker.flushing
    for _ in range(EARLY_BYTES // 1_000_000 + 1):
        partition.append_client(bytearray(batch(bytes(1_000_000), timestamp=NOW_MS)), NOW_MS)
    assert flushing.wanted == (policy == "commit")
    admin.broker.stop(NOW_MS)


@pytest.mark.parametrize("policy", ["none", "interval"])
def test_transactions_and_commits_wait_for_the_syncs_that_topics_ask_for(policy: str, tmp_path: Path) -> None:
    """Coordinators' topics are among them: what is answered at once elsewhere may not count as committed."""
    settings = {
        "oncelog.flush.policy": policy,
        "log.flush.interval.messages": "1",
        "log.flush.interval.ms": "3600000",
        "group.initial.rebalance.delay.ms": "0",
    }
    with oncelog.Broker(tmp_path, settings=settings) as broker:
        servers = broker.bootstrap_servers
        with oncelog.Producer(bootstrap_servers=servers, transactional_id="id") as producer:
            for _ in range(5):
                with producer.transaction():
                    producer.send_and_wait("t", b"v")
        reading = {"auto_offset_reset": "earliest", "isolation_level": "read_committed", "enable_auto_commit": False}
        with oncelog.Consumer("t", bootstrap_servers=servers, group_id="g", **reading) as consumer:
            for _ in range(5):
                consumer.getone()
                consumer.commit()
        logs = [partition.log for partition in broker._server.broker.partitions().values()]  # type: ignore[union-attr]
        assert {log.flushed_offset - log.log_end_offset for log in logs} == {0}


def test_appends_that_wait_for_a_topics_sync_are_answered_before_the_interval_ends() -> None:
    admin = Admin()
    admin.broker.topics.create("t", 1, {"flush.messages": "1"}, NOW_MS)
    partition = admin.broker.partition(TopicPartition("t", 0))
    assert partition is not None
    append([partition])
    answered = partition.when_committed(1)
    assert not answered.done
    admin.broker.stop(NOW_MS)
    assert answered.value is Error.NONE


def test_appends_that_wait_keep_their_sync_when_the_setting_flush_ms_is_removed() -> None:
    admin = Admin()
    admin.broker.topics.create("t", 1, {"flush.messages": "1"}, NOW_MS)
    partition = admin.broker.partition(TopicPartition("t", 0))
    assert partition is not None
    append([partition])
    answered = partition.when_committed(1)
    job = admin.broker.flushing.take(NOW_MS)
    assert job is not None
    partition.log.update_config(replace(partition.log.config, flush_messages=10))
    append([partition])
    assert answered.value is Error.NONE, "with the next batch, for nine may wait now"
    admin.broker.flushing.done(job, job.sync(), NOW_MS)
    assert partition.log.high_watermark == 2
    admin.broker.stop(NOW_MS)


def test_failed_partitions_do_not_prevent_the_sync_of_others() -> None:
    admin = Admin(**{"oncelog.flush.policy": "commit"})
    partitions, flushing = partitions_of(admin), admin.broker.flushing
    append(partitions)
    for partition in partitions[:-1]:
        partition.flush_failed("the disk is gone")
    answered = partitions[-1].when_committed(1)
    job = flushing.take(NOW_MS)
    assert job is not None
    flushing.done(job, job.sync(), NOW_MS)
    assert answered.value is Error.NONE
    assert not flushing.wanted
    admin.broker.stop(NOW_MS)


def test_waiters_for_a_failed_log_get_the_error() -> None:
    """Compaction replaces segments in between: if a disk refuses that, the log goes offline."""
    admin = Admin(**{"oncelog.flush.policy": "commit"})
    partition, flushing = partitions_of(admin)[0], admin.broker.flushing
    append([partition])
    answered = partition.when_committed(1)
    partition.log.fail("the disk is gone")
    assert flushing.take(NOW_MS) is None
    assert answered.done
    assert answered.value is Error.KAFKA_STORAGE_ERROR
    admin.broker.stop(NOW_MS)


def test_a_shorter_flush_ms_applies_to_waiting_appends() -> None:
    admin = Admin()
    admin.broker.topics.create("t", 1, {"flush.ms": "600000"}, NOW_MS)
    partition = admin.broker.partition(TopicPartition("t", 0))
    assert partition is not None
    append([partition])
    partition.log.update_config(replace(partition.log.config, flush_ms=1000))
    admin.broker.flushing.settings_changed(partition)
    admin.broker.advance(NOW_MS + 999)
    assert not admin.broker.flushing.wanted
    admin.broker.advance(NOW_MS + 1000)
    assert admin.broker.flushing.wanted
    admin.broker.stop(NOW_MS)


def test_a_partition_that_is_deleted_while_its_flush_ms_passes_leaves_memory() -> None:
    admin = Admin()
    admin.broker.topics.create("deleted-early", 1, {"flush.ms": "600000"}, NOW_MS)
    partition = admin.broker.partition(TopicPartition("deleted-early", 0))
    assert partition is not None
    append([partition])
    admin.broker.topics.delete("deleted-early", NOW_MS)
    del partition
    gc.collect()
    left = [one for one in gc.get_objects() if isinstance(one, Partition)]
    assert "deleted-early" not in {partition.topic_partition.topic for partition in left}
    admin.broker.stop(NOW_MS)


@pytest.mark.parametrize("failure", ["at its sync", "before it"])
def test_a_partition_whose_disk_fails_goes_offline_and_other_partitions_stay_online(
    failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = Admin(**{"oncelog.flush.policy": "commit"})
    admin.broker.topics.create("t", 2, {}, NOW_MS)
    flushing = admin.broker.flushing
    job = flushing.take(NOW_MS)
    if job is not None:
        flushing.done(job, job.sync(), NOW_MS)
    bad, good = (admin.broker.partitions()[TopicPartition("t", index)] for index in (0, 1))
    append([bad, good])
    waits = [partition.when_committed(1) for partition in (bad, good)]
    error = StorageError("Input/output error")
    if failure == "before it":
        monkeypatch.setattr(bad.log.files, "begin_flush", lambda: _raise(error))
    job = flushing.take(NOW_MS)
    assert job is not None
    flushing.done(job, {} if failure == "before it" else {bad.topic_partition: error}, NOW_MS)
    assert [wait.value for wait in waits] == [Error.KAFKA_STORAGE_ERROR, Error.NONE]
    assert (bad.failed, good.failed) == (True, False)
    assert bad.when_committed(2).value is Error.KAFKA_STORAGE_ERROR
    admin.broker.stop(NOW_MS)


def _raise(error: Exception) -> None:
    raise error


def test_a_partition_whose_log_fails_before_the_sync_ends_its_waiters_with_an_error() -> None:
    admin = Admin(**{"oncelog.flush.policy": "commit"})
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    partition, flushing = admin.broker.partitions()[TopicPartition("t", 0)], admin.broker.flushing
    append([partition])
    wait = partition.when_committed(1)
    partition.log.fail("a read has failed")
    assert flushing.take(NOW_MS) is None
    assert wait.value is Error.KAFKA_STORAGE_ERROR
    admin.broker.stop(NOW_MS)


def test_a_temporarily_refused_sync_is_retried_unless_the_topic_is_deleted(caplog: pytest.LogCaptureFixture) -> None:
    admin = Admin(**{"oncelog.flush.policy": "commit"})
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    admin.broker.topics.create("gone", 1, {}, NOW_MS)
    flushing = admin.broker.flushing
    stays, gone = (admin.broker.partitions()[TopicPartition(name, 0)] for name in ("t", "gone"))
    append([stays, gone])
    wait = stays.when_committed(1)
    for attempt in range(2):
        job = flushing.take(NOW_MS)
        assert job is not None
        refusal: dict[TopicPartition, StorageError] = dict.fromkeys(
            (partition.topic_partition for partition, _ in job.tickets), NoSpace("no space left on the device")
        )
        flushing.done(job, refusal, NOW_MS)
        if not attempt:
            admin.broker.topics.delete("gone", NOW_MS)
        admin.broker.advance(NOW_MS + (attempt + 1) * AGAIN_MS)
    assert not wait.done
    assert [text for text in caplog.messages if "wait for their sync" in text] == [
        "2 partitions wait for their sync: no space left on the device"
    ]
    job = flushing.take(NOW_MS)
    assert job is not None and [partition for partition, _ in job.tickets] == [stays]
    flushing.done(job, job.sync(), NOW_MS)
    assert wait.value is Error.NONE
    admin.broker.stop(NOW_MS)
