"""Changes of metadata: which requests wait for their sync, which do not, and what a failure leaves of the changes."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from oncelog.broker.core.registry import SERVED
from oncelog.broker.core.storage.metadata_sync import ABOUT_METADATA
from oncelog.broker.metadata.producer_ids import BLOCK_SIZE
from oncelog.broker.metadata.store import FILE_NAME
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import Error, KafkaError, StorageError
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.messages import response_type
from oncelog.protocol.wire import Message
from oncelog.records.batch import Record, encode_batch
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TopicPartition
from tests.support.frames import encode_request
from tests.support.ports import Later
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel


class Slow:
    """A broker core whose metadata are synced only when the test says so."""

    def __init__(self, folder: Path, policy: str = "commit", *, drained: bool = True) -> None:
        self.disk = MemoryDisk()
        self.store_path = folder / FILE_NAME
        self.admin = Admin(str(self.store_path), self.disk, **{"oncelog.flush.policy": policy})
        self.broker = self.admin.broker
        self.worker = Later()
        self.syncs = 0
        self.fails = False
        self.broker.logs.checkpoints.background = self.worker
        self.broker.metadata_sync.begin(self.worker, self._sync)
        if drained:
            self.drain()
            self.syncs = 0

    def _sync(self) -> None:
        if self.fails:
            raise StorageError("cannot sync metadata.sqlite-wal: Input/output error")
        self.syncs += 1
        folder = self.store_path.with_name("synced")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path in self.store_path.parent.glob(f"{FILE_NAME}*"):
            shutil.copy(path, folder)

    def synced(self, query: str) -> list[str]:
        """What a power failure would have left."""
        with closing(sqlite3.connect(self.store_path.with_name("synced") / FILE_NAME)) as left:
            return [value for (value,) in left.execute(query)]

    def synced_topics(self) -> list[str]:
        return self.synced("SELECT name FROM topics ORDER BY name")

    def drain(self) -> None:
        """Until no work is left."""
        while self.worker.jobs:
            self.worker.do_next()
            self.broker.tasks.finish()

    def send(self, request: Message, channel: RecordingChannel | None = None) -> RecordingChannel:
        channel = channel or RecordingChannel()
        kind = type(request)
        version = SERVED[kind.API_KEY].high
        sent = encode_request(kind.API_KEY, version, 7, "test", request.encode(version))
        self.broker.receive(channel, 0, memoryview(sent)[4:], NOW_MS)
        self.broker.tasks.finish()
        return channel

    def create(self, *names: str, partitions: int = 1) -> RecordingChannel:
        return self.send(CreateTopicsRequest([CreatableTopic(name, partitions, 1) for name in names], 1000))

    def delete(self, name: str) -> RecordingChannel:
        return self.send(DeleteTopicsRequest(topics=[DeleteTopicState(name)], timeout_ms=1000))

    def produce(self, name: str, partition: int = 0, *, acks: int = -1) -> RecordingChannel:
        info = self.broker.metadata.topic(name)
        assert info is not None
        data = PartitionProduceData(partition, encode_batch([Record(0, NOW_MS, None, b"v")]))
        topic = TopicProduceData(name=name, topic_id=info.topic_id, partition_data=[data])
        return self.send(ProduceRequest(None, acks, 1000, [topic]))

    def flush(self) -> list[TopicPartition]:
        """Do the syncs that are due; returns the partitions that took part."""
        synced = []
        while self.broker.flushing.wanted and (job := self.broker.flushing.take(NOW_MS)) is not None:
            synced += [partition.topic_partition for partition, _ in job.tickets]
            self.broker.flushing.done(job, job.sync(), NOW_MS)
        return synced


def decoded(channel: RecordingChannel, request: type[Message]) -> Message:
    (answer,) = channel.answers
    version = SERVED[request.API_KEY].high
    _, header = decode_response_header(answer[4:], request.API_KEY, version)
    return response_type(request.API_KEY).decode(answer, version, 4 + header)


def error_of_produce(channel: RecordingChannel) -> int:
    response = decoded(channel, ProduceRequest)
    return int(response.responses[0].partition_responses[0].error_code)  # type: ignore[attr-defined]


@pytest.fixture
def slow(tmp_path: Path) -> Slow:
    return Slow(tmp_path)


def test_a_change_is_answered_when_synced_and_concurrent_changes_share_a_sync(slow: Slow) -> None:
    first = slow.create("a")
    others = [slow.create("b"), slow.create("c", "d")]
    assert not first.answers and slow.syncs == 0
    slow.worker.do_next()
    assert first.answers and not any(channel.answers for channel in others)
    assert slow.synced_topics()[:1] == ["a"]
    slow.worker.do_next()
    assert all(channel.answers for channel in others)
    assert slow.synced_topics() == ["a", "b", "c", "d"]
    assert (slow.syncs, slow.worker.jobs) == (2, [])


def test_metadata_is_synced_before_it_is_shown(slow: Slow) -> None:
    slow.create("a")
    shown = slow.send(MetadataRequest(topics=[MetadataRequestTopic(name="a")]))
    assert not shown.answers
    slow.worker.do_next()
    (topic,) = decoded(shown, MetadataRequest).topics  # type: ignore[attr-defined]
    assert (topic.name, topic.error_code) == ("a", 0)
    again = slow.send(MetadataRequest(topics=[MetadataRequestTopic(name="a")]))
    assert again.answers, "nothing changed since"


def test_an_answer_waits_only_for_the_sync_of_earlier_changes(slow: Slow) -> None:
    """Otherwise a client that changes something all the time holds the answer back forever."""
    first = slow.create("a")
    slow.create("b")
    slow.worker.do_next()
    slow.create("c")
    assert first.answers and not slow.broker.metadata_sync.is_settled


@pytest.mark.parametrize("policy", ["commit", "interval"])
def test_requests_that_change_no_metadata_do_not_wait_for_its_sync(tmp_path: Path, policy: str) -> None:
    slow = Slow(tmp_path, policy)
    slow.create("old")
    slow.worker.do_next()
    slow.create("new")
    written = slow.produce("old")
    slow.flush()
    assert error_of_produce(written) == 0
    asked = ListOffsetsTopic("old", [ListOffsetsPartition(0, -1, -1)])
    assert slow.send(ListOffsetsRequest(-1, 0, [asked])).answers
    assert not slow.syncs - 1


def test_no_record_is_committed_to_a_topic_that_a_power_failure_would_lose(slow: Slow) -> None:
    slow.create("a")
    written = slow.produce("a")
    assert slow.flush() == [] and not written.answers
    slow.worker.do_next()
    assert not written.answers
    assert slow.flush() == [TopicPartition("a", 0)]
    assert error_of_produce(written) == 0


def test_no_record_is_committed_to_added_partitions_that_a_power_failure_would_lose(slow: Slow) -> None:
    slow.create("a")
    slow.worker.do_next()
    added = slow.send(CreatePartitionsRequest([CreatePartitionsTopic("a", 3, None)], 1000, False))
    written = slow.produce("a", 2)
    assert slow.flush() == [] and not written.answers and not added.answers
    slow.worker.do_next()
    assert slow.flush() == [TopicPartition("a", 2)]
    assert written.answers and added.answers


def test_files_of_a_deleted_topic_are_renamed_when_its_deletion_is_synced(slow: Slow) -> None:
    slow.create("a", partitions=2)
    slow.worker.do_next()
    deleted = slow.delete("a")
    assert slow.broker.partition(TopicPartition("a", 0)) is None
    assert slow.disk.exists("a-0") and slow.disk.exists("a-1") and not deleted.answers
    slow.worker.do_next()
    slow.broker.tasks.finish()
    assert not slow.disk.exists("a-0") and not slow.disk.exists("a-1") and deleted.answers
    assert slow.synced_topics() == []


def test_a_topic_name_is_recreated_only_after_its_deletion_is_synced(slow: Slow) -> None:
    slow.create("a")
    slow.worker.do_next()
    slow.produce("a", acks=1)
    slow.flush()
    first = slow.broker.metadata.topic("a")
    deleted = slow.delete("a")
    made = slow.create("a")
    assert not slow.disk.exists("a-0"), "nothing of the old one, whose end is synced by then, is in the new one's way"
    slow.drain()
    assert deleted.answers and made.answers
    again, partition = slow.broker.metadata.topic("a"), slow.broker.partition(TopicPartition("a", 0))
    assert first is not None and again is not None and again.topic_id != first.topic_id
    assert partition is not None and partition.log.log_end_offset == 0


def test_a_failed_sync_ends_waiting_connections_and_refuses_all_changes(slow: Slow) -> None:
    slow.create("old")
    slow.worker.do_next()
    changed = slow.create("new")
    waits = slow.produce("new")
    slow.fails = True
    slow.worker.do_next()
    assert changed.closed is not None and "could not be synced" in changed.closed and not changed.answers
    assert error_of_produce(waits) == Error.KAFKA_STORAGE_ERROR
    slow.broker.now_ms = NOW_MS + 1
    with pytest.raises(StorageError, match="restart the broker"):
        slow.broker.metadata.create_topic("other", 1, {}, NOW_MS)
    assert slow.send(MetadataRequest(topics=[MetadataRequestTopic(name="old")])).answers
    written = slow.produce("old")
    slow.flush()
    assert error_of_produce(written) == 0
    assert error_of_produce(slow.produce("new")) == Error.KAFKA_STORAGE_ERROR


def test_a_change_that_comes_after_a_failed_sync_is_refused_with_an_answer(slow: Slow) -> None:
    slow.create("a")
    slow.fails = True
    slow.worker.do_next()
    kind = CreateTopicsRequest
    sent = encode_request(kind.API_KEY, 7, 7, "test", kind([CreatableTopic("b", 1, 1)], 1000).encode(7))
    channel = RecordingChannel()
    slow.broker.receive(channel, 0, memoryview(sent)[4:], NOW_MS + 5)
    slow.broker.tasks.finish()
    (topic,) = decoded(channel, kind).topics  # type: ignore[attr-defined]
    assert (topic.name, topic.error_code) == ("b", Error.KAFKA_STORAGE_ERROR)


def test_a_stop_syncs_and_answers_waiting_requests(slow: Slow) -> None:
    made = slow.create("a")
    slow.create("gone")
    deleted = slow.delete("gone")
    written = slow.produce("a")
    slow.broker.stop(NOW_MS)
    assert made.answers and deleted.answers and error_of_produce(written) == 0
    assert slow.synced_topics() == ["a"]


def test_no_producer_id_is_given_twice_after_a_power_failure(slow: Slow) -> None:
    given, reserved = list[int](), dict[int, int]()
    for _ in range(BLOCK_SIZE + 10):
        answered = slow.send(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0))
        given.append(decoded(answered, InitProducerIdRequest).producer_id)  # type: ignore[attr-defined]
        if slow.syncs not in reserved:
            (text,) = slow.synced("SELECT value FROM meta WHERE key = 'next_producer_id'")
            reserved[slow.syncs] = int(text)
        assert reserved[slow.syncs] > given[-1]
        if len(given) == BLOCK_SIZE * 3 // 4:
            assert slow.syncs == 0, "the first block was synced with the start"
            slow.worker.do_next()
    assert given == list(range(len(given)))
    assert slow.syncs == 1, "the second block was synced elsewhere, long before it was needed"


def test_the_next_block_of_producer_ids_is_synced_when_it_is_needed(slow: Slow) -> None:
    ask = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
    for _ in range(BLOCK_SIZE):
        slow.send(ask)
    assert slow.syncs == 0 and len(slow.worker.jobs) == 1, "the disk takes its time"
    answered = slow.send(ask)
    assert slow.syncs == 1
    (text,) = slow.synced("SELECT value FROM meta WHERE key = 'next_producer_id'")
    given = decoded(answered, InitProducerIdRequest).producer_id  # type: ignore[attr-defined]
    assert given == BLOCK_SIZE < int(text)


def test_checkpoints_forget_a_deleted_topic_before_its_name_is_reused(slow: Slow) -> None:
    slow.create("a")
    slow.worker.do_next()
    slow.broker.logs.checkpoints.write_now()
    slow.delete("a")
    slow.worker.do_next()
    slow.broker.tasks.finish()
    made = slow.create("a")
    assert slow.broker.metadata.topic("a") is None and b"a 0" in slow.disk.read("recovery-point-offset-checkpoint")
    slow.worker.do_next()
    assert b"a 0" not in slow.disk.read("recovery-point-offset-checkpoint")
    slow.broker.tasks.finish()
    assert slow.broker.metadata.topic("a") is not None and not made.answers
    slow.worker.do_next()
    assert made.answers


def test_a_topic_deleted_during_a_checkpoint_is_removed_by_the_next(slow: Slow) -> None:
    slow.create("a", "b")
    slow.drain()
    slow.delete("a")
    slow.drain()
    slow.create("a")
    slow.delete("b")
    slow.worker.jobs.reverse()  # two threads
    slow.worker.do_next()
    slow.broker.tasks.finish()
    slow.create("b")
    waits = slow.create("a")
    assert slow.broker.metadata.topics() == () and len(slow.worker.jobs) == 1
    slow.worker.do_next()
    slow.broker.tasks.finish()
    assert [info.name for info in slow.broker.metadata.topics()] == ["a"]
    slow.drain()
    assert [info.name for info in slow.broker.metadata.topics()] == ["a", "b"]
    (topic,) = decoded(waits, CreateTopicsRequest).topics  # type: ignore[attr-defined]
    assert topic.error_code == Error.TOPIC_ALREADY_EXISTS


def test_interval_checkpoints_run_on_a_thread_and_a_stop_waits_for_them(slow: Slow) -> None:
    slow.create("a")
    slow.worker.do_next()
    slow.broker.advance(NOW_MS + 60_000)
    slow.broker.tasks.finish()
    assert slow.broker.logs.checkpoints.is_writing and not slow.disk.exists("recovery-point-offset-checkpoint")
    slow.broker.stop(NOW_MS + 60_000)
    assert not slow.disk.exists(".kafka_cleanshutdown")


def test_concurrent_creations_and_deletions_of_a_name_are_serialized(slow: Slow) -> None:
    """The second creation has waited for checkpoints; files of topics that were created and deleted since are still
    there.
    """
    slow.create("a")
    slow.drain()
    slow.delete("a")
    slow.drain()
    first, second = slow.create("a"), slow.create("a")
    slow.worker.do_next()
    slow.broker.tasks.finish()
    assert slow.broker.metadata.topic("a") is not None
    deleted = slow.delete("a")
    slow.drain()
    for channel in (first, second):
        (topic,) = decoded(channel, CreateTopicsRequest).topics  # type: ignore[attr-defined]
        assert topic.error_code == 0
    partition = slow.broker.partition(TopicPartition("a", 0))
    assert deleted.answers and partition is not None and not partition.failed
    known = slow.broker.logs._known_topic_id("a-0")
    assert known == partition.topic_id, "the folder is the new topic's, and nobody has put it aside"
    written = slow.produce("a")
    slow.flush()
    assert error_of_produce(written) == 0


def test_waiters_for_a_topic_whose_deletion_cannot_be_synced_get_the_error(slow: Slow) -> None:
    slow.create("a")
    written = slow.produce("a")
    deleted = slow.delete("a")
    slow.fails = True
    slow.drain()
    assert error_of_produce(written) == Error.KAFKA_STORAGE_ERROR
    assert deleted.closed is not None and not deleted.answers and slow.disk.exists("a-0")
    slow.broker.stop(NOW_MS)
    assert not slow.disk.exists(".kafka_cleanshutdown")


def test_a_stop_does_not_wait_for_a_coordinator_whose_topic_waits_for_a_disk_that_hangs(slow: Slow) -> None:
    """A checkpoint has to forget the old topic first, and the thread never comes back."""
    ask = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
    slow.send(ask)
    slow.drain()
    slow.delete(CONSUMER_OFFSETS_TOPIC)
    slow.drain()
    sent = encode_request(ask.API_KEY, 4, 7, "test", ask.encode(4))
    asked = RecordingChannel()
    slow.broker.receive(asked, 0, memoryview(sent)[4:], NOW_MS)
    while not slow.broker.logs.checkpoints.is_writing:
        slow.broker.tasks.step()
    slow.broker.stop(NOW_MS)
    (found,) = response_type(ask.API_KEY).decode(asked.answers[0], 4, 9).coordinators  # type: ignore[attr-defined]
    assert found.error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert not slow.disk.exists(".kafka_cleanshutdown")


def test_a_stop_writes_checkpoints_for_a_new_topic(slow: Slow) -> None:
    slow.create("a")
    slow.drain()
    slow.delete("a")
    slow.drain()
    slow.broker.logs.checkpoints.nobody_reports()
    made = slow.create("a")
    slow.broker.stop(NOW_MS)
    assert made.answers and slow.synced_topics() == ["a"] and slow.disk.exists(".kafka_cleanshutdown")


def test_producer_ids_of_the_current_block_are_given_if_no_next_block_is_available(slow: Slow) -> None:
    metadata, sync = slow.broker.metadata, slow.broker.metadata_sync
    given = [sync.producer_id()]
    metadata.file.fail("no space left on device")
    given += [sync.producer_id() for _ in range(BLOCK_SIZE - 1)]
    assert given == list(range(BLOCK_SIZE))
    with pytest.raises(StorageError, match="no space left"):
        sync.producer_id()


def test_a_topic_named_by_many_metadata_requests_is_created_once(slow: Slow) -> None:
    slow.create("a")
    slow.worker.do_next()
    slow.delete("a")
    slow.worker.do_next()
    slow.broker.tasks.finish()
    request = MetadataRequest(topics=[MetadataRequestTopic(name="a")], allow_auto_topic_creation=True)
    asked = [slow.send(request), slow.send(request)]
    slow.drain()
    for channel in asked:
        (topic,) = decoded(channel, MetadataRequest).topics  # type: ignore[attr-defined]
        assert (topic.name, topic.error_code, len(topic.partitions)) == ("a", 0, 1)


def test_every_request_that_changes_the_metadata_store_waits_for_its_sync() -> None:
    """A handler that newly calls the store's methods must be listed here with the reason why it need not wait."""
    names = {key.name for key in ABOUT_METADATA}
    assert {name for name in names if name.startswith(("CREATE", "ALTER", "DELETE", "INCREMENTAL", "UPDATE"))} == {
        *("CREATE_TOPICS", "CREATE_PARTITIONS", "CREATE_ACLS", "DELETE_TOPICS", "DELETE_ACLS", "ALTER_CONFIGS"),
        *("INCREMENTAL_ALTER_CONFIGS", "ALTER_CLIENT_QUOTAS", "ALTER_USER_SCRAM_CREDENTIALS", "UPDATE_FEATURES"),
    }


def test_without_a_sync_thread_each_change_is_synced_on_the_event_loop(tmp_path: Path) -> None:
    admin = Admin(str(tmp_path / FILE_NAME), **{"oncelog.flush.policy": "commit"})
    assert admin.broker.metadata_sync.is_settled
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    assert admin.broker.metadata_sync.is_settled
    with pytest.raises(KafkaError):
        admin.broker.topics.create("t", 1, {}, NOW_MS)
    admin.broker.stop(NOW_MS)
