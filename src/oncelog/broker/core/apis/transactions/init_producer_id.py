"""InitProducerId (key 22), versions 0-5, or 6: get a producer id; with a transactional id, fence the id's earlier
producer.

Version 2 is flexible; 3 lets a producer send its previous id and epoch (KIP-360); 4 introduces PRODUCER_FENCED (before:
INVALID_PRODUCER_EPOCH; KIP-588); 5 introduces TRANSACTION_ABORTABLE, which this API never returns. Version 6 is for
two-phase commit (KIP-939); Kafka 4.4 hides it as unstable, here ``transaction.two.phase.commit.enable`` enables it.
With two-phase commit transactions have no timeout, and with ``keepPreparedTxn`` an open transaction is not aborted: the
answer then has the transaction's producer id and epoch, and those that may end it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.coordinator.transaction.transaction_coordinator import ProducerResult
from oncelog.broker.core.registry import TWO_PHASE_COMMIT
from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.init_producer_id_response import InitProducerIdResponse
from oncelog.runtime.deferred import Deferred
from oncelog.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ProducerIdAndEpoch

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import TransactionPorts

FIRST_WITH_PRODUCER_FENCED = 4


def handle(
    ports: TransactionPorts, context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Deferred[InitProducerIdResponse]:
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return _response(context.api_version, ProducerResult(Error.INVALID_REQUEST))
    return ports.transactions.init_producer_id(
        request.transactional_id,
        request.transaction_timeout_ms,
        ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
        context.now_ms,
        two_phase=request.enable_2pc,
        keep_prepared=request.keep_prepared_txn,
        node_id=context.session.node_id,
    ).map(lambda result: _response(context.api_version, result))


def _response(api_version: int, result: ProducerResult) -> InitProducerIdResponse:
    error = result.error
    if error is Error.PRODUCER_FENCED and api_version < FIRST_WITH_PRODUCER_FENCED:
        error = Error.INVALID_PRODUCER_EPOCH
    answer = InitProducerIdResponse(
        error_code=error, producer_id=result.producer.producer_id, producer_epoch=result.producer.producer_epoch
    )
    if api_version >= TWO_PHASE_COMMIT:
        answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch = result.ongoing
    return answer
