"""``oncelog configs``: shows and changes settings of topics, brokers and groups while the cluster runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from oncelog.cli.shared.completers import complete_resources
from oncelog.cli.shared.options import ConnectionOptions, cluster_options
from oncelog.cli.shared.output import show_json, show_rows
from oncelog.cli.shared.parameters import CommandGroup
from oncelog.cli.shared.properties import named_values
from oncelog.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oncelog.client.blocking import Admin
    from oncelog.client.core.admin.admin_types import ConfigResource

KINDS = ("topic", "broker", "group")
DEFAULT_BROKER = "default"


@click.group("configs", cls=CommandGroup)
def command() -> None:
    """Settings of topics, brokers and groups: show and change them while the cluster runs.

    \b
    Example:
      oncelog configs describe broker 1
    """


@command.command("describe")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("name", shell_complete=complete_resources)
@click.option("--changed", is_flag=True, help="Only settings that differ from the default.")
@cluster_options
def describe(cluster: ConnectionOptions, kind: str, name: str, changed: bool) -> None:
    """All settings of a topic, a broker (by number, or default for all brokers) or a group, with their sources.

    \b
    Example:
      oncelog configs describe topic orders --changed
    """
    resource = _resource(kind, name)
    with cluster.admin() as admin:
        entries = admin.describe_configs([resource])[resource]
    rows = [
        {"name": entry.name, "value": entry.value, "source": entry.source, "read_only": entry.read_only}
        for _, entry in sorted(entries.items())
        if not (changed and entry.is_default)
    ]
    show_rows(cluster.as_json, rows, ["name", "value", "source"], "no settings")


@command.command("alter")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("name", shell_complete=complete_resources)
@click.option("--set-config", "configs", multiple=True, metavar="NAME=VALUE", help="A setting; may be repeated.")
@click.option("--delete-config", "deleted", multiple=True, metavar="NAME", help="A setting to reset to its default.")
@click.option("--dry-run", is_flag=True, help="Only check whether the change would be allowed.")
@cluster_options
def alter(
    cluster: ConnectionOptions, kind: str, name: str, configs: tuple[str, ...], deleted: tuple[str, ...], dry_run: bool
) -> None:
    """Change settings; all others stay as they are.

    \b
    Examples:
      oncelog configs alter broker default --set-config log.retention.ms=86400000
      oncelog configs alter topic orders --delete-config retention.ms
    """
    changes: dict[str, str | None] = {**named_values("--set-config", configs), **dict.fromkeys(deleted)}
    if not changes:
        raise ConfigError("nothing to change: give --set-config or --delete-config")
    resource = _resource(kind, name)
    with cluster.admin() as admin:
        admin.alter_configs({resource: changes}, validate_only=dry_run)
        unknown = _unknown(admin, name, [of for of, value in changes.items() if value]) if kind == "broker" else []
    if cluster.as_json:
        show_json({"kind": kind, "name": name, "changed": {} if dry_run else changes})
    else:
        click.echo(f"{'allowed' if dry_run else 'changed'} {', '.join(changes)} of {kind} {name}")
    for text in unknown:
        click.echo(f"warning: {text}", err=True)


def _unknown(admin: Admin, broker: str, names: Sequence[str]) -> list[str]:
    """Warnings about names that the broker accepted although it has no such setting, because a plugin may have it."""
    from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType
    from oncelog.settings.fields import nearest

    if broker == DEFAULT_BROKER:
        broker = str(min(node.node_id for node in admin.describe_cluster().nodes))
    resource = ConfigResource(ConfigResourceType.BROKER, broker)
    entries = admin.describe_configs([resource])[resource]
    strange = {name for name, entry in entries.items() if entry.read_only and entry.source.startswith("DYNAMIC_")}
    known = entries.keys() - strange
    return [
        f"the broker has no setting {name!r}, and accepts it because a plugin may have it: --delete-config {name} "
        f"removes it{nearest(name, known)}"
        for name in names
        if name not in known and not name.startswith("listener.name.")
    ]


def _resource(kind: str, name: str) -> ConfigResource:
    from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType

    if kind == "broker":
        if name != DEFAULT_BROKER and not name.isdecimal():
            raise ConfigError(f"a broker is named by its number, or {DEFAULT_BROKER} for all, not {name!r}")
        name = "" if name == DEFAULT_BROKER else name
    return ConfigResource(ConfigResourceType[kind.upper()], name)
