"""Folders that Apache Kafka wrote are taken over with topics, overrides, epochs and producer ids."""

from __future__ import annotations

import pytest

from oncelog.broker.log.checkpoints import MetaProperties, write_meta_properties, write_partition_metadata
from oncelog.broker.metadata.adoption import AdoptedCluster, AdoptedTopic, read_cluster_metadata, topics_in
from oncelog.broker.metadata.metadata_errors import MetadataError
from oncelog.broker.metadata.opening import open_metadata
from oncelog.broker.metadata.store import ResourceType
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.records.batch import encode_batch
from oncelog.records.record import Record
from oncelog.settings.config import BrokerConfig, parse
from oncelog.types import encode_uuid

TOPIC_ID, OTHER_ID = b"\x01" * 16, b"\x02" * 16
CLUSTER_ID = encode_uuid(b"\x09" * 16)


class FixedRandom:
    def token(self, size: int) -> bytes:
        return b"\x07" * size


def _compact(text: str | None) -> bytes:
    return b"\x00" if text is None else bytes([len(text) + 1]) + text.encode()


def _record(kind: int, body: bytes) -> bytes:
    """A record's value in Kafka's metadata log: frame version 1, the record's kind and version 0, its fields, tags."""
    return bytes([1, kind, 0]) + body + b"\x00"


def topic_record(name: str, topic_id: bytes = TOPIC_ID) -> bytes:
    return _record(2, _compact(name) + topic_id)


def partition_record(index: int, topic_id: bytes = TOPIC_ID, replicas: tuple[int, ...] = (1,)) -> bytes:
    nodes = bytes([len(replicas) + 1]) + b"".join(node.to_bytes(4, "big") for node in replicas)
    return _record(3, index.to_bytes(4, "big") + topic_id + nodes + b"the rest")


def config_record(kind: int, resource: str, name: str, value: str | None) -> bytes:
    return _record(4, bytes([kind]) + _compact(resource) + _compact(name) + _compact(value))


def producer_ids_record(next_producer_id: int) -> bytes:
    return _record(15, (1).to_bytes(4, "big") + (5).to_bytes(8, "big") + next_producer_id.to_bytes(8, "big"))


def batch(first_offset: int, *values: bytes) -> bytes:
    records = [Record(first_offset + index, 0, None, value) for index, value in enumerate(values)]
    return encode_batch(records, base_offset=first_offset)


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


def write(disk: MemoryDisk, path: str, data: bytes) -> None:
    disk.make_folder(path.rpartition("/")[0])
    disk.write_atomic(path, data)


def partition(disk: MemoryDisk, folder: str, topic_id: bytes = TOPIC_ID, epochs: str = "") -> None:
    disk.make_folder(folder)
    write_partition_metadata(disk, folder, topic_id)
    if epochs:
        disk.write_atomic(f"{folder}/leader-epoch-checkpoint", epochs.encode())


def test_topics_are_found_by_their_partition_folders(disk: MemoryDisk) -> None:
    partition(disk, "my-topic-0", epochs="0\n2\n0 0\n4 17\n")
    partition(disk, "my-topic-1", epochs="0\n1\n7 0\n")
    partition(disk, "a.b_c-0", OTHER_ID)
    partition(disk, "__cluster_metadata-0", OTHER_ID)
    partition(disk, "gone-0.1234-delete", OTHER_ID)
    disk.make_folder("no-partition-metadata-0")
    found = topics_in(disk, 1, None)
    assert [(topic.name, topic.topic_id, topic.partitions, topic.first_leader_epoch) for topic in found] == [
        ("a.b_c", OTHER_ID, 1, 0),
        ("my-topic", TOPIC_ID, 2, 8),
    ]


def test_topics_are_read_from_the_metadata_log_if_the_folder_has_one(disk: MemoryDisk) -> None:
    partition(disk, "kept-0", epochs="0\n1\n3 0\n")
    partition(disk, "left-by-a-deletion-0", OTHER_ID)
    log = batch(
        0,
        *(topic_record("kept"), partition_record(0), partition_record(1), config_record(2, "kept", "segment.ms", "5")),
        *(topic_record("gone", OTHER_ID), partition_record(0, OTHER_ID), _record(9, OTHER_ID)),
    )
    write(disk, "__cluster_metadata-0/00000000000000000000.log", log)
    (topic,) = topics_in(disk, 1, read_cluster_metadata(disk))
    assert topic == AdoptedTopic("kept", TOPIC_ID, 2, 4, {"segment.ms": "5"})


@pytest.mark.parametrize("replicas", [(2,), (1, 2)])
def test_a_data_folder_of_one_node_of_several_is_refused(disk: MemoryDisk, replicas: tuple[int, ...]) -> None:
    metadata = AdoptedCluster({"t": TOPIC_ID}, {TOPIC_ID: {0: (1,), 1: replicas}})
    with pytest.raises(MetadataError, match="t has replicas on other nodes than 1"):
        topics_in(disk, 1, metadata)


def test_a_folder_that_lacks_partitions_is_refused(disk: MemoryDisk) -> None:
    partition(disk, "t-0")
    partition(disk, "t-2")
    with pytest.raises(MetadataError, match="t has a folder for partition 2 and none for 1"):
        topics_in(disk, 1, None)


def test_partitions_with_one_topic_name_and_two_topic_ids_are_refused(disk: MemoryDisk) -> None:
    partition(disk, "t-0")
    partition(disk, "t-1", OTHER_ID)
    with pytest.raises(MetadataError, match="t name 2 different topic ids"):
        topics_in(disk, 1, None)


@pytest.mark.parametrize("name", ["partition.metadata", "leader-epoch-checkpoint"])
def test_a_folder_that_a_power_failure_damaged_is_refused_with_advice(disk: MemoryDisk, name: str) -> None:
    partition(disk, "t-0", epochs="0\n1\n3 0\n")
    disk.write_atomic(f"t-0/{name}", bytes(9))
    with pytest.raises(MetadataError, match=rf"t-0/{name} .*: restore that file, or move the damaged folder away"):
        open_metadata(":memory:", disk, BrokerConfig(), FixedRandom(), 9)


def test_overrides_and_producer_ids_come_from_the_metadata_log(disk: MemoryDisk) -> None:
    log = (
        batch(0, topic_record("t"), config_record(2, "t", "retention.ms", "5"), config_record(4, "1", "x", "y"))
        + batch(3, config_record(2, "t", "cleanup.policy", "compact"), producer_ids_record(1000))
        + batch(5, config_record(2, "t", "retention.ms", None), producer_ids_record(2000))
    )
    write(disk, "__cluster_metadata-0/00000000000000000000.log", log)
    found = read_cluster_metadata(disk)
    assert found is not None
    assert found.overrides == {"t": {"cleanup.policy": "compact"}}
    assert found.next_producer_id == 2000


def test_a_recreated_topic_does_not_inherit_overrides(disk: MemoryDisk) -> None:
    log = batch(0, topic_record("t"), config_record(2, "t", "retention.ms", "5"), topic_record("t", OTHER_ID))
    write(disk, "__cluster_metadata-0/00000000000000000000.log", log)
    found = read_cluster_metadata(disk)
    assert found is not None and found.overrides == {"t": {}}


def test_replay_of_the_metadata_log_continues_after_the_newest_snapshot(disk: MemoryDisk) -> None:
    folder = "__cluster_metadata-0"
    old = batch(0, topic_record("gone"), config_record(2, "gone", "retention.ms", "5"))
    write(disk, f"{folder}/00000000000000000000.log", old + batch(2, config_record(2, "t", "segment.ms", "8")))
    write(disk, f"{folder}/00000000000000000001-0000000001.checkpoint", batch(0, topic_record("older")))
    write(
        disk,
        f"{folder}/00000000000000000002-0000000001.checkpoint",
        batch(0, topic_record("t"), config_record(2, "t", "retention.ms", "7"), producer_ids_record(3000)),
    )
    found = read_cluster_metadata(disk)
    assert found is not None
    assert found.overrides == {"t": {"retention.ms": "7", "segment.ms": "8"}}
    assert found.next_producer_id == 3000


def next_producer_id(disk: MemoryDisk) -> int:
    found = read_cluster_metadata(disk)
    assert found is not None
    return found.next_producer_id


def test_a_torn_end_of_the_metadata_log_is_ignored(disk: MemoryDisk) -> None:
    good, torn = batch(0, producer_ids_record(1000)), batch(1, producer_ids_record(2000))
    for cut in (len(torn) - 1, 20, 0):
        write(disk, "__cluster_metadata-0/00000000000000000000.log", good + torn[:cut])
        assert next_producer_id(disk) == 1000
    damaged = bytearray(torn)
    damaged[-1] ^= 1
    write(disk, "__cluster_metadata-0/00000000000000000000.log", good + bytes(damaged))
    assert next_producer_id(disk) == 1000


def test_a_metadata_log_that_cannot_be_read_is_refused(disk: MemoryDisk) -> None:
    write(disk, "__cluster_metadata-0/00000000000000000000.log", batch(0, bytes([1, 4, 0, 2, 200])))
    with pytest.raises(MetadataError, match="cannot read Apache Kafka's metadata"):
        read_cluster_metadata(disk)


def test_the_first_opening_of_a_kafka_folder_adopts_its_topics_once(disk: MemoryDisk, tmp_path: object) -> None:
    write_meta_properties(disk, MetaProperties(CLUSTER_ID, 4, ""))
    partition(disk, "t-0", epochs="0\n1\n3 0\n")
    write(
        disk,
        "__cluster_metadata-0/00000000000000000000.log",
        batch(0, topic_record("t"), partition_record(0, replicas=(4,)), producer_ids_record(5000)),
    )
    path, config = f"{tmp_path}/metadata.sqlite", parse(BrokerConfig, {"node.id": "4"})
    store, _ = open_metadata(path, disk, config, FixedRandom(), 9)
    assert (store.cluster_id, store.leader_epoch("t", 0), store.producer_ids.allocate()) == (CLUSTER_ID, 4, 5000)
    store.delete_topic("t")
    store.close()
    store, _ = open_metadata(path, disk, config, FixedRandom(), 10)
    assert store.topics() == ()


def test_a_new_folder_is_opened_with_one_change_and_no_later_opening_adopts_topics(
    disk: MemoryDisk, tmp_path: object
) -> None:
    """Each change costs a sync before the broker listens."""
    path, config = f"{tmp_path}/metadata.sqlite", parse(BrokerConfig, {"node.id": "4"})
    disk.write_atomic(".lock", b"")
    store, _ = open_metadata(path, disk, config, FixedRandom(), 9)
    assert (store.adopted, store.changes) == (True, 1)
    store.close()
    partition(disk, "t-0")
    store, _ = open_metadata(path, disk, config, FixedRandom(), 10)
    assert store.topics() == ()


def test_a_folder_of_another_node_is_refused(disk: MemoryDisk) -> None:
    write_meta_properties(disk, MetaProperties(CLUSTER_ID, 4, ""))
    with pytest.raises(MetadataError, match=r"belongs to node 4 and this broker is node 1; set node\.id=4"):
        open_metadata(":memory:", disk, BrokerConfig(), FixedRandom(), 9)


def test_settings_of_alter_configs_apply_at_the_next_start(disk: MemoryDisk, tmp_path: object) -> None:
    path, config = f"{tmp_path}/metadata.sqlite", parse(BrokerConfig, {"log.retention.hours": "1"})
    store, effective = open_metadata(path, disk, config, FixedRandom(), 9)
    assert effective.topic_defaults.retention_ms == 3_600_000
    store.set_dynamic_config(ResourceType.BROKER, "", {"log.retention.ms": "5", "max.connections": "6"})
    store.set_dynamic_config(ResourceType.BROKER, "1", {"max.connections": "7"})
    store.create_topic("t", 1, {}, 0)
    store.close()
    store, effective = open_metadata(path, disk, config, FixedRandom(), 9)
    assert (effective.topic_defaults.retention_ms, effective.max_connections) == (5, 7)
    info = store.topic("t")
    assert info is not None and info.config.retention_ms == 5
