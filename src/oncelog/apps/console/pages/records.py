"""Shows records: browsing, searching, a single record, and new records as they are written."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from oncelog.apps.console.avro import PastedSchema
from oncelog.apps.console.decoding import DisplayedValue, RecordDecoding, ValueDecoder, decode
from oncelog.apps.console.reading import (
    LOOK_AHEAD_BYTES,
    MAX_PARTITIONS,
    STEP_BYTES,
    Ends,
    Positions,
    RecordPage,
    TopicReading,
    Yielding,
    decode_positions,
    encode_positions,
    ends_of,
    led,
)
from oncelog.apps.console.search import RecordFilter
from oncelog.apps.console.web import ConsoleRequest, RefusedRequest, link
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import OutcomeReader, RecordOutcome, StoredRecord
from oncelog.client.core.admin.admin_types import TopicDescription
from oncelog.client.positions import parse_time
from oncelog.errors import OncelogError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_json as json
from oncelog.schemas.framing import shown_header
from oncelog.types import TopicPartition, partitions_there

LIMIT = 50
LIVE_SECONDS = 0.5
LIVE_MAX_ROWS = 100
"""The maximum number of rows in one message to the page; further records are only counted."""
QUIET_TICKS = 20
MAX_TAILS = 200
"""The maximum number of live tails of all visitors together; each live tail sends requests to the broker twice a
second."""
MAX_SCHEMAS = 10
"""The maximum number of Avro schemas that a session stores; the oldest are dropped."""
MAX_SCHEMA = 100_000
MAX_TOPIC_NAME = 249
DOWNLOAD_HEADERS = {"Content-Disposition": 'attachment; filename="record.bin"'}


async def browse(visit: ConsoleRequest) -> Response:
    """The page of records."""
    topic = visit.query("topic")
    admin = await visit.admin()
    if not topic:
        return visit.page("records_choose.html", topics=(await admin.list_topics(internal=True))[:5000])
    described = (await admin.describe_topics([topic]))[0]
    counts = len(described.partitions)
    chosen, leaderless = _led(described, _chosen(visit, counts))
    ends = {name.partition: end for name, end in (await ends_of(admin, chosen)).items()}
    reading = await _reading(visit, admin)
    search = RecordFilter.parse(visit.query("key"), visit.query("text"), visit.query("path"), visit.query("equals"))
    found, newest = await _found(visit, reading, search, ends)
    older = link("/records", **{**_kept(visit), "before": encode_positions(found.next)})
    later = link("/records", **{**_kept(visit), "at": encode_positions(found.next)})
    return visit.page(
        "records.html",
        topic=topic,
        partitions=counts,
        leaderless=leaderless,
        ends=ends,
        rows=found.rows,
        looked_at=found.looked_at,
        over=found.over,
        newest=newest,
        searching=bool(search),
        following=older if newest else later,
        live=link("/records/live", **_kept(visit)),
        fields={name: visit.query(name) for name in _FIELDS},
        decoders=[decoder.value for decoder in ValueDecoder],
        schema=visit.session.schemas.get(topic),
        first_page=not visit.query("at") and not visit.query("before"),
    )


_FIELDS = ("topic", "partition", "from", "offset", "time", "key", "text", "path", "equals", "kd", "vd", "control")


def _kept(visit: ConsoleRequest) -> dict[str, str]:
    return {name: visit.query(name) for name in _FIELDS}


def _chosen(visit: ConsoleRequest, count: int) -> list[TopicPartition]:
    topic, text = visit.name("topic", "topic"), visit.query("partition")
    if text:
        number = visit.number("partition", -1, -1)
        if not 0 <= number < count:
            raise RefusedRequest(f"topic {topic!r} has no partition {text}; {partitions_there(count)}")
        return [TopicPartition(topic, number)]
    return [TopicPartition(topic, number) for number in range(min(count, MAX_PARTITIONS))]


def _led(topic: TopicDescription, chosen: list[TopicPartition]) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """The chosen partitions that have a leader, and those that have none.

    :raises RefusedRequest: no chosen partition has a leader.
    """
    known = set(led([topic]))
    leaderless = [name for name in chosen if name not in known]
    if len(leaderless) == len(chosen):
        leads = "no node leads it now: see Brokers"
        raise RefusedRequest(f"{', '.join(map(str, leaderless))} cannot be read, because {leads}")
    return [name for name in chosen if name in known], leaderless


async def _reading(visit: ConsoleRequest, admin: Admin) -> TopicReading:
    topic = visit.query("topic")
    decoding = RecordDecoding(
        topic,
        ValueDecoder.named(visit.query("kd")),
        ValueDecoder.named(visit.query("vd")),
        visit.session.schemas.get(topic),
        visit.console.registry,
    )
    return TopicReading(admin, await visit.producers(), decoding, LIMIT, visit.query("control") == "1")


async def _found(
    visit: ConsoleRequest, reading: TopicReading, search: RecordFilter, ends: dict[int, Ends]
) -> tuple[RecordPage, bool]:
    """The page's records, and whether the newest are first."""
    at = {p: max(offset, ends[p].first) for p, offset in decode_positions(visit.query("at")).items() if p in ends}
    before = {p: min(offset, ends[p].end) for p, offset in decode_positions(visit.query("before")).items() if p in ends}
    if search:
        starts = at or await _starts(visit, reading, ends)
        return await reading.search(search, starts, ends), False
    if before:
        return await reading.backward(before, ends), True
    if at or visit.query("from") in ("oldest", "offset", "time"):
        return await reading.forward(at or await _starts(visit, reading, ends), ends), False
    return await reading.backward({p: end.end for p, end in ends.items()}, ends), True


async def _starts(visit: ConsoleRequest, reading: TopicReading, ends: dict[int, Ends]) -> Positions:
    """The positions from which to read, according to the form."""
    kind = visit.query("from")
    if kind == "offset":
        offset = visit.number("offset", 0)
        return {p: min(max(offset, end.first), end.end) for p, end in ends.items()}
    if kind == "time":
        time_ms = parse_time("the time", visit.query("time") or "0")
        wanted = {TopicPartition(reading.topic, p): time_ms for p in ends}
        found = await reading.admin.list_offsets(wanted)
        return {name.partition: ends[name.partition].end if o.offset < 0 else o.offset for name, o in found.items()}
    return {p: end.first for p, end in ends.items()}


async def one(visit: ConsoleRequest) -> Response:
    """The page of one record, with everything known about it."""
    admin = await visit.admin()
    stored, reader = await _stored(visit, admin)
    reading = await _reading(visit, admin)
    header, record, outcome = stored
    await reading.learn([stored])
    key, value = reading.decoding.shown(record)
    return visit.page(
        "record.html",
        topic=visit.query("topic"),
        partition=reader.name.partition,
        header=header,
        record=record,
        outcome=outcome,
        transactional_id=await reading.producers.name(header),
        key=key,
        value=value,
        headers=[(name, _header(name, data)) for name, data in record.headers[:1000]],
        stable=reader.last_stable_offset,
        fields={name: visit.query(name) for name in ("topic", "kd", "vd")},
    )


def _header(name: str, data: bytes | None) -> DisplayedValue:
    of_schema = shown_header(name, data)
    shown = data if of_schema is None else of_schema.encode()
    return decode(None if shown is None else shown[:4096], ValueDecoder.TEXT, None)


async def raw(visit: ConsoleRequest) -> Response:
    """The bytes of a key or value, always as a download, so that a browser never shows them as a page."""
    stored, _ = await _stored(visit, await visit.admin())
    data = stored.record.key if visit.query("part") == "key" else stored.record.value
    return Response(data or b"", media_type="application/octet-stream", headers=DOWNLOAD_HEADERS)


async def _stored(visit: ConsoleRequest, admin: Admin) -> tuple[StoredRecord, OutcomeReader]:
    topic, offset = visit.name("topic", "topic"), visit.number("offset", 0)
    described = (await admin.describe_topics([topic]))[0]
    chosen = _led(described, _chosen(visit, len(described.partitions))[:1])[0][0]
    reader = OutcomeReader(admin, chosen, offset, step_bytes=STEP_BYTES, look_ahead_bytes=LOOK_AHEAD_BYTES)
    for stored in await reader.step():
        if stored.record.offset == offset:
            return stored, reader
    raise RefusedRequest(
        f"{chosen} has no record at offset {offset}: it was deleted or compacted, or does not exist yet"
    )


async def schema(visit: ConsoleRequest) -> Response:
    """Store an Avro schema for a topic's values, for this visitor."""
    topic, text = visit.field("topic"), visit.field("schema")
    if text:
        if len(text) > MAX_SCHEMA or len(topic) > MAX_TOPIC_NAME:
            raise RefusedRequest(
                f"a schema may have at most {MAX_SCHEMA} characters, and a topic's name {MAX_TOPIC_NAME}"
            )
        schemas = visit.session.schemas
        schemas.pop(topic, None)
        schemas[topic] = PastedSchema.parse(text)
        while len(schemas) > MAX_SCHEMAS:
            schemas.pop(next(iter(schemas)))
        return visit.done(f"Values of {topic} are read with that Avro schema.", "/records", topic=topic)
    visit.session.schemas.pop(topic, None)
    return visit.done(f"The Avro schema for {topic} was removed.", "/records", topic=topic)


# --- live tail


async def live(visit: ConsoleRequest) -> Response:
    """A stream of server-sent events: ``begun`` once new records will be shown, ``records`` with new rows, ``ended``
    for a transaction that has ended, ``problem`` when reading fails, ``well`` when it works again.
    """
    admin = await visit.admin()
    topic = visit.name("topic", "topic")
    described = (await admin.describe_topics([topic]))[0]
    chosen, _ = _led(described, _chosen(visit, len(described.partitions)))
    reading = await _reading(visit, admin)
    search = RecordFilter.parse(visit.query("key"), visit.query("text"), visit.query("path"), visit.query("equals"))
    if len(visit.console.tails) >= MAX_TAILS:
        raise RefusedRequest(
            f"{MAX_TAILS} live tails are open, the most allowed: close one, or reload the page instead"
        )
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(_events(visit, reading, search, chosen), media_type="text/event-stream", headers=headers)


async def _events(
    visit: ConsoleRequest, reading: TopicReading, search: RecordFilter, chosen: list[TopicPartition]
) -> AsyncIterator[str]:
    tail = object()
    visit.console.tails.add(tail)
    try:
        async for event in _tail(visit, reading, search, chosen):
            yield event
    finally:
        visit.console.tails.discard(tail)


async def _tail(
    visit: ConsoleRequest, reading: TopicReading, search: RecordFilter, chosen: list[TopicPartition]
) -> AsyncIterator[str]:
    readers: dict[TopicPartition, OutcomeReader] = {}
    quiet, begun, in_trouble = 0, False, False
    yield "retry: 2000\n\n"
    while not visit.console.ended.is_set() and visit.console.sessions.knows(visit.session):
        try:
            sent = False
            async for event in _news(visit, reading, search, chosen, readers):
                yield event
                sent = True
            if not begun:
                yield _event("begun", "")
                begun = True
            elif in_trouble:
                yield _event("well", "")
            in_trouble = False
        except OncelogError as error:
            in_trouble = sent = True
            yield _event("problem", str(error))
        quiet = 0 if sent else quiet + 1
        if quiet >= QUIET_TICKS:
            quiet = 0
            yield ": still here\n\n"
        await asyncio.sleep(LIVE_SECONDS)


async def _news(
    visit: ConsoleRequest,
    reading: TopicReading,
    search: RecordFilter,
    chosen: list[TopicPartition],
    readers: dict[TopicPartition, OutcomeReader],
) -> AsyncIterator[str]:
    """New records since the last call; the first call only notes the partitions' ends."""
    latest = await reading.admin.list_offsets(dict.fromkeys(chosen, -1))
    row_template = visit.console.templates.get_template("_rows.html")
    for name in chosen:
        end = latest[name].offset
        reader = readers.get(name)
        if reader is None or reader.position > end:
            readers[name] = OutcomeReader(
                reading.admin, name, end, step_bytes=STEP_BYTES, look_ahead_bytes=LOOK_AHEAD_BYTES
            )
            continue
        while reader.position < end:
            stored = await reader.step()
            if not stored:
                break
            await reading.learn_for(search, stored)
            wanted, yielding = [], Yielding()
            for one in stored:
                is_found = one.header.is_control or not search or search.finds(one.record, reading.decoding)
                if is_found and reading.wants(one):
                    wanted.append((name.partition, one))
                await yielding.after_each()
            if wanted:
                rows = await reading.rows(wanted[-LIVE_MAX_ROWS:])
                text = row_template.render(rows=rows[::-1], fields={n: visit.query(n) for n in ("topic", "kd", "vd")})
                yield _event("records", json.dumps({"html": text, "count": len(wanted)}))
            for one in stored:
                if one.outcome in (RecordOutcome.COMMIT_MARKER, RecordOutcome.ABORT_MARKER):
                    yield _event("ended", json.dumps({
                        "partition": name.partition, "producer": one.header.producer_id, "offset": one.record.offset,
                        "outcome": "committed" if one.outcome is RecordOutcome.COMMIT_MARKER else "aborted",
                    }))  # fmt: skip


def _event(name: str, text: str) -> str:
    lines = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    return f"event: {name}\n{lines}\n"
