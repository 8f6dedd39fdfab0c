"""What clients did and saw keeps every promise of ``oncelog.testing.history``: nothing is lost, doubled, torn, read
though it was aborted, out of order, skipped, and no committed position goes back.

One exception: if its partition has forgotten the producer in between, Apache Kafka stores a second copy of a record,
too (``forgotten``); not in a transaction, which keeps its producer known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from oncelog.testing.history import Anomaly, Read, Sent, check
from oncelog.testing.history.checking import CHECKS
from oncelog.types import TopicPartition
from tests.simulation.history import History, reads_of

KINDS = frozenset(CHECKS)


def breaches(history: History, waived: Collection[str] = ()) -> Iterator[Anomaly]:
    """Every breach of a kind that is not waived."""
    clients = history.of_clients()
    for breach in check(clients, kinds=KINDS - set(waived), repeats=history.repeats):
        if breach.kind != "doubled" or not _is_excused(history, breach):
            yield breach
    if "aborted-read" not in waived:
        clients.events += reads_of("a reader after a restart", history.after_restart)
        again = check(clients, kinds=("aborted-read",))
        yield from (breach for breach in again if any(_is_restarted(event) for event in breach.events))


def _is_restarted(event: object) -> bool:
    return isinstance(event, Read) and event.reader == "a reader after a restart"


def _is_excused(history: History, breach: Anomaly) -> bool:
    (sent,) = (event for event in breach.events if isinstance(event, Sent))
    copies = [
        (where, offset) for where, log in history.uncommitted.items() for offset, value in log if value == sent.record
    ]
    return sent.transaction is None and _was_forgotten(history, sent.record, copies)


def _was_forgotten(history: History, value: bytes, places: Sequence[tuple[TopicPartition, int]]) -> bool:
    producer_ids = {producer_id for stored, producer_id in history.producers if stored == value}
    return len(producer_ids) == 1 and all(
        any(
            where == again and producer_id in producer_ids and before < end_offset <= after
            for where, producer_id, end_offset in history.forgotten
        )
        for (where, before), (again, after) in pairwise(places)
    )
