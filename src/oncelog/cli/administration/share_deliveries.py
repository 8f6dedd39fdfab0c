"""The stored deliveries of a share group, for ``oncelog groups describe --deliveries``.

They are read from ``__share_group_state``, because Apache Kafka has no API for them: a state is a snapshot and the
updates since. Acquisitions are not written there. Offsets without a stored state that precede offsets with a stored
state were delivered, and are not acknowledged yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from oncelog.broker.coordinator.share import state_records, state_rules
from oncelog.broker.coordinator.share.share_coordinator import coordinator_key
from oncelog.broker.coordinator.share.state_rules import RecordState, ShareKey, ShareState
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import stored_batches
from oncelog.client.positions import EARLIEST, LATEST
from oncelog.types import SHARE_GROUP_STATE_TOPIC, TopicPartition, java_hash_partition

WORDS: Final = {
    RecordState.AVAILABLE: "to be delivered again",
    RecordState.ACQUIRED: "not acknowledged yet",
    RecordState.ACKNOWLEDGED: "acknowledged",
    RecordState.ARCHIVING: "given up, dead letter is being written",
    RecordState.ARCHIVED: "given up",
}


class DeliveredRange(NamedTuple):
    """A range of offsets of one partition in the same state. ``deliveries`` is how often they were delivered; None if
    nothing is stored about them yet."""

    name: TopicPartition
    first: int
    last: int
    state: str
    deliveries: int | None


async def stored_deliveries(admin: Admin, group: str, names: Iterable[TopicPartition]) -> list[DeliveredRange]:
    """The ranges of offsets from each partition's start offset up to the last offset with a stored state."""
    topics = {name.topic for name in names} & set(await admin.list_topics(internal=True))
    if not topics:
        return []
    ids = {topic.name: topic.topic_id for topic in await admin.describe_topics(sorted(topics))}
    keys = {ShareKey(group, ids[name.topic], name.partition): name for name in names if name.topic in ids}
    logs = await admin.partitions(SHARE_GROUP_STATE_TOPIC)
    wanted = sorted({logs[java_hash_partition(coordinator_key(key), len(logs))] for key in keys})
    states: dict[ShareKey, ShareState] = {}
    first = await admin.list_offsets(dict.fromkeys(wanted, EARLIEST))
    end = await admin.list_offsets(dict.fromkeys(wanted, LATEST))
    for log in wanted:
        async for batch in stored_batches(admin, log, first[log].offset, end[log].offset):
            for record in batch.records if batch.control is None else ():
                found = state_records.decoded(record.key or b"", record.value)
                if found is None or found[0] not in keys:
                    continue
                key, change = found
                state = state_rules.apply(states.get(key), change, record.timestamp)
                if state is None:
                    states.pop(key, None)
                else:
                    states[key] = state
    return [found for key in sorted(states, key=lambda key: keys[key]) for found in ranges(keys[key], states[key])]


def ranges(name: TopicPartition, state: ShareState) -> Iterator[DeliveredRange]:
    """The ranges of offsets of one partition, from its start offset on."""
    position = state.start_offset
    for batch in sorted(state.batches):
        first = max(batch.first, position)
        if batch.last < first:
            continue
        if first > position:
            yield DeliveredRange(name, position, first - 1, WORDS[RecordState.ACQUIRED], None)
        yield DeliveredRange(name, first, batch.last, WORDS[batch.state], batch.deliveries)
        position = batch.last + 1
