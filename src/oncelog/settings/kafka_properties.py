"""Every property of Apache Kafka 4.4's brokers, topics, groups and client metrics: type, default, allowed values.

These are facts about Kafka, which is why this file is long: one line per property with its name, type, default, allowed
values, and how it may change while the broker runs. ``config`` checks properties without a field in ``BrokerConfig``
against these tables, and the config APIs describe properties from them. They are loaded at first use, not at import.

Allowed values: ``-`` anything; ``low..high`` with either end open; ``|`` a further single value; words with commas, any
case after ``~``; ``non-empty``; ``replicas``, Kafka's throttled replica lists; ``offset-reset``, where a share group
begins.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import NamedTuple

from oncelog.errors import ConfigError

MAX_SHORT = 2**15 - 1
MAX_INT = 2**31 - 1
MAX_LONG = 2**63 - 1

Value = bool | int | float | str | tuple[str, ...]


class PropertyKind(Enum):
    """Kafka's ``ConfigDef.Type`` by name; ``id`` is the code in DescribeConfigs (``ConfigType``)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class UpdateMode(Enum):
    """How a broker's property may change while it runs (Kafka's ``dynamicConfigUpdateModes``)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


_BITS = {PropertyKind.SHORT: 15, PropertyKind.INT: 31, PropertyKind.LONG: 63}
_WHOLE = re.compile(r"[+-]?\d{1,100}")
_DOUBLE = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?")
_REPLICAS = re.compile(r"\d+:\d+")
_DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?[0-9]{1,100})D)?(?:T(?=[^T])(?:(?P<hours>[-+]?[0-9]{1,100})H)?"
    r"(?:(?P<minutes>[-+]?[0-9]{1,100})M)?"
    r"(?:(?P<seconds>[-+]?[0-9]{1,100})(?:[.,](?P<fraction>[0-9]{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
BY_DURATION = "by_duration:"


class AllowedValues(NamedTuple):
    """The values that a property allows, besides its type."""

    low: float = -math.inf
    high: float = math.inf
    also: tuple[int, ...] = ()
    words: tuple[str, ...] = ()
    any_case: bool = False
    non_empty: bool = False
    replicas: bool = False
    offset_reset: bool = False


ANYTHING = AllowedValues()


class KafkaProperty(NamedTuple):
    """One property of Kafka; ``default`` is text as Kafka shows it, None if there is none."""

    name: str
    kind: PropertyKind
    default: str | None
    allowed: AllowedValues
    update: UpdateMode = UpdateMode.READ_ONLY
    internal: bool = False
    required: bool = False

    def parse(self, text: str) -> Value:
        return parse_text(self.name, self.kind, text, self.allowed)

    @property
    def sensitive(self) -> bool:
        return self.kind is PropertyKind.PASSWORD


def refused(name: str, value: object, reason: str) -> ConfigError:
    """The error for a refused value, in Kafka's words."""
    return ConfigError(f"Invalid value {value} for configuration {name}: {reason}")


def parse_text(name: str, kind: PropertyKind, text: str, allowed: AllowedValues = ANYTHING) -> Value:
    """The typed value of a property, checked; raises ConfigError in Kafka's words (``ConfigDef.parseType``)."""
    value = text if kind is PropertyKind.PASSWORD else text.strip()
    match kind:
        case PropertyKind.BOOLEAN:
            if value.lower() not in ("true", "false"):
                raise refused(name, value, "Expected value to be either true or false")
            return value.lower() == "true"
        case PropertyKind.INT | PropertyKind.SHORT | PropertyKind.LONG:
            bound = 1 << _BITS[kind]
            if not _WHOLE.fullmatch(value) or not -bound <= int(value) < bound:
                raise refused(name, value, f"Not a number of type {kind.name}")
            return _in_range(name, int(value), allowed)
        case PropertyKind.DOUBLE:
            if not _DOUBLE.fullmatch(value):
                raise refused(name, value, "Not a number of type DOUBLE")
            return _in_range(name, float(value.rstrip("fFdD")), allowed)
        case PropertyKind.LIST:
            return _listed(name, value, allowed)
        case _:
            return _text(name, value, allowed)


def _text(name: str, value: str, allowed: AllowedValues) -> str:
    if allowed.non_empty and not value:
        raise refused(name, value, "String must be non-empty")
    if allowed.words and not _is_word(value, allowed):
        raise refused(name, value, _one_of(allowed))
    if allowed.offset_reset and not _is_offset_reset(value):
        raise refused(
            name,
            value,
            f"Invalid value `{value}` for configuration {name}. The value must be either 'earliest', 'latest' or of "
            f"the format 'by_duration:<PnDTnHnMn.nS>'.",
        )
    return value


def _in_range(name: str, value: int | float, allowed: AllowedValues) -> int | float:
    low, high = allowed.low, allowed.high
    if low <= value <= high or value in allowed.also:
        return value
    if allowed.also:
        reason = f"Value must be between {low:.0f} and {high:.0f} or equal to {allowed.also[0]}"
    elif value < low:
        reason = f"Value must be at least {low if isinstance(low, int) else render_double(low, short=True)}"
    else:
        reason = f"Value must be no more than {high if isinstance(high, int) else render_double(high, short=True)}"
    raise refused(name, render(value), reason)


def _listed(name: str, value: str, allowed: AllowedValues) -> tuple[str, ...]:
    words = tuple(word.strip() for word in value.split(",")) if value else ()
    if "" in words and (allowed.words or allowed.replicas):
        raise ConfigError(f"Configuration '{name}' values must not be empty.")
    if allowed.non_empty and not words:
        raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: any non-empty value")
    if allowed.replicas and words != ("*",) and not all(_REPLICAS.fullmatch(word) for word in words):
        raise refused(
            name,
            f"[{', '.join(words)}]",
            f"{name} must be the literal '*' or a list of replicas in the following format: "
            f"[partitionId]:[brokerId],[partitionId]:[brokerId],...",
        )
    for word in words:
        if allowed.words and not _is_word(word, allowed):
            raise refused(name, word, _one_of(allowed))
    return words


def _is_word(value: str, allowed: AllowedValues) -> bool:
    if allowed.any_case:
        return value.upper() in map(str.upper, allowed.words)
    return value in allowed.words


def _is_offset_reset(value: str) -> bool:
    if not value.startswith(BY_DURATION):
        return value in ("earliest", "latest")
    nanoseconds = duration_ns(value.removeprefix(BY_DURATION))
    return nanoseconds is not None and nanoseconds >= 0


def duration_ns(text: str) -> int | None:
    """The length of an ISO 8601 duration such as ``P1DT2H3M4.5S``; None for what Java's ``Duration.parse`` refuses."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found[unit] for unit in ("days", "hours", "minutes", "seconds")):
        return None
    units = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
    parts = [int(found[unit] or 0) * seconds for unit, seconds in units.items()]
    fraction = int((found["fraction"] or "").ljust(9, "0"))
    if (found["seconds"] or "").startswith("-"):
        fraction = -fraction
    if max(map(abs, [*parts, sum(parts)])) > MAX_LONG:
        return None
    total = sum(parts) * 1_000_000_000 + fraction
    return -total if found["sign"] == "-" else total


def _one_of(allowed: AllowedValues) -> str:
    case = " (case insensitive)" if allowed.any_case else ""
    return f"String must be one of{case}: {', '.join(allowed.words)}"


def render(value: Value) -> str:
    """A value as Kafka writes it in DescribeConfigs and properties files."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return render_double(value)
    return str(value)


def render_double(value: float, *, short: bool = False) -> str:
    """The text of Java's ``Double.toString``; with ``short``, a fraction of zero is left out."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if short and value == int(value):
        return str(int(value))
    magnitude = abs(value)
    if value == 0 or 1e-3 <= magnitude < 1e7:
        return repr(value)
    significant = len(repr(magnitude).split("e")[0].replace(".", "").strip("0"))
    mantissa, _, exponent = format(value, f".{max(significant - 1, 1)}e").partition("e")
    return f"{mantissa}E{int(exponent)}"


@cache
def broker_properties() -> Mapping[str, KafkaProperty]:
    return _load(_BROKER)


@cache
def topic_properties() -> Mapping[str, KafkaProperty]:
    return _load(_TOPIC)


@cache
def group_properties() -> Mapping[str, KafkaProperty]:
    return _load(_GROUP)


@cache
def client_metrics_properties() -> Mapping[str, KafkaProperty]:
    return _load(_CLIENT_METRICS)


def _load(table: str) -> Mapping[str, KafkaProperty]:
    """The properties of one table by name, sorted by name."""
    properties = {}
    for line in table.splitlines():
        name, kind, default, allowed, *marks = line.split(" ")
        update = next((mark for mark in marks if mark != "internal"), "read-only")
        properties[name] = KafkaProperty(
            name,
            PropertyKind[kind.upper()],
            None if default in ("null", "required") else "" if default == '""' else default,
            _allowed(allowed),
            UpdateMode(update),
            "internal" in marks,
            default == "required",
        )
    return properties


@cache
def _allowed(text: str) -> AllowedValues:
    if text == "-":
        return ANYTHING
    if text in ("non-empty", "replicas"):
        return AllowedValues(non_empty=text == "non-empty", replicas=text == "replicas")
    if text == "offset-reset":
        return AllowedValues(offset_reset=True)
    if ".." in text:
        low, _, rest = text.partition("..")
        high, _, also = rest.partition("|")
        return AllowedValues(
            _number(low) if low else -math.inf, _number(high) if high else math.inf, (int(also),) if also else ()
        )
    return AllowedValues(words=tuple(text.lstrip("~").split(",")), any_case=text.startswith("~"))


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


_BROKER = """\
add.partitions.to.txn.retry.backoff.max.ms int 100 0..
add.partitions.to.txn.retry.backoff.ms int 20 1..
advertised.listeners list null -
alter.config.policy.class.name class null -
alter.log.dirs.replication.quota.window.num int 11 1..
alter.log.dirs.replication.quota.window.size.seconds int 1 1..
authorizer.class.name string "" -
auto.create.topics.enable boolean true -
auto.leader.rebalance.enable boolean true -
background.threads int 10 1.. cluster-wide
broker.heartbeat.interval.ms int 2000 -
broker.id int -1 -
broker.rack string null -
broker.session.timeout.ms int 9000 -
client.quota.callback.class class null -
compression.gzip.level int -1 1..9|-1 cluster-wide
compression.lz4.level int 9 1..17 cluster-wide
compression.type string producer uncompressed,zstd,lz4,snappy,gzip,producer cluster-wide
compression.zstd.level int 3 -131072..22 cluster-wide
config.providers list "" - cluster-wide
connection.failed.authentication.delay.ms int 100 0..
connections.max.idle.ms long 600000 -
connections.max.reauth.ms long 0 -
controlled.shutdown.enable boolean true -
controller.listener.names list required -
controller.performance.always.log.threshold.ms long 2000 0.. internal
controller.performance.sample.period.ms long 60000 100.. internal
controller.quorum.append.linger.ms int 25 0..
controller.quorum.auto.join.enable boolean false -
controller.quorum.bootstrap.servers list "" non-empty
controller.quorum.election.backoff.max.ms int 1000 0..
controller.quorum.election.timeout.ms int 1000 0..
controller.quorum.fetch.max.bytes int 1048576 1..
controller.quorum.fetch.snapshot.max.bytes int 1048576 1..
controller.quorum.fetch.timeout.ms int 2000 0..
controller.quorum.request.timeout.ms int 2000 0..
controller.quorum.retry.backoff.ms int 20 0..
controller.quorum.voters list "" non-empty
controller.quota.window.num int 11 1..
controller.quota.window.size.seconds int 1 1..
controller.socket.timeout.ms int 30000 -
cordoned.log.dirs list "" - per-broker
create.topic.policy.class.name class null -
default.replication.factor int 1 -
delegation.token.expiry.check.interval.ms long 3600000 1..
delegation.token.expiry.time.ms long 86400000 1..
delegation.token.max.lifetime.ms long 604800000 1..
delegation.token.secret.key password null -
delete.records.purgatory.purge.interval.requests int 1 -
delete.topic.enable boolean true -
early.start.listeners list null -
errors.deadletterqueue.auto.create.topics.enable boolean false - cluster-wide
errors.deadletterqueue.topic.name.prefix string dlq. - cluster-wide
fetch.max.bytes int 57671680 1024..
fetch.purgatory.purge.interval.requests int 1000 -
follower.fetch.last.tiered.offset.enable boolean false - cluster-wide
follower.replication.throttled.rate long null 0.. cluster-wide internal
group.consumer.assignment.interval.ms int 1000 0.. cluster-wide
group.consumer.assignor.offload.enable boolean true - cluster-wide internal
group.consumer.assignors list uniform,range -
group.consumer.heartbeat.interval.ms int 5000 1..
group.consumer.max.assignment.interval.ms int 15000 0..
group.consumer.max.heartbeat.interval.ms int 15000 1..
group.consumer.max.session.timeout.ms int 60000 1..
group.consumer.max.size int 2147483647 1..
group.consumer.migration.policy string bidirectional ~DISABLED,DOWNGRADE,UPGRADE,BIDIRECTIONAL
group.consumer.min.assignment.interval.ms int 0 0..
group.consumer.min.heartbeat.interval.ms int 5000 1..
group.consumer.min.session.timeout.ms int 45000 1..
group.consumer.regex.refresh.interval.ms int 600000 10000.. internal
group.consumer.session.timeout.ms int 45000 1..
group.coordinator.append.linger.ms int -1 -1..
group.coordinator.background.threads int 2 1..
group.coordinator.cached.buffer.max.bytes int 1048588 524288.. cluster-wide
group.coordinator.rebalance.protocols list classic,consumer,streams consumer,classic,share,streams
group.coordinator.threads int 4 1..
group.initial.rebalance.delay.ms int 3000 -
group.max.session.timeout.ms int 1800000 -
group.max.size int 2147483647 1..
group.min.session.timeout.ms int 6000 -
group.share.assignment.interval.ms int 1000 0.. cluster-wide
group.share.assignor.offload.enable boolean true - cluster-wide internal
group.share.assignors list simple -
group.share.delivery.count.limit int 5 2..10
group.share.dlq.manager.class.name string org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager - internal
group.share.heartbeat.interval.ms int 5000 1..
group.share.initialize.retry.interval.ms int 30000 1.. internal
group.share.max.assignment.interval.ms int 15000 0..
group.share.max.delivery.count.limit int 10 5..25
group.share.max.heartbeat.interval.ms int 15000 1..
group.share.max.partition.max.record.locks int 4000 2000..10000
group.share.max.record.lock.duration.ms int 60000 30000..3600000
group.share.max.session.timeout.ms int 60000 1..
group.share.max.share.sessions int 2000 1..
group.share.max.size int 200 1..1000
group.share.min.assignment.interval.ms int 0 0..
group.share.min.delivery.count.limit int 2 2..5
group.share.min.heartbeat.interval.ms int 5000 1..
group.share.min.partition.max.record.locks int 100 100..2000
group.share.min.record.lock.duration.ms int 15000 1000..30000
group.share.min.session.timeout.ms int 45000 1..
group.share.partition.max.record.locks int 2000 100..10000
group.share.persister.class.name string org.apache.kafka.server.share.persister.DefaultStatePersister - internal
group.share.record.lock.duration.ms int 30000 1000..3600000
group.share.session.timeout.ms int 45000 1..
group.streams.acceptable.recovery.lag long 10000 0.. internal
group.streams.assignment.interval.ms int 1000 0.. cluster-wide
group.streams.assignor.offload.enable boolean true - cluster-wide internal
group.streams.assignors list sticky -
group.streams.heartbeat.interval.ms int 5000 1..
group.streams.initial.rebalance.delay.ms int 3000 0..
group.streams.max.assignment.interval.ms int 15000 0..
group.streams.max.heartbeat.interval.ms int 15000 1..
group.streams.max.session.timeout.ms int 60000 1..
group.streams.max.size int 2147483647 1..
group.streams.max.standby.replicas int 2 0..
group.streams.max.warmup.replicas int 20 0.. internal
group.streams.min.assignment.interval.ms int 0 0..
group.streams.min.heartbeat.interval.ms int 5000 1..
group.streams.min.session.timeout.ms int 45000 1..
group.streams.min.task.offset.interval.ms int 15000 1.. internal
group.streams.num.standby.replicas int 0 0..
group.streams.num.warmup.replicas int 2 0.. internal
group.streams.rack.aware.assignment.tags list "" -
group.streams.session.timeout.ms int 45000 1..
group.streams.task.offset.interval.ms int 60000 1.. internal
group.streams.topology.description.plugin.class class null -
initial.broker.registration.timeout.ms int 60000 -
inter.broker.listener.name string null -
internal.metadata.delete.delay.millis long 60000 - internal
internal.metadata.log.segment.bytes int null - internal
internal.metadata.max.batch.size.in.bytes int 8388608 - internal
kafka.metrics.polling.interval.secs int 10 1..
kafka.metrics.reporters list "" -
leader.imbalance.check.interval.seconds long 300 1..
leader.replication.throttled.rate long null 0.. cluster-wide internal
listener.security.protocol.map string \
SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT - per-broker
listeners list PLAINTEXT://:9092 - per-broker
log.cleaner.backoff.ms long 15000 0.. cluster-wide
log.cleaner.dedupe.buffer.size long 134217728 - cluster-wide
log.cleaner.delete.retention.ms long 86400000 0.. cluster-wide
log.cleaner.enable boolean true -
log.cleaner.io.buffer.load.factor double 0.9 - cluster-wide
log.cleaner.io.buffer.size int 524288 0.. cluster-wide
log.cleaner.io.max.bytes.per.second double 1.7976931348623157E308 - cluster-wide
log.cleaner.max.compaction.lag.ms long 9223372036854775807 1.. cluster-wide
log.cleaner.min.cleanable.ratio double 0.5 0..1 cluster-wide
log.cleaner.min.compaction.lag.ms long 0 0.. cluster-wide
log.cleaner.threads int 1 0.. cluster-wide
log.cleanup.policy list delete compact,delete cluster-wide
log.dir list /tmp/kafka-logs -
log.dir.failure.timeout.ms long 30000 1..
log.dirs list null -
log.flush.interval.messages long 9223372036854775807 1.. cluster-wide
log.flush.interval.ms long null - cluster-wide
log.flush.offset.checkpoint.interval.ms int 60000 0..
log.flush.scheduler.interval.ms long 9223372036854775807 -
log.flush.start.offset.checkpoint.interval.ms int 60000 0..
log.index.interval.bytes int 4096 0.. cluster-wide
log.index.size.max.bytes int 10485760 4.. cluster-wide
log.initial.task.delay.ms long 30000 0.. internal
log.local.retention.bytes long -2 -2.. cluster-wide
log.local.retention.ms long -2 -2.. cluster-wide
log.message.timestamp.after.max.ms long 3600000 0.. cluster-wide
log.message.timestamp.before.max.ms long 9223372036854775807 0.. cluster-wide
log.message.timestamp.type string CreateTime CreateTime,LogAppendTime cluster-wide
log.preallocate boolean false - cluster-wide
log.remote.copy.lag.bytes long -1 -1.. cluster-wide
log.remote.copy.lag.ms long 0 -1.. cluster-wide
log.retention.bytes long -1 - cluster-wide
log.retention.check.interval.ms long 300000 1..
log.retention.hours int 168 -
log.retention.minutes int null -
log.retention.ms long null - cluster-wide
log.roll.hours int 168 1..
log.roll.jitter.hours int 0 0..
log.roll.jitter.ms long null - cluster-wide
log.roll.ms long null - cluster-wide
log.segment.bytes int 1073741824 1048576.. cluster-wide
log.segment.delete.delay.ms long 60000 0.. cluster-wide
max.connection.creation.rate int 2147483647 0.. cluster-wide
max.connections int 2147483647 0.. cluster-wide
max.connections.per.ip int 2147483647 0.. cluster-wide
max.connections.per.ip.overrides string "" - cluster-wide
max.decompressed.message.bytes int 2147483639 1.. cluster-wide
max.incremental.fetch.session.cache.slots int 1000 0..
max.request.partition.size.limit int 2000 1..
message.max.bytes int 1048588 0.. cluster-wide
metadata.log.dir string null -
metadata.log.max.record.bytes.between.snapshots long 20971520 1..
metadata.log.max.snapshot.interval.ms long 3600000 0..
metadata.log.segment.bytes int 1073741824 8388608..
metadata.log.segment.ms long 604800000 -
metadata.max.idle.interval.ms int 500 0..
metadata.max.retention.bytes long 104857600 -
metadata.max.retention.ms long 604800000 -
metric.reporters list org.apache.kafka.common.metrics.JmxReporter - cluster-wide
metrics.num.samples int 2 1..
metrics.recording.level string INFO -
metrics.sample.window.ms long 30000 1..
min.insync.replicas int 1 1.. cluster-wide
node.id int required 0..
num.io.threads int 8 1.. cluster-wide
num.network.threads int 3 1.. cluster-wide
num.partitions int 1 1..
num.recovery.threads.per.data.dir int 2 1.. cluster-wide
num.replica.alter.log.dirs.threads int null -
num.replica.fetchers int 1 1.. cluster-wide
offset.metadata.max.bytes int 4096 -
offsets.commit.timeout.ms int 5000 1..
offsets.load.buffer.size int 5242880 1..
offsets.retention.check.interval.ms long 600000 1..
offsets.retention.minutes int 10080 1..
offsets.topic.compression.codec int 0 -
offsets.topic.num.partitions int 50 1..
offsets.topic.replication.factor short 3 1..
offsets.topic.segment.bytes int 104857600 1..
principal.builder.class class org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder - per-broker
process.roles list required broker,controller
producer.id.expiration.check.interval.ms int 600000 1.. internal
producer.id.expiration.ms int 86400000 1.. cluster-wide
producer.purgatory.purge.interval.requests int 1000 -
queued.max.request.bytes long -1 -
queued.max.requests int 500 1..
quota.window.num int 11 1..
quota.window.size.seconds int 1 1..
remote.fetch.max.wait.ms int 500 1.. cluster-wide
remote.list.offsets.request.timeout.ms long 30000 1.. cluster-wide
remote.log.index.file.cache.total.size.bytes long 1073741824 1.. cluster-wide
remote.log.index.file.cache.ttl.ms long 900000 -1.. internal
remote.log.manager.copier.thread.pool.size int 10 1.. cluster-wide
remote.log.manager.copy.max.bytes.per.second long 9223372036854775807 1.. cluster-wide
remote.log.manager.copy.quota.window.num int 11 1..
remote.log.manager.copy.quota.window.size.seconds int 1 1..
remote.log.manager.expiration.thread.pool.size int 10 1.. cluster-wide
remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807 1.. cluster-wide
remote.log.manager.fetch.quota.window.num int 11 1..
remote.log.manager.fetch.quota.window.size.seconds int 1 1..
remote.log.manager.follower.thread.pool.size int 2 1.. cluster-wide
remote.log.manager.task.interval.ms long 30000 1..
remote.log.manager.task.retry.backoff.max.ms long 30000 1.. internal
remote.log.manager.task.retry.backoff.ms long 500 1.. internal
remote.log.manager.task.retry.jitter double 0.2 0..0.5 internal
remote.log.manager.thread.pool.size int 2 1..
remote.log.metadata.custom.metadata.max.bytes int 128 0..
remote.log.metadata.manager.class.name string \
org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager non-empty
remote.log.metadata.manager.class.path string null -
remote.log.metadata.manager.impl.prefix string rlmm.config. non-empty
remote.log.metadata.manager.listener.name string null non-empty
remote.log.reader.max.pending.tasks int 100 1..
remote.log.reader.threads int 10 1.. cluster-wide
remote.log.storage.manager.class.name string null non-empty
remote.log.storage.manager.class.path string null -
remote.log.storage.manager.impl.prefix string rsm.config. non-empty
remote.log.storage.system.enable boolean false -
replica.alter.log.dirs.io.max.bytes.per.second long null 0.. cluster-wide internal
replica.fetch.backoff.ms int 1000 0..
replica.fetch.max.bytes int 1048576 0..
replica.fetch.min.bytes int 1 -
replica.fetch.response.max.bytes int 10485760 0..
replica.fetch.wait.max.ms int 500 -
replica.high.watermark.checkpoint.interval.ms long 5000 -
replica.lag.time.max.ms long 30000 -
replica.selector.class string null -
replica.socket.receive.buffer.bytes int 65536 -
replica.socket.timeout.ms int 30000 -
replication.quota.window.num int 11 1..
replication.quota.window.size.seconds int 1 1..
request.timeout.ms int 30000 -
sasl.client.callback.handler.class class null -
sasl.enabled.mechanisms list GSSAPI - per-broker
sasl.jaas.config password null - per-broker
sasl.kerberos.kinit.cmd string /usr/bin/kinit - per-broker
sasl.kerberos.min.time.before.relogin long 60000 - per-broker
sasl.kerberos.principal.to.local.rules list DEFAULT - per-broker
sasl.kerberos.service.name string null - per-broker
sasl.kerberos.ticket.renew.jitter double 0.05 - per-broker
sasl.kerberos.ticket.renew.window.factor double 0.8 - per-broker
sasl.login.callback.handler.class class null -
sasl.login.class class null -
sasl.login.connect.timeout.ms int null -
sasl.login.read.timeout.ms int null -
sasl.login.refresh.buffer.seconds short 300 - per-broker
sasl.login.refresh.min.period.seconds short 60 - per-broker
sasl.login.refresh.window.factor double 0.8 - per-broker
sasl.login.refresh.window.jitter double 0.05 - per-broker
sasl.login.retry.backoff.max.ms long 10000 -
sasl.login.retry.backoff.ms long 100 -
sasl.mechanism.controller.protocol string GSSAPI -
sasl.mechanism.inter.broker.protocol string GSSAPI - per-broker
sasl.oauthbearer.allow.unverified.audience boolean false -
sasl.oauthbearer.allow.unverified.issuer boolean false -
sasl.oauthbearer.assertion.algorithm string RS256 ~ES256,RS256
sasl.oauthbearer.assertion.claim.aud string null -
sasl.oauthbearer.assertion.claim.exp.seconds int 300 0..86400
sasl.oauthbearer.assertion.claim.iss string null -
sasl.oauthbearer.assertion.claim.jti.include boolean false -
sasl.oauthbearer.assertion.claim.nbf.seconds int 60 0..3600
sasl.oauthbearer.assertion.claim.sub string null -
sasl.oauthbearer.assertion.file string null -
sasl.oauthbearer.assertion.private.key.file string null -
sasl.oauthbearer.assertion.private.key.passphrase password null -
sasl.oauthbearer.assertion.template.file string null -
sasl.oauthbearer.client.credentials.client.id string null -
sasl.oauthbearer.client.credentials.client.secret password null -
sasl.oauthbearer.clock.skew.seconds int 30 -
sasl.oauthbearer.expected.audience list "" -
sasl.oauthbearer.expected.issuer string null -
sasl.oauthbearer.jwks.endpoint.refresh.ms long 3600000 -
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000 -
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100 -
sasl.oauthbearer.jwks.endpoint.url string null -
sasl.oauthbearer.jwt.retriever.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever -
sasl.oauthbearer.jwt.validator.class class org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator -
sasl.oauthbearer.scope string null -
sasl.oauthbearer.scope.claim.name string scope -
sasl.oauthbearer.sub.claim.name string sub -
sasl.oauthbearer.token.endpoint.url string null -
sasl.server.callback.handler.class class null -
sasl.server.max.receive.size int 524288 -
security.inter.broker.protocol string PLAINTEXT PLAINTEXT,SSL,SASL_PLAINTEXT,SASL_SSL
security.providers string null -
server.max.startup.time.ms long 9223372036854775807 0.. internal
share.coordinator.append.linger.ms int -1 -1..
share.coordinator.cached.buffer.max.bytes int 1048588 524288.. cluster-wide
share.coordinator.cold.partition.snapshot.interval.ms int 300000 1.. internal
share.coordinator.load.buffer.size int 5242880 1..
share.coordinator.snapshot.update.records.per.snapshot int 500 0..500
share.coordinator.state.topic.compression.codec int 0 -
share.coordinator.state.topic.min.isr short 2 1..
share.coordinator.state.topic.num.partitions int 50 1..
share.coordinator.state.topic.prune.interval.ms int 300000 1.. internal
share.coordinator.state.topic.replication.factor short 3 1..
share.coordinator.state.topic.segment.bytes int 104857600 1..
share.coordinator.threads int 1 1..
share.coordinator.write.timeout.ms int 5000 1..
share.fetch.purgatory.purge.interval.requests int 1000 -
socket.connection.setup.timeout.max.ms long 30000 -
socket.connection.setup.timeout.ms long 10000 -
socket.listen.backlog.size int 50 1..
socket.receive.buffer.bytes int 102400 -
socket.request.max.bytes int 104857600 1..
socket.send.buffer.bytes int 102400 -
ssl.allow.dn.changes boolean false -
ssl.allow.san.changes boolean false -
ssl.cipher.suites list "" - per-broker
ssl.client.auth string none required,requested,none per-broker
ssl.enabled.protocols list TLSv1.2,TLSv1.3 - per-broker
ssl.endpoint.identification.algorithm string https - per-broker
ssl.engine.factory.class class null - per-broker
ssl.key.password password null - per-broker
ssl.keymanager.algorithm string SunX509 - per-broker
ssl.keystore.certificate.chain password null - per-broker
ssl.keystore.key password null - per-broker
ssl.keystore.location string null - per-broker
ssl.keystore.password password null - per-broker
ssl.keystore.type string JKS - per-broker
ssl.principal.mapping.rules string DEFAULT -
ssl.protocol string TLSv1.3 - per-broker
ssl.provider string null - per-broker
ssl.secure.random.implementation string null - per-broker
ssl.trustmanager.algorithm string PKIX - per-broker
ssl.truststore.certificates password null - per-broker
ssl.truststore.location string null - per-broker
ssl.truststore.password password null - per-broker
ssl.truststore.type string JKS - per-broker
telemetry.max.bytes int 1048576 1..
transaction.abort.timed.out.transaction.cleanup.interval.ms int 10000 1..
transaction.max.timeout.ms int 900000 1..
transaction.partition.verification.enable boolean true - cluster-wide
transaction.remove.expired.transaction.cleanup.interval.ms int 3600000 1..
transaction.state.log.load.buffer.size int 5242880 1..
transaction.state.log.min.isr int 2 1..
transaction.state.log.num.partitions int 50 1..
transaction.state.log.replication.factor short 3 1..
transaction.state.log.segment.bytes int 104857600 1..
transaction.two.phase.commit.enable boolean false -
transactional.id.expiration.ms int 604800000 1..
unclean.leader.election.enable boolean false - cluster-wide
unclean.leader.election.interval.ms long 300000 1.. internal
unstable.api.versions.enable boolean false - internal
unstable.feature.versions.enable boolean false - internal
"""

_TOPIC = """\
cleanup.policy list delete compact,delete
compression.gzip.level int -1 1..9|-1
compression.lz4.level int 9 1..17
compression.type string producer uncompressed,zstd,lz4,snappy,gzip,producer
compression.zstd.level int 3 -131072..22
delete.retention.ms long 86400000 0..
errors.deadletterqueue.group.enable boolean false -
file.delete.delay.ms long 60000 0..
flush.messages long 9223372036854775807 1..
flush.ms long 9223372036854775807 0..
follower.replication.throttled.replicas list "" replicas
index.interval.bytes int 4096 0..
internal.segment.bytes int null - internal
leader.replication.throttled.replicas list "" replicas
local.retention.bytes long -2 -2..
local.retention.ms long -2 -2..
max.compaction.lag.ms long 9223372036854775807 1..
max.decompressed.message.bytes int 2147483639 1..
max.message.bytes int 1048588 0..
message.timestamp.after.max.ms long 3600000 0..
message.timestamp.before.max.ms long 9223372036854775807 0..
message.timestamp.type string CreateTime CreateTime,LogAppendTime
min.cleanable.dirty.ratio double 0.5 0..1
min.compaction.lag.ms long 0 0..
min.insync.replicas int 1 1..
preallocate boolean false -
remote.copy.lag.bytes long -1 -1..
remote.copy.lag.ms long 0 -1..
remote.log.copy.disable boolean false -
remote.log.delete.on.disable boolean false -
remote.storage.enable boolean false -
retention.bytes long -1 -
retention.ms long 604800000 -1..
segment.bytes int 1073741824 1048576..
segment.index.bytes int 10485760 4..
segment.jitter.ms long 0 0..
segment.ms long 604800000 1..
unclean.leader.election.enable boolean false -
"""

DEFAULTS_OF_GROUPS: Mapping[str, str] = {"streams.assignor.name": "group.streams.assignors"}
"""Group properties whose default comes from a broker property that is not called ``group.`` and their own name."""

_GROUP = """\
consumer.assignment.interval.ms int 1000 0..
consumer.assignor.offload.enable boolean true - internal
consumer.heartbeat.interval.ms int 5000 1..
consumer.session.timeout.ms int 45000 1..
errors.deadletterqueue.copy.record.enable boolean false -
errors.deadletterqueue.topic.name string "" -
share.assignment.interval.ms int 1000 0..
share.assignor.offload.enable boolean true - internal
share.auto.offset.reset string latest offset-reset
share.delivery.count.limit int 5 2..
share.heartbeat.interval.ms int 5000 1..
share.isolation.level string read_uncommitted read_committed,read_uncommitted
share.partition.max.record.locks int 2000 100..
share.record.lock.duration.ms int 30000 1000..
share.renew.acknowledge.enable boolean true -
share.session.timeout.ms int 45000 1..
streams.acceptable.recovery.lag long 10000 0.. internal
streams.assignment.interval.ms int 1000 0..
streams.assignor.name string null -
streams.assignor.offload.enable boolean true - internal
streams.heartbeat.interval.ms int 5000 1..
streams.initial.rebalance.delay.ms int 3000 0..
streams.num.standby.replicas int 0 0..
streams.num.warmup.replicas int 2 0.. internal
streams.rack.aware.assignment.tags list "" -
streams.session.timeout.ms int 45000 1..
streams.task.offset.interval.ms int 60000 1.. internal
"""

_CLIENT_METRICS = """\
interval.ms int 300000 100..3600000
match list "" -
metrics list "" -
"""
