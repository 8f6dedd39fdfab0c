"""Ends what tests have started if they can no longer do so themselves: Ctrl-C of ``make test``, kill -9 of pytest.

pytest-xdist ends its workers without their fixtures' teardown, and a JVM in a session of its own receives no Ctrl-C. So
each process that starts such children has a guard: one more process, which is sent their ids through a pipe, and kills
those that are left when the pipe ends, for whatever reason. A child is identified by a descriptor (``pidfd_open``), so
a process that has reused its id is never hit; on systems other than Linux nothing is guarded.

A child that gives its own children sessions of their own, as ``oncelog demo`` does, may be gone when the pipe ends.
Its family is known by a variable of the environment, which all of them inherit.
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
import uuid
from pathlib import Path
from typing import IO

FAMILY = "ONCELOG_TESTS_FAMILY"

_lock = threading.Lock()
_guard: IO[bytes] | None = None


def ends_with_us(pid: int, folder: Path | None = None) -> None:
    """From now on this child, and its process group, are killed when this process ends, in whatever way.

    :param folder: removed then.
    """
    _tell({"pid": pid, "folder": None if folder is None else str(folder)})


def of_family() -> dict[str, str]:
    """The environment for a child that is killed with all that it has started, and what these have, when this process
    ends, in whatever way."""
    family = uuid.uuid4().hex
    _tell({"family": family})
    return {**os.environ, FAMILY: family}


def _tell(message: dict[str, object]) -> None:
    global _guard
    if not hasattr(os, "pidfd_open"):
        return
    with _lock:
        if _guard is None:
            command = [sys.executable, "-I", "-S", __file__]
            _guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True).stdin
        assert _guard is not None
        _guard.write(json.dumps(message).encode() + b"\n")
        _guard.flush()


def _main() -> None:
    children: dict[int, int] = {}
    folders: set[str] = set()
    families: list[str] = []
    poll = select.poll()
    poll.register(0, select.POLLIN)
    reported = b""
    while True:
        for descriptor, _ in poll.poll():
            if descriptor:  # it has ended
                poll.unregister(descriptor)
                os.close(descriptor)
                del children[descriptor]
                continue
            more = os.read(0, 65536)
            if not more:
                _end_families(families)
                _end(children, folders)
                return
            *lines, reported = (reported + more).split(b"\n")
            for message in map(json.loads, lines):
                if "family" in message:
                    families.append(message["family"])
                    continue
                if message["folder"] is not None:
                    folders.add(message["folder"])
                try:
                    child = os.pidfd_open(message["pid"])
                except ProcessLookupError:
                    continue
                children[child] = message["pid"]
                poll.register(child, select.POLLIN)


def _end_families(families: list[str]) -> None:
    marks = [f"{FAMILY}={family}".encode() for family in families]
    while any(_kill_if_marked(int(name), marks) for name in os.listdir("/proc") if name.isdigit()):
        continue  # one of them may have started another meanwhile


def _kill_if_marked(pid: int, marks: list[bytes]) -> bool:
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not set(marks).intersection(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")):
            return False
        signal.pidfd_send_signal(process, signal.SIGKILL)
        select.select([process], [], [])
    except OSError:  # it has ended, or is somebody else's
        return False
    finally:
        os.close(process)
    return True


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
