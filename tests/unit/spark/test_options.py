"""Options of Spark's Kafka connector under the same names; wrong ones refused by name."""

from __future__ import annotations

import pytest

from oncelog.errors import ConfigError
from oncelog.spark.options import (
    EARLIEST,
    LATEST,
    ByTimestampStrategy,
    ClusterOptions,
    OnMissingMarker,
    parse_duration_ms,
    parse_sink_options,
    parse_source_options,
)
from oncelog.types import IsolationLevel, TopicPartition

BASE = {"kafka.bootstrap.servers": "h:1", "subscribe": "a"}


def source(streaming: bool = True, **options: str) -> object:
    return parse_source_options(BASE | options, streaming=streaming)


def test_defaults_are_those_of_spark_except_for_read_committed() -> None:
    stream = parse_source_options(BASE, streaming=True)
    assert (stream.starting.everywhere, stream.isolation) == (LATEST, IsolationLevel.READ_COMMITTED)
    assert stream.fail_on_data_loss
    assert stream.max_trigger_delay_ms == 900_000
    batch = parse_source_options(BASE, streaming=False)
    assert (batch.starting.everywhere, batch.ending.everywhere) == (EARLIEST, LATEST)


def test_option_names_are_compared_without_case() -> None:
    options = {"KAFKA.Bootstrap.Servers": "h:1", "SUBSCRIBEPATTERN": "^a.*", "startingoffsets": "earliest"}
    parsed = parse_source_options(options, streaming=True)
    assert parsed.subscription.matches("abc")
    assert not parsed.subscription.matches("xabc")
    assert parsed.starting.everywhere == EARLIEST


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"startingOffset": "earliest"}, "'startingOffset' of format oncelog; did you mean startingOffsets"),
        (
            {"kafka.isolation.levle": "x"},
            r"kafka\.isolation\.levle of format oncelog; did you mean kafka\.isolation\.level",
        ),
        ({"kafka.isolation.level": "serializable"}, r"'serializable' for option kafka\.isolation\.level: allowed are"),
        (
            {"kafka.auto.offset.reset": "earliest"},
            r"kafka\.auto\.offset\.reset is not supported, leave it out: use the option startingOff",
        ),
        ({"assign": '{"a": [0]}'}, "exactly one of .* given: subscribe and assign"),
        ({"maxOffsetsPerTrigger": "many"}, "'many' for option maxOffsetsPerTrigger: it takes a whole number"),
        ({"maxOffsetsPerTrigger": "0"}, "'0' for option maxOffsetsPerTrigger"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "3"}, r"minOffsetsPerTrigger \(9\) is greater"),
        ({"failOnDataLoss": "yes"}, "'yes' for option failOnDataLoss: it takes true or false"),
        ({"startingOffsets": '{"a": 3}'}, "for option startingOffsets: it takes earliest, latest or JSON"),
        ({"startingOffsets": '{"a": {"0": -3}}'}, "for option startingOffsets"),
        ({"endingOffsets": "latest"}, "endingOffsets has no meaning in a streaming read"),
        ({"groupIdPrefix": "x"}, "groupIdPrefix is not supported, leave it out: reading uses no consumer group"),
        ({"kafka.group.id": "x"}, r"kafka\.group\.id is not supported, .*commitOffsetsToGroup"),
        ({"kafka.max.poll.records": "5"}, r"kafka\.max\.poll\.records is not supported, .*maxRecordsPerPartition"),
        ({"kafka.check.crcs": "false"}, r"kafka\.check\.crcs cannot be 'false', but only 'true'"),
        ({"fetchOffset.numRetries": "0"}, r"'0' for option fetchOffset\.numRetries"),
        ({"kafkaConsumer.pollTimeoutMs": "x"}, r"'x' for option kafkaConsumer\.pollTimeoutMs"),
        ({"kafka.fetch.max.bytes": "0"}, r"'0' for option kafka\.fetch\.max\.bytes: allowed are numbers from 1"),
    ],
)
def test_an_invalid_source_option_is_refused_with_its_name(options: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        parse_source_options(BASE | options, streaming=True)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"startingOffsets": "latest"}, "startingOffsets of a batch read cannot be latest"),
        ({"startingOffsets": '{"a": {"0": -1}}'}, "startingOffsets of a batch read cannot be latest for a-0"),
        ({"endingOffsets": "earliest"}, "endingOffsets of a batch read cannot be earliest"),
        ({"endingOffsets": '{"a": {"0": -2}}'}, "endingOffsets of a batch read cannot be earliest for a-0"),
        ({"maxOffsetsPerTrigger": "3"}, "maxOffsetsPerTrigger has no meaning in a batch read"),
    ],
)
def test_an_invalid_batch_option_is_refused_with_its_name(options: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        parse_source_options(BASE | options, streaming=False)


def test_offsets_of_a_checkpoint_are_used_unchanged() -> None:
    """A refusal names them, and refers users to startingOffsets."""
    written = '{"a": {"0": 7, "1": 9, "id": "LaY6DtpnSA", "epochs": {"0": 3, "1": 4}, "from": {"0": 5}}}'
    taken = parse_source_options(BASE | {"startingOffsets": written}, streaming=True).starting.offsets
    assert taken == {TopicPartition("a", 0): 7, TopicPartition("a", 1): 9}


def test_a_missing_address_is_reported_with_its_option() -> None:
    with pytest.raises(ConfigError, match=r"kafka\.bootstrap\.servers is missing"):
        parse_source_options({"subscribe": "a"}, streaming=True)


def test_starting_timestamp_takes_precedence_over_offsets_by_timestamp_and_these_over_offsets() -> None:
    options = BASE | {"startingOffsets": "earliest", "startingOffsetsByTimestamp": '{"a": {"0": 5}}'}
    by_timestamp = parse_source_options(options, streaming=True).starting
    assert by_timestamp.timestamps == {TopicPartition("a", 0): 5}
    everywhere = parse_source_options(options | {"startingTimestamp": "7"}, streaming=True).starting
    assert (everywhere.timestamp, everywhere.timestamps) == (7, {})


def test_the_strategy_for_missing_timestamps_is_error_unless_latest_is_chosen() -> None:
    assert parse_source_options(BASE, streaming=True).by_timestamp is ByTimestampStrategy.ERROR
    options = BASE | {"startingOffsetsByTimestampStrategy": "latest"}
    assert parse_source_options(options, streaming=True).by_timestamp is ByTimestampStrategy.LATEST


@pytest.mark.parametrize(
    ("text", "ms"), [("15m", 900_000), ("500ms", 500), ("30 s", 30_000), ("1h", 3_600_000), ("7", 7)]
)
def test_a_duration_is_read_in_sparks_spelling(text: str, ms: int) -> None:
    assert parse_duration_ms(text) == ms


SINK = {"kafka.bootstrap.servers": "h:1", "topic": "t"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"kafka.acks": "1"},
            r"kafka\.acks cannot be '1', but only 'all': exactly-once writing needs every in-sync replica",
        ),
        ({"kafka.enable.idempotence": "false"}, r"kafka\.enable\.idempotence cannot be 'false', but only 'true'"),
        ({"kafka.transactional.id": "x"}, r"kafka\.transactional\.id is not supported, .*transactionalIdPrefix"),
        ({"kafka.compression.gzip.level": "0"}, r"'0' for option kafka\.compression\.gzip\.level"),
        (
            {"kafka.compression.zstd.level": "23"},
            r"'23' for option kafka\.compression\.zstd\.level: allowed are numbers",
        ),
        ({"kafka.delivery.timeout.ms": "soon"}, r"'soon' for option kafka\.delivery\.timeout\.ms"),
        ({"kafka.linger.ms": "5"}, r"kafka\.linger\.ms is not supported, leave it out: a task has all its rows"),
        ({"includeHeaders": "true"}, "includeHeaders is not supported, leave it out: headers are written wherever"),
        ({"path": "t"}, "path is not supported, leave it out: topics have no path"),
        ({"kafka.compression.type": "lzo"}, r"'lzo' for option kafka\.compression\.type: allowed are none, gzip"),
        ({"kafka.batch.size": "big"}, r"'big' for option kafka\.batch\.size"),
        ({"batchId": "3"}, "batchId needs transactionalIdPrefix"),
        ({"batchId": "-3", "transactionalIdPrefix": "x"}, "'-3' for option batchId"),
        (
            {"topics": "a"},
            "topics lists the topics that rows may name, separated by commas: give it without the option topic",
        ),
        ({"topicc": "a"}, "'topicc' of format oncelog; did you mean topic"),
    ],
)
def test_an_invalid_sink_option_is_refused_with_its_name(options: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        parse_sink_options(SINK | options, streaming=False)


def test_a_streaming_query_refuses_a_batch_id() -> None:
    with pytest.raises(ConfigError, match="batchId is for batch writes"):
        parse_sink_options(SINK | {"batchId": "3", "transactionalIdPrefix": "x"}, streaming=True)


def test_timeouts_and_fetch_sizes_follow_the_options() -> None:
    options = {
        "fetchOffset.numRetries": "5",
        "fetchOffset.retryIntervalMs": "0",
        "kafkaConsumer.pollTimeoutMs": "700",
        "kafka.client.rack": "r1",
        "kafka.default.api.timeout.ms": "900",
        "kafka.fetch.max.bytes": "100000",
        "kafka.fetch.max.wait.ms": "50",
        "kafka.fetch.min.bytes": "10",
        "kafka.max.partition.fetch.bytes": "200000",
    }
    assert parse_source_options(BASE | options, streaming=True).cluster == ClusterOptions(
        timeout_ms=900,
        poll_ms=700,
        offset_attempts=5,
        offset_interval_ms=0,
        fetch_bytes=100_000,
        fetch_min_bytes=10,
        fetch_max_wait_ms=50,
        rack="r1",
    )
    more = {
        "kafka.compression.type": "zstd",
        "kafka.compression.zstd.level": "-5",
        "kafka.compression.lz4.level": "9",
        "kafka.delivery.timeout.ms": "800",
        "kafka.max.block.ms": "600",
        "kafka.max.request.size": "5000",
    }
    sink = parse_sink_options(SINK | more | {"checkpointLocation": "/ck"}, streaming=True)
    assert (sink.compression, sink.compression_level, sink.batch_size_bytes) == ("zstd", -5, 5000)
    assert sink.cluster == ClusterOptions(
        timeout_ms=600, timeout_setting="kafka.max.block.ms", delivery_ms=800, max_request_bytes=5000
    )


@pytest.mark.parametrize("read", [True, False])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bootstrap.servers", "bootstrap.servers is one of Kafka's client properties: write kafka.bootstrap.servers"),
        ("sasl.jaas.config", "write kafka.sasl.jaas.config"),
        ("interceptor.classes", "interceptor.classes is not supported, leave it out: an interceptor could"),
        ("databricks.serviceCredential", "Unknown option 'databricks.serviceCredential' of format oncelog$"),
    ],
)
def test_a_client_property_without_its_prefix_is_refused_with_the_prefix_or_the_reason(
    read: bool, name: str, says: str
) -> None:
    """Spark's connector ignores such an option without a word."""
    with pytest.raises(ConfigError, match=says):
        parse_source_options(BASE | {name: "x"}, streaming=True) if read else parse_sink_options(
            SINK | {name: "x"}, streaming=False
        )


def test_a_topic_pattern_matches_anywhere_in_a_name_as_in_sparks_connector() -> None:
    given = {"kafka.bootstrap.servers": "h:1", "subscribePattern": "orders|^a$"}
    names = ("orders", "late-orders-eu", "a", "ab", "order")
    source = parse_source_options(given, streaming=True).subscription
    assert [name for name in names if source.matches(name)] == ["orders", "late-orders-eu", "a"]


def test_a_topic_pattern_that_java_and_python_read_differently_is_refused_with_the_reason() -> None:
    with pytest.raises(ConfigError, match=r"subscribePattern cannot be 'a\[b&&c\]': a class within a class and &&"):
        parse_source_options({"kafka.bootstrap.servers": "h:1", "subscribePattern": "a[b&&c]"}, streaming=True)


def test_marker_options_belong_to_a_query_and_the_marker_topic_defaults_to_the_destination() -> None:
    query = SINK | {"checkpointLocation": "s3a://b/ck"}
    sink = parse_sink_options(
        query | {"onMissingMarker": "Skip", "offsetsRetentionMinutes": "60", "markerTopic": "m"}, streaming=True
    )
    assert (sink.on_missing_marker, sink.offsets_retention_ms) == (OnMissingMarker.SKIP, 3_600_000)
    assert sink.marker_partition == ("m", 0)
    plain = parse_sink_options(query | {"topic": "t"}, streaming=True)
    assert (plain.on_missing_marker, plain.offsets_retention_ms) == (OnMissingMarker.FAIL, None)
    assert plain.marker_partition == ("t", 0)
    by_column = {name: value for name, value in query.items() if name != "topic"}
    assert parse_sink_options(by_column, streaming=True).marker_partition == ("__consumer_offsets", 0)


def test_a_batch_write_with_an_id_accepts_the_option_that_its_refusal_names() -> None:
    named = SINK | {"transactionalIdPrefix": "daily", "batchId": "7", "onMissingMarker": "skip"}
    assert parse_sink_options(named, streaming=False).on_missing_marker is OnMissingMarker.SKIP


def test_a_sink_is_identified_by_its_name_or_else_by_its_topic() -> None:
    of_a_query = SINK | {"checkpointLocation": "/c", "microBatch": "3"}
    named = parse_sink_options(of_a_query | {"sinkName": "late"}, streaming=False)
    assert (named.topic, named.destination, named.sink_name) == (SINK["topic"], "", "late")
    assert parse_sink_options(of_a_query, streaming=False).destination == SINK["topic"]


@pytest.mark.parametrize(
    ("options", "streaming", "says"),
    [
        ({}, True, "Option checkpointLocation is missing: give it to the query itself"),
        ({"microBatch": "3"}, False, "Option checkpointLocation is missing"),
        ({"onMissingMarker": "write"}, False, "onMissingMarker has no meaning in a batch write without batchId"),
        ({"sinkName": "x"}, False, "sinkName has no meaning in a batch write"),
        ({"checkpointLocation": "/c", "onMissingMarker": "guess"}, True, "takes fail, write or skip"),
        ({"checkpointLocation": "/c", "offsetsRetentionMinutes": "0"}, True, "a whole number above 0"),
    ],
)
def test_marker_options_are_refused_where_they_have_no_effect(
    options: dict[str, str], streaming: bool, says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        parse_sink_options(SINK | options, streaming=streaming)
