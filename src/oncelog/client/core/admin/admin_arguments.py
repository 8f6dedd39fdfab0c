"""Arguments of the admin client: topics, counts, settings, ACLs. Checked before anything is sent.

Called by the parts of the asyncio admin client, on which the blocking one and aiokafka's are built. See ``arguments``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from oncelog.client.core import arguments
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType, NewTopic
from oncelog.client.core.structs import TopicPartition
from oncelog.protocol.acls import Acl, AclFilter

_RIGHTS = ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission")
_TEXTS = frozenset({"resource_name", "principal", "host"})
_OF_ONE_NODE = frozenset({ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER})


def new_topics(topics: Iterable[NewTopic]) -> list[NewTopic]:
    """Topics to create."""
    found = arguments.listed(topics, NewTopic)
    for topic in found:
        name = arguments.name(topic.name, "topics")
        arguments.whole(topic.num_partitions, f"num_partitions of topic {name!r}", 32)
        arguments.whole(topic.replication_factor, f"replication_factor of topic {name!r}", 16)
        for number, nodes in arguments.mapping(topic.replica_assignments, "{partition: [node, ...]}").items():
            arguments.whole(number, f"the partition in replica_assignments of topic {name!r}", 32)
            arguments.wholes(nodes, "nodes", 32)
        _settings(topic.topic_configs)
    return found


def counts(given: Mapping[str, int]) -> dict[str, int]:
    """How many partitions each topic is to have."""
    found = arguments.mapping(given, "{topic: number of partitions}").items()
    return {
        arguments.name(topic, "topics"): arguments.whole(count, f"the number of partitions of topic {topic!r}", 32)
        for topic, count in found
    }


def assignments(given: Mapping[str, Sequence[Sequence[int]]]) -> dict[str, list[list[int]]]:
    """The nodes that are to hold each topic's new partitions."""
    found: dict[str, list[list[int]]] = {}
    for topic, partitions in arguments.mapping(given, "{topic: [[node, ...], ...]}").items():
        if not isinstance(partitions, list | tuple):
            raise TypeError(f"the new partitions of topic {topic!r} are lists of nodes, not {partitions!r}")
        found[arguments.name(topic, "topics")] = [arguments.wholes(nodes, "nodes", 32) for nodes in partitions]
    return found


def reassignments(
    given: Mapping[TopicPartition, Sequence[int] | None],
) -> dict[TopicPartition, list[int] | None]:
    """The nodes that are to hold each partition; None cancels a move."""
    found = arguments.by_partition(given, "lists of nodes")
    return {name: None if nodes is None else arguments.wholes(nodes, "nodes", 32) for name, nodes in found.items()}


def resources(given: Iterable[ConfigResource]) -> list[ConfigResource]:
    """Resources whose settings are requested."""
    found = arguments.listed(given, ConfigResource)
    for item in found:
        try:
            ConfigResourceType(item.type)
        except ValueError:
            known = ", ".join(f"ConfigResourceType.{kind.name}" for kind in ConfigResourceType)
            raise ValueError(f"the type of a ConfigResource is one of {known}, not {item.type!r}") from None
        arguments.text(item.name, "the name of a ConfigResource")
        if item.type in _OF_ONE_NODE and item.name and not (item.name.isascii() and item.name.isdigit()):
            raise ValueError(f"a broker is named by its number, or by '' for all of them, not by {item.name!r}")
    return found


def changes(
    given: Mapping[ConfigResource, Mapping[str, str | None]],
) -> dict[ConfigResource, Mapping[str, str | None]]:
    """Settings by resource; None restores the default."""
    form = "{ConfigResource(type, name): {property: value}}"
    found = dict(arguments.mapping(given, form))
    resources(found)
    for settings in found.values():
        _settings(settings)
    return found


def _settings(given: Mapping[str, str | None]) -> None:
    for name, value in arguments.mapping(given, "{property: value}").items():
        arguments.name(name, "properties")
        if value is not None:
            arguments.text(value, f"the value of property {name!r}")


def acls(given: Iterable[Acl]) -> list[Acl]:
    """The access control entries as a list, checked."""
    found = arguments.listed(given, Acl)
    for item in found:
        _rights(item, optional=False)
    return found


def acl_filter(given: AclFilter) -> AclFilter:
    """A filter for access control entries."""
    if not isinstance(given, AclFilter):
        raise TypeError(arguments.misfit(AclFilter, given, "one filter of the class {wanted} is needed, not {given}"))
    _rights(given, optional=True)
    return given


def _rights(item: Acl | AclFilter, *, optional: bool) -> None:
    for field, value in zip(_RIGHTS, item, strict=True):
        if field not in _TEXTS:
            arguments.whole(value, f"{field} of an ACL", 8)
        elif value is not None or not optional:
            arguments.text(value, f"{field} of an ACL")


__all__ = ["acl_filter", "acls", "assignments", "changes", "counts", "new_topics", "reassignments", "resources"]
