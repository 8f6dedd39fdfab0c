"""Settings: Kafka's names, defaults and refusals."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from oncelog.errors import ConfigError
from oncelog.settings.config import TOPIC_SYNONYMS, BrokerConfig, TopicConfig, parse, per_ip_overrides
from oncelog.settings.fields import nearest, properties, setting
from oncelog.settings.kafka_properties import (
    AllowedValues,
    KafkaProperty,
    PropertyKind,
    UpdateMode,
    broker_properties,
    client_metrics_properties,
    duration_ns,
    group_properties,
    parse_text,
    render,
    render_double,
    topic_properties,
)

OURS = {"super.users", "allow.everyone.if.no.acl.found", "oncelog.flush.policy"}
SUIT_ONE_NODE = {
    "node.id",
    "log.flush.interval.ms",
    "offsets.topic.replication.factor",
    "transaction.state.log.min.isr",
    "transaction.state.log.replication.factor",
}


def _allowed(cls: type, name: str) -> AllowedValues:
    meta = properties(cls)[name].metadata
    return AllowedValues(meta["low"], meta["high"], meta["also"], meta["choices"])


def _bounds(allowed: AllowedValues, kind: PropertyKind) -> tuple[float, float, tuple[int, ...]]:
    """Both ends; a bound that the type has anyway counts as none."""
    limit = {PropertyKind.SHORT: 2**15, PropertyKind.INT: 2**31, PropertyKind.LONG: 2**63}.get(kind, float("inf"))
    return max(allowed.low, -limit), min(allowed.high, limit - 1), allowed.also


def test_every_topic_setting_of_kafka_has_a_field() -> None:
    assert set(properties(TopicConfig)) == set(topic_properties())


@pytest.mark.parametrize("name", sorted(topic_properties()))
def test_topic_settings_have_kafkas_type_default_and_range(name: str) -> None:
    known, f = topic_properties()[name], properties(TopicConfig)[name]
    default: Any = f.default
    assert f.metadata["kind"] is known.kind
    assert (None if default is None else render(default)) == known.default
    if not known.allowed.replicas:
        assert _bounds(_allowed(TopicConfig, name), known.kind) == _bounds(known.allowed, known.kind)
        assert f.metadata["choices"] == known.allowed.words


@pytest.mark.parametrize("name", sorted(set(properties(BrokerConfig)) - OURS))
def test_broker_settings_with_a_field_have_kafkas_type_default_and_choices(name: str) -> None:
    known, f = broker_properties()[name], properties(BrokerConfig)[name]
    default: Any = f.default
    if name not in SUIT_ONE_NODE:
        assert render(default) == (known.default or "")
    if name not in {"default.replication.factor"}:
        assert f.metadata["kind"] is known.kind
    assert f.metadata["low"] >= known.allowed.low


def test_the_tables_contain_all_of_kafkas_properties() -> None:
    counts = [len(t()) for t in (broker_properties, topic_properties, group_properties, client_metrics_properties)]
    assert counts == [382, 38, 27, 3]
    assert broker_properties()["ssl.key.password"].sensitive
    assert broker_properties()["listeners"].update is UpdateMode.PER_BROKER
    assert broker_properties()["log.retention.ms"].update is UpdateMode.CLUSTER_WIDE
    assert broker_properties()["log.retention.hours"].update is UpdateMode.READ_ONLY


@pytest.mark.parametrize(
    "table", [broker_properties(), topic_properties(), group_properties(), client_metrics_properties()]
)
def test_every_default_passes_its_own_check(table: dict[str, KafkaProperty]) -> None:
    for known in table.values():
        if known.default and not known.allowed.non_empty:
            assert render(known.parse(known.default)) == known.default


@pytest.mark.parametrize(
    ("kind", "text", "allowed", "message"),
    [
        (PropertyKind.LONG, "abc", AllowedValues(), "Invalid value abc for configuration x: Not a number of type LONG"),
        (PropertyKind.LONG, str(2**63), AllowedValues(), "Not a number of type LONG"),
        (PropertyKind.INT, str(2**31), AllowedValues(), "Not a number of type INT"),
        (PropertyKind.SHORT, "32768", AllowedValues(), "Not a number of type SHORT"),
        (PropertyKind.INT, "1_0", AllowedValues(), "Invalid value 1_0 for configuration x: Not a number of type INT"),
        (PropertyKind.INT, "1.0", AllowedValues(), "Not a number of type INT"),
        (PropertyKind.INT, "", AllowedValues(), "Invalid value  for configuration x: Not a number of type INT"),
        (PropertyKind.INT, "-5", AllowedValues(-1), "Invalid value -5 for configuration x: Value must be at least -1"),
        (
            PropertyKind.INT,
            "5",
            AllowedValues(1, 4),
            "Invalid value 5 for configuration x: Value must be no more than 4",
        ),
        (PropertyKind.INT, "0", AllowedValues(1, 9, (-1,)), "Value must be between 1 and 9 or equal to -1"),
        (
            PropertyKind.DOUBLE,
            "2",
            AllowedValues(0, 1),
            "Invalid value 2.0 for configuration x: Value must be no more than 1",
        ),
        (PropertyKind.DOUBLE, "nan", AllowedValues(0, 1), "Not a number of type DOUBLE"),
        (PropertyKind.BOOLEAN, "yes", AllowedValues(), "Expected value to be either true or false"),
        (
            PropertyKind.STRING,
            "c",
            AllowedValues(words=("a", "b")),
            "Invalid value c for configuration x: String must be one of: a, b",
        ),
        (PropertyKind.STRING, "", AllowedValues(non_empty=True), "String must be non-empty"),
        (
            PropertyKind.LIST,
            "a,c",
            AllowedValues(words=("a", "b")),
            "Invalid value c for configuration x: String must be one of: a, b",
        ),
        (PropertyKind.LIST, "a,", AllowedValues(words=("a", "b")), "Configuration 'x' values must not be empty."),
        (PropertyKind.LIST, "1:x", AllowedValues(replicas=True), "must be the literal '*' or a list of replicas"),
    ],
)
def test_invalid_setting_values_are_refused_in_kafkas_words(
    kind: PropertyKind, text: str, allowed: AllowedValues, message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_text("x", kind, text, allowed)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "text", "allowed", "value"),
    [
        (PropertyKind.LONG, " +7 ", AllowedValues(), 7),
        (PropertyKind.INT, "-1", AllowedValues(1, 9, (-1,)), -1),
        (PropertyKind.DOUBLE, "1e-1", AllowedValues(0, 1), 0.1),
        (PropertyKind.DOUBLE, "0.5f", AllowedValues(0, 1), 0.5),
        (PropertyKind.BOOLEAN, "TRUE", AllowedValues(), True),
        (PropertyKind.LIST, "", AllowedValues(words=("a",)), ()),
        (PropertyKind.LIST, " a , b", AllowedValues(words=("a", "b")), ("a", "b")),
        (PropertyKind.STRING, "Upgrade", AllowedValues(words=("UPGRADE",), any_case=True), "Upgrade"),
        (PropertyKind.STRING, "by_duration:PT1H", AllowedValues(offset_reset=True), "by_duration:PT1H"),
        (PropertyKind.PASSWORD, " secret ", AllowedValues(), " secret "),
    ],
)
def test_setting_values_are_read_as_by_kafka(
    kind: PropertyKind, text: str, allowed: AllowedValues, value: object
) -> None:
    assert parse_text("x", kind, text, allowed) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (0.0, "0.0"),
        (2.0, "2.0"),
        (1e-5, "1.0E-5"),
        (0.001, "0.001"),
        (12345678.9, "1.23456789E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (-1e7, "-1.0E7"),
    ],
)
def test_doubles_in_settings_are_written_as_by_java(value: float, text: str) -> None:
    assert render_double(value) == text


def test_an_unknown_name_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError, match=r"Unknown configuration 'num\.io\.threds'; did you mean num\.io\.threads\?"):
        parse(BrokerConfig, {"num.io.threds": "3"})
    with pytest.raises(ConfigError, match=r"did you mean retention\.ms\?"):
        parse(TopicConfig, {"retention.m": "3"})
    assert nearest("zzz", ["retention.ms"]) == ""


def test_properties_without_an_effect_are_checked_and_kept() -> None:
    config = parse(BrokerConfig, {"num.io.threads": "16", "listener.name.internal.ssl.keystore.location": "/k"})
    assert config.text("num.io.threads") == "16"
    assert config.text("num.network.threads") == "3"
    assert config.text("ssl.keystore.location") is None
    with pytest.raises(ConfigError, match=r"Invalid value 0 for configuration num\.io\.threads"):
        parse(BrokerConfig, {"num.io.threads": "0"})


@pytest.mark.parametrize("unset", ["broker.rack", "log.flush.interval.ms", "advertised.listeners", "log.dirs"])
def test_a_setting_without_a_default_in_kafka_has_no_text_until_it_is_given(unset: str) -> None:
    assert BrokerConfig().text(unset) is None
    assert parse(BrokerConfig, {unset: "5"}).text(unset) == "5"


def test_broker_id_is_the_old_name_of_node_id() -> None:
    assert parse(BrokerConfig, {"broker.id": "7"}).node_id == 7
    assert parse(BrokerConfig, {"broker.id": "7", "node.id": "8"}).node_id == 8
    assert parse(BrokerConfig, {"broker.id": "-1"}).node_id == 1


@pytest.mark.parametrize(
    ("given", "retention_ms"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.minutes": "-7"}, -1),
    ],
)
def test_the_retention_setting_with_the_finest_unit_takes_precedence(given: dict[str, str], retention_ms: int) -> None:
    assert parse(BrokerConfig, given).topic_defaults.retention_ms == retention_ms


def test_a_retention_time_of_0_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"requirement failed: log\.retention\.ms must be unlimited \(-1\) or"):
        parse(BrokerConfig, {"log.retention.minutes": "0"})


@pytest.mark.parametrize(
    ("given", "requirement"),
    [
        ({"max.connections.per.ip": "0"}, "max.connections.per.ip can be set to zero only if"),
        ({"log.cleaner.threads": "128"}, "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."),
        ({"log.cleaner.threads": "0"}, "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."),
        ({"queued.max.request.bytes": "5"}, "queued.max.request.bytes must be larger or equal to"),
    ],
)
def test_settings_that_contradict_each_other_are_refused_as_by_kafka(given: dict[str, str], requirement: str) -> None:
    with pytest.raises(ConfigError, match=f"^requirement failed: {re.escape(requirement)}"):
        parse(BrokerConfig, given)


def test_no_address_but_the_listed_addresses_may_connect() -> None:
    config = parse(BrokerConfig, {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5"})
    assert config.max_connections_per_ip == 0
    parse(BrokerConfig, {"log.cleaner.threads": "127"})


NANO = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("PT1H", 3600 * NANO),
        ("pt1h", 3600 * NANO),
        ("P1DT1H1M1S", 90_061 * NANO),
        ("P+1DT+1H", 90_000 * NANO),
        ("PT2H-30M", 5400 * NANO),
        ("P-1DT25H", 3600 * NANO),
        ("-PT-1H", 3600 * NANO),
        ("-PT1H", -3600 * NANO),
        ("PT1.5S", 3 * NANO // 2),
        ("PT1,5S", 3 * NANO // 2),
        ("PT1.S", NANO),
        ("PT-0.5S", -NANO // 2),
        ("PT-1.5S", -3 * NANO // 2),
        ("PT0S", 0),
        ("PT9223372036854775807S", 9_223_372_036_854_775_807 * NANO),
        *(
            (text, None)
            for text in (
                "P",
                "PT",
                "P1DT",
                "P1Y",
                "P1W",
                "PT1H1D",
                "1H",
                "",
                " PT1H",
                "PT1H ",
                "PT\u0661H",
                "PT.5S",
                "PT1.1234567890S",
                "PT9223372036854775808S",
                "P99999999999999999D",
            )
        ),
    ],
)
def test_durations_are_read_as_by_java(text: str, nanoseconds: int | None) -> None:
    """The values are those of ``java.time.Duration.parse``."""
    assert duration_ns(text) == nanoseconds


def test_broker_properties_are_the_defaults_of_topics() -> None:
    defaults = parse(
        BrokerConfig,
        {
            "log.roll.hours": "1",
            "log.roll.jitter.ms": "5",
            "log.segment.bytes": "2000000",
            "log.cleanup.policy": "compact",
            "log.cleaner.min.cleanable.ratio": "0.25",
            "log.index.size.max.bytes": "4096",
            "log.segment.delete.delay.ms": "6",
            "message.max.bytes": "77",
            "min.insync.replicas": "2",
            "compression.type": "zstd",
            "log.message.timestamp.type": "LogAppendTime",
            "log.flush.scheduler.interval.ms": "9",
        },
    ).topic_defaults
    assert defaults == TopicConfig(
        segment_ms=3_600_000,
        segment_jitter_ms=5,
        segment_bytes=2_000_000,
        cleanup_policy=("compact",),
        min_cleanable_dirty_ratio=0.25,
        segment_index_bytes=4096,
        file_delete_delay_ms=6,
        max_message_bytes=77,
        min_insync_replicas=2,
        compression_type="zstd",
        message_timestamp_type="LogAppendTime",
        flush_ms=9,
    )


def test_every_topic_synonym_is_a_broker_property_of_the_same_default() -> None:
    for name, synonyms in TOPIC_SYNONYMS.items():
        defaults = [
            int(default) * factor if factor != 1 else default
            for synonym, factor in synonyms
            if (default := broker_properties()[synonym].default) is not None
        ]
        assert str(defaults[0]) == topic_properties()[name].default


def test_the_internal_segment_size_replaces_segment_bytes() -> None:
    assert parse(TopicConfig, {"internal.segment.bytes": "100"}).segment_bytes == 100


def test_dynamic_settings_override_static_settings_and_can_be_removed() -> None:
    started = parse(BrokerConfig, {"log.retention.hours": "2", "num.io.threads": "4", "max.connections": "5"})
    changed = started.with_dynamic({"log.retention.ms": "9", "max.connections": "6"})
    assert (changed.topic_defaults.retention_ms, changed.max_connections) == (9, 6)
    assert changed.text("num.io.threads") == "4"
    assert changed.static == started.static
    back = changed.with_dynamic({"max.connections": "7"})
    assert (back.topic_defaults.retention_ms, back.max_connections) == (7_200_000, 7)
    with pytest.raises(ConfigError):
        changed.with_dynamic({"log.retention.ms": "x"})


def test_a_configuration_made_from_attributes_keeps_them_under_dynamic_settings() -> None:
    started = replace(BrokerConfig(), num_partitions=9)
    assert started.with_dynamic({"max.connections": "6"}).num_partitions == 9


@pytest.mark.parametrize(
    "given",
    [
        {"group.consumer.session.timeout.ms": "5000"},
        {"group.consumer.heartbeat.interval.ms": "16000"},
        {"group.consumer.min.session.timeout.ms": "50000"},
        {"group.share.session.timeout.ms": "1"},
        {"group.min.session.timeout.ms": "7", "group.max.session.timeout.ms": "6"},
        {"log.roll.hours": "0"},
    ],
    ids=str,
)
def test_settings_that_contradict_each_other_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        parse(BrokerConfig, given)


@pytest.mark.parametrize("text", ["10.0.0.1", "10.0.0.1:", "10.0.0.1:many", "10.0.0.1:5,:", "10.0.0.1:-1", "host:5"])
def test_malformed_connection_limits_per_address_are_refused_when_they_are_set(text: str) -> None:
    name = "max.connections.per.ip.overrides"
    with pytest.raises(ConfigError, match=name):
        parse(BrokerConfig, {name: text})
    with pytest.raises(ConfigError, match=name):
        BrokerConfig().with_dynamic({name: text})


def test_each_address_has_its_own_connection_limit() -> None:
    config = parse(BrokerConfig, {"max.connections.per.ip.overrides": "10.0.0.1:5, fe80::1:7,"})
    assert per_ip_overrides(config.max_connections_per_ip_overrides) == {"10.0.0.1": 5, "fe80::1": 7}


def test_the_type_of_a_setting_follows_from_its_default_and_range() -> None:
    assert setting("x", 5, "", high=100).metadata["kind"] is PropertyKind.SHORT
    assert setting("x", 5, "", high=2**31 - 1).metadata["kind"] is PropertyKind.INT
    assert setting("x", 5, "").metadata["kind"] is PropertyKind.LONG
    assert setting("x", 0.5, "").metadata["kind"] is PropertyKind.DOUBLE
    assert setting("x", True, "").metadata["kind"] is PropertyKind.BOOLEAN
    assert setting("x", ["a"], "").metadata["kind"] is PropertyKind.LIST
    assert setting("x", "a", "").metadata["kind"] is PropertyKind.STRING
