"""Reads the target of a request: topics, transactional ids, groups. Called by the rules, only for APIs with a fault.

Each API has the fields listed here and no others, so a fault that could never match is refused when it is created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import ProtocolError
from oncelog.protocol.framing import RequestHeader
from oncelog.protocol.messages import request_type
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.protocol.wire import Message

Topics = Iterable[tuple[str, int | None]]
NameOf = Callable[[bytes], str]
"""Returns the name of the topic with an id; empty if the id was never seen."""


class TargetReader(NamedTuple):
    """Functions that read the target of an API's requests; None for a part that these requests never contain."""

    topics: Callable[[Any, NameOf], Topics] | None = None
    transactional_ids: Callable[[Any], Iterable[str | None]] | None = None
    groups: Callable[[Any], Iterable[str]] | None = None


class RequestTarget(NamedTuple):
    """The target of one request: topics with partitions, transactional ids, and groups."""

    topics: tuple[tuple[str, int | None], ...]
    transactional_ids: tuple[str, ...]
    groups: tuple[str, ...]


def _named(name: str, topic_id: bytes, name_of: NameOf) -> str:
    return name or (name_of(topic_id) if topic_id != ZERO_UUID else "")


def _produce(request: Any, name_of: NameOf) -> Iterator[tuple[str, int | None]]:
    for topic in request.topic_data:
        for data in topic.partition_data:
            yield _named(topic.name, topic.topic_id, name_of), data.index


def _shared(request: Any, name_of: NameOf) -> Iterator[tuple[str, int | None]]:
    for topic in request.topics:
        for partition in topic.partitions:
            yield name_of(topic.topic_id), partition.partition_index


def _of_share_groups(request: Any, name_of: NameOf) -> Iterator[tuple[str, int | None]]:
    for group in request.groups:
        for topic in group.topics or ():
            for index in topic.partitions:
                yield topic.topic_name, index


def _forgotten(request: Any, name_of: NameOf) -> Iterator[tuple[str, int | None]]:
    for topic in request.topics:
        yield topic.topic_name, None


def _fetch(request: Any, name_of: NameOf) -> Iterator[tuple[str, int | None]]:
    for topic in request.topics:
        for data in topic.partitions:
            yield _named(topic.topic, topic.topic_id, name_of), data.partition


def _partitions(index: str, topic_name: str = "name") -> Callable[[Any, NameOf], Topics]:
    def read(request: Any, name_of: NameOf) -> Iterator[tuple[str, int | None]]:
        for topic in request.topics or ():
            for partition in topic.partitions:
                yield getattr(topic, topic_name), getattr(partition, index)

    return read


def _offset_commit(request: Any, name_of: NameOf) -> Iterator[tuple[str, int | None]]:
    for topic in request.topics:
        for partition in topic.partitions:
            yield _named(topic.name, topic.topic_id, name_of), partition.partition_index


def _offset_fetch(request: Any, name_of: NameOf) -> Iterator[tuple[str, int | None]]:
    for topic in request.topics or ():
        for index in topic.partition_indexes:
            yield topic.name, index
    for group in request.groups:
        for topic in group.topics or ():
            for index in topic.partition_indexes:
                yield _named(topic.name, topic.topic_id, name_of), index


def _add_partitions(request: Any, name_of: NameOf) -> Iterator[tuple[str, int | None]]:
    lists = [request.v3_and_below_topics, *(transaction.topics for transaction in request.transactions)]
    for topics in lists:
        for topic in topics:
            for index in topic.partitions:
                yield topic.name, index


def _names(request: Any, name_of: NameOf) -> Iterator[tuple[str, int | None]]:
    for topic in request.topics or ():
        yield _named(topic.name or "", getattr(topic, "topic_id", ZERO_UUID), name_of), None


def _deleted(request: Any, name_of: NameOf) -> Iterator[tuple[str, int | None]]:
    yield from ((name, None) for name in request.topic_names)
    for topic in request.topics:
        yield _named(topic.name or "", topic.topic_id, name_of), None


def _one_transactional_id(request: Any) -> tuple[str | None]:
    return (request.transactional_id,)


def _added_transactional_ids(request: Any) -> Iterator[str]:
    yield request.v3_and_below_transactional_id
    yield from (transaction.transactional_id for transaction in request.transactions)


def _one_group(request: Any) -> tuple[str]:
    return (request.group_id,)


def _coordinator_keys(kind: int) -> Callable[[Any], Iterable[str]]:
    def read(request: Any) -> Iterable[str]:
        return [request.key, *request.coordinator_keys] if request.key_type == kind else ()

    return read


READERS: Final[Mapping[int, TargetReader]] = {
    ApiKey.PRODUCE: TargetReader(_produce, _one_transactional_id),
    ApiKey.FETCH: TargetReader(_fetch),
    ApiKey.LIST_OFFSETS: TargetReader(_partitions("partition_index")),
    ApiKey.METADATA: TargetReader(_names),
    ApiKey.OFFSET_COMMIT: TargetReader(_offset_commit, groups=_one_group),
    ApiKey.OFFSET_FETCH: TargetReader(
        _offset_fetch, groups=lambda request: [request.group_id, *(group.group_id for group in request.groups)]
    ),
    ApiKey.FIND_COORDINATOR: TargetReader(transactional_ids=_coordinator_keys(1), groups=_coordinator_keys(0)),
    ApiKey.JOIN_GROUP: TargetReader(groups=_one_group),
    ApiKey.HEARTBEAT: TargetReader(groups=_one_group),
    ApiKey.LEAVE_GROUP: TargetReader(groups=_one_group),
    ApiKey.SYNC_GROUP: TargetReader(groups=_one_group),
    ApiKey.DESCRIBE_GROUPS: TargetReader(groups=lambda request: request.groups),
    ApiKey.DELETE_GROUPS: TargetReader(groups=lambda request: request.groups_names),
    ApiKey.CREATE_TOPICS: TargetReader(_names),
    ApiKey.DELETE_TOPICS: TargetReader(_deleted),
    ApiKey.DELETE_RECORDS: TargetReader(_partitions("partition_index")),
    ApiKey.INIT_PRODUCER_ID: TargetReader(transactional_ids=_one_transactional_id),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: TargetReader(_partitions("partition", "topic")),
    ApiKey.ADD_PARTITIONS_TO_TXN: TargetReader(_add_partitions, _added_transactional_ids),
    ApiKey.ADD_OFFSETS_TO_TXN: TargetReader(transactional_ids=_one_transactional_id, groups=_one_group),
    ApiKey.END_TXN: TargetReader(transactional_ids=_one_transactional_id),
    ApiKey.TXN_OFFSET_COMMIT: TargetReader(_offset_commit, _one_transactional_id, _one_group),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: TargetReader(groups=_one_group),
    ApiKey.CONSUMER_GROUP_DESCRIBE: TargetReader(groups=lambda request: request.group_ids),
    ApiKey.SHARE_GROUP_HEARTBEAT: TargetReader(groups=_one_group),
    ApiKey.SHARE_GROUP_DESCRIBE: TargetReader(groups=lambda request: request.group_ids),
    ApiKey.SHARE_FETCH: TargetReader(_shared, groups=_one_group),
    ApiKey.SHARE_ACKNOWLEDGE: TargetReader(_shared, groups=_one_group),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: TargetReader(
        _of_share_groups, groups=lambda request: [group.group_id for group in request.groups]
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: TargetReader(_partitions("partition_index", "topic_name"), groups=_one_group),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: TargetReader(_forgotten, groups=_one_group),
    ApiKey.OFFSET_DELETE: TargetReader(_partitions("partition_index"), groups=_one_group),
}
"""The readers of each API whose requests name topics, transactional ids or groups; other requests concern only their
client."""


def decoded(frame: bytes | memoryview, header: RequestHeader, body: int) -> Any:
    """Decode the request in a frame whose body begins at ``body``; None if that fails, because the broker will refuse
    the request."""
    if not header.is_known:
        return None
    try:
        return request_type(header.api_key).decode(frame, header.api_version, body)
    except ProtocolError:
        return None


def target_of(api_key: int, request: Message, name_of: NameOf) -> RequestTarget:
    reader = READERS.get(api_key, TargetReader())
    return RequestTarget(
        tuple(reader.topics(request, name_of)) if reader.topics else (),
        tuple(name for name in reader.transactional_ids(request) if name) if reader.transactional_ids else (),
        tuple(name for name in reader.groups(request) if name) if reader.groups else (),
    )
