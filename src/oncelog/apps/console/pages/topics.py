"""Shows topics, and creates, changes and deletes them."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from oncelog.apps.console.reading import Ends, ends_of, led
from oncelog.apps.console.web import ConsoleRequest, RefusedRequest
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.core.admin.admin_types import (
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    TopicDescription,
)
from oncelog.errors import ConfigError, KafkaError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.types import encode_uuid

PAGE = 50


@dataclass(frozen=True, slots=True)
class TopicTotals:
    """Sums over a topic's partitions: the offsets from the first to the end, and how many of them read_committed
    readers cannot see yet."""

    offsets: int
    held_back: int

    @classmethod
    def of(cls, ends: list[Ends]) -> TopicTotals:
        return cls(sum(e.end - e.first for e in ends), sum(max(0, e.end - e.stable) for e in ends))


async def listing(visit: ConsoleRequest) -> Response:
    """The list of topics, fifty per page."""
    admin = await visit.admin()
    described = await _described(admin, internal=visit.query("internal") == "1")
    wanted = visit.query("q").strip().lower()
    matching = [topic for topic in described if wanted in topic.name.lower()]
    pages = max(1, -(-len(matching) // PAGE))
    number = visit.number("page", 1, 1, pages)
    shown = matching[(number - 1) * PAGE : number * PAGE]
    sums, problem = await _sums(admin, shown)
    return visit.page(
        "topics.html",
        topics=shown,
        sums=sums,
        problem=problem,
        total=len(described),
        matching=len(matching),
        number=number,
        pages=pages,
        q=visit.query("q"),
        internal=visit.query("internal") == "1",
    )


async def _described(admin: Admin, *, internal: bool) -> list[TopicDescription]:
    if not internal:
        return await admin.describe_topics()
    return await admin.describe_topics(await admin.list_topics(internal=True))


async def _sums(admin: Admin, topics: list[TopicDescription]) -> tuple[dict[str, TopicTotals], str]:
    """The totals of each topic over its partitions with a leader, and an empty text; or no totals and the error if the
    offsets cannot be read."""
    names = led(topics)
    try:
        ends = await ends_of(admin, names)
    except KafkaError as error:
        return {}, str(error)
    known: dict[str, list[Ends]] = {}
    for name in names:
        known.setdefault(name.topic, []).append(ends[name])
    return {topic: TopicTotals.of(found) for topic, found in known.items()}, ""


async def settings_of(admin: Admin, resource: ConfigResource) -> tuple[list[ConfigEntry], str]:
    """A topic's settings, explicit ones before defaults, and an empty text; or no settings and the error if the broker
    refuses."""
    try:
        found = await admin.describe_configs([resource])
    except KafkaError as error:
        return [], str(error)
    return sorted(found[resource].values(), key=lambda entry: (entry.is_default, entry.name)), ""


async def one(visit: ConsoleRequest) -> Response:
    """The page of one topic: partitions, settings, and the groups that read it."""
    admin = await visit.admin()
    name = visit.name("topic")
    topic = (await admin.describe_topics([name]))[0]
    resource = ConfigResource(ConfigResourceType.TOPIC, name)
    ends, (entries, config_problem) = await asyncio.gather(ends_of(admin, led([topic])), settings_of(admin, resource))
    return visit.page(
        "topic.html",
        topic=topic,
        topic_id=encode_uuid(topic.topic_id),
        ends={item.partition: found for item, found in ends.items()},
        setting_kind="topic",
        setting_name=name,
        sums=TopicTotals.of(list(ends.values())),
        entries=entries,
        config_problem=config_problem,
    )


# --- creating, changing, deleting


_CREATED = ("name", "partitions", "replicas", "configs")


async def create_form(visit: ConsoleRequest) -> Response:
    """The form for a new topic."""
    return visit.page(
        "create_topic.html", problem="", fields={"name": "", "partitions": "", "replicas": "", "configs": ""}
    )


async def create(visit: ConsoleRequest) -> Response:
    """Create a topic; a refusal is shown next to the entered values."""
    fields = {name: visit.field(name) for name in _CREATED}
    try:
        if not fields["name"]:
            raise ConfigError("a topic needs a name: letters, digits, '.', '_' and '-'")
        topic = NewTopic(
            fields["name"],
            _count("partitions", fields["partitions"]),
            _count("replicas", fields["replicas"]),
            topic_configs=dict(_assignment(line) for line in fields["configs"].splitlines() if line.strip()),
        )
        await (await visit.admin()).create_topics([topic])
    except (ConfigError, KafkaError) as error:
        if isinstance(error, KafkaError) and error.retriable:
            raise
        return visit.page("create_topic.html", 400, problem=str(error), fields=fields)
    return visit.done(f"Topic {topic.name} was created.", "/topic", name=topic.name)


def _count(what: str, text: str) -> int:
    """A number from a field of the form; -1, the broker's default, if the field is empty."""
    if not text:
        return -1
    if not text.isdecimal() or len(text) > 10 or not 1 <= int(text) <= 100_000:
        raise ConfigError(f"{what} must be a number from 1 on, or empty for the broker's default, not {text!r}")
    return int(text)


def _assignment(line: str) -> tuple[str, str]:
    name, separator, value = line.partition("=")
    if not separator or not name.strip():
        raise ConfigError(f"a setting must be NAME=VALUE, one per line, not {line!r}")
    return name.strip(), value.strip()


async def confirm_delete(visit: ConsoleRequest) -> Response:
    """Ask for confirmation, showing what would be deleted."""
    admin, name = await visit.admin(), visit.name("topic")
    topic = (await admin.describe_topics([name]))[0]
    sums, _ = await _sums(admin, [topic])
    positions = await visit.group_positions(admin)
    readers = list(positions.readers_of(name))
    markers = positions.markers_in(name)
    return visit.page("delete_topic.html", topic=topic, sums=sums.get(name), readers=readers, markers=markers)


async def delete(visit: ConsoleRequest) -> Response:
    """Delete a topic if its name was typed correctly."""
    name = visit.field("name")
    if visit.field("again") != name:
        raise RefusedRequest(f"type {name} into the field to delete it: nothing was deleted")
    await (await visit.admin()).delete_topics([name])
    return visit.done(f"Topic {name} was deleted.", "/topics")


async def partitions_form(visit: ConsoleRequest) -> Response:
    """The form for adding partitions."""
    topic = (await (await visit.admin()).describe_topics([visit.name("topic")]))[0]
    return visit.page("partitions.html", name=topic.name, count=len(topic.partitions))


async def add_partitions(visit: ConsoleRequest) -> Response:
    """Add partitions to a topic."""
    name, count = visit.field("name"), _count("partitions", visit.field("count"))
    await (await visit.admin()).create_partitions({name: count})
    return visit.done(f"Topic {name} has {count} partitions.", "/topic", name=name)
