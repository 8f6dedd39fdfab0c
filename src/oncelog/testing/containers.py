"""A broker with the interface of testcontainers' ``KafkaContainer`` and ``RedpandaContainer`` (4.15), for tests that
change only their import.

A method that needs a container raises an error, which says what to use instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn, Self

from oncelog.broker.server.embedded import ANY_PORT, settings_text
from oncelog.broker.server.listener_settings import parse_listeners
from oncelog.embedded import Broker
from oncelog.errors import ConfigError, OncelogError
from oncelog.settings.config import BrokerConfig
from oncelog.settings.fields import nearest, properties
from oncelog.settings.kafka_properties import broker_properties

HOST = "127.0.0.1"
ENVIRONMENT = "KAFKA_"
NAME_PARTS = {"_": ".", "__": "_", "___": "-"}
"""How the container images of Apache Kafka and Confluent write the characters of a setting's name in an environment
variable."""
PLACES = frozenset({"advertised.listeners", "listener.security.protocol.map", "listeners", "log.dirs"})
IN_NETWORKS = "containers need a listener of their own, see 'Clients in containers' in docs/how-to/testing.md"
INSTEAD = {
    "exec": "create topics with a client, or with the command oncelog topics create",
    "get_logs": "its lines go to the logger oncelog of Python's logging",
    "with_network": IN_NETWORKS,
    "with_network_aliases": IN_NETWORKS,
    "with_volume_mapping": "oncelog.Broker(FOLDER) keeps its data in a folder",
}


class KafkaBroker(Broker):
    """A broker with a test container's interface: ``with KafkaBroker() as kafka: kafka.get_bootstrap_server()``.

    ``from oncelog.testing import KafkaBroker as KafkaContainer`` is then all that changes in a test.

    :param image: ignored, as are ``wait_strategy_check_string`` and :meth:`with_kraft`: there is no container.
    :param port: the port to pass to :meth:`get_exposed_port`; the broker itself listens on a free port.
    :param listener_name: with ``security_protocol``, as for the container; :meth:`with_env` takes their settings.
    :param env: variables as for :meth:`with_env`.
    :param settings: properties of Apache Kafka's broker by their names.
    :param schema_registry: also run a schema registry, for :meth:`get_schema_registry_address`.
    """

    def __init__(
        self,
        image: str = "",
        port: int = 9093,
        wait_strategy_check_string: str = "",
        listener_name: str = "PLAINTEXT",
        security_protocol: str = "PLAINTEXT",
        *,
        env: Mapping[str, object] | None = None,
        settings: Mapping[str, object] | None = None,
        schema_registry: bool = False,
        **container: object,
    ) -> None:
        if not isinstance(image, str):
            raise ConfigError(f"image={image!r} is not a string; properties of the broker are settings={{NAME: VALUE}}")
        if container:
            raise ConfigError(
                f"KafkaBroker takes no {', '.join(sorted(container))}: there is no container, leave them out"
            )
        places = {"listener.security.protocol.map": f"{listener_name}:{security_protocol}"}
        listen = f"{listener_name}://{ANY_PORT}"
        super().__init__(listen=listen, settings={**places, **(settings or {})}, schema_registry=schema_registry)
        self.port = port
        self.with_envs(**(env or {}))

    def with_kraft(self) -> Self:
        """Do nothing, because the broker has no other mode."""
        return self

    def with_env(self, key: str, value: object) -> Self:
        """Set a property of the broker by its name in the images of Apache Kafka and Confluent:
        ``KAFKA_AUTO_CREATE_TOPICS_ENABLE``."""
        if self.is_running:
            raise OncelogError(f"{key}: the broker is running; call with_env before start")
        name = re.sub("_{1,3}", lambda found: NAME_PARTS[found[0]], key.removeprefix(ENVIRONMENT).lower())
        if not key.startswith(ENVIRONMENT) or name in PLACES:
            raise ConfigError(f"{key} is for a container, and KafkaBroker runs without one: leave it out")
        known = [*properties(BrokerConfig), *broker_properties()]
        if name not in known and not name.startswith("listener.name."):
            raise ConfigError(f"{key}: the broker has no setting {name}{nearest(name, known) or ': leave it out'}")
        self._settings[name] = settings_text(value)
        return self

    def with_envs(self, **variables: object) -> Self:
        """Set several variables."""
        for key, value in variables.items():
            self.with_env(key, value)
        return self

    def with_exposed_ports(self, *ports: int | str) -> Self:
        """Do nothing, because the broker's ports need not be exposed."""
        return self

    def with_bind_ports(self, container: int | str, host: int | str | None = None) -> Self:
        """Let the broker listen on the port ``host`` of this machine; None takes a free port."""
        name = self._listeners[0].name
        self._listeners = parse_listeners(f"{name}://{HOST}:{host or 0}", self._settings, ANY_PORT)
        return self

    def start(self, timeout: float = 0) -> Self:
        """Start and return once clients can connect; ``timeout`` is ignored."""
        return super().start()

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:
        """Stop the broker; its records, which are in memory, are lost."""
        super().stop()

    def get_bootstrap_server(self) -> str:
        """``HOST:PORT``."""
        return self.bootstrap_servers

    def get_container_host_ip(self) -> str:
        """The host in the address that :meth:`get_bootstrap_server` returns."""
        return HOST

    def get_exposed_port(self, port: int | str) -> int:
        """The port in the address that :meth:`get_bootstrap_server` returns."""
        return self.address.port

    def get_schema_registry_address(self) -> str:
        """The URL of the schema registry, as the method of ``RedpandaContainer`` returns it."""
        return self.schema_registry_url

    def __getattr__(self, name: str) -> NoReturn:
        advice = INSTEAD.get(name, "leave it out" if name.startswith("with_") else "see oncelog.Broker for what it has")
        raise AttributeError(f"KafkaBroker has no {name}, because there is no container: {advice}")
