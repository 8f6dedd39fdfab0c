"""A Fetch answer that says nothing of the partition, as Apache Kafka's quotas give it, is asked for again."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.fetch_response import FetchResponse
from oncelog.spark.kafka_cluster import KafkaFetcher
from oncelog.spark.offsets import OffsetRange
from oncelog.types import IsolationLevel, TopicPartition


def test_answer_of_a_quota_is_a_reason_to_ask_again() -> None:
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
