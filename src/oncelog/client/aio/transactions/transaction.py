"""One transaction of the asyncio producer as a block, and how to finish a transaction that is being ended when the
producer stops.
"""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from oncelog.client.aio.connection.cluster_access import settled
from oncelog.client.core.client_errors import FatalProducerError, KafkaError, KafkaTimeoutError
from oncelog.client.core.config import ProducerConfig
from oncelog.client.core.transactions.transaction_manager import TransactionManager
from oncelog.client.stopping import limit_ms, within

log = logging.getLogger(__name__)


class Transactional(Protocol):
    """The methods of a transactional producer that a transaction block calls."""

    @property
    def transaction_open(self) -> bool: ...

    async def begin_transaction(self) -> None: ...

    async def commit_transaction(self) -> None: ...

    async def abort_transaction(self) -> None: ...


ProducerT = TypeVar("ProducerT", bound=Transactional)


class Transaction(Generic[ProducerT]):
    """A transaction as an ``async with`` block, committed at its end and aborted on an exception."""

    def __init__(self, producer: ProducerT) -> None:
        self._producer = producer

    async def __aenter__(self) -> ProducerT:
        await self._producer.begin_transaction()
        return self._producer

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            try:
                await self._producer.commit_transaction()
            except (FatalProducerError, KafkaTimeoutError):
                raise
            except KafkaError:
                await self._producer.abort_transaction()
                raise
        elif not isinstance(error, FatalProducerError):
            await within(limit_ms(error), self._abort())

    async def _abort(self) -> None:
        """Abort the open transaction, if there is one. The block's own exception propagates; an exception raised here
        would hide it."""
        if self._producer.transaction_open:
            await self._producer.abort_transaction()


async def end_before_stop(transactions: TransactionManager, config: ProducerConfig) -> None:
    """Finish a commit or abort under way before the producer stops; otherwise readers of committed records would wait
    for the transaction's timeout."""
    ending = transactions.ending
    if ending is None:
        return
    try:
        error = await settled(ending, config.max_block_ms / 1000)
    except TimeoutError:
        log.warning(
            "the producer of transactional.id %r stops while the end of its transaction was not answered within "
            "max.block.ms=%d: what was not committed is aborted when transaction.timeout.ms=%d is over",
            *(config.transactional_id, config.max_block_ms, config.transaction_timeout_ms),
        )
        return
    if error is not None:
        log.info("the transaction's commit or abort under way failed: %s", error)


__all__ = ["Transaction", "end_before_stop"]
