"""The options with which client commands select a cluster and connect to it.

Called by the client commands through :func:`cluster_options`. An address given with ``--bootstrap-server`` takes
precedence over ``bootstrap.servers`` in ``--set`` and ``--config``, this over the environment variable, and this over
127.0.0.1:9092.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from oncelog.cli.shared.parameters import PropertiesFile, utf8_text
from oncelog.cli.shared.properties import given_properties
from oncelog.errors import ConfigError
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.client.blocking import Admin
    from oncelog.client.core.config import AdminConfig, ClientConfig

DEFAULT_ADDRESS = "127.0.0.1:9092"
ENVIRONMENT = "ONCELOG_BOOTSTRAP_SERVER"
Settings = TypeVar("Settings", bound="ClientConfig")
Function = TypeVar("Function", bound=Callable[..., Any])


def text(given: str) -> str:
    """The type of a parameter that names a topic, a group or a transactional id."""
    if not given:
        raise click.BadParameter("a name must not be empty")
    try:
        return utf8_text(given)
    except UnicodeError:
        raise click.BadParameter(f"a name must be text in UTF-8, not {given!r}") from None


MAX_NAMED = 5
LONGEST_S = 10 * 365 * 86_400
"""The longest timeout that an option accepts, ten years in seconds; a longer one would be as good as none."""


class Seconds(click.FloatRange):
    """The type of an option that takes a number of seconds, from ``least`` to ten years."""

    def __init__(self, least: float = 0) -> None:
        super().__init__(min=least, max=LONGEST_S)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return seconds


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """The properties with which a command connects, including ``bootstrap.servers``, and whether it prints JSON."""

    properties: Mapping[str, str]
    as_json: bool

    def settings(self, kind: type[Settings], **more: str | None) -> Settings:
        """The settings of a client.

        :param more: further properties, named with ``_`` instead of ``.``; None leaves one out.
        """
        added = {name.replace("_", "."): value for name, value in more.items() if value is not None}
        return kind.from_properties({**self.properties, **added})

    def admin_settings(self) -> AdminConfig:
        """The settings of an admin client, from those properties that admin clients have."""
        from oncelog.client.core.config import AdminConfig, known_properties

        known = known_properties(AdminConfig)
        return AdminConfig.from_properties({name: text for name, text in self.properties.items() if name in known})

    def admin(self) -> Admin:
        """An admin client."""
        from oncelog.client.blocking import Admin
        from oncelog.client.core.config import AdminConfig

        return Admin(config=self.settings(AdminConfig))


def cluster_options(command: Function) -> Function:
    """A decorator that adds the connection options to a command and passes them as its argument ``cluster``."""
    fallback = f"${ENVIRONMENT} or {DEFAULT_ADDRESS}"
    return _options(command, fallback, lambda: os.environ.get(ENVIRONMENT) or DEFAULT_ADDRESS)


def optional_cluster_options(command: Function) -> Function:
    """Like :func:`cluster_options`, for a command that can run without a cluster: without an address, the properties
    have no ``bootstrap.servers``."""
    return _options(command, "a broker of its own, in memory", lambda: None)


def _options(command: Function, fallback: str, default: Callable[[], str | None]) -> Function:
    @click.option(
        "--bootstrap-server",
        "-b",
        metavar="HOST:PORT",
        help=f"Address of the broker, several with commas.  [default: {fallback}]",
    )
    @click.option(
        "--config",
        "-F",
        type=PropertiesFile(),
        help="A properties file of the client, as Apache Kafka's tools take it.",
    )
    @click.option("--set", "-X", "assignments", multiple=True, metavar="NAME=VALUE", help="A property of the client.")
    @click.option("--json", "-J", "as_json", is_flag=True, help="Answer in JSON.")
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        bootstrap_server: str | None,
        config: Path | None,
        assignments: tuple[str, ...],
        as_json: bool,
        **options: Any,
    ) -> Any:
        from oncelog.cli.shared.wait_messages import waits_reported

        properties = given_properties(config, assignments)
        if bootstrap_server is not None:
            properties["bootstrap.servers"] = bootstrap_server
        address = default()
        if address is not None:
            properties.setdefault("bootstrap.servers", address)
        with waits_reported():
            return command(*args, cluster=ConnectionOptions(properties, as_json), **options)

    return wrapped  # type: ignore[return-value]


def led(admin: Admin, names: Sequence[TopicPartition]) -> tuple[list[TopicPartition], str]:
    """The partitions that have a leader, and a sentence about the others, whose offsets cannot be requested.

    A partition that does not exist is among the first; the next request reports that it does not exist.
    """
    topics = sorted({name.topic for name in names})
    leaderless = {
        TopicPartition(topic.name, item.partition)
        for topic in (admin.describe_topics(topics) if topics else [])
        for item in topic.partitions
        if item.leader < 0
    }
    missing = [str(name) for name in names if name in leaderless]
    more = f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
    note = f"not checked, because they have no leader: {', '.join(missing[:MAX_NAMED])}{more}" if missing else ""
    return [name for name in names if name not in leaderless], note


def partition_numbers(texts: tuple[str, ...]) -> dict[str, list[int] | None]:
    """The chosen partitions by topic, None for all partitions, from repeated options ``--topic TOPIC`` or ``--topic
    TOPIC:0,1,2``."""
    found: dict[str, list[int] | None] = {}
    for text in texts:
        topic, separator, numbers = text.partition(":")
        try:
            named = sorted({int(number) for number in numbers.split(",")}) if separator else None
        except ValueError:
            named = [-1]
        if not topic or (named is not None and named[0] < 0):
            raise ConfigError(f"--topic takes TOPIC or TOPIC:PARTITION,PARTITION, not {text!r}")
        found[topic] = named
    return found
