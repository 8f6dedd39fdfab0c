"""Shows brokers, and shows and changes the settings of brokers and topics."""

from __future__ import annotations

from starlette.responses import Response

from oncelog.apps.console.pages.topics import settings_of
from oncelog.apps.console.web import ConsoleRequest, RefusedRequest
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType
from oncelog.errors import KafkaError

KINDS = {"topic": ConfigResourceType.TOPIC, "broker": ConfigResourceType.BROKER, "group": ConfigResourceType.GROUP}


async def brokers(visit: ConsoleRequest) -> Response:
    """The page of the cluster: its nodes, its controller, and how many partitions each node leads."""
    admin = await visit.admin()
    cluster = await admin.describe_cluster()
    topics = await admin.describe_topics(await admin.list_topics(internal=True))
    leads = {node.node_id: 0 for node in cluster.nodes}
    holds = dict(leads)
    behind = 0
    for item in (item for topic in topics for item in topic.partitions):
        if item.leader in leads:
            leads[item.leader] += 1
        for replica in item.replicas:
            holds[replica] = holds.get(replica, 0) + 1
        behind += len(item.isr) < len(item.replicas)
    return visit.page(
        "brokers.html",
        cluster=cluster,
        leads=leads,
        holds=holds,
        behind=behind,
        topics=len(topics),
        partitions=sum(len(topic.partitions) for topic in topics),
    )


async def broker(visit: ConsoleRequest) -> Response:
    """The page with the settings of one broker."""
    name = visit.query("id")
    if not name.isdecimal() or len(name) > 10:
        raise RefusedRequest(f"a broker must be given by its number, not {name!r}")
    admin = await visit.admin()
    nodes = (await admin.describe_cluster()).nodes
    if int(name) not in [node.node_id for node in nodes]:
        raise RefusedRequest(f"there is no broker {name}; there are {', '.join(str(node.node_id) for node in nodes)}")
    entries, problem = await settings_of(admin, ConfigResource(ConfigResourceType.BROKER, name))
    wanted = visit.query("q").lower()
    return visit.page(
        "broker.html",
        id=name,
        entries=[entry for entry in entries if wanted in entry.name],
        problem=problem,
        q=visit.query("q"),
        setting_kind="broker",
        setting_name=name,
    )


async def setting(visit: ConsoleRequest) -> Response:
    """The page of one setting, with the form that changes it."""
    kind, name, wanted = visit.query("kind"), visit.query("name"), visit.query("property")
    resource = _resource(kind, name)
    found = (await (await visit.admin()).describe_configs([resource], names=[wanted]))[resource]
    if wanted not in found:
        raise RefusedRequest(f"{kind} {name!r} has no property {wanted!r}")
    return visit.page("setting.html", kind=kind, name=name, entry=found[wanted], problem="", back=_back(kind, name))


async def change(visit: ConsoleRequest) -> Response:
    """Set a property, or reset it to its default."""
    kind, name, wanted = visit.field("kind"), visit.field("name"), visit.field("property")
    value = None if visit.field("default") else visit.field("value")
    admin, resource = await visit.admin(), _resource(kind, name)
    try:
        await admin.alter_configs({resource: {wanted: value}})
    except KafkaError as error:
        if error.retriable:
            raise
        found = (await admin.describe_configs([resource], names=[wanted]))[resource]
        if wanted not in found:
            raise
        return visit.page(
            "setting.html", 400, kind=kind, name=name, entry=found[wanted], problem=str(error), back=_back(kind, name)
        )
    what = "was reset to its default" if value is None else "was changed"
    path, query = _back(kind, name)
    return visit.done(f"{wanted} of {kind} {name} {what}.", path, **query)


def _resource(kind: str, name: str) -> ConfigResource:
    if kind not in KINDS or (kind == "broker" and name and not name.isdecimal()):
        raise RefusedRequest(f"settings belong to a {', '.join(KINDS)}, not to {kind!r} {name!r}")
    return ConfigResource(KINDS[kind], name)


def _back(kind: str, name: str) -> tuple[str, dict[str, str]]:
    return ("/broker", {"id": name}) if kind == "broker" else (f"/{kind}", {"name": name})
