"""The options with which commands select a schema registry and log in to it.

Called by the commands. An address given with ``--schema-registry`` takes precedence over the one in the file, and that
over the one in the environment.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from oncelog.cli.shared.properties import given_properties
from oncelog.errors import ConfigError
from oncelog.settings.fields import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from oncelog.schemas.registry import SchemaRegistry

ENVIRONMENT = "ONCELOG_SCHEMA_REGISTRY"
PREFIX = "schema.registry."
Function = TypeVar("Function", bound="Callable[..., Any]")
RegistryAccess = Mapping[str, Any]
"""The arguments of :class:`~oncelog.schemas.SchemaRegistry` by name, ``url`` among them; empty for no registry."""
_ARGUMENTS = {
    "url": "url",
    "bearer.auth.token": "token",
    "ssl.ca.location": "ca_file",
    "ssl.certificate.location": "certificate",
    "ssl.key.location": "key",
}
_USER = "basic.auth.user.info"
_SOURCES = {
    "basic.auth.credentials.source": {"USER_INFO": _USER, "URL": "url"},
    "bearer.auth.credentials.source": {"STATIC_TOKEN": "bearer.auth.token"},
}
"""Properties of Confluent's clients that name the source of a login, and for each of their values the property of ours
that must then be given."""


def registry_option(command: Function) -> Function:
    """A decorator that adds the options to a command, and passes them as its argument ``schema_registry``, a
    ``RegistryAccess``."""

    @click.option(
        "--schema-registry",
        metavar="URL",
        help=f"The schema registry: http://HOST:PORT, with USER:PASSWORD@ before the host.  [env: {ENVIRONMENT}]",
    )
    @click.option(
        "--schema-registry-config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="A properties file with the registry's TLS files and login, as Confluent's Python client names them.",
    )
    @functools.wraps(command)
    def wrapped(*args: Any, schema_registry: str | None, schema_registry_config: Path | None, **options: Any) -> Any:
        access = {} if schema_registry_config is None else _access(schema_registry_config)
        url = schema_registry or access.get("url") or os.environ.get(ENVIRONMENT)
        if schema_registry_config is not None and not url:
            raise ConfigError(
                f"{schema_registry_config} does not name the registry: add url=https://HOST:PORT, "
                "or use --schema-registry URL"
            )
        return command(*args, schema_registry={**access, "url": url} if url else {}, **options)

    return wrapped  # type: ignore[return-value]


def registry(access: RegistryAccess) -> SchemaRegistry:
    """A client of the registry that the options name.

    :raises ConfigError: no registry is named, or the options contradict each other.
    :raises OncelogError: the extra is not installed.
    """
    if not access:
        raise ConfigError(f"a schema registry is needed: --schema-registry URL, or {ENVIRONMENT}")
    from oncelog.schemas.codecs import need_schema_packages
    from oncelog.schemas.registry import SchemaRegistry

    need_schema_packages()
    return SchemaRegistry(**access)


def _access(file: Path) -> dict[str, str]:
    """The arguments of a registry's client, from a properties file.

    :raises ConfigError: a property is not known, or contradicts another one.
    """
    given = {name.removeprefix(PREFIX): value.strip() for name, value in given_properties(file, ()).items()}
    known = (*_ARGUMENTS, _USER, *_SOURCES)
    for name in given:
        if name not in known:
            raise ConfigError(f"{file}: unknown property {name!r} of a schema registry's client{nearest(name, known)}")
    for name, allowed in _SOURCES.items():
        source = given.get(name)
        if source is not None and (source not in allowed or allowed[source] not in given):
            expected = " or ".join(f"{one} with {needed}" for one, needed in allowed.items())
            raise ConfigError(f"{file}: {name} takes {expected}, not {source!r}")
    access = {argument: given[name] for name, argument in _ARGUMENTS.items() if given.get(name)}
    if _USER in given:
        user, colon, access["password"] = given[_USER].partition(":")
        if not user or not colon:
            raise ConfigError(f"{file}: {_USER} takes USER:PASSWORD")
        access["user"] = user
    return access
