"""Chooses the topics of the source to mirror, and creates them on the target with their partitions and settings.

Called by :mod:`oncelog.apps.mirror.run`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from oncelog.client.aio.admin.admin import Admin, ConfigResource, ConfigResourceType, NewTopic
from oncelog.client.core.admin.admin_types import TopicDescription
from oncelog.client.core.client_errors import TopicAlreadyExistsError
from oncelog.errors import ConfigError

MAP_PREFIX = "oncelog-mirror."
"""The prefix of the names of mirrors' own topics."""
NOT_TAKEN_ALONG = (
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "local.retention.",
    "message.timestamp.",
    "min.insync.replicas",
    "remote.",
    "unclean.leader.election.enable",
)
"""Beginnings of the names of topic settings that are not mirrored: they depend on the cluster, or would change the
timestamps of mirrored records."""
_TYPE = "message.timestamp.type"
_LIMITS = ("message.timestamp.after.max.ms", "message.timestamp.before.max.ms")
_NO_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Selection:
    """The choice of topics: those with one of the names, and those whose whole name matches the expression; all topics
    if neither is given. Internal and excluded topics are never chosen."""

    names: tuple[str, ...] = ()
    matching: str | None = None
    exclude: tuple[str, ...] = ()

    def check(self) -> None:
        """Check the expressions.

        :raises ConfigError: an expression is not valid.
        """
        for expression in (self.matching, *self.exclude):
            try:
                re.compile(expression or "")
            except re.error as error:
                raise ConfigError(f"{expression!r} is not a regular expression: {error}") from None

    def takes(self, topic: str) -> bool:
        if topic.startswith(("__", MAP_PREFIX)) or any(re.fullmatch(each, topic) for each in self.exclude):
            return False
        if self.names or self.matching:
            return topic in self.names or (self.matching is not None and bool(re.fullmatch(self.matching, topic)))
        return True

    def chosen(self, topics: Iterable[TopicDescription]) -> dict[str, TopicDescription]:
        return {topic.name: topic for topic in topics if not topic.internal and self.takes(topic.name)}


async def settings_of(admin: Admin, topics: Sequence[str]) -> dict[str, dict[str, str]]:
    """The settings of each topic that were set on the topic itself, without those that a mirror does not copy."""
    if not topics:
        return {}
    found = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in topics])
    return {
        resource.name: {
            name: entry.value
            for name, entry in sorted(entries.items())
            if entry.source == "DYNAMIC_TOPIC_CONFIG"
            and entry.value is not None
            and not name.startswith(NOT_TAKEN_ALONG)
        }
        for resource, entries in found.items()
    }


async def make_alike(source: Admin, target: Admin, topics: Mapping[str, TopicDescription]) -> None:
    """Create each of these topics on the target with the source's partitions and settings; additional partitions on
    the target are kept.
    """
    there = {topic.name: topic for topic in await target.describe_topics()}
    wanted = await settings_of(source, sorted(topics))
    for name, topic in sorted(topics.items()):
        count = len(topic.partitions)
        if name not in there:
            # another client created the topic, or an earlier attempt whose answer was lost
            with suppress(TopicAlreadyExistsError):
                await target.create_topics([NewTopic(name, count, -1, {}, wanted[name])])
        elif len(there[name].partitions) < count:
            await target.create_partitions({name: count})
    present = await settings_of(target, sorted(topics))
    changes: dict[ConfigResource, dict[str, str | None]] = {}
    for name in sorted(topics):
        difference: dict[str, str | None] = dict(wanted[name].items() - present[name].items())
        difference.update(dict.fromkeys(present[name].keys() - wanted[name].keys()))
        if difference:
            changes[ConfigResource(ConfigResourceType.TOPIC, name)] = difference
    here, there_now = await _of_timestamps(source, sorted(topics)), await _of_timestamps(target, sorted(topics))
    for name in sorted(topics):
        if dated := keeps_timestamps(here[name], there_now[name]):
            changes.setdefault(ConfigResource(ConfigResourceType.TOPIC, name), {}).update(dated)
    if changes:
        await target.alter_configs(changes)


async def _of_timestamps(admin: Admin, topics: Sequence[str]) -> dict[str, dict[str, str]]:
    """The timestamp settings in force for each topic: the type and the limits; clusters before Kafka 3.6 have no such
    limits."""
    if not topics:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in topics]
    found = await admin.describe_configs(resources, names=[_TYPE, *_LIMITS])
    return {
        resource.name: {name: entry.value for name, entry in entries.items() if entry.value is not None}
        for resource, entries in found.items()
    }


def keeps_timestamps(source: Mapping[str, str], target: Mapping[str, str]) -> dict[str, str]:
    """The settings to change on the target's topic, so that it accepts each record of the source's topic with its
    timestamp."""
    changes = {} if target[_TYPE] == "CreateTime" else {_TYPE: "CreateTime"}
    for name in _LIMITS:
        allowed = int(source.get(name, _NO_LIMIT))
        if int(target.get(name, _NO_LIMIT)) < allowed:
            changes[name] = str(allowed)
    return changes


async def largest_batches(admin: Admin, topics: Sequence[str]) -> dict[str, int]:
    """The largest record batch that each topic accepts (``max.message.bytes``), in bytes."""
    if not topics:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in topics]
    found = await admin.describe_configs(resources, names=["max.message.bytes"])
    return {resource.name: int(entries["max.message.bytes"].value or 0) for resource, entries in found.items()}


__all__ = ["MAP_PREFIX", "NOT_TAKEN_ALONG", "Selection", "largest_batches", "make_alike", "settings_of"]
