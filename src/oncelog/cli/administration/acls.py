"""``oncelog acls``: list, add and remove access control lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from oncelog.cli.shared.completers import complete_groups, complete_topics, complete_transactional_ids
from oncelog.cli.shared.options import ConnectionOptions, cluster_options
from oncelog.cli.shared.output import show_rows
from oncelog.cli.shared.parameters import CommandGroup
from oncelog.errors import ConfigError
from oncelog.protocol.acls import (
    CLUSTER_NAME,
    Acl,
    AclFilter,
    AclResourceType,
    Operation,
    PatternType,
    Permission,
)

_KINDS = {
    "topic": AclResourceType.TOPIC,
    "group": AclResourceType.GROUP,
    "transactional_id": AclResourceType.TRANSACTIONAL_ID,
}
_OPERATIONS = [operation.name.lower().replace("_", "-") for operation in Operation if operation > Operation.ANY]
HEADINGS = ("resource", "name", "pattern", "principal", "host", "operation", "permission")


@click.group("acls", cls=CommandGroup)
def command() -> None:
    """List, add and remove access control lists (ACLs).

    \b
    Example:
      oncelog acls add --allow User:alice --operation read --topic orders
    """


def _resource_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--prefixed", is_flag=True, help="The name is a prefix: it matches all names that begin with it."),
        click.option("--cluster-resource", is_flag=True, help="The cluster itself."),
        click.option(
            "--transactional-id",
            metavar="ID",
            shell_complete=complete_transactional_ids,
            help="A transactional id; * for all.",
        ),
        click.option("--group", metavar="NAME", shell_complete=complete_groups, help="A group; * for all."),
        click.option("--topic", "-t", metavar="NAME", shell_complete=complete_topics, help="A topic; * for all."),
    ):
        function = option(function)
    return function


def _resource(cluster_resource: bool, **names: str | None) -> tuple[AclResourceType, str] | None:
    """The resource that the options name, or None.

    :raises ConfigError: the options name several resources.
    """
    found = [(_KINDS[kind], name) for kind, name in names.items() if name is not None]
    if cluster_resource:
        found.append((AclResourceType.CLUSTER, CLUSTER_NAME))
    if len(found) > 1:
        raise ConfigError("name one resource: --topic, --group, --transactional-id or --cluster-resource")
    return found[0] if found else None


@command.command("list")
@_resource_options
@click.option("--principal", metavar="User:NAME", help="Only the ACLs of one principal.")
@cluster_options
def list_acls(
    cluster: ConnectionOptions,
    topic: str | None,
    group: str | None,
    transactional_id: str | None,
    cluster_resource: bool,
    prefixed: bool,
    principal: str | None,
) -> None:
    """List ACLs; with a resource, only those that apply to it.

    \b
    Example:
      oncelog acls list --topic orders
    """
    resource = _resource(cluster_resource, topic=topic, group=group, transactional_id=transactional_id)
    pattern = PatternType.PREFIXED if prefixed else PatternType.MATCH
    wanted = _filter(resource, pattern, principal)
    with cluster.admin() as admin:
        acls = admin.describe_acls(wanted)
    _show(cluster, acls, "no such ACL")


@command.command("add")
@_resource_options
@click.option("--allow", metavar="User:NAME", help="The principal to allow; User:* for everyone.")
@click.option("--deny", metavar="User:NAME", help="The principal to deny.")
@click.option("--host", default="*", help="The client's address.  [default: any]")
@click.option("--operation", "operations", multiple=True, required=True, type=click.Choice(_OPERATIONS))
@cluster_options
def add(
    cluster: ConnectionOptions,
    topic: str | None,
    group: str | None,
    transactional_id: str | None,
    cluster_resource: bool,
    prefixed: bool,
    allow: str | None,
    deny: str | None,
    host: str,
    operations: tuple[str, ...],
) -> None:
    """Allow or deny operations on a resource.

    \b
    Example:
      oncelog acls add --allow User:alice --operation write --topic orders- --prefixed
    """
    resource = _resource(cluster_resource, topic=topic, group=group, transactional_id=transactional_id)
    if resource is None:
        raise ConfigError("name a resource: --topic, --group, --transactional-id or --cluster-resource")
    if (allow is None) == (deny is None):
        raise ConfigError("name one principal: --allow User:NAME or --deny User:NAME")
    principal, permission = (allow, Permission.ALLOW) if allow is not None else (deny, Permission.DENY)
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    acls = [
        Acl(*resource, pattern, principal or "", host, Operation[name.upper().replace("-", "_")], permission)
        for name in operations
    ]
    with cluster.admin() as admin:
        admin.create_acls(acls)
    _show(cluster, acls, "")


@command.command("remove")
@_resource_options
@click.option("--principal", metavar="User:NAME", help="Only the ACLs of one principal.")
@click.option("--all", "everything", is_flag=True, help="Every ACL.")
@cluster_options
def remove(
    cluster: ConnectionOptions,
    topic: str | None,
    group: str | None,
    transactional_id: str | None,
    cluster_resource: bool,
    prefixed: bool,
    principal: str | None,
    everything: bool,
) -> None:
    """Remove ACLs, of one resource or of one principal.

    \b
    Example:
      oncelog acls remove --topic orders --principal User:alice
    """
    resource = _resource(cluster_resource, topic=topic, group=group, transactional_id=transactional_id)
    if resource is None and principal is None and not everything:
        raise ConfigError("name what to remove: a resource, --principal, or --all")
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    with cluster.admin() as admin:
        removed = admin.delete_acls(_filter(resource, pattern, principal))
    _show(cluster, removed, "there was no such ACL")


def _filter(resource: tuple[AclResourceType, str] | None, pattern: PatternType, principal: str | None) -> AclFilter:
    kind, name = resource if resource is not None else (AclResourceType.ANY, None)
    pattern = pattern if resource is not None else PatternType.ANY
    return AclFilter(kind, name, pattern, principal, None, Operation.ANY, Permission.ANY)


def _show(cluster: ConnectionOptions, acls: list[Acl], empty: str) -> None:
    rows = [
        {
            "resource": AclResourceType(acl.resource_type).name.lower(),
            "name": acl.resource_name,
            "pattern": PatternType(acl.pattern_type).name.lower(),
            "principal": acl.principal,
            "host": acl.host,
            "operation": Operation(acl.operation).name.lower(),
            "permission": Permission(acl.permission).name.lower(),
        }
        for acl in acls
    ]
    show_rows(cluster.as_json, rows, HEADINGS, empty)
