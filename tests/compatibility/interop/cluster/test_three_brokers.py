"""Client, source and sink against three real brokers in trouble.

One broker at a time is killed, stopped or paused; leaders and coordinators are moved; partitions lose a replica and get
it again, while the broker that copies it is killed, too. Nothing that was acknowledged or committed is lost, nothing is
there twice, nothing of an aborted transaction is read, a transaction is there in all of its partitions or in none, and
the order of each writer is kept.
"""

from __future__ import annotations

import logging
from pathlib import Path
from time import monotonic

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.types import TopicPartition
from tests.compatibility.interop.cluster.actors import PARTITIONS, Actor, Copy, Reader, Sender, Transactions
from tests.compatibility.interop.cluster.disturber import TIMEOUT_S, Disturber, by_partition, every_round
from tests.compatibility.interop.cluster.query import Query
from tests.support.kafka_cluster import NODES, KafkaCluster

pytestmark = [pytest.mark.kafka, pytest.mark.soak]
logger = logging.getLogger(__name__)

ENDED = ("Empty", "CompleteCommit", "CompleteAbort")
LOOK_EVERY = 6
"""Rounds after which everything is checked while all programs continue."""


@pytest.mark.parametrize("part", range(6))
def test_clients_of_three_brokers_lose_duplicate_and_reorder_nothing(
    cluster: KafkaCluster, admin: Admin, tmp_path: Path, part: int
) -> None:
    """108 rounds in six parts of 18: in each part every trouble happens to every node once, each time in another
    order.
    """
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
    for number, (trouble, node) in enumerate(every_round(part), 1):
        began = monotonic()
        disturber.disturb(trouble, node)
        logger.info("part %d, round %d: %s, node %d: %.0f s", part, number, trouble, node + 1, monotonic() - began)
        if number % LOOK_EVERY == 0:
            look(servers, sender, transactions)
    sender.end()
    transactions.end()
    check_sent(servers, sender)
    check_transactions(admin, servers, transactions, reader)
    check_copies(servers, sender, copy, query)


def look(servers: str, sender: Sender, transactions: Transactions) -> None:
    """Everything that must be there by now is there, once and in order."""
    acknowledged, committed = sender.steps * 10, set(transactions.committed)
    committed.discard(max(committed, default=0))  # its markers may come after the answer, the others' have
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
    eventually(lambda: admin.describe_transactions(["transactions"])[0].state in ENDED, TIMEOUT_S)
    found = by_partition(servers, "transactions")
    first = found[0]
    assert all(values == first for values in found.values())
    assert first == sorted(set(first))
    assert transactions.committed <= set(first) <= transactions.committed | transactions.unknown

    def read_all() -> bool:
        return all(reader.seen.get(TopicPartition("transactions", n)) == first for n in range(PARTITIONS))

    eventually(read_all, TIMEOUT_S)
    reader.end()


def check_copies(servers: str, sender: Sender, copy: Copy, query: Query) -> None:
    """The copy equals the source, once the copies have reached its end."""
    sent = by_partition(servers, "sent")
    eventually(lambda: query.read >= sender.steps * 10, TIMEOUT_S)
    query.end()
    assert by_partition(servers, "rows") == sent
    eventually(lambda: by_partition(servers, "copied") == sent, TIMEOUT_S)
    copy.end()
    assert by_partition(servers, "copied") == sent
    logger.info("%d records sent, %d batches of the query done again", sender.steps * 10, query.repeated)
