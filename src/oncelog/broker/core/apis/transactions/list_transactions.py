"""ListTransactions (key 66), versions 0-2: the transactional ids that this broker coordinates.

Version 1 filters by duration (KIP-994), 2 by a regular expression for the id (KIP-1152).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work, in_chunks
from oncelog.broker.core.security.access import TRANSACTIONAL_ID, allows
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.generated.list_transactions_response import ListTransactionsResponse, TransactionState
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import TransactionPorts

LISTED_IN_A_CHUNK = 200


def handle(
    ports: TransactionPorts, context: RequestContext, request: ListTransactionsRequest
) -> Deferred[ListTransactionsResponse]:
    return ports.tasks.begin(_list(ports, context, request), context)


def _list(
    ports: TransactionPorts, context: RequestContext, request: ListTransactionsRequest
) -> Work[ListTransactionsResponse]:
    yield from ports.answer_memory.grow(context, ports.transactions.count(context.session.node_id))
    found = yield from ports.transactions.list(
        context.now_ms,
        states=request.state_filters,
        producer_ids=request.producer_id_filters,
        duration_ms=request.duration_filter,
        pattern=request.transactional_id_pattern,
        node_id=context.session.node_id,
    )
    listed: list[TransactionState] = []
    for listings in in_chunks(found.transactions, LISTED_IN_A_CHUNK):
        listed += [
            TransactionState(
                transactional_id=listing.transactional_id,
                producer_id=listing.producer_id,
                transaction_state=listing.state.label,
            )
            for listing in listings
            if allows(ports, context, Operation.DESCRIBE, TRANSACTIONAL_ID, listing.transactional_id, log=False)
        ]
        yield
    return ListTransactionsResponse(
        error_code=found.error,
        unknown_state_filters=list(dict.fromkeys(found.unknown_states)),
        transaction_states=listed,
    )
