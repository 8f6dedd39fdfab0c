"""Metadata and rules of schemas (data contracts), as Confluent's registry keeps them: AbstractSchemaRegistry of 8.0."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.rule_registry import RuleRegistry
from confluent_kafka.schema_registry.schema_registry_client import (
    Rule,
    RuleKind,
    RuleMode,
    RuleParams,
    RuleSet,
    ServerConfig,
)
from confluent_kafka.schema_registry.serde import RuleContext, RuleExecutor
from confluent_kafka.serialization import MessageField, SerializationContext

from oncelog.schemas import AvroSerializer as OurAvroSerializer
from oncelog.schemas import SchemaRegistry
from oncelog.schemas.schema_errors import SchemaMismatch
from tests.integration.schema_registry.http_calls import Answer, avro, call, register

ORDER = '{"type":"record","name":"Order","fields":[{"name":"note","type":"string"}]}'


def latest(url: str, subject: str = "x") -> Any:
    return call(url, "GET", f"/subjects/{subject}/versions/latest").body


def rule(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "CEL", "mode": "WRITE", "kind": "CONDITION", "expr": "message.a > 0", **more}


def test_version_inherits_metadata_and_rules_that_the_request_leaves_out(url: str) -> None:
    metadata = {"properties": {"owner": "anna"}, "tags": {"R.a": ["PII"]}}
    rules = {"domainRules": [rule("positive")]}
    assert register(url, "x", avro("a"), metadata=metadata, ruleSet=rules).status == 200
    assert register(url, "x", avro("a", "b=1")).body["version"] == 2
    kept = {"domainRules": [{**rule("positive"), "disabled": False}]}
    assert (latest(url)["metadata"], latest(url)["ruleSet"]) == (metadata, kept)
    assert register(url, "x", avro("a", "b=1", "c=2"), metadata={}).body["version"] == 3
    assert "metadata" not in latest(url)
    assert latest(url)["ruleSet"] == kept


def test_a_schema_without_metadata_finds_the_version_that_has_metadata(url: str) -> None:
    """Auto-registration sends the schema alone: it must neither add a version nor fail."""
    first = register(url, "x", avro("a"), metadata={"properties": {"owner": "anna"}}).body
    assert register(url, "x", avro("a")).body == first
    found = call(url, "POST", "/subjects/x", {"schema": avro("a")})
    assert (found.status, found.body["id"], found.body["version"]) == (200, first["id"], 1)
    assert call(url, "GET", "/subjects/x/versions").body == [1]


def test_registering_rules_alone_adds_a_version_with_the_last_schema(url: str) -> None:
    register(url, "x", avro("a"))
    added = call(url, "POST", "/subjects/x/versions", {"ruleSet": {"domainRules": [rule("positive")]}})
    assert added.body["version"] == 2
    assert latest(url)["schema"] == call(url, "GET", "/subjects/x/versions/1").body["schema"]
    assert [one["name"] for one in latest(url)["ruleSet"]["domainRules"]] == ["positive"]
    assert call(url, "POST", "/subjects/new/versions", {"ruleSet": {"domainRules": [rule("a")]}}).code == 42201


INVALID = [
    {"domainRules": [{"type": "CEL"}]},
    {"domainRules": [{"name": "no type"}]},
    {"domainRules": [rule("1st")]},
    {"domainRules": [rule("same"), rule("same")]},
    {"domainRules": [rule("up", mode="UPGRADE")]},
    {"migrationRules": [rule("write", mode="WRITE")]},
    {"domainRules": [rule("two", onFailure="DLQ,NONE")]},
    {"domainRules": ["text"]},
    {"domainRules": [rule("params", params={"a": 1})]},
]


@pytest.mark.parametrize("rules", INVALID)
def test_invalid_rules_are_refused(url: str, rules: dict[str, Any]) -> None:
    for answer in (
        register(url, "x", avro("a"), ruleSet=rules),
        call(url, "PUT", "/config", {"defaultRuleSet": rules}),
    ):
        assert (answer.status, answer.code) == (422, 42210)
    assert call(url, "GET", "/subjects").body == []


def configure(url: str, **settings: Any) -> Answer:
    return call(url, "PUT", "/config/x", settings)


def test_a_subjects_defaults_apply_before_a_requests_rules_and_its_overrides_after(url: str) -> None:
    configure(
        url,
        defaultMetadata={"properties": {"owner": "nobody", "stage": "test"}},
        overrideMetadata={"properties": {"region": "eu"}},
        defaultRuleSet={"domainRules": [rule("first"), rule("second")]},
        overrideRuleSet={"domainRules": [rule("second", expr="true")]},
    )
    register(url, "x", avro("a"), metadata={"properties": {"owner": "anna", "region": "us"}})
    assert latest(url)["metadata"] == {"properties": {"owner": "anna", "region": "eu", "stage": "test"}}
    assert [(one["name"], one["expr"]) for one in latest(url)["ruleSet"]["domainRules"]] == [
        ("first", "message.a > 0"),
        ("second", "true"),
    ]
    assert register(url, "x", avro("a")).body["version"] == 1


def test_null_removes_a_setting_of_a_schema_subject(url: str) -> None:
    assert configure(url, compatibility="FULL", compatibilityGroup="major").status == 200
    assert call(url, "GET", "/config/x").body == {"compatibilityLevel": "FULL", "compatibilityGroup": "major"}
    assert configure(url, compatibilityGroup=None).status == 200
    assert call(url, "GET", "/config/x").body == {"compatibilityLevel": "FULL"}


def test_versions_are_compared_within_their_compatibility_group(url: str) -> None:
    configure(url, compatibilityGroup="major")
    register(url, "x", avro("a"), metadata={"properties": {"major": "1"}})
    assert register(url, "x", avro("b"), metadata={"properties": {"major": "1"}}).status == 409
    assert register(url, "x", avro("b"), metadata={"properties": {"major": "2"}}).status == 200
    assert register(url, "x", avro("a", "c=1"), metadata={"properties": {"major": "1"}}).status == 200


def test_a_requested_version_number_becomes_a_metadata_property(url: str) -> None:
    register(url, "x", avro("a"), version=1)
    assert latest(url)["metadata"] == {"properties": {"confluent:version": "1"}}
    assert register(url, "x", avro("a")).body["version"] == 1, "it is found without the number"
    register(url, "x", avro("a", "b=1"))
    assert latest(url)["metadata"] == {"properties": {"confluent:version": "2"}}


def test_settings_of_a_read_only_subject_cannot_be_changed(url: str) -> None:
    configure(url, compatibility="FULL")
    call(url, "PUT", "/mode/x", {"mode": "READONLY"})
    assert configure(url, compatibility="NONE").code == 42205
    assert call(url, "DELETE", "/config/x").code == 42205


class Upper(RuleExecutor):
    """Text in capitals, on writing."""

    def type(self) -> str:
        return "UPPER"

    def transform(self, ctx: RuleContext, message: Any) -> Any:
        return {name: value.upper() for name, value in message.items()}


def test_confluents_serializer_carries_out_the_rules_and_ours_refuses_to_write_without_them(url: str) -> None:
    with SchemaRegistryClient({"url": url}) as client:
        mode = (RuleKind.TRANSFORM, RuleMode.WRITE, "UPPER")
        upper = Rule("upper", None, *mode, [], RuleParams({}), None, None, None, disabled=False)
        client.register_schema("orders-value", Schema(ORDER, "AVRO", rule_set=RuleSet([], [upper])))
        known = RuleRegistry()
        known.register_executor(Upper())
        settings = {"auto.register.schemas": False, "use.latest.version": True}
        context = SerializationContext("orders", MessageField.VALUE)
        written = AvroSerializer(client, conf=settings, rule_registry=known)({"note": "apples"}, context)
        assert AvroDeserializer(client)(written, context) == {"note": "APPLES"}
        client.set_config("orders-value", ServerConfig(compatibility_group="major"))
        assert client.get_config("orders-value").compatibility_group == "major"
    with SchemaRegistry(url) as registry:
        ours = OurAvroSerializer(registry, topic="orders", use_latest=True)
        with pytest.raises(SchemaMismatch, match=r"version 1 of orders-value has rules for writers \(upper\)"):
            ours({"note": "apples"})


def test_a_registry_url_may_end_with_the_default_context(url: str) -> None:
    register(url, "x", avro("a"))
    for before in ("/contexts/.", "/contexts/:.:"):
        assert call(url, "GET", f"{before}/subjects").body == ["x"]
        assert call(url, "GET", f"{before}/schemas/ids/1").status == 200
    other = call(url, "GET", "/contexts/.mine/subjects")
    assert (other.status, other.code) == (422, 42208)
    assert "its URL ends before /contexts" in other.body["message"]
