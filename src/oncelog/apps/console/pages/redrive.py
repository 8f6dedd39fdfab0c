"""Shows which dead letters would be sent back to their topics, and sends them back with the code of ``oncelog
redrive``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from starlette.responses import Response

from oncelog.apps.console.web import ConsoleRequest, RefusedRequest
from oncelog.apps.redrive.dead_letters import NAME, DeadLetterOutcome, Plan, RedriveError, origin_error
from oncelog.apps.redrive.redriving import Decided, Redrive, group_of, opened
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.core.config import ConsumerConfig, ProducerConfig
from oncelog.types import TopicPartition

DEFAULT_LIMIT, MAX_LIMIT = 100, 5_000
"""The default and the maximum number of dead letters that one form sends back; they are limited because the visitor
waits for the response."""
SHOWN = 200
TRANSACTION_SIZE = 500
FIELDS = ("topic", "to", "error", "where", "name", "limit", "max_attempts", "parking", "first_run")


@dataclass(frozen=True, slots=True)
class _RedriveForm:
    """The contents of a form."""

    topic: str
    name: str
    limit: int
    plan: Plan
    first_run: bool

    def opened(self, visit: ConsoleRequest, admin: Admin, *, dry_run: bool) -> AbstractAsyncContextManager[Redrive]:
        group = group_of(self.topic, self.name)
        settings = visit.client_settings
        reading = ConsumerConfig(**settings)
        writing = None if dry_run else ProducerConfig(**settings, transactional_id=group)
        return opened(
            admin,
            reading,
            writing,
            self.topic,
            group,
            self.plan,
            transaction_size=TRANSACTION_SIZE,
            limit=self.limit,
            first_run=self.first_run,
        )


async def preview(visit: ConsoleRequest) -> Response:
    """The form of a redrive, and a preview of what would be done with the next dead letters."""
    visit.name("topic", "topic")
    given = {name: visit.query(name).strip() for name in FIELDS}
    decided: list[Decided] = []
    problem, begun, left = "", "", 0
    try:
        asked = _asked(given)
        async with asked.opened(visit, await visit.admin(), dry_run=True) as redrive:
            begun = _positions(redrive.positions)
            while (more := await redrive.round()) is not None:
                decided += more
            left = redrive.left
    except (RefusedRequest, RedriveError) as error:
        problem = str(error)
    written = sum(one.dead_letter is not None for one in decided)
    return visit.page(
        "redrive.html",
        given={**given, "name": given["name"] or "default", "limit": given["limit"] or DEFAULT_LIMIT},
        group=group_of(given["topic"], given["name"] or "default"),
        dead_letters=[(one, origin_error(one.record)) for one in decided[:SHOWN]],
        more=max(0, len(decided) - SHOWN),
        written=written,
        begun=begun,
        left=left,
        problem=problem,
    )


async def carry_out(visit: ConsoleRequest) -> Response:
    """Send the next dead letters back; refused if this redrive has advanced since the preview was shown."""
    asked = _asked({name: visit.field(name) for name in FIELDS})
    async with asked.opened(visit, await visit.admin(), dry_run=False) as redrive:
        if _positions(redrive.positions) != visit.field("begun"):
            raise RefusedRequest(f"this redrive of {asked.topic} has advanced: reload the page")
        while await redrive.round() is not None:
            continue
        counts = redrive.counts
    text = f"{counts[DeadLetterOutcome.SENT]} dead letters were sent back"
    text += f", {counts[DeadLetterOutcome.PARKED]} parked" if counts[DeadLetterOutcome.PARKED] else ""
    text += f", {counts[DeadLetterOutcome.PASSED]} passed over" if counts[DeadLetterOutcome.PASSED] else ""
    text += f", {redrive.deleted} offsets deleted unread, before this redrive" if redrive.deleted else ""
    return visit.done(f"{text}.", "/topic", name=asked.topic)


def _asked(given: Mapping[str, str]) -> _RedriveForm:
    """The form's contents, checked.

    :raises RefusedRequest: a field is wrong.
    """
    topic, to, parking = given["topic"], given["to"] or None, given["parking"]
    if not topic:
        raise RefusedRequest("name the topic with the dead letters")
    if topic in (to, parking):
        raise RefusedRequest(f"dead letters cannot be sent or parked in their own topic, {topic}")
    if bool(parking) != bool(given["max_attempts"]):
        raise RefusedRequest("set both a number of attempts and a parking topic, or neither")
    name = given["name"] or "default"
    if not NAME.fullmatch(name):
        raise RefusedRequest(f"a name has 1 to 100 of the characters a-z, A-Z, 0-9, '.', '_' and '-', not {name!r}")
    header, equals, value = given["where"].partition("=")
    if given["where"] and not (header and equals):
        raise RefusedRequest(f"a header is chosen by HEADER=VALUE, not {given['where']!r}")
    where = ((header, value.encode()),) if header else ()
    attempts = _number(given["max_attempts"], "attempts", None, 1_000_000)
    limit = _number(given["limit"], "dead letters", DEFAULT_LIMIT, MAX_LIMIT) or DEFAULT_LIMIT
    plan = Plan(to, where, given["error"] or None, attempts, parking)
    return _RedriveForm(topic, name, limit, plan, first_run=given["first_run"] == "1")


def _number(text: str, what: str, default: int | None, high: int) -> int | None:
    if not text:
        return default
    if not (text.isdecimal() and len(text) < 10 and 1 <= int(text) <= high):
        raise RefusedRequest(f"enter how many {what}, from 1 to {high}, not {text!r}")
    return int(text)


def _positions(positions: Mapping[TopicPartition, int]) -> str:
    return " ".join(f"{name.partition}:{position}" for name, position in sorted(positions.items()))
