"""Where faults get in: between a client and the broker, and between a coordinator and a marker's partition.

Both are None unless faults were asked for. Implemented by ``oncelog.faults.inside``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.context import Channel
from oncelog.deferred import Deferred
from oncelog.errors import Error
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.coordinator.transaction.host import TxnMarker


class Interceptor(Protocol):
    """Sees each request before the broker does."""

    def takes(self, channel: Channel, slot: int, frame: memoryview, now_ms: int) -> bool:
        """True if the request is the interceptor's from now on: to be handed to ``Broker.handle``, or never."""
        ...


class MarkerGate(Protocol):
    """Sees each marker on its way from a transaction's coordinator to a partition."""

    def passes(
        self,
        marker: TxnMarker,
        topic_partition: TopicPartition,
        append: Callable[[], Deferred[Error]],
        now_ms: int,
    ) -> Deferred[Error]:
        """What the coordinator hears of it; ``append`` brings it to the partition."""
        ...
