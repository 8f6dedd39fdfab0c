"""A registry of its own for each test, in front of our broker, and in ``make soak`` in front of Apache Kafka, too.

What a registry answers does not depend on the broker that keeps its topic. Tests of that topic use both brokers each
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from oncelog.broker.server.listener_settings import Address
from oncelog.schema_registry.serving import RegistryThread
from oncelog.schema_registry.settings import RegistrySettings
from tests.conftest import RunningBroker, chosen_broker
from tests.support.both_brokers import OURS_AND_KAFKA_IN_SOAK

Start = Callable[[str], RegistryThread]


@pytest.fixture(params=OURS_AND_KAFKA_IN_SOAK)
def broker(request: pytest.FixtureRequest) -> RunningBroker:
    return chosen_broker(request)


@pytest.fixture
def topic(unique_name: str) -> str:
    """The topic of this test's registries."""
    return f"_schemas-{unique_name}"


@pytest.fixture
def start(broker: RunningBroker) -> Iterator[Start]:
    """Starts registries, which the end of the test stops."""
    with ExitStack() as running:

        def start(topic: str) -> RegistryThread:
            settings = RegistrySettings({"bootstrap.servers": broker.bootstrap_servers}, topic=topic)
            registry = RegistryThread(settings, Address("127.0.0.1", 0)).start()
            running.callback(registry.stop)
            return registry

        yield start


@pytest.fixture
def url(start: Start, topic: str) -> str:
    """A registry's address."""
    return start(topic).url
