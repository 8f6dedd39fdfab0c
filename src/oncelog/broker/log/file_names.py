"""Names of the files and folders of a data folder.

Called by every module that touches them. Source: Kafka's ``LogFileUtils``.
"""

from __future__ import annotations

import re

from oncelog.types import TopicPartition

LOG_SUFFIX = ".log"
OFFSET_INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
INDEX_SUFFIXES = (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
SEGMENT_SUFFIXES = (LOG_SUFFIX, *INDEX_SUFFIXES)

DELETED_SUFFIX = ".deleted"
DAMAGED_SUFFIX = ".damaged"
"""Suffix of a file with the bytes that recovery cut off below the recovery point; nothing reads it."""
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"
TEMPORARY_SUFFIX = ".tmp"
"""Suffix of a file that will replace another one; a number precedes it."""

DELETED_FOLDER_SUFFIX = "-delete"
STRAY_FOLDER_SUFFIX = "-stray"
_MAX_NAME_LENGTH = 255
_TEMPORARY_NAME = re.compile(rf".+\.\d+{re.escape(TEMPORARY_SUFFIX)}")
_OFFSET_NAME = re.compile(r"(\d{20})(\.[a-z]+)((?:\.deleted|\.cleaned|\.swap)?)")


def file_name(offset: int, suffix: str) -> str:
    """A segment's or snapshot's file: the offset in 20 digits, and the kind."""
    return f"{offset:020d}{suffix}"


def parse_file_name(name: str) -> tuple[int, str, str] | None:
    """Offset, kind (``.log``, ...) and temporary suffix (or ``""``) of such a name; None for any other."""
    match = _OFFSET_NAME.fullmatch(name)
    return (int(match[1]), match[2], match[3]) if match else None


def deleted_folder(topic_partition: TopicPartition, token: str) -> str:
    """The name of a partition's folder until it is removed; ``token`` distinguishes it from earlier ones."""
    tail = f"-{topic_partition.partition}.{token}{DELETED_FOLDER_SUFFIX}"
    return topic_partition.topic[: _MAX_NAME_LENGTH - len(tail)] + tail


def stray_folder(topic_partition: TopicPartition, token: str) -> str:
    """The name of a folder whose partition belongs to no topic of this broker (Kafka's ``-stray``)."""
    tail = f"-{topic_partition.partition}.{token}{STRAY_FOLDER_SUFFIX}"
    return topic_partition.topic[: _MAX_NAME_LENGTH - len(tail)] + tail


def is_deleted_folder(name: str) -> bool:
    """Whether a folder is waiting to be removed."""
    return name.endswith(DELETED_FOLDER_SUFFIX)


def parse_partition_folder(name: str) -> TopicPartition | None:
    """The partition in a subfolder of the data folder; None for a deleted one and for any other folder."""
    if name.endswith(DELETED_FOLDER_SUFFIX):
        return None
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition)) if topic and partition.isascii() and partition.isdigit() else None


def is_temporary(name: str) -> bool:
    """Whether this is a file that was to replace another one, left behind by a kill."""
    return _TEMPORARY_NAME.fullmatch(name) is not None
