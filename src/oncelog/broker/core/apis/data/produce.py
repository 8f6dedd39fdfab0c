"""Produce (key 0), versions 3-13; 0-2 are only advertised (KAFKA-18659) and close the connection.

Version 8 adds record errors, 9 is flexible, 11 may return TRANSACTION_ABORTABLE (KIP-890), 12 adds partitions to the
transaction implicitly (transaction.version 2), 13 identifies topics by id. If a request has several entries for one
partition, the last one counts and there is one answer, as in Apache Kafka. Each batch goes through
``appending.pipeline``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from oncelog.broker.core.appending.batch import answers_by_topic, refused, respond
from oncelog.broker.core.appending.pipeline import header_of
from oncelog.broker.core.requests.parking import capacity_to_park
from oncelog.broker.core.requests.work import Work, finished, in_parts
from oncelog.broker.core.security.access import TRANSACTIONAL_ID, allows
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import PartitionProduceResponse, ProduceResponse
from oncelog.runtime.deferred import Deferred, gather

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import ProducePorts
    from oncelog.broker.core.requests.context import RequestContext

PARTITIONS_AT_ONCE = 16
TOPICS_AT_ONCE = 200
"""How many topics are checked, or answered, at a time."""


def handle(ports: ProducePorts, context: RequestContext, request: ProduceRequest) -> Deferred[ProduceResponse | None]:
    """Append each partition's batch; the answer waits for the high watermark unless ``acks`` is 0.

    Resolves to None for acks=0, which has no answer; after an error the connection is closed, so that the producer
    notices.
    """
    version, topics = context.api_version, request.topic_data
    if len(topics) > PARTITIONS_AT_ONCE or sum([len(topic.partition_data) for topic in topics]) > PARTITIONS_AT_ONCE:
        context.has_many_partitions = True
        chunks = ports.tasks.begin(_append_each(ports, context, request), owner=context).flat_map(gather)
        return chunks.flat_map(
            lambda parts: ports.tasks.begin(
                _responding(context, request, list(chain.from_iterable(parts))), owner=context
            )
        )
    whole_error = finished(_refuse_request(ports, context, request))
    pairs = _pairs(request)
    if whole_error is not Error.NONE:
        appended = gather([Deferred.of(refused(data.index, whole_error)) for _, data in pairs])
    else:
        answers = [ports.appends.from_start(context, request, topic, data) for topic, data in pairs]
        if len(answers) == 1 and request.acks != 0:
            return answers[0].map(lambda part: respond(version, request, [part]))
        appended = gather(answers)
    if request.acks == 0:
        return appended.map(lambda parts: _end_if_refused(context, parts))
    return appended.map(lambda parts: respond(version, request, parts))


def _pairs(request: ProduceRequest) -> list[tuple[TopicProduceData, PartitionProduceData]]:
    return [(topic, data) for topic in request.topic_data for data in topic.partition_data]


def _append_each(
    ports: ProducePorts, context: RequestContext, request: ProduceRequest
) -> Work[list[Deferred[list[PartitionProduceResponse]]]]:
    """Append some partitions at a time, with other requests in between. This continues even if the connection ends, as
    it does for few partitions."""
    whole_error = yield from _refuse_request(ports, context, request)
    answers = []
    for part in in_parts(_pairs(request), PARTITIONS_AT_ONCE):
        yield from capacity_to_park(context)
        chunk = [
            ports.appends.from_start(context, request, topic, data)
            if whole_error is Error.NONE
            else Deferred.of(refused(data.index, whole_error))
            for topic, data in part
        ]
        answers.append(gather(chunk))
        yield
    return answers


def _responding(
    context: RequestContext, request: ProduceRequest, parts: list[PartitionProduceResponse]
) -> Work[ProduceResponse | None]:
    """The answer for many partitions, with other requests in between."""
    if request.acks == 0:
        _end_if_refused(context, parts)
        return None
    position, response = 0, ProduceResponse(responses=[], throttle_time_ms=0)
    for topics in in_parts(request.topic_data, TOPICS_AT_ONCE):
        count = sum([len(topic.partition_data) for topic in topics])
        response.responses += answers_by_topic(context.api_version, topics, parts[position : position + count])
        position += count
        yield
    return response


def _refuse_request(ports: ProducePorts, context: RequestContext, request: ProduceRequest) -> Work[Error]:
    """The error of the request as a whole. As a side effect, all but the last entry of each partition are removed."""
    producers, partitions = set(), set()
    count = 0
    for count, (topic, data) in enumerate(_entries(request), 1):
        header = header_of(data.records)
        if header is not None and header.is_transactional:
            producers.add((header.producer_id, header.producer_epoch))
        partitions.add((topic.name, topic.topic_id, data.index))
        if not count % TOPICS_AT_ONCE:
            yield
    if len(partitions) < count:
        yield from _keep_last_entries(request)
    if producers and (
        request.transactional_id is None
        or not allows(ports, context, Operation.WRITE, TRANSACTIONAL_ID, request.transactional_id)
    ):
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if len(producers) > 1:
        return Error.INVALID_PRODUCER_ID_MAPPING
    return Error.NONE


def _entries(request: ProduceRequest) -> Iterator[tuple[TopicProduceData, PartitionProduceData]]:
    for topic in request.topic_data:
        for data in topic.partition_data:
            yield topic, data


def _keep_last_entries(request: ProduceRequest) -> Work[None]:
    """One entry for each topic and partition, at the place of the first one with the batch of the last one."""
    topics: dict[tuple[str, bytes], dict[int, PartitionProduceData]] = {}
    for count, (topic, data) in enumerate(_entries(request), 1):
        topics.setdefault((topic.name, topic.topic_id), {})[data.index] = data
        if not count % TOPICS_AT_ONCE:
            yield
    request.topic_data = [
        TopicProduceData(name, topic_id, list(entries.values())) for (name, topic_id), entries in topics.items()
    ]


def _end_if_refused(context: RequestContext, parts: list[PartitionProduceResponse]) -> None:
    errors = [part for part in parts if part.error_code != Error.NONE]
    if errors:
        context.channel.close(f"a produce request with acks=0 was refused with {Error(errors[0].error_code).name}")
