"""Logs made by hand, sound or broken: batches with the offsets, sequences, epochs and markers that a test says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from oncelog.apps.verify.expected import Expected
from oncelog.apps.verify.findings import Report, Verdict
from oncelog.apps.verify.outcomes import Outcomes
from oncelog.apps.verify.partition_check import PartitionCheck, Writers
from oncelog.records.batch import Compression, Record, TimestampType, encode_batch, read_header
from oncelog.records.control import encode_end_txn_marker
from oncelog.types import TopicPartition

P, Q = TopicPartition("made", 0), TopicPartition("made", 1)
T0 = 1_700_000_000_000
"""The time of a log's first record, in ms."""


def data(
    offset: int,
    *,
    pid: int = -1,
    epoch: int = 0,
    seq: int = -1,
    count: int = 1,
    txn: bool = False,
    at: int = T0,
    leader: int = 0,
    keys: Sequence[bytes | None] | None = None,
    last: int | None = None,
    codec: Compression = Compression.NONE,
    append_time: bool = False,
) -> bytes:
    """A batch of ``count`` records from ``offset`` on; ``at`` is the timestamp of all of them."""
    named = keys or [b"k%d" % (offset + number) for number in range(count)]
    records = [Record(offset + number, at, key, b"v") for number, key in enumerate(named)]
    return encode_batch(
        records,
        base_offset=offset,
        last_offset=last,
        compression=codec,
        producer_id=pid,
        producer_epoch=epoch if pid >= 0 else -1,
        base_sequence=seq,
        transactional=txn,
        partition_leader_epoch=leader,
        timestamp_type=TimestampType.LOG_APPEND_TIME if append_time else TimestampType.CREATE_TIME,
    )


def marker(
    offset: int, *, pid: int, epoch: int = 0, commit: bool = True, coordinator: int = 0, at: int = T0, leader: int = 0
) -> bytes:
    return bytes(encode_end_txn_marker(pid, epoch, coordinator, commit, at, offset, leader))


class Judged(NamedTuple):
    """The names of what was found, of what could not be checked and of what is allowed, each once, in order."""

    found: list[str]
    unknown: list[str]
    allowed: list[str]
    report: Report


def names(report: Report, verdict: Verdict) -> list[str]:
    return list(dict.fromkeys(found.kind for found in report.findings(verdict)))


def judged(report: Report) -> Judged:
    return Judged(names(report, Verdict.FOUND), names(report, Verdict.UNKNOWN), names(report, Verdict.ALLOWED), report)


def judge(*logs: Iterable[bytes], expected: Expected | None = None) -> Judged:
    """Check logs, each of them a partition of one topic."""
    report, outcomes, writers = Report(), Outcomes(), Writers()
    for number, log in enumerate(logs):
        check = PartitionCheck(TopicPartition("made", number), expected or Expected(), report, outcomes)
        for batch in log:
            check.take(read_header(batch), batch)
        check.end(writers)
    outcomes.judge(report)
    writers.judge(report)
    outcomes.close()
    return judged(report)


def write_folder(root: Path, *logs: Iterable[bytes], segment: int = 0) -> Path:
    """A data folder with a partition's folder for each log, in one segment."""
    for number, log in enumerate(logs):
        folder = root / f"made-{number}"
        folder.mkdir(parents=True)
        (folder / f"{segment:020d}.log").write_bytes(b"".join(log))
    return root
