"""Collects the series of share groups (KIP-932): groups and members, records in flight, lags, acknowledgements,
sessions.

A part of :mod:`oncelog.broker.metrics.broker_series`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oncelog.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from oncelog.broker.coordinator.group.states import ShareGroupState
from oncelog.broker.coordinator.share.share_group import ShareGroup
from oncelog.broker.coordinator.share.state_rules import RecordState, ShareKey
from oncelog.broker.core.sharing.share_partition import AcknowledgeType
from oncelog.broker.core.sharing.share_partitions import ShareCounts, lag_of
from oncelog.broker.metrics.exposition import Exposition, labels
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.coordinator.group.group_coordinator import GroupCoordinator
    from oncelog.broker.core.broker import Broker
    from oncelog.broker.core.sharing.dead_letters import DeadLetters
    from oncelog.broker.core.sharing.share_partitions import Held

CHUNK = 20
_COORDINATOR = "kafka_server_group_coordinator_metrics_"
_PARTITION = "kafka_server_sharepartitionmetrics_"
_SESSIONS = "kafka_server_sharesessioncache_"


def share_series(page: Exposition, broker: Broker, groups: GroupCoordinator | None) -> Iterator[None]:
    """Fill ``page``; each step is a chunk of the work."""
    kinds = {"classic": 0, "consumer": 0, "share": 0}
    states = dict.fromkeys(ShareGroupState, 0)
    for shard in list(groups.runtime.shards()) if groups is not None else ():
        for group in list(shard.groups.values()):
            if not isinstance(group, ShareGroup):
                kinds["consumer" if isinstance(group, ConsumerGroup) else "classic"] += 1
                continue
            kinds["share"] += 1
            states[group.state] += 1
            page.add("oncelog_sharegroup_members", len(group.members), labels(group=group.group_id))
            yield from _add_lags(page, broker, group)
    for kind, count in kinds.items():
        page.add(f"{_COORDINATOR}group_count", count, labels(protocol=kind))
    for state, count in states.items():
        page.add(f"{_COORDINATOR}share_group_count", count, labels(state=state.value))
    sharing = broker.sharing_in_use
    for number, held in enumerate(sharing or ()):
        _add_in_flight(page, held)
        if number % CHUNK == CHUNK - 1:
            yield
    sessions = list(sharing.sessions) if sharing is not None else []
    page.add(f"{_SESSIONS}sharesessionscount", len(sessions))
    page.add(f"{_SESSIONS}sharepartitionscount", sum(len(session.partitions) for session in sessions))
    _add_counts(page, sharing.counts if sharing is not None else ShareCounts())
    if sharing is not None:
        _add_dead_letters(page, sharing.dead_letters)


def _add_lags(page: Exposition, broker: Broker, group: ShareGroup) -> Iterator[None]:
    looked_at = 0
    for topic_id, topic in list(group.initialized.items()):
        for index in sorted(topic.partitions):
            state = broker.share_states.state(ShareKey(group.group_id, topic_id, index))
            partition = broker.partition(TopicPartition(topic.name, index))
            lag = lag_of(state, partition) if state is not None and partition is not None else None
            if state is not None and lag is not None:
                at = labels(group=group.group_id, topic=topic.name, partition=index)
                page.add("oncelog_sharegroup_start_offset", state.start_offset, at)
                page.add("oncelog_sharegroup_lag", lag, at)
            looked_at += 1
            if looked_at % CHUNK == 0:
                yield


def _add_in_flight(page: Exposition, held: Held) -> None:
    topic, index = held.partition.topic_partition
    at = labels(group=held.key.group_id, topic=topic, partition=index)
    ranges = list(held.state)
    acquired = sum(len(each) for each in ranges if each.state is RecordState.ACQUIRED)
    page.add(f"{_PARTITION}inflightmessagecount", held.state.in_flight, at)
    page.add(f"{_PARTITION}inflightbatchcount", len(ranges), at)
    page.add(f"{_PARTITION}acquisitionlocktimeout_total", held.expired_locks, at)
    page.add(f"{_PARTITION}acquisitionlocktimeoutpersec", held.expired_locks, at)
    page.add("oncelog_sharegroup_acquired", acquired, at)


def _add_counts(page: Exposition, counts: ShareCounts) -> None:
    for kind in (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW):
        count, at = counts.acknowledgements[kind], labels(ackType=kind.name.title())
        page.add("kafka_server_sharegroupmetrics_recordacknowledgements_total", count, at)
        page.add("kafka_server_sharegroupmetrics_recordacknowledgementspersec", count, at)
    for name, count in {
        "brokertopicmetrics_totalsharefetchrequests": counts.fetch_requests,
        "brokertopicmetrics_failedsharefetchrequests": counts.failed_fetches,
        "brokertopicmetrics_totalshareacknowledgementrequests": counts.acknowledge_requests,
        "brokertopicmetrics_failedshareacknowledgementrequests": counts.failed_acknowledgements,
        "sharesessioncache_sharesessionevictions": counts.lost_sessions,
    }.items():
        page.add(f"kafka_server_{name}_total", count)
        page.add(f"kafka_server_{name}persec", count)


def _add_dead_letters(page: Exposition, letters: DeadLetters) -> None:
    for group, tried in letters.tried.items():
        at = labels(group=group)
        page.add("kafka_server_sharegroupmetrics_deadletterqueuerecordcount", letters.written[group], at)
        for name, count in {
            "deadletterqueuetotalproducerequests": tried,
            "deadletterqueuefailedproducerequests": letters.failed[group],
        }.items():
            page.add(f"kafka_server_sharegroupmetrics_{name}_total", count, at)
            page.add(f"kafka_server_sharegroupmetrics_{name}persec", count, at)
