"""Reads and writes the small files next to the segments, in Kafka's formats.

Called by ``files`` and ``recovery`` (leader epochs), the broker's log manager (offset checkpoints, partition metadata,
clean-shutdown marker, node identity) and ``dump``. A file is always replaced as a whole, atomically. Sources:
``CheckpointFile``, ``PartitionMetadataFile``, ``MetaProperties``, ``CleanShutdownFileHandler`` of Kafka.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import NamedTuple

from oncelog.broker.log.leader_epoch_cache import EpochEntry
from oncelog.errors import CorruptLogError
from oncelog.runtime import real_json as json
from oncelog.runtime.ports import Disk
from oncelog.types import TopicPartition, encode_uuid

RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT = "log-start-offset-checkpoint"
REPLICATION_OFFSET_CHECKPOINT = "replication-offset-checkpoint"
CLEANER_OFFSET_CHECKPOINT = "cleaner-offset-checkpoint"
OFFSET_CHECKPOINTS = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
)
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

_VERSION = 0
_DIGITS = re.compile(r"[0-9]{1,19}")
_MAX_INT, _MAX_LONG = 2**31 - 1, 2**63 - 1


def _is_number(word: str, most: int) -> bool:
    return _DIGITS.fullmatch(word) is not None and int(word) <= most


def encode_lines(lines: list[str]) -> bytes:
    """Encode a checkpoint file: version, number of lines, lines."""
    return "".join(f"{line}\n" for line in [str(_VERSION), str(len(lines)), *lines]).encode()


def decode_lines(data: bytes, path: str) -> list[str]:
    """The lines of a checkpoint file.

    An empty file has no lines: Apache Kafka creates the file empty and writes it later, and may be killed in between.
    The last line must end with a newline, too: the file of leader epochs is renamed into place before it is synced, so
    a power loss may leave only its first part, and the first digits of a number are also a number.

    :raises CorruptLogError: the version is unknown, the number of lines is not the declared one, or the last line is
        incomplete.
    """
    if not data:
        return []
    if not data.endswith(b"\n"):
        raise CorruptLogError(f"the checkpoint {path} is cut off: its last line does not end")
    try:
        version, count, *lines = data.decode().splitlines()
        if int(version) != _VERSION or int(count) != len(lines):
            raise CorruptLogError(f"the checkpoint {path} has version {version} and {len(lines)} of {count} lines")
    except ValueError as error:
        raise CorruptLogError(f"the checkpoint {path} is damaged: {error}") from None
    return lines


def read_offset_checkpoint(disk: Disk, name: str) -> dict[TopicPartition, int]:
    """The offsets in a checkpoint file, by partition; empty if the file does not exist.

    :raises CorruptLogError: the file is damaged.
    """
    return decode_offset_checkpoint(disk.read(name), name) if disk.exists(name) else {}


def decode_offset_checkpoint(data: bytes, path: str) -> dict[TopicPartition, int]:
    """The offsets in the bytes of a checkpoint file, by partition. :raises CorruptLogError: the file is damaged."""
    offsets = {}
    for line in decode_lines(data, path):
        words = line.split()
        if len(words) != 3 or not _is_number(words[1], _MAX_INT) or not _is_number(words[2], _MAX_LONG):
            raise CorruptLogError(
                f"the checkpoint {path} has the line {line!r}, not a topic, a partition and an offset"
            )
        offsets[TopicPartition(words[0], int(words[1]))] = int(words[2])
    return offsets


def write_offset_checkpoint(disk: Disk, name: str, offsets: Mapping[TopicPartition, int], *, sync: bool = True) -> None:
    lines = [offset_line(partition, offset) for partition, offset in sorted(offsets.items())]
    disk.write_atomic(name, encode_lines(lines), sync=sync)


def offset_line(partition: TopicPartition, offset: int) -> str:
    """One line of an offset checkpoint."""
    return f"{partition.topic} {partition.partition} {offset}"


def encode_leader_epochs(entries: tuple[EpochEntry, ...]) -> bytes:
    return encode_lines([f"{entry.epoch} {entry.start_offset}" for entry in entries])


def decode_leader_epochs(data: bytes, path: str) -> list[EpochEntry]:
    """The leader epochs in the bytes of a checkpoint file. :raises CorruptLogError: the file is damaged."""
    entries = []
    for line in decode_lines(data, path):
        words = line.split()
        if len(words) != 2 or not _is_number(words[0], _MAX_INT) or not _is_number(words[1], _MAX_LONG):
            raise CorruptLogError(f"the checkpoint {path} has the line {line!r}, not an epoch and an offset")
        entries.append(EpochEntry(int(words[0]), int(words[1])))
    return entries


def decode_uuid(text: str) -> bytes:
    """The 16 bytes of a UUID in Kafka's text form. :raises CorruptLogError: the text is not 22 base64 characters."""
    try:
        uuid = urlsafe_b64decode(text + "==")
    except ValueError:
        uuid = b""
    if len(uuid) != 16:
        raise CorruptLogError(f"{text!r} is not an identity of 22 base64 characters")
    return uuid


def read_partition_metadata(disk: Disk, folder: str) -> bytes | None:
    """The topic id for which a partition's folder was created; None if the file does not exist.

    :raises CorruptLogError: the file is damaged.
    """
    path = f"{folder}/{PARTITION_METADATA}"
    if not disk.exists(path):
        return None
    values = _colon_lines(disk.read(path), path)
    if values.get("version") != "0" or "topic_id" not in values:
        raise CorruptLogError(f"{path} does not hold version 0 and a topic_id")
    return decode_uuid(values["topic_id"])


def _colon_lines(data: bytes, path: str) -> dict[str, str]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise CorruptLogError(f"{path} is not text") from None
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def write_partition_metadata(disk: Disk, folder: str, topic_id: bytes, *, sync: bool = True) -> None:
    data = f"version: 0\ntopic_id: {encode_uuid(topic_id)}\n".encode()
    disk.write_atomic(f"{folder}/{PARTITION_METADATA}", data, sync=sync)


class MetaProperties(NamedTuple):
    """The cluster and node that a data folder belongs to (``meta.properties`` version 1); ids have 22 characters."""

    cluster_id: str
    node_id: int
    directory_id: str


def read_meta_properties(disk: Disk) -> MetaProperties | None:
    """The contents of ``meta.properties`` in version 0 (``broker.id``) or 1; None if the file does not exist.

    :raises CorruptLogError: the file is damaged.
    """
    if not disk.exists(META_PROPERTIES):
        return None
    try:
        lines = [line.strip() for line in disk.read(META_PROPERTIES).decode().splitlines()]
        values = {
            k.strip(): v.strip() for k, _, v in (line.partition("=") for line in lines if line[:1] not in ("#", ""))
        }
        node_id = int(values.get("node.id", values.get("broker.id", "")))
    except ValueError:
        raise CorruptLogError(
            f"{META_PROPERTIES} in the data folder is damaged: it has no node.id that is a number; "
            f"restore it from a copy, or name another data folder"
        ) from None
    if "cluster.id" not in values:
        raise CorruptLogError(
            f"{META_PROPERTIES} in the data folder is damaged: it has no cluster.id; "
            f"restore it from a copy, or name another data folder"
        )
    return MetaProperties(values["cluster.id"], node_id, values.get("directory.id", ""))


def write_meta_properties(disk: Disk, properties: MetaProperties) -> None:
    lines = [
        "#",
        f"cluster.id={properties.cluster_id}",
        f"directory.id={properties.directory_id}",
        f"node.id={properties.node_id}",
        "version=1",
    ]
    disk.write_atomic(META_PROPERTIES, "".join(f"{line}\n" for line in lines).encode())


def read_clean_shutdown(disk: Disk) -> bool:
    """Whether the data folder has the marker of a clean shutdown."""
    return disk.exists(CLEAN_SHUTDOWN)


def clean_shutdown_epoch(data: bytes) -> int:
    """The broker epoch in a clean-shutdown marker; -1 if the marker has none."""
    try:
        epoch = json.loads(data)["brokerEpoch"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return -1
    return epoch if isinstance(epoch, int) else -1


def write_clean_shutdown(disk: Disk, broker_epoch: int = -1) -> None:
    """Write the clean-shutdown marker, as the last step of a stop."""
    data = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    disk.write_atomic(CLEAN_SHUTDOWN, data.encode())


def remove_clean_shutdown(disk: Disk) -> None:
    """Remove the clean-shutdown marker, as the first step of a start; the removal is on stable storage when this
    returns."""
    if disk.exists(CLEAN_SHUTDOWN):
        disk.remove(CLEAN_SHUTDOWN)
        disk.sync_folder("")
