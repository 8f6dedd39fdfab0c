"""Stops a Spark query at a chosen step of the sink's commit, so that a test can kill something there.

At the chosen step the process that runs ``commit()`` reports to :class:`PausePoint` and waits for its reply. Used by
tests only. ``tests.support.pausing_source`` is the product's data source that does so.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from oncelog.errors import OncelogError
from oncelog.spark.sink.engine import BatchStep, Observer


class NotReached(OncelogError):
    """The query ended, or time ran out, before it reached the step."""


class Paused(NamedTuple):
    """A commit that waits at a step."""

    step: BatchStep
    batch_id: int
    pid: int
    connection: socket.socket

    def resume(self) -> None:
        """Let it continue."""
        self.connection.sendall(b"go")
        self.connection.close()


class PausePoint:
    """The address that paused commits report to; a listening socket of the test."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))

    def options(self, step: BatchStep, batch_id: int) -> dict[str, str]:
        """Options of a query that is to pause."""
        port = self._server.getsockname()[1]
        return {"pause.at": step.value, "pause.batch": str(batch_id), "pause.port": str(port)}

    def wait(self, alive: Callable[[], bool], *, timeout_s: float = 600) -> Paused:
        """The next commit that reaches its step. Raises NotReached when ``alive`` says that none will."""
        for _ in range(int(timeout_s * 5)):
            self._server.settimeout(0.2)
            try:
                connection, _ = self._server.accept()
            except TimeoutError:
                if not alive():
                    raise NotReached("the query ended without reaching the step") from None
                continue
            connection.settimeout(120)
            step, batch_id, pid = connection.recv(200).decode().split()
            return Paused(BatchStep(step), int(batch_id), int(pid), connection)
        raise NotReached(f"the step was not reached within {timeout_s} s")

    def __enter__(self) -> PausePoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()


class Fault(Enum):
    """What happens to the process that reaches a step, a Python worker of Spark."""

    KILL_WORKER = "kill-worker"
    KILL_EXECUTOR = "kill-executor"
    STOP_EXECUTOR = "stop-executor"


class FaultOnce:
    """An observer with a fault for the first process that reaches a step of a batch; picklable.

    :param folder: shared by all processes of the cluster; holds a file once the fault has happened.

    :param batch_id: None for any.
    """

    def __init__(
        self, folder: Path, step: BatchStep, fault: Fault = Fault.KILL_WORKER, batch_id: int | None = None
    ) -> None:
        self._step = step
        self._fault = fault
        self._batch_id = batch_id
        self._done = folder / f"{fault.value}-{step.value}-{batch_id}"

    @property
    def happened(self) -> bool:
        return self._done.exists()

    def pids(self) -> list[int]:
        """Process ids of the Python worker and of its executor's JVM, once it has happened; else none."""
        text = self._done.read_text() if self.happened else ""
        return [int(pid) for pid in text.split()] if text.endswith("\n") else []

    def __call__(self, step: BatchStep, batch_id: int | None) -> None:
        if step is not self._step or self._batch_id not in (None, batch_id):
            return
        if not _first_to_make(self._done):
            return
        worker, executor = os.getpid(), _parent_of(os.getppid())
        self._done.write_text(f"{worker} {executor}\n")
        match self._fault:
            case Fault.KILL_WORKER:
                os.kill(worker, signal.SIGKILL)
            case Fault.KILL_EXECUTOR:
                os.kill(executor, signal.SIGKILL)
                signal.pause()
            case Fault.STOP_EXECUTOR:
                os.kill(executor, signal.SIGSTOP)
                os.kill(worker, signal.SIGSTOP)


def _first_to_make(file: Path) -> bool:
    try:
        file.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class Faults:
    """Several observers as one."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)

    def __call__(self, step: BatchStep, batch_id: int | None) -> None:
        for observer in self._observers:
            observer(step, batch_id)


class PauseAt:
    """An observer that reports to a :class:`PausePoint` and waits for its reply; picklable.

    :param once: a folder that all processes share, if only the first process that reaches the step is to wait.
    """

    def __init__(self, step: str, batch: str, port: str, once: Path | None = None) -> None:
        self._step = step
        self._batch = batch
        self._port = port
        self._once = once

    def __call__(self, step: BatchStep, batch_id: int | None) -> None:
        if step.value != self._step or str(batch_id) != self._batch:
            return
        if self._once is not None and not _first_to_make(self._once / f"paused-{self._step}-{self._batch}"):
            return
        with socket.create_connection(("127.0.0.1", int(self._port))) as connection:
            connection.sendall(f"{step.value} {batch_id} {os.getpid()}".encode())
            connection.recv(2)
