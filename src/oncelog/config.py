"""Typed settings under Kafka's property names.

Each settings class is a frozen dataclass whose field metadata holds property, range or choices and one line of
documentation; :func:`parse` builds one from strings (a properties file, ``--set``, AlterConfigs) and refuses
what Kafka refuses. The reference page is generated from the same metadata. Durations are in milliseconds
and sizes in bytes, as the property's own name says.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Hashable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from typing import Any, TypeVar

from oncelog.errors import ConfigError

C = TypeVar("C")

MAX_INT = 2**31 - 1
MAX_LONG = 2**63 - 1


def setting(
    name: str,
    default: Any,
    doc: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    choices: tuple[str, ...] = (),
    effect: bool = True,
) -> Any:
    """A field of a settings class.

    :param name: Kafka's property name.
    :param low: least value allowed, for numbers.
    :param choices: allowed words; for a list property, the words it may hold.
    :param effect: False for a property that is checked and shown but changes nothing in this implementation.
    """
    metadata = {"property": name, "doc": doc, "low": low, "high": high, "choices": choices, "effect": effect}
    if isinstance(default, list):
        return field(default=tuple(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@cache
def properties(cls: Hashable) -> Mapping[str, Field[Any]]:
    """The fields of a settings class by property name, in the order of declaration."""
    return {f.metadata["property"]: f for f in fields(cls)}  # type: ignore[arg-type]


def default_of(f: Field[Any]) -> Any:
    if f.default is MISSING:
        raise ConfigError(f"the setting {f.metadata['property']} has no default and must be given")
    return f.default


def nearest(name: str, known: Mapping[str, Any] | list[str]) -> str:
    """``; did you mean X?`` for the nearest known name, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def parse_value(f: Field[Any], text: str) -> Any:
    """The typed value of one property, checked; raises ConfigError naming property, value and what is allowed."""
    meta, default = f.metadata, f.default
    name = meta["property"]
    value: Any = text.strip()
    if isinstance(default, bool):
        lowered = value.lower()
        if lowered not in ("true", "false"):
            raise ConfigError(f"Invalid value {text!r} for configuration {name}: allowed are true and false")
        return lowered == "true"
    if isinstance(default, (int, float)):
        try:
            value = int(value) if isinstance(default, int) else float(value)
        except ValueError:
            kind = "a whole number" if isinstance(default, int) else "a number"
            raise ConfigError(f"Invalid value {text!r} for configuration {name}: it takes {kind}") from None
        if not meta["low"] <= value <= meta["high"]:
            raise ConfigError(
                f"Invalid value {value} for configuration {name}: allowed are {_range_words(meta['low'], meta['high'])}"
            )
        return value
    if isinstance(default, tuple):
        words = tuple(word.strip() for word in value.split(",") if word.strip())
        bad = [word for word in words if meta["choices"] and word not in meta["choices"]]
        if bad:
            raise ConfigError(
                f"Invalid value {bad[0]!r} for configuration {name}: allowed are {', '.join(meta['choices'])}"
            )
        return words
    if meta["choices"] and value not in meta["choices"]:
        raise ConfigError(f"Invalid value {text!r} for configuration {name}: allowed are {', '.join(meta['choices'])}")
    return value


def _range_words(low: float, high: float) -> str:
    if math.isinf(high) or high in (MAX_INT, MAX_LONG):
        return f"values of at least {low:g}" if low != int(low) else f"values of at least {int(low)}"
    if math.isinf(low):
        return f"values of at most {high:g}"
    return f"values from {low:g} to {high:g}"


def parse(cls: type[C], values: Mapping[str, str], base: C | None = None) -> C:
    """A settings object with ``values`` (property name to text) laid over ``base`` or the defaults.

    Raises ConfigError for an unknown name (with the nearest known one) or a value that is not allowed.
    """
    known = properties(cls)  # type: ignore[arg-type]
    kwargs = {f.name: getattr(base, f.name) for f in known.values()} if base is not None else {}
    for name, text in values.items():
        f = known.get(name)
        if f is None:
            raise ConfigError(f"Unknown configuration {name!r}{nearest(name, dict(known))}")
        kwargs[f.name] = parse_value(f, text)
    return cls(**kwargs)


def render(value: Any) -> str:
    """A value as Kafka writes it in DescribeConfigs and properties files."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """Settings of one topic (Kafka's ``TopicConfig`` and ``LogConfig``), defaults of Kafka 4.3."""

    cleanup_policy: tuple[str, ...] = setting(
        "cleanup.policy", ["delete"], "How old records leave: delete, compact, or both.", choices=("delete", "compact")
    )
    compression_type: str = setting(
        "compression.type",
        "producer",
        "Codec of stored batches; producer keeps what the producer chose.",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    )
    compression_gzip_level: int = setting("compression.gzip.level", -1, "Level for gzip.", low=-1, high=9)
    compression_lz4_level: int = setting("compression.lz4.level", 9, "Level for lz4.", low=1, high=17)
    compression_zstd_level: int = setting("compression.zstd.level", 3, "Level for zstd.", low=-131072, high=22)
    delete_retention_ms: int = setting(
        "delete.retention.ms", 86_400_000, "How long tombstones and markers outlive compaction.", low=0, high=MAX_LONG
    )
    file_delete_delay_ms: int = setting(
        "file.delete.delay.ms", 60_000, "Wait before a deleted file leaves the disk.", low=0, high=MAX_LONG
    )
    flush_messages: int = setting("flush.messages", MAX_LONG, "Sync after this many records.", low=1, high=MAX_LONG)
    flush_ms: int = setting("flush.ms", MAX_LONG, "Sync records not older than this.", low=0, high=MAX_LONG)
    index_interval_bytes: int = setting(
        "index.interval.bytes", 4096, "Bytes of records between two index entries.", low=0, high=MAX_INT
    )
    max_compaction_lag_ms: int = setting(
        "max.compaction.lag.ms", MAX_LONG, "A record is compacted at the latest after this.", low=1, high=MAX_LONG
    )
    max_message_bytes: int = setting(
        "max.message.bytes", 1_048_588, "Largest record batch, after compression.", low=0, high=MAX_INT
    )
    message_timestamp_after_max_ms: int = setting(
        "message.timestamp.after.max.ms",
        3_600_000,
        "How far ahead of the broker a timestamp may be.",
        low=0,
        high=MAX_LONG,
    )
    message_timestamp_before_max_ms: int = setting(
        "message.timestamp.before.max.ms",
        MAX_LONG,
        "How far behind the broker a timestamp may be.",
        low=0,
        high=MAX_LONG,
    )
    message_timestamp_type: str = setting(
        "message.timestamp.type", "CreateTime", "Whose clock dates a record.", choices=("CreateTime", "LogAppendTime")
    )
    min_cleanable_dirty_ratio: float = setting(
        "min.cleanable.dirty.ratio", 0.5, "Share of uncompacted bytes that starts compaction.", low=0, high=1
    )
    min_compaction_lag_ms: int = setting(
        "min.compaction.lag.ms", 0, "A record stays uncompacted at least this long.", low=0, high=MAX_LONG
    )
    min_insync_replicas: int = setting(
        "min.insync.replicas", 1, "Replicas in sync that acks=all needs.", low=1, high=MAX_INT
    )
    preallocate: bool = setting("preallocate", False, "Reserve a segment's bytes when it is made.", effect=False)
    retention_bytes: int = setting("retention.bytes", -1, "Bytes a partition keeps; -1 has no bound.")
    retention_ms: int = setting(
        "retention.ms", 604_800_000, "How long records are kept; -1 is forever.", low=-1, high=MAX_LONG
    )
    segment_bytes: int = setting(
        "segment.bytes", 1_073_741_824, "Size at which a segment is closed.", low=1_048_576, high=MAX_INT
    )
    segment_index_bytes: int = setting(
        "segment.index.bytes", 10_485_760, "Largest index of a segment.", low=4, high=MAX_INT
    )
    segment_jitter_ms: int = setting("segment.jitter.ms", 0, "Random part taken off segment.ms.", low=0, high=MAX_LONG)
    segment_ms: int = setting("segment.ms", 604_800_000, "Record time a segment may span.", low=1, high=MAX_LONG)
    unclean_leader_election_enable: bool = setting(
        "unclean.leader.election.enable", False, "Let a replica that is behind become leader.", effect=False
    )

    @property
    def compacted(self) -> bool:
        return "compact" in self.cleanup_policy


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """Settings of a broker, defaults of Kafka 4.3 but for replication factors, which suit one node."""

    node_id: int = setting("node.id", 1, "Number of this broker in its cluster.", low=0, high=MAX_INT)
    num_partitions: int = setting(
        "num.partitions", 1, "Partitions of a topic made without a count.", low=1, high=MAX_INT
    )
    default_replication_factor: int = setting(
        "default.replication.factor", 1, "Replicas of a topic made without a count.", low=1, high=32767
    )
    auto_create_topics_enable: bool = setting("auto.create.topics.enable", True, "Make a topic when it is first named.")
    delete_topic_enable: bool = setting("delete.topic.enable", True, "Allow DeleteTopics.")
    broker_rack: str = setting("broker.rack", "", "Rack of this broker, for rack aware clients.")
    advertised_listeners: tuple[str, ...] = setting(
        "advertised.listeners", [], "Addresses told to clients; the listening one where empty."
    )

    oncelog_flush_policy: str = setting(
        "oncelog.flush.policy",
        "commit",
        "What an acknowledgement promises: none (written), interval (synced every log.flush.interval.ms), "
        "commit (on stable storage).",
        choices=("none", "interval", "commit"),
    )
    log_flush_interval_ms: int = setting(
        "log.flush.interval.ms", 1000, "Time between two syncs of the flush policy interval.", low=1, high=MAX_LONG
    )

    message_max_bytes: int = setting(
        "message.max.bytes", 1_048_588, "Default of max.message.bytes.", low=0, high=MAX_INT
    )
    log_retention_check_interval_ms: int = setting(
        "log.retention.check.interval.ms", 300_000, "Time between two retention checks.", low=1, high=MAX_LONG
    )
    log_cleaner_enable: bool = setting("log.cleaner.enable", True, "Compact compacted topics.")
    log_cleaner_backoff_ms: int = setting(
        "log.cleaner.backoff.ms", 15_000, "Pause of the cleaner when nothing is to be cleaned.", low=0, high=MAX_LONG
    )

    offsets_topic_num_partitions: int = setting(
        "offsets.topic.num.partitions", 50, "Partitions of __consumer_offsets.", low=1, high=MAX_INT
    )
    offsets_topic_replication_factor: int = setting(
        "offsets.topic.replication.factor", 1, "Replicas of __consumer_offsets.", low=1, high=32767
    )
    offsets_topic_segment_bytes: int = setting(
        "offsets.topic.segment.bytes", 104_857_600, "Segment size of __consumer_offsets.", low=1, high=MAX_INT
    )
    offset_metadata_max_bytes: int = setting(
        "offset.metadata.max.bytes", 4096, "Largest metadata of an offset commit.", low=0, high=MAX_INT
    )
    offsets_retention_minutes: int = setting(
        "offsets.retention.minutes", 10_080, "How long offsets outlive their group, in minutes.", low=1, high=MAX_INT
    )
    offsets_retention_check_interval_ms: int = setting(
        "offsets.retention.check.interval.ms", 600_000, "Time between two offset expiry checks.", low=1, high=MAX_LONG
    )

    group_initial_rebalance_delay_ms: int = setting(
        "group.initial.rebalance.delay.ms",
        3000,
        "Wait for more members before a group's first rebalance.",
        low=0,
        high=MAX_INT,
    )
    group_min_session_timeout_ms: int = setting(
        "group.min.session.timeout.ms", 6000, "Least session timeout.", low=0, high=MAX_INT
    )
    group_max_session_timeout_ms: int = setting(
        "group.max.session.timeout.ms", 1_800_000, "Greatest session timeout.", low=0, high=MAX_INT
    )
    group_max_size: int = setting("group.max.size", MAX_INT, "Members of a classic group.", low=1, high=MAX_INT)
    group_consumer_session_timeout_ms: int = setting(
        "group.consumer.session.timeout.ms", 45_000, "Session timeout of the consumer protocol.", low=1, high=MAX_INT
    )
    group_consumer_heartbeat_interval_ms: int = setting(
        "group.consumer.heartbeat.interval.ms",
        5000,
        "Heartbeat interval of the consumer protocol.",
        low=1,
        high=MAX_INT,
    )
    group_consumer_max_size: int = setting(
        "group.consumer.max.size", MAX_INT, "Members of a group of the consumer protocol.", low=1, high=MAX_INT
    )
    group_consumer_assignors: tuple[str, ...] = setting(
        "group.consumer.assignors",
        ["uniform", "range"],
        "Server side assignors, the first is the default.",
        choices=("uniform", "range"),
    )

    transaction_state_log_num_partitions: int = setting(
        "transaction.state.log.num.partitions", 50, "Partitions of __transaction_state.", low=1, high=MAX_INT
    )
    transaction_state_log_replication_factor: int = setting(
        "transaction.state.log.replication.factor", 1, "Replicas of __transaction_state.", low=1, high=32767
    )
    transaction_state_log_min_isr: int = setting(
        "transaction.state.log.min.isr", 1, "min.insync.replicas of __transaction_state.", low=1, high=MAX_INT
    )
    transaction_state_log_segment_bytes: int = setting(
        "transaction.state.log.segment.bytes", 104_857_600, "Segment size of __transaction_state.", low=1, high=MAX_INT
    )
    transaction_max_timeout_ms: int = setting(
        "transaction.max.timeout.ms",
        900_000,
        "Greatest transaction.timeout.ms a producer may ask.",
        low=1,
        high=MAX_INT,
    )
    transactional_id_expiration_ms: int = setting(
        "transactional.id.expiration.ms",
        604_800_000,
        "An idle transactional.id is forgotten after this.",
        low=1,
        high=MAX_INT,
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = setting(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        10_000,
        "Time between two looks for transactions past their timeout.",
        low=1,
        high=MAX_INT,
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        3_600_000,
        "Time between two looks for expired transactional ids.",
        low=1,
        high=MAX_INT,
    )
    transaction_partition_verification_enable: bool = setting(
        "transaction.partition.verification.enable",
        True,
        "Ask the coordinator before a transaction's first write (KIP-890).",
    )
    producer_id_expiration_ms: int = setting(
        "producer.id.expiration.ms",
        86_400_000,
        "An idle producer id is forgotten by a partition after this.",
        low=1,
        high=MAX_INT,
    )
    producer_id_expiration_check_interval_ms: int = setting(
        "producer.id.expiration.check.interval.ms",
        600_000,
        "Time between two looks for idle producer ids.",
        low=1,
        high=MAX_INT,
    )

    socket_request_max_bytes: int = setting(
        "socket.request.max.bytes",
        104_857_600,
        "Largest request; a larger one ends its connection.",
        low=1,
        high=MAX_INT,
    )
    max_connections: int = setting("max.connections", MAX_INT, "Connections served at once.", low=0, high=MAX_INT)
    connections_max_idle_ms: int = setting(
        "connections.max.idle.ms",
        600_000,
        "A connection idle for this long is closed; -1 never.",
        low=-1,
        high=MAX_LONG,
    )
    fetch_max_bytes: int = setting(
        "fetch.max.bytes", 57_671_680, "Most bytes in one Fetch answer.", low=1024, high=MAX_INT
    )
    max_incremental_fetch_session_cache_slots: int = setting(
        "max.incremental.fetch.session.cache.slots", 1000, "Incremental fetch sessions kept.", low=0, high=MAX_INT
    )
