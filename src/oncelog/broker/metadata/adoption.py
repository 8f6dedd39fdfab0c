"""Adopts a data folder that Apache Kafka wrote: its topics, their settings, and the producer ids it allocated.

Called once, when a store is new. The metadata come from Kafka's own metadata log (``__cluster_metadata-0``, KIP-631),
so that a compacted topic stays compacted and no producer id is allocated twice; only in a folder without that log,
topics are derived from the partition folders and their ``partition.metadata``. This module only reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from struct import error as StructError

from oncelog.broker.log.checkpoints import decode_leader_epochs, read_partition_metadata
from oncelog.broker.log.segments.batch_reader import records_at_rest
from oncelog.broker.metadata.metadata_errors import MetadataError
from oncelog.protocol.struct_fields import read_uvarint
from oncelog.records.record_errors import CorruptBatch
from oncelog.runtime.ports import Disk

CLUSTER_METADATA_FOLDER = "__cluster_metadata-0"
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"

_PARTITION_FOLDER = re.compile(r"([a-zA-Z0-9._-]{1,249})-(\d{1,9})")
_SNAPSHOT = re.compile(r"(\d{20})-\d{10}\.checkpoint")
_SEGMENT = re.compile(r"\d{20}\.log")
_INT32 = Struct(">i")
_PRODUCER_IDS = Struct(">iqq")

_TOPIC_RECORD = 2
_PARTITION_RECORD = 3
_CONFIG_RECORD = 4
_REMOVE_TOPIC_RECORD = 9
_PRODUCER_IDS_RECORD = 15
_TOPIC_RESOURCE = 2


@dataclass(frozen=True, slots=True)
class AdoptedTopic:
    """A topic found in the data folder."""

    name: str
    topic_id: bytes
    partitions: int
    first_leader_epoch: int
    overrides: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class AdoptedCluster:
    """The contents of Kafka's metadata log that this broker uses."""

    topic_ids: dict[str, bytes] = field(default_factory=dict)
    partitions: dict[bytes, dict[int, tuple[int, ...]]] = field(default_factory=dict)
    """The node ids of each partition's replicas, by topic id."""
    overrides: dict[str, dict[str, str]] = field(default_factory=dict)
    next_producer_id: int = 0

    def remove(self, topic_id: bytes) -> None:
        self.partitions.pop(topic_id, None)
        for name in [name for name, known in self.topic_ids.items() if known == topic_id]:
            del self.topic_ids[name]
            self.overrides.pop(name, None)


def topics_in(disk: Disk, node_id: int, metadata: AdoptedCluster | None) -> list[AdoptedTopic]:
    """Topics of a data folder, sorted by name.

    These are the topics in Kafka's metadata log; a folder with another topic id was left by a deletion. A partition may
    lack its folder if Kafka had not created it yet. Without the log, topics are derived from the partition folders.

    :raises MetadataError: partitions are on other nodes or missing, or the folders of one topic have different topic
        ids.
    """
    folders = _partition_folders(disk)
    if metadata is None:
        return [_topic_of_folders(disk, name, folders[name]) for name in sorted(folders)]
    found = []
    for name, topic_id in sorted(metadata.topic_ids.items()):
        replicas = metadata.partitions.get(topic_id, {})
        other_nodes = [index for index, nodes in replicas.items() if nodes != (node_id,)]
        if other_nodes or set(replicas) != set(range(len(replicas))) or not replicas:
            raise MetadataError(
                f"the topic {name} has replicas on other nodes than {node_id}: only the data folder of a cluster of "
                f"one node can be taken over"
            )
        epochs = [
            _last_epoch(disk, folder)
            for folder in folders.get(name, {}).values()
            if read_partition_metadata(disk, folder) == topic_id
        ]
        overrides = metadata.overrides.get(name, {})
        found.append(AdoptedTopic(name, topic_id, len(replicas), max(epochs, default=-1) + 1, dict(overrides)))
    return found


def _partition_folders(disk: Disk) -> dict[str, dict[int, str]]:
    """The partition folders of a data folder, by topic name and partition."""
    folders: dict[str, dict[int, str]] = {}
    for folder in disk.list(""):
        match = _PARTITION_FOLDER.fullmatch(folder)
        if match and folder != CLUSTER_METADATA_FOLDER and disk.exists(f"{folder}/partition.metadata"):
            folders.setdefault(match[1], {})[int(match[2])] = folder
    return folders


def _topic_of_folders(disk: Disk, name: str, folders: Mapping[int, str]) -> AdoptedTopic:
    missing = sorted(set(range(max(folders) + 1)) - set(folders))
    if missing:
        raise MetadataError(
            f"the topic {name} has a folder for partition {max(folders)} and none for {missing[0]}: the data folder "
            f"seems to be one of several of its cluster; bring all partitions together first"
        )
    ids = {read_partition_metadata(disk, folder) for folder in folders.values()} - {None}
    if len(ids) != 1:
        raise MetadataError(f"the folders of topic {name} name {len(ids)} different topic ids; remove the wrong ones")
    (topic_id,) = ids
    epochs = [_last_epoch(disk, folder) for folder in folders.values()]
    return AdoptedTopic(name, topic_id or b"", len(folders), max(epochs) + 1)


def _last_epoch(disk: Disk, folder: str) -> int:
    path = f"{folder}/{LEADER_EPOCH_CHECKPOINT}"
    if not disk.exists(path):
        return -1
    return max((entry.epoch for entry in decode_leader_epochs(disk.read(path), path)), default=-1)


def read_cluster_metadata(disk: Disk) -> AdoptedCluster | None:
    """Read Kafka's metadata log, starting from its newest snapshot; an incomplete end is ignored, as in Kafka.

    None if the folder has no such log.

    :raises MetadataError: the log cannot be read.
    """
    files = disk.list(CLUSTER_METADATA_FOLDER)
    if not files:
        return None
    found = AdoptedCluster()
    snapshots = [name for name in files if _SNAPSHOT.fullmatch(name)]
    start = 0
    if snapshots:
        start = int(snapshots[-1][:20])
        _replay(disk, snapshots[-1], 0, found)
    for name in files:
        if _SEGMENT.fullmatch(name):
            _replay(disk, name, start, found)
    return found


def _replay(disk: Disk, name: str, start: int, found: AdoptedCluster) -> None:
    path = f"{CLUSTER_METADATA_FOLDER}/{name}"
    data = disk.read(path)
    try:
        for record in records_at_rest(data):
            if record.value is not None and (name.endswith(".checkpoint") or record.offset >= start):
                _apply(record.value, found)
    except (CorruptBatch, IndexError, StructError, ValueError) as error:
        raise MetadataError(f"cannot read Apache Kafka's metadata in {path}: {error}") from error


def _apply(value: bytes, found: AdoptedCluster) -> None:
    """Apply one record of the metadata log to ``found``; record types that this broker does not use are skipped."""
    _, position = read_uvarint(value, 0)
    kind, position = read_uvarint(value, position)
    _, position = read_uvarint(value, position)
    if kind == _TOPIC_RECORD:
        name, position = _string(value, position)
        found.topic_ids[name or ""] = value[position : position + 16]
        found.overrides[name or ""] = {}
    elif kind == _PARTITION_RECORD:
        (index,) = _INT32.unpack_from(value, position)
        topic_id = value[position + 4 : position + 20]
        count, position = read_uvarint(value, position + 20)
        replicas = tuple(_INT32.unpack_from(value, position + 4 * each)[0] for each in range(count - 1))
        found.partitions.setdefault(topic_id, {})[index] = replicas
    elif kind == _REMOVE_TOPIC_RECORD:
        found.remove(value[position : position + 16])
    elif kind == _CONFIG_RECORD and value[position] == _TOPIC_RESOURCE:
        topic, position = _string(value, position + 1)
        name, position = _string(value, position)
        setting, _ = _string(value, position)
        overrides = found.overrides.setdefault(topic or "", {})
        if setting is None:
            overrides.pop(name or "", None)
        else:
            overrides[name or ""] = setting
    elif kind == _PRODUCER_IDS_RECORD:
        found.next_producer_id = _PRODUCER_IDS.unpack_from(value, position)[2]


def _string(data: bytes, position: int) -> tuple[str | None, int]:
    length, position = read_uvarint(data, position)
    if length == 0:
        return None, position
    end = position + length - 1
    if end > len(data):
        raise IndexError(f"a string of {length - 1} bytes reaches past the record's end")
    return data[position:end].decode(), end
