"""The names that a shell completes: topics, groups, transactional ids.

The shell calls the completers of the commands' options. If the broker does not answer at once, nothing is completed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from oncelog.cli.shared.options import DEFAULT_ADDRESS, ENVIRONMENT
from oncelog.cli.shared.properties import given_properties
from oncelog.errors import OncelogError

if TYPE_CHECKING:
    from oncelog.client.blocking import Admin

TIMEOUT_MS = "1500"


def _names(context: click.Context, ask: Callable[[Admin], Iterable[str]], incomplete: str) -> list[CompletionItem]:
    from oncelog.client.blocking import Admin
    from oncelog.client.core.config import AdminConfig

    given = context.params
    try:
        properties = given_properties(given.get("config"), given.get("assignments") or ())
        address = given.get("bootstrap_server") or properties.get("bootstrap.servers") or os.environ.get(ENVIRONMENT)
        properties["bootstrap.servers"] = address or DEFAULT_ADDRESS
        properties.update({"default.api.timeout.ms": TIMEOUT_MS, "request.timeout.ms": TIMEOUT_MS})
        with Admin(config=AdminConfig.from_properties(properties)) as admin:
            return [CompletionItem(name) for name in ask(admin) if name.startswith(incomplete)]
    except OncelogError:
        return []


def complete_topics(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of topics that begin with the typed text; internal topics only if that begins with an underscore."""
    return _names(context, lambda admin: admin.list_topics(internal=incomplete.startswith("_")), incomplete)


def complete_groups(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Consumer groups."""
    return _names(context, lambda admin: [group.group_id for group in admin.list_consumer_groups()], incomplete)


def complete_transactional_ids(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Transactional ids."""
    return _names(context, lambda admin: [item.transactional_id for item in admin.list_transactions()], incomplete)


def complete_resources(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of resources of the kind that the previous argument gives: topics, groups, or brokers by number and
    ``default``."""
    match context.params.get("kind"):
        case "topic":
            return complete_topics(context, parameter, incomplete)
        case "group":
            return complete_groups(context, parameter, incomplete)
        case _:
            return _names(
                context,
                lambda admin: ["default", *(str(node.node_id) for node in admin.describe_cluster().nodes)],
                incomplete,
            )
