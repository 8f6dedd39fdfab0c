"""Brokers as processes on a folder: ours and Apache Kafka under one interface, to be killed, damaged and restarted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.support.apache_kafka import ApacheKafka

_SERVE = "from oncelog.cli.main import main; main()"


class Node(Protocol):
    """A broker process. Killed or stopped, it starts again on the same address and data."""

    data_folder: Path

    @property
    def bootstrap_servers(self) -> str: ...
    def start(self, properties: Mapping[str, str] | None = None) -> object: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...
    def close(self) -> None: ...


class OncelogNode:
    """``oncelog serve`` as a child process, ended by its process id."""

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="oncelog-conformance-"))
        self.data_folder = self.folder / "data"
        self._properties = dict(properties or {})
        self._listen = "127.0.0.1:0"
        self._process: subprocess.Popen[str] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return self._listen

    def start(self, properties: Mapping[str, str] | None = None) -> OncelogNode:
        self._properties.update(properties or {})
        command = [sys.executable, "-c", _SERVE, "serve", "--listen", self._listen, "--json"]
        command += ["--data", str(self.data_folder)]
        for name, value in self._properties.items():
            command += ["--set", f"{name}={value}"]
        log = (self.folder / "stderr.log").open("a")
        with log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, stdin=subprocess.DEVNULL, env=os.environ.copy()
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, (self.folder / "stderr.log").read_text()
        self._listen = json.loads(line)["listening"]
        return self

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(120)
            assert process.stdout is not None
            process.stdout.close()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def new_node(kind: str, properties: Mapping[str, str] | None = None) -> Node:
    """A node that is not running yet."""
    properties = dict(properties or {})
    if kind != "oncelog":
        properties.pop("oncelog.flush.policy", None)
    if kind == "oncelog":
        properties.setdefault("group.initial.rebalance.delay.ms", "0")
    return OncelogNode(properties) if kind == "oncelog" else ApacheKafka(properties=properties)


@contextmanager
def running_node(kind: str, properties: Mapping[str, str] | None = None) -> Iterator[Node]:
    """A node that runs for the length of the block."""
    node = new_node(kind, properties)
    try:
        node.start()
        yield node
    finally:
        node.close()


def partition_folder(node: Node, topic: str, partition: int = 0) -> Path:
    return node.data_folder / f"{topic}-{partition}"
