"""A batch that waits for memory while its transaction is prepared or ended does not become part of it."""

from __future__ import annotations

import asyncio

import pytest

from oncelog.client.aio import Producer
from oncelog.client.core.batches.accumulator import ProducerBatch
from oncelog.client.core.transactions.transaction_states import ClientTxnState
from oncelog.client.errors import IllegalStateError
from tests.integration.client.reading import on_loop


@pytest.mark.parametrize("state", [ClientTxnState.PREPARED, ClientTxnState.COMMITTING, ClientTxnState.READY])
def test_a_batch_that_waited_for_memory_is_refused_after_the_end_of_its_transaction(state: ClientTxnState) -> None:
    @on_loop
    async def check() -> None:
        producer = Producer(bootstrap_servers="localhost:1", transactional_id="x", two_phase_commit=True)
        transactions, appender = producer._transactions, producer._appender
        assert transactions is not None
        appender.start()
        transactions.state = ClientTxnState.IN_TRANSACTION

        def attempt() -> ProducerBatch | None:
            transactions.state = state
            asyncio.get_running_loop().call_soon(appender.space_freed)
            return None

        with pytest.raises(IllegalStateError):
            await appender.queue_batch(attempt)

    check()
