"""Saves Spark's Python workers two delays that are longer than a small task.

Called where a task begins, and where a separate worker of the driver has made or used a writer.

- **Garbage.** Spark collects garbage after each call; with Spark, Arrow and a client loaded, scanning all imported
  modules takes 20 to 40 ms of CPU.
- **Delayed acknowledgements.** The JVM writes a task's input in pieces and without TCP_NODELAY, so it holds a piece
  back until the one before is acknowledged (Nagle's algorithm, RFC 896). A worker has just answered another task, so
  its kernel waits up to 40 ms for data that the acknowledgement could go with (RFC 1122). Only Linux has an option to
  acknowledge at once (TCP_QUICKACK, which applies to the data received so far). The worker's results wait in the same
  way for the JVM's kernel if they are larger than the worker's buffer of 64 KB, unless the worker sets TCP_NODELAY.
"""

from __future__ import annotations

import gc
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TypeVar

from oncelog.spark.private_apis import workers
from oncelog.spark.process import this_process

T = TypeVar("T")
_QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)


def pass_over_imports() -> None:
    """Exclude all current objects from later garbage collections. A further call has an effect only if modules were
    imported since.
    """
    if workers.is_worker():
        this_process().part(Imports).pass_over()


def acknowledge() -> None:
    """Acknowledge the data received from the JVM. The first call must be in the thread that Spark calls."""
    if workers.is_worker():
        this_process().part(JvmConnection).acknowledge()


def acknowledged(rows: Iterator[T]) -> Iterator[T]:
    """Yields the items, and acknowledges each to the JVM when it arrives. The items may be consumed in another thread,
    but this function must be called in the thread that Spark calls.
    """
    acknowledge()
    return _each_acknowledged(rows)


def _each_acknowledged(rows: Iterator[T]) -> Iterator[T]:
    for item in rows:
        acknowledge()
        yield item


class Imports:
    """The number of imported modules when objects were last excluded."""

    def __init__(self) -> None:
        self._count = 0

    def pass_over(self) -> None:
        if len(sys.modules) != self._count:
            self._count = len(sys.modules)
            gc.freeze()

    def close(self) -> None:
        self._count = 0


class JvmConnection:
    """A worker's connection to the JVM: TCP, unless Spark is set to use Unix domain sockets."""

    def __init__(self) -> None:
        self._socket = workers.jvm_connection()
        if self._socket is not None:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def is_found(self) -> bool:
        return self._socket is not None

    def acknowledge(self) -> None:
        if self._socket is not None and _QUICKACK is not None:
            with suppress(OSError):  # the JVM has closed the socket, which the worker's next read reports
                self._socket.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None
