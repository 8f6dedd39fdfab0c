"""One transaction of the asyncio producer as a block."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Generic

from oncelog.client.core.errors import FatalProducerError, KafkaError, KafkaTimeoutError
from oncelog.client.core.structs import SentK, SentV

if TYPE_CHECKING:
    from oncelog.client.aio.producer import Producer


class Transaction(Generic[SentK, SentV]):
    """Commits at the end, aborts on an exception."""

    def __init__(self, producer: Producer[SentK, SentV]) -> None:
        self._producer = producer

    async def __aenter__(self) -> Producer[SentK, SentV]:
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
            await self._abort()

    async def _abort(self) -> None:
        """The block's own exception goes on; one of the abort would hide it."""
        if self._producer.transaction_open:
            await self._producer.abort_transaction()


__all__ = ["Transaction"]
