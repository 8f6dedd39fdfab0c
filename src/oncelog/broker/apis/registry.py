"""The APIs that the broker serves: version ranges as Apache Kafka 4.3 advertises them, and where each is handled.

Handlers are imported on first use, so that a start does not pay for APIs that nobody calls. A test compares
each row with its module and with a real Apache Kafka.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple, Protocol

from oncelog.protocol.api_keys import ApiKey


class Served(NamedTuple):
    """A row: lowest and highest version, and the module in ``oncelog.broker.apis``."""

    low: int
    high: int
    module: str


class Handler(Protocol):
    def __call__(self, broker: Any, context: Any, request: Any, /) -> Any: ...


SERVED: dict[int, Served] = {
    # Produce 0-2 are advertised for old librdkafka releases (KAFKA-18659) and refused.
    ApiKey.PRODUCE: Served(0, 13, "produce"),
    ApiKey.FETCH: Served(4, 18, "fetch"),
    ApiKey.LIST_OFFSETS: Served(1, 11, "list_offsets"),
    ApiKey.METADATA: Served(0, 13, "metadata"),
    ApiKey.OFFSET_COMMIT: Served(2, 10, "offset_commit"),
    ApiKey.OFFSET_FETCH: Served(1, 10, "offset_fetch"),
    ApiKey.FIND_COORDINATOR: Served(0, 6, "find_coordinator"),
    ApiKey.JOIN_GROUP: Served(0, 9, "join_group"),
    ApiKey.HEARTBEAT: Served(0, 4, "heartbeat"),
    ApiKey.LEAVE_GROUP: Served(0, 5, "leave_group"),
    ApiKey.SYNC_GROUP: Served(0, 5, "sync_group"),
    ApiKey.DESCRIBE_GROUPS: Served(0, 6, "describe_groups"),
    ApiKey.LIST_GROUPS: Served(0, 5, "list_groups"),
    ApiKey.SASL_HANDSHAKE: Served(0, 1, "sasl_handshake"),
    ApiKey.API_VERSIONS: Served(0, 4, "api_versions"),
    ApiKey.CREATE_TOPICS: Served(2, 7, "create_topics"),
    ApiKey.DELETE_TOPICS: Served(1, 6, "delete_topics"),
    ApiKey.DELETE_RECORDS: Served(0, 2, "delete_records"),
    ApiKey.INIT_PRODUCER_ID: Served(0, 5, "init_producer_id"),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Served(2, 4, "offset_for_leader_epoch"),
    ApiKey.ADD_PARTITIONS_TO_TXN: Served(0, 5, "add_partitions_to_txn"),
    ApiKey.ADD_OFFSETS_TO_TXN: Served(0, 4, "add_offsets_to_txn"),
    ApiKey.END_TXN: Served(0, 5, "end_txn"),
    ApiKey.WRITE_TXN_MARKERS: Served(1, 2, "write_txn_markers"),
    ApiKey.TXN_OFFSET_COMMIT: Served(0, 5, "txn_offset_commit"),
    ApiKey.DESCRIBE_ACLS: Served(1, 3, "describe_acls"),
    ApiKey.CREATE_ACLS: Served(1, 3, "create_acls"),
    ApiKey.DELETE_ACLS: Served(1, 3, "delete_acls"),
    ApiKey.DESCRIBE_CONFIGS: Served(1, 4, "describe_configs"),
    ApiKey.ALTER_CONFIGS: Served(0, 2, "alter_configs"),
    ApiKey.ALTER_REPLICA_LOG_DIRS: Served(1, 2, "alter_replica_log_dirs"),
    ApiKey.DESCRIBE_LOG_DIRS: Served(1, 5, "describe_log_dirs"),
    ApiKey.SASL_AUTHENTICATE: Served(0, 2, "sasl_authenticate"),
    ApiKey.CREATE_PARTITIONS: Served(0, 3, "create_partitions"),
    ApiKey.CREATE_DELEGATION_TOKEN: Served(1, 3, "create_delegation_token"),
    ApiKey.RENEW_DELEGATION_TOKEN: Served(1, 2, "renew_delegation_token"),
    ApiKey.EXPIRE_DELEGATION_TOKEN: Served(1, 2, "expire_delegation_token"),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: Served(1, 3, "describe_delegation_token"),
    ApiKey.DELETE_GROUPS: Served(0, 2, "delete_groups"),
    ApiKey.ELECT_LEADERS: Served(0, 2, "elect_leaders"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Served(0, 1, "incremental_alter_configs"),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Served(0, 1, "alter_partition_reassignments"),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Served(0, 0, "list_partition_reassignments"),
    ApiKey.OFFSET_DELETE: Served(0, 0, "offset_delete"),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Served(0, 1, "describe_client_quotas"),
    ApiKey.ALTER_CLIENT_QUOTAS: Served(0, 1, "alter_client_quotas"),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Served(0, 0, "describe_user_scram_credentials"),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: Served(0, 0, "alter_user_scram_credentials"),
    ApiKey.DESCRIBE_QUORUM: Served(0, 2, "describe_quorum"),
    ApiKey.UPDATE_FEATURES: Served(0, 2, "update_features"),
    ApiKey.DESCRIBE_CLUSTER: Served(0, 2, "describe_cluster"),
    ApiKey.DESCRIBE_PRODUCERS: Served(0, 0, "describe_producers"),
    ApiKey.DESCRIBE_TRANSACTIONS: Served(0, 0, "describe_transactions"),
    ApiKey.LIST_TRANSACTIONS: Served(0, 2, "list_transactions"),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Served(0, 1, "consumer_group_heartbeat"),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Served(0, 1, "consumer_group_describe"),
    ApiKey.LIST_CONFIG_RESOURCES: Served(0, 1, "list_config_resources"),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Served(0, 0, "describe_topic_partitions"),
}

MOST_BYTES = 2 * 1024 * 1024
MOST_BYTES_OF: dict[int, int] = {
    **dict.fromkeys(
        (
            ApiKey.FIND_COORDINATOR,
            ApiKey.DESCRIBE_GROUPS,
            ApiKey.CONSUMER_GROUP_DESCRIBE,
            ApiKey.DELETE_GROUPS,
            ApiKey.DESCRIBE_TRANSACTIONS,
            ApiKey.LIST_TRANSACTIONS,
        ),
        512 * 1024,
    ),
    **dict.fromkeys((ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT), 8 * 1024 * 1024),
    **dict.fromkeys((ApiKey.PRODUCE, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP), 2**31),
}
"""Bytes of a request that are read at all, below ``socket.request.max.bytes``: to take small fields apart takes a
hundred times as long as bytes on their way to a log. Batches, subscriptions and assignments are such bytes, metadata of
offsets partly."""


def most_bytes(api_key: int) -> int:
    return MOST_BYTES_OF.get(api_key, MOST_BYTES)


_handlers: dict[int, Handler] = {}


def handler_for(api_key: int) -> Handler:
    """The ``handle`` function of an API that is in ``SERVED``."""
    handler = _handlers.get(api_key)
    if handler is None:
        module = import_module(f"oncelog.broker.apis.{SERVED[api_key].module}")
        handler = _handlers[api_key] = module.handle
    return handler
