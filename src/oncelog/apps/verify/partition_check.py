"""All checks of one partition, which get its batches in the order of the log.

Called by :mod:`oncelog.apps.verify.log_topics` (a broker) and :mod:`oncelog.apps.verify.log_folder` (a data folder);
tests pass logs made by hand. This module reads nothing itself. Memory: an entry for each producer; keys of compacted
partitions and ends of transactions are on disk.
"""

from __future__ import annotations

from oncelog.apps.verify.aborted import AbortedOffsets
from oncelog.apps.verify.batch_checks import BatchChecks, read_control
from oncelog.apps.verify.expected import Expected
from oncelog.apps.verify.findings import Report
from oncelog.apps.verify.key_checks import KeyChecks, RepeatedKey
from oncelog.apps.verify.outcomes import Outcomes
from oncelog.apps.verify.producer_checks import Open, Plain, ProducerChecks
from oncelog.records.batch import BatchHeader, decode_records
from oncelog.records.control import ControlType
from oncelog.records.crc import Buffer
from oncelog.types import TopicPartition


class Writers:
    """The producers of all partitions that wrote in transactions, and those that wrote outside of transactions."""

    def __init__(self) -> None:
        self.transactional: set[int] = set()
        self.plain: list[tuple[int, Plain]] = []

    def take(self, producers: ProducerChecks) -> None:
        self.transactional.update(producers.transactional())
        self.plain += producers.plain()

    def judge(self, report: Report, names: dict[int, str | None] | None = None) -> None:
        """Report records that transactional producers wrote outside of transactions.

        :param names: the transactional ids of producers that coordinators know, by producer id; they count as
            transactional even if none of their transactions was read.
        """
        for producer_id, plain in self.plain:
            if producer_id in self.transactional or (names or {}).get(producer_id) is not None:
                report.add(
                    "outside-transaction",
                    plain.where,
                    "the producer's other records are in transactions",
                    first=plain.first_offset,
                    last=plain.last_offset,
                    producer_id=producer_id,
                    producer_epoch=plain.producer_epoch,
                )


class PartitionCheck:
    """Checks one partition.

    :param decodes: whether records are decoded, too; otherwise only headers, checksums and markers are checked.
    """

    def __init__(
        self, where: TopicPartition, expected: Expected, report: Report, outcomes: Outcomes, *, decodes: bool = True
    ) -> None:
        self.where = where
        self.expected = expected
        self.report = report
        self._batches = BatchChecks(where, expected, report, decodes=decodes)
        self._producers = ProducerChecks(where, expected, report, self._batches, outcomes)
        self._keys = KeyChecks(where, report, expected.clean_to) if expected.compacted and decodes else None

    def take(self, header: BatchHeader, data: Buffer) -> None:
        """Check the next batch; ``data`` contains its bytes and no others."""
        totals = self.report.totals
        totals.batches += 1
        totals.size_bytes += len(data)
        if not self._batches.take(header, data):
            return
        if self._keys is not None and self._batches.hole_to >= 0:
            self._keys.cleaned_to(self._batches.hole_to)
        if header.is_control:
            self._take_control(header, data)
            return
        totals.records += max(0, header.records_count)
        if header.has_producer_id:
            self._producers.take_data(header)
        if self._keys is not None and header.records_count:
            by = header.producer_id if header.is_transactional else None
            self._keys.take(decode_records(data, check_crc=False), by)

    def _take_control(self, header: BatchHeader, data: Buffer) -> None:
        read, reason = read_control(header, data)
        first, producer_id, epoch = header.base_offset, header.producer_id, header.producer_epoch
        if read is None:
            self.report.add(
                "malformed-marker", self.where, reason, first=first, producer_id=producer_id, producer_epoch=epoch
            )
        elif read.marker is not None:
            self._producers.take_marker(header, read.marker)
            if self._keys is not None:
                self._keys.end(producer_id, committed=read.marker.type is ControlType.COMMIT)
        elif reason:
            self.report.add("unknown-control-record", self.where, reason, first=first)

    @property
    def next_offset(self) -> int | None:
        """The offset after the last batch that was checked; None if there was no batch."""
        return self._batches.next_offset

    @property
    def latest_ms(self) -> int:
        """The largest timestamp so far."""
        return self._batches.latest_ms

    @property
    def has_transactions(self) -> bool:
        return self._producers.has_transactions

    def open(self) -> list[Open]:
        """The transactions that have no marker so far, oldest first."""
        return self._producers.open()

    def aborted(self) -> AbortedOffsets:
        """The aborted transactions so far."""
        producers = self._producers
        return AbortedOffsets(producers.aborted_from, producers.aborted_to, producers.aborted_by)

    def came_back(self) -> list[RepeatedKey]:
        """The keys that occur twice although compaction should have removed the earlier record; the caller may remove
        those whose earlier record is gone meanwhile."""
        return [] if self._keys is None else self._keys.came_back

    def end(self, writers: Writers) -> None:
        """End the check; call this after the last batch."""
        totals = self.report.totals
        totals.partitions += 1
        totals.producers += len(self._producers)
        totals.committed += self._producers.committed
        totals.aborted += len(self._producers.aborted_to)
        totals.transactions += self._producers.committed + len(self._producers.aborted_to)
        writers.take(self._producers)
        if self._keys is not None:
            self._keys.close()
