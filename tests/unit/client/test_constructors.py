"""Mistakes in a client's constructor are reported there, whichever client a program comes from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import oncelog
from oncelog.client import aio
from oncelog.client.core.config import ConsumerConfig
from oncelog.client.errors import KafkaTimeoutError

CLIENTS = [oncelog.Producer, oncelog.Consumer, oncelog.Admin, aio.Producer, aio.Consumer, aio.Admin]
PROPERTIES = {"bootstrap.servers": "localhost:9092"}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("how", ["first", "config"])
def test_a_confluent_kafka_configuration_dictionary_is_refused_with_the_form_to_use(
    client: Callable[..., Any], how: str
) -> None:
    name = client.__name__
    says = rf"{name} takes its settings as keyword .*{name}\(config={name}Config.from_properties\(\{{...\}}\)\), with"
    with pytest.raises(TypeError, match=says):
        client(PROPERTIES) if how == "first" else client(config=PROPERTIES)


@pytest.mark.parametrize("client", [item for item in CLIENTS if item.__name__ != "Consumer"])
def test_an_address_given_as_a_positional_argument_is_refused(client: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"takes keyword arguments only, such as .*bootstrap_servers=.*not 'a:1'"):
        client("a:1")


@pytest.mark.parametrize("client", [oncelog.Producer, aio.Producer])
def test_settings_of_another_client_are_refused(client: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="config must be ProducerConfig, not ConsumerConfig"):
        client(config=ConsumerConfig())


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("servers", [9092, b"a:1", {"a": 1}, [9092], [None]])
def test_addresses_of_a_wrong_type_are_refused(client: Callable[..., Any], servers: object) -> None:
    with pytest.raises(TypeError, match=r'bootstrap_servers.* must be "host:port"'):
        client(bootstrap_servers=servers)


@pytest.mark.parametrize(
    ("client", "name"),
    [
        *((client, name) for client in (oncelog.Producer, aio.Producer) for name in ("key_serializer", "partitioner")),
        *((client, "value_serializer") for client in (oncelog.Producer, aio.Producer)),
        *((client, f"{part}_deserializer") for client in (oncelog.Consumer, aio.Consumer) for part in ("key", "value")),
    ],
)
def test_arguments_that_are_not_functions_are_refused(client: Callable[..., Any], name: str) -> None:
    """The value was accepted, and the first record failed on it."""
    with pytest.raises(TypeError, match=f"{name} must be a function, not 'utf8'"):
        client(**{name: "utf8"})


def test_a_start_that_timed_out_advises_to_create_a_new_producer() -> None:
    """The producer is closed by then."""

    async def run() -> None:
        with oncelog.Broker() as broker:
            broker.faults.delay(60_000, "InitProducerId")
            producer = aio.Producer(bootstrap_servers=broker.bootstrap_servers, max_block_ms=500)
            with pytest.raises(KafkaTimeoutError, match=r"start\(\) was not answered .*; create a new producer"):
                await producer.start()

    asyncio.run(run())
