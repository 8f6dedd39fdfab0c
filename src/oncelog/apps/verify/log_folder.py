"""Checks the partitions in a data folder of oncelog or Apache Kafka, without a broker.

Called by the command line. Only reads. It also compares the ``.txnindex`` files, from which brokers learn which
transactions were aborted, and reads the cleaner's position. A folder shows one moment: transactions that are open in it
are judged as of the last timestamp in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from oncelog.apps.verify.aborted import AbortedOffsets
from oncelog.apps.verify.decisions import decisions_in
from oncelog.apps.verify.expected import Expected
from oncelog.apps.verify.findings import Report
from oncelog.apps.verify.open_transactions import judge_at_rest
from oncelog.apps.verify.outcomes import Outcomes
from oncelog.apps.verify.partition_check import PartitionCheck, Writers
from oncelog.apps.verify.producer_checks import Open
from oncelog.broker.log import checkpoints
from oncelog.broker.log.file_names import (
    LOG_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
    parse_file_name,
    parse_partition_folder,
)
from oncelog.broker.log.segments.batch_reader import read_batches
from oncelog.broker.log.segments.transaction_index import TransactionIndex
from oncelog.errors import ConfigError, CorruptLogError
from oncelog.records.batch import BatchHeader, CorruptBatch, crc_is_right, decode_records
from oncelog.records.record_errors import OlderFormat
from oncelog.runtime.ports import Disk, File
from oncelog.types import INTERNAL_TOPICS, TRANSACTION_STATE_TOPIC, TopicPartition

OnProgress = Callable[[int, str], None]
_EVERYTHING = 2**63 - 1
_BLOCK_BYTES = 1024 * 1024


class PartitionFolder(NamedTuple):
    """A partition's folder in a data folder."""

    where: TopicPartition
    path: str


def partition_folders(disk: Disk, topics: Sequence[str]) -> list[PartitionFolder]:
    """The folders of the topics' partitions in a data folder, by default of all topics but internal ones.

    :raises ConfigError: the folder has none, or none of a requested topic.
    """
    named = ((parse_partition_folder(name), name) for name in disk.list(""))
    found = [PartitionFolder(where, name) for where, name in named if where is not None]
    chosen = sorted(
        one for one in found if (one.where.topic in topics if topics else one.where.topic not in INTERNAL_TOPICS)
    )
    missing = sorted(set(topics) - {one.where.topic for one in chosen})
    if missing or not chosen:
        what = f"no partition of {', '.join(missing)}" if missing else "no partition of a topic"
        raise ConfigError(f"the folder has {what}: give a folder of a broker's log.dirs, or TOPIC-0 in it")
    return chosen


def verify_folder(
    disk: Disk,
    folders: Sequence[PartitionFolder],
    expected: Expected,
    report: Report,
    *,
    decodes: bool = True,
    advance: OnProgress = lambda size_bytes, text: None,
) -> None:
    """Check some partitions of the data folder ``disk``.

    :param expected: facts that the folder does not contain. A topic that has a cleaner's checkpoint is compacted in any
        case.
    :param advance: called with the number of bytes read, and the name of what is being read.
    """
    above = _DataFolder(disk)
    outcomes, writers = Outcomes(), Writers()
    open_now: list[Open] = []
    latest_ms = -1
    try:
        for folder in folders:
            log_start = min(_segments(disk, folder), default=0)
            wanted = above.expected(folder.where, expected, log_start)
            check = PartitionCheck(folder.where, wanted, report, outcomes, decodes=decodes)
            _read(disk, folder, check, above.is_clean, advance)
            _compare_index(disk, folder, check.aborted(), above.indexed_to(folder.where), outcomes, report)
            open_now += check.open()
            latest_ms = max(latest_ms, check.latest_ms)
            check.end(writers)
        judge_at_rest(open_now, latest_ms, expected, outcomes, report)
        _read_decisions(disk, outcomes)
        outcomes.judge(report)
        writers.judge(report)
    finally:
        outcomes.close()


class _DataFolder:
    """The checkpoints and the clean-shutdown file in a data folder, any of which may be missing."""

    def __init__(self, disk: Disk) -> None:
        read = checkpoints.read_offset_checkpoint
        self._clean_to = read(disk, checkpoints.CLEANER_OFFSET_CHECKPOINT)
        self._log_start = read(disk, checkpoints.LOG_START_OFFSET_CHECKPOINT)
        self._recovery_point = read(disk, checkpoints.RECOVERY_POINT_CHECKPOINT)
        self.is_clean = disk.exists(checkpoints.CLEAN_SHUTDOWN)

    def indexed_to(self, where: TopicPartition) -> int:
        """The offset below which the ``.txnindex`` files must be complete; after a kill, the broker's start rewrites
        the rest."""
        return _EVERYTHING if self.is_clean or not self._recovery_point else self._recovery_point.get(where, 0)

    def expected(self, where: TopicPartition, given: Expected, first_segment: int) -> Expected:
        clean_to = self._clean_to.get(where, 0)
        compacted = given.compacted or where in self._clean_to or where.topic in INTERNAL_TOPICS
        log_start = max(first_segment, self._log_start.get(where, 0))
        return replace(given, compacted=compacted, clean_to=clean_to, log_start=log_start)


def _segments(disk: Disk, folder: PartitionFolder) -> list[int]:
    names = map(parse_file_name, disk.list(folder.path))
    return sorted(parsed[0] for parsed in names if parsed is not None and parsed[1:] == (LOG_SUFFIX, ""))


def _path(folder: PartitionFolder, name: str) -> str:
    return f"{folder.path}/{name}"


def _read(disk: Disk, folder: PartitionFolder, check: PartitionCheck, is_clean: bool, advance: OnProgress) -> None:
    segments = _segments(disk, folder)
    for number, base_offset in enumerate(segments):
        name = file_name(base_offset, LOG_SUFFIX)
        file = disk.open(_path(folder, name))
        position = 0
        try:
            for at, header, data in _batches(file):
                if header.base_offset < base_offset:
                    message = f"{name} has offset {header.base_offset}: nobody finds it there"
                    check.report.add("malformed-batch", folder.where, message, first=header.base_offset)
                check.take(header, data)
                position = at + header.size_bytes
                advance(header.size_bytes, str(folder.where))
        except OlderFormat as error:
            check.report.add("older-format", folder.where, f"{name}: {error}", first=check.next_offset or 0)
        except CorruptBatch as error:
            last = number == len(segments) - 1
            is_torn = last and not is_clean and ("cut off" in str(error) or _is_zero(file, position))
            kind = "torn-end" if is_torn else "malformed-batch"
            check.report.add(
                kind, folder.where, f"{name}, from position {position} on: {error}", first=check.next_offset or -1
            )
        finally:
            file.close()


def _is_zero(file: File, position: int) -> bool:
    """Whether the rest of a file is zeros, which a file system leaves where bytes were allocated and never written."""
    while position < file.size():
        rest = file.read_at(position, min(_BLOCK_BYTES, file.size() - position))
        if rest.strip(b"\0"):
            return False
        position += len(rest)
    return True


def _read_decisions(disk: Disk, outcomes: Outcomes) -> None:
    """Read the coordinators' records, if the folder has them, about producers whose transactions the log does not fully
    explain."""
    in_doubt = outcomes.in_doubt()
    if not in_doubt:
        return
    named = ((parse_partition_folder(name), name) for name in disk.list(""))
    for folder in (PartitionFolder(where, name) for where, name in named if where is not None):
        if folder.where.topic != TRANSACTION_STATE_TOPIC:
            continue
        for base_offset in _segments(disk, folder):
            file = disk.open(_path(folder, file_name(base_offset, LOG_SUFFIX)))
            try:
                for _, header, data in _batches(file):
                    if not header.is_control and crc_is_right(data, 0, header):
                        outcomes.decide(decisions_in(decode_records(data, check_crc=False), in_doubt))
            except CorruptBatch:
                break  # The last batch is incomplete. Transactions still in doubt are reported as outcomes-differ.
            finally:
                file.close()


def _batches(file: File) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    return read_batches(file, 0, file.size())


def _compare_index(
    disk: Disk, folder: PartitionFolder, aborted: AbortedOffsets, indexed_to: int, outcomes: Outcomes, report: Report
) -> None:
    """Compare the ``.txnindex`` files with the log: a broker sends their entries to consumers, which skip those
    transactions."""
    try:
        listed = _listed(disk, folder)
    except CorruptLogError as error:
        report.add("aborted-not-indexed", folder.where, str(error))
        return
    for first, marker, producer_id in aborted:
        listed_from = listed.get((producer_id, marker))
        if listed_from == first:
            del listed[producer_id, marker]
        elif marker < indexed_to and (listed_from is None or listed_from > first):
            from_there = "" if listed_from is None else f", before offset {listed_from},"
            report.add(
                "aborted-not-indexed",
                folder.where,
                f"a broker with these files gives the transaction's records{from_there} to read_committed readers",
                first=first,
                last=marker,
                producer_id=producer_id,
            )
    # Entries without aborted records in the log are allowed, because compaction may have removed these; an entry must
    # not hide committed records.
    for (producer_id, last), first in listed.items():
        hidden = outcomes.committed_within(folder.where, producer_id, first, last)
        if hidden is not None:
            report.add(
                "committed-indexed",
                folder.where,
                f"the index entry of offsets {first} to {last} hides this transaction",
                first=hidden.first_offset,
                last=hidden.marker_offset,
                producer_id=producer_id,
                producer_epoch=hidden.producer_epoch,
            )


def _listed(disk: Disk, folder: PartitionFolder) -> dict[tuple[int, int], int]:
    """The first offsets of the aborted transactions in the index, by producer id and offset of the marker.

    :raises CorruptLogError: a file is damaged.
    """
    listed = {}
    for base_offset in _segments(disk, folder):
        path = _path(folder, file_name(base_offset, TRANSACTION_INDEX_SUFFIX))
        if disk.exists(path):
            for entry in TransactionIndex.decode(base_offset, disk.read(path), path).entries:
                listed[entry.producer_id, entry.last_offset] = entry.first_offset
    return listed
