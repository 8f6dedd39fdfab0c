"""The settings of a console. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oncelog.client.core.config import AdminConfig
from oncelog.errors import ConfigError

PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""Mechanisms with which a visitor can log in."""
TIMEOUT = {"default.api.timeout.ms": "8000", "request.timeout.ms": "8000", "metadata.max.age.ms": "10000"}
"""Timeouts that are short, so that a page quickly says that a broker is unreachable; the page then retries by
itself."""
_CREDENTIALS = ("sasl.username", "sasl.password", "sasl.jaas.config")


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """The settings of a console.

    :param properties: those of the admin client, including ``bootstrap.servers``.
    :param allow_changes: whether pages may change the cluster.
    :param shared_login: whether visitors use the credentials in the properties instead of logging in.
    :param hosts: host names by which browsers may address the console, besides IP addresses and localhost.
    :param report_token: the token that a Spark session needs to report its progress; None forbids reports.
    :param schema_registry: arguments of a ``SchemaRegistry``, whose schemas decode keys and values for every visitor;
        empty for none.
    """

    properties: Mapping[str, str] = field(repr=False)
    allow_changes: bool = False
    shared_login: bool = False
    hosts: frozenset[str] = frozenset()
    report_token: str = field(default="", repr=False)
    schema_registry: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.asks_for_login or self.shared_login or not self._has_credentials:
            return
        raise ConfigError(
            "the console was given credentials that a visitor cannot enter in a browser (a client certificate, a token "
            "or the like): everyone who can reach its address would act with them; start it with --shared-login if "
            "that is what you want"
        )

    @property
    def bootstrap_servers(self) -> str:
        return self.properties.get("bootstrap.servers", "")

    @property
    def asks_for_login(self) -> bool:
        """Whether each visitor logs in to the broker with a user and a password."""
        protocol = self.properties.get("security.protocol", "PLAINTEXT")
        mechanism = self.properties.get("sasl.mechanism", "PLAIN")
        return protocol.startswith("SASL") and mechanism in PASSWORD_MECHANISMS and not self.shared_login

    @property
    def _has_credentials(self) -> bool:
        protocol = self.properties.get("security.protocol", "PLAINTEXT")
        own = ("ssl.keystore.location", "ssl.keystore.key", "ssl.keyfile", "ssl.certfile")
        return protocol.startswith("SASL") or any(name in self.properties for name in own)

    def admin_config(self, user: str | None = None, password: str | None = None) -> AdminConfig:
        """The admin client's settings: the given ones, or those of a visitor who has logged in."""
        properties = {**TIMEOUT, "client.id": "oncelog-console", **self.properties}
        if user is not None and password is not None:
            for name in _CREDENTIALS:
                properties.pop(name, None)
            properties |= {"sasl.username": user, "sasl.password": password}
        return AdminConfig.from_properties(properties)
