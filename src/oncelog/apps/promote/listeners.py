"""Listeners, logins and permissions of a promoted node: what Apache Kafka needs in addition to oncelog's own settings.

Called by ``plan``. A Kafka node connects to itself, and later to other nodes: its controller and its broker each log
in. If clients must log in or encrypt, or permissions are checked, the node gets one more listener, INTERNAL, and a user
for INTERNAL and CONTROLLER, whose password is generated here. INTERNAL uses TLS if a client listener has a key; the
node then trusts its own certificate, also after the certificate is renewed. Kafka also needs a login module for each
mechanism, which oncelog's broker does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from oncelog.broker.core.login.sasl_mechanisms import OAUTHBEARER, SCRAM_MECHANISMS
from oncelog.broker.core.requests.session import SecurityProtocol
from oncelog.broker.server.listener_settings import Address, Listener, for_listener, parse_listeners
from oncelog.broker.server.security.tls import TlsSettings, new_context
from oncelog.errors import ConfigError

DEFAULT_LISTEN: Final = "127.0.0.1:9092"
INTERNAL, CONTROLLER = "INTERNAL", "CONTROLLER"
LISTENERS, PROTOCOLS = "listeners", "listener.security.protocol.map"
AUTHORIZER, SUPER_USERS = "authorizer.class.name", "super.users"
_ENCRYPTED: Final = (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)
_LOGGING_IN: Final = (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)
_MODULE: Final = "org.apache.kafka.common.security"
_STORES: Final = (
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.key.password",
)
_CARRIED: Final = (LISTENERS, PROTOCOLS, "advertised.listeners")
"""Settings that are parsed and written again, rather than copied."""
_REPLACED: Final = re.compile(
    r"controller\.listener\.names|inter\.broker\.listener\.name|security\.inter\.broker\.protocol"
    r"|sasl\.mechanism\.(inter\.broker|controller)\.protocol|listener\.name\.(internal|controller)\..*",
    re.IGNORECASE,
)
"""The names of settings for connections inside the cluster; they are always generated here and replace what the user
has given."""
_PKCS8: Final = re.compile(r"-----BEGIN (ENCRYPTED )?PRIVATE KEY-----")


@dataclass(frozen=True, slots=True)
class NodeListeners:
    """The part of ``server.properties`` about listeners, logins and permissions."""

    clients: tuple[Listener, ...]
    properties: Mapping[str, str]
    user: str
    """The node's own user at INTERNAL and CONTROLLER; empty if everything is plain text."""
    replaced: tuple[str, ...]
    """Settings given by the user that the generated ones replace."""
    notes: tuple[str, ...]
    """Notes about steps that the person who starts Kafka still has to take."""


def is_secured(settings: Mapping[str, str], listeners: Sequence[Listener]) -> bool:
    """Whether any listener requires a login, or permissions are checked."""
    plain = all(listener.protocol is SecurityProtocol.PLAINTEXT for listener in listeners)
    return bool(settings.get(AUTHORIZER)) or not plain


def node_listeners(
    listen: str | None,
    controller: Address,
    internal: Address,
    settings: Mapping[str, str],
    live: Mapping[str, str],
    token: Callable[[int], bytes],
) -> NodeListeners:
    """The listeners of oncelog's broker as Kafka's settings, and the listeners that a Kafka node needs in addition.

    :param listen: HOST:PORT, or as in ``listeners``; None takes the setting.
    :param settings: what the broker was started with.
    :param live: changes made at run time; they take precedence.
    :raises ConfigError: Kafka would not start with these settings, or clients could not reach it.
    """
    given = {**settings, **live}
    clients = parse_listeners(listen, given, DEFAULT_LISTEN)
    _check(clients, controller, internal, given, listen)
    secured = is_secured(given, clients)
    here = {CONTROLLER: (controller, SecurityProtocol.PLAINTEXT)}
    made: dict[str, str] = {}
    user, notes = "", []
    if secured:
        keyed = next((listener for listener in clients if listener.protocol in _ENCRYPTED), None)
        protocol = SecurityProtocol.SASL_PLAINTEXT if keyed is None else SecurityProtocol.SASL_SSL
        here = {INTERNAL: (internal, protocol), CONTROLLER: (controller, protocol)}
        user = f"node-{token(4).hex()}"
        stores = {} if keyed is None else _stores(for_listener(given, keyed.name))
        made |= _internal_login(user, token(24).hex(), stores)
        if given.get(AUTHORIZER):
            others = given.get(SUPER_USERS, "").rstrip("; ")
            made[SUPER_USERS] = f"{others};User:{user}" if others else f"User:{user}"
    for listener in clients:
        if listener.protocol in _LOGGING_IN:
            more, more_notes = _logins(listener.name, for_listener(given, listener.name))
            made |= {name: value for name, value in more.items() if name not in given}
            notes += more_notes
    made |= {
        "inter.broker.listener.name": INTERNAL if secured else clients[0].name,
        "controller.listener.names": CONTROLLER,
        LISTENERS: ",".join(
            [
                *(f"{listener.name}://{listener.address}" for listener in clients),
                *(f"{name}://{address}" for name, (address, _) in here.items()),
            ]
        ),
        "advertised.listeners": ",".join(
            [
                *(f"{listener.name}://{listener.advertised or listener.address}" for listener in clients),
                *(f"{name}://{address}" for name, (address, _) in here.items()),
            ]
        ),
        PROTOCOLS: ",".join(
            [
                *(f"{listener.name}:{listener.protocol.value}" for listener in clients),
                *(f"{name}:{protocol.value}" for name, (_, protocol) in here.items()),
            ]
        ),
    }
    replaced = tuple(sorted(filter(_REPLACED.fullmatch, settings)))
    kept = {name: value for name, value in settings.items() if name not in (*replaced, *_CARRIED)}
    return NodeListeners(clients, {**_absolute(kept), **made}, user, replaced, tuple(notes))


def _check(
    clients: Sequence[Listener], controller: Address, internal: Address, given: Mapping[str, str], listen: str | None
) -> None:
    places = {listener.name: listener.advertised or listener.address for listener in clients}
    for name in (INTERNAL, CONTROLLER):
        if name in places:
            raise ConfigError(f"the promoted node has a listener {name} of its own: give that of clients another name")
    taken = [*places.items(), (CONTROLLER, controller), (INTERNAL, internal)]
    for name, address in [*taken, *((listener.name, listener.address) for listener in clients)]:
        if not address.port:
            raise ConfigError(f"listener {name} has no port that clients could know: give it one with --listen")
    for name, address in taken:  # parse_listeners has already checked the listeners of clients
        if address.is_every:
            raise ConfigError(
                f"no client can reach listener {name} at {address.host}: name the host with --controller or --internal"
            )
    if listen is not None and given.get(LISTENERS):
        before = parse_listeners(None, given, DEFAULT_LISTEN)
        lost = [listener for listener in before if listener.protocol is not SecurityProtocol.PLAINTEXT]
        if lost and all(listener.protocol is SecurityProtocol.PLAINTEXT for listener in clients):
            raise ConfigError(
                f"--listen {listen} is plain text, and clients had {lost[0].name} ({lost[0].protocol.value}): leave "
                f"--listen out, write it as {lost[0].name}://HOST:PORT, or drop the security settings with --plain"
            )
    for listener in clients:
        if listener.protocol in _ENCRYPTED:
            _check_key(TlsSettings(listener.name, for_listener(given, listener.name)))


def _check_key(tls: TlsSettings) -> None:
    """Check that Java can read a listener's key: OpenSSL also reads other forms than PKCS#8, which are refused here."""
    new_context(tls)
    location = tls.get("ssl.keystore.location")
    text = Path(location).read_text(encoding="utf-8", errors="replace") if location else tls.get("ssl.keystore.key")
    found = _PKCS8.search(text)
    if found is None:
        raise ConfigError(
            f"the key of listener {tls.listener} is in a form that Apache Kafka does not read: convert it with "
            f"openssl pkcs8 -topk8 -in KEY, and put the certificates behind it"
        )
    if bool(found[1]) != bool(tls.get("ssl.key.password")):
        what = "has no ssl.key.password, and is encrypted" if found[1] else "is not encrypted, and has ssl.key.password"
        raise ConfigError(f"the key of listener {tls.listener} {what}: Apache Kafka requires both or neither")


def _stores(settings: Mapping[str, str]) -> dict[str, str]:
    """The TLS settings of the node's own listeners: its key and certificate, and its own certificate as the only
    trusted one."""
    stores = {name: settings[name] for name in _STORES if settings.get(name)}
    location = stores.get("ssl.keystore.location")
    trusted = (
        {"ssl.truststore.location": location}
        if location
        else {"ssl.truststore.certificates": stores["ssl.keystore.certificate.chain"]}
    )
    return _absolute({**stores, "ssl.truststore.type": "PEM", **trusted})


def _internal_login(user: str, password: str, stores: Mapping[str, str]) -> dict[str, str]:
    module = f"{_MODULE}.plain.PlainLoginModule"
    made = {"sasl.mechanism.inter.broker.protocol": "PLAIN", "sasl.mechanism.controller.protocol": "PLAIN"}
    for name in (INTERNAL, CONTROLLER):
        prefix = f"listener.name.{name.lower()}."
        made[f"{prefix}sasl.enabled.mechanisms"] = "PLAIN"
        made[f"{prefix}plain.sasl.jaas.config"] = (
            f'{module} required username="{user}" password="{password}" user_{user}="{password}";'
        )
        if stores:
            tls = {**stores, "ssl.endpoint.identification.algorithm": "", "ssl.client.auth": "none"}
            made |= {f"{prefix}{setting}": value for setting, value in tls.items()}
    return made


def _logins(listener: str, settings: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The settings with the login modules that Kafka needs for a listener, and notes about options of its JVM."""
    prefix = f"listener.name.{listener.lower()}."
    enabled = [name.strip() for name in settings.get("sasl.enabled.mechanisms", "").split(",") if name.strip()]
    if not enabled:
        raise ConfigError(f"listener {listener} asks for a login, and sasl.enabled.mechanisms names none")
    made, notes = {}, []
    for mechanism in enabled:
        own = f"{prefix}{mechanism.lower()}."
        if mechanism in SCRAM_MECHANISMS:
            made[f"{own}sasl.jaas.config"] = f"{_MODULE}.scram.ScramLoginModule required;"
        if mechanism == OAUTHBEARER:
            made[f"{own}sasl.jaas.config"] = f"{_MODULE}.oauthbearer.OAuthBearerLoginModule required;"
            made[f"{own}sasl.server.callback.handler.class"] = (
                f"{_MODULE}.oauthbearer.OAuthBearerValidatorCallbackHandler"
            )
            url = settings.get("sasl.oauthbearer.jwks.endpoint.url", "")
            notes.append(f"start Kafka with KAFKA_OPTS=-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={url}")
    return made, notes


def _absolute(settings: Mapping[str, str]) -> dict[str, str]:
    """Make file paths absolute, because Kafka is started in another folder."""
    files = re.compile(r"(?:listener\.name\.[^.]+\.)?ssl\.(?:keystore|truststore)\.location")
    return {
        name: str(Path(value).absolute()) if value and files.fullmatch(name) else value
        for name, value in settings.items()
    }


__all__ = ["NodeListeners", "is_secured", "node_listeners"]
