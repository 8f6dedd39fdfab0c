"""Committed offsets requested by a group member, without a network."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from oncelog.client.aio.connection.cluster_access import ClusterAccess
from oncelog.client.aio.offset_lookups import OffsetLookups
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.connection.coordinator_lookup import CoordinatorType
from oncelog.client.core.connection.wire import OFFSET_FETCH, Api, Build
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from oncelog.types import TopicPartition

ZERO = TopicPartition("t", 0)


class Asked:
    """A coordinator that refuses the first epochs it is shown."""

    def __init__(self, *refusals: Error) -> None:
        self.refusals = list(refusals)
        self.epochs: list[int] = []
        cluster = ClusterAccess(ConsumerConfig.from_keywords(group_id="g", retry_backoff_ms=1), timeout_ms=30_000)
        cluster.network.call = self.call  # type: ignore[method-assign, assignment]
        finder = cluster.finder(CoordinatorType.GROUP, "g")
        finder.node = 1
        self.offsets = OffsetLookups(cluster, finder, "g")

    async def call(self, node: int, api: Api, build: Build, **_: object) -> tuple[Any, int]:
        assert api is OFFSET_FETCH
        version = 9
        request: Any = build(version)
        self.epochs.append(request.groups[0].member_epoch)
        error = self.refusals.pop(0) if self.refusals else Error.NONE
        topics = [OffsetFetchResponseTopics("t", bytes(16), [OffsetFetchResponsePartitions(0, 7, -1, "")])]
        return OffsetFetchResponse(groups=[OffsetFetchResponseGroup("g", topics, error)]), version

    def fetch(self, as_member: bool) -> dict[TopicPartition, OffsetAndMetadata]:
        def identity() -> ConsumerGroupMetadata:
            return ConsumerGroupMetadata("g", 5 + len(self.epochs), "m", None)

        return asyncio.run(self.offsets.fetch([ZERO], require_stable=False, identity=identity if as_member else None))


@pytest.mark.parametrize("refusal", [Error.STALE_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID])
def test_a_member_repeats_an_offset_fetch_with_its_new_epoch_if_the_epoch_changed_meanwhile(refusal: Error) -> None:
    """A heartbeat in flight changes the epoch, which is nothing that the program could handle."""
    asked = Asked(refusal)
    assert asked.fetch(as_member=True)[ZERO].offset == 7
    assert asked.epochs == [5, 6]


def test_a_consumer_outside_a_group_raises_the_error_of_the_coordinator() -> None:
    asked = Asked(Error.UNKNOWN_MEMBER_ID)
    with pytest.raises(KafkaError, match="refused"):
        asked.fetch(as_member=False)
    assert asked.epochs == [-1]
