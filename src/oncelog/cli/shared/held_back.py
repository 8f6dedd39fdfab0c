"""Describes, in sentences for people, which open transactions hold readers back; for ``consume`` and
``transactions``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from oncelog.client.positions import LATEST
from oncelog.errors import Error, KafkaError
from oncelog.runtime import real_time
from oncelog.runtime.shown import show_text, show_time
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.client.blocking import Admin
    from oncelog.client.core.admin.admin_types import ProducerState, TransactionDescription

UNFINISHED = ("Ongoing", "PrepareCommit", "PrepareAbort")
LONG_OPEN_S = 5
MAX_NAMED = 5


def held_back(admin: Admin, partitions: Iterable[TopicPartition]) -> list[str]:
    """One sentence for each partition in which an open transaction hides records from read_committed readers: which
    offsets, which transaction, since when, and the command that shows more."""
    wanted = dict.fromkeys(partitions, LATEST)
    stable = admin.list_offsets(wanted, read_committed=True) if wanted else {}
    ends = admin.list_offsets(wanted) if wanted else {}
    waiting = [name for name in wanted if stable[name].offset < ends[name].offset]
    if not waiting:
        return []
    try:
        producers = admin.describe_producers(waiting)
        unfinished = unfinished_transactions(admin)
    except KafkaError as error:
        if error.error not in (Error.UNSUPPORTED_VERSION, Error.TOPIC_AUTHORIZATION_FAILED):
            raise
        producers, unfinished = {}, []
    sentences = []
    for name in sorted(waiting):
        start, end = stable[name].offset, ends[name].offset
        first = next((one for one in producers.get(name, ()) if one.transaction_start_offset == start), None)
        sentences.append(f"{name} holds back the offsets from {start} to {end - 1}: {_cause(name, first, unfinished)}")
    more = len(sentences) - MAX_NAMED
    return sentences[:MAX_NAMED] + ([f"{more} more partitions hold back records, too"] if more > 0 else [])


def _cause(name: TopicPartition, producer: ProducerState | None, unfinished: Sequence[TransactionDescription]) -> str:
    if producer is None:
        return f"a transaction is open there; oncelog consume -t {name.topic} --show-transactions -e shows its records"
    held_by = (one for one in unfinished if one.producer_id == producer.producer_id and name in one.partitions)
    of = next(held_by, None)
    if of is None:
        return (
            f"a transaction of producer {producer.producer_id} is open there, whose last record is of "
            f"{show_time(producer.last_timestamp)}, and no coordinator knows it; see oncelog transactions find-hanging "
            f"-t {name.topic}"
        )
    return f"{open_since(of)}; see oncelog transactions describe {show_text(of.transactional_id)}"


def unfinished_transactions(admin: Admin) -> list[TransactionDescription]:
    """The open transactions that coordinators know, the oldest first; those that end meanwhile are left out."""
    found: list[TransactionDescription] = []
    for listed in admin.list_transactions(states=UNFINISHED):
        try:
            found += admin.describe_transactions([listed.transactional_id])
        except KafkaError as error:
            if error.error is not Error.TRANSACTIONAL_ID_NOT_FOUND:
                raise
    return sorted((one for one in found if one.state in UNFINISHED), key=lambda one: one.start_time_ms)


def open_since(one: TransactionDescription) -> str:
    """A clause about an open transaction, such as ``the transaction of 'load-1' has been Ongoing since
    2026-01-31T12:00:00.000Z (17 s)``."""
    age_s = max(0, real_time.time() - one.start_time_ms / 1000)
    return (
        f"the transaction of {one.transactional_id!r} has been {one.state} since {show_time(one.start_time_ms)} "
        f"({age_s:,.0f} s)"
    )


def long_open(admin: Admin) -> list[TransactionDescription]:
    """Transactions that have been open for more than :data:`LONG_OPEN_S` seconds."""
    before_ms = (real_time.time() - LONG_OPEN_S) * 1000
    return [one for one in unfinished_transactions(admin) if 0 <= one.start_time_ms < before_ms]
