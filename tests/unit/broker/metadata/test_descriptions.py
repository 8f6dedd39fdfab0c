"""What DescribeConfigs shows of a broker (``ConfigHelper.describeConfigs`` of Apache Kafka)."""

from __future__ import annotations

from oncelog.broker.metadata.descriptions import BrokerLayers, ConfigSource, broker_entries
from oncelog.settings.config import parse_broker


def test_authorizer_properties_are_described_only_if_they_are_set_and_always_without_a_value() -> None:
    given = BrokerLayers(parse_broker({"super.users": "User:admin"}), {}, {})
    shown = {entry.name: entry for entry in broker_entries(given)}
    assert "allow.everyone.if.no.acl.found" not in shown
    entry = shown["super.users"]
    assert (entry.value, entry.sensitive, entry.read_only) == (None, True, True)
    assert entry.source is ConfigSource.STATIC_BROKER
    assert [synonym.value for synonym in entry.synonyms] == [None]
    assert "super.users" not in {entry.name for entry in broker_entries(BrokerLayers(parse_broker({}), {}, {}))}
