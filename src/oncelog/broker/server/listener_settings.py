"""A broker's listening addresses: Kafka's ``listeners``, and the settings of each listener.

Called once at start. ``listener.name.NAME.X`` is the property X for one listener, and takes precedence over X.
Listeners of the controller (``controller.listener.names``) are ignored, because there is no controller to connect to;
so the properties file of a combined node of Apache Kafka also works here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from oncelog.broker.core.requests.session import SecurityProtocol
from oncelog.errors import ConfigError

_LISTENER = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)://(?P<host>\[[^\]]*\]|[^:]*):(?P<port>-?\d+)")
DEFAULT_HOST = "127.0.0.1"


def host_text(address: str) -> str:
    """An address as Java writes it, for ACLs and hosts of group members: IPv6 with all parts, without leading zeros."""
    if ":" not in address:
        return address
    import ipaddress

    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return ":".join(f"{int(part, 16):x}" for part in parsed.exploded.split(":"))


class Address(NamedTuple):
    """The host and port of a listener."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse an address ``HOST:PORT``; port 0 means any free port."""
        host, separator, port = text.rpartition(":")
        if not separator or not port.isdecimal() or int(port) > 65535:
            raise ConfigError(f"{text!r} is not an address: write HOST:PORT with a port from 0 to 65535")
        return cls(host.strip("[]") or DEFAULT_HOST, int(port))

    @property
    def is_every(self) -> bool:
        """Whether the address means all addresses of this machine: a listener can use it, but clients cannot connect to
        it."""
        if self.host in ("localhost", "127.0.0.1"):
            return False
        import ipaddress

        try:
            return ipaddress.ip_address(self.host).is_unspecified
        except ValueError:
            return False

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        if self.host in ("localhost", "127.0.0.1"):
            return True
        import ipaddress

        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


class Listener(NamedTuple):
    """One address to listen on. ``advertised`` is the address for clients; None means the listening address, and port 0
    in it the listening port."""

    name: str
    protocol: SecurityProtocol
    address: Address
    advertised: Address | None = None

    @property
    def for_clients(self) -> Address:
        """The address at which clients connect to the listener."""
        if self.advertised is None:
            return self.address
        return self.advertised if self.advertised.port else self.advertised._replace(port=self.address.port)


def parse_listeners(listen: str | None, settings: Mapping[str, str], default: str) -> tuple[Listener, ...]:
    """The listeners in ``listen`` (``HOST:PORT``, or as in ``listeners``), or else in the property ``listeners``, or
    else in ``default``.

    :raises ConfigError: an address is invalid, a name has no protocol, or a name or port is duplicate.
    """
    text = listen if listen is not None else settings.get("listeners") or default
    protocols = _protocols(settings.get("listener.security.protocol.map", ""))
    controllers = {name.strip() for name in settings.get("controller.listener.names", "").split(",") if name.strip()}
    advertised = _advertised(settings.get("advertised.listeners", ""))
    found = []
    for name, address in _addresses(text):
        if name in controllers:
            continue
        protocol = protocols.get(name)
        if protocol is None:
            raise ConfigError(
                f"No security protocol defined for listener {name}: add {name}:PLAINTEXT, :SSL, :SASL_PLAINTEXT or "
                f":SASL_SSL to listener.security.protocol.map"
            )
        if address.is_every and name not in advertised:
            raise ConfigError(
                f"listener {name} is on {address}, which clients cannot connect to: name the host by which they reach "
                f"it, advertised.listeners={name}://HOST:{address.port} (port 0 there is the port that it listens on)"
            )
        found.append(Listener(name, protocol, address, advertised.get(name)))
    if not found:
        raise ConfigError(
            f"listeners={text} leaves nothing for clients to connect to: name a listener that is not a controller's"
        )
    _check_apart(found)
    unknown = sorted(advertised.keys() - {listener.name for listener in found} - controllers)
    if unknown:
        raise ConfigError(
            f"advertised.listeners names {unknown[0]}, which is not in listeners: "
            f"they are {', '.join(listener.name for listener in found)}"
        )
    return tuple(found)


def _protocols(text: str) -> dict[str, SecurityProtocol]:
    known = {protocol.value: protocol for protocol in SecurityProtocol}
    if not text.strip():
        return known
    protocols = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, protocol = pair.partition(":")
        if protocol.strip().upper() not in known:
            raise ConfigError(
                f"listener.security.protocol.map has {pair!r}; write NAME:PROTOCOL with one of {', '.join(known)}"
            )
        protocols[name.strip().upper()] = known[protocol.strip().upper()]
    return known | protocols


def _addresses(text: str) -> list[tuple[str, Address]]:
    addresses = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        named = _LISTENER.fullmatch(part)
        if named is None:
            addresses.append((SecurityProtocol.PLAINTEXT.value, Address.parse(part)))
            continue
        address = Address.parse(f"{named['host'] or DEFAULT_HOST}:{named['port']}")
        addresses.append((named["name"].upper(), address))
    return addresses


def _advertised(text: str) -> dict[str, Address]:
    found = {}
    for name, address in _addresses(text):
        if address.is_every:
            raise ConfigError(
                f"advertised.listeners cannot use {address.host}, which no client can connect to: name the host"
            )
        found[name] = address
    return found


def _check_apart(listeners: list[Listener]) -> None:
    names = [listener.name for listener in listeners]
    if len(set(names)) != len(names):
        raise ConfigError(f"Each listener must have a different name, listeners: {', '.join(names)}")
    places = [str(listener.address) for listener in listeners if listener.address.port]
    if len(set(places)) != len(places):
        raise ConfigError(f"Each listener must have a different port, listeners: {', '.join(places)}")


def for_listener(settings: Mapping[str, str], name: str) -> dict[str, str]:
    """The properties that apply to one listener, under their names without the listener's prefix."""
    prefix = f"listener.name.{name.lower()}."
    plain = {key: value for key, value in settings.items() if not key.startswith("listener.name.")}
    own = {key.removeprefix(prefix): value for key, value in settings.items() if key.lower().startswith(prefix)}
    return plain | own
