"""Functions common to the APIs of share groups: they check callers, look up partitions, apply acknowledgements, and
decide whether offsets may be changed.

Source: Kafka's ``KafkaApis.handleShareFetchRequest`` and ``handleShareAcknowledgeRequest`` (4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from oncelog.broker.coordinator.share.share_requests import ShareRefused
from oncelog.broker.coordinator.share.state_rules import ShareKey
from oncelog.broker.core.apis.data.fetch_reading import SENT_WITH_LEADER
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.broker.core.security.refusals import MESSAGES
from oncelog.broker.core.sharing.share_partition import AckBatch, AcknowledgeType, AckRefusal
from oncelog.broker.core.sharing.share_sessions import Place, SessionOwner
from oncelog.broker.metadata.features import SHARE_VERSION
from oncelog.errors import NONE, Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated import share_acknowledge_response, share_fetch_response
from oncelog.protocol.generated.share_acknowledge_response import ShareAcknowledgeResponse
from oncelog.protocol.generated.share_fetch_response import ShareFetchResponse
from oncelog.runtime.deferred import Deferred, gather
from oncelog.types import SHARE_GROUP_STATE_TOPIC, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SharePorts
    from oncelog.broker.core.storage.partition import Partition
    from oncelog.protocol.generated.share_acknowledge_request import ShareAcknowledgeRequest
    from oncelog.protocol.generated.share_fetch_request import ShareFetchRequest

T = TypeVar("T")
Response = TypeVar("Response", ShareFetchResponse, ShareAcknowledgeResponse)
RENEWALS_FROM = 2
MAX_MEMBER_ID = 36
"""The maximum length of a member id: that of a UUID, which members generate themselves."""
Acks = Mapping[Place, Sequence[AckBatch]]


class AckedBatch(Protocol):
    """A batch of acknowledgements in a ShareFetch or ShareAcknowledge request."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


class AckResult(NamedTuple):
    """The outcome of the acknowledgements of one partition."""

    place: Place
    error: Error
    message: str | None


def refused(ports: SharePorts, group_id: str | None, member_id: str | None) -> Error:
    """The error that refuses the request before any other check, or NONE."""
    if not ports.metadata.finalized_features.level(SHARE_VERSION):
        return Error.UNSUPPORTED_VERSION
    return NONE if group_id and member_id and len(member_id) <= MAX_MEMBER_ID else Error.INVALID_REQUEST


def with_states(ports: SharePorts, context: RequestContext, then: Callable[[int], Deferred[T]]) -> Deferred[T]:
    """Call ``then`` with the time, after creating the topic of share group states if it does not exist."""
    if ports.metadata.topic(SHARE_GROUP_STATE_TOPIC) is not None:
        return then(context.now_ms)

    def creating() -> Work[None]:
        yield from ports.topics.ensuring_internal(SHARE_GROUP_STATE_TOPIC, context.now_ms)

    return ports.tasks.begin(creating(), context).flat_map(lambda _: then(ports.now_ms))


def invalid(batches: Iterable[AckedBatch], *, may_renew: bool) -> str | None:
    """The message for invalid acknowledgements of one partition, else None: they must be in order and have a type. A
    batch that begins at the last offset of the previous one is refused by the share partition, with another error."""
    last = -1
    highest = AcknowledgeType.RENEW if may_renew else AcknowledgeType.REJECT
    for batch in batches:
        size = batch.last_offset - batch.first_offset + 1
        if size < 1:
            return f"First offset {batch.first_offset} must not be greater than last offset {batch.last_offset}."
        if batch.first_offset < last:
            return f"The offsets from {batch.first_offset} overlap with those before them."
        if not batch.acknowledge_types:
            return "Acknowledge types are empty."
        if len(batch.acknowledge_types) not in (1, size):
            return f"{len(batch.acknowledge_types)} acknowledge types for {size} offsets: give one, or one for each."
        if not all(0 <= kind <= highest for kind in batch.acknowledge_types):
            return f"Acknowledge types must be between 0 and {int(highest)}."
        last = batch.last_offset
    return None


def acknowledgements(
    context: RequestContext, request: ShareFetchRequest | ShareAcknowledgeRequest
) -> tuple[list[tuple[Place, list[AckBatch]]], dict[Place, str]]:
    """The acknowledgements of each partition in a ShareFetch or ShareAcknowledge request, and the messages for
    partitions whose acknowledgements are invalid."""
    found: list[tuple[Place, list[AckBatch]]] = []
    wrong: dict[Place, str] = {}
    for topic in request.topics:
        for partition in topic.partitions:
            place, batches = (topic.topic_id, partition.partition_index), partition.acknowledgement_batches
            taken = [AckBatch(batch.first_offset, batch.last_offset, batch.acknowledge_types) for batch in batches]
            found.append((place, taken))
            reason = invalid(batches, may_renew=renews(context, request))
            if reason is not None:
                wrong[place] = reason
    return found, wrong


def renews(context: RequestContext, request: ShareFetchRequest | ShareAcknowledgeRequest) -> bool:
    """Whether the request may renew locks (KIP-1222)."""
    return context.api_version >= RENEWALS_FROM and request.is_renew_ack


def change_refused(
    ports: SharePorts, context: RequestContext, group_id: str, *, may_be_new: bool = False
) -> ShareRefused | None:
    """The error, with its message, if the caller may not change the offsets of a group; else None."""
    if not ports.metadata.finalized_features.level(SHARE_VERSION):
        return ShareRefused(Error.UNSUPPORTED_VERSION)
    return ports.groups.share.may_change(group_id, context.session.node_id, may_be_new=may_be_new)


def partition_at(ports: SharePorts, context: RequestContext, place: Place) -> Partition | Error:
    """The partition; an error if it does not exist, the caller may not read it, or the node that received the request
    does not lead it."""
    topic_id, index = place
    info = ports.metadata.topic_by_id(topic_id)
    if info is None:
        return Error.UNKNOWN_TOPIC_ID
    if not allows(ports, context, Operation.READ, TOPIC, info.name):
        return Error.TOPIC_AUTHORIZATION_FAILED
    partition = ports.partition(TopicPartition(info.name, index))
    if partition is None or partition.topic_id != topic_id:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if not partition.led_by(context.session.node_id):
        return Error.NOT_LEADER_OR_FOLLOWER
    return partition


def acknowledge(
    ports: SharePorts,
    context: RequestContext,
    group_id: str,
    member_id: str,
    acks: Acks,
    wrong: Mapping[Place, str],
) -> Deferred[list[AckResult]]:
    """Apply acknowledgements to each partition; ``wrong`` has the messages for partitions with invalid
    acknowledgements."""

    def one(place: Place, batches: Sequence[AckBatch]) -> Deferred[AckResult]:
        if place in wrong:
            return Deferred.of(AckResult(place, Error.INVALID_REQUEST, wrong[place]))
        partition = partition_at(ports, context, place)
        if isinstance(partition, Error) and partition is not Error.NOT_LEADER_OR_FOLLOWER:
            return Deferred.of(AckResult(place, partition, None))
        held = ports.sharing.held(ShareKey(group_id, *place)) if not isinstance(partition, Error) else None
        if held is None:  # no record of the partition is acquired at this node
            error = Error.UNKNOWN_TOPIC_OR_PARTITION
            return Deferred.of(AckResult(place, error, MESSAGES.get(error)))
        acked = ports.sharing.acknowledge(held, member_id, batches, context.now_ms)
        return acked.map(lambda refusal: _result(place, refusal))

    if acks:
        ports.sharing.counts.acknowledge_requests += 1

    def counted(results: list[AckResult]) -> list[AckResult]:
        ports.sharing.counts.failed_acknowledgements += any(result.error is not NONE for result in results)
        return results

    return gather([one(place, batches) for place, batches in acks.items()]).map(counted)


def _result(place: Place, refusal: AckRefusal | None) -> AckResult:
    return AckResult(place, NONE, None) if refusal is None else AckResult(place, refusal.error, refusal.message or None)


def close(ports: SharePorts, context: RequestContext, group_id: str, member_id: str) -> Deferred[None]:
    """End the share session at its last request: records that are still acquired become available again."""
    released = ports.sharing.close_session(SessionOwner(group_id, member_id, context.session.node_id), context.now_ms)
    return gather([done for _, done in released]).map(lambda _: None)


def with_leaders(ports: SharePorts, context: RequestContext, response: Response) -> Response:
    """The response with the leaders of the refused partitions and their addresses (KIP-951), so that the member need
    not request metadata. As in Kafka's ``processShareFetchResponse`` and ``processShareAcknowledgeResponse``."""
    kinds: Any = share_fetch_response if isinstance(response, ShareFetchResponse) else share_acknowledge_response
    leaders: set[int] = set()
    for topic in response.responses:
        for data in topic.partitions:
            if data.error_code in SENT_WITH_LEADER:
                leader_id, epoch = _leader(ports, context, (topic.topic_id, data.partition_index))
                data.current_leader = kinds.LeaderIdAndEpoch(leader_id, epoch)
                leaders.add(leader_id)
    if leaders:
        nodes, _ = ports.nodes.seen_by(context)
        response.node_endpoints = [kinds.NodeEndpoint(*node) for node in nodes if node.node_id in leaders]
    return response


def _leader(ports: SharePorts, context: RequestContext, place: Place) -> tuple[int, int]:
    """The leader's node id and leader epoch; both -1 if the partition does not exist."""
    info = ports.metadata.topic_by_id(place[0])
    partition = ports.partition(TopicPartition(info.name, place[1])) if info is not None else None
    if partition is None:
        return -1, -1
    return (ports.node.node_id if partition.replicas is None else partition.replicas.leader), partition.leader_epoch
