"""The names, shapes and defaults of aiokafka 0.14, on oncelog's client: its users change ``aiokafka`` in their imports.

What differs is told in ``docs/how-to/from-aiokafka.md``; ``tests/aiokafka`` walks aiokafka's own public names. New
programs take :mod:`oncelog.client.aio`, whose defaults are Kafka's: an idempotent producer that waits for all replicas.
"""

from oncelog.aiokafka.abc import ConsumerRebalanceListener
from oncelog.aiokafka.client import AIOKafkaClient
from oncelog.aiokafka.consumer import AIOKafkaConsumer
from oncelog.aiokafka.errors import ConsumerStoppedError, IllegalOperation
from oncelog.aiokafka.producer import AIOKafkaProducer
from oncelog.aiokafka.structs import ConsumerRecord, OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

__all__ = [
    "AIOKafkaClient",
    "AIOKafkaConsumer",
    "AIOKafkaProducer",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "ConsumerStoppedError",
    "IllegalOperation",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "TopicPartition",
]
