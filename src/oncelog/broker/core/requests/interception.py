"""Where faults are injected: between a client and the broker, and between a coordinator and a marker's partition.

Both interceptors are None unless faults are injected. Implemented by ``oncelog.broker.faults.interceptor``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.core.requests.session import Channel
from oncelog.errors import Error
from oncelog.runtime.deferred import Deferred
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.coordinator.transaction.host import TxnMarker
    from oncelog.protocol.struct_fields import Buffer


class Interceptor(Protocol):
    """An interceptor of requests, called for each request before the broker."""

    def takes(self, channel: Channel, slot: int, frame: Buffer, now_ms: int) -> bool:
        """Whether the interceptor takes over the request; it then passes the request to ``Broker.handle`` later, or
        never."""
        ...


class MarkerInterceptor(Protocol):
    """An interceptor of transaction markers, called for each marker that a transaction coordinator sends to a
    partition."""

    def passes(
        self,
        marker: TxnMarker,
        topic_partition: TopicPartition,
        append: Callable[[], Deferred[Error]],
        now_ms: int,
    ) -> Deferred[Error]:
        """Resolves to the outcome that the coordinator gets; ``append`` writes the marker to the partition."""
        ...
