"""Produce (key 0), versions 3-13; 0-2 are only advertised (KAFKA-18659) and close the connection.

Version 8 adds record errors, 9 is flexible, 11 may return TRANSACTION_ABORTABLE (KIP-890), 12 adds partitions to the
transaction implicitly (transaction.version 2), 13 identifies topics by id. If a request has several entries for one
partition, the last one counts and there is one answer, as in Apache Kafka. Each batch goes through
``appending.pipeline``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from oncelog.broker.core.appending.batch import refused, respond
from oncelog.broker.core.appending.pipeline import header_of
from oncelog.broker.core.requests.parking import Park, ParkReason, capacity_to_park, carry_out
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import TRANSACTIONAL_ID, allows
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.generated.produce_response import PartitionProduceResponse, ProduceResponse
from oncelog.runtime.deferred import Deferred, gather

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import ProducePorts
    from oncelog.broker.core.requests.context import RequestContext

BATCHES_AT_ONCE = 16
T = TypeVar("T")
Entry: TypeAlias = tuple[TopicProduceData, PartitionProduceData]


def handle(ports: ProducePorts, context: RequestContext, request: ProduceRequest) -> Deferred[ProduceResponse | None]:
    """Append each partition's batch; the answer waits for the high watermark unless ``acks`` is 0.

    Resolves to None for acks=0, which has no answer; if an append with acks=0 fails, the connection is closed, so that
    the producer notices.
    """
    whole_error = _refuse_request(ports, context, request)
    pairs = list(_entries(request))
    if whole_error is not Error.NONE:
        appended = Deferred.of([refused(data.index, whole_error) for _, data in pairs])
    elif len(pairs) == 1 and request.acks != 0:
        answer = ports.appends.from_start(context, request, *pairs[0])
        return answer.map(lambda part: respond(context.api_version, request, [part]))
    else:
        appending = ports.tasks.begin(_append_each(ports, context, request, pairs), context)
        appended = carry_out(_until(context, appending)).flat_map(gather)
    if request.acks == 0:
        return appended.map(lambda parts: _end_if_refused(context, parts))
    return appended.map(lambda parts: respond(context.api_version, request, parts))


def _until(context: RequestContext, appending: Deferred[T]) -> Work[T]:
    """Wait for an append; the connection starts no other request before all batches are appended."""
    return appending.value if appending.succeeded else (yield Park(context, ParkReason.APPENDS, appending))


def _append_each(
    ports: ProducePorts, context: RequestContext, request: ProduceRequest, pairs: list[Entry]
) -> Work[list[Deferred[PartitionProduceResponse]]]:
    """Append the batches in their order; the result has their answers, which may still wait for the high watermark.

    As each batch goes to another file, 10,000 batches take most of a second: other requests run in between.
    """
    answers = []
    for number, (topic, data) in enumerate(pairs):
        if number and not number % BATCHES_AT_ONCE:
            yield
        yield from capacity_to_park(context)
        answers.append(ports.appends.from_start(context, request, topic, data))
    return answers


def _refuse_request(ports: ProducePorts, context: RequestContext, request: ProduceRequest) -> Error:
    """The error that refuses the whole request. Side effect: of several entries for one partition only the last is
    kept."""
    producers, partitions = set(), set()
    count = 0
    for topic, data in _entries(request):
        header = header_of(data.records)
        if header is not None and header.is_transactional:
            producers.add((header.producer_id, header.producer_epoch))
        partitions.add((topic.name, topic.topic_id, data.index))
        count += 1
    if len(partitions) < count:
        _keep_last_entries(request)
    if producers and (
        request.transactional_id is None
        or not allows(ports, context, Operation.WRITE, TRANSACTIONAL_ID, request.transactional_id)
    ):
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if len(producers) > 1:
        return Error.INVALID_PRODUCER_ID_MAPPING
    return Error.NONE


def _entries(request: ProduceRequest) -> Iterator[Entry]:
    for topic in request.topic_data:
        for data in topic.partition_data:
            yield topic, data


def _keep_last_entries(request: ProduceRequest) -> None:
    """Keep one entry for each partition: the last entry's batch, in the place of the first entry."""
    topics: dict[tuple[str, bytes], dict[int, PartitionProduceData]] = {}
    for topic, data in _entries(request):
        topics.setdefault((topic.name, topic.topic_id), {})[data.index] = data
    request.topic_data = [
        TopicProduceData(name, topic_id, list(entries.values())) for (name, topic_id), entries in topics.items()
    ]


def _end_if_refused(context: RequestContext, parts: list[PartitionProduceResponse]) -> None:
    errors = [part for part in parts if part.error_code != Error.NONE]
    if errors:
        context.channel.close(f"a produce request with acks=0 was refused with {Error(errors[0].error_code).name}")
