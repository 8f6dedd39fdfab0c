"""How long source and sink wait, how often they ask and how much they fetch follows their options.

An error that ends the wait names the option. Without Spark: on the client that its workers use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Protocol

import pytest

from oncelog.errors import Error, KafkaError
from oncelog.records.batch import Record, encode_batch
from oncelog.runtime import real_asyncio
from oncelog.spark.kafka import kafka_cluster
from oncelog.spark.kafka.connections import client_config
from oncelog.spark.kafka.interface import OffsetRange, PartitionBatch
from oncelog.spark.kafka.kafka_cluster import KafkaCluster
from oncelog.spark.options import parse_sink_options, parse_source_options
from oncelog.types import IsolationLevel, TopicPartition
from tests.integration.client.proxy import FETCH, PRODUCE, Fault, KafkaProxy
from tests.integration.spark.kafka_records import create_topic, produce

EVERY = 1_000_000


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


def reading(address: str, **given: str) -> KafkaCluster:
    """Options, in which a double underscore stands for a dot."""
    named = {"kafka.bootstrap.servers": address, "subscribe": "t"} | dotted(given)
    options = parse_source_options(named, streaming=True)
    return KafkaCluster.connect(client_config(options.client), options.cluster)


def writing(address: str, **given: str) -> KafkaCluster:
    named = {"kafka.bootstrap.servers": address, "topic": "t"} | dotted(given)
    options = parse_sink_options(named, streaming=False)
    return KafkaCluster.connect(client_config(options.client), options.cluster)


def dotted(given: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("__", "."): value for name, value in given.items()}


def where_lost(broker: RunningBroker, api: int, work: Callable[[str], None]) -> None:
    """Run ``work`` against a broker that receives none of the requests of one API."""

    async def proxied() -> None:
        async with KafkaProxy(broker.bootstrap_servers, faults=[Fault(api, 1, "request", EVERY)]) as proxy:
            await asyncio.to_thread(work, proxy.bootstrap_servers)

    asyncio.run(proxied())


def test_the_option_for_the_wait_for_a_cluster_is_respected() -> None:
    nobody = "127.0.0.1:1"
    with pytest.raises(KafkaError, match=r"within kafka\.default\.api\.timeout\.ms=300"):
        reading(nobody, kafka__default__api__timeout__ms="300")
    with pytest.raises(KafkaError, match=r"within kafka\.max\.block\.ms=300"):
        writing(nobody, kafka__max__block__ms="300")


def test_the_option_for_the_request_timeout_of_a_task_is_respected(
    oncelog_broker: RunningBroker, unique_name: str
) -> None:
    partition = TopicPartition(create_topic(oncelog_broker.bootstrap_servers, unique_name), 0)

    def fetch(address: str) -> None:
        fetcher = reading(address, kafkaConsumer__pollTimeoutMs="700").fetcher(
            OffsetRange(partition, 0, 1), IsolationLevel.READ_COMMITTED
        )
        with pytest.raises(KafkaError, match=r"did not succeed within kafkaConsumer\.pollTimeoutMs=700"):
            fetcher.fetch(0)

    where_lost(oncelog_broker, FETCH, fetch)


def test_the_option_for_the_delivery_timeout_is_respected(oncelog_broker: RunningBroker, unique_name: str) -> None:
    create_topic(oncelog_broker.bootstrap_servers, unique_name)

    def write(address: str) -> None:
        cluster = writing(address, kafka__delivery__timeout__ms="700")
        engine = cluster.transaction(f"{unique_name}-id", 60_000)
        engine.init_producer_id()
        data = bytes(encode_batch([Record(0, 1, None, b"v")]))
        with pytest.raises(KafkaError, match=r"did not succeed within kafka\.delivery\.timeout\.ms=700"):
            engine.produce([PartitionBatch(unique_name, 0, 1, data)])

    where_lost(oncelog_broker, PRODUCE, write)


@pytest.mark.parametrize(("attempts", "answered"), [("3", True), ("2", False)])
def test_the_option_for_retries_of_offset_requests_is_respected(
    oncelog_broker: RunningBroker, unique_name: str, monkeypatch: pytest.MonkeyPatch, attempts: str, answered: bool
) -> None:
    partition = TopicPartition(create_topic(oncelog_broker.bootstrap_servers, unique_name), 0)
    cluster = reading(
        oncelog_broker.bootstrap_servers, fetchOffset__numRetries=attempts, fetchOffset__retryIntervalMs="4321"
    )
    ask, asked, pauses = vars(kafka_cluster)["list_offsets"], [], []

    async def refuse_twice(*args: object, **more: object) -> object:
        asked.append(args)
        if len(asked) < 3:
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, "not now")
        return await ask(*args, **more)  # type: ignore[arg-type]

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(kafka_cluster, "list_offsets", refuse_twice)
    monkeypatch.setattr(kafka_cluster, "asyncio", SimpleNamespace(**{**vars(real_asyncio), "sleep": sleep}))
    if answered:
        assert cluster.list_offsets({partition: -1}, IsolationLevel.READ_COMMITTED) == {partition: 0}
    else:
        with pytest.raises(KafkaError, match="not now"):
            cluster.list_offsets({partition: -1}, IsolationLevel.READ_COMMITTED)
    assert (len(asked), pauses) == (int(attempts), [4.321] * (int(attempts) - 1))


@pytest.mark.parametrize("option", ["kafka__fetch__max__bytes", "kafka__max__partition__fetch__bytes"])
def test_the_option_for_the_fetch_size_is_respected(broker: RunningBroker, unique_name: str, option: str) -> None:
    address = broker.bootstrap_servers
    partition = TopicPartition(create_topic(address, unique_name), 0)
    for number in range(4):
        produce(address, unique_name, [b"%d:" % number + b"x" * 10_000])

    def records(cluster: KafkaCluster) -> int:
        fetcher = cluster.fetcher(OffsetRange(partition, 0, 4), IsolationLevel.READ_COMMITTED)
        return sum(batch.header.records_count for batch in fetcher.fetch(0).batches)

    assert records(reading(address)) == 4
    assert records(reading(address, **{option: "25000"})) == 2
