"""Runs the sources of Spark's streaming queries in forks of a process that has imported what they need.

Spark starts a Python for each streaming query; in tests, nine tenths of its CPU time went into the same imports. That
Python asks this process for a fork (``spark_workers/sitecustomize.py``), which runs Spark's program for sources with
the environment, the folder and the standard streams of the Python that asked.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.children import ends_with_us
from tests.support.spark_workers import sitecustomize


@contextmanager
def forked_sources() -> Iterator[dict[str, str]]:
    """Yields the variable of the environment for the programs that start Spark."""
    # Spark starts each Python with these two.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "YES"}
    with tempfile.TemporaryDirectory(prefix="sources-") as folder, socket.socket(socket.AF_UNIX) as listener:
        address = os.path.join(folder, "socket")
        listener.bind(address)
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(listener.fileno())],
            env=environment, stdin=subprocess.PIPE, pass_fds=[listener.fileno()], start_new_session=True,
        )  # fmt: skip
        listener.close()
        ends_with_us(process.pid)
        assert process.stdin is not None
        try:
            yield {sitecustomize.SOURCES_ADDRESS: address}
        finally:
            process.stdin.close()
            process.wait(60)


def main() -> None:
    listener = socket.socket(fileno=int(sys.argv[1]))
    sitecustomize.import_needed()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        asked, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _run(asked)
        asked.close()


def _run(asked: socket.socket) -> None:
    _, streams, _, _ = socket.recv_fds(asked, len(b"process"), 3)
    with asked.makefile("rb") as lines:
        process = json.loads(lines.readline())
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ |= process["environment"]
    os.chdir(process["folder"])
    time.tzset()
    sys.path[:] = process["path"]
    sys.argv[1:] = []
    asked.sendall(b"%d\n" % os.getpid())
    threading.Thread(target=_end_with, args=(asked,), daemon=True).start()
    status = 1
    try:
        runpy.run_module(sitecustomize.SOURCE, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    finally:
        asked.sendall(b"%d\n" % status)
    sys.exit(status)


def _end_with(asked: socket.socket) -> None:
    """Nothing more comes from the Python that asked until it ends."""
    asked.recv(1)
    os._exit(1)


if __name__ == "__main__":
    main()
