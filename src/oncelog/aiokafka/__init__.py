"""aiokafka 0.14's names, signatures and defaults on oncelog's client: users only change the import.

Differences are listed in ``docs/how-to/from-aiokafka.md``; ``tests/integration/aiokafka`` compares every public name of
aiokafka. New programs should use :mod:`oncelog.client.aio`, whose defaults are Kafka's: an idempotent producer that
waits for all replicas.
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
