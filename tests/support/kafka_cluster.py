"""Three real Apache Kafka nodes on this machine, each broker and controller: killed, stopped, paused one at a time.

Replication 3, ``min.insync.replicas`` 2, so that one node may always be away. Every process is ended by its own id.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType, TracebackType

from tests.support.apache_kafka import ApacheKafka

NODES = 3
START_S = 900
"""A node that copies partitions again on a busy machine may take minutes."""
PROPERTIES = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
    "replica.lag.time.max.ms": "5000",
    "controlled.shutdown.enable": "true",
}


class KafkaCluster:
    """``with KafkaCluster(folder) as cluster: cluster.bootstrap_servers``.

    :param properties: of each broker, over ``PROPERTIES``.
    """

    def __init__(self, folder: Path, properties: Mapping[str, str] = MappingProxyType({})) -> None:
        self.nodes = [ApacheKafka(folder / str(number), heap="256m") for number in range(1, NODES + 1)]
        voters = ",".join(f"{number}@{node.controller}" for number, node in enumerate(self.nodes, 1))
        self._properties = [
            {**PROPERTIES, **properties, "node.id": str(number), "controller.quorum.voters": voters}
            for number in range(1, NODES + 1)
        ]

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(node.bootstrap_servers for node in self.nodes)

    def start(self, number: int) -> None:
        """Start node ``number`` (from 0); it answers once it knows the cluster."""
        self.nodes[number].start(self._properties[number], timeout_s=START_S)

    def pause(self, number: int) -> None:
        """Stand still: connections stay open, nothing is answered."""
        os.kill(self.nodes[number].pid, signal.SIGSTOP)

    def resume(self, number: int) -> None:
        os.kill(self.nodes[number].pid, signal.SIGCONT)

    def __enter__(self) -> KafkaCluster:
        with ThreadPoolExecutor(NODES) as pool:  # none answers before two are there
            list(pool.map(self.start, range(NODES)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.nodes:
            node.kill()
