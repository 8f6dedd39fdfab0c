"""The start of the broker's core on what an earlier run left."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from oncelog.coordinator.group.coordinator import GroupCoordinator
from oncelog.errors import Error
from oncelog.server.memory_disk import MemoryDisk
from tests.support.group_host import GroupClient
from tests.unit.broker.apis_admin.conftest import NOW_MS, Admin

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
