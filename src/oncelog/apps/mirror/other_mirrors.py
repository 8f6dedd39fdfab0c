"""Detects other mirrors between the two clusters, so that no two mirrors write the same records, and no records are
copied in circles.

Called by :mod:`oncelog.apps.mirror.run` when the mirroring of a topic begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oncelog.apps.mirror.mirrored_topics import MAP_PREFIX
from oncelog.apps.mirror.offset_map import MirroredPosition, MirrorState, is_replaced
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import OutcomeReader, RecordOutcome
from oncelog.client.aio.offset_lookups import EARLIEST, LATEST
from oncelog.types import TopicPartition

_RECORDED = (RecordOutcome.COMMITTED, RecordOutcome.OPEN, RecordOutcome.ENDED, RecordOutcome.NOT_TRANSACTIONAL)


async def mirrors_into(admin: Admin, *, but_for: str = "") -> dict[str, MirrorState]:
    """The recorded state of each mirror that writes into a cluster, by the name of its map topic; includes records of
    open transactions.

    :param but_for: a map topic to leave out.
    """
    return {
        topic: await _recorded(admin, TopicPartition(topic, 0))
        for topic in await admin.list_topics()
        if topic.startswith(MAP_PREFIX) and topic != but_for
    }


async def _recorded(admin: Admin, name: TopicPartition) -> MirrorState:
    state = MirrorState()
    reader = OutcomeReader(admin, name, (await admin.list_offsets({name: EARLIEST}))[name].offset)
    while (batches := await reader.step_batches()) or reader.position < reader.high_watermark:
        for batch, outcome in batches:
            if outcome in _RECORDED:
                for record in batch.records:
                    state.apply(record.key, record.value)
    return state


async def holding_others(admin: Admin, names: Iterable[TopicPartition]) -> dict[str, str]:
    """Those topics in ``names`` that already contain records on the target, each with an explanation of what to do."""
    asked = sorted(names)
    begins = await admin.list_offsets(dict.fromkeys(asked, EARLIEST))
    ends = await admin.list_offsets(dict.fromkeys(asked, LATEST))
    return {
        name.topic: f"{name} on the target contains records that this mirror did not write: delete the topic there, "
        "leave it out with --exclude, or append to them with --into-existing"
        for name in reversed(asked)
        if ends[name].offset > begins[name].offset
    }


def clashing(
    new: Mapping[TopicPartition, MirroredPosition],
    target_cluster: str,
    into_target: Mapping[str, MirrorState],
    into_source: Mapping[str, MirrorState],
) -> dict[str, str]:
    """The topics in ``new`` that another mirror also writes on the target, or copies from the target back to the
    source; each with the reason."""
    found: dict[str, str] = {}
    for name, position in sorted(new.items()):
        for topic, state in sorted(into_target.items()):
            if position.target_id and _writes(state, name, position.target_id):
                found[name.topic] = (
                    f"topic {name.topic!r} of the target is also written by the mirror whose map is {topic!r} there: "
                    f"each record would be stored twice; leave it out with --exclude, or stop that mirror for good and "
                    f"delete {topic!r}"
                )
        for topic, state in sorted(into_source.items()):
            if state.source_cluster == target_cluster and _writes(state, name, position.source_id):
                found[name.topic] = (
                    f"topic {name.topic!r} of the source is mirrored from the target, by the mirror whose map is "
                    f"{topic!r} on the source: records would be copied in circles; leave it out with --exclude, or "
                    f"stop that mirror for good and delete {topic!r}"
                )
    return found


def _writes(state: MirrorState, name: TopicPartition, topic_id: str) -> bool:
    position = state.positions.get(name)
    return position is not None and bool(position.target_id) and not is_replaced(position.target_id, topic_id)


__all__ = ["clashing", "holding_others", "mirrors_into"]
