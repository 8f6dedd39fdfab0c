"""The kinds of findings of ``oncelog verify``, by a stable name, and the report that collects findings.

The table in ``docs/reference/verify.md`` is generated from :data:`KINDS`. A report keeps a few examples of each kind in
each partition and counts the others, so its size does not grow with the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from oncelog.apps.verify.kinds import KINDS, Kind, Verdict
from oncelog.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition

__all__ = ["KINDS", "Finding", "Kind", "Report", "Verdict"]

KEPT = 10
"""The number of findings of one kind in one partition that are kept as examples."""


class ExitStatus(Enum):
    """The exit status of the command."""

    NOTHING_FOUND = 0
    FOUND = 1
    COULD_NOT_TELL = 2


class Finding(NamedTuple):
    """One finding; the offsets are those of the partition ``where``, -1 if there are none."""

    kind: str
    where: TopicPartition | None
    first_offset: int
    last_offset: int
    producer_id: int
    producer_epoch: int
    detail: str
    transactional_id: str | None = None

    @property
    def of_kind(self) -> Kind:
        return KINDS[self.kind]

    def as_json(self) -> dict[str, Any]:
        kind = self.of_kind
        return {
            "finding": kind.name,
            "verdict": kind.verdict.value,
            "topic": None if self.where is None else self.where.topic,
            "partition": None if self.where is None else self.where.partition,
            "first_offset": None if self.first_offset < 0 else self.first_offset,
            "last_offset": None if self.last_offset < 0 else self.last_offset,
            "producer_id": None if self.producer_id < 0 else self.producer_id,
            "producer_epoch": None if self.producer_epoch < 0 else self.producer_epoch,
            "transactional_id": self.transactional_id,
            "detail": self.detail,
            "todo": kind.todo,
        }


@dataclass
class Totals:
    """How much was checked: the number of partitions, batches, records and so on."""

    partitions: int = 0
    batches: int = 0
    records: int = 0
    size_bytes: int = 0
    producers: int = 0
    transactions: int = 0
    committed: int = 0
    aborted: int = 0
    matched: int = 0
    """The number of source records that were found in the copy."""
    shown: int = 0
    """The number of records that a read_committed consumer delivered and that were compared with the log."""


class Report:
    """Collects findings, in the order of discovery.

    :param kept: the number of examples of a kind that are kept for each partition.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self.counts: Counter[str] = Counter()
        self.totals = Totals()
        self._kept = kept
        self._found: list[Finding] = []
        self._of_partition: Counter[tuple[str, TopicPartition | None]] = Counter()

    def add(
        self,
        kind: str,
        where: TopicPartition | None,
        detail: str,
        *,
        first: int = -1,
        last: int | None = None,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        transactional_id: str | None = None,
    ) -> None:
        """Add a finding; only the first ones of each kind and partition are kept, all are counted.

        :param last: by default the same offset as ``first``.
        """
        name = KINDS[kind].name
        self.counts[name] += 1
        self._of_partition[name, where] += 1
        if self._of_partition[name, where] <= self._kept:
            end = first if last is None else last
            self._found.append(Finding(name, where, first, end, producer_id, producer_epoch, detail, transactional_id))

    def findings(self, *verdicts: Verdict) -> Iterator[Finding]:
        """The findings of some verdicts, by default of all: first contradictions, then what could not be checked, then
        what Kafka allows."""
        for verdict in verdicts or tuple(Verdict):
            yield from (found for found in self._found if found.of_kind.verdict is verdict)

    def count(self, verdict: Verdict) -> int:
        return sum(count for name, count in self.counts.items() if KINDS[name].verdict is verdict)

    def producer_ids(self) -> list[int]:
        """The ids of the producers that findings name."""
        return sorted({found.producer_id for found in self._found if found.producer_id >= 0})

    def name_producers(self, names: dict[int, str | None]) -> None:
        """Add transactional ids to the findings of these producers."""
        self._found = [
            found._replace(transactional_id=names.get(found.producer_id) or found.transactional_id)
            for found in self._found
        ]

    def status(self, *, strict: bool = False) -> ExitStatus:
        """The exit status of the command for these findings.

        :param strict: findings that Kafka allows count, too.
        """
        if self.count(Verdict.FOUND) or (strict and self.count(Verdict.ALLOWED)):
            return ExitStatus.FOUND
        return ExitStatus.COULD_NOT_TELL if self.count(Verdict.UNKNOWN) else ExitStatus.NOTHING_FOUND
