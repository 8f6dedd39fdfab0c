"""The schema registry that the fixture passes to a test; it runs on the embedded broker or on the existing cluster.

Called by the pytest plugin.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from oncelog.broker.server.listener_settings import Address
from oncelog.schema_registry.formats.parsing import need_registry_packages
from oncelog.schema_registry.serving import RegistryThread
from oncelog.schema_registry.settings import TOPIC, RegistrySettings

if TYPE_CHECKING:
    from oncelog.testing.brokers import TestBroker


@contextmanager
def registry_of(broker: TestBroker) -> Iterator[str]:
    """A context in which a schema registry runs; yields its URL. The registry's topic is deleted with the test's
    topics."""
    need_registry_packages()
    topic = broker.create_topic(TOPIC, configs={"cleanup.policy": "compact"})
    settings = RegistrySettings({"bootstrap.servers": broker.direct_bootstrap_servers}, topic=topic)
    registry = RegistryThread(settings, Address("127.0.0.1", 0)).start()
    try:
        yield registry.url
    finally:
        registry.stop()
