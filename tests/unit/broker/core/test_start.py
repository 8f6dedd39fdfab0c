"""The start of the broker's core on what an earlier run left."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast
from unittest import mock

import pytest

from oncelog.broker.coordinator.group.group_coordinator import GroupCoordinator
from oncelog.broker.metadata import store
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.errors import Error, StorageError
from tests.support.group_host import GroupClient
from tests.unit.broker.core.conftest import NOW_MS, Admin

SESSION_MS = 10_000


class Running:
    """A broker as ``GroupClient`` wants it."""

    def __init__(self, admin: Admin, now_ms: int) -> None:
        self.broker, self.now_ms = admin.broker, now_ms

    @property
    def coordinator(self) -> GroupCoordinator:
        return self.broker.groups

    def pass_time(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        self.broker.advance(self.now_ms)


def test_sessions_begin_when_the_broker_serves_however_long_recovery_took(tmp_path: Path) -> None:
    disk, path = MemoryDisk(), str(tmp_path / "metadata.sqlite")
    before = Running(Admin(path, disk, **{"group.initial.rebalance.delay.ms": "0"}), NOW_MS)
    before.broker.topics.ensure_internal("__consumer_offsets", NOW_MS)
    (member,) = GroupClient(cast(Any, before)).stable(1, session_timeout_ms=SESSION_MS)
    before.broker.metadata.close()
    started_ms = NOW_MS + 10 * SESSION_MS
    after = Running(Admin(path, disk, started_ms=started_ms), started_ms)
    group = GroupClient(cast(Any, after))
    after.pass_time(SESSION_MS - 1)
    assert group.heartbeat(member, 1) is Error.NONE
    after.pass_time(SESSION_MS)
    assert group.heartbeat(member, 1) is Error.UNKNOWN_MEMBER_ID


def _killed_with_a_deleted_topic(path: str, disk: MemoryDisk) -> bytes:
    """A broker that is killed once the topic's deletion is in the metadata but its files still exist; returns the
    topic's id.
    """
    admin = Admin(path, disk)
    info = admin.broker.topics.create("t", 2, {}, NOW_MS)
    admin.broker.metadata.delete_topic("t")
    admin.broker.metadata.close()
    assert disk.exists("t-0") and disk.exists("t-1")
    return info.topic_id


def _folders(disk: MemoryDisk) -> list[str]:
    return [name for name in disk.list("") if name.startswith("t-")]


def test_files_of_a_deleted_topic_that_a_kill_left_behind_are_removed_at_the_next_start(tmp_path: Path) -> None:
    disk, path = MemoryDisk(), str(tmp_path / "metadata.sqlite")
    topic_id = _killed_with_a_deleted_topic(path, disk)
    again = Admin(path, disk)
    again.broker.advance(NOW_MS)
    assert _folders(disk) == []
    assert not again.broker.metadata.was_deleted(topic_id), "which is remembered no longer than it must be"


def test_a_topic_that_was_deleted_and_recreated_before_a_kill_does_not_keep_the_old_ones_files(tmp_path: Path) -> None:
    disk, path = MemoryDisk(), str(tmp_path / "metadata.sqlite")
    admin = Admin(path, disk)
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    admin.broker.metadata.delete_topic("t")
    admin.broker.metadata.create_topic("t", 1, {}, NOW_MS)
    admin.broker.metadata.close()
    again = Admin(path, disk)
    again.broker.advance(NOW_MS)
    assert _folders(disk) == ["t-0"]


def test_a_start_keeps_an_unknown_folder(tmp_path: Path) -> None:
    """The metadata may have been lost, or restored from an older copy."""
    disk, path = MemoryDisk(), str(tmp_path / "metadata.sqlite")
    admin = Admin(path, disk)
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    with admin.broker.metadata.batch():
        admin.broker.metadata.file.execute("DELETE FROM topics")
    admin.broker.metadata.close()
    Admin(path, disk).broker.advance(NOW_MS)
    (kept,) = _folders(disk)
    assert kept.endswith("-stray")


def test_unsynced_renames_are_repeated_at_the_next_start(tmp_path: Path) -> None:
    disk, path = MemoryDisk(), str(tmp_path / "metadata.sqlite")
    topic_id = _killed_with_a_deleted_topic(path, disk)
    with mock.patch.object(disk, "sync_folder", side_effect=StorageError("cannot sync the folder")):
        again = Admin(path, disk)
    assert again.broker.metadata.was_deleted(topic_id)


def test_a_start_remembers_a_limited_number_of_deleted_topics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "DELETED_KEPT", 3)
    metadata = Admin(str(tmp_path / "metadata.sqlite")).broker.metadata
    ids = []
    for number in range(5):
        ids.append(metadata.create_topic("t", 1, {}, NOW_MS + number).topic_id)
        metadata.delete_topic("t")
    assert [metadata.was_deleted(topic_id) for topic_id in ids] == [False, False, True, True, True]
    metadata.create_topic("t", 1, {}, NOW_MS, topic_id=ids[-1])
    assert not metadata.was_deleted(ids[-1])


def test_unfinished_replacement_files_are_removed_at_the_next_start(tmp_path: Path) -> None:
    disk, path = MemoryDisk(), str(tmp_path / "metadata.sqlite")
    admin = Admin(path, disk)
    admin.broker.topics.create("t", 1, {}, NOW_MS)
    admin.broker.metadata.close()
    left = ["recovery-point-offset-checkpoint.93.tmp", "t-0/leader-epoch-checkpoint.7.tmp"]
    kept = ["of-others.tmp", "t-0/of-others.tmp"]
    for name in left + kept:
        disk.write_atomic(name, b"x")
    Admin(path, disk)
    assert [name for name in left + kept if disk.exists(name)] == kept
