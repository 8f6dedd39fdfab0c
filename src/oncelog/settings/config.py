"""Typed settings of topics and brokers under Kafka's property names.

Each class is a ``Settings`` with fields made by ``setting``; :func:`parse` builds one from strings (a properties file,
``--set``, AlterConfigs) and refuses what Kafka refuses, in Kafka's words. Broker properties of Kafka that have no field
here are checked and shown from ``kafka_properties``. Durations are in milliseconds and sizes in bytes, as a property's
name says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, fields, replace
from typing import Any, TypeVar, cast

from oncelog.errors import ConfigError
from oncelog.settings.fields import Settings, nearest, parse_value, properties, setting
from oncelog.settings.kafka_properties import MAX_INT, MAX_LONG, PropertyKind, broker_properties, render

C = TypeVar("C", bound=Settings)


def parse(cls: type[C], values: Mapping[str, str], base: C | None = None) -> C:
    """A settings object with ``values`` (text by property name); all other settings come from ``base``, or are the
    defaults.

    Raises ConfigError for an unknown name (with the nearest known one) or a value that is not allowed.
    """
    if cls is BrokerConfig:
        return cast(C, parse_broker(values, cast("BrokerConfig | None", base)))
    known = properties(cls)  # type: ignore[arg-type]
    kwargs = {f.name: getattr(base, f.name) for f in known.values()} if base is not None else {}
    for name, text in values.items():
        f = known.get(name)
        if f is None:
            raise ConfigError(f"Unknown configuration {name!r}{nearest(name, known)}")
        kwargs[f.name] = parse_value(f, text)
    return cls(**kwargs)


MAX_INDEX_INTERVAL_BYTES = 65_536
"""The maximum index interval. A read has to scan all batches since the last index entry, and other reads wait
meanwhile."""


class TopicConfig(Settings):
    """Settings of one topic (Kafka's ``TopicConfig`` and ``LogConfig``), defaults of Kafka 4.4."""

    cleanup_policy: tuple[str, ...] = setting(
        "cleanup.policy",
        ["delete"],
        "How old records are removed: delete, compact, or both.",
        choices=("compact", "delete"),
    )
    compression_type: str = setting(
        "compression.type",
        "producer",
        "Codec of stored batches; producer keeps what the producer chose.",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    )
    compression_gzip_level: int = setting(
        "compression.gzip.level",
        -1,
        "Level for gzip; -1 is gzip's default.",
        low=1,
        high=9,
        also=(-1,),
        kind=PropertyKind.INT,
    )
    compression_lz4_level: int = setting(
        "compression.lz4.level", 9, "Level for lz4.", low=1, high=17, kind=PropertyKind.INT
    )
    compression_zstd_level: int = setting(
        "compression.zstd.level", 3, "Level for zstd.", low=-131072, high=22, kind=PropertyKind.INT
    )
    delete_retention_ms: int = setting(
        "delete.retention.ms", 86_400_000, "How long tombstones and markers outlive compaction.", low=0, high=MAX_LONG
    )
    errors_deadletterqueue_group_enable: bool = setting(
        "errors.deadletterqueue.group.enable", False, "Whether groups may write their dead letters to it."
    )
    file_delete_delay_ms: int = setting(
        "file.delete.delay.ms", 60_000, "Delay before a deleted file is removed from the disk.", low=0, high=MAX_LONG
    )
    flush_messages: int = setting(
        "flush.messages",
        MAX_LONG,
        "The number of unsynced records that starts a sync, for which acknowledgements wait; 1: sync each record.",
        low=1,
        high=MAX_LONG,
    )
    flush_ms: int = setting(
        "flush.ms", MAX_LONG, "Maximum time from an append until its sync begins.", low=0, high=MAX_LONG
    )
    follower_replication_throttled_replicas: tuple[str, ...] = setting(
        "follower.replication.throttled.replicas", [], "Replicas whose followers are throttled.", effect=False
    )
    index_interval_bytes: int = setting(
        "index.interval.bytes",
        4096,
        "Bytes of records between two index entries; more than 65536 count as 65536.",
        low=0,
        high=MAX_INT,
    )
    internal_segment_bytes: int | None = setting(
        "internal.segment.bytes",
        None,
        "Overrides segment.bytes below its minimum, for tests.",
        high=MAX_INT,
        kind=PropertyKind.INT,
    )
    leader_replication_throttled_replicas: tuple[str, ...] = setting(
        "leader.replication.throttled.replicas", [], "Replicas whose leaders are throttled.", effect=False
    )
    local_retention_bytes: int = setting(
        "local.retention.bytes", -2, "Local part of retention.bytes under tiered storage.", low=-2, effect=False
    )
    local_retention_ms: int = setting(
        "local.retention.ms", -2, "Local part of retention.ms under tiered storage.", low=-2, effect=False
    )
    max_compaction_lag_ms: int = setting(
        "max.compaction.lag.ms", MAX_LONG, "A record is compacted after this time at the latest.", low=1, high=MAX_LONG
    )
    max_decompressed_message_bytes: int = setting(
        "max.decompressed.message.bytes",
        2_147_483_639,
        "Largest record of a compressed batch, decompressed.",
        low=1,
        high=MAX_INT,
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
        "message.timestamp.type",
        "CreateTime",
        "Whose clock sets a record's timestamp: the producer's or the broker's.",
        choices=("CreateTime", "LogAppendTime"),
    )
    min_cleanable_dirty_ratio: float = setting(
        "min.cleanable.dirty.ratio", 0.5, "Share of uncompacted bytes that starts compaction.", low=0, high=1
    )
    min_compaction_lag_ms: int = setting(
        "min.compaction.lag.ms", 0, "A record stays uncompacted at least this long.", low=0, high=MAX_LONG
    )
    min_insync_replicas: int = setting(
        "min.insync.replicas", 1, "In-sync replicas that acks=all needs.", low=1, high=MAX_INT
    )
    preallocate: bool = setting("preallocate", False, "Reserve a segment's bytes when it is created.", effect=False)
    remote_copy_lag_bytes: int = setting(
        "remote.copy.lag.bytes",
        -1,
        "Bytes that follow a segment before tiered storage copies the segment.",
        low=-1,
        high=MAX_LONG,
        effect=False,
    )
    remote_copy_lag_ms: int = setting(
        "remote.copy.lag.ms",
        0,
        "Age of a segment before tiered storage copies it.",
        low=-1,
        high=MAX_LONG,
        effect=False,
    )
    remote_log_copy_disable: bool = setting(
        "remote.log.copy.disable", False, "Copy no new segments to tiered storage.", effect=False
    )
    remote_log_delete_on_disable: bool = setting(
        "remote.log.delete.on.disable",
        False,
        "Delete the segments in tiered storage when it is disabled.",
        effect=False,
    )
    remote_storage_enable: bool = setting(
        "remote.storage.enable", False, "Tiered storage, which this broker does not have.", effect=False
    )
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
    segment_jitter_ms: int = setting(
        "segment.jitter.ms", 0, "Largest random time subtracted from segment.ms.", low=0, high=MAX_LONG
    )
    segment_ms: int = setting(
        "segment.ms", 604_800_000, "Longest time that the records of a segment may span.", low=1, high=MAX_LONG
    )
    unclean_leader_election_enable: bool = setting(
        "unclean.leader.election.enable",
        False,
        "With several nodes: whether a replica that is not in sync may become the leader.",
    )

    def __post_init__(self) -> None:
        if self.internal_segment_bytes is not None:
            self.__dict__["segment_bytes"] = self.internal_segment_bytes
        self.__dict__["index_interval_bytes"] = min(self.index_interval_bytes, MAX_INDEX_INTERVAL_BYTES)

    @property
    def compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def longest_segment_ms(self) -> int:
        """How much record time a segment may span. With compaction the limit may be lower, because only closed segments
        are compacted (Kafka's ``LogConfig.maxSegmentMs``)."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compacted else self.segment_ms


class BrokerConfig(Settings):
    """Settings of a broker, defaults of Kafka 4.4, except replication factors, which suit one node."""

    node_id: int = setting("node.id", 1, "Number of this broker in its cluster.", low=0, high=MAX_INT)
    num_partitions: int = setting(
        "num.partitions", 1, "Partitions of a topic that is created without a count.", low=1, high=MAX_INT
    )
    default_replication_factor: int = setting(
        "default.replication.factor",
        1,
        "Replicas of a topic that is created without a count; with several nodes, up to 3 unless it is given.",
        low=1,
        high=32767,
    )
    auto_create_topics_enable: bool = setting(
        "auto.create.topics.enable", True, "Create a topic when it is first named."
    )
    delete_topic_enable: bool = setting("delete.topic.enable", True, "Allow DeleteTopics.")
    broker_rack: str = setting("broker.rack", "", "Rack of this broker, for rack aware clients.")

    oncelog_flush_policy: str = setting(
        "oncelog.flush.policy",
        "interval",
        "What an acknowledgement guarantees: none (written), interval (synced every log.flush.interval.ms), "
        "commit (on stable storage).",
        choices=("none", "interval", "commit"),
    )
    log_flush_interval_ms: int = setting(
        "log.flush.interval.ms",
        1000,
        "With oncelog.flush.policy=interval, the maximum time between two syncs; a partition with 16 MB to sync is "
        "synced earlier. If this property is set, it is also the default of flush.ms, under every policy.",
        low=1,
        high=MAX_LONG,
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
        "offsets.topic.replication.factor",
        1,
        "Replicas of __consumer_offsets; with several nodes, up to 3 unless it is given.",
        low=1,
        high=32767,
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
        "How long a group's first rebalance waits for more members.",
        low=0,
        high=MAX_INT,
    )
    group_min_session_timeout_ms: int = setting(
        "group.min.session.timeout.ms", 6000, "Minimum session timeout.", low=0, high=MAX_INT
    )
    group_max_session_timeout_ms: int = setting(
        "group.max.session.timeout.ms", 1_800_000, "Maximum session timeout.", low=0, high=MAX_INT
    )
    group_max_size: int = setting(
        "group.max.size", MAX_INT, "Maximum number of members of a classic group.", low=1, high=MAX_INT
    )
    group_consumer_max_size: int = setting(
        "group.consumer.max.size",
        MAX_INT,
        "Maximum number of members of a group of the consumer protocol.",
        low=1,
        high=MAX_INT,
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
        "transaction.state.log.replication.factor",
        1,
        "Replicas of __transaction_state; with several nodes, up to 3 unless it is given.",
        low=1,
        high=32767,
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
        "Maximum transaction.timeout.ms that a producer may request.",
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
        "Time between two checks for transactions past their timeout.",
        low=1,
        high=MAX_INT,
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        3_600_000,
        "Time between two checks for expired transactional ids.",
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
        "A partition forgets a producer id, and would store a repeat, this long after its last record's timestamp.",
        low=1,
        high=MAX_INT,
    )
    producer_id_expiration_check_interval_ms: int = setting(
        "producer.id.expiration.check.interval.ms",
        600_000,
        "Time between two checks for idle producer ids.",
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
    socket_receive_buffer_bytes: int = setting(
        "socket.receive.buffer.bytes",
        102_400,
        "SO_RCVBUF of each connection; -1: the operating system decides.",
        low=-1,
        high=MAX_INT,
    )
    socket_send_buffer_bytes: int = setting(
        "socket.send.buffer.bytes",
        102_400,
        "SO_SNDBUF of each connection; -1: the operating system decides. With less than 34000, clients on the same "
        "machine receive long answers slowly, as from Apache Kafka: Linux delays each acknowledgement by 40 ms.",
        low=-1,
        high=MAX_INT,
    )
    queued_max_request_bytes: int = setting(
        "queued.max.request.bytes",
        -1,
        "Memory for requests being received or handled; -1: 256 MB, or two of the largest requests.",
        low=-1,
        high=MAX_LONG,
    )
    max_connections: int = setting("max.connections", MAX_INT, "Maximum number of connections.", low=0, high=MAX_INT)
    max_connections_per_ip: int = setting(
        "max.connections.per.ip", MAX_INT, "Maximum number of connections of one address.", low=0, high=MAX_INT
    )
    max_connections_per_ip_overrides: str = setting(
        "max.connections.per.ip.overrides", "", "ADDRESS:COUNT pairs that override max.connections.per.ip."
    )
    max_connection_creation_rate: int = setting(
        "max.connection.creation.rate",
        MAX_INT,
        "Connections accepted per second; those beyond wait, for half a minute at most.",
        low=0,
        high=MAX_INT,
    )
    connections_max_idle_ms: int = setting(
        "connections.max.idle.ms",
        600_000,
        "A connection idle for this long is closed; -1 never.",
        low=-1,
        high=MAX_LONG,
    )
    fetch_max_bytes: int = setting(
        "fetch.max.bytes", 57_671_680, "Maximum bytes in one Fetch answer.", low=1024, high=MAX_INT
    )
    max_incremental_fetch_session_cache_slots: int = setting(
        "max.incremental.fetch.session.cache.slots",
        1000,
        "Maximum number of incremental fetch sessions.",
        low=0,
        high=MAX_INT,
    )

    transaction_two_phase_commit_enable: bool = setting(
        "transaction.two.phase.commit.enable",
        False,
        "Serve two-phase commit with a database: transactions without a timeout (KIP-939).",
    )

    authorizer_class_name: str = setting(
        "authorizer.class.name",
        "",
        "The class that authorizes principals: Apache Kafka's StandardAuthorizer; empty: no authorization.",
    )
    super_users: str = setting(
        "super.users", "", "Principals that may do everything, as User:name, separated by semicolons."
    )
    allow_everyone_if_no_acl_found: bool = setting(
        "allow.everyone.if.no.acl.found", False, "Allow everyone every operation on a resource without any ACL."
    )

    topic_defaults: TopicConfig = field(default=TopicConfig())
    """The settings of topics without overrides, from ``log.*`` and the other broker properties."""
    static: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The properties with which the broker was started, as text, including those without a field here."""
    dynamic: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The properties that AlterConfigs has set, which override the others."""
    started: BrokerConfig | None = field(default=None, hash=False, compare=False, repr=False)
    """The configuration without the changes of AlterConfigs; None if there are none."""

    def text(self, name: str) -> str | None:
        """The value of any broker property of Kafka as text, whether or not the property has an effect here; None if it
        has no value."""
        f = properties(BrokerConfig).get(name)
        if f is not None:
            value = getattr(self, f.name)
            known = broker_properties().get(name)
            if known is not None and known.default is None and not known.required and value == f.default:
                return None
            return render(value)
        known = broker_properties()[name]
        given = self.dynamic.get(name, self.static.get(name))
        return known.default if given is None else render(known.parse(given))

    def with_dynamic(self, dynamic: Mapping[str, str]) -> BrokerConfig:
        """The startup settings overlaid with ``dynamic``, the properties that AlterConfigs has set; validated.

        A name that is not a broker setting is skipped: AlterConfigs keeps it, as in Apache Kafka.
        """
        started = self.started or self
        dynamic = {name: text for name, text in dynamic.items() if is_broker_setting(name)}
        return replace(parse_broker(dynamic, started), static=started.static, dynamic=dynamic, started=started)


_HOUR_MS, _MINUTE_MS = 3_600_000, 60_000

TOPIC_SYNONYMS: Mapping[str, tuple[tuple[str, int], ...]] = {
    "cleanup.policy": (("log.cleanup.policy", 1),),
    "compression.gzip.level": (("compression.gzip.level", 1),),
    "compression.lz4.level": (("compression.lz4.level", 1),),
    "compression.type": (("compression.type", 1),),
    "compression.zstd.level": (("compression.zstd.level", 1),),
    "delete.retention.ms": (("log.cleaner.delete.retention.ms", 1),),
    "file.delete.delay.ms": (("log.segment.delete.delay.ms", 1),),
    "flush.messages": (("log.flush.interval.messages", 1),),
    "flush.ms": (("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
    "index.interval.bytes": (("log.index.interval.bytes", 1),),
    "local.retention.bytes": (("log.local.retention.bytes", 1),),
    "local.retention.ms": (("log.local.retention.ms", 1),),
    "max.compaction.lag.ms": (("log.cleaner.max.compaction.lag.ms", 1),),
    "max.message.bytes": (("message.max.bytes", 1),),
    "max.decompressed.message.bytes": (("max.decompressed.message.bytes", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "message.timestamp.before.max.ms": (("log.message.timestamp.before.max.ms", 1),),
    "message.timestamp.type": (("log.message.timestamp.type", 1),),
    "min.cleanable.dirty.ratio": (("log.cleaner.min.cleanable.ratio", 1),),
    "min.compaction.lag.ms": (("log.cleaner.min.compaction.lag.ms", 1),),
    "min.insync.replicas": (("min.insync.replicas", 1),),
    "preallocate": (("log.preallocate", 1),),
    "remote.copy.lag.bytes": (("log.remote.copy.lag.bytes", 1),),
    "remote.copy.lag.ms": (("log.remote.copy.lag.ms", 1),),
    "retention.bytes": (("log.retention.bytes", 1),),
    "retention.ms": (("log.retention.ms", 1), ("log.retention.minutes", _MINUTE_MS), ("log.retention.hours", _HOUR_MS)),
    "segment.bytes": (("log.segment.bytes", 1),),
    "segment.index.bytes": (("log.index.size.max.bytes", 1),),
    "segment.jitter.ms": (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _HOUR_MS)),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", _HOUR_MS)),
    "unclean.leader.election.enable": (("unclean.leader.election.enable", 1),),
}
"""The broker properties that give each topic property its default, in order of precedence, with the factor that
converts them to the topic property's unit (Kafka's ``ServerTopicConfigSynonyms``)."""

LISTENER_PREFIX = re.compile(r"listener\.name\.[^.]+\.(?:(?:plain|scram-sha-256|scram-sha-512|oauthbearer|gssapi)\.)?")


def is_broker_setting(name: str) -> bool:
    """Whether brokers have a setting of this name: one of Kafka's, including those for a single listener, or oncelog's
    own.
    """
    known = broker_properties()
    return name in known or name in properties(BrokerConfig) or LISTENER_PREFIX.sub("", name) in known


def parse_broker(values: Mapping[str, str], base: BrokerConfig | None = None) -> BrokerConfig:
    """A broker's settings from any broker properties of Kafka 4.4 and our own (``oncelog.*``).

    A property without effect here is checked as Kafka does and kept for display. Raises ConfigError.
    """
    fields_by_property = properties(BrokerConfig)
    kwargs: dict[str, Any] = {f.name: getattr(base, f.name) for f in fields(BrokerConfig)} if base is not None else {}
    if "broker.id" in values and "node.id" not in values and values["broker.id"] != "-1":
        values = {**values, "node.id": values["broker.id"]}
    for name, text in values.items():
        f = fields_by_property.get(name)
        if f is not None:
            kwargs[f.name] = parse_value(f, text)
        else:
            _check_other(name, text)
    values = {**base.static, **values} if base is not None else values
    kwargs["topic_defaults"] = _topic_defaults(values, base.topic_defaults if base is not None else TopicConfig())
    kwargs["static"] = dict(values)
    config = BrokerConfig(**kwargs)
    _check_together(config)
    return config


def _check_other(name: str, text: str) -> None:
    known = broker_properties()
    found = known.get(name) or known.get(LISTENER_PREFIX.sub("", name))
    if found is None:
        raise ConfigError(f"Unknown configuration {name!r}{nearest(name, [*properties(BrokerConfig), *known])}")
    if text or found.default:
        found.parse(text)


def _topic_defaults(values: Mapping[str, str], base: TopicConfig) -> TopicConfig:
    changes: dict[str, Any] = {}
    for name, synonyms in TOPIC_SYNONYMS.items():
        for synonym, factor in synonyms:
            text = values.get(synonym)
            if text is None:
                continue
            value = broker_properties()[synonym].parse(text)
            if name == "retention.ms" and isinstance(value, int):
                if value == 0:
                    raise ConfigError(
                        "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
                    )
                value = -1 if value < 0 else value
            if factor != 1 and isinstance(value, int) and value > 0:
                value *= factor
            changes[properties(TopicConfig)[name].name] = value
            break
    return replace(base, **changes) if changes else base


def per_ip_overrides(text: str) -> dict[str, int]:
    """Parse ``max.connections.per.ip.overrides``: ``ADDRESS:COUNT`` separated by commas.

    :raises ConfigError: it has another form.
    """
    limits = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        host, separator, count = part.rpartition(":")
        if not separator or not count.strip().isdecimal():
            raise ConfigError(
                f"max.connections.per.ip.overrides has {part!r}; write ADDRESS:COUNT, several with commas"
            )
        if not is_address(host.strip()):
            raise ConfigError(
                f"max.connections.per.ip.overrides has {host.strip()!r}: write the address, names are not looked up"
            )
        limits[host.strip()] = int(count)
    return limits


def is_address(text: str) -> bool:
    """Whether the text is an IPv4 or IPv6 address, and not the name of a host."""
    import ipaddress

    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _check_together(config: BrokerConfig) -> None:
    """Refuse combinations of settings that Kafka's ``KafkaConfig`` and ``GroupCoordinatorConfig`` refuse."""

    def number(name: str) -> int:
        return int(config.text(name) or 0)

    overrides = per_ip_overrides(config.max_connections_per_ip_overrides)
    given = {*config.static, *config.dynamic}
    requirements = {
        "log.roll.ms must be greater than or equal to 1": config.topic_defaults.segment_ms >= 1,
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes": (
            config.queued_max_request_bytes <= 0 or config.queued_max_request_bytes >= config.socket_request_max_bytes
        ),
        # else the broker refuses every connection, those that could change the setting again too
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.": (
            config.max_connections_per_ip > 0 or bool(overrides)
        ),
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.": (
            given.isdisjoint({"log.cleaner.threads", "log.cleaner.dedupe.buffer.size"})
            or 0 < number("log.cleaner.threads") <= number("log.cleaner.dedupe.buffer.size") // (1024 * 1024 + 1)
        ),
    }
    for requirement, met in requirements.items():
        if not met:
            raise ConfigError(f"requirement failed: {requirement}")
    if config.group_min_session_timeout_ms > config.group_max_session_timeout_ms:
        raise ConfigError("group.max.session.timeout.ms must be greater than or equal to group.min.session.timeout.ms")
    of_groups = [name for name in given if name.startswith(("group.consumer.", "group.share."))]
    for kind in sorted({name.split(".")[1] for name in of_groups}):
        for setting_name in ("heartbeat.interval.ms", "session.timeout.ms"):
            least, value, most = (number(f"group.{kind}.{bound}{setting_name}") for bound in ("min.", "", "max."))
            if not least <= value <= most:
                raise ConfigError(
                    f"group.{kind}.{setting_name} is {value} and must lie between group.{kind}.min.{setting_name} "
                    f"({least}) and group.{kind}.max.{setting_name} ({most})"
                )
        if number(f"group.{kind}.heartbeat.interval.ms") >= number(f"group.{kind}.session.timeout.ms"):
            raise ConfigError(f"group.{kind}.heartbeat.interval.ms must be less than group.{kind}.session.timeout.ms")
