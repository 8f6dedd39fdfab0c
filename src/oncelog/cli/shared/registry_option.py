"""Which schema registry a command asks: the option that such commands have. Called by the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from oncelog.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from oncelog.schemas.registry import SchemaRegistry

ENVIRONMENT = "ONCELOG_SCHEMA_REGISTRY"
Function = TypeVar("Function", bound="Callable[..., Any]")


def registry_option(command: Function) -> Function:
    """Add the option, and pass it to the command as its argument ``schema_registry``."""
    return click.option(
        "--schema-registry",
        envvar=ENVIRONMENT,
        metavar="URL",
        help=f"The schema registry: http://HOST:PORT, with USER:PASSWORD@ before the host.  [env: {ENVIRONMENT}]",
    )(command)


def registry(url: str | None) -> SchemaRegistry:
    """The registry at this address.

    :raises ConfigError: no address was given.
    :raises OncelogError: the extra is not installed.
    """
    if not url:
        raise ConfigError(f"a schema registry is needed: --schema-registry URL, or {ENVIRONMENT}")
    from oncelog.schemas.codecs import need_schema_packages
    from oncelog.schemas.registry import SchemaRegistry

    need_schema_packages()
    return SchemaRegistry(url)
