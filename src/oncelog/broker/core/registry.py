"""The APIs that the broker supports, one row for each: versions, required permissions, size limit, whether requests are
read-only.

Versions are as advertised by Apache Kafka 4.4. The handler is the module of the API's name in its kind's folder of
``apis``, unless the row names another module; handlers are imported at first use, so that a start does not pay for
unused APIs. A test compares the rows with a real Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final, Protocol

from oncelog.broker.core.security.request_rules import (
    Right,
    cluster,
    cluster_action_or_alter,
    group,
    idempotent_write,
    transactional_id,
    transactional_id_or_broker,
)
from oncelog.protocol.acls import Operation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import read_type, response_type

MAX_BYTES: Final = 16 * 1024 * 1024
UNLIMITED_BYTES: Final = 2**31
"""The size limit of requests that only ``socket.request.max.bytes`` limits: their batches, subscriptions and
assignments are bytes on their way to a log."""
MAX_RECORDS: Final = 10_000
"""The maximum number of elements of a request that writes a record for each. Apache Kafka puts at most this
many records into a batch (``MAX_RECORDS_PER_USER_OP``)."""
MAX_ELEMENTS: Final = 2 * MAX_RECORDS + 1000
"""The maximum number of elements of all arrays of a request: 10,000 partitions, each of a different topic. They are
handled in one step: at up to 20 us each (``benchmarks.iterations``), other requests wait at most 400 ms."""
MAX_NAMES: Final = 100_000
"""The maximum number of names in a request that contains only names, which take up to 2 us each: an admin client may
ask for all transactional ids of a large broker at once."""


@dataclass(frozen=True, slots=True)
class Served:
    """A row of the table: lowest and highest version, and the permissions that are checked, in this order, before the
    handler runs.

    The handler checks permissions for single topics, groups or ids of a request.

    :param kind: the folder of its handler in ``apis``.
    :param read_only: the request has no effect, so it is dropped when its connection has ended; all others are carried
        out, as in Apache Kafka.
    :param module: the module of the handler, if it is not named after the API.
    """

    kind: str
    low: int
    high: int
    rights: tuple[Right, ...] = ()
    max_bytes: int = MAX_BYTES
    low_advertised: int | None = None
    max_elements: int = MAX_ELEMENTS
    read_only: bool = False
    module: str = ""

    @property
    def advertised_from(self) -> int:
        return self.low if self.low_advertised is None else self.low_advertised


class Handler(Protocol):
    def __call__(self, broker: Any, context: Any, request: Any, /) -> Any: ...


REFUSED_TOKENS: Final = "delegation_tokens"

SERVED: dict[int, Served] = {
    # Produce 0-2 are advertised for old librdkafka releases (KAFKA-18659) and refused.
    ApiKey.PRODUCE: Served("data", 3, 13, max_bytes=UNLIMITED_BYTES, low_advertised=0),
    ApiKey.FETCH: Served("data", 4, 18, read_only=True),
    ApiKey.LIST_OFFSETS: Served("data", 1, 11, read_only=True),
    ApiKey.METADATA: Served("topics", 0, 13, read_only=True),
    ApiKey.OFFSET_COMMIT: Served("groups", 2, 10, (group(Operation.READ),)),
    ApiKey.OFFSET_FETCH: Served("groups", 1, 10, read_only=True),
    ApiKey.FIND_COORDINATOR: Served("cluster", 0, 6, max_elements=MAX_NAMES, read_only=True),
    ApiKey.JOIN_GROUP: Served(
        "groups", 0, 9, (group(Operation.READ),), max_bytes=UNLIMITED_BYTES, max_elements=MAX_RECORDS
    ),
    ApiKey.HEARTBEAT: Served("groups", 0, 4, (group(Operation.READ),)),
    ApiKey.LEAVE_GROUP: Served("groups", 0, 5, (group(Operation.READ),), max_elements=MAX_RECORDS),
    ApiKey.SYNC_GROUP: Served(
        "groups", 0, 5, (group(Operation.READ),), max_bytes=UNLIMITED_BYTES, max_elements=MAX_RECORDS
    ),
    ApiKey.DESCRIBE_GROUPS: Served("groups", 0, 6, max_elements=MAX_NAMES, read_only=True),
    ApiKey.LIST_GROUPS: Served("groups", 0, 5, read_only=True),
    ApiKey.SASL_HANDSHAKE: Served("security", 0, 1),
    ApiKey.API_VERSIONS: Served("cluster", 0, 5, read_only=True),
    ApiKey.CREATE_TOPICS: Served("topics", 2, 7),
    ApiKey.DELETE_TOPICS: Served("topics", 1, 6),
    ApiKey.DELETE_RECORDS: Served("data", 0, 2),
    ApiKey.INIT_PRODUCER_ID: Served("transactions", 0, 5, (idempotent_write,)),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Served("data", 2, 4, read_only=True),
    ApiKey.ADD_PARTITIONS_TO_TXN: Served("transactions", 0, 5, (transactional_id_or_broker,)),
    ApiKey.ADD_OFFSETS_TO_TXN: Served("transactions", 0, 4, (transactional_id, group(Operation.READ))),
    ApiKey.END_TXN: Served("transactions", 0, 5, (transactional_id,)),
    ApiKey.WRITE_TXN_MARKERS: Served("transactions", 1, 2, (cluster_action_or_alter,)),
    ApiKey.TXN_OFFSET_COMMIT: Served("transactions", 0, 6, (transactional_id, group(Operation.READ))),
    ApiKey.DESCRIBE_ACLS: Served("security", 1, 3, (cluster(Operation.DESCRIBE),), read_only=True),
    ApiKey.CREATE_ACLS: Served("security", 1, 3, (cluster(Operation.ALTER),), max_elements=MAX_RECORDS),
    ApiKey.DELETE_ACLS: Served("security", 1, 3, (cluster(Operation.ALTER),), max_elements=MAX_RECORDS),
    ApiKey.DESCRIBE_CONFIGS: Served("configs", 1, 4, read_only=True),
    ApiKey.ALTER_CONFIGS: Served("configs", 0, 2),
    ApiKey.ALTER_REPLICA_LOG_DIRS: Served("data", 1, 2, (cluster(Operation.ALTER),)),
    ApiKey.DESCRIBE_LOG_DIRS: Served("data", 1, 5, (cluster(Operation.DESCRIBE),), read_only=True),
    ApiKey.SASL_AUTHENTICATE: Served("security", 0, 2),
    ApiKey.CREATE_PARTITIONS: Served("topics", 0, 3),
    ApiKey.CREATE_DELEGATION_TOKEN: Served("security", 1, 3, max_elements=MAX_RECORDS, module=REFUSED_TOKENS),
    ApiKey.RENEW_DELEGATION_TOKEN: Served("security", 1, 2, module=REFUSED_TOKENS),
    ApiKey.EXPIRE_DELEGATION_TOKEN: Served("security", 1, 2, module=REFUSED_TOKENS),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: Served("security", 1, 3, read_only=True, module=REFUSED_TOKENS),
    ApiKey.DELETE_GROUPS: Served("groups", 0, 3),
    ApiKey.ELECT_LEADERS: Served("cluster", 0, 2, (cluster(Operation.ALTER),)),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Served("configs", 0, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Served("cluster", 0, 1, (cluster(Operation.ALTER),)),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Served("cluster", 0, 0, (cluster(Operation.DESCRIBE),), read_only=True),
    ApiKey.OFFSET_DELETE: Served("groups", 0, 0, (group(Operation.DELETE),)),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Served("configs", 0, 1, (cluster(Operation.DESCRIBE_CONFIGS),), read_only=True),
    ApiKey.ALTER_CLIENT_QUOTAS: Served("configs", 0, 1, (cluster(Operation.ALTER_CONFIGS),)),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Served(
        "security", 0, 0, (cluster(Operation.DESCRIBE),), max_elements=MAX_RECORDS, read_only=True
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: Served(
        "security", 0, 0, (cluster(Operation.ALTER),), max_elements=MAX_RECORDS
    ),
    ApiKey.DESCRIBE_QUORUM: Served("cluster", 0, 2, (cluster(Operation.DESCRIBE),), read_only=True),
    ApiKey.UPDATE_FEATURES: Served("cluster", 0, 2, (cluster(Operation.ALTER),), max_elements=MAX_RECORDS),
    ApiKey.DESCRIBE_CLUSTER: Served("cluster", 0, 2, read_only=True),
    ApiKey.DESCRIBE_PRODUCERS: Served("data", 0, 0, read_only=True),
    ApiKey.DESCRIBE_TRANSACTIONS: Served("transactions", 0, 0, max_elements=MAX_NAMES, read_only=True),
    ApiKey.LIST_TRANSACTIONS: Served("transactions", 0, 2, read_only=True),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Served("groups", 0, 1, (group(Operation.READ),), max_elements=2 * MAX_ELEMENTS),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Served("groups", 0, 1, max_elements=MAX_NAMES, read_only=True),
    ApiKey.SHARE_GROUP_HEARTBEAT: Served("share", 1, 1, (group(Operation.READ),), max_elements=MAX_NAMES),
    ApiKey.SHARE_GROUP_DESCRIBE: Served("share", 1, 1, read_only=True),
    ApiKey.SHARE_FETCH: Served("share", 1, 2, (group(Operation.READ),), max_elements=MAX_NAMES),
    ApiKey.SHARE_ACKNOWLEDGE: Served("share", 1, 2, (group(Operation.READ),), max_elements=MAX_NAMES),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: Served("share", 0, 1, read_only=True),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: Served("share", 0, 0, (group(Operation.READ),)),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: Served("share", 0, 0, (group(Operation.DELETE),), max_elements=MAX_RECORDS),
    ApiKey.LIST_CONFIG_RESOURCES: Served("configs", 0, 1, (cluster(Operation.DESCRIBE_CONFIGS),), read_only=True),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Served("topics", 0, 0, read_only=True),
}

READ_ONLY: Final = frozenset(api_key for api_key, row in SERVED.items() if row.read_only)
"""APIs whose requests have no effect on the broker's state."""

TWO_PHASE_COMMIT: Final = 6
"""The version of InitProducerId for two-phase commit (KIP-939), which Apache Kafka 4.4 hides as unstable."""


def served_apis(two_phase_commit: bool) -> Mapping[int, Served]:
    """The APIs that a broker supports; ``transaction.two.phase.commit.enable`` adds one more version of
    InitProducerId."""
    if not two_phase_commit:
        return SERVED
    key = ApiKey.INIT_PRODUCER_ID
    return {**SERVED, key: replace(SERVED[key], high=TWO_PHASE_COMMIT)}


_handlers: dict[int, Handler] = {}


def handler_for(api_key: int) -> Handler:
    """The ``handle`` function of a supported API, imported at first use."""
    handler = _handlers.get(api_key)
    if handler is None:
        row = SERVED[api_key]
        module = import_module(f"oncelog.broker.core.apis.{row.kind}.{row.module or ApiKey(api_key).name.lower()}")
        handler = _handlers[api_key] = module.handle
    return handler


def import_handlers(api_keys: Iterable[int]) -> None:
    """Import handlers that would otherwise be imported at first use."""
    for api_key in api_keys:
        read_type(api_key)
        response_type(api_key)
        handler_for(api_key)
