"""Settings of producer, consumer and admin client: Kafka's property names, aiokafka's names as attributes.

Called by the clients' constructors (keyword form), the command line and Spark (properties form). Contradictory settings
are refused before anything is sent, with the setting's name and the allowed values (``ProducerConfig.java``, KIP-679).
Defaults are those of Kafka 4.4 except for ``linger.ms``, which is 0 as in aiokafka: records sent in one iteration of
the event loop share a batch anyway, and a sender that waits for its record gets the answer 5 ms earlier.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import Field, replace
from typing import Any, Self

from oncelog.client.core.java_settings import JAVA_SETTINGS
from oncelog.client.core.security import SecurityConfig
from oncelog.errors import ConfigError
from oncelog.records.compression import Compression
from oncelog.settings.config import parse
from oncelog.settings.fields import nearest, properties, setting
from oncelog.settings.kafka_properties import MAX_INT, MAX_LONG, render

TokenProvider = Callable[[], "str | Awaitable[str]"]
"""Returns a token for OAUTHBEARER, or an awaitable of one. An object with a method ``token``, as in aiokafka, is
accepted, too."""

log = logging.getLogger(__name__)

_JAVA_PARTITIONERS = {
    "": "sticky",
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": "roundrobin",
    "org.apache.kafka.clients.producer.UniformStickyPartitioner": "sticky",
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": "sticky",
}
_JAVA_ASSIGNORS = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}
_JAVA_WORDS = {"partitioner.class": _JAVA_PARTITIONERS, "partition.assignment.strategy": _JAVA_ASSIGNORS}


class ClientConfig(SecurityConfig):
    """Settings shared by all three clients."""

    bootstrap_servers: tuple[str, ...] = setting(
        "bootstrap.servers",
        ["localhost:9092"],
        "Addresses (host:port) of some brokers, which report the rest of the cluster.",
    )
    client_id: str = setting("client.id", "oncelog", "Name of the client in the broker's logs and quotas.")
    request_timeout_ms: int = setting(
        "request.timeout.ms", 30_000, "An answer that takes longer counts as lost.", low=1, high=MAX_INT
    )
    retry_backoff_ms: int = setting(
        "retry.backoff.ms", 100, "Wait before the first retry of a failed request.", low=0, high=MAX_LONG
    )
    retry_backoff_max_ms: int = setting(
        "retry.backoff.max.ms", 1000, "Longest wait between two retries.", low=0, high=MAX_LONG
    )
    reconnect_backoff_ms: int = setting(
        "reconnect.backoff.ms", 50, "Wait before the first new attempt to connect to a node.", low=0, high=MAX_LONG
    )
    reconnect_backoff_max_ms: int = setting(
        "reconnect.backoff.max.ms", 1000, "Longest wait between two attempts to connect.", low=0, high=MAX_LONG
    )
    socket_connection_setup_timeout_ms: int = setting(
        "socket.connection.setup.timeout.ms",
        10_000,
        "Time for a connection and its TLS handshake; doubled after each failure (KIP-601).",
        low=1,
        high=MAX_LONG,
    )
    socket_connection_setup_timeout_max_ms: int = setting(
        "socket.connection.setup.timeout.max.ms",
        30_000,
        "Maximum of socket.connection.setup.timeout.ms after failures have doubled it.",
        low=1,
        high=MAX_LONG,
    )
    connections_max_idle_ms: int = setting(
        "connections.max.idle.ms",
        540_000,
        "Idle connections are closed after this; -1 never.",
        low=-1,
        high=MAX_LONG,
    )
    metadata_max_age_ms: int = setting(
        "metadata.max.age.ms",
        300_000,
        "Maximum age of the metadata.",
        low=0,
        high=MAX_LONG,
    )
    token_provider: TokenProvider | None = None
    """Supplies tokens for OAUTHBEARER. It is not a property of Kafka, because a function cannot be written as text."""

    @classmethod
    def from_properties(cls, values: Mapping[str, str], token_provider: TokenProvider | None = None) -> Self:
        """Make settings from Kafka's property names and texts, for example from a file shared with Java's clients.

        A setting that this client lacks is ignored if another client, ours or Java's, has it; a warning is logged if
        only Java would act on its value. Unknown names are refused with the nearest known one.
        """
        values = {name: text for name, text in values.items() if not _for_others(cls, name, text)}
        translated = {name: _without_java_classes(name, text) for name, text in values.items()}
        return replace(parse(cls, translated), token_provider=token_provider)._checked(frozenset(values))

    @classmethod
    def from_keywords(cls, **values: Any) -> Self:
        """Make settings from attribute names and typed values; None means the default."""
        known: dict[str, Field[Any]] = {f.name: f for f in known_properties(cls).values()}
        token_provider = values.pop("sasl_oauth_token_provider", None)
        texts: dict[str, str] = {}
        for name, value in values.items():
            f = known.get(name)
            if f is None:
                raise ConfigError(f"Unknown setting {name!r}{nearest(name, known)}")
            if value is not None:
                texts[f.metadata["property"]] = _text(f, value)
        return cls.from_properties(texts, token_provider)

    def _checked(self, explicit: frozenset[str]) -> Self:
        """A checked copy of these settings with adjusted values.

        :raises ConfigError: the settings contradict each other.
        """
        addresses = tuple(map(without_protocol, self.bootstrap_servers))
        for address in addresses:
            host, _, port = address.rpartition(":")
            if not host or not port.isdigit() or not 0 < int(port) < 65536:
                raise ConfigError(
                    f"Invalid value {address!r} for configuration bootstrap.servers: it takes host:port, "
                    "several separated by commas"
                )
        if not self.bootstrap_servers:
            raise ConfigError("Missing required configuration bootstrap.servers: it takes host:port")
        self.check_security(self.token_provider is not None)
        return self if addresses == self.bootstrap_servers else replace(self, bootstrap_servers=addresses)


def without_protocol(address: str) -> str:
    """The ``host:port`` in ``protocol://host:port``, a form that Java's clients accept and many containers print."""
    return address.rpartition("://")[2]


def known_properties(cls: type[ClientConfig]) -> Mapping[str, Field[Any]]:
    """The fields of a settings class by property name."""
    return properties(cls)  # type: ignore[arg-type]


def _for_others(cls: type[ClientConfig], name: str, text: str) -> bool:
    """Whether a property may be ignored because it belongs to other clients than ``cls``; warns if only Java's clients
    would act on its value."""
    if name in known_properties(cls):
        return False
    if any(name in known_properties(other) for other in (ProducerConfig, ConsumerConfig, AdminConfig)):
        return True
    if name not in JAVA_SETTINGS:
        return False
    if text.strip() not in JAVA_SETTINGS[name]:
        log.warning("%s=%s has no effect: only Apache Kafka's Java clients have this setting", name, _shown(name, text))
    return True


def _shown(name: str, text: str) -> str:
    return "(hidden)" if any(word in name for word in ("password", "passphrase", "secret", "jaas", "key")) else text


def _without_java_classes(name: str, text: str) -> str:
    words = _JAVA_WORDS.get(name)
    if words is None:
        return text
    return ",".join(words.get(word.strip(), word.strip()) for word in text.split(","))


def _text(f: Field[Any], value: Any) -> str:
    """A typed value as text, so that ``parse_value`` checks it like a text from a properties file."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(str(getattr(item, "name", item)) for item in value)
    if isinstance(value, (bool, str, int, float)):
        return render(value)
    raise ConfigError(f"Invalid value {value!r} for setting {f.name}")


class AdminConfig(ClientConfig):
    """Settings of the admin client."""

    default_api_timeout_ms: int = setting(
        "default.api.timeout.ms", 60_000, "A call that takes longer fails.", low=0, high=MAX_INT
    )


class ProducerConfig(ClientConfig):
    """Settings of the producer."""

    acks: str = setting(
        "acks",
        "all",
        "Who must acknowledge a send: 0 nobody, 1 the leader, all (or -1) every in-sync replica.",
        choices=("all", "-1", "0", "1"),
    )
    enable_idempotence: bool = setting(
        "enable.idempotence", True, "Stop retries from storing a record twice or out of order."
    )
    transactional_id: str | None = setting(
        "transactional.id", None, "Name of the producer across restarts; needed for transactions."
    )
    transaction_timeout_ms: int = setting(
        "transaction.timeout.ms",
        60_000,
        "The broker aborts a transaction that is open for longer.",
        low=1,
        high=MAX_INT,
    )
    two_phase_commit: bool = setting(
        "transaction.two.phase.commit.enable",
        False,
        "A database decides on the transactions, which have no timeout then (KIP-939).",
    )
    retries: int = setting("retries", MAX_INT, "Retries of a batch within delivery.timeout.ms.", low=0, high=MAX_INT)
    max_in_flight_requests_per_connection: int = setting(
        "max.in.flight.requests.per.connection",
        5,
        "Produce requests without an answer on one connection.",
        low=1,
        high=MAX_INT,
    )
    delivery_timeout_ms: int = setting(
        "delivery.timeout.ms", 120_000, "From send() to the final answer, including retries.", low=0, high=MAX_INT
    )
    max_batch_size: int = setting("batch.size", 16_384, "Bytes of one batch before compression.", low=0, high=MAX_INT)
    linger_ms: float = setting(
        "linger.ms", 0.0, "How long a batch that is not full waits for more records.", low=0, high=MAX_LONG
    )
    buffer_memory: int = setting(
        "buffer.memory", 33_554_432, "Memory for records that are not acknowledged yet.", low=0, high=MAX_LONG
    )
    max_block_ms: int = setting(
        "max.block.ms", 60_000, "How long send() and the transaction calls may wait.", low=0, high=MAX_LONG
    )
    max_request_size: int = setting(
        "max.request.size", 1_048_576, "Largest record, and largest request.", low=0, high=MAX_INT
    )
    compression_type: str = setting(
        "compression.type", "none", "Codec of the batches.", choices=("none", "gzip", "snappy", "lz4", "zstd")
    )
    compression_gzip_level: int = setting("compression.gzip.level", -1, "Level for gzip.", low=-1, high=9)
    compression_lz4_level: int = setting("compression.lz4.level", 9, "Level for lz4.", low=1, high=17)
    compression_zstd_level: int = setting("compression.zstd.level", 3, "Level for zstd.", low=-131072, high=22)
    partitioner_class: str = setting(
        "partitioner.class",
        "sticky",
        "Partitioner for records without a key: sticky fills a batch, roundrobin alternates.",
        choices=("sticky", "roundrobin"),
    )
    partitioner_ignore_keys: bool = setting(
        "partitioner.ignore.keys", False, "Choose partitions as if records had no key."
    )
    partitioner_adaptive_partitioning_enable: bool = setting(
        "partitioner.adaptive.partitioning.enable", True, "Prefer partitions with short queues (KIP-794)."
    )
    partitioner_availability_timeout_ms: int = setting(
        "partitioner.availability.timeout.ms",
        0,
        "Avoid partitions whose leader has accepted nothing for this long; 0 never does.",
        low=0,
        high=MAX_LONG,
    )
    key_serializer_class: str = setting("key.serializer", "", "Accepted for compatibility with Java.", effect=False)
    value_serializer_class: str = setting("value.serializer", "", "Accepted for compatibility with Java.", effect=False)

    @property
    def acks_number(self) -> int:
        """``acks`` as the number in requests."""
        return -1 if self.acks in ("all", "-1") else int(self.acks)

    @property
    def compression(self) -> Compression:
        return Compression.from_name(self.compression_type)

    @property
    def compression_level(self) -> int | None:
        """Level of the selected codec; None if it has no levels."""
        levels = {
            "gzip": self.compression_gzip_level,
            "lz4": self.compression_lz4_level,
            "zstd": self.compression_zstd_level,
        }
        return levels.get(self.compression_type)

    def _checked(self, explicit: frozenset[str]) -> Self:
        checked = ClientConfig._checked(self, explicit)
        checked = checked._idempotence_checked(explicit)
        checked._check_two_phase_commit(explicit)
        least = checked.linger_ms + checked.request_timeout_ms
        if checked.delivery_timeout_ms < least:
            if "delivery.timeout.ms" in explicit:
                raise ConfigError(
                    f"delivery.timeout.ms={checked.delivery_timeout_ms} must be at least linger.ms + "
                    f"request.timeout.ms = {least:g}; raise it or lower one of the two"
                )
            checked = replace(checked, delivery_timeout_ms=int(least))
        return checked

    def _check_two_phase_commit(self, explicit: frozenset[str]) -> None:
        if not self.two_phase_commit:
            return
        if self.transactional_id is None:
            raise ConfigError(
                "transaction.two.phase.commit.enable=true needs a transactional.id, by which a later producer finds "
                "the prepared transaction; set one"
            )
        if "transaction.timeout.ms" in explicit:
            raise ConfigError(
                f"transaction.timeout.ms={self.transaction_timeout_ms} contradicts "
                "transaction.two.phase.commit.enable=true, which has no timeout; leave one of the two out"
            )

    def _idempotence_checked(self, explicit: frozenset[str]) -> Self:
        """Refuse settings that contradict idempotence. If idempotence is only the default, ``acks`` and ``retries``
        turn it off instead; too many requests in flight are always refused, as by Kafka from 4.0 on."""
        asked = ("enable.idempotence" in explicit and self.enable_idempotence) or self.transactional_id is not None
        if self.transactional_id is not None and not self.enable_idempotence:
            raise ConfigError(
                f"transactional.id={self.transactional_id!r} needs enable.idempotence=true; "
                "leave enable.idempotence out or set it to true"
            )
        if self.transactional_id == "":
            raise ConfigError("Invalid value '' for configuration transactional.id: it must not be empty")
        if not self.enable_idempotence:
            return self
        why = "transactional.id" if self.transactional_id is not None else "enable.idempotence=true"
        if self.max_in_flight_requests_per_connection > 5:
            raise ConfigError(
                "max.in.flight.requests.per.connection="
                f"{self.max_in_flight_requests_per_connection} contradicts enable.idempotence=true: allowed are 1 to 5 "
                "(the broker caches five batches); lower it or set enable.idempotence=false"
            )
        if self.acks_number != -1:
            if asked:
                raise ConfigError(f"acks={self.acks} contradicts {why}: the only value allowed is all")
            return replace(self, enable_idempotence=False)
        if self.retries == 0:
            if asked:
                raise ConfigError(f"retries=0 contradicts {why}: it must be at least 1")
            return replace(self, enable_idempotence=False)
        return self


ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")


class ConsumerConfig(ClientConfig):
    """Settings of the consumer."""

    group_id: str | None = setting("group.id", None, "Consumer group; None reads without one.")
    group_instance_id: str | None = setting(
        "group.instance.id", None, "Name of a static member, which keeps its partitions over a restart (KIP-345)."
    )
    group_protocol: str = setting(
        "group.protocol",
        "classic",
        "classic, or consumer for KIP-848.",
        choices=("classic", "consumer"),
        any_case=True,
    )
    group_remote_assignor: str | None = setting(
        "group.remote.assignor",
        None,
        "Server-side assignor of the protocol consumer; None leaves the choice to the broker.",
    )
    partition_assignment_strategy: tuple[str, ...] = setting(
        "partition.assignment.strategy",
        ["range", "cooperative-sticky"],
        "Assignors of the classic protocol in order of preference.",
        choices=ASSIGNORS,
    )
    session_timeout_ms: int = setting(
        "session.timeout.ms",
        45_000,
        "A member that is silent for longer is removed; with group.protocol=consumer the broker's setting counts.",
        low=1,
        high=MAX_INT,
    )
    heartbeat_interval_ms: int = setting(
        "heartbeat.interval.ms",
        3000,
        "Time between two heartbeats to the coordinator; with group.protocol=consumer the broker's setting counts.",
        low=1,
        high=MAX_INT,
    )
    max_poll_interval_ms: int = setting(
        "max.poll.interval.ms",
        300_000,
        "A member that fetches nothing for longer leaves; a static one keeps its partitions for the session timeout.",
        low=1,
        high=MAX_INT,
    )
    rebalance_timeout_ms: int = setting(
        "rebalance.timeout.ms",
        0,
        "Time that a member may take to rejoin; 0 means max.poll.interval.ms.",
        low=0,
        high=MAX_INT,
    )
    max_poll_records: int = setting(
        "max.poll.records", 500, "Maximum number of records that one getmany() returns.", low=1, high=MAX_INT
    )
    auto_offset_reset: str = setting(
        "auto.offset.reset",
        "latest",
        "Where to start without a valid offset.",
        choices=("earliest", "latest", "none"),
    )
    enable_auto_commit: bool = setting("enable.auto.commit", True, "Commit positions periodically.")
    auto_commit_interval_ms: int = setting(
        "auto.commit.interval.ms", 5000, "Time between two automatic commits.", low=1, high=MAX_INT
    )
    isolation_level: str = setting(
        "isolation.level",
        "read_uncommitted",
        "read_committed hides records of open and aborted transactions.",
        choices=("read_uncommitted", "read_committed"),
    )
    fetch_min_bytes: int = setting("fetch.min.bytes", 1, "The broker waits for this many bytes.", low=0, high=MAX_INT)
    fetch_max_bytes: int = setting(
        "fetch.max.bytes", 52_428_800, "Maximum number of bytes in one answer.", low=0, high=MAX_INT
    )
    fetch_max_wait_ms: int = setting(
        "fetch.max.wait.ms", 500, "Maximum time that the broker waits for fetch.min.bytes.", low=0, high=MAX_INT
    )
    max_partition_fetch_bytes: int = setting(
        "max.partition.fetch.bytes",
        1_048_576,
        "Maximum number of bytes of one partition in one answer.",
        low=0,
        high=MAX_INT,
    )
    check_crcs: bool = setting("check.crcs", True, "Verify the checksum of every batch.")
    exclude_internal_topics: bool = setting("exclude.internal.topics", True, "A pattern never matches internal topics.")
    allow_auto_create_topics: bool = setting(
        "allow.auto.create.topics", True, "Let a subscription create its topics if the broker allows it."
    )
    client_rack: str = setting("client.rack", "", "Rack of this client (KIP-392).")
    default_api_timeout_ms: int = setting(
        "default.api.timeout.ms", 60_000, "A call that takes longer fails.", low=0, high=MAX_INT
    )
    key_deserializer_class: str = setting("key.deserializer", "", "Accepted for compatibility with Java.", effect=False)
    value_deserializer_class: str = setting(
        "value.deserializer", "", "Accepted for compatibility with Java.", effect=False
    )

    @property
    def read_committed(self) -> bool:
        return self.isolation_level == "read_committed"

    @property
    def effective_rebalance_timeout_ms(self) -> int:
        return self.rebalance_timeout_ms or self.max_poll_interval_ms

    def _checked(self, explicit: frozenset[str]) -> Self:
        checked = ClientConfig._checked(self, explicit)
        if checked.group_id == "":
            raise ConfigError("Invalid value '' for configuration group.id: leave it out or name a group")
        if checked.group_instance_id == "":
            raise ConfigError("Invalid value '' for configuration group.instance.id: it must not be empty")
        if checked.heartbeat_interval_ms >= checked.session_timeout_ms:
            raise ConfigError(
                f"heartbeat.interval.ms={checked.heartbeat_interval_ms} must be less than "
                f"session.timeout.ms={checked.session_timeout_ms}; a third of it is usual"
            )
        if not checked.partition_assignment_strategy:
            raise ConfigError(f"partition.assignment.strategy is empty: allowed are {', '.join(ASSIGNORS)}")
        return checked


__all__ = ["AdminConfig", "ClientConfig", "ConsumerConfig", "ProducerConfig", "known_properties"]
