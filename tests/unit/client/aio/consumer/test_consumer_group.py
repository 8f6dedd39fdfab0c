"""A consumer's membership in its group, without a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import cast

import pytest

from oncelog.client.aio.connection.cluster_access import ClusterAccess
from oncelog.client.aio.consumer.buffered import BufferedRecords
from oncelog.client.aio.consumer.consumer_group import GroupMembership
from oncelog.client.aio.consumer.record_waiters import RecordWaiters
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.core.consumer.consumer_metrics import ConsumerMetrics
from oncelog.client.core.consumer.fetcher import Fetcher
from oncelog.client.core.consumer.subscription import ConsumerRebalanceListener, Reset, Subscription
from oncelog.client.core.metrics import NetworkMetrics
from oncelog.client.core.structs import ConsumerRecord
from oncelog.errors import Error, KafkaError
from oncelog.types import TopicPartition

ZERO = TopicPartition("t", 0)


class AtHand:
    """The fetcher's part that reports that records are taken."""

    handed_out = False

    def drop(self, partitions: object) -> None:
        """Nothing is at hand."""


def record(offset: int) -> ConsumerRecord:
    return ConsumerRecord("t", 0, offset, 0, 0, None, b"v", None, -1, 1, ())


class Stay:
    def __init__(self, **settings: int) -> None:
        config = ConsumerConfig.from_keywords(group_id="g", **settings)
        self.subscription = Subscription(Reset.EARLIEST)
        self.held = BufferedRecords(self.subscription)
        self.at_hand = AtHand()
        self.waits = RecordWaiters()
        self.group = GroupMembership(
            config,
            "g",
            ClusterAccess(config, timeout_ms=1000),
            self.subscription,
            cast(Fetcher, self.at_hand),
            self.held,
            self.waits,
            lambda: None,
            ConsumerMetrics(NetworkMetrics(0)),
            report_empty_revocations=False,
        )

    def assign(self) -> None:
        self.subscription.take([ZERO])
        self.subscription.state(ZERO).seek(0)


def test_a_program_that_takes_records_without_waiting_still_counts_as_polling() -> None:
    """Otherwise ``max.poll.interval.ms`` would pass while it works on the records of one large batch."""
    stay = Stay()
    assert not stay.group.reading()
    stay.at_hand.handed_out = True
    assert stay.group.reading()
    assert not stay.group.reading(), "it was asked for more only once"


def test_taking_records_that_a_blocking_consumer_has_buffered_counts_as_a_poll() -> None:
    stay = Stay()
    stay.assign()
    stay.held.hold({ZERO: [record(0), record(1)]})
    assert not stay.group.reading()
    assert stay.held.hand_out(ZERO, 0)
    assert stay.group.reading()
    assert not stay.group.reading()


def test_records_held_in_an_earlier_assignment_do_not_set_the_position_of_a_later_one() -> None:
    stay = Stay()
    stay.assign()
    stay.held.hold({ZERO: [record(5), record(6)]})
    stay.subscription.take([])
    stay.assign()
    assert stay.held.position(ZERO) == 0


class Listener(ConsumerRebalanceListener):
    def __init__(self) -> None:
        self.lost: list[set[TopicPartition]] = []

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        self.lost.append(set(lost))


def test_a_membership_that_cannot_continue_is_reported_at_every_call_and_loses_its_partitions() -> None:
    """Told only once, a program that continues after errors would wait forever, or read beside the member that
    fenced it.
    """

    async def fail() -> tuple[Stay, Listener]:
        stay, listener = Stay(), Listener()
        stay.subscription.subscribe(["t"], None, listener)
        stay.assign()
        stay.group.group_failed(KafkaError(Error.FENCED_INSTANCE_ID, "another has the instance"))
        assert not stay.subscription.assigned
        while stay.group._tasks:
            await asyncio.sleep(0)
        return stay, listener

    stay, listener = asyncio.run(fail())
    assert listener.lost == [{ZERO}]
    for _ in range(2):
        with pytest.raises(KafkaError, match="another has the instance"):
            stay.waits.raise_failure()


@pytest.mark.parametrize(
    ("settings", "limit_ms"),
    [
        ({}, 5000),
        ({"auto_commit_interval_ms": 1}, 5000),
        ({"auto_commit_interval_ms": 20_000}, 20_000),
        ({"auto_commit_interval_ms": 20_000, "default_api_timeout_ms": 3000}, 3000),
        ({"auto_commit_interval_ms": 3_600_000}, 60_000),
    ],
)
def test_an_automatic_commit_gets_the_timeout_of_one_call(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, int], limit_ms: int
) -> None:
    """Its limit was the interval: commits each millisecond failed, and a consumer whose commit was refused took as long
    to stop as its interval.
    """
    limits: list[float | None] = []

    async def revoke() -> None:
        stay = Stay(**settings)
        stay.assign()

        async def commit(positions: object, identity: object, timeout_ms: float | None, refused: object) -> None:
            limits.append(timeout_ms)

        monkeypatch.setattr(stay.group._offsets, "commit", commit)
        stay.group.revoke([ZERO], lost=False)
        while stay.group._tasks:
            await asyncio.sleep(0)

    asyncio.run(revoke())
    assert limits == [limit_ms]


def test_a_consumer_that_loses_its_ability_to_commit_reports_it_once_and_continues_to_read() -> None:
    stay = Stay()
    stay.subscription.assign([ZERO])
    stay.group.group_failed(KafkaError(Error.GROUP_AUTHORIZATION_FAILED, "not allowed"))
    with pytest.raises(KafkaError, match="not allowed"):
        stay.waits.raise_failure()
    stay.waits.raise_failure()
    assert stay.subscription.state(ZERO).deliverable
