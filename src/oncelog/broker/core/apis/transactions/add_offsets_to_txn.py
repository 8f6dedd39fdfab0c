"""AddOffsetsToTxn (key 25), versions 0-4: announces that a transaction will commit offsets of a group.

It has the effect of AddPartitionsToTxn for the group's partition of ``__consumer_offsets``. Version 2 introduces
PRODUCER_FENCED (before: INVALID_PRODUCER_EPOCH); 3 is flexible; 4 introduces TRANSACTION_ABORTABLE, which this API
never returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from oncelog.protocol.generated.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from oncelog.runtime.deferred import Deferred
from oncelog.types import ProducerIdAndEpoch

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import TransactionPorts

FIRST_WITH_PRODUCER_FENCED = 2


def handle(
    ports: TransactionPorts, context: RequestContext, request: AddOffsetsToTxnRequest
) -> Deferred[AddOffsetsToTxnResponse]:
    def response(error: Error) -> AddOffsetsToTxnResponse:
        if error is Error.PRODUCER_FENCED and context.api_version < FIRST_WITH_PRODUCER_FENCED:
            error = Error.INVALID_PRODUCER_EPOCH
        return AddOffsetsToTxnResponse(error_code=error)

    return ports.transactions.add_partitions(
        request.transactional_id,
        ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
        [ports.groups.runtime.partition_for(request.group_id)],
        context.now_ms,
        transaction_version=0,
        node_id=context.session.node_id,
    ).map(response)
