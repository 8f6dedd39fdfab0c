"""Translates aiokafka's keyword arguments to the settings of ``client.core.config``.

Called by the constructors of producer, consumer and admin client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from oncelog.client.core import arguments
from oncelog.client.core.config import ClientConfig, without_protocol
from oncelog.client.core.security import SASL_MECHANISMS
from oncelog.errors import ConfigError

C = TypeVar("C", bound=ClientConfig)

_WITHOUT_EFFECT = frozenset({"api_version", "loop"})
"""aiokafka's arguments that have no effect here: versions are negotiated, and the loop is the running one."""
_NOT_OFFERED = frozenset({"sasl_kerberos_service_name", "sasl_kerberos_domain_name"})


def config_of(
    client: str, kind: type[C], misplaced: Sequence[object], config: object, settings: Mapping[str, object]
) -> C:
    """The configuration of a client: the one passed as ``config``, or one made from keyword arguments.

    :param misplaced: positional arguments of the constructor, which are refused; confluent-kafka takes its settings so.
    :raises TypeError: positional arguments were passed, or ``config`` is not a configuration of this client.
    """
    for value in (*misplaced, config):
        if isinstance(value, Mapping):
            name = kind.__name__
            raise TypeError(
                f"{client} takes its settings as keyword arguments, {client}(bootstrap_servers=...), not as a dict; "
                f"a dict of Kafka's properties is passed as {client}(config={name}.from_properties({{...}})), with "
                f"{name} from {kind.__module__}"
            )
    if misplaced:
        raise TypeError(
            f"{client} takes keyword arguments only, such as {client}(bootstrap_servers=...), not {misplaced[0]!r}"
        )
    if config is None:
        return kind.from_keywords(**split_settings(settings))
    if not isinstance(config, kind):
        raise TypeError(arguments.misfit(kind, config, "config must be {wanted}, not {given}"))
    return config


def split_settings(settings: Mapping[str, object]) -> dict[str, Any]:
    """The keyword arguments that are settings, without those that have no effect. ``bootstrap_servers`` may be one
    string, and may leave out the port 9092."""
    kept: dict[str, Any] = {name: value for name, value in settings.items() if name not in _WITHOUT_EFFECT}
    for name in sorted(_NOT_OFFERED & kept.keys()):
        if kept.pop(name) not in (None, "kafka"):
            raise ConfigError(f"{name} is not supported; sasl_mechanism may be {', '.join(SASL_MECHANISMS)}")
    servers = kept.get("bootstrap_servers")
    if servers is not None:
        kept["bootstrap_servers"] = [_with_port(part) for part in _addresses(servers) if part]
    return kept


def _addresses(servers: object) -> list[str]:
    parts = servers.split(",") if isinstance(servers, str) else servers
    if isinstance(parts, (bytes, bytearray, Mapping)) or not isinstance(parts, Iterable):
        raise TypeError(f'bootstrap_servers must be "host:port" or a list of such strings, not {servers!r}')
    found = list(parts)
    for part in found:
        if not isinstance(part, str):
            raise TypeError(f'bootstrap_servers: each must be "host:port", not {part!r}')
    return [part.strip() for part in found]


def _with_port(address: str) -> str:
    bare = without_protocol(address)
    return bare if ":" in bare else f"{bare}:9092"
