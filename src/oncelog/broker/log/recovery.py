"""Opens a partition's folder: repairs it after a crash, and trusts its files after a clean close.

Called only by ``PartitionLog.open``. After an unclean end every segment that extends beyond the recovery point is read
completely: each batch's CRC is checked, indexes, leader epochs and producer state are rebuilt, and the first bad batch
ends the log. No valid batch before that is lost. Source: Kafka's ``LogLoader``, ``LogSegment.recover``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from oncelog.broker.log.checkpoints import LEADER_EPOCH_CHECKPOINT, decode_leader_epochs
from oncelog.broker.log.file_names import (
    CLEANED_SUFFIX,
    DAMAGED_SUFFIX,
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
    is_temporary,
    parse_file_name,
)
from oncelog.broker.log.leader_epoch_cache import LeaderEpochCache
from oncelog.broker.log.producers.producer_state import ProducerStateManager
from oncelog.broker.log.producers.snapshots import SnapshotFiles
from oncelog.broker.log.segments.batch_reader import read_batches, scan_batches
from oncelog.broker.log.segments.segment import MAX_OFFSET, MAX_RELATIVE_OFFSET, Segment
from oncelog.broker.log.segments.transaction_index import AbortedTxn
from oncelog.errors import CorruptLogError, StorageError
from oncelog.records.batch import BatchHeader, CorruptBatch
from oncelog.records.control import parse_control
from oncelog.records.native import BatchScanner, Scanned
from oncelog.runtime.ports import Disk, File
from oncelog.settings.config import TopicConfig

logger = logging.getLogger(__name__)

_COPY_BYTES = 1 << 20
_RECALL_BYTES = 4 << 20
"""The number of bytes at a log's end that are read to find the last batches of its producers."""


class LoadedLog(NamedTuple):
    """The contents of a folder after loading, with nothing at or after ``log_end_offset``.

    ``unsynced``: rebuilt files, which must be synced before the recovery point may pass their segments.
    """

    segments: list[Segment]
    log_start_offset: int
    recovery_point: int
    log_end_offset: int
    epochs: LeaderEpochCache
    snapshots: SnapshotFiles
    unsynced: list[File]


def apply_batch(
    state: ProducerStateManager, header: BatchHeader, batch: memoryview, aborted: Segment | None = None
) -> None:
    """Replay one batch into ``state``; an abort marker also goes into the transaction index of ``aborted``.

    :raises CorruptBatch: a control batch is malformed.
    """
    if header.producer_id < 0 or not header.is_control:
        state.apply_data(header, header.base_offset)
        return
    marker = parse_control(batch, 0, header)
    if marker is None:
        state.skip_to(header.next_offset)
    else:
        _apply_marker(state, header, marker.commit, marker.coordinator_epoch, aborted)


def _apply_marker(
    state: ProducerStateManager, header: BatchHeader, commit: bool, coordinator_epoch: int, aborted: Segment | None
) -> None:
    done = state.apply_marker(
        header.producer_id,
        header.producer_epoch,
        coordinator_epoch,
        commit,
        header.base_offset,
        header.max_timestamp,
    )
    if done is not None and done.aborted and aborted is not None:
        aborted.add_aborted(AbortedTxn(done.producer_id, done.first_offset, done.last_offset, done.last_stable_offset))


class _Loader:
    """Loads and repairs one partition's folder, once."""

    def __init__(
        self, disk: Disk, folder: str, config: TopicConfig, state: ProducerStateManager, now_ms: int, log_start: int
    ) -> None:
        self.disk = disk
        self.folder = folder
        self.config = config
        self.state = state
        self.now_ms = now_ms
        self.log_start = log_start
        self.segments: list[Segment] = []
        self.epochs = LeaderEpochCache()
        self.snapshots = SnapshotFiles(disk, folder)
        self.state_loaded = False
        self.unsynced: list[File] = []

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    # --- files

    def finish_swaps(self, names: Sequence[str]) -> Sequence[str]:
        """Remove temporary files, and complete a compaction that had reached ``.swap`` files; returns the names of the
        remaining files."""
        files = [(name, *parsed) for name in names if (parsed := parse_file_name(name)) is not None]
        leftovers = [(name, offset, kind, extra) for name, offset, kind, extra in files if extra]
        if not leftovers:
            return names
        cleaned = [offset for _, offset, _, extra in leftovers if extra == CLEANED_SUFFIX]
        swaps = []
        for name, offset, kind, extra in leftovers:
            if extra == SWAP_SUFFIX and offset < min(cleaned, default=MAX_OFFSET):
                swaps.append((name, offset, kind))
            else:
                self.disk.remove(self.path(name))
        self._replace_swapped(files, [offset for _, offset, kind in swaps if kind == LOG_SUFFIX])
        for name, _, _ in swaps:
            self.disk.rename(self.path(name), self.path(name[: -len(SWAP_SUFFIX)]))
        return self.disk.list(self.folder)

    def _replace_swapped(self, files: Sequence[tuple[str, int, str, str]], bases: Sequence[int]) -> None:
        """Remove the files of the segments that the compacted ``.swap`` segments at ``bases`` replace."""
        if not bases:
            return
        ends = []
        for base in bases:
            segment = Segment(self.disk, self.folder, base, self.now_ms, suffix=SWAP_SUFFIX)
            segment.size_bytes = self.disk.size(segment.path(LOG_SUFFIX))
            ends.append(segment.next_offset())
            segment.close()
        for name, offset, kind, extra in files:
            if not extra and kind in SEGMENT_SUFFIXES and min(bases) <= offset < max(ends):
                self.disk.remove(self.path(name))

    def list_segments(self, names: Sequence[str]) -> list[Segment]:
        """List the segments in the folder; returns those whose indexes must be rebuilt."""
        present = set(names)
        damaged = []
        for name in names:
            parsed = parse_file_name(name)
            if parsed is None:
                continue
            offset, kind, _ = parsed
            if kind in INDEX_SUFFIXES and file_name(offset, LOG_SUFFIX) not in present:
                logger.warning("%s/%s belongs to no segment and is removed", self.folder, name)
                self.disk.remove(self.path(name))
            elif kind == LOG_SUFFIX:
                segment = Segment.existing(self.disk, self.folder, offset, self.now_ms)
                self.segments.append(segment)
                if not self._has_indexes(segment, present):
                    damaged.append(segment)
        return damaged

    def _has_indexes(self, segment: Segment, present: set[str]) -> bool:
        for kind in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX):
            if file_name(segment.base_offset, kind) not in present:
                return False
        if file_name(segment.base_offset, TRANSACTION_INDEX_SUFFIX) in present:
            try:
                len(segment.transaction_index)
            except CorruptLogError as error:
                logger.warning("%s; it is rebuilt", error)
                return False
        return True

    def load_epochs(self, names: Sequence[str]) -> None:
        if LEADER_EPOCH_CHECKPOINT not in names:
            return
        path = self.path(LEADER_EPOCH_CHECKPOINT)
        data = self.disk.read(path)
        try:
            self.epochs = LeaderEpochCache(decode_leader_epochs(data, path))
        except CorruptLogError as error:
            logger.warning("%s; the epochs are read from the batches", error)
            data = b""
        if not data:  # the checkpoint of leader epochs is empty or lost
            for segment in self.segments:
                for _, header in segment.scan(0):
                    self.note_epoch(header)

    def note_epoch(self, header: BatchHeader) -> None:
        if header.partition_leader_epoch > self.epochs.latest_epoch:
            self.epochs.assign(header.partition_leader_epoch, header.base_offset)

    # --- segments and state

    def load_state(self, offset: int) -> None:
        """Load the producer state as of ``offset``: load the newest snapshot at or below it, then replay the batches
        that follow."""
        if self.state_loaded and self.state.map_end_offset == offset:
            return
        low = min(offset, max(self.log_start, self.segments[0].base_offset) if self.segments else self.log_start)
        found = self.snapshots.load_newest(low, offset)
        if found is None:
            self.state.clear(low)
        else:
            self.state.load(found[1], found[0], self.now_ms)
            self._recall_batches(found[0])
        self.state_loaded = True
        for segment, end in self.with_ends():
            if segment.base_offset < offset and end > self.state.map_end_offset:
                self._replay(segment, offset)
        self.state.skip_to(offset)

    def _recall_batches(self, offset: int) -> None:
        """Restore up to five batches of each producer in the state, from the end of the log before ``offset``.

        A snapshot has only the last batch of a producer. A client whose batches were not answered before a restart
        sends the oldest of them first: if this batch were refused as out of order, the client would write it again
        under its next epoch. (Apache Kafka relies on the other replicas for that.)
        """
        if not self.state.entries:
            return
        tails: list[tuple[Segment, int]] = []
        left = _RECALL_BYTES
        for segment in reversed(self.segments):
            if segment.base_offset < offset and left > 0:
                start = segment.offset_index.boundary_at_or_before(max(0, segment.size_bytes - left))
                left -= segment.size_bytes - start
                tails.append((segment, start))
        headers: list[BatchHeader] = []
        try:
            for segment, start in reversed(tails):
                for _, found in scan_batches(segment.file, self._scanner(segment), segment.size_bytes, position=start):
                    headers += [BatchHeader._make(fields) for fields, marker in found.producers if marker is None]
        except (CorruptBatch, StorageError) as error:
            logger.warning("some of the last batches of producers in %s could not be read: %s", self.folder, error)
        self.state.recall(header for header in headers if header.base_offset < offset)

    def with_ends(self) -> list[tuple[Segment, int]]:
        """The segments, each with the base offset of the next one, or ``MAX_OFFSET``."""
        ends = [segment.base_offset for segment in self.segments[1:]]
        return list(zip(self.segments, [*ends, MAX_OFFSET], strict=False))

    def _replay(self, segment: Segment, offset: int) -> None:
        try:
            position = segment.position_of(self.state.map_end_offset)
            for _, header, batch in read_batches(segment.file, position, segment.size_bytes):
                if header.base_offset >= offset:
                    return
                apply_batch(self.state, header, batch)
        except (CorruptBatch, CorruptLogError) as error:
            logger.warning("producer state of %s ends early: %s", self.folder, error)

    def recover(self, segment: Segment, synced_to: int, *, is_active: bool = False) -> int:
        """Read a whole segment, rebuild its indexes and the producer state, truncate it at the first bad batch; returns
        the number of bytes removed.

        :param synced_to: everything below this offset was on stable storage before: bytes cut off there were
            acknowledged, and are copied to a separate file.
        :param is_active: the segment will be appended to, so its indexes and producer state stay in memory until it is
            closed.
        """
        self.load_state(segment.base_offset)
        segment.start_indexes()
        scanner = self._scanner(segment)
        end = 0
        try:
            for position, found in scan_batches(segment.file, scanner, segment.size_bytes):
                end = position
                self.take_scanned(segment, found)
                self.state.skip_to(scanner.next_offset)
        except CorruptBatch as error:
            logger.warning("%s ends at offset %d, position %d: %s", segment, scanner.next_offset, end, error)
        segment.take_scanned(scanner)
        return self.end_at(segment, end, scanner.next_offset, synced_to, is_active=is_active)

    def _scanner(self, segment: Segment) -> BatchScanner:
        return BatchScanner(
            segment.base_offset,
            segment.base_offset + MAX_RELATIVE_OFFSET,
            self.config.index_interval_bytes,
            self.epochs.latest_epoch,
            parse_control,
        )

    def end_at(self, segment: Segment, end: int, next_offset: int, synced_to: int, *, is_active: bool) -> int:
        """Truncate a scanned segment to ``end`` bytes, and write its indexes unless it will be appended to; returns the
        number of bytes removed."""
        cut = segment.size_bytes - end
        if cut:
            if next_offset < synced_to:
                self.keep_aside(segment, end)
            segment.file.truncate(end)
            segment.size_bytes = end
        segment.start_tail(next_offset)
        if is_active:
            segment.release_reserved_space()
        else:
            self.unsynced += segment.write_indexes(final=True)
            self.snapshots.take(self.state)
        return cut

    def take_scanned(self, segment: Segment, found: Scanned) -> None:
        for fields, marker in found.producers:
            header = BatchHeader._make(fields)
            if marker is None:
                self.state.apply_data(header, header.base_offset)
            else:
                _apply_marker(self.state, header, *marker, segment)
        for epoch, start_offset in found.leader_epochs:
            self.epochs.assign(epoch, start_offset)

    def keep_aside(self, segment: Segment, position: int) -> None:
        """Copy the bytes after ``position`` to a file that nothing reads: they were damaged on the disk, not by a
        crash."""
        kept = f"{segment.path(LOG_SUFFIX)}.{position}{DAMAGED_SUFFIX}"
        copy = self.disk.open(kept, create=True)
        copy.truncate(0)
        for start in range(position, segment.size_bytes, _COPY_BYTES):
            copy.append([segment.file.read_at(start, min(_COPY_BYTES, segment.size_bytes - start))])
        copy.sync()
        copy.close()
        self.disk.sync_folder(self.folder)
        logger.error(
            "%s was damaged at position %d after it had been synced; the log ends there and the bytes after it are "
            "kept in %s: restore the partition from a copy of it, or read them with dump-log",
            segment,
            position,
            kept,
        )

    def remove_segments(self, segments: Sequence[Segment]) -> None:
        for segment in segments:
            segment.close()
            for path in segment.mark_deleted():
                self.disk.remove(path)
            self.snapshots.remove(segment.base_offset)
            self.segments.remove(segment)

    def recover_past(self, recovery_point: int) -> None:
        """After a crash, recover every segment that extends beyond ``recovery_point``, until one is found damaged.

        A segment that ends before the next begins has lost its end, even if the rest is intact: the segments after it
        are removed, too, because after a power failure a log may lack its newest batches, but never batches in the
        middle. Only in compacted logs are such gaps allowed.
        """
        pending = [(segment, end) for segment, end in self.with_ends() if end > recovery_point]
        for number, (segment, end) in enumerate(pending, 1):
            logger.info("recovering %s", segment)
            damaged = self.recover(segment, recovery_point, is_active=end == MAX_OFFSET) > 0
            next_offset = segment.next_offset()
            if damaged or (next_offset < end < MAX_OFFSET and not self.config.compacted):
                logger.warning("%s continues at %d: the segments after it are removed", self.folder, next_offset)
                later = [segment for segment, _ in pending[number:]]
                for lost in later:
                    if lost.base_offset < recovery_point and lost.size_bytes:
                        self.keep_aside(lost, 0)
                self.remove_segments(later)
                # makes the removals durable: after a power loss no old file may reappear beside new segments
                self.disk.sync_folder(self.folder)
                self.snapshots.keep_between(0, next_offset)
                return


def load(
    disk: Disk,
    folder: str,
    config: TopicConfig,
    state: ProducerStateManager,
    *,
    now_ms: int,
    clean_shutdown: bool,
    recovery_point: int,
    log_start_offset: int,
) -> LoadedLog:
    """Read the folder, or create it, and load the producer state into ``state``. ``recovery_point`` and
    ``log_start_offset`` are from the checkpoints."""
    names = disk.list(folder)
    if not names:
        disk.make_folder(folder)
    loader = _Loader(disk, folder, config, state, now_ms, log_start_offset)
    for name in filter(is_temporary, names):
        disk.remove(f"{folder}/{name}")
    names = loader.finish_swaps(names)
    damaged = {segment.base_offset for segment in loader.list_segments(names)}
    loader.snapshots = SnapshotFiles.listed(disk, folder, names)
    loader.load_epochs(names)
    rebuilt: list[int] = []
    for segment, end in loader.with_ends():
        if segment.base_offset in damaged and (clean_shutdown or end <= recovery_point):
            logger.warning("the indexes of %s are missing or damaged and are rebuilt", segment)
            loader.recover(segment, end)
            rebuilt.append(segment.base_offset)
    if not clean_shutdown:
        loader.recover_past(recovery_point)
    loaded = _settle(loader, clean_shutdown, recovery_point)
    return loaded._replace(recovery_point=min([loaded.recovery_point, *rebuilt]))


def _settle(loader: _Loader, clean_shutdown: bool, recovery_point: int) -> LoadedLog:
    segments, log_start = loader.segments, loader.log_start
    log_end = segments[-1].next_offset() if segments else log_start
    if log_end < log_start:
        logger.warning(
            "%s ends at %d, before its start %d: it starts again there, empty", loader.folder, log_end, log_start
        )
        loader.remove_segments(list(segments))
        loader.epochs.clear()
        loader.snapshots.keep_between(log_start, log_start)
        loader.state_loaded = False
        log_end = log_start
    if not segments:
        segments.append(Segment.create(loader.disk, loader.folder, log_start, loader.now_ms))
    segments[-1].start_tail(log_end)
    log_start = max(log_start, segments[0].base_offset)
    loader.epochs.truncate_from_end(log_end)
    loader.epochs.truncate_from_start(log_start)
    loader.snapshots.remove_strays([segment.base_offset for segment in segments])
    loader.snapshots.keep_between(log_start, log_end)
    loader.log_start = log_start
    if clean_shutdown and loader.snapshots.latest is None and not loader.state_loaded:
        # The folder has no producer snapshots: reading the whole log to learn its producers would take too long.
        loader.state.clear(log_end)
    else:
        loader.load_state(log_end)
    if clean_shutdown:
        loader.snapshots.take(loader.state)
    point = log_end if clean_shutdown else min(recovery_point, log_end)
    return LoadedLog(
        segments, log_start, max(point, log_start), log_end, loader.epochs, loader.snapshots, loader.unsynced
    )


def reload_state(
    segments: Sequence[Segment],
    snapshots: SnapshotFiles,
    state: ProducerStateManager,
    disk: Disk,
    folder: str,
    config: TopicConfig,
    log_start_offset: int,
    log_end_offset: int,
    now_ms: int,
) -> None:
    """Load the producer state as of ``log_end_offset`` again, after a truncation."""
    loader = _Loader(disk, folder, config, state, now_ms, log_start_offset)
    loader.segments, loader.snapshots = list(segments), snapshots
    loader.load_state(log_end_offset)
    snapshots.take(state)
