"""Other mirrors of the two clusters: no record is to be written by two of them, or to go in circles.

Called by :mod:`oncelog.mirror.run` where the mirroring of a topic begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oncelog.client.aio.admin import Admin
from oncelog.client.aio.log_reader import Fate, FateReader
from oncelog.client.aio.offsets import EARLIEST, LATEST
from oncelog.mirror.offset_map import MirrorState, Position
from oncelog.mirror.topics import MAP_PREFIX
from oncelog.types import TopicPartition

_TOLD = (Fate.COMMITTED, Fate.OPEN, Fate.ENDED, Fate.NOT_TRANSACTIONAL)


async def mirrors_into(admin: Admin, *, but_for: str = "") -> dict[str, MirrorState]:
    """What the mirrors into a cluster have written of themselves, by their map topics, in open transactions too.

    :param but_for: a map topic that is left out.
    """
    return {
        topic: await _told(admin, TopicPartition(topic, 0))
        for topic in await admin.list_topics()
        if topic.startswith(MAP_PREFIX) and topic != but_for
    }


async def _told(admin: Admin, name: TopicPartition) -> MirrorState:
    state = MirrorState()
    reader = FateReader(admin, name, (await admin.list_offsets({name: EARLIEST}))[name].offset)
    while (batches := await reader.step_batches()) or reader.position < reader.high_watermark:
        for batch, fate in batches:
            if fate in _TOLD:
                for record in batch.records:
                    state.apply(record.key, record.value)
    return state


async def holding_others(admin: Admin, names: Iterable[TopicPartition]) -> dict[str, str]:
    """The topics of B among those of ``names`` that hold records already, each with what to do."""
    asked = sorted(names)
    begins = await admin.list_offsets(dict.fromkeys(asked, EARLIEST))
    ends = await admin.list_offsets(dict.fromkeys(asked, LATEST))
    return {
        name.topic: f"{name} on the target holds records that this mirror did not write: delete the topic there, leave "
        "it out with --exclude, or mirror behind them with --into-existing"
        for name in reversed(asked)
        if ends[name].offset > begins[name].offset
    }


def clashing(
    new: Mapping[TopicPartition, Position],
    target_cluster: str,
    into_target: Mapping[str, MirrorState],
    into_source: Mapping[str, MirrorState],
) -> dict[str, str]:
    """The topics among ``new`` that another mirror writes too, or that one brings back; each with the reason."""
    found: dict[str, str] = {}
    for name, position in sorted(new.items()):
        for topic, state in sorted(into_target.items()):
            if position.target_id and _writes(state, name, position.target_id):
                found[name.topic] = (
                    f"topic {name.topic!r} of the target is written by the mirror that has {topic!r} there too: each "
                    f"record would be stored twice; leave it out with --exclude, or stop that mirror for good and "
                    f"delete {topic!r}"
                )
        for topic, state in sorted(into_source.items()):
            if state.source_cluster == target_cluster and _writes(state, name, position.source_id):
                found[name.topic] = (
                    f"topic {name.topic!r} of the source is mirrored from the target, by the mirror that has {topic!r} "
                    f"on the source: records would go in circles; leave it out with --exclude, or stop that mirror for "
                    f"good and delete {topic!r}"
                )
    return found


def _writes(state: MirrorState, name: TopicPartition, topic_id: str) -> bool:
    position = state.positions.get(name)
    return position is not None and position.target_id == topic_id


__all__ = ["clashing", "holding_others", "mirrors_into"]
