"""The options of ``format("oncelog")``: those of Spark's own Kafka connector under the same names, parsed and checked.

Called by the source and the sink before anything is sent. Pure. An option that is unknown, contradicts another one or
has a value that is not allowed is refused with its name and the next step. Names are compared without
regard to case, as Spark does; ``kafka.*`` names are Kafka's own client properties.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from oncelog.errors import ConfigError
from oncelog.records.compression import Compression
from oncelog.runtime import real_json as json
from oncelog.settings.fields import nearest
from oncelog.spark.client_properties import (
    CONSUMER_PROPERTIES,
    PRODUCER_PROPERTIES,
    check_client_properties,
    refuse_without_prefix,
)
from oncelog.spark.java_regex import NotJavaRegex, compile_java
from oncelog.types import CONSUMER_OFFSETS_TOPIC, IsolationLevel, TopicPartition

T = TypeVar("T")

OptionValue: TypeAlias = str | int | float | bool
"""The Python types of values that Spark's ``option`` accepts."""


class OnMissingMarker(Enum):
    """What a sink does with a batch if neither marker nor checkpoint shows whether the batch is written."""

    FAIL = "fail"
    WRITE = "write"
    SKIP = "skip"


class OnFullRefresh(Enum):
    """What a sink does if a flow of a declarative pipeline is fully refreshed although its records are already in the
    topic.
    """

    FAIL = "fail"
    APPEND = "append"
    AFTER = "after"


LATEST = -1
EARLIEST = -2

MAX_INT = 2**31 - 1

SOURCE_OPTIONS = (
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
    "includeTimestampMillis",
    "commitOffsetsToGroup",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "kafkaConsumer.pollTimeoutMs",
)
STREAM_READ_OPTIONS = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "commitOffsetsToGroup")
BATCH_READ_OPTIONS = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
"""``STREAM_READ_OPTIONS`` are the read options that only streams have, ``BATCH_READ_OPTIONS`` those that only batches
have."""
SINK_OPTIONS = (
    "topic",
    "topics",
    "checkpointLocation",
    "transactionalIdPrefix",
    "batchId",
    "queryName",
    "maxBatchBytes",
    "writers",
    "onMissingMarker",
    "onFullRefresh",
    "offsetsRetentionMinutes",
    "markerTopic",
    "createTopics",
    "microBatch",
    "sinkName",
)
"""The options of a write. ``batchId`` with ``transactionalIdPrefix`` makes a batch write idempotent;
``checkpointLocation`` is Spark's.

``for_each_batch`` sets ``microBatch`` and ``sinkName``, because it writes a query's micro-batch by a batch write.
"""
SERVERS_MISSING = (
    "Option kafka.bootstrap.servers is missing: give HOST:PORT of the broker, or several separated by commas"
)
REFUSED_OPTIONS: Mapping[str, str] = {
    "groupIdPrefix": "reading uses no consumer group; commitOffsetsToGroup names one for the position",
    "path": "topics have no path; give them with the options subscribe or topic",
}
REFUSED_SINK_OPTIONS: Mapping[str, str] = {
    **REFUSED_OPTIONS,
    "includeHeaders": "headers are written wherever the rows have the column headers",
}
"""Options that Spark's connector accepts, or ignores, and why they are refused here."""


class ByTimestampStrategy(Enum):
    """What a read does if no record is as recent as ``startingTimestamp``."""

    ERROR = "error"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class SourceSubscription:
    """The partitions to read: all of ``topics``, all of the topics that match ``pattern``, or those in ``assigned``.
    Exactly one of the three is given."""

    topics: tuple[str, ...] = ()
    pattern: str = ""
    assigned: tuple[TopicPartition, ...] = ()

    def matches(self, topic: str) -> bool:
        """As Spark's connector since 3.4, a pattern reads each topic whose name has a match anywhere."""
        return bool(compile_java(self.pattern).search(topic)) if self.pattern else topic in self.topics

    def reads(self, topic: str) -> bool:
        """Whether any partition of the topic is read."""
        return self.matches(topic) or any(partition.topic == topic for partition in self.assigned)


@dataclass(frozen=True, slots=True)
class OffsetsOption:
    """Where a read starts or ends: at EARLIEST or LATEST in all partitions, at offsets, or at timestamps in ms.

    ``offsets`` may contain EARLIEST and LATEST, too. ``timestamp`` applies to all partitions, ``timestamps`` to single
    ones. ``beside``: if ``offsets`` were copied from a checkpoint, the further entries of each topic
    (BESIDE_PARTITIONS), as JSON.
    """

    everywhere: int = LATEST
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    timestamp: int | None = None
    timestamps: Mapping[TopicPartition, int] = field(default_factory=dict)
    option: str = ""
    beside: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """How the client of a cluster waits, retries and fetches.

    :param timeout_ms: how long a call is repeated while brokers are away, named ``timeout_setting`` in messages;
        ``delivery_ms`` is the same for sending a batch, ``poll_ms`` for an answer to a reading task.
    :param offset_attempts: how often offsets are requested, each time for at most ``timeout_ms``, with
        ``offset_interval_ms`` between; None means once.
    :param rack: the reader's rack (KIP-392); empty reads from leaders.
    :param max_request_bytes: limits one Produce request; None leaves that to the broker.
    :param two_phase_commit: the transactions of batches have no timeout (KIP-939).
    """

    timeout_ms: int = 60_000
    timeout_setting: str = "kafka.default.api.timeout.ms"
    delivery_ms: int = 120_000
    poll_ms: int = 120_000
    offset_attempts: int | None = None
    offset_interval_ms: int = 1000
    fetch_bytes: int = 4 << 20
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    rack: str = ""
    max_request_bytes: int | None = None
    two_phase_commit: bool = False


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a read, for batch and stream."""

    bootstrap_servers: str
    client: Mapping[str, str]
    subscription: SourceSubscription
    starting: OffsetsOption
    ending: OffsetsOption
    by_timestamp: ByTimestampStrategy
    isolation: IsolationLevel
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    min_partitions: int | None
    max_records_per_partition: int | None
    fail_on_data_loss: bool
    include_headers: bool
    include_millis: bool
    commit_group: str
    cluster: ClusterOptions


@dataclass(frozen=True, slots=True)
class TopicCreation:
    """How a sink creates missing topics.

    :param replication: the replication factor; -1 leaves it to the broker.
    :param settings: the topic's settings, by Kafka's names.
    """

    partitions: int
    replication: int = -1
    settings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """The settings in the form in which the user gave them, for messages."""
        replication = {} if self.replication == -1 else {"replication": self.replication}
        return f"with {json.dumps({'partitions': self.partitions, **replication, **self.settings})}"


CREATION = '{"partitions": 3, "replication": 1}'
"""An example of the option ``createTopics``, for messages."""


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The options of a write, for batch and stream.

    ``max_batch_bytes`` limits the encoded bytes of one micro-batch. ``topics`` are the topics that rows may name, if
    they were given. ``writers`` is the number of tasks that write at the same time; with 0 the driver writes, with None
    the size of each batch decides. ``marker_partition`` is the partition for which the marker is committed;
    ``micro_batch`` is the query's micro-batch, if ``for_each_batch`` makes the batch write.
    """

    bootstrap_servers: str
    client: Mapping[str, str]
    topic: str
    topics: tuple[str, ...]
    transactional_id_prefix: str
    batch_id: int | None
    max_batch_bytes: int
    compression: str
    compression_level: int | None
    batch_size_bytes: int
    transaction_timeout_ms: int
    cluster: ClusterOptions
    writers: int | None
    checkpoint_location: str
    on_missing_marker: OnMissingMarker
    on_full_refresh: OnFullRefresh
    offsets_retention_ms: int | None
    marker_partition: TopicPartition
    micro_batch: int | None
    sink_name: str
    create_topics: TopicCreation | None = None

    @property
    def named_topics(self) -> tuple[str, ...]:
        """The topics that are known before the rows are read; empty if rows name their topics."""
        return (self.topic,) if self.topic else self.topics

    @property
    def destination(self) -> str:
        """The topic by which the sink's marker is distinguished; empty if the sink has a name, because its topic may
        then change."""
        return "" if self.sink_name else self.topic


def option_texts(options: Mapping[str, OptionValue], of: str) -> dict[str, str]:
    """Options as Spark's ``option`` passes them on: numbers as text, True as ``true``.

    :param of: the receiver of the options, for a message.
    :raises ConfigError: a name is not a string, or a value not a string, number or boolean; the text names the option.
    """
    return {_option_name(name, of): _option_text(name, value, of) for name, value in options.items()}


def _option_name(name: object, of: str) -> str:
    if not isinstance(name, str):
        raise ConfigError(f"An option of {of} is named {name!r}: names must be strings")
    return name


def _option_text(name: str, value: object, of: str) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value)
    raise ConfigError(
        f"Option {name} of {of} is {value!r}, of type {type(value).__name__}: give a string, a number, True or False, "
        "or leave it out"
    )


class _Given:
    """The options that a user gave, by lower-case name."""

    def __init__(self, options: Mapping[str, str], *, reads: bool) -> None:
        known, others = (SOURCE_OPTIONS, SINK_OPTIONS) if reads else (SINK_OPTIONS, SOURCE_OPTIONS)
        refused = REFUSED_OPTIONS if reads else REFUSED_SINK_OPTIONS
        elsewhere = {name.lower(): name for name in others}
        reasons = {name.lower(): reason for name, reason in refused.items()}
        properties = CONSUMER_PROPERTIES if reads else PRODUCER_PROPERTIES
        self._spelling = {name.lower(): name for name in known}
        self.client: dict[str, str] = {}
        self._values: dict[str, str] = {}
        for name, value in options.items():
            lowered = name.lower()
            if lowered.startswith("kafka."):
                self.client[lowered.removeprefix("kafka.")] = value
            elif lowered in self._spelling:
                self._values[lowered] = value
            elif lowered in reasons:
                raise ConfigError(f"Option {name} is not supported, leave it out: {reasons[lowered]}")
            elif lowered in elsewhere:
                uses = "for writing, and this reads" if reads else "for reading, and this writes"
                raise ConfigError(f"Option {elsewhere[lowered]} is {uses}: leave it out")
            else:
                refuse_without_prefix(lowered, properties)
                # Spark passes names in lower case
                close = nearest(lowered, list(self._spelling)).rstrip("?").removeprefix("; did you mean ")
                hint = f"; did you mean {self._spelling[close]}?" if close else ""
                raise ConfigError(f"Unknown option {name!r} of format oncelog{hint}")

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def text(self, name: str, default: str = "") -> str:
        return self._values.get(name.lower(), default).strip()

    def parsed(self, name: str, parse: Callable[[str], T], wants: str, default: T) -> T:
        if name not in self:
            return default
        text = self.text(name)
        try:
            return parse(text)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ConfigError(f"Invalid value {text!r} for option {name}: it takes {wants}") from None

    def boolean(self, name: str, default: bool) -> bool:
        words = {"true": True, "false": False}
        return self.parsed(name, lambda text: words[text.lower()], "true or false", default)

    def positive(self, name: str) -> int | None:
        return self.parsed(name, _positive, "a whole number above 0", None)


class OfOtherRead(ConfigError):
    """A batch read has an option of streaming reads, or a streaming read has one of batch reads."""


def parse_source_options(options: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    """Parse the options of a batch or streaming read. Raises ConfigError that names the option."""
    given = _Given(options, reads=True)
    check_client_properties(given.client, CONSUMER_PROPERTIES)
    client = given.client
    bootstrap_servers = _bootstrap_servers(client)
    for name in BATCH_READ_OPTIONS if streaming else STREAM_READ_OPTIONS:
        if name in given:
            kind, other = ("streaming", "batch") if streaming else ("batch", "streaming")
            raise OfOtherRead(f"Option {name} has no meaning in a {kind} read: it is for {other} reads")
    low, high = given.positive("minOffsetsPerTrigger"), given.positive("maxOffsetsPerTrigger")
    if low is not None and high is not None and low > high:
        raise ConfigError(f"minOffsetsPerTrigger ({low}) is greater than maxOffsetsPerTrigger ({high})")
    starting = _position(given, "starting", LATEST if streaming else EARLIEST)
    ending = _position(given, "ending", LATEST)
    if not streaming:
        _refuse_batch_position(starting, LATEST, "latest")
        _refuse_batch_position(ending, EARLIEST, "earliest")
    return SourceOptions(
        bootstrap_servers=bootstrap_servers,
        client=client,
        subscription=_subscription(given),
        starting=starting,
        ending=ending,
        by_timestamp=given.parsed(
            "startingOffsetsByTimestampStrategy",
            lambda text: ByTimestampStrategy(text.lower()),
            "error or latest",
            ByTimestampStrategy.ERROR,
        ),
        isolation=_isolation(client),
        max_offsets_per_trigger=high,
        min_offsets_per_trigger=low,
        max_trigger_delay_ms=given.parsed("maxTriggerDelay", parse_duration_ms, "a time such as 15m or 30s", 900_000),
        min_partitions=given.positive("minPartitions"),
        max_records_per_partition=given.positive("maxRecordsPerPartition"),
        fail_on_data_loss=given.boolean("failOnDataLoss", True),
        include_headers=given.boolean("includeHeaders", False),
        include_millis=given.boolean("includeTimestampMillis", False),
        commit_group=given.text("commitOffsetsToGroup"),
        cluster=_reading(given, client),
    )


def includes_headers(options: Mapping[str, str]) -> bool:
    """Whether the rows have a column ``headers``: the schema depends on it before the other options are checked."""
    return _asks(options, "includeHeaders")


def includes_millis(options: Mapping[str, str]) -> bool:
    """Whether the rows have a column ``timestampMillis``: the schema depends on it before the other options are
    checked."""
    return _asks(options, "includeTimestampMillis")


def _asks(options: Mapping[str, str], option: str) -> bool:
    given = {name.lower(): value for name, value in options.items()}
    return given.get(option.lower(), "false").strip().lower() == "true"


def parse_sink_options(options: Mapping[str, str], *, streaming: bool) -> SinkOptions:
    """Parse the options of a batch or streaming write. Raises ConfigError that names the option."""
    given = _Given(options, reads=False)
    check_client_properties(given.client, PRODUCER_PROPERTIES)
    client = given.client
    bootstrap_servers = _bootstrap_servers(client)
    prefix = given.text("transactionalIdPrefix")
    if streaming and "batchId" in given:
        raise ConfigError("Option batchId is for batch writes: a streaming query numbers its batches itself")
    if "batchId" in given and not prefix:
        raise ConfigError("Option batchId needs transactionalIdPrefix: the two together name the write")
    micro_batch = given.parsed("microBatch", _natural, "a whole number of at least 0", None)
    location = given.text("checkpointLocation")
    of_a_query = streaming or micro_batch is not None
    if of_a_query and not location:
        raise ConfigError(
            "Option checkpointLocation is missing: give it to the query itself (spark.sql.streaming.checkpointLocation "
            "does not reach the sink), because the sink reads Spark's plan there"
        )
    if not of_a_query:
        _refuse_options_of_queries(given)
    retention = given.positive("offsetsRetentionMinutes")
    topic = given.text("topic")
    topics = tuple(dict.fromkeys(name.strip() for name in given.text("topics").split(",") if name.strip()))
    if "topics" in given and (given.text("topic") or not topics):
        raise ConfigError(
            "Option topics lists the topics that rows may name, separated by commas: give it without the option topic"
        )
    compression = _compression(client)
    max_request = _client_number(client, "max.request.size", MAX_INT, 1, MAX_INT)
    return SinkOptions(
        bootstrap_servers=bootstrap_servers,
        client=client,
        topic=topic,
        topics=topics,
        transactional_id_prefix=prefix,
        batch_id=given.parsed("batchId", _natural, "a whole number of at least 0", None),
        max_batch_bytes=given.positive("maxBatchBytes") or 256 << 20,
        compression=compression,
        compression_level=_compression_level(client, compression),
        batch_size_bytes=min(_client_number(client, "batch.size", 1 << 19, 1, 1 << 24), max_request),
        transaction_timeout_ms=_client_number(client, "transaction.timeout.ms", 60_000, 1, MAX_INT),
        writers=given.parsed("writers", _writers, "auto or a whole number of at least 0", None),
        cluster=ClusterOptions(
            timeout_ms=_client_number(client, "max.block.ms", 60_000, 0, MAX_INT),
            timeout_setting="kafka.max.block.ms",
            delivery_ms=_client_number(client, "delivery.timeout.ms", 120_000, 1, MAX_INT),
            max_request_bytes=max_request if "max.request.size" in client else None,
            two_phase_commit=_two_phase_commit(client),
        ),
        checkpoint_location=location,
        on_missing_marker=given.parsed(
            "onMissingMarker",
            lambda text: OnMissingMarker(text.lower()),
            "fail, write or skip",
            OnMissingMarker.FAIL,
        ),
        on_full_refresh=given.parsed(
            "onFullRefresh", lambda text: OnFullRefresh(text.lower()), "fail, append or after", OnFullRefresh.FAIL
        ),
        offsets_retention_ms=None if retention is None else retention * 60_000,
        marker_partition=TopicPartition(given.text("markerTopic") or topic or CONSUMER_OFFSETS_TOPIC, 0),
        micro_batch=micro_batch,
        sink_name=given.text("sinkName"),
        create_topics=_creation(given, bool(topic or topics)),
    )


def topic_creation(given: Mapping[str, object]) -> TopicCreation:
    """Parse ``partitions``, ``replication`` and the settings of a topic. Raises ValueError if they are not valid."""
    fields = dict(given)
    numbers = [fields.pop("partitions", None), fields.pop("replication", -1)]
    partitions, replication = (int(one) if isinstance(one, int) and not isinstance(one, bool) else 0 for one in numbers)
    if partitions < 1 or not (replication >= 1 or replication == -1):
        raise ValueError(given)
    return TopicCreation(partitions, replication, {name: _setting(value) for name, value in fields.items()})


def _setting(value: object) -> str:
    if not isinstance(value, str | int | float):
        raise ValueError(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _creation(given: _Given, names_topics: bool) -> TopicCreation | None:
    if "createTopics" not in given:
        return None
    if not names_topics:
        raise ConfigError(
            "Option createTopics creates the topics that the option topic or topics names: give one of them, or leave "
            "it out"
        )
    wants = f"partitions, replication and settings of a topic by Kafka's names, in JSON such as {CREATION}"
    return given.parsed("createTopics", lambda text: topic_creation(json.loads(text)), wants, None)


def _refuse_options_of_queries(given: _Given) -> None:
    for name in ("offsetsRetentionMinutes", "sinkName", "onFullRefresh"):
        if name in given:
            raise ConfigError(f"Option {name} has no meaning in a batch write: it is for streaming queries")
    if "onMissingMarker" in given and "batchId" not in given:
        raise ConfigError(
            "Option onMissingMarker has no meaning in a batch write without batchId, which leaves no marker: it is for "
            "those with one, and for streaming queries"
        )


def _two_phase_commit(client: Mapping[str, str]) -> bool:
    text = client.get("transaction.two.phase.commit.enable", "false").strip().lower()
    if text not in ("true", "false"):
        raise ConfigError(f"Option kafka.transaction.two.phase.commit.enable takes true or false, not {text!r}")
    if text == "true" and "transaction.timeout.ms" in client:
        raise ConfigError(
            "Option kafka.transaction.timeout.ms contradicts kafka.transaction.two.phase.commit.enable, with which "
            "there is no timeout: leave one of the two out"
        )
    return text == "true"


def _reading(given: _Given, client: Mapping[str, str]) -> ClusterOptions:
    """The options for waiting and fetching of a read."""
    at_least_0 = "a whole number of at least 0"
    most = _client_number(client, "fetch.max.bytes", MAX_INT, 1, MAX_INT)
    return ClusterOptions(
        timeout_ms=_client_number(client, "default.api.timeout.ms", 60_000, 0, MAX_INT),
        poll_ms=given.positive("kafkaConsumer.pollTimeoutMs") or 120_000,
        offset_attempts=given.positive("fetchOffset.numRetries"),
        offset_interval_ms=given.parsed("fetchOffset.retryIntervalMs", _natural, at_least_0, 1000),
        fetch_bytes=min(_client_number(client, "max.partition.fetch.bytes", 4 << 20, 1, MAX_INT), most),
        fetch_min_bytes=_client_number(client, "fetch.min.bytes", 1, 0, MAX_INT),
        fetch_max_wait_ms=_client_number(client, "fetch.max.wait.ms", 500, 0, MAX_INT),
        rack=client.get("client.rack", "").strip(),
    )


def parse_duration_ms(text: str) -> int:
    """Milliseconds in a duration as Spark writes it: ``500ms``, ``30s``, ``15m``, ``1h``, ``2d`` or a plain number."""
    match = re.fullmatch(r"(\d+)\s*(us|ms|s|m|min|h|d)?", text.strip().lower())
    if match is None:
        raise ValueError(text)
    factors = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
    unit = match.group(2) or "ms"
    return int(match.group(1)) // 1000 if unit == "us" else int(match.group(1)) * factors[unit]


def _positive(text: str) -> int:
    if int(text) <= 0:
        raise ValueError(text)
    return int(text)


def _natural(text: str) -> int:
    if int(text) < 0:
        raise ValueError(text)
    return int(text)


def _writers(text: str) -> int | None:
    return None if text.lower() == "auto" else _natural(text)


def _compression_level(client: Mapping[str, str], compression: str) -> int | None:
    """The compression level of the codec in use, None if not given; the levels of all codecs are checked."""
    levels = {"gzip": (-1, 9), "lz4": (1, 17), "zstd": (-131072, 22)}
    found: int | None = None
    for codec, (low, high) in levels.items():
        name = f"compression.{codec}.level"
        if name not in client:
            continue
        level = _client_number(client, name, low, low, high)
        if codec == "gzip" and level == 0:
            raise ConfigError("Invalid value '0' for option kafka.compression.gzip.level: allowed are -1 and 1 to 9")
        found = level if codec == compression else found
    return found


def _bootstrap_servers(client: Mapping[str, str]) -> str:
    servers = client.get("bootstrap.servers", "").strip()
    if not servers:
        raise ConfigError(SERVERS_MISSING)
    return servers


def _isolation(client: Mapping[str, str]) -> IsolationLevel:
    text = client.get("isolation.level", "read_committed").strip().lower()
    try:
        return IsolationLevel[text.upper()]
    except KeyError:
        raise ConfigError(
            f"Invalid value {text!r} for option kafka.isolation.level: allowed are read_committed and read_uncommitted"
        ) from None


def _compression(client: Mapping[str, str]) -> str:
    codecs = tuple(codec.name.lower() for codec in Compression)
    text = client.get("compression.type", "lz4").strip().lower()
    if text not in codecs:
        raise ConfigError(f"Invalid value {text!r} for option kafka.compression.type: allowed are {', '.join(codecs)}")
    return text


def _client_number(client: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = client.get(name, str(default))
    if not re.fullmatch(r"\s*-?\d{1,18}\s*", text, re.ASCII) or not low <= int(text) <= high:
        raise ConfigError(f"Invalid value {text!r} for option kafka.{name}: allowed are numbers from {low} to {high}")
    return int(text)


def _subscription(given: _Given) -> SourceSubscription:
    names = [name for name in ("subscribe", "subscribePattern", "assign") if given.text(name)]
    if len(names) != 1:
        message = " and ".join(names) if names else "none of them"
        raise ConfigError(f"Give exactly one of the options subscribe, subscribePattern and assign; given: {message}")
    if names == ["subscribe"]:
        topics = tuple(dict.fromkeys(topic.strip() for topic in given.text("subscribe").split(",") if topic.strip()))
        if not topics:
            raise ConfigError("Option subscribe names no topic")
        return SourceSubscription(topics=topics)
    if names == ["subscribePattern"]:
        pattern = given.text("subscribePattern")
        try:
            compile_java(pattern)
        except NotJavaRegex as error:
            raise ConfigError(f"Option subscribePattern cannot be {pattern!r}: {error}") from None
        return SourceSubscription(pattern=pattern)
    wants = 'JSON such as {"topic": [0, 1]}'
    nothing: tuple[TopicPartition, ...] = ()
    assigned = given.parsed("assign", _assigned, wants, nothing)
    if not assigned:
        raise ConfigError(f"Option assign names no partition: it takes {wants}")
    return SourceSubscription(assigned=assigned)


def _assigned(text: str) -> tuple[TopicPartition, ...]:
    named = {TopicPartition(topic, _whole(number)) for topic, numbers in json.loads(text).items() for number in numbers}
    return tuple(sorted(named))


def _position(given: _Given, which: str, default: int) -> OffsetsOption:
    """The position in the first of ``<which>Timestamp``, ``<which>OffsetsByTimestamp`` and ``<which>Offsets`` that is
    given; otherwise the default."""
    if f"{which}Timestamp" in given:
        name = f"{which}Timestamp"
        return OffsetsOption(timestamp=given.parsed(name, _natural, "milliseconds since 1970", None), option=name)
    wants = 'JSON such as {"topic": {"0": 23, "1": -2}}'
    nothing: dict[TopicPartition, int] = {}
    if f"{which}OffsetsByTimestamp" in given:
        name = f"{which}OffsetsByTimestamp"
        return OffsetsOption(timestamps=given.parsed(name, parse_offsets_json, wants, nothing), option=name)
    name = f"{which}Offsets"
    words = {"earliest": EARLIEST, "latest": LATEST}
    text = given.text(name).lower()
    if name not in given or text in words:
        return OffsetsOption(everywhere=words.get(text, default), option=name)
    offsets = given.parsed(name, parse_offsets_json, f"earliest, latest or {wants}", nothing)
    bad = [str(partition) for partition, offset in offsets.items() if offset < EARLIEST]
    if bad or not offsets:
        raise ConfigError(f"Invalid value {given.text(name)!r} for option {name}: it takes earliest, latest or {wants}")
    beside = {
        topic: {name: held for name, held in fields.items() if name in BESIDE_PARTITIONS}
        for topic, fields in json.loads(given.text(name)).items()
    }
    return OffsetsOption(offsets=offsets, option=name, beside=beside)


BESIDE_PARTITIONS = ("id", "from", "epochs", "marks", "missing")
"""The entries of a topic, other than its partitions, in a checkpoint, a progress report or a marker."""


def parse_offsets_json(text: str) -> dict[TopicPartition, int]:
    """Parse ``{"topic": {"0": 23}}`` to offsets by partition. Other entries of a topic in a checkpoint are ignored,
    because users copy the JSON from there.

    Raises ValueError, TypeError or AttributeError for JSON of another form.
    """
    return {
        TopicPartition(topic, int(number)): _whole(value)
        for topic, partitions in json.loads(text).items()
        for number, value in partitions.items()
        if number not in BESIDE_PARTITIONS
    }


def _whole(value: Any) -> int:
    if isinstance(value, bool | float):
        raise TypeError(value)  # int() would drop a fraction, and accept true
    return int(value)


def _refuse_batch_position(position: OffsetsOption, refused: int, word: str) -> None:
    partitions = [partition for partition, offset in position.offsets.items() if offset == refused]
    if partitions or (position.everywhere == refused and position.timestamp is None and not _names_each(position)):
        where = f" for {partitions[0]}" if partitions else ""
        raise ConfigError(f"Option {position.option} of a batch read cannot be {word}{where}")


def _names_each(position: OffsetsOption) -> bool:
    return bool(position.offsets or position.timestamps)
