"""``oncelog consume --show-transactions``: shows every stored record with its outcome and its producer."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any

from oncelog.cli.records.consume_range import POLL_MS, ConsumeRange, bounds, partitions_of
from oncelog.cli.shared.output import counted, remark
from oncelog.cli.shared.record_lines import decoded, dumped, shown
from oncelog.cli.shared.stop_signal import Stop
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import OutcomeReader, Producers, StoredRecord
from oncelog.client.core.config import AdminConfig
from oncelog.client.positions import EARLIEST, LATEST
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.runtime.shown import json_bytes, show_text
from oncelog.types import INTERNAL_TOPICS, TopicPartition

if TYPE_CHECKING:
    from oncelog.cli.shared.schema_values import Decoding

HEADINGS = ("PARTITION:OFFSET", "OUTCOME", "PRODUCER-ID/EPOCH", "TRANSACTIONAL-ID", "KEY", "VALUE")


async def show_outcomes(
    config: AdminConfig, what: ConsumeRange, *, null: str | None, decoding: Decoding | None
) -> None:
    """Show stored records until a limit of ``what`` is reached, or a signal cancels the task.

    :param null: the text for null in lines of text; None for lines of JSON.
    :param decoding: decodes keys and values by their schemas, except in internal topics, whose records are shown as
        fields.
    """
    task = asyncio.current_task()
    if task is not None:
        Stop(partial(asyncio.get_running_loop().call_soon_threadsafe, task.cancel))
    output = sys.stdout.buffer
    count = 0
    try:
        async with Admin(config=config) as admin:
            producers = Producers(admin)
            if null is not None:
                output.write(("\t".join(HEADINGS) + "\n").encode())
            async for name, stored in _outcomes(admin, what):
                internal = name.topic in INTERNAL_TOPICS
                transactional_id = await producers.name(stored.header)
                line = partial(_line_of, name, stored, transactional_id, null)
                output.write(await asyncio.to_thread(line, decoding) if decoding and not internal else line(None))
                count += 1
    except asyncio.CancelledError:
        pass
    output.flush()
    remark(f"{counted(count, 'record')}, control records included")


async def _outcomes(admin: Admin, what: ConsumeRange) -> AsyncIterator[tuple[TopicPartition, StoredRecord]]:
    """The stored records of the partitions, partition by partition, until a limit of ``what`` is reached."""
    names = partitions_of(what, {topic: len(await admin.partitions(topic)) for topic in what.topics})

    async def offsets(time_ms: int) -> dict[TopicPartition, int]:
        found = await admin.list_offsets(dict.fromkeys(names, time_ms))
        return {name: item.offset for name, item in found.items()}

    at_until = None if what.until_ms is None else await offsets(what.until_ms)
    starts, ends = bounds(
        what, await offsets(EARLIEST), await offsets(LATEST), await offsets(what.start.lookup()), at_until
    )
    walkers = [OutcomeReader(admin, name, starts[name]) for name in names]
    left, quiet_since = what.max_messages, real_time.monotonic()
    while True:
        came = False
        for walker in walkers:
            if ends is not None and walker.position >= ends[walker.name]:
                continue
            for stored in await walker.step():
                if ends is None or stored.record.offset < ends[walker.name]:
                    yield walker.name, stored
                    came = True
                    left = None if left is None else left - 1
                    if left == 0:
                        return
        if ends is not None and all(walker.position >= ends[walker.name] for walker in walkers):
            return
        if came:
            quiet_since = real_time.monotonic()
            continue
        if what.timeout is not None and real_time.monotonic() - quiet_since >= what.timeout:
            return
        sys.stdout.flush()
        await asyncio.sleep(POLL_MS / 1000)


def _line_of(
    name: TopicPartition,
    stored: StoredRecord,
    transactional_id: str | None,
    null: str | None,
    decoding: Decoding | None,
) -> bytes:
    if null is None:
        return _json_line(name, stored, transactional_id, decoding)
    header, record, outcome = stored
    producer = f"{header.producer_id}/{header.producer_epoch}" if header.has_producer_id else "-"
    fields = [f"{name}:{record.offset}", outcome.value, producer, show_text(transactional_id or "-")]
    if not header.is_control:
        fields += decoding.texts(fields[0], record, null) if decoding else shown(name.topic, record, null)
    return ("\t".join(fields) + "\n").encode()


def _json_line(
    name: TopicPartition, stored: StoredRecord, transactional_id: str | None, decoding: Decoding | None
) -> bytes:
    header, record, outcome = stored
    fields: dict[str, Any] = {
        "topic": name.topic,
        "partition": name.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "outcome": outcome.value,
        "control": header.is_control,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "transactional_id": transactional_id,
        "sequence": record.sequence,
    }
    about: dict[str, Any] = {}
    if not header.is_control:
        if decoding:
            parts, about = decoding.members(record)
            fields.update(parts)
        else:
            fields["key"], fields["value"] = decoded(name.topic, record)
        fields["headers"] = [[key, json_bytes(value)] for key, value in record.headers]
    return dumped({**fields, **about})
