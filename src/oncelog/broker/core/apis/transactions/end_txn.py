"""EndTxn (key 26), versions 0-5: commit or abort.

Version 2 introduces PRODUCER_FENCED (before: INVALID_PRODUCER_EPOCH); 3 is flexible; 4 introduces
TRANSACTION_ABORTABLE, which this API never returns; 5 bumps the epoch and returns the producer id and epoch of the next
transaction (KIP-890 part 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.transaction.transaction_coordinator import ProducerResult
from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.end_txn_response import EndTxnResponse
from oncelog.runtime.deferred import Deferred
from oncelog.types import ProducerIdAndEpoch

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import TransactionPorts

FIRST_WITH_PRODUCER_FENCED = 2
FIRST_WITH_EPOCH_BUMP = 5


def handle(ports: TransactionPorts, context: RequestContext, request: EndTxnRequest) -> Deferred[EndTxnResponse]:
    def response(result: ProducerResult) -> EndTxnResponse:
        error = result.error
        if error is Error.PRODUCER_FENCED and context.api_version < FIRST_WITH_PRODUCER_FENCED:
            error = Error.INVALID_PRODUCER_EPOCH
        return EndTxnResponse(
            error_code=error, producer_id=result.producer.producer_id, producer_epoch=result.producer.producer_epoch
        )

    return ports.transactions.end_txn(
        request.transactional_id,
        ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
        request.committed,
        context.now_ms,
        transaction_version=2 if context.api_version >= FIRST_WITH_EPOCH_BUMP else 0,
        node_id=context.session.node_id,
    ).map(response)
