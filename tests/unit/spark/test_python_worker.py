"""What Spark's Python workers are spared; a program that is not a worker is left alone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pytest

from oncelog.spark.process import this_process
from oncelog.spark.python_worker import acknowledge, acknowledged

PROGRAM = """
import gc
from oncelog.spark.python_worker import pass_over_imports
counts, before = [], gc.get_freeze_count()  # Python 3.12 freezes a few hundred by itself
for more in ("", "", "xml.dom.minidom"):
    if more:
        __import__(more)
    pass_over_imports()
    counts.append(gc.get_freeze_count() - before)
print(*counts)
"""


def frozen(environment: dict[str, str]) -> list[int]:
    """Objects that collections skip: after the first task, a second one, and one that has imported more."""
    known = {name: value for name, value in os.environ.items() if name != "SPARK_PYTHON_RUNTIME"}
    command = [sys.executable, "-c", PROGRAM]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=known | environment)
    return [int(word) for word in ran.stdout.split()]


def test_a_worker_skips_modules_that_are_already_imported() -> None:
    first, second, third = frozen({"SPARK_PYTHON_RUNTIME": "PYTHON_WORKER"})
    assert 0 < first == second < third


def test_in_a_program_that_is_not_a_worker_no_object_is_excluded_from_garbage_collection() -> None:
    assert frozen({}) == [0, 0, 0]


Connection = tuple[socket.socket, socket.socket]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has TCP_QUICKACK")


@pytest.fixture
def jvm_and_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """The two ends of a worker's connection, which has answered before."""
    monkeypatch.setenv("SPARK_PYTHON_RUNTIME", "PYTHON_WORKER")
    this_process().close()
    with socket.create_server(("127.0.0.1", 0)) as server:
        jvm = socket.create_connection(server.getsockname())
        worker, _ = server.accept()
    with jvm, worker:
        for _ in range(3):
            jvm.sendall(b"a task")
            worker.recv(100)
            worker.sendall(b"its result")
            jvm.recv(100)
        yield jvm, worker
    this_process().close()


def in_worker(infile: BinaryIO, work: Callable[[], object]) -> object:
    """What ``work`` returns when PySpark's worker calls it."""
    module: dict[str, object] = {"__name__": "pyspark.worker", "work": work}
    exec("def main(infile, outfile):\n    return work()", module)
    main = module["main"]
    assert callable(main)
    return main(infile, None)


def acknowledges_at_once(connection: socket.socket) -> bool:
    return bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK))


@on_linux
def test_a_worker_acknowledges_received_input(jvm_and_worker: Connection) -> None:
    jvm, worker = jvm_and_worker
    with worker.makefile("rb") as infile:
        jvm.sendall(b"a task")
        assert not acknowledges_at_once(worker)
        in_worker(infile, acknowledge)
        assert acknowledges_at_once(worker)
        assert worker.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), "its results do not wait either"


@on_linux
def test_a_worker_acknowledges_each_received_item(jvm_and_worker: Connection) -> None:
    jvm, worker = jvm_and_worker
    with worker.makefile("rb") as infile:
        in_worker(infile, acknowledge)
        for number in acknowledged(iter(range(3))):
            assert acknowledges_at_once(worker), number
            worker.sendall(b"a result")
            jvm.recv(100)
            jvm.sendall(b"more")
            worker.recv(100)
            worker.sendall(b"a result")
            assert not acknowledges_at_once(worker), number


@on_linux
def test_a_worker_acknowledges_nothing_if_its_input_is_not_a_socket(jvm_and_worker: Connection) -> None:
    _, worker = jvm_and_worker
    with open(os.devnull, "rb") as infile:
        in_worker(infile, acknowledge)
    assert not acknowledges_at_once(worker)
