"""One batch that is to be appended, and the answer for its partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from oncelog.broker.log.results import AppendResult
from oncelog.errors import Error
from oncelog.protocol.generated.produce_request import ProduceRequest
from oncelog.protocol.generated.produce_response import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from oncelog.broker.core.requests.context import RequestContext
    from oncelog.broker.core.storage.partition import Partition
    from oncelog.broker.log.producers.verification_state import VerificationGuard
    from oncelog.records.batch import BatchHeader
    from oncelog.records.validation import Checked

FIRST_WITH_TOPIC_IDS: Final = 13
REFUSED_WITHOUT_LOG_START: Final = frozenset(
    {Error.CORRUPT_MESSAGE, Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE, Error.KAFKA_STORAGE_ERROR}
)
"""Errors whose answers have no log start offset; errors about producer state or about single records have it."""


class PendingBatch:
    """A batch on its way to the log of a known partition. The steps that validate and verify it set ``validated`` and
    ``guard``."""

    __slots__ = ("context", "guard", "header", "partition", "records", "request", "validated", "version")

    def __init__(
        self,
        context: RequestContext,
        version: int,
        request: ProduceRequest,
        partition: Partition,
        records: memoryview,
        header: BatchHeader,
    ) -> None:
        self.context = context
        self.version = version
        self.request = request
        self.partition = partition
        self.records = records
        self.header = header
        self.validated: Checked | None = None
        self.guard: VerificationGuard | None = None


def refused(index: int, error: Error, message: str | None = None) -> PartitionProduceResponse:
    """The answer to a batch for partition ``index`` that was refused before its partition was known."""
    return PartitionProduceResponse(
        index=index,
        error_code=error,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1,
        error_message=message,
    )


def result_response(index: int, result: AppendResult) -> PartitionProduceResponse:
    """The answer with the result of an append to partition ``index``."""
    answer = PartitionProduceResponse(
        index=index,
        error_code=result.error,
        base_offset=result.base_offset,
        log_append_time_ms=result.log_append_time_ms,
        log_start_offset=result.log_start_offset,
    )
    if result.error is not Error.NONE:
        answer.error_message = result.message or None
        if result.error in REFUSED_WITHOUT_LOG_START:
            answer.log_start_offset = -1
        answer.record_errors = [
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
            for index, message in result.record_errors
        ]
    return answer


def respond(version: int, request: ProduceRequest, parts: Sequence[PartitionProduceResponse]) -> ProduceResponse:
    """The response, with the answers grouped by topic; ``parts`` has one answer for each partition, in the request's
    order."""
    responses = []
    position = 0
    for topic in request.topic_data:
        count = len(topic.partition_data)
        if not count:
            continue
        answer = TopicProduceResponse(partition_responses=list(parts[position : position + count]))
        if version >= FIRST_WITH_TOPIC_IDS:
            answer.topic_id = topic.topic_id
        else:
            answer.name = topic.name
        responses.append(answer)
        position += count
    return ProduceResponse(responses=responses, throttle_time_ms=0)
