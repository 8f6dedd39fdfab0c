"""Stops a Spark query at a chosen step of the sink's commit, so that a test can kill something there.

:class:`PausingDataSource` is the product's data source under another format name; at the chosen step the process that
runs ``commit()`` reports to :class:`PausePoint` and waits for its word. Used by tests only.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from oncelog.errors import OncelogError
from oncelog.spark.sink_protocol import Step
from oncelog.spark.source import OncelogDataSource


class NotReached(OncelogError):
    """The query ended, or time was over, before it came to the step."""


class Paused(NamedTuple):
    """A commit that waits at a step."""

    step: Step
    batch_id: int
    pid: int
    connection: socket.socket

    def resume(self) -> None:
        """Let it go on."""
        self.connection.sendall(b"go")
        self.connection.close()


class PausePoint:
    """Where paused commits report; a listening socket of the test."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))

    def options(self, step: Step, batch_id: int) -> dict[str, str]:
        """Options of a query that is to pause."""
        port = self._server.getsockname()[1]
        return {"pause.at": step.value, "pause.batch": str(batch_id), "pause.port": str(port)}

    def wait(self, alive: Callable[[], bool], *, timeout_s: float = 120) -> Paused:
        """The next commit that reaches its step. Raises NotReached when ``alive`` says that none will."""
        for _ in range(int(timeout_s * 5)):
            self._server.settimeout(0.2)
            try:
                connection, _ = self._server.accept()
            except TimeoutError:
                if not alive():
                    raise NotReached("the query ended without reaching the step") from None
                continue
            connection.settimeout(30)
            step, batch_id, pid = connection.recv(200).decode().split()
            return Paused(Step(step), int(batch_id), int(pid), connection)
        raise NotReached(f"the step was not reached within {timeout_s} s")

    def __enter__(self) -> PausePoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()


class PausingDataSource(OncelogDataSource):
    """``format("oncelog_paused")``: ``oncelog`` with the options of :meth:`PausePoint.options`."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = dict(options.items())
        self._at = given.pop("pause.at", "")
        self._batch = given.pop("pause.batch", "")
        self._port = given.pop("pause.port", "")
        super().__init__(given)

    @classmethod
    def name(cls) -> str:
        return "oncelog_paused"

    def observe(self, step: Step, batch_id: int | None) -> None:
        if step.value != self._at or str(batch_id) != self._batch:
            return
        with socket.create_connection(("127.0.0.1", int(self._port))) as connection:
            connection.sendall(f"{step.value} {batch_id} {os.getpid()}".encode())
            connection.recv(2)


class KillOnce:
    """An observer that kills its process, a worker of Spark, the first time that one of them reaches a step.

    :param folder: shared by all processes of the cluster; holds a file once it has happened.
    """

    def __init__(self, folder: Path, step: Step) -> None:
        self._done = folder / f"killed-at-{step.value}"
        self._step = step

    @property
    def happened(self) -> bool:
        return self._done.exists()

    def __call__(self, step: Step, batch_id: int | None) -> None:
        if step is not self._step:
            return
        try:
            self._done.touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)
