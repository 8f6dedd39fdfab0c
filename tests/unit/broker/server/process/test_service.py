"""What a service manager is told."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.broker.server.process.service import ServiceManager


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(30)
        yield listening


def reported(manager: socket.socket) -> dict[str, str]:
    return dict(line.split("=", 1) for line in manager.recv(4096).decode().splitlines())


def test_the_service_manager_learns_of_start_reload_and_stop(manager: socket.socket) -> None:
    loop = asyncio.new_event_loop()
    service = ServiceManager({"NOTIFY_SOCKET": manager.getsockname()})
    service.ready("listens", loop)
    assert reported(manager) == {"READY": "1", "STATUS": "listens", "MAINPID": str(os.getpid())}
    service.reloads()
    assert set(reported(manager)) == {"RELOADING", "MONOTONIC_USEC"}
    service.reloaded("done")
    assert reported(manager) == {"READY": "1", "STATUS": "done"}
    service.stops()
    assert reported(manager) == {"STOPPING": "1"}
    loop.close()


def test_the_event_loop_notifies_the_watchdog_until_the_stop(manager: socket.socket) -> None:
    service = ServiceManager({"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "20000"})

    async def work() -> None:
        loop = asyncio.get_running_loop()
        service.ready("", loop)
        for expected in ("READY", "WATCHDOG", "WATCHDOG", "WATCHDOG"):
            assert expected in await asyncio.to_thread(reported, manager)

    asyncio.run(work())
    service.stops()


@pytest.mark.parametrize(
    "environment", [{"WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "soon"}, {}]
)
def test_a_watchdog_of_another_process_is_not_notified(manager: socket.socket, environment: dict[str, str]) -> None:
    async def work() -> None:
        ServiceManager({"NOTIFY_SOCKET": manager.getsockname(), **environment}).ready("", asyncio.get_running_loop())

    asyncio.run(work())
    assert "READY" in reported(manager)
    manager.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.recv(1)


def test_a_missing_service_manager_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    service = ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    service.stops()
    service.reloads()
    assert len(caplog.records) == 1


def test_notifications_reach_an_abstract_socket() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        name = f"oncelog-{os.getpid()}"
        listening.bind("\0" + name)
        listening.settimeout(30)
        ServiceManager({"NOTIFY_SOCKET": "@" + name}).stops()
        assert reported(listening) == {"STOPPING": "1"}
