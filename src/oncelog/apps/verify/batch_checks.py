"""Checks of single batches and of their offsets: checksum, format, timestamps, order.

Called by :mod:`oncelog.apps.verify.partition_check`, which passes every batch of a partition in the order of the log.
Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from oncelog.apps.verify.expected import Expected
from oncelog.apps.verify.findings import Report
from oncelog.records.batch import BatchHeader, Record, TimestampType, crc_is_right, decode_records, record_area
from oncelog.records.control import ControlType, EndTxnMarker, control_type, parse_marker
from oncelog.records.crc import Buffer
from oncelog.records.native import walk
from oncelog.records.record_errors import CorruptBatch
from oncelog.types import NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, TopicPartition

_MIN_LONG, _MAX_LONG = -(2**63), 2**63 - 1


class ControlBatch(NamedTuple):
    """A control batch: its marker, or None if compaction has emptied the batch or it has another type."""

    marker: EndTxnMarker | None


class BatchChecks:
    """Checks each batch of one partition.

    ``hole_to`` is the offset after the last gap that compaction can have made; everything below it has been compacted.
    """

    def __init__(self, where: TopicPartition, expected: Expected, report: Report, *, decodes: bool = True) -> None:
        self.next_offset: int | None = None
        self.hole_to = -1
        self.gap_to = -1
        """The offset after the last gap, whatever made the gap."""
        self.latest_ms = NO_TIMESTAMP
        """The largest timestamp so far that is not in the future; it estimates when the last batch was appended."""
        self._where = where
        self._expected = expected
        self._report = report
        self._decodes = decodes
        self._leader_epoch = NO_PARTITION_LEADER_EPOCH
        self._append_ms = NO_TIMESTAMP

    def take(self, header: BatchHeader, data: Buffer) -> bool:
        """Check the next batch; returns False if its contents cannot be trusted."""
        if not self._has_sound_header(header):
            return False
        self._check_offsets(header)
        self._check_leader_epoch(header)
        if not crc_is_right(data, 0, header):
            self._add("crc-mismatch", header, "the checksum differs")
            return False
        if self._decodes and not header.is_control and not self._has_sound_records(header, data):
            return False
        self._check_append_time(header)
        if header.max_timestamp <= self._expected.now_ms:
            self.latest_ms = max(self.latest_ms, header.max_timestamp)
        return True

    def _add(self, kind: str, header: BatchHeader, detail: str) -> None:
        self._report.add(
            kind,
            self._where,
            detail,
            first=header.base_offset,
            last=max(header.base_offset, header.last_offset),
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
        )

    def _has_sound_header(self, header: BatchHeader) -> bool:
        wrong = None
        if header.last_offset_delta < 0 or header.base_offset < 0:
            wrong = f"its offsets are {header.base_offset} to {header.last_offset}"
        elif not 0 <= header.records_count <= header.last_offset_delta + 1:
            wrong = f"it has {header.records_count} records for {header.last_offset_delta + 1} offsets"
        elif header.is_transactional and not header.has_producer_id:
            wrong = "it is transactional and has no producer id"
        elif header.has_producer_id and header.producer_epoch < 0:
            wrong = f"its producer {header.producer_id} has epoch {header.producer_epoch}"
        elif header.producer_id < NO_PRODUCER_ID:
            wrong = f"its producer id is {header.producer_id}"
        if wrong is not None:
            self._add("malformed-batch", header, wrong)
        return wrong is None

    def _check_offsets(self, header: BatchHeader) -> None:
        wanted = self.next_offset
        if wanted is None and self._expected.compacted and header.base_offset > self._expected.log_start:
            self.hole_to = header.base_offset
        if wanted is not None and header.base_offset < wanted:
            self._add("offset-overlap", header, f"earlier batches reach offset {wanted - 1}")
        elif wanted is not None and header.base_offset > wanted:
            self._gap(header, wanted)
        if header.records_count <= header.last_offset_delta and not header.is_control:
            self._hole_in(header)
        self.next_offset = max(wanted or 0, header.next_offset)

    def _gap(self, header: BatchHeader, wanted: int) -> None:
        self.gap_to = header.base_offset
        if self._expected.compacted:
            self.hole_to = header.base_offset
        else:
            self._report.add(
                "offset-gap",
                self._where,
                f"{header.base_offset - wanted} offsets are missing before offset {header.base_offset}",
                first=wanted,
                last=header.base_offset - 1,
            )

    def _hole_in(self, header: BatchHeader) -> None:
        if self._expected.compacted:
            self.hole_to = header.next_offset
        else:
            missing = header.last_offset_delta + 1 - header.records_count
            self._add("offset-gap", header, f"{missing} records of the batch are missing")

    def _check_leader_epoch(self, header: BatchHeader) -> None:
        epoch = header.partition_leader_epoch
        if epoch == NO_PARTITION_LEADER_EPOCH:
            return
        if epoch < self._leader_epoch:
            self._add("leader-epoch-back", header, f"leader epoch {epoch} after {self._leader_epoch}")
        self._leader_epoch = max(epoch, self._leader_epoch)

    def _has_sound_records(self, header: BatchHeader, data: Buffer) -> bool:
        try:
            area = record_area(data, 0, header)
            largest, sequential, _ = walk(
                area, header.records_count, header.base_timestamp, False, _MIN_LONG, _MAX_LONG
            )
            if not sequential:
                decode_records(data, check_crc=False)  # raises CorruptBatch if offsets do not rise within the batch
        except CorruptBatch as error:
            self._add("malformed-batch", header, str(error))
            return False
        of_producer = header.timestamp_type is TimestampType.CREATE_TIME
        if of_producer and header.records_count and largest != header.max_timestamp:
            self._add("timestamp-mismatch", header, f"header: {header.max_timestamp}, records: {largest}")
        return True

    def _check_append_time(self, header: BatchHeader) -> None:
        if header.timestamp_type is not TimestampType.LOG_APPEND_TIME:
            return
        if header.max_timestamp < self._append_ms:
            self._add("append-time-back", header, f"{header.max_timestamp} after {self._append_ms}")
        self._append_ms = max(self._append_ms, header.max_timestamp)


def read_control(header: BatchHeader, data: Buffer) -> tuple[ControlBatch | None, str]:
    """Read the marker of a control batch whose checksum is right.

    :return: the batch and an empty text; ``(None, reason)`` if the batch is malformed. The marker is None if compaction
        has emptied the batch, or if its type is not known, which the text then names.
    """
    if not header.records_count:
        return ControlBatch(None), ""
    if header.records_count != 1:
        return None, f"it has {header.records_count} records"
    try:
        record: Record = decode_records(data, check_crc=False)[0]
        kind = control_type(record.key)
        marker = parse_marker(record)
    except CorruptBatch as error:
        return None, str(error)
    if marker is None:
        return ControlBatch(None), f"type {kind.name if kind is not ControlType.UNKNOWN else 'unknown'}"
    if not header.has_producer_id or not header.is_transactional:
        return None, "it is not a batch of a transaction"
    if marker.coordinator_epoch < 0:
        return None, f"its coordinator's epoch is {marker.coordinator_epoch}"
    return ControlBatch(marker), ""
