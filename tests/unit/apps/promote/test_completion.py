"""Decided transactions without markers: the target gets them, the data folder stays, and what is open stays open.

``tests/compatibility/interop/promote`` shows the same on Apache Kafka.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

import oncelog
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.apps.promote import promotion
from oncelog.apps.promote.folders import partial_of
from oncelog.apps.promote.kraft import read_snapshot
from oncelog.apps.promote.plan import Addresses, Mode, PromotionPlan, planned
from oncelog.apps.promote.promote_errors import PromotionError
from oncelog.apps.promote.promotion import promote
from oncelog.apps.promote.unfinished_transactions import unfinished_transactions
from oncelog.broker.log import checkpoints
from oncelog.broker.log.checkpoints import RECOVERY_POINT_CHECKPOINT, write_offset_checkpoint
from oncelog.broker.server.disk.os_disk import OsDisk
from oncelog.errors import StorageError
from oncelog.protocol.generated.partition_record import PartitionRecord
from oncelog.protocol.generated.producer_ids_record import ProducerIdsRecord
from oncelog.records.batch import iter_headers
from oncelog.records.control import parse_control
from oncelog.types import TopicPartition
from tests.integration.cli.conftest import call

OPEN_SINCE_LONG_MS = 1
SEGMENT_BYTES = 1 << 20
SETTINGS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 600_000}
LATER_MS = 4_102_444_800_000
"""2100: whatever has a timeout is past it, if time passes."""


class Folder(NamedTuple):
    data: Path
    producer_ids: dict[str, int]


def write(data: Path, killed: Path) -> dict[str, int]:
    """A commit and an abort without markers, and an open transaction past its timeout; returns the producers' ids.

    ``killed`` is what the folder is at a kill; ``data`` is stopped.
    """
    with oncelog.Broker(data, settings=SETTINGS) as broker:
        connection = RawConnection(broker.bootstrap_servers)
        connection.create_topic("t", segment_bytes=SEGMENT_BYTES)
        connection.create_topic("late")
        for number in range(3):
            assert connection.produce("t", batch(bytes([number]) * (SEGMENT_BYTES // 2))).error == 0
        broker.faults.hold_markers()
        producers = {
            name: RawTransactionalProducer(connection, name, version_2=True, timeout_ms=timeout_ms).init()
            for name, timeout_ms in (("committed", 60_000), ("aborted", 60_000), ("open", OPEN_SINCE_LONG_MS))
        }
        producers["committed"].send("t", b"committed")
        producers["committed"].send_offsets("group", {("t", 0): 1})
        producers["aborted"].send("t", b"aborted")
        producers["open"].send("late", b"open")
        assert producers["committed"].end_once(commit=True).error_code == 0
        assert producers["aborted"].end_once(commit=False).error_code == 0
        shutil.copytree(data, killed)
        connection.close()
    return {name: producer.pid for name, producer in producers.items()}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Folder]:
    folder = tmp_path_factory.mktemp("decided")
    producer_ids = write(folder / "stopped", folder / "killed")
    return {name: Folder(folder / name, producer_ids) for name in ("stopped", "killed")}


@pytest.fixture(params=["stopped", "killed"])
def before(request: pytest.FixtureRequest, folders: dict[str, Folder]) -> Folder:
    return folders[request.param]


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def unfinished(folder: Path) -> list[tuple[str, str]]:
    return [(item.transactional_id, item.state) for item in unfinished_transactions(OsDisk(str(folder)))]


def ends(folder: Path, partition: str) -> list[tuple[int, bool]]:
    """The markers of a partition: the producer's id, and whether its transaction is committed."""
    found = []
    for path in sorted((folder / partition).glob("*.log")):
        data = path.read_bytes()
        for position, header in iter_headers(data):
            marker = parse_control(data, position, header) if header.is_control else None
            if marker is not None:
                found.append((header.producer_id, marker.commit))
    return found


def promoted(source: Path, target: Path, *, mode: Mode = "link", now_ms: int = LATER_MS) -> PromotionPlan:
    with planned(source, target, addresses=Addresses(), settings={}, mode=mode, now_ms=now_ms) as plan:
        return promote(plan, mode)


def test_after_completion_the_target_has_every_marker_and_the_data_folder_is_unchanged(
    before: Folder, tmp_path: Path
) -> None:
    digest = digests(before.data)
    assert unfinished(before.data) == [("aborted", "PrepareAbort"), ("committed", "PrepareCommit"), ("open", "Ongoing")]
    assert ends(before.data, "t-0") == []
    plan = promoted(before.data, tmp_path / "node")
    assert [item.transactional_id for item in plan.decided_transactions] == ["aborted", "committed"]
    assert [item.transactional_id for item in plan.open_transactions] == ["open"]
    assert digests(before.data) == digest
    ids = before.producer_ids
    assert sorted(ends(tmp_path / "node", "t-0")) == [(ids["committed"], True), (ids["aborted"], False)]
    offsets = [end for path in (tmp_path / "node").glob("__consumer_offsets-*") for end in ends(path.parent, path.name)]
    assert offsets == [(ids["committed"], True)]


def test_completion_leaves_an_open_transaction_past_its_timeout_open(before: Folder, tmp_path: Path) -> None:
    promoted(before.data, tmp_path / "node")
    assert unfinished(tmp_path / "node") == [("open", "Ongoing")]
    assert ends(tmp_path / "node", "late-0") == []


def test_completion_uses_no_leader_epoch_and_no_producer_id_twice(before: Folder, tmp_path: Path) -> None:
    """Kafka's controller elects each leader with a higher epoch than the snapshot's."""
    plan = promoted(before.data, tmp_path / "node")
    (written,) = (tmp_path / "node" / "__cluster_metadata-0").iterdir()
    assert (written.name, written.read_bytes()) == (plan.snapshot.name, plan.snapshot.data)
    records = read_snapshot(plan.snapshot.data)
    least = min(record.leader_epoch for record in records if isinstance(record, PartitionRecord))
    logs = [path.read_bytes() for path in (tmp_path / "node").rglob("*-?/*.log")]
    assert least >= max(header.partition_leader_epoch for data in logs for _, header in iter_headers(data))
    (ids,) = (record for record in records if isinstance(record, ProducerIdsRecord))
    assert plan.next_producer_id == ids.next_producer_id > max(before.producer_ids.values())


def test_a_dry_run_names_transactions_and_writes_nothing(before: Folder, tmp_path: Path) -> None:
    digest = digests(tmp_path), digests(before.data)
    reported = call("promote", str(before.data), "--to", str(tmp_path / "node"), "--dry-run")
    assert "decided transaction: committed, PrepareCommit since" in reported.out
    assert "would be completed in the target, with its markers" in reported.out
    assert (digests(tmp_path), digests(before.data)) == digest


def test_a_promotion_reports_its_completed_steps(before: Folder, tmp_path: Path) -> None:
    reported = call("promote", str(before.data), "--to", str(tmp_path / "a"))
    assert (reported.code, reported.out.count("is completed in the target, with its markers")) == (0, 2), reported.err
    assert "Kafka recovers the segments" not in reported.out
    reported = call("promote", str(before.data), "--to", str(tmp_path / "b"), "--json")
    found = json.loads(reported.out)
    assert [(item["transactional_id"], item["state"]) for item in found["decided_transactions"]] == [
        ("aborted", "PrepareAbort"),
        ("committed", "PrepareCommit"),
    ]
    assert [item["transactional_id"] for item in found["open_transactions"]] == ["open"]


def test_a_promotion_that_cannot_write_all_markers_leaves_no_target_folder(
    before: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promotion, "complete_decided", lambda *arguments: None)
    digest = digests(before.data)
    with pytest.raises(PromotionError, match=r"2 decided transactions could not be completed \(aborted, committed\)"):
        promoted(before.data, tmp_path / "node", mode="move")
    assert list(tmp_path.iterdir()) == []
    assert digests(before.data) == digest


class Killed(BaseException):
    """Here the process ends."""


@pytest.mark.parametrize("step", ["write_clean_shutdown", "Path.rename"])
def test_a_promotion_that_was_killed_after_the_markers_starts_again(
    before: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def kill(*arguments: object) -> None:
        raise Killed

    digest = digests(before.data)
    with monkeypatch.context() as patch:
        if step == "Path.rename":
            patch.setattr(Path, "rename", kill)
        else:
            patch.setattr(checkpoints, step, kill)
        with pytest.raises(Killed):
            promoted(before.data, tmp_path / "node")
    partial = partial_of(tmp_path / "node")
    assert ends(partial, "t-0") != []
    (partial / f"{RECOVERY_POINT_CHECKPOINT}.7.tmp").touch()  # or in the middle of writing one
    promoted(before.data, tmp_path / "node")
    assert unfinished(tmp_path / "node") == [("open", "Ongoing")]
    assert [path.name for path in tmp_path.iterdir()] == ["node"]
    assert digests(before.data) == digest


def test_closed_segments_are_hard_linked_unless_recovery_may_truncate_them(
    folders: dict[str, Folder], tmp_path: Path
) -> None:
    def shared(plan: PromotionPlan) -> list[str]:
        return [item.path for item in plan.items if item.linked]

    stopped, killed = folders["stopped"].data, tmp_path / "killed"
    shutil.copytree(folders["killed"].data, killed)
    *closed, _ = (f"t-0/{path.name}" for path in sorted((stopped / "t-0").glob("*.log")))
    assert shared(promoted(stopped, tmp_path / "a")) == closed
    assert (tmp_path / "a" / closed[0]).samefile(stopped / closed[0])
    assert shared(promoted(killed, tmp_path / "b")) == []
    second = int((killed / closed[1]).stem)
    for recovery_point, expected in ((second - 1, []), (second, closed[:1])):
        write_offset_checkpoint(
            OsDisk(str(killed)), RECOVERY_POINT_CHECKPOINT, {TopicPartition("t", 0): recovery_point}
        )
        digest = digests(killed)
        assert shared(promoted(killed, tmp_path / f"to {recovery_point}")) == expected
        assert digests(killed) == digest
    (killed / RECOVERY_POINT_CHECKPOINT).write_text("damaged")
    assert shared(promoted(killed, tmp_path / "c")) == []


def test_a_hard_linked_file_is_read_only(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"theirs, too")
    file = OsDisk(str(tmp_path), shared=["x"]).open("x")
    assert file.read_at(0, 6) == b"theirs"
    for write_to in (lambda: file.append([b"!"]), lambda: file.truncate(0), lambda: file.write_at(0, b"!")):
        with pytest.raises(StorageError):
            write_to()
    file.sync()
    file.close()
    assert (tmp_path / "x").read_bytes() == b"theirs, too"
