"""``aiokafka.admin``."""

from oncelog.aiokafka.admin.client import AIOKafkaAdminClient
from oncelog.aiokafka.admin.new_partitions import NewPartitions
from oncelog.aiokafka.admin.new_topic import NewTopic
from oncelog.aiokafka.admin.records_to_delete import RecordsToDelete

__all__ = ["AIOKafkaAdminClient", "NewPartitions", "NewTopic", "RecordsToDelete"]
