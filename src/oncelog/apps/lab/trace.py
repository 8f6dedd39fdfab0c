"""The events of a flow, as data: events in order, the log at the end, and the promises that were checked.

Pure. Filled by the recorder (from frames) and by the context (from logs); shown as text, JSON and drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

BROKER, COORDINATOR, PARTITION = "broker", "coordinator", "partition"


class TraceKind(Enum):
    """How an event was observed."""

    REQUEST = "request"
    ANSWER = "answer"
    LOG = "log"
    """The event was read from a log afterwards, because messages between coordinator and partition do not pass the
    proxy."""
    NOTE = "note"
    """An action or a finding of an actor, or an action of the lab on an actor."""


class TraceDelivery(Enum):
    """Whether a message reached its receiver."""

    ARRIVED = "arrived"
    LOST = "lost"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One event. ``source`` and ``target`` are lanes; for a note both are the same."""

    kind: TraceKind
    source: str
    target: str
    text: str
    delivery: TraceDelivery = TraceDelivery.ARRIVED
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TraceBatch:
    """A batch in the partition at the end of a flow; ``outcome`` in the words of ``oncelog consume
    --show-transactions``."""

    offset: int
    last_offset: int
    outcome: str
    producer_id: int
    producer_epoch: int
    sequence: int
    values: tuple[str, ...]
    coordinator_epoch: int | None


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise that the flow checks, and whether it held."""

    text: str
    held: bool


@dataclass(slots=True)
class Trace:
    """One run of a flow."""

    name: str
    title: str
    lesson: str
    broker: str
    topic: str
    lanes: Sequence[str]
    events: list[TraceEvent]
    log: list[TraceBatch]
    promises: list[Promise]
    left_out: Mapping[str, int]
    """The number of requests not shown, by API."""

    @property
    def held(self) -> bool:
        return all(promise.held for promise in self.promises)


def as_json(trace: Trace) -> dict[str, object]:
    """The trace as an object for ``--json``."""
    return {
        "flow": trace.name,
        "title": trace.title,
        "broker": trace.broker,
        "topic": trace.topic,
        "held": trace.held,
        "events": [
            {
                "kind": event.kind.value,
                "from": event.source,
                "to": event.target,
                "text": event.text,
                "delivery": event.delivery.value,
                **event.fields,
            }
            for event in trace.events
        ],
        "log": [
            {
                "offset": entry.offset,
                "last_offset": entry.last_offset,
                "outcome": entry.outcome,
                "producer_id": entry.producer_id,
                "producer_epoch": entry.producer_epoch,
                "sequence": entry.sequence,
                "values": list(entry.values),
                "coordinator_epoch": entry.coordinator_epoch,
            }
            for entry in trace.log
        ],
        "promises": [{"text": promise.text, "held": promise.held} for promise in trace.promises],
        "left_out": dict(trace.left_out),
    }


_ARROWS = {TraceDelivery.ARRIVED: "->", TraceDelivery.LOST: "-x", TraceDelivery.REFUSED: "->"}


def as_lines(trace: Trace) -> list[str]:
    """The lines of a trace, as the terminal shows them."""
    lines = [trace.title, f"  on {trace.broker}, topic {trace.topic}", ""]
    ways = [
        event.source if event.source == event.target else f"{event.source} {_ARROWS[event.delivery]} {event.target}"
        for event in trace.events
    ]
    width = max(map(len, ways), default=0)
    for number, (way, event) in enumerate(zip(ways, trace.events, strict=True), 1):
        lost = " (lost)" if event.delivery is TraceDelivery.LOST else ""
        seen = " (read in the log)" if event.kind is TraceKind.LOG else ""
        lines.append(f"  {number:2}  {way:<{width}}  {event.text}{lost}{seen}")
    lines += ["", "  the partition at the end:"]
    lines += [f"    {line}" for line in log_lines(trace.log)]
    lines += ["", *(f"  {'holds' if promise.held else 'DOES NOT HOLD'}: {promise.text}" for promise in trace.promises)]
    return lines


def log_lines(log: Sequence[TraceBatch]) -> list[str]:
    """One line of text for each batch in the log."""
    lines = []
    for entry in log:
        offsets = span(entry.offset, entry.last_offset)
        who = f"PID {entry.producer_id}, epoch {entry.producer_epoch}" if entry.producer_id >= 0 else "no PID"
        if entry.coordinator_epoch is not None:
            lines.append(f"{offsets:>5}  {entry.outcome} of {who}, coordinator epoch {entry.coordinator_epoch}")
            continue
        last = entry.sequence + entry.last_offset - entry.offset
        numbered = f", sequence {span(entry.sequence, last)}" if entry.sequence >= 0 else ""
        lines.append(f"{offsets:>5}  {', '.join(entry.values)}: {entry.outcome}, {who}{numbered}")
    return lines or ["nothing"]


def span(first: int, last: int) -> str:
    """``3`` or ``3-5``."""
    return str(first) if first == last else f"{first}-{last}"
