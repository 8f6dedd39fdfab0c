"""Exports a history as Jepsen's EDN for Elle's list-append checker, so that an independent program can judge it.

Each partition is a key, and each record is a number that is appended to it. Each transaction, or record outside a
transaction, is an operation of its producer. Everything that a complete read_committed reader got is one read of all
its partitions. An operation that was aborted is ``:fail``, one whose outcome is unknown is ``:info``. Source: Elle's
``list_append`` and Jepsen's ``history``. Judge the file with ``elle-cli --model list-append --consistency-models
strict-serializable FILE``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from oncelog.testing.history.events import (
    Aborted,
    Committed,
    Event,
    Read,
    ReadAll,
    Sent,
)
from oncelog.testing.history.history_index import HistoryIndex
from oncelog.types import TopicPartition


class _Operation(NamedTuple):
    """An operation; ``at`` and ``end`` are the numbers of the events at which it began and ended."""

    at: int
    end: int
    outcome: str
    process: str
    value: str
    asked: str
    """The operation's value when it began, at which time a read has no result."""


def to_edn(history: Iterable[Event]) -> str:
    """The history in EDN: one line for the invocation and one for the completion of each operation, in the order of the
    events."""
    index = HistoryIndex(history)
    numbers = _Numbers(index)
    operations = [*_appends(index, numbers), *_reads(index, numbers)]
    moments = [(one.at, 0, ":invoke", one) for one in operations]
    moments += [(one.end, 1, one.outcome, one) for one in operations]
    moments.sort(key=lambda moment: moment[:2])
    processes: dict[str, int] = {}
    lines = []
    for number, (at, _, kind, one) in enumerate(moments):
        process = processes.setdefault(one.process, len(processes))
        value = one.asked if kind == ":invoke" else one.value
        lines.append(f"{{:index {number}, :time {at}, :type {kind}, :process {process}, :f :txn, :value [{value}]}}\n")
    return "".join(lines)


class _Numbers:
    """Gives each sent record a number, because Elle requires that each number is appended once. A record that is sent
    again in another transaction gets another number."""

    def __init__(self, index: HistoryIndex) -> None:
        self._index = index
        self._of = {id(sent): number for number, sent in enumerate(index.sent, 1)}
        self._unsent: dict[bytes, int] = {}

    def of_sent(self, sent: Sent) -> int:
        return self._of[id(sent)]

    def of_read(self, read: Read) -> int:
        senders = self._index.senders(read)
        if senders:
            return self._of[id(senders[-1])]
        return self._unsent.setdefault(read.record, len(self._of) + len(self._unsent) + 1)


def _key(where: TopicPartition) -> str:
    return f'"{where}"'


def _append(index: HistoryIndex, sent: Sent, numbers: _Numbers) -> str:
    return f"[:append {_key(index.where(sent))} {numbers.of_sent(sent)}]"


def _appends(index: HistoryIndex, numbers: _Numbers) -> Iterator[_Operation]:
    """The operations that append records. Each transaction has a process of its own, because Jepsen's processes are
    sequential and do nothing after a crash."""
    last = len(index.events)
    of: dict[int, list[Sent]] = defaultdict(list)
    for sent in index.sent:
        if sent.transaction is not None:
            of[sent.transaction].append(sent)
            continue
        one = index.answer_to(sent)
        end, outcome = (last, ":info") if one is None else (index.order[id(one)], ":ok")
        process = f"{sent.producer} {index.order[id(sent)]}"
        value = _append(index, sent, numbers)
        yield _Operation(index.order[id(sent)], end, outcome, process, value, value)
    for number, records in of.items():
        value = " ".join(_append(index, sent, numbers) for sent in records)
        begin = index.order[id(records[0])]
        committed, aborted = index.first(number, Committed), index.first(number, Aborted)
        end, outcome = last, ":info"
        if committed is not None:
            end, outcome = index.order[id(committed)], ":ok"
        elif aborted is not None:
            end, outcome = index.order[id(aborted)], ":fail"
        yield _Operation(begin, end, outcome, f"transaction {number}", value, value)


def _reads(index: HistoryIndex, numbers: _Numbers) -> Iterator[_Operation]:
    """The operations of complete read_committed readers: each reader's records are one read of all its partitions."""
    readers: dict[str, list[ReadAll]] = defaultdict(list)
    for look in index.committed.values():
        readers[look.read_all.reader].append(look.read_all)
    for reader, complete in readers.items():
        parts, asked = [], []
        begin = len(index.events)
        for read_all in complete:
            reads: list[Read] = index.committed[read_all.where].reads
            begin = min([begin, *(index.order[id(read)] for read in reads)])
            given = " ".join(str(numbers.of_read(read)) for read in reads)
            asked.append(f"[:r {_key(read_all.where)} nil]")
            parts.append(f"[:r {_key(read_all.where)} [{given}]]")
        end = max(index.order[id(read_all)] for read_all in complete)
        yield _Operation(begin, end, ":ok", reader, " ".join(parts), " ".join(asked))
