"""Listeners of a promoted node, from our broker's configuration and from what was changed while it ran."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from oncelog.apps.promote.listeners import NodeListeners, node_listeners
from oncelog.broker.server.listener_settings import Address
from oncelog.errors import ConfigError

CONTROLLER, INTERNAL = Address("10.0.0.5", 9093), Address("10.0.0.5", 9094)
OAUTH = {
    "listeners": "SASL_PLAINTEXT://10.0.0.5:9092",
    "sasl.enabled.mechanisms": "OAUTHBEARER,SCRAM-SHA-256",
    "sasl.oauthbearer.jwks.endpoint.url": "https://keys.example/jwks",
}


def made(
    settings: Mapping[str, str], live: Mapping[str, str] | None = None, listen: str | None = None
) -> NodeListeners:
    return node_listeners(listen, CONTROLLER, INTERNAL, settings, live or {}, lambda size: b"\x07" * size)


def test_plain_listeners_need_no_login_of_the_node() -> None:
    node = made({})
    assert node.user == ""
    assert node.properties == {
        "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://10.0.0.5:9093",
        "advertised.listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://10.0.0.5:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
    }


def test_dynamic_settings_apply_and_a_given_address_overrides_them() -> None:
    live = {"listeners": "PLAINTEXT://10.0.0.5:19092"}
    assert made({}, live).properties["listeners"].startswith("PLAINTEXT://10.0.0.5:19092,")
    assert made({}, live, "10.0.0.5:29092").properties["listeners"].startswith("PLAINTEXT://10.0.0.5:29092,")


def test_with_an_authorizer_the_node_becomes_a_super_user() -> None:
    node = made({"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"})
    assert node.properties["super.users"] == "User:node-07070707"
    more = made({"authorizer.class.name": "A", "super.users": "User:ada; "})
    assert more.properties["super.users"] == "User:ada;User:node-07070707"
    assert node.properties["inter.broker.listener.name"] == "INTERNAL"
    assert "INTERNAL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT" in node.properties["listener.security.protocol.map"]


def test_each_mechanism_gets_the_login_module_that_kafka_requires() -> None:
    node = made(OAUTH)
    prefix = "listener.name.sasl_plaintext."
    assert node.properties[f"{prefix}scram-sha-256.sasl.jaas.config"].endswith("scram.ScramLoginModule required;")
    assert node.properties[f"{prefix}oauthbearer.sasl.jaas.config"].endswith("OAuthBearerLoginModule required;")
    assert node.notes == (
        "start Kafka with KAFKA_OPTS=-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://keys.example/jwks",
    )
    own = f"{prefix}scram-sha-256.sasl.jaas.config"
    assert made({**OAUTH, own: "mine required;"}).properties[own] == "mine required;"


def test_logins_of_another_node_are_not_promoted() -> None:
    given = {"listener.name.controller.sasl.enabled.mechanisms": "GSSAPI", "security.inter.broker.protocol": "SSL"}
    node = made(given)
    assert node.replaced == tuple(sorted(given))
    assert not given.keys() & node.properties.keys()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"listeners": "PLAINTEXT://0.0.0.0:9092"}, "name the host by which they reach it, advertised.listeners="),
        ({"listeners": "PLAINTEXT://127.0.0.1:0"}, "has no port that clients could know"),
        ({"listeners": "SASL_PLAINTEXT://127.0.0.1:9092"}, "sasl.enabled.mechanisms names none"),
    ],
)
def test_data_that_kafka_could_not_serve_is_refused(settings: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        made(settings)


def test_a_wildcard_with_an_advertised_host_is_accepted() -> None:
    node = made({"listeners": "PLAINTEXT://0.0.0.0:9092", "advertised.listeners": "PLAINTEXT://broker.example:9092"})
    assert node.properties["listeners"].startswith("PLAINTEXT://0.0.0.0:9092,")
    assert node.properties["advertised.listeners"].startswith("PLAINTEXT://broker.example:9092,")
