"""Names of the files and folders of a data folder.

Called by every module that reads or writes these files. Source: Kafka's ``LogFileUtils``.
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
"""Suffix of a file with bytes that recovery cut off although they were below the recovery point; nothing reads the
file."""
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"
TEMPORARY_SUFFIX = ".tmp"
"""Suffix, after a number, of a file that will replace another one."""

DELETED_FOLDER_SUFFIX = "-delete"
STRAY_FOLDER_SUFFIX = "-stray"
_MAX_NAME_LENGTH = 255
_TEMPORARY_NAME = re.compile(rf".+\.\d+{re.escape(TEMPORARY_SUFFIX)}")
_OFFSET_NAME = re.compile(r"(\d{20})(\.[a-z]+)((?:\.deleted|\.cleaned|\.swap)?)")


def file_name(offset: int, suffix: str) -> str:
    """The name of a segment's or snapshot's file: the offset in 20 digits, and the suffix of its kind."""
    return f"{offset:020d}{suffix}"


def parse_file_name(name: str) -> tuple[int, str, str] | None:
    """Offset, kind (``.log``, ...) and temporary suffix (or ``""``) in the name of a segment's or snapshot's file; None
    for any other name."""
    match = _OFFSET_NAME.fullmatch(name)
    return (int(match[1]), match[2], match[3]) if match else None


def deleted_folder(topic_partition: TopicPartition, token: str) -> str:
    """The name of a deleted partition's folder until the folder is removed; ``token`` distinguishes it from earlier
    ones."""
    tail = f"-{topic_partition.partition}.{token}{DELETED_FOLDER_SUFFIX}"
    return topic_partition.topic[: _MAX_NAME_LENGTH - len(tail)] + tail


def stray_folder(topic_partition: TopicPartition, token: str) -> str:
    """The new name of a partition's folder that belongs to no topic of this broker (Kafka's ``-stray``)."""
    tail = f"-{topic_partition.partition}.{token}{STRAY_FOLDER_SUFFIX}"
    return topic_partition.topic[: _MAX_NAME_LENGTH - len(tail)] + tail


def is_deleted_folder(name: str) -> bool:
    """Whether a folder belongs to a deleted partition and waits to be removed."""
    return name.endswith(DELETED_FOLDER_SUFFIX)


def parse_partition_folder(name: str) -> TopicPartition | None:
    """The partition whose folder has this name; None for a deleted partition's folder and for any other folder."""
    if name.endswith(DELETED_FOLDER_SUFFIX):
        return None
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition)) if topic and partition.isascii() and partition.isdigit() else None


def is_temporary(name: str) -> bool:
    """Whether a file was to replace another one and was left by a killed process."""
    return _TEMPORARY_NAME.fullmatch(name) is not None
