"""The partition logs of a data folder: opening, deletion, retention, compaction and their checkpoints.

Called by ``core.broker`` and ``core.administration``. Invariants: the clean-shutdown marker is written last and removed
first; a checkpoint never has an offset beyond what was synced; a deleted topic's folders are renamed before any file is
removed, so that a topic of the same name can be created at once. Source: Kafka's ``LogManager``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from oncelog.broker.core.requests.tasks import Tasks
from oncelog.broker.core.requests.work import Work, in_chunks
from oncelog.broker.core.storage.checkpoint_writer import CheckpointWriter
from oncelog.broker.core.storage.cleaner import Cleaner
from oncelog.broker.log import checkpoints
from oncelog.broker.log.file_names import (
    deleted_folder,
    is_deleted_folder,
    is_temporary,
    parse_file_name,
    parse_partition_folder,
    stray_folder,
)
from oncelog.broker.metadata.store import MetadataStore
from oncelog.errors import ConfigError, CorruptLogError, StorageError
from oncelog.runtime.ports import Background, Disk, Random
from oncelog.runtime.timers import Timers
from oncelog.settings.config import BrokerConfig, TopicConfig
from oncelog.types import TopicPartition, encode_uuid

if TYPE_CHECKING:
    from oncelog.broker.log.partition_log import PartitionLog

logger = logging.getLogger(__name__)

FLUSH_CHECKPOINT_INTERVAL_MS = 60_000
"""The interval in ms at which checkpoints are written (Kafka's ``log.flush.offset.checkpoint.interval.ms`` and similar
settings)."""
FIRST_RETENTION_DELAY_MS = 30_000
MAX_PRODUCER_IDS_UNKNOWN = 2**32
"""The largest allowed gap between two producer ids that logs contain and the metadata, because they were lost, do
not."""
LOGS_IN_A_CHUNK = 100
"""The number of logs whose checkpoint lines are built in one chunk."""
CLUSTER_METADATA_TOPIC = "__cluster_metadata"
"""The topic of KRaft's own log in a folder that Apache Kafka wrote; it is left unchanged."""


class LogManager:
    """Manages every log of one data folder."""

    def __init__(
        self,
        disk: Disk,
        config: BrokerConfig,
        timers: Timers,
        background: Background,
        random: Random,
        tasks: Tasks,
    ) -> None:
        self.disk = disk
        self._config = config
        self._timers = timers
        self._background = background
        self._random = random
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._metadata: MetadataStore | None = None
        self.was_clean = False
        """Whether the previous run ended cleanly."""
        self._recovery_points: dict[TopicPartition, int] = {}
        self._log_starts: dict[TopicPartition, int] = {}
        self._names_others = False
        """Whether checkpoint files contain deleted logs that this start has replaced by new logs of the same names."""
        self.checkpoints = CheckpointWriter(disk, tasks, self._content)
        self._stopped = False
        self._lost_clean = False
        """Whether some logs end below their offset in the cleaner's checkpoint."""
        self.removed: dict[TopicPartition, int] = {}
        """The number of offsets that retention has removed from each partition since the start."""
        self._cleaner = Cleaner(disk, background, self._logs, self._log_was_cleaned)

    # --- life

    def start(self, metadata: MetadataStore) -> None:
        """Read the checkpoints of the previous run, and whether it ended cleanly; check which cluster and node the
        folder belongs to."""
        self._check_identity(metadata)
        self._metadata = metadata
        self.was_clean = checkpoints.read_clean_shutdown(self.disk)
        self._recovery_points = self._read_checkpoint(checkpoints.RECOVERY_POINT_CHECKPOINT)
        self._log_starts = self._read_checkpoint(checkpoints.LOG_START_OFFSET_CHECKPOINT)
        self._cleaner.load()
        checkpoints.remove_clean_shutdown(self.disk)

    def started(self, now_ms: int) -> None:
        """Called when every log is open: begin the periodic work."""
        self._tidy(now_ms)
        if self._metadata is not None:
            self._metadata.forget_deleted(partial(self.disk.sync_folder, ""))
        if self._names_others or not self._logs.keys() >= self._recovery_points.keys() | self._log_starts.keys():
            # After a kill the checkpoints may still name a deleted topic; a new topic of that name must not use its
            # offsets.
            self.checkpoints.write_now()
        elif self._lost_clean:
            self._cleaner.write_checkpoint()

        def expiration_ms() -> int:
            return self._config.producer_id_expiration_check_interval_ms

        def cleaner_ms() -> int:
            return self._config.log_cleaner_backoff_ms

        retention = FIRST_RETENTION_DELAY_MS, lambda: self._config.log_retention_check_interval_ms
        self._repeat(now_ms, *retention, self._apply_retention, self._retains_all)
        minute = FLUSH_CHECKPOINT_INTERVAL_MS
        self._repeat(now_ms, minute, lambda: minute, lambda _: self.checkpoints.write_soon(), lambda _: True)
        self._repeat(now_ms, expiration_ms(), expiration_ms, self._expire_producers, self._keeps_producers)
        if self._config.log_cleaner_enable:
            self._repeat(now_ms, cleaner_ms(), cleaner_ms, self._cleaner.clean, self._cleaner.is_idle)

    def reconfigure(self, config: BrokerConfig, of_leader: Callable[[TopicPartition], BrokerConfig]) -> None:
        """Apply broker settings that were changed at run time; settings of topics are applied by ``update_config``.

        :param of_leader: returns the settings of the node that leads a partition.
        """
        self._config = config
        for topic_partition, log in self._logs.items():
            log.update_producer_settings(of_leader(topic_partition))

    def producer_ids_end(self, known_end: int) -> int:
        """The first producer id that is greater than all ids allocated so far, as far as the logs show; ``known_end``
        is the value in the metadata.

        A client may write with any id. An id that exceeds all others by more than a cluster ever allocates was not
        allocated, and the ids below it stay free.
        """
        end = known_end
        for producer_id in sorted(
            {entry.producer_id for log in self._logs.values() for entry in log.active_producers()}
        ):
            if producer_id - end > MAX_PRODUCER_IDS_UNKNOWN:
                logger.warning("producer id %d was never allocated: a client invented it", producer_id)
                break
            end = max(end, producer_id + 1)
        return end

    def stop(self) -> None:
        """Sync and close every log; the clean-shutdown marker is written only if no disk failed."""
        self._stopped = True
        self._cleaner.stop()
        synced: set[str] = set()
        logs = list(self._logs.values())
        for log, failure in zip(logs, self.disk.all_of([partial(log.close, synced) for log in logs]), strict=True):
            if failure is not None:
                log.fail(str(failure))
                logger.error("%s could not be closed, the next start recovers it: %s", log.topic_partition, failure)
        # a stop does not wait longer: a write that hangs might replace checkpoints of the next start
        if self.checkpoints.is_writing:
            logger.warning("checkpoints are still being written; the next start recovers every log")
            return
        self.checkpoints.write_now()
        if not any(log.failed for log in self._logs.values()):
            checkpoints.write_clean_shutdown(self.disk)

    def open(self, topic_partition: TopicPartition, topic_id: bytes, config: TopicConfig, now_ms: int) -> PartitionLog:
        """Open the log of a partition: recover it if the last run did not end cleanly, create it if it is new."""
        # Imported when the first log is opened: the import takes 16 ms.
        from oncelog.broker.log.partition_log import PartitionLog

        folder = str(topic_partition)
        known = self._known_topic_id(folder)
        if known is not None and known != topic_id:
            # A deleted topic of the same name left this folder; the new topic must not use its records.
            self._set_aside(topic_partition, known, now_ms)
            known = None
        is_new = not self.disk.exists(folder)
        if is_new:
            self._forget(topic_partition)
        log = PartitionLog.open(
            self.disk,
            folder,
            topic_partition,
            config,
            now_ms=now_ms,
            clean_shutdown=self.was_clean or is_new,
            recovery_point=self._recovery_points.get(topic_partition, 0),
            log_start_offset=self._log_starts.get(topic_partition, 0),
            producer_id_expiration_ms=self._config.producer_id_expiration_ms,
            verify_transactions=self._config.transaction_partition_verification_enable,
        )
        if known is None:
            checkpoints.write_partition_metadata(self.disk, folder, topic_id, sync=False)
            log.files.sync_later(f"{folder}/{checkpoints.PARTITION_METADATA}")
        self._logs[topic_partition] = log
        # A power loss may have lost compacted records.
        self._lost_clean |= self._cleaner.truncated(topic_partition, log.log_end_offset)
        return log

    def find_unreadable(self, path: str, position: int, size_bytes: int) -> None:
        """Mark bytes of a segment as unreadable, because reading them failed while they were being sent: later reads of
        them get an error, and no other connection is closed."""
        folder, _, name = path.rpartition("/")
        topic_partition, parsed = parse_partition_folder(folder), parse_file_name(name)
        log = self._logs.get(topic_partition) if topic_partition is not None else None
        if log is not None and log.failed is None and parsed is not None and not parsed[2]:
            log.find_unreadable(parsed[0], position, size_bytes)

    def truncate_to(self, topic_partition: TopicPartition, offset: int) -> None:
        """Truncate a log to ``offset`` (``LogManager.truncateTo``)."""
        log = self._logs[topic_partition]
        log.trimmer.truncate_to(offset)
        # the log may end below ``offset``, which can lie inside a batch
        if self._cleaner.truncated(topic_partition, log.log_end_offset):
            self._cleaner.write_checkpoint()

    def _forget(self, topic_partition: TopicPartition) -> None:
        """Remove the checkpointed state of a log, because another log of the same name may follow."""
        self._names_others |= topic_partition in self._recovery_points
        self._recovery_points.pop(topic_partition, None)
        self.removed.pop(topic_partition, None)
        self._log_starts.pop(topic_partition, None)
        self._cleaner.forget(topic_partition)

    def _known_topic_id(self, folder: str) -> bytes | None:
        """The topic id for which a folder was created; None if it is unknown, because the file is not synced and a
        power loss may damage it."""
        try:
            return checkpoints.read_partition_metadata(self.disk, folder)
        except CorruptLogError as error:
            logger.warning("%s; it is written again", error)
            return None

    def _set_aside(self, topic_partition: TopicPartition, topic_id: bytes | None, now_ms: int) -> None:
        """Remove a folder without a topic if the metadata say that its topic was deleted; otherwise its origin is
        unknown, and it is renamed (``-stray``) and kept."""
        token = self._random.token(16).hex()
        if topic_id is not None and self._metadata is not None and self._metadata.was_deleted(topic_id):
            folder = deleted_folder(topic_partition, token)
            self.disk.rename(str(topic_partition), folder)
            self._remove_later(folder, now_ms)
            return
        folder = stray_folder(topic_partition, token)
        logger.warning("the folder %s belongs to no topic of this broker; it is now %s", topic_partition, folder)
        self.disk.rename(str(topic_partition), folder)

    def _tidy(self, now_ms: int) -> None:
        """Rename folders that belong to no topic, and continue removals that the previous run did not finish."""
        for name in self.disk.list(""):
            found = parse_partition_folder(name)
            if is_deleted_folder(name):
                self._remove_later(name, now_ms)
            elif is_temporary(name):
                self.disk.remove(name)
            elif found is None or found in self._logs or found.topic == CLUSTER_METADATA_TOPIC:
                continue
            elif self.disk.exists(f"{name}/{checkpoints.PARTITION_METADATA}"):
                self._set_aside(found, self._known_topic_id(name), now_ms)

    def delete(self, log: PartitionLog, now_ms: int) -> None:
        """Rename a partition's folder at once, and remove it after ``file.delete.delay.ms``."""
        del self._logs[log.topic_partition]
        self._forget(log.topic_partition)
        self.checkpoints.deleted(log.topic_partition.topic)
        folder = log.delete(self._random.token(16).hex())
        self._remove_later(folder, now_ms + log.config.file_delete_delay_ms)

    def _remove_later(self, folder: str, at_ms: int) -> None:
        self._timers.schedule(at_ms, lambda _: self._remove(folder))

    def _remove(self, folder: str) -> None:
        def done(error: Exception | None) -> None:
            if error is not None:
                logger.warning("the folder %s of a deleted partition cannot be removed: %s", folder, error)

        self._background.run(lambda: self.disk.remove(folder), done)

    # --- files of the data folder

    def _check_identity(self, metadata: MetadataStore) -> None:
        """Check ``meta.properties``, in Kafka's format; a folder of another cluster or node is refused."""
        known = checkpoints.read_meta_properties(self.disk)
        if known is None:
            properties = checkpoints.MetaProperties(
                metadata.cluster_id, metadata.node_id, encode_uuid(self._random.token(16))
            )
            checkpoints.write_meta_properties(self.disk, properties)
            return
        if known.cluster_id != metadata.cluster_id or known.node_id != metadata.node_id:
            raise ConfigError(
                f"the data folder belongs to node {known.node_id} of cluster {known.cluster_id}, this broker is node "
                f"{metadata.node_id} of cluster {metadata.cluster_id}: name another data folder"
            )

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """Read a checkpoint file. A damaged one costs time, not data: without it every log is checked from its
        start."""
        try:
            return checkpoints.read_offset_checkpoint(self.disk, name)
        except CorruptLogError as error:
            logger.warning("%s; every log will be checked from its start", error)
            self.was_clean = False
            return {}

    def _log_was_cleaned(self) -> None:
        if self.checkpoints.background is None:
            self._cleaner.write_checkpoint()
        else:  # written under one lock, so that no writer replaces newer content with older
            self.checkpoints.write_soon()

    def _content(self) -> Work[list[tuple[str, bytes]]]:
        """Names and contents of the checkpoint files, for the logs that exist when the work begins."""
        recovery_points: list[str] = []
        log_starts: list[str] = []
        high_watermarks: list[str] = []
        line = checkpoints.offset_line
        for part in in_chunks(list(self._logs.items()), LOGS_IN_A_CHUNK):
            for topic_partition, log in part:
                recovery_points.append(line(topic_partition, log.files.recovery_point))
                if log.log_start_offset > 0:
                    log_starts.append(line(topic_partition, log.log_start_offset))
                high_watermarks.append(line(topic_partition, log.high_watermark))
            yield
        cleaned = [line(topic_partition, offset) for topic_partition, offset in self._cleaner.known().items()]
        return [
            (checkpoints.RECOVERY_POINT_CHECKPOINT, checkpoints.encode_lines(recovery_points)),
            (checkpoints.LOG_START_OFFSET_CHECKPOINT, checkpoints.encode_lines(log_starts)),
            (checkpoints.REPLICATION_OFFSET_CHECKPOINT, checkpoints.encode_lines(high_watermarks)),
            (checkpoints.CLEANER_OFFSET_CHECKPOINT, checkpoints.encode_lines(cleaned)),
        ]

    # --- periodic work

    def _repeat(
        self,
        now_ms: int,
        first_ms: int,
        interval_ms: Callable[[], int],
        work: Callable[[int], object],
        idle: Callable[[int], bool],
    ) -> None:
        def run(at_ms: int) -> None:
            if not self._stopped:
                work(at_ms)

        self._timers.repeat(now_ms + first_ms, interval_ms, run, idle)

    def _apply_retention(self, now_ms: int) -> None:
        for log in list(self._logs.values()):
            if log.failed is None:
                before = log.log_start_offset
                try:
                    log.trimmer.apply_retention(now_ms)
                except StorageError as error:
                    logger.error("%s: old segments cannot be removed now: %s", log.topic_partition, error)
                if log.log_start_offset > before:
                    known = self.removed.get(log.topic_partition, 0)
                    self.removed[log.topic_partition] = known + log.log_start_offset - before

    def _retains_all(self, now_ms: int) -> bool:
        return not any(log.failed is None and log.trimmer.has_expired(now_ms) for log in self._logs.values())

    def _keeps_producers(self, now_ms: int) -> bool:
        return not any(log.has_expired_producers(now_ms) for log in self._logs.values())

    def _expire_producers(self, now_ms: int) -> None:
        for log in self._logs.values():
            log.writer.expire_producers(now_ms)
