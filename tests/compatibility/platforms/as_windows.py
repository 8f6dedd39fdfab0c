"""Removes what Windows' Python lacks, so that oncelog behaves as it does there.

For a process of its own, before it imports oncelog, because modules check at import. The names are those that CPython's
documentation marks as Unix only and that oncelog uses or could use.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

UNIX_ONLY = {
    os: (
        *("register_at_fork", "fork", "sendfile", "pread", "preadv", "pwrite", "pwritev", "fdatasync"),
        *("O_CLOEXEC", "O_DIRECTORY", "O_NONBLOCK", "killpg", "getuid", "geteuid", "statvfs", "sched_getaffinity"),
    ),
    socket: ("MSG_MORE", "MSG_DONTWAIT", "SO_REUSEPORT"),
    signal: ("SIGKILL", "SIGHUP", "SIGPIPE", "SIGUSR1", "SIGUSR2"),
}
NOT_IMPORTABLE = ("fcntl", "resource", "pwd", "grp", "termios", "uvloop")


class _Absent:
    """An attribute that does not exist, although a base class has it."""

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError("no such attribute on this system")


def _refuse(*_: object, **__: object) -> NoReturn:
    raise NotImplementedError


def _without_sockets(duplicate: Callable[[int], int]) -> Callable[[int], int]:
    """On Windows the number of a socket is not a file descriptor."""

    def dup(descriptor: int) -> int:
        if str(Path(f"/proc/self/fd/{descriptor}").readlink()).startswith("socket:"):
            raise OSError(9, "Bad file descriptor")
        return duplicate(descriptor)

    return dup


def become_windows() -> None:
    """Remove it all from this process; on Windows there is nothing to remove."""
    if sys.platform == "win32":
        return
    for name in NOT_IMPORTABLE:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in UNIX_ONLY.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    os.dup = _without_sockets(os.dup)
    for name in ("sendmsg", "recvmsg", "recvmsg_into"):
        setattr(socket.socket, name, _Absent())
    asyncio.SelectorEventLoop.add_signal_handler = _refuse  # type: ignore[method-assign]
