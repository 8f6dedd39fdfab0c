"""A task's fetches: an answer that says nothing about the partition, as quotas produce it; a leader without epochs."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.client.aio.offset_lookups import FoundOffset
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.fetch_response import FetchResponse
from oncelog.spark.kafka import kafka_cluster
from oncelog.spark.kafka.interface import OffsetRange
from oncelog.spark.kafka.kafka_cluster import KafkaFetcher
from oncelog.types import IsolationLevel, TopicPartition


def test_a_throttling_error_is_retriable() -> None:
    async def call(*_: Any, **__: Any) -> tuple[FetchResponse, int]:
        return FetchResponse(throttle_time_ms=100), 12

    async def leaders(names: list[TopicPartition], **_: Any) -> dict[int, list[TopicPartition]]:
        return {1: names}

    options = SimpleNamespace(fetch_bytes=1, fetch_max_wait_ms=1, fetch_min_bytes=1, rack="")
    cluster: Any = SimpleNamespace(
        aio=SimpleNamespace(network=SimpleNamespace(call=call), leaders=leaders), options=options
    )
    item = OffsetRange(TopicPartition("t", 0), 0, 1)
    with pytest.raises(KafkaError) as raised:
        asyncio.run(KafkaFetcher(cluster, item, IsolationLevel.READ_COMMITTED)._fetch(0))
    assert raised.value.error is Error.THROTTLING_QUOTA_EXCEEDED


def test_reading_continues_at_a_new_leader_without_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apache Kafka before 4.0 answers like this for a topic whose records have the format of 0.10."""
    item = OffsetRange(TopicPartition("t", 0), 0, 10, leader_epoch=3)

    async def list_offsets(*_: Any, **__: Any) -> dict[TopicPartition, FoundOffset]:
        return {item.partition: FoundOffset(10, -1, 4)}

    async def ends_of(epochs: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        return dict.fromkeys(epochs, -1)

    monkeypatch.setattr(kafka_cluster, "list_offsets", list_offsets)
    cluster: Any = SimpleNamespace(aio=None, ends_of=ends_of)
    fetcher = KafkaFetcher(cluster, item, IsolationLevel.READ_COMMITTED)
    asyncio.run(fetcher._check_log())
    assert fetcher._epoch == 4
