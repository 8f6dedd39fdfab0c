"""TxnOffsetCommit (key 28), versions 0-6: commit a group's offsets as part of a transaction.

Version 2 adds leader epochs; 3 identifies the consumer that the offsets come from, so that zombies are refused
(KIP-447), and is flexible; 4 introduces TRANSACTION_ABORTABLE; 5 adds the partition of ``__consumer_offsets`` to the
transaction, for which older versions send a separate request (KIP-890 part 2); 6 identifies topics by id, and returns
STALE_MEMBER_EPOCH and GROUP_ID_NOT_FOUND, where older versions return ILLEGAL_GENERATION (KIP-1319). Versions 0 and 1
do not know COORDINATOR_LOAD_IN_PROGRESS: they get COORDINATOR_NOT_AVAILABLE. A topic or partition that does not exist
is refused individually: UNKNOWN_TOPIC_OR_PARTITION, or UNKNOWN_TOPIC_ID.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.group.environment import Caller
from oncelog.broker.coordinator.group.offset_requests import unknown_topic
from oncelog.broker.core.apis.groups.refused_partitions import add_refused, within
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.security.access import TOPIC, allows
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.txn_offset_commit_request import TxnOffsetCommitRequest, TxnOffsetCommitRequestTopic
from oncelog.protocol.generated.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts

FIRST_WITH_LOAD_IN_PROGRESS = 2
FIRST_WITH_TOPIC_IDS = 6


def handle(
    ports: GroupPorts, context: RequestContext, request: TxnOffsetCommitRequest
) -> Deferred[TxnOffsetCommitResponse]:
    by_id = context.api_version >= FIRST_WITH_TOPIC_IDS
    known: list[TxnOffsetCommitRequestTopic] = []
    refused: list[TxnOffsetCommitResponseTopic] = []
    for topic in request.topics:
        info = ports.metadata.topic_by_id(topic.topic_id) if by_id else ports.metadata.topic(topic.name)
        count = info.partitions if info is not None else 0
        error = unknown_topic(by_id=by_id and info is None)
        if (not by_id or info is not None) and not allows(
            ports, context, Operation.READ, TOPIC, info.name if info is not None else topic.name
        ):
            info, count, error = None, 0, Error.TOPIC_AUTHORIZATION_FAILED
        good, bad = within(topic.partitions, count)
        if bad or info is None:
            errors = [TxnOffsetCommitResponsePartition(index, error) for index in bad]
            refused.append(TxnOffsetCommitResponseTopic(topic.name, topic.topic_id, errors))
        if info is not None and good:
            known.append(TxnOffsetCommitRequestTopic(info.name, info.topic_id, good))

    def merged(response: TxnOffsetCommitResponse) -> TxnOffsetCommitResponse:
        add_refused(response.topics, refused, lambda topic: topic.topic_id if by_id else topic.name)
        if context.api_version < FIRST_WITH_LOAD_IN_PROGRESS:
            for topic in response.topics:
                for partition in topic.partitions:
                    if partition.error_code == Error.COORDINATOR_LOAD_IN_PROGRESS:
                        partition.error_code = Error.COORDINATOR_NOT_AVAILABLE
        return response

    if not known:
        return Deferred.of(merged(TxnOffsetCommitResponse()))
    caller = Caller(context.api_version, context.session.node_id, context.client_id, context.client_host)
    commit = request.replace(topics=known)
    answered = ports.groups.commit_transactional_offsets(commit, caller, ports.now_ms)
    return answered.map(merged)
