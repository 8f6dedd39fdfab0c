"""A ZooKeeper for the Apache Kafka that still needs one; :mod:`tests.support.apache_kafka` starts and ends it."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.children import ends_with_us

_CONFIG = """dataDir={data}
clientPortAddress=127.0.0.1
clientPort={port}
tickTime=500
admin.enableServer=false
"""


class ZooKeeper:
    """One server on a port of 127.0.0.1, its data and configuration in a folder.

    :param java: the JVM with ZooKeeper's classes, up to the name of the class to run.
    :param temporary: a folder to remove if this process ends without removing it.
    """

    def __init__(self, folder: Path, port: int, java: Sequence[str], temporary: Path | None) -> None:
        self.log_path = folder / "zookeeper.log"
        self._port = port
        config = folder / "zookeeper.properties"
        config.write_text(_CONFIG.format(data=folder / "zookeeper", port=port))
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*java, "-Xmx128m", "org.apache.zookeeper.server.ZooKeeperServerMain", str(config)],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        ends_with_us(self._process.pid, temporary)

    def ended(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.poll()

    def answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), timeout=2).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """End it at once; what it has answered is in its log."""
        self._process.kill()
        self._process.wait()


__all__ = ["ZooKeeper"]
