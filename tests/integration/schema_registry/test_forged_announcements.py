"""Somebody who may write to the topic announces an address of his own: nothing is sent there, no password above all."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request

from oncelog import Producer
from oncelog.broker.server.listener_settings import Address
from oncelog.errors import ConfigError
from oncelog.schema_registry.forwarding import Forwarder
from oncelog.schema_registry.rest_errors import Refused
from oncelog.schema_registry.schema_records import announcement, encode_key, encode_value
from oncelog.schema_registry.serving import check_listening
from oncelog.schema_registry.settings import RegistrySettings
from tests.conftest import RunningBroker
from tests.integration.schema_registry.conftest import Start
from tests.integration.schema_registry.http_calls import avro, call, register
from tests.integration.schema_registry.stand_in import StandIn, running
from tests.integration.security.certificates import Authority

SCHEMA = {"schema": avro("a", "b=1")}
LOGIN = {"Authorization": "Basic " + base64.b64encode(b"alice:alice-secret").decode()}


@pytest.fixture
def thief() -> Iterator[StandIn]:
    """Answers as a registry does, and notes what it is sent."""
    with running() as found:
        yield found


@pytest.mark.parametrize("transactional_id", [None, "a-thief"])
def test_an_address_that_no_registry_announced_is_not_contacted(
    start: Start, topic: str, broker: RunningBroker, thief: StandIn, transactional_id: str | None
) -> None:
    first, second = start(topic), start(topic)
    assert register(first.url, "x", avro("a")).body["id"] == 1
    key, value = announcement(thief.url, 40)
    producer = Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=transactional_id)
    with producer:
        if transactional_id is not None:
            producer.begin_transaction()
        producer.send(topic, encode_value(value), key=encode_key(key))
        if transactional_id is not None:
            producer.commit_transaction()
        producer.flush()
    third = start(topic)
    for number, registry in enumerate((third, second, first), 41):
        answer = call(
            registry.url, "POST", "/subjects/x/versions", {"schema": avro("a", f"b{number}=1")}, headers=LOGIN
        )
        assert answer.body["id"] == number
    assert thief.requests == []


def test_credentials_received_over_tls_are_never_sent_without_it(tmp_path: Path, thief: StandIn) -> None:
    identity = Authority(tmp_path).issue("registry")
    forwarder = Forwarder(str(identity.certificate))
    headers = [(b"authorization", LOGIN["Authorization"].encode())]
    request = Request({"type": "http", "method": "POST", "raw_path": b"/", "query_string": b"", "headers": headers})
    with pytest.raises(Refused, match=f"{thief.url}, has no TLS"):
        asyncio.run(forwarder.forward(thief.url, request, json.dumps(SCHEMA).encode()))
    assert thief.requests == []


@pytest.mark.parametrize("url", ["", "registry:8081", "ftp://x", "http://x:99999", "http://u:p@x", "http://x/path"])
def test_an_unusable_announced_address_is_refused_at_the_start(url: str) -> None:
    settings = RegistrySettings({"bootstrap.servers": "127.0.0.1:9092"}, url)
    with pytest.raises(ConfigError, match="URL of a schema registry is http://HOST:PORT"):
        check_listening(settings, Address("127.0.0.1", 0))
