"""Faults for three brokers, one at a time: killed, stopped, paused, deprived of leaders and replicas."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from oncelog.apps.conformance.expect import eventually
from oncelog.client.blocking import Admin
from oncelog.types import TopicPartition
from tests.compatibility.interop.cluster.actors import PARTITIONS
from tests.integration.client.reading import read_back
from tests.support.kafka_cluster import NODES, KafkaCluster

TROUBLES = ("kill", "stop", "pause", "leaders", "reassign", "reassign and kill")
TIMEOUT_S = 300


def every_round(part: int) -> list[tuple[str, int]]:
    """Each trouble of each node once, in an order that is drawn by ``part``."""
    return random.Random(part).sample([(what, node) for what in TROUBLES for node in range(NODES)], 18)


class Disturber:
    """Causes one trouble after another; ``busy`` waits until every program has advanced."""

    def __init__(self, cluster: KafkaCluster, admin: Admin, busy: Callable[[], None]) -> None:
        self._cluster, self._admin, self._busy = cluster, admin, busy

    def disturb(self, trouble: str, node: int) -> None:
        match trouble:
            case "pause":
                self._cluster.pause(node)
                self._busy()
                self._cluster.resume(node)
            case "kill" | "stop":
                self._end(node, trouble)
                self._busy()
                self._cluster.start(node)
            case "leaders":
                self._place({name: replicas[1:] + replicas[:1] for name, replicas in self._replicas().items()})
            case _:
                self._take_replicas(node, kill=trouble == "reassign and kill")
        self._busy()
        eventually(self._in_sync, TIMEOUT_S)

    def _end(self, node: int, how: str) -> None:
        process = self._cluster.nodes[node]
        process.kill() if how == "kill" else process.stop()

    def _take_replicas(self, node: int, *, kill: bool) -> None:
        """All replicas of a node are removed and copied again; the node may die meanwhile."""
        number = node + 1
        self._place(self._spread([n for n in range(1, NODES + 1) if n != number]))
        self._busy()
        everywhere = self._spread(list(range(1, NODES + 1)))
        if not kill:
            self._place(everywhere)
            return
        self._admin.alter_partition_reassignments(everywhere)
        self._end(node, "kill")
        self._busy()
        self._cluster.start(node)
        self._moved(everywhere)

    def _spread(self, nodes: list[int]) -> dict[TopicPartition, tuple[int, ...]]:
        """A replica of each partition on each node; the nodes lead in turn."""
        turns = {name: name.partition % len(nodes) for name in self._replicas()}
        return {name: (*nodes[turn:], *nodes[:turn]) for name, turn in turns.items()}

    def _place(self, wanted: dict[TopicPartition, tuple[int, ...]]) -> None:
        self._admin.alter_partition_reassignments(wanted)
        self._moved(wanted)

    def _moved(self, wanted: dict[TopicPartition, tuple[int, ...]]) -> None:
        eventually(lambda: not self._admin.list_partition_reassignments(), TIMEOUT_S)

        def lead() -> bool:
            """Repeated, because a node that was late for the controller leads nothing and is given nothing back."""
            others = [name for name, leader, _, _ in self._partitions() if leader != wanted[name][0]]
            if others:
                self._admin.elect_leaders(others)
            return not others

        eventually(lead, TIMEOUT_S)

    def _partitions(self) -> Iterator[tuple[TopicPartition, int, tuple[int, ...], tuple[int, ...]]]:
        for topic in self._admin.describe_topics(self._admin.list_topics(internal=True)):
            for item in topic.partitions:
                yield TopicPartition(topic.name, item.partition), item.leader, item.replicas, item.isr

    def _replicas(self) -> dict[TopicPartition, tuple[int, ...]]:
        return {name: replicas for name, _, replicas, _ in self._partitions()}

    def _in_sync(self) -> bool:
        return all(sorted(replicas) == sorted(isr) for _, _, replicas, isr in self._partitions())


def by_partition(servers: str, topic: str) -> dict[int, list[int]]:
    """The numbers in a topic, as another client reads them (read_committed)."""
    found: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
    for record in read_back(servers, topic, PARTITIONS, written=True):
        found[record.partition].append(int(record.value or b""))
    return found
