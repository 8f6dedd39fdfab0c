"""Shows a partition as a chart of its offsets, updated while records arrive."""

from __future__ import annotations

from starlette.responses import Response

from oncelog.apps.console.offset_chart import draw, segments
from oncelog.apps.console.reading import LOOK_AHEAD_BYTES, Ends, ends_of, led
from oncelog.apps.console.web import ConsoleRequest, RefusedRequest
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import DecidedBatch, OutcomeReader
from oncelog.types import TopicPartition, partitions_there

WINDOWS = (100, 1000, 10_000, 100_000)
STEP_BYTES = 1024 * 1024
BUDGET_BYTES = 16 * 1024 * 1024
LISTED = 60


async def page(visit: ConsoleRequest) -> Response:
    """The chart of one partition, or a form to choose one."""
    admin, topic = await visit.admin(), visit.query("topic")
    if not topic:
        return visit.page("partition_choose.html", topics=(await admin.list_topics(internal=True))[:5000])
    described = (await admin.describe_topics([topic]))[0]
    count = len(described.partitions)
    number = visit.number("partition", 0)
    if number >= count:
        raise RefusedRequest(f"topic {topic!r} has no partition {number}; {partitions_there(count)}")
    name = TopicPartition(topic, number)
    if name not in led([described]):
        raise RefusedRequest(f"no node leads {name} now, so its offsets are unknown: see Brokers")
    ends = (await ends_of(admin, [name]))[name]
    window = visit.number("window", 1000, 10, WINDOWS[-1])
    end = visit.number("end", ends.end, ends.first, ends.end) if visit.query("end") else ends.end
    start = max(ends.first, end - window)
    batches, read_to = await _batches(admin, name, start, end)
    found = segments(batches)
    groups = await visit.group_positions(admin)
    positions = groups.within([name])[name]
    shares = {group: offsets[name] for group, offsets in groups.shared.items() if name in offsets}
    pins = positions | {
        f"{group} (share group)": one.start_offset for group, one in shares.items() if one.start_offset is not None
    }
    producers = await visit.producers()
    names = await producers.names(batch.header for batch, _ in batches)
    return visit.page(
        "partition.html",
        topic=topic,
        partition=number,
        partitions=count,
        ends=ends,
        following=end >= ends.end,
        window=window,
        windows=WINDOWS,
        read_to=read_to,
        chart=draw(found, start, max(end, start + 1), pins),
        listed=[one for one in found if one.start < end][-LISTED:][::-1],
        names=names,
        readers=_readers(positions, ends),
        shares=shares,
        markers=groups.markers_in(topic, number),
        left_out=groups.left_out,
    )


def _readers(positions: dict[str, int], ends: Ends) -> list[tuple[str, int, int, int, bool]]:
    """For each group: its name, its position, its lag to the last stable offset and to the log end, and whether an open
    transaction keeps it from reading on."""
    return [
        (group, offset, max(0, ends.stable - offset), max(0, ends.end - offset), ends.stable <= offset < ends.end)
        for group, offset in sorted(positions.items())
    ]


async def _batches(admin: Admin, name: TopicPartition, start: int, end: int) -> tuple[list[DecidedBatch], int]:
    """The batches between two offsets with their outcomes, and how far they were read."""
    reader = OutcomeReader(
        admin, name, start, step_bytes=STEP_BYTES, look_ahead_bytes=LOOK_AHEAD_BYTES, headers_only=True
    )
    found: list[DecidedBatch] = []
    size = 0
    while reader.position < end and size < BUDGET_BYTES:
        more = await reader.step_batches()
        if not more:
            break
        found += more
        size += sum(batch.header.batch_length for batch, _ in more)
    return found, min(reader.position, end)
