"""Builds a listener's login from its properties.

Called for each listener at start, and when its settings change; ``sasl.*`` with the listener's prefix takes precedence,
and the JAAS text of a mechanism is ``listener.name.NAME.MECHANISM.sasl.jaas.config``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from oncelog.broker.core.login.jaas import parse_jaas
from oncelog.broker.core.login.sasl_authenticator import LoginResult
from oncelog.broker.core.login.sasl_mechanisms import (
    NONCE_BYTES,
    OAUTHBEARER,
    PLAIN,
    SCRAM_MECHANISMS,
    Mechanism,
    OAuthBearer,
    PlainLogin,
    Scram,
)
from oncelog.errors import ConfigError
from oncelog.runtime.chance import random

if TYPE_CHECKING:
    from oncelog.broker.metadata.store import MetadataStore

SERVED_MECHANISMS = (PLAIN, *SCRAM_MECHANISMS, OAUTHBEARER)


def login_of(
    listener: str,
    settings: Mapping[str, str],
    metadata: MetadataStore,
    closers: list[Callable[[], None]],
    known: Mapping[str, Callable[[], Mechanism]] | None = None,
) -> LoginResult:
    """The login of one listener.

    :param settings: the properties that apply to the listener.
    :param closers: a list to which functions are added that must be called when the broker stops.
    :param known: the login that the listener already has at run time; None at start. Keys for tokens are only fetched
        at start, because that may take long.
    :raises ConfigError: a mechanism is not supported, or a property that it needs is missing.
    """
    names = [name.strip() for name in settings.get("sasl.enabled.mechanisms", "").split(",") if name.strip()]
    unserved = [name for name in names if name not in SERVED_MECHANISMS]
    if not names or unserved:
        what = f"names {unserved[0]}" if unserved else "names none (Apache Kafka's default, GSSAPI, is not served)"
        raise ConfigError(
            f"sasl.enabled.mechanisms of listener {listener} {what}: it may hold {', '.join(SERVED_MECHANISMS)}"
        )
    mechanisms: dict[str, Callable[[], Mechanism]] = {}
    for name in names:
        if name == OAUTHBEARER and known is not None:
            if name not in known:
                raise ConfigError(
                    f"listener {listener} can begin to offer OAUTHBEARER only at a start: restart the broker with it"
                )
            mechanisms[name] = known[name]
        else:
            mechanisms[name] = _maker(name, listener, settings, metadata, closers)
    return LoginResult(
        mechanisms=mechanisms,
        max_reauth_ms={
            name: int(
                settings.get(
                    f"{name.lower()}.connections.max.reauth.ms", settings.get("connections.max.reauth.ms", "0")
                )
            )
            for name in names
        },
        largest_token=int(settings.get("sasl.server.max.receive.size", "524288")),
        failure_delay_ms=int(settings.get("connection.failed.authentication.delay.ms", "100")),
    )


def _maker(
    name: str,
    listener: str,
    settings: Mapping[str, str],
    metadata: MetadataStore,
    closers: list[Callable[[], None]],
) -> Callable[[], Mechanism]:
    if name in SCRAM_MECHANISMS:
        return lambda: Scram(name, metadata.scram_credentials(), random.randbytes(NONCE_BYTES))
    if name == PLAIN:
        property_name = f"listener.name.{listener.lower()}.plain.sasl.jaas.config"
        text = settings.get("plain.sasl.jaas.config")
        if text is None:
            raise ConfigError(
                f"listener {listener} offers PLAIN and needs its users: set {property_name} to a PlainLoginModule with "
                f'user_NAME="PASSWORD" options'
            )
        users = parse_jaas(property_name, text).users
        return lambda: PlainLogin(users)
    from oncelog.broker.server.security.token_validation import validator_of

    validate = validator_of(listener, settings, closers)
    return lambda: OAuthBearer(validate)
