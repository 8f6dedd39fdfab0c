"""``oncelog topics``: list, create, describe, change and delete topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from oncelog.cli.shared.completers import complete_topics
from oncelog.cli.shared.options import ConnectionOptions, cluster_options, text
from oncelog.cli.shared.output import remark, show_json, show_rows, show_table
from oncelog.cli.shared.parameters import CommandGroup
from oncelog.cli.shared.properties import named_values
from oncelog.errors import ConfigError, KafkaError
from oncelog.types import encode_uuid

if TYPE_CHECKING:
    from oncelog.client.aio.offset_lookups import FoundOffset
    from oncelog.client.blocking import Admin


@click.group("topics", cls=CommandGroup)
def command() -> None:
    """Topics: list, create, describe, change, delete.

    \b
    Example:
      oncelog topics create orders --partitions 6 --set-config cleanup.policy=compact
    """


@command.command("list")
@click.option("--internal", is_flag=True, help="Include the coordinators' own topics.")
@cluster_options
def list_topics(cluster: ConnectionOptions, internal: bool) -> None:
    """Names of all topics.

    \b
    Example:
      oncelog topics list --internal
    """
    with cluster.admin() as admin:
        names = admin.list_topics(internal=internal)
    if cluster.as_json:
        show_json(names)
        return
    for name in names:
        click.echo(name)
    if not names:
        remark("no topics")


@command.command("create")
@click.argument("names", nargs=-1, required=True, type=text)
@click.option("--partitions", type=click.IntRange(min=1), help="Default: num.partitions of the broker.")
@click.option("--replication-factor", type=click.IntRange(min=1), help="Default: the broker's.")
@click.option("--set-config", "configs", multiple=True, metavar="NAME=VALUE", help="A property of the topic.")
@click.option("--if-not-exists", is_flag=True, help="Leave existing topics as they are.")
@cluster_options
def create(
    cluster: ConnectionOptions,
    names: tuple[str, ...],
    partitions: int | None,
    replication_factor: int | None,
    configs: tuple[str, ...],
    if_not_exists: bool,
) -> None:
    """Create topics.

    \b
    Example:
      oncelog topics create orders --partitions 6 --set-config retention.ms=86400000
    """
    from oncelog.client.core.admin.admin_types import NewTopic

    properties = named_values("--set-config", configs)
    with cluster.admin() as admin:
        there = set(admin.list_topics(internal=True)) if if_not_exists else set()
        wanted = [name for name in dict.fromkeys(names) if name not in there]
        topics = [
            NewTopic(name, partitions or -1, replication_factor or -1, topic_configs=properties) for name in wanted
        ]
        with _done_in_part(cluster, admin, wanted, "created"):
            admin.create_topics(topics)
    _show_done(cluster, "created", wanted)


@command.command("describe")
@click.argument("names", nargs=-1, type=text, shell_complete=complete_topics)
@cluster_options
def describe(cluster: ConnectionOptions, names: tuple[str, ...]) -> None:
    """Partitions with leader, replicas and offsets, and the properties that were set; of NAMES, or of all topics.

    \b
    Example:
      oncelog topics describe orders
    """
    with cluster.admin() as admin:
        topics = _described(admin, names or None)
    if cluster.as_json:
        show_json(topics)
        return
    for number, topic in enumerate(topics):
        if number:
            click.echo()
        _show_topic(topic)


def _described(admin: Admin, names: Sequence[str] | None) -> list[dict[str, Any]]:
    from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType
    from oncelog.types import TopicPartition

    topics = admin.describe_topics(names)
    resources = {topic.name: ConfigResource(ConfigResourceType.TOPIC, topic.name) for topic in topics}
    configs = admin.describe_configs(resources.values()) if resources else {}
    partitions = [
        TopicPartition(topic.name, item.partition)
        for topic in topics
        for item in topic.partitions
        if item.leader >= 0  # without a leader no broker knows the offsets, and the request would wait
    ]
    first = admin.list_offsets(dict.fromkeys(partitions, -2)) if partitions else {}
    stable = admin.list_offsets(dict.fromkeys(partitions, -1), read_committed=True) if partitions else {}
    end = admin.list_offsets(dict.fromkeys(partitions, -1)) if partitions else {}

    def offset(found: Mapping[TopicPartition, FoundOffset], topic: str, partition: int) -> int | None:
        known = found.get(TopicPartition(topic, partition))
        return None if known is None else known.offset

    return [
        {
            "topic": topic.name,
            "topic_id": encode_uuid(topic.topic_id),
            "internal": topic.internal,
            "configs": {
                name: entry.value
                for name, entry in sorted(configs[resources[topic.name]].items())
                if entry.source == "DYNAMIC_TOPIC_CONFIG"
            },
            "partitions": [
                {
                    "partition": item.partition,
                    "leader": item.leader if item.leader >= 0 else None,
                    "replicas": list(item.replicas),
                    "isr": list(item.isr),
                    "log_start_offset": offset(first, topic.name, item.partition),
                    "last_stable_offset": offset(stable, topic.name, item.partition),
                    "high_watermark": offset(end, topic.name, item.partition),
                }
                for item in topic.partitions
            ],
        }
        for topic in topics
    ]


def _show_topic(topic: dict[str, Any]) -> None:
    click.echo(f"{topic['topic']}  id {topic['topic_id']}" + ("  internal" if topic["internal"] else ""))
    for name, value in topic["configs"].items():
        click.echo(f"  {name}={value}")
    headings = list(topic["partitions"][0])
    rows = [
        [",".join(map(str, value)) if isinstance(value, list) else value for value in row.values()]
        for row in topic["partitions"]
    ]
    show_table([heading.upper().replace("_", "-") for heading in headings], rows)


@command.command("alter")
@click.argument("names", nargs=-1, required=True, type=text, shell_complete=complete_topics)
@click.option("--partitions", type=click.IntRange(min=1), help="New number of partitions; it can only grow.")
@click.option("--set-config", "configs", multiple=True, metavar="NAME=VALUE", help="A property to set.")
@click.option("--delete-config", "deleted", multiple=True, metavar="NAME", help="A property to reset to its default.")
@cluster_options
def alter(
    cluster: ConnectionOptions,
    names: tuple[str, ...],
    partitions: int | None,
    configs: tuple[str, ...],
    deleted: tuple[str, ...],
) -> None:
    """Change partitions or properties of topics.

    \b
    Example:
      oncelog topics alter orders --partitions 12 --set-config retention.ms=3600000
    """
    from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType

    changes: dict[str, str | None] = {**named_values("--set-config", configs), **dict.fromkeys(deleted)}
    if partitions is None and not changes:
        raise ConfigError("nothing to change: give --partitions, --set-config or --delete-config")
    with cluster.admin() as admin:
        admin.describe_topics(names)
        if changes:
            admin.alter_configs({ConfigResource(ConfigResourceType.TOPIC, name): changes for name in names})
        if partitions is not None:
            admin.create_partitions(dict.fromkeys(names, partitions))
    if cluster.as_json:
        show_json({"changed": list(names)})
    else:
        click.echo(f"changed {', '.join(names)}")


@command.command("delete")
@click.argument("names", nargs=-1, required=True, type=text, shell_complete=complete_topics)
@cluster_options
def delete(cluster: ConnectionOptions, names: tuple[str, ...]) -> None:
    """Delete topics with all their records.

    \b
    Example:
      oncelog topics delete orders
    """
    with cluster.admin() as admin, _done_in_part(cluster, admin, names, "deleted"):
        admin.delete_topics(names)
    _show_done(cluster, "deleted", list(names))


@contextmanager
def _done_in_part(cluster: ConnectionOptions, admin: Admin, names: Sequence[str], deed: str) -> Iterator[None]:
    """A context for a request that creates or deletes several topics: if it fails for some of them, print which of the
    others were created or deleted."""
    before = set(admin.list_topics(internal=True)) if len(names) > 1 else set()
    try:
        yield
    except KafkaError as error:
        if (
            len(names) > 1 and not error.retriable
            # After a retriable error the next request may fail, too, so do not ask for the topics.
        ):
            changed = before ^ set(admin.list_topics(internal=True))
            _show_done(cluster, deed, [name for name in dict.fromkeys(names) if name in changed])
        raise


def _show_done(cluster: ConnectionOptions, deed: str, names: Sequence[str]) -> None:
    if cluster.as_json:
        show_json({deed: list(names)})
        return
    for line in names if deed == "created" else [", ".join(names)] * bool(names):
        click.echo(f"{deed} {line}")


@command.command("configs")
@click.argument("name", type=text, shell_complete=complete_topics)
@cluster_options
def configs(cluster: ConnectionOptions, name: str) -> None:
    """All properties of a topic, with the source of each.

    \b
    Example:
      oncelog topics configs orders
    """
    from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType

    resource = ConfigResource(ConfigResourceType.TOPIC, name)
    with cluster.admin() as admin:
        entries = admin.describe_configs([resource])[resource]
    rows = [{"name": entry.name, "value": entry.value, "source": entry.source} for _, entry in sorted(entries.items())]
    show_rows(cluster.as_json, rows, ["name", "value", "source"], "no properties")
