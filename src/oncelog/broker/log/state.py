"""The state of one partition's log: its offsets, segments, producers and settings.

``PartitionLog`` reads the state; its writer, its trimmer and its files, which share it, change it. ``log_start_offset
<= last_stable_offset <= high_watermark <= log_end_offset``; everything below ``flushed_offset`` is on stable storage.
After a failed write or sync ``failed`` has the error.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from functools import partial

from oncelog.broker.log import recovery
from oncelog.broker.log.activity import Activity
from oncelog.broker.log.leader_epoch_cache import LeaderEpochCache
from oncelog.broker.log.producers.producer_state import ProducerStateManager
from oncelog.broker.log.segments.segment_list import SegmentList
from oncelog.errors import InvariantError
from oncelog.records.batch import TimestampType
from oncelog.records.compression import Compression
from oncelog.records.validation import Checked, validate_append
from oncelog.runtime.ports import Buffer, Disk
from oncelog.settings.config import BrokerConfig, TopicConfig
from oncelog.settings.kafka_properties import MAX_LONG
from oncelog.types import TopicPartition

logger = logging.getLogger(__name__)


class LogState:
    """The offsets, segments, producers and settings of one log. Timestamps and clocks are in ms."""

    def __init__(
        self,
        disk: Disk,
        folder: str,
        topic_partition: TopicPartition,
        config: TopicConfig,
        producers: ProducerStateManager,
        loaded: recovery.LoadedLog,
        now_ms: int,
    ) -> None:
        self.disk = disk
        self.folder = folder
        self.topic_partition = topic_partition
        self.producers = producers
        self.segment_list = SegmentList(loaded.segments)
        self.snapshots = loaded.snapshots
        self.leader_epoch_cache: LeaderEpochCache = loaded.epochs
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.high_watermark = loaded.log_start_offset
        self.flushed_offset = loaded.recovery_point
        self.failed: str | None = None
        self.written_ms = now_ms
        """The time in ms of the last append, or of the opening if there was none."""
        self.activity = Activity(loaded.log_end_offset)
        self.update_config(config)

    @property
    def needs_sync(self) -> bool:
        """Whether ``flush.messages`` or more records wait for a sync: new records are committed only after that."""
        return self.log_end_offset - self.flushed_offset >= self.config.flush_messages

    @property
    def takes_batches_unchanged(self) -> bool:
        """Whether the topic's settings leave valid batches unchanged, because the producer chooses codec and
        timestamps."""
        return self.compression is None and self.timestamp_type is TimestampType.CREATE_TIME

    def update_config(self, config: TopicConfig) -> None:
        """Apply new topic settings to all later appends."""
        self.config = config
        codec = config.compression_type
        level = {
            "gzip": config.compression_gzip_level,
            "lz4": config.compression_lz4_level,
            "zstd": config.compression_zstd_level,
        }.get(codec)
        self.timestamp_type = TimestampType.from_name(config.message_timestamp_type)
        self.compression = None if codec == "producer" else Compression.from_name(codec)
        self.compression_level = level
        self.syncs_early = config.flush_messages < MAX_LONG or config.flush_ms < MAX_LONG
        """Whether the topic's settings require syncs besides those of the flush policy."""

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which read_committed consumers may read: the first offset of the first transaction that is
        open or whose marker is not replicated yet, or the high watermark."""
        unstable = self.producers.first_unstable_offset if self.producers.unstable else None  # most often None
        if unstable is None:
            return self.high_watermark
        return min(max(unstable, self.log_start_offset), self.high_watermark)

    def validation(self, batch: Buffer, now_ms: int, max_unpacked_bytes: int | None = None) -> Callable[[], Checked]:
        """A function that validates a producer's batch with the current settings; the function may be called on any
        thread.

        :param max_unpacked_bytes: as in :func:`~oncelog.records.validation.validate_append`.
        """
        config = self.config
        return partial(
            validate_append,
            batch,
            now_ms=now_ms,
            max_message_bytes=config.max_message_bytes,
            compacted=config.compacted,
            timestamp_type=self.timestamp_type,
            before_max_ms=config.message_timestamp_before_max_ms,
            after_max_ms=config.message_timestamp_after_max_ms,
            compression_type=self.compression,
            compression_level=self.compression_level,
            max_unpacked_bytes=max_unpacked_bytes,
            max_record_bytes=config.max_decompressed_message_bytes,
        )

    def keeps_codec(self, codec: int) -> bool:
        """Whether the topic stores batches with this codec without recompressing them."""
        return self.compression is None or self.compression == codec

    def fail(self, reason: str) -> None:
        """Called when the disk failed a write or a sync: from now on every append is refused with
        KAFKA_STORAGE_ERROR."""
        if self.failed is None:
            self.failed = reason
            logger.error("%s is offline until a restart: %s", self.topic_partition, reason)

    def update_producer_settings(self, config: BrokerConfig) -> None:
        """Apply new broker settings that concern producers."""
        self.producers.expiration_ms = config.producer_id_expiration_ms
        self.producers.verify_transactions = config.transaction_partition_verification_enable


class LogPart:
    """A part of one log, which owns the part. The part has only a weak reference to the log, so that a deleted log and
    its producer states are freed at once, and not only by the next full garbage collection."""

    def __init__(self, log: LogState) -> None:
        self._owner = weakref.ref(log)

    def _log(self) -> LogState:
        """A method and not a property, because before Python 3.12 reading a property takes several times as long as a
        call.
        """
        log = self._owner()
        if log is None:
            raise InvariantError(f"a {type(self).__name__} is used although its log no longer exists")
        return log
