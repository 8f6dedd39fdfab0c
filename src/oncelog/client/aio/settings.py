"""Translates aiokafka's keyword arguments to the settings of ``client.core.config``.

Called by the constructors of producer, consumer and admin client.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oncelog.client.core.config import without_protocol
from oncelog.client.core.security import SASL_MECHANISMS
from oncelog.errors import ConfigError

_WITHOUT_EFFECT = frozenset({"api_version", "loop"})
"""aiokafka's arguments without meaning here: versions are negotiated, and the loop is the running one."""
_NOT_OFFERED = frozenset({"sasl_kerberos_service_name", "sasl_kerberos_domain_name"})


def split_settings(settings: Mapping[str, object]) -> dict[str, Any]:
    """The settings proper; ``bootstrap_servers`` may be one string and may leave out the port 9092."""
    kept: dict[str, Any] = {name: value for name, value in settings.items() if name not in _WITHOUT_EFFECT}
    for name in sorted(_NOT_OFFERED & kept.keys()):
        if kept.pop(name) not in (None, "kafka"):
            raise ConfigError(f"{name} is not supported; sasl_mechanism may be {', '.join(SASL_MECHANISMS)}")
    servers = kept.get("bootstrap_servers")
    if servers is not None:
        parts = servers.split(",") if isinstance(servers, str) else list(servers)
        kept["bootstrap_servers"] = [_with_port(part.strip()) for part in parts if part.strip()]
    return kept


def _with_port(address: str) -> str:
    bare = without_protocol(address)
    return bare if ":" in bare else f"{bare}:9092"
