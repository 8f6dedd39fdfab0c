"""``verify log --log-dir``: what only files show."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from oncelog.apps.verify.expected import Expected
from oncelog.apps.verify.findings import Report
from oncelog.apps.verify.log_folder import partition_folders, verify_folder
from oncelog.broker.log import checkpoints
from oncelog.broker.log.file_names import TRANSACTION_INDEX_SUFFIX, file_name
from oncelog.broker.log.segments.transaction_index import AbortedTxn, TransactionIndex
from oncelog.broker.server.disk.os_disk import OsDisk
from oncelog.errors import ConfigError
from tests.support.made_logs import T0, Judged, P, data, judged, marker, write_folder

TXN = [data(0, pid=1, seq=0, txn=True)]
MINUTES_MS = 60_000


def verify(root: Path, expected: Expected | None = None) -> Judged:
    disk = OsDisk(str(root), read_only=True)
    report = Report()
    verify_folder(disk, partition_folders(disk, ()), expected or Expected(), report)
    return judged(report)


def index(root: Path, *entries: AbortedTxn, partition: int = 0) -> None:
    made = TransactionIndex()
    for entry in entries:
        made.append(entry)
    (root / f"made-{partition}" / file_name(0, TRANSACTION_INDEX_SUFFIX)).write_bytes(made.encode())


def checkpoint(root: Path, name: str, offset: int) -> None:
    (root / name).write_bytes(checkpoints.encode_lines([f"{P.topic} {P.partition} {offset}"]))


ABORTED = [*TXN, marker(1, pid=1, commit=False)]


def test_an_aborted_transaction_that_is_missing_in_the_index_is_found(tmp_path: Path) -> None:
    write_folder(tmp_path, ABORTED)
    assert verify(tmp_path).found == ["aborted-not-indexed"]
    index(tmp_path, AbortedTxn(1, 0, 1, 2))
    assert verify(tmp_path).found == []
    index(tmp_path, AbortedTxn(2, 0, 1, 2))
    assert verify(tmp_path).found == ["aborted-not-indexed"]


def test_the_transaction_index_must_cover_each_aborted_transaction_whole_and_no_committed_one(tmp_path: Path) -> None:
    write_folder(tmp_path, [*TXN, data(1, pid=1, seq=1, txn=True), marker(2, pid=1, commit=False)])
    index(tmp_path, AbortedTxn(1, 1, 2, 3))
    assert verify(tmp_path).found == ["aborted-not-indexed"]
    committed = write_folder(tmp_path / "committed", [*TXN, marker(1, pid=1)])
    assert verify(committed).found == []
    index(committed, AbortedTxn(1, 0, 1, 2))
    assert verify(committed).found == ["committed-indexed"]


def test_an_aborted_transaction_beyond_the_recovery_point_need_not_be_in_the_index(tmp_path: Path) -> None:
    write_folder(tmp_path, ABORTED)
    checkpoint(tmp_path, checkpoints.RECOVERY_POINT_CHECKPOINT, 1)
    assert verify(tmp_path).found == []
    checkpoint(tmp_path, checkpoints.RECOVERY_POINT_CHECKPOINT, 2)
    assert verify(tmp_path).found == ["aborted-not-indexed"]
    checkpoint(tmp_path, checkpoints.RECOVERY_POINT_CHECKPOINT, 1)
    (tmp_path / checkpoints.CLEAN_SHUTDOWN).write_text('{"version":0,"brokerEpoch":1}')
    assert verify(tmp_path).found == ["aborted-not-indexed"]


def test_the_cleaners_checkpoint_shows_that_a_topic_is_compacted(tmp_path: Path) -> None:
    write_folder(tmp_path, [data(0, keys=[b"a"]), data(3, keys=[b"b"]), data(4, keys=[b"b"])])
    assert verify(tmp_path).found == ["offset-gap"]
    assert verify(tmp_path, Expected(compacted=True)).found == []
    checkpoint(tmp_path, checkpoints.CLEANER_OFFSET_CHECKPOINT, 3)
    assert verify(tmp_path).found == []
    checkpoint(tmp_path, checkpoints.CLEANER_OFFSET_CHECKPOINT, 5)
    assert verify(tmp_path).found == ["key-came-back"]


def test_a_truncated_last_batch_is_explained_by_a_kill(tmp_path: Path) -> None:
    cut = [data(0), data(1)[:-5]]
    write_folder(tmp_path, cut)
    assert verify(tmp_path)[:3] == ([], [], ["torn-end"])
    (tmp_path / checkpoints.CLEAN_SHUTDOWN).write_text('{"version":0,"brokerEpoch":1}')
    assert verify(tmp_path).found == ["malformed-batch"]
    (tmp_path / checkpoints.CLEAN_SHUTDOWN).unlink()
    (tmp_path / "made-0" / file_name(2, ".log")).write_bytes(data(2))
    assert "malformed-batch" in verify(tmp_path).found


def test_zeros_after_the_last_batch_are_explained_by_a_power_failure(tmp_path: Path) -> None:
    write_folder(tmp_path, [data(0), bytes(5000)])
    assert verify(tmp_path)[:3] == ([], [], ["torn-end"])
    (tmp_path / "made-0" / file_name(0, ".log")).write_bytes(data(0) + bytes(5000) + b"x")
    assert verify(tmp_path).found == ["malformed-batch"]


def test_a_batch_in_another_segment_than_that_of_its_offset_is_found(tmp_path: Path) -> None:
    write_folder(tmp_path, [data(0)])
    (tmp_path / "made-0" / file_name(5, ".log")).write_bytes(data(1))
    assert verify(tmp_path).found == ["malformed-batch"]


def test_a_log_is_read_across_all_its_segments(tmp_path: Path) -> None:
    write_folder(tmp_path, [data(0, pid=1, seq=0)])
    (tmp_path / "made-0" / file_name(1, ".log")).write_bytes(data(1, pid=1, seq=5))
    (tmp_path / "made-0" / file_name(1, ".log.deleted")).write_bytes(b"gone")
    found = verify(tmp_path)
    assert found.found == ["sequence-gap"]
    assert found.report.totals.batches == 2


@pytest.mark.parametrize(
    ("minutes", "reported"), [(16, (["hanging-transaction"], [], [])), (1, ([], [], ["open-transaction"]))]
)
def test_the_age_of_an_open_transaction_follows_from_its_last_timestamp(
    tmp_path: Path, minutes: int, reported: tuple[list[str], list[str], list[str]]
) -> None:
    write_folder(tmp_path, TXN, [data(0, at=T0 + minutes * MINUTES_MS)])
    assert verify(tmp_path)[:3] == reported


def two(second: Iterable[bytes], at: int) -> tuple[list[bytes], Iterable[bytes]]:
    return [*TXN, marker(1, pid=1, epoch=1, at=at)], second


def test_a_transaction_is_no_older_than_the_record_before_it_whatever_its_timestamp(tmp_path: Path) -> None:
    old = data(1, pid=1, seq=0, txn=True, at=T0 - 365 * 24 * 60 * MINUTES_MS)
    write_folder(tmp_path, [data(0), old, data(2, at=T0 + 1)])
    assert verify(tmp_path)[:3] == ([], [], ["open-transaction"])


def test_a_timestamp_in_the_future_does_not_make_a_transaction_hang(tmp_path: Path) -> None:
    write_folder(tmp_path, [*TXN, data(1, at=T0 * 2)])
    assert verify(tmp_path).found == ["hanging-transaction"]
    assert verify(tmp_path, Expected(now_ms=T0 + 1)).found == []


def test_a_transaction_that_ended_in_only_one_partition_is_found(tmp_path: Path) -> None:
    write_folder(tmp_path, *two(TXN, T0))
    assert verify(tmp_path)[:3] == ([], ["undecided-elsewhere"], [])
    late = write_folder(tmp_path / "late", *two(TXN, T0), [data(0, at=T0 + 2 * MINUTES_MS)])
    assert verify(late).found == ["half-ended-transaction"]


def test_a_transaction_hangs_if_its_producer_continued_with_a_later_one(tmp_path: Path) -> None:
    later = [data(0, pid=1, epoch=1, seq=0, txn=True), marker(1, pid=1, epoch=2)]
    write_folder(tmp_path, TXN, later)
    assert verify(tmp_path).found == ["hanging-transaction"]


def test_a_folder_without_partitions_is_refused(tmp_path: Path) -> None:
    disk = OsDisk(str(tmp_path), read_only=True)
    with pytest.raises(ConfigError, match=r"no partition of a topic: give a folder of a broker's log\.dirs"):
        partition_folders(disk, ())
    write_folder(tmp_path, TXN)
    with pytest.raises(ConfigError, match="no partition of other"):
        partition_folders(disk, ["other"])
