"""Client, source and sink against three real brokers in trouble: rows C6 and F1 to F3.

One broker at a time is killed, stopped or paused; leaders and coordinators are moved; partitions lose a replica and get
it anew, while the broker that copies it is killed, too. Nothing that was acknowledged or committed is lost, nothing is
there twice, nothing of an aborted transaction is read, a transaction is there in all of its partitions or in none, and
the order of each writer is kept.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oncelog.client.blocking import Admin
from oncelog.client.core.admin_types import NewTopic
from oncelog.client.core.replica_placement import spread
from oncelog.conformance.expect import eventually
from oncelog.types import TopicPartition
from tests.client.reading import read_back
from tests.interop.cluster.actors import PARTITIONS, Actor, Copy, Reader, Sender, Transactions
from tests.interop.cluster.query import Query
from tests.support.kafka_cluster import NODES, KafkaCluster

pytestmark = [pytest.mark.kafka, pytest.mark.soak]
logger = logging.getLogger(__name__)

ENDED = ("Empty", "CompleteCommit", "CompleteAbort")
TROUBLES = ("kill", "stop", "pause", "leaders", "reassign", "reassign and kill")
PATIENCE_S = 300
LOOK_EVERY = 10
"""Rounds after which everything is looked at while all go on."""


class Disturber:
    """Brings one trouble after the other; ``busy`` waits until everybody has come further."""

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
        eventually(self._in_sync, PATIENCE_S)

    def _end(self, node: int, how: str) -> None:
        process = self._cluster.nodes[node]
        process.kill() if how == "kill" else process.stop()

    def _take_replicas(self, node: int, *, kill: bool) -> None:
        """All replicas of a node go, and are copied anew; it may die meanwhile."""
        number = node + 1
        others = dict.fromkeys((n for n in range(1, NODES + 1) if n != number), None)
        self._place(spread(self._replicas(), others, NODES - 1))
        self._busy()
        everywhere = spread(self._replicas(), dict.fromkeys(range(1, NODES + 1), None), NODES)
        if not kill:
            self._place(everywhere)
            return
        self._admin.alter_partition_reassignments(everywhere)
        self._end(node, "kill")
        self._busy()
        self._cluster.start(node)
        self._moved(everywhere)

    def _place(self, wanted: dict[TopicPartition, tuple[int, ...]]) -> None:
        self._admin.alter_partition_reassignments(wanted)
        self._moved(wanted)

    def _moved(self, wanted: dict[TopicPartition, tuple[int, ...]]) -> None:
        eventually(lambda: not self._admin.list_partition_reassignments(), PATIENCE_S)
        self._admin.elect_leaders(wanted)

        def lead() -> bool:
            return all(leader == wanted[name][0] for name, leader, _, _ in self._partitions())

        eventually(lead, PATIENCE_S)

    def _partitions(self) -> Iterator[tuple[TopicPartition, int, tuple[int, ...], tuple[int, ...]]]:
        for topic in self._admin.describe_topics(self._admin.list_topics(internal=True)):
            for item in topic.partitions:
                yield TopicPartition(topic.name, item.partition), item.leader, item.replicas, item.isr

    def _replicas(self) -> dict[TopicPartition, tuple[int, ...]]:
        return {name: replicas for name, _, replicas, _ in self._partitions()}

    def _in_sync(self) -> bool:
        return all(sorted(replicas) == sorted(isr) for _, _, replicas, isr in self._partitions())


def rounds_of(count: int) -> Iterator[tuple[str, int]]:
    """Every trouble as often as the others, in drawn order, of each node in turn."""
    draw = random.Random(count)
    troubles: list[str] = []
    for number in range(count):
        troubles = troubles or draw.sample(TROUBLES, len(TROUBLES))
        yield troubles.pop(), number % NODES


@pytest.mark.parametrize("rounds", [len(TROUBLES), 100])
def test_nothing_is_lost_doubled_or_out_of_order(tmp_path: Path, rounds: int) -> None:
    with (
        KafkaCluster(tmp_path) as cluster,
        Admin(
            bootstrap_servers=cluster.bootstrap_servers,
            default_api_timeout_ms=PATIENCE_S * 1000,
            request_timeout_ms=10_000,
        ) as admin,
    ):
        servers = cluster.bootstrap_servers
        admin.create_topics([NewTopic(name, PARTITIONS, NODES) for name in ("sent", "transactions", "copied", "rows")])
        sender, transactions = Sender(servers, "sent"), Transactions(servers, "transactions")
        reader, copy = Reader(servers, "transactions"), Copy(servers, "sent", "copied")
        query = Query(servers, "sent", "rows", tmp_path / "checkpoint")
        actors: tuple[Actor, ...] = (sender, transactions, reader, copy, query)
        for actor in actors:
            actor.start()

        def busy() -> None:
            for actor in actors:
                actor.await_steps(3)

        busy()
        disturber = Disturber(cluster, admin, busy)
        for number, (trouble, node) in enumerate(rounds_of(rounds), 1):
            disturber.disturb(trouble, node)
            logger.info("round %d of %d: %s, node %d", number, rounds, trouble, node + 1)
            if number % LOOK_EVERY == 0:
                look(servers, sender, transactions)
        sender.end()
        transactions.end()
        check_sent(servers, sender)
        check_transactions(admin, servers, transactions, reader)
        check_copies(servers, sender, copy, query)


def look(servers: str, sender: Sender, transactions: Transactions) -> None:
    """What has to be there by now is there, once and in order."""
    acknowledged, committed = sender.steps * 10, set(transactions.committed)
    sent = by_partition(servers, "sent")
    for partition, values in sent.items():
        assert values == list(range(partition, values[-1] + 1, PARTITIONS))
        assert values[-1] >= acknowledged - PARTITIONS
    for topic in ("rows", "copied"):
        for partition, values in by_partition(servers, topic).items():
            assert values == list(range(partition, partition + PARTITIONS * len(values), PARTITIONS)), topic
    found = by_partition(servers, "transactions")
    shortest = min(found.values(), key=len)
    assert shortest == sorted(set(shortest))
    assert all(values[: len(shortest)] == shortest for values in found.values())
    assert all(committed <= set(values) for values in found.values())
    logger.info("held so far: %d records, %d transactions", acknowledged, len(committed))


def check_sent(servers: str, sender: Sender) -> None:
    for partition, values in by_partition(servers, "sent").items():
        assert values == [number for number in range(sender.steps * 10) if number % PARTITIONS == partition]


def check_transactions(admin: Admin, servers: str, transactions: Transactions, reader: Reader) -> None:
    # markers come after the answer
    eventually(lambda: admin.describe_transactions(["transactions"])[0].state in ENDED, PATIENCE_S)
    found = by_partition(servers, "transactions")
    first = found[0]
    assert all(values == first for values in found.values())
    assert first == sorted(set(first))
    assert transactions.committed <= set(first) <= transactions.committed | transactions.unknown

    def read_all() -> bool:
        return all(reader.seen.get(TopicPartition("transactions", n)) == first for n in range(PARTITIONS))

    eventually(read_all, PATIENCE_S)
    reader.end()


def check_copies(servers: str, sender: Sender, copy: Copy, query: Query) -> None:
    """What was copied is what was sent, once the copies have come to its end."""
    sent = by_partition(servers, "sent")
    eventually(lambda: query.read >= sender.steps * 10, PATIENCE_S)
    query.end()
    assert by_partition(servers, "rows") == sent
    eventually(lambda: by_partition(servers, "copied") == sent, PATIENCE_S)
    copy.end()
    assert by_partition(servers, "copied") == sent
    logger.info("%d records sent, %d batches of the query done again", sender.steps * 10, query.repeated)


def by_partition(servers: str, topic: str) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
    for record in read_back(servers, topic, PARTITIONS):
        found[record.partition].append(int(record.value or b""))
    return found
