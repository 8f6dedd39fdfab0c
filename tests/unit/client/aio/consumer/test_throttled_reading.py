"""A Fetch answer that says nothing about the partition, as Apache Kafka's quotas produce it, is followed by another
Fetch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.client.aio.admin.log_reader import FetchedRecords, fetch_stored
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.fetch_response import FetchResponse
from oncelog.types import IsolationLevel, TopicPartition


class Throttled:
    async def ask(self, *_: Any, channel: int) -> FetchResponse:
        return FetchResponse(throttle_time_ms=100)

    async def at_leader(
        self, what: str, name: TopicPartition, ask: Callable[[int], Awaitable[FetchedRecords]]
    ) -> FetchedRecords:
        return await ask(0)


def test_a_throttling_error_is_retriable() -> None:
    admin: Any = SimpleNamespace(cluster=Throttled())
    with pytest.raises(KafkaError) as raised:
        asyncio.run(fetch_stored(admin, TopicPartition("t", 0), 0, IsolationLevel.READ_COMMITTED))
    assert raised.value.error is Error.THROTTLING_QUOTA_EXCEEDED
    assert raised.value.retriable
