"""ShareFetch (key 78), versions 1-2: acquire records of a share group's partitions, and acknowledge records acquired
earlier (KIP-932).

Version 2 adds the acquire mode (KIP-1206) and renewals (KIP-1222). The request opens, continues or ends a share
session; its acknowledgements are applied first. It waits, as Fetch does, until there is something to acquire or
``max_wait_ms`` is over. Source: Kafka's ``KafkaApis.handleShareFetchRequest`` and ``DelayedShareFetch``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oncelog.broker.coordinator.share.state_rules import ShareKey
from oncelog.broker.core.apis.share import share_requests
from oncelog.broker.core.apis.share.share_requests import AckResult
from oncelog.broker.core.fetching.purgatory import ParkedFetch
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.refusals import MESSAGES
from oncelog.broker.core.sharing.share_partitions import Held, ShareDelivery
from oncelog.broker.core.sharing.share_sessions import FINAL_EPOCH, INITIAL_EPOCH, Place, SessionOwner, ShareSession
from oncelog.errors import NONE, Error
from oncelog.protocol.generated import share_fetch_response as answers
from oncelog.protocol.generated.share_fetch_request import ShareFetchRequest
from oncelog.protocol.generated.share_fetch_response import ShareFetchResponse
from oncelog.runtime.deferred import Deferred
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import SharePorts

RECORD_LIMIT = 1
"""The acquire mode that limits a fetch to exactly ``max_records`` records."""
WITHOUT_MESSAGE = frozenset(
    {Error.UNKNOWN_TOPIC_ID, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.TOPIC_AUTHORIZATION_FAILED}
)
"""Errors of partitions that are answered without a message: Kafka finds them before it looks for the share
partition."""


def handle(ports: SharePorts, context: RequestContext, request: ShareFetchRequest) -> Deferred[ShareFetchResponse]:
    group_id, member_id = request.group_id or "", request.member_id or ""
    error = share_requests.refused(ports, group_id, member_id)
    if error is not NONE:
        return _refused(error)
    named, wrong = share_requests.acknowledgements(context, request)
    acks = {place: batches for place, batches in named if batches}
    fetches = request.max_records > 0 and request.max_bytes > 0
    wants = request.max_records, request.max_bytes, request.max_wait_ms, request.min_bytes
    if share_requests.renews(context, request) and any(wants):
        return _refused(Error.INVALID_REQUEST)
    member = SessionOwner(group_id, member_id, context.session.node_id)
    session = _session(ports, context, request, member, [place for place, _ in named], has_acks=bool(acks))
    if isinstance(session, Error):
        return _refused(session)
    ports.sharing.counts.fetch_requests += 1
    acknowledged = share_requests.acknowledge(ports, context, group_id, member_id, acks, wrong)
    if request.share_session_epoch == FINAL_EPOCH:
        return acknowledged.flat_map(
            lambda results: share_requests.close(ports, context, group_id, member_id).map(
                lambda _: _Fetch(ports, context, request, session, results).answer({}, is_read=False)
            )
        )
    return acknowledged.flat_map(lambda results: _Fetch(ports, context, request, session, results).begin(fetches))


def _session(
    ports: SharePorts,
    context: RequestContext,
    request: ShareFetchRequest,
    member: SessionOwner,
    places: Sequence[Place],
    *,
    has_acks: bool,
) -> ShareSession | Error:
    """The share session that the request opens or continues, or an error (``SharePartitionManager.newContext``)."""
    sessions = ports.sharing.sessions
    if request.share_session_epoch == INITIAL_EPOCH:
        if has_acks:
            return Error.INVALID_REQUEST
        return sessions.open(member, context.channel.connection_id, places, ports.sharing.max_sessions)
    session = sessions.resume(member, request.share_session_epoch)
    if isinstance(session, Error) or request.share_session_epoch == FINAL_EPOCH:
        return session
    for place in places:
        session.partitions.setdefault(place, False)
    for topic in request.forgotten_topics_data:
        for index in topic.partitions:
            session.partitions.pop((topic.topic_id, index), None)
    return session


class _Fetch(ParkedFetch[ShareFetchResponse]):
    """One ShareFetch request, after its acknowledgements were applied."""

    def __init__(
        self,
        ports: SharePorts,
        context: RequestContext,
        request: ShareFetchRequest,
        session: ShareSession,
        acknowledged: Sequence[AckResult],
    ) -> None:
        super().__init__(context.channel)
        self._ports = ports
        self._context = context
        self._request = request
        self._session = session
        self._acknowledged = acknowledged
        self._watched: dict[TopicPartition, None] = {}
        self._new: set[Place] = set()
        """Share partitions that were not in use when the request arrived."""
        self._read: set[Place] = set()
        """Share partitions whose log was read; the others have as many records in flight as they may have."""

    def begin(self, fetches: bool) -> Deferred[ShareFetchResponse]:
        if not fetches:
            return Deferred.of(self.answer({}, is_read=False))
        found = self._acquire(at_end=self._request.max_wait_ms <= 0)
        if found is not None:
            return Deferred.of(self.answer(found))
        self._ports.fetches.park(self, list(self._watched), self._ports.now_ms + self._request.max_wait_ms)
        return self

    def attempt(self, woken: TopicPartition | None) -> bool:
        try:
            found = self._acquire(at_end=woken is None)
            if found is None:
                return False
            self.resolve(self.answer(found))
        except Exception as error:  # noqa: BLE001 - a producer's request may have woken this
            self.fail(error)
        return True

    def _acquire(self, *, at_end: bool) -> dict[Place, ShareDelivery | Error] | None:
        """The acquired records of each partition; None if there are none yet and the request may still wait. Nothing is
        acquired for a session that was replaced or has ended. Of share partitions that were not in use, only one
        delivers records: the others deliver with the next request."""
        sharing, request = self._ports.sharing, self._request
        member_id = self._session.member.member_id
        found: dict[Place, ShareDelivery | Error] = {}
        if sharing.sessions.of(self._session.member) is not self._session:
            return found
        usable = self._usable(found)
        if not at_end and not found and request.min_bytes > 1:
            size = sum(sharing.available_bytes(held, request.min_bytes) for held in usable.values())
            if size < request.min_bytes:
                return None
        records, size_bytes = request.max_records, request.max_bytes
        is_strict = request.share_acquire_mode == RECORD_LIMIT
        has_new = False
        for place, held in usable.items():
            if records <= 0 or size_bytes <= 0:
                break
            if has_new and place in self._new:
                continue
            if sharing.may_deliver(held):
                self._read.add(place)
            delivery = sharing.deliver(held, member_id, records, size_bytes, self._ports.now_ms, is_strict=is_strict)
            if isinstance(delivery, Error):
                found[place] = delivery
            elif delivery.acquired:
                found[place] = delivery
                has_new = has_new or place in self._new
                records -= sum(each.last - each.first + 1 for each in delivery.acquired)
                size_bytes -= len(delivery.records)
        is_enough = found or at_end or not self._session.partitions
        return found if is_enough else None

    def _usable(self, refused: dict[Place, ShareDelivery | Error]) -> dict[Place, Held]:
        """The session's share partitions, except those whose state is still being read, and those that are refused."""
        usable: dict[Place, Held] = {}
        for place in self._session.rotated():
            held = self._open(place, self._session.member.group_id)
            if isinstance(held, Error):
                refused[place] = held
            elif held is not None:
                usable[place] = held
        return usable

    def _open(self, place: Place, group_id: str) -> Held | Error | None:
        partition = share_requests.partition_at(self._ports, self._context, place)
        if isinstance(partition, Error):
            return partition
        self._watched[partition.topic_partition] = None
        sharing, key = self._ports.sharing, ShareKey(group_id, *place)
        if sharing.held(key) is None:
            self._new.add(place)
        return sharing.open(key, partition, self._ports.now_ms)

    def answer(self, found: dict[Place, ShareDelivery | Error], *, is_read: bool = True) -> ShareFetchResponse:
        """The acquired records, the errors, and the outcome of acknowledgements. A partition without any of these is
        left out, unless it was read and no answer of the session has contained it yet."""
        acknowledged = {result.place: result for result in self._acknowledged}
        self._ports.sharing.counts.failed_fetches += any(isinstance(each, Error) for each in found.values())
        first = [place for place, reported in self._session.partitions.items() if is_read and not reported]
        topics: dict[bytes, answers.ShareFetchableTopicResponse] = {}
        for place in dict.fromkeys((*found, *acknowledged, *first)):
            if place in self._session.partitions:
                self._session.partitions[place] = True
            topic = topics.setdefault(place[0], answers.ShareFetchableTopicResponse(place[0], []))
            topic.partitions.append(_partition(place[1], found.get(place), acknowledged.get(place)))
        response = ShareFetchResponse(
            acquisition_lock_timeout_ms=self._ports.sharing.limits(self._session.member.group_id).lock_ms,
            responses=list(topics.values()),
        )
        return share_requests.with_leaders(self._ports, self._context, response)


def _partition(index: int, found: ShareDelivery | Error | None, acked: AckResult | None) -> answers.PartitionData:
    data = answers.PartitionData(partition_index=index, error_code=NONE, records=b"", acquired_records=[])
    data.current_leader = answers.LeaderIdAndEpoch(0, 0)
    if isinstance(found, Error):
        data.error_code = found
        data.error_message = MESSAGES.get(found) if found not in WITHOUT_MESSAGE else None
    elif found is not None:
        data.records = found.records
        data.acquired_records = [answers.AcquiredRecords(*each) for each in found.acquired]
    if acked is not None:
        data.acknowledge_error_code, data.acknowledge_error_message = acked.error, acked.message
    return data


def _refused(error: Error) -> Deferred[ShareFetchResponse]:
    return Deferred.of(ShareFetchResponse(error_code=error))
