"""Notifies a service manager with systemd's ``sd_notify`` protocol, over the socket named by ``NOTIFY_SOCKET``.

Without that variable nothing is sent. The broker's event loop notifies the watchdog periodically, so that a hanging
loop triggers the watchdog.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping

from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time

logger = logging.getLogger(__name__)


class ServiceManager:
    """Reports the state of the process to the service manager. If the manager cannot be reached, that is logged
    once."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        name = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + name[1:] if name.startswith("@") else name
        self._feed_s = _feed_s(environment)
        self._refused = False

    def ready(self, status: str, loop: asyncio.AbstractEventLoop) -> None:
        """Called when the broker serves requests; from now on ``loop`` notifies the watchdog."""
        self._send(f"READY=1\nSTATUS={status}\nMAINPID={os.getpid()}")
        if self._address and self._feed_s:
            self._feed(loop)

    def reloads(self) -> None:
        self._send(f"RELOADING=1\nMONOTONIC_USEC={real_time.monotonic_ns() // 1000}")

    def reloaded(self, status: str) -> None:
        self._send(f"READY=1\nSTATUS={status}")

    def stops(self) -> None:
        self._feed_s = 0.0
        self._send("STOPPING=1")

    def _feed(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._feed_s:
            self._send("WATCHDOG=1")
            loop.call_later(self._feed_s, self._feed, loop)

    def _send(self, state: str) -> None:
        if not self._address or self._refused:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as target:
                target.setblocking(False)
                target.sendto(state.encode(), self._address)
        except BlockingIOError:
            return  # the service manager is busy: the next message may get through
        except OSError as error:
            self._refused = True
            logger.warning("the service manager at NOTIFY_SOCKET cannot be notified: %s", error)


def _feed_s(environment: Mapping[str, str]) -> float:
    """Half of the watchdog's timeout in seconds; 0 if there is no watchdog, or it watches another process."""
    microseconds = environment.get("WATCHDOG_USEC", "")
    watched = environment.get("WATCHDOG_PID", str(os.getpid()))
    return int(microseconds) / 2e6 if microseconds.isdecimal() and watched == str(os.getpid()) else 0.0
