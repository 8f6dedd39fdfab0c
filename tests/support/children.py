"""Ends what tests have started if they can no longer do so themselves: Ctrl-C of ``make test``, kill -9 of pytest.

pytest-xdist ends its workers without their fixtures' teardown, and a JVM in a session of its own receives no Ctrl-C. So
each process that starts such children has a guard: one more process, which is sent their ids through a pipe, and kills
those that are left when the pipe ends, for whatever reason. A child is identified by a descriptor (``pidfd_open``), so
a process that has reused its id is never hit; on systems other than Linux nothing is guarded.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

_lock = threading.Lock()
_guard: IO[bytes] | None = None


def ends_with_us(pid: int, folder: Path | None = None) -> None:
    """From now on this child, and its process group, are killed when this process ends, in whatever way.

    :param folder: removed then.
    """
    global _guard
    if not hasattr(os, "pidfd_open"):
        return
    with _lock:
        if _guard is None:
            command = [sys.executable, "-I", "-S", __file__]
            _guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True).stdin
        assert _guard is not None
        _guard.write(json.dumps([pid, None if folder is None else str(folder)]).encode() + b"\n")
        _guard.flush()


def _main() -> None:
    children: dict[int, int] = {}
    folders: set[str] = set()
    poll = select.poll()
    poll.register(0, select.POLLIN)
    told = b""
    while True:
        for descriptor, _ in poll.poll():
            if descriptor:  # it has ended
                poll.unregister(descriptor)
                os.close(descriptor)
                del children[descriptor]
                continue
            more = os.read(0, 65536)
            if not more:
                _end(children, folders)
                return
            *lines, told = (told + more).split(b"\n")
            for pid, folder in map(json.loads, lines):
                if folder is not None:
                    folders.add(folder)
                try:
                    child = os.pidfd_open(pid)
                except ProcessLookupError:
                    continue
                children[child] = pid
                poll.register(child, select.POLLIN)


def _end(children: dict[int, int], folders: set[str]) -> None:
    for child, pid in children.items():
        try:
            signal.pidfd_send_signal(child, signal.SIGKILL)
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    for child in children:
        select.select([child], [], [])
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _main()
