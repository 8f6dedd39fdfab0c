"""Shows groups of every type, and one group with its members and lags; resets or deletes its positions."""

from __future__ import annotations

from starlette.responses import Response

from oncelog.apps.console.web import ConsoleRequest, RefusedRequest
from oncelog.client.aio.admin.group_positions import (
    IDLE,
    GroupRefused,
    PositionChange,
    existing_group,
    group_with_positions,
    move,
    planned_moves,
)
from oncelog.client.core.structs import TopicPartition
from oncelog.client.positions import BEGINNING, END, LogPlace, PositionKind, parse_time
from oncelog.errors import ConfigError

LISTED = 500
TARGETS = {
    "earliest": "to the first record",
    "latest": "to the end",
    "offset": "to an offset",
    "time": "to a time",
    "shift": "by a number of records",
}


async def listing(visit: ConsoleRequest) -> Response:
    """The page of all groups."""
    admin = await visit.admin()
    wanted = visit.query("q").lower()
    found = await admin.list_consumer_groups()
    matching = [group for group in found if wanted in group.group_id.lower()]
    return visit.page(
        "groups.html",
        groups=matching[:LISTED],
        matching=len(matching),
        total=len(found),
        q=visit.query("q"),
        markers={one.group: one for one in (await visit.group_positions(admin)).markers},
    )


async def one(visit: ConsoleRequest) -> Response:
    """The page of one group: members, assignment, and lag to the last stable offset and to the log end."""
    admin = await visit.admin()
    described = await group_with_positions(admin, visit.name("group"))
    return visit.page(
        "group.html",
        group=described.group,
        idle=described.group.state in IDLE,
        positions=[one for one in described.positions if one.marker is None],
        markers=[one.marker for one in described.positions if one.marker is not None],
        shared=described.shared,
        lag=sum(position.lag or 0 for position in described.shared or described.positions),
        lag_to_end=sum(position.lag_to_end or 0 for position in described.positions),
    )


async def readers(visit: ConsoleRequest) -> Response:
    """The part of a topic's page with the groups that have a position in the topic."""
    admin, topic = await visit.admin(), visit.name("topic")
    found = await visit.group_positions(admin)
    return visit.page(
        "topic_readers.html",
        reading=found.readers_of(topic),
        markers=found.markers_in(topic),
        left_out=found.left_out,
        refused=found.refused,
    )


async def plan_reset(visit: ConsoleRequest) -> Response:
    """The form for a reset, and a preview of its effect."""
    admin, group = await visit.admin(), visit.name("group")
    moves: dict[TopicPartition, PositionChange] = {}
    problem = ""
    target = visit.query("to")
    if target:
        try:
            topic = visit.query("topic")
            names = await admin.partitions(topic) if topic else None
            moves = await planned_moves(admin, group, names, _target(visit, target))
            if not moves:
                problem = f"group {group} has no positions: name a topic to set some"
        except ConfigError as error:
            problem = str(error)
    return visit.page(
        "reset.html",
        name=group,
        targets=TARGETS,
        target=target or "earliest",
        topic=visit.query("topic"),
        value=visit.query("time"),
        moves=moves,
        problem=problem,
    )


def _target(visit: ConsoleRequest, target: str) -> LogPlace | int:
    value = visit.query("time").strip()
    match target:
        case "earliest":
            return BEGINNING
        case "latest":
            return END
        case "time":
            return LogPlace(PositionKind.TIME, parse_time("the time", value))
        case "offset" | "shift":
            try:
                number = int(value.replace(",", ""))
            except ValueError:
                raise ConfigError(f"enter a number of records or an offset, not {value!r}") from None
            if target == "offset" and number < 0:
                raise ConfigError(f"an offset must be 0 or more, not {number}")
            return number if target == "shift" else LogPlace(PositionKind.OFFSET, number)
        case _:
            raise ConfigError(f"the target of a reset must be one of {', '.join(TARGETS)}, not {target!r}")


async def reset(visit: ConsoleRequest) -> Response:
    """Set the group's offsets to exactly those that the preview showed."""
    admin, group = await visit.admin(), visit.field("name")
    offsets = dict(_shown_move(text) for text in visit.form.get("move", []))
    if not offsets:
        raise RefusedRequest("no position was chosen")
    try:
        await move(admin, group, offsets)
    except GroupRefused as error:
        raise RefusedRequest(str(error)) from None
    return visit.done(f"{len(offsets)} positions of {group} were moved.", "/group", name=group)


def _shown_move(text: str) -> tuple[TopicPartition, int]:
    topic, partition, offset = text.rsplit(":", 2) if text.count(":") >= 2 else ("", "", "")
    if not (partition.isdecimal() and offset.isdecimal() and len(partition) < 10 and len(offset) < 19):
        raise RefusedRequest(f"a move must be TOPIC:PARTITION:OFFSET, not {text!r}")
    return TopicPartition(topic, int(partition)), int(offset)


async def confirm_delete(visit: ConsoleRequest) -> Response:
    """Ask for confirmation, showing what would be deleted."""
    found, offsets = await existing_group(await visit.admin(), visit.name("group"))
    return visit.page(
        "delete_group.html", group=found, offsets=offsets.positions, markers=offsets.markers, idle=found.state in IDLE
    )


async def delete(visit: ConsoleRequest) -> Response:
    """Delete a group without members."""
    name = visit.field("name")
    await (await visit.admin()).delete_consumer_groups([name])
    return visit.done(f"Group {name} was deleted.", "/groups")
