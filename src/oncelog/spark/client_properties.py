"""The ``kafka.*`` options: which of Kafka's client properties have an effect, and why the others are refused. Called by
:mod:`oncelog.spark.options`.

The tables contain every property of ``ConsumerConfig`` and ``ProducerConfig`` of Apache Kafka 4.4, and those that only
our client has. No property is accepted and then ignored. The page ``docs/reference/spark-options.md`` is generated from
these tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oncelog.client.core.config import ClientConfig, known_properties
from oncelog.errors import ConfigError
from oncelog.settings.fields import nearest


@dataclass(frozen=True, slots=True)
class SparkProperty:
    """How one property is handled.

    :param effect: its effect; empty if it is refused.
    :param only: the accepted values, which match the fixed behaviour; empty if all are accepted.
    :param refused: why it is refused, and what to do instead.
    """

    effect: str = ""
    only: Sequence[str] = ()
    refused: str = ""


def _honoured(effect: str) -> SparkProperty:
    return SparkProperty(effect=effect)


def _refused(names: str, why: str) -> dict[str, SparkProperty]:
    return {name: SparkProperty(refused=why) for name in names.split()}


def _only(value: str, why: str, *more: str) -> SparkProperty:
    return SparkProperty(effect=f"only `{value or '(empty)'}`", only=(value, *more), refused=why)


_JAVA_CLASS = "it names a Java class, and this client is Python"
_METRICS = "this client has no JMX metrics; a query's progress reports contain its rates and its lag"
_SYSTEM = "the operating system chooses the sizes of a connection's buffers"

_CLIENT = {name: _honoured(f.metadata["doc"]) for name, f in known_properties(ClientConfig).items()}

_BOTH: dict[str, SparkProperty] = {
    **_CLIENT,
    "client.dns.lookup": _only("use_all_dns_ips", "all addresses of a name are tried, in order"),
    "enable.metrics.push": _only("false", "no metrics are pushed to the broker (KIP-714)"),
    "metadata.recovery.strategy": _only("rebootstrap", "unreachable brokers are always looked up again"),
    "ssl.protocol": _only("TLSv1.3", "set kafka.ssl.enabled.protocols", "TLS", "TLSv1.2"),
    **_refused("metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms", _METRICS),
    **_refused("receive.buffer.bytes send.buffer.bytes", _SYSTEM),
    **_refused(
        "socket.connection.setup.timeout.ms socket.connection.setup.timeout.max.ms",
        "kafka.request.timeout.ms bounds connecting too",
    ),
    **_refused("bootstrap.resolve.timeout.ms", "a name is resolved again for each new connection"),
    **_refused("metadata.cluster.check.enable", "the client does not check which cluster and node answers"),
    **_refused("metadata.recovery.rebootstrap.trigger.ms", "unreachable brokers are looked up again at once"),
    **_refused(
        "security.providers ssl.engine.factory.class ssl.provider ssl.keymanager.algorithm ssl.trustmanager.algorithm "
        "ssl.secure.random.implementation sasl.login.class "
        "sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class config.providers",
        _JAVA_CLASS,
    ),
    **_refused("ssl.cipher.suites", "Java's names mean nothing to OpenSSL; kafka.ssl.enabled.protocols limits TLS"),
    **_refused(
        "sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name "
        "sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor",
        "Kerberos is not supported; use SCRAM, OAUTHBEARER or TLS",
    ),
    **_refused(
        "sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds sasl.login.refresh.window.jitter",
        "only kafka.sasl.login.refresh.window.factor decides when a token is replaced",
    ),
    **_refused(
        "sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer "
        "sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer "
        "sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms "
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url "
        "sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name",
        "the broker checks tokens, the client does not",
    ),
    **_refused(
        "sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud "
        "sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss "
        "sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds "
        "sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file "
        "sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase "
        "sasl.oauthbearer.assertion.template.file",
        "only client credentials are exchanged for a token; else use kafka.sasl.oauthbearer.token.provider",
    ),
}

_COLUMNS = "keys and values are binary columns; cast them in Spark"
_CHECKPOINT = "offsets are in Spark's checkpoint; commitOffsetsToGroup copies them to a group"
_NO_GROUP = "the query distributes the partitions itself and is in no consumer group"

CONSUMER_PROPERTIES: Mapping[str, SparkProperty] = _BOTH | {
    "allow.auto.create.topics": _only("false", "reading never creates a topic"),
    "check.crcs": _only("true", "checksums are always verified"),
    "client.rack": _honoured("Rack of the readers: a replica there is read if the broker allows it (KIP-392)."),
    "default.api.timeout.ms": _honoured("How long a call is repeated while brokers are away (60000)."),
    "exclude.internal.topics": _only("true", "subscribePattern never matches internal topics; name them in subscribe"),
    "fetch.max.bytes": _honoured("Maximum bytes in one Fetch answer."),
    "fetch.max.wait.ms": _honoured("How long the broker waits for kafka.fetch.min.bytes (500)."),
    "fetch.min.bytes": _honoured("How many bytes the broker waits for (1)."),
    "isolation.level": _honoured("`read_committed` unless `read_uncommitted` is asked for."),
    "max.partition.fetch.bytes": _honoured("Maximum bytes in one Fetch answer; a task reads one partition (4 MiB)."),
    **_refused("auto.offset.reset", "use the option startingOffsets"),
    **_refused("auto.commit.interval.ms enable.auto.commit", _CHECKPOINT),
    **_refused(
        "group.id", f"{_NO_GROUP}; commitOffsetsToGroup copies the position to a group, for tools that show lag"
    ),
    **_refused(
        "group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms max.poll.interval.ms "
        "partition.assignment.strategy session.timeout.ms share.acknowledgement.mode share.acquire.mode",
        _NO_GROUP,
    ),
    **_refused(
        "max.poll.records", "rows come in Arrow batches; maxRecordsPerPartition limits the records that a task reads"
    ),
    **_refused("key.deserializer value.deserializer", _COLUMNS),
    **_refused("interceptor.classes", "an interceptor could drop or change records"),
}

PRODUCER_PROPERTIES: Mapping[str, SparkProperty] = _BOTH | {
    "acks": _only("all", "exactly-once writing needs every in-sync replica", "-1"),
    "batch.size": _honoured("Bytes of one record batch before packing (524288)."),
    "compression.gzip.level": _honoured("Level for gzip."),
    "compression.lz4.level": _honoured("Level for lz4."),
    "compression.type": _honoured("Codec of the batches (`lz4`)."),
    "compression.zstd.level": _honoured("Level for zstd."),
    "delivery.timeout.ms": _honoured("How long sending a batch is repeated while brokers are away (120000)."),
    "enable.idempotence": _only("true", "exactly-once writing needs idempotence"),
    "max.block.ms": _honoured("How long the other calls are repeated while brokers are away (60000)."),
    "max.request.size": _honoured("Largest row and largest request; without it, only the broker limits them."),
    "transaction.timeout.ms": _honoured("If a batch's transaction is open for longer, the broker aborts it (60000)."),
    "transaction.two.phase.commit.enable": _honoured(
        "`true`: a batch's transaction has no timeout, if the broker allows that. When a query is abandoned, its "
        "transaction stays open until `oncelog transactions fence --force` (`false`)."
    ),
    **_refused(
        "buffer.memory", "a task keeps its own batches; maxBatchBytes limits the bytes that go through the driver"
    ),
    **_refused("buffer.memory.allocation.strategy", "Java's way to allocate buffer.memory, which is not used"),
    **_refused("linger.ms", "a task has all its rows, so waiting for more has no use"),
    **_refused("max.in.flight.requests.per.connection", "the commit sends one batch of each partition at a time"),
    **_refused("metadata.max.idle.ms", "only the metadata of the destinations is kept"),
    **_refused("retries", "kafka.delivery.timeout.ms says how long a batch is sent again"),
    **_refused(
        "transactional.id",
        "each query has its own transactional id; choose how the id begins with transactionalIdPrefix",
    ),
    **_refused("key.serializer value.serializer", _COLUMNS),
    **_refused("interceptor.classes", "an interceptor could drop or change records"),
    **_refused(
        "partitioner.class partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms "
        "partitioner.ignore.keys partitioner.rack.aware client.rack",
        "use the column partition, or a key",
    ),
}


def check_client_properties(given: Mapping[str, str], table: Mapping[str, SparkProperty]) -> None:
    """Raises ConfigError for a property that is unknown or refused, or that has a value other than the fixed
    behaviour.
    """
    for name, value in given.items():
        found = table.get(name)
        if found is None:
            honoured = sorted(known for known, entry in table.items() if entry.effect)
            hint = nearest(name, honoured).replace("did you mean ", "did you mean kafka.")
            raise ConfigError(f"Unknown option kafka.{name} of format oncelog{hint}")
        if not found.effect:
            raise ConfigError(f"Option kafka.{name} is not supported, leave it out: {found.refused}")
        if found.only and value.strip().lower() not in {word.lower() for word in found.only}:
            raise ConfigError(f"Option kafka.{name} cannot be {value!r}, but only {found.only[0]!r}: {found.refused}")


def refuse_without_prefix(name: str, table: Mapping[str, SparkProperty]) -> None:
    """Raises ConfigError if an option is a client property without its prefix, which Spark's connector ignores."""
    found = table.get(name)
    if found is None:
        return
    if found.effect:
        raise ConfigError(f"Option {name} is one of Kafka's client properties: write kafka.{name}")
    raise ConfigError(f"Option {name} is not supported, leave it out: {found.refused}")
