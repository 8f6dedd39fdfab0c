"""Values for the fields of any request: mostly names of things that exist, as each broker named them.

Two sources with the same seed choose the same values for both brokers. Where ids differ because a broker made them up,
they are chosen by the order in which they appeared.
"""

from __future__ import annotations

from random import Random
from typing import Any, Protocol

from oncelog.records.batch import encode_batch
from oncelog.records.record import Record
from tests.unit.protocol.message_values import RandomSource, any_scalar
from tools.codec.schema import Field

TOPICS = ("t0", "t0", "t1", "t1", "keyed", "gone", "new", "", "b@d", "__consumer_offsets", "x" * 250)
GROUPS = ("g0", "g0", "g1", "g1", "c0", "c0", "none", "")
TRANSACTIONAL_IDS = ("x0", "x0", "x1", "x1", "none", "")
NO_ID, UNKNOWN_ID = bytes(16), b"\x01" * 16
INSTANCES = ("i0", "i1", "")
SETTINGS = ("retention.ms", "cleanup.policy", "nope", "segment.bytes", "log.retention.ms", "interval.ms", "")
OF_FIELD: dict[str, tuple[Any, ...]] = {
    "acks": (-1, -1, 1, 2, -2),
    "client_software_name": ("a", "", "-", "a b"),
    "client_software_version": ("1", "", "1.", "ä"),
    "committed_metadata": ("", "m", "x" * 4097),
    "configuration_keys": SETTINGS,
    "coordinator_epoch": (0, 0, 1, -1),
    "count": (1, 2, 3, 4, 0, -1),
    "duration_filter": (-1, 0, 1_000_000_000, -2),
    "entity_type": ("user", "client-id", "ip", "nope", ""),
    "entity_name": ("a", "127.0.0.1", "", "<default>"),
    "fetch_offset": (0, 0, 1, 2, 5, 1000, -1),
    "host": ("*", "h", ""),
    "host_filter": ("*", "h"),
    "isolation_level": (0, 0, 1, 1, 2, -1),
    "last_fetched_epoch": (-1, -1, 0, 1),
    "match_type": (0, 1, 2, 3),
    "max_bytes": (2**31 - 1, 2**31 - 1, 1, 0, -1),
    "max_wait_ms": (0, 0, 10, -1),
    "min_bytes": (0, 1, -1),
    "mechanism": (0, 1, 2, 3),
    "match": ("a", "<default>", ""),
    "iterations": (4096, 16384, 16385, 0, -1),
    "offset": (0, 1, 2, -1, -2, 1000),
    "partition_max_bytes": (2**31 - 1, 1, 0, -1),
    "path": ("/nowhere", "", "relative"),
    "principal": ("User:a", "a", ""),
    "principal_filter": ("User:a", "a", ""),
    "protocol_type": ("consumer", "consumer", "connect", ""),
    "protocol_name": ("range", "range", "roundrobin", ""),
    "rebalance_timeout_ms": (300_000, 300_000, -1, 0),
    "renew_period_ms": (-1, 0, 100),
    "resource_type": (2, 2, 4, 8, 16, 32, 1, 0, 99),
    "resource_types": (2, 4, 8, 16, 32, 1, 0, 99),
    "response_partition_limit": (2000, 1, 2, 0, -1),
    "retention_time_ms": (-1, 1, 1000),
    "server_assignor": ("uniform", "range", "nope", ""),
    "session_timeout_ms": (45_000, 45_000, 6_000, 5_999, 0, 1_800_001),
    "states_filter": ("Stable", "stable", "Empty", "Dead", "Assigning", "nope", ""),
    "state_filters": ("Ongoing", "Empty", "CompleteCommit", "PrepareAbort", "Dead", "nope", ""),
    "subscribed_topic_names": ("t0", "t1", "gone", ""),
    "subscribed_topic_regex": ("t.*", "[", "", "(?i)T0"),
    "timeout_ms": (5_000, 5_000, 1_000),
    "timestamp": (-1, -2, -3, -4, -5, -6, -7, 0, 1, 1_700_000_000_000, 2**62),
    "transaction_timeout_ms": (60_000, 60_000, 0, -1, 900_001),
    "transaction_version": (0, 1, 2, 3),
    "transactional_id_pattern": ("x.*", "", "[", "x0"),
    "types_filter": ("classic", "consumer", "Consumer", "share", "streams", "nope", ""),
    "value": ("1000", "compact", "", "x", "-1", "delete,compact"),
    "max_version_level": (0, 1, 2, 3, -1),
    "feature": ("transaction.version", "group.version", "nope", ""),
    "upgrade_type": (1, 2, 3, 0),
    "election_type": (0, 1, 2),
    "key_type": (0, 0, 1, 1, 2, 3, -1),
    "endpoint_type": (1, 2, 0),
    "leader_epoch": (0, 0, 1, -1, 2),
    "current_leader_epoch": (-1, -1, -1, 0, 1, -2),
    "committed_leader_epoch": (-1, 0, 5),
    "member_epoch": (0, 0, -1, -2, 1, 2, 99, -3),
    "generation_id": (1, 1, 2, -1, 0, 99),
    "generation_id_or_member_epoch": (-1, -1, 1, 2, 0, 99),
    "replication_factor": (1, 1, -1, 0, 2),
    "num_partitions": (1, 2, 3, -1, 0),
    "replica_id": (-1, -1, -1, -2, 1, 5),
    "broker_ids": (1, 1, 2, -1),
    "replicas": (1, 1, 2, -1),
    "session_id": (0, 0, 0, 5, -1),
    "session_epoch": (-1, -1, 0, 1, -2),
    "config_operation": (0, 0, 1, 2, 3, 4),
}
BY_NAME = {
    **dict.fromkeys(("name", "topic", "topic_name", "topic_names", "topics"), TOPICS),
    **dict.fromkeys(("group_id", "group_ids", "groups", "groups_names"), GROUPS),
    **dict.fromkeys(("transactional_id", "transactional_ids", "v3_and_below_transactional_id"), TRANSACTIONAL_IDS),
    **dict.fromkeys(("coordinator_keys", "key"), (*GROUPS, *TRANSACTIONAL_IDS)),
    **dict.fromkeys(("group_instance_id", "instance_id"), INSTANCES),
    **dict.fromkeys(("resource_name", "resource_name_filter"), ("t0", "t1", "gone", "1", "2", "g0", "")),
    **dict.fromkeys(
        ("partition", "partition_index", "partition_indexes", "partitions", "index"), (0, 0, 0, 1, 1, 2, 7, -1)
    ),
}


class Names(Protocol):
    """What one broker named: topics by name, producers and members in the order of their appearance."""

    topic_ids: dict[str, bytes]
    now_ms: int

    def producer(self, which: int) -> int: ...
    def member(self, which: int) -> str: ...


class LikelySource(RandomSource):
    """Chooses for the requests of one API to one broker."""

    def __init__(self, seed: str, names: Names, api: str) -> None:
        super().__init__(seed)
        self.names = names
        self.api = api

    def integer(self, low: int, high: int) -> int:
        if (low, high) in ((0, 1), (0, 2), (0, 3)):
            return self.random.randint(low, high)
        if self.random.random() < 0.9:
            return min(max(self.random.choice((-1, 0, 0, 1, 1, 2, 3)), low), high)
        return super().integer(low, high)


def likely(source: Any, item: Field) -> Any:
    random, names, name = source.random, source.names, item.attribute
    if name == "topic_id":
        which = random.choice(("t0", "t0", "t1", "keyed", "gone", "none", "unknown"))
        return {"none": NO_ID, "unknown": UNKNOWN_ID}.get(which) or names.topic_ids.get(which, UNKNOWN_ID)
    if "producer_id" in name:
        return names.producer(random.choice((0, 0, 1, 1, 2, -1, 99)))
    if "producer_epoch" in name:
        return random.choice((0, 0, 0, 1, 1, 2, -1, 3))
    if name == "member_id":
        return names.member(random.choice((0, 0, 1, 1, 2, -1, -2)))
    if item.type == "records":
        return _batch(random, names)
    if name == "key" and item.type == "string" and source.api == "AlterClientQuotas":
        return random.choice(("producer_byte_rate", "consumer_byte_rate", "request_percentage", "nope"))
    if name == "value" and item.type == "float64":
        return random.choice((1e9, 0.0, -1.0, 1e18))  # none that slows the sequence down
    if name == "name" and source.api in ("AlterConfigs", "IncrementalAlterConfigs"):
        return random.choice(SETTINGS)
    if name == "name" and source.api == "JoinGroup":
        return random.choice(("range", "range", "roundrobin", ""))
    if name == "name" and "Scram" in source.api:
        return random.choice(("a", "b", ""))
    if name == "mechanism" and item.type == "string":
        return random.choice(("PLAIN", "SCRAM-SHA-256", ""))
    chosen = OF_FIELD.get(name) or BY_NAME.get(name)
    if chosen:
        return random.choice(chosen)
    return any_scalar(source, item)


def _batch(random: Random, names: Names) -> bytes:
    kind = random.choice(("plain", "plain", "plain", "idempotent", "transactional", "two", "broken"))
    which, epoch, sequence = random.choice((0, 1, 2)), random.choice((0, 0, 1)), random.choice((0, 0, 1, 2))
    records = [Record(0, names.now_ms, random.choice((b"k", None)), b"v")]
    if kind in ("plain", "two", "broken"):
        data = bytes(encode_batch(records))
        return {"plain": data, "two": data + data, "broken": data[:20] + b"\0" + data[21:]}[kind]
    return bytes(
        encode_batch(
            records,
            producer_id=names.producer(which),
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=kind == "transactional",
        )
    )
