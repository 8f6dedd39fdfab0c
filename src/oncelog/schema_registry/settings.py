"""The settings of a registry. Pure. Called by the command line, the embedded broker and the serving modules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from oncelog.client.core.config import AdminConfig

TOPIC = "_schemas"
MAX_BODY_BYTES = 4 * 1024 * 1024
"""The default limit of a request's body: larger than any schema that fits into a record of a broker with default
settings.
"""
_CREDENTIALS = ("sasl.username", "sasl.password", "sasl.jaas.config")


class Login(Enum):
    """Who may use the registry."""

    NONE = "none"
    """Everyone who can reach the registry's address, with the rights of the registry's own connection to the
    cluster.
    """
    KAFKA = "kafka"
    """Users of the cluster, with the rights that its ACLs give them on the topic."""


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """The settings of a registry.

    :param properties: those of the client, including ``bootstrap.servers``.
    :param url: the address at which other registries of the cluster reach this one; None for the listening address.
        :param topic: the topic that stores all data. Registries with the same topic act as one.
    :param certificate: a PEM file for TLS, ``key`` its private key.
    """

    properties: Mapping[str, str] = field(repr=False)
    url: str | None = None
    topic: str = TOPIC
    login: Login = Login.NONE
    certificate: str | None = None
    key: str | None = None
    max_body_bytes: int = MAX_BODY_BYTES

    @property
    def transactional_id(self) -> str:
        """The transactional id, one for each topic: a registry that initializes it fences the previous writer."""
        return f"oncelog-schema-registry-{self.topic}"

    def admin_config(self) -> AdminConfig:
        """The client settings of the registry's own connection to the cluster."""
        return AdminConfig.from_properties({"client.id": "oncelog-schema-registry", **self.properties})

    def user_config(self, user: str, password: str) -> AdminConfig:
        """The settings of a connection with a user's credentials."""
        own = {name: value for name, value in self.properties.items() if name not in _CREDENTIALS}
        mechanism = own.get("sasl.mechanism", "PLAIN")
        protocol = "SASL_SSL" if own.get("security.protocol", "").endswith("SSL") else "SASL_PLAINTEXT"
        named = {"sasl.mechanism": mechanism, "security.protocol": protocol}
        return AdminConfig.from_properties({**own, **named, "sasl.username": user, "sasl.password": password})
