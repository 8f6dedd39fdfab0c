"""Both lanes of one transaction against a broker whose answers are lost and whose leaders move, without Spark."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

import oncelog
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.config import ClientConfig
from oncelog.errors import Error, KafkaError
from oncelog.records.batch import Record, encode_batch
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.kafka.kafka_cluster import KafkaCluster
from tests.integration.conformance.features import set_transaction_version
from tests.integration.spark.kafka_records import committed, eventually, wait_until_settled

PARTITIONS, BATCHES = 5, 300
ID = "copy"


@pytest.fixture(params=[2, 1], ids=["v2", "v1"])
def three_nodes(request: pytest.FixtureRequest) -> Iterator[oncelog.Broker]:
    """The brokers, at each ``transaction.version`` that writers meet."""
    with oncelog.Broker(nodes=3) as broker:
        set_transaction_version(broker.bootstrap_servers.partition(",")[0], request.param)
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("t", PARTITIONS, 3)])
        yield broker


def connected(broker: oncelog.Broker) -> KafkaCluster:
    soon = {"retry.backoff.ms": "5", "reconnect.backoff.ms": "5", "reconnect.backoff.max.ms": "50"}
    return KafkaCluster.connect(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap_servers, **soon}))


def batches(seed: int, on_the_way: Callable[[int], None] = lambda number: None) -> Iterator[PartitionBatch]:
    """One record each; ``on_the_way`` is called before each is handed out."""
    chance = random.Random(seed)
    for number in range(BATCHES):
        on_the_way(number)
        data = bytes(encode_batch([Record(0, 1_700_000_000_000, None, b"%d" % number)]))
        yield PartitionBatch("t", chance.randrange(PARTITIONS), 1, data)


def visible(broker: oncelog.Broker) -> list[tuple[int, int]]:
    wait_until_settled(broker.bootstrap_servers, "t")
    return [(record.partition, int(record.value or b"")) for record in committed(broker.bootstrap_servers, "t")]


@pytest.mark.parametrize("seed", range(3))
def test_lost_answers_and_moved_leaders_neither_duplicate_nor_reorder_records(
    three_nodes: oncelog.Broker, seed: int
) -> None:
    chance = random.Random(seed)
    faults = three_nodes.faults

    def trouble(number: int) -> None:
        if number % 40 == 20:
            partition = chance.randrange(PARTITIONS)
            faults.move_leader("t", partition, to=three_nodes.leader("t", partition) % 3 + 1)

    with ExitStack() as stack:
        often = {"times": 12, "probability": 0.3}
        made = [
            faults.lose_answer("Produce", seed=seed, **often),
            faults.lose_request("Produce", seed=seed + 1, **often),
            faults.duplicate("Produce", seed=seed + 2, **often),
            faults.answer_error("Produce", Error.NOT_LEADER_OR_FOLLOWER, seed=seed + 3, **often),
        ]
        for fault in made:
            stack.enter_context(fault)
        engine = connected(three_nodes).transaction(ID, 60_000)
        engine.init_producer_id()
        engine.produce(batches(seed, trouble))
        engine.end(commit=True)
        assert all(fault.hits for fault in made)
    wanted = [(batch.partition, number) for number, batch in enumerate(batches(seed))]
    assert visible(three_nodes) == sorted(wanted)


@pytest.mark.parametrize("partition", range(2))
def test_a_refusal_of_the_last_batch_of_either_lane_is_raised(three_nodes: oncelog.Broker, partition: int) -> None:
    """Each lane has a partition; nothing is reported as written that is not."""
    both = [
        PartitionBatch("t", number % 2, 1, bytes(encode_batch([Record(0, 1, None, b"%d" % number)])))
        for number in range(10)
    ]
    engine = connected(three_nodes).transaction(ID, 60_000)
    with three_nodes.faults.answer_error("Produce", Error.INVALID_RECORD, topic="t", partition=partition, skip=4):
        engine.init_producer_id()
        with pytest.raises(KafkaError) as refused:
            engine.produce(both)
        assert refused.value.error is Error.INVALID_RECORD
        engine.end(commit=False)
    assert visible(three_nodes) == []


def test_both_lanes_of_a_fenced_run_end_and_leave_no_record(three_nodes: oncelog.Broker) -> None:
    cluster = connected(three_nodes)

    def overtake(number: int) -> None:
        if number == BATCHES // 2:
            newer = cluster.transaction(ID, 60_000)
            newer.init_producer_id()
            newer.produce(batches(1))
            newer.end(commit=True)

    zombie = cluster.transaction(ID, 60_000)
    zombie.init_producer_id()
    with pytest.raises(KafkaError) as refused:
        zombie.produce(batches(2, overtake))
    assert refused.value.error in (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH)
    wanted = [(batch.partition, number) for number, batch in enumerate(batches(1))]
    eventually(lambda: visible(three_nodes), sorted(wanted))
