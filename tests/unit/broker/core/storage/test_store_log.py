"""What the broker writes besides the logs, on the metadata's thread: the store's log and the checkpoints."""

from __future__ import annotations

import resource
from contextlib import closing
from pathlib import Path

import pytest

from oncelog.broker.metadata import metadata_file
from oncelog.broker.metadata.producer_ids import BLOCK_SIZE
from oncelog.broker.metadata.store import FILE_NAME, MetadataStore
from oncelog.errors import Error, StorageError
from oncelog.protocol.generated.create_topics_request import CreateTopicsRequest
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.types import TopicPartition
from tests.support.ports import CountingRandom
from tests.unit.broker.core.conftest import NOW_MS
from tests.unit.broker.core.storage.test_metadata_sync import Slow, decoded, error_of_produce

TOPIC = 2
"""Kafka's ``ConfigResource.Type``."""


@pytest.fixture
def slow(tmp_path: Path) -> Slow:
    return Slow(tmp_path)


@pytest.fixture
def short_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_file, "LOG_ROWS", 20)


def _until_moving(slow: Slow) -> None:
    """The store's log is about to be moved, and no request waits for a sync."""
    for number in range(100):
        slow.create(f"old{number}")
        slow.worker.do_next()
        if slow.worker.jobs:
            return
    pytest.fail("it is never moved")


@pytest.mark.usefixtures("short_log")
def test_the_stores_log_is_checkpointed_on_a_thread_and_changes_wait(slow: Slow) -> None:
    _until_moving(slow)
    path = slow.store_path.with_name(f"{FILE_NAME}-wal")
    before = path.read_bytes()
    made, written = slow.create("new"), slow.produce("old0")
    shown = slow.send(MetadataRequest(topics=[MetadataRequestTopic(name="old0")]))
    slow.flush()
    assert shown.answers and error_of_produce(written) == 0, "nobody else waits"
    named = slow.send(MetadataRequest(topics=[MetadataRequestTopic(name="named")], allow_auto_topic_creation=True))
    assert slow.broker.metadata.topic("new") is None and slow.broker.metadata.topic("named") is None
    assert path.read_bytes() == before
    slow.worker.do_next()
    slow.broker.tasks.finish()
    after = path.read_bytes()
    assert after[:32] != before[:32], "the log has begun again, which costs a sync"
    assert slow.broker.metadata.topic("new") is not None and not made.answers
    slow.drain()
    assert path.read_bytes()[:32] == after[:32]
    assert made.answers and named.answers and {"new", "named", "old0"} <= set(slow.synced_topics())


@pytest.mark.usefixtures("short_log")
def test_a_failed_checkpoint_of_the_stores_log_is_reported_like_a_failed_sync(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise StorageError("cannot move the log of metadata.sqlite: disk I/O error")

    monkeypatch.setattr(slow.broker.metadata.file, "move_log", fails)
    _until_moving(slow)
    waits = slow.create("new")
    slow.worker.do_next()
    slow.broker.tasks.finish()
    (topic,) = decoded(waits, CreateTopicsRequest).topics  # type: ignore[attr-defined]
    assert (topic.name, topic.error_code) == ("new", Error.KAFKA_STORAGE_ERROR), "nothing of it was begun"
    with pytest.raises(StorageError, match="restart the broker"):
        slow.broker.metadata.create_topic("other", 1, {}, NOW_MS)
    assert slow.send(MetadataRequest(topics=[MetadataRequestTopic(name="old0")])).answers


@pytest.mark.usefixtures("short_log")
def test_a_stop_answers_requests_that_wait_for_the_stores_checkpoint(slow: Slow) -> None:
    _until_moving(slow)
    made = slow.create("new")
    slow.broker.stop(NOW_MS)
    (topic,) = decoded(made, CreateTopicsRequest).topics  # type: ignore[attr-defined]
    assert (topic.name, topic.error_code) == ("new", 0)
    with closing(MetadataStore(str(slow.store_path), node_id=1, random=CountingRandom())) as again:
        assert again.topic("new") is not None


@pytest.mark.usefixtures("short_log")
def test_a_read_behind_a_pending_change_of_its_connection_sees_the_change(slow: Slow) -> None:
    _until_moving(slow)
    change = AlterConfigsResource(TOPIC, "old0", [AlterableConfig("retention.ms", 0, "77")])
    look = DescribeConfigsResource(TOPIC, "old0", ["retention.ms"])
    channel = slow.send(IncrementalAlterConfigsRequest(resources=[change]))
    slow.send(DescribeConfigsRequest(resources=[look]), channel)
    assert slow.send(DescribeConfigsRequest(resources=[look])).answers, "nobody else waits"
    slow.drain()
    changed, shown = channel.answers
    assert b"77" in shown and b"604800000" not in shown, changed


def test_a_full_disk_leaves_the_stores_log_and_its_content_unchanged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """SQLite copies pages into the file, which cannot grow for now."""
    path = tmp_path / FILE_NAME
    with closing(MetadataStore(str(path), node_id=1, random=CountingRandom())) as opened:
        opened.file.leave_sync_to(lambda: None)
        for number in range(100):
            opened.create_topic(f"t{number}", 1, {"retention.ms": "1"}, 0)
        soft, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, most))
        try:
            opened.file.move_log()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, most))
        assert "cannot be moved into it now" in caplog.text
        opened.create_topic("more", 1, {}, 0)
        opened.file.move_log()
        opened.create_topic("last", 1, {}, 0)
    with closing(MetadataStore(str(path), node_id=1, random=CountingRandom())) as again:
        assert len(again.topics()) == 102


def test_compaction_checkpoints_are_written_on_a_thread(slow: Slow) -> None:
    slow.create("a")
    slow.drain()
    logs = slow.broker.logs
    logs._cleaner._first_dirty[TopicPartition("a", 0)] = 7
    logs._log_was_cleaned()
    slow.broker.tasks.finish()
    assert not slow.disk.exists("cleaner-offset-checkpoint")
    slow.drain()
    assert b"a 0 7" in slow.disk.read("cleaner-offset-checkpoint")
    slow.delete("a")
    slow.drain()
    logs._log_was_cleaned()
    slow.drain()
    assert b"a 0" not in slow.disk.read("cleaner-offset-checkpoint")


def test_reserving_producer_ids_at_the_start_delays_no_client(tmp_path: Path) -> None:
    slow = Slow(tmp_path, drained=False)
    assert slow.worker.jobs, "the first block is on its way to the disk"
    shown = slow.send(MetadataRequest(topics=[]))
    assert shown.answers and slow.syncs == 0
    given = decoded(slow.send(InitProducerIdRequest(None, 0)), InitProducerIdRequest)
    assert given.producer_id == 0 and slow.syncs == 1  # type: ignore[attr-defined]
    slow.drain()
    assert slow.broker.metadata_sync.is_settled


def test_a_full_disk_is_not_retried_for_each_producer_id(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time the disk refuses, the store reads everything again."""
    asked = 0

    def fails() -> range:
        nonlocal asked
        asked += 1
        raise StorageError("no space")

    sync = slow.broker.metadata_sync
    with monkeypatch.context() as full:
        full.setattr(slow.broker.metadata.producer_ids, "allocate_block", fails)
        given = [sync.producer_id() for _ in range(BLOCK_SIZE - 50)]
    assert 1 <= asked <= 10
    given += [sync.producer_id() for _ in range(BLOCK_SIZE)]
    slow.drain()
    assert given == list(range(2 * BLOCK_SIZE - 50))
