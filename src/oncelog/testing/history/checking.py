"""Finds contradictions to exactly-once in a history, each with a minimal set of events that proves it.

``lost``: an acknowledged record, or one of a committed transaction, is not in the log. ``doubled``: a record is stored
more often than it was sent. ``aborted-read``: a read_committed reader got a record whose transaction was aborted, or
whose commit had not been requested. ``torn``: a part of a transaction is readable, another part is not.
``out-of-order``: records of one producer are stored in another order than sent, or a reader's offsets go back.
``non-monotonic``: a group's committed positions go back. ``skipped``: a reader did not get a committed record between
its start and its last record. A set of events is minimal if no event can be left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from oncelog.testing.history.events import (
    AbortAsked,
    Aborted,
    CommitAsked,
    Committed,
    Event,
    GroupOffset,
    History,
    Opened,
    Read,
    Rebalanced,
    Sent,
    Started,
)
from oncelog.testing.history.history_index import HistoryIndex, PartitionRead
from oncelog.types import TopicPartition

Found = Iterator[tuple[str, list[Event]]]
"""Contradictions: for each a sentence, and events that prove it, which may be more than the minimal set."""

_REDUCED = 50
"""The maximum number of anomalies of one kind whose events are reduced to a minimal set; the reduction takes one check
for each event."""


class Anomaly(NamedTuple):
    """One contradiction. ``events`` are in the order of the history."""

    kind: str
    detail: str
    events: tuple[Event, ...]

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


def check(history: History, *, kinds: Collection[str] | None = None, repeats: Collection[str] = ()) -> list[Anomaly]:
    """All contradictions to exactly-once.

    :param kinds: only contradictions of these kinds.
    :param repeats: producers that may store a record twice, because they are not idempotent.
    """
    found = []
    index = HistoryIndex(history)
    for kind, events_of in CHECKS.items():
        if kinds is not None and kind not in kinds:
            continue
        for number, (detail, events) in enumerate(events_of(index, repeats)):
            ordered = _in_order(history, events)
            smallest = _smallest(kind, detail, ordered, repeats) if number < _REDUCED else ordered
            found.append(Anomaly(kind, detail, tuple(smallest)))
    return found


def _in_order(history: History, events: Sequence[Event]) -> list[Event]:
    wanted = {id(event) for event in events}
    return [event for event in history if id(event) in wanted]


def _smallest(kind: str, detail: str, events: list[Event], repeats: Collection[str]) -> list[Event]:
    """A minimal set of events that prove the contradiction: all that cannot be left out."""
    kept = list(events)
    for event in reversed(events):
        without = [one for one in kept if one is not event]
        if any(found == detail for found, _ in CHECKS[kind](HistoryIndex(without), repeats)):
            kept = without
    return kept


def _lost(index: HistoryIndex, repeats: Collection[str]) -> Found:
    for one in index.acknowledged:
        sent = index.answered(one)
        number = None if sent is None else sent.transaction
        of_it: list[Event] = [] if sent is None else [sent]
        stored = index.uncommitted.get(one.where)
        if stored is not None and not _has(stored, one.offset, one.record):
            other = stored.at.get(one.offset)
            there = "nothing" if other is None else repr(other.record)
            yield (
                f"{one.record!r} was acknowledged at offset {one.offset} of {one.where}, where {there} is",
                [one, *of_it, *stored.shown, *([] if other is None else [other])],
            )
            continue
        readable = index.committed.get(one.where)
        committed = None if number is None else index.first(number, Committed)
        if readable is None or (number is not None and committed is None):
            continue
        if not _has(readable, one.offset, one.record):
            yield (
                f"{one.record!r} at offset {one.offset} of {one.where} was acknowledged"
                + ("" if number is None else f", transaction {number} was committed")
                + ", and nobody is given it",
                [one, *of_it, *([] if committed is None else [committed]), *readable.shown, *_at(readable, one.offset)],
            )


def _has(look: PartitionRead, offset: int, record: bytes) -> bool:
    found = look.at.get(offset)
    return found is not None and found.record == record


def _at(look: PartitionRead, offset: int) -> list[Event]:
    found = look.at.get(offset)
    return [] if found is None else [found]


def _doubled(index: HistoryIndex, repeats: Collection[str]) -> Found:
    stored = {where: index.stored(where) for where in {**index.committed, **index.uncommitted}}
    reported = set()
    for held, only_committed in ((stored, False), (index.committed, True)):
        copies: dict[tuple[bytes, str], list[tuple[Read, PartitionRead]]] = defaultdict(list)
        for where, look in held.items():
            if look is None:
                continue
            for read in look.reads:
                copies[read.record, where.topic].append((read, look))
        for key, found in copies.items():
            senders = index.sends(*key)
            if only_committed:
                senders = [one for one in senders if _aborted(index, one) is None]
            repeating = any(one.producer.partition(".")[0] in repeats for one in senders)
            if key in reported or not senders or len(found) <= len(senders) or repeating:
                continue
            reported.add(key)
            places = ", ".join(f"offset {read.offset} of {read.where}" for read, _ in found)
            reads: list[Event] = [read for read, _ in found]
            shown = [event for look in {look.read_all: look for _, look in found}.values() for event in look.shown]
            yield f"{key[0]!r} was sent {len(senders)} times and is stored at {places}", [*senders, *reads, *shown]


def _aborted(index: HistoryIndex, sent: Sent) -> Event | None:
    """The event that shows that the record's transaction was aborted; None if no event shows that."""
    if sent.transaction is None or index.first(sent.transaction, CommitAsked) is not None:
        return None
    return index.first(sent.transaction, Aborted) or index.first(sent.transaction, AbortAsked)


def _aborted_read(index: HistoryIndex, repeats: Collection[str]) -> Found:
    for read in index.reads:
        senders = index.senders(read)
        if not senders or not index.is_committed(read.reader):
            continue
        what = f"{read.reader} was given {read.record!r} (offset {read.offset} of {read.where})"
        reasons = [_why_hidden(index, sent, read) for sent in senders]
        why, *_ = reasons[-1]
        if all(one[0] for one in reasons):  # reported only if every possible writer of the value is ruled out
            proofs = [event for _, proof in reasons for event in proof]
            yield f"{what} {why}", [read, *index.opened(read.reader), *senders, *proofs]


def _why_hidden(index: HistoryIndex, sent: Sent, read: Read) -> tuple[str, list[Event]]:
    """The reason why a reader must not receive a record at this time, and the events that prove it; an empty text if it
    may."""
    if sent.transaction is None:
        return "", []
    ended, asked = _aborted(index, sent), index.first(sent.transaction, CommitAsked)
    if ended is not None:
        return f"of aborted transaction {sent.transaction}", [ended]
    if asked is None or index.is_before(read, asked):
        return "before its commit was asked for", [] if asked is None else [asked]
    return "", []


def _torn(index: HistoryIndex, repeats: Collection[str]) -> Found:
    parts: dict[int, list[Sent]] = defaultdict(list)
    for sent in index.sent:
        if sent.transaction is not None and index.where(sent) in index.committed:
            parts[sent.transaction].append(sent)
    for number, records in parts.items():
        found = {
            id(one): index.read_of(one, index.committed[index.where(one)]) for one in records if index.is_certain(one)
        }
        there = [one for one in records if found.get(id(one)) is not None]
        missing = [one for one in records if id(one) in found and found[id(one)] is None]
        if not missing:
            continue
        lacking = [*_placed(index, missing[0]), *index.committed[index.where(missing[0])].shown]
        if there:
            where = index.where(there[0])
            read = found[id(there[0])]
            yield (
                f"of transaction {number} {there[0].record!r} is readable, and {missing[0].record!r} is not",
                [*_placed(index, there[0]), *([] if read is None else [read]), *index.committed[where].shown, *lacking],
            )
        elif (committed := index.first(number, Committed)) is not None:
            yield f"transaction {number} was committed, and nothing of it is readable", [committed, *lacking]


def _placed(index: HistoryIndex, sent: Sent) -> list[Event]:
    """The events that show in which partition a record is: its sending, and its acknowledgement if the sending names no
    partition."""
    if sent.where.partition >= 0:
        return [sent]
    answer = index.answer_to(sent)
    return [sent] if answer is None else [sent, answer]


def _out_of_order(index: HistoryIndex, repeats: Collection[str]) -> Found:
    last: dict[tuple[str, TopicPartition], tuple[Read, Sent]] = {}
    for sent in index.sent:
        where = index.where(sent)
        look = index.stored(where)
        read = None if look is None or not index.is_certain(sent) else index.read_of(sent, look)
        if look is None or read is None:
            continue
        before = last.get((sent.producer, where))
        if before is not None and read.offset < before[0].offset:
            yield (
                f"{sent.producer} sent {before[1].record!r} before {sent.record!r}; {where} has them at offsets "
                f"{before[0].offset} and {read.offset}",
                [
                    *_placed(index, before[1]),
                    *_placed(index, sent),
                    before[0],
                    read,
                    *look.shown,
                ],
            )
        last[sent.producer, where] = read, sent
    yield from _readers_back(index)


def _readers_back(index: HistoryIndex) -> Found:
    latest: dict[tuple[str, TopicPartition], Read] = {}
    for event in index.events:
        match event:
            case Started(reader=reader, where=where):
                latest.pop((reader, where), None)
            case Rebalanced(reader=reader) | Opened(reader=reader):
                latest = {key: read for key, read in latest.items() if key[0] != reader}
            case Read(reader=reader, where=where, offset=offset):
                before = latest.get((reader, where))
                if before is not None and offset <= before.offset:
                    yield f"{reader} was given offset {offset} of {where} after {before.offset}", [before, event]
                latest[reader, where] = event


def _non_monotonic(index: HistoryIndex, repeats: Collection[str]) -> Found:
    latest: dict[tuple[str, TopicPartition], GroupOffset] = {}
    for event in index.events:
        if not isinstance(event, GroupOffset):
            continue
        before = latest.get((event.group, event.where))
        if before is not None and event.offset < before.offset:
            yield (
                f"group {event.group} was at offset {before.offset} of {event.where}, and later at {event.offset}",
                [before, event],
            )
        latest[event.group, event.where] = event


def _skipped(index: HistoryIndex, repeats: Collection[str]) -> Found:
    stretches: dict[tuple[str, TopicPartition], list[Event]] = {}
    for event in index.events:
        if isinstance(event, Started):
            yield from _gap(index, stretches.pop((event.reader, event.where), []))
            stretches[event.reader, event.where] = [event]
        elif isinstance(event, Read):
            stretches.setdefault((event.reader, event.where), []).append(event)
        elif isinstance(event, Rebalanced | Opened):
            for key in [key for key in stretches if key[0] == event.reader]:
                yield from _gap(index, stretches.pop(key))
    for stretch in stretches.values():
        yield from _gap(index, stretch)


def _gap(index: HistoryIndex, stretch: Sequence[Event]) -> Found:
    """Find a committed record that lies between records of a reader's sequence, but is missing from it."""
    reads = [event for event in stretch if isinstance(event, Read)]
    look = index.committed.get(reads[0].where) if reads else None
    if look is None or look.read_all.reader == reads[0].reader:
        return
    first = stretch[0]
    begin = min(reads[0].offset, first.offset) if isinstance(first, Started) else reads[0].offset
    given = {read.offset for read in reads}
    missing = [read for read in look.reads if begin <= read.offset <= reads[-1].offset and read.offset not in given]
    if missing:
        yield (
            f"{reads[0].reader}, from {begin} on, was given offsets {reads[0].offset} to {reads[-1].offset} of "
            f"{reads[0].where}, but not {missing[0].offset}",
            [first, reads[0], reads[-1], missing[0], *look.shown],
        )


CHECKS: Mapping[str, Callable[[HistoryIndex, Collection[str]], Found]] = {
    "lost": _lost,
    "doubled": _doubled,
    "aborted-read": _aborted_read,
    "torn": _torn,
    "out-of-order": _out_of_order,
    "non-monotonic": _non_monotonic,
    "skipped": _skipped,
}
