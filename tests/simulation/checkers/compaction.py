"""Compaction leaves the newest committed record of each key, a tombstone as long as it must, and nothing that it ended.

A tombstone that is old enough may be gone, with everything that it deletes. Below the cleaner's checkpoint, each key is
there once, and nothing of an aborted transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from oncelog.types import TopicPartition
from tests.simulation.history import History, Log, Outcome, Sent

Place = tuple[TopicPartition, bytes]
"""A key in a partition."""


def check(history: History) -> Sequence[str]:
    if not history.compacted:
        return []
    sent = {one.value: one for one in history.sent if one.where.topic in history.compacted}
    newest = _newest(history, sent)
    found = list(_head(history, sent))
    for reader, log in (("the last reader", history.committed), ("a reader after a restart", history.after_restart)):
        found += [f"{reader} {breach}" for breach in _lost(history, sent, newest, log)]
    return found


def _newest(history: History, sent: Mapping[bytes, Sent]) -> dict[Place, tuple[int, Sent]]:
    """The last record of each key that anybody knows to be committed."""
    known = [(where, offset, value) for value, (where, offset) in history.acknowledged.items()]
    known += [(seen.where, seen.offset, seen.value) for seen in history.seen]
    known += [(where, offset, value) for where, log in history.committed.items() for offset, value in log]
    newest: dict[Place, tuple[int, Sent]] = {}
    for where, offset, value in known:
        one = sent.get(value)
        if one is None or one.key is None or not _is_committed(history, one):
            continue
        place = where, one.key
        if place not in newest or newest[place][0] < offset:
            newest[place] = offset, one
    return newest


def _is_committed(history: History, one: Sent) -> bool:
    if one.transaction is None:
        return True
    transaction = history.transactions[one.transaction]
    return transaction.outcome is Outcome.COMMITTED


def _lost(
    history: History, sent: Mapping[bytes, Sent], newest: Mapping[Place, tuple[int, Sent]], log: Log
) -> Iterator[str]:
    left: dict[Place, int] = {}
    for where, records in log.items():
        for offset, value in records:
            one = sent.get(value)
            if one is not None and one.key is not None:
                left[where, one.key] = offset
    for place, (offset, one) in newest.items():
        where, key = place
        there = left.get(place, -1)
        what = f"{one.value!r}, the newest record of key {key!r}, at offset {offset} of {where}"
        stays_ns = one.at_ns + history.compacted[where.topic] * 1_000_000
        if there >= offset:
            continue
        if there >= 0:
            yield f"misses {what}, and is given an older one at {there}"
        elif one.is_tombstone and history.looked_ns < stays_ns:
            yield f"misses {what}, a tombstone that was to stay"
        elif not one.is_tombstone and not _may_be_deleted(history, place, offset):
            yield f"misses {what}"


def _may_be_deleted(history: History, place: Place, offset: int) -> bool:
    """Whether a later tombstone of the key may exist: nobody knows whether one was stored and committed."""
    return any(
        one.is_tombstone
        and (one.where, one.key) == place
        and _may_be_committed(history, one)
        and (one.value not in history.acknowledged or history.acknowledged[one.value][1] > offset)
        for one in history.sent
    )


def _may_be_committed(history: History, one: Sent) -> bool:
    unknown = one.value not in history.acknowledged
    if one.transaction is None:
        return unknown
    transaction = history.transactions[one.transaction]
    return transaction.commit_asked_ns is not None and (unknown or transaction.outcome is not Outcome.COMMITTED)


def _head(history: History, sent: Mapping[bytes, Sent]) -> Iterator[str]:
    """What is wrong with the clean heads of the logs."""
    for where, clean_to in history.clean_to.items():
        if where.topic not in history.compacted:
            continue
        seen: dict[bytes, int] = {}
        for offset, value in history.uncommitted.get(where, []):
            one = sent.get(value)
            if offset >= clean_to or one is None or one.key is None:
                continue
            if one.key in seen:
                yield (
                    f"below {clean_to}, the cleaner's checkpoint of {where}, key {one.key!r} is at {seen[one.key]} and "
                    f"at {offset}"
                )
            seen[one.key] = offset
            if one.transaction is not None and history.transactions[one.transaction].outcome is Outcome.ABORTED:
                yield f"{value!r} of an aborted transaction is at {offset} of {where}, below the cleaner's checkpoint"
