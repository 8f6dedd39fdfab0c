"""The asyncio clients. Users of aiokafka find its names in :mod:`oncelog.aiokafka`.

Called by programs, by ``client.blocking`` and by all higher packages that use a cluster. It may import ``client.core``,
``protocol``, ``records`` and ``runtime``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oncelog.client.aio.admin.admin import Admin
    from oncelog.client.aio.consumer.consumer import Consumer
    from oncelog.client.aio.producer.producer import Producer
    from oncelog.client.core.consumer.subscription import ConsumerRebalanceListener
    from oncelog.client.core.structs import (
        ConsumerGroupMetadata,
        ConsumerRecord,
        OffsetAndMetadata,
        OffsetAndTimestamp,
        RecordMetadata,
        TopicPartition,
    )

_HOMES = {
    "Admin": ("oncelog.client.aio.admin.admin", "Admin"),
    "Consumer": ("oncelog.client.aio.consumer.consumer", "Consumer"),
    "ConsumerGroupMetadata": ("oncelog.client.core.structs", "ConsumerGroupMetadata"),
    "ConsumerRebalanceListener": ("oncelog.client.core.consumer.subscription", "ConsumerRebalanceListener"),
    "ConsumerRecord": ("oncelog.client.core.structs", "ConsumerRecord"),
    "OffsetAndMetadata": ("oncelog.client.core.structs", "OffsetAndMetadata"),
    "OffsetAndTimestamp": ("oncelog.client.core.structs", "OffsetAndTimestamp"),
    "Producer": ("oncelog.client.aio.producer.producer", "Producer"),
    "RecordMetadata": ("oncelog.client.core.structs", "RecordMetadata"),
    "TopicPartition": ("oncelog.client.core.structs", "TopicPartition"),
}

__all__ = [
    "Admin",
    "Consumer",
    "ConsumerGroupMetadata",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "Producer",
    "RecordMetadata",
    "TopicPartition",
]


def __getattr__(name: str) -> Any:
    """Load a client when its name is first used: a producer needs no consumer."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home[0]), home[1])
